//! Two endpoints back to back, over a link that loses nothing: what was asked for is done, in order, once.

#[path = "harness/pair.rs"]
#[expect(unreachable_pub, reason = "test programs have no outside")]
mod pair;

use pair::{Pair, Setup};
use proptest::prelude::*;
use rocespec_codec::Mtu;
use rocespec_model::SendOperation::{
    AtomicWrite, CompareSwap, FetchAdd, RdmaRead, RdmaWrite, RdmaWriteWithImmediate, Send, SendWithImmediate,
};
use rocespec_model::{CompletionKind, Policy, SendFlags, SendOperation, SendRequest};

/// Longest message.
const MAX: usize = 9000;
const REQUESTS: usize = 12;
/// The software's data lies before this, what READs and ATOMICs bring home and receives behind it.
const HOME: usize = 16384;
const INBOX: usize = HOME + REQUESTS * MAX;
const REGION: usize = INBOX + REQUESTS * MAX;

#[derive(Debug, Clone, Copy)]
struct Work {
    operation: SendOperation,
    len: usize,
    /// In the software's data.
    from: usize,
    /// In the other end's region, in units of 8 bytes.
    to: usize,
    fence: bool,
    signaled: bool,
    inline: bool,
}

impl Work {
    fn len(self) -> usize {
        match self.operation {
            CompareSwap | FetchAdd | AtomicWrite => 8,
            _ => self.len,
        }
    }

    /// Changes memory that a READ before it may be reading still: only a fence puts the two in order.
    fn needs_fence(self) -> bool {
        matches!(self.operation, RdmaWrite | RdmaWriteWithImmediate | AtomicWrite | CompareSwap | FetchAdd)
    }

    fn takes_receive(self) -> bool {
        matches!(self.operation, Send | SendWithImmediate | RdmaWriteWithImmediate)
    }
}

fn work() -> impl Strategy<Value = Work> {
    let operation = prop::sample::select(vec![
        Send,
        SendWithImmediate,
        RdmaWrite,
        RdmaWriteWithImmediate,
        RdmaRead,
        CompareSwap,
        FetchAdd,
        AtomicWrite,
    ]);
    let len = prop_oneof![0..=8usize, 250..=260usize, 1020..=1030usize, 4090..=4100usize, 0..=MAX];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (operation, len, 0..HOME - MAX, 0..(REGION - MAX) / 8, flags).prop_map(
        |(operation, len, from, to, (fence, signaled, inline))| Work {
            operation,
            len,
            from,
            to,
            fence,
            signaled,
            inline,
        },
    )
}

fn setup() -> impl Strategy<Value = Setup> {
    let mtu = prop::sample::select(vec![Mtu::B256, Mtu::B512, Mtu::B1024, Mtu::B2048, Mtu::B4096]);
    let psn = || prop_oneof![Just(0u32), 0xff_ffc0..=0xff_ffffu32, 0x7f_ffc0..=0x7f_ffffu32, 0..0x100_0000u32];
    let policy = || (0..Policy::PRESETS.len()).prop_map(|at| Policy::PRESETS[at].1);
    (mtu, [psn(), psn()], [policy(), policy()], 1..5u8).prop_map(|(mtu, start_psns, policies, max_rd_atomic)| Setup {
        policies,
        mtu,
        start_psns,
        max_rd_atomic,
        region_len: REGION as u64,
        ..Setup::default()
    })
}

/// What the memory of both ends has to hold.
struct Shadow {
    /// The two ends' own regions, and those that the other end uses.
    own: [Vec<u8>; 2],
    shared: [Vec<u8>; 2],
    /// Receives that each end has taken.
    received: [usize; 2],
}

impl Shadow {
    /// Carries out a request of `end` at once.
    fn apply(&mut self, end: usize, number: usize, work: Work) {
        let len = work.len();
        let data = self.own[end][work.from..work.from + len].to_vec();
        let there = work.to * 8..work.to * 8 + len;
        let home = HOME + number * MAX..HOME + number * MAX + len;
        let value = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
        match work.operation {
            RdmaWrite | RdmaWriteWithImmediate | AtomicWrite => {
                self.shared[1 - end][there].copy_from_slice(&data);
            }
            RdmaRead => self.own[end][home].copy_from_slice(&self.shared[1 - end][there]),
            CompareSwap | FetchAdd => {
                let target = &mut self.shared[1 - end][there];
                let before = value(target);
                let after = match work.operation {
                    FetchAdd => before.wrapping_add(COMPARE_ADD),
                    _ if before == COMPARE_ADD => SWAP,
                    _ => before,
                };
                target.copy_from_slice(&after.to_le_bytes());
                self.own[end][home].copy_from_slice(&before.to_le_bytes());
            }
            _ => {
                let inbox = INBOX + self.received[1 - end] * MAX;
                self.own[1 - end][inbox..inbox + len].copy_from_slice(&data);
            }
        }
        self.received[1 - end] += usize::from(work.takes_receive());
    }
}

