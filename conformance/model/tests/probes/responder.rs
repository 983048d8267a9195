//! Probes of the way in, the way out and the responder.

use rocespec_codec::{Ipv4, Net, Opcode, PKey, Qpn};
use rocespec_model::{Access, Defects};

use super::{Probe, Trace, trace};
use crate::harness::{Ip, MTU, Options, Req, lab_with, req};

fn run(defects: Defects, requests: impl IntoIterator<Item = Req>) -> Trace {
    run_with(defects, |_| {}, requests)
}

fn run_with(defects: Defects, change: impl FnOnce(&mut Options), requests: impl IntoIterator<Item = Req>) -> Trace {
    let mut lab = lab_with(|options| {
        options.defects = defects;
        change(options);
    });
    lab.set_memory(0, &crate::harness::pattern(2048));
    let lines = lab.send_all(requests);
    trace(&mut lab, &lines)
}

fn send(psn: u32) -> Req {
    req(Opcode::RC_SEND_ONLY, psn).len(8)
}

fn write(psn: u32, offset: i64, len: usize) -> Req {
    req(Opcode::RC_RDMA_WRITE_ONLY, psn).to(offset, len as u32).len(len)
}

fn read(psn: u32, offset: i64, len: u32) -> Req {
    req(Opcode::RC_RDMA_READ_REQUEST, psn).to(offset, len)
}

fn flush(psn: u32, offset: i64, len: u32) -> Req {
    req(Opcode::RC_FLUSH, psn).to(offset, len).flush(0, 1)
}

fn atomic_write(psn: u32, offset: i64) -> Req {
    req(Opcode::RC_ATOMIC_WRITE, psn).to(offset, 8).len(8)
}

fn add(psn: u32, offset: i64) -> Req {
    req(Opcode::RC_FETCH_ADD, psn).atomic(offset, 1, 0)
}

