//! The first word of a line: which packet it is.

use core::fmt;

use super::number;
use crate::code::{Syndrome, SyndromeClass};
use crate::frame::Roce;
use crate::opcode::Opcode;

/// Classes of syndrome that are defined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Ack,
    RnrNak,
    Nak,
}

impl Class {
    const ALL: [Class; 3] = [Class::Ack, Class::RnrNak, Class::Nak];

    /// `None` for reserved syndromes.
    fn of(syndrome: Syndrome) -> Option<Class> {
        match syndrome.class() {
            SyndromeClass::Ack(_) => Some(Class::Ack),
            SyndromeClass::RnrNak(_) => Some(Class::RnrNak),
            SyndromeClass::Nak(_) => Some(Class::Nak),
            SyndromeClass::Reserved(_) => None,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Class::Ack => "ACK",
            Class::RnrNak => "RNR_NAK",
            Class::Nak => "NAK",
        }
    }
}

/// The first word of a line: an opcode, or what an acknowledgement says (`ACK`, `NAK`, `RNR_NAK`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub(super) opcode: Opcode,
    /// For an acknowledgement: what it says. `None` leaves it to the fields.
    pub(super) class: Option<Class>,
}

/// Opcodes of acknowledgements, and what stands in front of the word for their class.
const ACKNOWLEDGE: [(Opcode, &str); 3] =
    [(Opcode::RC_ACKNOWLEDGE, ""), (Opcode::RD_ACKNOWLEDGE, "RD_"), (Opcode::XRC_ACKNOWLEDGE, "XRC_")];

impl Head {
    /// The head of a packet.
    pub(super) fn of(packet: &Roce<'_>) -> Head {
        let opcode = packet.bth.opcode;
        let class = if ACKNOWLEDGE.iter().any(|(acknowledge, _)| *acknowledge == opcode) {
            Class::of(packet.ext.aeth.syndrome)
        } else {
            None
        };
        Head { opcode, class }
    }

    /// True for packets that this word describes.
    pub fn fits(self, packet: &Roce<'_>) -> bool {
        self.opcode == packet.bth.opcode && (self.class.is_none() || self.class == Head::of(packet).class)
    }

    /// Reads a word. `None` when it stands for no packet.
    pub fn parse(text: &str) -> Option<Head> {
        for (opcode, prefix) in ACKNOWLEDGE {
            let word = text.strip_prefix(prefix);
            if let Some(class) = Class::ALL.into_iter().find(|class| word == Some(class.word())) {
                return Some(Head { opcode, class: Some(class) });
            }
        }
        let numbered = || {
            let hex = text.strip_prefix("OP_").filter(|code| code.starts_with("0x"))?;
            number::number(hex).and_then(|code| u8::try_from(code).ok()).map(Opcode)
        };
        let opcode = Opcode::DEFINED.iter().copied().find(|opcode| name(*opcode) == Some(text));
        let opcode = opcode.or_else(|| Opcode::from_name(text)).or_else(numbered)?;
        Some(Head { opcode, class: None })
    }

    /// Every word that [`Head::parse`] takes and [`fmt::Display`] prints, but for numbered ones and those with a prefix
    /// in front of a class.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        let classes = Class::ALL.into_iter().map(Class::word);
        classes.chain(Opcode::DEFINED.iter().filter_map(|opcode| name(*opcode)))
    }
}

/// Name of an opcode: without its transport where that is RC.
fn name(opcode: Opcode) -> Option<&'static str> {
    let name = opcode.info()?.name;
    Some(name.strip_prefix("RC_").unwrap_or(name))
}

impl Head {
    pub(super) fn write(self, f: &mut impl fmt::Write) -> fmt::Result {
        let prefix = ACKNOWLEDGE.iter().find(|(opcode, _)| *opcode == self.opcode);
        match (prefix, self.class, name(self.opcode)) {
            (Some((_, prefix)), Some(class), _) => {
                f.write_str(prefix)?;
                f.write_str(class.word())
            }
            (_, _, Some(name)) => f.write_str(name),
            (_, _, None) => write!(f, "OP_{:#04x}", self.opcode.0),
        }
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f)
    }
}
