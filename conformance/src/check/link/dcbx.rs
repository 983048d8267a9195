//! What one end of a link announces by DCBX.

use rocespec_codec::ROCE_V2_PORT;
use rocespec_codec::lldp::{Cee, CeeFeature, Dcbx, Ets, Lldp, PfcConfiguration, Selector, TlvValue};

/// Who sends LLDP, and what it said last.
#[derive(Debug, Clone, Default)]
pub(in crate::check) struct Announcement {
    /// Frames.
    pub(in crate::check) frames: u64,
    /// First frame with DCBX of IEEE 802.1Qaz, and with the older form.
    pub(in crate::check) ieee: Option<u64>,
    pub(in crate::check) cee: Option<u64>,
    /// The last frame that said something about PFC.
    pub(in crate::check) pfc: Option<(u64, Pfc)>,
    pub(in crate::check) ets: Option<(u64, Ets)>,
    /// The last frame with a table of applications.
    pub(in crate::check) applications: Option<(u64, Applications)>,
}

/// Which priorities are lossless.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::check) struct Pfc {
    /// Bit n: priority n.
    pub(in crate::check) enabled: u8,
    /// Takes what the other end says.
    pub(in crate::check) willing: bool,
}

/// Priorities of applications, as far as they concern RoCE.
#[derive(Debug, Clone)]
pub(in crate::check) struct Applications {
    /// Of RoCE v2. Several bits where several priorities are named.
    pub(in crate::check) v2: Option<u8>,
    /// Priority of each DSCP that is named.
    pub(in crate::check) dscp: [Option<u8>; 64],
}

impl Default for Applications {
    fn default() -> Self {
        Applications { v2: None, dscp: [None; 64] }
    }
}

impl Applications {
    fn name_v2(&mut self, priorities: u8) {
        *self.v2.get_or_insert(0) |= priorities;
    }
}

impl Announcement {
    pub(super) fn note(&mut self, number: u64, frame: &Lldp<'_>) {
        self.frames += 1;
        for tlv in frame.tlvs().map_while(Result::ok) {
            // A device that takes its word back says nothing more.
            if tlv.read() == TlvValue::TimeToLive(0) {
                return;
            }
            let Some(dcbx) = tlv.dcbx() else { continue };
            match &dcbx {
                Dcbx::Cee(_) => self.cee = self.cee.or(Some(number)),
                _ => self.ieee = self.ieee.or(Some(number)),
            }
            self.take(number, dcbx);
        }
    }

    fn take(&mut self, number: u64, dcbx: Dcbx<'_>) {
        match dcbx {
            Dcbx::EtsConfiguration(ets) => self.ets = Some((number, ets)),
            Dcbx::Pfc(PfcConfiguration { enabled, willing, .. }) => self.pfc = Some((number, Pfc { enabled, willing })),
            Dcbx::Applications(table) => {
                let mut applications = Applications::default();
                for entry in table.iter() {
                    match (entry.selector, entry.protocol) {
                        (Selector::UDP | Selector::ANY_PORT, ROCE_V2_PORT) => applications.name_v2(1 << entry.priority),
                        (Selector::DSCP, dscp @ 0..64) => {
                            applications.dscp[usize::from(dscp)] = Some(entry.priority);
                        }
                        _ => {}
                    }
                }
                self.applications = Some((number, applications));
            }
            Dcbx::Cee(inside) => inside.map_while(Result::ok).for_each(|cee| self.take_cee(number, cee)),
            _ => {}
        }
    }

    fn take_cee(&mut self, number: u64, cee: Cee<'_>) {
        match cee {
            Cee::Pfc { feature, enabled, .. } => {
                let enabled = if feature.flags & CeeFeature::ENABLED != 0 { enabled } else { 0 };
                let willing = feature.flags & CeeFeature::WILLING != 0;
                self.pfc = Some((number, Pfc { enabled, willing }));
            }
            Cee::Applications(_, table) => {
                let mut applications = Applications::default();
                for entry in table.iter() {
                    if (entry.selector, entry.protocol) == (1, ROCE_V2_PORT) {
                        applications.name_v2(entry.priorities);
                    }
                }
                self.applications = Some((number, applications));
            }
            _ => {}
        }
    }
}
