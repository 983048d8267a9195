//! The fields of a frame that could be read in part.

use super::Lax;
use crate::ext::Header;
use crate::field::{FIELDS, Kind, Value, Visit, Walk};
use crate::frame::Roce;

impl Walk for Lax<'_> {
    /// The fields that could be read. Those of a RoCE packet come in the order of [`FIELDS`], whether it is whole or not.
    fn walk(&self, visit: &mut Visit<'_>) {
        if let (Some(eth), Some(net), Some(bth)) = (&self.eth, self.net, self.bth) {
            let packet = Roce {
                eth: eth.clone(),
                net,
                udp: self.udp,
                bth,
                ext: self.ext,
                payload: self.payload,
                pad: self.pad,
                icrc: self.icrc.unwrap_or(0),
                trailer: self.trailer,
            };
            let unread = &bth.opcode.headers()[self.headers().len()..];
            for field in FIELDS {
                let is_unread = unread.iter().any(|header| names(*header).contains(&field.name))
                    || field.name == "icrc" && self.icrc.is_none()
                    || ["data", "pad.data"].contains(&field.name) && !unread.is_empty();
                if let Some(value) = (field.get)(&packet).filter(|_| !is_unread) {
                    visit(field.name, field.kind, value);
                }
            }
        } else if let Some(other) = &self.other {
            other.walk(visit);
        } else {
            if let Some(eth) = &self.eth {
                eth.walk(visit);
            }
            if let Some(net) = &self.net {
                net.walk(visit);
            }
            if let Some(udp) = self.udp {
                udp.walk(visit);
            }
        }
        if !self.unread.is_empty() {
            visit("unread", Kind::Bytes, Value::Bytes(self.unread));
        }
    }
}

/// The fields that a header has in [`FIELDS`].
fn names(header: Header) -> &'static [&'static str] {
    match header {
        Header::Rdeth => &["ee", "rdeth.resv"],
        Header::Deth => &["qkey", "src_qp", "deth.resv"],
        Header::XrcEth => &["srqn", "xrceth.resv"],
        Header::Feth => &["flush.plt", "flush.sel", "feth.resv"],
        Header::Reth => &["va", "rkey", "len"],
        Header::AtomicEth => &["va", "rkey", "swap", "add", "compare"],
        Header::Aeth => &["msn", "credits", "timer", "code", "syndrome"],
        Header::AtomicAckEth => &["original"],
        Header::ImmDt => &["imm"],
        Header::Ieth => &["inv"],
    }
}
