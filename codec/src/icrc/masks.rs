//! The bits that the ICRC takes as ones.

use core::fmt;
use core::ops::{Deref, Range};

use arrayvec::ArrayVec;

use crate::frame::Roce;
use crate::net::{Ipv4, Ipv6, Net};
use crate::udp::Udp;

/// A field that routers may change, and the ICRC therefore takes as ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mask {
    /// The field, as the notation names it; `bth.resv8a` is FECN, BECN and the six bits beside them.
    pub field: &'static str,
    /// Its bits, counted from the start of the frame, the highest bit of a byte first.
    pub bits: Range<usize>,
}

impl Mask {
    /// The bytes of the frame that hold them.
    pub fn bytes(&self) -> Range<usize> {
        self.bits.start / 8..self.bits.end.div_ceil(8)
    }
}

/// Fields that are masked, in wire order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Masks(ArrayVec<Mask, 5>);

impl Deref for Masks {
    type Target = [Mask];

    fn deref(&self) -> &[Mask] {
        &self.0
    }
}

impl FromIterator<Mask> for Masks {
    /// Keeps the first five: there are no more.
    fn from_iter<I: IntoIterator<Item = Mask>>(masks: I) -> Self {
        Masks(masks.into_iter().take(5).collect())
    }
}

impl fmt::Display for Masks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut between = "";
        for mask in &self.0 {
            write!(f, "{between}{}", mask.field)?;
            between = ", ";
        }
        Ok(())
    }
}

impl Masks {
    /// Those of a packet: CA17-22(c) and (d), annex A16 for RoCE v1, section 7.8.1 for the BTH.
    pub fn of(packet: &Roce<'_>) -> Masks {
        let net = packet.eth.len();
        let bth = net + packet.net.len() + packet.udp.map_or(0, |_| Udp::LEN);
        let mut masks = ArrayVec::new();
        let mut add = |field, bits: Range<usize>| masks.push(Mask { field, bits });
        match packet.net {
            Net::V4(_) => {
                add("ip.tos", net * 8 + 8..net * 8 + 16);
                add("ip.ttl", net * 8 + 64..net * 8 + 72);
                add("ip.checksum", net * 8 + 80..net * 8 + 96);
            }
            Net::V6(_) | Net::Grh(_) => {
                add("ip.tos", net * 8 + 4..net * 8 + 12);
                add("ip.flow", net * 8 + 12..net * 8 + 32);
                add("ip.ttl", net * 8 + 56..net * 8 + 64);
            }
        }
        if packet.udp.is_some() {
            let udp = net + packet.net.len();
            add("udp.checksum", udp * 8 + 48..udp * 8 + 64);
        }
        add("bth.resv8a", bth * 8 + 32..bth * 8 + 40);
        Masks(masks)
    }
}

/// Longest headers: IPv4 with options 60, UDP 8, BTH 12, RDETH + DETH + AtomicETH 40.
type Headers = ArrayVec<u8, 120>;

/// The headers that the ICRC covers, with each masked field filled with what `fill` gives for it; `None` leaves it.
/// Options longer than a header can say are cut short.
pub(super) fn covered_headers(packet: &Roce<'_>, fill: impl Fn(&Mask) -> Option<u8>) -> Headers {
    let mut headers = Headers::new();
    let mut put = |bytes: &[u8]| {
        let room = headers.remaining_capacity().min(bytes.len());
        headers.extend(bytes[..room].iter().copied());
    };
    packet.net.write(&mut put);
    if let Some(udp) = packet.udp {
        put(&udp.bytes());
    }
    put(&packet.bth.bytes());
    packet.ext.write(packet.bth.opcode, &mut put);
    let start = packet.eth.len() * 8;
    for mask in Masks::of(packet).iter() {
        let Some(fill) = fill(mask) else { continue };
        for bit in mask.bits.start - start..mask.bits.end - start {
            if let Some(byte) = headers.get_mut(bit / 8) {
                let mask = 0x80 >> (bit % 8);
                *byte = *byte & !mask | fill & mask;
            }
        }
    }
    headers
}

const _: () = assert!(Ipv4::MIN_LEN + 40 + Udp::LEN + 12 + 40 <= 120 && Ipv6::LEN <= 60);
