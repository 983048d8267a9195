//! A line to a packet.

use arrayvec::ArrayVec;

use super::error::{NotationError, NotationErrorKind as Is, snippet, snippet_of};
use super::head::Head;
use super::number;
use super::pause;
use super::scope::{NetKind, Scope};
use super::suggest;
use super::value::{self, Arena, Given, Late};
use super::words::{Word, Words};
use crate::encode::encode;
use crate::error::EncodeError;
use crate::field::{FIELDS, Field, Kind, Ordinary, Value, complete};
use crate::frame::Roce;
use crate::icrc;
use crate::udp::right_udp_checksum;

/// What a line stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "the large one is the common one, and nothing here allocates")]
pub enum Line<'b> {
    /// A packet, its derived fields completed.
    Roce(Roce<'b>),
    /// The bytes of a frame, as they are.
    Raw(&'b [u8]),
}

impl Line<'_> {
    /// Writes the frame and gives its bytes.
    ///
    /// # Errors
    /// When `out` is too short.
    pub fn encode<'o>(&self, out: &'o mut [u8]) -> Result<&'o [u8], EncodeError> {
        match self {
            Line::Roce(packet) => encode(packet, out),
            Line::Raw(bytes) => {
                let (needed, available) = (bytes.len(), out.len());
                let out = out.get_mut(..needed).ok_or(EncodeError { needed, available })?;
                out.copy_from_slice(bytes);
                Ok(out)
            }
        }
    }
}

/// Reads a packet that is to be sent: fields that are not written hold their ordinary value, derived ones their right
/// value.
///
/// Bytes of the line (payload, pad, options, trailer) go to `buffer`; one as long as the frame is long enough.
///
/// # Errors
/// The first part of the line that is not understood.
pub fn parse<'b>(line: &str, scope: &Scope<'_>, buffer: &'b mut [u8]) -> Result<Line<'b>, NotationError> {
    let mut arena = Arena(buffer);
    match Words::new(line).next() {
        Some(first) if first.text == RAW => return raw(line, first, &mut arena).map(Line::Raw),
        Some(first) if pause::HEADS.contains(&first.text) => {
            return pause::parse(line, scope, &mut arena).map(Line::Raw);
        }
        _ => {}
    }
    let opening = Opening::read(line, scope)?;
    let mut packet = opening.start(scope);
    let mut fault = None;
    let mut lates = ArrayVec::<Late, 2>::new();
    let written = opening.fields(scope, &mut arena, |field, given, word| match given {
        Given::Exactly(value) => opening.set(&mut packet, field, value, word),
        Given::Icrc(relative) => {
            fault = Some(relative);
            Ok(())
        }
        Given::Late(late) => {
            lates.push(late);
            opening.set(&mut packet, field, Value::Uint(0), word)
        }
        Given::Digest(..) => Err(Is::Elided.at(word.span())),
        Given::Range(..) | Given::Present | Given::Length(_) => Err(Is::OnlyExpected.at(word.span())),
    })?;
    complete(&mut packet, |field| written.has(field));
    let overflow = FIELDS.iter().find(|field| {
        let Ordinary::Derived(right) = field.ordinary else { return false };
        !written.has(field) && (field.get)(&packet).is_some_and(|value| value != right(&packet))
    });
    if let Some(field) = overflow {
        return Err(Is::Overflow { field: field.name }.at(0..line.len()));
    }
    if let Some(fault) = fault {
        packet.icrc = fault.of(&packet, icrc::compute(&packet));
    }
    if lates.contains(&Late::StaleIcrc) {
        packet.icrc = icrc::compute(&before_the_way(&opening, scope, &packet, &written));
    }
    if lates.contains(&Late::UdpChecksum) {
        let right = right_udp_checksum(&packet);
        packet.udp.iter_mut().for_each(|udp| udp.checksum = right);
    }
    Ok(Line::Roce(packet))
}

/// The packet as it left: its network and UDP header, and the reserved bits that the ICRC covers, before somebody on the
/// way wrote into them what the line says.
fn before_the_way<'b>(opening: &Opening<'_>, scope: &Scope<'_>, packet: &Roce<'b>, written: &Written) -> Roce<'b> {
    let Roce { net, udp, bth, .. } = opening.start(scope);
    let mut before = Roce { net, udp, ..packet.clone() };
    before.bth.resv7 = bth.resv7;
    complete(&mut before, |field| {
        written.has(field) && !field.name.starts_with("ip.") && !field.name.starts_with("udp.")
    });
    before
}

/// Reads the bytes behind `raw`.
fn raw<'b>(line: &str, first: Word<'_>, arena: &mut Arena<'b>) -> Result<&'b [u8], NotationError> {
    let words = || Words::new(line).skip(1);
    let mut len = 0;
    for word in words() {
        len += match number::hex_len(word.text) {
            Some(len) => len,
            None if word.text.contains("B~") => return Err(Is::Elided.at(word.span())),
            None => return Err(Is::Hex.at(word.span())),
        };
    }
    let bytes = arena.take(len, first)?;
    let mut at = 0;
    for word in words() {
        let end = at + word.text.len() / 2;
        number::write_hex(word.text, &mut bytes[at..end]);
        at = end;
    }
    Ok(bytes)
}

/// The words of a line that say what fields there are.
pub(super) struct Opening<'l> {
    pub(super) head: Head,
    /// `v4`, `v6` or `v1`, where written.
    pub(super) net: Option<NetKind>,
    pub(super) untagged: bool,
    kind: NetKind,
    words: Words<'l>,
}

