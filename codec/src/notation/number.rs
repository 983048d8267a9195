//! Numbers and bytes, as the notation writes them.

use core::time::Duration;

use nom::branch::alt;
use nom::bytes::complete::{tag, take_while1};
use nom::character::complete::digit1;
use nom::combinator::{all_consuming, opt, value};
use nom::sequence::preceded;
use nom::{IResult, Parser};

/// Decimal, or hex with `0x`; `_` may stand between digits.
pub(super) fn number(text: &str) -> Option<u64> {
    let (_, (digits, radix)) = all_consuming(digits).parse(text).ok()?;
    let mut number = None;
    for c in digits.chars() {
        if c == '_' && number.is_some() {
            continue;
        }
        let digit = u64::from(c.to_digit(radix)?);
        number = Some(number.unwrap_or(0u64).checked_mul(u64::from(radix))?.checked_add(digit)?);
    }
    number
}

/// The digits of a number and their radix.
fn digits(text: &str) -> IResult<&str, (&str, u32)> {
    let hex = take_while1(|c: char| c.is_ascii_hexdigit() || c == '_');
    let decimal = take_while1(|c: char| c.is_ascii_digit() || c == '_');
    alt((preceded(tag("0x"), hex).map(|digits| (digits, 16)), decimal.map(|digits| (digits, 10)))).parse(text)
}

/// A time in `s`, `ms` or `us`, with or without a fraction.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let (_, (whole, fraction, unit)) = all_consuming(time).parse(text).ok()?;
    let fraction = fraction.unwrap_or("0");
    let mut nanos = whole.parse::<u64>().ok()?.checked_mul(unit)?;
    let mut place = unit;
    for digit in fraction.bytes().map(|byte| u64::from(byte - b'0')) {
        // Finer than a nanosecond: only zeroes say nothing.
        if place == 1 && digit != 0 {
            return None;
        }
        place = (place / 10).max(1);
        nanos = nanos.checked_add(digit * place)?;
    }
    Some(Duration::from_nanos(nanos))
}

/// The digits before and behind the point, and the nanoseconds of the unit.
fn time(text: &str) -> IResult<&str, (&str, Option<&str>, u64)> {
    let unit = alt((value(1_000_000, tag("ms")), value(1_000, tag("us")), value(1_000_000_000, tag("s"))));
    (digit1, opt(preceded(tag("."), digit1)), unit).parse(text)
}

/// Bytes that hex digits stand for; `None` when they are not pairs of hex digits.
pub(super) fn hex_len(text: &str) -> Option<usize> {
    let is_hex = text.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hex && !text.is_empty() && text.len().is_multiple_of(2)).then_some(text.len() / 2)
}

/// Writes what the hex digits stand for, pair by pair; both are as long as [`hex_len`] says.
pub(super) fn write_hex(text: &str, out: &mut [u8]) {
    let digit = |byte: u8| (byte as char).to_digit(16).unwrap_or(0) as u8;
    for (byte, pair) in out.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = digit(pair[0]) << 4 | digit(pair[1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(number("1_000"), Some(1000));
        assert_eq!(number("0xffff_ffff_ffff_ffff"), Some(u64::MAX));
        for wrong in ["", "_1", "0x", "+1", "-1", "0x_", "1g", "18446744073709551616", "١"] {
            assert_eq!(number(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(duration("0.64ms"), Some(Duration::from_micros(640)));
        assert_eq!(duration("10us"), Some(Duration::from_micros(10)));
        assert_eq!(duration("0.01000000000000ms"), Some(Duration::from_micros(10)));
        for wrong in ["", "ms", "1", ".5ms", "1.ms", "-1ms", "99999999999999999999s", "0.0000000001s"] {
            assert_eq!(duration(wrong), None, "{wrong}");
        }
    }
}
