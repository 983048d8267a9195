//! One queue pair of the model, connected to a peer that is made of packets.
#![allow(dead_code, reason = "each test program uses its part")]
#![allow(unreachable_pub, reason = "test programs have no outside")]

pub mod flow;
pub mod requester;

use std::net::Ipv6Addr;
use std::time::Duration;

use rocespec_codec::{
    AtomicEth, Bth, Ethernet, Extensions, Feth, Frame, Grh, Ieth, ImmDt, Ipv4, Ipv6, MacAddr, Mtu, Net, Opcode, PKey,
    Psn, QKey, Qpn, RKey, Reth, RnrTimer, Roce, SyndromeClass, Transport, Udp, decode, encode, encoded_len, field,
    icrc,
};
use rocespec_model::{
    Access, AsyncEvent, Capabilities, Capacity, Completion, Config, Defects, Endpoint, GidEntry, GidKind, Input,
    MemoryRegion, Output, PKEY_TABLE, Policy, QpAttributes, QpHandle, QpInit, QpKind, QpState, SrqHandle, SrqInit,
    Time,
};

pub const DUT_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
pub const TESTER_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
pub const TESTER_QPN: Qpn = Qpn::new(0x77);
pub const QKEY: QKey = QKey::new(0x1234_5678);
pub const MTU: usize = 256;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ip {
    V4,
    V6,
    Grh,
}

pub fn gids(ip: Ip) -> (Ipv6Addr, Ipv6Addr) {
    let text = if ip == Ip::V4 { ["::ffff:10.0.0.1", "::ffff:10.0.0.2"] } else { ["fd00::1", "fd00::2"] };
    (text[0].parse().unwrap(), text[1].parse().unwrap())
}

fn entry(ip: Ip) -> GidEntry {
    let kind = if ip == Ip::Grh { GidKind::RoceV1 } else { GidKind::RoceV2 };
    GidEntry { gid: gids(ip).0, kind }
}

pub fn to(state: QpState) -> QpAttributes {
    QpAttributes { state: Some(state), ..QpAttributes::default() }
}

#[derive(Clone, Debug)]
pub struct Options {
    pub kind: QpKind,
    /// Receives go to a shared queue; those of an XRC target always do.
    pub shared: bool,
    pub ip: Ip,
    pub capabilities: Capabilities,
    pub policy: Policy,
    pub defects: Defects,
    pub start_psn: u32,
    pub receives: usize,
    pub pkeys: Vec<PKey>,
    pub port_mtu: Mtu,
    pub receive_len: u32,
    pub region_len: u64,
    pub region_access: Access,
    pub capacity: Capacity,
    /// With a timeout the queue pair goes on to RTS.
    pub attributes: QpAttributes,
}

impl Default for Options {
    fn default() -> Self {
        let all = Access::REMOTE_WRITE | Access::REMOTE_READ | Access::REMOTE_ATOMIC | Access::FLUSH_GLOBAL;
        Options {
            kind: QpKind::Rc,
            shared: false,
            ip: Ip::V4,
            capabilities: Capabilities { flush: true, atomic_write: true },
            policy: Policy::default(),
            defects: Defects::NONE,
            start_psn: 0,
            receives: 4,
            pkeys: PKEY_TABLE.to_vec(),
            port_mtu: Mtu::B4096,
            receive_len: 1024,
            region_len: 4096,
            region_access: all,
            capacity: Capacity::default(),
            attributes: QpAttributes {
                access: Some(all),
                path_mtu: Some(Mtu::B256),
                max_dest_rd_atomic: Some(4),
                min_rnr_timer: Some(RnrTimer::new(14)),
                ..QpAttributes::default()
            },
        }
    }
}

