//! The bytes of a packet with what they are.

use std::io::{self, Write};

use rocespec_codec::field::{Field, Kind, Value};
use rocespec_codec::{NakCode, RnrTimer, Roce};

use super::layout::{self, Part};
use super::sight::{Sight, opcode_name, plain};

/// Bytes in a row.
const ROW: usize = 16;

/// Prints the bytes of a frame: a row for each part, or sixteen to a row where nothing is known of them.
pub(super) fn print(sight: &Sight<'_>, out: &mut impl Write) -> io::Result<()> {
    let data = sight.bytes();
    let Some(packet) = sight.packet() else {
        return rows(data, 0, "", out);
    };
    for part in layout::parts(packet) {
        // A capture may end inside a part.
        let end = part.bytes.end.min(data.len());
        let Some(bytes) = data.get(part.bytes.start..end).filter(|bytes| !bytes.is_empty()) else { break };
        let label = match bytes.len() {
            len if len < part.bytes.len() => format!("{:<12}  {len} of {} bytes", part.layer, part.bytes.len()),
            0..=ROW => format!("{:<12}  {}", part.layer, values(packet, &part)),
            len => format!("{:<12}  {len} bytes", part.layer),
        };
        rows(bytes, part.bytes.start, &label, out)?;
    }
    Ok(())
}

/// Prints bytes sixteen to a row; the label stands behind the first row, the letters among them behind the others.
fn rows(bytes: &[u8], start: usize, label: &str, out: &mut impl Write) -> io::Result<()> {
    for (count, row) in bytes.chunks(ROW).enumerate() {
        write!(out, "{:>12}  ", start + count * ROW)?;
        row.iter().try_for_each(|byte| write!(out, "{byte:02x} "))?;
        write!(out, "{:width$}", "", width = 3 * (ROW - row.len()))?;
        if count == 0 && !label.is_empty() {
            writeln!(out, " {label}")?;
            continue;
        }
        let letters: String =
            row.iter().map(|&byte| if (b' '..=b'~').contains(&byte) { byte as char } else { '.' }).collect();
        writeln!(out, " {:12}  {letters}", "")?;
    }
    Ok(())
}

/// `se=0 migreq=1 pad=0 tver=0`.
fn values(packet: &Roce<'_>, part: &Part) -> String {
    let mut words = Vec::new();
    for name in part.fields {
        if *name == "opcode" {
            words.push(format!("opcode={}", opcode_name(packet.bth.opcode)));
        }
        let Some(field) = Field::named(name) else { continue };
        if let Some(value) = (field.get)(packet) {
            words.push(format!("{name}={}", meaning(field.kind, value)));
        }
    }
    words.join(" ")
}

pub(super) fn meaning(kind: Kind, value: Value<'_>) -> String {
    match (kind, value) {
        (Kind::NakCode, Value::Uint(code)) => {
            NakCode::new(code as u8).name().map_or_else(|| code.to_string(), str::to_owned)
        }
        (Kind::RnrTimer, Value::Uint(code)) => {
            format!("#{code} ({:?})", RnrTimer::new(code as u8).duration())
        }
        (Kind::Ecn, Value::Uint(bits)) => ["not-ect", "ect1", "ect0", "ce"][bits as usize & 3].to_owned(),
        (Kind::Bytes | Kind::Payload, Value::Bytes(bytes)) => format!("{} bytes", bytes.len()),
        _ => plain(kind, value),
    }
}
