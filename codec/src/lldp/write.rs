//! LLDP frames to bytes, TLV by TLV.

use arrayvec::ArrayVec;

use super::cee::{self, Cee, CeeApplication, CeeFeature};
use super::dcbx::{APPLICATIONS, Application, ETS_CONFIGURATION, ETS_RECOMMENDATION, Ets, OUI_802_1, PFC};
use super::dcbx::{Dcbx, PfcConfiguration};
use super::{ETHERTYPE_LLDP, LLDP_DESTINATION};
use crate::error::EncodeError;
use crate::eth::{Ethernet, MacAddr};

/// Writes a frame into a caller's buffer. Every step fails, and writes nothing, when the buffer is too short.
#[derive(Debug)]
pub struct Writer<'b> {
    buffer: &'b mut [u8],
    at: usize,
    /// Not even the Ethernet header fits.
    missing: bool,
}

impl<'b> Writer<'b> {
    /// Begins with the Ethernet header.
    pub fn new(buffer: &'b mut [u8], src: MacAddr) -> Self {
        let eth = Ethernet { dst: LLDP_DESTINATION, src, tags: ArrayVec::new(), ethertype: ETHERTYPE_LLDP };
        let mut writer = Writer { buffer, at: 0, missing: false };
        if writer.buffer.len() < eth.len() {
            writer.missing = true;
        } else {
            eth.write(|bytes| writer.put(bytes));
        }
        writer
    }

    /// What is written so far; empty when not even the Ethernet header fits.
    pub fn frame(&self) -> &[u8] {
        &self.buffer[..self.at]
    }

