//! One sender and one receiver over a cable with faults, in virtual time.
//!
//! What runs here is a [`Pair`]: every packet of both ends is judged by the universal rules, and what arrives is compared
//! with what was sent, byte for byte.

use std::time::Duration;

use rocespec_model::{CongestionConfig, NotificationConfig};
use rocespec_reports::sweep::Counts;

use super::settings::{RESPONSE, Settings};
use super::{Measured, Wrong, goodput};
use crate::link::pair::{Checks, Operation, Pair, PairConfig, Receives, Violation};
use crate::link::{End, Faults, RandomFaults};

/// Packets between two comparisons of the whole memory.
const STRIDE: u64 = 1 << 16;
/// A run that has sent so many times what its messages need is ended.
const MOST_RESENT: u64 = 50;
/// A run that takes longer, in virtual time, is ended.
const LONGEST: Duration = Duration::from_secs(1_000_000);

/// One run with these faults in both directions.
pub(super) fn run(settings: &Settings, faults: Faults, seed: u64) -> Result<Measured, Wrong> {
    let refused = |error| Wrong { end: None, rule: None, sentence: format!("a verb was refused: {error}") };
    let messages = settings.messages();
    let operation =
        Operation { by: End::A, after: Duration::ZERO, kind: settings.operation, len: settings.message, place: 0 };
    let operations = (0..messages).map(move |_| operation);
    let pair = Pair::new(&config(settings), RandomFaults::new(faults, seed), operations).map_err(refused)?;
    let mut pair = pair.with_checks(Checks::Every(STRIDE));
    pair.run_packets(messages * settings.packets_of_message() * MOST_RESENT, LONGEST)?;
    let totals = pair.totals();
    if totals.completed == messages {
        pair.run(LONGEST)?;
    }
    let count = |end, name: &str| pair.counters(end).find(|(known, _)| *known == name).map(|(_, count)| count);
    let ended = match (totals.failed > 0, totals.succeeded == messages) {
        (true, _) => Some("the sender gave up: its retries were used up".to_owned()),
        (_, false) => Some(format!("it had sent {} packets", totals.packets)),
        _ => None,
    };
    let time = if ended.is_none() { totals.last_success } else { totals.time };
    Ok(Measured {
        goodput_bps: goodput(totals.succeeded * u64::from(settings.message), time),
        time,
        ended,
        counts: Counts {
            messages: totals.succeeded,
            packets: totals.packets,
            retransmitted: totals.retransmissions,
            hits: totals.hits,
            timeouts: count(End::A, "ack_timeouts"),
            naks: count(End::A, "sequence_naks_received"),
            cnps: count(End::B, "cnp_sent"),
        },
        incast: None,
    })
}

impl From<Box<Violation>> for Wrong {
    fn from(violation: Box<Violation>) -> Wrong {
        let packet = violation.packet.map_or(String::new(), |packet| format!(": {packet}"));
        let sentence = format!("{}{packet}", violation.sentence);
        Wrong { end: Some(violation.end), rule: violation.rule.map(str::to_owned), sentence }
    }
}

fn config(settings: &Settings) -> PairConfig {
    let mut policy = settings.policy;
    policy[End::A as usize].window = settings.window;
    let capable = CongestionConfig { ecn_capable: true, ..CongestionConfig::default() };
    let sender = CongestionConfig { reaction: settings.dcqcn, ..capable };
    let receiver = CongestionConfig { notification: settings.dcqcn.map(|_| NotificationConfig::default()), ..capable };
    PairConfig {
        mtu: settings.mtu,
        policy,
        defects: settings.defects,
        timeout: settings.ack_timeout,
        depth: settings.outstanding as usize,
        max_len: settings.message,
        receives: [1, settings.outstanding].map(|ready| Receives { ready, after: Duration::ZERO }),
        delay: settings.round_trip.saturating_sub(RESPONSE) / 2,
        speed: Some(settings.speed),
        congestion: [sender, receiver],
        ..PairConfig::default()
    }
}
