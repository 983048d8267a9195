//! Each verdict and each exit code, from a device that deserves it.

mod common;

use common::{Unwell, emulator, run_on, scenario, script};
use rocespec::profile::Deviation;
use rocespec_reports::outcome::Verdict;

const GOOD: &str = "dut recv 64\n> SEND_ONLY psn=0 ack 64B\n< ACK psn=0 msn=1";
const GAP: &str = "> SEND_ONLY psn=1 ack 64B\n< NAK psn=0 msn=0 code=psn_sequence_error";

fn deviation(scenario: &str, rule: &str) -> Deviation {
    Deviation {
        scenario: scenario.to_owned(),
        variant: Default::default(),
        rule: rule.to_owned(),
        reason: "known since long".to_owned(),
        frames: Vec::new(),
    }
}

#[test]
fn a_conforming_device_passes() {
    let (run, _) = run_on(&mut emulator(""), &[script("must", GOOD), script("must", GAP)]);
    assert_eq!(run.count(Verdict::Pass), 2);
    assert_eq!(run.exit_code(true), 0);
}

#[test]
fn a_broken_demand_fails_and_a_broken_recommendation_is_loose() {
    let mut device = emulator("ignores-psn-gap");
    let (run, _) = run_on(&mut device, &[script("must", GAP), script("should", GAP), script("info", GAP)]);
    let verdicts: Vec<Verdict> = run.cases.iter().map(|case| case.verdict).collect();
    assert_eq!(verdicts, [Verdict::Fail, Verdict::Loose, Verdict::Pass]);
    assert_eq!(run.exit_code(false), 1);
    let finding = &run.cases[0].findings[0];
    assert_eq!((finding.rule.as_str(), finding.line), ("rc.responder.gap-nak", Some(7)));
    assert!(finding.seen.starts_with("nothing within"), "{}", finding.seen);
}

#[test]
fn a_loose_alternative_is_loose_and_strict_makes_it_count() {
    let text = "> SEND_ONLY psn=1 ack 64B\n< one of\n    NAK psn=0 code=invalid_request\n    loose NAK psn=0 code=psn_sequence_error";
    let (run, _) = run_on(&mut emulator(""), &[script("must", text)]);
    assert_eq!(run.cases[0].verdict, Verdict::Loose);
    assert_eq!((run.exit_code(false), run.exit_code(true)), (0, 1));
}

#[test]
fn a_known_deviation_is_expected_and_a_stale_one_is_reported() {
    let mut device = Unwell::new("ignores-psn-gap");
    device.profile.deviations.push(deviation("test/case", "rc.responder.gap-nak"));
    let (run, _) = run_on(&mut device, &[script("must", GAP), script("must", GOOD)]);
    assert_eq!(run.cases[0].verdict, Verdict::Xfail);
    assert_eq!(run.cases[0].reason, "known since long");
    assert_eq!(run.cases[1].verdict, Verdict::Xpass);
    assert_eq!(run.exit_code(false), 1);
}

#[test]
fn a_deviation_does_not_excuse_another_rule() {
    let mut device = Unwell::new("ignores-psn-gap");
    device.profile.deviations.push(deviation("test/case", "rc.responder.rkey"));
    let (run, _) = run_on(&mut device, &[script("must", GAP)]);
    assert_eq!(run.cases[0].verdict, Verdict::Fail);
}

#[test]
fn a_device_without_the_capability_is_not_judged() {
    let mut device = Unwell::new("");
    device.profile.capabilities.retain(|capability| capability != "ipv4");
    let (run, files) = run_on(&mut device, &[script("must", GOOD)]);
    assert_eq!(run.cases[0].verdict, Verdict::Unsupported);
    assert!(run.cases[0].reason.contains("ipv4"), "{}", run.cases[0].reason);
    assert_eq!((run.exit_code(true), files[0].len()), (0, 0));
}

#[test]
fn a_crash_names_the_packet_and_the_rest_runs_on_a_new_device() {
    let mut device = Unwell::new("");
    device.dies_on = Some(2);
    let (run, _) = run_on(&mut device, &[script("must", GOOD), script("must", GOOD), script("must", GOOD)]);
    let verdicts: Vec<Verdict> = run.cases.iter().map(|case| case.verdict).collect();
    assert_eq!(verdicts, [Verdict::Pass, Verdict::Crash, Verdict::Pass]);
    assert_eq!(run.exit_code(false), 1);
    let finding = &run.cases[1].findings[0];
    assert!(finding.why.contains("SEND_ONLY psn=0"), "{}", finding.why);
    assert!(finding.seen.contains("Kernel panic"), "{}", finding.seen);
}

#[test]
fn a_packet_that_kills_late_is_found_among_those_around_it() {
    let mut device = Unwell::new("");
    device.poison = Some(vec![0xab; 16]);
    let text = "dut recv 4 x 64\n> SEND_ONLY psn=0\n> SEND_ONLY psn=1 16B=ab\n> SEND_ONLY psn=2\n> SEND_ONLY psn=3 ack\n< ACK psn=3\ndut qp rts";
    let (run, _) = run_on(&mut device, &[script("must", text), script("must", GOOD)]);
    let verdicts: Vec<Verdict> = run.cases.iter().map(|case| case.verdict).collect();
    assert_eq!(verdicts, [Verdict::Crash, Verdict::Pass]);
    assert_eq!(device.restarts, 2);
    let finding = &run.cases[0].findings[0];
    assert!(finding.why.ends_with("SEND_ONLY psn=1 16B=ab"), "{}", finding.why);
}

