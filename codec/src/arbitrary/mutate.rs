//! A mutator that knows what a packet is made of.

use alloc::vec::Vec;

use arbitrary::{Arbitrary, Result, Unstructured};

use super::shape::{Network, bare, finish_but, is_derived};
use super::{NearlyWellFormed, WellFormed, choose, encoded};
use crate::decode::decode;
use crate::eth::{ETHERTYPE_IPV4, ETHERTYPE_IPV6, ETHERTYPE_ROCE_V1, Ethernet};
use crate::field::{FIELDS, Field, Ordinary, Value};
use crate::frame::{Frame, Roce};
use crate::net::{Ipv4, Ipv6};
use crate::opcode::Opcode;

/// Longest payload that a packet grows to, in bytes.
const LONGEST: usize = 4096;

/// Changes one thing of the frame that the first `size` bytes of `data` are, and gives its new size, at most `max_size`.
///
/// Afterwards lengths, checksums, pad and ICRC are right again, or, once in four times, one of them is wrong. What is no
/// RoCE packet, even with its lengths made right, is changed as bytes or replaced by a packet. The same arguments give
/// the same frame. This is what `LLVMFuzzerCustomMutator` has to be; `fuzz/README.md` shows how to plug it in.
///
/// `max_size` beyond `data` is taken as the length of `data`.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let max_size = max_size.min(data.len());
    let size = size.min(max_size);
    let pool = pool(seed);
    let mut u = Unstructured::new(&pool);
    let changed = change(&data[..size], &mut u).unwrap_or_else(|_| data[..size].to_vec());
    let len = changed.len().min(max_size);
    data[..len].copy_from_slice(&changed[..len]);
    len
}

/// Choices enough for one change, the same for the same seed.
fn pool(seed: u32) -> Vec<u8> {
    let mut state = u64::from(seed).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut words = core::iter::repeat_with(|| {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31).to_le_bytes()
    });
    words.by_ref().take(192).flatten().collect()
}

fn change(frame: &[u8], u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let settled = settled(frame);
    let Ok(Frame::Roce(packet)) = decode(&settled) else {
        return stray(frame, u);
    };
    if u.ratio(1, 16)? {
        return stray(frame, u);
    }
    let payload;
    let mut packet = packet;
    let mut kept = "";
    match u.int_in_range(0..=9)? {
        0 => packet.bth.opcode = if u.ratio(7, 8)? { *u.choose(Opcode::DEFINED)? } else { Opcode(u.arbitrary()?) },
        1 | 2 => {
            payload = other_payload(packet.payload, u)?;
            packet.payload = &payload;
        }
        3 => packet = moved(packet, *u.choose(&Network::ALL)?),
        4 => match u.int_in_range(0..=2)? {
            0 => packet.eth.tags.clear(),
            count => {
                let field = Field::named(["vlan.id", "vlan2.id"][count - 1]);
                let id = Value::Uint(u.int_in_range(0..=4095)?);
                field.and_then(|field| (field.set)(&mut packet, id));
            }
        },
        _ => {
            let present = FIELDS.iter().filter(|field| !is_derived(field) && (field.get)(&packet).is_some());
            let present: Vec<&Field> = present.collect();
            let field = *u.choose(&present)?;
            if let Some(value) = choose::value(u, field.kind, &packet)? {
                (field.set)(&mut packet, value);
                kept = field.name;
            }
        }
    }
    // A length of a message that is not that of the packet was meant.
    let keeps_len = u.ratio(3, 4)?;
    let keep = |field: &Field| field.name == kept || keeps_len && field.name == "len";
    finish_but(&mut packet, keep);
    if u.ratio(1, 4)? {
        spoil(&mut packet, u, keep)?;
    }
    Ok(encoded(&packet))
}

/// Makes one derived field wrong, and right again what depends on it.
fn spoil(packet: &mut Roce<'_>, u: &mut Unstructured<'_>, keep: impl Fn(&Field) -> bool) -> Result<()> {
    let derived = FIELDS
        .iter()
        .filter(|field| is_derived(field) && (field.get)(packet).is_some_and(|value| value.uint().is_some()));
    let derived: Vec<&Field> = derived.collect();
    let field = *u.choose(&derived)?;
    let Ordinary::Derived(right) = field.ordinary else { return Ok(()) };
    let right = right(packet).uint().unwrap_or(0);
    let wrong = match u.int_in_range(0..=5)? {
        0 => right.wrapping_add(1),
        1 => right.wrapping_sub(1),
        2 => right.wrapping_add(u.int_in_range(0..=64)?),
        3 => right.swap_bytes() >> 32,
        _ => return random(packet, field, u, keep),
    };
    if (field.set)(packet, Value::Uint(wrong)).is_some() {
        finish_but(packet, |other| other == field || keep(other));
    }
    Ok(())
}

