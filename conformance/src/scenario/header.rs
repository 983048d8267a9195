//! The header of a scenario file as data.

use std::collections::BTreeMap;

use rocespec_codec::Tag;
use rocespec_control::{Access, QpKind, QpState};
use rocespec_reports::outcome::Level;

use super::network::Network;
use super::script::{Action, Peer, Step};

/// A scenario, ready to run.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its path below the folder of scenarios, without the ending: `rc/responder/psn-gap`.
    pub id: String,
    /// The file as named in messages.
    pub file: String,
    /// One sentence.
    pub title: String,
    /// Prose: what it tests and why.
    pub about: String,
    /// Rules that it is about: the first is blamed when an expectation is not met and no universal rule speaks.
    pub rules: Vec<String>,
    /// How binding it is.
    pub level: Level,
    /// Capabilities that it needs.
    pub needs: Vec<String>,
    /// The connection before anything is varied.
    pub setup: Setup,
    /// It says itself that no other case may run beside it, see [`Scenario::runs_alone`].
    pub alone: bool,
    /// What is varied: axis to values, in the order written.
    pub vary: Vec<(Axis, Vec<String>)>,
    /// The script.
    pub steps: Vec<Step>,
    /// The script as it stands in the file.
    pub script: String,
    /// Line of the file at which the script begins, 1 = first.
    pub script_line: u32,
}

/// What a scenario may vary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Axis {
    /// `start_psn`: first PSN in both directions.
    StartPsn,
    /// `ip`: `v4`, `v6` or `v1`.
    Ip,
    /// `mtu`: path MTU in bytes.
    Mtu,
}

impl Axis {
    /// All.
    pub const ALL: [Axis; 3] = [Axis::StartPsn, Axis::Ip, Axis::Mtu];

    /// Name in scenario files and in ids of cases.
    pub const fn name(self) -> &'static str {
        match self {
            Axis::StartPsn => "start_psn",
            Axis::Ip => "ip",
            Axis::Mtu => "mtu",
        }
    }
}

/// The connection that a scenario starts with.
#[derive(Debug, Clone, PartialEq)]
pub struct Setup {
    /// Transport service of both ends.
    pub transport: QpKind,
    /// How far the device's queue pair has come: INIT, RTR or RTS.
    pub state: QpState,
    /// Q_Key of the device's queue pair (UD).
    pub qkey: u32,
    /// First PSN in both directions, 24 bits.
    pub start_psn: u32,
    /// Network kind.
    pub ip: Network,
    /// Path MTU in bytes.
    pub mtu: u32,
    /// Path MTU that a peer's queue pair is told; `None` = the same.
    pub peer_mtu: Option<u32>,
    /// What the queue pair lets a peer do.
    pub access: Vec<Access>,
    /// RNR NAK timer code that the device asks for, 0 to 31.
    pub min_rnr_timer: u8,
    /// READs and ATOMICs that the device serves at once.
    pub max_dest_rd_atomic: u8,
    /// Index of the device's P_Key.
    pub pkey_index: u16,
    /// Traffic class that the device has to send with: DSCP and ECN.
    pub traffic_class: u8,
    /// Hop limit or TTL that the device has to send with.
    pub hop_limit: u8,
    /// Local ACK timeout code of the device, 0 to 31: 4.096 us * 2^code, 0 = none.
    pub timeout: u8,
    /// How often the device sends again when no answer comes, 0 to 7.
    pub retry_count: u8,
    /// How often the device sends again after RNR NAKs, 0 to 7; 7 = without end.
    pub rnr_retry: u8,
    /// READs and ATOMICs that the device may have outstanding.
    pub max_rd_atomic: u8,
    /// VLAN id of the tester's packets, 0 to 4094; `None` = no tag.
    pub vlan: Option<u16>,
    /// VLAN priority of both ends, 0 to 7.
    pub priority: u8,
    /// The queue pair takes receives from a shared receive queue.
    pub srq: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Setup {
            transport: QpKind::Rc,
            state: QpState::Rts,
            qkey: 0x1111_1111,
            start_psn: 0,
            ip: Network::V4,
            mtu: 1024,
            peer_mtu: None,
            access: vec![Access::RemoteWrite, Access::RemoteRead, Access::RemoteAtomic],
            min_rnr_timer: 12,
            max_dest_rd_atomic: 4,
            pkey_index: 0,
            traffic_class: 0,
            hop_limit: 64,
            // More than a second: no script sees it that does not ask for it.
            timeout: 18,
            retry_count: 7,
            rnr_retry: 7,
            max_rd_atomic: 4,
            vlan: None,
            priority: 0,
            srq: false,
        }
    }
}

