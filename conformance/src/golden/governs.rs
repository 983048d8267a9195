//! Which rule of the ledger governs what a field of a device's packet holds, and what is left free.

use serde::Serialize;

use super::packet::Packet;

/// Who decides what a device has to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Governed {
    /// This rule of the ledger.
    Rule(String),
    /// The device: the standard leaves it free. The sentence says how far.
    Free(&'static str),
    /// No rule is known to the table; the rules of the scenario may say something.
    Open,
}

impl Governed {
    /// By a rule.
    pub(super) fn rule(id: &str) -> Governed {
        Governed::Rule(id.to_owned())
    }
}

/// Rules by the first word of the packet (empty = any) and the field.
const RULES: &[(&str, &str, &str)] = &[
    ("ACK", "psn", "rc.responder.ack"),
    ("NAK", "psn", "rc.responder.gap-nak"),
    ("RNR_NAK", "psn", "rc.responder.rnr-nak"),
    ("RNR_NAK", "timer", "rc.responder.rnr-timer"),
    ("ATOMIC_ACKNOWLEDGE", "psn", "rc.responder.atomic-ack"),
    ("ATOMIC_ACKNOWLEDGE", "original", "rc.responder.atomic-fetch-add"),
    ("RDMA_READ_RESPONSE_FIRST", "msn", "rc.responder.read-msn"),
    ("RDMA_READ_RESPONSE_LAST", "msn", "rc.responder.read-msn"),
    ("RDMA_READ_RESPONSE_ONLY", "msn", "rc.responder.read-msn"),
    ("RDMA_READ_RESPONSE_FIRST", "psn", "rc.responder.read-psn"),
    ("RDMA_READ_RESPONSE_MIDDLE", "psn", "rc.responder.read-psn"),
    ("RDMA_READ_RESPONSE_LAST", "psn", "rc.responder.read-psn"),
    ("RDMA_READ_RESPONSE_ONLY", "psn", "rc.responder.read-psn"),
    ("RDMA_READ_RESPONSE_FIRST", "data", "rc.responder.read"),
    ("RDMA_READ_RESPONSE_MIDDLE", "data", "rc.responder.read"),
    ("RDMA_READ_RESPONSE_LAST", "data", "rc.responder.read"),
    ("RDMA_READ_RESPONSE_ONLY", "data", "rc.responder.read"),
    ("", "msn", "rc.responder.msn"),
    ("", "qp", "lint.dest-qp"),
    ("", "pkey", "lint.pkey"),
    ("", "se", "lint.ack-fields"),
    ("", "ack", "lint.ack-fields"),
    ("", "tver", "lint.bth-tver"),
    ("", "resv6", "lint.bth-reserved"),
    ("", "resv7", "lint.bth-reserved"),
    ("", "pad", "lint.pad"),
    ("", "icrc", "lint.icrc"),
    ("", "ip.dscp", "frame.responder.traffic-class"),
    ("", "ip.ecn", "lint.ecn"),
    ("", "ip.ttl", "frame.responder.hop-limit"),
    ("", "ip.df", "lint.fragment"),
    ("", "ip.mf", "lint.fragment"),
    ("", "ip.offset", "lint.fragment"),
    ("", "ip.ihl", "lint.ipv4-header-length"),
    ("", "ip.len", "lint.ip-length"),
    ("", "ip.checksum", "lint.ip-checksum"),
    ("", "ip.version", "lint.version"),
    ("", "udp.sport", "frame.responder.source-port"),
    ("", "udp.dport", "frame.responder.udp-port"),
    ("", "udp.len", "lint.udp-length"),
    ("", "udp.checksum", "lint.udp-checksum"),
];

/// Fields that the standard leaves to the sender.
const FREE: &[(&str, &str)] = &[
    (
        "credits",
        "how many credits a responder gives is its own choice, as long as it has the receives (rc.responder.credits)",
    ),
    ("trailer", "a short frame is filled up on the way out of the port, which a virtual port may leave undone"),
];

/// Who decides what this field of such a packet holds.
pub(crate) fn field(head: &str, field: &str) -> Governed {
    if !is_response(head) {
        match (field, head.ends_with("_FIRST") || head.ends_with("_MIDDLE")) {
            ("ack", true) => {
                return Governed::Free("a requester may ask for an acknowledgement more often than it must");
            }
            ("ack", false) => return Governed::rule("rc.requester.ack-request"),
            ("se", _) => return Governed::Open,
            _ => {}
        }
    }
    if let Some((_, why)) = FREE.iter().find(|(name, _)| *name == field) {
        return Governed::Free(why);
    }
    let fits = |(packet, name, _): &&(&str, &str, &str)| (packet.is_empty() || *packet == head) && *name == field;
    RULES.iter().find(fits).map_or(Governed::Open, |(_, _, rule)| Governed::rule(rule))
}

/// True for the first words of packets that answer.
pub(crate) fn is_response(head: &str) -> bool {
    // `XRC_ACK` and `XRC_RNR_NAK` as well.
    ["ACK", "NAK"].iter().any(|end| head.ends_with(end))
        || head.contains("ACKNOWLEDGE")
        || head.contains("READ_RESPONSE")
}

/// Who decides when this packet of a device comes.
pub(super) fn time(packets: &[Packet], at: usize) -> Governed {
    let Some(packet) = packets.get(at) else { return Governed::Open };
    let is_again = |earlier: &Packet| earlier.head() == packet.head() && earlier.psn == packet.psn;
    moment(packet.head(), || packets[..at].iter().any(is_again))
}

/// Who decides when such a packet comes; `is_again` tells whether it was sent before.
pub(crate) fn moment(head: &str, is_again: impl FnOnce() -> bool) -> Governed {
    match !is_response(head) && is_again() {
        true => Governed::rule("rc.requester.ack-timeout"),
        false => {
            Governed::Free("how soon a device sends is its own choice, as long as it keeps the limits of the script")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Ledger;

    #[test]
    fn the_table_names_fields_of_the_codec_and_rules_of_the_ledger() {
        for (_, field, rule) in RULES {
            assert!(rocespec_codec::field::Field::named(field).is_some(), "{field}");
            assert!(Ledger::embedded().get(rule).is_some(), "{rule}");
        }
        for rule in ["rc.requester.ack-timeout", "rc.requester.ack-request"] {
            assert!(Ledger::embedded().get(rule).is_some(), "{rule}");
        }
        for (field, _) in FREE {
            assert!(rocespec_codec::field::Field::named(field).is_some(), "{field}");
        }
    }

    #[test]
    fn the_packet_decides_before_the_field_alone() {
        assert_eq!(field("RDMA_READ_RESPONSE_ONLY", "msn"), Governed::rule("rc.responder.read-msn"));
        assert_eq!(field("ACK", "msn"), Governed::rule("rc.responder.msn"));
        assert!(matches!(field("ACK", "credits"), Governed::Free(_)));
        assert_eq!(field("ACK", "swap"), Governed::Open);
        assert_eq!(field("ACK", "ack"), Governed::rule("lint.ack-fields"));
        assert_eq!(field("XRC_RNR_NAK", "ack"), Governed::rule("lint.ack-fields"));
        assert_eq!(field("SEND_LAST", "ack"), Governed::rule("rc.requester.ack-request"));
        assert!(matches!(field("SEND_MIDDLE", "ack"), Governed::Free(_)));
    }
}