pub struct Lab {
    pub port: Endpoint,
    pub qp: QpHandle,
    pub qpn: Qpn,
    /// The shared receive queue, if it takes receives from one.
    pub srq: Option<SrqHandle>,
    /// What the peer may use.
    pub mr: MemoryRegion,
    /// Where receives go, one buffer behind the other.
    pub inbox: MemoryRegion,
    pub now: Time,
    pub events: Vec<AsyncEvent>,
    pub frames: Vec<Vec<u8>>,
    pub options: Options,
}

pub fn lab() -> Lab {
    Lab::new(Options::default())
}

pub fn lab_with(change: impl FnOnce(&mut Options)) -> Lab {
    let mut options = Options::default();
    change(&mut options);
    Lab::new(options)
}

impl Lab {
    pub fn new(options: Options) -> Lab {
        let others = [Ip::V4, Ip::V6, Ip::Grh].into_iter().filter(|ip| *ip != options.ip);
        // Datagrams may come to every GID, connections have one.
        let ips = [options.ip].into_iter().chain(others).take(if options.kind == QpKind::Ud { 3 } else { 1 });
        let mut port = Endpoint::new(Config {
            mac: DUT_MAC,
            gids: ips.map(entry).collect(),
            first_qpn: Qpn::new(0x11),
            capabilities: options.capabilities,
            pkeys: options.pkeys.clone(),
            port_mtu: options.port_mtu,
            policy: options.policy,
            defects: options.defects,
            ..Config::default()
        });
        let mr = port.register_memory(options.region_len, options.region_access).unwrap();
        let inbox = port.register_memory(1 << 16, Access::LOCAL_WRITE).unwrap();
        let is_target = options.kind == QpKind::XrcTarget;
        let xrc_domain = is_target.then(|| port.create_xrc_domain());
        let shared = options.shared || is_target;
        let srq = shared.then(|| port.create_srq(&SrqInit { xrc_domain, ..SrqInit::default() }).unwrap().0);
        let own = srq.filter(|_| !is_target);
        let init = QpInit { capacity: options.capacity, srq: own, xrc_domain, ..QpInit::new(options.kind) };
        let (qp, qpn) = port.create_qp_with(&init).unwrap();
        let mut lab =
            Lab { port, qp, qpn, srq, mr, inbox, now: Time::ZERO, events: Vec::new(), frames: Vec::new(), options };
        lab.connect();
        for n in 0..lab.options.receives {
            lab.post(n as u64);
        }
        lab
    }

    pub fn connect(&mut self) {
        let mut wanted = self.options.attributes.clone();
        let pkey_index = wanted.pkey_index.or(Some(0));
        if self.options.kind == QpKind::Ud {
            let qkey = Some(QKEY);
            self.modify(QpAttributes { pkey_index, qkey, ..to(QpState::Init) });
            return self.modify(to(QpState::Rtr));
        }
        self.modify(QpAttributes { pkey_index, access: wanted.access, ..to(QpState::Init) });
        if matches!(self.options.kind, QpKind::Uc | QpKind::XrcInitiator) {
            (wanted.max_dest_rd_atomic, wanted.min_rnr_timer) = (None, None);
        }
        let (_, remote) = gids(self.options.ip);
        self.modify(QpAttributes {
            state: Some(QpState::Rtr),
            pkey_index: None,
            access: None,
            dest_qpn: Some(TESTER_QPN),
            rq_psn: Some(Psn::new(self.options.start_psn)),
            remote_gid: Some(remote),
            timeout: None,
            retry_count: None,
            rnr_retry: None,
            max_rd_atomic: None,
            ..wanted.clone()
        });
        if wanted.timeout.is_some() {
            self.modify(QpAttributes {
                state: Some(QpState::Rts),
                sq_psn: Some(Psn::new(self.options.start_psn)),
                timeout: wanted.timeout,
                retry_count: wanted.retry_count,
                rnr_retry: wanted.rnr_retry,
                max_rd_atomic: wanted.max_rd_atomic,
                ..QpAttributes::default()
            });
        }
    }

