//! An endpoint that sends without end to a peer that never answers, and what it sends when.

use std::net::Ipv6Addr;
use std::time::Duration;

use rocespec_codec::{
    Bth, Control, Ecn, Ethernet, Extensions, Frame, Ipv4, MacControl, Mtu, Net, Opcode, PKey, Pfc, Psn, Qpn, Reth,
    RnrTimer, Roce, Tag, Udp, decode, encode, encoded_len, field, icrc,
};
use rocespec_model::{
    Access, Capacity, Config, Endpoint, GidEntry, GidKind, Input, MemoryRegion, Output, Policy, QpAttributes, QpHandle,
    QpKind, QpState, SendOperation, SendRequest, Time,
};

use super::{DUT_MAC, QKEY, TESTER_MAC};

/// The peer's queue pair number for the first of the endpoint's; the others follow.
pub const PEER: u32 = 0x100;
/// The number of the endpoint's first queue pair.
pub const FIRST: u32 = 0x11;

const LOCAL: Ipv6Addr = Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0x0a00, 1);
const REMOTE: Ipv6Addr = Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0x0a00, 2);

/// A frame that left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    pub time: Time,
    pub frame: Vec<u8>,
}

impl Sent {
    pub fn look<T>(&self, at: impl FnOnce(&Roce<'_>) -> T) -> T {
        super::look(&self.frame, at)
    }

    /// Which of the endpoint's queue pairs sent it, from 0.
    pub fn qp(&self) -> usize {
        (self.look(|packet| packet.bth.dest_qp.get()) - PEER) as usize
    }
}

pub struct Flow {
    pub port: Endpoint,
    pub qps: Vec<QpHandle>,
    pub region: MemoryRegion,
    pub now: Time,
}

impl Flow {
    /// Each queue pair has the DSCP given for it and begins to WRITE without end, as fast as it may.
    pub fn new(config: Config, dscps: &[u8]) -> Flow {
        let mut flow = Flow::idle(config, dscps);
        flow.write_without_end();
        flow
    }

    pub fn idle(config: Config, dscps: &[u8]) -> Flow {
        let mut port = Endpoint::new(Config {
            mac: DUT_MAC,
            gids: vec![GidEntry { gid: LOCAL, kind: GidKind::RoceV2 }],
            first_qpn: Qpn::new(FIRST),
            policy: Policy { window: 1 << 20, ..Policy::default() },
            ..config
        });
        port.add_neighbour(REMOTE, TESTER_MAC);
        let all = Access::REMOTE_WRITE | Access::REMOTE_READ;
        let region = port.register_memory(16 << 20, all).unwrap();
        let mut flow = Flow { port, qps: Vec::new(), region, now: Time::ZERO };
        for (place, dscp) in (0..).zip(dscps) {
            flow.connect(PEER + place, *dscp);
        }
        flow
    }

    pub fn write_without_end(&mut self) {
        for qp in self.qps.clone() {
            for wr_id in 0..4 {
                let mut request = SendRequest::new(wr_id, SendOperation::RdmaWrite);
                (request.mr, request.length) = (self.region.handle, 16 << 20);
                self.port.post_send(qp, &request).unwrap();
            }
        }
    }

    pub fn connect(&mut self, peer: u32, dscp: u8) {
        let none = QpAttributes::default();
        self.add(
            QpKind::Rc,
            [
                QpAttributes {
                    state: Some(QpState::Init),
                    pkey_index: Some(0),
                    access: Some(Access::REMOTE_WRITE | Access::REMOTE_READ),
                    ..none.clone()
                },
                QpAttributes {
                    state: Some(QpState::Rtr),
                    path_mtu: Some(Mtu::B1024),
                    dest_qpn: Some(Qpn::new(peer)),
                    rq_psn: Some(Psn::new(0)),
                    max_dest_rd_atomic: Some(4),
                    min_rnr_timer: Some(RnrTimer::new(14)),
                    remote_gid: Some(REMOTE),
                    traffic_class: Some(dscp << 2),
                    ..none.clone()
                },
                QpAttributes {
                    state: Some(QpState::Rts),
                    sq_psn: Some(Psn::new(0)),
                    timeout: Some(0),
                    retry_count: Some(7),
                    rnr_retry: Some(7),
                    max_rd_atomic: Some(4),
                    ..none
                },
            ],
        );
    }

