//! Statistics of one connection.
//!
//! [`Counts`] is told of every packet in the order of the file. What it keeps does not grow with their number, and it
//! never counts what it does not see: a capture may begin in the middle and have holes, and a jump of the PSN is one
//! gap or a new beginning, not as many packets.

mod exchange;
mod picture;
mod sequence;
mod side;
#[cfg(test)]
mod tests;

use rocespec_codec::{Psn, Transport};
use rocespec_reports::examination::{Mark, Point, Sent};

use super::packet::Seen;
use exchange::{Exchange, Verdict};
use picture::Picture;
pub(in crate::check) use side::{Class, Side};

/// Statistics of one connection, as they grow.
#[derive(Debug, Clone)]
pub(super) struct Counts {
    /// What each end sent.
    pub(super) sides: [Side; 2],
    /// The requests of each end, with the responses of the other.
    exchanges: [Exchange; 2],
    /// Of its first packet that has one of its own.
    pub(super) transport: Option<Transport>,
    picture: Picture,
}

impl Default for Counts {
    fn default() -> Counts {
        Counts::new()
    }
}

impl Counts {
    /// Of a connection with no packets yet.
    pub(super) fn new() -> Counts {
        let (sides, exchanges) = Default::default();
        Counts { sides, exchanges, transport: None, picture: Picture::new() }
    }

    /// There are thousands of connections: each has a small picture. To be said before the first packet.
    pub(super) fn one_of_many(&mut self) {
        self.picture = Picture::small();
    }

    /// A packet from one of the two ends, 0 or 1, that is no copy of another one. `mtu` is the path MTU of the
    /// connection in bytes, as far as it is known: it says how many PSNs a READ takes.
    pub(super) fn note(&mut self, from: usize, seen: &Seen<'_>, mtu: Option<usize>) {
        let from = from & 1;
        let bth = &seen.packet.bth;
        let transport = bth.opcode.transport();
        let is_cnp = transport == Transport::Cnp;
        self.sides[from].headers(seen, is_cnp);
        if is_cnp {
            self.picture.add(point(from, seen, Psn::new(0), Verdict { mark: Mark::Cnp, psns: 1, is_new: false }));
            return;
        }
        let Some(info) = seen.info else { return };
        self.transport = self.transport.or(Some(transport));
        let verdict = if info.is_request() {
            let side = &mut self.sides[from];
            let verdict = self.exchanges[from].request(seen, info, mtu, side);
            if verdict.is_new && info.starts_message() {
                side.message(bth.opcode, seen.number);
            }
            verdict
        } else {
            let [first, second] = &mut self.sides;
            let (responder, requester) = if from == 0 { (first, second) } else { (second, first) };
            self.exchanges[1 - from].response(seen, info, responder, requester)
        };
        self.sides[from].payload(seen, info, verdict.is_new);
        self.picture.add(point(from, seen, bth.psn, verdict));
    }

    /// What is reported: what each end sent, and the points of the picture in the order of their frames.
    pub(super) fn finish(mut self) -> ([Sent; 2], Vec<Point>) {
        for (side, exchange) in self.sides.iter_mut().zip(&self.exchanges) {
            exchange.finish(side);
        }
        (self.sides.map(Side::finish), self.picture.finish())
    }
}

#[inline]
fn point(from: usize, seen: &Seen<'_>, psn: Psn, verdict: Verdict) -> Point {
    let Verdict { mark, psns, .. } = verdict;
    Point { frame: seen.number, time_ns: seen.time_ns, from: from as u8, psn: psn.get(), psns, mark }
}
