//! One end of a pair: the endpoint, its software, and what is known of what it must do.

use std::collections::VecDeque;
use std::time::Duration;

use rocespec_codec::notation::{self, Region};
use rocespec_codec::{Header, Info, Msn, PKey, Roce, SyndromeClass, Transport, icrc, mad};
use rocespec_model::{
    Completion, CompletionKind, Destination, Input, MemoryRegion, QpState, SendOperation, SendRequest, Status, Time,
    VerbError,
};
use rocespec_reports::outcome::Level;

use super::mirror::Mirror;
use super::record::Recorded;
use super::roce;
use super::setup::{self, PairConfig, Peer, Port, Receives};
use super::workload::Operation;
use crate::link::End;
use crate::oracle::{Ends, Oracle, OracleConfig, Path, StreamConfig};

/// In the ids of receives; requests have their number.
const RECEIVE: u64 = 1 << 63;
/// What fills a receive buffer before it is used.
const FILLER: u8 = 0xee;

/// One end of a pair.
#[derive(Debug)]
pub(super) struct Side {
    end: End,
    pub(super) port: Port,
    peer: Peer,
    /// An ordinary packet of this end.
    ordinary: Roce<'static>,
    /// The peer's window.
    remote: MemoryRegion,
    transport: Transport,
    pub(super) mirror: Mirror,
    oracle: Oracle,
    /// Operations that are not posted yet.
    pub(super) waiting: VecDeque<Operation>,
    last_post: Time,
    depth: usize,
    slot_len: u64,
    receives: Receives,
    /// Receive buffers that are in use by the queue pair, in order.
    posted: VecDeque<u32>,
    /// Those that are not, and when they will be posted.
    free: VecDeque<(Time, u32)>,
    /// How the first request failed that did.
    pub(super) failed: Option<Status>,
    /// Requests that completed with success, and when the last of them did.
    pub(super) succeeded: (u64, Time),
    /// Place of the counter of executed packets.
    counter: usize,
}

/// What does not hold.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) rule: Option<&'static str>,
    pub(super) sentence: String,
}

impl Fault {
    pub(super) fn refused(error: &VerbError) -> Fault {
        format!("a verb was refused: {error}").into()
    }
}

impl From<String> for Fault {
    fn from(sentence: String) -> Fault {
        Fault { rule: None, sentence }
    }
}

impl From<&str> for Fault {
    fn from(sentence: &str) -> Fault {
        sentence.to_owned().into()
    }
}

impl Side {
    pub(super) fn new(end: End, port: Port, peer: Peer, remote: MemoryRegion, config: &PairConfig) -> Side {
        let mtu = config.mtu.bytes();
        let [first, peer_first] = [end, end.other()].map(|end| config.start_psn[end as usize]);
        let mirror = Mirror::new(end, config, remote.len);
        let ordinary = setup::ordinary(end, peer.target_qpn, config);
        let path = Path { own: ordinary.net.src_gid(), peer: ordinary.net.dst_gid() };
        let oracle = Oracle::new(OracleConfig {
            ends: Ends {
                own_qpn: port.qpn,
                peer_qpn: peer.qpn,
                path: Some(path),
                station: None,
                pkey: Some(PKey::DEFAULT),
            },
            stream: StreamConfig {
                transport: config.transport,
                mtu: Some(mtu),
                sends_from: Some(first),
                expects_from: Some(peer_first),
                is_whole: true,
                max_rd_atomic: Some(usize::from(config.rd_atomic)),
                go_back_n: true,
                ack_timeout: (config.timeout > 0).then(|| mad::timeout(config.timeout)),
            },
            skew: Duration::ZERO,
        });
        let counter = port.endpoint.counters().position(|(name, _)| name == "requests_executed");
        let counter = counter.expect("the model counts what it executes");
        Side {
            end,
            port,
            peer,
            ordinary,
            remote,
            transport: config.transport,
            mirror,
            oracle,
            waiting: VecDeque::new(),
            last_post: Time::ZERO,
            depth: config.depth,
            slot_len: config.slot_len(),
            receives: config.receives[end as usize],
            posted: VecDeque::new(),
            free: VecDeque::new(),
            failed: None,
            succeeded: (0, Time::ZERO),
            counter,
        }
    }

