//! What came to one end of a pair, and the scenario file that says the same.

use std::fmt::Write as _;
use std::time::Duration;

use rocespec_codec::notation::{self, Region};
use rocespec_codec::{Opcode, Roce};
use rocespec_model::{CompletionKind, Defects, Input, Output, QpState, Time, VerbError};

use super::roce;
use super::setup::{self, PairConfig, Port};
use crate::link::End;

const FLUSH: u8 = Opcode::RC_FLUSH.operation();
const ATOMIC_WRITE: u8 = Opcode::RC_ATOMIC_WRITE.operation();
/// What a tester may do with the memory of a scenario.
const RIGHTS: [&str; 3] = ["remote_write", "remote_read", "remote_atomic"];
/// Bytes of memory on one line of a scenario.
const BLOCK: usize = 256;

/// What came to one end: the receives that its software posted and the frames.
#[derive(Debug, Clone)]
pub struct Recorded {
    end: End,
    events: Vec<Event>,
}

#[derive(Debug, Clone)]
enum Event {
    Receive(u32),
    Frame(Vec<u8>),
}

impl Event {
    /// Both are receives of one length.
    fn is_receive_like(&self, other: &Event) -> bool {
        matches!((self, other), (Event::Receive(len), Event::Receive(same)) if len == same)
    }
}

impl Recorded {
    pub(super) fn new(end: End) -> Recorded {
        Recorded { end, events: Vec::new() }
    }

    pub(super) fn end(&self) -> End {
        self.end
    }

    pub(super) fn posted_receive(&mut self, len: u32) {
        self.events.push(Event::Receive(len));
    }

    pub(super) fn received(&mut self, frame: &[u8]) {
        self.events.push(Event::Frame(frame.to_vec()));
    }

    /// Operations of the packets, as in bits 4:0 of their opcodes.
    fn operations(&self) -> impl Iterator<Item = u8> {
        self.events.iter().filter_map(|event| match event {
            Event::Frame(frame) => roce(frame).map(|packet| packet.bth.opcode.operation()),
            Event::Receive(_) => None,
        })
    }

    /// The recording as a scenario: what came as steps of the tester, and as expectations what a right device answers.
    ///
    /// The frames are those of the recorded run, also those that were doubled, late or damaged on the way. Each is
    /// answered before the next comes. Frames that cannot be decoded are left out, since nobody answers them; so is what
    /// answers requests of the recorded end itself, since a scenario's device is a responder.
    ///
    /// `rule` is the id of the rule that is broken.
    ///
    /// # Errors
    /// When the reference endpoint refuses a verb.
    pub fn scenario(&self, config: &PairConfig, title: &str, rule: &str) -> Result<String, VerbError> {
        let conforming = PairConfig { defects: [Defects::NONE; 2], ..config.clone() };
        let mut device = Replay::new(self.end, &conforming)?;
        let mut script = device.memory_step(self.operations().any(|seen| seen == FLUSH));
        for same in self.events.chunk_by(Event::is_receive_like) {
            match &same[0] {
                Event::Receive(len) => device.post_receives(same.len(), *len, &mut script)?,
                Event::Frame(frame) => device.frame(frame, &mut script),
            }
        }
        device.look(&mut script)?;
        let has = |operation| self.operations().any(|seen| seen == operation);
        let (flush, atomic_write) = (has(FLUSH), has(ATOMIC_WRITE));
        let mut needs = vec!["rc", "atomic", "rnr", "go-back-n"];
        needs.extend(flush.then_some("flush"));
        needs.extend(atomic_write.then_some("atomic_write"));
        let mut access = RIGHTS.to_vec();
        access.extend(flush.then_some("flush_global"));
        let setup = format!(
            "{{ access = {access:?}, start_psn = {:#08x}, ip = \"{}\", mtu = {}, min_rnr_timer = {}, max_dest_rd_atomic = {} }}",
            config.start_psn[self.end.other() as usize].get(),
            config.network.name(),
            config.mtu.bytes(),
            config.rnr_timer.get(),
            config.rd_atomic,
        );
        Ok(format!(
            "title = \"{title}\"\nabout = \"What came to one end of a faulty link, and what a right device answers.\"\n\
             rules = [\"{rule}\"]\nlevel = \"must\"\nneeds = {needs:?}\n\
             setup = {setup}\nscript = '''\n{script}'''\n"
        ))
    }
}

