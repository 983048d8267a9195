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
    // rule: rc.responder.ack
    let covers = |later: &Packet| later.psn >= packet.psn && is_response(later);
    if seen[at + 1..].iter().any(covers) && other.iter().any(covers) {
        return Some("one acknowledgement may stand for all before it (rc.responder.ack)");
    }
    // rule: rc.responder.ack-optional
    let asked = exchange.sent.iter().any(|sent| sent.ack && sent.psn == packet.psn);
    let sent = exchange.sent.iter().any(|sent| sent.psn == packet.psn);
    (sent && !asked)
        .then_some("what nobody asked to be acknowledged may be acknowledged or not (rc.responder.ack-optional)")
}

fn is_response(packet: &Packet) -> bool {
    packet.value("msn").is_some() || packet.head() == "RDMA_READ_RESPONSE_MIDDLE"
}
