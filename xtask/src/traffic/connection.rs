//! A reliable connection as it is seen on the way between its two ends.

use std::collections::VecDeque;
use std::net::Ipv4Addr;

use oorandom::Rand32;
use rocespec::link::Rate;
use rocespec_codec::field::complete;
use rocespec_codec::{
    Aeth, Bth, Credits, ETHERTYPE_IPV4, Ethernet, Extensions, Ipv4, MacAddr, Msn, Mtu, NakCode, Net, Opcode,
    PROTOCOL_UDP, Psn, Qpn, RKey, ROCE_V2_PORT, Reth, Roce, Syndrome, Udp, encode,
};

/// Longest frame in bytes: the largest MTU and the headers of a WRITE.
pub(super) const MAX_FRAME: usize = 4096 + 78;

/// Hosts that the connections lie between.
const HOSTS: u32 = 16;
/// Packets of a message, at most.
const LONGEST: u32 = 16;
/// Messages that may be under way.
const WINDOW: usize = 4;
/// Until a requester that hears nothing sends again.
const TIMEOUT_NS: u64 = 4_200_000;
/// Bytes of the region that WRITE and READ go to.
const REGION: u64 = 1 << 20;

/// Requests go from the first end to the second.
pub(super) struct Connection {
    ends: [End; 2],
    mtu: u32,
    rkey: RKey,
    va: u64,
    requester: Requester,
    responder: Responder,
}

#[derive(Clone, Copy)]
struct End {
    host: u32,
    qpn: Qpn,
    sport: u16,
    ip_id: u16,
}

struct Requester {
    /// Not yet acknowledged, oldest first.
    messages: VecDeque<Message>,
    /// PSN of the next packet; below that of the next message when something is sent again.
    next: Psn,
    /// PSN of the next message.
    new: Psn,
    /// It waits for an answer until then.
    waits_until: Option<u64>,
}

struct Responder {
    expected: Psn,
    msn: Msn,
    answers: VecDeque<Answer>,
    /// It asked for a packet again, and says nothing more until that comes.
    has_asked: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Send,
    Write,
    Read,
}

#[derive(Clone, Copy)]
struct Message {
    kind: Kind,
    first: Psn,
    /// PSNs that it takes.
    packets: u32,
    va: u64,
    length: u32,
}

enum Answer {
    Ack { psn: Psn, msn: Msn },
    Nak { psn: Psn, msn: Msn },
    Read { message: Message, sent: u32, msn: Msn },
}

impl Message {
    fn last(&self) -> Psn {
        self.first.plus(self.packets - 1)
    }

    /// Bytes of the packet at `index`.
    fn bytes(&self, index: u32, mtu: u32) -> usize {
        (self.length - index * mtu).min(mtu) as usize
    }
}

/// Which of four a packet is: the first, in the middle, the last, the only one.
fn choose(index: u32, packets: u32, [first, middle, last, only]: [Opcode; 4]) -> Opcode {
    match (index == 0, index + 1 == packets) {
        (true, true) => only,
        (true, false) => first,
        (false, false) => middle,
        (false, true) => last,
    }
}

impl Connection {
    pub(super) fn new(number: u32, mtu: Mtu, random: &mut Rand32) -> Self {
        let host = random.rand_range(0..HOSTS);
        let mut end = |host| End {
            host,
            qpn: Qpn::new(0x100 + number),
            sport: 0xc000 | random.rand_u32() as u16,
            ip_id: random.rand_u32() as u16,
        };
        let ends = [end(host), end((host + 1 + number % (HOSTS - 1)) % HOSTS)];
        let start = Psn::new(random.rand_u32());
        Self {
            ends,
            mtu: mtu.bytes() as u32,
            rkey: RKey::new(random.rand_u32()),
            va: 0x7f00_0000_0000 + (u64::from(number) << 32),
            requester: Requester { messages: VecDeque::new(), next: start, new: start, waits_until: None },
            responder: Responder { expected: start, msn: Msn::new(0), answers: VecDeque::new(), has_asked: false },
        }
    }

