//! Two endpoints of the model, back to back: what is sent and not lost arrives, whole and in order.

use proptest::prelude::*;
use rocespec_codec::{MacAddr, Mtu, Psn, QKey, Qpn, RnrTimer};
use rocespec_model::{
    Access, Config, Destination, Endpoint, GidEntry, GidKind, Input, MemoryRegion, Output, QpAttributes, QpHandle,
    QpInit, QpKind, QpState, SendOperation, SendRequest, SrqHandle, SrqInit, Time,
};

use crate::harness::{pattern, to};

const ROOM: u32 = 2048;
const FIRST_PSN: u32 = 0xff_fffd;

struct End {
    port: Endpoint,
    qp: QpHandle,
    region: MemoryRegion,
    srqs: Vec<SrqHandle>,
    /// The queue pair has a receive queue of its own.
    takes_receives: bool,
}

fn mac(end: u8) -> MacAddr {
    MacAddr([2, 0, 0, 0, 0, end])
}

fn gid(end: u8) -> std::net::Ipv6Addr {
    std::net::Ipv4Addr::new(10, 0, 0, end).to_ipv6_mapped()
}

/// An end with one queue pair in RTS and sixteen receives in each of its queues.
fn end(number: u8, kind: QpKind) -> End {
    let gids = vec![GidEntry { gid: gid(number), kind: GidKind::RoceV2 }];
    let mut port = Endpoint::new(Config { mac: mac(number), gids, port_mtu: Mtu::B1024, ..Config::default() });
    port.add_neighbour(gid(3 - number), mac(3 - number));
    let region = port.register_memory(1 << 18, Access::LOCAL_WRITE).unwrap();
    port.write_memory(region.handle, 0, &pattern(1 << 14)).unwrap();
    let xrc_domain = (kind == QpKind::XrcTarget).then(|| port.create_xrc_domain());
    let init = SrqInit { xrc_domain, ..SrqInit::default() };
    let srqs: Vec<_> = xrc_domain.iter().flat_map(|_| 0..2).map(|_| port.create_srq(&init).unwrap().0).collect();
    let (qp, qpn) = port.create_qp_with(&QpInit { xrc_domain, ..QpInit::new(kind) }).unwrap();
    assert_eq!(qpn, Qpn::new(0x11));
    for step in path(kind, 3 - number) {
        port.modify_qp(qp, &step).unwrap();
    }
    let takes_receives = matches!(kind, QpKind::Uc | QpKind::Ud);
    let mut end = End { port, qp, region, srqs, takes_receives };
    for wr_id in 0..16 {
        end.receive(wr_id);
    }
    end
}

fn path(kind: QpKind, peer: u8) -> [QpAttributes; 3] {
    let (pkey_index, sq_psn) = (Some(0), Some(Psn::new(FIRST_PSN)));
    if kind == QpKind::Ud {
        let init = QpAttributes { pkey_index, qkey: Some(QKey::new(7)), ..to(QpState::Init) };
        return [init, to(QpState::Rtr), QpAttributes { sq_psn, ..to(QpState::Rts) }];
    }
    let answers = kind == QpKind::XrcTarget;
    let asks = kind == QpKind::XrcInitiator;
    let rtr = QpAttributes {
        path_mtu: Some(Mtu::B256),
        dest_qpn: Some(Qpn::new(0x11)),
        rq_psn: sq_psn,
        remote_gid: Some(gid(peer)),
        max_dest_rd_atomic: answers.then_some(4),
        min_rnr_timer: answers.then(|| RnrTimer::new(1)),
        ..to(QpState::Rtr)
    };
    let rts = QpAttributes {
        sq_psn,
        timeout: (asks || answers).then_some(10),
        retry_count: asks.then_some(7),
        rnr_retry: asks.then_some(7),
        max_rd_atomic: asks.then_some(4),
        ..to(QpState::Rts)
    };
    [QpAttributes { pkey_index, access: Some(Access::NONE), ..to(QpState::Init) }, rtr, rts]
}

impl End {
    fn receive(&mut self, wr_id: u64) {
        let at = |queue: u64| (1 << 17) + (queue * 16 + wr_id) * u64::from(ROOM);
        let mr = self.region.handle;
        for (queue, srq) in (0..).zip(&self.srqs) {
            self.port.post_srq_receive(*srq, wr_id, mr, at(queue), ROOM).unwrap();
        }
        if self.takes_receives {
            self.port.post_receive(self.qp, wr_id, mr, at(0), ROOM).unwrap();
        }
    }

    fn send(&mut self, number: usize, len: usize, change: impl FnOnce(&mut SendRequest)) {
        let mut request = SendRequest::new(number as u64, SendOperation::Send);
        (request.mr, request.offset, request.length) = (self.region.handle, number as u64 * 7, len as u32);
        change(&mut request);
        self.port.post_send(self.qp, &request).unwrap();
    }

