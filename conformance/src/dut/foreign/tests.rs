//! Simulators that misbehave on their side of the two sockets: a clear verdict, no wait without end, no memory without bound.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread;
use std::time::Duration;

use rocespec_control::{
    Command, Completion, Device, Gid, GidKind, MemoryRegion, Reply, Request, Response, Status, VERSION,
};
use rocespec_reports::outcome::{Case, Verdict};

use super::socket::Socket;
use crate::dut::clock::Clock;
use crate::dut::{DutError, Prepared, Remote};
use crate::profile::Profile;
use crate::run::{self, Options};
use crate::scenario::{CAPABILITIES, catalogue};

/// Its sockets, as long as it lives.
struct Simulator(tempfile::TempDir);

impl Simulator {
    /// One that serves each connection with these; `wire` is told how many there were before.
    fn start(wire: fn(u32, UnixStream), control: fn(UnixStream)) -> Simulator {
        let folder = tempfile::tempdir().unwrap();
        let listener = |name: &str| UnixListener::bind(folder.path().join(name)).unwrap();
        let (wires, controls) = (listener("wire"), listener("control"));
        thread::spawn(move || wires.incoming().flatten().zip(0..).for_each(|(stream, count)| wire(count, stream)));
        thread::spawn(move || controls.incoming().flatten().for_each(control));
        Simulator(folder)
    }

    /// `patience` is how long it may take to say who it is.
    fn connect(&self, response: u32, patience: Duration) -> Result<Remote, DutError> {
        let path = |name: &str| self.0.path().join(name).display().to_string();
        let mut place = Socket::parse(&format!("wire={},control={}", path("wire"), path("control")), None).unwrap();
        place.patience = patience;
        Remote::start(Box::new(place), profile(response), Clock::new())
    }

    /// `response` is how long an answer may take, in milliseconds.
    fn verdicts(&self, filter: &str, response: u32) -> Vec<Case> {
        let catalogue = catalogue().unwrap();
        let planned = run::plan(&catalogue, &[filter.to_owned()], false).unwrap();
        let options = Options { seed: 1, dut: String::new(), repeat: String::new(), jobs: 1, counters: false };
        run::run(&mut self.connect(response, Duration::from_secs(60)).unwrap(), &planned, &options, &mut |_| {}).cases
    }
}

/// Answers the first order with this, and no other.
fn say(mut control: UnixStream, answer: &[u8]) {
    if first_bytes(&mut control) && control.write_all(answer).is_ok() {
        mute(control);
    }
}

/// Milliseconds for an answer of a device that gives none.
const QUICK: u32 = 50;
/// Milliseconds that nobody waits for: something else happens first.
const LONG: u32 = 60_000;

fn profile(response: u32) -> Profile {
    let timing = format!("[timing]\nresponse_ms = {response}\nsilence_ms = 5\nsettle_ms = 1\nslack_ms = 5\n");
    Profile::parse("test", &format!("title = 'test'\n{timing}")).unwrap()
}

/// Software that does nothing and says that it has.
fn obliging(control: UnixStream) {
    serve(control, |command| match command {
        Command::CreateQp { .. } => Reply::Qp { qp: 1, qpn: 0x11 },
        Command::RegisterMemory { length, .. } => {
            Reply::Memory(MemoryRegion { mr: 1, va: 0x1000, length: *length, lkey: 1, rkey: 1 })
        }
        _ => Reply::Done {},
    });
}

/// Software whose answers are of the protocol and make no sense.
fn senseless(control: UnixStream) {
    let completion = Completion {
        wr_id: u64::MAX,
        status: "success".to_owned(),
        opcode: "recv".to_owned(),
        byte_len: u32::MAX,
        immediate: Some(u32::MAX),
        invalidated_rkey: Some(u32::MAX),
        src_qpn: u32::MAX,
        grh: true,
    };
    serve(control, |command| match command {
        Command::CreateQp { .. } => Reply::Qp { qp: u32::MAX, qpn: 0xff_ffff },
        Command::CreateSrq { .. } => Reply::Srq { srq: u32::MAX, srqn: 0xff_ffff },
        Command::CreatePd {} => Reply::Pd { pd: u32::MAX },
        Command::AllocateWindow { .. } | Command::BindWindow { .. } => {
            Reply::Window { window: u32::MAX, rkey: u32::MAX }
        }
        Command::RegisterMemory { .. } => {
            Reply::Memory(MemoryRegion { mr: u32::MAX, va: u64::MAX, length: u64::MAX, lkey: u32::MAX, rkey: u32::MAX })
        }
        Command::ReadMemory { .. } => Reply::Data("żż".to_owned()),
        Command::Poll { .. } | Command::PollSrq { .. } => Reply::Completions(vec![completion.clone(); 3]),
        Command::QueryQp { .. } => Reply::Data(String::new()),
        _ => Reply::Done {},
    });
}

