//! The walk behind [`decode_lax`](super::decode_lax).

use core::net::Ipv4Addr;

use arrayvec::ArrayVec;

use super::{Cut, Lax};
use crate::bth::Bth;
use crate::datagram::Chain;
use crate::error::{DecodeError, ErrorKind, Layer, LengthSource};
use crate::eth::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_ROCE_V1, Ethernet};
use crate::ext::Extensions;
use crate::frame::Frame;
use crate::net::{Ipv4, Ipv6, NEXT_HEADER_IBA, Net, PROTOCOL_UDP, USNIC_VERSION};
use crate::other;
use crate::udp::{ROCE_V2_PORT, Udp};
use crate::wire;

/// Where the next layer begins, and where the packet ends by who.
#[derive(Clone, Copy)]
struct Place {
    at: usize,
    end: usize,
    limit: LengthSource,
}

/// Nothing more can be read.
struct Stop;

pub(super) fn read(frame: &[u8], original_len: usize) -> Lax<'_> {
    let mut lax = Lax {
        frame,
        original_len,
        eth: None,
        net: None,
        extensions: ArrayVec::new(),
        fragment: None,
        udp: None,
        bth: None,
        ext: Extensions::default(),
        unread: &[],
        payload: &[],
        payload_len: None,
        pad: &[],
        icrc: None,
        trailer: &[],
        other: None,
        cut: None,
        problems: ArrayVec::new(),
        headers: 0,
    };
    // Where it stops is told by what is there.
    let _ = lax.layers();
    lax
}

impl<'a> Lax<'a> {
    fn layers(&mut self) -> Result<(), Stop> {
        let eth = self.ethernet()?;
        self.eth = Some(eth.clone());
        let at = eth.len();
        match eth.ethertype {
            ETHERTYPE_ROCE_V1 if self.version(at) == Some(USNIC_VERSION) => self.stop(Frame::Usnic(self.frame)),
            ETHERTYPE_IPV4 if self.version(at) == Some(6) && self.has(at, Ipv4::MIN_LEN) => {
                self.problem(Layer::Ipv4, at, ErrorKind::Version(6));
                self.v6(&eth, at)
            }
            ETHERTYPE_IPV6 if self.version(at) == Some(4) && self.has(at, Ipv6::LEN) => {
                self.problem(Layer::Ipv6, at, ErrorKind::Version(4));
                self.v4(&eth, at)
            }
            ETHERTYPE_IPV4 => self.v4(&eth, at),
            ETHERTYPE_IPV6 => self.v6(&eth, at),
            ETHERTYPE_ROCE_V1 => {
                let (grh, place) = self.fixed_v6(Layer::Grh, at, LengthSource::GrhPayLen)?;
                self.net = Some(Net::Grh(grh));
                if grh.next_header != NEXT_HEADER_IBA {
                    return self.stop(Frame::Other(self.frame));
                }
                self.transport(place)
            }
            _ => {
                let frame = other::by_ethertype(eth, self.frame);
                self.stop(frame)
            }
        }
    }

    fn ethernet(&mut self) -> Result<Ethernet, Stop> {
        Ethernet::read(self.frame).map_err(|error| {
            let frame = Place { at: error.offset, end: self.original_len, limit: LengthSource::Frame };
            match error.kind {
                ErrorKind::TooShort { needed, .. } => {
                    let _ = self.take(error.layer, frame, needed);
                }
                kind => self.problem(error.layer, error.offset, kind),
            }
            Stop
        })
    }

    fn version(&self, at: usize) -> Option<u8> {
        self.frame.get(at).map(|byte| byte >> 4)
    }

    /// True when the frame was long enough for the header that is announced: otherwise that is the first that is wrong.
    fn has(&self, at: usize, len: usize) -> bool {
        self.original_len >= at + len
    }

