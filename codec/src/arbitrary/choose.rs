//! Choices of a fuzzer turned into packets and values.

use alloc::vec::Vec;
use core::net::{Ipv4Addr, Ipv6Addr};

use arbitrary::{Result, Unstructured};

use super::shape::{Network, bare, finish, is_about_memory, is_derived};
use crate::code::SyndromeClass;
use crate::eth::MacAddr;
use crate::ext::Header;
use crate::field::{FIELDS, Field, Kind, Value};
use crate::frame::Roce;
use crate::opcode::{Info, Opcode, PayloadRule};

/// A well-formed packet. Its payload goes to `payload`.
pub(super) fn packet<'p>(u: &mut Unstructured<'_>, payload: &'p mut Vec<u8>) -> Result<Roce<'p>> {
    let opcode = *u.choose(Opcode::DEFINED)?;
    let mut packet = bare(opcode, *u.choose(&Network::ALL)?);
    for field in FIELDS.iter().filter(|field| is_free(field, opcode)) {
        if (field.get)(&packet).is_some()
            && u.ratio(1, 2)?
            && let Some(value) = value(u, field.kind, &packet)?
        {
            (field.set)(&mut packet, value);
        }
    }
    if packet.bth.opcode.headers().contains(&Header::Aeth)
        && matches!(packet.ext.aeth.syndrome.class(), SyndromeClass::Reserved(_))
    {
        packet.ext.aeth.syndrome = Default::default();
    }
    for name in ["vlan.id", "vlan2.id"].into_iter().take(*u.choose(&[0, 0, 0, 1, 2])?) {
        let id = u.int_in_range(0..=4094)?;
        Field::named(name).and_then(|field| (field.set)(&mut packet, Value::Uint(id)));
    }
    *payload = legal_payload(u, opcode)?;
    packet.payload = payload;
    if is_about_memory(opcode) {
        packet.ext.reth.len = u.int_in_range(0..=1 << 31)?;
    }
    finish(&mut packet);
    Ok(packet)
}

/// True for fields that can have any value in a well-formed packet.
fn is_free(field: &Field, opcode: Opcode) -> bool {
    const FIXED: [&str; 9] =
        ["tver", "resv6", "resv7", "udp.dport", "udp.checksum", "ip.reserved", "ip.df", "ip.mf", "ip.offset"];
    match field.name {
        "se" => opcode.info().is_some_and(Info::may_solicit),
        // A CNP is sent with PSN 0.
        "psn" => opcode.info().is_none_or(|info| info.payload != PayloadRule::Sixteen),
        name if name.ends_with(".resv") || name.ends_with(".tpid") || FIXED.contains(&name) => false,
        _ => !is_derived(field),
    }
}

/// A payload that the opcode may carry.
fn legal_payload(u: &mut Unstructured<'_>, opcode: Opcode) -> Result<Vec<u8>> {
    let len = match opcode.info().map(|info| info.payload) {
        Some(PayloadRule::Empty) => 0,
        Some(PayloadRule::Full) => *u.choose(&[256, 256, 512, 1024, 2048, 4096])?,
        Some(PayloadRule::OneToMtu) => u.int_in_range(1..=256)?,
        Some(PayloadRule::ZeroToMtu) | None => u.int_in_range(0..=256)?,
        Some(PayloadRule::Eight) => 8,
        Some(PayloadRule::Sixteen) => return Ok(alloc::vec![0; 16]),
    };
    bytes(u, len)
}

/// So many bytes: counting, all the same, or of the fuzzer.
pub(super) fn bytes(u: &mut Unstructured<'_>, len: usize) -> Result<Vec<u8>> {
    Ok(match u.int_in_range(0..=2)? {
        0 => (0..len).map(|at| at as u8).collect(),
        1 => alloc::vec![u.arbitrary()?; len],
        _ => {
            let mut bytes = alloc::vec![0; len];
            u.fill_buffer(&mut bytes)?;
            bytes
        }
    })
}

/// A value for a field of this kind: often one at an edge. `None` for bytes.
pub(super) fn value(u: &mut Unstructured<'_>, kind: Kind, packet: &Roce<'_>) -> Result<Option<Value<'static>>> {
    Ok(Some(match kind {
        Kind::Bytes | Kind::Payload => return Ok(None),
        Kind::Mac => Value::Mac(MacAddr(u.arbitrary()?)),
        Kind::Address => match packet.net {
            crate::net::Net::V4(_) => Value::V4(Ipv4Addr::from(u.arbitrary::<u32>()?)),
            _ => Value::V6(Ipv6Addr::from(u.arbitrary::<u128>()?)),
        },
        _ => Value::Uint(number(u, bits(kind))?),
    }))
}

/// Bits that a number of this kind has.
fn bits(kind: Kind) -> u8 {
    match kind {
        Kind::Flag => 1,
        Kind::Decimal(bits) | Kind::Hex(bits) => bits,
        Kind::Psn | Kind::Qpn => 24,
        Kind::RKey => 32,
        Kind::RnrTimer | Kind::NakCode => 5,
        Kind::Ecn => 2,
        _ => 64,
    }
}

/// A number of so many bits.
fn number(u: &mut Unstructured<'_>, bits: u8) -> Result<u64> {
    let max = u64::MAX >> (64 - bits);
    Ok(max
        & match u.int_in_range(0..=4)? {
            0 => 0,
            1 => max,
            2 => (1u64 << u.int_in_range(0..=bits - 1)?).wrapping_sub(u.int_in_range(0..=1)?),
            3 => u.int_in_range(0..=32)?,
            _ => u.arbitrary()?,
        })
}
