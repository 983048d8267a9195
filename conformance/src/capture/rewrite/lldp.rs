//! LLDP: who sent it goes, what it says about priorities stays.

use rocespec_codec::lldp::{Lldp, TlvValue};
use rocespec_codec::{Ethernet, Frame, MIN_FRAME, MacAddr};

use super::names::Names;
use super::{LeftOut, encoded};

/// How chassis and port are named: by a MAC address, or in a way of one's own.
const CHASSIS_MAC: u8 = 4;
const PORT_MAC: u8 = 3;
const LOCAL: u8 = 7;

/// The frame with the TLVs of DCBX, and with those that every frame must have, under other names. Descriptions, system
/// names, management addresses and the TLVs of vendors go.
pub(super) fn lldp(lldp: &Lldp<'_>, names: &mut Names) -> Result<Vec<u8>, LeftOut> {
    let mut eth = lldp.eth.clone();
    names.ethernet(&mut eth);
    let mut pdu = Vec::new();
    let mut put = |kind: u8, value: &[&[u8]]| {
        let len: usize = value.iter().map(|piece| piece.len()).sum();
        // Seven bits of type, nine of length; a name is far shorter than they can say.
        pdu.extend((u16::from(kind) << 9 | len as u16).to_be_bytes());
        value.iter().for_each(|piece| pdu.extend(*piece));
    };
    for tlv in lldp.tlvs() {
        let tlv = tlv.map_err(|_| LeftOut::Link)?;
        match tlv.read() {
            TlvValue::End | TlvValue::TimeToLive(_) | TlvValue::Capabilities { .. } => put(tlv.kind, &[tlv.value]),
            TlvValue::ChassisId { subtype, id } => named(subtype, id, CHASSIS_MAC, names, |value| put(tlv.kind, value)),
            TlvValue::PortId { subtype, id } => named(subtype, id, PORT_MAC, names, |value| put(tlv.kind, value)),
            TlvValue::Organization { .. } if tlv.dcbx().is_some() => put(tlv.kind, &[tlv.value]),
            _ => {}
        }
    }
    let mut bytes = head(eth);
    bytes.extend(pdu);
    bytes.resize(bytes.len().max(MIN_FRAME.min(lldp.len())), 0);
    Ok(bytes)
}

/// A name: another MAC address for one, a number for anything else.
fn named(subtype: u8, id: &[u8], mac: u8, names: &mut Names, put: impl FnOnce(&[&[u8]])) {
    match <[u8; 6]>::try_from(id) {
        Ok(octets) if subtype == mac => put(&[&[subtype], &names.mac(MacAddr(octets)).0]),
        _ => put(&[&[LOCAL], names.text(id).as_bytes()]),
    }
}

/// The Ethernet header.
fn head(eth: Ethernet) -> Vec<u8> {
    encoded(&Frame::Lldp(Lldp { eth, pdu: &[] }))
}
