//! Queue pairs that were made before the run, told by a file: a device whose software cannot be told anything.

use rocespec_codec::MacAddr;
use rocespec_control::{
    Access, Command, Device, ErrorCode, Failure, Gid, GidKind, MemoryRegion, QpKind, Reply, VERSION,
};
use serde::Deserialize;
use std::net::{Ipv4Addr, Ipv6Addr};

/// Most queue pairs of a file, and most regions of a queue pair.
const MOST: usize = 4096;
const MOST_REGIONS: usize = 64;

/// What the file says, and what has been used of it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prepared {
    device: Port,
    #[serde(default, rename = "qp")]
    qps: Vec<PreparedQp>,
    /// The queue pair of the case at hand.
    #[serde(skip)]
    current: Option<Current>,
}

/// The device's port.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Port {
    #[serde(default = "nameless")]
    name: String,
    #[serde(default = "nameless")]
    system: String,
    mac: String,
    ip4: Option<Ipv4Addr>,
    ip6: Option<Ipv6Addr>,
    /// Takes RoCE v1 as well, from its IPv6 address as GID.
    #[serde(default)]
    rocev1: bool,
    capabilities: Vec<String>,
}

fn nameless() -> String {
    "prepared".to_owned()
}

/// A queue pair in RTS, and what the device's software did for it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreparedQp {
    /// Its number, 24 bits.
    pub qpn: u32,
    /// The number that it has for its peer, 24 bits: the tester takes it.
    pub peer: u32,
    /// Transport service: `rc` or `uc`.
    #[serde(default = "rc")]
    pub transport: QpKind,
    /// First PSN in both directions, 24 bits.
    pub psn: u32,
    /// Path MTU in bytes.
    #[serde(default = "usual_mtu")]
    pub mtu: u32,
    /// What it lets a peer do.
    #[serde(default = "usual_access")]
    pub access: Vec<Access>,
    /// RNR NAK timer code that it asks for, 0 to 31.
    #[serde(default = "usual_timer")]
    pub min_rnr_timer: u8,
    /// READs and ATOMICs that it serves at once.
    #[serde(default = "usual_depth")]
    pub max_dest_rd_atomic: u8,
    /// Receives that are posted.
    #[serde(default)]
    pub receives: u32,
    /// Size of each of their buffers, in bytes.
    #[serde(default)]
    pub receive_bytes: u32,
    /// Zeroed memory that is registered for it and for no other.
    #[serde(default, rename = "memory")]
    pub regions: Vec<PreparedRegion>,
    #[serde(skip)]
    used: bool,
}

/// Registered memory.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PreparedRegion {
    /// Address of its first byte as a peer names it.
    pub va: u64,
    /// Its key.
    pub rkey: u32,
    /// Bytes.
    pub length: u64,
    /// What a peer may do with it.
    pub access: Vec<Access>,
}

fn rc() -> QpKind {
    QpKind::Rc
}
fn usual_mtu() -> u32 {
    1024
}
fn usual_access() -> Vec<Access> {
    vec![Access::RemoteWrite, Access::RemoteRead, Access::RemoteAtomic]
}
fn usual_timer() -> u8 {
    12
}
fn usual_depth() -> u8 {
    4
}

/// What a case has of it.
#[derive(Debug, Clone)]
struct Current {
    qp: usize,
    /// It was handed out.
    made: bool,
    /// Its regions in the order in which the case registers them.
    regions: std::vec::IntoIter<usize>,
}

