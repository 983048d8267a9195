//! `nic:IFACE,agent=HOST:PORT,…`: the words that name a real device.

use std::fs::File;
use std::io::Read;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::str::FromStr;

use rocespec_codec::MacAddr;

use crate::dut::{Addresses, DutError, TESTER};

/// The variable that has the agent's token where no file is named.
const TOKEN: &str = "ROCESPEC_TOKEN";
/// Longest token, in bytes.
const MAX_TOKEN: u64 = 4096;

/// How frames are captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Capture {
    /// A raw socket of Linux.
    Packet,
    /// libpcap.
    Pcap,
}

/// What was said, not yet looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Options {
    pub(super) interface: String,
    /// `HOST:PORT`.
    pub(super) agent: Option<String>,
    pub(super) token: Option<String>,
    pub(super) capture: Capture,
    pub(super) mac: Option<MacAddr>,
    pub(super) v4: Ipv4Addr,
    pub(super) v6: Ipv6Addr,
    /// Try the way to the device with pings when a case went wrong.
    pub(super) echo: bool,
}

impl Options {
    /// Reads what stands behind `nic:`.
    pub(super) fn parse(text: &str) -> Result<Options, DutError> {
        let mut words = text.split(',');
        let interface = words.next().unwrap_or_default().to_owned();
        if interface.is_empty() || interface.contains('=') {
            return Err(wrong("say the interface first: nic:eth0,agent=192.0.2.7:4792".to_owned()));
        }
        let (capture, Addresses { v4, v6, .. }) = (Capture::Packet, TESTER);
        let mut options = Options { interface, agent: None, token: None, capture, mac: None, v4, v6, echo: true };
        for word in words {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            match name {
                "agent" if !value.is_empty() => {
                    let has_port = value.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
                    if !has_port || value.parse::<Ipv6Addr>().is_ok() {
                        return Err(wrong(format!(
                            "agent={value} names no port; say HOST:PORT, as 192.0.2.7:4792 or [fd00::7]:4792"
                        )));
                    }
                    options.agent = Some(value.to_owned());
                }
                "token" if !value.is_empty() => options.token = Some(read_token(value)?),
                "capture" => {
                    options.capture = match value {
                        "packet" => Capture::Packet,
                        "pcap" => Capture::Pcap,
                        _ => return Err(wrong(format!("capture={value} is not known; take packet or pcap"))),
                    }
                }
                "echo" => {
                    options.echo = match value {
                        "on" => true,
                        "off" => false,
                        _ => return Err(wrong(format!("echo={value} is not known; take on or off"))),
                    }
                }
                "mac" => options.mac = Some(unicast(value)?),
                "ip4" => options.v4 = address(name, value, "an IPv4 address like 192.0.2.1")?,
                "ip6" => options.v6 = address(name, value, "an IPv6 address like fd00::1")?,
                _ => {
                    return Err(wrong(format!(
                        "{word:?} is not known; behind the interface take agent=HOST:PORT, token=FILE, capture=packet|pcap, \
                         mac=MAC, ip4=ADDRESS, ip6=ADDRESS, echo=on|off"
                    )));
                }
            }
        }
        Ok(options)
    }

    /// The tester's addresses on this interface.
    pub(super) fn tester(&self, interface: MacAddr) -> Addresses {
        Addresses { mac: self.mac.unwrap_or_else(|| beside(interface)), v4: self.v4, v6: self.v6 }
    }

    /// The token of the file that was named, or of the environment.
    pub(super) fn token(&self) -> Option<String> {
        self.token.clone().or_else(token_of_environment)
    }
}

/// The token that the environment names.
pub(crate) fn token_of_environment() -> Option<String> {
    std::env::var(TOKEN).ok().filter(|token| !token.is_empty())
}

/// An address of our own for an interface that has this one: locally administered, and the same in every run.
pub(crate) fn beside(interface: MacAddr) -> MacAddr {
    let [_, _, _, d, e, f] = interface.0;
    let mac = MacAddr([0x02, 0x52, 0x43, d, e, f]);
    if mac == interface { MacAddr([0x06, 0x52, 0x43, d, e, f]) } else { mac }
}