impl Setup {
    /// The connection as the peer has it.
    pub(crate) fn of_peer(&self) -> Setup {
        Setup { mtu: self.peer_mtu.unwrap_or(self.mtu), ..self.clone() }
    }

    /// The VLAN tag of packets, where they have one.
    pub(crate) fn tag(&self) -> Option<Tag> {
        self.vlan.map(|id| Tag { tpid: 0x8100, tci: u16::from(self.priority) << 13 | id })
    }
}

/// A scenario with every axis at one value.
#[derive(Debug, Clone)]
pub struct Variant {
    /// The values taken, by axis.
    pub values: BTreeMap<String, String>,
    /// The connection.
    pub setup: Setup,
}

impl Scenario {
    /// Who stands at the tester's end; `None` = the script plays it.
    pub fn peer(&self) -> Option<Peer> {
        match self.steps.first()?.action {
            Action::Peered(peer) => Some(peer),
            _ => None,
        }
    }

    /// The tester's end is no script.
    pub fn has_peer(&self) -> bool {
        self.peer().is_some()
    }

    /// It asks for two devices.
    pub fn is_for_pairs(&self) -> bool {
        self.peer() == Some(Peer::Device)
    }

    /// No other case may run beside it on the same device: it acts on the whole port, or its times are too exact for
    /// company.
    pub fn runs_alone(&self) -> bool {
        self.alone || self.steps.iter().any(|step| step.action.concerns_all())
    }

    /// The variants to run. With `all` every combination of the values; else as few as will do for every value of every
    /// axis to be taken once.
    pub fn variants(&self, all: bool) -> Vec<Variant> {
        let count = |axis: &(Axis, Vec<String>)| axis.1.len();
        let total: usize =
            if all { self.vary.iter().map(count).product() } else { self.vary.iter().map(count).max().unwrap_or(1) };
        (0..total)
            .map(|number| {
                let mut variant = Variant { values: BTreeMap::new(), setup: self.setup.clone() };
                let mut left = number;
                for (axis, values) in &self.vary {
                    let value = &values[left % values.len()];
                    variant.set(*axis, value);
                    if all {
                        left /= values.len();
                    }
                }
                variant
            })
            .collect()
    }
}

impl Variant {
    /// Axes and values, as in the id of a case: `ip=v6,start_psn=0xfffffe`. Empty where nothing varies.
    pub fn name(&self) -> String {
        let values: Vec<String> = self.values.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
        values.join(",")
    }

    fn set(&mut self, axis: Axis, value: &str) {
        // The values were made by the loader: they read back.
        match axis {
            Axis::StartPsn => {
                self.setup.start_psn =
                    value.strip_prefix("0x").map_or(0, |hex| u32::from_str_radix(hex, 16).unwrap_or(0));
            }
            Axis::Mtu => self.setup.mtu = value.parse().unwrap_or(self.setup.mtu),
            Axis::Ip => {
                self.setup.ip =
                    Network::ALL.into_iter().find(|network| network.name() == value).unwrap_or(self.setup.ip);
            }
        }
        self.values.insert(axis.name().to_owned(), value.to_owned());
    }
}
