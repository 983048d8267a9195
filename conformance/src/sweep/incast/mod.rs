//! Several senders to one receiver through a switch, in virtual time.
//!
//! Each sender has always some messages posted, from the beginning to the end: long flows that meet at the port to the
//! receiver. Every packet is judged by the universal rules, at both ends, and what arrived is compared in the end.

mod network;
#[cfg(test)]
mod tests;

use rocespec_model::VerbError;
use rocespec_reports::sweep::{Counts, Incast};

use super::settings::Settings;
use super::{Measured, Wrong, goodput};
use crate::link::End;
use network::Network;

/// One run.
pub(super) fn run(settings: &Settings, senders: u32, seed: u64) -> Result<Measured, Wrong> {
    let mut network = Network::new(settings, senders as usize, seed).map_err(refused)?;
    let warm_up = settings.duration / 4;
    network.run(warm_up)?;
    let before = network.completed();
    network.run(settings.duration)?;
    network.compare_memory()?;
    let messages: Vec<u64> = network.completed().iter().zip(&before).map(|(after, before)| after - before).collect();
    let time = settings.duration - warm_up;
    let sum = messages.iter().sum::<u64>();
    let port = network.bottleneck();
    let ended = match network.gave_up() {
        0 => None,
        count => Some(format!("{count} of {senders} senders gave up: their retries were used up")),
    };
    Ok(Measured {
        goodput_bps: goodput(sum * u64::from(settings.message), time),
        time,
        ended,
        counts: Counts {
            messages: sum,
            packets: network.counter("frames_sent"),
            retransmitted: network.counter("retransmitted"),
            hits: 0,
            timeouts: Some(network.counter("ack_timeouts")),
            naks: Some(network.counter("sequence_naks_received")),
            cnps: Some(network.counter("cnp_sent")),
        },
        incast: Some(Incast {
            fairness: fairness(&messages),
            drops: port.drops,
            marks: port.marks,
            pauses: network.pauses(),
            longest_queue: port.max_queue as u64,
        }),
    })
}

/// Jain's index: the square of the sum over n times the sum of the squares. 1 where nobody has anything.
fn fairness(shares: &[u64]) -> f64 {
    let sum = shares.iter().map(|share| *share as f64).sum::<f64>();
    let squares = shares.iter().map(|share| (*share as f64).powi(2)).sum::<f64>();
    if squares == 0.0 { 1.0 } else { sum.powi(2) / (shares.len() as f64 * squares) }
}

fn refused(error: VerbError) -> Wrong {
    Wrong { end: None, rule: None, sentence: format!("a verb was refused: {error}") }
}

/// The sender is A, the receiver B, whichever sender it is.
fn end(port: usize) -> End {
    if port == network::RECEIVER { End::B } else { End::A }
}
