//! Two endpoints of the model, back to back: what one sends the other gets at once.

use std::net::Ipv6Addr;

use rocespec_codec::{MacAddr, Mtu, Psn, Qpn, RnrTimer};
use rocespec_model::{
    Access, Capabilities, Capacity, Config, Endpoint, GidEntry, GidKind, Input, MemoryRegion, Output, Policy,
    QpAttributes, QpHandle, QpKind, QpState, Time,
};

#[derive(Clone, Debug)]
pub struct Setup {
    pub policies: [Policy; 2],
    pub mtu: Mtu,
    pub start_psns: [u32; 2],
    pub max_rd_atomic: u8,
    pub queue_pairs: usize,
    pub depth: u32,
    /// Bytes of each of the two regions that an end has.
    pub region_len: u64,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            policies: [Policy::PLAIN; 2],
            mtu: Mtu::B1024,
            start_psns: [0, 0],
            max_rd_atomic: 4,
            queue_pairs: 1,
            depth: 64,
            region_len: 1 << 16,
        }
    }
}

pub struct End {
    pub port: Endpoint,
    pub qps: Vec<QpHandle>,
    /// What this end's own requests use.
    pub own: MemoryRegion,
    /// What the other end's requests use.
    pub shared: MemoryRegion,
}

pub struct Pair {
    pub ends: [End; 2],
    pub now: Time,
    /// Frames that went over.
    pub frames: u64,
}

fn gid(end: usize) -> Ipv6Addr {
    std::net::Ipv4Addr::new(10, 0, 0, end as u8 + 1).to_ipv6_mapped()
}

fn mac(end: usize) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, end as u8 + 1])
}

impl Pair {
    pub fn new(setup: &Setup) -> Pair {
        let mut pair = Pair { ends: [0, 1].map(|end| End::new(end, setup)), now: Time::ZERO, frames: 0 };
        for end in 0..2 {
            pair.ends[end].connect(end, setup);
        }
        pair
    }

    /// Carries frames over until nothing is left to do.
    pub fn run(&mut self) {
        loop {
            while self.carry(0) | self.carry(1) {}
            let Some(next) = self.ends.iter().filter_map(|end| end.port.next_timeout()).min() else { return };
            self.now = self.now.max(next);
            for end in &mut self.ends {
                end.port.handle(self.now, Input::Timeout);
            }
        }
    }

    /// Everything that one end has to send now.
    fn carry(&mut self, from: usize) -> bool {
        let [one, two] = &mut self.ends;
        let (from, to) = if from == 0 { (one, two) } else { (two, one) };
        let before = self.frames;
        while let Some(output) = from.port.poll_output(self.now) {
            if let Output::Frame(frame) = output {
                to.port.handle(self.now, Input::Frame(&frame));
                self.frames += 1;
            }
        }
        self.frames > before
    }
}

impl End {
    fn new(end: usize, setup: &Setup) -> End {
        let mut port = Endpoint::new(Config {
            mac: mac(end),
            gids: vec![GidEntry { gid: gid(end), kind: GidKind::RoceV2 }],
            first_qpn: Qpn::new(0x11),
            capabilities: Capabilities { flush: true, atomic_write: true },
            policy: setup.policies[end],
            ..Config::default()
        });
        port.add_neighbour(gid(1 - end), mac(1 - end));
        let rights = Access::REMOTE_WRITE | Access::REMOTE_READ | Access::REMOTE_ATOMIC | Access::FLUSH_GLOBAL;
        let own = port.register_memory(setup.region_len, Access::LOCAL_WRITE).unwrap();
        let shared = port.register_memory(setup.region_len, rights).unwrap();
        let capacity = Capacity { max_send_wr: setup.depth, max_recv_wr: setup.depth };
        let qps = (0..setup.queue_pairs).map(|_| port.create_qp(QpKind::Rc, capacity).unwrap().0).collect();
        End { port, qps, own, shared }
    }

    fn connect(&mut self, end: usize, setup: &Setup) {
        let rights = Access::REMOTE_WRITE | Access::REMOTE_READ | Access::REMOTE_ATOMIC | Access::FLUSH_GLOBAL;
        for (qp, number) in self.qps.iter().zip(0x11..) {
            let to = |state| QpAttributes { state: Some(state), ..QpAttributes::default() };
            let steps = [
                QpAttributes { pkey_index: Some(0), access: Some(rights), ..to(QpState::Init) },
                QpAttributes {
                    path_mtu: Some(setup.mtu),
                    dest_qpn: Some(Qpn::new(number)),
                    rq_psn: Some(Psn::new(setup.start_psns[1 - end])),
                    max_dest_rd_atomic: Some(setup.max_rd_atomic),
                    min_rnr_timer: Some(RnrTimer::new(12)),
                    remote_gid: Some(gid(1 - end)),
                    ..to(QpState::Rtr)
                },
                QpAttributes {
                    sq_psn: Some(Psn::new(setup.start_psns[end])),
                    timeout: Some(14),
                    retry_count: Some(7),
                    rnr_retry: Some(7),
                    max_rd_atomic: Some(setup.max_rd_atomic),
                    ..to(QpState::Rts)
                },
            ];
            for step in steps {
                self.port.modify_qp(*qp, &step).unwrap();
            }
        }
    }
}