    fn v4(&mut self, eth: &Ethernet, at: usize) -> Result<(), Stop> {
        let layer = Layer::Ipv4;
        let frame = Place { at, end: self.original_len, limit: LengthSource::Frame };
        let bytes = self.take(layer, frame, Ipv4::MIN_LEN)?;
        let (version, ihl) = (bytes[0] >> 4, bytes[0] & 0xf);
        if version != 4 {
            self.problem(layer, at, ErrorKind::Version(version));
        }
        if ihl < 5 {
            self.problem(layer, at, ErrorKind::HeaderLength(ihl));
        }
        let mut ip = Ipv4 {
            version,
            ihl,
            tos: bytes[1],
            total_len: wire::u16(bytes, 2),
            id: wire::u16(bytes, 4),
            flags_offset: wire::u16(bytes, 6),
            ttl: bytes[8],
            protocol: bytes[9],
            checksum: wire::u16(bytes, 10),
            src: Ipv4Addr::from(wire::u32(bytes, 12)),
            dst: Ipv4Addr::from(wire::u32(bytes, 16)),
            options: &[],
        };
        self.net = Some(Net::V4(ip));
        self.fragment = ip.fragment();
        let len = Ipv4::MIN_LEN.max(usize::from(ihl) * 4);
        ip.options = &self.take(layer, frame, len)?[Ipv4::MIN_LEN..];
        self.net = Some(Net::V4(ip));
        let (claimed, available) = (usize::from(ip.total_len), self.original_len - at);
        let field = LengthSource::Ipv4TotalLength;
        let mut place = Place { at: at + len, end: at + claimed, limit: field };
        if claimed > available || claimed < len {
            place = Place { end: self.original_len, limit: LengthSource::Frame, ..place };
            self.problem(
                layer,
                at,
                if claimed > available {
                    ErrorKind::TooLong { field, claimed, available }
                } else {
                    ErrorKind::Disagree { field, claimed, expected: len }
                },
            );
        }
        if ip.protocol != PROTOCOL_UDP || ip.flags_offset & 0x1fff != 0 {
            let rest = self.captured(place).len();
            return self.stop(other::in_v4(eth, ip, rest, self.frame));
        }
        self.udp(place)
    }

    fn v6(&mut self, eth: &Ethernet, at: usize) -> Result<(), Stop> {
        let (ip, mut place) = self.fixed_v6(Layer::Ipv6, at, LengthSource::Ipv6PayloadLength)?;
        self.net = Some(Net::V6(ip));
        if ip.next_header == PROTOCOL_UDP {
            return self.udp(place);
        }
        let rest = self.captured(place).len();
        let frame = other::in_v6(eth, ip, rest, self.frame);
        let is_datagram = matches!(frame, Frame::Datagram(_));
        self.other = Some(frame);
        if let Some(chain) = Chain::walk(self.frame, ip.next_header, place.at, place.at + rest) {
            (self.extensions, self.fragment) = (chain.extensions, chain.fragment);
            if is_datagram && chain.fragment.is_none_or(|fragment| fragment.offset == 0) {
                place.at = chain.at;
                return self.udp(place);
            }
        }
        let is_extended = matches!(ip.next_header, 0 | 43 | 44 | 60);
        if is_extended && !is_datagram && self.frame.len() < place.end {
            self.cut = Some(Cut { layer: Layer::Ipv6, offset: place.at });
        }
        Err(Stop)
    }

    /// The 40 bytes of an IPv6 header or of a GRH.
    fn fixed_v6(&mut self, layer: Layer, at: usize, field: LengthSource) -> Result<(Ipv6, Place), Stop> {
        let frame = Place { at, end: self.original_len, limit: LengthSource::Frame };
        let ip = Ipv6::read(self.take(layer, frame, Ipv6::LEN)?);
        if ip.version != 6 {
            self.problem(layer, at, ErrorKind::Version(ip.version));
        }
        let at_payload = at + Ipv6::LEN;
        let (claimed, available) = (usize::from(ip.payload_len), self.original_len - at_payload);
        if claimed > available {
            self.problem(layer, at, ErrorKind::TooLong { field, claimed, available });
            return Ok((ip, Place { at: at_payload, ..frame }));
        }
        Ok((ip, Place { at: at_payload, end: at_payload + claimed, limit: field }))
    }

