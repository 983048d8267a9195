//! The device's software sends, and a peer that is made of packets answers.

use std::time::Duration;

use rocespec_codec::{
    Aeth, AtomicAckEth, Credits, Frame, Header, Msn, NakCode, Opcode, RnrTimer, Roce, Syndrome, decode, icrc,
};
use rocespec_model::{Access, Input, Output, SendOperation, SendRequest, Time};

use super::{Lab, Options, Req, pattern, req};

/// Where the peer's own memory lies, as requests name it.
pub const PEER_VA: u64 = 0x10_0000;
pub const PEER_RKEY: u32 = 0x4242;
/// Code of the local ACK timeout: 4.096 us * 2^4 = 65.536 us.
pub const TIMEOUT: u8 = 4;
pub const T: Duration = Duration::from_nanos(65_536);

/// A queue pair in RTS whose region holds a pattern.
pub fn requester() -> Lab {
    requester_with(|_| {})
}

pub fn requester_with(change: impl FnOnce(&mut Options)) -> Lab {
    let mut options = Options::default();
    (options.receives, options.region_len) = (0, 1 << 16);
    options.region_access |= Access::LOCAL_WRITE;
    options.policy.timeout_multiple = 1;
    let attributes = &mut options.attributes;
    (attributes.timeout, attributes.retry_count) = (Some(TIMEOUT), Some(3));
    (attributes.rnr_retry, attributes.max_rd_atomic) = (Some(3), Some(4));
    change(&mut options);
    let mut lab = Lab::new(options);
    lab.set_memory(0, &pattern(8192));
    lab
}

impl Lab {
    /// A request whose local buffer lies at the beginning of the region, and whose remote one at that of the peer's.
    pub fn work(&self, wr_id: u64, operation: SendOperation, length: u32) -> SendRequest {
        SendRequest {
            mr: self.mr.handle,
            length,
            remote_va: PEER_VA,
            rkey: rocespec_codec::RKey::new(PEER_RKEY),
            ..SendRequest::new(wr_id, operation)
        }
    }

    /// Posts a request, and gives what leaves at once.
    pub fn start(&mut self, wr_id: u64, operation: SendOperation, length: u32) -> Vec<String> {
        let request = self.work(wr_id, operation, length);
        self.submit(request)
    }

    pub fn submit(&mut self, request: SendRequest) -> Vec<String> {
        self.port.post_send(self.qp, &request).unwrap();
        self.leaving()
    }

    /// Posts requests of one kind, numbered from 0, before anything leaves.
    pub fn start_all(&mut self, operation: SendOperation, lengths: &[u32]) -> Vec<String> {
        for (wr_id, length) in (0..).zip(lengths) {
            let request = self.work(wr_id, operation, *length);
            self.port.post_send(self.qp, &request).unwrap();
        }
        self.leaving()
    }

    /// What leaves now.
    pub fn leaving(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(output) = self.port.poll_output(self.now) {
            match output {
                Output::Event(event) => self.events.push(event),
                Output::Frame(frame) => {
                    lines.push(request_line(&frame, self.options.start_psn));
                    self.frames.push(frame);
                }
            }
        }
        lines
    }

    /// Hands in an answer, and gives what leaves at once.
    pub fn answer(&mut self, answer: Req) -> Vec<String> {
        let frame = answer.frame(self);
        self.port.handle(self.now, Input::Frame(&frame));
        self.leaving()
    }

    /// Lets time pass up to then, and gives what leaves, each line with its time.
    pub fn until(&mut self, end: Time) -> Vec<(Time, String)> {
        let mut lines = Vec::new();
        while let Some(next) = self.port.next_timeout().filter(|next| *next <= end) {
            self.now = self.now.max(next);
            self.port.handle(self.now, Input::Timeout);
            lines.extend(self.leaving().into_iter().map(|line| (self.now, line)));
        }
        self.now = end;
        lines
    }

    /// Lets time pass, and gives what leaves.
    pub fn wait(&mut self, duration: Duration) -> Vec<String> {
        self.until(self.now + duration).into_iter().map(|(_, line)| line).collect()
    }

    /// Bytes of the region at the place that `work` uses.
    pub fn buffer(&self, len: u64) -> Vec<u8> {
        self.memory(0, len)
    }
}

