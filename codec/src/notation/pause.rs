//! Ethernet pause frames as lines: PFC (802.1Qbb) and PAUSE (802.3x).

use core::fmt;

use super::error::{NotationError, NotationErrorKind as Is, snippet};
use super::number::number;
use super::scope::Scope;
use super::suggest;
use super::value::Arena;
use super::words::{Word, Words};
use crate::eth::{MIN_FRAME, MacAddr};
use crate::field::Kind;

const DESTINATION: MacAddr = MacAddr([0x01, 0x80, 0xc2, 0, 0, 1]);
const ETHERTYPE: u16 = 0x8808;
const OPCODE_PAUSE: u16 = 0x0001;
const OPCODE_PFC: u16 = 0x0101;
/// First words.
pub(super) const HEADS: [&str; 2] = ["PFC", "PAUSE"];

/// What a pause frame says.
pub(super) struct Pause {
    src: MacAddr,
    /// PFC: the priorities that it is about, one bit each. `None`: all traffic.
    priorities: Option<u8>,
    quanta: u16,
}

impl Pause {
    /// Reads a line whose first word is one of [`HEADS`].
    pub(super) fn parse(line: &str, scope: &Scope<'_>) -> Result<Pause, NotationError> {
        let mut words = Words::new(line);
        let head = words.next().ok_or_else(|| Is::Empty.at(0..line.len()))?;
        let (mut src, mut priorities, mut quanta) = (None, None, None);
        for word in words {
            let (name, value) = word.split_once("=").unwrap_or((word, Word { text: "", at: word.span().end }));
            let is_new = match name.text {
                "prio" if head.text == "PFC" => priorities.replace(mask(value)?).is_none(),
                "quanta" => {
                    let read = number(value.text).and_then(|quanta| u16::try_from(quanta).ok());
                    quanta.replace(read.ok_or_else(|| wrong("quanta", Kind::Decimal(16), value))?).is_none()
                }
                "eth.src" => {
                    let read = value.text.parse::<MacAddr>();
                    src.replace(read.map_err(|()| wrong("eth.src", Kind::Mac, value))?).is_none()
                }
                other => {
                    let near = suggest::nearest(other, ["prio", "quanta", "eth.src"].into_iter());
                    return Err(Is::UnknownField { word: snippet(other), near }.at(name.span()));
                }
            };
            if !is_new {
                let field = ["prio", "quanta", "eth.src"].into_iter().find(|field| *field == name.text);
                return Err(Is::Twice { field: field.unwrap_or_default() }.at(word.span()));
            }
        }
        if head.text == "PFC" && priorities.is_none() {
            return Err(Is::Missing { field: "prio" }.at(head.span()));
        }
        let quanta = quanta.ok_or_else(|| Is::Missing { field: "quanta" }.at(head.span()))?;
        Ok(Pause { src: src.unwrap_or(scope.base.eth.src), priorities, quanta })
    }

    /// The pause frame that these bytes are; `None` for every frame that a line would not give.
    pub(super) fn read(frame: &[u8]) -> Option<Pause> {
        let frame: &[u8; MIN_FRAME] = frame.try_into().ok()?;
        let half = |at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
        let (priorities, quanta) = match half(14) {
            OPCODE_PAUSE => (None, half(16)),
            OPCODE_PFC => (Some(frame[17]), half(18 + 2 * (frame[17].trailing_zeros() as usize).min(7))),
            _ => return None,
        };
        let src = MacAddr([frame[6], frame[7], frame[8], frame[9], frame[10], frame[11]]);
        Some(Pause { src, priorities, quanta }).filter(|pause| pause.bytes() == *frame && priorities != Some(0))
    }

    fn bytes(&self) -> [u8; MIN_FRAME] {
        let mut frame = [0; MIN_FRAME];
        frame[..6].copy_from_slice(&DESTINATION.0);
        frame[6..12].copy_from_slice(&self.src.0);
        frame[12..14].copy_from_slice(&ETHERTYPE.to_be_bytes());
        let mut put = |at: usize, half: u16| frame[at..at + 2].copy_from_slice(&half.to_be_bytes());
        match self.priorities {
            None => {
                put(14, OPCODE_PAUSE);
                put(16, self.quanta);
            }
            Some(priorities) => {
                put(14, OPCODE_PFC);
                put(16, priorities.into());
                for priority in (0..8).filter(|priority| priorities >> priority & 1 == 1) {
                    put(18 + 2 * priority, self.quanta);
                }
            }
        }
        frame
    }

    /// The frame, in the caller's buffer.
    pub(super) fn frame<'b>(&self, line: &str, arena: &mut Arena<'b>) -> Result<&'b [u8], NotationError> {
        let frame = arena.take(MIN_FRAME, Word { text: line, at: 0 })?;
        frame.copy_from_slice(&self.bytes());
        Ok(frame)
    }

    /// Writes the line.
    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>, scope: &Scope<'_>) -> fmt::Result {
        match self.priorities {
            None => f.write_str("PAUSE")?,
            Some(priorities) => {
                let mut between = "PFC prio=";
                for priority in (0..8).filter(|priority| priorities >> priority & 1 == 1) {
                    write!(f, "{between}{priority}")?;
                    between = ",";
                }
            }
        }
        write!(f, " quanta={}", self.quanta)?;
        if self.src != scope.base.eth.src {
            write!(f, " eth.src={}", self.src)?;
        }
        Ok(())
    }
}

/// Reads `3` or `3,4`.
fn mask(value: Word<'_>) -> Result<u8, NotationError> {
    let mut mask = 0;
    for priority in value.text.split(',') {
        let priority = number(priority).filter(|priority| *priority < 8);
        mask |= 1 << priority.ok_or_else(|| wrong("prio", Kind::Decimal(3), value))?;
    }
    Ok(mask)
}

fn wrong(field: &'static str, kind: Kind, value: Word<'_>) -> NotationError {
    Is::Value { field, kind }.at(value.span())
}
