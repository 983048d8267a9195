//! What every text goes through on its way into a page.

use std::fmt::{self, Write};

use askama::filters::Escaper;

use crate::text::is_unsafe;

/// Escapes what HTML gives a meaning to, and writes as `\u{1b}` what a reader could not see or be deceived by. Line ends
/// stay.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Safe;

impl Escaper for Safe {
    fn write_escaped_str<W: Write>(&self, mut dest: W, string: &str) -> fmt::Result {
        let mut plain = 0;
        for (at, c) in string.char_indices() {
            let named = match c {
                '&' => "&amp;",
                '<' => "&lt;",
                '>' => "&gt;",
                '"' => "&quot;",
                '\'' => "&#39;",
                '\n' => continue,
                '\t' => "    ",
                '\r' => "\\r",
                c if is_unsafe(c) => "",
                _ => continue,
            };
            dest.write_str(&string[plain..at])?;
            plain = at + c.len_utf8();
            match named {
                "" => write!(dest, "\\u{{{:x}}}", u32::from(c))?,
                named => dest.write_str(named)?,
            }
        }
        dest.write_str(&string[plain..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_that_a_browser_would_obey() {
        let mut out = String::new();
        Safe.write_escaped_str(&mut out, "a<b>&\"'\u{1b}[31m\u{202e}é\n\tz").unwrap();
        assert_eq!(out, "a&lt;b&gt;&amp;&quot;&#39;\\u{1b}[31m\\u{202e}é\n    z");
    }
}
