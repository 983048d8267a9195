//! Which packets are meant.

use std::net::IpAddr;

use rocespec_codec::{Header, MacAddr, Net, Opcode, Psn, Roce};

use super::sight::Sight;

/// Every condition that is given has to hold.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct Filter {
    /// Only packets to this queue pair, or from it where the packet says so (UD, RD). Can be given more than once.
    #[arg(long, value_name = "NUMBER", value_parser = qp)]
    qp: Vec<u32>,

    /// Only packets whose name begins so: SEND, RDMA_READ, ACK, NAK, UD, RC_SEND_ONLY; or by number, 0x04. Can be given
    /// more than once.
    #[arg(long, value_name = "NAME", value_parser = name)]
    opcode: Vec<Name>,

    /// Only packets with this PSN, or one of this range, both ends included and around the wrap: 0xfffff0..0x10.
    #[arg(long, value_name = "A..B", value_parser = range)]
    psn: Option<(Psn, Psn)>,

    /// Only packets from this IP or MAC address.
    #[arg(long, value_name = "ADDR", value_parser = address)]
    from: Option<Address>,

    /// Only packets to this IP or MAC address.
    #[arg(long, value_name = "ADDR", value_parser = address)]
    to: Option<Address>,

    /// Only packets with something wrong.
    #[arg(long)]
    errors: bool,
}

impl Filter {
    /// True when it keeps anything out.
    pub(in crate::cli) fn is_set(&self) -> bool {
        self.errors || self.looks_at_packets()
    }

    fn looks_at_packets(&self) -> bool {
        !self.qp.is_empty() || !self.opcode.is_empty() || self.psn.is_some() || self.from.is_some() || self.to.is_some()
    }

    /// True for a packet that is meant. What cannot be read fits no condition but `--errors`.
    pub(in crate::cli) fn takes(&self, sight: &Sight<'_>) -> bool {
        if self.errors && sight.wrong.is_empty() {
            return false;
        }
        match sight.packet() {
            Some(packet) => self.takes_packet(packet),
            None => !self.looks_at_packets(),
        }
    }

    fn takes_packet(&self, packet: &Roce<'_>) -> bool {
        let bth = &packet.bth;
        let has_source = bth.opcode.headers().contains(&Header::Deth);
        let is_qp = |qp: &u32| bth.dest_qp.get() == *qp || has_source && packet.ext.deth.src_qp.get() == *qp;
        (self.qp.is_empty() || self.qp.iter().any(is_qp))
            && (self.opcode.is_empty() || self.opcode.iter().any(|name| name.is_of(packet)))
            && self.psn.is_none_or(|(first, last)| {
                // The numbers from the first to the last, not their distance: a range may be longer than half the ring.
                bth.psn.minus(first.get()).get() <= last.minus(first.get()).get()
            })
            && self.from.is_none_or(|address| address.is(packet.eth.src, ip(&packet.net, true)))
            && self.to.is_none_or(|address| address.is(packet.eth.dst, ip(&packet.net, false)))
    }
}

fn ip(net: &Net<'_>, is_source: bool) -> IpAddr {
    match net {
        Net::V4(ip) => IpAddr::V4(if is_source { ip.src } else { ip.dst }),
        Net::V6(ip) | Net::Grh(ip) => IpAddr::V6(if is_source { ip.src } else { ip.dst }),
    }
}

#[derive(Debug, Clone, Copy)]
enum Address {
    Ip(IpAddr),
    Mac(MacAddr),
}

impl Address {
    fn is(self, mac: MacAddr, ip: IpAddr) -> bool {
        match self {
            Address::Ip(address) => address == ip,
            Address::Mac(address) => address == mac,
        }
    }
}

/// How packets are chosen by what they are.
#[derive(Debug, Clone)]
enum Name {
    Number(u8),
    Begins(String),
}

