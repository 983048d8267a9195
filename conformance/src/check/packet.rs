//! What a captured frame is to the examination of a capture.

use std::net::Ipv6Addr;

use rocespec_codec::lldp::Lldp;
use rocespec_codec::{DecodeError, Frame, Info, MacControl, Roce, Udp, decode, decode_lax, icrc};

use crate::capture::FrameRef;
use crate::capture::inside::{Around, Inside};

/// A RoCE packet of a capture.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// Number of its frame in the file, 1 = first.
    pub number: u64,
    /// When it was captured, in nanoseconds since the first frame of the file.
    pub time_ns: u64,
    /// As it is. Where the capture cut it, what is missing of its payload is zeroes; its lengths are right.
    pub packet: &'a Roce<'a>,
    /// What its opcode says; `None` for one that nobody knows.
    pub info: Option<&'static Info>,
    /// The capture holds only its beginning.
    pub is_cut: bool,
    /// The ICRC that belongs to it; `None` when too little was captured.
    pub right_icrc: Option<u32>,
    /// Its frame, without what lay around it.
    pub frame: &'a [u8],
    /// How long that was on the wire, in bytes.
    pub original_len: usize,
    /// Where it was captured.
    pub place: Place,
}

impl<'a> Seen<'a> {
    /// A packet of which no more is known than itself.
    #[cfg(test)]
    pub fn bare(number: u64, time_ns: u64, packet: &'a Roce<'a>) -> Seen<'a> {
        let info = packet.bth.opcode.info();
        let place = Place::default();
        Seen { number, time_ns, packet, info, is_cut: false, right_icrc: None, frame: &[], original_len: 0, place }
    }
}

/// Where a frame was captured: two copies of one packet differ in it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Place {
    /// Interface of the capture, and the one that a cooked capture names.
    pub interface: (u32, u32),
    /// The low bytes of the MAC addresses, the VLAN tag and the hop limit: they change from link to link.
    pub link: u64,
}

impl Place {
    /// Where a packet was captured.
    pub(super) fn of(captured: &FrameRef<'_>, around: &[Around], packet: &Roce<'_>) -> Place {
        let cooked = match around.first() {
            Some(Around::Cooked { interface: Some(index), .. }) => *index,
            _ => 0,
        };
        let (dst, src) = (packet.eth.dst.0, packet.eth.src.0);
        let vlan = packet.eth.tags.first().map_or(0, |tag| tag.tci).to_be_bytes();
        let link = [dst[4], dst[5], src[4], src[5], vlan[0], vlan[1], packet.net.hop_limit(), 0];
        Place { interface: (captured.interface, cooked), link: u64::from_be_bytes(link) }
    }
}

/// What a captured frame is.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one of them at a time")]
pub enum Look<'a> {
    /// A RoCE packet, and the ICRC that belongs to it where that can be said.
    Roce {
        /// With zeroes for what was cut.
        packet: Roce<'a>,
        /// `None` when too little was captured.
        right_icrc: Option<u32>,
        /// Less was captured than there was.
        is_cut: bool,
    },
    /// A RoCE packet of which not even the headers were captured.
    Stub,
    /// On the RoCE port, but it cannot be taken apart.
    Broken {
        /// Why.
        error: DecodeError,
        /// Who sent it, as far as it can be read.
        from: Option<Ipv6Addr>,
    },
    /// On the RoCE port, in a form that RoCE v2 does not have.
    Hidden {
        /// Which.
        form: Hidden,
        /// Who sent it.
        from: Ipv6Addr,
    },
    /// PAUSE, PFC.
    Control(MacControl<'a>),
    /// Link layer discovery, DCBX.
    Lldp(Lldp<'a>),
    /// InfiniBand without Ethernet.
    Native,
    /// Anything else.
    Other,
}

/// A form of datagram that RoCE v2 does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hidden {
    /// A piece of one.
    Fragment,
    /// Behind IPv6 extension headers.
    Extensions,
}

/// The longest payload that an IP packet has room for.
static ZEROES: [u8; 1 << 16] = [0; 1 << 16];

/// Looks at what a captured frame carries: `inside`. `right_icrc` is the ICRC that belongs to it, when that was looked at
/// before.
pub fn look<'a>(captured: &FrameRef<'_>, inside: &Inside<'a>, right_icrc: Option<u32>) -> Look<'a> {
    match inside {
        Inside::Ethernet(carried) => {
            let is_cut = captured.data.len() < captured.original_len as usize || carried.is_cut_by_mirror();
            look_at(carried.frame, carried.original_len, is_cut, carried.port, right_icrc)
        }
        Inside::InfiniBand(_) => Look::Native,
        Inside::Unknown => Look::Other,
    }
}

/// Looks at an Ethernet frame. `port`: the UDP destination port that it was sent to, where that is not 4791.
pub(super) fn look_at(
    frame: &[u8],
    original_len: usize,
    is_cut: bool,
    port: Option<u16>,
    right_icrc: Option<u32>,
) -> Look<'_> {
    match decode(frame) {
        Ok(Frame::Roce(packet)) => whole(packet, frame, port, right_icrc),
        Ok(Frame::MacControl(control)) => Look::Control(control),
        Ok(Frame::Lldp(lldp)) => Look::Lldp(lldp),
        Ok(Frame::Datagram(datagram)) if datagram.udp.is_some() => Look::Hidden {
            form: if datagram.fragment.is_some() { Hidden::Fragment } else { Hidden::Extensions },
            from: datagram.net.src_gid(),
        },
        Ok(_) => Look::Other,
        Err(error) => in_part(frame, original_len, is_cut, port, error),
    }
}

fn whole<'a>(mut packet: Roce<'a>, frame: &'a [u8], port: Option<u16>, right_icrc: Option<u32>) -> Look<'a> {
    let is_as_sent = match (&mut packet.udp, port) {
        (Some(udp), Some(port)) => {
            udp.dport = port;
            false
        }
        _ => true,
    };
    let right_icrc = right_icrc
        .unwrap_or_else(|| if is_as_sent { icrc::compute_in(frame, &packet) } else { icrc::compute(&packet) });
    Look::Roce { packet, right_icrc: Some(right_icrc), is_cut: false }
}

fn in_part(frame: &[u8], original_len: usize, is_cut: bool, port: Option<u16>, error: DecodeError) -> Look<'_> {
    let lax = decode_lax(frame, original_len);
    if !lax.is_roce() {
        return Look::Other;
    }
    if !is_cut || !lax.problems.is_empty() {
        return Look::Broken { error, from: lax.net.map(|net| net.src_gid()) };
    }
    let (Some(eth), Some(net), Some(bth), Some(len)) = (lax.eth.clone(), lax.net, lax.bth, lax.payload_len) else {
        return Look::Stub;
    };
    if !lax.has_headers() {
        return Look::Stub;
    }
    let udp = lax.udp.map(|udp| Udp { dport: port.unwrap_or(udp.dport), ..udp });
    let payload = &ZEROES[..len.min(ZEROES.len())];
    let pad = &ZEROES[..usize::from(bth.pad_count & 3)];
    let packet = Roce { eth, net, udp, bth, ext: lax.ext, payload, pad, icrc: 0, trailer: &[] };
    Look::Roce { packet, right_icrc: None, is_cut: true }
}
