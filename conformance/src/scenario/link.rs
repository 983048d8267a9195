//! The `link` steps of a script: what happens to packets between the device and the peer.

use std::ops::RangeInclusive;
use std::time::Duration;

use rocespec_codec::Psn;
use rocespec_codec::notation::Head;

use super::diagnostics::Problem;
use super::script::{LinkStep, RandomFault};
use super::words::{Piece, duration, number, one_of};
use crate::link::{Damage, End, Fate, Rate, Rule, Selector};

/// The end of the link where the device stands.
pub const DEVICE: End = End::A;
/// The end of the link where the peer stands.
pub const PEER: End = End::B;

/// Most `link` steps of a script: each packet is held against all of them.
pub(super) const MAX_STEPS: usize = 64;
/// Longest `link delay` and `link pause`. Checks wait 10 s at least for what is on its way.
const LONGEST_DELAY: Duration = Duration::from_secs(2);
const SENDERS: &[(&str, End)] = &[("dut", DEVICE), ("peer", PEER)];
const PSNS: RangeInclusive<u64> = 0..=0xff_ffff;
const MOST: u64 = 1000;

/// What a word after `link` begins.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Drop,
    Duplicate,
    Delay,
    Pause,
    Swap,
    Corrupt,
    Ce,
    Random(RandomFault),
}

const KINDS: &[(&str, Kind)] = &[
    ("drop", Kind::Drop),
    ("duplicate", Kind::Duplicate),
    ("delay", Kind::Delay),
    ("pause", Kind::Pause),
    ("swap", Kind::Swap),
    ("corrupt", Kind::Corrupt),
    ("ce", Kind::Ce),
    ("loss", Kind::Random(RandomFault::Loss)),
    ("duplication", Kind::Random(RandomFault::Duplication)),
    ("reordering", Kind::Random(RandomFault::Reordering)),
    ("corruption", Kind::Random(RandomFault::Corruption)),
];

/// Reads what follows `link`.
pub(super) fn link(keyword: Piece<'_>, rest: Piece<'_>) -> Result<LinkStep, Problem> {
    let (name, rest) = rest.word();
    if name.text.is_empty() {
        return Err(keyword.wrong("what happens on the link?").label("like `link drop from=dut psn=3 round=1`"));
    }
    let kind = one_of(name, "event of the link", KINDS)?;
    let words = rest.words();
    match kind {
        Kind::Random(fault) => random(name, fault, &words),
        Kind::Delay => {
            let (late, words) = time(name, "how much later?", "delay", &words)?;
            chosen(words, Fate { late, ..Fate::default() }, None)
        }
        Kind::Pause => {
            let (queued, words) = time(name, "for how long?", "pause", &words)?;
            chosen(words, Fate { queued, ..Fate::default() }, None)
        }
        Kind::Drop => chosen(&words, Fate::LOST, None),
        Kind::Corrupt => chosen(&words, Fate { damage: Some(Damage::Content), ..Fate::default() }, None),
        Kind::Ce => chosen(&words, Fate { congested: true, ..Fate::default() }, None),
        Kind::Duplicate => {
            let set: SetFate = |fate, value| {
                fate.copies = number(value, "the count of copies", 1..=8)? as u8;
                Ok(())
            };
            chosen(&words, Fate { copies: 1, ..Fate::default() }, Some(("copies", set)))
        }
        Kind::Swap => {
            let set: SetFate = |fate, value| {
                fate.behind = number(value, "the count of packets", 1..=64)? as u32;
                Ok(())
            };
            chosen(&words, Fate { behind: 1, ..Fate::default() }, Some(("behind", set)))
        }
    }
}

/// Takes a time off the beginning.
fn time<'w, 'p>(
    name: Piece<'_>,
    question: &str,
    kind: &str,
    words: &'w [Piece<'p>],
) -> Result<(Duration, &'w [Piece<'p>]), Problem> {
    let Some((time, words)) = words.split_first() else {
        return Err(name.wrong(question).label(format!("like `link {kind} 1ms from=peer psn=3`")));
    };
    let length = duration(*time)?;
    if length > LONGEST_DELAY {
        let label = format!("at most {}s", LONGEST_DELAY.as_secs());
        return Err(time.wrong("checks do not wait for so late a packet").label(label));
    }
    Ok((length, words))
}

