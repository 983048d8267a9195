//! Which connection a packet belongs to.

use std::collections::HashMap;

use rocespec_codec::{Header, Info, Qpn, Roce};

use super::ways::Way;

/// Which connection packets belong to, once all are known.
#[derive(Debug, Clone, Default)]
pub struct Membership {
    ways: HashMap<(Way, Option<Qpn>), Vec<Part>>,
}

/// What a way is to a connection.
#[derive(Debug, Clone, Copy)]
struct Part {
    number: u32,
    from: usize,
    /// First and last frame of the connection: another one may have the same queue pairs later.
    frames: [u64; 2],
}

impl Membership {
    pub(super) fn add(&mut self, number: u32, ways: [Option<Way>; 2], source: Option<Qpn>, frames: [u64; 2]) {
        let sources = [source, source.and_then(|_| ways[0].map(|way| way.qpn))];
        for (from, way) in ways.into_iter().enumerate() {
            if let Some(way) = way {
                self.ways.entry((way, sources[from])).or_default().push(Part { number, from, frames });
            }
        }
    }

    /// The number of the connection that a packet belongs to, and which of its ends sent it. `frame` is its number in the
    /// file.
    pub fn of(&self, packet: &Roce<'_>, frame: u64) -> Option<(u32, usize)> {
        let is_datagram = packet.bth.opcode.info().is_some_and(|info: &Info| info.has(Header::Deth));
        let source = is_datagram.then_some(packet.ext.deth.src_qp);
        let known = self.ways.get(&(Way::of(packet), source))?;
        let part = known.iter().find(|part| (part.frames[0]..=part.frames[1]).contains(&frame))?;
        Some((part.number, part.from))
    }
}