    /// Plans the receives of the beginning.
    pub(super) fn ready_receives(&mut self) {
        let first = if self.receives.ready > 0 { Time::ZERO } else { Time::ZERO + self.receives.after };
        self.free.extend((0..self.receives.slots()).map(|slot| (first, slot)));
    }

    /// When the software or the endpoint has something to do.
    pub(super) fn next_event(&self) -> Option<Time> {
        let can_post = self.mirror.outstanding() < self.depth;
        let post = self.waiting.front().filter(|_| can_post).map(|next| self.last_post + next.after);
        let receive = self.free.front().map(|(at, _)| *at);
        self.port.endpoint.next_timeout().into_iter().chain(post).chain(receive).min()
    }

    /// Posts what is due.
    pub(super) fn post(&mut self, now: Time, recorded: &mut Option<Recorded>) -> Result<(), VerbError> {
        while let Some((_, slot)) = self.free.front().copied().filter(|(at, _)| *at <= now) {
            self.free.pop_front();
            let (mr, offset, len) = (self.port.inbox.handle, u64::from(slot) * self.slot_len, self.slot_len);
            self.port.endpoint.write_memory(mr, offset, &vec![FILLER; len as usize])?;
            let (endpoint, id) = (&mut self.port.endpoint, RECEIVE | u64::from(slot));
            match self.port.srq {
                Some((srq, _)) => endpoint.post_srq_receive(srq, id, mr, offset, len as u32)?,
                None => endpoint.post_receive(self.port.qp, id, mr, offset, len as u32)?,
            }
            self.posted.push_back(slot);
            if let Some(recorded) = recorded.as_mut().filter(|recorded| recorded.end() == self.end) {
                recorded.posted_receive(len as u32);
            }
        }
        while self.mirror.outstanding() < self.depth
            && let Some(operation) = self.waiting.front().copied().filter(|next| self.last_post + next.after <= now)
        {
            self.waiting.pop_front();
            self.last_post = now;
            self.request(&operation)?;
        }
        Ok(())
    }

    fn request(&mut self, operation: &Operation) -> Result<(), VerbError> {
        let destination = (self.transport == Transport::Ud).then(|| self.destination());
        let record = self.mirror.post(operation);
        let offset = record.number % self.depth as u64 * self.slot_len;
        let brings =
            matches!(record.kind, SendOperation::RdmaRead | SendOperation::CompareSwap | SendOperation::FetchAdd);
        let region = if brings { &self.port.sink } else { &self.port.source };
        let request = SendRequest {
            mr: region.handle,
            offset,
            length: record.len,
            remote_va: self.remote.va + record.place as u64,
            rkey: self.remote.rkey,
            // Of a FLUSH: global visibility of the range.
            immediate: if record.kind == SendOperation::Flush { 1 } else { record.immediate },
            compare_add: record.compare_add,
            destination,
            srqn: self.peer.srqn,
            swap: record.swap,
            ..SendRequest::new(record.number, record.kind)
        };
        self.port.endpoint.write_memory(region.handle, offset, &record.data)?;
        self.port.endpoint.post_send(self.port.qp, &request)
    }

    fn destination(&self) -> Destination {
        let gid = self.ordinary.net.dst_gid();
        Destination::new(gid, self.peer.qpn, setup::QKEY)
    }

