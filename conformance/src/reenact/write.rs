//! What happens to the device: the packets of the other end, and what the device's own software did.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rocespec_codec::notation::{self, Scope};
use rocespec_codec::{Header, Info, Opcode, PKey, Psn, RnrTimer, Roce, SyndromeClass, icrc};

use super::faults::Judge;
use super::heard::{Heard, is_gap_nak, is_refusal, is_word};
use super::memory::{self, Access, Memory};
use super::origin::{FAR, lowered, mtu, pkey, refused, start};
use super::script::{Fault, Has, Line, MOST_OF_A_RULE, Script, Setup};
use super::{Exchange, post};

/// What the device may need behind the wait of an RNR NAK.
const LONGER: Duration = Duration::from_millis(20);

/// Writes the steps.
pub(super) fn script(exchange: &Exchange, steps: usize) -> Script {
    let mtu = mtu(exchange);
    let starts = [0, 1].map(|end| start(exchange, end));
    let heard = lowered(exchange, starts.map(Option::unwrap_or_default));
    let refused = refused(&heard, exchange.device);
    let of = |end: usize| {
        let asks = heard.iter().filter(move |heard| heard.from == end && heard.is_request());
        let accesses = asks.filter(|heard| !refused.contains(&heard.psn().get()) || end == exchange.device);
        Memory::of(accesses.filter_map(|heard| memory::access(&heard.packet())).collect())
    };
    let memory = [of(exchange.device), of(1 - exchange.device)];
    let pkey = pkey(&heard);
    let mut writer = Writer {
        exchange,
        heard: &heard,
        mtu,
        starts,
        next: starts.map(Option::unwrap_or_default),
        put_off: BTreeMap::new(),
        filled: Vec::new(),
        tester_memory: &memory[0],
        device_memory: &memory[1],
        script: Script {
            transport: exchange.transport,
            network: exchange.network,
            setup: Setup { start_psn: 0, mtu, min_rnr_timer: None, max_rd_atomic: None },
            memory: memory[1].steps().collect(),
            lines: Vec::new(),
            completions: None,
            remarks: BTreeSet::new(),
            rules: Vec::new(),
            headers: BTreeSet::new(),
            frames: [0; 2],
            has: Has::default(),
        },
        open_reads: 0,
        is_over: false,
        pkey,
    };
    let tester = 1 - exchange.device;
    let start_psn = starts[tester].or(starts[exchange.device]).unwrap_or_default();
    writer.script.setup.start_psn = start_psn.get();
    if !matches!(pkey.get(), 0x7fff | 0xffff) {
        writer.remark(format!("the P_Key {:#06x} becomes the ordinary one", pkey.get()));
    }
    if exchange.guessed {
        writer.remark("which packets belong to this connection is a guess, so that nobody is blamed".to_owned());
    }
    let mut judge = Judge::new(exchange, starts.map(Option::unwrap_or_default), mtu as usize);
    for (at, packet) in heard.iter().enumerate() {
        if writer.script.lines.len() >= steps {
            writer.remark(format!("it stops in front of frame {}, after {steps} steps", packet.number));
            break;
        }
        if let Some(frame) = writer.begins_anew(at) {
            writer.remark(format!("it stops in front of frame {frame}: the queue pair was made anew"));
            break;
        }
        writer.packet(at);
        for breach in judge.note(packet) {
            writer.breach(at, &breach);
        }
    }
    for (memory, whose) in [(&memory[1], "the device"), (&memory[0], "the other end")] {
        if memory.left_out > 0 {
            writer.remark(format!(
                "{} accesses to memory of {whose} are too far apart or too long for it",
                memory.left_out
            ));
        }
    }
    writer.script
}

struct Writer<'a> {
    exchange: &'a Exchange,
    heard: &'a [Heard],
    mtu: u32,
    starts: [Option<Psn>; 2],
    /// The next new PSN of each end's requests.
    next: [Psn; 2],
    /// Requests that the device put off, with the time.
    put_off: BTreeMap<u32, RnrTimer>,
    /// Memory that holds something.
    filled: Vec<(u32, u64, u64)>,
    tester_memory: &'a Memory,
    device_memory: &'a Memory,
    script: Script,
    /// READs and ATOMICs of the device that are not answered yet.
    open_reads: usize,
    /// The device has refused something for good.
    is_over: bool,
    /// P_Key of most packets.
    pkey: PKey,
}

