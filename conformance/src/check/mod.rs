//! Examination of captures: what went wrong first, by which rule, and what is only an artefact of the capture.
//!
//! A [`Check`] is told of the frames of a capture one by one. Packets find their connection; each of its ends is
//! judged by the oracle that judges devices in a run, which knows here that a capture may begin in the middle and have
//! holes. What a capture can explain is never a fault.
//!
//! Memory is bounded by connections, not by packets.

mod artefacts;
mod connection;
mod copies;
mod counts;
mod doubt;
mod faults;
mod findings;
mod link;
mod membership;
pub mod packet;
mod read;
mod recent;
mod senders;
mod set_up;
#[cfg(test)]
mod tests;
mod traffic;
mod ways;

use rocespec_reports::examination::CaptureFile;
use rocespec_reports::outcome::Level;

use crate::capture::FrameRef;
use crate::capture::inside::{Inside, Opener};
use crate::oracle::{Breach, undecodable};
use artefacts::{Artefacts, Kind};
use connection::has_no_checksum;
use faults::Faults;
use findings::Collected;
use link::Link;
pub use membership::Membership;
use packet::{Hidden, Look, Place, Seen, look};
pub use traffic::Options;
use traffic::Traffic;

/// Examines one capture.
#[derive(Debug)]
pub struct Check {
    opener: Opener,
    traffic: Traffic,
    artefacts: Artefacts,
    link: Link,
    loose: Collected,
    frames: u64,
    packets: u64,
    bytes: u64,
    start_ns: Option<u64>,
    /// Times of the earliest and the latest frame.
    span_ns: (u64, u64),
    last_ns: u64,
}

impl Check {
    /// Nothing has come. `ports` are UDP ports that are RoCE v2 besides 4791.
    pub fn new(options: Options, ports: &[u16]) -> Check {
        Check {
            link: Link::new(options.speed),
            traffic: Traffic::new(options),
            opener: Opener::with_ports(ports),
            artefacts: Artefacts::default(),
            loose: Collected::default(),
            frames: 0,
            packets: 0,
            bytes: 0,
            start_ns: None,
            span_ns: (u64::MAX, 0),
            last_ns: 0,
        }
    }

    /// The next frame of the file.
    pub fn frame(&mut self, captured: &FrameRef<'_>) {
        self.frame_with(captured, None);
    }

    /// The next frame of the file, and the ICRC that belongs to it where that was looked at before.
    fn frame_with(&mut self, captured: &FrameRef<'_>, right_icrc: Option<u32>) {
        self.frames += 1;
        self.bytes += u64::from(captured.original_len);
        let start = *self.start_ns.get_or_insert(captured.time_ns);
        self.span_ns = (self.span_ns.0.min(captured.time_ns), self.span_ns.1.max(captured.time_ns));
        let time_ns = captured.time_ns.saturating_sub(start);
        if captured.time_ns < std::mem::replace(&mut self.last_ns, captured.time_ns) {
            self.artefacts.note(Kind::Order, captured.number);
        }
        let inside = self.opener.look(captured.linktype, captured.original_len, captured.data);
        match look(captured, &inside, right_icrc) {
            Look::Roce { packet, right_icrc, is_cut } => {
                let Inside::Ethernet(carried) = &inside else { return };
                self.packets += 1;
                let seen = Seen {
                    number: captured.number,
                    time_ns,
                    packet: &packet,
                    info: packet.bth.opcode.info(),
                    is_cut,
                    right_icrc,
                    frame: carried.frame,
                    original_len: carried.original_len,
                    place: Place::of(captured, &carried.around, &packet),
                };
                if is_cut {
                    self.artefacts.note(Kind::Cut, captured.number);
                }
                if packet.trailer.iter().any(|byte| *byte != 0) {
                    self.artefacts.note(Kind::Trailer, captured.number);
                }
                if has_no_checksum(&packet) {
                    self.artefacts.note(Kind::ChecksumPlaceholder, captured.number);
                }
                self.traffic.packet(&seen);
            }
            Look::Stub => {
                self.packets += 1;
                self.artefacts.note(Kind::Cut, captured.number);
            }
            Look::Broken { error, from } => {
                self.packets += 1;
                if from.is_none_or(|from| self.traffic.options.judges(from)) {
                    self.loose.add_loose(captured.number, time_ns, undecodable(&error));
                }
            }
            Look::Hidden { form, from } => {
                self.packets += 1;
                if self.traffic.options.judges(from) {
                    self.loose.add_loose(captured.number, time_ns, hidden_breach(form));
                }
            }
            Look::Native => self.artefacts.note(Kind::Native, captured.number),
            Look::Control(control) => self.link.control(captured.number, time_ns, &control),
            Look::Lldp(lldp) => self.link.lldp(captured.number, &lldp),
            Look::Other => {}
        }
    }

    /// All that was found, and which packets belong to which connection.
    pub fn finish(mut self) -> (CaptureFile, Membership) {
        self.traffic.finish();
        let traffic = self.traffic;
        let mut artefacts = self.artefacts;
        artefacts.merge(&traffic.artefacts);
        let senders = traffic.senders;
        let (placeholders, first) = senders.placeholders();
        artefacts.note_several(Kind::IcrcPlaceholder, placeholders, first);
        let mut members = traffic.connections;
        members.sort_by_key(|member| member.connection.first_frame());
        let mut membership = Membership::default();
        let mut connections = Vec::new();
        let mut faults = Faults::new(&self.link);
        for member in members {
            let Some(first) = member.connection.first_frame() else {
                artefacts.note(Kind::NoData, member.set_up.unwrap_or(1));
                continue;
            };
            if member.connection.is_one_direction() {
                artefacts.note(Kind::OneDirection, first);
            } else {
                artefacts.note_several(Kind::Hole, member.connection.missing(), first);
            }
            let number = connections.len() as u32 + 1;
            let connection = member.connection.finish(number, &mut faults, |address| senders.has_placeholders(address));
            membership.add(number, member.ways, member.source, connection.frames);
            connections.push(connection);
        }
        let file = CaptureFile {
            frames: self.frames,
            packets: self.packets,
            bytes: self.bytes,
            start_ns: self.start_ns.unwrap_or(0),
            duration_ns: self.span_ns.1.saturating_sub(self.span_ns.0),
            connections,
            loose: self.loose.finish(false, false),
            artefacts: artefacts.finish(),
            faults: faults.finish(),
            pauses: self.link.pauses(),
            ..CaptureFile::default()
        };
        (file, membership)
    }
}

fn hidden_breach(hidden: Hidden) -> Breach {
    let (rule, expected, seen, why) = match hidden {
        Hidden::Fragment => ("lint.fragment", "a whole datagram", doubt::A_PIECE, "RoCE v2 is never fragmented"),
        Hidden::Extensions => (
            "lint.undecodable",
            "UDP behind the IPv6 header",
            "IPv6 extension headers",
            "RoCE v2 does not have them, and receivers drop the packet",
        ),
    };
    Breach { rule, level: Level::Must, expected: expected.to_owned(), seen: seen.to_owned(), why }
}
