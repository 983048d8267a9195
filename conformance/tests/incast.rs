//! Several senders to one receiver through a switch: endpoints of the model with flow control, with congestion control,
//! and with neither.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::time::Duration;

use rocespec::link::{EcnMarking, PfcThresholds, PortCounters, Rate, Switch, SwitchConfig};
use rocespec_codec::{Frame, MacAddr, Mtu, Psn, Qpn, RnrTimer, Transport, decode};
use rocespec_model::{
    Access, Capacity, ClassBy, Config, CongestionConfig, Endpoint, GidEntry, GidKind, Input, LinkSpeed, MemoryRegion,
    NotificationConfig, Output, PauseConfig, PauseMode, Policy, QpAttributes, QpHandle, QpKind, QpState,
    ReactionConfig, SendOperation, SendRequest, Status, Time,
};

const SPEED: LinkSpeed = LinkSpeed::G10;
const SENDERS: usize = 4;
/// The receiver's port of the switch; those of the senders follow.
const RECEIVER: usize = 0;
const QUEUE: usize = 256 << 10;
const MESSAGE: u32 = 1 << 20;
/// Class 3.
const TRAFFIC_CLASS: u8 = 26 << 2;

fn mac(port: usize) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, port as u8])
}

fn gid(port: usize) -> Ipv6Addr {
    std::net::Ipv4Addr::new(10, 0, 0, port as u8 + 1).to_ipv6_mapped()
}

/// What a run is made of.
#[derive(Debug, Clone, Copy, Default)]
struct Setup {
    pfc: bool,
    dcqcn: Option<ReactionConfig>,
}

/// The receiver and the senders around a switch.
struct Network {
    switch: Switch,
    ends: Vec<Endpoint>,
    qps: Vec<QpHandle>,
    sources: Vec<MemoryRegion>,
    target: MemoryRegion,
    now: Time,
    /// Bytes of payload that each sender got through to the receiver's port.
    arrived: BTreeMap<Qpn, usize>,
}

impl Network {
    fn new(setup: Setup) -> Network {
        let ecn = EcnMarking { min: 5_000, max: 100_000, most: Rate::percent(10) };
        let pfc = PfcThresholds { xoff: 40_000, xon: 20_000, classes: 0xff, quanta: u16::MAX };
        let mut switch = Switch::new(SwitchConfig {
            speed: SPEED.bits_per_second(),
            queue: QUEUE,
            ecn: setup.dcqcn.map(|_| ecn),
            pfc: setup.pfc.then_some(pfc),
            ..SwitchConfig::default()
        });
        let mode = if setup.pfc { PauseMode::Pfc { classes: 0xff } } else { PauseMode::Off };
        let congestion = CongestionConfig {
            ecn_capable: setup.dcqcn.is_some(),
            notification: setup.dcqcn.map(|_| NotificationConfig::default()),
            reaction: setup.dcqcn,
        };
        let mut ends: Vec<Endpoint> = (0..=SENDERS)
            .map(|port| {
                assert_eq!(switch.plug(mac(port)), port);
                let mut end = Endpoint::new(Config {
                    mac: mac(port),
                    gids: vec![GidEntry { gid: gid(port), kind: GidKind::RoceV2 }],
                    policy: Policy { window: 4096, ..Policy::default() },
                    link_speed: Some(SPEED),
                    pause: PauseConfig { mode, class_by: ClassBy::Dscp },
                    congestion,
                    ..Config::default()
                });
                (0..=SENDERS).for_each(|other| end.add_neighbour(gid(other), mac(other)));
                end
            })
            .collect();
        let target = ends[RECEIVER].register_memory(16 << 20, Access::REMOTE_WRITE).unwrap();
        let (mut qps, mut sources) = (Vec::new(), Vec::new());
        for port in 1..=SENDERS {
            let (receiver, receiver_qpn) = ends[RECEIVER].create_qp(QpKind::Rc, Capacity::default()).unwrap();
            let (sender, sender_qpn) = ends[port].create_qp(QpKind::Rc, Capacity::default()).unwrap();
            connect(&mut ends[RECEIVER], receiver, sender_qpn, gid(port));
            connect(&mut ends[port], sender, receiver_qpn, gid(RECEIVER));
            sources.push(ends[port].register_memory(MESSAGE.into(), Access::LOCAL_WRITE).unwrap());
            qps.push(sender);
        }
        Network { switch, ends, qps, sources, target, now: Time::ZERO, arrived: BTreeMap::new() }
    }

    /// Each sender WRITEs so many messages to a place of its own.
    fn write(&mut self, messages: u64) {
        for (sender, (qp, source)) in self.qps.iter().zip(&self.sources).enumerate() {
            let pattern: Vec<u8> = (0..MESSAGE).map(|at| (at.wrapping_mul(31) >> 3) as u8 ^ sender as u8).collect();
            self.ends[sender + 1].write_memory(source.handle, 0, &pattern).unwrap();
            for wr_id in 0..messages {
                let mut request = SendRequest::new(wr_id, SendOperation::RdmaWrite);
                (request.mr, request.length) = (source.handle, MESSAGE);
                (request.rkey, request.remote_va) = (self.target.rkey, self.target.va + place(sender));
                self.ends[sender + 1].post_send(*qp, &request).unwrap();
            }
        }
    }