impl Writer<'_> {
    fn remark(&mut self, text: String) {
        self.script.remarks.insert(text);
    }

    fn push(&mut self, step: String) -> &mut Line {
        self.script.lines.push(Line { step, ..Line::default() });
        self.script.lines.last_mut().expect("just pushed")
    }

    fn packet(&mut self, at: usize) {
        let heard = &self.heard[at];
        let is_device = heard.from == self.exchange.device;
        let lines = self.script.lines.len();
        match (is_device, heard.is_response()) {
            (false, false) if heard.is_cnp() => {
                let line = format!("> {}", self.line(heard, Psn::default()));
                self.push(line);
            }
            (false, false) => self.request(at),
            (false, true) => self.response(at),
            (true, false) if !heard.is_cnp() => self.posted(at),
            (true, true) => self.answered(at),
            (true, false) => {}
        }
        if self.script.lines.len() > lines && self.script.frames[0] == 0 {
            self.script.frames[0] = heard.number;
        }
        self.script.frames[1] = heard.number;
        if !heard.packet().eth.tags.is_empty() {
            self.remark("packets have no VLAN tag".to_owned());
        }
    }

    /// The tester asks.
    fn request(&mut self, at: usize) {
        let heard = &self.heard[at];
        let tester = heard.from;
        let Some(start) = self.starts[tester].filter(|start| heard.psn().since(*start) >= 0) else {
            return self.remark("packets that belong to a message from before the capture are left out".to_owned());
        };
        let mut packet = heard.packet();
        if let Some(frame) = self.lost(at) {
            let line = format!("not sent: {}; the device asked for it in frame {frame}", self.text(&packet, start));
            return self.note(line);
        }
        if packet.bth.opcode.headers().contains(&Header::Ieth) {
            self.remark("packets that invalidate a key are sent without: their windows are not made".to_owned());
            packet.bth.opcode = without_invalidate(packet.bth.opcode);
            packet.icrc = 0;
            rocespec_codec::field::complete(&mut packet, |_| false);
        }
        let psn = packet.bth.psn;
        let refusal = self.rnr(at);
        if psn == self.next[tester] {
            if refusal.is_none() {
                self.receive(at);
                self.next[tester] = psn.plus(psns(&packet, self.mtu));
            }
            self.prepare(&packet);
        }
        if let Some(timer) = self.put_off.remove(&psn.get()) {
            let wait = timer.duration();
            self.push(format!("wait {}", crate::duration::text(wait)));
        }
        if let Some(timer) = refusal {
            self.put_off.insert(psn.get(), timer);
            self.script.setup.min_rnr_timer = Some(timer.get());
        }
        let has = &mut self.script.has;
        let operation = packet.bth.opcode.operation();
        has.atomic |= packet.bth.opcode.headers().contains(&Header::AtomicEth);
        has.flush |= operation == Opcode::RC_FLUSH.operation();
        has.atomic_write |= operation == Opcode::RC_ATOMIC_WRITE.operation();
        let line = format!("> {}", self.text(&packet, start));
        self.push(line);
    }

    /// The tester answers.
    fn response(&mut self, at: usize) {
        let heard = &self.heard[at];
        let device = self.exchange.device;
        let Some(start) = self.starts[device].filter(|start| heard.psn().since(*start) >= -1 || is_word(heard)) else {
            return self.remark("answers to requests from before the capture are left out".to_owned());
        };
        if heard.info().is_some_and(Info::ends_message) && !is_word(heard) {
            self.open_reads = self.open_reads.saturating_sub(1);
        }
        let packet = heard.packet();
        let line = format!("> {}", self.text(&packet, start));
        let class = packet.ext.aeth.syndrome.class();
        let line = self.push(line);
        if let (SyndromeClass::RnrNak(timer), true) = (class, is_word(heard)) {
            line.patience = Some(timer.duration() * 2 + LONGER);
        }
    }

    /// The device asks: its software has posted something.
    fn posted(&mut self, at: usize) {
        let heard = &self.heard[at];
        let device = heard.from;
        if heard.packet().bth.opcode.transport() != self.exchange.transport {
            return self.remark("packets of another transport are left out".to_owned());
        }
        if self.starts[device].is_none_or(|start| heard.psn().since(start) < 0) {
            return self.remark("packets that belong to a message from before the capture are left out".to_owned());
        }
        if !heard.info().is_some_and(Info::starts_message) || self.is_sent_again(at) {
            return;
        }
        let message = post::message(self.heard, at, self.mtu, self.tester_memory);
        let expected = self.next[device];
        self.next[device] = heard.psn().plus(message.psns);
        let Some(step) = message.step else {
            return self.remark("FLUSH requests of the device are left out".to_owned());
        };
        let operation = heard.packet().bth.opcode.operation();
        let has = &mut self.script.has;
        has.posts = true;
        has.posts_atomic_write |= operation == Opcode::RC_ATOMIC_WRITE.operation();
        has.atomic |= heard.packet().bth.opcode.headers().contains(&Header::AtomicEth);
        if is_read_like(operation) {
            self.open_reads += 1;
            let most = self.script.setup.max_rd_atomic.unwrap_or(0).max(self.open_reads);
            self.script.setup.max_rd_atomic = Some(most.min(16));
        }
        self.push(step);
        if let Some(rule) = self.takes_a_used_psn(at) {
            let start = self.starts[device].unwrap_or_default();
            let psn = |psn: Psn| format!("psn={}", psn.since(start));
            self.fault(at, rule, &psn(expected), &psn(self.heard[at].psn()));
        }
    }

    /// The rule that a new request breaks whose PSN an earlier one has taken.
    fn takes_a_used_psn(&self, at: usize) -> Option<&'static str> {
        let heard = &self.heard[at];
        let used = self.heard[..at].iter().rfind(|other| {
            let packet = other.packet();
            other.from == heard.from
                && other.is_request()
                && heard.psn().is_within(packet.bth.psn, psns(&packet, self.mtu))
        })?;
        Some(if used.psn() == heard.psn() { "rc.requester.psn-order" } else { "rc.requester.read-psns" })
    }

    /// The device answers. What a right one answers is known without it, but not what it has put off or refused.
    fn answered(&mut self, at: usize) {
        let heard = &self.heard[at];
        if is_refusal(heard) {
            let start = self.starts[1 - heard.from].unwrap_or_default();
            let text = self.line(heard, start);
            self.note(format!("frame {}: the device refused: {text}", heard.number));
        }
    }

    /// A comment in front of the next step.
    fn note(&mut self, text: String) {
        self.script.lines.push(Line { before: vec![text], ..Line::default() });
    }

    /// A rule is broken by the packet of the device at `at`.
    fn breach(&mut self, at: usize, breach: &crate::oracle::Breach) {
        if breach.rule.starts_with("lint.") && !self.exchange.guessed {
            self.script.headers.insert(breach.rule);
        } else {
            self.fault(at, breach.rule, &breach.expected, &breach.seen);
        }
    }

    fn fault(&mut self, at: usize, rule: &'static str, expected: &str, seen: &str) {
        if self.exchange.guessed {
            return;
        }
        let known = self.script.rules.iter().position(|(known, _)| *known == rule);
        let known = known.unwrap_or_else(|| {
            self.script.rules.push((rule, 0));
            self.script.rules.len() - 1
        });
        self.script.rules[known].1 += 1;
        if self.script.rules[known].1 > MOST_OF_A_RULE {
            return;
        }
        let heard = &self.heard[at];
        let start = if heard.is_response() { self.starts[1 - heard.from] } else { self.starts[heard.from] };
        let line = self.line(heard, start.unwrap_or_default());
        let text = format!("frame {}: the device sent {line}: expected {expected}, seen {seen}", heard.number);
        if let Some(line) = self.script.lines.iter_mut().rev().find(|line| !line.step.is_empty()) {
            line.faults.push(Fault { rule, text });
        }
    }

    /// The device answers well after it has refused something for good: it is another connection with the same numbers.
    /// Gives the frame.
    fn begins_anew(&mut self, at: usize) -> Option<u64> {
        let heard = &self.heard[at];
        if heard.from != self.exchange.device || !heard.is_response() {
            return None;
        }
        let is_final = is_refusal(heard);
        if self.is_over && !is_final {
            return Some(heard.number);
        }
        self.is_over |= is_final;
        None
    }

    fn line(&self, heard: &Heard, start: Psn) -> String {
        self.text(&heard.packet(), start)
    }

    /// A packet of either end in the notation.
    fn text(&self, packet: &Roce<'_>, start: Psn) -> String {
        let regions = self.device_memory.regions();
        let kept = Heard::new((0, 0), 0, packet, packet.payload.len());
        let mut base = kept.map_or_else(|| Scope::default().base, |kept| kept.ordinary(packet.bth.dest_qp, start));
        base.bth.pkey = self.pkey;
        let text = notation::print(packet, &Scope { base, regions: &regions }).to_string();
        let psn = packet.bth.psn;
        match psn.since(start) {
            distance if distance.unsigned_abs() <= FAR => text,
            distance => text.replacen(&format!("psn={distance}"), &format!("psn=@{:#08x}", psn.get()), 1),
        }
    }

    /// The frame in which the device asked for this packet again, where nothing else than its loss explains that.
    fn lost(&self, at: usize) -> Option<u64> {
        let heard = &self.heard[at];
        if !icrc::verify(&heard.packet()) {
            return None;
        }
        self.words_on(at).find(|word| is_gap_nak(word)).map(|nak| nak.number)
    }

    /// The time for which the device put off this packet.
    fn rnr(&self, at: usize) -> Option<RnrTimer> {
        self.words_on(at).find_map(|word| match word.packet().ext.aeth.syndrome.class() {
            SyndromeClass::RnrNak(timer) => Some(timer),
            _ => None,
        })
    }

    /// The ACKs and NAKs with the PSN of the request at `at`, until it is sent again.
    fn words_on(&self, at: usize) -> impl Iterator<Item = &Heard> {
        let heard = &self.heard[at];
        let psn = heard.psn();
        let is_again = move |other: &&Heard| other.from == heard.from && other.is_request() && other.psn() == psn;
        let later = self.heard[at + 1..].iter().take_while(move |other| !is_again(other));
        later.filter(move |other| other.from != heard.from && is_word(other) && other.psn() == psn)
    }

    /// Posts the receive that the message at `at` needs.
    fn receive(&mut self, at: usize) {
        let heard = &self.heard[at];
        let Some(info) = heard.info() else { return };
        let is_write = heard.packet().bth.opcode.headers().contains(&Header::Reth) || !info.starts_message();
        let len = match (info.takes_receive(), is_write) {
            (false, _) => return,
            (true, true) => 1,
            (true, false) => post::payload(self.heard, at).0.len().max(1),
        };
        self.push(format!("dut recv {len}"));
    }

    /// Puts something into memory that is read before anything is written there.
    fn prepare(&mut self, packet: &Roce<'_>) {
        let Some(access) = memory::access(packet) else { return };
        let Some((name, offset)) = self.device_memory.place(&access) else { return };
        let Access { va, rkey, len, .. } = access;
        let holds = |(key, start, end): &(u32, u64, u64)| *key == rkey.get() && *start < va + len && va < *end;
        let is_read = packet.bth.opcode.operation() == Opcode::RC_RDMA_READ_REQUEST.operation();
        if is_read && !self.filled.iter().any(holds) {
            let step = format!("dut write {name}+{offset:#x} {len}B={:02x}", self.filled.len() % 255 + 1);
            self.push(step);
        }
        self.filled.push((rkey.get(), va, va + len));
    }

    /// A request of the device that it has sent before.
    fn is_sent_again(&self, at: usize) -> bool {
        let heard = &self.heard[at];
        let (psn, opcode) = (heard.psn(), heard.packet().bth.opcode);
        if psn.since(self.next[heard.from]) >= 0 {
            return false;
        }
        self.heard[..at].iter().any(|other| {
            let packet = other.packet();
            other.from == heard.from
                && packet.bth.opcode == opcode
                && psn.is_within(packet.bth.psn, psns(&packet, self.mtu))
        })
    }
}

/// How many PSNs a request takes.
fn psns(packet: &Roce<'_>, mtu: u32) -> u32 {
    let is_read = packet.bth.opcode.operation() == Opcode::RC_RDMA_READ_REQUEST.operation();
    if is_read { packet.ext.reth.len.div_ceil(mtu).max(1) } else { 1 }
}

fn is_read_like(operation: u8) -> bool {
    let opcodes =
        [Opcode::RC_RDMA_READ_REQUEST, Opcode::RC_COMPARE_SWAP, Opcode::RC_FETCH_ADD, Opcode::RC_ATOMIC_WRITE];
    opcodes.iter().any(|opcode| opcode.operation() == operation)
}

fn without_invalidate(opcode: Opcode) -> Opcode {
    match opcode {
        Opcode::RC_SEND_LAST_WITH_INVALIDATE => Opcode::RC_SEND_LAST,
        Opcode::RC_SEND_ONLY_WITH_INVALIDATE => Opcode::RC_SEND_ONLY,
        other => other,
    }
}