const COMPARE_ADD: u64 = 0;
const SWAP: u64 = 0x0102_0304_0506_0708;

fn request(pair: &Pair, end: usize, number: usize, work: Work) -> SendRequest {
    let (own, there) = (pair.ends[end].own, pair.ends[1 - end].shared);
    let comes_home = matches!(work.operation, RdmaRead | CompareSwap | FetchAdd);
    let offset = if comes_home { HOME + number * MAX } else { work.from };
    SendRequest {
        mr: own.handle,
        offset: offset as u64,
        length: work.len as u32,
        remote_va: there.va + work.to as u64 * 8,
        rkey: there.rkey,
        immediate: number as u32,
        compare_add: COMPARE_ADD,
        swap: SWAP,
        flags: SendFlags {
            fence: work.fence || work.needs_fence(),
            signaled: work.signaled,
            inline: work.inline,
            ..SendFlags::default()
        },
        ..SendRequest::new(number as u64, work.operation)
    }
}

fn fill(seed: usize) -> Vec<u8> {
    (0..REGION).map(|at| (at * 31 + at / 256 * 7 + seed * 101) as u8).collect()
}

proptest! {
    #[test]
    fn what_is_asked_for_is_done_in_order_and_once(
        setup in setup(),
        works in [prop::collection::vec(work(), 0..REQUESTS), prop::collection::vec(work(), 0..REQUESTS)],
    ) {
        let mut pair = Pair::new(&setup);
        let mut shadow = Shadow { own: [fill(1), fill(2)], shared: [fill(3), fill(4)], received: [0, 0] };
        for (at, end) in pair.ends.iter_mut().enumerate() {
            end.port.write_memory(end.own.handle, 0, &shadow.own[at]).unwrap();
            end.port.write_memory(end.shared.handle, 0, &shadow.shared[at]).unwrap();
            for number in 0..REQUESTS {
                let inbox = (INBOX + number * MAX) as u64;
                end.port.post_receive(end.qps[0], 1000 + number as u64, end.own.handle, inbox, MAX as u32).unwrap();
            }
        }
        for (end, works) in works.iter().enumerate() {
            for (number, work) in works.iter().enumerate() {
                let request = request(&pair, end, number, *work);
                let qp = pair.ends[end].qps[0];
                pair.ends[end].port.post_send(qp, &request).unwrap();
                shadow.apply(end, number, *work);
            }
        }
        pair.run();
        for (at, end) in pair.ends.iter_mut().enumerate() {
            let (received, sent): (Vec<_>, Vec<_>) = end.port.poll(end.qps[0], 1000).into_iter().partition(|completion| {
                matches!(completion.kind, CompletionKind::Receive | CompletionKind::ReceiveRdmaWithImmediate)
            });
            let ends = |completions: &[rocespec_model::Completion]| -> Vec<_> {
                completions.iter().map(|completion| (completion.wr_id, completion.status.name())).collect()
            };
            let asked = works[at].iter().zip(0..).filter(|(work, _)| work.signaled);
            prop_assert_eq!(ends(&sent), asked.map(|(_, number)| (number, "success")).collect::<Vec<_>>());
            let taking: Vec<_> = works[1 - at].iter().zip(0..).filter(|(work, _)| work.takes_receive()).collect();
            let expected: Vec<_> = (0..taking.len() as u64).map(|number| (1000 + number, "success")).collect();
            prop_assert_eq!(ends(&received), expected);
            for (completion, (work, number)) in received.iter().zip(taking) {
                prop_assert_eq!(completion.byte_len as usize, work.len());
                prop_assert_eq!(completion.immediate, (work.operation != Send).then_some(number));
            }
            prop_assert!(end.port.read_memory(end.own.handle, 0, REGION as u64).unwrap() == shadow.own[at]);
            prop_assert!(end.port.read_memory(end.shared.handle, 0, REGION as u64).unwrap() == shadow.shared[at]);
            let wasted: Vec<_> = end.port.counters().filter(|(name, count)| {
                *count > 0 && (name.starts_with("drop_") || ["retransmitted", "ack_timeouts"].contains(name))
            }).collect();
            prop_assert_eq!(wasted, []);
        }
    }
}
