//! Lines of MAC control frames: PFC (802.1Qbb), PAUSE (802.3x) and others.

use arrayvec::ArrayVec;

use super::error::{NotationError, NotationErrorKind as Is, snippet};
use super::number::{self, number};
use super::scope::Scope;
use super::suggest;
use super::value::Arena;
use super::words::{Word, Words};
use crate::eth::{MIN_FRAME, MacAddr, Tag};
use crate::field::Kind;
use crate::mac_control::{Control, MacControl, Pause, Pfc};

const PFC: &str = "PFC";
const PAUSE: &str = "PAUSE";
const MAC_CONTROL: &str = "MAC_CONTROL";
/// First words.
pub(super) const HEADS: [&str; 3] = [PFC, PAUSE, MAC_CONTROL];

/// The words of such lines, and the first words that they can stand behind.
const NAMES: [(&str, &[&str]); 15] = [
    ("prio", &[PFC]),
    ("vector", &[PFC]),
    ("quanta", &[PFC, PAUSE]),
    ("data", &[MAC_CONTROL]),
    ("eth.dst", &HEADS),
    ("eth.src", &HEADS),
    ("trailer", &HEADS),
    ("vlan.id", &HEADS),
    ("vlan.pcp", &HEADS),
    ("vlan.dei", &HEADS),
    ("vlan.tpid", &HEADS),
    ("vlan2.id", &HEADS),
    ("vlan2.pcp", &HEADS),
    ("vlan2.dei", &HEADS),
    ("vlan2.tpid", &HEADS),
];

/// What a line says so far.
struct Draft<'l> {
    frame: MacControl<'static>,
    vector: Option<u16>,
    quanta: Option<Quanta>,
    data: Option<Word<'l>>,
    trailer: Option<Word<'l>>,
    tags: [Option<Tag>; 2],
}

enum Quanta {
    /// For every priority that is enabled.
    Same(u16),
    /// Priority 0 first.
    Each([u16; 8]),
}

/// Reads a line whose first word is one of [`HEADS`], and gives the bytes of the frame.
pub(super) fn parse<'b>(line: &str, scope: &Scope<'_>, arena: &mut Arena<'b>) -> Result<&'b [u8], NotationError> {
    let mut words = Words::new(line);
    let head = words.next().ok_or_else(|| Is::Empty.at(0..line.len()))?;
    let frame = MacControl::new(scope.base.eth.src, Control::Other(&[]));
    let mut draft = Draft { frame, vector: None, quanta: None, data: None, trailer: None, tags: [None; 2] };
    let mut written = 0u16;
    for word in words {
        let (name, value) = word.split_once("=").unwrap_or((word, Word { text: "", at: word.span().end }));
        let Some(at) = NAMES.iter().position(|(known, _)| *known == name.text) else {
            let near = suggest::nearest(name.text, NAMES.iter().map(|(name, _)| *name));
            return Err(Is::UnknownField { word: snippet(name.text), near }.at(name.span()));
        };
        let (field, heads) = NAMES[at];
        if !heads.contains(&head.text) {
            return Err(Is::NotInPacket { field, packet: snippet(head.text) }.at(word.span()));
        }
        // `prio` and `vector` are two views of the same bits.
        let bit = 1 << at.max(1);
        if written & bit != 0 {
            return Err(Is::Twice { field }.at(word.span()));
        }
        written |= bit;
        draft.set(field, value, word)?;
    }
    let missing = |field| Is::Missing { field }.at(head.span());
    draft.frame.control = match head.text {
        PFC => {
            let vector = draft.vector.ok_or_else(|| missing("prio"))?;
            let timers = match draft.quanta.take().ok_or_else(|| missing("quanta"))? {
                Quanta::Same(quanta) => Pfc::new(vector as u8, quanta).timers,
                Quanta::Each(timers) => timers,
            };
            Control::Pfc(Pfc { vector, timers })
        }
        PAUSE => match draft.quanta.take().ok_or_else(|| missing("quanta"))? {
            Quanta::Same(quanta) => Control::Pause(Pause { quanta }),
            Quanta::Each(_) => return Err(wrong("quanta", Kind::Decimal(16), head)),
        },
        _ => {
            draft.data.ok_or_else(|| missing("data"))?;
            Control::Other(&[])
        }
    };
    draft.finish(head, arena)
}