    /// An unreliable connection, and a datagram queue pair with the first GID.
    pub fn connect_unreliable(&mut self) {
        let state = |state| QpAttributes { state: Some(state), ..QpAttributes::default() };
        self.add(
            QpKind::Uc,
            [
                QpAttributes { pkey_index: Some(0), access: Some(Access::REMOTE_WRITE), ..state(QpState::Init) },
                QpAttributes {
                    path_mtu: Some(Mtu::B1024),
                    dest_qpn: Some(Qpn::new(PEER)),
                    rq_psn: Some(Psn::new(0)),
                    remote_gid: Some(REMOTE),
                    traffic_class: Some(10 << 2),
                    ..state(QpState::Rtr)
                },
                QpAttributes { sq_psn: Some(Psn::new(0)), ..state(QpState::Rts) },
            ],
        );
        self.add(
            QpKind::Ud,
            [
                QpAttributes { pkey_index: Some(0), qkey: Some(QKEY), ..state(QpState::Init) },
                state(QpState::Rtr),
                QpAttributes { sq_psn: Some(Psn::new(0)), ..state(QpState::Rts) },
            ],
        );
    }

    fn add(&mut self, kind: QpKind, moves: [QpAttributes; 3]) {
        let (qp, _) = self.port.create_qp(kind, Capacity::default()).unwrap();
        for attributes in moves {
            self.port.modify_qp(qp, &attributes).unwrap();
        }
        self.qps.push(qp);
    }

    /// Lets time pass and gives what left until then, the end excluded.
    pub fn run(&mut self, micros: u64) -> Vec<Sent> {
        let end = self.now + Duration::from_micros(micros);
        let mut sent = Vec::new();
        loop {
            while let Some(output) = self.port.poll_output(self.now) {
                if let Output::Frame(frame) = output {
                    sent.push(Sent { time: self.now, frame });
                }
            }
            match self.port.next_timeout().filter(|next| *next < end) {
                // Something that is due leads forward in time, or the endpoint turns on the spot.
                Some(next) => {
                    assert!(next > self.now, "due at {next}, and it is {}", self.now);
                    self.now = next;
                    self.port.handle(next, Input::Timeout);
                }
                None => {
                    self.now = end;
                    self.port.handle(end, Input::Timeout);
                    return sent;
                }
            }
        }
    }

    /// Lets time pass; how many frames left.
    pub fn count(&mut self, micros: u64) -> usize {
        self.run(micros).len()
    }

    /// Lets time pass; how many frames each queue pair sent.
    pub fn shares(&mut self, micros: u64) -> Vec<usize> {
        let mut shares = vec![0; self.qps.len()];
        self.run(micros).iter().for_each(|sent| shares[sent.qp()] += 1);
        shares
    }

    pub fn receive(&mut self, frame: &[u8]) {
        self.port.handle(self.now, Input::Frame(frame));
    }

    pub fn cnp(&mut self, qp: usize) {
        self.receive(&cnp(qp, |_| {}, |_| {}));
    }

