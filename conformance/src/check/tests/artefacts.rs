//! What a capture does to traffic is never a fault of the devices.

use proptest::prelude::*;

use super::*;

fn clean() -> Vec<CapturedFrame> {
    frames(CLEAN)
}

fn assert_silent(frames: &[CapturedFrame], kind: &str) {
    let file = examine(frames);
    assert_eq!(broken(&file), [(0, ""); 0]);
    assert!(artefacts(&file).contains(&kind), "{:?}", file.artefacts);
}

#[test]
fn cut_frames_have_no_wrong_icrc() {
    for snap in [200, 96, 70] {
        let mut frames = clean();
        frames.iter_mut().for_each(|frame| frame.data.truncate(snap));
        assert_silent(&frames, "cut");
    }
}

#[test]
fn copies_are_left_out() {
    // Both ports of a switch: the second time with one hop less.
    let mut elsewhere = Vec::new();
    for frame in clean() {
        let mut copy = frame.clone();
        copy.interface = 1;
        elsewhere.extend([frame, copy]);
    }
    assert_silent(&elsewhere, "copies");
    let twice: Vec<_> = clean().into_iter().flat_map(|frame| [frame.clone(), frame]).collect();
    assert_silent(&twice, "copies");
}

#[test]
fn placeholders_of_the_icrc_are_one_hint() {
    let mut frames = clean();
    for frame in &mut frames {
        let len = frame.data.len();
        frame.data[len - 4..].fill(0);
    }
    assert_silent(&frames, "icrc-placeholder");
}

#[test]
fn a_frame_check_sequence_belongs_to_nobody() {
    let mut frames = clean();
    for frame in &mut frames {
        frame.data.extend([0xde, 0xad, 0xbe, 0xef]);
        frame.original_len += 4;
    }
    assert_silent(&frames, "trailer");
}

#[test]
fn one_direction_is_judged_as_far_as_it_goes() {
    for way in [0x11, 0x22] {
        let frames: Vec<_> = clean().into_iter().filter(|frame| frame.data[49] == way).collect();
        assert!(frames.len() > 10);
        assert_silent(&frames, "one-direction");
    }
}

/// Three times a queue pair 0x11 is made anew, and its partner has another number each time.
#[test]
fn a_queue_pair_that_is_made_anew_talks_to_another_one() {
    let mut frames = Vec::new();
    for partner in [0x22, 0x23, 0x24] {
        let exchange = "> SEND_ONLY psn=@5 ack 64B=QQ\n< ACK psn=@5 msn=1\n> SEND_ONLY psn=@6 ack\n< NAK psn=@6 msn=1 code=invalid_request";
        let exchange = exchange
            .replace("QQ", &format!("{partner:02x}"))
            .replace("> SEND_ONLY", &format!("> SEND_ONLY qp={partner:#x}"));
        frames.extend(super::frames(&exchange));
    }
    for (at, frame) in frames.iter_mut().enumerate() {
        frame.time_ns = at as u64 * STEP_NS;
    }
    let file = examine(&frames);
    assert_eq!(broken(&file), [(0, ""); 0]);
    let partners: Vec<_> = file.connections.iter().map(|connection| connection.ends[1].qpn).collect();
    assert_eq!(partners, [Some(0x22), Some(0x23), Some(0x24)]);
}

#[test]
fn a_damaged_packet_says_nothing_of_what_was_sent() {
    for line in [3, 4, 8, 9] {
        let mut frames = clean();
        let mut damaged = frames[line - 1].clone();
        damaged.data[50] ^= 0x40;
        frames.insert(line - 1, damaged);
        let file = examine(&frames);
        let certain = file.connections.iter().flat_map(|connection| &connection.findings.first);
        let certain = certain.filter(|found| found.level == rocespec_reports::outcome::Level::Must);
        assert_eq!(certain.map(|found| (found.frame, &*found.rule)).collect::<Vec<_>>(), [(0, ""); 0], "line {line}");
    }
}

#[test]
fn a_capture_at_a_port_may_begin_in_the_middle() {
    let frames = clean();
    // One packet of the first end is lost on its way to the second.
    let end = examine(&frames).connections[0].ends[1].address.parse().unwrap();
    let options = Options { judge: vec![end], at: vec![end], ..Options::default() };
    for start in 0..frames.len() {
        assert_eq!(broken(&examine_with(options.clone(), &frames[start..])), [(0, ""); 0], "from {start}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    /// Whatever packets are missing, turned around or there twice.
    #[test]
    fn holes_and_disorder_are_no_faults(
        keep in prop::collection::vec(prop::bool::weighted(0.8), 30),
        swaps in prop::collection::vec(0usize..29, 0..4),
        start in 0usize..20,
    ) {
        let mut frames: Vec<_> = clean().into_iter().zip(&keep).filter(|(_, keep)| **keep).map(|(frame, _)| frame).collect();
        for at in swaps {
            if at + 1 < frames.len() {
                frames.swap(at, at + 1);
            }
        }
        let frames = &frames[start.min(frames.len())..];
        let file = examine(frames);
        let certain = file.connections.iter().flat_map(|connection| &connection.findings.first).filter(|found| {
            found.level == rocespec_reports::outcome::Level::Must
        });
        prop_assert_eq!(certain.map(|found| (found.frame, &found.rule, &found.seen)).collect::<Vec<_>>(), vec![]);
    }
}

#[test]
fn a_read_of_unknown_length_is_no_hole() {
    // No packet before it shows the path MTU.
    for begin in [3, 7] {
        let script: Vec<&str> = CLEAN.trim().lines().skip(begin).collect();
        assert_eq!(artefacts(&examine(&frames(&script.join("\n")))), [""; 0]);
    }
    let file = examine(&frames(
        "> SEND_ONLY psn=@5 ack 64B
        > RDMA_READ_REQUEST psn=@6 va=0x1000 rkey=1 len=2400
        < ACK psn=@5 msn=1
        < RDMA_READ_RESPONSE_FIRST psn=@6 msn=2 1024B
        < RDMA_READ_RESPONSE_MIDDLE psn=@7 1024B
        < RDMA_READ_RESPONSE_LAST psn=@8 msn=2 352B
        > SEND_ONLY psn=@9 ack 64B
        < ACK psn=@9 msn=3",
    ));
    assert_eq!((broken(&file), artefacts(&file)), (vec![], vec![]));
}
