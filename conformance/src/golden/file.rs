//! The text of a golden file. `docs/goldens.md` is the manual.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use rocespec_reports::outcome::Actor;

use super::recording::{Line, Recording};
use crate::{duration, scenario};

/// First line of every golden file.
const FIRST: &str = "rocespec golden 1";
/// Columns of a time.
const TIME: usize = 10;
/// What a line begins with that stands for several like the one before it, each with the PSN that follows.
const MORE: &str = "... ";
/// Most bytes that the recordings of a file may take in memory, each counted for every variant: a line that stands for
/// several, and a section of several variants, cannot make a small file a large one.
const MOST_BYTES: usize = 16 << 20;

/// Recordings of the variants of a scenario, by variant: `ip=v6,start_psn=0xfffffe`, empty where nothing varies.
pub type Variants = BTreeMap<String, Recording>;

/// Why a text is no golden file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name}, line {line}: {message}; record it again with --bless")]
pub struct FileError {
    /// The file as named in messages.
    pub name: String,
    /// The line, 1 = first.
    pub line: usize,
    /// What is wrong.
    pub message: &'static str,
}

/// The text for these variants. Those that did the same share a section.
pub fn write(variants: &Variants) -> String {
    let mut sections: Vec<(Vec<&str>, &Recording)> = Vec::new();
    for (variant, recording) in variants {
        match sections.iter_mut().find(|(_, known)| known.is(recording)) {
            Some((names, _)) => names.push(variant),
            None => sections.push((vec![variant], recording)),
        }
    }
    let mut text = format!("{FIRST}\n");
    for (names, recording) in sections {
        text.push('\n');
        for name in names {
            let _ = writeln!(text, "[{name}]");
        }
        let mut at = 0;
        while let Some(line) = recording.lines.get(at) {
            let delay = format!("+{}", duration::text(recording.delay(at)));
            let _ = writeln!(text, "{delay:TIME$} {} {}", sign(line.actor), line.text);
            let more = more(recording, at);
            if more > 1 {
                let _ = writeln!(text, "{MORE}{more}");
            }
            at += if more > 1 { more + 1 } else { 1 };
        }
    }
    text
}

/// Reads what [`write()`] wrote.
///
/// # Errors
/// The first line that is wrong.
pub fn read(name: &str, text: &str) -> Result<Variants, FileError> {
    let mut variants = Variants::new();
    let (mut names, mut recording) = (Vec::new(), Recording::default());
    let mut left = MOST_BYTES;
    for (at, line) in text.lines().enumerate() {
        let fail = |message| FileError { name: name.to_owned(), line: at + 1, message };
        if at == 0 {
            if line != FIRST {
                return Err(fail("a golden file begins with `rocespec golden 1`"));
            }
        } else if let Some(variant) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            if !recording.lines.is_empty() {
                variants.extend(names.drain(..).zip(std::iter::repeat(std::mem::take(&mut recording))));
            }
            names.push(variant.to_owned());
        } else if !line.is_empty() {
            if names.is_empty() {
                return Err(fail("a variant in brackets stands before its lines"));
            }
            let mut push = |recording: &mut Recording, line: Line| {
                left = left.checked_sub(line.size() * names.len()).ok_or("it stands for more than 16 MiB")?;
                recording.lines.push(line);
                Ok(())
            };
            match line.strip_prefix(MORE) {
                Some(count) => repeat(&mut recording, count, push).map_err(fail)?,
                None => {
                    let before = recording.lines.last().map_or(0, |line| line.time_ns);
                    act(line, before).and_then(|line| push(&mut recording, line)).map_err(fail)?;
                }
            }
        }
    }
    variants.extend(names.into_iter().zip(std::iter::repeat(recording)));
    Ok(variants)
}

/// How many lines behind this one are like it, each with the PSN that follows.
fn more(recording: &Recording, at: usize) -> usize {
    let follows = |at: &usize| {
        let (Some(line), Some(before)) = (recording.lines.get(*at), recording.lines.get(at - 1)) else { return false };
        line.actor == before.actor
            && recording.delay(*at) == recording.delay(at - 1)
            && next(&before.text).is_some_and(|text| text == line.text)
    };
    (at + 1..recording.lines.len()).take_while(follows).count()
}

/// The line of a packet with the PSN that follows.
fn next(text: &str) -> Option<String> {
    let is_psn = |word: &&str| word.starts_with("psn=");
    let word = text.split(' ').find(is_psn)?;
    let psn: i32 = word.strip_prefix("psn=")?.parse().ok()?;
    Some(text.replacen(word, &format!("psn={}", psn.checked_add(1)?), 1))
}

/// Adds so many lines like the last one.
fn repeat(
    recording: &mut Recording,
    count: &str,
    mut push: impl FnMut(&mut Recording, Line) -> Result<(), &'static str>,
) -> Result<(), &'static str> {
    let count: usize = count.parse().map_err(|_| "behind `...` stands a number")?;
    let last = recording.lines.len().checked_sub(1).ok_or("`...` stands behind a packet")?;
    let delay = u64::try_from(recording.delay(last).as_nanos()).unwrap_or(u64::MAX);
    for _ in 0..count {
        let line = recording.lines.last().ok_or("`...` stands behind a packet")?;
        let text = next(&line.text).ok_or("`...` stands behind a packet with a PSN")?;
        let line = Line { time_ns: line.time_ns.saturating_add(delay), text, ..*line };
        push(recording, line)?;
    }
    Ok(())
}

