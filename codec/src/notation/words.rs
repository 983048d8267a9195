//! A line cut into words that know where they stand.

use core::ops::Range;

/// A word, or a part of one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word<'l> {
    pub(super) text: &'l str,
    /// Where it begins, in bytes from the start of the line.
    pub(super) at: usize,
}

impl<'l> Word<'l> {
    pub(super) fn span(self) -> Range<usize> {
        self.at..self.at + self.text.len()
    }

    /// The parts before and behind the first `separator`.
    pub(super) fn split_once(self, separator: &str) -> Option<(Word<'l>, Word<'l>)> {
        let (before, behind) = self.text.split_once(separator)?;
        let at = self.at + before.len() + separator.len();
        Some((Word { text: before, ..self }, Word { text: behind, at }))
    }
}

/// The words of a line, between ASCII white space.
#[derive(Clone)]
pub(super) struct Words<'l> {
    rest: &'l str,
    at: usize,
}

impl<'l> Words<'l> {
    pub(super) fn new(line: &'l str) -> Self {
        Words { rest: line, at: 0 }
    }
}

impl<'l> Iterator for Words<'l> {
    type Item = Word<'l>;

    fn next(&mut self) -> Option<Word<'l>> {
        let trimmed = self.rest.trim_ascii_start();
        let at = self.at + self.rest.len() - trimmed.len();
        let len = trimmed.bytes().position(|byte| byte.is_ascii_whitespace()).unwrap_or(trimmed.len());
        let (text, rest) = trimmed.split_at(len);
        *self = Words { rest, at: at + len };
        (!text.is_empty()).then_some(Word { text, at })
    }
}
