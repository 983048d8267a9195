//! Durations as a person writes them.

use std::time::Duration;

/// The duration in the largest of ns, us and ms that leaves something before the point: `250ns`, `4.096us`, `1000ms`. Scripts
/// read it back.
pub(crate) fn text(length: Duration) -> String {
    let ns = length.as_nanos();
    let (unit, digits) = match ns {
        1_000_000.. => ("ms", 6),
        1_000.. => ("us", 3),
        _ => return format!("{ns}ns"),
    };
    let size = 10u128.pow(digits);
    let decimals = format!("{}.{:0width$}", ns / size, ns % size, width = digits as usize);
    format!("{}{unit}", decimals.trim_end_matches('0').trim_end_matches('.'))
}
