//! Lengths, speeds and times as options have them.

use std::time::Duration;

use rocespec_model::LinkSpeed;

/// Largest length that an option takes.
const MOST_BYTES: u64 = 1 << 30;
/// Slowest and fastest link, in bits per second.
const SPEEDS: std::ops::RangeInclusive<u64> = 1_000_000..=1_600_000_000_000;

/// Units of lengths, the longest names first.
const BYTES: [(&str, u64); 7] =
    [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("KB", 1_000), ("kB", 1_000), ("MB", 1_000_000), ("B", 1)];

/// A length: `64KiB`, `5KB`, `1500`.
pub(super) fn bytes(text: &str) -> Result<u32, String> {
    let (digits, unit) =
        BYTES.iter().find_map(|(name, size)| Some((text.strip_suffix(name)?, *size))).unwrap_or((text, 1));
    let length =
        number(digits).and_then(|count| count.checked_mul(unit)).filter(|length| (1..=MOST_BYTES).contains(length));
    length.map(|length| length as u32).ok_or_else(|| "take a length like 64KiB, 5KB or 1500, at most 1GiB".to_owned())
}

/// A speed: `100G`, `25Gbit/s`, `400M`.
pub(super) fn speed(text: &str) -> Result<LinkSpeed, String> {
    let short = text.trim_end_matches("bit/s").trim_end_matches("b/s");
    let (digits, unit) = match (short.strip_suffix('G'), short.strip_suffix('M')) {
        (Some(digits), _) => (digits, 1_000_000_000),
        (_, Some(digits)) => (digits, 1_000_000),
        _ => (short, 0),
    };
    let bits = number(digits).and_then(|count| count.checked_mul(unit)).filter(|bits| SPEEDS.contains(bits));
    bits.and_then(LinkSpeed::from_bits_per_second)
        .ok_or_else(|| "take a speed like 100G or 400M, 1M to 1600G".to_owned())
}

/// A time: `10us`, `1.5ms`.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    crate::scenario::duration(text).ok_or_else(|| "take a time like 10us, 1.5ms or 3s".to_owned())
}

fn number(digits: &str) -> Option<u64> {
    let all = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| all)
}

/// A length in the largest unit in which it is whole: `64 KiB`, `5 KB`, `1500 B`.
pub(super) fn bytes_text(length: u64) -> String {
    let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("MB", 1_000_000), ("KB", 1_000)];
    let whole = units.iter().find(|(_, size)| length > 0 && length.is_multiple_of(*size));
    whole.map_or_else(|| format!("{length} B"), |(name, size)| format!("{} {name}", length / size))
}

/// A speed in the largest unit in which it is whole: `100 Gb/s`.
pub(super) fn speed_text(speed: LinkSpeed) -> String {
    match speed.bits_per_second() {
        bits if bits.is_multiple_of(1_000_000_000) => format!("{} Gb/s", bits / 1_000_000_000),
        bits => format!("{} Mb/s", bits / 1_000_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_with_their_units_and_come_back() {
        assert_eq!(["64KiB", "5KB", "1MiB", "1500", "60B"].map(bytes), [65_536, 5_000, 1 << 20, 1_500, 60].map(Ok));
        let speeds = ["100G", "25Gbit/s", "400Mb/s"].map(|text| speed(text).unwrap());
        assert_eq!(speeds.map(speed_text), ["100 Gb/s", "25 Gb/s", "400 Mb/s"]);
        assert_eq!([65_536, 5_000, 1 << 20, 1_500, 0].map(bytes_text), ["64 KiB", "5 KB", "1 MiB", "1500 B", "0 B"]);
        assert_eq!(time("1.5ms"), Ok(Duration::from_micros(1500)));
        for wrong in ["", "0", "-1", "1.5KB", "2GiB", "KiB", "99999999999999999999B", "+1"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "100", "0G", "1601G", "G", "1e2G"] {
            assert!(speed(wrong).is_err(), "{wrong}");
        }
    }
}
