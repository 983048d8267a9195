//! Making foreign text safe to show, and fitting it into a width.

use std::fmt::{Display, Write as _};

/// Is this a character that could move the cursor, hide text, turn its direction or break an XML file?
pub(crate) fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// `text` with every such character written as an escape: `\n`, `\t`, `\u{1b}`.
pub(crate) fn one_line(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_unsafe(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// The lines of `text`, each safe to show; a tab becomes four spaces.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = String> + '_ {
    text.lines().map(|line| one_line(line.trim_end_matches('\r')).replace("\\t", "    "))
}

/// How many columns `text` takes.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().count()
}

/// `text` cut to `width` columns, the cut shown by `…`. A width of 0 cuts nothing.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if width == 0 || columns(text) <= width {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(width.saturating_sub(1)).collect();
    out.truncate(out.trim_end().len());
    out.push('…');
    out
}

/// `text` broken at spaces into lines of at most `width` columns; a word that is longer stays whole, for a packet is
/// meant to be copied. A width of 0 breaks nothing. There is always at least one line.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut out = Vec::new();
    for line in lines(text) {
        if width == 0 || columns(&line) <= width {
            out.push(line);
            continue;
        }
        let mut current = String::new();
        for word in line.split(' ').filter(|word| !word.is_empty()) {
            if !current.is_empty() && columns(&current) + 1 + columns(word) > width {
                out.push(std::mem::take(&mut current));
            }
            if !current.is_empty() {
                current.push(' ');
            }
            current.push_str(word);
        }
        out.push(current);
    }
    if out.is_empty() {
        out.push(String::new());
    }
    out
}

/// Nanoseconds as milliseconds with microseconds behind the point: `102.000 ms`.
pub(crate) fn milliseconds(ns: u64) -> String {
    let us = ns / 1_000;
    format!("{}.{:03} ms", us / 1_000, us % 1_000)
}

/// `text` with its middle left out where it is longer than `width` columns: of an address both ends tell most.
pub(crate) fn cut_middle(text: &str, width: usize) -> String {
    let columns = columns(text);
    if width == 0 || columns <= width {
        return text.to_owned();
    }
    let tail = width.saturating_sub(1) / 2;
    let head = width.saturating_sub(1) - tail;
    text.chars().take(head).chain(['…']).chain(text.chars().skip(columns - tail)).collect()
}

/// Nanoseconds in the unit that fits: `812 ns`, `12.345 us`, `1.200 ms`, `4.096 s`.
pub(crate) fn duration(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{}.{:03} us", ns / 1_000, ns % 1_000),
        1_000_000..1_000_000_000 => milliseconds(ns),
        _ => format!("{}.{:03} s", ns / 1_000_000_000, ns / 1_000_000 % 1_000),
    }
}

/// A number in at most five columns: `9999`, `12.3k`, `1.23M`. Digits are left out, never rounded up.
pub(crate) fn short(n: u64) -> String {
    const UNITS: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    if n < 10_000 {
        return n.to_string();
    }
    let group = n.ilog10() / 3;
    let hundredths = n / (1_000u64.pow(group) / 100);
    let unit = UNITS.get(group as usize).unwrap_or(&"");
    match hundredths {
        0..1_000 => format!("{}.{:02}{unit}", hundredths / 100, hundredths % 100),
        1_000..10_000 => format!("{}.{}{unit}", hundredths / 100, hundredths / 10 % 10),
        _ => format!("{}{unit}", hundredths / 100),
    }
}

/// Nanoseconds since 1970 as a date and a time of day, in UTC: `2026-03-01 12:00:00.000250 UTC`.
pub(crate) fn utc(ns: u64) -> String {
    let (seconds, us) = (ns / 1_000_000_000, ns % 1_000_000_000 / 1_000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Years are counted from March, so that the odd day is the last one of a year; 400 of them have 146,097 days.
    let day = days + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year + next;
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{date:02} {hour:02}:{minute:02}:{second:02}.{us:06} UTC")
}

/// `1 case`, `2 cases`.
pub(crate) fn counted<N: Display + PartialEq + From<u8>>(n: N, noun: &str) -> String {
    let end = if n == N::from(1) { "" } else { "s" };
    format!("{n} {noun}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_play_tricks_on_a_terminal_is_written_as_an_escape() {
        assert_eq!(one_line("a\x1b[31mb\r\n\u{202e}c\u{0}"), "a\\u{1b}[31mb\\r\\n\\u{202e}c\\u{0}");
        assert_eq!(one_line("µs → é"), "µs → é");
    }

    #[test]
    fn a_cut_is_shown_and_keeps_characters_whole() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("äöüäöü", 4), "äöü…");
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdef", 0), "abcdef");
        assert_eq!(cut("abc def", 5), "abc…");
    }

    #[test]
    fn text_breaks_at_spaces_and_never_inside_a_word() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("raw 0123456789abcdef", 6), ["raw", "0123456789abcdef"]);
        assert_eq!(wrap("", 6), [""]);
        assert_eq!(wrap("a\nb", 0), ["a", "b"]);
    }

    #[test]
    fn times_are_in_milliseconds() {
        assert_eq!(milliseconds(0), "0.000 ms");
        assert_eq!(milliseconds(102_000_999), "102.000 ms");
        assert_eq!(milliseconds(u64::MAX), "18446744073709.551 ms");
    }

    #[test]
    fn durations_take_the_unit_that_fits() {
        let said = [0, 999, 1_000, 999_999, 1_200_000, 999_999_999, 4_096_000_000].map(duration);
        assert_eq!(said, ["0 ns", "999 ns", "1.000 us", "999.999 us", "1.200 ms", "999.999 ms", "4.096 s"]);
        assert_eq!(duration(u64::MAX), "18446744073.709 s");
    }

    #[test]
    fn numbers_become_short() {
        let said = [0, 9_999, 10_000, 123_456, 999_999, 1_000_000, 12_345_678, 7_000_000_000].map(short);
        assert_eq!(said, ["0", "9999", "10.0k", "123k", "999k", "1.00M", "12.3M", "7.00G"]);
        assert_eq!(short(u64::MAX), "18.4E");
    }

    #[test]
    fn the_middle_of_a_long_address_is_left_out() {
        assert_eq!(cut_middle("fd00:1:2:3::1234", 9), "fd00…1234");
        assert_eq!(cut_middle("192.0.2.1", 9), "192.0.2.1");
        assert_eq!((cut_middle("abc", 1), cut_middle("abc", 2)), ("…".to_owned(), "a…".to_owned()));
    }

    #[test]
    fn a_time_of_day_is_that_of_the_calendar() {
        assert_eq!(utc(0), "1970-01-01 00:00:00.000000 UTC");
        assert_eq!(utc(951_782_400_000_001_000), "2000-02-29 00:00:00.000001 UTC");
        assert_eq!(utc(1_709_251_199_999_999_999), "2024-02-29 23:59:59.999999 UTC");
        assert_eq!(utc(1_709_251_200_000_000_000), "2024-03-01 00:00:00.000000 UTC");
        assert_eq!(utc(u64::MAX), "2554-07-21 23:34:33.709551 UTC");
    }
}
