//! What an idle queue pair costs: a port with a hundred thousand of them fits into a small machine.
#![cfg(target_os = "linux")]

#[path = "harness/pair.rs"]
#[allow(dead_code, reason = "this test has one end")]
#[expect(unreachable_pub, reason = "test programs have no outside")]
mod pair;

use pair::{Pair, Setup};

/// Bytes of memory that this program holds.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kib: usize = line.trim().trim_end_matches(" kB").parse().unwrap();
    kib * 1024
}

#[test]
fn an_idle_queue_pair_takes_less_than_two_kib() {
    const COUNT: usize = 20_000;
    let before = resident();
    let pair = Pair::new(&Setup { queue_pairs: COUNT, ..Setup::default() });
    let each = (resident() - before) / (2 * COUNT);
    assert!(each < 2048, "{each} bytes");
    assert_eq!(pair.ends[1].qps.len(), COUNT);
}
