//! What a CNP looks like (A17.9.3).

use rocespec_codec::{Bth, Ecn, Opcode, PKey, Qpn};

/// What the standard leaves free of a CNP's lower layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CnpConfig {
    /// DSCP, 6 bits.
    pub dscp: u8,
    /// ECN bits.
    pub ecn: Ecn,
    /// Priority of tagged frames, 3 bits.
    pub priority: u8,
}

impl Default for CnpConfig {
    /// As ConnectX firmware has it: DSCP 48, ECT(0), priority 6.
    fn default() -> Self {
        CnpConfig { dscp: 48, ecn: Ecn::Ect0, priority: 6 }
    }
}

impl CnpConfig {
    /// The traffic class octet.
    pub const fn traffic_class(&self) -> u8 {
        self.dscp << 2 | self.ecn as u8
    }
}

/// The base transport header of a CNP; 16 zero bytes follow it as payload. `pkey` is that of the marked packet,
/// `dest_qp` the queue pair that it came from.
///
/// rule: congestion.notification_point.cnp-fields
pub const fn cnp_bth(pkey: PKey, dest_qp: Qpn) -> Bth {
    // BECN is what captures of devices show; the annex does not name it.
    Bth { pkey, becn: true, dest_qp, ..Bth::new(Opcode::CNP) }
}
