//! Reads a script, line by line.

use std::time::Duration;

use super::budget::Budget;
use super::diagnostics::{Problem, column};
use super::link::{self, DEVICE, PEER};
use super::network::Network;
use super::packet::{Purpose, Regions, check};
use super::script::{Action, Alternative, PacketText, Peer, Step, When};
use super::stream::{self, Stream, stream};
use super::verb::verb;
use super::words::{Piece, duration, number, suggestion};
use crate::ledger::Ledger;

/// Words that begin a step.
const STEPS: &[&str] = &[">", "<", "silence", "probe", "wait", "dut", "peer", "link", "take", "paused", "flows", "no"];

/// Steps in which the tester's end is played by hand.
const BY_HAND: &[&str] = &[">", "<", "silence", "probe", "take", "paused", "flows", "no"];

/// Who may stand at the tester's end.
const PEERS: &[(&str, Peer)] = &[("model", Peer::Model), ("device", Peer::Device)];

/// What a script is read for.
pub(super) struct Context<'a> {
    /// Text of the file in which it stands.
    pub(super) file: &'a str,
    /// Networks that the scenario may run on.
    pub(super) networks: &'a [Network],
}

/// Reads a whole script.
pub(super) fn script(script: Piece<'_>, context: &Context<'_>, problems: &mut Vec<Problem>) -> Vec<Step> {
    let lines = Lines::new(context.file);
    let networks = context.networks;
    let (regions, budget) = (Regions::new(), Budget::default());
    let mut reader = Reader { steps: Vec::new(), regions, budget, rates: Vec::new(), networks, problems, lines };
    let mut at = 0;
    for line in script.text.split_inclusive('\n') {
        reader.line(script.part(at..at + line.len()));
        at += line.len();
    }
    reader.finish(script)
}

struct Reader<'a, 'f> {
    steps: Vec<Read>,
    regions: Regions,
    budget: Budget,
    /// Rates that were measured so far.
    rates: Vec<String>,
    networks: &'a [Network],
    problems: &'a mut Vec<Problem>,
    lines: Lines<'f>,
}

/// A step and what only its neighbours need to know.
struct Read {
    step: Step,
    /// A `silence` that wants no probe.
    no_probe: bool,
    /// `< one of` still open for lines that stand deeper than this, and its span.
    open: Option<(usize, std::ops::Range<usize>)>,
}

/// Counts lines of a file that is read from front to back.
struct Lines<'f> {
    file: &'f str,
    at: usize,
    line: u32,
}

impl<'f> Lines<'f> {
    fn new(file: &'f str) -> Self {
        Lines { file, at: 0, line: 1 }
    }

    fn line_of(&mut self, at: usize) -> u32 {
        let passed = self.file.as_bytes().get(self.at..at).unwrap_or_default();
        self.line += passed.iter().filter(|&&byte| byte == b'\n').count() as u32;
        self.at = self.at.max(at);
        self.line
    }

    fn column_of(&self, at: usize) -> u32 {
        column(self.file, at)
    }
}

impl Reader<'_, '_> {
    fn line(&mut self, whole: Piece<'_>) {
        let content = whole.text.find('#').map_or(whole, |comment| whole.part(0..comment));
        let step = content.trim();
        if step.text.is_empty() || self.budget.is_spent {
            return;
        }
        let indent = content.text.chars().take_while(|c| c.is_whitespace()).count();
        let (keyword, rest) = step.word();
        let line = self.lines.line_of(step.at);
        if !STEPS.contains(&keyword.text)
            && let Some(last) = self.steps.last()
            && last.open.as_ref().is_some_and(|(head, _)| indent > *head)
        {
            match self.alternative(step, line) {
                Ok(alternative) => {
                    if let Some(Read { step: Step { action: Action::Expect { any_of, .. }, .. }, .. }) =
                        self.steps.last_mut()
                    {
                        any_of.push(alternative);
                    }
                }
                Err(problem) => self.problems.push(problem),
            }
            return;
        }
        self.close();
        let (rest, rule) = match Self::rule(rest) {
            Ok(read) => read,
            Err(problem) => return self.problems.push(problem),
        };
        let read = self.action(keyword, rest);
        match read.and_then(|read| self.budget.take(&read.0, step).map(|()| read)) {
            Ok((action, no_probe, one_of)) => {
                let open = one_of.then(|| (indent, step.span()));
                let step = Step { line, text: step.text.to_owned(), action, rule };
                self.steps.push(Read { step, no_probe, open });
            }
            Err(problem) => self.problems.push(problem),
        }
    }