    fn run(&mut self, length: Duration) {
        let end = self.now + length;
        loop {
            for port in 0..self.ends.len() {
                while let Some(output) = self.ends[port].poll_output(self.now) {
                    if let Output::Frame(frame) = output {
                        // The endpoint gives a frame when it begins, the switch wants it when it is through.
                        let through = self.now + SPEED.time_of_frame(frame.len());
                        self.switch.handle(through, port, frame);
                    }
                }
            }
            while let Some((port, frame)) = self.switch.poll(self.now) {
                if port == RECEIVER
                    && let Ok(Frame::Roce(packet)) = decode(&frame)
                    && packet.bth.opcode.transport() == Transport::Rc
                {
                    *self.arrived.entry(packet.bth.dest_qp).or_default() += packet.payload.len();
                }
                self.ends[port].handle(self.now, Input::Frame(&frame));
            }
            let ends = self.ends.iter().filter_map(Endpoint::next_timeout);
            let Some(next) = ends.chain(self.switch.next_timeout()).min().filter(|next| *next < end) else { break };
            if next > self.now {
                self.now = next;
                self.ends.iter_mut().for_each(|end| end.handle(next, Input::Timeout));
            }
        }
        self.now = end;
    }

    /// How many requests of each sender are done.
    fn done(&mut self) -> Vec<usize> {
        let mut done = Vec::new();
        for (sender, qp) in self.qps.iter().enumerate() {
            let completions = self.ends[sender + 1].poll(*qp, 1024);
            assert!(completions.iter().all(|completion| completion.status == Status::Success), "{completions:?}");
            done.push(completions.len());
        }
        done
    }

    /// What the queue to the receiver counted.
    fn bottleneck(&self) -> PortCounters {
        self.switch.counters(RECEIVER)
    }

    /// How often the switch asked senders to pause.
    fn pauses(&self) -> u64 {
        (1..=SENDERS).map(|port| self.switch.counters(port).pauses).sum()
    }
}

fn place(sender: usize) -> u64 {
    u64::from(MESSAGE) * sender as u64
}

fn connect(end: &mut Endpoint, qp: QpHandle, peer: Qpn, remote_gid: Ipv6Addr) {
    let none = QpAttributes::default();
    let moves = [
        QpAttributes {
            state: Some(QpState::Init),
            pkey_index: Some(0),
            access: Some(Access::REMOTE_WRITE),
            ..none.clone()
        },
        QpAttributes {
            state: Some(QpState::Rtr),
            path_mtu: Some(Mtu::B1024),
            dest_qpn: Some(peer),
            rq_psn: Some(Psn::new(0)),
            max_dest_rd_atomic: Some(4),
            min_rnr_timer: Some(RnrTimer::new(14)),
            remote_gid: Some(remote_gid),
            traffic_class: Some(TRAFFIC_CLASS),
            ..none.clone()
        },
        QpAttributes {
            state: Some(QpState::Rts),
            sq_psn: Some(Psn::new(0)),
            timeout: Some(14),
            retry_count: Some(7),
            rnr_retry: Some(7),
            max_rd_atomic: Some(4),
            ..none
        },
    ];
    for attributes in moves {
        end.modify_qp(qp, &attributes).unwrap();
    }
}

#[test]
fn without_any_control_the_queue_overflows_and_go_back_n_repairs_it() {
    let mut network = Network::new(Setup::default());
    network.write(1);
    network.run(Duration::from_secs(2));
    assert_eq!(network.done(), [1; SENDERS]);
    let bottleneck = network.bottleneck();
    assert!(bottleneck.drops > 0 && bottleneck.max_queue > QUEUE - 2000, "{bottleneck:?}");
    let target = network.target.handle;
    for (sender, source) in network.sources.iter().enumerate() {
        let sent = network.ends[sender + 1].read_memory(source.handle, 0, MESSAGE.into()).unwrap();
        assert_eq!(network.ends[RECEIVER].read_memory(target, place(sender), MESSAGE.into()).unwrap(), sent);
    }
}

#[test]
fn with_priority_flow_control_nothing_is_lost_and_the_link_stays_busy() {
    let mut network = Network::new(Setup { pfc: true, ..Setup::default() });
    network.write(2);
    network.run(Duration::from_millis(8));
    assert_eq!(network.done(), [2; SENDERS], "8 MiB take 7.2 ms with their headers");
    assert_eq!(network.bottleneck().drops, 0);
    assert!(network.pauses() > 10, "{}", network.pauses());
    let resent = network.ends.iter().flat_map(Endpoint::counters).filter(|(name, _)| *name == "retransmitted");
    assert_eq!(resent.map(|(_, count)| count).sum::<u64>(), 0);
}

#[test]
fn with_congestion_control_the_queue_stays_short_and_the_senders_share() {
    let paper = ReactionConfig { rate_timer: Duration::from_micros(300), ..ReactionConfig::PAPER };
    let mut network = Network::new(Setup { dcqcn: Some(paper), ..Setup::default() });
    network.write(64);
    // The first moment is that of full speed; what is looked at comes behind it.
    network.run(Duration::from_millis(20));
    let begun = network.bottleneck();
    network.arrived.clear();
    let length = Duration::from_millis(40);
    network.run(length);
    let (end, shares) = (network.bottleneck(), &network.arrived);
    assert!(end.marks > begun.marks, "{end:?}");
    assert_eq!(end.drops, begun.drops, "nothing is lost once the rates are found");
    let whole = (SPEED.bits_per_second() as usize / 8 / 1000) * length.as_millis() as usize;
    let sum: usize = shares.values().sum();
    assert!(sum > whole / 2, "{sum} of {whole}");
    let (least, most) = (shares.values().min().unwrap(), shares.values().max().unwrap());
    assert!(shares.len() == SENDERS && most < &(least * 2), "{shares:?}");
}
