//! With a real guest: `cargo xtask rxe`, then `ROCESPEC_RXE=6.1 cargo test -p rocespec vm -- --ignored`.

use std::fs;
use std::process::{Command as Process, Stdio};
use std::time::Instant;

use rocespec_control::{Access, Command, QpAttributes, QpCapacity, QpKind, QpState, Reply};

use super::*;
use crate::dut::Dut;

fn profile() -> Profile {
    let timing = "[timing]\nresponse_ms = 500\nsilence_ms = 40\nsettle_ms = 2\nslack_ms = 50\n";
    Profile::parse("test", &format!("title = 'test'\ncapabilities = ['rc']\n{timing}")).unwrap()
}

fn start() -> Remote {
    let name = std::env::var("ROCESPEC_RXE").unwrap_or_else(|_| "6.1".to_owned());
    let started = Instant::now();
    let vm = super::start(&name, profile()).unwrap();
    println!("{} is up after {:.1} s", vm.device().system, started.elapsed().as_secs_f64());
    vm
}

/// Moves a queue pair to RTR: the guest resolves our address on the way.
fn ready_to_receive(vm: &mut Remote, remote_gid: std::net::Ipv6Addr, gid_index: u8) -> u32 {
    let capacity = QpCapacity::default();
    let create = Command::CreateQp { kind: QpKind::Rc, capacity, pd: None, srq: None, xrc_domain: None };
    let Reply::Qp { qp, qpn } = vm.control(&create).unwrap() else { panic!() };
    let state = |state| QpAttributes { state: Some(state), ..QpAttributes::default() };
    let init = QpAttributes { access: Some(vec![Access::RemoteWrite]), ..state(QpState::Init) };
    vm.control(&Command::ModifyQp { qp, attributes: init }).unwrap();
    let rtr = QpAttributes {
        path_mtu: Some(1024),
        dest_qpn: Some(0x77),
        rq_psn: Some(0),
        max_dest_rd_atomic: Some(1),
        min_rnr_timer: Some(12),
        remote_gid: Some(remote_gid),
        gid_index: Some(gid_index),
        ..state(QpState::Rtr)
    };
    let started = Instant::now();
    vm.control(&Command::ModifyQp { qp, attributes: rtr }).unwrap();
    println!("to RTR in {:?}", started.elapsed());
    qpn
}

#[test]
#[ignore = "needs a guest"]
fn a_guest_boots_resolves_our_addresses_and_boots_again() {
    let mut vm = start();
    let gid = |vm: &Remote, wanted: &dyn Fn(&rocespec_control::Gid) -> bool| {
        vm.device().gids.iter().find(|gid| wanted(gid)).unwrap().index
    };
    let v4 = gid(&vm, &|gid| gid.gid.to_ipv4_mapped().is_some());
    let v6 = gid(&vm, &|gid| gid.gid.segments()[0] == 0xfd00);
    let tester = vm.tester().clone();
    ready_to_receive(&mut vm, tester.v4.to_ipv6_mapped(), v4);
    ready_to_receive(&mut vm, tester.v6, v6);
    // A refusal is no crash.
    assert!(matches!(vm.control(&Command::DestroyQp { qp: 999 }), Err(DutError::Refused(_))));
    let before = vm.now();
    vm.restart().unwrap();
    assert!(vm.now() > before);
    ready_to_receive(&mut vm, tester.v4.to_ipv6_mapped(), v4);
}

#[test]
#[ignore = "needs a guest"]
fn time_goes_on_while_nothing_comes() {
    let mut vm = start();
    for micros in [0, 100, 5_000, 50_000] {
        let until = vm.now() + Duration::from_micros(micros);
        let reached = vm.advance(until, &mut |stamped| println!("{} bytes", stamped.frame.len())).unwrap();
        assert!(reached >= until);
        println!("asked for {micros} us, {} ns late", (reached - until).as_nanos());
    }
}

#[test]
#[ignore = "needs a guest"]
fn a_guest_that_powers_off_is_a_crash() {
    let mut vm = start();
    vm.control(&Command::Shutdown {}).unwrap();
    let until = vm.now() + Duration::from_secs(10);
    let error = loop {
        match vm.advance(until, &mut |_| {}) {
            Ok(time) => assert!(time < until, "nobody noticed"),
            Err(error) => break error,
        }
    };
    println!("{error}");
    assert!(matches!(error, DutError::Crash(_)));
    assert!(matches!(vm.control(&Command::Counters {}), Err(DutError::Crash(_))));
    vm.restart().unwrap();
    vm.control(&Command::Counters {}).unwrap();
}

/// Processes whose command line names QEMU and this folder's guest, with this process group's leader as a parent.
fn children(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter(|pid| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // After the name in brackets: state, parent.
            let parent_of = stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(1)?.parse::<u32>().ok());
            parent_of == Some(parent)
        })
        .collect()
}

#[test]
#[ignore = "a helper of the next test"]
fn helper_that_holds_a_guest() {
    if std::env::var_os("ROCESPEC_HOLD").is_some() {
        // In a thread, as the runner may do it: the guest must live as long as the process all the same.
        let vm = thread_that_ends(start);
        println!("holding");
        std::thread::sleep(Duration::from_secs(60));
        drop(vm);
    }
}

fn thread_that_ends<T: Send + 'static>(work: fn() -> T) -> T {
    std::thread::spawn(work).join().unwrap()
}

#[test]
#[ignore = "needs a guest"]
fn no_qemu_outlives_us_not_even_after_sigkill() {
    let mut holder = Process::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--nocapture", "--exact", "dut::vm::tests::helper_that_holds_a_guest"])
        .env("ROCESPEC_HOLD", "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let stdout = std::io::BufReader::new(holder.stdout.take().unwrap());
    let held = std::io::BufRead::lines(stdout).map_while(Result::ok).any(|line| line.contains("holding"));
    assert!(held, "the helper did not start a guest");
    let guests = children(holder.id());
    assert_eq!(guests.len(), 1);
    // Alive after the thread that asked for it has ended.
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(children(holder.id()), guests);
    holder.kill().unwrap();
    holder.wait().unwrap();
    let started = Instant::now();
    while fs::exists(format!("/proc/{}", guests[0])).unwrap() {
        assert!(started.elapsed() < Duration::from_secs(5), "QEMU {} is left behind", guests[0]);
        std::thread::sleep(Duration::from_millis(20));
    }
}
