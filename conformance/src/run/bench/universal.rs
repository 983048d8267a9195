//! The oracle at work in a case: it is told of what the tester sends, and judges what the device sends.

use std::time::Duration;

use rocespec_codec::{Frame, PKey, Psn, Transport, decode, mad};
use rocespec_control::QpKind;
use rocespec_model::{ClassBy, PauseConfig, PauseMode, Time};
use rocespec_reports::outcome::Finding;

use super::expect::with_packet;
use super::{Arrival, Bench, Connection};
use crate::dut::Dut;
use crate::link::End;
use crate::oracle::{Breach, Ends, Oracle, OracleConfig, Path, Port, PortConfig, StreamConfig};
use crate::scenario::Setup;

/// Most findings of one rule that a case keeps: a device that is wrong in every packet is wrong once.
const MOST_OF_A_RULE: usize = 8;

/// The classes that the capability `pfc` stands for.
const LOSSLESS: u8 = 1 << 3;

/// What the set-up of a case says of the queue pair. `skew`: how far its clock and ours may be apart.
pub(super) fn oracle(dut: &dyn Dut, setup: &Setup, connection: &Connection, skew: Duration) -> Oracle {
    let is_datagram = setup.transport == QpKind::Ud;
    let (own, peer) = connection.addresses();
    let start = Psn::new(setup.start_psn);
    let has_timeout = matches!(setup.transport, QpKind::Rc | QpKind::XrcInitiator)
        && setup.timeout != 0
        && dut.profile().can("ack-timeout");
    Oracle::new(OracleConfig {
        ends: Ends {
            own_qpn: connection.device_qpn(),
            peer_qpn: connection.tester_qpn,
            path: Some(Path { own, peer }),
            station: Some(connection.station()),
            pkey: Some(PKey::DEFAULT),
        },
        stream: StreamConfig {
            transport: match setup.transport {
                QpKind::Rc => Transport::Rc,
                QpKind::Uc => Transport::Uc,
                QpKind::Ud => Transport::Ud,
                QpKind::XrcInitiator | QpKind::XrcTarget => Transport::Xrc,
            },
            mtu: Some(if is_datagram { dut.device().active_mtu } else { setup.mtu } as usize),
            sends_from: Some(start),
            expects_from: Some(start),
            is_whole: true,
            max_rd_atomic: Some(usize::from(setup.max_rd_atomic)),
            go_back_n: dut.profile().can("go-back-n"),
            ack_timeout: has_timeout.then(|| mad::timeout(setup.timeout)),
        },
        skew,
    })
}

/// The port of a device that obeys what the case needs, where the speed of its link is known.
pub(super) fn port(dut: &dyn Dut, needs: &[String]) -> Option<Port> {
    let is_needed = |capability: &str| needs.iter().any(|need| need == capability);
    let mode = match (is_needed("pfc"), is_needed("pause")) {
        (true, _) => PauseMode::Pfc { classes: LOSSLESS },
        (_, true) => PauseMode::Pause,
        _ => return None,
    };
    let pause = PauseConfig { mode, class_by: ClassBy::Pcp };
    let (speed, skew) = (dut.profile().link_speed()?, dut.profile().precision());
    Some(Port::new(PortConfig { speed, pause, skew }))
}

impl Bench<'_> {
    /// The tester sends a frame to the device.
    pub(super) fn tell_oracle(&mut self, frame: &[u8]) {
        let now = self.dut.now();
        match (decode(frame), &mut self.port) {
            (Ok(Frame::Roce(packet)), _) if packet.bth.dest_qp == self.connection.device_qpn() => {
                self.oracle.received(now, &packet);
            }
            (Ok(Frame::MacControl(control)), port) => {
                self.told_port = now;
                if let Some(port) = port {
                    port.received(now, &control);
                }
            }
            _ => {}
        }
    }

    /// A frame that has arrived, in the notation.
    pub(super) fn text(&self, arrival: &Arrival) -> String {
        with_packet(arrival, |packet| self.show(packet))
    }

    /// A rule for every frame is broken by this one.
    pub(super) fn breach(&mut self, breach: Breach, by: End, time: Time, frame: u32, packet: &str) {
        let device = self.name_of(by);
        let is_same = |finding: &&Finding| finding.rule == breach.rule && finding.device == device;
        let same = self.findings.iter().filter(is_same).count();
        if same >= MOST_OF_A_RULE {
            return;
        }
        self.findings.push(Finding {
            rule: breach.rule.to_owned(),
            level: breach.level,
            device,
            line: None,
            frame: Some(frame),
            packet: Some(packet.to_owned()),
            time_ns: self.recorder.since_start(time),
            expected: breach.expected,
            seen: breach.seen,
            why: breach.why.to_owned(),
        });
    }
}