impl Prepared {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// What is wrong with it, with the place.
    pub fn parse(text: &str) -> Result<Prepared, String> {
        let prepared: Prepared = toml::from_str(text).map_err(|error| error.to_string())?;
        let Prepared { device, qps, .. } = &prepared;
        if device.mac.parse::<MacAddr>().is_err() {
            return Err(format!("mac = {:?} is no MAC address", device.mac));
        }
        if device.ip4.is_none() && device.ip6.is_none() {
            return Err("[device] needs ip4 or ip6, or both".to_owned());
        }
        if device.rocev1 && device.ip6.is_none() {
            return Err("rocev1 needs ip6: the GID of RoCE v1".to_owned());
        }
        if qps.is_empty() || qps.len() > MOST {
            return Err(format!("it names {} queue pairs: name 1 to {MOST} under [[qp]]", qps.len()));
        }
        for (index, qp) in qps.iter().enumerate() {
            let number = qp.qpn;
            let fault = |what: String| Err(format!("the queue pair {number:#x}: {what}"));
            for (name, value) in [("qpn", number), ("peer", qp.peer), ("psn", qp.psn)] {
                if value > 0xff_ffff {
                    return fault(format!("{name} = {value:#x} has more than 24 bits"));
                }
            }
            if !matches!(qp.transport, QpKind::Rc | QpKind::Uc) {
                return fault("transport is rc or uc".to_owned());
            }
            if ![256, 512, 1024, 2048, 4096].contains(&qp.mtu) {
                return fault(format!("mtu = {} is none of 256, 512, 1024, 2048, 4096", qp.mtu));
            }
            if qp.min_rnr_timer > 31 {
                return fault(format!("min_rnr_timer = {} is above 31", qp.min_rnr_timer));
            }
            if qp.regions.len() > MOST_REGIONS {
                return fault(format!("it has more than {MOST_REGIONS} regions"));
            }
            if let Some(region) = qp.regions.iter().find(|region| region.va.checked_add(region.length).is_none()) {
                return fault(format!("the region at {:#x} goes beyond the last address", region.va));
            }
            if qps[..index].iter().any(|before| before.qpn == number || before.peer == qp.peer) {
                return fault("qpn and peer are for one queue pair each".to_owned());
            }
        }
        Ok(prepared)
    }

    /// True when the file says that the device can do this.
    pub(crate) fn has(&self, capability: &str) -> bool {
        self.device.capabilities.iter().any(|known| known == capability)
    }

    /// Queue pairs that no case has had, by their places.
    pub(crate) fn unused(&self) -> impl Iterator<Item = (usize, &PreparedQp)> {
        self.qps.iter().enumerate().filter(|(_, qp)| !qp.used)
    }

    /// The next case has the queue pair of this place, and these of its regions, in the order in which it registers them.
    pub(crate) fn take(&mut self, qp: usize, regions: Vec<usize>) {
        self.qps[qp].used = true;
        self.current = Some(Current { qp, made: false, regions: regions.into_iter() });
    }

    /// Carries out an order as far as that was done beforehand.
    pub(super) fn call(&mut self, command: &Command) -> Result<Reply, Failure> {
        match (command, &mut self.current) {
            (Command::Hello { .. }, _) => Ok(Reply::Device(self.device())),
            (Command::CreateQp { .. }, Some(current)) if !current.made => {
                current.made = true;
                Ok(Reply::Qp { qp: 0, qpn: self.qps[current.qp].qpn })
            }
            (Command::RegisterMemory { pd: None, .. }, Some(current)) => match current.regions.next() {
                Some(place) => {
                    let region = &self.qps[current.qp].regions[place];
                    let (va, length, rkey) = (region.va, region.length, region.rkey);
                    Ok(Reply::Memory(MemoryRegion { mr: place as u32 + 1, va, length, lkey: rkey, rkey }))
                }
                // A buffer of receives: they are posted, wherever it is.
                None => Ok(Reply::Memory(MemoryRegion { mr: 0, va: 0, length: 0, lkey: 0, rkey: 0 })),
            },
            (
                Command::ModifyQp { .. }
                | Command::PostReceive { .. }
                | Command::QueryQp { .. }
                | Command::Reset {}
                | Command::DestroyQp { .. }
                | Command::DeregisterMemory { .. },
                _,
            ) => Ok(Reply::Done {}),
            _ => Err(Failure {
                code: ErrorCode::Unsupported,
                message: format!(
                    "nobody to ask for `{}`: there is no control channel",
                    super::control_client::name(command)
                ),
                errno: None,
            }),
        }
    }

