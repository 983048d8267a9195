//! MTU, source ports, hop limits, and receivers that are never ready.

use std::time::Duration;

use rocespec_codec::{Mtu, NakCode};
use rocespec_reports::examination::End;

use super::{Found, fault, remark};
use crate::check::counts::{Counts, Side};

/// Connections of an address that all have one source port by intent, not by chance.
const ONE_PORT: u64 = 4;

/// Ports below this one are those of services.
const LEAST_PORT: u16 = 0xc000;

/// Waits that stall a connection: one of them, all of them.
const LONG_WAIT: Duration = Duration::from_millis(100);
const LONG_WAITS: Duration = Duration::from_secs(1);

/// An address that sends, in all its connections.
#[derive(Debug, Default)]
pub(super) struct Sender {
    pub(super) packets: u64,
    pub(super) marked: u64,
    /// First frame, and its connection.
    pub(super) first: Option<(u64, u32)>,
    pub(super) times_ns: [u64; 2],
    pub(super) hop_limits: Option<[u8; 2]>,
    /// The port that all its connections have; `None` when they differ.
    port: Option<u16>,
    /// Its connections that have a port.
    with_port: u64,
}

impl Sender {
    pub(super) fn add(&mut self, number: u32, side: &Side) {
        let (Some(frame), Some([least, most])) = (side.first_frame, side.hop_limits) else { return };
        self.times_ns = match self.first {
            Some(_) => [self.times_ns[0].min(side.times_ns[0]), self.times_ns[1].max(side.times_ns[1])],
            None => side.times_ns,
        };
        self.first = Some(self.first.map_or((frame, number), |first| first.min((frame, number))));
        self.packets += side.sent.packets;
        self.marked += side.sent.ce_marks;
        let limits = self.hop_limits.unwrap_or([least, most]);
        self.hop_limits = Some([limits[0].min(least), limits[1].max(most)]);
        if let [first, rest @ ..] = &side.sent.source_ports[..] {
            let is_one = rest.is_empty() && (self.with_port == 0 || self.port == Some(*first));
            self.port = is_one.then_some(*first);
            self.with_port += 1;
        }
    }

    pub(super) fn judge(&self, found: &mut Found, address: &str) {
        let (Some(port), Some((frame, _))) = (self.port, self.first) else { return };
        if self.with_port < ONE_PORT {
            return;
        }
        let seen = format!("all {} connections of {address} have source port {port}", self.with_port);
        let hint = "Switches spread flows over equal paths by the source port: with one for all they take the same \
            path. Let each queue pair have its own.";
        found.add(address.to_owned(), remark("one-source-port", frame, None, seen, hint));
    }
}

pub(super) fn connection(found: &mut Found, number: u32, ends: &[End; 2], agreed_mtu: Option<usize>, counts: &Counts) {
    judge_mtu(found, number, ends, counts);
    judge_agreed_mtu(found, number, ends, agreed_mtu, counts);
    for (end, side) in ends.iter().zip(&counts.sides) {
        judge_port(found, number, end, side);
        judge_hop_limit(found, number, end, side);
        judge_waits(found, number, end, side);
    }
}

fn judge_mtu(found: &mut Found, number: u32, ends: &[End; 2], counts: &Counts) {
    let full = |side: &Side| side.full.filter(|(len, _)| !side.fulls_differ && Mtu::from_bytes(*len).is_some());
    let (Some(one), Some(other)) = (full(&counts.sides[0]), full(&counts.sides[1])) else { return };
    if one.0 == other.0 {
        return;
    }
    let naks: u64 = counts.sides.iter().map(|side| side.naks_of(NakCode::InvalidRequest)).sum();
    let refused = if naks > 0 { format!("; {naks} requests were refused as invalid") } else { String::new() };
    let seen = format!(
        "{} sends packets of {} bytes, {} of {} (frames {} and {}){refused}",
        ends[0].address, one.0, ends[1].address, other.0, one.1, other.1
    );
    let hint = "Both ends of a connection have one path MTU. Compare the MTU of the two ports and what the software \
        asks for: the smaller one has to be set at both.";
    let fault = fault("mtu-differs", one.1.max(other.1), Some(number), seen, hint);
    found.add(number.to_string(), fault);
}

/// Programs may set another path MTU than the connection manager said, as long as both ends do.
fn judge_agreed_mtu(found: &mut Found, number: u32, ends: &[End; 2], agreed: Option<usize>, counts: &Counts) {
    let Some(agreed) = agreed else { return };
    for (end, side) in ends.iter().zip(&counts.sides) {
        let Some((len, frame)) = side.full.filter(|(len, _)| *len != agreed && Mtu::from_bytes(*len).is_some()) else {
            continue;
        };
        let seen = format!(
            "{} sends packets of {len} bytes (frame {frame}), where the connection manager said {agreed}",
            end.address
        );
        let hint =
            "Look whether both programs set the path MTU of their queue pairs themselves, and to the same value.";
        found.add(number.to_string(), remark("mtu-not-agreed", frame, Some(number), seen, hint));
    }
}

fn judge_port(found: &mut Found, number: u32, end: &End, side: &Side) {
    let low = side.sent.source_ports.iter().find(|port| **port < LEAST_PORT);
    let (Some(port), Some(frame)) = (low, side.first_frame) else { return };
    let address = &end.address;
    let seen = format!("{address} sends from source port {port}, below {LEAST_PORT}");
    let hint = "Legal, but other tools take the packets for those of a service, and filters may drop them. Ports \
        from 49152 on are free for this.";
    found.add(address.clone(), remark("low-source-port", frame, Some(number), seen, hint));
}

fn judge_hop_limit(found: &mut Found, number: u32, end: &End, side: &Side) {
    let Some(frame) = side.last_hop_frame else { return };
    let address = &end.address;
    let seen = format!("packets of {address} have a hop limit of 1 here");
    let hint = "No router passes them on. In one subnet that does no harm; otherwise set the hop limit (TTL) of the \
        path at the sender.";
    found.add(address.clone(), remark("hop-limit-1", frame, Some(number), seen, hint));
}

fn judge_waits(found: &mut Found, number: u32, end: &End, side: &Side) {
    let Some((timer, frame)) = side.longest_wait else { return };
    let all = Duration::from_nanos(side.sent.rnr_waits.sum_ns);
    if timer.duration() < LONG_WAIT && all < LONG_WAITS {
        return;
    }
    let code = if timer.get() == 0 { " (timer code 0, which is the longest and not none)" } else { "" };
    let (address, count, longest) = (&end.address, side.sent.rnr_naks, timer.duration());
    let seen = format!("{count} RNR NAKs of {address} ask for {all:?} of waiting, the longest for {longest:?}{code}");
    let hint = "The receiver has no receive requests posted in time: post more, or set a shorter RNR timer \
        (min_rnr_timer) at its queue pair.";
    found.add(format!("{number} {address}"), fault("rnr-stall", frame, Some(number), seen, hint));
}
