//! Text that knows where in the file it stands, and what is read from it alike in several places.

use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use super::diagnostics::Problem;

/// A piece of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) text: &'a str,
    /// Offset of its first byte in the file.
    pub(super) at: usize,
}

impl<'a> Piece<'a> {
    pub(super) fn span(self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }

    /// The part in this range of bytes.
    pub(super) fn part(self, range: Range<usize>) -> Piece<'a> {
        Piece { text: &self.text[range.clone()], at: self.at + range.start }
    }

    /// Cut at a byte.
    pub(super) fn cut(self, at: usize) -> (Piece<'a>, Piece<'a>) {
        (self.part(0..at), self.part(at..self.text.len()))
    }

    pub(super) fn trim(self) -> Piece<'a> {
        let start = self.text.len() - self.text.trim_start().len();
        self.part(start..start + self.text.trim().len())
    }

    /// First word and what follows it, both trimmed. The word is empty when there is none.
    pub(super) fn word(self) -> (Piece<'a>, Piece<'a>) {
        let line = self.trim();
        let end = line.text.find(char::is_whitespace).unwrap_or(line.text.len());
        let (word, rest) = line.cut(end);
        (word, rest.trim())
    }

    /// All words.
    pub(super) fn words(self) -> Vec<Piece<'a>> {
        let mut words = Vec::new();
        let mut rest = self;
        loop {
            let (word, more) = rest.word();
            if word.text.is_empty() {
                return words;
            }
            words.push(word);
            rest = more;
        }
    }

    /// What stands before and after the first `mark`.
    pub(super) fn split_at_char(self, mark: char) -> Option<(Piece<'a>, Piece<'a>)> {
        let at = self.text.find(mark)?;
        Some((self.part(0..at), self.part(at + mark.len_utf8()..self.text.len())))
    }

    pub(super) fn wrong(self, message: impl Into<String>) -> Problem {
        Problem::at(self.span(), message)
    }
}

/// A number in decimal, or in hex after `0x`, between two bounds.
pub(super) fn number(word: Piece<'_>, what: &str, bounds: RangeInclusive<u64>) -> Result<u64, Problem> {
    let parsed = match word.text.strip_prefix("0x") {
        Some(hex) if hex.starts_with(|first: char| first.is_ascii_hexdigit()) => u64::from_str_radix(hex, 16).ok(),
        None if word.text.starts_with(|first: char| first.is_ascii_digit()) => word.text.parse().ok(),
        _ => None,
    };
    match parsed {
        None => Err(word.wrong(format!("`{}` is not a number", word.text)).label(format!("{what} stands here"))),
        Some(number) if !bounds.contains(&number) => Err(word.wrong(format!("{what} is out of range")).label(format!(
            "{} to {} is possible",
            bounds.start(),
            bounds.end()
        ))),
        Some(number) => Ok(number),
    }
}

/// Longest time that a script may name.
const LONGEST: u128 = 600_000_000_000;

/// A time: `100ms`, `4.096us`, `1s`.
pub(super) fn duration(word: Piece<'_>) -> Result<Duration, Problem> {
    let wrong = || word.wrong(format!("`{}` is not a time", word.text)).label("like 100ms, 4.096us, 250ns or 1s");
    let unit_at = word.text.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
    let (digits, unit) = word.text.split_at(unit_at);
    let scale: u128 = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => return Err(wrong()),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |part: &str| !part.is_empty() && part.len() < 13 && part.bytes().all(|b| b.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        return Err(wrong());
    }
    let parts = |part: &str| part.parse::<u128>().map_err(|_| wrong());
    let divisor = 10u128.pow(fraction.len() as u32);
    let scaled = parts(whole)? * scale * divisor + parts(fraction)? * scale;
    if !scaled.is_multiple_of(divisor) {
        return Err(word.wrong("a time is a whole number of nanoseconds"));
    }
    let nanoseconds = scaled / divisor;
    if nanoseconds > LONGEST {
        return Err(word.wrong("this is too long").label("at most 600s"));
    }
    Ok(Duration::from_nanos(nanoseconds as u64))
}

/// Most bytes that a step writes or compares.
const MOST_BYTES: u64 = 1 << 20;

