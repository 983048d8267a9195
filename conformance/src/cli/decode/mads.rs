//! Management datagrams: what is said of them.

use std::fmt;

use rocespec_codec::field::Kind;
use rocespec_codec::mad::{CLASS_CM, Mad, MadField, Message};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::json::entry;
use super::sight::plain;

/// Displays as `CM REQ local_comm_id=0x1 local_qpn=0x11 starting_psn=0x0003e8`: what ties it to the packets of a
/// connection.
pub(super) struct Datagram<'a>(pub(super) Mad<'a>);

impl fmt::Display for Datagram<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mad = &self.0;
        if mad.class == CLASS_CM {
            f.write_str("CM")?;
        } else {
            write!(f, "MAD of class {:#04x}, method {:#04x},", mad.class, mad.method)?;
        }
        match mad.attribute.name() {
            Some(name) if mad.class == CLASS_CM => write!(f, " {name}")?,
            _ => write!(f, " attribute {:#06x}", mad.attribute.0)?,
        }
        let Some(message) = mad.message() else { return Ok(()) };
        let data = message.data();
        for field in message.fields().iter().filter(|field| ties(field)) {
            if let Some(value) = field.get(&data) {
                write!(f, " {}={}", field.name, plain(field.kind, value))?;
            }
        }
        if let Message::Rej(reject) = message
            && let Some(name) = reject.reason.name()
        {
            write!(f, " ({name})")?;
        }
        Ok(())
    }
}

fn ties(field: &MadField) -> bool {
    let is_path = field.name.ends_with("_eecn") || field.name.contains("ee_context");
    (matches!(field.kind, Kind::Qpn | Kind::Psn) && !is_path)
        || field.name.ends_with("comm_id")
        || matches!(field.name, "reason" | "status")
}

impl Serialize for Datagram<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mad = &self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("class", &mad.class)?;
        map.serialize_entry("method", &mad.method)?;
        map.serialize_entry("status", &mad.status.0)?;
        map.serialize_entry("transaction", &format!("{:#x}", mad.transaction))?;
        map.serialize_entry("attribute", &mad.attribute.0)?;
        if let Some(message) = mad.message() {
            map.serialize_entry("message", &mad.attribute.name())?;
            map.serialize_entry("fields", &Fields { all: message.fields(), data: &message.data() })?;
        }
        map.end()
    }
}

struct Fields<'m> {
    all: &'static [MadField],
    data: &'m [u8],
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for field in self.all {
            if let Some(value) = field.get(self.data) {
                entry(&mut map, field.name, field.kind, value)?;
            }
        }
        map.end()
    }
}