/// One line; `before` is the time of the line before it.
fn act(line: &str, before: u64) -> Result<Line, &'static str> {
    let (delay, rest) = line.split_once(' ').ok_or("a line is a delay, a sign and what was done")?;
    let delay = delay.strip_prefix('+').and_then(scenario::duration).ok_or("a delay is like +4.096us")?;
    let (sign, text) = rest.trim_start().split_once(' ').ok_or("a line is a delay, a sign and what was done")?;
    let actor = match sign {
        ">" => Actor::Tester,
        "<" => Actor::Device,
        "*" => Actor::Software,
        _ => return Err("a sign is >, < or *"),
    };
    let delay = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
    Ok(Line { time_ns: before.saturating_add(delay), actor, text: text.to_owned(), line: None, frame: None })
}

fn sign(actor: Actor) -> char {
    match actor {
        Actor::Tester => '>',
        Actor::Device => '<',
        Actor::Software => '*',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(lines: &[(u64, Actor, &str)]) -> Recording {
        let line = |&(time_ns, actor, text): &(u64, Actor, &str)| Line {
            time_ns,
            actor,
            text: text.to_owned(),
            line: None,
            frame: None,
        };
        Recording { lines: lines.iter().map(line).collect() }
    }

    #[test]
    fn a_file_reads_back_and_variants_that_did_the_same_share_a_section() {
        let lines = [
            (0, Actor::Software, "dut recv 4 x 4096"),
            (0, Actor::Tester, "SEND_ONLY psn=0 ack 64B"),
            (1_500, Actor::Device, "ACK psn=0 msn=1"),
            (100_000_001_500, Actor::Tester, "raw"),
        ];
        let variants: Variants = [
            ("ip=v4".to_owned(), recording(&lines[..4])),
            ("ip=v6".to_owned(), recording(&lines[..3])),
            ("ip=v1".to_owned(), recording(&lines[..4])),
        ]
        .into();
        let text = "rocespec golden 1\n\n[ip=v1]\n[ip=v4]\n+0ns       * dut recv 4 x 4096\n\
                    +0ns       > SEND_ONLY psn=0 ack 64B\n+1.5us     < ACK psn=0 msn=1\n+100000ms  > raw\n\n\
                    [ip=v6]\n+0ns       * dut recv 4 x 4096\n+0ns       > SEND_ONLY psn=0 ack 64B\n+1.5us     < ACK psn=0 msn=1\n";
        assert_eq!(write(&variants), text);
        assert_eq!(read("x", text), Ok(variants));
    }

    #[test]
    fn packets_that_count_up_are_one_line() {
        let lines: Vec<(u64, Actor, String)> =
            (0..9).map(|psn| (psn * 271, Actor::Device, format!("RDMA_READ_RESPONSE_MIDDLE psn={psn} 256B"))).collect();
        let lines: Vec<(u64, Actor, &str)> =
            lines.iter().map(|(time, who, text)| (*time, *who, text.as_str())).collect();
        let variants: Variants = [(String::new(), recording(&lines))].into();
        let text = write(&variants);
        assert!(text.ends_with("+271ns     < RDMA_READ_RESPONSE_MIDDLE psn=1 256B\n... 7\n"), "{text}");
        assert_eq!(read("x", &text), Ok(variants));
    }

    #[test]
    fn a_case_in_which_nothing_happened_reads_back() {
        let variants: Variants = [(String::new(), Recording::default())].into();
        assert_eq!(read("x", &write(&variants)), Ok(variants));
    }

    #[test]
    fn a_wrong_file_is_refused_at_its_line() {
        for (text, line) in [
            ("", None),
            ("something", Some(1)),
            ("rocespec golden 2\n", Some(1)),
            ("rocespec golden 1\n+0ns > ACK", Some(2)),
            ("rocespec golden 1\n[]\n0ns > ACK", Some(3)),
            ("rocespec golden 1\n[]\n+0 > ACK", Some(3)),
            ("rocespec golden 1\n[]\n+0ns ! ACK", Some(3)),
            ("rocespec golden 1\n[]\n+0ns >", Some(3)),
            ("rocespec golden 1\n[]\n... 3", Some(3)),
            ("rocespec golden 1\n[]\n+0ns * dut\n... 3", Some(4)),
            ("rocespec golden 1\n[]\n+0ns > ACK psn=0\n... 18446744073709551615", Some(4)),
            ("rocespec golden 1\n[]\n+0ns > ACK psn=2147483647\n... 1", Some(4)),
            ("rocespec golden 1\n[]\n+9999999999999999s > ACK", Some(3)),
            ("rocespec golden 1\n[]\n+0ns > ACK\n+1us < NAK psn=0 msn=0", None),
        ] {
            assert_eq!(read("x", text).err().map(|error| error.line), line, "{text:?}");
        }
    }

    #[test]
    fn a_small_file_does_not_stand_for_a_large_one() {
        let section = |name: usize| format!("[{name}]\n+0ns > ACK psn=0\n... 50000\n");
        let many: String = (0..100).map(section).collect();
        let names: String = (0..100).map(|name| format!("[{name}]\n")).collect();
        let long = format!("[]\n+0ns > ACK psn=0 {}\n... 50000\n", "x".repeat(1 << 20));
        for text in [many, names + &section(100), long] {
            let error = read("x", &format!("{FIRST}\n{text}")).unwrap_err();
            assert!(error.message.contains("16 MiB"), "{error}");
        }
        assert!(read("x", &format!("{FIRST}\n{}", section(0))).is_ok());
    }
}
