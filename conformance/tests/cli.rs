//! The binary as a user meets it: exit codes, messages, files.

use std::path::Path;
use std::process::{Command, Output};

fn rocespec(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rocespec")).args(words).current_dir(folder).output().unwrap()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_run_writes_a_report_and_exits_with_0() {
    let place = folder();
    let output = rocespec(place.path(), &["run", "rc/responder/psn-gap"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains(" pass"), "{}", text(&output.stdout));
    for file in ["index.html", "cases", "report.json", "junit.xml", "report.txt", "frames"] {
        assert!(place.path().join("report").join(file).exists(), "{file}");
    }
    let frames = std::fs::read_dir(place.path().join("report/frames")).unwrap().count();
    assert!(frames > 0);
}

#[test]
fn a_defect_exits_with_1_and_says_how_to_repeat_it() {
    let place = folder();
    let output = rocespec(place.path(), &["run", "rc/responder/psn-gap", "--dut", "emulator:ignores-psn-gap"]);
    assert_eq!(output.status.code(), Some(1));
    let shown = text(&output.stdout);
    assert!(shown.contains("--dut 'emulator:ignores-psn-gap' --seed 1"), "{shown}");
}

#[test]
fn the_command_that_a_failure_prints_repeats_it() {
    let place = folder();
    let output = rocespec(place.path(), &["run", "psn-gap", "--dut", "emulator:ignores-psn-gap", "--seed", "7"]);
    let shown = text(&output.stdout);
    let line = shown.lines().map(str::trim).find(|line| line.starts_with("rocespec run '")).unwrap().to_owned();
    let words: Vec<&str> = line.split_whitespace().skip(1).map(|word| word.trim_matches('\'')).collect();
    let again = rocespec(place.path(), &words);
    assert_eq!(again.status.code(), Some(1), "{line}");
    assert!(text(&again.stdout).contains("1 cases: 1 fail") || text(&again.stdout).contains("1 case: 1 fail"));
}

#[test]
fn what_cannot_be_run_exits_with_2_and_says_what_to_do() {
    let place = folder();
    std::fs::write(place.path().join("broken.toml"), "title = 'x'\nscript = '''\n> SEND_ONYL psn=0\n'''\n").unwrap();
    std::fs::write(place.path().join("noise.toml"), [0xff, 0xfe, 0x00, 0x80, b'\n', 0xc3]).unwrap();
    for (words, wanted) in [
        (&["run", "no-such-scenario"][..], "rocespec list"),
        (&["run", "--dut", "emulator:no-such-defect"], "rocespec defects"),
        (&["run", "--dut", "toaster"], "emulator"),
        (&["run", "--profile", "nobody"], "built in are"),
        (&["run", "--scenarios", "."], "broken.toml"),
        (&["run", "--scenarios", "absent"], "absent"),
        (&["run", "--dut", "rxe:absent"], "cargo xtask rxe"),
        (&["decode", "absent.pcap"], "absent.pcap"),
        (&["decode", "broken.toml"], "broken.toml"),
        (&["rules", "no.such.rule"], "no rule matches"),
        (&["report", "absent", "--html", "out"], "absent"),
    ] {
        let output = rocespec(place.path(), words);
        let shown = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {shown}");
        assert!(shown.contains(wanted), "{words:?}: {shown}");
    }
}

#[test]
fn a_report_folder_that_cannot_be_made_is_said_before_anything_runs() {
    let place = folder();
    std::fs::write(place.path().join("file"), "").unwrap();
    let output = rocespec(place.path(), &["run", "psn-gap", "--report", "file/below"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty() && text(&output.stderr).contains("file/below"));
}

#[test]
fn what_a_run_recorded_can_be_decoded() {
    let place = folder();
    rocespec(place.path(), &["run", "rc/responder/psn-gap[ip=v4,start_psn=0x000000]"]);
    let file = "report/frames/rc.responder.psn-gap[ip=v4,start_psn=0x000000].pcapng";
    let output = rocespec(place.path(), &["decode", file]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let shown = text(&output.stdout);
    assert!(
        shown.lines().any(|line| line.contains(" NAK ") && line.contains("psn=1 msn=1 code=psn_sequence_error")),
        "{shown}"
    );
}

#[test]
fn lists_are_for_people_and_for_programs() {
    let place = folder();
    for command in ["list", "rules", "defects"] {
        let plain = rocespec(place.path(), &[command]);
        assert_eq!(plain.status.code(), Some(0), "{command}");
        let json = rocespec(place.path(), &[command, "--format", "json"]);
        let rows: Vec<serde_json::Value> = serde_json::from_slice(&json.stdout).unwrap();
        assert!(rows.len() >= 20, "{command}");
    }
}

const SCENARIO: &str = "title = 'T'\nabout = 'A'\nrules = ['rc.responder.rnr-nak']\nlevel = 'must'\nscript = '''\n\
                        > SEND_ONLY psn=0 ack 64B\n< RNR_NAK psn=0\n'''\n";

#[test]
fn what_the_readme_runs_exists() {
    let readme = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).unwrap();
    let devices: Vec<&str> =
        readme.split("--dut emulator:").skip(1).filter_map(|rest| rest.split(' ').next()).collect();
    assert!(!devices.is_empty());
    let place = folder();
    for device in devices {
        let output = rocespec(place.path(), &["run", "icrc", "--dut", &format!("emulator:{device}")]);
        assert_eq!(output.status.code(), Some(1), "{device}: {}", text(&output.stderr));
    }
}

#[test]
fn a_report_takes_the_place_of_the_last_one_and_of_nothing_else() {
    let place = folder();
    let frames = place.path().join("report/frames");
    std::fs::create_dir_all(&frames).unwrap();
    std::fs::write(frames.join("holiday.jpg"), "precious").unwrap();
    std::fs::write(frames.join("gone.case.pcapng"), "").unwrap();
    let output = rocespec(place.path(), &["run", "psn-wrap"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_to_string(frames.join("holiday.jpg")).unwrap(), "precious");
    assert!(!frames.join("gone.case.pcapng").exists());
}

#[test]
fn two_runs_do_not_write_into_one_folder() {
    use std::os::fd::AsRawFd;
    let place = folder();
    std::fs::create_dir(place.path().join("report")).unwrap();
    let taken = std::fs::File::open(place.path().join("report")).unwrap();
    // SAFETY: the descriptor is open.
    assert_eq!(unsafe { libc::flock(taken.as_raw_fd(), libc::LOCK_EX) }, 0);
    let output = rocespec(place.path(), &["run", "psn-wrap"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--report"), "{}", text(&output.stderr));
    drop(taken);
    assert_eq!(rocespec(place.path(), &["run", "psn-wrap"]).status.code(), Some(0));
}

#[test]
fn a_result_file_that_cannot_be_written_is_said_before_anything_runs() {
    let place = folder();
    for option in ["--json", "--junit"] {
        let output = rocespec(place.path(), &["run", "psn-wrap", option, "no/such/folder"]);
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty() && text(&output.stderr).contains("no/such/folder"), "{option}");
    }
}

#[test]
fn a_reader_who_has_seen_enough_does_not_turn_a_failure_into_success() {
    let place = folder();
    let mut run = Command::new(env!("CARGO_BIN_EXE_rocespec"))
        .args(["run", "psn-gap", "--dut", "emulator:ignores-psn-gap"])
        .current_dir(place.path())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(run.stdout.take());
    assert_eq!(run.wait().unwrap().code(), Some(1));
    assert!(place.path().join("report/report.json").exists());
}

#[test]
fn what_is_no_file_is_not_waited_for() {
    let place = folder();
    for name in ["scenarios/x.toml", "profile.toml"] {
        let path = place.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let made = Command::new("mkfifo").arg(&path).status().unwrap();
        assert!(made.success());
    }
    for words in
        [&["run", "--scenarios", "scenarios"][..], &["run", "--profile", "profile.toml"], &["run", "--profile", "."]]
    {
        let output = rocespec(place.path(), words);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("not a file"), "{}", text(&output.stderr));
    }
}

#[test]
fn scenario_files_have_names_that_can_be_typed() {
    for (name, wanted) in [
        ("a.b.toml", "rename"),
        ("a b.toml", "rename"),
        ("a'b.toml", "rename"),
        ("-a.toml", "rename"),
        (&*format!("{}.toml", "n".repeat(200)), "at most 160 bytes"),
    ] {
        let place = folder();
        std::fs::write(place.path().join(name), SCENARIO).unwrap();
        let output = rocespec(place.path(), &["list", "--scenarios", "."]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(text(&output.stderr).contains(wanted), "{name}: {}", text(&output.stderr));
    }
    let place = folder();
    std::os::unix::fs::symlink("nowhere", place.path().join(".#x.toml")).unwrap();
    std::fs::write(place.path().join("x_1-a.toml"), SCENARIO).unwrap();
    let output = rocespec(place.path(), &["run", "--scenarios", "."]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn a_profile_that_would_make_every_verdict_wrong_is_refused() {
    let place = folder();
    let profile = |capabilities: &str, timing: [&str; 4], rest: &str| {
        let [response, silence, settle, slack] = timing;
        format!(
            "title = 'T'\ncapabilities = {capabilities}\n[timing]\nresponse_ms = {response}\nsilence_ms = {silence}\n\
             settle_ms = {settle}\nslack_ms = {slack}\n{rest}"
        )
    };
    let good = ["100", "100", "0", "0"];
    let deviation = "[[deviation]]\nscenario = 'a'\nrule = 'rc.responder.typo'\nreason = 'r'\nframes = []\n";
    for (text_of_profile, wanted) in [
        (profile("['rc', 'ipv4']", ["0", "100", "0", "0"], ""), "response_ms"),
        (profile("['rc', 'ipv4']", ["18446744073709551615", "100", "0", "0"], ""), "response_ms"),
        (profile("['rc', 'ipv4']", ["100", "0", "0", "0"], ""), "silence_ms"),
        (profile("['rc', 'ipv4']", ["100", "100", "0", "600001"], ""), "slack_ms"),
        (profile("['rc', 'ipv5']", good, ""), "ipv6"),
        (profile("['rc']", good, deviation), "rc.responder.typo"),
    ] {
        std::fs::write(place.path().join("p.toml"), text_of_profile).unwrap();
        let output = rocespec(place.path(), &["run", "psn-wrap", "--profile", "p.toml"]);
        assert_eq!(output.status.code(), Some(2), "{wanted}");
        assert!(text(&output.stderr).contains(wanted), "{}", text(&output.stderr));
    }
    std::fs::write(place.path().join("p.toml"), profile("['rc', 'ipv4', 'ipv6', 'go-back-n']", good, "")).unwrap();
    let output = rocespec(place.path(), &["run", "psn-wrap", "--profile", "p.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn an_interrupted_run_still_writes_its_report() {
    use std::io::{BufRead, BufReader, Read};
    let place = folder();
    let mut run = Command::new(env!("CARGO_BIN_EXE_rocespec"))
        .args(["run", "--all"])
        .current_dir(place.path())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(run.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let id = libc::pid_t::try_from(run.id()).unwrap();
    // SAFETY: our own child, not waited for yet.
    assert_eq!(unsafe { libc::kill(id, libc::SIGTERM) }, 0);
    let (mut rest, mut errors) = (String::new(), String::new());
    out.read_to_string(&mut rest).unwrap();
    run.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(2), "{rest}");
    assert!(errors.contains("stopped"), "{errors}");
    let report = std::fs::read(place.path().join("report/report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&report).unwrap();
    let verdicts: Vec<&str> =
        report["cases"].as_array().unwrap().iter().map(|case| case["verdict"].as_str().unwrap()).collect();
    assert!(verdicts.contains(&"PASS") && verdicts.contains(&"INCONCLUSIVE"));
}

#[test]
fn a_deviation_of_a_scenario_that_is_not_there_is_told() {
    let place = folder();
    let profile = include_str!("../../fixtures/profiles/emulator.toml").to_owned()
        + "\n[[deviation]]\nscenario = 'rc/responder/sendd'\nrule = 'rc.responder.send'\nreason = 'none'\nframes = []\n";
    std::fs::write(place.path().join("mine.toml"), profile).unwrap();
    let output = rocespec(place.path(), &["run", "rc/responder/send", "--profile", "mine.toml"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stderr).contains("rc/responder/sendd"), "{}", text(&output.stderr));
}

#[test]
fn several_reports_become_one() {
    let place = folder();
    for (dut, report) in [("emulator", "good"), ("emulator:ignores-psn-gap", "bad")] {
        rocespec(place.path(), &["run", "psn-gap", "--dut", dut, "--report", report]);
    }
    let output = rocespec(place.path(), &["report", "good", "bad", "--html", "both"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let both = place.path().join("both");
    let page = std::fs::read_to_string(both.join("index.html")).unwrap();
    assert!(page.contains("emulator:ignores-psn-gap") && page.contains("differs"));
    let count = |folder: &str| std::fs::read_dir(both.join(folder)).unwrap().count();
    assert_eq!(count("emulator/frames"), count("emulator_ignores-psn-gap/frames"));
    // A report written onto itself is still whole.
    let frames = place.path().join("good/frames");
    let size =
        || std::fs::read_dir(&frames).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum::<u64>();
    let before = size();
    assert_eq!(rocespec(place.path(), &["report", "good", "--html", "good"]).status.code(), Some(0));
    assert!(before > 0 && size() == before);
}
