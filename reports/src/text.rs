//! Making foreign text safe to show, and fitting it into a width.

use std::fmt::Write as _;

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

/// `1 case`, `2 cases`.
pub(crate) fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
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
}