    fn put(&mut self, bytes: &[u8]) {
        self.buffer[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }

    /// A TLV whose value is written in pieces.
    ///
    /// # Errors
    /// When it does not fit, or its value is longer than 511 bytes: then [`EncodeError::available`] is 511.
    pub fn tlv(&mut self, kind: u8, value: &[&[u8]]) -> Result<&mut Self, EncodeError> {
        let len: usize = value.iter().map(|piece| piece.len()).sum();
        if len > 0x1ff {
            return Err(EncodeError { needed: len, available: 0x1ff });
        }
        let (needed, available) = (self.at + 2 + len, self.buffer.len());
        if self.missing || needed > available {
            return Err(EncodeError { needed, available });
        }
        self.put(&(u16::from(kind & 0x7f) << 9 | len as u16).to_be_bytes());
        value.iter().for_each(|piece| self.put(piece));
        Ok(self)
    }

    /// The three TLVs that every frame begins with: the device by its MAC address, the port by a local name, and for how
    /// many seconds this holds.
    ///
    /// # Errors
    /// As [`Writer::tlv`].
    pub fn identity(&mut self, device: MacAddr, port: &str, seconds: u16) -> Result<&mut Self, EncodeError> {
        self.tlv(1, &[&[4], &device.0])?.tlv(2, &[&[7], port.as_bytes()])?.tlv(3, &[&seconds.to_be_bytes()])
    }

    /// A TLV of an organisation.
    ///
    /// # Errors
    /// As [`Writer::tlv`].
    pub fn organization(&mut self, oui: [u8; 3], subtype: u8, info: &[u8]) -> Result<&mut Self, EncodeError> {
        self.tlv(127, &[&oui, &[subtype], info])
    }

    /// An ETS configuration.
    ///
    /// # Errors
    /// As [`Writer::tlv`].
    pub fn ets_configuration(&mut self, ets: Ets) -> Result<&mut Self, EncodeError> {
        self.organization(OUI_802_1, ETS_CONFIGURATION, &ets.bytes())
    }

    /// An ETS recommendation.
    ///
    /// # Errors
    /// As [`Writer::tlv`].
    pub fn ets_recommendation(&mut self, ets: Ets) -> Result<&mut Self, EncodeError> {
        self.organization(OUI_802_1, ETS_RECOMMENDATION, &ets.bytes())
    }

    /// A PFC configuration.
    ///
    /// # Errors
    /// As [`Writer::tlv`].
    pub fn pfc(&mut self, pfc: PfcConfiguration) -> Result<&mut Self, EncodeError> {
        self.organization(OUI_802_1, PFC, &pfc.bytes())
    }

    /// A table of applications: at most 168 of them.
    ///
    /// # Errors
    /// As [`Writer::tlv`].
    pub fn applications(&mut self, table: &[Application]) -> Result<&mut Self, EncodeError> {
        let mut info = ArrayVec::<u8, 507>::new();
        let too_long = EncodeError { needed: 5 + 3 * table.len(), available: 0x1ff };
        info.push(0);
        for application in table {
            info.try_extend_from_slice(&application.bytes()).map_err(|_| too_long)?;
        }
        self.organization(OUI_802_1, APPLICATIONS, &info)
    }

    /// What was read, as it was.
    ///
    /// # Errors
    /// As [`Writer::tlv`].
    pub fn dcbx(&mut self, dcbx: &Dcbx<'_>) -> Result<&mut Self, EncodeError> {
        match dcbx {
            Dcbx::EtsConfiguration(ets) => self.ets_configuration(*ets),
            Dcbx::EtsRecommendation(ets) => self.ets_recommendation(*ets),
            Dcbx::Pfc(pfc) => self.pfc(*pfc),
            Dcbx::Applications(table) => self.tlv(127, &[&OUI_802_1, &[APPLICATIONS, table.reserved], table.table()]),
            Dcbx::Cee(inside) => self.organization(cee::OUI, cee::SUBTYPE, inside.bytes()),
        }
    }

    /// The older form: one TLV with all of `inside`.
    ///
    /// # Errors
    /// As [`Writer::tlv`].
    pub fn cee(&mut self, inside: &[Cee<'_>]) -> Result<&mut Self, EncodeError> {
        let mut info = ArrayVec::<u8, 507>::new();
        let mut needed = 4;
        for cee in inside {
            let mut value = ArrayVec::<u8, 507>::new();
            let mut len = 0;
            let kind = cee.pieces(&mut |bytes| {
                len += bytes.len();
                // What does not fit is told by its length.
                let _ = value.try_extend_from_slice(bytes);
            });
            needed += 2 + len;
            let header = u16::from(kind & 0x7f) << 9 | len as u16 & 0x1ff;
            let fits = value.len() == len
                && info.try_extend_from_slice(&header.to_be_bytes()).is_ok()
                && info.try_extend_from_slice(&value).is_ok();
            if !fits {
                return Err(EncodeError { needed, available: 0x1ff });
            }
        }
        self.organization(cee::OUI, cee::SUBTYPE, &info)
    }

    /// An application table in the older form, for [`Writer::cee`]: the bytes of its TLV go to `buffer`, 6 for each entry
    /// and 4 more.
    ///
    /// # Errors
    /// When `buffer` is too short.
    pub fn cee_applications<'t>(
        feature: CeeFeature,
        table: &[CeeApplication],
        buffer: &'t mut [u8],
    ) -> Result<Cee<'t>, EncodeError> {
        let (needed, available) = (4 + 6 * table.len(), buffer.len());
        let bytes = buffer.get_mut(..needed).ok_or(EncodeError { needed, available })?;
        bytes[..4].copy_from_slice(&feature.bytes());
        for (place, application) in bytes[4..].chunks_exact_mut(6).zip(table) {
            place.copy_from_slice(&application.bytes());
        }
        Ok(Cee::of(4, bytes))
    }

    /// The end TLV, and zeroes up to 60 bytes of frame.
    ///
    /// # Errors
    /// As [`Writer::tlv`].
    pub fn end(&mut self) -> Result<&mut Self, EncodeError> {
        let (needed, available) = ((self.at + 2).max(crate::MIN_FRAME), self.buffer.len());
        if self.missing || needed > available {
            return Err(EncodeError { needed, available });
        }
        self.buffer[self.at..needed].fill(0);
        self.at = needed;
        Ok(self)
    }
}
