//! What the captured device did against a rule.

use std::time::Duration;

use rocespec_codec::{Psn, Transport};
use rocespec_model::Time;
use rocespec_reports::outcome::Level;

use super::{Exchange, Heard};
use crate::oracle::{Breach, Ends, Oracle, OracleConfig, Path, StreamConfig};

/// Judges the device packet by packet. The same numbers are expected of it as of a device in a scenario: each PSN counts
/// from the first of its own direction.
pub(super) struct Judge {
    oracle: Oracle,
    device: usize,
}

impl Judge {
    /// `starts` are the first PSNs of the requests of both ends.
    pub(super) fn new(exchange: &Exchange, starts: [Psn; 2], mtu: usize) -> Judge {
        let [device, tester] = [exchange.ends[exchange.device], exchange.ends[1 - exchange.device]];
        let oracle = Oracle::new(OracleConfig {
            ends: Ends {
                own_qpn: device.qpn,
                peer_qpn: tester.qpn,
                path: Some(Path { own: device.address, peer: tester.address }),
                station: None,
                pkey: None,
            },
            stream: StreamConfig {
                transport: exchange.transport,
                mtu: Some(mtu),
                sends_from: Some(starts[exchange.device]),
                expects_from: Some(starts[1 - exchange.device]),
                is_whole: false,
                max_rd_atomic: None,
                go_back_n: exchange.transport != Transport::Uc,
                ack_timeout: None,
            },
            skew: Duration::ZERO,
        });
        Judge { oracle, device: exchange.device }
    }

    /// The next packet of the capture: what the device broke with it.
    pub(super) fn note(&mut self, heard: &Heard) -> Vec<Breach> {
        let now = Time::from_nanos(heard.time_ns);
        let packet = heard.packet();
        if heard.from != self.device {
            self.oracle.received(now, &packet);
            return Vec::new();
        }
        self.oracle.sent(now, &packet).into_iter().filter(is_fault).collect()
    }
}

/// What is certain; and an MSN that is too high, which may count what was not captured, but here the model has counted, too.
fn is_fault(breach: &Breach) -> bool {
    breach.level == Level::Must || breach.rule == "rc.responder.msn"
}