    /// The next frame of either end; `None` when both wait.
    pub(super) fn next_frame<'b>(
        &mut self,
        now: u64,
        loss: Rate,
        payloads: &[u8],
        random: &mut Rand32,
        buffer: &'b mut [u8],
    ) -> Option<&'b [u8]> {
        let is_full = self.requester.next == self.requester.new && self.requester.messages.len() == WINDOW;
        if !self.responder.answers.is_empty() && (is_full || random.rand_range(0..4) == 0) {
            return Some(self.answer(payloads, buffer));
        }
        if is_full {
            // All was sent and nothing comes back: the last packet was lost.
            if now < *self.requester.waits_until.get_or_insert(now + TIMEOUT_NS) {
                return None;
            }
            self.requester.next = self.requester.messages.front().map_or(self.requester.new, |oldest| oldest.first);
        }
        self.requester.waits_until = None;
        if self.requester.next == self.requester.new {
            self.new_message(random);
        }
        Some(self.request(loss, payloads, random, buffer))
    }

    fn new_message(&mut self, random: &mut Rand32) {
        let kind = [Kind::Send, Kind::Write, Kind::Read][random.rand_range(0..3) as usize];
        let packets = random.rand_range(1..LONGEST + 1);
        // Some end with a packet that is not full.
        let missing = if random.rand_range(0..8) == 0 { random.rand_range(0..self.mtu) } else { 0 };
        let va = self.va + u64::from(random.rand_range(0..(REGION / 2) as u32));
        let message = Message { kind, first: self.requester.new, packets, va, length: packets * self.mtu - missing };
        self.requester.messages.push_back(message);
        self.requester.new = self.requester.new.plus(packets);
    }

    /// Sends the packet that is next, and lets the responder see it unless it is lost.
    fn request<'b>(&mut self, loss: Rate, payloads: &[u8], random: &mut Rand32, buffer: &'b mut [u8]) -> &'b [u8] {
        let psn = self.requester.next;
        let of_psn = |message: &&Message| psn.is_within(message.first, message.packets);
        let message = *self.requester.messages.iter().find(of_psn).expect("what was not acknowledged is kept");
        let index = psn.minus(message.first.get()).get();
        let is_read = message.kind == Kind::Read;
        let opcode = match message.kind {
            Kind::Read => Opcode::RC_RDMA_READ_REQUEST,
            Kind::Send => choose(
                index,
                message.packets,
                [Opcode::RC_SEND_FIRST, Opcode::RC_SEND_MIDDLE, Opcode::RC_SEND_LAST, Opcode::RC_SEND_ONLY],
            ),
            Kind::Write => choose(
                index,
                message.packets,
                [
                    Opcode::RC_RDMA_WRITE_FIRST,
                    Opcode::RC_RDMA_WRITE_MIDDLE,
                    Opcode::RC_RDMA_WRITE_LAST,
                    Opcode::RC_RDMA_WRITE_ONLY,
                ],
            ),
        };
        let is_last = is_read || psn == message.last();
        self.requester.next = if is_read { message.first.plus(message.packets) } else { psn.next() };
        if random.rand_range(0..1_000_000) >= loss.get() {
            self.responder.takes(psn, is_last, &message);
        }
        let bth = Bth { ack_req: is_last && !is_read, psn, ..Bth::new(opcode) };
        let reth = Reth { va: message.va, rkey: self.rkey, len: message.length };
        let length = if is_read { 0 } else { message.bytes(index, self.mtu) };
        self.frame(0, bth, Extensions { reth, ..Extensions::default() }, payload(payloads, length, psn), buffer)
    }

    /// Sends the oldest answer, and lets the requester see it.
    fn answer<'b>(&mut self, payloads: &[u8], buffer: &'b mut [u8]) -> &'b [u8] {
        let answer = self.responder.answers.pop_front().expect("an answer");
        let (opcode, psn, syndrome, msn, length) = match answer {
            Answer::Ack { psn, msn } => {
                self.requester.acknowledged(psn);
                (Opcode::RC_ACKNOWLEDGE, psn, Syndrome::ack(Credits::NONE), msn, 0)
            }
            Answer::Nak { psn, msn } => {
                self.requester.acknowledged(psn.minus(1));
                self.requester.next = psn;
                (Opcode::RC_ACKNOWLEDGE, psn, Syndrome::nak(NakCode::PsnSequenceError), msn, 0)
            }
            Answer::Read { message, sent, msn } => {
                let psn = message.first.plus(sent);
                let opcode = choose(
                    sent,
                    message.packets,
                    [
                        Opcode::RC_RDMA_READ_RESPONSE_FIRST,
                        Opcode::RC_RDMA_READ_RESPONSE_MIDDLE,
                        Opcode::RC_RDMA_READ_RESPONSE_LAST,
                        Opcode::RC_RDMA_READ_RESPONSE_ONLY,
                    ],
                );
                if psn == message.last() {
                    self.requester.acknowledged(psn);
                } else {
                    self.responder.answers.push_front(Answer::Read { message, sent: sent + 1, msn });
                }
                (opcode, psn, Syndrome::ack(Credits::NONE), msn, message.bytes(sent, self.mtu))
            }
        };
        let bth = Bth { psn, ..Bth::new(opcode) };
        let ext = Extensions { aeth: Aeth { syndrome, msn }, ..Extensions::default() };
        self.frame(1, bth, ext, payload(payloads, length, psn), buffer)
    }

    /// The frame of a packet that the end `from` sends.
    fn frame<'b>(&mut self, from: usize, bth: Bth, ext: Extensions, payload: &[u8], buffer: &'b mut [u8]) -> &'b [u8] {
        let (src, dst) = (self.ends[from], self.ends[1 - from]);
        self.ends[from].ip_id = src.ip_id.wrapping_add(1);
        let ip = Ipv4 {
            version: 4,
            ihl: 5,
            // DSCP 26, ECN capable.
            tos: 26 << 2 | 2,
            total_len: 0,
            id: src.ip_id,
            flags_offset: Ipv4::DF,
            ttl: 64,
            protocol: PROTOCOL_UDP,
            checksum: 0,
            src: src.ip(),
            dst: dst.ip(),
            options: &[],
        };
        let mut packet = Roce {
            eth: Ethernet { dst: dst.mac(), src: src.mac(), tags: Default::default(), ethertype: ETHERTYPE_IPV4 },
            net: Net::V4(ip),
            udp: Some(Udp { sport: src.sport, dport: ROCE_V2_PORT, len: 0, checksum: 0 }),
            bth: Bth { migreq: true, dest_qp: dst.qpn, ..bth },
            ext,
            payload,
            pad: &[],
            icrc: 0,
            trailer: &[],
        };
        // The length in a RETH is that of the message.
        complete(&mut packet, |field| field.name == "len");
        encode(&packet, buffer).expect("room for the longest frame")
    }
}

