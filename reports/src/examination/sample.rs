//! An examination that holds something of everything, for the tests.

use super::*;

/// A capture with a broken connection, one with a remark and one that is clean; and one that is damaged.
pub(crate) fn examination() -> Examination {
    Examination {
        schema: SCHEMA,
        tool: "rocespec 0.1.0".into(),
        command: "rocespec check stall.pcap cut.pcap".into(),
        rules: vec![
            rule("rc.responder.ack-psn", "An acknowledgement carries a PSN that was sent."),
            rule("rc.responder.gap-nak", "A request behind a gap is answered by one NAK."),
            rule("rc.requester.pad", "The pad count fills the payload up to four bytes."),
        ],
        files: vec![stall(), damaged()],
    }
}

fn rule(id: &str, statement: &str) -> Rule {
    Rule { id: id.into(), level: Level::Must, statement: statement.into(), source: "C9-1 (sample)".into() }
}

/// The file with the broken connection.
pub(crate) fn stall() -> CaptureFile {
    CaptureFile {
        name: "stall.pcap".into(),
        frames: 1_240,
        packets: 1_200,
        bytes: 1_300_000,
        start_ns: 1_709_251_200_000_250_000,
        duration_ns: 1_234_567_890,
        connections: vec![clean(1), remarked(2), broken(3)],
        loose: Findings::default(),
        artefacts: vec![Artefact {
            kind: "copies".into(),
            count: 12,
            frame: 40,
            seen: "frames come twice with the same bytes, as from a mirror of both ports".into(),
            hint: "Mirror one direction of each port, or capture at one interface.".into(),
        }],
        faults: vec![
            remark(),
            Fault {
                kind: "class-not-lossless".into(),
                frame: 7,
                connection: Some(3),
                weight: Weight::Fault,
                seen: "192.0.2.1 sends with DSCP 0, but only class 3 is kept lossless, which DSCP 26 maps to".into(),
                hint: "Look at the traffic class of the queue pair and at the DSCP map of the adapter.".into(),
            },
        ],
        pauses: vec![Pauses {
            from: "02:00:00:00:00:01".into(),
            frames: 24,
            classes: [(
                3,
                ClassPauses {
                    stops: 12,
                    starts: 12,
                    most_quanta: 65_535,
                    paused_ns: 3_400_000,
                    longest_ns: 900_000,
                    gaps: 4,
                },
            )]
            .into(),
        }],
        ..CaptureFile::default()
    }
}

fn remark() -> Fault {
    Fault {
        kind: "one-source-port".into(),
        frame: 100,
        connection: None,
        weight: Weight::Remark,
        seen: "all 3 connections use the source port 49192".into(),
        hint: "Paths that are chosen by a hash of the ports all carry the same connections.".into(),
    }
}

/// A file that ends in its middle, with a frame that is nobody's.
pub(crate) fn damaged() -> CaptureFile {
    CaptureFile {
        name: "cut.pcap".into(),
        error: Some("the file ends inside of a packet at byte 4096".into()),
        frames: 9,
        packets: 3,
        bytes: 300,
        duration_ns: 4_500,
        loose: Findings {
            first: vec![Finding { frame: 2, time_ns: 900, from: 0, unless: None, around: Vec::new(), ..pad() }],
            counts: vec![RuleCount { rule: "rc.requester.pad".into(), level: Level::Must, count: 1 }],
        },
        ..CaptureFile::default()
    }
}

fn end(address: &str, qpn: u32) -> End {
    End { address: address.into(), qpn: Some(qpn), mtu: Some(1_024), silent: false }
}

/// A connection with nothing wrong; its PSNs pass the end of their range.
pub(crate) fn clean(number: u32) -> Connection {
    let point = |n: u32, from, mark| Point {
        frame: u64::from(100 + n),
        time_ns: u64::from(n) * 10_000,
        from,
        psn: (0xff_fff0 + n) & 0xff_ffff,
        psns: 1,
        mark,
    };
    let requests = (0..40).map(|n| point(n, 0, Mark::Request));
    let points = requests.chain((0..40).step_by(4).map(|n| point(n, 1, Mark::Ack)));
    let mut requester =
        Sent { packets: 40, payload_bytes: 40_960, new_bytes: 40_960, data_ns: 390_000, ..Sent::default() };
    requester.messages = [("SEND".to_owned(), 10)].into();
    requester.dscp = [(26, 40)].into();
    requester.source_ports = vec![49_192];
    Connection {
        number,
        transport: "RC".into(),
        paired: Paired::ConnectionManager,
        ends: [end("fd00:1:2:3:4:5:6:1", 0x11), end("fd00:1:2:3:4:5:6:2", 0x12)],
        frames: [100, 139],
        times_ns: [0, 390_000],
        sent: [requester, Sent { packets: 10, acks: 10, acked_packets: 40, ..Sent::default() }],
        findings: Findings::default(),
        points: points.collect(),
    }
}

