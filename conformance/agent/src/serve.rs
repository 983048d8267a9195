//! The streams that testers come in on.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rocespec_control::serve::{Desk, Door, Next, Patience, Service};

use crate::args::Args;
use crate::backend::Backend;
use crate::session::Session;

/// How long a virtio-serial port may take to appear.
const PORT_PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait before looking again whether somebody opened the other end of a serial port.
const NOBODY_THERE: Duration = Duration::from_millis(20);

/// Serves testers, one after another, until one says `shutdown`.
pub(crate) fn serve<B: Backend>(args: &Args, backend: &mut B) -> Result<(), String> {
    let mut session = Session::new(backend);
    if let Some(address) = args.listen {
        let listener = TcpListener::bind(address).map_err(|error| format!("{address}: {error}"))?;
        // With port 0 the system chose one: whoever started us wants to know.
        eprintln!("rocespec-agent: listening on {}", listener.local_addr().unwrap_or(address));
        let tell = |what: &str| eprintln!("rocespec-agent: {what}");
        let orders = Door::Tcp(listener).open(args.token.clone(), Patience::default(), || (), tell);
        orders.map_err(|error| format!("{address}: {error}"))?.serve(&mut session);
        return Ok(());
    }
    let path = match (&args.serial, &args.virtio) {
        (Some(path), _) => path.clone(),
        (None, Some(name)) => find_virtio_port(Path::new("/sys/class/virtio-ports"), name)?,
        (None, None) => return Err("one of --serial, --virtio and --listen is needed".to_owned()),
    };
    serial(&path, args.token.as_deref(), &mut session)
}

/// A serial port has one tester at the other end and keeps nobody out.
fn serial(path: &Path, token: Option<&str>, service: &mut dyn Service) -> Result<(), String> {
    let broken = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut port = OpenOptions::new().read(true).write(true).open(path).map_err(broken)?;
    make_raw(&port);
    loop {
        let next = talk(&mut port, token, service);
        service.leave();
        if next.map_err(broken)? == Next::Shutdown {
            return Ok(());
        }
        // Nobody has the other end open. A tester that comes later is a new one.
        std::thread::sleep(NOBODY_THERE);
    }
}

/// One tester's session, from its first byte to its last.
fn talk(port: &mut File, token: Option<&str>, service: &mut dyn Service) -> std::io::Result<Next> {
    let mut desk = Desk::new(token);
    let mut bytes = vec![0; 64 << 10];
    loop {
        let count = match port.read(&mut bytes) {
            Ok(0) => return Ok(Next::Close),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let next = desk.receive(&bytes[..count], service, port)?;
        if next != Next::Go {
            return Ok(next);
        }
    }
}

/// The device node of the virtio-serial port that the host called `name`.
fn find_virtio_port(class: &Path, name: &str) -> Result<PathBuf, String> {
    let started = Instant::now();
    loop {
        for entry in fs::read_dir(class).into_iter().flatten().flatten() {
            let named = fs::read_to_string(entry.path().join("name")).unwrap_or_default();
            if named.trim() == name {
                return Ok(Path::new("/dev").join(entry.file_name()));
            }
        }
        if started.elapsed() > PORT_PATIENCE {
            return Err(format!("no virtio-serial port is called {name:?} under {}", class.display()));
        }
        std::thread::sleep(NOBODY_THERE);
    }
}

/// Takes a terminal's line discipline away, so that bytes pass as they are. Virtio ports have none.
fn make_raw(port: &File) {
    let fd = port.as_raw_fd();
    // SAFETY: `settings` is written by tcgetattr before anything reads it, and `fd` is open as long as `port` lives.
    unsafe {
        let mut settings = std::mem::zeroed::<libc::termios>();
        if libc::tcgetattr(fd, &mut settings) == 0 {
            libc::cfmakeraw(&mut settings);
            libc::tcsetattr(fd, libc::TCSANOW, &settings);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;
    use clap::Parser;
    use std::io::{BufRead, BufReader, Write};
    use std::net::{SocketAddr, TcpStream};

    const HELLO: &str = "{\"id\":1,\"cmd\":\"hello\",\"version\":1,\"token\":\"secret\"}\n";

    /// Sends these bytes and reads so many lines.
    fn exchange(address: SocketAddr, bytes: &str, lines: usize) -> Vec<String> {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stream.write_all(bytes.as_bytes()).unwrap();
        BufReader::new(stream).lines().take(lines).map(Result::unwrap).collect()
    }

    #[test]
    fn testers_come_one_after_another_and_leave_nothing_behind() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let agent = std::thread::spawn(move || {
            let mut fake = Fake::default();
            let door = Door::Tcp(listener).open(Some("secret".to_owned()), Patience::default(), || (), |_| ());
            door.unwrap().serve(&mut Session::new(&mut fake));
            fake.alive.get()
        });
        let create = "{\"id\":2,\"cmd\":\"create_qp\",\"kind\":\"rc\"}\n";
        // One that leaves in the middle of a line, one that only looks in, one without the token, one that is right.
        assert_eq!(exchange(address, &format!("{HELLO}{create}{{\"id\":3"), 2).len(), 2);
        assert_eq!(exchange(address, "", 0).len(), 0);
        let refused = exchange(address, "{\"id\":1,\"cmd\":\"shutdown\"}\n", 9);
        assert!(refused.len() == 1 && refused[0].contains("unauthorized"), "{refused:?}");
        let answers = exchange(address, &format!("{HELLO}{create}{{\"id\":3,\"cmd\":\"shutdown\"}}\n"), 9);
        // Handles begin anew with each tester.
        assert!(answers.len() == 3 && answers[1].contains("\"qp\":1,"), "{answers:?}");
        assert_eq!(agent.join().unwrap(), 0);
    }

    #[test]
    fn it_listens_where_it_is_told_and_nowhere_else_and_not_without_a_token() {
        let parse = |words: &[&str]| Args::try_parse_from([&["agent", "--device", "rxe0"], words].concat());
        assert!(parse(&["--listen", "127.0.0.1:4792"]).is_err(), "a token is needed");
        assert!(parse(&["--listen", "4792", "--token", "x"]).is_err(), "an address is needed, not a port alone");
        assert!(parse(&["--listen", "127.0.0.1:4792", "--token", ""]).is_err(), "an empty token is none");
        let args = parse(&["--listen", "127.0.0.2:0", "--token", "secret"]).unwrap();
        let listener = TcpListener::bind(args.listen.unwrap()).unwrap();
        let port = listener.local_addr().unwrap().port();
        assert!(TcpStream::connect(("127.0.0.2", port)).is_ok());
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    }

    #[test]
    fn a_virtio_port_is_found_by_its_name() {
        let class = tempfile::tempdir().unwrap();
        for (port, name) in [("vport1p0", "other"), ("vport1p1", "control")] {
            fs::create_dir(class.path().join(port)).unwrap();
            fs::write(class.path().join(port).join("name"), format!("{name}\n")).unwrap();
        }
        assert_eq!(find_virtio_port(class.path(), "control"), Ok(PathBuf::from("/dev/vport1p1")));
    }
}