    /// Lets an unreliable queue pair send, from the start PSN on.
    pub fn go(&mut self) {
        self.modify(QpAttributes { sq_psn: Some(Psn::new(self.options.start_psn)), ..to(QpState::Rts) });
    }

    pub fn modify(&mut self, attributes: QpAttributes) {
        self.port.modify_qp(self.qp, &attributes).unwrap();
    }

    pub fn post(&mut self, wr_id: u64) {
        let length = self.options.receive_len;
        let (mr, offset) = (self.inbox.handle, wr_id * u64::from(length));
        match self.srq {
            Some(srq) => self.port.post_srq_receive(srq, wr_id, mr, offset, length).unwrap(),
            None => self.port.post_receive(self.qp, wr_id, mr, offset, length).unwrap(),
        }
    }

    /// Hands in a frame, waits, and gives what came back, one line each.
    pub fn send(&mut self, request: Req) -> Vec<String> {
        let frame = request.frame(self);
        self.send_frame(&frame)
    }

    pub fn send_all(&mut self, requests: impl IntoIterator<Item = Req>) -> Vec<String> {
        requests.into_iter().flat_map(|request| self.send(request)).collect()
    }

    /// Hands in frames without waiting in between.
    pub fn burst(&mut self, requests: impl IntoIterator<Item = Req>) -> Vec<String> {
        for request in requests {
            let frame = request.frame(self);
            self.port.handle(self.now, Input::Frame(&frame));
        }
        self.collect()
    }

    pub fn send_frame(&mut self, frame: &[u8]) -> Vec<String> {
        self.port.handle(self.now, Input::Frame(frame));
        self.collect()
    }

    pub fn collect(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        self.now = self.now + Duration::from_millis(1);
        while let Some(output) = self.port.poll_output(self.now) {
            match output {
                Output::Event(event) => self.events.push(event),
                Output::Frame(frame) => {
                    lines.push(line(&frame, self.options.start_psn));
                    self.frames.push(frame);
                }
            }
        }
        lines
    }

    pub fn completions(&mut self) -> Vec<Completion> {
        self.port.poll(self.qp, 1024)
    }

    pub fn statuses(&mut self) -> Vec<(u64, &'static str)> {
        self.completions().iter().map(|completion| (completion.wr_id, completion.status.name())).collect()
    }

    pub fn memory(&self, offset: u64, len: u64) -> Vec<u8> {
        self.port.read_memory(self.mr.handle, offset, len).unwrap()
    }

    pub fn set_memory(&mut self, offset: u64, data: &[u8]) {
        self.port.write_memory(self.mr.handle, offset, data).unwrap();
    }

    pub fn received(&self, wr_id: u64, len: u64) -> Vec<u8> {
        self.port.read_memory(self.inbox.handle, wr_id * u64::from(self.options.receive_len), len).unwrap()
    }

    pub fn state(&self) -> QpState {
        self.port.query_qp(self.qp).unwrap().state.unwrap()
    }

    pub fn counter(&self, name: &str) -> u64 {
        self.port.counters().find(|(counter, _)| *counter == name).expect("a counter").1
    }

    /// Asserts that a request is dropped without a trace and that the queue pair still works at `psn`.
    #[track_caller]
    pub fn assert_dropped(&mut self, request: Req, counter: &str) {
        let before = self.counter(counter);
        assert_eq!(self.send(request), [""; 0]);
        assert_eq!(self.counter(counter), before + 1, "{counter}");
        assert!(self.completions().is_empty());
        assert_eq!(self.state(), QpState::Rtr);
    }
}

