//! What the requests of one end must come to at the other: the least that a reader of the standard would write down, to
//! hold the model against.
//!
//! The mirror knows each request from the moment it is posted: which PSNs it takes, which bytes it carries. When the
//! responder says that it executed a packet, the mirror says which one it must have been and what has changed.

use std::collections::VecDeque;

use oorandom::Rand32;
use rocespec_codec::{Psn, Transport};
use rocespec_model::{Completion, CompletionKind, SendOperation, Status};

use super::setup::PairConfig;
use super::workload::{self, Operation};
use crate::link::End;
use SendOperation::{
    AtomicWrite, CompareSwap, FetchAdd, Flush, RdmaRead, RdmaWrite, RdmaWriteWithImmediate, Send, SendWithImmediate,
    SendWithInvalidate,
};

/// Requests of an unreliable service that are remembered after they completed: their packets may still be on the way.
const REMEMBERED: usize = 512;

/// The requests of one end.
#[derive(Debug)]
pub(super) struct Mirror {
    by: End,
    mtu: u32,
    max_len: u32,
    is_reliable: bool,
    keeps_order: bool,
    /// The message that has begun at the peer, and its packet that is next.
    begun: Option<(u64, u32)>,
    /// The last message that was executed.
    last: Option<u64>,
    /// Oldest first.
    records: VecDeque<Record>,
    posted: u64,
    next_psn: Psn,
    /// PSN of the packet that is executed next (reliable services).
    expected: Psn,
    /// The peer's memory.
    window: Vec<u8>,
    /// Messages executed.
    messages: u64,
    deliveries: VecDeque<Delivery>,
    completed: u64,
}

/// A request.
#[derive(Debug, Clone)]
pub(super) struct Record {
    pub(super) number: u64,
    pub(super) kind: SendOperation,
    pub(super) len: u32,
    /// Where in the peer's memory.
    pub(super) place: usize,
    pub(super) data: Vec<u8>,
    pub(super) immediate: u32,
    pub(super) compare_add: u64,
    pub(super) swap: u64,
    psn: Psn,
    psns: u32,
    executed: bool,
    completed: bool,
    /// What a READ or an ATOMIC brings.
    result: Vec<u8>,
    /// What was written later over what a READ asked for, as long as it has not completed: it may bring that instead,
    /// since a retried READ is executed again.
    later: Vec<(usize, Vec<u8>)>,
}

/// A message that must arrive in the next receive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Delivery {
    pub(super) kind: CompletionKind,
    pub(super) len: u32,
    pub(super) immediate: Option<u32>,
    /// What the buffer must hold; a WRITE puts nothing there.
    pub(super) data: Vec<u8>,
}

impl Mirror {
    pub(super) fn new(by: End, config: &PairConfig, window_len: u64) -> Mirror {
        let first = config.start_psn[by as usize];
        Mirror {
            by,
            mtu: config.mtu.bytes() as u32,
            max_len: config.longest(),
            is_reliable: !matches!(config.transport, Transport::Uc | Transport::Ud),
            keeps_order: config.keeps_order,
            begun: None,
            last: None,
            records: VecDeque::new(),
            posted: 0,
            next_psn: first,
            expected: first,
            window: vec![0; window_len as usize],
            messages: 0,
            deliveries: VecDeque::new(),
            completed: 0,
        }
    }