    pub fn counter(&self, name: &str) -> u64 {
        self.port.counters().find(|(counter, _)| *counter == name).expect("a counter").1
    }
}

/// A packet of the peer to one of the endpoint's queue pairs. `change` comes before the ICRC, `spoil` behind it.
pub fn packet(
    qp: usize,
    opcode: Opcode,
    payload: &[u8],
    change: impl FnOnce(&mut Roce<'_>),
    spoil: impl FnOnce(&mut Roce<'_>),
) -> Vec<u8> {
    let mut packet = Roce {
        eth: Ethernet { dst: DUT_MAC, src: TESTER_MAC, tags: Default::default(), ethertype: 0 },
        net: Net::V4(Ipv4 {
            version: 4,
            ihl: 5,
            tos: 0,
            total_len: 0,
            id: 1,
            flags_offset: Ipv4::DF,
            ttl: 64,
            protocol: 0,
            checksum: 0,
            src: [10, 0, 0, 2].into(),
            dst: [10, 0, 0, 1].into(),
            options: &[],
        }),
        udp: Some(Udp { sport: 0xc000, dport: 4791, len: 0, checksum: 0 }),
        bth: Bth { dest_qp: Qpn::new(FIRST + qp as u32), ..Bth::new(opcode) },
        ext: Extensions::default(),
        payload,
        pad: &[],
        icrc: 0,
        trailer: &[],
    };
    field::complete(&mut packet, |_| false);
    change(&mut packet);
    if let Net::V4(ip) = &mut packet.net {
        ip.checksum = ip.right_checksum();
    }
    packet.icrc = icrc::compute(&packet);
    spoil(&mut packet);
    let mut bytes = vec![0; encoded_len(&packet)];
    encode(&packet, &mut bytes).unwrap();
    bytes
}

pub fn cnp(qp: usize, change: impl FnOnce(&mut Roce<'_>), spoil: impl FnOnce(&mut Roce<'_>)) -> Vec<u8> {
    let becn = |packet: &mut Roce<'_>| {
        packet.bth.becn = true;
        change(packet);
    };
    packet(qp, Opcode::CNP, &[0; 16], becn, spoil)
}

/// An RC WRITE of 8 bytes that asks for an ACK.
pub fn write(flow: &Flow, psn: u32, change: impl FnOnce(&mut Roce<'_>), spoil: impl FnOnce(&mut Roce<'_>)) -> Vec<u8> {
    let reth = Reth { va: flow.region.va, rkey: flow.region.rkey, len: 8 };
    let fill = |packet: &mut Roce<'_>| {
        (packet.bth.psn, packet.bth.ack_req, packet.ext.reth) = (Psn::new(psn), true, reth);
        change(packet);
    };
    packet(0, Opcode::RC_RDMA_WRITE_ONLY, &[7; 8], fill, spoil)
}

/// A READ of so many bytes.
pub fn read(flow: &Flow, qp: usize, psn: u32, len: u32) -> Vec<u8> {
    let reth = Reth { va: flow.region.va, rkey: flow.region.rkey, len };
    let fill = |packet: &mut Roce<'_>| (packet.bth.psn, packet.ext.reth) = (Psn::new(psn), reth);
    packet(qp, Opcode::RC_RDMA_READ_REQUEST, &[], fill, |_| {})
}

pub fn mark(packet: &mut Roce<'_>) {
    let Net::V4(ip) = &mut packet.net else { panic!("v4") };
    ip.tos |= Ecn::Ce as u8;
}

pub fn limited(packet: &mut Roce<'_>) {
    packet.bth.pkey = PKey::new(0x7fff);
}

pub fn bad_icrc(packet: &mut Roce<'_>) {
    packet.icrc ^= 1;
}

pub fn nothing(_: &mut Roce<'_>) {}

/// A MAC control frame of the peer.
pub fn control(control: Control<'_>, change: impl FnOnce(&mut MacControl<'_>)) -> Vec<u8> {
    let mut frame = MacControl::new(TESTER_MAC, control);
    change(&mut frame);
    let mut bytes = vec![0; 128];
    Frame::MacControl(frame).encode(&mut bytes).unwrap().to_vec()
}

pub fn pfc(priorities: u8, quanta: u16) -> Vec<u8> {
    control(Control::Pfc(Pfc::new(priorities, quanta)), |_| {})
}

pub fn tag(frame: &mut MacControl<'_>) {
    frame.eth.tags.push(Tag { tpid: 0x8100, tci: 0 });
}

/// One line for each frame: when, from which queue pair, which opcode, which PSN.
pub fn line(sent: &Sent) -> String {
    match decode(&sent.frame) {
        Ok(Frame::Roce(packet)) => {
            let Bth { opcode, psn, pkey, becn, dest_qp, .. } = packet.bth;
            let body = if opcode.transport() == rocespec_codec::Transport::Cnp { packet.payload } else { &[] };
            let becn = u8::from(becn);
            format!("{} {opcode:?} {dest_qp} {psn} {pkey} {becn} {:?} {body:?}", sent.time, packet.net.traffic_class())
        }
        other => format!("{} {other:?}", sent.time),
    }
}
