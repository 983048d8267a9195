//! The receiver and the senders around a switch.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use rocespec_codec::{Frame, MacAddr, PKey, Psn, Qpn, RnrTimer, Roce, Transport, decode, mad};
use rocespec_model::{
    Access, Capacity, ClassBy, Config, CongestionConfig, Endpoint, GidEntry, GidKind, Input, MemoryRegion,
    NotificationConfig, Output, PauseConfig, PauseMode, Policy, QpAttributes, QpHandle, QpKind, QpState, SendRequest,
    Status, Time, VerbError,
};
use rocespec_reports::outcome::Level;

use super::{Settings, Wrong, end, refused};
use crate::link::{PortCounters, Switch, SwitchConfig};
use crate::oracle::{Ends, Oracle, OracleConfig, Path, StreamConfig};
use crate::sweep::settings::RESPONSE;

/// The receiver's port of the switch; those of the senders follow.
pub(super) const RECEIVER: usize = 0;
/// DSCP 26, class 3, as most configurations have it for RoCE.
const TRAFFIC_CLASS: u8 = 26 << 2;
const RD_ATOMIC: u8 = 4;
/// Completions that are taken at once.
const BATCH: usize = 64;

fn mac(port: usize) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, port as u8])
}

fn gid(port: usize) -> Ipv6Addr {
    Ipv4Addr::new(10, 0, 0, port as u8 + 1).to_ipv6_mapped()
}

/// The receiver and the senders around a switch.
pub(super) struct Network {
    settings: Settings,
    switch: Switch,
    ends: Vec<Endpoint>,
    flows: Vec<Flow>,
    target: MemoryRegion,
    now: Time,
}

/// What one sender has to do with the receiver.
struct Flow {
    sender: QpHandle,
    source: MemoryRegion,
    /// Those of the sender and of the receiver.
    oracles: [Oracle; 2],
    completed: u64,
    /// It ran out of retries and sends no more.
    gave_up: bool,
}

impl Network {
    /// Connects so many senders with the receiver. Those of the settings that need RDMA READ or SEND are not for it: what
    /// is sent is RDMA WRITE.
    pub(super) fn new(settings: &Settings, senders: usize, seed: u64) -> Result<Network, VerbError> {
        let mut switch = Switch::new(SwitchConfig {
            speed: settings.speed.bits_per_second(),
            // There are four cables on the way there and back.
            propagation: settings.round_trip.saturating_sub(RESPONSE) / 4,
            queue: settings.queue,
            ecn: Some(settings.ecn),
            pfc: settings.pfc,
            class_by: ClassBy::Dscp,
            seed,
            ..SwitchConfig::default()
        });
        let mut ends: Vec<Endpoint> = (0..=senders).map(|port| endpoint(settings, port, senders)).collect();
        for port in 0..ends.len() {
            switch.plug(mac(port));
        }
        let room = u64::from(settings.message) * senders as u64;
        let target = ends[RECEIVER].register_memory(room, Access::REMOTE_WRITE)?;
        let mut flows = Vec::new();
        for port in 1..=senders {
            let capacity = Capacity { max_send_wr: settings.outstanding, max_recv_wr: 1 };
            let (receiver, receiver_qpn) = ends[RECEIVER].create_qp(QpKind::Rc, capacity)?;
            let (sender, sender_qpn) = ends[port].create_qp(QpKind::Rc, capacity)?;
            connect(&mut ends[RECEIVER], receiver, sender_qpn, gid(port), settings)?;
            connect(&mut ends[port], sender, receiver_qpn, gid(RECEIVER), settings)?;
            let source = ends[port].register_memory(settings.message.into(), Access::LOCAL_WRITE)?;
            let pattern: Vec<u8> =
                (0..settings.message).map(|at| (at.wrapping_mul(31) >> 3) as u8 ^ port as u8).collect();
            ends[port].write_memory(source.handle, 0, &pattern)?;
            let oracles = [
                oracle(settings, (sender_qpn, gid(port)), (receiver_qpn, gid(RECEIVER))),
                oracle(settings, (receiver_qpn, gid(RECEIVER)), (sender_qpn, gid(port))),
            ];
            flows.push(Flow { sender, source, oracles, completed: 0, gave_up: false });
        }
        let mut network = Network { settings: settings.clone(), switch, ends, flows, target, now: Time::ZERO };
        (1..=senders).try_for_each(|port| {
            (0..network.settings.outstanding).try_for_each(|number| network.post(port, number.into()))
        })?;
        Ok(network)
    }

