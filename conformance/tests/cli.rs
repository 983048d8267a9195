//! The binary as a user meets it: exit codes, messages, files.

mod common;

use std::path::Path;
use std::process::{Command, Output};

use common::text;

fn rocespec(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rocespec")).args(words).current_dir(folder).output().unwrap()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
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
fn a_difference_from_a_golden_trace_breaks_no_rule_and_its_command_repeats_it() {
    let place = folder();
    let words = ["run", "bth/migration-bit", "--goldens", "mine"];
    let blessed = rocespec(place.path(), &[&words[..], &["--bless"]].concat());
    assert_eq!(blessed.status.code(), Some(0), "{}", text(&blessed.stdout));
    let trace = place.path().join("mine/emulator/bth/migration-bit.trace");
    let golden = std::fs::read_to_string(&trace).unwrap();
    assert!(golden.contains("msn=1"), "{golden}");
    std::fs::write(&trace, golden.replace("msn=1", "msn=7")).unwrap();
    let output = rocespec(place.path(), &[&words[..], &["--strict-golden"]].concat());
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("  golden  differs from its golden trace"), "{shown}");
    assert!(!shown.contains("broken that the device must keep"), "{shown}");
    let line = shown.lines().map(str::trim).find(|line| line.starts_with("rocespec run '")).unwrap().to_owned();
    assert!(line.contains(" --goldens 'mine' --strict-golden"), "{line}");
    let again: Vec<&str> = line.split_whitespace().skip(1).map(|word| word.trim_matches('\'')).collect();
    assert_eq!(rocespec(place.path(), &again).status.code(), Some(1), "{line}");
}

#[test]
fn golden_traces_of_another_seed_are_said_not_to_be_compared() {
    let place = folder();
    let output = rocespec(place.path(), &["run", "bth/migration-bit", "--seed", "7"]);
    let shown = text(&output.stdout);
    assert!(shown.contains("golden traces: not compared, they are of seed 1"), "{shown}");
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
    assert_eq!(rocespec(place.path(), &["run", "psn-wrap"]).status.code(), Some(0));
    std::fs::write(frames.join("holiday.jpg"), "precious").unwrap();
    std::fs::write(frames.join("gone.case.pcapng"), "").unwrap();
    let output = rocespec(place.path(), &["run", "psn-wrap"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_to_string(frames.join("holiday.jpg")).unwrap(), "precious");
    assert!(!frames.join("gone.case.pcapng").exists());
}

#[test]
fn what_no_report_wrote_is_not_replaced() {
    let place = folder();
    let theirs = place.path().join("theirs/frames/x.pcapng");
    std::fs::create_dir_all(theirs.parent().unwrap()).unwrap();
    std::fs::write(&theirs, "precious").unwrap();
    let refused = |report: &str, wanted: &str| {
        let output = rocespec(place.path(), &["run", "psn-wrap", "--report", report]);
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(wanted), "{}", text(&output.stderr));
        assert_eq!(std::fs::read_to_string(&theirs).unwrap(), "precious");
    };
    refused("theirs", "choose another folder");
    // Nor is it through a link, wherever it came from.
    assert_eq!(rocespec(place.path(), &["run", "psn-wrap"]).status.code(), Some(0));
    std::fs::remove_dir_all(place.path().join("report/frames")).unwrap();
    std::os::unix::fs::symlink(theirs.parent().unwrap(), place.path().join("report/frames")).unwrap();
    refused("report", "link");
}

#[test]
fn a_run_that_cannot_begin_leaves_the_last_results_alone() {
    let place = folder();
    let run = |words: &[&str]| {
        let words = [&["run", "psn-gap", "--report", "keep", "--json", "keep.json", "--junit", "keep.xml"], words];
        rocespec(place.path(), &words.concat()).status.code()
    };
    let held = || {
        let frames = std::fs::read_dir(place.path().join("keep/frames")).unwrap().count();
        let size = |name: &str| std::fs::metadata(place.path().join(name)).unwrap().len();
        (frames, size("keep.json"), size("keep.xml"), size("keep/report.json"))
    };
    assert_eq!(run(&[]), Some(0));
    let before = held();
    assert!(before.0 > 0 && before.1 > 0 && before.2 > 0);
    for typo in [&["--dut", "rxe:nosuch"][..], &["--goldens", "nosuch"], &["--profile", "nosuch"]] {
        assert_eq!(run(typo), Some(2), "{typo:?}");
        assert_eq!(held(), before, "{typo:?}");
    }
    // A shorter result leaves nothing of a longer one behind.
    std::fs::write(place.path().join("keep.json"), vec![b'x'; 1 << 20]).unwrap();
    assert_eq!(run(&[]), Some(0));
    let json = std::fs::read(place.path().join("keep.json")).unwrap();
    assert!(serde_json::from_slice::<serde_json::Value>(&json).is_ok());
}