impl Name {
    fn is_of(&self, packet: &Roce<'_>) -> bool {
        match self {
            Name::Number(number) => packet.bth.opcode.0 == *number,
            Name::Begins(start) => names(packet.bth.opcode, packet).any(|name| name.starts_with(start.as_str())),
        }
    }
}

/// What a packet can be called: by its opcode with and without `RC_`, by the class of its syndrome.
fn names<'n>(opcode: Opcode, packet: &Roce<'_>) -> impl Iterator<Item = &'n str> + use<'n> {
    use rocespec_codec::SyndromeClass as Is;
    let full = opcode.info().map_or("", |info| info.name);
    let class = full.ends_with("_ACKNOWLEDGE").then_some(packet.ext.aeth.syndrome.class());
    let [rc, xrc, rd] = match class {
        Some(Is::Ack(_)) => ["ACK", "XRC_ACK", "RD_ACK"],
        Some(Is::RnrNak(_)) => ["RNR_NAK", "XRC_RNR_NAK", "RD_RNR_NAK"],
        Some(Is::Nak(_)) => ["NAK", "XRC_NAK", "RD_NAK"],
        _ => [""; 3],
    };
    let by_class = match opcode {
        Opcode::RC_ACKNOWLEDGE => rc,
        Opcode::XRC_ACKNOWLEDGE => xrc,
        Opcode::RD_ACKNOWLEDGE => rd,
        _ => "",
    };
    // `ACK` is not to find a NAK by the name of its opcode.
    let short = if by_class.is_empty() { full.strip_prefix("RC_").unwrap_or("") } else { "" };
    [full, short, by_class].into_iter().filter(|name| !name.is_empty())
}

/// Every word that a name may begin.
fn known() -> impl Iterator<Item = &'static str> {
    let full = Opcode::DEFINED.iter().filter_map(|opcode| opcode.info()).map(|info| info.name);
    let short = full.clone().filter_map(|name| name.strip_prefix("RC_"));
    let classes = ["ACK", "NAK", "RNR_NAK", "XRC_NAK", "XRC_RNR_NAK", "RD_NAK", "RD_RNR_NAK"];
    full.chain(short).chain(classes)
}

fn name(text: &str) -> Result<Name, String> {
    let text = text.to_ascii_uppercase();
    let digits = text.strip_prefix("OP_").unwrap_or(&text);
    if let Some(number) = number(&digits.to_ascii_lowercase()) {
        return u8::try_from(number).map(Name::Number).map_err(|_| "an opcode has 8 bits".to_owned());
    }
    if known().any(|name| name.starts_with(&text)) {
        return Ok(Name::Begins(text));
    }
    Err("no packet has a name that begins so; docs/notation.md lists them".to_owned())
}

fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) if !digits.starts_with('+') => u32::from_str_radix(digits, 16).ok(),
        None if !text.starts_with('+') => text.parse().ok(),
        _ => None,
    }
}

fn bits24(text: &str) -> Option<u32> {
    number(text).filter(|number| number >> 24 == 0)
}

fn qp(text: &str) -> Result<u32, String> {
    bits24(text).ok_or_else(|| "a queue pair is a number of 24 bits: 17 or 0x11".to_owned())
}

fn range(text: &str) -> Result<(Psn, Psn), String> {
    let one = |text: &str| bits24(text.trim().trim_start_matches('@')).map(Psn::new);
    let read = match text.split_once("..") {
        Some((first, last)) => one(first).zip(one(last.trim_start_matches('='))),
        None => one(text).map(|psn| (psn, psn)),
    };
    read.ok_or_else(|| "PSNs are numbers of 24 bits: 1000, 0xfffff0..0x10".to_owned())
}

fn address(text: &str) -> Result<Address, String> {
    let mac = || text.parse().ok().map(Address::Mac);
    let read = text.parse().ok().map(Address::Ip).or_else(mac);
    read.ok_or_else(|| "this is no IP address and no MAC address".to_owned())
}
