//! What broke first, and what follows from it, in words: what the forms of an examination share.

use std::cmp::Reverse;

use crate::examination::{CaptureFile, Connection, End, Fault, Finding, Findings, RuleCount, Sent, Weight};
use crate::outcome::{Level, Rule};
use crate::statistics;
use crate::text::{counted, milliseconds};

/// The findings of a connection in the order in which a reader wants them.
#[derive(Debug)]
pub(crate) struct Cause<'e> {
    /// What broke first: a demand if any was broken, else the first finding.
    pub(crate) finding: &'e Finding,
    /// The other findings that are shown, in their order.
    pub(crate) others: Vec<&'e Finding>,
    /// Rules that further packets broke, by the frame at which they did so first.
    pub(crate) followers: Vec<Follower<'e>>,
}

/// A rule that further packets broke.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Follower<'e> {
    pub(crate) rule: &'e str,
    pub(crate) level: Level,
    /// How many packets, without that of the cause.
    pub(crate) count: u64,
    /// The first of them, where it is known.
    pub(crate) frame: Option<u64>,
    /// It is the rule of the cause.
    pub(crate) is_same: bool,
    /// Receivers take no notice of it: it follows from nothing, and nothing from it.
    pub(crate) is_harmless: bool,
}

impl Follower<'_> {
    /// `12 more packets broke rc.responder.ack`: what follows the cause.
    pub(crate) fn told(&self) -> String {
        let packets = counted(self.count, "more packet");
        let first = match self.frame {
            Some(frame) if self.count > 1 => format!(", the first in frame {frame}"),
            Some(frame) => format!(" in frame {frame}"),
            None => String::new(),
        };
        let rule = if self.is_same { "the same rule" } else { self.rule };
        let harmless = if self.is_harmless && !self.is_same { " (harmless)" } else { "" };
        format!("{packets} {} {rule}{first}{harmless}", broke(self.level))
    }
}

/// Of a finding that explains nothing which goes wrong later.
pub(crate) const HARMLESS: &str = "receivers take no notice of it: what goes wrong later has another cause";

/// What a packet did to a rule of that level.
pub(crate) fn broke(level: Level) -> &'static str {
    if level == Level::Must { "broke" } else { "did not follow" }
}

impl<'e> Cause<'e> {
    /// Of some findings; `None` where there are none.
    pub(crate) fn of(findings: &'e Findings) -> Option<Cause<'e>> {
        let at = findings.first.iter().position(|finding| finding.level == Level::Must).unwrap_or(0);
        let finding = findings.first.get(at)?;
        let others: Vec<&Finding> =
            findings.first.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, finding)| finding).collect();
        let mut followers: Vec<Follower<'_>> = Vec::new();
        for broken in &findings.counts {
            let is_of = |finding: &Finding| finding.rule == broken.rule && finding.level == broken.level;
            let count = broken.count.saturating_sub(u64::from(is_of(finding)));
            let told = others.iter().find(|finding| is_of(finding));
            if count > 0 {
                followers.push(Follower {
                    rule: &broken.rule,
                    level: broken.level,
                    count,
                    frame: told.map(|finding| finding.frame),
                    is_same: finding.rule == broken.rule,
                    is_harmless: told.is_some_and(|finding| finding.harmless),
                });
            }
        }
        followers.sort_by_key(|follower| {
            (follower.frame.is_none(), follower.is_harmless, follower.frame, Reverse(follower.count))
        });
        Some(Cause { finding, others, followers })
    }

    /// Packets that broke rules besides the cause.
    pub(crate) fn followers_count(&self) -> u64 {
        self.followers.iter().fold(0, |sum, follower| sum.saturating_add(follower.count))
    }
}

/// How bad findings are, the worst first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    /// A demand was not met.
    Broken,
    /// A recommendation was not followed, or the capture may have hidden a reason.
    Remarked,
    /// There are none.
    Clean,
}