    /// A sender writes a message to its place.
    fn post(&mut self, port: usize, number: u64) -> Result<(), VerbError> {
        let flow = &self.flows[port - 1];
        let mut request = SendRequest::new(number, rocespec_model::SendOperation::RdmaWrite);
        (request.mr, request.length) = (flow.source.handle, self.settings.message);
        (request.rkey, request.remote_va) = (self.target.rkey, self.target.va + self.place(port));
        self.ends[port].post_send(flow.sender, &request)
    }

    fn place(&self, port: usize) -> u64 {
        u64::from(self.settings.message) * (port as u64 - 1)
    }

    /// Goes on until so much time has passed since the beginning.
    pub(super) fn run(&mut self, until: Duration) -> Result<(), Wrong> {
        let end = Time::ZERO + until;
        loop {
            for port in 0..self.ends.len() {
                self.send(port)?;
            }
            while let Some((port, frame)) = self.switch.poll(self.now) {
                self.receive(port, &frame)?;
            }
            let timeouts = self.ends.iter().filter_map(Endpoint::next_timeout);
            let next = timeouts.chain(self.switch.next_timeout()).min();
            let Some(next) = next.filter(|next| *next < end) else { break };
            if next > self.now {
                self.now = next;
                self.ends.iter_mut().for_each(|end| end.handle(next, Input::Timeout));
            }
        }
        self.now = end;
        Ok(())
    }

    /// Gives the switch what an end has to send.
    fn send(&mut self, port: usize) -> Result<(), Wrong> {
        while let Some(output) = self.ends[port].poll_output(self.now) {
            let Output::Frame(frame) = output else { continue };
            if let Ok(Frame::Roce(packet)) = decode(&frame) {
                self.judge(port, &packet)?;
            }
            // The endpoint gives a frame when it begins, the switch wants it when it is through.
            let through = self.now + self.settings.speed.time_of_frame(frame.len());
            self.switch.handle(through, port, frame);
        }
        Ok(())
    }

    fn judge(&mut self, port: usize, packet: &Roce<'_>) -> Result<(), Wrong> {
        let now = self.now;
        let Some(oracle) = self.oracle(port, packet.eth.dst) else { return Ok(()) };
        let broken = oracle.sent(now, packet).into_iter().find(|breach| breach.level == Level::Must);
        broken.map_or(Ok(()), |breach| {
            Err(Wrong { end: Some(end(port)), rule: Some(breach.rule.to_owned()), sentence: breach.to_string() })
        })
    }

    /// The oracle of the end at this port, of its connection with this address.
    fn oracle(&mut self, port: usize, peer: MacAddr) -> Option<&mut Oracle> {
        let sender = if port == RECEIVER { usize::from(peer.0[5]) } else { port };
        let flow = self.flows.get_mut(sender.checked_sub(1)?)?;
        Some(&mut flow.oracles[usize::from(port == RECEIVER)])
    }

    /// A frame has come to an end.
    fn receive(&mut self, port: usize, frame: &[u8]) -> Result<(), Wrong> {
        let now = self.now;
        if let Ok(Frame::Roce(packet)) = decode(frame)
            && let Some(oracle) = self.oracle(port, packet.eth.src)
        {
            oracle.received_right(now, &packet);
        }
        self.ends[port].handle(now, Input::Frame(frame));
        if port == RECEIVER { Ok(()) } else { self.go_on(port) }
    }

    /// Takes what a sender has completed, and has it send as much again.
    fn go_on(&mut self, port: usize) -> Result<(), Wrong> {
        let qp = self.flows[port - 1].sender;
        for completion in self.ends[port].poll(qp, BATCH) {
            match completion.status {
                Status::Success => {
                    self.flows[port - 1].completed += 1;
                    self.post(port, completion.wr_id).map_err(refused)?;
                }
                Status::RetryExceeded | Status::FlushError => self.flows[port - 1].gave_up = true,
                status => {
                    let sentence = format!("a WRITE failed: {}", status.name());
                    return Err(Wrong { end: Some(end(port)), rule: None, sentence });
                }
            }
        }
        Ok(())
    }

    /// Messages that each sender has completed.
    pub(super) fn completed(&self) -> Vec<u64> {
        self.flows.iter().map(|flow| flow.completed).collect()
    }

    /// Senders that ran out of retries.
    pub(super) fn gave_up(&self) -> usize {
        self.flows.iter().filter(|flow| flow.gave_up).count()
    }