    fn udp(&mut self, mut place: Place) -> Result<(), Stop> {
        let udp = Udp::read(self.take(Layer::Udp, place, Udp::LEN)?);
        self.udp = Some(udp);
        if udp.dport != ROCE_V2_PORT {
            return self.stop(Frame::Other(self.frame));
        }
        let (claimed, rest) = (usize::from(udp.len), place.end - place.at);
        let field = LengthSource::UdpLength;
        if claimed > rest {
            self.problem(Layer::Udp, place.at, ErrorKind::TooLong { field, claimed, available: rest });
        } else if claimed < rest && place.limit == LengthSource::Frame && claimed >= Udp::LEN {
            // The length of the IP header is known to lie.
            place = Place { end: place.at + claimed, limit: field, ..place };
        } else if claimed < rest {
            self.problem(Layer::Udp, place.at, ErrorKind::Disagree { field, claimed, expected: rest });
        }
        let is_piece = self.fragment.is_some_and(|fragment| fragment.more) && claimed > rest;
        place.at += Udp::LEN;
        self.transport_of(place, is_piece)
    }

    fn transport(&mut self, place: Place) -> Result<(), Stop> {
        self.transport_of(place, false)
    }

    /// From the BTH on. The end of the packet is not in a first piece.
    fn transport_of(&mut self, mut place: Place, is_piece: bool) -> Result<(), Stop> {
        self.trailer = self.frame.get(place.end..).unwrap_or_default();
        let bth = Bth::read(self.take(Layer::Bth, place, Bth::LEN)?);
        self.bth = Some(bth);
        place.at += Bth::LEN;
        for header in bth.opcode.headers() {
            let bytes = self.take(header.layer(), place, header.len())?;
            self.ext.read(*header, bytes);
            self.headers += 1;
            place.at += header.len();
        }
        if is_piece {
            self.payload = self.captured(place);
            return Err(Stop);
        }
        let rest = place.end - place.at;
        let Some(body) = rest.checked_sub(4) else {
            return self.take(Layer::Icrc, place, 4).map(|_| ());
        };
        let mut pad = usize::from(bth.pad_count);
        if pad > body {
            let kind = ErrorKind::Pad { count: bth.pad_count, available: body };
            self.problem(Layer::Payload, place.at, kind);
            pad = 0;
        }
        let piece = |start: usize, end: usize| Place { at: place.at + start, end: place.at + end, ..place };
        self.payload_len = Some(body - pad);
        self.payload = self.captured(piece(0, body - pad));
        self.pad = self.captured(piece(body - pad, body));
        if self.payload.len() + self.pad.len() < body {
            self.cut = Some(Cut { layer: Layer::Payload, offset: place.at });
            return Err(Stop);
        }
        let icrc = self.take(Layer::Icrc, piece(body, rest), 4)?;
        self.icrc = Some(wire::u32(icrc, 0).swap_bytes());
        Ok(())
    }

    /// The bytes of a layer. Where they are not there, they are beyond the end of the packet, or of the capture.
    fn take(&mut self, layer: Layer, place: Place, needed: usize) -> Result<&'a [u8], Stop> {
        let Place { at: offset, end, limit } = place;
        let available = end.saturating_sub(offset);
        if needed > available {
            self.problem(layer, offset, ErrorKind::TooShort { needed, available, limit });
        } else if let Some(bytes) = self.frame.get(offset..offset + needed) {
            return Ok(bytes);
        } else {
            self.cut = Some(Cut { layer, offset });
        }
        self.unread = self.captured(place);
        Err(Stop)
    }

    /// What was captured of a place.
    fn captured(&self, place: Place) -> &'a [u8] {
        let end = place.end.min(self.frame.len());
        self.frame.get(place.at..end).unwrap_or_default()
    }

    fn problem(&mut self, layer: Layer, offset: usize, kind: ErrorKind) {
        // There are never so many.
        let _ = self.problems.try_push(DecodeError { layer, offset, kind });
    }

    fn stop(&mut self, frame: Frame<'a>) -> Result<(), Stop> {
        self.other = Some(frame);
        Err(Stop)
    }
}
