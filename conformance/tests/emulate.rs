//! `rocespec emulate` tested by `rocespec run`: over unix sockets, and over a veth pair between two network namespaces
//! through AF_PACKET and, with the feature `live`, libpcap. Verdicts are those in process.
//!
//! Namespaces need root and iproute2; where they are missing the tests say so and are skipped.

mod common;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const ROCESPEC: &str = env!("CARGO_BIN_EXE_rocespec");
/// What is run: what is quick in real time, and of every part something.
const FILTERS: [&str; 5] = ["bth", "icrc", "device", "frame/vlan", "uc"];
const TOKEN: &str = "a secret of the test";
/// A machine that builds beside us is late by more than the built-in profiles allow.
const PATIENT: &str =
    "title = 'a busy machine'\n[timing]\nresponse_ms = 5000\nsilence_ms = 40\nsettle_ms = 5\nslack_ms = 500\n";

type Verdicts = BTreeMap<String, String>;

/// A folder with the patient profile in it.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("patient.toml"), PATIENT).unwrap();
    folder
}

/// Runs the filters and gives the verdict of each case. `way` is what starts the program.
fn run(way: &mut Command, folder: &Path, filters: &[&str], device: &[&str]) -> Verdicts {
    let json = folder.join("verdicts.json");
    let report = folder.join("report");
    let done = way
        .arg("run")
        .args(filters)
        .args(device)
        .args(["--json".as_ref(), json.as_os_str(), "--report".as_ref(), report.as_os_str()])
        .env("ROCESPEC_TOKEN", TOKEN)
        .output()
        .unwrap();
    assert!(done.status.code().is_some_and(|code| code < 2), "{}", String::from_utf8_lossy(&done.stderr));
    let run: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let id = |case: &serde_json::Value| format!("{} {}", case["scenario"], case["variant"]);
    run["cases"].as_array().unwrap().iter().map(|case| (id(case), case["verdict"].to_string())).collect()
}

fn in_process(folder: &Path, behaviours: &str) -> Verdicts {
    run(&mut Command::new(ROCESPEC), folder, &FILTERS, &["--dut", behaviours])
}

/// An emulator that runs until it is dropped.
struct Emulator(Child);

impl Emulator {
    /// Starts one and waits until it says how it is tested; gives what it says.
    fn start(way: &mut Command, words: &[&str]) -> (Emulator, String) {
        let way = way.arg("emulate").args(words).env("ROCESPEC_TOKEN", TOKEN);
        let mut child = way.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let says = lines.by_ref().map_while(Result::ok).find(|line| line.contains("rocespec run"));
        (Emulator(child), says.expect("it says how it is tested"))
    }

    /// Asks it to end as Ctrl-C does, and waits for that.
    fn stop(mut self) {
        let pid = self.0.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn over_unix_sockets_the_verdicts_are_those_in_process() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (wire, profile) = (path("wire"), path("patient.toml"));
    for behaviours in ["emulator", "emulator:accepts-bad-icrc,counts-cnps-twice"] {
        let (emulator, says) =
            Emulator::start(&mut Command::new(ROCESPEC), &[behaviours, "--on", &format!("unix:{wire}")]);
        let dut = says.split("--dut ").nth(1).unwrap().to_owned();
        assert_eq!(dut, format!("socket:wire={wire},control={wire}.control"));
        let expected = in_process(folder.path(), behaviours);
        let device = ["--dut", &dut, "--profile", &profile];
        let verdicts = |filters: &[&str]| run(&mut Command::new(ROCESPEC), folder.path(), filters, &device);
        assert_eq!(verdicts(&FILTERS), expected, "{behaviours}");
        // A second tester finds nothing of the first.
        let again = verdicts(&FILTERS[..1]);
        assert!(!again.is_empty() && again.iter().all(|(case, verdict)| expected[case] == *verdict), "{behaviours}");
        let fails = expected.values().filter(|verdict| verdict.contains("FAIL")).count();
        assert_eq!(fails > 0, behaviours != "emulator");
        emulator.stop();
        assert!(!Path::new(&wire).exists() && !Path::new(&format!("{wire}.control")).exists(), "sockets are left");
    }
}

#[test]
fn what_it_is_told_wrongly_it_says_with_what_to_do() {
    let folder = folder();
    let taken = folder.path().join("taken");
    std::fs::write(&taken, "somebody's file").unwrap();
    let (taken, free) = (format!("unix:{}", taken.display()), format!("unix:{}", folder.path().join("w").display()));
    for (words, told) in [
        (vec!["--on", &taken], "cannot listen on"),
        (vec!["--on", &free, "--control", "4792"], "ADDRESS:PORT"),
        (vec!["--on", &free, "--control", "127.0.0.1:0"], "needs a secret"),
        (vec!["--on", "no-such-interface", "--control", &free], "no-such-interface"),
        (vec!["--on", "lo"], "needs --control"),
        (vec!["emulator:no-such-defect", "--on", &free], "no-such-defect"),
        (vec!["--on", &free, "--mac", "01:00:5e:00:00:01"], "single station"),
        (vec!["--on", &free, "--ip4", "224.0.0.1"], "single station"),
    ] {
        let done = Command::new(ROCESPEC).arg("emulate").args(&words).env_remove("ROCESPEC_TOKEN").output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.code() == Some(2) && said.contains(told), "{words:?}: {said}");
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("taken")).unwrap(), "somebody's file");
}

