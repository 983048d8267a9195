//! A run that holds every verdict, for the tests; and what a page of the docs says of a form.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::outcome::{Actor, Case, Device, Finding, Level, Observation, Rule, Run, SCHEMA, TraceLine, Verdict};

const SCRIPT: &str = "\
dut  recv 4 x 4096
>    SEND_ONLY psn=0 ack 64B
<    ACK psn=0 msn=1                              within 100ms
>    SEND_ONLY psn=2 ack 64B                      # psn 1 is missing
<    NAK psn=1 msn=1 code=psn_sequence_error      within 100ms
";

pub(crate) fn run() -> Run {
    Run {
        schema: SCHEMA,
        tool: "rocespec 0.1.0".into(),
        device: Device { dut: "rxe:6.1".into(), profile: "rxe".into(), system: "Linux 6.1.0".into() },
        pair: None,
        seed: 7,
        command: "rocespec run rc 'ud<gsi' --dut rxe:6.1 --seed 7".into(),
        filter: vec!["rc".into(), "ud<gsi".into()],
        complete: false,
        rules: vec![rule()],
        observations: vec![Observation {
            subject: "queue pair numbers".into(),
            seen: "8 seen: each is 0x1 above another one".into(),
        }],
        cases: vec![pass(), inconclusive(), gap(), loose(), xfail(), xpass(), crash(), unsupported()],
    }
}

fn rule() -> Rule {
    Rule {
        id: "rc.responder.gap-nak".into(),
        level: Level::Must,
        statement: "A request behind a gap is answered by one NAK.".into(),
        source: "C9-1 (sample)".into(),
    }
}

fn case(scenario: &str, title: &str, rule: &str, verdict: Verdict, reason: &str) -> Case {
    Case {
        scenario: scenario.into(),
        variant: BTreeMap::new(),
        title: title.into(),
        about: String::new(),
        level: Level::Must,
        rules: vec![rule.into()],
        verdict,
        reason: reason.into(),
        findings: Vec::new(),
        file: format!("{scenario}.toml"),
        script: String::new(),
        script_line: 0,
        trace: Vec::new(),
        golden: None,
        duration_ns: 1_500_000,
        pcapng: None,
        repeat: format!("rocespec run {scenario} --dut rxe:6.1 --seed 7"),
    }
}

fn line(time_ns: u64, actor: Actor, line: u32, frame: Option<u32>, text: &str) -> TraceLine {
    TraceLine { time_ns, actor, text: text.into(), line: Some(line), frame, bytes: None }
}

fn pass() -> Case {
    let mut case = case("cc/cnp/spacing", "CNPs keep their distance", "cc.cnp.spacing", Verdict::Pass, "");
    case.variant.insert("ip".into(), "v6".into());
    case.script = ">    SEND_ONLY psn=0 ip.ecn=ce 64B\n<    CNP within 1ms\n".into();
    case.script_line = 6;
    case.trace = vec![
        line(0, Actor::Tester, 6, Some(1), "SEND_ONLY psn=0 64B ip.ecn=ce"),
        line(4_096, Actor::Device, 7, Some(2), "CNP becn"),
    ];
    case
}

fn inconclusive() -> Case {
    case(
        "rc/requester/retry",
        "A lost request is sent again",
        "rc.requester.retry",
        Verdict::Inconclusive,
        "our own recording lost 3 frames",
    )
}

/// Nothing came where something had to: there is no frame to point at.
pub(crate) fn gap() -> Case {
    let mut case = case(
        "rc/responder/psn-gap",
        "A PSN gap is answered by one NAK until the gap is filled",
        "rc.responder.one-nak-per-gap",
        Verdict::Fail,
        "no NAK came within 100 ms",
    );
    case.variant = [("ip", "v6"), ("start_psn", "0xfffffe")].map(|(k, v)| (k.into(), v.into())).into();
    case.script = SCRIPT.into();
    case.script_line = 8;
    case.trace = vec![
        line(0, Actor::Software, 8, None, "recv 4 x 4096"),
        line(10_000, Actor::Tester, 9, Some(1), "SEND_ONLY psn=0 ack 64B"),
        line(32_000, Actor::Device, 10, Some(2), "ACK psn=0 msn=1 credits=31"),
        line(1_010_000, Actor::Tester, 11, Some(3), "SEND_ONLY psn=2 ack 64B"),
    ];
    case.findings = vec![Finding {
        rule: "rc.responder.gap-nak".into(),
        level: Level::Must,
        device: None,
        line: Some(12),
        frame: None,
        packet: None,
        time_ns: 101_010_000,
        expected: "NAK psn=1 msn=1 code=psn_sequence_error within 100ms".into(),
        seen: "nothing for 100ms".into(),
        why: "The requester waits for its timeout instead of filling the gap at once, \
              so one lost packet costs milliseconds."
            .into(),
    }];
    case.pcapng = Some("frames/rc.responder.psn-gap[ip=v6,start_psn=0xfffffe].pcapng".into());
    case.repeat = "rocespec run 'rc/responder/psn-gap[ip=v6,start_psn=0xfffffe]' --dut rxe:6.1 --seed 7".into();
    case
}