/// Answers `hello`, and everything else as `answer` says.
fn serve(control: UnixStream, answer: impl Fn(&Command) -> Reply) {
    let mut answers = control.try_clone().unwrap();
    for line in BufReader::new(control).lines().map_while(Result::ok) {
        let request: Request = serde_json::from_str(&line).unwrap();
        let reply = match request.command {
            Command::Hello { .. } => Reply::Device(Device {
                version: VERSION,
                agent: "test".to_owned(),
                name: "test".to_owned(),
                system: "test".to_owned(),
                mac: "02:00:00:00:00:02".to_owned(),
                active_mtu: 4096,
                gids: vec![Gid { index: 0, gid: "::ffff:10.0.0.2".parse().unwrap(), kind: GidKind::RoceV2 }],
                capabilities: CAPABILITIES.iter().map(|name| (*name).to_owned()).chain(["ipv4".to_owned()]).collect(),
            }),
            command => answer(&command),
        };
        let mut line = serde_json::to_vec(&Response { id: request.id, result: Status::Ok(reply) }).unwrap();
        line.push(b'\n');
        if answers.write_all(&line).is_err() {
            return;
        }
    }
}

/// Reads the tester's first frame or order.
fn first_bytes(stream: &mut UnixStream) -> bool {
    stream.read(&mut [0; 4096]).is_ok_and(|count| count > 0)
}

fn mute(mut stream: UnixStream) {
    let _ = std::io::copy(&mut stream, &mut std::io::sink());
}

const CASES: &str = "rc/responder/psn-gap[ip=v4]";

#[test]
fn a_wire_without_framing_is_a_crash() {
    let short_of_sense = |_, mut wire: UnixStream| garble(&mut wire, 0x7f);
    let largest = |_, mut wire: UnixStream| garble(&mut wire, 0xff);
    for wire in [short_of_sense as fn(u32, UnixStream), largest] {
        for case in Simulator::start(wire, obliging).verdicts(CASES, LONG) {
            assert_eq!(case.verdict, Verdict::Crash, "{:?}", case.reason);
            assert!(case.findings[0].seen.contains("lost the framing"), "{}", case.findings[0].seen);
        }
    }
}

fn garble(wire: &mut UnixStream, byte: u8) {
    if first_bytes(wire) {
        wire.write_all(&[byte; 64]).unwrap();
    }
}

#[test]
fn a_wire_that_closes_is_a_crash_and_the_rest_goes_on() {
    let wire = |count: u32, mut wire: UnixStream| {
        first_bytes(&mut wire);
        if count > 0 {
            mute(wire);
        }
    };
    let cases = Simulator::start(wire, obliging).verdicts(CASES, 3_000);
    let verdicts: Vec<Verdict> = cases.iter().map(|case| case.verdict).collect();
    // Started anew, it lives and says nothing.
    assert_eq!(verdicts, [Verdict::Crash, Verdict::Fail]);
    assert!(cases[0].findings[0].seen.contains("wire"), "{}", cases[0].findings[0].seen);
}

#[test]
fn a_device_that_never_stops_sending_ends_its_case() {
    let flood = |_, mut wire: UnixStream| {
        let frame = [&60_000_u32.to_be_bytes()[..], &[0; 60_000]].concat();
        if first_bytes(&mut wire) {
            while wire.write_all(&frame).is_ok() {}
        }
    };
    for case in Simulator::start(flood, obliging).verdicts(CASES, LONG) {
        assert_eq!(case.verdict, Verdict::Inconclusive, "{:?}", case.findings);
        assert!(case.reason.contains("never stops sending"), "{:?}", case.reason);
    }
}

