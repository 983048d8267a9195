//! Messages of the connection manager: GIDs, LIDs and GUIDs in their places, and the IP addresses of RDMA-CM.

use std::net::{Ipv4Addr, Ipv6Addr};

use rocespec_codec::mad::{DATA_LEN, IpCm, Mad, Message};

use super::LeftOut;
use super::names::Names;

/// The payload of a datagram to queue pair 1, under other names. Identifiers, ports, queue pairs and timeouts stay; what
/// programs put into private data, and additional information, is zeroed.
pub(super) fn management(payload: &[u8], names: &mut Names) -> Result<Vec<u8>, LeftOut> {
    let mad = Mad::read(payload).ok_or(LeftOut::Management)?;
    let mut message = mad.message().ok_or(LeftOut::Management)?;
    rename(&mut message, names)?;
    let mut data: [u8; DATA_LEN] = mad.data.try_into().map_err(|_| LeftOut::Management)?;
    message.write(&mut data);
    let mut bytes = payload.to_vec();
    bytes[Mad::HEADER_LEN..].copy_from_slice(&data);
    Ok(bytes)
}

fn rename(message: &mut Message, names: &mut Names) -> Result<(), LeftOut> {
    match message {
        Message::Req(req) => {
            req.local_ca_guid = names.guid(req.local_ca_guid);
            for gid in [
                &mut req.primary_local_gid,
                &mut req.primary_remote_gid,
                &mut req.alternate_local_gid,
                &mut req.alternate_remote_gid,
            ] {
                *gid = names.v6(*gid);
            }
            for lid in [
                &mut req.primary_local_lid,
                &mut req.primary_remote_lid,
                &mut req.alternate_local_lid,
                &mut req.alternate_remote_lid,
            ] {
                *lid = names.lid(*lid);
            }
            let ip = req.ip_cm().map(|ip| addresses(ip, names));
            req.private_data.fill(0);
            ip.iter().for_each(|ip| req.set_ip_cm(ip));
        }
        Message::Rep(rep) => {
            rep.local_ca_guid = names.guid(rep.local_ca_guid);
            rep.private_data.fill(0);
        }
        Message::Lap(lap) => {
            lap.alternate_local_gid = names.v6(lap.alternate_local_gid);
            lap.alternate_remote_gid = names.v6(lap.alternate_remote_gid);
            lap.alternate_local_lid = names.lid(lap.alternate_local_lid);
            lap.alternate_remote_lid = names.lid(lap.alternate_remote_lid);
            lap.private_data.fill(0);
        }
        Message::SidrReq(req) => {
            let ip = req.ip_cm().map(|ip| addresses(ip, names));
            req.private_data.fill(0);
            ip.iter().for_each(|ip| req.set_ip_cm(ip));
        }
        Message::Rej(rej) => {
            rej.info.fill(0);
            rej.private_data.fill(0);
        }
        Message::SidrRep(rep) => {
            rep.info.fill(0);
            rep.private_data.fill(0);
        }
        Message::Apr(apr) => {
            apr.info.fill(0);
            apr.private_data.fill(0);
        }
        Message::Mra(mra) => mra.private_data.fill(0),
        Message::Rtu(rtu) => rtu.private_data.fill(0),
        Message::Dreq(dreq) => dreq.private_data.fill(0),
        Message::Drep(drep) => drep.private_data.fill(0),
        // What this does not know may say anything.
        _ => return Err(LeftOut::Management),
    }
    Ok(())
}

/// The header of RDMA-CM; an IPv4 address stands in its last four bytes.
fn addresses(ip: IpCm, names: &mut Names) -> IpCm {
    let mut rename = |address: Ipv6Addr| match ip.ip_version {
        4 => Ipv6Addr::from_bits(names.v4(Ipv4Addr::from_bits(address.to_bits() as u32)).to_bits().into()),
        6 => names.v6(address),
        _ => Ipv6Addr::UNSPECIFIED,
    };
    IpCm { src: rename(ip.src), dst: rename(ip.dst), ..ip }
}