impl State {
    pub(crate) fn of(findings: &Findings) -> State {
        let told = findings.first.iter().map(|finding| finding.level);
        let counted = findings.counts.iter().filter(|broken| broken.count > 0).map(|broken| broken.level);
        match told.chain(counted).max() {
            Some(Level::Must) => State::Broken,
            Some(_) => State::Remarked,
            None => State::Clean,
        }
    }

    /// That of a file: of its worst findings.
    fn of_file(file: &CaptureFile) -> State {
        all(file).map(|(_, findings)| State::of(findings)).min().unwrap_or(State::Clean)
    }

    /// A sign for it: it is never a colour alone.
    pub(crate) fn sign(self) -> char {
        match self {
            State::Broken => '✗',
            State::Remarked => '≈',
            State::Clean => '✓',
        }
    }
}

/// Packets that broke each rule where none of them is told.
pub(crate) fn only_counted(findings: &Findings) -> Vec<String> {
    let told =
        |broken: &RuleCount| format!("{} {} {}", counted(broken.count, "packet"), broke(broken.level), broken.rule);
    findings.counts.iter().map(told).collect()
}

/// Packets that broke a rule, of any level.
pub(crate) fn count(findings: &Findings) -> u64 {
    findings.counts.iter().fold(0, |sum, broken| sum.saturating_add(broken.count))
}

/// Connections, the worst first: what broke first, then remarks, then what had trouble, then what was busy.
pub(crate) fn worst_first(connections: &[Connection]) -> Vec<&Connection> {
    let mut all: Vec<&Connection> = connections.iter().collect();
    all.sort_by_cached_key(|connection| {
        let state = State::of(&connection.findings);
        let frame = Cause::of(&connection.findings).map_or(u64::MAX, |cause| cause.finding.frame);
        let both = |of: fn(&Sent) -> u64| of(&connection.sent[0]).saturating_add(of(&connection.sent[1]));
        let trouble = both(|sent| {
            let naks = statistics::sum(&sent.naks).saturating_add(sent.rnr_naks);
            naks.saturating_add(sent.retransmissions).saturating_add(sent.timeouts)
        });
        (state, frame, Reverse(trouble), Reverse(both(|sent| sent.packets)), connection.number)
    });
    all
}

/// The findings of each connection, and of the frames that belong to none.
fn all(file: &CaptureFile) -> impl Iterator<Item = (Option<&Connection>, &Findings)> {
    let connected = file.connections.iter().map(|connection| (Some(connection), &connection.findings));
    connected.chain([(None, &file.loose)])
}

/// What broke first in a file, and the connection in which it did; `None` where nothing is told.
pub(crate) fn first(file: &CaptureFile) -> Option<(Option<&Connection>, Cause<'_>)> {
    let found = all(file).filter_map(|(connection, findings)| Some((connection, Cause::of(findings)?)));
    found.min_by_key(|(_, Cause { finding, .. })| (finding.level != Level::Must, finding.harmless, finding.frame))
}

/// There is something to be judged, or nothing was wrong with a file that is empty.
pub(crate) fn is_read(file: &CaptureFile) -> bool {
    file.frames > 0 || file.error.is_none()
}

/// What is to be said of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Judgement {
    pub(crate) state: State,
    /// In one sentence.
    pub(crate) text: String,
}

impl Judgement {
    pub(crate) fn of(file: &CaptureFile) -> Judgement {
        let Some((connection, Cause { finding, .. })) = first(file) else { return untold(file) };
        let whose = match connection {
            Some(connection) => {
                let sender = &end(connection, finding.from).address;
                format!("of connection {}, sent by {sender} at {}", connection.number, milliseconds(finding.time_ns))
            }
            None => format!("of no connection, at {}", milliseconds(finding.time_ns)),
        };
        let others = all(file).filter(|(_, findings)| State::of(findings) != State::Clean).count() - 1;
        let more = match others {
            0 => String::new(),
            1 => "; there are findings in one more connection".to_owned(),
            n => format!("; there are findings in {n} more connections"),
        };
        let harmless = if finding.harmless { ", of which receivers take no notice" } else { "" };
        let what = format!("rame {} {whose}, {} {}", finding.frame, broke(finding.level), finding.rule);
        let state = State::of_file(file);
        let text = match state {
            State::Broken if finding.level == Level::Must => format!("F{what} first{harmless}{more}."),
            State::Broken => format!("Rules are broken by packets that are only counted, and f{what}{harmless}{more}."),
            _ => format!("No rule that must be kept is broken for certain, but f{what}{harmless}{more}."),
        };
        Judgement { state, text }
    }
}

