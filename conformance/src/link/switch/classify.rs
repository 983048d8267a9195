//! To which class a frame belongs.

use rocespec_codec::{Frame, decode};
use rocespec_model::ClassBy;

/// The class of a frame, 0 to 7.
pub(super) fn class_of(frame: &[u8], by: ClassBy) -> usize {
    let Ok(Frame::Roce(packet)) = decode(frame) else { return 0 };
    usize::from(by.class(&packet.eth, &packet.net))
}
