//! What the device's own software does and sees: receives, memory, completions, the state of the queue pair.

use std::fmt::Write as _;

use rocespec_control::{Access, Command, Completion, ErrorCode, QpAttributes, QpState, Reply};

use super::{Bench, Stop};
use crate::dut::DutError;
use crate::scenario::{CompletionPattern, Local, MemoryBytes, Step, Verb};

/// How often the device's software is asked again while something is awaited.
pub(super) const ASK_AGAIN: std::time::Duration = std::time::Duration::from_millis(1);

impl Bench<'_> {
    /// Carries out a `dut` step, or that of a peer.
    pub(super) fn software(&mut self, verb: &Verb, step: &Step) -> Result<(), Stop> {
        self.recorder.event(self.dut.now(), step.text.clone(), Some(step.line));
        self.carry_out(verb, step)
    }

    fn carry_out(&mut self, verb: &Verb, step: &Step) -> Result<(), Stop> {
        match verb {
            Verb::Receive { count, buffer } => self.post_receives(*count, buffer, step.line),
            Verb::RegisterMemory { name, length, access, foreign } => self.register(name, *length, access, *foreign),
            Verb::DeregisterMemory(name) => {
                let mr = self.region(name, step.line)?;
                self.order(&Command::DeregisterMemory { mr })?;
                self.here().taken_back.insert(name.clone());
                Ok(())
            }
            Verb::WriteMemory(place) => self.write_memory(place, step.line),
            Verb::CheckMemory(place) => self.check_memory(place, step.line),
            Verb::CheckCompletions(patterns) => self.check_completions(patterns, step.line),
            Verb::CheckState(state) => self.check_state(*state, step.line),
            Verb::Attach(group) => {
                let qp = self.qp();
                self.order(&Command::AttachMulticast { qp, group: *group })?;
                Ok(())
            }
            Verb::Modify(state) => self.modify(*state, step.line),
            Verb::CheckEvent(name) => self.check_event(name, step.line),
            Verb::Post(post) => self.post_sends(post, step.line),
            Verb::Object(verb) => self.object(verb, step.line),
            Verb::Other(verb) => self.as_other(|bench| bench.carry_out(verb, step)),
        }
    }

    /// Registers memory with a name; the other end may name it, too.
    fn register(&mut self, name: &str, length: u64, access: &[Access], foreign: bool) -> Result<(), Stop> {
        let (dut, connection) = self.speaker();
        let region = connection.register(dut, Some(name), length, access, foreign)?;
        if let Some(listener) = self.listener() {
            listener.remote.push((name.to_owned(), region));
        }
        Ok(())
    }

    /// Memory without a name of so many bytes, and at least one, which no region can do without.
    pub(super) fn buffer(&mut self, length: u64) -> Result<u32, Stop> {
        let (dut, connection) = self.speaker();
        Ok(connection.register(dut, None, length.max(1), &[Access::LocalWrite], false)?.mr)
    }

    fn post_receives(&mut self, count: u32, buffer: &Local, line: u32) -> Result<(), Stop> {
        let length = buffer.length();
        let (mr, first, stride) = match buffer {
            Local::Region { name, offset, .. } => (self.region(name, line)?, *offset, 0),
            _ => {
                let stride = u64::from(length.max(1));
                (self.buffer(stride * u64::from(count))?, 0, stride)
            }
        };
        for index in 0..u64::from(count) {
            let wr_id = self.here().next_id();
            let offset = first + index * stride;
            self.here().receives.insert(wr_id, (mr, offset));
            let order = self.here().receive(wr_id, mr, offset, length);
            self.order(&order)?;
        }
        Ok(())
    }

    /// Handle of the region of that name.
    pub(super) fn region(&mut self, name: &str, line: u32) -> Result<u32, Stop> {
        let region = self.here().region(name).map(|region| region.mr);
        region.ok_or_else(|| self.cannot(&format!("line {line}: no region {name:?}")))
    }

    fn write_memory(&mut self, place: &MemoryBytes, line: u32) -> Result<(), Stop> {
        let mr = self.region(&place.region, line)?;
        self.order(&Command::WriteMemory { mr, offset: place.offset, data: hex(&place.bytes) })?;
        Ok(())
    }

    fn check_memory(&mut self, place: &MemoryBytes, line: u32) -> Result<(), Stop> {
        let command = Command::ReadMemory {
            mr: self.region(&place.region, line)?,
            offset: place.offset,
            length: place.bytes.len() as u64,
        };
        let wanted = hex(&place.bytes);
        let seen = self.ask(&command, |reply| match reply {
            Reply::Data(data) => Some((data.eq_ignore_ascii_case(&wanted), data)),
            _ => None,
        })?;
        let Err(data) = seen else { return Ok(()) };
        let differs = wanted.bytes().zip(data.bytes()).position(|(a, b)| !a.eq_ignore_ascii_case(&b)).unwrap_or(0) / 2;
        let excerpt = |text: &str| text.get(differs * 2..).unwrap_or_default().chars().take(32).collect::<String>();
        let at = format!("{}+{:#x}", place.region, place.offset + differs as u64);
        let (expected, found) = (format!("{at}: {}", excerpt(&wanted)), format!("{at}: {}", excerpt(&data)));
        Err(self.found(line, None, expected, found, ""))
    }

    fn check_state(&mut self, state: QpState, line: u32) -> Result<(), Stop> {
        let command = Command::QueryQp { qp: self.qp() };
        let seen = self.ask(&command, |reply| match reply {
            Reply::QpAttributes(attributes) => Some((attributes.state == Some(state), attributes.state)),
            _ => None,
        })?;
        let Err(found) = seen else { return Ok(()) };
        Err(self.found(line, None, in_state(Some(state)), in_state(found), ""))
    }

    fn modify(&mut self, state: QpState, line: u32) -> Result<(), Stop> {
        let attributes = QpAttributes { state: Some(state), ..QpAttributes::default() };
        match self.order(&Command::ModifyQp { qp: self.qp(), attributes }) {
            Err(DutError::Refused(refusal)) if refusal.code == ErrorCode::Refused => {
                Err(self.found(line, None, in_state(Some(state)), refusal.message, ""))
            }
            result => Ok(result.map(|_| ())?),
        }
    }

    /// What else the device reports is free: ports come up, connections are established.
    fn check_event(&mut self, name: &str, line: u32) -> Result<(), Stop> {
        let about = self.here().about();
        let seen = self.ask(&Command::Events {}, |reply| match reply {
            Reply::Events(events) => Some((events.iter().any(|event| event.event == name && about.fits(event)), ())),
            _ => None,
        })?;
        match seen {
            Ok(()) => Ok(()),
            Err(()) => Err(self.found(line, None, format!("event {name}"), "no such event".to_owned(), "")),
        }
    }

    /// Asks until the answer is right or the device has had its time. `Err` inside holds the last wrong answer.
    fn ask<T>(&mut self, command: &Command, read: impl Fn(Reply) -> Option<(bool, T)>) -> Result<Result<(), T>, Stop> {
        let start = self.dut.now();
        loop {
            let reply = self.order(command)?;
            let shown = format!("{reply:?}");
            match read(reply) {
                None => return Err(self.cannot(&format!("the agent answered with something else: {shown:.200}"))),
                Some((true, _)) => return Ok(Ok(())),
                Some((false, wrong)) if self.is_late(start)? => return Ok(Err(wrong)),
                Some((false, _)) => self.wait(self.pause(start))?,
            }
        }
    }

    fn check_completions(&mut self, patterns: &[CompletionPattern], line: u32) -> Result<(), Stop> {
        let wanted: Vec<&CompletionPattern> =
            patterns.iter().flat_map(|pattern| std::iter::repeat_n(pattern, pattern.count.max(1) as usize)).collect();
        let start = self.dut.now();
        let mut seen: Vec<Completion> = Vec::new();
        loop {
            let (dut, connection) = self.speaker();
            seen.extend(connection.completions(dut)?);
            if seen.len() >= wanted.len() || self.is_late(start)? {
                break;
            }
            self.wait(self.pause(start))?;
        }
        let tester = self.here().tester_qpn.get();
        let right = |(pattern, completion): (&&CompletionPattern, &Completion)| matches(pattern, completion, tester);
        if seen.len() == wanted.len() && wanted.iter().zip(&seen).all(right) {
            return Ok(());
        }
        let expected = list(wanted.iter().map(|pattern| describe_pattern(pattern)));
        let asks_sender = wanted.iter().any(|pattern| pattern.from_tester);
        let found = list(seen.iter().map(|completion| match completion.src_qpn {
            other if asks_sender && other != tester => format!("{} from={other:#x}", describe(completion)),
            _ => describe(completion),
        }));
        Err(self.found(line, None, expected, found, ""))
    }
}