    /// Takes `@RULE` off the end of a step.
    fn rule<'t>(step: Piece<'t>) -> Result<(Piece<'t>, Option<String>), Problem> {
        let words = step.words();
        let Some(last) = words.last().filter(|last| last.text.starts_with('@')) else { return Ok((step, None)) };
        let name = &last.text[1..];
        let ledger = Ledger::embedded();
        if ledger.get(name).is_none() {
            let known: Vec<&str> = ledger.rules().iter().map(|rule| rule.id.as_str()).collect();
            let problem = last.wrong(format!("the ledger has no rule `{name}`"));
            return Err(problem.label(suggestion(name, &known)));
        }
        Ok((step.part(0..last.at - step.at).trim(), Some(name.to_owned())))
    }

    /// Ends a `< one of`.
    fn close(&mut self) {
        if let Some(Read { step: Step { action: Action::Expect { any_of, .. }, .. }, open, .. }) = self.steps.last_mut()
            && let Some((_, span)) = open.take()
            && let Some((message, label)) = wrong_choice(any_of)
            && !self.problems.iter().any(|problem| problem.span.as_ref().is_some_and(|at| at.start > span.end))
        {
            self.problems.push(Problem::at(span, message).label(label));
        }
    }

    /// The action of a step, whether it is a `silence` without a probe, and whether alternatives follow.
    fn action(&mut self, keyword: Piece<'_>, rest: Piece<'_>) -> Result<(Action, bool, bool), Problem> {
        let plain = |action| Ok((action, false, false));
        if self.regions.has_peer && BY_HAND.contains(&keyword.text) {
            let problem = keyword.wrong(format!("`{}` has no place beside a peer", keyword.text));
            return Err(problem.label("the peer sends and answers by itself; say `peer …`, `link …` or `dut …`"));
        }
        match keyword.text {
            ">" => {
                if rest.text.is_empty() {
                    return Err(keyword.wrong("which packet?"));
                }
                let (cut, packet) = cut(rest)?;
                let purpose = cut.map_or(Purpose::Send, Purpose::Cut);
                check(packet, purpose, self.networks, &self.regions)?;
                let packet = self.packet(packet);
                plain(cut.map_or(Action::Send(packet.clone()), |bytes| Action::SendCut { packet, bytes }))
            }
            "<" => {
                let (rest, when) = when(rest)?;
                if rest.text.is_empty() {
                    return Err(keyword.wrong("which packet?"));
                }
                let words = rest.words();
                if matches!(&words[..], [one, of] if one.text == "one" && of.text == "of") {
                    return Ok((Action::Expect { any_of: Vec::new(), when }, false, true));
                }
                check(rest, Purpose::Expect, self.networks, &self.regions)?;
                let line = self.lines.line_of(rest.at);
                let only = Alternative { packet: Some(self.packet(rest)), loose: false, line };
                plain(Action::Expect { any_of: vec![only], when })
            }
            "silence" => silence(rest).map(|(length, no_probe)| (Action::Silence { length }, no_probe, false)),
            "probe" if rest.text.is_empty() => plain(Action::Probe),
            "probe" => Err(rest.wrong("`probe` stands alone")),
            "wait" if rest.text.is_empty() => Err(keyword.wrong("how long?").label("like `wait 100ms`")),
            "wait" => plain(Action::Wait(duration(rest)?)),
            "dut" => plain(Action::Dut(verb(
                if rest.text.is_empty() { keyword.part(3..3) } else { rest },
                &mut self.regions,
            )?)),
            "peer" => plain(self.peer(keyword, rest)?),
            "link" => plain(self.link(keyword, rest)?),
            step if stream::STEPS.contains(&step) => plain(Action::Stream(self.stream(keyword, rest)?)),
            unknown => {
                let label = if unknown.starts_with(|c: char| c.is_ascii_uppercase()) {
                    "`>` before a packet sends it, `<` expects it".to_owned()
                } else {
                    suggestion(unknown, STEPS)
                };
                Err(keyword.wrong(format!("no step begins with `{unknown}`")).label(label))
            }
        }
    }

    /// `peer model`, `peer device`, and what the peer's software does.
    fn peer(&mut self, keyword: Piece<'_>, rest: Piece<'_>) -> Result<Action, Problem> {
        if let Some((_, peer)) = PEERS.iter().find(|(name, _)| *name == rest.text) {
            if !self.steps.is_empty() {
                return Err(keyword.wrong(format!("`peer {}` is the first step of a script", rest.text)));
            }
            self.regions.has_peer = true;
            return Ok(Action::Peered(*peer));
        }
        self.wants_peer(keyword)?;
        self.regions.speaker = PEER;
        let verb = verb(if rest.text.is_empty() { keyword.part(4..4) } else { rest }, &mut self.regions);
        self.regions.speaker = DEVICE;
        verb.map(Action::Peer)
    }

    fn link(&mut self, keyword: Piece<'_>, rest: Piece<'_>) -> Result<Action, Problem> {
        self.wants_peer(keyword)?;
        let links = self.steps.iter().filter(|read| matches!(read.step.action, Action::Link(_))).count();
        if links == link::MAX_STEPS {
            return Err(keyword.wrong("too many `link` steps").label(format!("at most {}", link::MAX_STEPS)));
        }
        link::link(keyword, rest).map(Action::Link)
    }

    fn wants_peer(&self, keyword: Piece<'_>) -> Result<(), Problem> {
        if self.regions.has_peer {
            return Ok(());
        }
        let problem = keyword.wrong(format!("`{}` needs a peer", keyword.text));
        Err(problem.label("begin the script with `peer model` or `peer device`"))
    }

    fn stream(&mut self, keyword: Piece<'_>, rest: Piece<'_>) -> Result<Stream, Problem> {
        let Some(packet) = stream::until(keyword, rest) else { return stream(keyword, rest, &mut self.rates) };
        check(packet, Purpose::Expect, self.networks, &self.regions)?;
        Ok(Stream::Until(self.packet(packet)))
    }

    fn alternative(&mut self, line: Piece<'_>, number: u32) -> Result<Alternative, Problem> {
        let (first, rest) = line.word();
        let (loose, packet) = if first.text == "loose" { (true, rest) } else { (false, line) };
        if packet.text.is_empty() {
            return Err(first.wrong("`loose` what?"));
        }
        if packet.text == "nothing" {
            return Ok(Alternative { packet: None, loose, line: number });
        }
        check(packet, Purpose::Expect, self.networks, &self.regions)?;
        Ok(Alternative { packet: Some(self.packet(packet)), loose, line: number })
    }

    fn packet(&self, text: Piece<'_>) -> PacketText {
        PacketText { text: text.text.to_owned(), column: self.lines.column_of(text.at) }
    }

    /// Adds the probes and looks at the script as a whole.
    fn finish(mut self, script: Piece<'_>) -> Vec<Step> {
        self.close();
        let mut steps: Vec<Step> = Vec::new();
        let mut read = self.steps.into_iter().peekable();
        while let Some(Read { step, no_probe, .. }) = read.next() {
            let wants_probe = matches!(step.action, Action::Silence { .. }) && !no_probe;
            let follows = read.peek().is_some_and(|next| next.step.action == Action::Probe);
            let (line, rule) = (step.line, step.rule.clone());
            let probe = Step { line, text: "probe".to_owned(), action: Action::Probe, rule };
            steps.push(step);
            if wants_probe && !follows {
                steps.push(probe);
            }
        }
        if self.problems.is_empty() && steps.is_empty() {
            self.problems.push(script.wrong("the script has no steps"));
        } else if self.problems.is_empty() && !steps.iter().any(|step| can_fail(&step.action)) {
            let problem = script.wrong("this script cannot fail");
            self.problems
                .push(problem.label("expect something: `<`, `silence`, `dut memory`, `dut completions` or `dut qp`"));
        }
        steps
    }
}

