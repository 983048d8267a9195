use std::time::Duration;

use rocespec::link::pair::{Endless, Pair, PairConfig, Receives, Totals};
use rocespec::link::{Burst, Fates, Faults, RandomFaults, Rate};

const LONG: Duration = Duration::from_secs(100);

fn run(config: &PairConfig, fates: impl Fates + 'static, count: usize) -> Totals {
    let operations = Endless::new(1, config.transport, config.mtu.bytes() as u32, config.max_len).take(count);
    let mut pair = Pair::new(config, fates, operations).unwrap();
    pair.run(LONG).unwrap_or_else(|violation| panic!("{violation}"))
}

#[test]
fn without_faults_every_request_completes_and_nothing_is_sent_twice() {
    let totals = run(&PairConfig::default(), (), 500);
    assert_eq!((totals.completed, totals.messages, totals.retransmissions, totals.failed), (500, 500, 0, 0));
    assert!(totals.packets > 1000, "{totals:?}");
}

#[test]
fn a_link_that_does_everything_wrong_changes_nothing_but_the_time() {
    let faults = Faults {
        loss: Rate::percent(5),
        burst: Burst { begins: Rate::per_million(2000), ends: Rate::percent(30) },
        duplication: Rate::percent(5),
        reordering: Rate::percent(5),
        depth: 8,
        jitter: Duration::from_micros(3),
        corruption: Rate::percent(2),
        truncation: Rate::percent(1),
        congestion: Rate::percent(5),
    };
    let totals = run(&PairConfig::default(), RandomFaults::new(faults, 1), 2000);
    assert_eq!((totals.completed, totals.messages, totals.failed), (2000, 2000, 0));
    assert!(totals.retransmissions > 100, "{totals:?}");
}

#[test]
fn late_receives_put_requests_off() {
    let late = Receives { ready: 1, after: Duration::from_micros(50) };
    let totals = run(&PairConfig { receives: [late; 2], ..PairConfig::default() }, (), 500);
    assert_eq!((totals.completed, totals.messages, totals.failed), (500, 500, 0));
    assert!(totals.retransmissions > 50, "{totals:?}");
}

#[test]
fn a_dead_link_ends_in_errors_on_both_sides() {
    let totals =
        run(&PairConfig::default(), RandomFaults::new(Faults { loss: Rate::ALWAYS, ..Faults::default() }, 1), 20);
    assert_eq!((totals.completed, totals.messages, totals.failed), (20, 0, 2));
}
