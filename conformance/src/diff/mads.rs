//! Messages of the connection manager: what ties them to a connection, and what of them can be compared.

use rocespec_codec::field::{Kind, Value as Raw};
use rocespec_codec::mad::{CLASS_CM, Mad, MadField};

use crate::golden::Value;

/// What a message says, its name first, apart from names of hosts, queue pairs and connections, which are new in each run,
/// and from what the application put in.
pub(super) fn values(mad: &Mad<'_>) -> Box<[Value]> {
    let name = mad.attribute.name().filter(|_| mad.class == CLASS_CM);
    let mut values = vec![match name {
        Some(name) => value("cm", name.to_owned()),
        None => value("mad", format!("of class {:#04x}", mad.class)),
    }];
    if let Some(message) = mad.message() {
        let data = message.data();
        let said = message.fields().iter().filter(|field| is_compared(field));
        values.extend(said.filter_map(|field| Some(value(field.name, text(field.kind, field.get(&data)?)))));
    }
    values.into()
}

fn value(name: &'static str, text: String) -> Value {
    Value { name, text, ordinary: false }
}

/// Names of hosts, queue pairs and connections, first PSNs, and bytes of the application.
fn is_compared(field: &MadField) -> bool {
    const OWN: [&str; 9] = ["pkey", "comm_id", "gid", "lid", "guid", "eecn", "ee_context", "flow_label", "service_id"];
    !matches!(field.kind, Kind::Qpn | Kind::Psn | Kind::Bytes | Kind::Address)
        && !OWN.iter().any(|own| field.name.contains(own))
}

fn text(kind: Kind, value: Raw<'_>) -> String {
    match (kind, value) {
        (Kind::Hex(_), Raw::Uint(number)) => format!("{number:#x}"),
        (_, Raw::Uint(number)) => number.to_string(),
        (_, Raw::Mac(mac)) => mac.to_string(),
        (_, Raw::V4(address)) => address.to_string(),
        (_, Raw::V6(address)) => address.to_string(),
        (_, Raw::Bytes(bytes)) => format!("{}B", bytes.len()),
    }
}
