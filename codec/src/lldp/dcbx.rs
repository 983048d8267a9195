//! DCBX TLVs of IEEE 802.1Qaz, and the door to the older CEE form.

use super::cee::{self, SubTlvs};

pub(super) const OUI_802_1: [u8; 3] = [0x00, 0x80, 0xc2];
pub(super) const ETS_CONFIGURATION: u8 = 9;
pub(super) const ETS_RECOMMENDATION: u8 = 10;
pub(super) const PFC: u8 = 11;
pub(super) const APPLICATIONS: u8 = 12;

/// What a TLV says about data center bridging.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dcbx<'a> {
    /// How this port shares its bandwidth.
    EtsConfiguration(Ets),
    /// How the other port should.
    EtsRecommendation(Ets),
    /// Which priorities are lossless.
    Pfc(PfcConfiguration),
    /// Which priority a protocol should use.
    Applications(Applications<'a>),
    /// All of it in the older form.
    Cee(SubTlvs<'a>),
}

/// Enhanced transmission selection: which priority belongs to which traffic class, and what each class gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ets {
    /// First byte. Configuration: bit 7 willing, bit 6 credit-based shaper, bits 5:3 reserved, bits 2:0 number of traffic
    /// classes, where 0 means 8. Recommendation: reserved.
    pub flags: u8,
    /// Traffic class of each priority, 4 bits each, priority 0 first.
    pub classes: [u8; 8],
    /// Percent of the bandwidth for each traffic class.
    pub bandwidth: [u8; 8],
    /// How each traffic class is chosen: 0 strict priority, 1 credit-based shaper, 2 ETS, 255 a vendor's own.
    pub selection: [u8; 8],
}

impl Ets {
    /// Takes the other side's recommendation (in a configuration).
    pub const WILLING: u8 = 0x80;
    /// Has the credit-based shaper (in a configuration).
    pub const CBS: u8 = 0x40;

    /// How many traffic classes the port has (in a configuration): 1 to 8.
    pub fn max_classes(&self) -> u8 {
        match self.flags & 7 {
            0 => 8,
            classes => classes,
        }
    }

    fn read(info: &[u8]) -> Option<Ets> {
        let info: &[u8; 21] = info.try_into().ok()?;
        Some(Ets {
            flags: info[0],
            classes: nibbles(&info[1..5]),
            bandwidth: info[5..13].try_into().ok()?,
            selection: info[13..].try_into().ok()?,
        })
    }

    /// The bytes behind OUI and subtype.
    pub fn bytes(&self) -> [u8; 21] {
        let mut info = [0; 21];
        info[0] = self.flags;
        info[1..5].copy_from_slice(&packed(self.classes));
        info[5..13].copy_from_slice(&self.bandwidth);
        info[13..].copy_from_slice(&self.selection);
        info
    }
}

/// Priority-based flow control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PfcConfiguration {
    /// Takes what the other side says.
    pub willing: bool,
    /// MACsec bypass capability.
    pub mbc: bool,
    /// 2 bits, sent as 0.
    pub reserved: u8,
    /// How many traffic classes can be lossless at a time, 4 bits.
    pub capability: u8,
    /// Bit n: priority n is lossless.
    pub enabled: u8,
}

impl PfcConfiguration {
    fn read(info: &[u8]) -> Option<PfcConfiguration> {
        let [flags, enabled] = info.try_into().ok()?;
        Some(PfcConfiguration {
            willing: flags & 0x80 != 0,
            mbc: flags & 0x40 != 0,
            reserved: flags >> 4 & 3,
            capability: flags & 0xf,
            enabled,
        })
    }

    /// The bytes behind OUI and subtype.
    pub fn bytes(&self) -> [u8; 2] {
        let flags = u8::from(self.willing) << 7 | u8::from(self.mbc) << 6;
        [flags | (self.reserved & 3) << 4 | self.capability & 0xf, self.enabled]
    }
}

/// A table of applications, as long as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Applications<'a> {
    /// In front of the table, sent as 0.
    pub reserved: u8,
    /// Three bytes for each.
    table: &'a [u8],
}

impl<'a> Applications<'a> {
    pub(super) fn table(&self) -> &'a [u8] {
        self.table
    }

    /// The entries.
    pub fn iter(&self) -> impl Iterator<Item = Application> + 'a {
        self.table.chunks_exact(3).map(|entry| Application {
            priority: entry[0] >> 5,
            reserved: entry[0] >> 3 & 3,
            selector: Selector(entry[0] & 7),
            protocol: u16::from_be_bytes([entry[1], entry[2]]),
        })
    }
}

/// Which priority a protocol should use. RoCE v2 is UDP port 4791, RoCE v1 ethertype 0x8915.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Application {
    /// 3 bits.
    pub priority: u8,
    /// 2 bits, sent as 0.
    pub reserved: u8,
    /// What `protocol` is.
    pub selector: Selector,
    /// Ethertype, port or DSCP.
    pub protocol: u16,
}

impl Application {
    /// The three bytes of the entry.
    pub fn bytes(&self) -> [u8; 3] {
        let [high, low] = self.protocol.to_be_bytes();
        [self.priority << 5 | (self.reserved & 3) << 3 | self.selector.0 & 7, high, low]
    }
}

/// What the protocol of an application entry is, 3 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Selector(pub u8);

impl Selector {
    /// An ethertype.
    pub const ETHERTYPE: Selector = Selector(1);
    /// A port of TCP or SCTP.
    pub const TCP: Selector = Selector(2);
    /// A port of UDP or DCCP.
    pub const UDP: Selector = Selector(3);
    /// A port of any of the four.
    pub const ANY_PORT: Selector = Selector(4);
    /// A DSCP.
    pub const DSCP: Selector = Selector(5);

    /// Its name; `None` for reserved ones.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Selector::ETHERTYPE => "ethertype",
            Selector::TCP => "tcp",
            Selector::UDP => "udp",
            Selector::ANY_PORT => "port",
            Selector::DSCP => "dscp",
            _ => return None,
        })
    }
}

impl<'a> Dcbx<'a> {
    pub(super) fn read(oui: [u8; 3], subtype: u8, info: &'a [u8]) -> Option<Dcbx<'a>> {
        match (oui, subtype) {
            (OUI_802_1, ETS_CONFIGURATION) => Ets::read(info).map(Dcbx::EtsConfiguration),
            (OUI_802_1, ETS_RECOMMENDATION) => Ets::read(info).map(Dcbx::EtsRecommendation),
            (OUI_802_1, PFC) => PfcConfiguration::read(info).map(Dcbx::Pfc),
            (OUI_802_1, APPLICATIONS) => {
                let (reserved, table) = info.split_first()?;
                (table.len() % 3 == 0).then_some(Dcbx::Applications(Applications { reserved: *reserved, table }))
            }
            (cee::OUI, cee::SUBTYPE) => Some(Dcbx::Cee(SubTlvs::new(info))),
            _ => None,
        }
    }
}

/// Eight numbers of 4 bits, high half first.
pub(super) fn nibbles(bytes: &[u8]) -> [u8; 8] {
    core::array::from_fn(|at| bytes[at / 2] >> (4 - 4 * (at % 2)) & 0xf)
}

pub(super) fn packed(numbers: [u8; 8]) -> [u8; 4] {
    core::array::from_fn(|at| numbers[2 * at] << 4 | numbers[2 * at + 1] & 0xf)
}