/// Of a file of which no finding is told: there are none, or they are only counted.
fn untold(file: &CaptureFile) -> Judgement {
    let state = State::of_file(file);
    let count = all(file).map(|(_, findings)| count(findings)).fold(0, u64::saturating_add);
    let text = match state {
        State::Clean => clean(file),
        State::Broken => format!("Rules are broken by {count} packets, which are only counted."),
        State::Remarked => {
            "No rule that must be kept is broken for certain; there are remarks, which are only counted.".to_owned()
        }
    };
    let is_configured = misconfigured(file) == 0;
    Judgement { state: if is_configured { state } else { state.min(State::Remarked) }, text }
}

fn clean(file: &CaptureFile) -> String {
    let place = if file.error.is_some() { "what could be read" } else { "it" };
    let so_far = if file.error.is_some() { ", as far as the file could be read" } else { "" };
    let said = match (file.frames, file.packets) {
        (0, _) => "There is nothing to judge".to_owned(),
        (_, 0) => format!("There is no RoCE in {place}"),
        _ => format!("No rule is broken in {}{so_far}", counted(file.connections.len(), "connection")),
    };
    let sent = file.connections.iter().flat_map(|connection| &connection.sent);
    let again = sent.fold(0, |sum: u64, sent| sum.saturating_add(sent.retransmissions));
    let but = match (again, misconfigured(file)) {
        (0, 0) => String::new(),
        (again, 0) => format!(", but {}", were_sent_again(again)),
        (0, faults) => format!(", but {}", are_configured(faults)),
        (again, faults) => format!(", but {}, and {}", were_sent_again(again), are_configured(faults)),
    };
    format!("{said}{but}.")
}

fn were_sent_again(packets: u64) -> String {
    let were = if packets == 1 { "was" } else { "were" };
    format!("{} {were} sent again", counted(packets, "packet"))
}

fn are_configured(faults: usize) -> String {
    let are = if faults == 1 { "is" } else { "are" };
    format!("{} {are} configured wrong", counted(faults, "thing"))
}

/// Faults of configuration that cost something.
fn misconfigured(file: &CaptureFile) -> usize {
    file.faults.iter().filter(|fault| fault.weight == Weight::Fault).count()
}

/// The end that a finding or a packet names.
pub(crate) fn end(connection: &Connection, from: u8) -> &End {
    &connection.ends[usize::from(from > 0)]
}

/// `192.0.2.1 qp 0x11`.
pub(crate) fn named(end: &End) -> String {
    let address = if end.address.is_empty() { "unknown" } else { &end.address };
    end.qpn.map_or_else(|| address.to_owned(), |qpn| format!("{address} qp {qpn:#x}"))
}

/// Why something is a fault, without the statement of the rule, which stands beside it.
pub(crate) fn why<'f>(why: &'f str, rule: Option<&Rule>) -> &'f str {
    let statement = rule.map_or("", |rule| &rule.statement);
    why.strip_suffix(statement).unwrap_or(why).trim()
}

/// What is configured wrong: what costs something before what is only worth a look.
pub(crate) fn faults(file: &CaptureFile) -> Vec<&Fault> {
    let mut faults: Vec<&Fault> = file.faults.iter().collect();
    faults.sort_by_key(|fault| fault.weight);
    faults
}

/// Name of a class of pauses: PAUSE has none and is counted as class 8.
pub(crate) fn class(class: u8) -> String {
    if class == 8 { "all classes (PAUSE)".to_owned() } else { format!("class {class}") }
}
