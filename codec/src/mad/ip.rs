//! RDMA-CM over the communication manager (annex A11): ports and IP addresses in service ids and private data.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::bits::{self, Bits, MadField, Shape};
use super::cm::{Req, SidrReq};
use super::fields::message;

/// Names a service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ServiceId(pub u64);

impl ServiceId {
    const IP: u64 = 0x0100_0000;

    /// Of a port: IP protocol 6 is TCP, 17 UDP.
    pub const fn of_port(protocol: u8, port: u16) -> ServiceId {
        ServiceId(ServiceId::IP | (protocol as u64) << 16 | port as u64)
    }

    /// IP protocol and port, where it is made of them.
    pub const fn port(self) -> Option<(u8, u16)> {
        if self.0 & !0xff_ffff == ServiceId::IP { Some(((self.0 >> 16) as u8, self.0 as u16)) } else { None }
    }
}

impl Bits for ServiceId {
    fn from_bits(bits: u128) -> Self {
        ServiceId(bits as u64)
    }
    fn bits(self) -> u128 {
        self.0.into()
    }
    const SHAPE: Shape = Shape::Hex;
}

message! {
    /// What RDMA-CM puts in front of the private data of a REQ or SIDR_REQ.
    IpCm[36] {
        /// 0.
        major_version: u8 = 0 / 0, 4;
        /// 0.
        minor_version: u8 = 0 / 4, 4;
        /// 4 or 6.
        ip_version: u8 = 1 / 0, 4;
        /// 4 bits, sent as 0.
        reserved: u8 = 1 / 4, 4;
        /// Port of the sender.
        src_port: u16 = 2 / 0, 16;
        /// Address of the sender; IPv4 stands in its last four bytes.
        src: Ipv6Addr = 4 / 0, 128;
        /// Address of the receiver.
        dst: Ipv6Addr = 20 / 0, 128;
    } bytes {}
}

impl IpCm {
    /// Bytes on the wire.
    pub const LEN: usize = 36;

    /// Between two addresses of one IP version; `None` when they are not.
    pub fn new(src: IpAddr, src_port: u16, dst: IpAddr) -> Option<IpCm> {
        let (ip_version, src, dst) = match (src, dst) {
            (IpAddr::V4(src), IpAddr::V4(dst)) => (4, src.to_bits().into(), dst.to_bits().into()),
            (IpAddr::V6(src), IpAddr::V6(dst)) => (6, src.to_bits(), dst.to_bits()),
            _ => return None,
        };
        Some(IpCm { ip_version, src_port, src: Ipv6Addr::from(src), dst: Ipv6Addr::from(dst), ..IpCm::default() })
    }

    /// Addresses of sender and receiver, by the IP version; `None` for another one than 4 and 6.
    pub fn addresses(&self) -> Option<(IpAddr, IpAddr)> {
        let v4 = |address: Ipv6Addr| IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() as u32));
        match self.ip_version {
            4 => Some((v4(self.src), v4(self.dst))),
            6 => Some((self.src.into(), self.dst.into())),
            _ => None,
        }
    }
}

macro_rules! ip_cm {
    ($($name:ident)*) => {
        $(impl $name {
            /// The header that RDMA-CM puts in front of the private data, where the service id is one of its own.
            pub fn ip_cm(&self) -> Option<IpCm> {
                self.service_id.port()?;
                self.private_data.first_chunk().map(IpCm::read)
            }

            /// Puts it there; the service id stays.
            pub fn set_ip_cm(&mut self, ip: &IpCm) {
                if let Some(place) = self.private_data.first_chunk_mut() {
                    ip.write(place);
                }
            }
        })*
    };
}

ip_cm!(Req SidrReq);
