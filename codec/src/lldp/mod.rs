//! Link layer discovery (IEEE 802.1AB), as far as DCBX needs it: how two ports agree on PFC, bandwidth and priorities.
//!
//! ```
//! use rocespec_codec::lldp::{Dcbx, PfcConfiguration, Writer};
//! use rocespec_codec::{decode, Frame, MacAddr};
//!
//! let mut buffer = [0; 128];
//! let mut writer = Writer::new(&mut buffer, MacAddr([2, 0, 0, 0, 0, 1]));
//! let pfc = PfcConfiguration { willing: true, mbc: false, reserved: 0, capability: 8, enabled: 0b1000 };
//! writer.identity(MacAddr([2, 0, 0, 0, 0, 1]), "1", 120)?.pfc(pfc)?.end()?;
//! let Ok(Frame::Lldp(lldp)) = decode(writer.frame()) else { panic!("not LLDP") };
//! let seen = lldp.tlvs().filter_map(Result::ok).find_map(|tlv| tlv.dcbx());
//! assert_eq!(seen, Some(Dcbx::Pfc(pfc)));
//! # Ok::<(), rocespec_codec::EncodeError>(())
//! ```
//!
//! The layouts of IEEE 802.1Qaz and of the older CEE form are those that the drivers of several vendors agree on; the
//! text of the standards was not at hand, so clause numbers are left out.

mod cee;
mod dcbx;
mod tlv;
mod write;

pub use cee::{Cee, CeeApplication, CeeApplications, CeeFeature, PriorityGroups, SubTlvs};
pub use dcbx::{Application, Applications, Dcbx, Ets, PfcConfiguration, Selector};
pub use tlv::{Tlv, TlvError, TlvValue, Tlvs};
pub use write::Writer;

use crate::eth::{Ethernet, MacAddr};

/// Ethertype of LLDP.
pub const ETHERTYPE_LLDP: u16 = 0x88cc;
/// Where LLDP frames go: the nearest bridge, never forwarded.
pub const LLDP_DESTINATION: MacAddr = MacAddr([0x01, 0x80, 0xc2, 0, 0, 0x0e]);

/// An LLDP frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lldp<'a> {
    /// Ethernet header.
    pub eth: Ethernet,
    /// Everything behind it: TLVs, and padding behind their end.
    pub pdu: &'a [u8],
}

impl<'a> Lldp<'a> {
    pub(crate) fn read(eth: Ethernet, frame: &'a [u8]) -> Lldp<'a> {
        let pdu = &frame[eth.len()..];
        Lldp { eth, pdu }
    }

    pub(crate) fn write(&self, mut put: impl FnMut(&[u8])) {
        self.eth.write(&mut put);
        put(self.pdu);
    }

    /// Bytes of the frame.
    #[expect(clippy::len_without_is_empty, reason = "a frame is never empty")]
    pub fn len(&self) -> usize {
        self.eth.len() + self.pdu.len()
    }

    /// The TLVs up to the end TLV, which is the last one given, or up to one that does not fit.
    pub fn tlvs(&self) -> Tlvs<'a> {
        Tlvs::new(self.pdu, self.eth.len())
    }
}
