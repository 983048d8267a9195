//! How much memory a script may take: for the bytes that it writes down, and on the device for what it registers.

use super::diagnostics::Problem;
use super::object::ObjectVerb;
use super::script::{Action, Local, Verb};
use super::words::Piece;

/// Most bytes that all steps together write or compare.
const MOST_WRITTEN: u64 = 64 << 20;
/// Most memory that all steps together register, in bytes.
const MOST_REGISTERED: u64 = 256 << 20;
/// Most regions, buffers, windows, bindings and shared receive queues.
const MOST_OBJECTS: u64 = 4096;

/// What a script has taken so far.
#[derive(Debug, Default)]
pub(super) struct Budget {
    written: u64,
    registered: u64,
    objects: u64,
    /// A bound is passed: nothing behind it is worth reading.
    pub(super) is_spent: bool,
}

impl Budget {
    /// Takes what this step needs.
    ///
    /// # Errors
    /// When the script as a whole takes too much with it.
    pub(super) fn take(&mut self, action: &Action, step: Piece<'_>) -> Result<(), Problem> {
        if let Action::Dut(verb) | Action::Peer(verb) = action {
            self.add(verb);
        }
        let (what, label) = if self.written > MOST_WRITTEN {
            ("writes and compares too many bytes", format!("at most {MOST_WRITTEN} in all its steps"))
        } else if self.registered > MOST_REGISTERED {
            ("registers too much memory", format!("at most {MOST_REGISTERED} bytes in all its steps"))
        } else if self.objects > MOST_OBJECTS {
            ("makes too many regions, buffers and windows", format!("at most {MOST_OBJECTS} in all its steps"))
        } else {
            return Ok(());
        };
        self.is_spent = true;
        Err(step.wrong(format!("with this step the script {what}")).label(label))
    }

    fn add(&mut self, verb: &Verb) {
        match verb {
            Verb::RegisterMemory { length, .. } => self.register(*length),
            Verb::Receive { count, buffer: Local::Nameless(length) } => {
                self.register(u64::from(*count) * u64::from(*length));
            }
            Verb::WriteMemory(place) | Verb::CheckMemory(place) => self.written += place.bytes.len() as u64,
            Verb::Post(post) => match &post.local {
                Local::Region { .. } => {}
                Local::Nameless(length) => self.register(u64::from(*length)),
                Local::Bytes(bytes) => {
                    self.written += bytes.len() as u64;
                    self.register(bytes.len() as u64);
                }
            },
            Verb::Object(ObjectVerb::CreateSrq { .. } | ObjectVerb::AllocateWindow { .. } | ObjectVerb::Bind(_)) => {
                self.objects += 1;
            }
            Verb::Other(verb) => self.add(verb),
            _ => {}
        }
    }

    fn register(&mut self, bytes: u64) {
        self.registered += bytes;
        self.objects += 1;
    }
}
