//! The bytes of a frame with what they are, for a report.

use rocespec_codec::field::{Field, Walk};
use rocespec_codec::{Frame, Roce};
use rocespec_reports::html::{Dissection, Part};

use super::bytes::meaning;
use super::layout;
use super::sight::{Sight, What, opcode_name};
use crate::capture::inside::Opener;
use crate::capture::{CapturedFrame, LINKTYPE_ETHERNET};

/// The parts of a frame, and what is wrong with it. What is not RoCE is one part with all of its fields; what cannot be
/// read has none.
pub(in crate::cli) fn dissect(frame: &[u8]) -> Dissection {
    let captured = CapturedFrame {
        linktype: LINKTYPE_ETHERNET,
        original_len: u32::try_from(frame.len()).unwrap_or(u32::MAX),
        data: frame.to_vec(),
        ..CapturedFrame::default()
    };
    let mut opener = Opener::default();
    let sight = Sight::of(opener.open(&captured));
    let parts = match (&sight.what, sight.packet()) {
        (What::Other(other), _) => vec![whole(other, frame.len())],
        (_, Some(packet)) => layout::parts(packet).into_iter().map(|part| named(packet, part)).collect(),
        _ => Vec::new(),
    };
    Dissection { parts, wrong: sight.wrong }
}

fn named(packet: &Roce<'_>, part: layout::Part) -> Part {
    let field = |name: &&'static str| {
        let text = match *name {
            "opcode" => opcode_name(packet.bth.opcode),
            name => {
                let field = Field::named(name)?;
                meaning(field.kind, (field.get)(packet)?)
            }
        };
        Some(((*name).to_owned(), text))
    };
    Part { bytes: part.bytes, layer: part.layer.to_owned(), fields: part.fields.iter().filter_map(field).collect() }
}

fn whole(frame: &Frame<'_>, length: usize) -> Part {
    let mut fields = Vec::new();
    frame.walk(&mut |name, kind, value| fields.push((name.to_owned(), meaning(kind, value))));
    Part { bytes: 0..length, layer: "frame".to_owned(), fields }
}

#[cfg(test)]
mod tests {
    use rocespec_codec::notation::{Line, Scope, parse};
    use rocespec_codec::{encode, encoded_len};

    use super::*;

    fn bytes(line: &str) -> Vec<u8> {
        let mut buffer = [0; 4096];
        let Ok(Line::Roce(packet)) = parse(line, &Scope::default(), &mut buffer) else { panic!("{line}") };
        let mut bytes = vec![0; encoded_len(&packet)];
        encode(&packet, &mut bytes).unwrap();
        bytes
    }

    fn value(parts: &[Part], name: &str) -> String {
        let mut fields = parts.iter().flat_map(|part| &part.fields);
        fields.find(|(field, _)| field == name).map(|(_, value)| value.clone()).unwrap_or_default()
    }

    #[test]
    fn fields_stand_with_their_bytes_and_values() {
        let Dissection { parts, wrong } = dissect(&bytes("SEND_ONLY qp=0x11 psn=5 ack 64B"));
        let psn = parts.iter().find(|part| part.fields.iter().any(|(name, _)| name == "psn")).unwrap();
        assert_eq!((psn.layer.as_str(), psn.bytes.clone()), ("BTH", 51..54));
        assert_eq!(value(&parts, "psn"), "0x000005");
        assert_eq!(value(&parts, "opcode"), "RC_SEND_ONLY");
        assert_eq!(value(&parts, "data"), "64 bytes");
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    #[test]
    fn what_is_wrong_is_told() {
        for line in ["SEND_ONLY 64B ip.len=1000", "SEND_ONLY 64B icrc=bad", "SEND_ONLY 64B udp.len=9"] {
            assert_eq!(dissect(&bytes(line)).wrong.len(), 1, "{line}");
        }
    }

    #[test]
    fn what_is_not_roce_has_names_too_and_rubbish_has_none() {
        let mut pause = vec![0x01, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0x08, 0, 1, 0, 9];
        pause.resize(60, 0);
        assert_eq!(value(&dissect(&pause).parts, "quanta"), "9");
        assert!(dissect(&[1, 2, 3]).parts.is_empty());
    }
}
