//! One endpoint: the fuzzer is its software, its peers and its clock. It never panics, what it sends can be decoded and
//! carries its right ICRC, and it never has something to do without end.
#![no_main]

use std::net::Ipv6Addr;
use std::time::Duration;

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use rocespec_codec::arbitrary::{NearlyWellFormed, WellFormed};
use rocespec_codec::{
    Frame, MacAddr, Mtu, Net, PKey, Psn, QKey, Qpn, RnrTimer, decode, encode, encoded_len, field, icrc,
};
use rocespec_model::{
    Access, Capabilities, Capacity, Config, Destination, Endpoint, GidEntry, GidKind, Input, MemoryRegion, Output,
    Policy, QpAttributes, QpHandle, QpKind, QpState, SendFlags, SendOperation, SendRequest, Time,
};

const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
const PEER: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);
const HERE: Ipv6Addr = Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0x0a00, 2);
const THERE: Ipv6Addr = Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0x0a00, 1);
const QKEY: QKey = QKey::new(0x1234);
/// Steps of a run, and outputs of one step, at most.
const MOST_STEPS: usize = 64;
const MOST_OUTPUTS: usize = 100_000;

const OPERATIONS: [SendOperation; 10] = [
    SendOperation::Send,
    SendOperation::SendWithImmediate,
    SendOperation::SendWithInvalidate,
    SendOperation::RdmaWrite,
    SendOperation::RdmaWriteWithImmediate,
    SendOperation::RdmaRead,
    SendOperation::CompareSwap,
    SendOperation::FetchAdd,
    SendOperation::AtomicWrite,
    SendOperation::Flush,
];

const STATES: [QpState; 5] = [QpState::Reset, QpState::Init, QpState::Rts, QpState::Sqd, QpState::Error];

/// One endpoint with a queue pair, and the region that everybody uses.
struct Lab {
    endpoint: Endpoint,
    qp: QpHandle,
    qpn: Qpn,
    region: MemoryRegion,
    now: Time,
}

impl Lab {
    fn new(kind: QpKind, policy: Policy) -> Lab {
        let mut endpoint = Endpoint::new(Config {
            mac: MAC,
            gids: vec![GidEntry { gid: HERE, kind: GidKind::RoceV2 }],
            capabilities: Capabilities { flush: true, atomic_write: true },
            policy,
            ..Config::default()
        });
        endpoint.add_neighbour(THERE, PEER);
        let region = endpoint.register_memory(1 << 14, Access::ALL).expect("a small region");
        let (qp, qpn) = endpoint.create_qp(kind, Capacity::default()).expect("an ordinary queue pair");
        let mut lab = Lab { endpoint, qp, qpn, region, now: Time::ZERO };
        lab.connect(kind);
        lab
    }

    fn connect(&mut self, kind: QpKind) {
        let none = QpAttributes::default;
        let datagram = kind == QpKind::Ud;
        let connected = !datagram;
        let reliable = kind == QpKind::Rc;
        let ladder = [
            QpAttributes {
                state: Some(QpState::Init),
                pkey_index: Some(0),
                qkey: datagram.then_some(QKEY),
                access: connected.then_some(Access::ALL),
                ..none()
            },
            QpAttributes {
                state: Some(QpState::Rtr),
                path_mtu: connected.then_some(Mtu::B256),
                dest_qpn: connected.then_some(Qpn::new(0x77)),
                rq_psn: connected.then_some(Psn::new(0xff_fffe)),
                remote_gid: connected.then_some(THERE),
                max_dest_rd_atomic: reliable.then_some(2),
                min_rnr_timer: reliable.then_some(RnrTimer::new(1)),
                ..none()
            },
            QpAttributes {
                state: Some(QpState::Rts),
                sq_psn: Some(Psn::new(0xff_fffe)),
                timeout: reliable.then_some(8),
                retry_count: reliable.then_some(2),
                rnr_retry: reliable.then_some(7),
                max_rd_atomic: reliable.then_some(2),
                ..none()
            },
        ];
        for attributes in ladder {
            self.endpoint.modify_qp(self.qp, &attributes).expect("an ordinary connection");
        }
    }