/// What is wrong with a choice as a whole, and what to do.
fn wrong_choice(any_of: &[Alternative]) -> Option<(&'static str, &'static str)> {
    let mut packets = any_of.iter().filter_map(|alternative| alternative.packet.as_ref()).map(PacketText::is_cnp);
    let first = packets.next();
    if any_of.is_empty() {
        Some(("no alternative follows", "write each on a line of its own, deeper than this one"))
    } else if packets.any(|is_cnp| Some(is_cnp) != first) {
        Some(("a CNP is no alternative to other packets: it comes beside them", "give it a step of its own"))
    } else {
        None
    }
}

fn can_fail(action: &Action) -> bool {
    match action {
        Action::Expect { .. } | Action::Silence { .. } | Action::Probe | Action::Stream(_) => true,
        Action::Dut(verb) | Action::Peer(verb) => verb.asks(),
        Action::Send(_) | Action::SendCut { .. } | Action::Wait(_) | Action::Peered(_) | Action::Link(_) => false,
    }
}

/// Takes `cut BYTES` off the beginning of a packet to send.
fn cut(line: Piece<'_>) -> Result<(Option<usize>, Piece<'_>), Problem> {
    let (word, rest) = line.word();
    if word.text != "cut" {
        return Ok((None, line));
    }
    let (bytes, packet) = rest.word();
    // The longest headers behind a UDP header.
    let bytes = number(bytes, "the count of bytes to cut out", 1..=64)?;
    Ok((Some(bytes as usize), packet))
}

