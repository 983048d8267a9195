//! Why an ICRC is wrong: which mistake gives the value that the packet carries.

use core::fmt;
use core::ops::Range;

use arrayvec::ArrayVec;
use crc32fast::Hasher;

use super::compute;
use super::masks::{Mask, Masks, covered_headers};
use crate::frame::Roce;

/// What the ICRC of a packet is, and should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The bytes of the frame that it covers, the masked ones among them.
    pub covered: Range<usize>,
    /// What is taken as ones.
    pub masked: Masks,
    /// Where in the frame it stands: four bytes.
    pub offset: usize,
    /// What it should be; the low byte comes first on the wire.
    pub expected: u32,
    /// What it is.
    pub found: u32,
    /// How the two stand to each other.
    pub verdict: Verdict,
}

/// How an ICRC comes to its value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// By the rule.
    Right,
    /// The right value with its bytes in the opposite order.
    Swapped,
    /// The right value without the final complement, or complemented on purpose.
    Complemented,
    /// A value that stands for none: 0, all ones, 0xdeadbeef and the like.
    Placeholder,
    /// With the polynomial of CRC-32C (Castagnoli).
    Crc32c,
    /// Without the pad bytes.
    WithoutPad,
    /// Without the pad bytes, and written in front of them.
    BeforePad,
    /// Without the 8 bytes of ones that stand for the LRH.
    WithoutOnes,
    /// With these fields as they are on the wire, which the rule takes as ones.
    Unmasked(Masks),
    /// With the masked fields taken as zeroes in place of ones.
    ZeroMasked,
    /// Over the bytes from the BTH on, without network header and UDP.
    FromBth,
    /// By no mistake that is known here: the packet was changed on its way, or the rule was not followed in another way.
    Wrong,
}

impl Verdict {
    /// True for [`Verdict::Right`].
    pub fn is_right(&self) -> bool {
        *self == Verdict::Right
    }

    /// A word for it: `right`, `swapped`, `crc32c`.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Right => "right",
            Verdict::Swapped => "swapped",
            Verdict::Complemented => "complemented",
            Verdict::Placeholder => "placeholder",
            Verdict::Crc32c => "crc32c",
            Verdict::WithoutPad => "without_pad",
            Verdict::BeforePad => "before_pad",
            Verdict::WithoutOnes => "without_ones",
            Verdict::Unmasked(_) => "unmasked",
            Verdict::ZeroMasked => "zero_masked",
            Verdict::FromBth => "from_bth",
            Verdict::Wrong => "wrong",
        }
    }
}

/// Values that programs write where they have none.
const PLACEHOLDERS: [u32; 7] = [0, 0xffff_ffff, 0xdead_beef, 0xcafe_babe, 0xfeed_face, 0xbaad_f00d, 0x1234_5678];

/// Holds the ICRC of the packet against the right one, and where they differ against the mistakes that implementations
/// are known to make.
///
/// A value that a router changed on the way (TTL, ECN) cannot be undone: a sender that forgets to mask it is found out
/// only where it did not change.
pub fn explain(packet: &Roce<'_>) -> Explanation {
    let offset = packet.packet_len() - 4;
    let (expected, found) = (compute(packet), packet.icrc);
    Explanation {
        covered: packet.eth.len()..offset,
        masked: Masks::of(packet),
        offset,
        expected,
        found,
        verdict: verdict(packet, expected, found),
    }
}

