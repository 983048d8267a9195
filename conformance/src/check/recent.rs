//! The last packets of a connection, for the surroundings of a finding.

use rocespec_codec::Roce;
use rocespec_codec::notation::{Scope, print};
use rocespec_reports::examination::Line;

use super::packet::{Look, Seen, look_at};
use crate::capture::ordinary::{headers_alone, set_ordinary};

/// Packets that are kept.
const KEPT: usize = 6;
/// Bytes of each that are kept: all headers of every opcode, with VLAN tags.
const HEAD: usize = 128;

/// The last packets, the oldest first.
#[derive(Debug, Clone)]
pub(super) struct Recent {
    kept: [Kept; KEPT],
    next: usize,
}

#[derive(Debug, Clone, Copy)]
struct Kept {
    /// 0 where there is none.
    number: u64,
    time_ns: u64,
    from: u8,
    head: [u8; HEAD],
    len: u8,
    original_len: u32,
}

impl Default for Recent {
    fn default() -> Recent {
        let none = Kept { number: 0, time_ns: 0, from: 0, head: [0; HEAD], len: 0, original_len: 0 };
        Recent { kept: [none; KEPT], next: 0 }
    }
}

impl Recent {
    pub(super) fn note(&mut self, from: usize, seen: &Seen<'_>) {
        let len = seen.frame.len().min(HEAD);
        // In place: what lies in the room behind its bytes means nothing.
        let kept = &mut self.kept[self.next];
        (kept.number, kept.time_ns, kept.from) = (seen.number, seen.time_ns, from as u8);
        kept.head[..len].copy_from_slice(&seen.frame[..len]);
        (kept.len, kept.original_len) = (len as u8, seen.original_len as u32);
        self.next = (self.next + 1) % KEPT;
    }

    /// A line for the last packet.
    pub(super) fn last(&self) -> Option<Line> {
        let last = &self.kept[(self.next + KEPT - 1) % KEPT];
        (last.number > 0).then(|| last.line())
    }

    /// A line for each packet that is kept.
    pub(super) fn lines(&self) -> Vec<Line> {
        let in_order = self.kept[self.next..].iter().chain(&self.kept[..self.next]);
        in_order.filter(|kept| kept.number > 0).map(Kept::line).collect()
    }
}

impl Kept {
    fn line(&self) -> Line {
        let head = &self.head[..usize::from(self.len)];
        let text = match look_at(head, self.original_len as usize, true, None, None) {
            Look::Roce { packet, is_cut: false, .. } => text(&packet),
            Look::Roce { packet, .. } => cut_text(&packet, packet.payload.len()),
            _ => "cut before its headers end".to_owned(),
        };
        Line { frame: self.number, time_ns: self.time_ns, from: self.from, text }
    }
}

/// A packet in the notation, without what is ordinary on its path.
pub(super) fn text(packet: &Roce<'_>) -> String {
    let mut scope = Scope::default();
    set_ordinary(&mut scope, packet);
    print(packet, &scope).absolute().elided().to_string()
}

/// The same of a packet whose payload is not there: what belongs to it is not looked at.
pub(super) fn cut_text(packet: &Roce<'_>, payload_len: usize) -> String {
    let mut scope = Scope::default();
    set_ordinary(&mut scope, packet);
    let text = print(&headers_alone(packet), &scope).absolute().to_string();
    if payload_len > 0 { format!("{text} {payload_len}B=*") } else { text }
}

#[cfg(test)]
mod tests {
    use rocespec_codec::notation::parse;

    use super::*;

    /// The line of a packet of which no more than so many bytes are there.
    fn kept(packet: &str, len: usize) -> String {
        let (mut buffer, mut out) = ([0; 256], [0; 256]);
        let frame = parse(packet, &Scope::default(), &mut buffer).unwrap().encode(&mut out).unwrap();
        let len = len.min(frame.len());
        let mut head = [0; HEAD];
        head[..len].copy_from_slice(&frame[..len]);
        Kept { number: 1, time_ns: 0, from: 0, head, len: len as u8, original_len: frame.len() as u32 }.line().text
    }

    #[test]
    fn what_is_cut_is_no_fault_of_the_packet() {
        assert_eq!(kept("SEND_ONLY psn=@0x000001 ack 64B", HEAD), "SEND_ONLY psn=@0x000001 ack 64B");
        for bytes in [70, 71, 72, 73, 100] {
            let line = kept(&format!("SEND_ONLY psn=@0x000001 ack {bytes}B"), HEAD);
            assert_eq!(line, format!("SEND_ONLY psn=@0x000001 ack {bytes}B=*"));
        }
        assert_eq!(kept("ACK psn=@0x000001 msn=1", 60), "ACK psn=@0x000001 msn=1");
        assert_eq!(kept("ACK psn=@0x000001 msn=1", 56), "cut before its headers end");
    }
}
