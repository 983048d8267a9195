//! How a verdict looks: a word and a sign, never a colour alone.

use crate::outcome::Verdict;

/// Name of its class in the style sheet.
pub(crate) fn class(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "pass",
        Verdict::Loose => "loose",
        Verdict::Fail => "fail",
        Verdict::Xfail => "xfail",
        Verdict::Xpass => "xpass",
        Verdict::Unsupported => "unsupported",
        Verdict::Inconclusive => "inconclusive",
        Verdict::Crash => "crash",
    }
}

/// Its sign.
pub(crate) fn sign(verdict: &Verdict) -> char {
    match verdict {
        Verdict::Pass => '✓',
        Verdict::Loose => '≈',
        Verdict::Fail => '✗',
        Verdict::Xfail => '△',
        Verdict::Xpass => '▲',
        Verdict::Unsupported => '–',
        Verdict::Inconclusive => '?',
        Verdict::Crash => '✖',
    }
}

/// What it means, in a few words.
pub(crate) fn meaning(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Pass => "as the rules say",
        Verdict::Loose => "a recommendation was not followed, or an allowed alternative was taken",
        Verdict::Fail => "a demand was not met",
        Verdict::Xfail => "a demand was not met, and the profile says so with a reason",
        Verdict::Xpass => "all is well although the profile says that it is not: the profile is stale",
        Verdict::Unsupported => "the device lacks a capability that the scenario needs",
        Verdict::Inconclusive => "the trace cannot be trusted, or the device could not be reached",
        Verdict::Crash => "the device died",
    }
}
