//! The notification point: which marked packets are answered by a CNP.

use alloc::collections::BTreeMap;
use core::net::Ipv6Addr;
use core::time::Duration;

use super::CnpConfig;
use crate::time::Time;

/// What a port does about packets that met congestion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotificationConfig {
    /// Least time from one CNP to the next of the same scope; zero: a CNP for every marked packet.
    pub interval: Duration,
    /// What the interval is counted for.
    pub scope: CnpScope,
    /// What CNPs look like.
    pub cnp: CnpConfig,
}

impl Default for NotificationConfig {
    /// The interval of the DCQCN paper, 50 us, for each queue pair.
    fn default() -> Self {
        NotificationConfig { interval: Duration::from_micros(50), scope: CnpScope::PerQp, cnp: CnpConfig::default() }
    }
}

/// What the interval between CNPs is counted for. Devices differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CnpScope {
    /// Each queue pair.
    PerQp,
    /// Each pair of a source and a destination address.
    PerIpPair,
    /// The port.
    PerPort,
}

/// Most address pairs that are remembered. Beyond, marks of new pairs get no CNP until an interval is over: a CNP may
/// stand for several marks, and too early is worse than too few.
const MAX_PAIRS: usize = 1024;

/// When CNPs last left, where that is not kept with the queue pair.
#[derive(Debug, Clone, Default)]
pub struct NotificationPoint {
    port: Option<Time>,
    pairs: BTreeMap<(Ipv6Addr, Ipv6Addr), Time>,
}

impl NotificationPoint {
    /// Takes note of a valid packet that was marked, from `source` to `destination`; true when a CNP leaves for it now.
    /// `last_of_qp` is when the last one left for its queue pair, and is kept by the caller.
    ///
    /// rule: congestion.notification_point.interval
    pub fn marked(
        &mut self,
        now: Time,
        config: &NotificationConfig,
        last_of_qp: &mut Option<Time>,
        source: Ipv6Addr,
        destination: Ipv6Addr,
    ) -> bool {
        let is_over = |last: Time| now - last >= config.interval;
        match config.scope {
            CnpScope::PerQp => restart(last_of_qp, now, is_over),
            CnpScope::PerPort => restart(&mut self.port, now, is_over),
            CnpScope::PerIpPair => {
                let pair = (source, destination);
                if self.pairs.len() >= MAX_PAIRS && !self.pairs.contains_key(&pair) {
                    self.pairs.retain(|_, last| !is_over(*last));
                    if self.pairs.len() >= MAX_PAIRS {
                        return false;
                    }
                }
                let mut last = self.pairs.get(&pair).copied();
                let leaves = restart(&mut last, now, is_over);
                self.pairs.extend(last.map(|last| (pair, last)));
                leaves
            }
        }
    }
}

/// Begins a new interval where none runs; true when it did.
fn restart(last: &mut Option<Time>, now: Time, is_over: impl Fn(Time) -> bool) -> bool {
    let begins = last.is_none_or(is_over);
    if begins {
        *last = Some(now);
    }
    begins
}

#[cfg(test)]
mod tests;
