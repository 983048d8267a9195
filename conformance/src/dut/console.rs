//! What a process says while it runs: kept in part, and watched for words of death.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lines kept from before a crash.
const KEPT: usize = 60;
/// Lines kept from a crash on: the report with its call trace.
const KEPT_OF_CRASH: usize = 200;
/// Bytes kept of a line.
const LINE: u64 = 512;

/// Filled by a thread that reads, asked by the others.
#[derive(Debug)]
pub(super) struct Console {
    /// A line with one of them, and all after it, tell of a crash.
    words_of_death: &'static [&'static str],
    lines: Mutex<Lines>,
}

#[derive(Debug, Default)]
struct Lines {
    before: VecDeque<String>,
    /// From the first line with words of death on.
    crash: Vec<String>,
    ended: bool,
}

impl Console {
    pub(super) fn new(words_of_death: &'static [&'static str]) -> Console {
        Console { words_of_death, lines: Mutex::default() }
    }

    /// Reads to the end. Bytes that are no text, and lines without end, are kept in part.
    pub(super) fn watch(&self, source: impl Read) {
        let mut source = BufReader::new(source);
        let mut line = Vec::new();
        loop {
            line.clear();
            match source.by_ref().take(LINE).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => break,
                Ok(_) => self.add(String::from_utf8_lossy(&line).trim_end().to_owned()),
            }
        }
        self.lines().ended = true;
    }

    pub(super) fn ended(&self) -> bool {
        self.lines().ended
    }

    pub(super) fn crashed(&self) -> bool {
        !self.lines().crash.is_empty()
    }

    /// The crash's own lines, or nothing.
    pub(super) fn crash(&self) -> Option<String> {
        let lines = self.lines();
        (!lines.crash.is_empty()).then(|| lines.crash.join("\n"))
    }

    /// The last lines, whatever they are.
    pub(super) fn last_lines(&self, count: usize) -> String {
        let lines = self.lines();
        let all: Vec<&str> = lines.before.iter().chain(&lines.crash).map(String::as_str).collect();
        all[all.len().saturating_sub(count)..].join("\n")
    }

    fn add(&self, line: String) {
        if line.is_empty() {
            return;
        }
        let mut lines = self.lines();
        if !lines.crash.is_empty() || self.words_of_death.iter().any(|words| line.contains(words)) {
            if lines.crash.len() < KEPT_OF_CRASH {
                lines.crash.push(line);
            }
            return;
        }
        if lines.before.len() == KEPT {
            lines.before.pop_front();
        }
        lines.before.push_back(line);
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_seen_with_what_follows_it() {
        let console = Console::new(&["BUG: "]);
        console.watch(&b"booting\r\n[ 3.1] BUG: kernel NULL pointer dereference\r\n[ 3.2] RIP: 0010:rxe_rcv\r\n"[..]);
        assert_eq!(console.crash().unwrap(), "[ 3.1] BUG: kernel NULL pointer dereference\n[ 3.2] RIP: 0010:rxe_rcv");
        assert!(console.crashed() && console.ended());
    }

    #[test]
    fn an_ordinary_boot_is_no_crash() {
        let console = Console::new(&["BUG: "]);
        console.watch(&b"rocespec-guest: rxe0 is up\neth0 speed is unknown\n"[..]);
        assert_eq!(console.crash(), None);
        assert_eq!(console.last_lines(1), "eth0 speed is unknown");
    }

    #[test]
    fn a_flood_is_kept_in_part() {
        let console = Console::new(&["BUG: "]);
        let mut flood = vec![0xff; 4 << 20];
        flood.extend(b"\nline\n".repeat(100_000));
        console.watch(&flood[..]);
        assert!(console.last_lines(usize::MAX).len() < 200_000);
        assert!(console.last_lines(1) == "line");
    }
}
