//! Where testers come in.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use socket2::{SockRef, TcpKeepalive};

use super::desk::{self, Desk, Next};
use super::orders::{self, Orders, Seat, Seated};
use crate::reply::ErrorCode;

/// Connections that are heard at one time, the seated one among them. More are closed at once.
const MOST_AT_ONCE: usize = 8;
/// A connection that is silent for so long is asked by the system whether its other end still lives, so often.
const SILENT: Duration = Duration::from_secs(30);
const ASK_EVERY: Duration = Duration::from_secs(10);
const ASK_TIMES: u32 = 3;

/// A socket that listens. It has the address that it was bound to, and no other.
#[derive(Debug)]
pub enum Door {
    /// On the network.
    Tcp(TcpListener),
    /// In the file system.
    Unix(UnixListener),
}

/// How long the door waits for whom.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// For a right `hello`, so that one who never says it goes away.
    pub hello: Duration,
    /// For the tester before to be cleaned up after.
    pub seat: Duration,
    /// For a tester that leaves our answer unread.
    pub unread: Duration,
    /// For a wrong token to be forgotten: so long its connection counts as one of those that are heard, and all wrong ones
    /// stand in one queue. Guessing takes its time.
    pub wrong: Duration,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            hello: Duration::from_secs(10),
            seat: Duration::from_secs(2),
            unread: Duration::from_secs(30),
            wrong: Duration::from_secs(1),
        }
    }
}

/// Everything that the threads behind a door share.
struct House {
    token: Option<String>,
    patience: Patience,
    seat: Seat,
    heard: AtomicUsize,
    /// Held by the one wrong token that is being waited for.
    wrong: Mutex<()>,
    tell: Box<dyn Fn(&str) + Send + Sync>,
}

impl Door {
    /// Hears everybody who comes, and seats one at a time: who says a right `hello`. Others are told why not. `wake` is
    /// called when an order waits; `tell` gets a line about each connection that ends otherwise than by its tester.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn open(
        self,
        token: Option<String>,
        patience: Patience,
        wake: impl Fn() + Send + Sync + 'static,
        tell: impl Fn(&str) + Send + Sync + 'static,
    ) -> std::io::Result<Orders> {
        let (seat, orders) = orders::seat(Arc::new(wake));
        let (heard, wrong) = (AtomicUsize::new(0), Mutex::new(()));
        let house = Arc::new(House { token, patience, seat, heard, wrong, tell: Box::new(tell) });
        thread::Builder::new().name("door".to_owned()).spawn(move || self.keep(&house))?;
        Ok(orders)
    }

    fn keep(&self, house: &Arc<House>) {
        loop {
            let (connection, from) = match self.accept() {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of descriptors, or a peer that vanished: neither is helped by spinning.
                    (house.tell)(&format!("accept: {error}"));
                    thread::sleep(Duration::from_millis(100));
                    continue;
                }
            };
            // Only this thread adds, so there are never more.
            if house.heard.load(Ordering::Acquire) >= MOST_AT_ONCE {
                (house.tell)(&format!("{from}: sent away, {MOST_AT_ONCE} others are here already"));
                send_away(connection);
                continue;
            }
            house.heard.fetch_add(1, Ordering::AcqRel);
            let visit = Visit { house: Arc::clone(house), from };
            let started = thread::Builder::new().name("tester".to_owned()).spawn(move || visit.hear(connection));
            if let Err(error) = started {
                (house.tell)(&format!("cannot start a thread: {error}"));
            }
        }
    }

    fn accept(&self) -> std::io::Result<(Box<dyn Connection>, String)> {
        Ok(match self {
            Door::Tcp(listener) => {
                let (stream, from) = listener.accept()?;
                // Small lines back and forth; and a tester whose machine died must not keep the device for ever.
                let keepalive = TcpKeepalive::new().with_time(SILENT).with_interval(ASK_EVERY).with_retries(ASK_TIMES);
                let prepared =
                    stream.set_nodelay(true).and_then(|()| SockRef::from(&stream).set_tcp_keepalive(&keepalive));
                prepared?;
                (Box::new(stream), from.to_string())
            }
            Door::Unix(listener) => (Box::new(listener.accept()?.0), "a local tester".to_owned()),
        })
    }
}

/// Says no to one who is not heard.
fn send_away(mut connection: Box<dyn Connection>) {
    let message = format!("{MOST_AT_ONCE} connections are here already: try again later");
    // So little always fits into a new connection, so that this does not wait.
    let _ = desk::answer(&desk::refusal(0, ErrorCode::Refused, message), &mut *connection);
}

/// A byte stream to a tester.
trait Connection: Read + Write + Send {
    /// Bounds the next reads; `None` takes the bound away.
    fn bound_reads(&self, limit: Option<Duration>) -> std::io::Result<()>;
    /// Bounds every write.
    fn bound_writes(&self, limit: Duration) -> std::io::Result<()>;
}

impl Connection for TcpStream {
    fn bound_reads(&self, limit: Option<Duration>) -> std::io::Result<()> {
        self.set_read_timeout(limit)
    }

    fn bound_writes(&self, limit: Duration) -> std::io::Result<()> {
        self.set_write_timeout(Some(limit))
    }
}

impl Connection for UnixStream {
    fn bound_reads(&self, limit: Option<Duration>) -> std::io::Result<()> {
        self.set_read_timeout(limit)
    }

    fn bound_writes(&self, limit: Duration) -> std::io::Result<()> {
        self.set_write_timeout(Some(limit))
    }
}

/// One connection while it is heard.
struct Visit {
    house: Arc<House>,
    from: String,
}

impl Visit {
    fn hear(self, mut connection: Box<dyn Connection>) {
        if let Err(error) = self.talk(&mut *connection) {
            (self.house.tell)(&format!("{}: {error}", self.from));
        }
    }

    /// From the first byte to the last.
    fn talk(&self, connection: &mut dyn Connection) -> std::io::Result<()> {
        let House { token, patience, seat, .. } = &*self.house;
        connection.bound_writes(patience.unread)?;
        let mut desk = Desk::new(token.as_deref());
        let mut device = Seated::new(seat.clone(), patience.seat);
        let mut bytes = vec![0; 64 << 10];
        let deadline = Instant::now() + patience.hello;
        loop {
            let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            connection.bound_reads((!desk.is_greeted()).then_some(left))?;
            let count = match connection.read(&mut bytes) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    return Err(std::io::Error::other("sent away: it did not say `hello`"));
                }
                Err(error) => return Err(error),
            };
            let next = desk.receive(&bytes[..count], &mut device, connection)?;
            connection.flush()?;
            if next == Next::Close {
                self.wait_after_a_wrong_one();
                return Err(std::io::Error::other("sent away: its token is not the right one"));
            }
            if next == Next::Shutdown {
                return Ok(());
            }
        }
    }

    fn wait_after_a_wrong_one(&self) {
        let _turn = self.house.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        thread::sleep(self.house.patience.wrong);
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.house.heard.fetch_sub(1, Ordering::AcqRel);
    }
}
