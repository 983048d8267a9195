//! A packet of a capture, kept as what a script can say of it.

use rocespec_codec::icrc::{self, Verdict};
use rocespec_codec::{
    Bth, Ethernet, Extensions, Frame, Info, Ipv4, Msn, NakCode, Net, Opcode, Psn, Qpn, Roce, SyndromeClass, Transport,
    decode, encode, encoded_len, field,
};

/// Longest payload that is kept as it is, in bytes, unless it is a pattern.
pub(super) const LONGEST: usize = 64;

/// A packet of one of the two ends.
#[derive(Debug, Clone)]
pub struct Heard {
    /// Number of its frame in the capture.
    pub(super) number: u64,
    /// When it was captured, in nanoseconds.
    pub(super) time_ns: u64,
    /// Which end sent it, 0 or 1.
    pub(super) from: usize,
    frame: Vec<u8>,
}

impl Heard {
    /// A packet that end 0 or 1 sent, with the number of its frame and its time in nanoseconds. `payload_len` is how long its
    /// payload was on the wire: what was not captured of it is filled up. `None` where it is too broken to be written as a
    /// line.
    pub fn new((number, time_ns): (u64, u64), from: usize, packet: &Roce<'_>, payload_len: usize) -> Option<Heard> {
        let is_cut = packet.payload.len() < payload_len;
        let verdict = if is_cut { Verdict::Right } else { icrc::explain(packet).verdict };
        let payload = said(packet.payload, payload_len);
        let mut kept = Roce { payload: &payload, ..packet.clone() };
        if is_cut {
            kept.bth.pad_count = (payload_len.wrapping_neg() & 3) as u8;
            kept.pad = &[0; 3][..usize::from(kept.bth.pad_count)];
        }
        if let Some(udp) = &mut kept.udp {
            udp.dport = rocespec_codec::ROCE_V2_PORT;
            // What an offload leaves behind is nobody's fault.
            udp.checksum = 0;
        }
        // Padding and what a switch puts behind a frame are not the sender's.
        field::complete(&mut kept, |field| !is_cut && field.name != "trailer");
        let right = icrc::compute(&kept);
        kept.icrc = match verdict {
            Verdict::Right | Verdict::Placeholder => right,
            Verdict::Swapped => right.swap_bytes(),
            _ => !right,
        };
        let mut frame = vec![0; encoded_len(&kept)];
        encode(&kept, &mut frame).ok()?;
        matches!(decode(&frame), Ok(Frame::Roce(_))).then_some(Heard { number, time_ns, from, frame })
    }

    /// The packet.
    pub(super) fn packet(&self) -> Roce<'_> {
        match decode(&self.frame) {
            Ok(Frame::Roce(packet)) => packet,
            other => unreachable!("only packets are kept: {other:?}"),
        }
    }

    pub(super) fn psn(&self) -> Psn {
        self.packet().bth.psn
    }

    pub(super) fn info(&self) -> Option<&'static Info> {
        self.packet().bth.opcode.info()
    }

    pub(super) fn is_request(&self) -> bool {
        self.info().is_none_or(Info::is_request)
    }

    pub(super) fn is_response(&self) -> bool {
        self.info().is_some_and(Info::is_response)
    }

    pub(super) fn is_cnp(&self) -> bool {
        self.packet().bth.opcode.transport() == Transport::Cnp
    }

    /// The same with its MSN so much lower.
    pub(super) fn with_msn_lowered(&self, by: u32) -> Heard {
        let mut packet = self.packet();
        packet.ext.aeth.msn = Msn::new(packet.ext.aeth.msn.get().wrapping_sub(by));
        packet.icrc = icrc::made_alike(&self.packet(), &packet);
        let mut frame = vec![0; encoded_len(&packet)];
        encode(&packet, &mut frame).expect("as long as the packet");
        Heard { frame, ..self.clone() }
    }

    /// What is ordinary on its way: addresses, tags, ports and the P_Key are its own, for those of a script are others. A
    /// mark of congestion is none of them.
    pub(super) fn ordinary(&self, to: Qpn, start: Psn) -> Roce<'static> {
        let packet = self.packet();
        let unmarked = |octet: u8| if octet & 3 == 3 { octet & !3 } else { octet };
        let net = match packet.net {
            Net::V4(ip) => Net::V4(Ipv4 { tos: unmarked(ip.tos), options: &[], ..ip }),
            Net::V6(mut ip) => {
                ip.traffic_class = unmarked(ip.traffic_class);
                Net::V6(ip)
            }
            Net::Grh(mut ip) => {
                ip.traffic_class = unmarked(ip.traffic_class);
                Net::Grh(ip)
            }
        };
        let Ethernet { dst, src, tags, .. } = packet.eth;
        Roce {
            eth: Ethernet { dst, src, tags, ethertype: 0 },
            net,
            udp: packet.udp,
            bth: Bth { dest_qp: to, psn: start, pkey: packet.bth.pkey, ..Bth::new(packet.bth.opcode) },
            ext: Extensions { deth: packet.ext.deth, ..Extensions::default() },
            payload: &[],
            pad: &[],
            icrc: 0,
            trailer: &[],
        }
    }
}

/// An ACK, a NAK or an RNR NAK.
pub(super) fn is_word(heard: &Heard) -> bool {
    heard.packet().bth.opcode.operation() == Opcode::RC_ACKNOWLEDGE.operation()
}

/// A NAK that asks for what is missing.
pub(super) fn is_gap_nak(heard: &Heard) -> bool {
    is_word(heard) && heard.packet().ext.aeth.syndrome.class() == SyndromeClass::Nak(NakCode::PsnSequenceError)
}

/// A NAK that refuses something for good.
pub(super) fn is_refusal(heard: &Heard) -> bool {
    let class = heard.packet().ext.aeth.syndrome.class();
    is_word(heard) && matches!(class, SyndromeClass::Nak(code) if code != NakCode::PsnSequenceError)
}

/// The payload as a script says it: short ones and patterns as they are, others as one byte repeated, the same one each
/// time that they are sent.
pub(super) fn said(payload: &[u8], len: usize) -> Vec<u8> {
    let counts = || payload.iter().enumerate().all(|(at, byte)| *byte == at as u8);
    let repeats = || payload.iter().all(|byte| Some(byte) == payload.first());
    if payload.len() == len && (len <= LONGEST || counts() || repeats()) {
        return payload.to_vec();
    }
    let fill = (crc32fast::hash(payload) % 255 + 1) as u8;
    vec![fill; len]
}

/// Bytes as a line says them.
pub(super) fn bytes(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let len = bytes.len();
    match bytes.first() {
        None => "0B".to_owned(),
        _ if bytes.iter().enumerate().all(|(at, byte)| *byte == at as u8) => format!("{len}B"),
        Some(first) if bytes.iter().all(|byte| byte == first) => format!("{len}B={first:02x}"),
        _ => bytes.iter().fold("data=".to_owned(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        }),
    }
}
