//! Whatever the software orders and in whatever state, nothing panics, and what is sent comes to an end.

use proptest::prelude::*;
use rocespec_codec::{Opcode, QKey, Qpn, RKey};
use rocespec_model::{
    Access, Bind, Capabilities, Defect, Defects, Destination, Input, MemoryHandle, PdHandle, QpAttributes, QpHandle,
    QpInit, QpKind, QpState, SendFlags, SendOperation, SendRequest, SrqHandle, SrqInit, WindowHandle, WindowKind,
    XrcDomainHandle,
};

use crate::harness::{Ip, Lab, gids, lab_with, req};

/// An order, with numbers that name an object or say how much, whatever is needed.
#[derive(Debug, Clone, Copy)]
struct Order {
    what: u8,
    one: u32,
    two: u32,
    far: u64,
}

fn order() -> impl Strategy<Value = Order> {
    let small = || prop_oneof![8 => 0u32..12, 1 => any::<u32>()];
    let far = prop_oneof![6 => 0u64..5000, 1 => any::<u64>()];
    (any::<u8>(), small(), small(), far).prop_map(|(what, one, two, far)| Order { what, one, two, far })
}

const OPERATIONS: [SendOperation; 12] = [
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
    SendOperation::BindWindow,
    SendOperation::LocalInvalidate,
];
const KINDS: [QpKind; 5] = [QpKind::Rc, QpKind::Uc, QpKind::Ud, QpKind::XrcInitiator, QpKind::XrcTarget];
const STATES: [QpState; 5] = [QpState::Rts, QpState::Sqd, QpState::Error, QpState::Reset, QpState::Sqe];

fn send(lab: &mut Lab, order: Order) {
    let Order { one, two, far, .. } = order;
    let flags = SendFlags { signaled: one & 1 == 0, solicited: true, fence: two & 1 == 1, inline: two & 2 == 2 };
    let kind_of_window = Access::REMOTE_WRITE | if two & 4 == 4 { Access::REMOTE_ATOMIC } else { Access::REMOTE_READ };
    let key = RKey::new(if two & 8 == 8 { far as u32 } else { one << 8 | one.wrapping_mul(0x35) & 0xff });
    let request = SendRequest {
        flags,
        mr: MemoryHandle(1 + two % 6),
        offset: far % 4096,
        length: (far >> 3) as u32 % 3000,
        remote_va: far,
        rkey: key,
        immediate: key.get(),
        destination: Some(Destination::new(gids(Ip::V4).1, Qpn::new(one), QKey::new(two << 28))),
        srqn: Qpn::new(one),
        bind: Some(Bind { window: WindowHandle(1 + one % 8), access: kind_of_window, key: far as u8 }),
        ..SendRequest::new(far, OPERATIONS[one as usize % OPERATIONS.len()])
    };
    let _ = lab.port.post_send(lab.qp, &request);
}

fn carry_out(lab: &mut Lab, order: Order) {
    let Order { what, one, two, far } = order;
    let (srq, mr, pd) = (SrqHandle(one), MemoryHandle(one), PdHandle(two % 3));
    let kind = if two & 1 == 0 { WindowKind::Type1 } else { WindowKind::Type2 };
    match what % 24 {
        0..=6 => send(lab, order),
        7 => drop(lab.port.modify_qp(lab.qp, &crate::harness::to(STATES[one as usize % STATES.len()]))),
        8 => drop(lab.port.modify_qp(lab.qp, &QpAttributes { sq_psn: Some(Default::default()), ..Default::default() })),
        9 => drop(lab.port.allocate_window(pd, kind)),
        10 => drop(lab.port.deallocate_window(WindowHandle(one))),
        11 => drop(lab.port.register_memory_in(pd, 1 + far % 4096, Access::ALL)),
        12 => drop(lab.port.deregister_memory(mr)),
        13 => drop(lab.port.create_pd()),
        14 => drop(lab.port.destroy_pd(pd)),
        15 => {
            let xrc_domain = (two & 1 == 0).then_some(XrcDomainHandle(two));
            let _ = lab.port.create_srq(&SrqInit { pd, max_wr: one, xrc_domain });
        }
        16 => drop(lab.port.destroy_srq(srq)),
        17 => drop(lab.port.post_srq_receive(srq, far, MemoryHandle(two), far, far as u32)),
        18 => drop(lab.port.modify_srq(srq, two)),
        19 => {
            let kind = KINDS[one as usize % KINDS.len()];
            let shared = (two & 2 == 2).then_some(SrqHandle(two));
            let _ = lab.port.create_qp_with(&QpInit { pd, srq: shared, ..QpInit::new(kind) });
        }
        20 => drop(lab.port.destroy_qp(QpHandle(2 + one))),
        21 => drop(lab.port.post_receive(lab.qp, far, mr, far, two)),
        22 => drop(lab.port.attach_multicast(lab.qp, "::ffff:239.1.1.1".parse().unwrap())),
        _ => {
            let answer = req(Opcode(what / 24 + 0x0d), one).payload(&vec![0; two as usize % 300]);
            let frame = answer.bth(|bth| bth.opcode = Opcode(bth.opcode.0 | lab_class(lab))).frame(lab);
            lab.port.handle(lab.now, Input::Frame(&frame));
        }
    }
}

/// Upper bits of the opcodes of the lab's queue pair.
fn lab_class(lab: &Lab) -> u8 {
    match lab.options.kind {
        QpKind::Rc => 0,
        QpKind::Uc => 0x20,
        QpKind::Ud => 0x60,
        QpKind::XrcInitiator | QpKind::XrcTarget => 0xa0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_orders_are_taken(
        kind in prop::sample::select(KINDS.to_vec()),
        shared in any::<bool>(),
        defect in prop::option::of(prop::sample::select(Defect::ALL.to_vec())),
        orders in prop::collection::vec(order(), 0..60),
    ) {
        let mut lab = lab_with(|options| {
            options.kind = kind;
            options.shared = shared && kind != QpKind::XrcInitiator;
            options.receives = if kind == QpKind::XrcInitiator { 0 } else { 2 };
            options.capabilities = Capabilities { flush: true, atomic_write: true };
            options.region_access = Access::ALL;
            options.defects = defect.map_or(Defects::NONE, Defects::from);
            let attributes = &mut options.attributes;
            if matches!(kind, QpKind::Rc | QpKind::XrcInitiator) {
                (attributes.timeout, attributes.retry_count) = (Some(1), Some(1));
                (attributes.rnr_retry, attributes.max_rd_atomic) = (Some(1), Some(2));
            }
        });
        if !kind.is_reliable() {
            lab.go();
        }
        for order in &orders {
            carry_out(&mut lab, *order);
            if order.what & 1 == 0 {
                lab.collect();
            }
        }
        for _ in 0..8 {
            lab.collect();
        }
        prop_assert!(lab.frames.len() < 20_000);
    }
}
