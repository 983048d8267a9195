//! Packets that one side sends and the other does not, where both are right.

use super::packet::Packet;
use super::trace::Exchange;

/// Why this packet may be there and may be missing, if it may. `seen` is the list that has it, `at` its place in it; `other`
/// is the list that has not.
pub(super) fn of_lonely(exchange: &Exchange, seen: &[Packet], at: usize, other: &[Packet]) -> Option<&'static str> {
    let packet = &seen[at];
    if packet.head() != "ACK" {
        return None;
    }
    let covers = |later: &Packet| later.psn >= packet.psn && is_response(later);
    let covered = seen[at + 1..].iter().any(covers) && other.iter().any(covers);
    let asked = exchange.sent.iter().any(|sent| sent.ack && sent.psn == packet.psn);
    let sent = exchange.sent.iter().any(|sent| sent.psn == packet.psn);
    of_lonely_ack(covered, sent, asked)
}

/// Why an ACK may be there and may be missing, if it may. `covered`: both sides send a later response to the same packets;
/// `sent`: a packet with its PSN was; `asked`: such a packet asked for an acknowledgement.
pub(crate) fn of_lonely_ack(covered: bool, sent: bool, asked: bool) -> Option<&'static str> {
    // rule: rc.responder.ack
    if covered {
        return Some("one acknowledgement may stand for all before it (rc.responder.ack)");
    }
    // rule: rc.responder.ack-optional
    (sent && !asked)
        .then_some("what nobody asked to be acknowledged may be acknowledged or not (rc.responder.ack-optional)")
}

fn is_response(packet: &Packet) -> bool {
    packet.value("msn").is_some() || packet.head() == "RDMA_READ_RESPONSE_MIDDLE"
}