/// Bytes in the notation of payloads: `64B` counts from 00, `64B=aa` repeats, `data=…` is hex; and `64B=random`, bytes without
/// a pattern, always the same ones: `random7` is another sequence of them.
pub(super) fn bytes(word: Piece<'_>) -> Result<Vec<u8>, Problem> {
    if let Some(digits) = word.text.strip_prefix("data=") {
        return hex(digits).ok_or_else(|| word.wrong("these are not bytes in hex").label("two hex digits for a byte"));
    }
    let wrong =
        || word.wrong(format!("`{}` is not a number of bytes", word.text)).label("like 64B, 64B=aa or data=0001ff");
    let (size, fill) = word.text.split_once("B").ok_or_else(wrong)?;
    let size: u64 = size.parse().map_err(|_| wrong())?;
    if size > MOST_BYTES {
        return Err(word.wrong("too many bytes").label(format!("at most {MOST_BYTES}")));
    }
    match fill.strip_prefix('=') {
        None if fill.is_empty() => Ok((0..size).map(|at| at as u8).collect()),
        Some(fill) if fill.starts_with("random") => {
            let number = &fill["random".len()..];
            let sequence = if number.is_empty() { Ok(0) } else { number.parse::<u8>() };
            Ok(without_pattern(size, sequence.map_err(|_| wrong())?))
        }
        Some(fill) => match hex(fill).as_deref() {
            Some([byte]) => Ok(vec![*byte; size as usize]),
            _ => Err(wrong()),
        },
        None => Err(wrong()),
    }
}

fn without_pattern(size: u64, sequence: u8) -> Vec<u8> {
    let mut random = oorandom::Rand32::new(u64::from(sequence));
    (0..size).map(|_| random.rand_u32() as u8).collect()
}

fn hex(digits: &str) -> Option<Vec<u8>> {
    if digits.is_empty() || !digits.len().is_multiple_of(2) || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok()).collect()
}

/// Picks by name; an unknown name is answered with the nearest known one.
pub(super) fn one_of<T: Copy>(word: Piece<'_>, what: &str, known: &[(&str, T)]) -> Result<T, Problem> {
    known.iter().find(|(name, _)| *name == word.text).map(|(_, value)| *value).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
        word.wrong(format!("unknown {what} `{}`", word.text)).label(suggestion(word.text, &names))
    })
}

/// `did you mean …?`, or the list of what is possible when nothing is near.
pub(super) fn suggestion(written: &str, known: &[&str]) -> String {
    let near = known
        .iter()
        .map(|name| (distance(written, name), name))
        .filter(|(distance, name)| *distance <= (name.len() / 3).max(1))
        .min();
    match near {
        Some((_, name)) => format!("did you mean `{name}`?"),
        None if known.len() <= 16 => format!("one of {}", known.join(", ")),
        None => String::new(),
    }
}

/// Edits from one name to the other: insert, delete, replace, swap neighbours.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().take(64).collect(), b.chars().take(64).collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let mut least = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + usize::from(a[i - 1] != b[j - 1]));
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            row.push(least);
        }
        before = last;
        last = row;
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(text: &str) -> Piece<'_> {
        Piece { text, at: 0 }
    }

    #[test]
    fn times_are_exact_to_the_nanosecond() {
        for (text, nanoseconds) in
            [("100ms", 100_000_000), ("4.096us", 4_096), ("1s", 1_000_000_000), ("7ns", 7), ("0.64ms", 640_000)]
        {
            assert_eq!(duration(piece(text)).unwrap().as_nanos(), nanoseconds, "{text}");
        }
        for text in ["", "ms", "1", "1m", "-1s", "1.s", ".5s", "0.1ns", "1e3s", "601s", "99999999999999999s"] {
            assert!(duration(piece(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn bytes_are_written_as_payloads_are() {
        assert_eq!(bytes(piece("3B")).unwrap(), [0, 1, 2]);
        assert_eq!(bytes(piece("2B=aa")).unwrap(), [0xaa, 0xaa]);
        assert_eq!(bytes(piece("data=00ff")).unwrap(), [0, 0xff]);
        assert_eq!(bytes(piece("300B")).unwrap()[256], 0);
        let random = |text: &str| bytes(piece(text)).unwrap();
        assert_eq!(random("2048B=random")[..1024], random("1024B=random"));
        assert_ne!(random("2048B=random")[1024..], random("1024B=random"));
        assert_ne!(random("1024B=random"), random("1024B=random7"));
        for text in [
            "",
            "B",
            "3",
            "-1B",
            "3B=",
            "3B=a",
            "3B=random256",
            "3B=randomly",
            "3B=aabb",
            "3Bx",
            "data=",
            "data=0",
            "data=zz",
            "9999999B",
        ] {
            assert!(bytes(piece(text)).is_err(), "{text}");
        }
    }

    #[test]
    fn a_slip_of_the_finger_is_recognised() {
        assert_eq!(suggestion("titel", &["title", "about"]), "did you mean `title`?");
        assert_eq!(suggestion("zebra", &["title", "about"]), "one of title, about");
    }
}