    /// Notes a request that is about to be posted.
    pub(super) fn post(&mut self, operation: &Operation) -> &Record {
        let len = workload::length(operation, self.max_len);
        let room = self.window.len() - len as usize;
        let mut place = operation.place as usize % (room + 1);
        if matches!(operation.kind, CompareSwap | FetchAdd | AtomicWrite) {
            place &= !7;
        }
        let mut random = Rand32::new_inc(self.posted, 3 + self.by as u64);
        let carries = !matches!(operation.kind, RdmaRead | CompareSwap | FetchAdd | Flush);
        let mut data = Vec::new();
        if carries {
            data.resize_with((len as usize).div_ceil(4), || random.rand_u32().to_le_bytes());
        }
        let mut data = data.concat();
        data.truncate(len as usize);
        let psns = match operation.kind {
            Flush => 1,
            _ => len.div_ceil(self.mtu).max(1),
        };
        // Compares with what is there now; by the time it is executed that may have changed.
        let now = self.window.get(place..place + 8).and_then(|word| word.try_into().ok()).map_or(0, u64::from_le_bytes);
        self.records.push_back(Record {
            number: self.posted,
            kind: operation.kind,
            len,
            place,
            data,
            immediate: random.rand_u32(),
            compare_add: now,
            swap: u64::from(random.rand_u32()) << 20 | self.posted,
            psn: self.next_psn,
            psns,
            executed: false,
            completed: false,
            result: Vec::new(),
            later: Vec::new(),
        });
        self.posted += 1;
        self.next_psn = self.next_psn.plus(psns);
        &self.records[self.records.len() - 1]
    }

    /// Requests that are posted and not completed.
    pub(super) fn outstanding(&self) -> usize {
        (self.posted - self.completed) as usize
    }

    /// Requests completed.
    pub(super) fn completed(&self) -> u64 {
        self.completed
    }

    /// Messages executed at the peer.
    pub(super) fn messages(&self) -> u64 {
        self.messages
    }

    /// PSN of the packet that is executed next.
    pub(super) fn expected(&self) -> Psn {
        self.expected
    }

    /// The PSN behind all that was posted.
    pub(super) fn end(&self) -> Psn {
        self.next_psn
    }

    /// What the peer's memory must hold.
    pub(super) fn window(&self) -> &[u8] {
        &self.window
    }

    /// The message that must arrive next.
    pub(super) fn next_delivery(&mut self) -> Option<Delivery> {
        self.deliveries.pop_front()
    }

    /// Messages that were executed and have not come out of a receive.
    pub(super) fn undelivered(&self) -> usize {
        self.deliveries.len()
    }

    /// The peer has executed a packet with this PSN.
    pub(super) fn executed(&mut self, psn: Psn) -> Result<(), String> {
        if self.is_reliable && psn != self.expected {
            let wanted = self.expected.get();
            return Err(format!("a packet with PSN {:#08x} was executed where {wanted:#08x} was next", psn.get()));
        }
        let at = self.records.iter().rposition(|record| psn.is_within(record.psn, record.psns));
        let Some(at) = at else {
            return Err(format!("a packet with PSN {:#08x} was executed that belongs to no request", psn.get()));
        };
        let index = psn.minus(self.records[at].psn.get()).get();
        let takes = if self.records[at].kind == RdmaRead { self.records[at].psns } else { 1 };
        self.expected = psn.plus(takes);
        self.check_place(at, index)?;
        self.act(at, index);
        let ends = index + takes == self.records[at].psns;
        self.begun = (!ends).then_some((self.records[at].number, index + 1));
        if ends {
            self.messages += 1;
            self.records[at].executed = true;
            self.deliver(at);
        }
        Ok(())
    }

    /// A message is executed whole, from its first packet to its last.
    fn check_place(&mut self, at: usize, index: u32) -> Result<(), String> {
        let number = self.records[at].number;
        if index > 0 && self.begun != Some((number, index)) {
            return Err(format!("packet {index} of request {number} was executed without those before it"));
        }
        if index == 0 && self.keeps_order && self.last.is_some_and(|last| last >= number) {
            return Err(format!("request {number} was executed again or too late"));
        }
        self.last = Some(number);
        Ok(())
    }