fn verdict(packet: &Roce<'_>, expected: u32, found: u32) -> Verdict {
    let is_placeholder = PLACEHOLDERS.iter().any(|value| found == *value || found == value.swap_bytes());
    if found == expected {
        return Verdict::Right;
    } else if is_placeholder {
        return Verdict::Placeholder;
    } else if found == expected.swap_bytes() {
        return Verdict::Swapped;
    } else if found == !expected || found == (!expected).swap_bytes() {
        return Verdict::Complemented;
    }
    // Most mistakes are made in either byte order.
    let is = |value: u32| found == value || found == value.swap_bytes();
    let masks = Masks::of(packet);
    let headers = covered_headers(packet, |_| Some(0xff));
    let body = [packet.payload, packet.pad];
    if is(crc32c(packet)) {
        return Verdict::Crc32c;
    }
    if !packet.pad.is_empty() {
        let without = crc(&ONES, &headers, &[packet.payload]);
        if is(without) {
            return Verdict::WithoutPad;
        }
        // The first four of the bytes that are read as pad and ICRC.
        let mut tail = ArrayVec::<u8, 7>::new();
        let is_short = tail.try_extend_from_slice(packet.pad).is_ok();
        if is_short && tail.try_extend_from_slice(&found.to_le_bytes()).is_ok() && tail[..4] == without.to_le_bytes() {
            return Verdict::BeforePad;
        }
    }
    if is(crc(&[], &headers, &body)) {
        return Verdict::WithoutOnes;
    }
    let bth = packet.net.len() + packet.udp.map_or(0, |_| crate::Udp::LEN);
    let from_bth = headers.get(bth..).unwrap_or_default();
    if is(crc(&ONES, from_bth, &body)) || is(crc(&[], from_bth, &body)) {
        return Verdict::FromBth;
    }
    if is(crc(&ONES, &covered_headers(packet, |_| Some(0)), &body)) {
        return Verdict::ZeroMasked;
    }
    // One CRC over the payload does for all sets of fields.
    let behind = hashed(&body);
    let with = |headers: &[u8]| {
        let mut crc = hashed(&[&ONES, headers]);
        crc.combine(&behind);
        crc.finalize()
    };
    // Few fields first: the simplest explanation.
    for count in 1..=masks.len() {
        for set in (0u32..1 << masks.len()).filter(|set| set.count_ones() as usize == count) {
            let is_unmasked =
                |mask: &Mask| masks.iter().zip(0..).any(|(other, at)| other == mask && set >> at & 1 == 1);
            if is(with(&covered_headers(packet, |mask| if is_unmasked(mask) { None } else { Some(0xff) }))) {
                return Verdict::Unmasked(masks.iter().filter(|mask| is_unmasked(mask)).cloned().collect());
            }
        }
    }
    Verdict::Wrong
}

pub(super) const ONES: [u8; 8] = [0xff; 8];

fn hashed(parts: &[&[u8]]) -> Hasher {
    let mut crc = Hasher::new();
    parts.iter().for_each(|part| crc.update(part));
    crc
}

pub(super) fn crc(ones: &[u8], headers: &[u8], body: &[&[u8]]) -> u32 {
    let mut crc = hashed(&[ones, headers]);
    body.iter().for_each(|part| crc.update(part));
    crc.finalize()
}

/// What the ICRC of the packet would be with the polynomial of CRC-32C (Castagnoli), which some have taken for it.
pub fn crc32c(packet: &Roce<'_>) -> u32 {
    // Bit by bit: this is no hot path.
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    let mut crc = u32::MAX;
    let mut update = |bytes: &[u8]| {
        for byte in bytes {
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = crc >> 1 ^ if crc & 1 == 1 { POLYNOMIAL } else { 0 };
            }
        }
    };
    update(&ONES);
    update(&covered_headers(packet, |_| Some(0xff)));
    update(packet.payload);
    update(packet.pad);
    !crc
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (found, expected) = (Wire(self.found), Wire(self.expected));
        if self.verdict.is_right() {
            return write!(f, "the ICRC {found} at byte {} is right", self.offset);
        }
        write!(f, "the ICRC {found} at byte {} should be {expected}: ", self.offset)?;
        match &self.verdict {
            Verdict::Right => Ok(()),
            Verdict::Swapped => f.write_str("its bytes are in the opposite order; the low byte comes first"),
            Verdict::Complemented => f.write_str("it is complemented once too often or too seldom"),
            Verdict::Placeholder => f.write_str("it is a placeholder that nobody filled in"),
            Verdict::Crc32c => f.write_str("it is a CRC-32C; the ICRC has the polynomial of Ethernet"),
            Verdict::WithoutPad => f.write_str("it leaves out the pad bytes"),
            Verdict::BeforePad => f.write_str("it leaves out the pad bytes and stands in front of them"),
            Verdict::WithoutOnes => f.write_str("it leaves out the 8 bytes of ones in front"),
            Verdict::Unmasked(masks) => {
                f.write_str("it covers what is to be taken as ones: ")?;
                masks.fmt(f)
            }
            Verdict::ZeroMasked => f.write_str("it takes the masked fields as zeroes; they are ones"),
            Verdict::FromBth => f.write_str("it covers the bytes from the BTH on; it begins with the network header"),
            Verdict::Wrong => f.write_str("no known mistake gives it"),
        }
    }
}

/// An ICRC as the bytes on the wire.
struct Wire(u32);

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0.swap_bytes())
    }
}
