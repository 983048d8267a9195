//! The tester's end of the control protocol: one order, one answer, never a wait without end.

use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use rocespec_control::{Command, Failure, LineReader, Reply, Request, Response, Status};

use super::stream::Stream;

/// How often a wait looks whether the device still lives.
const LOOK: Duration = Duration::from_millis(50);

/// Why an order has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ControlError {
    /// It has one: no.
    #[error(transparent)]
    Refused(#[from] Failure),
    /// The agent said nothing in time.
    #[error("the agent did not answer `{command}` within {} s", .limit.as_secs())]
    Silent {
        /// The order's name.
        command: String,
        /// How long it had.
        limit: Duration,
    },
    /// The stream ended or broke.
    #[error("the control stream is gone: {0}")]
    Gone(String),
    /// The agent answers something that is not the protocol.
    #[error("the agent does not speak the control protocol: {0}")]
    Nonsense(String),
    /// The device was seen to be dead while we waited.
    #[error("the device died while it had `{command}` to do")]
    Died {
        /// The order's name.
        command: String,
    },
}

/// One end of a control stream.
#[derive(Debug)]
pub(crate) struct ControlClient {
    stream: Stream,
    reader: LineReader,
    last_id: u64,
}

impl ControlClient {
    pub(crate) fn new(stream: Stream) -> std::io::Result<ControlClient> {
        stream.set_read_timeout(Some(LOOK))?;
        stream.set_write_timeout(Some(LOOK))?;
        Ok(ControlClient { stream, reader: LineReader::default(), last_id: 0 })
    }

    /// Sends an order and waits for its answer, at most `limit`, and no longer than `alive` says so.
    pub(crate) fn call(
        &mut self,
        command: &Command,
        limit: Duration,
        alive: &mut dyn FnMut() -> bool,
    ) -> Result<Reply, ControlError> {
        self.last_id += 1;
        let request = Request { id: self.last_id, command: command.clone() };
        let mut line = serde_json::to_vec(&request).map_err(|error| ControlError::Nonsense(error.to_string()))?;
        line.push(b'\n');
        let mut wait = Wait { command, limit, started: Instant::now(), alive };
        self.send(&line, &mut wait)?;
        let mut bytes = vec![0; 64 << 10];
        loop {
            while let Some(line) = self.reader.next_line() {
                let line = line.map_err(|error| ControlError::Nonsense(error.to_string()))?;
                if let Some(status) = self.answer(&line)? {
                    return match status {
                        Status::Ok(reply) => possible(command, reply),
                        Status::Error(failure) => Err(failure.into()),
                    };
                }
            }
            match self.stream.read(&mut bytes) {
                Ok(0) => return Err(ControlError::Gone("the other end closed it".to_owned())),
                Ok(count) => self.reader.push(&bytes[..count]),
                Err(error) if is_pause(&error) => {}
                Err(error) => return Err(ControlError::Gone(error.to_string())),
            }
            wait.go_on()?;
        }
    }

    fn send(&mut self, mut line: &[u8], wait: &mut Wait<'_>) -> Result<(), ControlError> {
        while !line.is_empty() {
            match self.stream.write(line) {
                Ok(count) => line = &line[count..],
                Err(error) if is_pause(&error) => wait.go_on()?,
                Err(error) => return Err(ControlError::Gone(error.to_string())),
            }
        }
        Ok(())
    }

    /// The answer to the last order, if the line is that; nothing for a late answer to an earlier order.
    fn answer(&self, line: &[u8]) -> Result<Option<Status>, ControlError> {
        let response: Response = serde_json::from_slice(line).map_err(|error| {
            let start = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
            ControlError::Nonsense(format!("{error}, in the line {start:?}"))
        })?;
        match response {
            Response { id, result } if id == self.last_id => Ok(Some(result)),
            Response { id: 0, result: Status::Error(failure) } => {
                Err(ControlError::Nonsense(format!("it could not read our order: {failure}")))
            }
            Response { id, .. } if id < self.last_id => Ok(None),
            Response { id, .. } => {
                Err(ControlError::Nonsense(format!("it answers order {id}, the last one was {}", self.last_id)))
            }
        }
    }
}

/// The answer, unless its numbers cannot be: who calculates with them need not ask again.
fn possible(command: &Command, reply: Reply) -> Result<Reply, ControlError> {
    let is_possible = match (command, &reply) {
        (_, Reply::Qp { qpn: number, .. } | Reply::Srq { srqn: number, .. }) => *number <= 0xff_ffff,
        (Command::RegisterMemory { length, .. }, Reply::Memory(region)) => {
            region.length >= *length && region.va.checked_add(region.length).is_some()
        }
        _ => true,
    };
    if is_possible { Ok(reply) } else { Err(ControlError::Nonsense(format!("it answers with {reply:?}"))) }
}