    /// What was written is what was sent: every message of a sender has the same bytes.
    pub(super) fn compare_memory(&self) -> Result<(), Wrong> {
        let length = u64::from(self.settings.message);
        for (index, flow) in self.flows.iter().enumerate().filter(|(_, flow)| flow.completed > 0) {
            let sent = self.ends[index + 1].read_memory(flow.source.handle, 0, length).map_err(refused)?;
            let place = self.place(index + 1);
            let there = self.ends[RECEIVER].read_memory(self.target.handle, place, length).map_err(refused)?;
            if sent != there {
                let sentence = format!("the data of sender {} arrived changed", index + 1);
                return Err(Wrong { end: Some(end(RECEIVER)), rule: None, sentence });
            }
        }
        Ok(())
    }

    /// What the switch's port to the receiver counted.
    pub(super) fn bottleneck(&self) -> PortCounters {
        self.switch.counters(RECEIVER)
    }

    /// How often the switch asked senders to pause.
    pub(super) fn pauses(&self) -> u64 {
        (1..self.ends.len()).map(|port| self.switch.counters(port).pauses).sum()
    }

    /// Sum of a counter over all ends.
    pub(super) fn counter(&self, name: &str) -> u64 {
        let counters = self.ends.iter().flat_map(Endpoint::counters);
        counters.filter(|(known, _)| *known == name).map(|(_, count)| count).sum()
    }
}

fn endpoint(settings: &Settings, port: usize, senders: usize) -> Endpoint {
    let is_receiver = port == RECEIVER;
    let mode = if settings.pfc.is_some() { PauseMode::Pfc { classes: 0xff } } else { PauseMode::Off };
    let mut endpoint = Endpoint::new(Config {
        mac: mac(port),
        gids: vec![GidEntry { gid: gid(port), kind: GidKind::RoceV2 }],
        policy: Policy { window: settings.window, ..settings.policy[usize::from(is_receiver)] },
        defects: settings.defects[usize::from(is_receiver)],
        link_speed: Some(settings.speed),
        pause: PauseConfig { mode, class_by: ClassBy::Dscp },
        congestion: CongestionConfig {
            ecn_capable: true,
            notification: settings.dcqcn.filter(|_| is_receiver).map(|_| NotificationConfig::default()),
            reaction: settings.dcqcn.filter(|_| !is_receiver),
        },
        ..Config::default()
    });
    (0..=senders).for_each(|other| endpoint.add_neighbour(gid(other), mac(other)));
    endpoint
}

fn oracle(settings: &Settings, own: (Qpn, Ipv6Addr), peer: (Qpn, Ipv6Addr)) -> Oracle {
    Oracle::new(OracleConfig {
        ends: Ends {
            own_qpn: own.0,
            peer_qpn: peer.0,
            path: Some(Path { own: own.1, peer: peer.1 }),
            station: None,
            pkey: Some(PKey::DEFAULT),
        },
        stream: StreamConfig {
            transport: Transport::Rc,
            mtu: Some(settings.mtu.bytes()),
            sends_from: Some(Psn::new(0)),
            expects_from: Some(Psn::new(0)),
            is_whole: true,
            max_rd_atomic: Some(usize::from(RD_ATOMIC)),
            go_back_n: true,
            ack_timeout: (settings.ack_timeout > 0).then(|| mad::timeout(settings.ack_timeout)),
        },
        skew: Duration::ZERO,
    })
}

/// Takes a queue pair from RESET to RTS.
fn connect(
    end: &mut Endpoint,
    qp: QpHandle,
    peer: Qpn,
    remote_gid: Ipv6Addr,
    settings: &Settings,
) -> Result<(), VerbError> {
    let none = QpAttributes::default;
    let moves = [
        QpAttributes { state: Some(QpState::Init), pkey_index: Some(0), access: Some(Access::REMOTE_WRITE), ..none() },
        QpAttributes {
            state: Some(QpState::Rtr),
            path_mtu: Some(settings.mtu),
            dest_qpn: Some(peer),
            rq_psn: Some(Psn::new(0)),
            max_dest_rd_atomic: Some(RD_ATOMIC),
            min_rnr_timer: Some(RnrTimer::new(14)),
            remote_gid: Some(remote_gid),
            traffic_class: Some(TRAFFIC_CLASS),
            ..none()
        },
        QpAttributes {
            state: Some(QpState::Rts),
            sq_psn: Some(Psn::new(0)),
            timeout: Some(settings.ack_timeout),
            retry_count: Some(7),
            rnr_retry: Some(7),
            max_rd_atomic: Some(RD_ATOMIC),
            ..none()
        },
    ];
    moves.iter().try_for_each(|attributes| end.modify_qp(qp, attributes))
}
