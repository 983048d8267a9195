//! One connection: lines in, lines out.

use std::io::Write;

use super::{Service, secret};
use crate::command::Command;
use crate::line::{LineError, LineReader, MAX_LINE};
use crate::reply::{ErrorCode, Failure, Reply, Response, Status};
use crate::request::Request;

/// What becomes of the connection after a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Read on.
    Go,
    /// Close this connection; the tester may not come in.
    Close,
    /// The tester asked the agent to stop.
    Shutdown,
}

/// Most bytes that are heard of somebody who has not said `hello`.
const MAX_BEFORE_HELLO: usize = 4096;

/// Hears one tester.
#[derive(Debug)]
pub struct Desk<'t> {
    token: Option<&'t str>,
    greeted: bool,
    /// Bytes that came before a right `hello`.
    before_hello: usize,
    reader: LineReader,
}

impl<'t> Desk<'t> {
    /// Nobody has said anything yet. With a token, `hello` has to name it.
    pub fn new(token: Option<&'t str>) -> Desk<'t> {
        Desk { token, greeted: false, before_hello: 0, reader: LineReader::default() }
    }

    /// True once the tester has said `hello`, with the right token.
    pub fn is_greeted(&self) -> bool {
        self.greeted
    }

    /// Takes bytes in and writes one whole line for each that they complete, each before the next is carried out: a burst
    /// of orders must not pile up its answers in memory.
    ///
    /// # Errors
    /// When an answer cannot be written.
    pub fn receive(
        &mut self,
        bytes: &[u8],
        service: &mut dyn Service,
        out: &mut (impl Write + ?Sized),
    ) -> std::io::Result<Next> {
        self.reader.push(bytes);
        while let Some(line) = self.reader.next_line() {
            let (response, next) = match line {
                Ok(line) if line.iter().all(u8::is_ascii_whitespace) => continue,
                Ok(line) => self.line(&line, service),
                Err(LineError::TooLong) => {
                    let message = format!("a line is longer than {MAX_LINE} bytes; it is skipped");
                    (refusal(0, ErrorCode::BadRequest, message), Next::Go)
                }
            };
            answer(&response, out)?;
            if next != Next::Go {
                return Ok(next);
            }
        }
        if !self.greeted {
            self.before_hello = self.before_hello.saturating_add(bytes.len());
            // Without a token there is nobody to keep out.
            if self.token.is_some() && self.before_hello > MAX_BEFORE_HELLO {
                let message = format!("no `hello` with the agent's token in the first {MAX_BEFORE_HELLO} bytes");
                answer(&refusal(0, ErrorCode::Unauthorized, message), out)?;
                return Ok(Next::Close);
            }
        }
        Ok(Next::Go)
    }

    fn line(&mut self, line: &[u8], service: &mut dyn Service) -> (Response, Next) {
        let Request { id, command } = match Request::parse(line) {
            Ok(request) => request,
            Err(bad) => return (bad.into(), Next::Go),
        };
        let shutdown = command == Command::Shutdown {};
        let (result, next) = match self.command(command, service) {
            Ok(reply) => (Status::Ok(reply), if shutdown { Next::Shutdown } else { Next::Go }),
            Err(error) => {
                let close = error.code == ErrorCode::Unauthorized;
                (Status::Error(error), if close { Next::Close } else { Next::Go })
            }
        };
        (Response { id, result }, next)
    }

    fn command(&mut self, command: Command, service: &mut dyn Service) -> Result<Reply, Failure> {
        if let Command::Hello { version, token } = command {
            return self.hello(version, token.as_deref(), service);
        }
        if !self.greeted {
            let code = if self.token.is_some() { ErrorCode::Unauthorized } else { ErrorCode::BadRequest };
            return Err(failure(code, "the first command on a connection is `hello`"));
        }
        service.carry_out(command)
    }

    fn hello(&mut self, version: u32, token: Option<&str>, service: &mut dyn Service) -> Result<Reply, Failure> {
        if let Some(expected) = self.token {
            let given = token.ok_or_else(|| failure(ErrorCode::Unauthorized, "`hello` needs the agent's `token`"))?;
            if !secret::is_same(expected.as_bytes(), given.as_bytes()) {
                return Err(failure(ErrorCode::Unauthorized, "the token is wrong"));
            }
        }
        if version != crate::VERSION {
            let own = crate::VERSION;
            let message = format!("this agent speaks version {own} of the protocol, the tester {version}");
            return Err(failure(ErrorCode::BadVersion, message));
        }
        let device = service.describe()?;
        self.greeted = true;
        Ok(Reply::Device(device))
    }
}

/// A response that says no.
pub(super) fn refusal(id: u64, code: ErrorCode, message: String) -> Response {
    Response { id, result: Status::Error(failure(code, message)) }
}

/// Writes a response as one line.
pub(super) fn answer(response: &Response, out: &mut (impl Write + ?Sized)) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(response)?;
    line.push(b'\n');
    out.write_all(&line)
}

pub(super) fn failure(code: ErrorCode, message: impl Into<String>) -> Failure {
    Failure { code, message: message.into(), errno: None }
}
