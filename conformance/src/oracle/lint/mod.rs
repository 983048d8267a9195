//! Rules on a single frame: lengths, addresses, reserved bits, checksums, the ICRC.

mod headers;
mod network;

use rocespec_codec::{DecodeError, ErrorKind, LengthSource, Roce};
use rocespec_reports::outcome::Level;

use super::{Breach, Ends, must};

/// A frame on the RoCE port that cannot be taken apart.
pub fn undecodable(error: &DecodeError) -> Breach {
    let rule = match error.kind {
        ErrorKind::TooLong { field, .. } | ErrorKind::Disagree { field, .. } => match field {
            LengthSource::UdpLength => "lint.udp-length",
            LengthSource::Frame => "lint.undecodable",
            _ => "lint.ip-length",
        },
        _ => "lint.undecodable",
    };
    let why = "a receiver drops a frame whose layers and length fields do not agree";
    must(rule, "a frame whose lengths agree".to_owned(), error.to_string(), why)
}

/// The ICRC of a frame, where it is not the right one.
pub(crate) fn icrc(packet: &Roce<'_>, right: u32) -> Option<Breach> {
    let found = packet.icrc;
    // rule: lint.icrc
    let why = "every receiver drops a packet whose ICRC is wrong";
    (found != right).then(|| must("lint.icrc", format!("icrc={right:#010x}"), format!("icrc={found:#010x}"), why))
}

/// Every other rule that a frame from the device breaks on its own.
pub(super) fn lint(packet: &Roce<'_>, ends: &Ends) -> Vec<Breach> {
    let mut found = Found::default();
    network::lint(packet, ends, &mut found);
    headers::lint(packet, ends, &mut found);
    found.breaches
}

/// Packets of a connection leave from one UDP source port, so that a network which spreads flows keeps them in order.
pub(super) fn source_port(first: Option<u16>, seen: Option<u16>) -> Option<Breach> {
    let (first, seen) = (first?, seen?);
    // rule: frame.responder.source-port
    (first != seen).then(|| Breach {
        rule: "frame.responder.source-port",
        level: Level::Should,
        expected: format!("udp.sport={first}"),
        seen: format!("udp.sport={seen}"),
        why: "packets that must stay in order should have one UDP source port",
    })
}

/// What has been found so far.
#[derive(Default)]
struct Found {
    breaches: Vec<Breach>,
}

impl Found {
    /// What must be, and why. The words are made only when they are needed: nearly every frame is right.
    #[inline]
    fn must(
        &mut self,
        rule: &'static str,
        right: bool,
        expected: &dyn Fn() -> String,
        seen: &dyn Fn() -> String,
        why: &'static str,
    ) {
        self.asked(Level::Must, rule, right, expected, seen, why);
    }

    /// What should be.
    #[inline]
    fn should(
        &mut self,
        rule: &'static str,
        right: bool,
        expected: &dyn Fn() -> String,
        seen: &dyn Fn() -> String,
        why: &'static str,
    ) {
        self.asked(Level::Should, rule, right, expected, seen, why);
    }

    #[inline]
    fn asked(
        &mut self,
        level: Level,
        rule: &'static str,
        right: bool,
        expected: &dyn Fn() -> String,
        seen: &dyn Fn() -> String,
        why: &'static str,
    ) {
        if !right {
            self.add(level, rule, expected, seen, why);
        }
    }

    #[cold]
    fn add(
        &mut self,
        level: Level,
        rule: &'static str,
        expected: &dyn Fn() -> String,
        seen: &dyn Fn() -> String,
        why: &'static str,
    ) {
        self.breaches.push(Breach { rule, level, expected: expected(), seen: seen(), why });
    }
}
