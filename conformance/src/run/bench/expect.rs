//! What the device must send, and when it must send nothing.

use std::time::Duration;

use rocespec_codec::notation::{Pattern, parse_pattern};
use rocespec_codec::{Frame, NakCode, Opcode, Psn, Roce, Syndrome, SyndromeClass, decode};
use rocespec_control::QpKind;

use super::{Arrival, Bench, LINE_BUFFER, Stop, duration};
use crate::oracle::Breach;
use crate::scenario::{Alternative, DEVICE, When};

/// How often one step lets the device put a request off.
const MOST_RETRIES: usize = 7;

impl Bench<'_> {
    /// The next packet must be one of these.
    pub(super) fn expect(&mut self, any_of: &[Alternative], when: When, line: u32) -> Result<(), Stop> {
        let timing = self.dut.profile().timing;
        let after = when.after.map(|after| after.saturating_sub(timing.slack));
        let limit = match when.within {
            Some(within) => within + timing.slack,
            None => when.after.unwrap_or_default() + timing.response,
        };
        let start = if when.after.is_some() { self.last_step } else { self.dut.now() };
        let mut deadline = start + limit;
        let mut retries = 0;
        loop {
            if let Some(arrival) = self.queue(any_of).pop_front() {
                match self.compare(&arrival, any_of, line)? {
                    Compared::Taken => {
                        let waited = arrival.time - self.last_step;
                        if after.is_some_and(|after| waited < after) {
                            let expected =
                                format!("{} after {}", wanted(any_of), duration(when.after.unwrap_or_default()));
                            let seen = format!("it after {}", duration(waited));
                            return Err(self.found(line, Some(&arrival), expected, seen, "too early"));
                        }
                        self.last_step = self.last_step.max(arrival.time);
                        return Ok(());
                    }
                    Compared::Skipped => continue,
                    Compared::Wrong(..) if retries < MOST_RETRIES && self.try_later(&arrival)? => {
                        retries += 1;
                        deadline = self.dut.now() + limit;
                    }
                    // What followed the request that was put off may have drawn one NAK for the gap in front of it.
                    Compared::Wrong(..)
                        if retries > 0 && self.put_off.take_if(|psn| asks_for(&arrival, *psn)).is_some() => {}
                    Compared::Wrong(seen, why) => {
                        let expected = wanted(any_of);
                        return Err(self.found(line, Some(&arrival), expected, seen, &why));
                    }
                }
            }
            if self.dut.now() >= deadline {
                break;
            }
            self.pump(deadline)?;
        }
        if let Some(nothing) = any_of.iter().find(|alternative| alternative.packet.is_none()) {
            self.take_alternative(nothing);
            return Ok(());
        }
        self.is_alive()?;
        let seen = format!("nothing within {}", duration(limit));
        Err(self.found(line, None, wanted(any_of), seen, ""))
    }

    /// The device must send nothing to this queue pair.
    pub(super) fn silence(&mut self, length: Option<Duration>, line: u32) -> Result<(), Stop> {
        let end = self.dut.now() + length.unwrap_or(self.dut.profile().timing.silence);
        loop {
            if let Some(arrival) = self.inbox.pop_front() {
                if with_packet(&arrival, |packet| self.only_raises_credits(packet)) {
                    continue;
                }
                let seen = self.text(&arrival);
                return Err(self.found(line, Some(&arrival), "silence".to_owned(), seen, ""));
            }
            if self.dut.now() >= end {
                return Ok(());
            }
            self.pump(end)?;
        }
    }

    /// True for an ACK that says nothing new but another number of credits: a responder may send one at any time.
    fn only_raises_credits(&self, packet: &Roce<'_>) -> bool {
        let credits = |syndrome: Syndrome| match syndrome.class() {
            SyndromeClass::Ack(credits) => Some(credits),
            _ => None,
        };
        is_ack(packet)
            && packet.bth.psn.since(self.completed) <= 0
            && packet.ext.aeth.msn == self.msn
            && self
                .syndrome
                .is_some_and(|last| credits(last).is_some() && credits(last) != credits(packet.ext.aeth.syndrome))
    }

    /// Repeats what was acknowledged last and wants the same numbers back: the device lives and nothing has moved.
    ///
    /// Where nothing is ever acknowledged the device's software is asked. Where the tester asks for nothing there is nothing to repeat: then it begins with a WRITE of no bytes.
    pub(super) fn probe(&mut self, line: u32) -> Result<(), Stop> {
        if self.connection.transport != QpKind::Rc {
            return self.is_alive();
        }
        let origin = self.connection.origin();
        self.send_text(&self.probe_packet(), line)?;
        if self.has_nothing_to_repeat() {
            let packet = Some(crate::scenario::PacketText { text: "ACK psn=0 msn=1".to_owned(), column: 1 });
            return self.expect(&[Alternative { packet, loose: false, line }], When::default(), line);
        }
        let (psn, completed) = (self.acknowledged.since(origin), self.completed.since(origin));
        // A duplicate is acknowledged with any PSN from its own to the last completed one.
        let answer = format!("ACK psn={psn}..{completed} msn={}", self.msn);
        let packet = Some(crate::scenario::PacketText { text: answer, column: 1 });
        self.expect(&[Alternative { packet, loose: false, line }], When::default(), line)
    }

    fn has_nothing_to_repeat(&self) -> bool {
        self.only_answers && self.acknowledged == self.connection.origin().minus(1)
    }

    /// The packet of a probe.
    pub(super) fn probe_packet(&self) -> String {
        match self.has_nothing_to_repeat() {
            true => "RDMA_WRITE_ONLY psn=0 ack".to_owned(),
            false => format!("SEND_ONLY psn={} ack", self.acknowledged.since(self.connection.origin())),
        }
    }

    /// What the script did not ask for: further acknowledgements are free, and so are requests that are sent again;
    /// anything else is not.
    pub(super) fn leftovers(&mut self) -> Result<(), Stop> {
        self.wait(self.dut.profile().timing.settle)?;
        if self.traffic.is_some() {
            return self.conclude();
        }
        while let Some(arrival) = self.inbox.pop_front() {
            let seen = self.text(&arrival);
            let expected = "nothing further".to_owned();
            if with_packet(&arrival, is_request) {
                if with_packet(&arrival, |packet| packet.bth.psn.since(self.requested) >= 0) {
                    // The script goes no further than this.
                    let _ = self.found(None, Some(&arrival), expected, seen, "");
                }
            } else if !with_packet(&arrival, is_ack) {
                let rule = "rc.responder.unexpected-response";
                let why = "a response answers an outstanding request";
                let level = rocespec_reports::outcome::Level::Must;
                let breach = Breach { rule, level, expected, seen: seen.clone(), why };
                self.breach(breach, DEVICE, arrival.time, arrival.number, &seen);
            }
        }
        Ok(())
    }

    /// A device may put off any request by an RNR NAK (one with on-demand paging does). Then the request and what follows
    /// it are sent again after the time that it asks for. Gives false for anything else.
    fn try_later(&mut self, arrival: &Arrival) -> Result<bool, Stop> {
        let (psn, class) = with_packet(arrival, |packet| (packet.bth.psn, packet.ext.aeth.syndrome.class()));
        let SyndromeClass::RnrNak(timer) = class else { return Ok(false) };
        let Some(first) = self.requests.iter().rposition(|request| request.psn == psn) else { return Ok(false) };
        self.put_off = Some(psn);
        self.wait(timer.duration())?;
        for index in first..self.requests.len() {
            let (bytes, line) = (self.requests[index].bytes.clone(), self.requests[index].line);
            self.transmit(&bytes, format!("again, after the RNR NAK: frame of line {line}"), line)?;
        }
        Ok(true)
    }

    fn take_alternative(&mut self, alternative: &Alternative) {
        if alternative.loose {
            let text = alternative.packet.as_ref().map_or("nothing", |packet| &packet.text);
            self.loose = Some(format!("line {}: allowed, but not recommended: {text}", alternative.line));
        }
    }

    fn compare(&mut self, arrival: &Arrival, any_of: &[Alternative], line: u32) -> Result<Compared, Stop> {
        let Ok(Frame::Roce(packet)) = decode(&arrival.bytes) else { unreachable!("the inbox holds RoCE packets") };
        let mut early = true;
        let mut reasons = Vec::new();
        for alternative in any_of {
            let Some(wanted) = &alternative.packet else { continue };
            let symbols = self.connection.symbols();
            let scope = self.connection.scope_of_device(&symbols, None);
            let mut buffer = vec![0; LINE_BUFFER];
            let pattern: Pattern<'_> = parse_pattern(&wanted.text, &scope, &mut buffer)
                .map_err(|error| self.cannot(&format!("line {line}: {error}")))?;
            let Some(mismatch) = pattern.mismatch(&packet) else {
                self.note(&packet);
                self.take_alternative(alternative);
                return Ok(Compared::Taken);
            };
            early &= pattern.first_psn().is_some_and(|first| packet.bth.psn.since(first) < 0);
            reasons.push(mismatch.to_string());
        }
        if early && !reasons.is_empty() && is_ack(&packet) {
            // A responder may acknowledge more often than it must.
            self.note(&packet);
            return Ok(Compared::Skipped);
        }
        reasons.dedup();
        Ok(Compared::Wrong(self.show(&packet), reasons.join("; or ")))
    }
}

