//! Captures from the field, which lie beside some checkouts only: each is judged as it was understood by hand. Where
//! they are not there, their tests say that they were skipped.

mod common;

use std::process::{Command, Output};

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;

/// The exit code of `rocespec check` and what it says of a file.
fn check(file: &str, words: &[&str]) -> (Option<i32>, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rocespec"));
    let Output { status, stdout, .. } =
        command.arg("check").arg(common::field(file)).args(["--format", "json"]).args(words).output().unwrap();
    let examination: Value = serde_json::from_slice(&stdout).unwrap_or_default();
    (status.code(), examination["files"][0].clone())
}

/// Rule, frame and level of what was found, in the order in which it is told; of connections first.
fn found(file: &Value) -> Vec<String> {
    let of_connections = file["connections"].as_array().into_iter().flatten().map(|connection| &connection["findings"]);
    let all = of_connections.chain([&file["loose"]]).filter_map(|found| found["first"].as_array()).flatten();
    let line = |finding: &Value| {
        let text = |name: &str| finding[name].as_str().unwrap_or_default().to_owned();
        format!("{} {} {}", text("level"), text("rule"), finding["frame"])
    };
    all.map(line).collect()
}

fn expect(is_right: bool, file: &Value) -> Result<(), Failed> {
    if is_right { Ok(()) } else { Err(format!("{}\n{file:#}", found(file).join("\n")).into()) }
}

/// Findings of a rule, by frame and level.
fn of_rule(file: &Value, rule: &str) -> Vec<String> {
    found(file).into_iter().filter(|line| line.split(' ').nth(1) == Some(rule)).collect()
}

fn main() {
    let trials = [
        trial("rping-one-iteration.pcap", || {
            let (code, file) = check("rping-one-iteration.pcap", &[]);
            expect(code == Some(0) && found(&file).is_empty(), &file)
        }),
        trial("rping-1400-bytes-userspace-responder.pcap", || {
            let (code, file) = check("rping-1400-bytes-userspace-responder.pcap", &["--judge", "192.0.2.2"]);
            let is_right = code == Some(1) && of_rule(&file, "rc.responder.msn") == ["must rc.responder.msn 12"];
            expect(is_right, &file)?;
            let (code, file) = check("rping-1400-bytes-userspace-responder.pcap", &["--judge", "192.0.2.1"]);
            expect(code == Some(0) && found(&file).is_empty(), &file)
        }),
        trial("rping-2400-bytes-stall.pcap", || {
            let (code, file) = check("rping-2400-bytes-stall.pcap", &[]);
            let first = found(&file).first().cloned();
            expect(code == Some(1) && first.as_deref() == Some("must rc.requester.read-psns 10"), &file)
        }),
        trial("a scenario from rping-2400-bytes-stall.pcap", || {
            let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_rocespec"))
                .arg("scenario")
                .arg(common::field("rping-2400-bytes-stall.pcap"))
                .output()
                .unwrap();
            let (script, said) = (common::text(&stdout), common::text(&stderr));
            let is_right = status.success()
                && script.contains("dut rdma_read 2400")
                && script.contains("< SEND_ONLY psn=3 16B=00")
                && said.contains("the captured device broke rc.requester.");
            if is_right { Ok(()) } else { Err(format!("{said}\n{script}").into()) }
        }),
        // The tester's side sends wrong packets on purpose; the device does all that a capture can tell rightly.
        trial("rxe-6.1-cases.pcap", || {
            let (code, file) = check("rxe-6.1-cases.pcap", &["--judge", "192.168.77.2"]);
            expect(code == Some(0) && of_rule(&file, "rc.responder.msn").is_empty(), &file)?;
            let (code, file) = check("rxe-6.1-cases.pcap", &["--judge", "192.168.77.1"]);
            expect(code == Some(1) && of_rule(&file, "rc.requester.write-length").len() == 1, &file)
        }),
        trial("rxe-6.1-ipv6-uc-wrap-mtu4096.pcap", || {
            let device = ["--judge", "192.168.77.2", "--judge", "fe80::5054:ff:feaa:2"];
            let (code, file) = check("rxe-6.1-ipv6-uc-wrap-mtu4096.pcap", &device);
            expect(code == Some(0), &file)
        }),
        trial("pfc-and-pause-unpadded.pcap", || {
            let (code, file) = check("pfc-and-pause-unpadded.pcap", &[]);
            let pauses = file["pauses"][0]["classes"].as_object().map_or(0, serde_json::Map::len);
            let is_named = file["faults"][0]["kind"] == "pause-and-pfc";
            expect(code == Some(0) && found(&file).is_empty() && pauses == 7 && is_named, &file)
        }),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials.into()).exit();
}

/// A test of the capture with which its name ends.
fn trial(name: &'static str, test: fn() -> Result<(), Failed>) -> Trial {
    let is_there = name.rsplit(' ').next().is_some_and(|file| common::field(file).exists());
    let kind = if is_there { "" } else { "skipped: no folder with captures lies beside the checkout" };
    Trial::test(name, test).with_kind(kind).with_ignored_flag(!is_there)
}
