//! Colours.

use super::Style;
use crate::outcome::Verdict;

/// What is to be coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    Plain,
    Faint,
    Strong,
    Good,
    Warn,
    Odd,
    Bad,
    Dead,
    Unsure,
    Command,
}

impl Paint {
    pub(super) fn of(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Paint::Good,
            Verdict::Loose => Paint::Warn,
            Verdict::Xfail | Verdict::Unsupported => Paint::Faint,
            Verdict::Xpass => Paint::Odd,
            Verdict::Fail => Paint::Bad,
            Verdict::Crash => Paint::Dead,
            Verdict::Inconclusive => Paint::Unsure,
        }
    }

    /// Parameters of the ANSI sequence.
    fn code(self) -> &'static str {
        match self {
            Paint::Plain => "",
            Paint::Faint => "2",
            Paint::Strong => "1",
            Paint::Good => "32",
            Paint::Warn => "33",
            Paint::Odd => "1;35",
            Paint::Bad => "1;31",
            Paint::Dead => "1;37;41",
            Paint::Unsure => "1;33",
            Paint::Command => "36",
        }
    }
}

/// `text` in that colour, or as it is when the style has none.
pub(super) fn paint(style: &Style, paint: Paint, text: &str) -> String {
    if !style.color || paint == Paint::Plain || text.is_empty() {
        return text.to_owned();
    }
    format!("\x1b[{}m{text}\x1b[0m", paint.code())
}
