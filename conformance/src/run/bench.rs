//! The tester's bench: one case on one device, with what has arrived and what has been found so far.

mod cut;
mod expect;
mod judged;
mod object;
pub(super) mod observe;
mod post;
mod software;
mod stream;
mod traffic;
mod universal;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use rocespec_codec::notation::{self, Line};
use rocespec_codec::{
    Frame, Header, Msn, Opcode, Psn, Qpn, Roce, Syndrome, SyndromeClass, Transport, decode, encode, encoded_len,
};
use rocespec_control::Command;
use rocespec_model::Time;
use rocespec_reports::outcome::{Actor, Finding};

use super::Planned;
use super::connection::Connection;
use super::execute::Executed;
use super::judge::Ending;
use super::observations::HandedOut;
use super::record::Recorder;
use crate::duration::text as duration;
use crate::dut::{Dut, DutError};
use crate::ledger::Ledger;
use crate::link::End;
use crate::oracle::{self, Oracle, Port};
use crate::scenario::{Action, DEVICE, PEER, PacketText, Scenario, Setup, Step};

pub(super) use traffic::Traffic;

/// Room for the longest packet that a line can name.
const LINE_BUFFER: usize = 128 * 1024;

/// How fast a script is played.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// As it is written.
    Script,
    /// After each packet the device has time to die of it, and is asked whether it lives.
    PacketByPacket,
}

/// Time that a device gets to die of a packet.
const AGONY: Duration = Duration::from_millis(100);

/// Why a script was left before its end.
pub(super) enum Stop {
    /// A finding says it.
    Found,
    /// The device is the reason.
    Device(DutError),
}

impl From<DutError> for Stop {
    fn from(error: DutError) -> Stop {
        Stop::Device(error)
    }
}

/// A frame that arrived for this connection and that no step has taken yet.
struct Arrival {
    time: Time,
    number: u32,
    bytes: Vec<u8>,
}

/// A request as it was sent.
struct Request {
    psn: Psn,
    bytes: Vec<u8>,
    line: u32,
}

/// One case in progress.
pub(super) struct Bench<'d> {
    dut: &'d mut dyn Dut,
    scenario: &'d Scenario,
    connection: Connection,
    /// The peer and the way to it, where the tester's end is one.
    traffic: Option<Box<Traffic<'d>>>,
    /// Whose software acts.
    speaker: End,
    recorder: Recorder,
    pace: Pace,
    past: &'d BTreeSet<Qpn>,
    inbox: VecDeque<Arrival>,
    /// CNPs that arrived and that no step has taken yet.
    notices: VecDeque<Arrival>,
    /// Rates that the script gave a name.
    rates: BTreeMap<String, stream::Measured>,
    findings: Vec<Finding>,
    loose: Option<String>,
    /// The rule that the step at hand names.
    rule: Option<&'d str>,
    /// Requests sent, for those that are to be sent again.
    requests: Vec<Request>,
    /// Last PSN that an ACK named: a SEND or a WRITE had it.
    acknowledged: Psn,
    /// Last PSN that is known to be completed, of any request.
    completed: Psn,
    /// Last MSN that the device showed.
    msn: Msn,
    /// Last syndrome that it showed.
    syndrome: Option<Syndrome>,
    /// A request that it put off, until a NAK for the gap behind it has come.
    put_off: Option<Psn>,
    /// Judges every frame of the device.
    oracle: Oracle,
    /// Its port, where pauses are judged.
    port: Option<Port>,
    /// When the tester last sent a MAC control frame.
    told_port: Time,
    /// When the last packet of the script left or came, or the software last posted a send request. `after` counts from here.
    last_step: Time,
    /// The script sends no request of the tester: the device asks, the tester answers.
    only_answers: bool,
    /// The PSN behind the last request that the device sent: what lies before is sent again.
    requested: Psn,
}

