//! Plays only the sender's side of a script and writes down what the device does: nothing is expected, nothing judged.

use std::time::Duration;

use rocespec_codec::notation::{self, Line};
use rocespec_codec::{Frame, Transport, decode};
use rocespec_control::{Command, Completion, QpState, Reply};
use rocespec_model::Time;
use rocespec_reports::outcome::Actor;

use super::software::{ASK_AGAIN, describe};
use super::{Bench, LINE_BUFFER, Stop};
use crate::golden::{Exchange, Fact, Packet, Trace};
use crate::run::connection::unexpected;
use crate::scenario::{Action, Step, Verb};

/// What facts about completions begin with.
const COMPLETION: &str = "completion";
/// Completions whose length and immediate data say nothing.
const BRINGS_NOTHING: [&str; 4] = ["send", "rdma_write", "atomic_write", "flush"];
/// Most bytes of a region that are looked at in the end.
const MOST_MEMORY: u64 = 1 << 16;

/// Another device's account of the same script: it says what to wait for, and where the probes lie.
#[derive(Debug, Clone, Copy)]
pub(in crate::run) struct Guide<'g> {
    pub(in crate::run) trace: &'g Trace,
    /// Every wait is so many times as long as the profile says.
    pub(in crate::run) patience: u32,
}

/// An observation in progress.
struct Watch<'w> {
    guide: Option<Guide<'w>>,
    trace: &'w mut Trace,
    open: Exchange,
    /// Completions of receives so far. Between the two queues the order is free.
    received: u32,
    /// Completions of sends so far.
    sent: u32,
    /// The device sends requests under an ACK timeout: what it sends may be followed by more as time passes.
    device_sends: bool,
    /// Packets that the script has waited for in the exchange at hand.
    owed: usize,
    /// The script has asked the software something in the exchange at hand.
    asked: bool,
    /// The script has just looked, and nothing has been done since.
    looked: bool,
    /// UDP source port of the device's first packet.
    source_port: Option<u16>,
}

impl Watch<'_> {
    /// What the guide saw in the exchange at hand.
    fn guided(&self) -> Option<&Exchange> {
        self.guide.and_then(|guide| guide.trace.exchanges.get(self.trace.exchanges.len()))
    }

    /// A wait of the profile, as long as is wanted here.
    fn patience(&self, wait: Duration) -> Duration {
        wait * self.guide.map_or(1, |guide| guide.patience)
    }

    /// Something is sent: what was asked before belongs to the time before.
    fn begin(&mut self) {
        if self.asked {
            let line = self.open.line;
            self.close();
            self.open.line = line;
        }
    }

    fn close(&mut self) {
        self.owed = 0;
        self.asked = false;
        self.trace.exchanges.push(std::mem::take(&mut self.open));
    }
}