#[test]
fn software_that_says_nothing_or_nonsense_is_not_reached() {
    let said_within = |patience: Duration, control: fn(UnixStream)| {
        let error = Simulator::start(|_, wire| mute(wire), control).connect(QUICK, patience).unwrap_err();
        assert!(matches!(error, DutError::Unreachable(_)), "{error}");
        error.to_string()
    };
    let said = |control| said_within(Duration::from_secs(60), control);
    assert!(said_within(Duration::from_millis(200), mute).contains("did not answer `hello`"));
    assert!(said(|control| say(control, b"SSH-2.0\r\n")).contains("does not speak the control protocol"));
    assert!(said(drop).contains("gone"));
    let done = |control: UnixStream| say(control, b"{\"id\":1,\"ok\":{\"done\":{}}}\n");
    assert!(said(done).contains("answers `hello` with"));
    let later = |control: UnixStream| {
        let device =
            r#"{"version":2,"agent":"","name":"","system":"","mac":"","active_mtu":4096,"gids":[],"capabilities":[]}"#;
        say(control, format!("{{\"id\":1,\"ok\":{{\"device\":{device}}}}}\n").as_bytes());
    };
    assert!(said(later).contains("speaks version 2"));
}

#[test]
fn answers_without_sense_disturb_nothing() {
    for area in ["memory", "rc/requester/read", "rc/responder/w", "ud", "srq"] {
        let cases = Simulator::start(|_, wire| mute(wire), senseless).verdicts(area, 1);
        assert!(!cases.is_empty());
        for case in cases {
            assert!(case.verdict != Verdict::Crash, "{}: {:?}", case.id(), case.findings);
        }
    }
}

#[test]
fn numbers_that_cannot_be_are_no_answers() {
    let large_number = |control: UnixStream| {
        serve(control, |command| match command {
            Command::CreateQp { .. } => Reply::Qp { qp: 1, qpn: 0x100_0000 },
            _ => Reply::Done {},
        });
    };
    let beyond_the_last_address = |control: UnixStream| {
        serve(control, |command| match command {
            Command::CreateQp { .. } => Reply::Qp { qp: 1, qpn: 0x11 },
            Command::RegisterMemory { .. } => {
                Reply::Memory(MemoryRegion { mr: 1, va: u64::MAX, length: 1, lkey: 1, rkey: 1 })
            }
            _ => Reply::Done {},
        });
    };
    for control in [large_number as fn(UnixStream), beyond_the_last_address] {
        for case in Simulator::start(|_, wire| mute(wire), control).verdicts(CASES, QUICK) {
            assert_eq!(case.verdict, Verdict::Inconclusive);
            assert!(case.reason.contains("does not speak the control protocol"), "{}", case.reason);
        }
    }
}

#[test]
fn what_is_wrong_with_the_words_is_said() {
    let wrong = |words: &str| Socket::parse(words, None).unwrap_err();
    assert!(wrong("wire=/w").contains("control=PATH"));
    assert!(wrong("control=/c").contains("wire=PATH"));
    assert!(wrong("wire=/w,contrl=/c").contains("\"contrl=/c\" is not one of"));
    assert!(wrong("wire=/w,control=/c,ip4=fd00::1").contains("IPv4"));
    let file = "[device]\nmac = '02:00:00:00:00:02'\nip4 = '10.0.0.2'\ncapabilities = []\n[[qp]]\nqpn = 2\npeer = 3\npsn = 0\n";
    let prepared = Some(Prepared::parse(file).unwrap());
    assert!(Socket::parse("wire=/w,control=/c", prepared.clone()).unwrap_err().contains("not both"));
    let socket = Socket::parse("wire=/w,ip4=192.0.2.1", prepared).unwrap();
    assert_eq!(socket.tester.v4.to_string(), "192.0.2.1");
    let nobody =
        super::socket::start("wire=/nowhere/w,control=/nowhere/c", None, profile(QUICK)).unwrap_err().to_string();
    assert!(nobody.contains("/nowhere/w") && nobody.contains("start the simulator first"), "{nobody}");
}