fn wrong(what: String) -> DutError {
    DutError::Unreachable(format!("--dut nic: {what}"))
}

fn address<T: FromStr>(name: &str, value: &str, wanted: &str) -> Result<T, DutError> {
    value.parse().map_err(|_| wrong(format!("{name}={value} is not {wanted}")))
}

fn unicast(value: &str) -> Result<MacAddr, DutError> {
    let mac: MacAddr = address("mac", value, "a MAC address like 02:00:00:00:00:01")?;
    if mac.0[0] & 1 != 0 || mac.0 == [0; 6] {
        return Err(wrong(format!("mac={value} is the address of a group or of nobody")));
    }
    Ok(mac)
}

/// The first line of a file.
fn read_token(file: &str) -> Result<String, DutError> {
    let cannot = |why: String| wrong(format!("cannot read the token from {file}: {why}"));
    // A pipe would keep us waiting.
    if !Path::new(file).is_file() {
        return Err(cannot("it is not a file".to_owned()));
    }
    let mut text = String::new();
    let read = File::open(file).and_then(|file| file.take(MAX_TOKEN + 1).read_to_string(&mut text));
    read.map_err(|error| cannot(error.to_string()))?;
    match text.lines().next().map(str::trim) {
        _ if text.len() as u64 > MAX_TOKEN => Err(cannot(format!("it has more than {MAX_TOKEN} bytes"))),
        Some(token) if !token.is_empty() => Ok(token.to_owned()),
        _ => Err(cannot("its first line is empty".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        Options::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn words_in_any_order_and_what_is_left_out() {
        let options = Options::parse("eth0,ip4=192.0.2.9,agent=[2001:db8::7]:4792,capture=pcap").unwrap();
        assert_eq!(options.interface, "eth0");
        assert_eq!(options.agent.as_deref(), Some("[2001:db8::7]:4792"));
        assert_eq!((options.capture, options.mac), (Capture::Pcap, None));
        assert_eq!((options.v4, options.v6), ("192.0.2.9".parse().unwrap(), "fd00::1".parse().unwrap()));
        assert_eq!(Options::parse("eth0").unwrap().agent, None);
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        assert!(refused("").contains("nic:eth0,agent="));
        assert!(refused("agent=a:1").contains("nic:eth0,agent="));
        assert!(refused("eth0,agnet=a:1").contains("agent=HOST:PORT"));
        assert!(refused("eth0,agent=").contains("agent=HOST:PORT"));
        for no_port in ["192.0.2.7", "fd00::7", "lab:", "lab:x", "lab:65536"] {
            assert!(refused(&format!("eth0,agent={no_port}")).contains("HOST:PORT, as"), "{no_port}");
        }
        assert!(refused("eth0,capture=tcpdump").contains("packet or pcap"));
        assert!(refused("eth0,echo=maybe").contains("on or off"));
        assert!(refused("eth0,ip4=fd00::1").contains("IPv4 address"));
        assert!(refused("eth0,mac=01:00:5e:00:00:01").contains("group"));
        assert!(refused("eth0,token=/nonexistent/token").contains("not a file"));
    }

    #[test]
    fn a_token_is_the_first_line_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            format!("eth0,token={}", path.display())
        };
        let options = Options::parse(&write("good", " secret \nother\n")).unwrap();
        assert_eq!(options.token().as_deref(), Some("secret"));
        assert!(refused(&write("empty", "\nsecret\n")).contains("empty"));
        assert!(refused(&write("long", &"x".repeat(5000))).contains("more than"));
    }

    #[test]
    fn the_testers_address_is_its_own_and_always_the_same() {
        let options = Options::parse("eth0").unwrap();
        let nic = MacAddr([0xb8, 0x3f, 0xd2, 1, 2, 3]);
        let mac = options.tester(nic).mac;
        assert_eq!(mac, MacAddr([0x02, 0x52, 0x43, 1, 2, 3]));
        assert_ne!(options.tester(mac).mac, mac);
        let named = Options::parse("eth0,mac=b8:3f:d2:1:2:3").unwrap();
        assert_eq!(named.tester(nic).mac, nic);
    }
}