fn random(packet: &mut Roce<'_>, field: &Field, u: &mut Unstructured<'_>, keep: impl Fn(&Field) -> bool) -> Result<()> {
    if let Some(value) = choose::value(u, field.kind, packet)? {
        (field.set)(packet, value);
        finish_but(packet, |other| other == field || keep(other));
    }
    Ok(())
}

/// Another payload made of this one.
fn other_payload(payload: &[u8], u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut bytes = payload.to_vec();
    match u.int_in_range(0..=4)? {
        0 => bytes.truncate(u.int_in_range(0..=payload.len())?),
        1 => {
            let more = *u.choose(&[1, 2, 3, 4, 8, 16, 64, 256])?;
            bytes.extend(choose::bytes(u, more)?);
        }
        2 => {
            let len = *u.choose(&[0, 1, 8, 16, 255, 256, 257, 512, 1024, 4096])?;
            bytes = choose::bytes(u, len)?;
        }
        _ if bytes.is_empty() => bytes.push(u.arbitrary()?),
        _ => {
            let at = u.choose_index(bytes.len())?;
            bytes[at] = u.arbitrary()?;
        }
    }
    bytes.truncate(LONGEST);
    Ok(bytes)
}

/// The packet over another network.
fn moved<'p>(packet: Roce<'p>, network: Network) -> Roce<'p> {
    let template = bare(packet.bth.opcode, network);
    Roce {
        net: template.net,
        udp: template.udp,
        eth: Ethernet { ethertype: template.eth.ethertype, ..packet.eth },
        ..packet
    }
}

/// What is no packet: some bytes changed, or a packet in its place.
fn stray(frame: &[u8], u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    match u.int_in_range(0..=3)? {
        0 => Ok(WellFormed::arbitrary(u)?.bytes),
        1 => Ok(NearlyWellFormed::arbitrary(u)?.bytes),
        2 => {
            let mut bytes = frame.to_vec();
            bytes.truncate(u.int_in_range(0..=frame.len())?);
            Ok(bytes)
        }
        _ => {
            let mut bytes = frame.to_vec();
            for _ in 0..u.int_in_range(1..=4)? {
                let at = u.choose_index(bytes.len())?;
                bytes[at] = u.arbitrary()?;
            }
            Ok(bytes)
        }
    }
}

/// The frame with the lengths and versions that let it be decoded, as far as that can be had.
fn settled(frame: &[u8]) -> Vec<u8> {
    let mut bytes = frame.to_vec();
    if matches!(decode(frame), Ok(Frame::Roce(_))) {
        return bytes;
    }
    let Ok(eth) = Ethernet::read(frame) else { return bytes };
    let net = eth.len();
    let Some(rest) = frame.len().checked_sub(net) else { return bytes };
    let put = |bytes: &mut [u8], at: usize, number: usize| {
        if let Some(place) = bytes.get_mut(at..at + 2) {
            place.copy_from_slice(&(number as u16).to_be_bytes());
        }
    };
    let udp = match eth.ethertype {
        ETHERTYPE_IPV4 if rest > Ipv4::MIN_LEN => {
            let ihl = usize::from(bytes[net] & 0xf).clamp(5, (rest / 4).max(5));
            bytes[net] = 0x40 | ihl as u8;
            put(&mut bytes, net + 2, rest);
            Some(net + 4 * ihl)
        }
        ETHERTYPE_IPV6 | ETHERTYPE_ROCE_V1 if rest > Ipv6::LEN => {
            bytes[net] = 0x60 | bytes[net] & 0xf;
            put(&mut bytes, net + 4, rest - Ipv6::LEN);
            (eth.ethertype == ETHERTYPE_IPV6).then_some(net + Ipv6::LEN)
        }
        _ => None,
    };
    if let Some(udp) = udp
        && let Some(len) = frame.len().checked_sub(udp)
    {
        put(&mut bytes, udp + 4, len);
    }
    bytes
}