    /// Judges a frame that this end sends. Gives whether it is a request that was sent before.
    pub(super) fn judge(&mut self, now: Time, frame: &[u8], asked: &Mirror) -> Result<bool, Fault> {
        let Some(packet) = roce(frame) else { return Err("a frame was sent that is no RoCE packet".into()) };
        let is_request = packet.bth.opcode.info().is_some_and(Info::is_request);
        let is_again = is_request && self.oracle.next_psn().is_some_and(|next| packet.bth.psn.since(next) < 0);
        let breaches = self.oracle.sent(now, &packet);
        if let Some(breach) = breaches.into_iter().find(|breach| breach.level == Level::Must) {
            return Err(Fault { rule: Some(breach.rule), sentence: breach.to_string() });
        }
        if is_request && packet.bth.psn.since(self.mirror.end()) >= 0 {
            return Err("a packet was sent that belongs to no posted request".into());
        }
        check_promise(&packet, asked)?;
        Ok(is_again)
    }

    /// Gives a frame to the endpoint. Gives whether it executed a request.
    pub(super) fn receive(&mut self, now: Time, frame: &[u8], asked: &mut Mirror) -> Result<bool, Fault> {
        let packet = roce(frame);
        if let Some(packet) = &packet {
            self.oracle.received(now, packet);
        }
        let before = self.executed();
        self.port.endpoint.handle(now, Input::Frame(frame));
        let count = self.executed() - before;
        if count == 0 {
            return Ok(false);
        }
        let Some(packet) = packet.filter(|packet| icrc::verify_in(frame, packet)) else {
            return Err("a damaged frame was executed".into());
        };
        asked.executed(packet.bth.psn)?;
        Ok(true)
    }

    fn executed(&self) -> u64 {
        self.port.endpoint.counters().nth(self.counter).map_or(0, |(_, count)| count)
    }

    /// The whole memory that the peer may use is what its requests say.
    pub(super) fn compare_memory(&self, asked: &Mirror) -> Result<(), Fault> {
        let window = &self.port.window;
        let memory =
            self.port.endpoint.read_memory(window.handle, 0, window.len).map_err(|error| Fault::refused(&error))?;
        let differs = memory.iter().zip(asked.window()).position(|(is, must)| is != must);
        match differs {
            Some(at) => Err(format!(
                "memory holds {:#04x} at {at:#x} where the executed requests say {:#04x}",
                memory[at],
                asked.window()[at]
            )
            .into()),
            None => Ok(()),
        }
    }

    /// Takes what has completed.
    pub(super) fn take_completions(&mut self, now: Time, peer: &mut Side) -> Result<(), Fault> {
        loop {
            let mut completions = self.port.endpoint.poll(self.port.qp, 64);
            if let Some((srq, _)) = self.port.srq {
                completions.extend(self.port.endpoint.poll_srq(srq, 64));
            }
            if completions.is_empty() {
                return Ok(());
            }
            for completion in completions {
                if completion.wr_id & RECEIVE != 0 {
                    self.take_receive(&completion, now, &mut peer.mirror)?;
                } else {
                    self.take_request(&completion, now)?;
                }
            }
        }
    }

    fn take_request(&mut self, completion: &Completion, now: Time) -> Result<(), Fault> {
        let (endpoint, sink) = (&self.port.endpoint, &self.port.sink);
        let (depth, slot_len) = (self.depth as u64, self.slot_len);
        self.mirror.complete(completion, |record| {
            let offset = record.number % depth * slot_len;
            endpoint.read_memory(sink.handle, offset, record.len.into()).unwrap_or_default()
        })?;
        match (completion.status, self.failed) {
            (Status::Success, None) => {
                self.succeeded = (self.succeeded.0 + 1, now);
                return Ok(());
            }
            (Status::Success, Some(_)) => return Err("a request completed with success behind one that failed".into()),
            (Status::FlushError, _) => {}
            (Status::RetryExceeded | Status::RnrRetryExceeded, None) => self.failed = Some(completion.status),
            (status, _) => return Err(format!("request {} failed: {}", completion.wr_id, status.name()).into()),
        }
        if self.state() != Some(QpState::Error) {
            return Err("a request failed and the queue pair is not in error".into());
        }
        Ok(())
    }

