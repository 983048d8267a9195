//! Steps about packets that come in a stream: how fast they come, when none may come, and CNPs, which stand beside them.

use std::time::Duration;

use super::diagnostics::Problem;
use super::script::PacketText;
use super::verb::wrong_form;
use super::words::{Piece, duration, number, suggestion};

/// What is asked of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stream {
    /// `take COUNT …`: so many packets must come, whatever they are.
    Take(Take),
    /// `take until PACKET`: a packet like this must come; those before it are taken whatever they are.
    Until(PacketText),
    /// `paused COUNT quanta`: none may come until so many quanta of 512 bit times are over since the step before; what had
    /// begun when the device was told may.
    Paused(u32),
    /// `flows within COUNT quanta`: one must come until so many quanta are over since the step before. It stays for the
    /// next step.
    Flows(u32),
    /// `no CNP [TIME]`: none may come; `None` = the profile's silence.
    NoCnp(Option<Duration>),
}

/// Packets to take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Take {
    /// How many.
    pub count: u32,
    /// What their rate is called from here on.
    pub name: Option<String>,
    /// The rate is that of so many of them, one behind the other, where they are slowest; `None` = of all.
    pub slowest: Option<u32>,
    /// What their rate has to be.
    pub share: Option<Share>,
}

/// A rate in relation to an earlier one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// Least percentage.
    pub from: u32,
    /// Greatest percentage.
    pub to: u32,
    /// Name of the earlier rate.
    pub of: String,
}

/// Words that begin these steps.
pub(super) const STEPS: [&str; 4] = ["take", "paused", "flows", "no"];

const MAX_PACKETS: u64 = 4096;
const MAX_QUANTA: u64 = 1_000_000;
const MAX_PERCENT: u32 = 10_000;

/// The packet of `take until PACKET`.
pub(super) fn until<'a>(keyword: Piece<'_>, rest: Piece<'a>) -> Option<Piece<'a>> {
    let (first, packet) = rest.word();
    (keyword.text == "take" && first.text == "until").then_some(packet)
}

/// Reads a step that begins with one of [`STEPS`]. `rates` are the names that were given so far.
pub(super) fn stream(keyword: Piece<'_>, rest: Piece<'_>, rates: &mut Vec<String>) -> Result<Stream, Problem> {
    let form = |form: &str| Err(wrong_form(keyword, rest, form));
    let quanta = |count| number(count, "a number of quanta", 1..=MAX_QUANTA).map(|quanta| quanta as u32);
    match (keyword.text, &rest.words()[..]) {
        ("take", [count, words @ ..]) => take(*count, words, rates),
        ("paused", [count, unit]) if unit.text == "quanta" => quanta(*count).map(Stream::Paused),
        ("flows", [within, count, unit]) if within.text == "within" && unit.text == "quanta" => {
            quanta(*count).map(Stream::Flows)
        }
        ("no", [cnp]) if cnp.text == "CNP" => Ok(Stream::NoCnp(None)),
        ("no", [cnp, time]) if cnp.text == "CNP" => duration(*time).map(|time| Stream::NoCnp(Some(time))),
        ("paused", _) => form("`paused COUNT quanta`"),
        ("flows", _) => form("`flows within COUNT quanta`"),
        ("no", _) => form("`no CNP [TIME]`"),
        _ => form("`take COUNT [as NAME] [slowest COUNT] [LOW%..HIGH% of NAME]` or `take until PACKET`"),
    }
}

/// `COUNT [as NAME] [slowest COUNT] [LOW%..HIGH% of NAME]`.
fn take(count: Piece<'_>, words: &[Piece<'_>], rates: &mut Vec<String>) -> Result<Stream, Problem> {
    let count = number(count, "the number of packets", 1..=MAX_PACKETS)? as u32;
    let (name, words) = match words {
        [word, name, words @ ..] if word.text == "as" => (Some(new_name(*name, rates)?), words),
        words => (None, words),
    };
    let (slowest, words) = match words {
        [word, part, words @ ..] if word.text == "slowest" => {
            (Some(number(*part, "the number of packets", 1..=u64::from(count))? as u32), words)
        }
        words => (None, words),
    };
    let share = match words {
        [] => None,
        [share, of, name] if of.text == "of" => {
            let (from, to) = percentages(*share)?;
            if !rates.iter().any(|known| known == name.text) {
                let known: Vec<&str> = rates.iter().map(String::as_str).collect();
                let problem = name.wrong(format!("no rate is called `{}` here", name.text));
                return Err(problem.label(suggestion(name.text, &known)));
            }
            Some(Share { from, to, of: name.text.to_owned() })
        }
        [word, ..] => return Err(word.wrong("`as NAME`, `slowest COUNT` or `LOW%..HIGH% of NAME` stands here")),
    };
    rates.extend(name.clone());
    Ok(Stream::Take(Take { count, name, slowest, share }))
}

fn new_name(name: Piece<'_>, rates: &[String]) -> Result<String, Problem> {
    if !name.text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_') || name.text.len() > 32 {
        let problem = name.wrong(format!("`{}` cannot be the name of a rate", name.text));
        return Err(problem.label("lower-case letters and _"));
    }
    if rates.iter().any(|known| known == name.text) {
        return Err(name.wrong(format!("a rate is called `{}` already", name.text)));
    }
    Ok(name.text.to_owned())
}

/// `LOW%..HIGH%`.
fn percentages(share: Piece<'_>) -> Result<(u32, u32), Problem> {
    let wrong = || share.wrong(format!("`{}` is no range of percentages", share.text)).label("like 0%..90%");
    let (low, high) = share.text.split_once("..").ok_or_else(wrong)?;
    let percent = |end: &str| {
        let digits = end.strip_suffix('%').filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        digits.parse::<u32>().ok().filter(|percent| *percent <= MAX_PERCENT)
    };
    match (percent(low), percent(high)) {
        (Some(low), Some(high)) if low < high => Ok((low, high)),
        _ => Err(wrong()),
    }
}
