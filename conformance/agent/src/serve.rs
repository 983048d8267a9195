//! The streams that testers come in on.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::args::Args;
use crate::backend::Backend;
use crate::session::{Next, Session};

/// How long a virtio-serial port may take to appear.
const PORT_PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait before looking again whether somebody opened the other end of a serial port.
const NOBODY_THERE: Duration = Duration::from_millis(20);
/// How long a TCP tester may take for its first command, so that one who never says it does not keep the others out.
const HELLO_PATIENCE: Duration = if cfg!(test) { Duration::from_millis(200) } else { Duration::from_secs(10) };
/// How long a TCP tester may leave our answer unread before it is given up.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);

/// Serves testers, one after another, until one says `shutdown`.
pub(crate) fn serve<B: Backend>(args: &Args, backend: &mut B) -> Result<(), String> {
    if let Some(address) = args.listen {
        let listener = TcpListener::bind(address).map_err(|error| format!("{address}: {error}"))?;
        // With port 0 the system chose one: whoever started us wants to know.
        eprintln!("rocespec-agent: listening on {}", listener.local_addr().unwrap_or(address));
        return listen(&listener, args.token.as_deref(), backend);
    }
    let path = match (&args.serial, &args.virtio) {
        (Some(path), _) => path.clone(),
        (None, Some(name)) => find_virtio_port(Path::new("/sys/class/virtio-ports"), name)?,
        (None, None) => return Err("one of --serial, --virtio and --listen is needed".to_owned()),
    };
    serial(&path, args.token.as_deref(), backend)
}

fn listen<B: Backend>(listener: &TcpListener, token: Option<&str>, backend: &mut B) -> Result<(), String> {
    loop {
        let (mut stream, peer) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors, or a peer that vanished: neither is helped by spinning.
                eprintln!("rocespec-agent: accept: {error}");
                std::thread::sleep(Duration::from_millis(100));
                continue;
            }
        };
        // Small lines back and forth; and a tester whose machine died must not keep the device for ever.
        let prepared = stream.set_nodelay(true).and_then(|()| stream.set_write_timeout(Some(WRITE_PATIENCE)));
        keep_alive(&stream);
        let ended = prepared.and_then(|()| talk(&mut stream, token, backend));
        match ended {
            Ok(End::Shutdown) => return Ok(()),
            Ok(End::Gone) => {}
            Err(error) => eprintln!("rocespec-agent: {peer}: {error}"),
        }
    }
}

fn serial<B: Backend>(path: &Path, token: Option<&str>, backend: &mut B) -> Result<(), String> {
    let broken = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut port = OpenOptions::new().read(true).write(true).open(path).map_err(broken)?;
    make_raw(&port);
    loop {
        match talk(&mut port, token, backend).map_err(broken)? {
            End::Shutdown => return Ok(()),
            // Nobody has the other end open. A tester that comes later is a new one.
            End::Gone => std::thread::sleep(NOBODY_THERE),
        }
    }
}

enum End {
    Gone,
    Shutdown,
}

/// A byte stream to a tester.
trait Stream: Read + Write {
    /// Bounds the next reads; `None` takes the bound away.
    fn bound_reads(&mut self, limit: Option<Duration>) -> std::io::Result<()>;
}

impl Stream for TcpStream {
    fn bound_reads(&mut self, limit: Option<Duration>) -> std::io::Result<()> {
        self.set_read_timeout(limit)
    }
}

impl Stream for File {
    /// A serial port has one tester at the other end and keeps nobody out.
    fn bound_reads(&mut self, _limit: Option<Duration>) -> std::io::Result<()> {
        Ok(())
    }
}

/// One tester's session, from its first byte to its last.
fn talk<B: Backend, S: Stream>(stream: &mut S, token: Option<&str>, backend: &mut B) -> std::io::Result<End> {
    let mut session = Session::new(backend, token);
    let mut bytes = vec![0; 64 << 10];
    let deadline = Instant::now() + HELLO_PATIENCE;
    loop {
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        stream.bound_reads((!session.is_greeted()).then_some(left))?;
        let count = match stream.read(&mut bytes) {
            Ok(0) => return Ok(End::Gone),
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let next = session.receive(&bytes[..count], stream)?;
        stream.flush()?;
        match next {
            Next::Go => {}
            Next::Close => return Ok(End::Gone),
            Next::Shutdown => return Ok(End::Shutdown),
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

/// Asks the system to notice within about a minute that the peer's machine is gone.
fn keep_alive(stream: &TcpStream) {
    let set = |level, option, value: libc::c_int| {
        // SAFETY: the descriptor is open as long as `stream` lives; the value is an int, as these options want.
        unsafe {
            let size = size_of::<libc::c_int>() as libc::socklen_t;
            libc::setsockopt(stream.as_raw_fd(), level, option, (&raw const value).cast(), size);
        }
    };
    set(libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1);
    set(libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 30);
    set(libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, 10);
    set(libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 3);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;
    use std::io::{BufRead, BufReader};
    use std::net::SocketAddr;

    const HELLO: &str = "{\"id\":1,\"cmd\":\"hello\",\"version\":1,\"token\":\"secret\"}\n";

    /// Sends these bytes and reads so many lines.
    fn exchange(address: SocketAddr, bytes: &str, lines: usize) -> Vec<String> {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(bytes.as_bytes()).unwrap();
        BufReader::new(stream).lines().take(lines).map(Result::unwrap).collect()
    }

    #[test]
    fn testers_come_one_after_another_and_leave_nothing_behind() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let agent = std::thread::spawn(move || {
            let mut fake = Fake::default();
            listen(&listener, Some("secret"), &mut fake).unwrap();
            fake.alive.get()
        });
        let create = "{\"id\":2,\"cmd\":\"create_qp\",\"kind\":\"rc\"}\n";
        // One that says nothing and stays does not keep the others out.
        let silent = TcpStream::connect(address).unwrap();
        // One that leaves in the middle of a line, one that only looks in, one without the token, one that is right.
        assert_eq!(exchange(address, &format!("{HELLO}{create}{{\"id\":3"), 2).len(), 2);
        assert_eq!(exchange(address, "", 0).len(), 0);
        let refused = exchange(address, "{\"id\":1,\"cmd\":\"shutdown\"}\n", 9);
        assert!(refused.len() == 1 && refused[0].contains("unauthorized"), "{refused:?}");
        let answers = exchange(address, &format!("{HELLO}{create}{{\"id\":3,\"cmd\":\"shutdown\"}}\n"), 9);
        assert_eq!(answers.len(), 3);
        assert_eq!(agent.join().unwrap(), 0);
        drop(silent);
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
