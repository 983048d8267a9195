//! What holds for a whole connection, by all of its packets: where its numbers begin, its path MTU, its P_Key.

use std::collections::{BTreeMap, BTreeSet};

use rocespec_codec::{Header, Info, Mtu, NakCode, PKey, Psn, SyndromeClass};

use super::Exchange;
use super::heard::{Heard, is_gap_nak, is_word};

/// A PSN that is further away is no mistake in counting.
pub(super) const FAR: u32 = 1 << 16;

/// The P_Key that most packets have.
pub(super) fn pkey(heard: &[Heard]) -> PKey {
    let mut counts = BTreeMap::<u16, usize>::new();
    heard.iter().for_each(|heard| *counts.entry(heard.packet().bth.pkey.get()).or_default() += 1);
    PKey::new(counts.into_iter().max_by_key(|(_, count)| *count).map_or(0xffff, |(pkey, _)| pkey))
}

/// PSNs of requests that the device refused for the memory that they name.
pub(super) fn refused(heard: &[Heard], device: usize) -> BTreeSet<u32> {
    let denies = |heard: &&Heard| {
        let class = heard.packet().ext.aeth.syndrome.class();
        heard.from == device && is_word(heard) && class == SyndromeClass::Nak(NakCode::RemoteAccessError)
    };
    heard.iter().filter(denies).map(|heard| heard.psn().get()).collect()
}

/// The first PSN of an end's requests that begin a message; the lowest of those that come before an answer, for packets
/// may have changed places.
pub(super) fn start(exchange: &Exchange, end: usize) -> Option<Psn> {
    let begins =
        |heard: &&Heard| heard.from == end && heard.is_request() && heard.info().is_none_or(Info::starts_message);
    let is_answer = |heard: &Heard| heard.from != end && heard.is_response();
    let first = exchange.heard.iter().position(|heard| begins(&heard) && !heard.is_cnp())?;
    let early = exchange.heard[first..].iter().take_while(|heard| !is_answer(heard));
    let first = exchange.heard[first].psn();
    let lowest = early.filter(|heard| begins(heard) && !heard.is_cnp()).map(Heard::psn);
    let lowest = lowest.fold(first, |low, psn| if psn.since(low) < 0 { psn } else { low });
    // What was lost in front of all others shows when the other end asks for it.
    let is_its = |psn: &Psn| {
        exchange.ends[end].start == Some(*psn)
            || exchange.heard.iter().any(|heard| heard.from == end && heard.is_request() && heard.psn() == *psn)
    };
    let asked = exchange.heard.iter().filter(|heard| heard.from != end && is_gap_nak(heard)).map(Heard::psn);
    let before = asked.filter(|psn| (-(FAR as i32)..0).contains(&psn.since(lowest))).find(is_its);
    Some(before.unwrap_or(lowest))
}

/// The packets with MSNs that count from the first message of the capture.
pub(super) fn lowered(exchange: &Exchange, starts: [Psn; 2]) -> Vec<Heard> {
    let offsets = [0, 1].map(|end| msn_offset(exchange, end, starts[1 - end]));
    let has_msn = |heard: &Heard| heard.info().is_some_and(|info| info.has(Header::Aeth));
    let lowered = |heard: &Heard| match offsets[heard.from] {
        0 => heard.clone(),
        _ if !has_msn(heard) => heard.clone(),
        by => heard.with_msn_lowered(by),
    };
    exchange.heard.iter().map(lowered).collect()
}

/// How many messages the end had completed before the capture began, by its first answer.
fn msn_offset(exchange: &Exchange, end: usize, start: Psn) -> u32 {
    if exchange.ends[1 - end].start == Some(start) {
        return 0;
    }
    let mut ended = BTreeSet::new();
    for heard in &exchange.heard {
        let packet = heard.packet();
        if heard.from != end && heard.is_request() && heard.psn().since(start) >= 0 {
            if heard.info().is_some_and(Info::ends_message) {
                ended.insert(heard.psn().since(start));
            }
        } else if heard.from == end
            && is_word(heard)
            && matches!(packet.ext.aeth.syndrome.class(), SyndromeClass::Ack(_))
            && heard.psn().since(start) >= 0
        {
            let counted = ended.iter().filter(|psn| **psn <= heard.psn().since(start)).count() as u32;
            let more = packet.ext.aeth.msn.get().wrapping_sub(counted) & 0xff_ffff;
            return if more < 1 << 23 { more } else { 0 };
        }
    }
    0
}

/// Path MTU in bytes: as said, or the least that the packets need.
pub(super) fn mtu(exchange: &Exchange) -> u32 {
    let said = exchange.mtu.filter(|mtu| Mtu::from_bytes(*mtu as usize).is_some());
    said.unwrap_or_else(|| {
        let goes_on = |heard: &&Heard| heard.info().is_some_and(|info| !info.ends_message());
        let len = |heard: &Heard| heard.packet().payload.len();
        // A packet that is not the last of its message is as long as the path allows.
        let full = exchange.heard.iter().filter(goes_on).map(len).max();
        let longest = exchange.heard.iter().map(len).max().unwrap_or(0).max(1024);
        let least = full.unwrap_or(longest);
        Mtu::ALL.into_iter().find(|mtu| mtu.bytes() >= least).unwrap_or(Mtu::B4096).bytes() as u32
    })
}
