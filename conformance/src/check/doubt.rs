//! What a capture cannot tell for certain, and what explains nothing that comes after it.

use rocespec_reports::outcome::Level;

use crate::oracle::{Breach, OTHER_PAYLOAD};

/// Receivers take no notice when this rule is broken: nothing that goes wrong later comes from it.
pub(super) fn is_harmless(breach: &Breach) -> bool {
    matches!(
        breach.rule,
        "lint.bth-reserved"
            | "lint.ext-reserved"
            | "lint.udp-checksum"
            | "lint.ecn"
            | "lint.ack-fields"
            | "frame.responder.source-port"
            | "rc.responder.msn"
            | "rc.requester.solicited"
    ) || breach.rule == "lint.fragment" && breach.seen == MAY_BE_FRAGMENTED
}

/// What is seen of a packet that routers may cut, and did not: receivers drop pieces only.
const MAY_BE_FRAGMENTED: &str = "flags and offset 0x0000";

/// The path MTU decides about it.
pub(super) fn is_of_mtu(rule: &str) -> bool {
    matches!(
        rule,
        "rc.requester.segmentation"
            | "uc.requester.segmentation"
            | "rc.requester.read-psns"
            | "rc.responder.read-segmentation"
    )
}

/// What is seen of a piece of a datagram.
pub(super) const A_PIECE: &str = "a piece of one";

/// Packets that are missing, lost or not captured, explain it: it is not told at all where the connection shows them.
pub(super) fn is_of_gaps(rule: &str) -> bool {
    matches!(
        rule,
        "rc.requester.rnr-wait"
            | "rc.requester.rd-atomic"
            | "rc.responder.response-order"
            | "rc.responder.one-nak-per-gap"
            | "uc.requester.psn-order"
    )
}

/// Packets that were not captured explain it when it is in doubt.
pub(super) fn is_of_missing(rule: &str) -> bool {
    is_of_gaps(rule) || matches!(rule, "rc.responder.msn" | "rc.responder.read-segmentation")
}

/// What else than a fault a broken rule may come from, when the capture was made somewhere on the way. `None`: nothing.
///
/// Such findings are told as `should`. The oracle knows some of that doubt by itself, and gives them a lower level.
pub(super) fn unless(breach: &Breach) -> Option<&'static str> {
    let is_doubtful = breach.level < Level::Must;
    Some(match breach.rule {
        "rc.responder.msn" if is_doubtful => "requests that it counts were not captured",
        "rc.responder.read-segmentation" if is_doubtful => {
            "the rest of the READ was asked for again, not captured, or the programs set another path MTU than the \
             connection manager said"
        }
        rule if is_doubtful && is_of_mtu(rule) => "the programs set another path MTU than the connection manager said",
        "rc.requester.rnr-wait" => "the RNR NAK was lost behind the place of the capture, and a timeout sent again",
        "rc.requester.rd-atomic" => "responses passed another way than the one that was captured",
        "rc.responder.response-order" => "the responses before it were not captured",
        "rc.responder.one-nak-per-gap" => "the packet was sent again in between, not captured, and lost again",
        "rc.responder.error-silence" => "the queue pair was set up anew in between",
        "rc.requester.retransmission-unchanged" if breach.seen == OTHER_PAYLOAD => {
            "the program wrote to the memory before the request was complete"
        }
        "rc.requester.retransmission-unchanged" if is_doubtful => "the queue pair was set up anew in between",
        "lint.fragment" if breach.seen == A_PIECE => "it is not RoCE, but something else on its port",
        "uc.requester.psn-order" => "the network or the capture turned packets around",
        "lint.ip-length" | "lint.udp-length" | "lint.undecodable" => {
            "a switch or a mirror cut the frame on its way to the capture"
        }
        // The ICRC leaves it out.
        "lint.ip-checksum" => "the packet was damaged on its way to the capture",
        "lint.icrc" => "the packet was damaged on its way to the capture, and dropped by its receiver",
        _ => return None,
    })
}