/// A request as it will be sent; PSN 0 is the first one of the connection.
#[derive(Clone)]
pub struct Req {
    pub bth: Bth,
    pub ext: Extensions,
    pub payload: Vec<u8>,
    reth: Option<(i64, Option<RKey>, Option<u32>)>,
    atomic: Option<(i64, u64, u64)>,
    pub tweak: Option<fn(&mut Roce<'_>)>,
    pub late_tweak: Option<fn(&mut Roce<'_>)>,
}

pub fn req(opcode: Opcode, psn: u32) -> Req {
    Req {
        bth: Bth { psn: Psn::new(psn), ack_req: true, ..Bth::new(opcode) },
        ext: Extensions::default(),
        payload: Vec::new(),
        reth: None,
        atomic: None,
        tweak: None,
        late_tweak: None,
    }
}

/// `len` bytes that tell their place.
pub fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + at / 256) as u8).collect()
}

impl Req {
    pub fn len(self, len: usize) -> Req {
        self.payload(&pattern(len))
    }

    pub fn payload(mut self, payload: &[u8]) -> Req {
        self.payload = payload.to_vec();
        self
    }

    pub fn no_ack(mut self) -> Req {
        self.bth.ack_req = false;
        self
    }

    pub fn bth(mut self, change: impl FnOnce(&mut Bth)) -> Req {
        change(&mut self.bth);
        self
    }

    pub fn immediate(mut self, value: u32) -> Req {
        self.ext.immdt = ImmDt(value);
        self
    }

    pub fn invalidate(mut self, rkey: RKey) -> Req {
        self.ext.ieth = Ieth(rkey);
        self
    }

    /// Offset in the region, and bytes of the message.
    pub fn to(mut self, offset: i64, len: u32) -> Req {
        self.reth = Some((offset, None, Some(len)));
        self
    }

    pub fn keyed(mut self, offset: i64, len: u32, rkey: u32) -> Req {
        self.reth = Some((offset, Some(RKey::new(rkey)), Some(len)));
        self
    }

    pub fn atomic(mut self, offset: i64, swap_add: u64, compare: u64) -> Req {
        self.atomic = Some((offset, swap_add, compare));
        self
    }

    /// Selectivity (0 range, 1 region) and placement (1 global, 2 persistent) of a FLUSH.
    pub fn flush(mut self, selectivity: u32, placement: u32) -> Req {
        self.ext.feth = Feth(selectivity << 4 | placement);
        self
    }

