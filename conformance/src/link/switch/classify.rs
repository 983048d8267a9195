//! To which class a frame belongs.

use rocespec_codec::{Ethernet, Frame, decode};

use super::config::ClassBy;

/// The class of a frame, 0 to 7.
pub(super) fn class_of(frame: &[u8], by: ClassBy) -> usize {
    let Ok(Frame::Roce(packet)) = decode(frame) else { return 0 };
    match by {
        ClassBy::Pcp => priority(&packet.eth),
        ClassBy::Dscp => usize::from(packet.net.traffic_class() >> 5),
    }
}

fn priority(eth: &Ethernet) -> usize {
    eth.tags.first().map_or(0, |tag| usize::from(tag.tci >> 13))
}