/// Two network namespaces with a veth pair between them, gone when dropped.
struct Lab {
    tester: String,
    device: String,
}

impl Lab {
    /// `None` where that cannot be had; then it says why.
    fn new(name: &str) -> Option<Lab> {
        let id = std::process::id();
        let lab = Lab { tester: format!("rocespec-t-{name}-{id}"), device: format!("rocespec-d-{name}-{id}") };
        let made = ip(&["netns", "add", &lab.tester])
            && ip(&["netns", "add", &lab.device])
            && ip(&[
                "link",
                "add",
                "tester0",
                "netns",
                &lab.tester,
                "type",
                "veth",
                "peer",
                "name",
                "device0",
                "netns",
                &lab.device,
            ]);
        if !made {
            common::skipped("network namespaces with a veth pair need root and iproute2");
            return None;
        }
        for (namespace, interface, address) in
            [(&lab.tester, "tester0", "192.0.2.1/24"), (&lab.device, "device0", "192.0.2.2/24")]
        {
            for words in [
                &["addr", "add", address, "dev", interface][..],
                &["link", "set", "dev", interface, "mtu", "4200", "up"],
                &["link", "set", "dev", "lo", "up"],
            ] {
                assert!(ip(&[&["-n", namespace][..], words].concat()), "ip -n {namespace} {words:?}");
            }
        }
        for (namespace, interface) in [(&lab.tester, "tester0"), (&lab.device, "device0")] {
            wait_for_link(namespace, interface);
        }
        Some(lab)
    }

    /// The program in one of the namespaces.
    fn inside(namespace: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace, ROCESPEC]);
        command
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        ip(&["netns", "del", &self.tester]);
        ip(&["netns", "del", &self.device]);
    }
}

/// The kernel takes a moment to find that both ends are up.
fn wait_for_link(namespace: &str, interface: &str) {
    for _ in 0..100 {
        let shown = Command::new("ip").args(["-n", namespace, "-oneline", "link", "show", "dev", interface]).output();
        if String::from_utf8_lossy(&shown.unwrap().stdout).contains("state UP") {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{interface} does not come up");
}

fn ip(words: &[&str]) -> bool {
    Command::new("ip").args(words).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// The verdicts over a veth pair, frames captured so.
fn over_veth(capture: &str) {
    let Some(lab) = Lab::new(capture) else { return };
    let folder = folder();
    let profile: PathBuf = folder.path().join("patient.toml");
    let words = ["--on", "device0", "--control", "192.0.2.2:4792"];
    let (_emulator, says) = Emulator::start(&mut Lab::inside(&lab.device), &words);
    assert!(says.contains("nic:INTERFACE,agent=192.0.2.2:4792"), "{says}");
    let dut = format!("nic:tester0,agent=192.0.2.2:4792,capture={capture}");
    let device = ["--dut", &dut, "--profile", profile.to_str().unwrap()];
    let verdicts = run(&mut Lab::inside(&lab.tester), folder.path(), &FILTERS, &device);
    assert_eq!(verdicts, in_process(folder.path(), "emulator"));
    assert!(verdicts.len() > 100, "{} cases", verdicts.len());
}

#[test]
fn no_command_is_told_that_cannot_reach_it() {
    let folder = folder();
    let wire = format!("unix:{}", folder.path().join("wire").display());
    let words = ["--on", &wire, "--control", "127.0.0.1:0", "--token", "secret"];
    let (emulator, says) = Emulator::start(&mut Command::new(ROCESPEC), &words);
    assert!(says.contains("listens at 127.0.0.1:") && !says.contains("--dut"), "{says}");
    emulator.stop();
}

#[test]
fn between_two_namespaces_through_af_packet_the_verdicts_are_those_in_process() {
    over_veth("packet");
}

#[cfg(feature = "live")]
#[test]
fn between_two_namespaces_through_libpcap_the_verdicts_are_those_in_process() {
    over_veth("pcap");
}
