//! Steps about streams of packets, CNPs and pauses: what each of them notices.

mod common;

use std::num::NonZeroU32;
use std::time::Duration;

use common::{emulator, profile, run_on, scenario};
use rocespec::dut::Emulator;
use rocespec_reports::outcome::{Case, Finding, Verdict};

/// What is found when a script runs on the emulator; nothing when it passes.
fn findings(behaviours: &str, setup: &str, script: &str) -> Vec<Finding> {
    findings_of(&mut emulator(behaviours), setup, script)
}

fn findings_of(device: &mut Emulator, setup: &str, script: &str) -> Vec<Finding> {
    let case = case_of(device, setup, script);
    assert!(matches!(case.verdict, Verdict::Pass | Verdict::Fail), "{:?} {}", case.verdict, case.reason);
    case.findings
}

fn case_of(device: &mut Emulator, setup: &str, script: &str) -> Case {
    let text = format!(
        "title = 'A test'\nabout = 'A test.'\nrules = ['rc.responder.send']\nlevel = 'must'\nneeds = ['rc']\n\
         setup = {{ {setup} }}\nscript = '''\n{script}\n'''\n"
    );
    let (mut run, _) = run_on(device, &[scenario(&text)]);
    run.cases.swap_remove(0)
}

/// Expected and seen of the one finding.
fn found(behaviours: &str, setup: &str, script: &str) -> (String, String) {
    let mut findings = findings(behaviours, setup, script);
    assert_eq!(findings.len(), 1, "{findings:?}");
    let finding = findings.swap_remove(0);
    (finding.expected, finding.seen)
}

const READ: &str = "dut mr mr 65536 remote_read\n> RDMA_READ_REQUEST psn=0 ack va=mr rkey=mr len=65536\n";
const ALL: &str = "take until RDMA_READ_RESPONSE_LAST psn=63\n";
const CLASS_3: &str = "vlan = 5, priority = 3";

#[test]
fn a_cnp_comes_beside_the_exchange_in_any_order() {
    let marked = "dut recv 64\n> SEND_ONLY psn=0 ack 64B ip.ecn=ce\n";
    for steps in ["< ACK psn=0 msn=1\n< CNP", "< CNP\n< ACK psn=0 msn=1", "< ACK psn=0 msn=1"] {
        assert_eq!(findings("", "", &format!("{marked}{steps}")), []);
    }
    let (expected, seen) = found("", "", &format!("{marked}no CNP\n< ACK psn=0 msn=1"));
    assert_eq!(expected, "no CNP");
    assert!(seen.starts_with("CNP "), "{seen}");
    let (expected, seen) = found("never-sends-cnp", "", &format!("{marked}< ACK psn=0 msn=1\n< CNP"));
    assert_eq!((expected.as_str(), seen.as_str()), ("CNP", "nothing within 100ms"));
}

#[test]
fn a_rate_is_compared_with_an_earlier_one() {
    let same = "take 20 as before\ntake 20 95%..105% of before\n";
    assert_eq!(findings("", "", &format!("{READ}take 4\n{same}{ALL}")), []);
    let cut = "take 4\ntake 20 as before\n> CNP becn\ntake 10\ntake 20 95%..105% of before\n";
    let (expected, seen) = found("", "", &format!("{READ}{cut}{ALL}"));
    assert_eq!(expected, "95% to 105% of the rate \"before\"");
    assert!(seen.ends_with("Gb/s after 10.00 Gb/s"), "{seen}");
}

#[test]
fn a_fall_that_comes_late_or_does_not_last_shows_in_the_slowest_packets() {
    let cut = format!("{READ}take 4\ntake 16 as before\n> CNP becn\ntake 40 slowest 8 0%..90% of before\n{ALL}");
    assert_eq!(findings("", "", &cut), []);
    let (_, seen) = found("ignores-cnp", "", &cut);
    assert_eq!(seen, "100%: 10.00 Gb/s after 10.00 Gb/s");
}

#[test]
fn nothing_is_said_of_a_stream_that_the_tester_was_too_slow_for() {
    let cut = "take 4\ntake 16 as before\nwait 1ms\n> CNP becn\ntake 20 0%..90% of before\n";
    let pause = "take 4\nwait 1ms\n> PFC prio=3 quanta=10000\npaused 9000 quanta\n";
    for (script, why) in [(cut, "the message ended 0 packets behind"), (pause, "all had left before the pause")] {
        let case = case_of(&mut emulator(""), CLASS_3, &format!("{READ}{script}"));
        assert_eq!(case.verdict, Verdict::Inconclusive, "{}", case.reason);
        assert!(case.reason.contains(why), "{}", case.reason);
    }
}

