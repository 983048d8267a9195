//! Every field of every layer by name: what the notation, a JSON dump and a field-by-field comparison walk over.
//!
//! [`FIELDS`] is the table for RoCE packets. A field knows how to read and set itself and what its ordinary value is.
//! [`Walk`] gives the fields of every other layer, and of whole frames, to be read.

mod number;
mod table;
mod value;
mod walk;

use crate::frame::Roce;
use crate::opcode::Opcode;

pub use table::FIELDS;
pub(crate) use table::{Each, unrolled};
pub use value::{Kind, Value};
pub use walk::{Visit, Walk};

/// A field of a packet.
pub struct Field {
    /// Name in the notation: `psn`, `ip.ttl`.
    pub name: &'static str,
    /// What its values are and how they are written.
    pub kind: Kind,
    /// What it holds when nobody says anything.
    pub ordinary: Ordinary,
    /// Its value; `None` when this packet does not have the field.
    pub get: for<'a> fn(&Roce<'a>) -> Option<Value<'a>>,
    /// Sets it; gives `None`, and changes nothing, when this packet cannot have the field or the value does not fit.
    pub set: for<'a> fn(&mut Roce<'a>, Value<'a>) -> Option<()>,
}

/// The value that a field has when nobody says anything.
#[derive(Clone, Copy)]
pub enum Ordinary {
    /// This number.
    Uint(u64),
    /// None: it is always written.
    Always,
    /// Nothing of its own: written only where this says so, since elsewhere other fields or the opcode tell it.
    Shown(for<'a> fn(&Roce<'a>) -> bool),
    /// What a packet of this opcode starts with.
    Opcode(fn(Opcode) -> Value<'static>),
    /// That of the packets that go the same way: addresses, ports, keys.
    Base,
    /// It follows from the rest of the packet: lengths, checksums, the ICRC.
    Derived(for<'a> fn(&Roce<'a>) -> Value<'a>),
}

impl Field {
    /// By name.
    pub fn named(name: &str) -> Option<&'static Field> {
        FIELDS.iter().find(|field| field.name == name)
    }
}

impl PartialEq for Field {
    fn eq(&self, other: &Field) -> bool {
        self.name == other.name
    }
}

impl core::fmt::Debug for Field {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name)
    }
}

/// Gives every derived field its right value, innermost first, except those that `keep` names.
pub fn complete(packet: &mut Roce<'_>, keep: impl Fn(&Field) -> bool) {
    struct Complete<'c, 'p, K> {
        packet: &'c mut Roce<'p>,
        keep: K,
    }
    impl<K: Fn(&Field) -> bool> Each for Complete<'_, '_, K> {
        #[inline(always)]
        fn field(&mut self, at: usize, field: &'static Field) {
            if let Ordinary::Derived(right) = field.ordinary
                && !FIELDS.get(at).is_some_and(&self.keep)
                && (field.get)(self.packet).is_some()
            {
                let value = right(self.packet);
                (field.set)(self.packet, value);
            }
        }
    }
    unrolled(&mut Complete { packet, keep });
}
