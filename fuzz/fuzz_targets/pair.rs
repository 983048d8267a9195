//! Two endpoints over a link that the fuzzer controls: whatever it does, what must hold holds.
#![no_main]

use std::time::Duration;

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use rocespec::link::pair::{Operation, Pair, PairConfig, Receives, kinds};
use rocespec::link::{Damage, End, Fate, Listed};
use rocespec::scenario::Network;
use rocespec_codec::{Mtu, Psn, RnrTimer, Transport};
use rocespec_model::Policy;

/// Longer than all retries of all requests take.
const LONG: Duration = Duration::from_secs(1000);
/// Requests and faults, at most.
const MOST: usize = 48;

fn config(u: &mut Unstructured<'_>) -> Result<PairConfig> {
    let transport = *u.choose(&[Transport::Rc, Transport::Rc, Transport::Uc, Transport::Ud, Transport::Xrc])?;
    let mtu = *u.choose(&Mtu::ALL)?;
    let mut policy = || Ok(Policy { window: u.int_in_range(1..=128)?, ..u.choose(&Policy::PRESETS)?.1 });
    let policy = [policy()?, policy()?];
    let mut receives = || {
        let after = Duration::from_nanos(u.int_in_range(0..=200_000)?);
        Ok(Receives { ready: u.int_in_range(0..=32)?, after })
    };
    Ok(PairConfig {
        transport,
        policy,
        receives: [receives()?, receives()?],
        network: *u.choose(&Network::ALL)?,
        mtu,
        start_psn: [Psn::new(u.arbitrary()?), Psn::new(u.arbitrary()?)],
        retry_count: u.int_in_range(0..=7)?,
        rnr_timer: RnrTimer::new(u.int_in_range(1..=4)?),
        rd_atomic: u.int_in_range(1..=4)?,
        depth: u.int_in_range(1..=16)?,
        max_len: mtu.bytes() as u32 * 3,
        ..PairConfig::default()
    })
}

fn end(u: &mut Unstructured<'_>) -> Result<End> {
    Ok(if u.arbitrary()? { End::A } else { End::B })
}

fn operation(u: &mut Unstructured<'_>, config: &PairConfig) -> Result<Operation> {
    Ok(Operation {
        by: end(u)?,
        after: Duration::from_nanos(u.int_in_range(0..=20_000)?),
        kind: *u.choose(kinds(config.transport))?,
        len: u.int_in_range(0..=config.max_len)?,
        place: u.arbitrary()?,
    })
}

fn fate(u: &mut Unstructured<'_>) -> Result<((End, u64), Fate)> {
    let frame = (end(u)?, u.int_in_range(0..=200)?);
    let fate = Fate {
        lost: u.arbitrary()?,
        copies: u.int_in_range(0..=2)?,
        behind: u.int_in_range(0..=8)?,
        queued: Duration::from_nanos(u.int_in_range(0..=10_000)?),
        late: Duration::from_nanos(u.int_in_range(0..=10_000_000)?),
        congested: u.arbitrary()?,
        damage: match u.int_in_range(0..=3)? {
            0 => Some(Damage::Bit(u.arbitrary()?)),
            1 => Some(Damage::Cut(u.int_in_range(0..=4200)?)),
            _ => None,
        },
    };
    Ok((frame, fate))
}

#[derive(Debug)]
struct Case {
    config: PairConfig,
    operations: Vec<Operation>,
    fates: Vec<((End, u64), Fate)>,
}

impl<'a> Arbitrary<'a> for Case {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Case> {
        let config = config(u)?;
        let (count, faults) = (u.int_in_range(0..=MOST)?, u.int_in_range(0..=MOST)?);
        let operations = (0..count).map(|_| operation(u, &config)).collect::<Result<_>>()?;
        let fates = (0..faults).map(|_| fate(u)).collect::<Result<_>>()?;
        Ok(Case { config, operations, fates })
    }
}

fuzz_target!(|case: Case| {
    let mut pair = Pair::new(&case.config, Listed::new(case.fates), case.operations.into_iter()).expect("it is set up");
    if let Err(violation) = pair.run(LONG) {
        panic!("{violation}");
    }
});