impl End {
    fn mac(self) -> MacAddr {
        MacAddr([0x02, 0, 0, 0, 0, self.host as u8 + 1])
    }

    fn ip(self) -> Ipv4Addr {
        Ipv4Addr::new(10, 0, 0, self.host as u8 + 1)
    }
}

impl Requester {
    /// Forgets the messages up to this PSN.
    fn acknowledged(&mut self, psn: Psn) {
        while self.messages.front().is_some_and(|oldest| oldest.last().since(psn) <= 0) {
            self.messages.pop_front();
        }
    }
}

impl Responder {
    fn takes(&mut self, psn: Psn, is_last: bool, message: &Message) {
        let ahead = psn.since(self.expected);
        if ahead > 0 {
            if !self.has_asked {
                self.has_asked = true;
                self.answers.push_back(Answer::Nak { psn: self.expected, msn: self.msn });
            }
            return;
        }
        if ahead < 0 {
            // Again the beginning of a message that is not complete: its end is answered.
            return;
        }
        self.has_asked = false;
        if is_last {
            self.expected = message.first.plus(message.packets);
            self.msn = self.msn.next();
            self.answers.push_back(match message.kind {
                Kind::Read => Answer::Read { message: *message, sent: 0, msn: self.msn },
                Kind::Send | Kind::Write => Answer::Ack { psn, msn: self.msn },
            });
        } else {
            self.expected = psn.next();
        }
    }
}

/// The payload of a packet: from anywhere, but the same when it is sent again.
fn payload(payloads: &[u8], length: usize, psn: Psn) -> &[u8] {
    let start = psn.get().wrapping_mul(0x9e37_79b1) as usize % (payloads.len() - length);
    &payloads[start..start + length]
}