pub fn response(opcode: Opcode, psn: u32, msn: u32, syndrome: Syndrome) -> Req {
    let mut answer = req(opcode, psn).no_ack();
    answer.ext.aeth = Aeth { syndrome, msn: Msn::new(msn) };
    answer
}

pub fn unlimited() -> Syndrome {
    Syndrome::ack(Credits::new(31))
}

pub fn ack(psn: u32, msn: u32) -> Req {
    with_syndrome(psn, msn, unlimited().0)
}

/// An ACK with a credit code.
pub fn ack_with_credits(psn: u32, msn: u32, code: u8) -> Req {
    with_syndrome(psn, msn, Syndrome::ack(Credits::new(code)).0)
}

pub fn nak(psn: u32, code: NakCode) -> Req {
    with_syndrome(psn, 0, Syndrome::nak(code).0)
}

pub fn sequence_nak(psn: u32) -> Req {
    nak(psn, NakCode::PsnSequenceError)
}

/// An RNR NAK with a timer code.
pub fn rnr_nak(psn: u32, timer: u8) -> Req {
    with_syndrome(psn, 0, Syndrome::rnr_nak(RnrTimer::new(timer)).0)
}

pub fn with_syndrome(psn: u32, msn: u32, syndrome: u8) -> Req {
    response(Opcode::RC_ACKNOWLEDGE, psn, msn, Syndrome(syndrome))
}

pub fn read_response(opcode: Opcode, psn: u32, payload: &[u8]) -> Req {
    response(opcode, psn, 1, unlimited()).payload(payload)
}

pub fn read_only(psn: u32, payload: &[u8]) -> Req {
    read_response(Opcode::RC_RDMA_READ_RESPONSE_ONLY, psn, payload)
}

pub fn read_first(psn: u32, payload: &[u8]) -> Req {
    read_response(Opcode::RC_RDMA_READ_RESPONSE_FIRST, psn, payload)
}

pub fn read_middle(psn: u32, payload: &[u8]) -> Req {
    read_response(Opcode::RC_RDMA_READ_RESPONSE_MIDDLE, psn, payload)
}

pub fn read_last(psn: u32, payload: &[u8]) -> Req {
    read_response(Opcode::RC_RDMA_READ_RESPONSE_LAST, psn, payload)
}

pub fn atomic_ack(psn: u32, original: u64) -> Req {
    let mut answer = response(Opcode::RC_ATOMIC_ACKNOWLEDGE, psn, 1, unlimited());
    answer.ext.atomic_ack = AtomicAckEth { original };
    answer
}

/// A request in one line: PSNs are counted from `start`, addresses from the peer's memory.
pub fn request_line(frame: &[u8], start: u32) -> String {
    let Ok(Frame::Roce(packet)) = decode(frame) else { return "unreadable".into() };
    let Some(info) = packet.bth.opcode.info() else { return format!("opcode {:#x}", packet.bth.opcode.0) };
    let mut line = format!("{} {}", &info.name[3..], packet.bth.psn.minus(start).get());
    let flags = [(packet.bth.ack_req, " ack"), (packet.bth.se, " se"), (!icrc::verify(&packet), " icrc=bad")];
    line.extend(flags.into_iter().filter(|(set, _)| *set).map(|(_, name)| name));
    line.extend(info.headers.iter().map(|header| describe(*header, &packet)));
    if packet.payload.is_empty() { line } else { format!("{line} {}B", packet.payload.len()) }
}

fn describe(header: Header, packet: &Roce<'_>) -> String {
    let ext = &packet.ext;
    let place = |va: u64| va.wrapping_sub(PEER_VA);
    match header {
        Header::Reth => format!(" va={} len={}", place(ext.reth.va), ext.reth.len),
        Header::AtomicEth => {
            format!(" va={} swap_add={} compare={}", place(ext.atomic.va), ext.atomic.swap_add, ext.atomic.compare)
        }
        Header::ImmDt => format!(" imm={:#x}", ext.immdt.0),
        Header::Ieth => format!(" inv={:#x}", ext.ieth.0.get()),
        Header::Feth => format!(" feth={:#x}", ext.feth.0),
        _ => String::new(),
    }
}
