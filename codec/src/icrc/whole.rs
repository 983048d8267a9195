//! The ICRC over the bytes of a frame, in one piece.
//!
//! A CRC is linear: to take a byte as another has the same effect as to leave it as it is, and to start from another
//! register. Which one depends on the bits that differ and on how far the byte lies behind the start, not on what follows.
//! So the masked bytes need no copy, and the CRC runs over the frame where it lies.

use crc32fast::Hasher;

use super::AFTER_ONES;
use crate::net::Net;

/// CRC-32 polynomial of Ethernet, lowest power in the highest bit.
const POLYNOMIAL: u32 = 0xedb8_8320;

/// What a masked byte means for the register at the start, by its value.
struct Masked {
    /// Where it stands, from the network header on.
    at: usize,
    change: &'static [u32; 256],
}

/// The register that becomes `register` when `count` bytes of zeroes run through.
const fn at_start(mut register: u32, count: usize) -> u32 {
    let mut left = count * 8;
    while left > 0 {
        register = if register >> 31 == 1 { (register ^ POLYNOMIAL) << 1 | 1 } else { register << 1 };
        left -= 1;
    }
    register
}

/// For each value of the byte at `at`, what takes its `bits` as ones.
const fn changes(at: usize, bits: u8) -> [u32; 256] {
    let mut single = [0; 8];
    let mut bit = 0;
    while bit < 8 {
        single[bit] = at_start((bits as u32) & 1 << bit, at);
        bit += 1;
    }
    let mut changes = [0; 256];
    let mut value = 0;
    while value < 256 {
        let mut bit = 0;
        while bit < 8 {
            if value >> bit & 1 == 0 {
                changes[value] ^= single[bit];
            }
            bit += 1;
        }
        value += 1;
    }
    changes
}

macro_rules! masked {
    ($at:literal) => {
        masked!($at, 0xff)
    };
    ($at:literal, $bits:literal) => {
        Masked {
            at: $at,
            change: {
                static CHANGES: [u32; 256] = changes($at, $bits);
                &CHANGES
            },
        }
    };
}

/// Over IPv4: TOS, TTL, checksum; UDP checksum; congestion bits of the BTH.
const V4: [Masked; 7] = [masked!(1), masked!(8), masked!(10), masked!(11), masked!(26), masked!(27), masked!(32)];
/// Over IPv6: traffic class and flow label, hop limit; UDP checksum; congestion bits of the BTH.
const V6: [Masked; 8] =
    [masked!(0, 0x0f), masked!(1), masked!(2), masked!(3), masked!(7), masked!(46), masked!(47), masked!(52)];
/// Behind a GRH: as over IPv6, without UDP.
const GRH: [Masked; 6] = [masked!(0, 0x0f), masked!(1), masked!(2), masked!(3), masked!(7), masked!(44)];

/// The ICRC of the bytes from the network header `net` to the last pad byte. `None` where they are not so many as the
/// headers need, or the network header is longer than usual.
#[inline]
pub(super) fn compute(net: &Net<'_>, covered: &[u8]) -> Option<u32> {
    let start = match net {
        Net::V4(ip) if ip.options.is_empty() => start(V4, covered.first_chunk::<40>()?),
        Net::V4(_) => return None,
        Net::V6(_) => start(V6, covered.first_chunk::<60>()?),
        Net::Grh(_) => start(GRH, covered.first_chunk::<52>()?),
    };
    let mut crc = Hasher::new_with_initial(start);
    crc.update(covered);
    Some(crc.finalize())
}

/// Where the CRC of these headers has to start from.
#[inline(always)]
fn start<const COUNT: usize, const LEN: usize>(masked: [Masked; COUNT], headers: &[u8; LEN]) -> u32 {
    masked.into_iter().fold(AFTER_ONES, |start, byte| start ^ byte.change[usize::from(headers[byte.at])])
}
