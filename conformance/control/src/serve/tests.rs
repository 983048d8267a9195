//! The door and the desk, with a device that only counts.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread::JoinHandle;
use std::time::Duration;

use super::*;
use crate::reply::{ErrorCode, Response, Status};

/// Everything is patient but a wrong token.
const PATIENCE: Patience = Patience {
    hello: Duration::from_millis(300),
    seat: Duration::from_millis(300),
    unread: Duration::from_secs(10),
    wrong: Duration::from_millis(10),
};

#[derive(Default)]
struct Counting {
    orders: u64,
    visits: u64,
}

impl Service for Counting {
    fn describe(&mut self) -> Result<Device, Failure> {
        let (agent, name, system, mac) = (String::new(), "counting".to_owned(), String::new(), String::new());
        let (version, active_mtu, gids, capabilities) = (crate::VERSION, 1024, Vec::new(), Vec::new());
        Ok(Device { version, agent, name, system, mac, active_mtu, gids, capabilities })
    }

    fn carry_out(&mut self, command: Command) -> Result<Reply, Failure> {
        assert!(!matches!(command, Command::Hello { .. }));
        self.orders += 1;
        Ok(match command {
            Command::Counters {} => Reply::Counters(BTreeMap::from([("orders".to_owned(), self.orders)])),
            _ => Reply::Done {},
        })
    }

    fn leave(&mut self) {
        self.visits += 1;
    }
}

/// An agent that serves until it is shut down; gives how many testers it had.
fn agent(token: Option<&str>) -> (SocketAddr, JoinHandle<u64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let orders = Door::Tcp(listener).open(token.map(str::to_owned), PATIENCE, || (), |_| ()).unwrap();
    let serving = std::thread::spawn(move || {
        let mut device = Counting::default();
        orders.serve(&mut device);
        device.visits
    });
    (address, serving)
}

/// A tester's end.
struct Tester(BufReader<TcpStream>);

impl Tester {
    fn at(address: SocketAddr) -> Tester {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Tester(BufReader::new(stream))
    }