#[test]
fn a_profile_has_a_name_that_is_a_folder_below_the_golden_traces() {
    let place = folder();
    let profile = include_str!("../../fixtures/profiles/emulator.toml");
    for name in ["...toml", ".hidden.toml", "a b.toml", "a:b.toml"] {
        std::fs::write(place.path().join(name), profile).unwrap();
        let output = rocespec(place.path(), &["run", "psn-wrap", "--profile", name, "--bless", "--goldens", "in/here"]);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(text(&output.stderr).contains("letters, digits"), "{}", text(&output.stderr));
    }
    assert!(!place.path().join("in").exists());
    std::fs::write(place.path().join("my-nic_1.2.toml"), profile).unwrap();
    let output = rocespec(place.path(), &["run", "psn-wrap", "--profile", "my-nic_1.2.toml"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn real_traffic_in_real_time_gets_no_golden_trace() {
    let place = folder();
    let profile = include_str!("../../fixtures/profiles/emulator.toml");
    let profile = profile.replace("slack_ms = 0", "slack_ms = 1") + "tester_us = 1\n";
    std::fs::write(place.path().join("slow.toml"), profile).unwrap();
    let words = ["run", "rc/requester/loss-read", "rc/requester/psns", "--profile", "slow.toml", "--bless"];
    let output = rocespec(place.path(), &[&words[..], &["--goldens", "mine"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let traces = place.path().join("mine/slow/rc/requester");
    assert!(traces.join("psns.trace").exists() && !traces.join("loss-read.trace").exists());
}

#[test]
fn blessing_another_catalogue_removes_nothing_of_the_first() {
    let place = folder();
    let first = place.path().join("mine/emulator/rc/responder/psn-gap.trace");
    assert_eq!(rocespec(place.path(), &["run", "psn-gap", "--bless", "--goldens", "mine"]).status.code(), Some(0));
    assert!(first.exists());
    std::fs::create_dir(place.path().join("own")).unwrap();
    std::fs::write(place.path().join("own/x.toml"), SCENARIO).unwrap();
    let output = rocespec(place.path(), &["run", "--scenarios", "own", "--bless", "--goldens", "mine"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(first.exists() && place.path().join("mine/emulator/x.trace").exists(), "{}", text(&output.stdout));
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

#[test]
fn a_golden_trace_is_recorded_compared_and_with_strict_golden_held() {
    let place = folder();
    let run = |words: &[&str]| {
        let output = rocespec(place.path(), &[&["run", "rc/responder/psn-gap"], words].concat());
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    let (code, shown) = run(&["--bless", "--goldens", "mine"]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("golden traces in mine/emulator: "), "{shown}");
    let file = place.path().join("mine/emulator/rc/responder/psn-gap.trace");
    let recorded = std::fs::read_to_string(&file).unwrap();

    let strict = ["--goldens", "mine", "--strict-golden"];
    let (code, shown) = run(&strict);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains("compared, none differs"), "{shown}");

    std::fs::write(&file, recorded.replace("+2us       < NAK psn=1 msn=1", "+3us       < NAK psn=1 msn=2")).unwrap();
    let (code, shown) = run(&strict[..2]);
    assert_eq!(code, Some(0), "{shown}");
    assert!(shown.contains(" governed by a rule, "), "{shown}");
    let (code, shown) = run(&strict);
    assert_eq!(code, Some(1), "{shown}");
    assert!(shown.contains("msn: golden 2, seen 1, governed by rc.responder.msn"), "{shown}");

    std::fs::write(&file, recorded.replace("+2us", "2us")).unwrap();
    let (code, shown) = run(&strict);
    assert_eq!(code, Some(2), "{shown}");
    assert!(shown.contains("psn-gap.trace, line "), "{shown}");

    let (code, shown) = run(&["--bless"]);
    assert_eq!(code, Some(2), "{shown}");
    assert!(shown.contains("name a folder with --goldens"), "{shown}");
    let (code, shown) = run(&["--bless", "--goldens", "mine", "--dut", "emulator:ignores-psn-gap"]);
    assert_eq!(code, Some(2), "{shown}");
    assert!(shown.contains("no golden trace of the emulator"), "{shown}");
}

#[test]
fn a_report_says_what_it_is_a_report_of() {
    let place = folder();
    let output = rocespec(place.path(), &["run", "rc/responder/psn-gap[ip=v4]", "icrc/bad"]);
    let shown = text(&output.stdout);
    assert!(shown.contains("(a part of the catalogue: rc/responder/psn-gap[ip=v4] icrc/bad)"), "{shown}");
    let report = std::fs::read_to_string(place.path().join("report/report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["command"], "rocespec run 'rc/responder/psn-gap[ip=v4]' icrc/bad");
    assert_eq!(report["filter"], serde_json::json!(["rc/responder/psn-gap[ip=v4]", "icrc/bad"]));
    assert_eq!(report["complete"], false);
    let page = std::fs::read_to_string(place.path().join("report/index.html")).unwrap();
    assert!(page.contains("a part of the catalogue"));
}

#[test]
fn purposes_are_tested_by_the_scenarios_that_were_given() {
    let place = folder();
    std::fs::write(place.path().join("own.toml"), SCENARIO).unwrap();
    let output = rocespec(place.path(), &["rules", "--purposes", "--scenarios", "."]);
    let shown = text(&output.stdout);
    assert!(shown.contains("\n0 of ") && !shown.contains("tested by"), "{shown}");
    let output = rocespec(place.path(), &["rules", "--purposes", "xrc-001"]);
    let shown = text(&output.stdout);
    assert!(shown.starts_with("XRC-001") && shown.contains("\n1 of 1 purposes"), "{shown}");
}