    fn take_receive(&mut self, completion: &Completion, now: Time, asked: &mut Mirror) -> Result<(), Fault> {
        let slot = self.posted.pop_front();
        if slot.map(|slot| RECEIVE | u64::from(slot)) != Some(completion.wr_id) {
            return Err("a receive completed out of order".into());
        }
        if completion.status == Status::FlushError && self.state() == Some(QpState::Error) {
            return Ok(());
        }
        let Some(delivery) = asked.next_delivery() else {
            return Err("a receive completed and no message was executed".into());
        };
        let seen = (completion.status, completion.kind, completion.byte_len, completion.immediate);
        let grh = if self.transport == Transport::Ud { 40 } else { 0 };
        let expected = (Status::Success, delivery.kind, delivery.len + grh, delivery.immediate);
        if seen != expected {
            return Err(format!("a receive completed with {seen:x?} where the message says {expected:x?}").into());
        }
        if self.transport == Transport::Ud && (completion.src_qpn, completion.grh) != (self.peer.qpn, true) {
            return Err("a datagram arrived without its source".into());
        }
        let slot = slot.unwrap_or_default();
        let offset = u64::from(slot) * self.slot_len;
        let inbox = self.port.inbox.handle;
        let buffer =
            self.port.endpoint.read_memory(inbox, offset, self.slot_len).map_err(|error| Fault::refused(&error))?;
        let (data, rest) = buffer[grh as usize..].split_at(delivery.data.len());
        if data != delivery.data {
            let at = data.iter().zip(&delivery.data).position(|(is, must)| is != must).unwrap_or(0);
            return Err(format!("a message of {} bytes arrived with byte {at} changed", delivery.len).into());
        }
        // A broken message of an unreliable service may have left something there.
        let is_reliable = matches!(self.transport, Transport::Rc | Transport::Xrc);
        if is_reliable && delivery.kind == CompletionKind::Receive && rest.iter().any(|byte| *byte != FILLER) {
            return Err("a message was written beyond its end".into());
        }
        self.free.push_back((now + self.receives.after, slot));
        Ok(())
    }

    pub(super) fn state(&self) -> Option<QpState> {
        self.port.endpoint.query_qp(self.port.qp).ok()?.state
    }

    /// Nothing is left undone.
    pub(super) fn is_at_rest(&self, peer: &Side) -> Result<(), Fault> {
        let expected = if self.failed.is_some() { QpState::Error } else { QpState::Rts };
        let state = self.state();
        if state != Some(expected) {
            return Err(format!("the queue pair is in {state:?} in the end, not in {expected:?}").into());
        }
        match peer.mirror.undelivered() {
            0 => Ok(()),
            count => Err(format!("{count} messages were executed and came out of no receive").into()),
        }
    }

    /// A frame that this end sent, as a line.
    pub(super) fn show(&self, frame: &[u8]) -> String {
        let Some(packet) = roce(frame) else { return format!("{} bytes that are no RoCE packet", frame.len()) };
        let regions = [Region { name: "mr", va: self.remote.va, len: self.remote.len, rkey: self.remote.rkey }];
        let mut scope = setup::scope_like(&self.ordinary, &packet, &regions);
        if packet.bth.opcode.info().is_some_and(Info::is_response) {
            scope.base.bth.dest_qp = self.peer.qpn;
        }
        notation::print(&packet, &scope).elided().to_string()
    }
}

/// What a response says was executed, was.
fn check_promise(packet: &Roce<'_>, asked: &Mirror) -> Result<(), Fault> {
    let Some(info) = packet.bth.opcode.info().filter(|info| info.is_response()) else { return Ok(()) };
    let class = packet.ext.aeth.syndrome.class();
    let has_aeth = info.has(Header::Aeth);
    let is_positive = !has_aeth || matches!(class, SyndromeClass::Ack(_));
    if is_positive && packet.bth.psn.since(asked.expected()) >= 0 {
        return Err("a packet was acknowledged that was not executed".into());
    }
    let counted = packet.ext.aeth.msn.since(Msn::new(asked.messages() as u32));
    if has_aeth && counted > 0 {
        return Err(format!("the MSN counts {counted} messages more than were executed").into());
    }
    Ok(())
}
