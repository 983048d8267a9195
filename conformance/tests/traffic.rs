//! Real traffic over a link with faults: what is recorded, and what a run says when something is wrong.

mod common;

use common::{emulator, options, run_on, script};
use rocespec::run::{Options, plan, run};
use rocespec::scenario::Scenario;
use rocespec_reports::outcome::{Actor, Case, Verdict};

fn traffic(text: &str) -> Scenario {
    script("must", &format!("peer model\n{text}"))
}

fn case_on(behaviours: &str, scenario: Scenario) -> Case {
    run_on(&mut emulator(behaviours), &[scenario]).0.cases.remove(0)
}

#[test]
fn a_fault_that_meets_no_packet_gives_no_verdict() {
    let text = "peer recv 64\nlink drop from=dut opcode=SEND_ONLY psn=7\ndut send 64B\ndut completions send";
    let case = case_on("", traffic(text));
    assert_eq!(case.verdict, Verdict::Inconclusive);
    assert!(case.reason.contains("line 8: no packet met this fault"), "{}", case.reason);
}

#[test]
fn a_peer_that_ends_in_error_is_a_finding_unless_the_script_says_so() {
    let text = "peer mr box 64 local_write remote_write\ndut rdma_write 64B va=box rkey=0x1\n\
                dut completions rdma_write(status=rem_access_err)";
    let case = case_on("", traffic(text));
    assert_eq!(case.verdict, Verdict::Fail);
    let finding = &case.findings[0];
    assert_eq!(finding.seen, "its queue pair in ERROR");
    assert!(finding.why.contains("nak_sent 1"), "{}", finding.why);
    assert_eq!(case_on("", traffic(&format!("{text}\npeer qp error"))).verdict, Verdict::Pass);
}

#[test]
fn the_trace_is_that_of_the_devices_port() {
    let text = "peer recv 64\ndut recv 64\nlink drop from=dut opcode=SEND_ONLY count=1\nlink drop from=peer opcode=SEND_ONLY count=1\n\
                dut send 64B\npeer send 64B\ndut completions send|recv:2\npeer completions send|recv:2";
    let (run, files) = run_on(&mut emulator(""), &[traffic(text)]);
    let case = &run.cases[0];
    assert_eq!(case.verdict, Verdict::Pass, "{}", case.reason);
    let sends = |actor| {
        let is_send = |text: &str| text.starts_with("SEND_ONLY psn=0 ack 64B");
        case.trace.iter().filter(|line| line.actor == actor && line.frame.is_some() && is_send(&line.text)).count()
    };
    assert_eq!((sends(Actor::Device), sends(Actor::Tester)), (2, 1), "what never arrived is no frame of this port");
    let said = |what: &str| case.trace.iter().filter(|line| line.frame.is_none() && line.text.contains(what)).count();
    assert_eq!(said("link, to the peer: the packet above is lost"), 1);
    assert_eq!(said("link, to the device: SEND_ONLY psn=0 ack 64B is lost"), 1);
    let packets = rocespec::capture::Reader::new(&files[0][..]).count();
    assert_eq!(packets, case.trace.iter().filter(|line| line.frame.is_some()).count());
}

#[test]
fn what_happens_at_random_follows_from_the_seed() {
    let mut scenario = traffic(
        "peer mr box 65536 local_write remote_write\nlink loss 10%\ndut rdma_write 65536 va=box\ndut completions rdma_write",
    );
    scenario.setup.timeout = 14;
    let frames = |seed| {
        let planned = plan(std::slice::from_ref(&scenario), &[], false).unwrap();
        let mut file = Vec::new();
        let run =
            run(&mut emulator(""), &planned, &Options { seed, ..options() }, &mut |done| file = done.pcapng.clone());
        assert_eq!(run.cases[0].verdict, Verdict::Pass, "{}", run.cases[0].reason);
        assert!(run.cases[0].trace.iter().any(|line| line.text.ends_with("is lost")));
        file
    };
    assert_eq!(frames(1), frames(1));
    assert_ne!(frames(1), frames(2));
}

#[test]
fn traffic_without_end_comes_to_one() {
    let text = "link drop from=dut\ndut send 64B\ndut completions send(status=retry_exc_err)";
    let mut scenario = traffic(text);
    scenario.setup.timeout = 1;
    assert_eq!(case_on("", scenario.clone()).verdict, Verdict::Pass);
    let case = case_on("retries-without-end", scenario);
    assert_eq!(case.verdict, Verdict::Fail);
    assert_eq!(case.findings[0].seen, "more than 50000 packets");
}

#[test]
fn what_the_link_still_holds_is_not_the_devices_fault() {
    let text = "peer mr box 64 remote_read\nlink delay 2s\ndut rdma_read 3 x 64 va=box\ndut completions rdma_read:3";
    let mut scenario = traffic(text);
    (scenario.setup.timeout, scenario.setup.max_rd_atomic) = (0, 1);
    let case = case_on("", scenario.clone());
    assert_eq!(case.verdict, Verdict::Inconclusive, "{}", case.reason);
    assert!(case.reason.contains("still on their way"), "{}", case.reason);
    let shorter = traffic(&text.replace("3 x", "2 x").replace(":3", ":2"));
    let mut shorter = Scenario { setup: scenario.setup, ..shorter };
    shorter.setup.max_rd_atomic = 2;
    let case = case_on("", shorter);
    assert_eq!(case.verdict, Verdict::Pass, "{}", case.reason);
}