type SetFate = fn(&mut Fate, Piece<'_>) -> Result<(), Problem>;

/// Faults of chosen packets. `own` is a word that this kind of fault alone knows.
fn chosen(words: &[Piece<'_>], fate: Fate, own: Option<(&str, SetFate)>) -> Result<LinkStep, Problem> {
    let mut rule = Rule { selector: Selector::default(), count: None, fate };
    let own_name = own.map(|(name, _)| name);
    fields(words, &["from", "opcode", "psn", "round", "count"], own_name, |key, value| {
        let Rule { selector, count, fate } = &mut rule;
        match key {
            "from" => selector.from = Some(one_of(value, "sender", SENDERS)?),
            "opcode" => selector.heads = heads(value)?,
            "psn" => selector.psns = Some(psns(value)?),
            "round" => selector.round = Some(number(value, "the round", 1..=MOST)? as u32),
            "count" => *count = Some(number(value, "the count", 1..=MOST)? as u32),
            _ => {
                if let Some((_, set)) = own {
                    set(fate, value)?;
                }
            }
        }
        Ok(())
    })?;
    Ok(LinkStep::Chosen(rule))
}

/// Faults at random: `loss 1%`, `reordering 5% depth=4`.
fn random(name: Piece<'_>, fault: RandomFault, words: &[Piece<'_>]) -> Result<LinkStep, Problem> {
    let Some((share, words)) = words.split_first() else {
        return Err(name.wrong("how often?").label(format!("like `link {} 1%`", name.text)));
    };
    let rate: Rate = share
        .text
        .parse()
        .map_err(|_| share.wrong(format!("`{}` is no share", share.text)).label("like 1%, 0.5% or 0.01"))?;
    let (mut from, mut depth) = (None, 1);
    let own = (fault == RandomFault::Reordering).then_some("depth");
    fields(words, &["from"], own, |key, value| {
        match key {
            "from" => from = Some(one_of(value, "sender", SENDERS)?),
            _ => depth = number(value, "the depth", 1..=64)? as u32,
        }
        Ok(())
    })?;
    Ok(LinkStep::Random { fault, from, rate, depth })
}

/// Reads words `key=value`, each at most once.
fn fields<'p>(
    words: &[Piece<'p>],
    known: &[&'static str],
    own: Option<&str>,
    mut set: impl FnMut(&str, Piece<'p>) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let known: Vec<(&str, &str)> = known.iter().copied().chain(own).map(|key| (key, key)).collect();
    let mut written = Vec::new();
    for word in words {
        let Some((key, value)) = word.split_at_char('=') else {
            let keys: Vec<String> = known.iter().map(|(key, _)| format!("{key}=…")).collect();
            return Err(word.wrong(format!("`{}` is no part of this step", word.text)).label(keys.join(", ")));
        };
        let key_name = one_of(key, "word", &known)?;
        if written.contains(&key_name) {
            return Err(key.wrong(format!("`{key_name}` stands twice")));
        }
        written.push(key_name);
        set(key_name, value)?;
    }
    Ok(())
}

/// `ACK`, `SEND_FIRST|SEND_MIDDLE`.
fn heads(list: Piece<'_>) -> Result<Vec<Head>, Problem> {
    let unknown = |word: &str| {
        list.wrong(format!("no packet is called `{word}`")).label("a name as in packets: SEND_ONLY, ACK, NAK")
    };
    list.text.split('|').map(|word| Head::parse(word).ok_or_else(|| unknown(word))).collect()
}

/// `3` or `3..7`: the first and how many.
fn psns(value: Piece<'_>) -> Result<(Psn, u32), Problem> {
    let Some((first, last)) = value.text.split_once("..") else {
        return Ok((Psn::new(number(value, "the PSN", PSNS)? as u32), 1));
    };
    let (first, last) = (value.part(0..first.len()), value.part(value.text.len() - last.len()..value.text.len()));
    let first = number(first, "the first PSN", PSNS)?;
    let last = number(last, "the last PSN", first..=*PSNS.end())?;
    Ok((Psn::new(first as u32), (last - first + 1) as u32))
}