impl<'l> Opening<'l> {
    pub(super) fn read(line: &'l str, scope: &Scope<'_>) -> Result<Self, NotationError> {
        let mut words = Words::new(line);
        let first = words.next().ok_or_else(|| Is::Empty.at(0..line.len()))?;
        let head = Head::parse(first.text).ok_or_else(|| {
            let heads = Head::names().chain(pause::HEADS).chain([RAW]);
            let near = suggest::nearest(first.text, heads);
            Is::UnknownPacket { word: snippet(first.text), near }.at(first.span())
        })?;
        let (mut net, mut untagged) = (None, false);
        for word in words.clone() {
            if let Some(kind) = NetKind::ALL.into_iter().find(|kind| kind.word() == word.text) {
                if net.replace(kind).is_some() {
                    return Err(Is::Twice { field: "v4, v6 or v1" }.at(word.span()));
                }
            } else if word.text == UNTAGGED && core::mem::replace(&mut untagged, true) {
                return Err(Is::Twice { field: UNTAGGED }.at(word.span()));
            }
        }
        let kind = net.unwrap_or(NetKind::of(&scope.base.net));
        Ok(Opening { head, net, untagged, kind, words })
    }

    /// The packet before any field is set.
    pub(super) fn start<'b>(&self, scope: &Scope<'_>) -> Roce<'b> {
        scope.start(self.head, self.kind, self.untagged)
    }

    /// Reads the other words and hands each to `take`: VLAN tags first, since the second stands on the first.
    pub(super) fn fields<'b>(
        &self,
        scope: &Scope<'_>,
        arena: &mut Arena<'b>,
        mut take: impl FnMut(&'static Field, Given<'b>, Word<'l>) -> Result<(), NotationError>,
    ) -> Result<Written, NotationError> {
        let mut written = Written(0);
        for prefix in ["vlan.", "vlan2.", ""] {
            for word in self.words.clone() {
                let is_opening = word.text == UNTAGGED || NetKind::ALL.iter().any(|kind| kind.word() == word.text);
                let is_earlier = !prefix.is_empty() || !word.text.starts_with("vlan");
                if is_opening || !(is_earlier && word.text.starts_with(prefix)) {
                    continue;
                }
                let (field, given) = self.field(word, scope, arena)?;
                if !written.add(field) {
                    return Err(Is::Twice { field: field.name }.at(word.span()));
                }
                take(field, given, word)?;
            }
        }
        Ok(written)
    }

    fn field<'b>(
        &self,
        word: Word<'_>,
        scope: &Scope<'_>,
        arena: &mut Arena<'b>,
    ) -> Result<(&'static Field, Given<'b>), NotationError> {
        if word.text.starts_with(|c: char| c.is_ascii_digit()) {
            let data = Field::named("data").expect("the payload is a field");
            return Ok((data, value::payload(data, word, arena)?));
        }
        let (name, value) = match word.split_once("=") {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let Some(field) = Field::named(name.text) else {
            let words = NetKind::ALL.into_iter().map(NetKind::word).chain([UNTAGGED]);
            let near = suggest::nearest(name.text, FIELDS.iter().map(|field| field.name).chain(words));
            return Err(Is::UnknownField { word: snippet(name.text), near }.at(name.span()));
        };
        let given = match value {
            Some(value) => value::read(field, value, scope, self.kind, arena)?,
            None if field.kind == Kind::Flag => Given::Exactly(Value::Uint(1)),
            None => return Err(Is::NoValue { field: field.name }.at(name.span())),
        };
        Ok((field, given))
    }

    /// Sets a field, where the packet has it.
    pub(super) fn set<'b>(
        &self,
        packet: &mut Roce<'b>,
        field: &'static Field,
        value: Value<'b>,
        word: Word<'_>,
    ) -> Result<(), NotationError> {
        let done = (field.set)(packet, value).and_then(|()| (field.get)(packet));
        if done.is_some() && self.head.fits(packet) {
            return Ok(());
        }
        if done.is_some() && field.name == "syndrome" {
            return Err(Is::Syndrome.at(word.span()));
        }
        Err(Is::NotInPacket { field: field.name, packet: snippet_of(self.head) }.at(word.span()))
    }
}

/// Begins the bytes of a frame.
const RAW: &str = "raw";

/// True for first words of frames that are no RoCE packets.
pub(super) fn is_other(first: &str) -> bool {
    first == RAW || pause::HEADS.contains(&first)
}

/// Takes the VLAN tags of the base away.
pub(super) const UNTAGGED: &str = "untagged";

/// Which fields a line says.
pub(super) struct Written(u128);

impl Written {
    /// Gives `false` when the field, or another one for the same bits, is already in.
    fn add(&mut self, field: &Field) -> bool {
        const SYNDROME: [&str; 4] = ["credits", "timer", "code", "syndrome"];
        let same = if SYNDROME.contains(&field.name) {
            SYNDROME.iter().filter_map(|name| Field::named(name)).map(Written::bit).sum()
        } else {
            Written::bit(field)
        };
        let is_new = self.0 & same == 0;
        self.0 |= same;
        is_new
    }

    fn has(&self, field: &Field) -> bool {
        self.0 & Written::bit(field) != 0
    }

    /// The bit of a field: its place in the table.
    fn bit(field: &Field) -> u128 {
        let at = FIELDS.iter().position(|other| core::ptr::eq(other, field));
        at.map_or(0, |at| 1 << at)
    }
}