    fn step(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        match u.int_in_range(0..=7)? {
            0 => self.post_send(u)?,
            1 => {
                let (offset, len) = (u.int_in_range(0..=1 << 14)?, u.int_in_range(0..=2048)?);
                let _ = self.endpoint.post_receive(self.qp, u.arbitrary()?, self.region.handle, offset, len);
            }
            2 => {
                let state = Some(*u.choose(&STATES)?);
                let _ = self.endpoint.modify_qp(self.qp, &QpAttributes { state, ..QpAttributes::default() });
            }
            3 => {
                self.now = self.now + Duration::from_nanos(u.int_in_range(0..=1 << 34)?);
                self.endpoint.handle(self.now, Input::Timeout);
            }
            4 => {
                let frame: &[u8] = u.arbitrary()?;
                self.endpoint.handle(self.now, Input::Frame(frame));
            }
            5 => {
                let frame: NearlyWellFormed = u.arbitrary()?;
                self.endpoint.handle(self.now, Input::Frame(frame.bytes()));
            }
            _ => self.packet(u)?,
        }
        Ok(())
    }

    fn post_send(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let request = SendRequest {
            flags: SendFlags {
                signaled: u.arbitrary()?,
                solicited: u.arbitrary()?,
                fence: u.arbitrary()?,
                inline: u.arbitrary()?,
            },
            mr: self.region.handle,
            offset: u.int_in_range(0..=1 << 14)?,
            length: u.int_in_range(0..=3000)?,
            remote_va: u.arbitrary()?,
            immediate: u.arbitrary()?,
            destination: u.arbitrary::<bool>()?.then(|| Destination::new(THERE, Qpn::new(0x77), QKEY)),
            ..SendRequest::new(u.arbitrary()?, *u.choose(&OPERATIONS)?)
        };
        let _ = self.endpoint.post_send(self.qp, &request);
        Ok(())
    }

    /// A well-formed packet to this very queue pair, near the PSNs that matter, about its memory.
    fn packet(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let packet: WellFormed = u.arbitrary()?;
        let mut packet = packet.packet();
        (packet.eth.dst, packet.eth.src) = (MAC, PEER);
        if let Net::V4(ip) = &mut packet.net {
            (ip.dst, ip.src) = ([10, 0, 0, 2].into(), [10, 0, 0, 1].into());
        }
        packet.bth.dest_qp = self.qpn;
        packet.bth.psn = Psn::new(0xff_fffe).plus(u.int_in_range(0..=12)?);
        packet.bth.pkey = PKey::DEFAULT;
        packet.ext.deth.qkey = QKEY;
        if u.ratio(7, 8)? {
            let va = self.region.va + u.int_in_range(0..=1u64 << 14)?;
            let rkey = self.region.rkey;
            (packet.ext.reth.va, packet.ext.reth.rkey) = (va, rkey);
            (packet.ext.atomic.va, packet.ext.atomic.rkey) = (va & !7, rkey);
        }
        let keeps_len = u.arbitrary()?;
        field::complete(&mut packet, |field| keeps_len && field.name == "len");
        let mut bytes = vec![0; encoded_len(&packet)];
        encode(&packet, &mut bytes).expect("a buffer as long as the packet");
        self.endpoint.handle(self.now, Input::Frame(&bytes));
        Ok(())
    }

    /// Everything that it sends by now is right, and it ends.
    fn drain(&mut self) {
        for _ in 0..MOST_OUTPUTS {
            match self.endpoint.poll_output(self.now) {
                Some(Output::Frame(frame)) => {
                    let Ok(Frame::Roce(packet)) = decode(&frame) else { panic!("it sent {frame:02x?}") };
                    assert!(icrc::verify(&packet), "its ICRC is wrong: {frame:02x?}");
                }
                Some(_) => {}
                None => {
                    self.endpoint.poll(self.qp, usize::MAX);
                    return;
                }
            }
        }
        panic!("it has something to send without end");
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut u = Unstructured::new(bytes);
    let kind = u.choose(&[QpKind::Rc, QpKind::Rc, QpKind::Uc, QpKind::Ud]).copied().unwrap_or(QpKind::Rc);
    let policy = u.choose(&Policy::PRESETS).map_or(Policy::PLAIN, |(_, policy)| *policy);
    let mut lab = Lab::new(kind, policy);
    for _ in 0..MOST_STEPS {
        if u.is_empty() || lab.step(&mut u).is_err() {
            break;
        }
        lab.drain();
    }
    // With its timers run out, it comes to rest.
    for _ in 0..10_000 {
        let Some(next) = lab.endpoint.next_timeout() else { return };
        lab.now = lab.now.max(next);
        lab.endpoint.handle(lab.now, Input::Timeout);
        lab.drain();
    }
    panic!("it never comes to rest");
});