    /// What a packet changes in the peer's memory.
    fn act(&mut self, at: usize, index: u32) {
        let record = &mut self.records[at];
        let range = record.place..record.place + record.len as usize;
        match record.kind {
            RdmaWrite | RdmaWriteWithImmediate | AtomicWrite => {
                let from = (index * self.mtu) as usize;
                let to = (from + self.mtu as usize).min(record.data.len());
                let (place, bytes) = (range.start + from, record.data[from.min(to)..to].to_vec());
                self.write(place, &bytes);
            }
            RdmaRead => record.result = self.window[range].to_vec(),
            CompareSwap | FetchAdd => {
                let word = &self.window[range.clone()];
                record.result = word.to_vec();
                let before = word.try_into().map_or(0, u64::from_le_bytes);
                let after = match record.kind {
                    FetchAdd => before.wrapping_add(record.compare_add),
                    _ if before == record.compare_add => record.swap,
                    _ => before,
                };
                self.write(range.start, &after.to_le_bytes());
            }
            _ => {}
        }
    }

    fn write(&mut self, place: usize, bytes: &[u8]) {
        self.window[place..place + bytes.len()].copy_from_slice(bytes);
        for record in &mut self.records {
            let overlaps = place < record.place + record.len as usize && record.place < place + bytes.len();
            if record.kind == RdmaRead && record.executed && !record.completed && overlaps {
                record.later.push((place, bytes.to_vec()));
            }
        }
    }

    fn deliver(&mut self, at: usize) {
        let record = &self.records[at];
        let with_immediate = matches!(record.kind, SendWithImmediate | RdmaWriteWithImmediate);
        let kind = match record.kind {
            Send | SendWithImmediate | SendWithInvalidate => CompletionKind::Receive,
            RdmaWriteWithImmediate => CompletionKind::ReceiveRdmaWithImmediate,
            _ => return,
        };
        let data = if kind == CompletionKind::Receive { record.data.clone() } else { Vec::new() };
        let immediate = with_immediate.then_some(record.immediate);
        self.deliveries.push_back(Delivery { kind, len: record.len, immediate, data });
    }

    /// A request has completed. `sink` gives what it brought, from its slot.
    pub(super) fn complete(
        &mut self,
        completion: &Completion,
        sink: impl FnOnce(&Record) -> Vec<u8>,
    ) -> Result<(), String> {
        let wanted = self.completed;
        if completion.wr_id != wanted {
            return Err(format!("request {} completed where {wanted} was next", completion.wr_id));
        }
        let Some(record) = self.records.iter_mut().find(|record| record.number == wanted) else {
            return Err(format!("request {wanted} completed that was not posted"));
        };
        let kind = record.kind.completion();
        if completion.kind != kind {
            return Err(format!("request {wanted} completed as {} and is a {}", completion.kind.name(), kind.name()));
        }
        if completion.status == Status::Success && self.is_reliable {
            if !record.executed {
                return Err(format!("request {wanted} completed with success and was not executed by the peer"));
            }
            if !record.result.is_empty() {
                check_result(record, &sink(record))?;
            }
        }
        record.completed = true;
        self.completed += 1;
        self.forget();
        Ok(())
    }

    fn forget(&mut self) {
        let kept = if self.is_reliable { 0 } else { REMEMBERED };
        // What failed may be on its way still.
        let is_done = |record: &Record| record.completed && (record.executed || !self.is_reliable);
        while self.records.len() > kept && is_done(&self.records[0]) {
            self.records.pop_front();
        }
    }
}

fn check_result(record: &Record, brought: &[u8]) -> Result<(), String> {
    let is_right = |at: usize, byte: u8| {
        let place = record.place + at;
        let later =
            |(start, bytes): &(usize, Vec<u8>)| place.checked_sub(*start).and_then(|at| bytes.get(at)) == Some(&byte);
        record.result[at] == byte || record.kind == RdmaRead && record.later.iter().any(later)
    };
    match brought.iter().enumerate().find(|(at, byte)| !is_right(*at, **byte)) {
        Some((at, byte)) => Err(format!(
            "request {} ({}) brought {byte:#04x} at byte {at} where the peer had {:#04x}",
            record.number,
            record.kind.completion().name(),
            record.result[at]
        )),
        None => Ok(()),
    }
}