/// A right device to which the recording happens.
struct Replay {
    port: Port,
    now: Time,
    /// An ordinary packet to the device and one from it.
    ordinary: [Roce<'static>; 2],
    receives: u64,
}

impl Replay {
    fn new(end: End, config: &PairConfig) -> Result<Replay, VerbError> {
        let mut port = setup::port(end, config)?;
        let tester = setup::port(end.other(), config)?;
        setup::connect(&mut port, end, &tester.as_peer(), config)?;
        let to_device = setup::ordinary(end.other(), port.qpn, config);
        let mut from_device = setup::ordinary(end, tester.qpn, config);
        // Both directions count from the PSN of the tester's requests.
        from_device.bth.psn = to_device.bth.psn;
        Ok(Replay { port, now: Time::ZERO, ordinary: [to_device, from_device], receives: 0 })
    }

    fn memory_step(&self, flush: bool) -> String {
        let flush = if flush { " flush_global" } else { "" };
        format!("dut mr mr {} {}{flush}\n", self.port.window.len, RIGHTS.join(" "))
    }

    fn post_receives(&mut self, count: usize, len: u32, script: &mut String) -> Result<(), VerbError> {
        let inbox = self.port.inbox.handle;
        for _ in 0..count {
            self.port.endpoint.post_receive(self.port.qp, self.receives, inbox, 0, len)?;
            self.receives += 1;
        }
        let _ = writeln!(script, "dut recv {count} x {len}");
        Ok(())
    }

    /// A frame comes, and is answered.
    fn frame(&mut self, frame: &[u8], script: &mut String) {
        let Some(packet) = roce(frame).filter(|packet| is_request(packet)) else { return };
        let _ = writeln!(script, "> {}", self.line(&packet, 0));
        self.port.endpoint.handle(self.now, Input::Frame(frame));
        // Longer than any answer takes, shorter than any timer of a requester.
        self.now = self.now + Duration::from_micros(10);
        while let Some(output) = self.port.endpoint.poll_output(self.now) {
            if let Output::Frame(answer) = output
                && let Some(packet) = roce(&answer)
            {
                let _ = writeln!(script, "< {}", self.line(&packet, 1));
            }
        }
    }

    /// A packet as a line; 0 for one to the device, which is sent as it stands, 1 for one from it, which is expected.
    fn line(&self, packet: &Roce<'_>, way: usize) -> String {
        let window = &self.port.window;
        let regions = [Region { name: "mr", va: window.va, len: window.len, rkey: window.rkey }];
        let scope = setup::scope_like(&self.ordinary[way], packet, &regions);
        let line = notation::print(packet, &scope);
        if way == 0 { line.to_string() } else { line.elided().to_string() }
    }

    /// What is there in the end: completions, memory, the state.
    fn look(&mut self, script: &mut String) -> Result<(), VerbError> {
        let completions = self.port.endpoint.poll(self.port.qp, usize::MAX);
        script.push_str("dut completions");
        for completion in &completions {
            let kind = if completion.kind == CompletionKind::Receive { "recv" } else { "recv_rdma_with_imm" };
            let _ = write!(script, " {kind}(len={}", completion.byte_len);
            if let Some(immediate) = completion.immediate {
                let _ = write!(script, " imm={immediate:#x}");
            }
            if completion.status != rocespec_model::Status::Success {
                let _ = write!(script, " status={}", completion.status.name());
            }
            script.push(')');
        }
        script.push_str(if completions.is_empty() { " none\n" } else { "\n" });
        let window = &self.port.window;
        let memory = self.port.endpoint.read_memory(window.handle, 0, window.len)?;
        write_memory(&memory, script);
        let state = self.port.endpoint.query_qp(self.port.qp)?.state;
        let _ = writeln!(script, "dut qp {}", if state == Some(QpState::Error) { "error" } else { "rts" });
        Ok(())
    }
}

/// Memory block by block; runs of zeroes on one line.
fn write_memory(memory: &[u8], script: &mut String) {
    let is_zero = |block: &[u8]| block.iter().all(|byte| *byte == 0);
    let mut at = 0;
    while at < memory.len() {
        let zeroes = memory[at..].chunks(BLOCK).take_while(|block| is_zero(block)).map(<[u8]>::len).sum::<usize>();
        let len = if zeroes > 0 { zeroes } else { BLOCK.min(memory.len() - at) };
        let _ = write!(script, "dut memory mr+{at:#x} ");
        if zeroes > 0 {
            let _ = writeln!(script, "{len}B=00");
        } else {
            script.push_str("data=");
            memory[at..at + len].iter().for_each(|byte| {
                let _ = write!(script, "{byte:02x}");
            });
            script.push('\n');
        }
        at += len;
    }
}

fn is_request(packet: &Roce<'_>) -> bool {
    packet.bth.opcode.info().is_none_or(|info| !info.is_response())
}