#[test]
fn a_request_that_takes_no_receive_may_be_put_off() {
    let mut device = Unwell::new("");
    device.puts_off = 1;
    let text = "dut mr mr 4096 remote_write\n> RDMA_WRITE_ONLY psn=0 ack va=mr rkey=mr 64B\n< ACK psn=0 msn=1\ndut memory mr 64B";
    let (run, _) = run_on(&mut device, &[script("must", text)]);
    // The RNR NAK of this fake leaves from a port of its own, which only a recommendation minds.
    assert!(run.cases[0].findings.iter().all(|finding| finding.rule == "frame.responder.source-port"));
    assert!(run.cases[0].trace.iter().any(|line| line.text.contains("after the RNR NAK")));
}

#[test]
fn a_deviation_never_excuses_a_crash() {
    let mut device = Unwell::new("");
    device.dies_on = Some(1);
    device.profile.deviations.push(deviation("test/case", "rc.responder.gap-nak"));
    let (run, _) = run_on(&mut device, &[script("must", GAP)]);
    assert_eq!(run.cases[0].verdict, Verdict::Crash);
}

#[test]
fn a_device_that_does_not_come_back_leaves_the_rest_inconclusive() {
    let mut device = Unwell::new("");
    (device.dies_on, device.stays_dead) = (Some(1), true);
    let (run, _) = run_on(&mut device, &[script("must", GOOD), script("must", GOOD)]);
    assert_eq!(run.cases[0].verdict, Verdict::Crash);
    assert_eq!(run.cases[1].verdict, Verdict::Inconclusive);
    assert!(run.cases[1].reason.contains("does not boot"), "{}", run.cases[1].reason);
}

#[test]
fn software_that_does_not_answer_is_inconclusive() {
    let mut device = Unwell::new("");
    device.mute = true;
    let (run, _) = run_on(&mut device, &[script("must", GOOD)]);
    assert_eq!(run.cases[0].verdict, Verdict::Inconclusive);
    assert_eq!(run.exit_code(false), 2);
}

#[test]
fn a_surplus_packet_at_the_end_is_found() {
    // The answers come, but nothing in the script takes the second one.
    let text = "dut recv 64\n> SEND_ONLY psn=0 ack 64B\n< ACK psn=0\n> SEND_ONLY psn=5 ack";
    let (run, _) = run_on(&mut emulator(""), &[script("must", text)]);
    assert_eq!(run.cases[0].verdict, Verdict::Fail);
    assert_eq!(run.cases[0].findings[0].rule, "rc.responder.unexpected-response");
}

#[test]
fn the_universal_rules_see_what_no_script_asks_for() {
    for (defect, rule) in [("ack-asks-for-ack", "lint.ack-fields"), ("ack-to-own-qp", "lint.dest-qp")] {
        let (run, _) = run_on(&mut emulator(defect), &[script("must", GOOD)]);
        assert_eq!(run.cases[0].verdict, Verdict::Fail, "{defect}");
        assert_eq!(run.cases[0].findings[0].rule, rule, "{defect}");
    }
}

#[test]
fn what_the_second_queue_pair_sends_is_not_taken_for_that_of_the_first() {
    let text = "dut recv 64\ndut other recv 64\n> SEND_ONLY psn=0 qp=other ack 64B ip.ecn=ce\nwait 10ms\n\
                > SEND_ONLY psn=0 ack 64B\n< ACK psn=0 msn=1\ndut other completions recv(len=64)";
    let (run, _) = run_on(&mut emulator(""), &[script("must", text)]);
    let case = &run.cases[0];
    assert_eq!((case.verdict, &case.findings[..]), (Verdict::Pass, &[][..]));
}

#[test]
fn a_device_that_takes_a_timeout_of_its_own_is_not_held_to_that_of_its_software() {
    let text = |needs: &str| {
        format!(
            "title = 'A test'\nabout = 'A test.'\nrules = ['rc.requester.ack-timeout']\nlevel = 'must'\n\
             needs = ['rc'{needs}]\nsetup = {{ timeout = 14 }}\nscript = '''\ndut send 64B\n\
             < SEND_ONLY psn=0\n< SEND_ONLY psn=0\n> ACK psn=0 msn=1\n'''\n"
        )
    };
    let cases = ["", ", 'ack-timeout'"].map(|needs| scenario(&text(needs)));
    let mut device = Unwell::new("times-out-early");
    let mut verdicts = || -> Vec<Verdict> {
        let (run, _) = run_on(&mut device, &cases);
        device.profile.capabilities.retain(|capability| capability != "ack-timeout");
        run.cases.iter().map(|case| case.verdict).collect()
    };
    assert_eq!(verdicts(), [Verdict::Fail, Verdict::Fail]);
    assert_eq!(verdicts(), [Verdict::Pass, Verdict::Unsupported]);
}

#[test]
fn a_packet_to_the_other_queue_pair_can_be_cut() {
    let text = "> cut 8 RDMA_READ_REQUEST psn=0 len=64 qp=other\nsilence no probe";
    let (run, _) = run_on(&mut emulator(""), &[script("must", text)]);
    assert_eq!(run.cases[0].verdict, Verdict::Pass, "{}", run.cases[0].reason);
}