    /// What receive `wr_id` of a queue holds behind its first `skip` bytes.
    fn got(&self, queue: u64, wr_id: u64, skip: u64, len: usize) -> Vec<u8> {
        let at = (1 << 17) + (queue * 16 + wr_id) * u64::from(ROOM) + skip;
        self.port.read_memory(self.region.handle, at, len as u64).unwrap()
    }

    fn frames(&mut self, now: Time) -> Vec<Vec<u8>> {
        let frame = |output| if let Output::Frame(frame) = output { Some(frame) } else { None };
        std::iter::from_fn(|| self.port.poll_output(now)).filter_map(frame).collect()
    }
}

/// What message `number` carries.
fn message(number: usize, len: usize) -> Vec<u8> {
    pattern(1 << 14)[number * 7..number * 7 + len].to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn uc_delivers_the_messages_of_which_nothing_was_lost(
        lens in prop::collection::vec(0usize..1500, 1..14),
        arrives in prop::collection::vec(prop::bool::weighted(0.8), 128),
    ) {
        let (mut from, mut to) = (end(1, QpKind::Uc), end(2, QpKind::Uc));
        for (number, len) in lens.iter().enumerate() {
            from.send(number, *len, |_| {});
        }
        let frames = from.frames(Time::ZERO);
        prop_assert_eq!(from.port.poll(from.qp, 99).len(), lens.len());
        for (frame, arrives) in frames.iter().zip(&arrives) {
            if *arrives {
                to.port.handle(Time::ZERO, Input::Frame(frame));
            }
        }
        prop_assert_eq!(to.frames(Time::ZERO).len(), 0);

        let mut fates = arrives.iter();
        let whole = lens.iter().enumerate().filter(|(_, len)| {
            let packets = len.div_ceil(256).max(1);
            fates.by_ref().take(packets).filter(|arrives| **arrives).count() == packets
        });
        let whole: Vec<_> = whole.collect();
        let done = to.port.poll(to.qp, 99);
        prop_assert_eq!(done.len(), whole.len());
        for ((wr_id, (number, len)), done) in (0..).zip(whole).zip(done) {
            prop_assert_eq!((done.wr_id, done.status.name(), done.byte_len as usize), (wr_id, "success", *len));
            prop_assert_eq!(to.got(0, wr_id, 0, *len), message(number, *len));
        }
    }

    #[test]
    fn ud_delivers_what_arrives(
        lens in prop::collection::vec((0usize..=1024, prop::bool::weighted(0.8)), 1..14),
    ) {
        let (mut from, mut to) = (end(1, QpKind::Ud), end(2, QpKind::Ud));
        for (number, (len, _)) in lens.iter().enumerate() {
            let destination = Some(Destination::new(gid(2), Qpn::new(0x11), QKey::new(7)));
            from.send(number, *len, |request| request.destination = destination);
        }
        let frames = from.frames(Time::ZERO);
        for (frame, (_, arrives)) in frames.iter().zip(&lens) {
            if *arrives {
                to.port.handle(Time::ZERO, Input::Frame(frame));
            }
        }
        let arrived = lens.iter().enumerate().filter(|(_, (_, arrives))| *arrives);
        let done = to.port.poll(to.qp, 99);
        prop_assert_eq!(done.len(), arrived.clone().count());
        for ((wr_id, (number, (len, _))), done) in (0..).zip(arrived).zip(done) {
            prop_assert_eq!((done.wr_id, done.byte_len as usize, done.src_qpn), (wr_id, len + 40, Qpn::new(0x11)));
            prop_assert_eq!(to.got(0, wr_id, 40, *len), message(number, *len));
        }
    }

    #[test]
    fn xrc_delivers_to_the_queue_that_was_named(
        lens in prop::collection::vec((0usize..1500, 0usize..2), 1..14),
    ) {
        let (mut from, mut to) = (end(1, QpKind::XrcInitiator), end(2, QpKind::XrcTarget));
        for (number, (len, queue)) in lens.iter().enumerate() {
            let srqn = Qpn::new(to.srqs[*queue].0);
            from.send(number, *len, |request| request.srqn = srqn);
        }
        for turn in 0..64 {
            let now = Time::from_nanos(turn * 10_000);
            for frame in from.frames(now) {
                to.port.handle(now, Input::Frame(&frame));
            }
            let later = Time::from_nanos(turn * 10_000 + 5_000);
            for frame in to.frames(later) {
                from.port.handle(later, Input::Frame(&frame));
            }
        }
        let sent = from.port.poll(from.qp, 99);
        prop_assert!(sent.iter().all(|done| done.status.name() == "success"));
        prop_assert_eq!(sent.len(), lens.len());
        for queue in 0..2 {
            let named = lens.iter().enumerate().filter(|(_, (_, named))| *named == queue);
            let done = to.port.poll_srq(to.srqs[queue], 99);
            prop_assert_eq!(done.len(), named.clone().count());
            for ((wr_id, (number, (len, _))), done) in (0..).zip(named).zip(done) {
                prop_assert_eq!((done.wr_id, done.byte_len as usize), (wr_id, *len));
                prop_assert_eq!(to.got(queue as u64, wr_id, 0, *len), message(number, *len));
            }
        }
    }
}
