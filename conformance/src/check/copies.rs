//! Copies that the capture made: one packet, captured in two places, or twice in one.

use rocespec_codec::Net;

use super::packet::{Place, Seen};

/// Packets of a direction that are remembered.
const KEPT: usize = 8;
/// Longest time between a packet and its copy from elsewhere, in nanoseconds.
const ELSEWHERE_NS: u64 = 10_000_000;
/// Longest time between a packet and its copy from the same place, when nothing lies between them. No timeout of a device
/// is as short.
const SAME_PLACE_NS: u64 = 50_000;
/// Places in which a packet is captured at most.
const PLACES: usize = 4;

/// The last packets of one direction.
#[derive(Debug, Clone, Default)]
pub(super) struct Copies {
    /// What tells them apart stands together: for nearly every packet nothing else is looked at.
    signatures: [u128; KEPT],
    kept: [Kept; KEPT],
    next: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Kept {
    time_ns: u64,
    places: [Place; PLACES],
    /// Places that are known; 0 where there is no packet.
    known: usize,
}

impl Copies {
    /// True when the packet is a copy of one that was seen. `is_next`: no other packet of the connection came since the
    /// last one of this direction.
    pub(super) fn is_copy(&mut self, seen: &Seen<'_>, is_next: bool) -> bool {
        let signature = signature(seen);
        let last = (self.next + KEPT - 1) % KEPT;
        for (at, kept) in self.kept.iter_mut().enumerate() {
            if self.signatures[at] != signature || kept.known == 0 {
                continue;
            }
            let later = seen.time_ns.abs_diff(kept.time_ns);
            let is_elsewhere = !kept.places[..kept.known].contains(&seen.place);
            if is_elsewhere && kept.known < PLACES && later <= ELSEWHERE_NS {
                kept.places[kept.known] = seen.place;
                kept.known += 1;
                return true;
            }
            if !is_elsewhere && is_next && at == last && later <= SAME_PLACE_NS && kept.known == 1 {
                return true;
            }
        }
        self.signatures[self.next] = signature;
        let kept = &mut self.kept[self.next];
        (kept.time_ns, kept.places[0], kept.known) = (seen.time_ns, seen.place, 1);
        self.next = (self.next + 1) % KEPT;
        false
    }
}

/// What copies have in common: all that is not changed on the way.
fn signature(seen: &Seen<'_>) -> u128 {
    let packet = seen.packet;
    let id = match packet.net {
        Net::V4(ip) => ip.id,
        Net::V6(_) | Net::Grh(_) => 0,
    };
    let words = [packet.bth.psn.get(), u32::from(packet.bth.opcode.0) << 16 | u32::from(id), packet.icrc];
    let aeth = u32::from(packet.ext.aeth.syndrome.0) << 24 | packet.ext.aeth.msn.get();
    words.into_iter().fold(u128::from(aeth), |all, word| all << 32 | u128::from(word))
}
