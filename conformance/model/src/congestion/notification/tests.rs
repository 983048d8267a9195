use core::net::Ipv6Addr;
use core::time::Duration;

use super::*;

struct Bench {
    point: NotificationPoint,
    config: NotificationConfig,
}

fn bench(scope: CnpScope) -> Bench {
    let config = NotificationConfig { interval: Duration::from_nanos(50), scope, ..NotificationConfig::default() };
    Bench { point: NotificationPoint::default(), config }
}

impl Bench {
    fn marked(&mut self, nanos: u64, qp: &mut Option<Time>, source: u128, destination: u128) -> bool {
        let (source, destination) = (Ipv6Addr::from(source), Ipv6Addr::from(destination));
        self.point.marked(Time::from_nanos(nanos), &self.config, qp, source, destination)
    }
}

#[test]
fn the_next_cnp_of_a_queue_pair_leaves_when_the_interval_is_over() {
    let mut bench = bench(CnpScope::PerQp);
    let mut qp = None;
    let left: [bool; 5] = [0, 1, 49, 50, 99].map(|nanos| bench.marked(nanos, &mut qp, 1, 2));
    assert_eq!(left, [true, false, false, true, false]);
}

#[test]
fn queue_pairs_have_intervals_of_their_own() {
    let mut bench = bench(CnpScope::PerQp);
    let (mut one, mut other) = (None, None);
    assert!(bench.marked(0, &mut one, 1, 2));
    assert!(bench.marked(1, &mut other, 1, 2));
    assert!(!bench.marked(2, &mut one, 3, 4));
}

#[test]
fn address_pairs_share_an_interval_over_their_queue_pairs() {
    let mut bench = bench(CnpScope::PerIpPair);
    assert!(bench.marked(0, &mut None, 1, 2));
    assert!(!bench.marked(1, &mut None, 1, 2));
    assert!(bench.marked(2, &mut None, 2, 1));
    assert!(bench.marked(3, &mut None, 1, 3));
    assert!(bench.marked(50, &mut None, 1, 2));
}

#[test]
fn a_port_has_one_interval_for_all() {
    let mut bench = bench(CnpScope::PerPort);
    assert!(bench.marked(0, &mut None, 1, 2));
    assert!(!bench.marked(49, &mut None, 3, 4));
    assert!(bench.marked(50, &mut None, 3, 4));
}

#[test]
fn without_an_interval_every_mark_gets_a_cnp() {
    for scope in [CnpScope::PerQp, CnpScope::PerIpPair, CnpScope::PerPort] {
        let mut bench = bench(scope);
        bench.config.interval = Duration::ZERO;
        let mut qp = None;
        assert!((0..5).all(|_| bench.marked(7, &mut qp, 1, 2)), "{scope:?}");
    }
}

#[test]
fn the_table_of_address_pairs_is_bounded_and_never_lets_a_cnp_leave_early() {
    let mut bench = bench(CnpScope::PerIpPair);
    let left = (0..2000).filter(|source| bench.marked(0, &mut None, *source, 2)).count();
    assert_eq!((left, bench.point.pairs.len()), (MAX_PAIRS, MAX_PAIRS));
    assert!((0..2000).all(|source| !bench.marked(49, &mut None, source, 2)));
    assert!(bench.marked(50, &mut None, 1999, 2));
    assert_eq!(bench.point.pairs.len(), 1);
}
