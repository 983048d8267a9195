//! Frames without what nobody else needs to see: other addresses, no payload.
//!
//! Lengths, times and all that a judgement needs stay: sequence numbers, keys, flags, codes. A checksum or an ICRC that was
//! right is right again, and one that was wrong stays wrong.
//!
//! ```
//! use rocespec::capture::{CapturedFrame, inside::Opener, rewrite::{LeftOut, Rewriter}};
//!
//! let ipv4_of_another_protocol = [&[2; 12][..], &[0x08, 0x00, 0x45], &[0; 45]].concat();
//! let captured = CapturedFrame { linktype: 1, original_len: 60, data: ipv4_of_another_protocol, ..CapturedFrame::default() };
//! let (mut opener, mut rewriter) = (Opener::default(), Rewriter::anonymising());
//! assert_eq!(rewriter.frame(&opener.open(&captured)), Err(LeftOut::Other));
//! ```

mod checksum;
mod lldp;
mod management;
mod names;
mod neighbour;
mod roce;
#[cfg(test)]
mod tests;

use std::fmt;

use rocespec_codec::{Control, Frame, Trailer, decode_lax};

use super::inside::{Carried, Inside, Opened};
use super::{CapturedFrame, LINKTYPE_ETHERNET};
use names::Names;

/// Rewrites the frames of a capture.
#[derive(Debug)]
pub struct Rewriter {
    /// `None`: addresses stay.
    names: Option<Names>,
    no_payload: bool,
}

/// Why a frame cannot be rewritten so that nothing stays in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// Another protocol than RoCE, ARP, neighbour discovery, LLDP and MAC control.
    Other,
    /// RoCE that is cut or broken in front of its transport header.
    Headless,
    /// RoCE in a fragment, behind IPv6 extension headers or behind IPv4 options.
    Hidden,
    /// A management datagram that is cut, or none of the connection manager.
    Management,
    /// LLDP or neighbour discovery that is cut or broken, or says more than is understood.
    Link,
    /// MAC control of another kind than PAUSE and PFC.
    Control,
    /// More addresses than are told apart.
    TooMany,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LeftOut::Other => "of another protocol",
            LeftOut::Headless => "RoCE that is cut or broken in front of its transport header",
            LeftOut::Hidden => "RoCE in a fragment or behind IP options",
            LeftOut::Management => "management datagrams that are cut or not of the connection manager",
            LeftOut::Link => "LLDP or neighbour discovery that is not understood",
            LeftOut::Control => "MAC control other than PAUSE and PFC",
            LeftOut::TooMany => "beyond a million addresses",
        })
    }
}

impl Rewriter {
    /// Puts other addresses in the place of those that are there.
    pub fn anonymising() -> Rewriter {
        Rewriter { names: Some(Names::default()), no_payload: false }
    }

    /// Puts zeroes in the place of payloads.
    pub fn without_payload() -> Rewriter {
        Rewriter { names: None, no_payload: true }
    }

    /// Puts zeroes in the place of payloads, too.
    #[must_use]
    pub fn and_without_payload(self) -> Rewriter {
        Rewriter { no_payload: true, ..self }
    }

    /// The frame, rewritten: Ethernet, without what lay around it. Its comment is kept where addresses are.
    ///
    /// # Errors
    /// When something in it is not understood.
    pub fn frame(&mut self, opened: &Opened<'_>) -> Result<CapturedFrame, LeftOut> {
        let Inside::Ethernet(carried) = &opened.inside else { return Err(LeftOut::Other) };
        if self.names.as_ref().is_some_and(Names::is_full) {
            return Err(LeftOut::TooMany);
        }
        let (data, is_cut) = self.ethernet(carried)?;
        let captured = opened.captured;
        let original_len = if is_cut { carried.original_len.max(data.len()) } else { data.len() };
        Ok(CapturedFrame {
            number: captured.number,
            time_ns: captured.time_ns,
            interface: 0,
            linktype: LINKTYPE_ETHERNET,
            original_len: u32::try_from(original_len).unwrap_or(u32::MAX),
            data,
            comment: captured.comment.clone().filter(|_| self.names.is_none()),
        })
    }

    /// The new bytes, and whether the frame goes on behind them.
    fn ethernet(&mut self, carried: &Carried<'_>) -> Result<(Vec<u8>, bool), LeftOut> {
        let lax = decode_lax(carried.frame, carried.original_len);
        let is_cut = lax.is_cut() || carried.is_cut_by_mirror();
        if lax.is_roce() && !matches!(lax.other, Some(Frame::Datagram(_))) {
            return Ok((self.roce(&lax, carried)?, is_cut));
        }
        let ends_with_fcs = lax.trailer_kind() == Trailer::Fcs;
        let Some(names) = &mut self.names else {
            // Nothing in these is payload.
            return match lax.other {
                Some(Frame::MacControl(_) | Frame::Arp(_) | Frame::Neighbor(_) | Frame::Lldp(_)) => {
                    Ok((carried.frame.to_vec(), is_cut))
                }
                Some(Frame::Datagram(_)) => Err(LeftOut::Hidden),
                _ => Err(LeftOut::Other),
            };
        };
        let frame = match lax.other {
            Some(Frame::MacControl(mut control)) => {
                if matches!(control.control, Control::Other(_)) {
                    return Err(LeftOut::Control);
                }
                names.ethernet(&mut control.eth);
                let padding = vec![0; control.padding.len()];
                control.padding = &padding;
                encoded(&Frame::MacControl(control))
            }
            Some(Frame::Arp(arp)) => neighbour::arp(arp, names),
            Some(Frame::Neighbor(neighbor)) => neighbour::neighbor(neighbor, names)?,
            Some(Frame::Lldp(lldp)) if !is_cut => lldp::lldp(&lldp, names)?,
            Some(Frame::Lldp(_)) => return Err(LeftOut::Link),
            Some(Frame::Datagram(_)) => return Err(LeftOut::Hidden),
            _ => return Err(LeftOut::Other),
        };
        Ok((if ends_with_fcs { with_fcs(frame) } else { frame }, is_cut))
    }
}

/// The bytes of a frame.
fn encoded(frame: &Frame<'_>) -> Vec<u8> {
    let mut bytes = vec![0; frame.encoded_len()];
    frame.encode(&mut bytes).expect("as long as the frame");
    bytes
}

/// Writes the frame check sequence over the last four bytes.
fn with_fcs(mut frame: Vec<u8>) -> Vec<u8> {
    if let Some((rest, fcs)) = frame.split_last_chunk_mut::<4>() {
        *fcs = crc32fast::hash(rest).to_le_bytes();
    }
    frame
}
