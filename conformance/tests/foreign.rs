//! The devices of `examples/`: somebody's own, in Python and in C, with exact verdicts. They are what
//! `docs/bring-your-own-device.md` begins with.

mod common;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use common::text;
use rocespec_reports::outcome::{Case, Run, Verdict};

fn rocespec(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rocespec")).args(words).current_dir(folder).output().unwrap()
}

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name)
}

/// True where the program is there; says so where it is not.
fn is_there(program: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        common::skipped(&format!("{program} is not there"));
    }
    there
}

/// The device in Python, as `--dut` names it.
fn in_python() -> Option<String> {
    is_there("python3").then(|| format!("exec:python3 {}", example("python/responder.py").display()))
}

/// The device in C, built into this folder.
fn in_c(folder: &Path) -> Option<String> {
    let program = folder.join("responder");
    let source = example("c/responder.c");
    is_there("cc").then(|| {
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-Wall", "-Wextra", "-Werror", "-o"]).arg(&program).arg(source);
        let built = compiler.output().unwrap();
        assert!(built.status.success(), "{}", text(&built.stderr));
        format!("exec:{}", program.display())
    })
}

/// The cases of a run.
fn cases(folder: &Path, words: &[&str]) -> Vec<Case> {
    let output = rocespec(folder, &[&["run", "--json", "run.json"], words].concat());
    let json = std::fs::read(folder.join("run.json")).unwrap_or_default();
    let run: Run = serde_json::from_slice(&json).unwrap_or_else(|_| panic!("{}", text(&output.stderr)));
    run.cases
}

/// Verdicts of the scenarios, each with the first rule that is broken. All variants of one agree.
fn verdicts(cases: &[Case]) -> BTreeMap<&str, (Verdict, Option<&str>)> {
    let mut verdicts = BTreeMap::new();
    for case in cases {
        let seen = (case.verdict, case.findings.first().map(|finding| finding.rule.as_str()));
        let first = *verdicts.entry(case.scenario.as_str()).or_insert(seen);
        assert_eq!(first, seen, "{}", case.id());
    }
    verdicts
}

/// What both can do.
const BOTH: [&str; 6] = [
    "icrc/bad",
    "memory/range-end-write",
    "rc/responder/duplicate-send",
    "rc/responder/duplicate-write",
    "rc/responder/rnr-nak",
    "rc/responder/send",
];

#[test]
fn the_device_in_python_passes_what_it_can_and_fails_for_its_fault() {
    let folder = tempfile::tempdir().unwrap();
    let Some(dut) = in_python() else { return };
    let words = [&BOTH[..], &["rc/responder/psn-gap", "rc/responder/read-segmentation", "uc/responder", "--dut", &dut]];
    let cases = cases(folder.path(), &words.concat());
    let verdicts = verdicts(&cases);
    let gap = "rc.responder.one-nak-per-gap";
    assert_eq!(verdicts["rc/responder/psn-gap"], (Verdict::Fail, Some(gap)));
    assert_eq!(verdicts["rc/responder/read-segmentation"], (Verdict::Pass, None));
    for scenario in BOTH {
        assert_eq!(verdicts[scenario], (Verdict::Pass, None), "{scenario}");
    }
    for (scenario, (verdict, _)) in &verdicts {
        assert_eq!(*verdict == Verdict::Unsupported, scenario.starts_with("uc/"), "{scenario}: {verdict:?}");
    }
}

#[test]
fn the_device_in_c_passes_what_it_can_and_fails_for_its_fault() {
    let folder = tempfile::tempdir().unwrap();
    let Some(dut) = in_c(folder.path()) else { return };
    let words = [&BOTH[..], &["rc/responder/psn-gap", "memory/rights-write", "--dut", &dut]].concat();
    let cases = cases(folder.path(), &words);
    let v4: Vec<Case> = cases.into_iter().filter(|case| case.variant.get("ip").is_none_or(|ip| ip == "v4")).collect();
    let verdicts = verdicts(&v4);
    assert_eq!(verdicts["memory/rights-write"], (Verdict::Fail, Some("rc.responder.rights")));
    assert_eq!(verdicts["rc/responder/psn-gap"], (Verdict::Pass, None));
    for scenario in BOTH {
        assert_eq!(verdicts[scenario], (Verdict::Pass, None), "{scenario}");
    }
}

