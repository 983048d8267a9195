//! `cargo xtask veth`: the suite through a network interface, on this host or in a guest whose kernel has what the host's may
//! lack.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::{Parts, needs, say, shown, tool, userland, workspace};

/// Run the suite over a pair of virtual Ethernet interfaces: the emulator and rxe behind `--dut nic:`, in a guest or here
///
/// One network namespace holds the tester, the other one the device. The emulator is tested over a good wire, one that loses
/// frames and one that changes their order; then rxe over a good one. The verdicts must be those that the same cases have
/// without a network interface between; over a bad wire a case may be INCONCLUSIVE, and none may FAIL. `host` does it on the
/// kernel of this machine, as root: what that lacks is said and left out, and of rxe no case may FAIL that the profile does
/// not list.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  cargo xtask veth                              a part of the catalogue on the kernel of Debian 12
  cargo xtask veth newest rc/responder ud
  cargo xtask veth host                         on the kernel of this machine, with its own rdma_rxe

Exit code 1: a verdict differs. 2: something is missing or went wrong; the message says what to do.")]
pub(crate) struct Args {
    /// 6.1, 6.12, newest, or the middle of an exact package name as in linux-image-VERSION-amd64; or host
    #[arg(default_value = "6.1")]
    version: String,

    /// Scenarios, as `rocespec run` takes them
    #[arg(value_name = "FILTER", default_values_t = ["rc/responder/psn".to_owned()])]
    filter: Vec<String>,
}

/// Runs of the emulator over a wire that loses frames, and over one that changes their order.
const BAD_WIRES: [&str; 2] = ["emulator-loss", "emulator-reorder"];

/// Exit code of the laboratory where the machine cannot have one; it has said why.
const SKIPPED: i32 = 77;

/// How long the guest may take. Its processor is an emulated one.
const LIMIT: Duration = Duration::from_secs(900);

/// A case's name to its verdict.
type Verdicts = BTreeMap<String, String>;

/// The programs of this workspace that take part.
const OWN: [&str; 2] = ["rocespec-agent", "rocespec"];

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    if args.filter.iter().any(|filter| filter.contains([' ', ',', '"'])) {
        bail!("a filter goes to the guest by its command line and has no spaces, commas and quotes");
    }
    let good = if args.version == "host" { on_host(&args.filter)? } else { in_guest(args)? };
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn in_guest(args: &Args) -> Result<bool> {
    let rxe = super::Args { version: args.version.clone(), kernel: None, modules: None, qemu: None, update: false };
    let found = needs::find_all(&rxe)?;
    let more = ["ip", "tc"].map(iproute2).into_iter().collect::<Result<Vec<_>>>()?;
    let init = [include_str!("guest.sh"), include_str!("lab.sh"), include_str!("away.sh")].concat();
    let parts = Parts { init: &init, own: &OWN, more: &more, modules: &["veth", "sch_netem"] };
    let guest = super::build(&rxe, &found, &workspace().join("target/rxe/veth").join(&args.version), &parts)?;
    let results = guest.folder.join("results");
    boot(&found.qemu, &guest.folder, &args.filter)?;
    unpack(&guest.folder, &results)?;

    let mut good = emulator_is_right(&guest.folder, &results, &args.filter)?;
    for bad_wire in BAD_WIRES {
        good &= none_fails(bad_wire, &verdicts(&results, bad_wire)?);
    }
    let behind_qemu = rocespec(&guest.folder, &args.filter, &format!("rxe:{}", args.version))
        .with_context(|| format!("make the guest first: cargo xtask rxe {}", args.version))?;
    good &= compare("rxe", &verdicts(&results, "rxe")?, &behind_qemu);
    println!("Linux {}: what each run printed is in {}", guest.release, shown(&results));
    Ok(good)
}