    fn device(&self) -> Device {
        let Port { name, system, mac, ip4, ip6, rocev1, capabilities } = &self.device;
        let v2 = [ip4.map(|ip| ip.to_ipv6_mapped()), *ip6].into_iter().flatten().map(|gid| (gid, GidKind::RoceV2));
        let v1 = ip6.filter(|_| *rocev1).map(|gid| (gid, GidKind::RoceV1));
        let gids = v2.chain(v1).enumerate().map(|(index, (gid, kind))| Gid { index: index as u8, gid, kind }).collect();
        let networks = [("ipv4", ip4.is_some()), ("ipv6", ip6.is_some()), ("rocev1", *rocev1)];
        let networks = networks.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name.to_owned());
        Device {
            version: VERSION,
            agent: "none".to_owned(),
            name: name.clone(),
            system: system.clone(),
            mac: mac.clone(),
            active_mtu: self.qps.iter().map(|qp| qp.mtu).max().unwrap_or(4096),
            gids,
            capabilities: capabilities.iter().cloned().chain(networks).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: &str = "[device]\nmac = '02:00:00:00:00:02'\nip4 = '10.0.0.2'\ncapabilities = ['rc']\n";
    const QP: &str = "[[qp]]\nqpn = 0x12\npeer = 0x99\npsn = 7\nreceives = 2\nreceive_bytes = 64\n\
                      [[qp.memory]]\nva = 0x1000\nrkey = 5\nlength = 4096\naccess = ['remote_write']\n";

    fn wrong(text: &str) -> String {
        Prepared::parse(text).unwrap_err()
    }

    #[test]
    fn a_case_gets_what_the_file_says() {
        let mut prepared = Prepared::parse(&format!("{DEVICE}{QP}")).unwrap();
        let create = Command::CreateQp {
            kind: QpKind::Rc,
            capacity: rocespec_control::QpCapacity::default(),
            pd: None,
            srq: None,
            xrc_domain: None,
        };
        let Reply::Device(device) = prepared.call(&Command::hello()).unwrap() else { panic!() };
        assert_eq!(device.capabilities, ["rc", "ipv4"]);
        assert_eq!(prepared.call(&create).unwrap_err().code, ErrorCode::Unsupported);
        prepared.take(0, vec![0]);
        assert_eq!(prepared.call(&create).unwrap(), Reply::Qp { qp: 0, qpn: 0x12 });
        let register = Command::RegisterMemory { length: 4096, access: vec![Access::RemoteWrite], pd: None };
        let Reply::Memory(region) = prepared.call(&register).unwrap() else { panic!() };
        assert_eq!((region.va, region.rkey, region.length), (0x1000, 5, 4096));
        // There is one; and what nobody can be asked for is refused.
        assert!(prepared.call(&create).is_err());
        let poll = prepared.call(&Command::Poll { qp: 0, max: 1 }).unwrap_err();
        assert_eq!((poll.code, poll.message.contains("`poll`")), (ErrorCode::Unsupported, true));
        assert_eq!(prepared.unused().count(), 0);
    }

    #[test]
    fn a_file_with_a_slip_says_where() {
        assert!(wrong("x = 1").contains("unknown field"));
        assert!(wrong(DEVICE).contains("1 to 4096"));
        assert!(wrong(&format!("{DEVICE}{QP}{QP}")).contains("one queue pair each"));
        assert!(wrong(&format!("{DEVICE}{QP}").replace("psn = 7", "psn = 0x1000000")).contains("24 bits"));
        assert!(wrong(&format!("{DEVICE}{QP}").replace("psn = 7", "psn = 7\nmtu = 1000")).contains("256, 512"));
        assert!(wrong(&format!("{DEVICE}{QP}").replace("02:00:00:00:00:02", "me")).contains("MAC"));
        assert!(wrong(&format!("{DEVICE}{QP}").replace("ip4 = '10.0.0.2'\n", "")).contains("ip4 or ip6"));
    }
}
