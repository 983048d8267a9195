//! How much of what a device sent still lies in the switch, and whether it was asked to pause.

use std::time::Duration;

use rocespec_codec::{Pause, Pfc};
use rocespec_model::Time;

use super::CLASSES;
use super::config::{PfcThresholds, SwitchConfig};

/// Accounts of one port, by class.
#[derive(Debug, Default)]
pub(super) struct Ingress([Account; CLASSES]);

#[derive(Debug, Default, Clone, Copy)]
struct Account {
    bytes: usize,
    /// When it is asked to pause again; `None` when it may send.
    refresh: Option<Time>,
}

impl Ingress {
    /// A frame joins a queue. Gives what to tell the sender.
    pub(super) fn add(&mut self, class: usize, len: usize, now: Time, config: &SwitchConfig) -> Option<Pfc> {
        let account = &mut self.0[class];
        account.bytes += len;
        let pfc = thresholds(config, class)?;
        if account.refresh.is_some() || account.bytes <= pfc.xoff {
            return None;
        }
        Some(account.pause(class, now, &pfc, config))
    }

    /// A frame leaves its queue. Gives what to tell the sender.
    pub(super) fn remove(&mut self, class: usize, len: usize, config: &SwitchConfig) -> Option<Pfc> {
        let account = &mut self.0[class];
        account.bytes -= len;
        let pfc = thresholds(config, class)?;
        if account.bytes > pfc.xon {
            return None;
        }
        account.refresh.take()?;
        Some(Pfc::new(1 << class, 0))
    }

    /// When a pause must be asked for again.
    pub(super) fn next_refresh(&self) -> Option<Time> {
        self.0.iter().filter_map(|account| account.refresh).min()
    }

    /// A pause that is half over and still needed.
    pub(super) fn refresh(&mut self, now: Time, config: &SwitchConfig) -> Option<Pfc> {
        let class = self.0.iter().position(|account| account.refresh.is_some_and(|at| at <= now))?;
        let pfc = thresholds(config, class)?;
        Some(self.0[class].pause(class, now, &pfc, config))
    }
}

impl Account {
    fn pause(&mut self, class: usize, now: Time, pfc: &PfcThresholds, config: &SwitchConfig) -> Pfc {
        let half = Pause::duration(pfc.quanta, config.speed) / 2;
        // At least a nanosecond on, so that time passes between two of them.
        self.refresh = Some(now + half.max(Duration::from_nanos(1)));
        Pfc::new(1 << class, pfc.quanta)
    }
}

fn thresholds(config: &SwitchConfig, class: usize) -> Option<PfcThresholds> {
    config.pfc.filter(|pfc| pfc.classes >> class & 1 == 1)
}