/// Bounds of one wait.
struct Wait<'a> {
    command: &'a Command,
    limit: Duration,
    started: Instant,
    alive: &'a mut dyn FnMut() -> bool,
}

impl Wait<'_> {
    fn go_on(&mut self) -> Result<(), ControlError> {
        let command = || name(self.command);
        if !(self.alive)() {
            return Err(ControlError::Died { command: command() });
        }
        if self.started.elapsed() >= self.limit {
            return Err(ControlError::Silent { command: command(), limit: self.limit });
        }
        Ok(())
    }
}

/// The `cmd` of an order.
pub(crate) fn name(command: &Command) -> String {
    let value = serde_json::to_value(command).unwrap_or_default();
    value.get("cmd").and_then(serde_json::Value::as_str).unwrap_or("?").to_owned()
}

fn is_pause(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::os::unix::net::UnixStream;
    use std::thread;

    /// An agent that answers every line with these bytes, in pieces, then closes.
    fn agent(answer: &'static [u8], pieces: usize) -> ControlClient {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        thread::spawn(move || {
            let mut line = String::new();
            BufReader::new(theirs.try_clone().unwrap()).read_line(&mut line).unwrap();
            for piece in answer.chunks(pieces) {
                if theirs.write_all(piece).is_err() {
                    return;
                }
            }
            if answer.is_empty() {
                thread::sleep(Duration::from_secs(3));
            }
        });
        ControlClient::new(ours.into()).unwrap()
    }

    fn call(client: &mut ControlClient) -> Result<Reply, ControlError> {
        client.call(&Command::Counters {}, Duration::from_millis(300), &mut || true)
    }

    #[test]
    fn an_answer_in_pieces_is_an_answer() {
        let mut client = agent(b"{\"id\":1,\"ok\":{\"done\":{}}}\r\n", 3);
        assert_eq!(call(&mut client).unwrap(), Reply::Done {});
    }

    #[test]
    fn a_refusal_keeps_its_code() {
        let mut client = agent(b"{\"id\":1,\"error\":{\"code\":\"refused\",\"message\":\"no\",\"errno\":22}}\n", 99);
        let Err(ControlError::Refused(failure)) = call(&mut client) else { panic!() };
        assert_eq!(failure.errno, Some(22));
    }

    #[test]
    fn silence_ends_the_wait() {
        let error = call(&mut agent(b"", 1)).unwrap_err();
        assert!(matches!(&error, ControlError::Silent { command, .. } if command == "counters"), "{error}");
    }

    #[test]
    fn half_a_line_and_a_closed_stream_is_gone() {
        assert!(matches!(call(&mut agent(b"{\"id\":1,\"ok\":", 99)), Err(ControlError::Gone(_))));
    }

    #[test]
    fn what_is_not_the_protocol_is_named_so() {
        for answer in [&b"hello\n"[..], b"\xff\xfe\n", b"{\"id\":7,\"ok\":{\"done\":{}}}\n", b"{}\n"] {
            assert!(matches!(call(&mut agent(answer, 99)), Err(ControlError::Nonsense(_))));
        }
    }

    #[test]
    fn a_giant_line_is_named_so_and_never_kept() {
        static GIANT: [u8; 6 << 20] = [b'x'; 6 << 20];
        let mut client = agent(&GIANT, 1 << 16);
        let result = client.call(&Command::Counters {}, Duration::from_secs(10), &mut || true);
        assert!(matches!(result, Err(ControlError::Nonsense(_) | ControlError::Gone(_))));
    }

    #[test]
    fn a_late_answer_is_not_taken_for_the_next() {
        let mut client = agent(b"{\"id\":1,\"ok\":{\"done\":{}}}\n{\"id\":2,\"ok\":{\"data\":\"\"}}\n", 99);
        client.last_id = 1;
        assert_eq!(call(&mut client).unwrap(), Reply::Data(String::new()));
    }

    #[test]
    fn a_dead_device_ends_the_wait_at_once() {
        let mut client = agent(b"", 1);
        let started = Instant::now();
        let result = client.call(&Command::Counters {}, Duration::from_secs(60), &mut || false);
        assert!(matches!(result, Err(ControlError::Died { .. })) && started.elapsed() < Duration::from_secs(1));
    }
}
