//! Cases of a property test: a connection, what the ends ask of each other, and what the link does to which frame.

use std::time::Duration;

use proptest::prelude::*;
use rocespec::link::pair::{Operation, Pair, PairConfig, Receives, Totals, Violation, kinds};
use rocespec::link::{Damage, End, Fate, Listed};
use rocespec::scenario::Network;
use rocespec_codec::{Mtu, Psn, RnrTimer, Transport};
use rocespec_model::{Policy, ReadRetry};

/// Longer than all retries of all requests take.
pub const LONG: Duration = Duration::from_secs(100);

/// Everything that a run is made of.
#[derive(Debug, Clone)]
pub struct Case {
    pub config: PairConfig,
    pub operations: Vec<Operation>,
    pub fates: Vec<((End, u64), Fate)>,
}

impl Case {
    pub fn pair(&self) -> Pair {
        Pair::new(&self.config, Listed::new(self.fates.clone()), self.operations.clone().into_iter()).unwrap()
    }

    /// Runs it to its end.
    ///
    /// # Errors
    /// What does not hold, and for RC what came to either end as a scenario file.
    pub fn run(&self) -> Result<Totals, String> {
        self.pair().run(LONG).map_err(|violation| {
            let scenarios = [End::A, End::B].into_iter().filter_map(|end| self.scenario(end, &violation));
            let scenarios: Vec<_> = scenarios.collect();
            format!("{violation}\n{}", scenarios.concat())
        })
    }

    fn scenario(&self, end: End, violation: &Violation) -> Option<String> {
        if self.config.transport != Transport::Rc {
            return None;
        }
        let mut pair = self.pair().recording(end);
        pair.run(LONG).err()?;
        let rule = violation.rule.unwrap_or("rc.responder.send");
        let text = pair.recorded()?.scenario(&self.config, "A failure of two ends, made small", rule).ok()?;
        Some(format!("{}{text}", heading(end)))
    }
}

/// The line above the scenario of an end.
pub fn heading(end: End) -> String {
    format!("# What came to {end}, as a scenario:\n")
}

pub fn case(transport: Transport) -> impl Strategy<Value = Case> {
    let operations = prop::collection::vec(operation(transport), 1..30);
    let fates = prop::collection::vec(((end(), 0..120u64), fate()), 0..24);
    // Not one after the other: parts that depend on each other do not shrink well.
    (config(transport), operations, fates).prop_map(|(config, mut operations, fates)| {
        let mtu = config.mtu.bytes() as u32;
        for (operation, len) in &mut operations {
            operation.len = len.bytes(mtu);
        }
        Case { config, operations: operations.into_iter().map(|(operation, _)| operation).collect(), fates }
    })
}

/// Length of a message: so many packets, and so many bytes more.
#[derive(Debug, Clone, Copy)]
struct Len {
    packets: u32,
    more: i32,
}

impl Len {
    fn bytes(self, mtu: u32) -> u32 {
        (self.packets * mtu).saturating_add_signed(self.more)
    }
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![Just(End::A), Just(End::B)]
}

fn operation(transport: Transport) -> impl Strategy<Value = (Operation, Len)> {
    let more = prop_oneof![2 => -4..5i32, 1 => 0..256i32];
    let len = (0..=4u32, more).prop_map(|(packets, more)| Len { packets, more });
    let after = prop_oneof![3 => Just(0u64), 1 => 0..20_000u64].prop_map(Duration::from_nanos);
    // Few places, so that requests meet.
    let place = prop_oneof![3 => 0..8u32, 1 => any::<u32>()];
    let kind = prop::sample::select(kinds(transport));
    (end(), after, kind, len, place)
        .prop_map(|(by, after, kind, len, place)| (Operation { by, after, kind, len: 0, place }, len))
}

fn psn() -> impl Strategy<Value = Psn> {
    let near = |middle: u32| (0..32u32).prop_map(move |above| Psn::new(middle.wrapping_sub(16).wrapping_add(above)));
    prop_oneof![2 => near(0), 1 => near(0x80_0000), 1 => any::<u32>().prop_map(Psn::new)]
}

fn policy() -> impl Strategy<Value = Policy> {
    let preset = prop::sample::select(Policy::PRESETS.map(|(_, policy)| policy).to_vec());
    let window = prop_oneof![2 => Just(128u32), 1 => 1..16u32, 1 => Just((1 << 23) - 1)];
    let retry = prop_oneof![Just(ReadRetry::Tail), Just(ReadRetry::Whole)];
    (preset, window, retry).prop_map(|(policy, window, read_retry)| Policy { window, read_retry, ..policy })
}

fn receives() -> impl Strategy<Value = Receives> {
    let late = (0..3u32, 0..200_000u64);
    let late = late.prop_map(|(ready, nanos)| Receives { ready, after: Duration::from_nanos(nanos) });
    prop_oneof![2 => Just(Receives::default()), 1 => late]
}

fn config(transport: Transport) -> impl Strategy<Value = PairConfig> {
    let network = prop::sample::select(Network::ALL.to_vec());
    let mtu = prop::sample::select(Mtu::ALL.to_vec());
    let both = (psn(), psn(), policy(), policy(), receives(), receives());
    let numbers = (1..=4u8, 1..=16usize, 1..=7u8, 1..=4u8);
    (network, mtu, both, numbers).prop_map(move |(network, mtu, both, (rd_atomic, depth, retry_count, rnr))| {
        let (psn_a, psn_b, policy_a, policy_b, receives_a, receives_b) = both;
        PairConfig {
            transport,
            network,
            mtu,
            start_psn: [psn_a, psn_b],
            policy: [policy_a, policy_b],
            retry_count,
            rnr_timer: RnrTimer::new(rnr),
            rd_atomic,
            depth,
            max_len: mtu.bytes() as u32 * 4,
            receives: [receives_a, receives_b],
            ..PairConfig::default()
        }
    })
}

fn fate() -> impl Strategy<Value = Fate> {
    let damage = prop_oneof![(0..4096u32).prop_map(Damage::Bit), (0..200usize).prop_map(Damage::Cut)];
    let late = prop_oneof![0..10_000u64, 0..10_000_000u64].prop_map(Duration::from_nanos);
    prop_oneof![
        4 => Just(Fate::LOST),
        2 => Just(Fate { copies: 1, ..Fate::default() }),
        2 => (1..8u32).prop_map(|behind| Fate { behind, ..Fate::default() }),
        2 => late.prop_map(|late| Fate { late, ..Fate::default() }),
        1 => damage.prop_map(|damage| Fate { damage: Some(damage), ..Fate::default() }),
        1 => Just(Fate { congested: true, ..Fate::default() }),
    ]
}