/// Takes `after DURATION` and `within DURATION` off the end of an expectation.
fn when(line: Piece<'_>) -> Result<(Piece<'_>, When), Problem> {
    let words = line.words();
    let is_key = |word: &Piece<'_>| matches!(word.text, "after" | "within");
    let Some(at) = words.iter().position(is_key) else { return Ok((line, When::default())) };
    let before = line.part(0..words[at].at - line.at).trim();
    let mut when = When::default();
    let mut rest = &words[at..];
    while let [key, more @ ..] = rest {
        let limit = match key.text {
            "after" => &mut when.after,
            "within" => &mut when.within,
            _ => return Err(key.wrong("nothing follows the time")),
        };
        let Some((time, more)) = more.split_first() else {
            let label = format!("like `{} 100ms`", key.text);
            return Err(key.wrong(format!("{} what time?", key.text)).label(label));
        };
        if limit.replace(duration(*time)?).is_some() {
            return Err(key.wrong(format!("`{}` stands twice", key.text)));
        }
        rest = more;
    }
    if let (Some(after), Some(within)) = (when.after, when.within)
        && within <= after
    {
        return Err(words[at].wrong("this leaves no time"));
    }
    Ok((before, when))
}

/// `silence [DURATION] [no probe]`.
fn silence(rest: Piece<'_>) -> Result<(Option<Duration>, bool), Problem> {
    let words = rest.words();
    let (words, no_probe) = match &words[..] {
        [before @ .., no, probe] if no.text == "no" && probe.text == "probe" => (before, true),
        all => (all, false),
    };
    match words {
        [] => Ok((None, no_probe)),
        [time] => Ok((Some(duration(*time)?), no_probe)),
        _ => Err(rest.wrong("the form of this step is `silence [DURATION] [no probe]`")),
    }
}
