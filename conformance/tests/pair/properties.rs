use std::time::Duration;

use proptest::prelude::*;
use rocespec::link::pair::Pair;
use rocespec::link::{Burst, Fate, Faults, RandomFaults, Rate};
use rocespec_codec::Transport;

use crate::case::{Case, LONG, case};

fn holds(case: &Case) -> Result<(), TestCaseError> {
    let totals = case.run().map_err(TestCaseError::fail)?;
    prop_assert_eq!(totals.completed, case.operations.len() as u64);
    Ok(())
}

proptest! {
    #[test]
    fn what_must_hold_holds_on_rc_with_any_faults(case in case(Transport::Rc)) {
        holds(&case)?;
    }

    #[test]
    fn what_must_hold_holds_on_rc_at_any_rate_of_faults(
        case in case(Transport::Rc),
        rates in prop::collection::vec(0..300_000u32, 7),
        depth in 1..20u32,
        seed in any::<u64>(),
    ) {
        let rate = |at: usize| Rate::per_million(rates[at]);
        let faults = Faults {
            loss: rate(0),
            burst: Burst { begins: Rate::per_million(rates[1] / 10), ends: Rate::percent(25) },
            duplication: rate(2),
            reordering: rate(3),
            depth,
            jitter: Duration::from_nanos(rates[4].into()),
            corruption: rate(5),
            truncation: Rate::per_million(rates[6] / 4),
            congestion: rate(6),
        };
        let operations = case.operations.clone().into_iter();
        let mut pair = Pair::new(&case.config, RandomFaults::new(faults, seed), operations).unwrap();
        pair.run(LONG).map_err(|violation| TestCaseError::fail(violation.to_string()))?;
    }

    #[test]
    fn what_must_hold_holds_on_xrc(case in case(Transport::Xrc)) {
        holds(&case)?;
    }

    #[test]
    fn what_must_hold_holds_on_uc(case in case(Transport::Uc)) {
        holds(&case)?;
    }

    #[test]
    fn what_must_hold_holds_on_uc_when_frames_are_only_lost(mut case in case(Transport::Uc)) {
        case.config.keeps_order = true;
        for (_, fate) in &mut case.fates {
            *fate = Fate { lost: fate.lost, damage: fate.damage, congested: fate.congested, ..Fate::default() };
        }
        holds(&case)?;
    }

    #[test]
    fn what_must_hold_holds_on_ud(case in case(Transport::Ud)) {
        holds(&case)?;
    }

    #[test]
    fn the_same_case_gives_the_same_run(case in case(Transport::Rc)) {
        prop_assert_eq!(case.pair().run(LONG), case.pair().run(LONG));
    }
}