/// The same here. What the kernel lacks has left no report, and the laboratory has said so.
fn on_host(filter: &[String]) -> Result<bool> {
    for name in ["ip", "tc", "rdma"] {
        iproute2(name)?;
    }
    let folder = workspace().join("target/veth");
    let results = folder.join("results");
    let _ = fs::remove_dir_all(&results);
    fs::create_dir_all(&results).with_context(|| format!("cannot make {}", results.display()))?;
    let own = OWN.map(|package| userland::build(&workspace(), package)).into_iter().collect::<Result<Vec<_>>>()?;
    let own = own.iter().filter_map(|program| program.parent()).map(Path::to_owned);
    let usual = std::env::var_os("PATH").unwrap_or_default();
    let path = own.chain(std::env::split_paths(&usual)).chain(["/usr/sbin".into(), "/sbin".into()]);
    let script = [include_str!("host.sh"), include_str!("lab.sh")].concat();
    let mut shell = Command::new("sh");
    shell.args(["-c", &script, "veth"]).arg(&results).args(filter).env("PATH", std::env::join_paths(path)?);
    let status = shell.stdin(Stdio::null()).status().context("cannot run sh")?;
    if status.code() == Some(SKIPPED) {
        return Ok(true);
    }
    ensure!(status.success(), "the laboratory ended early ({status})");

    let mut good = emulator_is_right(&folder, &results, filter)?;
    for name in BAD_WIRES.into_iter().chain(["rxe"]).filter(|name| results.join(format!("{name}.txt")).exists()) {
        good &= none_fails(name, &verdicts(&results, name)?);
    }
    println!("What each run printed is in {}", shown(&results));
    Ok(good)
}

fn iproute2(name: &str) -> Result<PathBuf> {
    tool::which(name).with_context(|| format!("no {name}: install iproute2"))
}

/// Over a good wire the emulator's verdicts are those in process.
fn emulator_is_right(folder: &Path, results: &Path, filter: &[String]) -> Result<bool> {
    Ok(compare("emulator", &verdicts(results, "emulator")?, &rocespec(folder, filter, "emulator")?))
}

/// Boots the guest and waits until it is done. Its results are then in `results.tar`.
fn boot(qemu: &Path, folder: &Path, filter: &[String]) -> Result<()> {
    let append = format!(
        "console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=on nowatchdog rocespec.filter={}",
        filter.join(",")
    );
    let mut command = Command::new(qemu);
    command.args("-accel tcg -M q35 -cpu max -smp 2 -m 1024 -nodefaults -no-user-config -display none".split(' '));
    command.args("-no-reboot -name rocespec -serial stdio -device virtio-serial-pci".split(' '));
    command.arg("-chardev").arg(format!("file,id=results,path={}", folder.join("results.tar").display()));
    command.args("-device virtserialport,chardev=results,name=results".split(' '));
    command.arg("-kernel").arg(folder.join("vmlinux")).arg("-initrd").arg(folder.join("initramfs.cpio.gz"));
    command.arg("-append").arg(append).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut guest = Running(command.spawn().with_context(|| format!("cannot run {}", qemu.display()))?);
    let console = guest.0.stdout.take().context("the guest has no console")?;
    let (told, lines) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(console).split(b'\n').map_while(std::result::Result::ok) {
            if told.send(String::from_utf8_lossy(&line).trim_end().to_owned()).is_err() {
                return;
            }
        }
    });
    let deadline = std::time::Instant::now() + LIMIT;
    let (mut last, mut is_done) = (String::new(), false);
    loop {
        match lines.recv_timeout(deadline.saturating_duration_since(std::time::Instant::now())) {
            Ok(line) if line.contains("rocespec-guest: FAILED") => bail!("the guest: {line}"),
            Ok(line) => {
                is_done |= line.contains("rocespec-guest: done");
                say(&line);
                last = line;
            }
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
            Err(_) => bail!("the guest was not done after {} s; it said last: {last}", LIMIT.as_secs()),
        }
    }
    drop(guest);
    let _ = reader.join();
    ensure!(is_done, "the guest ended early; it said last: {last}");
    Ok(())
}

/// QEMU, which ends with us.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn unpack(folder: &Path, results: &Path) -> Result<()> {
    let _ = fs::remove_dir_all(results);
    fs::create_dir_all(results)?;
    tool::output(Command::new("tar").arg("-xf").arg(folder.join("results.tar")).arg("-C").arg(results))?;
    Ok(())
}

/// The verdicts of a report.
fn verdicts(results: &Path, name: &str) -> Result<Verdicts> {
    let path = results.join(format!("{name}.json"));
    let cannot = || match fs::read_to_string(results.join(format!("{name}.txt"))) {
        Ok(said) => format!("the run {name} made no report; it said:\n{said}"),
        Err(_) => format!("the run {name} left nothing behind"),
    };
    let file = File::open(path).with_context(cannot)?;
    let report: serde_json::Value = serde_json::from_reader(BufReader::new(file)).with_context(cannot)?;
    let cases = report["cases"].as_array().context("a report without cases")?;
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    Ok(cases
        .iter()
        .map(|case| (format!("{} {}", text(&case["scenario"]), case["variant"]), text(&case["verdict"])))
        .collect())
}