enum Compared {
    Taken,
    Skipped,
    Wrong(String, String),
}

/// True for the NAK that asks for this PSN.
fn asks_for(arrival: &Arrival, psn: Psn) -> bool {
    let gap = SyndromeClass::Nak(NakCode::PsnSequenceError);
    with_packet(arrival, |packet| packet.bth.psn == psn && packet.ext.aeth.syndrome.class() == gap)
}

fn is_ack(packet: &Roce<'_>) -> bool {
    matches!(packet.bth.opcode, Opcode::RC_ACKNOWLEDGE | Opcode::XRC_ACKNOWLEDGE)
        && matches!(packet.ext.aeth.syndrome.class(), SyndromeClass::Ack(_))
}

fn is_request(packet: &Roce<'_>) -> bool {
    packet.bth.opcode.info().is_some_and(|info| !info.is_response())
}

pub(super) fn with_packet<T>(arrival: &Arrival, look: impl FnOnce(&Roce<'_>) -> T) -> T {
    let Ok(Frame::Roce(packet)) = decode(&arrival.bytes) else { unreachable!("the inbox holds RoCE packets") };
    look(&packet)
}

fn wanted(any_of: &[Alternative]) -> String {
    let texts = any_of.iter().map(|alternative| alternative.packet.as_ref().map_or("nothing", |packet| &packet.text));
    texts.collect::<Vec<_>>().join(" or ")
}