/// A connection of which only one direction is there.
fn remarked(number: u32) -> Connection {
    let mut connection = clean(number);
    connection.ends = [end("192.0.2.7", 0x21), End { qpn: None, silent: true, ..end("192.0.2.8", 0) }];
    connection.paired = Paired::OneDirection;
    connection.findings = Findings {
        first: vec![Finding { level: Level::Should, ..pad() }],
        counts: vec![RuleCount { rule: "rc.requester.pad".into(), level: Level::Should, count: 1 }],
    };
    connection
}

fn pad() -> Finding {
    Finding {
        rule: "rc.requester.pad".into(),
        level: Level::Must,
        frame: 120,
        time_ns: 200_000,
        from: 0,
        packet: "SEND_ONLY psn=0x000004 pad=1 64B".into(),
        expected: "pad=0".into(),
        seen: "pad=1".into(),
        why: "The receiver takes the wrong number of bytes.".into(),
        harmless: false,
        unless: Some("the last bytes were cut off by the capture".into()),
        around: Vec::new(),
    }
}

/// A connection that stalls: a wrong acknowledgement, then retransmissions after a timeout, and all the other marks.
pub(crate) fn broken(number: u32) -> Connection {
    let mut connection = clean(number);
    connection.ends = [end("192.0.2.1", 0x31), end("192.0.2.2", 0x32)];
    connection.paired = Paired::Traffic;
    connection.frames = [5, 60];
    connection.times_ns = [0, 1_000_500_000];
    let line = |frame, time_ns, from, text: &str| Line { frame, time_ns, from, text: text.into() };
    let around = vec![
        line(15, 1_010_000, 0, "RDMA_WRITE_MIDDLE psn=0x000008 1024B"),
        line(16, 1_020_000, 0, "RDMA_WRITE_LAST psn=0x000009 ack 352B"),
        line(17, 1_200_000, 1, "ACK psn=0x000010 msn=1 credits=31"),
        line(18, 501_200_000, 0, "RDMA_WRITE_LAST psn=0x000009 ack 352B"),
    ];
    let ghost = Finding {
        rule: "rc.responder.ack-psn".into(),
        level: Level::Must,
        frame: 17,
        time_ns: 1_200_000,
        from: 1,
        packet: "ACK psn=0x000010 msn=1 credits=31".into(),
        expected: "an ACK of a PSN up to 0x000009".into(),
        seen: "an ACK of PSN 0x000010, which was not sent yet".into(),
        why: "The requester drops it and waits for its timeout. An acknowledgement carries a PSN that was sent.".into(),
        harmless: false,
        unless: None,
        around,
    };
    let later = |frame, time_ns| Finding { frame, time_ns, around: Vec::new(), unless: None, ..ghost.clone() };
    let nak = Finding { rule: "rc.responder.gap-nak".into(), level: Level::Should, from: 1, ..later(21, 501_400_000) };
    let count = |rule: &str, level, count| RuleCount { rule: rule.into(), level, count };
    connection.findings = Findings {
        first: vec![ghost.clone(), later(19, 501_300_000), nak],
        counts: vec![count("rc.responder.ack-psn", Level::Must, 13), count("rc.responder.gap-nak", Level::Should, 1)],
    };
    connection.points = points();
    let [requester, responder] = &mut connection.sent;
    (requester.packets, requester.retransmissions, requester.timeouts) = (32, 8, 2);
    (requester.messages, requester.most_reads) =
        ([("RDMA_READ", 1), ("RDMA_WRITE", 4)].map(|(k, v)| (k.into(), v)).into(), 1);
    (responder.packets, responder.acks, responder.acked_packets, responder.repeated_acks) = (24, 6, 16, 2);
    (responder.naks, responder.rnr_naks) = ([("psn_sequence_error".to_owned(), 2)].into(), 1);
    requester.data_ns = 1_000_500_000;
    (requester.gaps, requester.late, requester.duplicates, requester.ecn_capable) = (1, 1, 6, 32);
    (responder.cnps, responder.new_bytes, responder.payload_bytes, responder.data_ns) = (3, 4_096, 4_096, 27_000);
    responder.rnr_waits = Spread { count: 1, least_ns: 1_280_000, most_ns: 1_280_000, sum_ns: 1_280_000 };
    responder.response_latency = Spread { count: 6, least_ns: 1_500, most_ns: 180_000, sum_ns: 600_000 };
    responder.cnp_spacing = Spread { count: 2, least_ns: 50_000, most_ns: 50_000, sum_ns: 100_000 };
    responder.dscp = [(26, 21), (48, 3)].into();
    connection
}