fn in_state(state: Option<QpState>) -> String {
    let name = state.map_or_else(|| "unknown".to_owned(), |state| format!("{state:?}").to_uppercase());
    format!("queue pair in {name}")
}

fn matches(pattern: &CompletionPattern, completion: &Completion, tester: u32) -> bool {
    let success = completion.status == "success";
    let status = match pattern.statuses.is_empty() {
        true => success,
        false => pattern.statuses.contains(&completion.status),
    };
    // The other fields say nothing unless the request succeeded.
    status
        && (!success
            || (pattern.opcodes.is_empty() || pattern.opcodes.contains(&completion.opcode))
                && pattern.length.is_none_or(|length| length == completion.byte_len)
                && pattern.immediate.is_none_or(|immediate| completion.immediate == Some(immediate))
                && (!pattern.from_tester || completion.src_qpn == tester))
}

fn describe_pattern(pattern: &CompletionPattern) -> String {
    let or = |words: &[String], usual: &str| if words.is_empty() { usual.to_owned() } else { words.join("|") };
    let mut text = format!("{} {}", or(&pattern.opcodes, "any"), or(&pattern.statuses, "success"));
    if let Some(length) = pattern.length {
        let _ = write!(text, " len={length}");
    }
    if let Some(immediate) = pattern.immediate {
        let _ = write!(text, " imm={immediate:#x}");
    }
    if pattern.from_tester {
        text.push_str(" from=tester");
    }
    text
}

pub(super) fn describe(completion: &Completion) -> String {
    if completion.status != "success" {
        return completion.status.clone();
    }
    let mut text = format!("{} success len={}", completion.opcode, completion.byte_len);
    if let Some(immediate) = completion.immediate {
        let _ = write!(text, " imm={immediate:#x}");
    }
    text
}

fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { "no completion".to_owned() } else { items.join(", ") }
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