#[test]
fn a_device_without_a_control_channel_plays_what_its_file_allows() {
    let folder = tempfile::tempdir().unwrap();
    let Some(dut) = in_python() else { return };
    let qp = example("python/qp.toml").display().to_string();
    let words = ["bth/reserved-opcode-0x18", "rc/responder/ack-fields[ip=v4]", "rc/responder/psn-gap[ip=v4]"];
    let cases = cases(folder.path(), &[&words[..], &["--dut", &dut, "--qp", &qp]].concat());
    let verdict = |id: &str| {
        let case = cases.iter().find(|case| case.id() == id).unwrap();
        (case.verdict, case.reason.as_str())
    };
    assert_eq!(verdict("bth/reserved-opcode-0x18[ip=v4]"), (Verdict::Pass, ""));
    assert_eq!(verdict("rc/responder/ack-fields[ip=v4,start_psn=0x000000]"), (Verdict::Pass, ""));
    for (id, lacking) in [
        ("bth/reserved-opcode-0x18[ip=v6]", "4 receives of 4096 bytes"),
        ("rc/responder/ack-fields[ip=v4,start_psn=0xfffffe]", "the file names no unused queue pair"),
        ("rc/responder/psn-gap[ip=v4,start_psn=0x000000]", "`dut completions"),
    ] {
        let (verdict, reason) = verdict(id);
        assert_eq!(verdict, Verdict::Unsupported, "{id}");
        assert!(reason.contains(lacking), "{id}: {reason}");
    }
}

#[test]
fn a_device_that_dies_is_a_crash_with_its_last_words_and_is_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let Some(dut) = in_python() else { return };
    let program = std::fs::read_to_string(example("python/responder.py")).unwrap();
    let dies = program.replace(
        "        if qp is None or qp.state",
        "        if opcode == 0x1b:\n            sys.exit('dying of it')\n        if qp is None or qp.state",
    );
    assert_ne!(dies, program);
    std::fs::write(folder.path().join("dies.py"), dies).unwrap();
    let dut = dut.replace(&example("python/responder.py").display().to_string(), "dies.py");
    let words = ["bth/reserved-opcode-0x1b[ip=v4]", "rc/responder/send[ip=v4]", "--dut", &dut];
    let cases = cases(folder.path(), &words);
    let (dead, alive): (Vec<&Case>, _) = cases.iter().partition(|case| case.scenario.starts_with("bth/"));
    assert!(!dead.is_empty() && !alive.is_empty());
    for case in dead {
        assert_eq!(case.verdict, Verdict::Crash);
        let finding = &case.findings[0];
        assert!(finding.seen.contains("exit status: 1") && finding.seen.contains("dying of it"), "{}", finding.seen);
    }
    for case in alive {
        assert_eq!(case.verdict, Verdict::Pass, "{}", case.id());
    }
}

/// What was started is ended, whatever a test says.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_emulator_behind_two_sockets_has_the_verdicts_of_the_emulator() {
    let folder = tempfile::tempdir().unwrap();
    let wire = folder.path().join("wire");
    let emulate = ["emulate", "emulator:accepts-bad-icrc", "--on", &format!("unix:{}", wire.display())];
    let mut emulate =
        Command::new(env!("CARGO_BIN_EXE_rocespec")).args(emulate).stdout(Stdio::piped()).spawn().unwrap();
    let said = BufReader::new(emulate.stdout.take().unwrap());
    let _emulate = Started(emulate);
    let command = said.lines().map_while(Result::ok).find(|line| line.contains("--dut socket:"));
    let command = command.expect("it says how to test it");
    let dut = command.split_whitespace().last().unwrap().trim_matches('\'');
    let areas = ["icrc", "ud/responder", "rc/requester/go-back-n"];
    let over_sockets = cases(folder.path(), &[&areas[..], &["--dut", dut, "--jobs", "4"]].concat());
    let in_process = cases(folder.path(), &[&areas[..], &["--dut", "emulator:accepts-bad-icrc"]].concat());
    let of = |cases: &[Case]| cases.iter().map(|case| (case.id(), case.verdict)).collect::<BTreeMap<String, Verdict>>();
    assert_eq!(of(&over_sockets), of(&in_process));
    assert!(in_process.iter().any(|case| case.verdict == Verdict::Fail));
    assert!(in_process.iter().any(|case| case.verdict == Verdict::Pass));
}

#[test]
fn a_command_that_is_no_device_exits_with_2_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let said = |command: &str| {
        let output = rocespec(folder.path(), &["run", "bth", "--dut", &format!("exec:{command}")]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
        text(&output.stderr).to_owned()
    };
    let ended = said("echo on the way out; exit 3");
    assert!(ended.contains("exit status: 3") && ended.contains("on the way out"), "{ended}");
    assert!(said("no-such-program-at-all").contains("not found"));
    assert!(said("").contains("which command"));
}
