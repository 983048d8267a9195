//! Who decides what differs between two recordings. The table of the golden traces says it, apart from what two recordings
//! of an application on two hosts have of their own: hosts, routers and switches between them, and the application.

use std::collections::HashMap;

use super::result::Decided;
use super::side::{Form, Packet, Role};
use crate::golden::{self, Governed, ORDINARY};

const APPLICATION: &str = "as many bytes with other contents: what an application sends is its own";
const ROUTERS: &str = "routers between the sender and the capture count it down";
const MARKED: &str = "a switch on the way marks congestion";
const CONGESTION: &str = "a congestion notification follows marks, which switches set or not";
const SETTING: &str = "it is how the sender's host is set up";

/// Who decides what this field of such a packet holds.
pub(super) fn field(form: Form, head: &str, name: &str, values: [&str; 2]) -> Decided {
    let free = |why| decided(Governed::Free(why));
    if form == Form::Capture {
        match name {
            "data" if payload_len(values[0]) == payload_len(values[1]) => return free(APPLICATION),
            "ip.ttl" => return free(ROUTERS),
            "ip.ecn" if values.contains(&"ce") => return free(MARKED),
            "ip.dscp" => return free(SETTING),
            "udp.sport" | "ip.ecn" if !golden::is_response(head) => return free(SETTING),
            _ if name.starts_with("vlan") => return free(SETTING),
            _ => {}
        }
    }
    decided(golden::governing(head, name))
}

/// Bytes of a payload, as the notation writes it; `None` is that which such a packet ordinarily has.
pub(super) fn payload_len(text: &str) -> Option<usize> {
    match text.split_once('B') {
        Some((digits, _)) => digits.parse().ok(),
        None if text == ORDINARY => None,
        None => Some(text.len() / 2),
    }
}

/// Who decides when such a packet comes.
pub(super) fn moment(head: &str, is_again: bool) -> Decided {
    decided(golden::moment(head, || is_again))
}

fn decided(governed: Governed) -> Decided {
    match governed {
        Governed::Rule(rule) => Decided { rule: Some(rule), free: false, why: String::new() },
        Governed::Free(why) => Decided { rule: None, free: true, why: why.to_owned() },
        Governed::Open => Decided::open(),
    }
}

/// Where acknowledgements without a counterpart come from: what the sender of one answers, and what else it sends.
pub(super) struct Acknowledged {
    /// For each of its packets, the last PSN that a later response of it covers.
    later: Vec<i32>,
    /// The last PSN that any response of the other recording covers.
    other: i32,
    /// PSNs that were sent to it, and whether they asked for an acknowledgement.
    sent: HashMap<i32, bool>,
}

impl Acknowledged {
    /// `packets` of one sender in one recording, those `sent` to it there, and its packets in the `other` recording.
    pub(super) fn new(packets: &[Packet], sent: &[Packet], other: &[Packet]) -> Acknowledged {
        let covers = |packet: &Packet| if golden::is_response(packet.head()) { packet.psn } else { None };
        let mut last = i32::MIN;
        let mut later: Vec<i32> = Vec::with_capacity(packets.len());
        for packet in packets.iter().rev() {
            later.push(last);
            last = last.max(covers(packet).unwrap_or(i32::MIN));
        }
        later.reverse();
        let mut asked = HashMap::new();
        for packet in sent {
            if let Some(psn) = packet.psn {
                *asked.entry(psn).or_default() |= packet.has("ack");
            }
        }
        Acknowledged { later, other: other.iter().filter_map(covers).max().unwrap_or(i32::MIN), sent: asked }
    }

    /// Who decides that one recording has this packet and the other has not.
    pub(super) fn lonely(&self, form: Form, packets: &[Packet], at: usize) -> Decided {
        let packet = &packets[at];
        if form == Form::Capture && Role::of(packet.head()) == Role::Notification {
            return decided(Governed::Free(CONGESTION));
        }
        let Some(psn) = packet.psn.filter(|_| packet.head() == "ACK") else { return Decided::open() };
        let is_covered = self.later[at] >= psn && self.other >= psn;
        let sent = self.sent.get(&psn);
        let why = golden::of_lonely_ack(is_covered, sent.is_some(), sent.is_some_and(|asked| *asked));
        why.map_or(Decided::open(), |why| decided(Governed::Free(why)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hosts_and_applications_choose_is_free_between_captures() {
        let is_free = |form, head, name, values| field(form, head, name, values).free;
        assert!(is_free(Form::Capture, "SEND_ONLY", "data", ["64B", "64B~12345678"]));
        assert!(is_free(Form::Capture, "SEND_ONLY", "data", ["00112233", "4B=00"]));
        assert!(!is_free(Form::Capture, "SEND_ONLY", "data", ["64B", "63B"]));
        assert!(!is_free(Form::Trace, "RDMA_READ_RESPONSE_ONLY", "data", ["64B", "64B=00"]));
        assert!(is_free(Form::Capture, "SEND_ONLY", "ip.dscp", ["26", "ordinary"]));
        assert!(is_free(Form::Capture, "ACK", "ip.dscp", ["26", "ordinary"]));
        assert!(!is_free(Form::Trace, "ACK", "ip.dscp", ["26", "ordinary"]));
        assert_eq!(field(Form::Capture, "ACK", "msn", ["1", "2"]).rule.as_deref(), Some("rc.responder.msn"));
    }
}