fn loose() -> Case {
    let mut case = case(
        "rc/responder/credits",
        "An ACK tells how many receives are left",
        "rc.responder.credits",
        Verdict::Loose,
        "credits are not given",
    );
    case.level = Level::Should;
    case.findings = vec![Finding {
        rule: "rc.responder.credits".into(),
        level: Level::Should,
        device: None,
        line: None,
        frame: Some(2),
        packet: Some("ACK psn=0 msn=1 credits=31".into()),
        time_ns: 32_000,
        expected: "credits=1".into(),
        seen: "credits=31 (invalid: none given)".into(),
        why: "Without credits the requester runs into RNR NAKs.".into(),
    }];
    case
}

fn xfail() -> Case {
    case(
        "rc/responder/ghost-ack",
        "An ACK for a PSN not yet sent is dropped",
        "rc.requester.ghost-ack",
        Verdict::Xfail,
        "takes ACKs from the future (kernel before 6.4)",
    )
}

fn xpass() -> Case {
    case(
        "rc/responder/rnr",
        "An empty receive queue is answered by an RNR NAK",
        "rc.responder.rnr",
        Verdict::Xpass,
        "passes although the profile says: no RNR NAK for writes with immediate",
    )
}

/// The offending frame lies in the middle of a long trace.
pub(crate) fn crash() -> Case {
    let mut case = case(
        "ud/gsi/bad-length",
        "A datagram longer than the receive is dropped",
        "ud.responder.length",
        Verdict::Crash,
        "no answer to a probe after frame 10",
    );
    case.script = (0..40).map(|n| format!(">    UD_SEND_ONLY psn={n} {}B\n", n * 4)).collect();
    case.script_line = 11;
    case.trace = (0..40u32)
        .map(|n| {
            line(u64::from(n) * 20_000, Actor::Tester, 11 + n, Some(n + 1), &format!("UD_SEND_ONLY psn={n} {}B", n * 4))
        })
        .collect();
    case.findings = ["ud.responder.length", "any.alive", "any.alive", "any.alive", "any.alive"]
        .iter()
        .zip(10..)
        .map(|(rule, frame)| Finding {
            rule: (*rule).into(),
            level: Level::Must,
            device: None,
            line: Some(10 + frame),
            frame: Some(frame),
            packet: None,
            time_ns: u64::from(frame) * 20_000,
            expected: "one of:\n  silence\n  a completion with a length error".into(),
            seen: "console: \x1b[31mBUG: unable to handle page fault\x1b[0m".into(),
            why: "A frame from the wire may never bring the device down.".into(),
        })
        .collect();
    case
}

fn unsupported() -> Case {
    case(
        "ud/multicast/attach",
        "A datagram to the group arrives",
        "ud.multicast.deliver",
        Verdict::Unsupported,
        "the device lacks: multicast",
    )
}

/// The names in the first column of the table below a heading of a page of the docs.
pub(crate) fn documented(page: &str, heading: &str) -> BTreeSet<String> {
    let section = page.split("\n## ").find(|section| section.starts_with(&format!("{heading}\n")));
    let rows = section.unwrap_or_else(|| panic!("no heading {heading}")).lines();
    rows.filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned())).collect()
}

/// The fields of an object in its JSON form.
pub(crate) fn fields(value: &impl Serialize) -> BTreeSet<String> {
    let value = serde_json::to_value(value).unwrap();
    value.as_object().unwrap().keys().cloned().collect()
}