    /// Changes the packet before its lengths and its ICRC are computed.
    pub fn tweak(mut self, tweak: fn(&mut Roce<'_>)) -> Req {
        self.tweak = Some(tweak);
        self
    }

    /// Changes the packet when everything else is done.
    pub fn late_tweak(mut self, tweak: fn(&mut Roce<'_>)) -> Req {
        self.late_tweak = Some(tweak);
        self
    }

    pub fn frame(&self, lab: &Lab) -> Vec<u8> {
        let (dst, src) = gids(lab.options.ip);
        let v6 = Ipv6 {
            version: 6,
            traffic_class: 0,
            flow_label: 0,
            payload_len: 0,
            next_header: 0,
            hop_limit: 64,
            src,
            dst,
        };
        let net = match lab.options.ip {
            Ip::V4 => Net::V4(Ipv4 {
                version: 4,
                ihl: 5,
                tos: 0,
                total_len: 0,
                id: 0x1234,
                flags_offset: Ipv4::DF,
                ttl: 64,
                protocol: 0,
                checksum: 0,
                src: src.to_ipv4_mapped().unwrap(),
                dst: dst.to_ipv4_mapped().unwrap(),
                options: &[],
            }),
            Ip::V6 => Net::V6(v6),
            Ip::Grh => Net::Grh(Grh { ..v6 }),
        };
        let mut ext = self.ext;
        if let Some((offset, rkey, len)) = self.reth {
            ext.reth = Reth {
                va: lab.mr.va.wrapping_add_signed(offset),
                rkey: rkey.unwrap_or(lab.mr.rkey),
                len: len.unwrap_or(self.payload.len() as u32),
            };
        }
        if let Some((offset, swap_add, compare)) = self.atomic {
            ext.atomic = AtomicEth { va: lab.mr.va.wrapping_add_signed(offset), rkey: lab.mr.rkey, swap_add, compare };
        }
        let mut bth = self.bth;
        bth.psn = bth.psn.plus(lab.options.start_psn);
        if bth.dest_qp == Qpn::new(0) {
            bth.dest_qp = lab.qpn;
        }
        let mut packet = Roce {
            eth: Ethernet { dst: DUT_MAC, src: TESTER_MAC, tags: Default::default(), ethertype: 0 },
            net,
            udp: (lab.options.ip != Ip::Grh).then_some(Udp { sport: 0xc000, dport: 4791, len: 0, checksum: 0 }),
            bth,
            ext,
            payload: &self.payload,
            pad: &[],
            icrc: 0,
            trailer: &[],
        };
        field::complete(&mut packet, |field| field.name == "len");
        if let Some(tweak) = self.tweak {
            tweak(&mut packet);
            packet.icrc = icrc::compute(&packet);
            if let Net::V4(ip) = &mut packet.net {
                ip.checksum = ip.right_checksum();
            }
        }
        if let Some(tweak) = self.late_tweak {
            tweak(&mut packet);
        }
        let mut bytes = vec![0; encoded_len(&packet)];
        encode(&packet, &mut bytes).unwrap();
        bytes
    }
}

/// A response in one line, PSNs counted from `start`.
pub fn line(frame: &[u8], start: u32) -> String {
    let Ok(Frame::Roce(packet)) = decode(frame) else { return "unreadable".into() };
    let psn = packet.bth.psn.minus(start).get();
    let msn = packet.ext.aeth.msn.get();
    let len = packet.payload.len();
    let right = if icrc::verify(&packet) { "" } else { " icrc=bad" };
    let is_xrc = packet.bth.opcode.transport() == Transport::Xrc;
    let opcode = if is_xrc { Opcode(packet.bth.opcode.operation()) } else { packet.bth.opcode };
    let text = match opcode {
        Opcode::RC_ACKNOWLEDGE => match packet.ext.aeth.syndrome.class() {
            SyndromeClass::Ack(credits) if credits.get() == 31 => format!("ACK {psn} msn={msn}"),
            SyndromeClass::Ack(credits) => format!("ACK {psn} msn={msn} credits={}", credits.get()),
            SyndromeClass::RnrNak(timer) => format!("RNR_NAK {psn} msn={msn} timer={}", timer.get()),
            SyndromeClass::Nak(code) => format!("NAK {psn} msn={msn} {}", code.name().unwrap_or("?")),
            SyndromeClass::Reserved(_) => format!("reserved syndrome {psn}"),
        },
        Opcode::RC_ATOMIC_ACKNOWLEDGE => format!("ATOMIC {psn} msn={msn} {:#x}", packet.ext.atomic_ack.original),
        Opcode::RC_RDMA_READ_RESPONSE_FIRST => format!("FIRST {psn} msn={msn} {len}B"),
        Opcode::RC_RDMA_READ_RESPONSE_MIDDLE => format!("MIDDLE {psn} {len}B"),
        Opcode::RC_RDMA_READ_RESPONSE_LAST => format!("LAST {psn} msn={msn} {len}B"),
        Opcode::RC_RDMA_READ_RESPONSE_ONLY => format!("ONLY {psn} msn={msn} {len}B"),
        other => format!("opcode {:#x}", other.0),
    };
    text + right
}

/// The payloads of the READ responses among frames, joined.
pub fn read_data(frames: &[Vec<u8>]) -> Vec<u8> {
    frames
        .iter()
        .flat_map(|frame| {
            let Ok(Frame::Roce(packet)) = decode(frame) else { return Vec::new() };
            packet.payload.to_vec()
        })
        .collect()
}

/// A frame, taken apart, for looking at its fields.
pub fn look<T>(frame: &[u8], at: impl FnOnce(&Roce<'_>) -> T) -> T {
    let Ok(Frame::Roce(packet)) = decode(frame) else { panic!("not RoCE: {frame:02x?}") };
    at(&packet)
}
