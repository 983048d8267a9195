//! A capture as a side: its RoCE packets, each written so that its numbers mean the same on every host.

use std::io::Read;

use rocespec_codec::notation::{Region, Scope, print};
use rocespec_codec::{Frame, Header, Ipv4, Ipv6, Lax, Net, RKey, Roce, Transport, decode, decode_lax, icrc, mad};

use super::flows::{Flow, Flows};
use super::mads;
use super::memory::Memory;
use super::side::{Form, MOST_PACKETS, Packet, REGION, Side, SideError};
use crate::capture::inside::{Carried, Inside, Opener};
use crate::capture::ordinary::headers_alone;
use crate::capture::{CapturedFrame, Reader};
use crate::golden;

impl Side {
    /// Reads a capture file, unpacked. UDP `ports` are RoCE v2 besides 4791. A damaged file gives what stands before the
    /// damage.
    ///
    /// # Errors
    /// When it holds more than [`MOST_PACKETS`] RoCE packets.
    pub fn capture(input: impl Read, ports: &[u16]) -> Result<Side, SideError> {
        let mut side =
            Side { form: Form::Capture, frames: 0, packets: 0, unreadable: 0, damage: None, connections: Vec::new() };
        let (mut opener, mut flows, mut start_ns) = (Opener::with_ports(ports), Flows::default(), None);
        for captured in Reader::new(input) {
            let captured = match captured {
                Ok(captured) => captured,
                Err(error) => {
                    side.damage = Some(error);
                    break;
                }
            };
            side.frames += 1;
            let start_ns = *start_ns.get_or_insert(captured.time_ns);
            let time_ns = captured.time_ns.saturating_sub(start_ns);
            let Inside::Ethernet(carried) = opener.open(&captured).inside else { continue };
            match look(&carried) {
                Seen::Other => {}
                Seen::Unreadable => side.unreadable += 1,
                Seen::Packet(seen, len) => {
                    side.packets += 1;
                    if side.packets > MOST_PACKETS as u64 {
                        return Err(SideError::Long);
                    }
                    flows.add(&seen, |flow| packet(&seen, len, flow, &captured, time_ns));
                }
            }
        }
        side.connections = flows.conversations();
        Ok(side)
    }
}

#[expect(clippy::large_enum_variant, reason = "there is one of them at a time")]
enum Seen<'a> {
    Other,
    /// RoCE without a BTH, or with headers that are not all there.
    Unreadable,
    /// With the bytes of its payload where the capture has not all of them.
    Packet(Roce<'a>, Option<usize>),
}

fn look<'a>(carried: &Carried<'a>) -> Seen<'a> {
    match decode(carried.frame) {
        Ok(Frame::Roce(packet)) => Seen::Packet(carried.at_its_port(packet), None),
        Ok(_) => Seen::Other,
        Err(_) => {
            let lax = decode_lax(carried.frame, carried.original_len);
            if !lax.is_roce() {
                return Seen::Other;
            }
            match (lax.packet(), beginning(&lax)) {
                (Some(packet), _) => Seen::Packet(carried.at_its_port(packet), None),
                (None, Some(packet)) => Seen::Packet(carried.at_its_port(packet), Some(lax.payload_len.unwrap_or(0))),
                (None, None) => Seen::Unreadable,
            }
        }
    }
}

/// A packet that the capture cut, with an ordinary payload and everything that follows from that.
fn beginning<'a>(lax: &Lax<'a>) -> Option<Roce<'a>> {
    let packet = lax.beginning()?;
    if !lax.has_headers() || lax.other.is_some() || packet.udp.is_some() == matches!(packet.net, Net::Grh(_)) {
        return None;
    }
    Some(headers_alone(&packet))
}

fn packet(seen: &Roce<'_>, len: Option<usize>, flow: &Flow, captured: &CapturedFrame, time_ns: u64) -> Packet {
    let memory = memory(seen);
    let region = memory.map(|memory| Region {
        name: REGION,
        va: memory.va.unwrap_or_default(),
        len: 1,
        rkey: RKey::new(memory.rkey),
    });
    let scope = Scope { base: ordinary(seen, flow), regions: region.as_slice() };
    let mad = mad::of(seen).filter(|_| len.is_none());
    let printed = print(seen, &scope).with_right_icrc(icrc::compute(seen)).elided().to_string();
    let line = match (len, &mad) {
        (Some(len), _) => with_payload(&printed, len),
        (None, Some(_)) => with_payload(&printed, seen.payload.len()),
        (None, None) => printed,
    };
    Packet {
        at: captured.number,
        time_ns,
        delay_ns: 0,
        line: line.into(),
        psn: (seen.bth.opcode.transport() != Transport::Cnp).then_some(seen.bth.psn.get() as i32),
        memory,
        mad: mad.as_ref().map(mads::values),
    }
}

/// The memory that a packet names.
fn memory(packet: &Roce<'_>) -> Option<Memory> {
    let (opcode, ext) = (packet.bth.opcode, &packet.ext);
    let (va, rkey) = match () {
        () if opcode.headers().contains(&Header::Reth) => (Some(ext.reth.va), ext.reth.rkey),
        () if opcode.headers().contains(&Header::AtomicEth) => (Some(ext.atomic.va), ext.atomic.rkey),
        () if opcode.headers().contains(&Header::Ieth) => (None, ext.ieth.0),
        () => return None,
    };
    Some(Memory { va, rkey: rkey.get() })
}

/// What is ordinary for this packet: all that is new on each pair of hosts, or free for each packet. The hop limit that
/// arrives is ordinary while it stays; traffic class, priority and do-not-fragment are not: they are settings that matter.
fn ordinary(seen: &Roce<'_>, flow: &Flow) -> Roce<'static> {
    let net = match seen.net {
        Net::V4(ip) => Net::V4(Ipv4 { tos: 0, flags_offset: Ipv4::DF, ttl: flow.hop_limit, options: &[], ..ip }),
        Net::V6(ip) => Net::V6(Ipv6 { traffic_class: 0, hop_limit: flow.hop_limit, ..ip }),
        Net::Grh(ip) => Net::Grh(Ipv6 { traffic_class: 0, hop_limit: flow.hop_limit, ..ip }),
    };
    let mut base = Roce {
        eth: seen.eth.clone(),
        net,
        udp: seen.udp,
        bth: seen.bth,
        ext: seen.ext,
        payload: &[],
        pad: &[],
        icrc: 0,
        trailer: &[],
    };
    for tag in &mut base.eth.tags {
        // The priority and the drop-eligible bit stand above the 12 bits of the id.
        tag.tci &= 0xfff;
    }
    base.bth.pkey = flow.pkey;
    if let (Some(udp), Some(port)) = (&mut base.udp, flow.source_port)
        && seen.bth.opcode.transport() != Transport::Cnp
    {
        udp.sport = port;
    }
    golden::free(&mut base, seen);
    base
}

/// The line of a packet whose payload is so long and says nothing.
fn with_payload(line: &str, len: usize) -> String {
    let is_payload = |word: &&str| word.starts_with(|first: char| first.is_ascii_digit()) || word.starts_with("data=");
    let mut words: Vec<&str> = line.split(' ').filter(|word| !is_payload(word)).collect();
    let payload = format!("{len}B=*");
    if len > 0 {
        // Its place is behind the fields that every packet has; where it stands says nothing.
        words.push(&payload);
    }
    words.join(" ")
}
