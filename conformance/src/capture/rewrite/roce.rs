//! RoCE packets, whole or cut.

use rocespec_codec::{Lax, Layer, Net, Roce, Trailer, encode, encoded_len, icrc, mad};

use super::management::management;
use super::names::Names;
use super::{LeftOut, Rewriter, checksum, with_fcs};
use crate::capture::inside::Carried;

impl Rewriter {
    /// A frame that is RoCE, as it was carried and as far as it can be read.
    pub(super) fn roce(&mut self, lax: &Lax<'_>, carried: &Carried<'_>) -> Result<Vec<u8>, LeftOut> {
        let is_hidden = matches!(lax.net, Some(Net::V4(ip)) if !ip.options.is_empty());
        if is_hidden || lax.fragment.is_some() || !lax.extensions.is_empty() {
            return Err(LeftOut::Hidden);
        }
        let Some(before) = lax.packet() else { return self.part(lax, carried.port) };
        let before = carried.at_its_port(before);
        let payload = self.payload(&before)?;
        let trailer = vec![0; before.trailer.len()];
        let mut after = Roce { payload: &payload, trailer: &trailer, ..before.clone() };
        if let Some(names) = &mut self.names {
            names.ethernet(&mut after.eth);
            names.net(&mut after.net);
        }
        if let (Net::V4(before), Net::V4(after)) = (&before.net, &mut after.net) {
            after.checksum = checksum::ipv4(before, after);
        }
        after.icrc = icrc::made_alike(&before, &after);
        let udp_checksum = checksum::udp(&before, &after);
        if let Some(udp) = &mut after.udp {
            udp.checksum = udp_checksum;
        }
        let mut frame = vec![0; encoded_len(&after)];
        encode(&after, &mut frame).expect("as long as the packet");
        Ok(if lax.trailer_kind() == Trailer::Fcs { with_fcs(frame) } else { frame })
    }

    /// What stands in the place of the payload.
    fn payload(&mut self, packet: &Roce<'_>) -> Result<Vec<u8>, LeftOut> {
        let is_message = mad::of(packet).is_some_and(|mad| mad.message().is_some());
        match &mut self.names {
            Some(names) if mad::is_management(&packet.bth) => management(packet.payload, names),
            _ if self.no_payload && !is_message => Ok(vec![0; packet.payload.len()]),
            _ => Ok(packet.payload.to_vec()),
        }
    }

    /// A packet that could not be read to its end, in its own bytes; `port` is the one that it went to where that is not the
    /// port of RoCE v2.
    fn part(&mut self, lax: &Lax<'_>, port: Option<u16>) -> Result<Vec<u8>, LeftOut> {
        let (Some(mut eth), Some(before)) = (lax.eth.clone(), lax.net) else { return Err(LeftOut::Headless) };
        if lax.udp.is_none() && !matches!(before, Net::Grh(_)) {
            return Err(LeftOut::Headless);
        }
        if self.names.is_some() && lax.bth.is_some_and(|bth| mad::is_management(&bth)) {
            return Err(LeftOut::Management);
        }
        let mut frame = lax.frame.to_vec();
        let (ip, udp) = (eth.len(), eth.len() + before.len());
        if let (Some(port), Some(bytes)) = (port, frame.get_mut(udp + 2..udp + 4)) {
            bytes.copy_from_slice(&port.to_be_bytes());
        }
        let original = frame.clone();
        let zero = |frame: &mut [u8], part: &[u8]| {
            let at = part.as_ptr() as usize - lax.frame.as_ptr() as usize;
            frame[at..at + part.len()].fill(0);
        };
        // Nobody knows what is behind a packet.
        if !lax.trailer.is_empty() {
            zero(&mut frame, lax.trailer);
        }
        if self.no_payload && !lax.payload.is_empty() {
            zero(&mut frame, lax.payload);
        }
        let addresses = match before {
            Net::V4(_) => ip + 12..ip + 20,
            Net::V6(_) | Net::Grh(_) => ip + 8..ip + 40,
        };
        if let Some(names) = &mut self.names {
            let mut after = before;
            names.ethernet(&mut eth);
            names.net(&mut after);
            frame[..6].copy_from_slice(&eth.dst.0);
            frame[6..12].copy_from_slice(&eth.src.0);
            match (&before, &mut after) {
                (Net::V4(before), Net::V4(after)) => {
                    frame[ip + 12..ip + 16].copy_from_slice(&after.src.octets());
                    frame[ip + 16..ip + 20].copy_from_slice(&after.dst.octets());
                    let checksum = checksum::ipv4(before, after);
                    frame[ip + 10..ip + 12].copy_from_slice(&checksum.to_be_bytes());
                }
                (_, Net::V6(after) | Net::Grh(after)) => {
                    frame[ip + 8..ip + 24].copy_from_slice(&after.src.octets());
                    frame[ip + 24..ip + 40].copy_from_slice(&after.dst.octets());
                }
                (Net::V6(_) | Net::Grh(_), Net::V4(_)) => {}
            }
        }
        if let Some(header) = lax.udp {
            let summed = |bytes: &[u8]| [&bytes[addresses.clone()], &bytes[udp..]].concat();
            let checksum = checksum::updated(header.checksum, &summed(&original), &summed(&frame));
            frame[udp + 6..udp + 8].copy_from_slice(&checksum.to_be_bytes());
        }
        // The first bytes of an ICRC say nothing but what the addresses were.
        if let Some(cut) = lax.cut.filter(|cut| cut.layer == Layer::Icrc) {
            frame.truncate(cut.offset);
        }
        Ok(frame)
    }
}

impl Names {
    /// Both addresses of a network header.
    fn net(&mut self, net: &mut Net<'_>) {
        match net {
            Net::V4(ip) => (ip.src, ip.dst) = (self.v4(ip.src), self.v4(ip.dst)),
            Net::V6(ip) | Net::Grh(ip) => (ip.src, ip.dst) = (self.v6(ip.src), self.v6(ip.dst)),
        }
    }
}