/// Runs the suite here, without a network interface.
fn rocespec(folder: &Path, filter: &[String], dut: &str) -> Result<Verdicts> {
    let here = folder.join("here");
    fs::create_dir_all(&here)?;
    let name = dut.replace(':', "-");
    let mut command = crate::rocespec();
    command.arg("run").args(filter).args(["--dut", dut]);
    command.arg("--json").arg(here.join(format!("{name}.json"))).arg("--report").arg(here.join(&name));
    let said = command.stdin(Stdio::null()).output().context("cannot run cargo")?;
    fs::write(here.join(format!("{name}.txt")), &said.stdout)?;
    verdicts(&here, &name).with_context(|| String::from_utf8_lossy(&said.stderr).trim().to_owned())
}

/// Prints each case whose verdict differs, and a line about all. True when none does.
fn compare(name: &str, seen: &Verdicts, usual: &Verdicts) -> bool {
    let mut differ = 0;
    for case in usual.keys().chain(seen.keys().filter(|case| !usual.contains_key(*case))) {
        let [here, there] = [seen, usual].map(|verdicts| verdicts.get(case).map_or("nothing", String::as_str));
        if here != there {
            differ += 1;
            println!("{name}: {case} is {here} over the interface and {there} without");
        }
    }
    println!("{name}: {} cases over the interface, {differ} differ; {}", seen.len(), counted(seen));
    differ == 0 && !seen.is_empty()
}

/// Where nobody is to blame: over a wire that loses frames, or where no other verdicts are known.
fn none_fails(name: &str, seen: &Verdicts) -> bool {
    let mut failed = 0;
    for (case, verdict) in seen.iter().filter(|(_, verdict)| matches!(verdict.as_str(), "FAIL" | "CRASH")) {
        failed += 1;
        println!("{name}: {case} is {verdict}");
    }
    println!("{name}: {} cases over the interface; {}", seen.len(), counted(seen));
    failed == 0 && !seen.is_empty()
}

/// `17 PASS, 2 INCONCLUSIVE`
fn counted(verdicts: &Verdicts) -> String {
    let mut counts = BTreeMap::<&str, usize>::new();
    for verdict in verdicts.values() {
        *counts.entry(verdict).or_default() += 1;
    }
    counts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(verdicts: &[(&str, &str)]) -> Verdicts {
        verdicts.iter().map(|(case, verdict)| ((*case).to_owned(), (*verdict).to_owned())).collect()
    }

    #[test]
    fn a_verdict_that_differs_or_is_missing_is_seen() {
        let usual = of(&[("a", "PASS"), ("b", "UNSUPPORTED")]);
        assert!(compare("x", &usual, &usual));
        assert!(!compare("x", &of(&[("a", "PASS"), ("b", "PASS")]), &usual));
        assert!(!compare("x", &of(&[("a", "PASS")]), &usual));
        assert!(!compare("x", &of(&[]), &of(&[])));
    }

    #[test]
    fn where_no_verdict_is_expected_only_blame_is_wrong() {
        assert!(none_fails("x", &of(&[("a", "PASS"), ("b", "INCONCLUSIVE")])));
        assert!(!none_fails("x", &of(&[("a", "PASS"), ("b", "FAIL")])));
        assert!(!none_fails("x", &of(&[("a", "CRASH")])));
        assert!(!none_fails("x", &of(&[])));
    }

    #[test]
    fn a_report_gives_its_verdicts_and_a_run_without_one_its_words() {
        let folder = tempfile::tempdir().unwrap();
        let case = r#"{"scenario":"a/b","variant":{"ip":"v4"},"verdict":"PASS"}"#;
        fs::write(folder.path().join("x.json"), format!("{{\"cases\":[{case}]}}")).unwrap();
        assert_eq!(verdicts(folder.path(), "x").unwrap(), of(&[("a/b {\"ip\":\"v4\"}", "PASS")]));
        fs::write(folder.path().join("y.txt"), "cannot reach the agent").unwrap();
        assert!(format!("{:#}", verdicts(folder.path(), "y").unwrap_err()).contains("cannot reach"));
    }
}