impl<'d> Bench<'d> {
    pub(super) fn new(
        dut: &'d mut dyn Dut,
        planned: &Planned<'d>,
        connection: Connection,
        recorder: Recorder,
        pace: Pace,
        past: &'d BTreeSet<Qpn>,
    ) -> Bench<'d> {
        let scenario = planned.scenario;
        let oracle = universal::oracle(dut, &planned.variant.setup, &connection, dut.profile().timing.slack);
        Bench {
            scenario,
            rule: None,
            requests: Vec::new(),
            acknowledged: connection.origin().minus(1),
            completed: connection.origin().minus(1),
            oracle,
            port: universal::port(dut, &scenario.needs),
            told_port: dut.now(),
            last_step: dut.now(),
            only_answers: scenario.steps.iter().all(|step| only_answers(&step.action)),
            requested: connection.origin(),
            dut,
            connection,
            traffic: None,
            speaker: DEVICE,
            recorder,
            pace,
            past,
            inbox: VecDeque::new(),
            notices: VecDeque::new(),
            rates: BTreeMap::new(),
            findings: Vec::new(),
            loose: None,
            msn: Msn::default(),
            syndrome: None,
            put_off: None,
        }
    }

    /// This bench where the clocks of device and tester may be so far apart, which is more than the profile says.
    pub(super) fn tolerating(self, skew: Duration, setup: &Setup) -> Bench<'d> {
        let oracle = universal::oracle(self.dut, setup, &self.connection, skew);
        Bench { oracle, ..self }
    }

    /// Plays the script and takes what is left over.
    pub(super) fn play(&mut self) -> Result<(), Stop> {
        let scenario = self.scenario;
        for step in &scenario.steps {
            self.rule = step.rule.as_deref();
            self.step(step)?;
        }
        self.rule = None;
        self.leftovers()
    }

    /// Ends the case. Gives the connection as the device has it and, where there is a peer, as that has it.
    pub(super) fn finish(self, ending: Ending) -> (Connection, Option<Connection>, Executed) {
        let duration_ns = self.recorder.since_start(self.dut.now());
        let handed_out = HandedOut {
            qpn: Some(self.connection.device_qpn().get()),
            rkeys: self.connection.rkeys.clone(),
            source_port: self.oracle.source_port(),
        };
        let hole = self.recorder.hole();
        let (trace, pcapng) = self.recorder.finish();
        let form = Some(self.connection.form(self.past));
        let findings = super::judge::cause_first(self.findings, &self.scenario.rules);
        let loose = self.loose;
        let executed =
            Executed { ending, findings, loose, trace, pcapng, form, duration_ns, handed_out, hole, once: false };
        (self.connection, self.traffic.map(|traffic| traffic.into_connection()), executed)
    }

    fn step(&mut self, step: &Step) -> Result<(), Stop> {
        match &step.action {
            Action::Send(packet) => self.send(packet, step.line),
            Action::SendCut { packet, bytes } => self.send_cut(packet, *bytes, step.line),
            Action::Expect { any_of, when } => self.expect(any_of, *when, step.line),
            Action::Silence { length } => self.silence(*length, step.line),
            Action::Probe => self.probe(step.line),
            Action::Wait(length) => self.wait(*length),
            Action::Stream(wanted) => self.stream(wanted, step.line),
            Action::Dut(verb) => self.software(verb, step),
            Action::Peered(_) => Ok(()),
            Action::Peer(verb) => {
                self.pump(self.dut.now())?;
                self.speaker = PEER;
                let done = self.software(verb, step);
                self.speaker = DEVICE;
                done
            }
            Action::Link(event) => self.link(event, step),
        }
    }

    fn send(&mut self, packet: &PacketText, line: u32) -> Result<(), Stop> {
        // What the device has sent by now it has sent before.
        self.pump(self.dut.now())?;
        self.send_text(&packet.text, line)
    }

    /// The text of a packet with the number of the second queue pair where it is named.
    fn named<'t>(&mut self, text: &'t str) -> Result<Cow<'t, str>, Stop> {
        if !text.contains(PacketText::TO_OTHER) {
            return Ok(Cow::Borrowed(text));
        }
        Ok(Cow::Owned(PacketText::with_other(text, self.connection.other_qpn(self.dut)?.get())))
    }

    fn send_text(&mut self, text: &str, line: u32) -> Result<(), Stop> {
        let text = &*self.named(text)?;
        let symbols = self.connection.symbols();
        let scope = self.connection.scope_to_device(&symbols);
        let mut buffer = vec![0; LINE_BUFFER];
        let parsed = notation::parse(text, &scope, &mut buffer)
            .map_err(|error| self.cannot(&format!("line {line}: {error}")))?;
        let (bytes, shown) = match parsed {
            Line::Raw(bytes) => (bytes.to_vec(), text.to_owned()),
            Line::Roce(packet) => {
                let mut bytes = vec![0; encoded_len(&packet)];
                encode(&packet, &mut bytes).expect("the buffer has the packet's length");
                if packet.bth.opcode.transport() != Transport::Cnp {
                    self.requests.push(Request { psn: packet.bth.psn, bytes: bytes.clone(), line });
                }
                (bytes, notation::print(&packet, &scope).elided().to_string())
            }
        };
        self.transmit(&bytes, shown, line)
    }

    fn transmit(&mut self, bytes: &[u8], shown: String, line: u32) -> Result<(), Stop> {
        self.deliver(bytes, shown, Some(line))?;
        self.last_step = self.dut.now();
        if self.pace == Pace::PacketByPacket {
            self.wait(AGONY)?;
            self.is_alive()?;
        }
        Ok(())
    }

    /// Gives a frame to the device.
    fn deliver(&mut self, bytes: &[u8], shown: String, line: Option<u32>) -> Result<(), Stop> {
        self.recorder.frame(self.dut.now(), Actor::Tester, bytes, shown, line);
        self.tell_oracle(bytes);
        Ok(self.dut.transmit(bytes)?)
    }

    /// Asks the device's software whether it is still there.
    fn is_alive(&mut self) -> Result<(), Stop> {
        self.dut.control(&Command::QueryQp { qp: self.connection.qp })?;
        Ok(())
    }

    /// A scenario that cannot be played on this device.
    fn cannot(&self, why: &str) -> Stop {
        Stop::Device(DutError::Unreachable(format!("{}: {why}", self.scenario.file)))
    }

    fn wait(&mut self, length: Duration) -> Result<(), Stop> {
        let until = self.dut.now() + length;
        while self.dut.now() < until {
            self.pump(until)?;
        }
        Ok(())
    }

    /// Lets time pass until something arrives, at most until `until`.
    fn pump(&mut self, until: Time) -> Result<(), Stop> {
        if self.traffic.is_some() {
            return self.exchange(until);
        }
        let mut arrived = Vec::new();
        let result = self.dut.advance(until, &mut |stamped| arrived.push((stamped.time, stamped.frame.to_vec())));
        for (time, bytes) in arrived {
            self.take(time, bytes);
        }
        result?;
        self.hold()
    }

    /// Ends a case in which more frames come than anybody can look at.
    fn hold(&self) -> Result<(), Stop> {
        match self.recorder.is_full() {
            true => Err(self.cannot("the device never stops sending: more frames came than a case can hold")),
            false => Ok(()),
        }
    }

    /// Records a frame, has the oracle judge it, and keeps it when it is for this connection.
    fn take(&mut self, time: Time, bytes: Vec<u8>) {
        let tester_qpn = self.connection.tester_qpn;
        let mut is_cnp = false;
        let (text, breaches, ours) = match decode(&bytes) {
            // Late words of a connection that is gone, and those of the second queue pair.
            Ok(Frame::Roce(packet)) if self.past.contains(&packet.bth.dest_qp) && packet.bth.dest_qp != tester_qpn => {
                (self.show(&packet), Vec::new(), false)
            }
            Ok(Frame::Roce(packet)) => {
                let mut breaches = self.oracle.sent(time, &packet);
                breaches.extend(self.port.as_ref().and_then(|port| port.sent(time, &packet)));
                // A congestion notification stands outside of the exchange.
                is_cnp = packet.bth.opcode.transport() == Transport::Cnp;
                (self.show(&packet), breaches, !is_cnp && packet.bth.dest_qp == tester_qpn)
            }
            Ok(_) => (format!("not RoCE, {} bytes", bytes.len()), Vec::new(), false),
            Err(error) => {
                let roce = !error.layer.is_around_roce();
                let breaches = if roce { vec![oracle::undecodable(&error)] } else { Vec::new() };
                (format!("cannot be decoded: {error}"), breaches, false)
            }
        };
        let number = self.recorder.frame(time, Actor::Device, &bytes, text.clone(), None);
        for breach in breaches {
            self.breach(breach, DEVICE, time, number, &text);
        }
        let arrival = Arrival { time, number, bytes };
        if ours {
            self.inbox.push_back(arrival);
        } else if is_cnp {
            self.notices.push_back(arrival);
        }
    }

    /// A packet of the device in the notation.
    fn show(&self, packet: &Roce<'_>) -> String {
        let symbols = self.connection.symbols_of_device();
        let scope = self.connection.scope_of_device(&symbols, Some(packet));
        notation::print(packet, &scope).elided().to_string()
    }

    /// A step was not met: the scenario's own rule is broken.
    ///
    /// `how` says where expected and seen differ; it may be empty.
    fn found(
        &mut self,
        line: impl Into<Option<u32>>,
        arrival: Option<&Arrival>,
        expected: String,
        seen: String,
        how: &str,
    ) -> Stop {
        let first = self.scenario.rules.first().map(String::as_str);
        let rule = self.rule.or(first).unwrap_or_default().to_owned();
        let statement = Ledger::embedded().get(&rule).map_or("", |rule| &rule.statement);
        let mut why = [how, statement].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(". ");
        if let Some(told) = self.traffic.as_mut().and_then(|traffic| traffic.tell()) {
            why = format!("{why} {told}");
        }
        let time = arrival.map_or_else(|| self.dut.now(), |arrival| arrival.time);
        self.findings.push(Finding {
            rule,
            level: self.scenario.level,
            device: self.name_of(self.speaker),
            line: line.into(),
            frame: arrival.map(|arrival| arrival.number),
            packet: arrival.map(|arrival| self.text(arrival)),
            time_ns: self.recorder.since_start(time),
            expected,
            seen,
            why,
        });
        Stop::Found
    }

    /// Remembers what the device has acknowledged, for the next probe.
    fn note(&mut self, packet: &Roce<'_>) {
        let Some(info) = packet.bth.opcode.info() else { return };
        if packet.bth.opcode.transport() == Transport::Cnp {
            return;
        }
        if !info.is_response() {
            self.requested = later(self.requested, packet.bth.psn.next());
            return;
        }
        let mut completed = packet.bth.psn;
        if info.has(Header::Aeth) {
            self.msn = packet.ext.aeth.msn;
            self.syndrome = Some(packet.ext.aeth.syndrome);
            if !matches!(packet.ext.aeth.syndrome.class(), SyndromeClass::Ack(_)) {
                completed = completed.minus(1);
            } else if packet.bth.opcode == Opcode::RC_ACKNOWLEDGE {
                self.acknowledged = later(self.acknowledged, completed);
            }
        }
        self.completed = later(self.completed, completed);
    }
}

/// False for a step in which the tester sends a request, or bytes that may be one.
fn only_answers(action: &Action) -> bool {
    let (Action::Send(packet) | Action::SendCut { packet, .. }) = action else { return true };
    let word = packet.text.split_whitespace().next().unwrap_or_default();
    matches!(word, "PFC" | "PAUSE" | "ACK" | "NAK" | "RNR_NAK" | "ACKNOWLEDGE" | "ATOMIC_ACKNOWLEDGE")
        || word.contains("READ_RESPONSE")
        || packet.is_cnp()
}

/// The one of two PSNs that lies further on.
fn later(one: Psn, other: Psn) -> Psn {
    if other.since(one) > 0 { other } else { one }
}
