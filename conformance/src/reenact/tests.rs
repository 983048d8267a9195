//! Captures that the emulator itself made, played again.

use rocespec_codec::{Frame, Net, Roce, decode};
use rocespec_model::Defect;
use rocespec_reports::outcome::Verdict;

use super::*;
use crate::capture::Reader;
use crate::profile::Profile;
use crate::run::{Done, Options, plan, run};
use crate::scenario::{self, Scenario};

fn emulator(behaviours: &str) -> Emulator {
    let profile = Profile::parse("emulator", include_str!("../../../fixtures/profiles/emulator.toml")).unwrap();
    Emulator::named(behaviours, profile).unwrap()
}

/// Runs the first usual variant.
fn play(scenario: &Scenario, behaviours: &str) -> (Verdict, Vec<u8>, String) {
    let scenarios = std::slice::from_ref(scenario);
    let planned = plan(scenarios, &[], false).unwrap();
    let options = Options { seed: 1, dut: "test".to_owned(), repeat: String::new(), jobs: 1, counters: false };
    let mut played = None;
    run(&mut emulator(behaviours), &planned[..1], &options, &mut |done: &mut Done| {
        let findings = format!("{:?}", done.case.findings);
        played = Some((done.case.verdict, done.pcapng.clone(), findings));
    });
    played.unwrap()
}

