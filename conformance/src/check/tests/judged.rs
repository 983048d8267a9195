//! Faults that a capture shows for certain.

use super::*;

const NONE: [(u64, &str); 0] = [];

/// What breaks when a line of the clean exchange says something else.
fn with(line: usize, other: &str) -> Vec<(u64, String)> {
    let mut lines: Vec<&str> = CLEAN.trim().lines().collect();
    lines[line - 1] = other;
    let file = examine(&frames(&lines.join("\n")));
    broken(&file).into_iter().map(|(frame, rule)| (frame, rule.to_owned())).collect()
}

#[test]
fn a_clean_exchange_is_one_connection_without_findings() {
    let file = examine(&frames(CLEAN));
    assert_eq!(broken(&file), NONE);
    assert_eq!(artefacts(&file), [""; 0]);
    let [connection] = &file.connections[..] else { panic!("{}", file.connections.len()) };
    assert_eq!(connection.transport, "RC");
    assert_eq!(connection.paired, rocespec_reports::examination::Paired::Traffic);
    assert_eq!([&connection.ends[0], &connection.ends[1]].map(|end| end.qpn), [Some(0x11), Some(0x22)]);
    assert_eq!(connection.frames, [1, 30]);
}

#[test]
fn a_read_takes_a_psn_for_each_response() {
    assert_eq!(with(8, "> SEND_ONLY psn=@2 ack 64B")[0], (8, "rc.requester.read-psns".to_owned()));
}

#[test]
fn a_read_is_measured_when_its_responses_show_the_path_mtu() {
    let script = "
        > RDMA_READ_REQUEST psn=@7 ack va=0x1000 rkey=1 len=2400
        < RDMA_READ_RESPONSE_FIRST psn=@7 msn=1 1024B
        < RDMA_READ_RESPONSE_MIDDLE psn=@8 1024B
        < RDMA_READ_RESPONSE_LAST psn=@9 msn=1 352B
        > SEND_ONLY psn=@NEXT ack 16B";
    let file = |next: &str| examine(&frames(&script.replace("NEXT", next)));
    assert_eq!(broken(&file("10")), NONE);
    assert_eq!(broken(&file("9")), [(5, "rc.requester.read-psns")]);
}

#[test]
fn the_msn_counts_every_message() {
    assert_eq!(with(9, "< ACK psn=@3 msn=2"), [(9, "rc.responder.msn".to_owned())]);
    assert_eq!(with(14, "< ACK psn=@5 msn=3"), [], "devices are known that do not count a WRITE");
    assert_eq!(with(14, "< ACK psn=@5 msn=5"), [(14, "rc.responder.msn".to_owned())]);
}

#[test]
fn lengths_are_those_of_the_mtu_and_of_the_request() {
    assert_eq!(with(12, "> RDMA_WRITE_FIRST psn=@4 va=0x1000 rkey=1 len=2000 512B")[0].1, "rc.requester.segmentation");
    assert_eq!(with(13, "> RDMA_WRITE_LAST psn=@5 ack 975B"), [(13, "rc.requester.write-length".to_owned())]);
    assert_eq!(
        with(7, "< RDMA_READ_RESPONSE_LAST psn=@2 msn=2 351B"),
        [(7, "rc.responder.read-segmentation".to_owned())]
    );
}

#[test]
fn a_packet_that_is_sent_again_is_the_same() {
    assert_eq!(with(19, "> SEND_ONLY psn=@7 ack 64B=07"), [(19, "rc.requester.retransmission-unchanged".to_owned())]);
}

#[test]
fn a_frame_is_right_by_itself() {
    assert_eq!(with(8, "> SEND_ONLY psn=@3 ack 64B tver=1"), [(8, "lint.bth-tver".to_owned())]);
    let found = examine(&frames(&CLEAN.replace("psn=@11 ack 64B", "psn=@11 ack 64B icrc=crc32c")));
    assert_eq!(broken(&found), [(29, "lint.icrc")]);
}

#[test]
fn only_who_is_asked_for_is_judged() {
    let script = CLEAN.replace("SEND_ONLY psn=@3 ack 64B", "SEND_ONLY psn=@3 ack 64B tver=1");
    let frames = frames(&script);
    let file = examine(&frames);
    let sender: std::net::IpAddr = file.connections[0].ends[0].address.parse().unwrap();
    let other: std::net::IpAddr = file.connections[0].ends[1].address.parse().unwrap();
    let judge = |address| Options { judge: vec![address], ..Options::default() };
    assert_eq!(broken(&examine_with(judge(sender), &frames)), [(8, "lint.bth-tver")]);
    assert_eq!(broken(&examine_with(judge(other), &frames)), NONE);
}

#[test]
fn at_the_port_of_a_device_what_is_missing_was_not_sent() {
    let script = "
        > SEND_ONLY psn=@5 ack 64B
        < ACK psn=@5 msn=1
        > SEND_ONLY psn=@7 ack 64B
        < ACK psn=@7 msn=2";
    let frames = frames(script);
    let file = examine(&frames);
    assert_eq!(broken(&file), NONE);
    let sender = file.connections[0].ends[0].address.parse().unwrap();
    let file = examine_with(Options { at: vec![sender], ..Options::default() }, &frames);
    assert_eq!(broken(&file), [(3, "rc.requester.psn-order")]);
}

/// However many packets break how many rules, and whether the capture holds their ICRCs or zeroes in place of them.
#[test]
fn of_one_connection_among_thousands_less_is_told() {
    for icrc in ["right", "0x0"] {
        let line = |qp: u64, psn: u64| format!("> UC_SEND_ONLY qp={qp:#x} psn=@{psn} 8B tver=1 resv6=1 icrc={icrc}");
        let lines: Vec<String> = (0x100..0x502).flat_map(|qp| [line(qp, 0), line(qp, 1)]).collect();
        let file = examine(&frames(&lines.join("\n")));
        let told = |at: usize| {
            let found = &file.connections[at].findings;
            (found.first.len(), found.counts.iter().map(|rule| rule.count).sum::<u64>())
        };
        assert_eq!((told(0), told(0x401)), ((4, 4), (2, 4)), "{icrc}");
    }
}

#[test]
fn a_capture_may_begin_among_duplicates() {
    let script = "
        > SEND_ONLY psn=@13 ack 64B
        < ACK psn=@13 msn=20
        > SEND_ONLY psn=@14 ack 64B
        < ACK psn=@14 msn=20
        > SEND_ONLY psn=@20 ack 64B
        < ACK psn=@20 msn=21";
    assert_eq!(broken(&examine(&frames(script))), NONE);
}

#[test]
fn a_queue_pair_made_anew_is_not_blamed_for_certain() {
    let script = "
        > SEND_ONLY psn=@0 ack 64B
        < ACK psn=@0 msn=1
        > RDMA_WRITE_ONLY psn=@0 va=0x1000 rkey=1 len=8 ack 8B
        < ACK psn=@0 msn=1";
    let file = examine(&frames(script));
    let found = &file.connections[0].findings.first;
    assert!(found.iter().all(|finding| finding.level == rocespec_reports::outcome::Level::Should), "{found:?}");
}
