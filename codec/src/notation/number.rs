//! Numbers and bytes, as the notation writes them.

use core::time::Duration;

/// Decimal, or hex with `0x`; `_` may stand between digits.
pub(super) fn number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(hex) => (hex, 16),
        None => (text, 10),
    };
    let mut value = None;
    for c in digits.chars() {
        if c == '_' && value.is_some() {
            continue;
        }
        let digit = u64::from(c.to_digit(radix)?);
        value = Some(value.unwrap_or(0u64).checked_mul(u64::from(radix))?.checked_add(digit)?);
    }
    value
}

/// A time in `s`, `ms` or `us`, with or without a fraction.
pub(super) fn duration(text: &str) -> Option<Duration> {
    let (text, unit) = if let Some(text) = text.strip_suffix("ms") {
        (text, 1_000_000)
    } else if let Some(text) = text.strip_suffix("us") {
        (text, 1_000)
    } else {
        (text.strip_suffix('s')?, 1_000_000_000)
    };
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_decimal = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !is_decimal(whole) || !is_decimal(fraction) {
        return None;
    }
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
