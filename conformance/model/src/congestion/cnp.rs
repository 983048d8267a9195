//! What the standard leaves free of a CNP.

use rocespec_codec::Ecn;

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