    fn say(&mut self, line: &str) {
        self.0.get_mut().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// The next answer; nothing when the agent closed the connection.
    fn hear(&mut self) -> Option<Response> {
        let mut line = String::new();
        match self.0.read_line(&mut line) {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(serde_json::from_str(&line).unwrap()),
        }
    }

    fn ask(&mut self, line: &str) -> Result<Reply, ErrorCode> {
        self.say(line);
        match self.hear().expect("an answer").result {
            Status::Ok(reply) => Ok(reply),
            Status::Error(failure) => Err(failure.code),
        }
    }
}

const HELLO: &str = r#"{"id":1,"cmd":"hello","version":1,"token":"secret"}"#;
const COUNTERS: &str = r#"{"id":2,"cmd":"counters"}"#;
const SHUTDOWN: &str = r#"{"id":3,"cmd":"shutdown"}"#;

#[test]
fn only_the_right_token_opens_the_door() {
    let (address, serving) = agent(Some("secret"));
    for line in [
        r#"{"id":1,"cmd":"hello","version":1}"#,
        r#"{"id":1,"cmd":"hello","version":1,"token":"secre"}"#,
        r#"{"id":1,"cmd":"hello","version":1,"token":"secret "}"#,
        r#"{"id":1,"cmd":"hello","version":1,"token":""}"#,
        COUNTERS,
        SHUTDOWN,
    ] {
        let mut tester = Tester::at(address);
        assert_eq!(tester.ask(line), Err(ErrorCode::Unauthorized), "{line}");
        assert_eq!(tester.hear(), None, "the connection is closed");
    }
    let mut tester = Tester::at(address);
    assert!(matches!(tester.ask(HELLO), Ok(Reply::Device(_))));
    // None of the orders before came through.
    assert_eq!(tester.ask(COUNTERS), Ok(Reply::Counters(BTreeMap::from([("orders".to_owned(), 1)]))));
    assert_eq!(tester.ask(SHUTDOWN), Ok(Reply::Done {}));
    assert_eq!(serving.join().unwrap(), 1);
}

#[test]
fn who_talks_without_a_token_is_not_heard_for_long() {
    let (address, serving) = agent(Some("secret"));
    let mut tester = Tester::at(address);
    tester.0.get_mut().write_all(&[b'x'; 5000]).unwrap();
    let answer = tester.hear().unwrap();
    assert!(matches!(answer.result, Status::Error(failure) if failure.code == ErrorCode::Unauthorized));
    assert_eq!(tester.hear(), None);
    let mut tester = Tester::at(address);
    tester.ask(HELLO).unwrap();
    // Who has said hello may send long lines.
    let long = format!(r#"{{"id":2,"cmd":"write_memory","mr":1,"offset":0,"data":"{}"}}"#, "00".repeat(4000));
    assert_eq!(tester.ask(&long), Ok(Reply::Done {}));
    tester.ask(SHUTDOWN).unwrap();
    serving.join().unwrap();
}

#[test]
fn one_tester_at_a_time_and_the_next_one_is_told_so() {
    let (address, serving) = agent(Some("secret"));
    // One that says nothing and stays does not keep the others out.
    let mut silent = Tester::at(address);
    let mut first = Tester::at(address);
    first.ask(HELLO).unwrap();
    let mut second = Tester::at(address);
    assert_eq!(second.ask(HELLO), Err(ErrorCode::Refused));
    assert_eq!(second.ask(COUNTERS), Err(ErrorCode::Unauthorized));
    // The first is not disturbed, and when it is gone there is a seat.
    assert!(first.ask(COUNTERS).is_ok());
    drop(first);
    let mut third = Tester::at(address);
    third.ask(HELLO).unwrap();
    assert_eq!(silent.hear(), None, "who does not say hello is sent away");
    third.ask(SHUTDOWN).unwrap();
    assert_eq!(serving.join().unwrap(), 2);
}

#[test]
fn a_crowd_is_sent_away_with_a_word_and_the_tester_goes_on() {
    let (address, serving) = agent(None);
    let mut tester = Tester::at(address);
    tester.ask(HELLO).unwrap();
    let mut crowd: Vec<Tester> = (0..20).map(|_| Tester::at(address)).collect();
    let told = crowd.iter_mut().filter_map(Tester::hear).filter(|answer| answer.id == 0).count();
    assert!(told >= 13, "{told} were told");
    assert!(tester.ask(COUNTERS).is_ok());
    tester.ask(SHUTDOWN).unwrap();
    serving.join().unwrap();
}

#[test]
fn a_unix_socket_is_a_door_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("control");
    let orders = Door::Unix(UnixListener::bind(&path).unwrap()).open(None, PATIENCE, || (), |_| ()).unwrap();
    let serving = std::thread::spawn(move || orders.serve(&mut Counting::default()));
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(format!("{HELLO}\n{SHUTDOWN}\n").as_bytes()).unwrap();
    assert_eq!(BufReader::new(stream).lines().map_while(Result::ok).count(), 2);
    serving.join().unwrap();
}

#[test]
fn orders_that_wait_are_served_without_waiting() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (woken, wakes) = std::sync::mpsc::channel();
    let wake = std::sync::Mutex::new(woken);
    let wake = move || wake.lock().unwrap().send(()).unwrap_or_default();
    let mut orders = Door::Tcp(listener).open(None, PATIENCE, wake, |_| ()).unwrap();
    let mut device = Counting::default();
    assert_eq!(orders.serve_waiting(&mut device), Went::On);
    let tester = std::thread::spawn(move || Tester::at(address).ask(HELLO));
    while !tester.is_finished() {
        if wakes.recv_timeout(Duration::from_millis(50)).is_ok() {
            assert_eq!(orders.serve_waiting(&mut device), Went::On);
        }
    }
    assert!(tester.join().unwrap().is_ok());
}
