use rocespec_codec::Opcode;
use rocespec_model::{AckWhen, CreditPolicy, ExcessReads, Policy};

use crate::harness::{Lab, MTU, Options, Req, lab_with, req};

fn with(policy: Policy) -> Lab {
    lab_with(|options| options.policy = policy)
}

fn message() -> [Req; 2] {
    [req(Opcode::RC_SEND_FIRST, 0).len(MTU).no_ack(), req(Opcode::RC_SEND_LAST, 1).len(4).no_ack()]
}

#[test]
fn acks_may_come_unasked() {
    assert_eq!(with(Policy::PLAIN).send_all(message()), [""; 0]);
    let every_message = Policy { ack: AckWhen::EveryMessage, ..Policy::PLAIN };
    assert_eq!(with(every_message).send_all(message()), ["ACK 1 msn=1"]);
    let every_packet = Policy { ack: AckWhen::EveryPacket, ..Policy::PLAIN };
    assert_eq!(with(every_packet).send_all(message()), ["ACK 0 msn=0", "ACK 1 msn=1"]);
}

#[test]
fn one_ack_may_stand_for_several_that_wait() {
    let mut lab = with(Policy { coalesce: 3, ..Policy::PLAIN });
    assert_eq!(lab.burst((0..4).map(|psn| req(Opcode::RC_SEND_ONLY, psn))), ["ACK 2 msn=3", "ACK 3 msn=4"]);
}

#[test]
fn acks_are_not_coalesced_across_a_read() {
    let mut lab = with(Policy { coalesce: 9, ..Policy::PLAIN });
    let answers = lab.burst([
        req(Opcode::RC_SEND_ONLY, 0),
        req(Opcode::RC_RDMA_READ_REQUEST, 1).to(0, 4),
        req(Opcode::RC_SEND_ONLY, 2),
    ]);
    assert_eq!(answers, ["ACK 0 msn=1", "ONLY 1 msn=2 4B", "ACK 2 msn=3"]);
}

#[test]
fn credits_count_the_posted_receives() {
    let credits = |receives| {
        let policy = Policy { credits: CreditPolicy::Given, ..Policy::PLAIN };
        Lab::new(Options { receives, policy, ..Options::default() }).send(req(Opcode::RC_SEND_ONLY, 0))
    };
    // Codes, not counts: 5 stands for 6 receives and also for 7.
    assert_eq!(credits(1), ["ACK 0 msn=1 credits=0"]);
    assert_eq!(credits(6), ["ACK 0 msn=1 credits=4"]);
    assert_eq!(credits(8), ["ACK 0 msn=1 credits=5"]);
}

#[test]
fn more_reads_than_granted_may_be_refused() {
    let reads = || (0..5).map(|psn| req(Opcode::RC_RDMA_READ_REQUEST, psn).to(0, 4));
    assert_eq!(with(Policy::PLAIN).burst(reads()).len(), 5);
    let mut strict = with(Policy { excess_reads: ExcessReads::Nak, ..Policy::PLAIN });
    assert_eq!(strict.burst(reads()).last().unwrap(), "NAK 4 msn=4 invalid_request");
    let mut one_by_one = with(Policy { excess_reads: ExcessReads::Nak, ..Policy::PLAIN });
    assert_eq!(one_by_one.send_all(reads()).last().unwrap(), "ONLY 4 msn=5 4B");
}

#[test]
fn a_read_that_the_network_doubled_is_none_too_many() {
    let mut strict = with(Policy { excess_reads: ExcessReads::Nak, ..Policy::PLAIN });
    let doubled = [0, 0, 1, 2, 3].map(|psn| req(Opcode::RC_RDMA_READ_REQUEST, psn).to(0, 4));
    assert_eq!(strict.burst(doubled).last().unwrap(), "ONLY 3 msn=4 4B");
}

#[test]
fn presets_have_names_of_their_own() {
    let mut names: Vec<_> = Policy::PRESETS.iter().map(|(name, _)| *name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Policy::PRESETS.len());
    assert_eq!(Policy::named("plain"), Some(Policy::default()));
    assert_eq!(Policy::named("none"), None);
}

#[test]
fn every_freedom_is_taken_by_some_preset() {
    // A field a line.
    let fields = |policy: &Policy| format!("{policy:#?}").lines().map(str::to_owned).collect::<Vec<_>>();
    let presets: Vec<_> = Policy::PRESETS.iter().map(|(_, policy)| fields(policy)).collect();
    for (at, plain) in fields(&Policy::PLAIN).iter().enumerate().filter(|(_, line)| line.contains(':')) {
        assert!(presets.iter().any(|preset| preset[at] != *plain), "{plain}");
    }
}
