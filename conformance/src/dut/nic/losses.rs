//! What an interface itself says that it lost.

use std::fs;

/// Frames that came and could not be taken, by the names of `/sys/class/net/IFACE/statistics`.
const COUNTERS: [&str; 4] = ["rx_missed_errors", "rx_fifo_errors", "rx_over_errors", "rx_crc_errors"];

/// Frames that the interface has lost or found damaged since it came up. Zero where it does not say.
pub(super) fn of_interface(name: &str) -> u64 {
    let folder = format!("/sys/class/net/{name}/statistics");
    let count = |counter: &str| fs::read_to_string(format!("{folder}/{counter}")).ok()?.trim().parse::<u64>().ok();
    COUNTERS.iter().filter_map(|counter| count(counter)).sum()
}
