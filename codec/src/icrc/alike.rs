//! The ICRC of a changed packet, right or wrong as that of the packet before.

use super::compute;
use super::explain::{ONES, Verdict, crc, crc32c, explain};
use super::masks::{Mask, covered_headers};
use crate::frame::Roce;

/// The ICRC of `after`, made as that of `before` was: a right one is right again, a mistake that
/// [`explain`](super::explain()) knows is made again, and a value that nothing explains is off by the same bits, as it is
/// after the same damage on the way.
///
/// What `after` holds in [`Roce::icrc`] is not looked at.
pub fn made_alike(before: &Roce<'_>, after: &Roce<'_>) -> u32 {
    let found = before.icrc;
    let verdict = explain(before).verdict;
    if verdict == Verdict::Placeholder {
        return found;
    }
    for form in FORMS {
        let (Some(old), Some(new)) = (mistaken(before, &verdict, form), mistaken(after, &verdict, form)) else {
            continue;
        };
        if found == old {
            return new;
        } else if found == old.swap_bytes() {
            return new.swap_bytes();
        }
    }
    // A CRC is linear: what turned some bits over turns the same ones over here.
    found ^ compute(before) ^ compute(after)
}

/// Some mistakes come in two forms.
const FORMS: [bool; 2] = [true, false];

/// What a mistake gives for a packet; with `ones` in front or without, where both are seen.
fn mistaken(packet: &Roce<'_>, verdict: &Verdict, ones: bool) -> Option<u32> {
    let body = [packet.payload, packet.pad];
    let headers = |fill: &dyn Fn(&Mask) -> Option<u8>| covered_headers(packet, fill);
    Some(match verdict {
        Verdict::Right | Verdict::Swapped => compute(packet),
        Verdict::Complemented => !compute(packet),
        Verdict::Crc32c => crc32c(packet),
        Verdict::WithoutPad => crc(&ONES, &headers(&|_| Some(0xff)), &[packet.payload]),
        Verdict::WithoutOnes => crc(&[], &headers(&|_| Some(0xff)), &body),
        Verdict::ZeroMasked => crc(&ONES, &headers(&|_| Some(0)), &body),
        Verdict::FromBth => {
            let bth = packet.net.len() + packet.udp.map_or(0, |_| crate::Udp::LEN);
            let headers = headers(&|_| Some(0xff));
            crc(if ones { &ONES } else { &[] }, headers.get(bth..).unwrap_or_default(), &body)
        }
        Verdict::Unmasked(unmasked) => {
            // By name: tags move the fields.
            let is_unmasked = |mask: &Mask| unmasked.iter().any(|other| other.field == mask.field);
            crc(&ONES, &headers(&|mask| if is_unmasked(mask) { None } else { Some(0xff) }), &body)
        }
        Verdict::Placeholder | Verdict::BeforePad | Verdict::Wrong => return None,
    })
}