impl<'l> Draft<'l> {
    fn set(&mut self, name: &'static str, value: Word<'l>, word: Word<'l>) -> Result<(), NotationError> {
        let mac = || value.text.parse::<MacAddr>().map_err(|()| wrong(name, Kind::Mac, value));
        match name {
            "prio" => self.vector = Some(priorities(value)?.into()),
            "vector" => self.vector = Some(bits(name, Kind::Hex(16), value, 16)?),
            "quanta" => self.quanta = Some(quanta(value)?),
            "eth.dst" => self.frame.eth.dst = mac()?,
            "eth.src" => self.frame.eth.src = mac()?,
            "data" => self.data = Some(hex(value)?),
            "trailer" => self.trailer = Some(hex(value)?),
            _ => {
                let at = usize::from(name.starts_with("vlan2"));
                let tag = self.tags[at].get_or_insert(Tag { tpid: 0x8100, tci: 0 });
                if name.ends_with(".id") {
                    tag.tci = tag.tci & 0xf000 | bits(name, Kind::Decimal(12), value, 12)?;
                } else if name.ends_with(".pcp") {
                    tag.tci = tag.tci & 0x1fff | bits(name, Kind::Decimal(3), value, 3)? << 13;
                } else if name.ends_with(".dei") {
                    let flag = if word.text == name { 1 } else { bits(name, Kind::Flag, value, 1)? };
                    tag.tci = tag.tci & 0xefff | flag << 12;
                } else {
                    tag.tpid = bits(name, Kind::Hex(16), value, 16)?;
                }
            }
        }
        Ok(())
    }

    /// Writes the frame.
    fn finish<'b>(mut self, head: Word<'_>, arena: &mut Arena<'b>) -> Result<&'b [u8], NotationError> {
        if self.tags[0].is_none() && self.tags[1].is_some() {
            return Err(Is::Missing { field: "vlan.id" }.at(head.span()));
        }
        self.frame.eth.tags = self.tags.into_iter().flatten().collect::<ArrayVec<Tag, 2>>();
        self.frame.padding = &[];
        let fixed = self.frame.len();
        let data = self.data.map_or(0, |data| hex_len(data.text));
        let trailer = match self.trailer {
            Some(trailer) => hex_len(trailer.text),
            None if self.data.is_some() => 0,
            None => MIN_FRAME.saturating_sub(fixed),
        };
        let bytes = arena.take(fixed + data + trailer, head)?;
        let mut at = 0;
        self.frame.write(|piece| {
            bytes[at..at + piece.len()].copy_from_slice(piece);
            at += piece.len();
        });
        bytes[at..].fill(0);
        for (word, len) in [(self.data, data), (self.trailer, trailer)] {
            if let Some(word) = word
                && len > 0
            {
                number::write_hex(word.text, &mut bytes[at..at + len]);
                at += len;
            }
        }
        Ok(bytes)
    }
}

/// Checks that a word is bytes in hex, or `none`.
fn hex(value: Word<'_>) -> Result<Word<'_>, NotationError> {
    if value.text.contains("B~") {
        return Err(Is::Elided.at(value.span()));
    }
    let is_hex = value.text == "none" || number::hex_len(value.text).is_some();
    if is_hex { Ok(value) } else { Err(Is::Hex.at(value.span())) }
}

fn hex_len(text: &str) -> usize {
    if text == "none" { 0 } else { text.len() / 2 }
}

fn bits(field: &'static str, kind: Kind, value: Word<'_>, bits: u32) -> Result<u16, NotationError> {
    let read = number(value.text).filter(|number| number >> bits == 0);
    read.map(|number| number as u16).ok_or_else(|| wrong(field, kind, value))
}

/// Reads `3` or `3,4`.
fn priorities(value: Word<'_>) -> Result<u8, NotationError> {
    let mut mask = 0;
    for priority in value.text.split(',') {
        let priority = number(priority).filter(|priority| *priority < 8);
        mask |= 1 << priority.ok_or_else(|| wrong("prio", Kind::Decimal(3), value))?;
    }
    Ok(mask)
}

/// Reads `65535`, or eight such numbers.
fn quanta(value: Word<'_>) -> Result<Quanta, NotationError> {
    let one = |text: &str| number(text).and_then(|quanta| u16::try_from(quanta).ok());
    let wrong = || wrong("quanta", Kind::Decimal(16), value);
    if !value.text.contains(',') {
        return one(value.text).map(Quanta::Same).ok_or_else(wrong);
    }
    let mut timers = [0; 8];
    let mut parts = value.text.split(',');
    for timer in &mut timers {
        *timer = parts.next().and_then(one).ok_or_else(wrong)?;
    }
    if parts.next().is_some() { Err(wrong()) } else { Ok(Quanta::Each(timers)) }
}

fn wrong(field: &'static str, kind: Kind, value: Word<'_>) -> NotationError {
    Is::Value { field, kind }.at(value.span())
}