#[test]
fn nothing_is_said_of_a_fall_from_a_rate_that_the_port_did_not_limit() {
    let script = "take 4\n> CNP becn\ntake 8\ntake 12 as before\n> CNP becn\ntake 12 0%..90% of before\n";
    let case = case_of(&mut emulator(""), "", &format!("{READ}{script}{ALL}"));
    assert_eq!(case.verdict, Verdict::Inconclusive, "{}", case.reason);
    assert!(case.reason.contains("too far below the speed of the link"), "{}", case.reason);
}

#[test]
fn a_stream_that_ends_too_soon_is_found() {
    let (expected, seen) = found("", "", &format!("{READ}take 65"));
    assert_eq!((expected.as_str(), seen.as_str()), ("65 packets", "64, then nothing within 100ms"));
    let (expected, seen) = found("", "", &format!("{READ}take until RDMA_READ_RESPONSE_LAST psn=64"));
    assert_eq!((expected.as_str(), seen.as_str()), ("RDMA_READ_RESPONSE_LAST psn=64", "nothing more within 100ms"));
}

#[test]
fn a_packet_in_a_pause_is_found_and_one_that_had_begun_is_not() {
    let paused = format!("{READ}take 4\n> PFC prio=3 quanta=10000\npaused 9000 quanta\n{ALL}");
    assert_eq!(findings("", CLASS_3, &paused), []);
    for defect in ["stops-late", "ignores-xoff"] {
        let (expected, seen) = found(defect, CLASS_3, &paused);
        // 60 quanta of 51.2 ns and a packet of the longest kind.
        assert_eq!(expected, "no packet from 4.013us to 460.8us");
        assert!(seen.starts_with("one after 4."), "{seen}");
    }
}

#[test]
fn where_nobody_says_how_fast_a_port_stops_it_has_stopped_well_before_the_end() {
    let paused = format!("{READ}take 4\n> PFC prio=3 quanta=600\npaused 500 quanta\n{ALL}");
    let mut at_25 = profile();
    at_25.port.as_mut().unwrap().speed_gbps = NonZeroU32::new(25).unwrap();
    let found = |defect| {
        let findings = findings_of(&mut Emulator::named(defect, at_25.clone()).unwrap(), CLASS_3, &paused);
        findings.iter().map(|finding| finding.expected.clone()).collect::<Vec<_>>()
    };
    assert_eq!(found(""), [""; 0]);
    assert_eq!(found("ignores-xoff"), ["no packet from 5.12us to 10.24us"]);
}

#[test]
fn the_delay_of_the_tester_is_allowed_for() {
    let paused = format!("{READ}take 4\n> PFC prio=3 quanta=10000\npaused 9000 quanta\n{ALL}");
    let mut slow = profile();
    slow.port.as_mut().unwrap().tester_us = Some(52);
    slow.timing.slack = Duration::from_millis(50);
    let mut late = Emulator::named("stops-late", slow).unwrap();
    assert_eq!(findings_of(&mut late, CLASS_3, &paused), [], "1000 quanta are 51.2 us");
}

#[test]
fn a_stream_that_does_not_flow_is_found() {
    let flows =
        "dut recv 64\n> PFC prio=3 quanta=10000\n> SEND_ONLY psn=0 ack 64B\nflows within QUANTA quanta\n< ACK psn=0";
    assert_eq!(findings("", CLASS_3, &flows.replace("QUANTA", "11000")), []);
    let (expected, seen) = found("", CLASS_3, &flows.replace("QUANTA", "9000"));
    assert_eq!((expected.as_str(), seen.as_str()), ("a packet within 9000 quanta", "nothing within 460.8us"));
}

#[test]
fn the_emulator_obeys_the_flow_control_that_a_case_needs() {
    let text = |needs: &str| {
        format!(
            "title = 'A test'\nabout = 'A test.'\nrules = ['pause.link.xoff']\nlevel = 'must'\nneeds = ['rc'{needs}]\n\
             script = '''\ndut recv 64\n> PAUSE quanta=65535\n> SEND_ONLY psn=0 ack 64B\npaused 60000 quanta\n\
             < ACK psn=0 msn=1\n'''\n"
        )
    };
    let cases = ["", ", 'pause'", ", 'pfc'"].map(|needs| scenario(&text(needs)));
    let (run, _) = run_on(&mut emulator(""), &cases);
    let verdicts: Vec<Verdict> = run.cases.iter().map(|case| case.verdict).collect();
    assert_eq!(verdicts, [Verdict::Fail, Verdict::Pass, Verdict::Fail]);
}
