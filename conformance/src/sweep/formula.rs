//! Goodput of go-back-N over a link that loses, by a formula.
//!
//! A lost packet is noticed when the next one arrives behind the gap, and its NAK is back a round trip later. What was sent
//! until then is dropped and sent again: `w` packets, those that fit into a round trip, or the window where that is less.
//! With packets lost at a share of `p`, a packet is sent `1 + w p / (1 - p)` times on average.
//!
//! The receiver sends one NAK for a gap. Where the NAK is lost, or the packet once more, nobody reports it: the sender waits
//! for its ACK timeout. That comes with a chance of about `2 p` for each loss, and costs `T / t` packets, where `T` is the
//! timeout and `t` the time of a packet. That is little where a timeout costs some round trips, and everything where it
//! costs thousands.

use std::time::Duration;

use rocespec_model::SendOperation;
use rocespec_reports::sweep::Predicted;

use super::settings::Settings;

/// Bytes of a full packet beside its payload: Ethernet, IPv4, UDP, BTH, ICRC.
const HEADERS: usize = 14 + 20 + 8 + 12 + 4;

/// How long a full packet occupies the cable.
pub(super) fn time_of_packet(settings: &Settings) -> Duration {
    settings.speed.time_of_frame(settings.mtu.bytes() + HEADERS)
}

/// What share of what it has without loss is left of the goodput where a share `loss` of the frames is lost. `None` for READ,
/// whose packets are resent in another way.
pub(super) fn go_back_n(settings: &Settings, loss: f64) -> Option<Predicted> {
    if settings.operation == SendOperation::RdmaRead {
        return None;
    }
    let packet = time_of_packet(settings).as_secs_f64();
    let in_flight = (1.0 + settings.round_trip.as_secs_f64() / packet).min(f64::from(settings.window));
    let timeout = settings.timeout().map_or(0.0, |timeout| timeout.as_secs_f64() / packet);
    let share = |cost: f64| (1.0 - loss) / (1.0 - loss + loss * cost);
    Some(Predicted { go_back_n: share(in_flight), with_timeouts: share(in_flight + 2.0 * loss * timeout) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loss_costs_a_round_trip_and_some_a_timeout() {
        let settings = Settings::default();
        let at = |loss| go_back_n(&settings, loss).unwrap();
        assert_eq!(at(0.0), Predicted { go_back_n: 1.0, with_timeouts: 1.0 });
        // 1106 bytes at 100 Gb/s are 89 ns, and 10 us are 113 of them; the timeout is 134 ms.
        let expected = 0.99 / (0.99 + 0.01 * (1.0 + 10_000.0 / 89.0));
        assert!((at(0.01).go_back_n - expected).abs() < 1e-9);
        assert!(at(1e-5).with_timeouts > 0.99 && at(1e-2).with_timeouts < 0.01);
        let never = Settings { ack_timeout: 0, ..Settings::default() };
        let at = go_back_n(&never, 0.01).unwrap();
        assert_eq!(at.go_back_n, at.with_timeouts);
        let read = Settings { operation: SendOperation::RdmaRead, ..Settings::default() };
        assert_eq!(go_back_n(&read, 0.01), None);
    }
}