pub(crate) const PROBES: &[Probe] = &[
    // What a frame is.
    |defects| run(defects, [send(0).late_tweak(|packet| packet.icrc ^= 1)]),
    |defects| run(defects, [req(Opcode::RC_SEND_ONLY, 0).len(17), read(1, 0, 5)]),
    |defects| run(defects, [send(0).tweak(|packet| packet.udp.as_mut().unwrap().len += 4)]),
    |defects| {
        run(
            defects,
            [send(0).tweak(|packet| {
                let Net::V4(ip) = &mut packet.net else { return };
                (ip.options, ip.ihl, ip.total_len) = (&[1, 1, 1, 0], 6, ip.total_len + 4);
            })],
        )
    },
    |defects| {
        run(
            defects,
            [send(0).tweak(|packet| {
                let Net::V4(ip) = &mut packet.net else { return };
                ip.flags_offset = Ipv4::MF;
            })],
        )
    },
    |defects| {
        run(
            defects,
            [send(0).late_tweak(|packet| {
                let Net::V4(ip) = &mut packet.net else { return };
                ip.checksum ^= 1;
            })],
        )
    },
    |defects| {
        run(
            defects,
            [send(0).tweak(|packet| {
                let Net::V4(ip) = &mut packet.net else { return };
                ip.dst = [10, 0, 0, 9].into();
            })],
        )
    },
    |defects| {
        run(
            defects,
            [send(0).tweak(|packet| {
                let Net::V4(ip) = &mut packet.net else { return };
                ip.src = [10, 0, 0, 9].into();
            })],
        )
    },
    |defects| {
        let as_v1 = send(0).frame(&lab_with(|options| options.ip = Ip::Grh));
        let mut lab = lab_with(|options| (options.ip, options.defects) = (Ip::V6, defects));
        let lines = lab.send_frame(&as_v1);
        trace(&mut lab, &lines)
    },
    |defects| run(defects, [send(0).tweak(|packet| packet.udp.as_mut().unwrap().dport = 4790)]),
    |defects| run(defects, [send(0).tweak(|packet| packet.udp.as_mut().unwrap().sport = 69)]),
    |defects| {
        run(
            defects,
            [send(0).tweak(|packet| {
                let Net::V4(ip) = &mut packet.net else { return };
                ip.version = 6;
            })],
        )
    },
    |defects| {
        run(
            defects,
            [send(0).tweak(|packet| {
                let Net::V4(ip) = &mut packet.net else { return };
                ip.total_len += 4;
            })],
        )
    },
    |defects| {
        let foreign = send(1).tweak(|packet| {
            let Net::Grh(ip) = &mut packet.net else { return };
            ip.next_header = 17;
        });
        run_with(defects, |options| options.ip = Ip::Grh, [send(0), foreign])
    },
    |defects| run(defects, [req(Opcode::RC_SEND_ONLY, 0).tweak(|packet| packet.bth.pad_count = 3)]),
    |defects| {
        let mut lab = lab_with(|options| options.defects = defects);
        let mut cut = write(0, 0, 0).frame(&lab);
        // Without the RETH: 34 bytes of Ethernet and IP, 8 of UDP, 12 of BTH and 4 of ICRC are left.
        (cut[17], cut[39]) = (44, 24);
        cut.truncate(58);
        let mut lines = lab.send_frame(&cut);
        // Lengths of less than their own headers end nothing.
        for length in [0, 7, 8, 11, 12] {
            cut[39] = length;
            lines.extend(lab.send_frame(&cut));
        }
        trace(&mut lab, &lines)
    },
    |defects| run_with(defects, |options| options.ip = Ip::V6, [send(0)]),
    |defects| run(defects, [req(Opcode::RC_SEND_ONLY, 0)]),
    |defects| {
        let path = |options: &mut Options| {
            (options.attributes.traffic_class, options.attributes.hop_limit) = (Some(0x60), Some(9));
        };
        run_with(defects, path, [send(0), send(1)])
    },
    // BTH.
    |defects| run(defects, [send(0).bth(|bth| bth.dest_qp = Qpn::new(0x999))]),
    |defects| run(defects, [send(0).bth(|bth| bth.dest_qp = Qpn::MULTICAST)]),
    |defects| run(defects, [req(Opcode::UC_SEND_ONLY, 0).len(8)]),
    |defects| run(defects, [send(0).bth(|bth| bth.tver = 1)]),
    |defects| run(defects, [send(0).bth(|bth| bth.pkey = PKey::new(0x1234))]),
    |defects| {
        let limited = |options: &mut Options| options.attributes.pkey_index = Some(1);
        run_with(defects, limited, [send(0).bth(|bth| bth.pkey = PKey::new(0x7fff))])
    },
    |defects| run(defects, [send(0).bth(|bth| bth.resv7 = 1)]),
    |defects| run(defects, [send(0).bth(|bth| bth.migreq = true)]),
    // PSN.
    |defects| run(defects, [send(0), send(2), send(3), send(1), send(3), send(2)]),
    |defects| run_with(defects, |options| options.start_psn = 0xff_ffff, [send(0), send(1), send(0)]),
    // Duplicates.
    |defects| run(defects, [send(0), send(0)]),
    |defects| run(defects, [write(0, 0, 4), req(Opcode::RC_RDMA_WRITE_ONLY, 0).to(0, 4).payload(&[9; 4])]),
    |defects| run(defects, [read(0, 0, 600), read(1, MTU as i64, 344), read(0, 0, 700)]),
    |defects| run(defects, [add(0, 0), add(1, 0), add(0, 0)]),
    // Order and lengths.
    |defects| run(defects, [req(Opcode::RC_SEND_FIRST, 0).len(MTU), send(1)]),
    |defects| run(defects, [req(Opcode(0x1f), 0).len(8), send(1)]),
    |defects| run(defects, [req(Opcode::RC_SEND_FIRST, 0).len(MTU - 4)]),
    |defects| run(defects, [req(Opcode::RC_SEND_ONLY, 0).len(MTU + 4)]),
    |defects| run(defects, [req(Opcode::RC_SEND_FIRST, 0).len(MTU), req(Opcode::RC_SEND_LAST, 1)]),
    |defects| {
        run(
            defects,
            [
                req(Opcode::RC_SEND_ONLY, 0).len(8).tweak(|packet| {
                    packet.bth.pad_count = 3;
                    (packet.payload, packet.pad) = (&packet.payload[..5], &packet.payload[5..]);
                }),
                req(Opcode::RC_SEND_ONLY, 1).len(8).tweak(|packet| {
                    packet.bth.pad_count = 3;
                    packet.udp.as_mut().unwrap().len -= 4;
                    let Net::V4(ip) = &mut packet.net else { return };
                    ip.total_len -= 4;
                    (packet.payload, packet.pad) = (&packet.payload[..1], &packet.payload[1..4]);
                }),
                req(Opcode::RC_RDMA_READ_REQUEST, 2).to(0, 4).len(3).tweak(|packet| {
                    packet.bth.pad_count = 3;
                    packet.udp.as_mut().unwrap().len -= 1;
                    let Net::V4(ip) = &mut packet.net else { return };
                    ip.total_len -= 1;
                    (packet.payload, packet.pad) = (&[], packet.payload);
                }),
            ],
        )
    },
    |defects| run(defects, [req(Opcode::RC_RDMA_WRITE_ONLY, 0).to(0, 16).len(12)]),
    |defects| run(defects, [read(0, 0, 0x8000_0001)]),
    |defects| run_with(defects, |options| options.receive_len = 100, [req(Opcode::RC_SEND_ONLY, 0).len(128)]),
    // Access.
    |defects| run(defects, [req(Opcode::RC_RDMA_WRITE_ONLY, 0).keyed(0, 4, 0xdead).len(4)]),
    |defects| run(defects, [write(0, 4092, 5)]),
    |defects| {
        let mut lab = lab_with(|options| options.defects = defects);
        let near_the_end = -(lab.mr.va as i64) - 0x400;
        let lines = lab.send(read(0, near_the_end, 0x400));
        trace(&mut lab, &lines)
    },
    |defects| run_with(defects, |options| options.region_access = Access::REMOTE_READ, [write(0, 0, 4)]),
    |defects| run_with(defects, |options| options.attributes.access = Some(Access::NONE), [write(0, 0, 4)]),
    |defects| run(defects, [req(Opcode::RC_RDMA_WRITE_ONLY, 0).keyed(0, 0, 0xdead)]),
    // Answers.
    |defects| {
        let mut lab = lab_with(|options| options.defects = defects);
        let lines = lab.burst([read(0, 0, 600), send(3), write(4, 0, 4)]);
        trace(&mut lab, &lines)
    },
    |defects| {
        let message = [(Opcode::RC_SEND_FIRST, MTU), (Opcode::RC_SEND_MIDDLE, MTU), (Opcode::RC_SEND_LAST, 4)];
        run(defects, (0..).zip(message).map(|(psn, (opcode, len))| req(opcode, psn).len(len)))
    },
    |defects| run_with(defects, |options| options.receives = 0, [send(0), send(1), send(2), send(0)]),
    |defects| run(defects, [req(Opcode::RC_SEND_ONLY_WITH_IMMEDIATE, 0).immediate(0x0102_0304)]),
    |defects| run(defects, [req(Opcode::RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE, 0).to(0, 0).immediate(7)]),
    |defects| run(defects, [req(Opcode::RC_SEND_ONLY_WITH_INVALIDATE, 0).invalidate(rocespec_codec::RKey::new(1))]),
    |defects| run(defects, [send(0).bth(|bth| bth.se = true)]),
    |defects| run(defects, [req(Opcode::RC_COMPARE_SWAP, 0).atomic(0, 5, 1)]),
    |defects| run(defects, [add(0, 4)]),
    |defects| run_with(defects, |options| options.attributes.max_dest_rd_atomic = Some(0), [read(0, 0, 4)]),
    // FLUSH and ATOMIC WRITE.
    |defects| run(defects, [flush(0, 0, 64), flush(0, 0, 64), flush(1, 0, 0x9000)]),
    |defects| run(defects, [flush(0, 0, 64).len(4)]),
    |defects| run_with(defects, |options| options.region_access = Access::REMOTE_WRITE, [flush(0, 0, 64)]),
    |defects| run(defects, [flush(0, 0x9000, 64).flush(1, 1)]),
    |defects| run(defects, [atomic_write(0, 4)]),
    |defects| run(defects, [atomic_write(0, 0).to(0, 16)]),
    |defects| run(defects, [atomic_write(0, 0), atomic_write(0, 0).payload(&[9; 8])]),
    |defects| {
        let mut lab = lab_with(|options| (options.receives, options.defects) = (0, defects));
        lab.port.post_receive(lab.qp, 0, lab.inbox.handle, 1 << 16, 64).unwrap();
        let lines = lab.send(send(0));
        trace(&mut lab, &lines)
    },
];