fn scenario(script: &str) -> Scenario {
    let header = "title = 't'\nabout = 'a'\nrules = ['rc.responder.ack']\nlevel = 'must'\nneeds = ['rc', 'atomic']\n";
    scenario::parse("t.toml", "t", &format!("{header}script = '''\n{script}\n'''\n"))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn is_from_device(packet: &Roce<'_>) -> bool {
    match packet.net {
        Net::V4(ip) => ip.src.octets()[3] == 2,
        Net::V6(ip) | Net::Grh(ip) => ip.src.octets()[15] == 2,
    }
}

/// The connection in a file of a case. `None` when its packets are of several.
fn exchange(pcapng: &[u8]) -> Option<Exchange> {
    let mut exchange = Exchange {
        file: "case.pcapng".to_owned(),
        connection: 1,
        transport: Transport::Rc,
        ends: [0, 1].map(|_| End { address: Ipv6Addr::UNSPECIFIED, qpn: Qpn::default(), start: None }),
        device: 1,
        network: Network::V4,
        mtu: None,
        guessed: false,
        heard: Vec::new(),
        beyond: 0,
        unreadable: 0,
    };
    for captured in Reader::new(pcapng) {
        let captured = captured.unwrap();
        let Ok(Frame::Roce(packet)) = decode(&captured.data) else { continue };
        let from = usize::from(is_from_device(&packet));
        let to = &mut exchange.ends[1 - from];
        if to.qpn != Qpn::default() && to.qpn != packet.bth.dest_qp {
            return None;
        }
        (to.qpn, to.address) = (packet.bth.dest_qp, packet.net.dst_gid());
        exchange.ends[from].address = packet.net.src_gid();
        exchange.network = match packet.net {
            Net::V4(_) => Network::V4,
            Net::V6(_) => Network::V6,
            Net::Grh(_) => Network::V1,
        };
        exchange.heard.push(Heard::new((captured.number, captured.time_ns), from, &packet, packet.payload.len())?);
    }
    Some(exchange)
}

fn made(exchange: &Exchange) -> Result<Made, NotPlayed> {
    make(exchange, 500, &|| emulator(""))
}

/// The verdict of a device on a scenario that was made.
fn verdict(made: &Made, behaviours: &str) -> (Verdict, String) {
    let scenario = scenario::parse("made.toml", "made", &made.text).unwrap_or_else(|error| panic!("{error}"));
    let (verdict, _, findings) = play(&scenario, behaviours);
    (verdict, findings)
}

/// What the emulator did in the cases of the catalogue comes out as scenarios that it passes.
#[test]
fn captures_of_the_emulator_become_scenarios_that_it_passes() {
    let catalogue = scenario::catalogue().unwrap();
    let is_simple = |scenario: &&Scenario| {
        let id = &scenario.id;
        (id.starts_with("rc/responder/") || id.starts_with("rc/requester/") || id.starts_with("memory/"))
            && !scenario.has_peer()
            && !scenario.script.contains("dut other")
    };
    let (mut good, mut failed) = (0, Vec::new());
    for scenario in catalogue.iter().filter(is_simple) {
        let (verdict, pcapng, _) = play(scenario, "");
        if verdict != Verdict::Pass {
            continue;
        }
        let Some(exchange) = exchange(&pcapng) else { continue };
        match made(&exchange) {
            Ok(made) if made.rules.is_empty() => good += 1,
            Ok(made) => failed.push(format!("{}: the emulator broke {:?}", scenario.id, made.rules)),
            Err(NotPlayed::Nothing | NotPlayed::NothingToExpect) => {}
            Err(error) => failed.push(format!("{}: {error}", scenario.id)),
        }
    }
    assert!(failed.is_empty(), "{} of {}:\n{}", failed.len(), good + failed.len(), failed.join("\n"));
    assert!(good > 40, "only {good}");
}

/// The capture of a device with a defect becomes a scenario that a right device passes and that one fails.
fn tells(defect: Defect, script: &str, rule: Option<&str>) -> String {
    let (_, pcapng, _) = play(&scenario(script), defect.name());
    let made = made(&exchange(&pcapng).unwrap()).unwrap_or_else(|error| panic!("{defect}: {error}"));
    assert_eq!(made.rules.first().copied(), rule, "{}", made.text);
    let (right, findings) = verdict(&made, "");
    assert_eq!(right, Verdict::Pass, "{findings}\n{}", made.text);
    let (wrong, _) = verdict(&made, defect.name());
    assert_eq!(wrong, Verdict::Fail, "{}", made.text);
    made.text
}

#[test]
fn a_fault_of_the_captured_device_is_noted_and_a_right_one_passes() {
    let text = tells(
        Defect::RepeatsGapNak,
        "dut recv 4 x 64\n> SEND_ONLY psn=0 ack 64B\n< ACK psn=0\n> SEND_ONLY psn=2 ack 64B\n< NAK psn=1\n> SEND_ONLY psn=3 ack 64B\nwait 10ms\n",
        Some("rc.responder.one-nak-per-gap"),
    );
    assert!(text.contains("# rc.responder.one-nak-per-gap: frame 6: the device sent NAK psn=1"), "{text}");
}

#[test]
fn a_request_with_a_psn_of_a_read_is_noted() {
    let scenario = scenario(
        "dut rdma_read 2400\n< RDMA_READ_REQUEST psn=0\n> RDMA_READ_RESPONSE_FIRST psn=0 msn=1 1024B\n> RDMA_READ_RESPONSE_MIDDLE psn=1 1024B\n\
         > RDMA_READ_RESPONSE_LAST psn=2 msn=1 352B\ndut send 16B\n< SEND_ONLY psn=3\n> ACK psn=3 msn=2\n",
    );
    let (_, pcapng, _) = play(&scenario, "");
    let mut exchange = exchange(&pcapng).unwrap();
    let right = made(&exchange).unwrap();
    assert!(right.rules.is_empty() && right.text.contains("< SEND_ONLY psn=3 16B"), "{}", right.text);
    let at = exchange.heard.iter().rposition(|heard| heard.from == 1).unwrap();
    let mut send = exchange.heard[at].packet();
    send.bth.psn = send.bth.psn.minus(1);
    rocespec_codec::field::complete(&mut send, |_| false);
    exchange.heard[at] = Heard::new((5, 0), 1, &send, 16).unwrap();
    let wrong = made(&exchange).unwrap();
    assert_eq!(wrong.rules, ["rc.requester.read-psns"], "{}", wrong.text);
    assert!(
        wrong.text.contains("the device sent SEND_ONLY psn=2 ack 16B: expected psn=3, seen psn=2"),
        "{}",
        wrong.text
    );
    assert!(wrong.text.contains("< SEND_ONLY psn=3 16B @rc.requester.read-psns"), "{}", wrong.text);
}