fn points() -> Vec<Point> {
    let point = |frame, time_ns, from, psn, psns, mark| Point { frame, time_ns, from, psn, psns, mark };
    let mut points: Vec<Point> =
        (0..10u32).map(|n| point(u64::from(7 + n), 930_000 + 9_000 * u64::from(n), 0, n, 1, Mark::Request)).collect();
    points.push(point(17, 1_200_000, 1, 0x10, 1, Mark::Ack));
    points.extend(
        (0..4u32)
            .map(|n| point(u64::from(18 + n), 501_200_000 + 9_000 * u64::from(n), 0, 6 + n, 1, Mark::Retransmission)),
    );
    points.push(point(22, 501_250_000, 1, 9, 1, Mark::Nak));
    points.push(point(23, 501_260_000, 1, 9, 1, Mark::RnrNak));
    points.extend((0..3).map(|n| point(24 + n, 501_270_000 + 50_000 * n, 1, 0, 0, Mark::Cnp)));
    points.push(point(27, 1_000_400_000, 0, 10, 4, Mark::Request));
    points.extend(
        (0..4u32).map(|n| point(u64::from(28 + n), 1_000_420_000 + 9_000 * u64::from(n), 1, 10 + n, 1, Mark::Response)),
    );
    points.extend(
        (0..6u32)
            .map(|n| point(u64::from(32 + n), 1_000_460_000 + 4_000 * u64::from(n), 1, 0x400 + n, 1, Mark::Request)),
    );
    points
}

/// So many connections, of which every tenth is broken.
pub(crate) fn many(connections: u32) -> Examination {
    let mut examination = examination();
    examination.files.truncate(1);
    let one = |number: u32| if number.is_multiple_of(10) { broken(number) } else { clean(number) };
    examination.files[0].connections = (1..=connections).map(one).collect();
    examination
}

/// The sample with these texts and numbers all over it.
pub(crate) fn disfigured(texts: &[String; 4], numbers: &[u64; 4]) -> Examination {
    let [a, b, c, d] = texts;
    let [k, l, m, n] = *numbers;
    let mut one = examination();
    (one.tool, one.command) = (a.clone(), b.clone());
    for rule in &mut one.rules {
        (rule.statement, rule.source) = (c.clone(), d.clone());
    }
    for file in &mut one.files {
        (file.name, file.error) = (a.clone(), Some(b.clone()));
        (file.frames, file.packets, file.start_ns, file.duration_ns) = (k, l, m, n);
        for artefact in &mut file.artefacts {
            (artefact.kind, artefact.seen, artefact.hint) = (a.clone(), c.clone(), d.clone());
            (artefact.count, artefact.frame) = (k, l);
        }
        for fault in &mut file.faults {
            (fault.kind, fault.seen, fault.hint, fault.frame) = (b.clone(), c.clone(), d.clone(), n);
        }
        for pauses in &mut file.pauses {
            pauses.from.clone_from(a);
            pauses
                .classes
                .insert(8, ClassPauses { stops: k, starts: l, most_quanta: 1, paused_ns: m, longest_ns: n, gaps: k });
        }
        let connections = file.connections.iter_mut().map(|connection| &mut connection.findings);
        for findings in connections.chain([&mut file.loose]) {
            for finding in &mut findings.first {
                (finding.packet, finding.expected, finding.seen) = (a.clone(), b.clone(), c.clone());
                (finding.why, finding.unless) = (d.clone(), Some(a.clone()));
                (finding.frame, finding.time_ns, finding.from) = (k, l, m as u8);
                for line in &mut finding.around {
                    (line.text, line.frame, line.time_ns, line.from) = (b.clone(), k ^ 1, n, k as u8);
                }
            }
            for broken in &mut findings.counts {
                broken.count = n;
            }
        }
        for connection in &mut file.connections {
            connection.transport.clone_from(c);
            (connection.frames, connection.times_ns) = ([k, l], [m, n]);
            for end in &mut connection.ends {
                (end.address, end.qpn, end.mtu) = (d.clone(), Some(k as u32), Some(l as u32));
            }
            for sent in &mut connection.sent {
                (sent.packets, sent.payload_bytes, sent.new_bytes, sent.retransmissions) = (k, l, m, n);
                (sent.acks, sent.acked_packets, sent.timeouts, sent.cnps) = (n, k, l, m);
                (sent.data_ns, sent.duplicates, sent.gaps) = (k, l, m);
                sent.messages.insert(a.clone(), n);
                sent.response_latency = Spread { count: k, least_ns: l, most_ns: m, sum_ns: n };
            }
            for (index, point) in connection.points.iter_mut().enumerate() {
                let turned = numbers[index % 4].rotate_left(index as u32);
                (point.frame, point.time_ns, point.from) = (turned, turned.rotate_left(9), turned as u8);
                (point.psn, point.psns) = ((turned >> 7) as u32, (turned >> 20) as u32);
            }
        }
    }
    one
}