impl Bench<'_> {
    /// Plays the script. What the device did is in `trace`, as far as it came, also after an error.
    pub(in crate::run) fn observe(&mut self, guide: Option<Guide<'_>>, trace: &mut Trace) -> Result<(), Stop> {
        let posts = self.scenario.steps.iter().any(|step| matches!(step.action, Action::Dut(Verb::Post(_))));
        let device_sends = posts && self.scenario.setup.timeout != 0;
        let open = Exchange::default();
        let mut watch = Watch {
            guide,
            trace,
            open,
            received: 0,
            sent: 0,
            device_sends,
            owed: 0,
            asked: false,
            looked: false,
            source_port: None,
        };
        let played = self.watch(&mut watch);
        watch.close();
        played
    }

    fn watch(&mut self, watch: &mut Watch<'_>) -> Result<(), Stop> {
        let scenario = self.scenario;
        for step in &scenario.steps {
            let expects = matches!(step.action, Action::Expect { .. });
            let looked = std::mem::replace(&mut watch.looked, expects);
            if looked && !expects && watch.device_sends {
                watch.close();
            }
            if !looked || !expects {
                watch.open.line = step.line;
            }
            match &step.action {
                Action::Send(packet) => self.stimulate(&packet.text, step.line, watch)?,
                // The model and the device are compared by packets, and this is none.
                Action::SendCut { .. } => {}
                Action::Probe => self.repeat_acknowledged(step, watch)?,
                Action::Wait(length) => self.let_pass(*length, watch)?,
                Action::Expect { any_of, when } if watch.device_sends => {
                    watch.owed += usize::from(any_of.iter().all(|alternative| alternative.packet.is_some()));
                    self.await_owed(when.within, watch)?;
                }
                Action::Expect { when, .. } if !looked => self.look(when.within, watch)?,
                Action::Expect { .. } => {}
                Action::Silence { length } => {
                    let length = length.unwrap_or(self.dut.profile().timing.silence);
                    self.let_pass(length, watch)?;
                    self.look(None, watch)?;
                }
                Action::Stream(_) => self.look(None, watch)?,
                Action::Dut(verb) => self.inquire(verb, step, watch)?,
                Action::Peered(_) | Action::Peer(_) | Action::Link(_) => unreachable!("a peer is not observed"),
            }
        }
        watch.open.line = 0;
        self.look(None, watch)?;
        self.last_facts(watch)
    }

    fn stimulate(&mut self, text: &str, line: u32, watch: &mut Watch<'_>) -> Result<(), Stop> {
        let time = Time::from_nanos(self.recorder.since_start(self.dut.now()));
        let symbols = self.connection.symbols();
        let scope = self.connection.scope_to_device(&symbols);
        let packet = match notation::parse(text, &scope, &mut vec![0; LINE_BUFFER]) {
            Ok(Line::Roce(packet)) => Packet::of(&packet, &scope, time),
            _ => Packet::other(text, time),
        };
        watch.begin();
        watch.open.sent.push(packet);
        watch.open.remark = self.remark(line);
        self.send_text(text, line)
    }

    /// The comment of a line of the script.
    fn remark(&self, line: u32) -> String {
        let at = line.saturating_sub(self.scenario.script_line) as usize;
        let comment = self.scenario.script.lines().nth(at).and_then(|line| line.split_once('#'));
        comment.map_or("", |(_, comment)| comment.trim()).to_owned()
    }

    /// The probe of [`Bench::probe`]: both devices get the same one.
    fn repeat_acknowledged(&mut self, step: &Step, watch: &mut Watch<'_>) -> Result<(), Stop> {
        let guided = watch.guided().and_then(|exchange| exchange.sent.last()).map(|sent| sent.line.clone());
        let packet = guided.unwrap_or_else(|| self.probe_packet());
        self.stimulate(&packet, step.line, watch)?;
        self.look(None, watch)
    }

    /// Waits for what the device has to say to what was sent, and ends the exchange.
    ///
    /// A guide says how much that is. Without one the time is waited out: on a virtual clock that costs nothing.
    fn look(&mut self, within: Option<Duration>, watch: &mut Watch<'_>) -> Result<(), Stop> {
        let timing = self.dut.profile().timing;
        if watch.device_sends {
            watch.owed = watch.guided().map_or(watch.owed, |exchange| exchange.seen.len());
            self.await_owed(within, watch)?;
            self.let_pass(timing.settle, watch)?;
            watch.close();
            return Ok(());
        }
        let limit = self.limit(within);
        let wanted = watch.guided().map(|exchange| exchange.seen.clone());
        match wanted {
            None => self.let_pass(limit, watch)?,
            Some(wanted) if wanted.is_empty() => self.let_pass(watch.patience(timing.silence), watch)?,
            Some(wanted) => {
                let deadline = self.dut.now() + watch.patience(limit);
                let all_here = |seen: &[Packet]| {
                    seen.len() >= wanted.len()
                        || seen.last().zip(wanted.last()).is_some_and(|(seen, wanted)| seen.agrees(wanted))
                };
                while !all_here(&watch.open.seen) && self.dut.now() < deadline {
                    self.gather(deadline, watch)?;
                }
                self.let_pass(watch.patience(timing.settle), watch)?;
            }
        }
        watch.close();
        Ok(())
    }

    /// How long the device has for an answer.
    fn limit(&self, within: Option<Duration>) -> Duration {
        let timing = self.dut.profile().timing;
        within.map_or(timing.response, |within| within + timing.slack)
    }

    /// Waits until as many packets are here as the script waits for. More would be a matter of time: a device whose requests
    /// are not answered sends them again.
    fn await_owed(&mut self, within: Option<Duration>, watch: &mut Watch<'_>) -> Result<(), Stop> {
        let deadline = self.dut.now() + watch.patience(self.limit(within));
        while watch.open.seen.len() < watch.owed && self.dut.now() < deadline {
            self.gather(deadline, watch)?;
        }
        Ok(())
    }

    fn let_pass(&mut self, length: Duration, watch: &mut Watch<'_>) -> Result<(), Stop> {
        let until = self.dut.now() + length;
        while self.dut.now() < until {
            self.gather(until, watch)?;
        }
        Ok(())
    }

    /// Lets time pass until something arrives, at most until `until`.
    fn gather(&mut self, until: Time, watch: &mut Watch<'_>) -> Result<(), Stop> {
        let mut arrived = Vec::new();
        let result = self.dut.advance(until, &mut |stamped| arrived.push((stamped.time, stamped.frame.to_vec())));
        for (time, bytes) in arrived {
            if let Some(packet) = self.witness(time, &bytes, &mut watch.source_port) {
                self.recorder.frame(time, Actor::Device, &bytes, packet.line.clone(), None);
                watch.open.seen.push(packet);
            }
        }
        result?;
        Ok(())
    }

    /// A frame in normal form, unless it belongs to an earlier connection or is no RoCE.
    fn witness(&mut self, time: Time, bytes: &[u8], source_port: &mut Option<u16>) -> Option<Packet> {
        let time = Time::from_nanos(self.recorder.since_start(time));
        let packet = match decode(bytes) {
            Ok(Frame::Roce(packet)) => packet,
            Ok(_) => return None,
            Err(error) => {
                let roce = !error.layer.is_around_roce();
                return roce.then(|| Packet::undecodable(&error, time));
            }
        };
        let to = packet.bth.dest_qp;
        if self.past.contains(&to) && to != self.connection.tester_qpn {
            return None;
        }
        // A CNP stands outside of the exchange, and whether one comes is a matter of the port's configuration.
        if packet.bth.opcode.transport() == Transport::Cnp {
            return None;
        }
        self.note(&packet);
        *source_port = source_port.or(packet.udp.map(|udp| udp.sport));
        let symbols = self.connection.symbols();
        let mut scope = self.connection.scope_of_device(&symbols, None);
        // Which source port is free; that it stays the same is not.
        if let (Some(udp), Some(port)) = (&mut scope.base.udp, *source_port) {
            udp.sport = port;
        }
        Some(Packet::of(&packet, &scope, time))
    }

    /// A `dut` step: what it asks becomes a fact, what it does is done.
    fn inquire(&mut self, verb: &Verb, step: &Step, watch: &mut Watch<'_>) -> Result<(), Stop> {
        let asks = verb.asks();
        if asks && !watch.open.sent.is_empty() && !watch.device_sends {
            self.look(None, watch)?;
            watch.open.line = step.line;
        }
        watch.asked |= asks;
        match verb {
            Verb::CheckMemory(place) => {
                self.memory_fact(&place.region, place.offset, place.bytes.len() as u64, step.line, watch)
            }
            Verb::CheckCompletions(patterns) => {
                let count = patterns.iter().map(|pattern| pattern.count.max(1) as usize).sum();
                self.completion_facts(count, watch)
            }
            Verb::CheckState(state) => self.state_fact(Some(*state), watch),
            Verb::CheckEvent(name) => self.event_fact(name, watch),
            Verb::Other(verb) => self.as_other(|bench| bench.inquire(verb, step, watch)),
            _ => {
                if matches!(verb, Verb::Post(_)) {
                    let time = Time::from_nanos(self.recorder.since_start(self.dut.now()));
                    watch.begin();
                    watch.open.sent.push(Packet::other(&step.text, time));
                }
                self.software(verb, step)?;
                while let Some(arrival) = self.inbox.pop_front() {
                    watch.open.seen.extend(self.witness(arrival.time, &arrival.bytes, &mut watch.source_port));
                }
                Ok(())
            }
        }
    }

    /// Everything that software can see of the connection in the end.
    fn last_facts(&mut self, watch: &mut Watch<'_>) -> Result<(), Stop> {
        self.state_fact(None, watch)?;
        self.completion_facts(0, watch)?;
        let held = self.connection.regions.iter().filter(|(name, _)| !self.connection.taken_back.contains(name));
        let regions: Vec<(String, u64)> = held.map(|(name, region)| (name.clone(), region.length)).collect();
        for (region, length) in regions {
            self.memory_fact(&region, 0, length.min(MOST_MEMORY), 0, watch)?;
        }
        Ok(())
    }

    /// Asks until the answer is the guide's or, without one, what is hoped for, or until the device has had its time.
    fn fact(
        &mut self,
        subject: String,
        hoped: Option<String>,
        watch: &mut Watch<'_>,
        mut ask: impl FnMut(&mut Self) -> Result<String, Stop>,
    ) -> Result<(), Stop> {
        let deadline = self.dut.now() + watch.patience(self.dut.profile().timing.silence);
        loop {
            let value = ask(self)?;
            let guided = watch.guided().and_then(|exchange| exchange.fact(&subject)).map(|fact| &fact.value);
            let wanted = if watch.guide.is_some() { guided } else { hoped.as_ref() };
            if wanted.is_none_or(|wanted| *wanted == value) || self.dut.now() >= deadline {
                watch.open.facts.push(Fact { subject, value });
                return Ok(());
            }
            self.let_pass(ASK_AGAIN, watch)?;
        }
    }

    /// The state of the queue pair; `hoped` is what the script says.
    fn state_fact(&mut self, hoped: Option<QpState>, watch: &mut Watch<'_>) -> Result<(), Stop> {
        let name = |state: QpState| format!("{state:?}").to_lowercase();
        let command = Command::QueryQp { qp: self.connection.qp };
        self.fact("qp".to_owned(), hoped.map(name), watch, |bench| match bench.dut.control(&command)? {
            Reply::QpAttributes(attributes) => Ok(attributes.state.map_or_else(|| "unknown".to_owned(), name)),
            other => Err(unexpected("query_qp", &other).into()),
        })
    }

    /// Whether the device has reported the event that the script asks for.
    fn event_fact(&mut self, name: &str, watch: &mut Watch<'_>) -> Result<(), Stop> {
        let mut reported = false;
        self.fact(format!("event {name}"), Some("reported".to_owned()), watch, |bench| {
            match bench.dut.control(&Command::Events {})? {
                Reply::Events(events) => {
                    reported |= events.iter().any(|event| event.event == name && bench.connection.about().fits(event));
                    Ok(if reported { "reported" } else { "not reported" }.to_owned())
                }
                other => Err(unexpected("events", &other).into()),
            }
        })
    }

    /// What has completed since the last time: a fact for each. As many are waited for as the guide has or, without one, as
    /// the script names.
    fn completion_facts(&mut self, count: usize, watch: &mut Watch<'_>) -> Result<(), Stop> {
        let deadline = self.dut.now() + watch.patience(self.dut.profile().timing.silence);
        let is_completion = |fact: &&Fact| fact.subject.starts_with(COMPLETION);
        let wanted = watch.guided().map_or(count, |exchange| exchange.facts.iter().filter(is_completion).count());
        let before = watch.open.facts.len();
        loop {
            for completion in self.connection.completions(self.dut)? {
                let value = self.completion(&completion)?;
                let receives = self.connection.receives.contains_key(&completion.wr_id);
                let (queue, number) = match receives {
                    true => ("receive", &mut watch.received),
                    false => ("send", &mut watch.sent),
                };
                watch.open.facts.push(Fact { subject: format!("{COMPLETION} {queue} {number}"), value });
                *number += 1;
            }
            if watch.open.facts.len() >= before + wanted || self.dut.now() >= deadline {
                return Ok(());
            }
            self.let_pass(ASK_AGAIN, watch)?;
        }
    }

    /// A completion with the data that it brought.
    fn completion(&mut self, completion: &Completion) -> Result<String, Stop> {
        let mut text = match BRINGS_NOTHING.contains(&completion.opcode.as_str()) && completion.status == "success" {
            true => format!("{} success of #{}", completion.opcode, completion.wr_id),
            false => format!("{} of #{}", describe(completion), completion.wr_id),
        };
        let place = self.connection.receives.get(&completion.wr_id).copied();
        if completion.status == "success"
            && completion.opcode == "recv"
            && let Some((mr, offset)) = place
        {
            let data = self.read(mr, offset, completion.byte_len.into())?;
            text = format!("{text} {}", outline(&data));
        }
        Ok(text)
    }

    fn memory_fact(
        &mut self,
        region: &str,
        offset: u64,
        length: u64,
        line: u32,
        watch: &mut Watch<'_>,
    ) -> Result<(), Stop> {
        let mr = self.region(region, line)?;
        let subject = format!("memory {region}+{offset:#x}");
        self.fact(subject, None, watch, |bench| Ok(outline(&bench.read(mr, offset, length)?)))
    }

    fn read(&mut self, mr: u32, offset: u64, length: u64) -> Result<String, Stop> {
        if length == 0 {
            return Ok(String::new());
        }
        match self.dut.control(&Command::ReadMemory { mr, offset, length })? {
            Reply::Data(data) => Ok(data.to_ascii_lowercase()),
            other => Err(unexpected("read_memory", &other).into()),
        }
    }
}

/// Bytes for people: short ones in full; of longer ones where they are not 0, each stretch with its first bytes and a
/// digest.
fn outline(data: &str) -> String {
    const SHORT: usize = 32;
    if data.len() <= SHORT {
        return if data.is_empty() { "no bytes".to_owned() } else { data.to_owned() };
    }
    let bytes: Vec<&str> = (0..data.len() / 2).map(|at| &data[at * 2..at * 2 + 2]).collect();
    let mut words = vec![format!("{}B", bytes.len())];
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == "00" {
            at += 1;
            continue;
        }
        // A stretch goes on over single zeroes.
        let end = (at..bytes.len()).find(|&end| bytes[end..].iter().take(8).all(|byte| *byte == "00"));
        let end = end.unwrap_or(bytes.len());
        let stretch = bytes[at..end].concat();
        words.push(format!("+{at:#x}:{:.16}~{}B~{:08x}", stretch, end - at, digest(&stretch)));
        at = end;
    }
    words.join(" ")
}

/// FNV-1a.
fn digest(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
