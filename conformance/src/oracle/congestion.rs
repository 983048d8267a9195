//! Congestion notifications: what they look like, and that each answers a mark.

use rocespec_codec::{Ecn, Header, NakCode, Opcode, PKey, Roce, SyndromeClass, Transport};
use rocespec_reports::outcome::Level;

use super::{Breach, must};

/// A NAK that tells of a gap.
pub(crate) fn is_sequence_nak(packet: &Roce<'_>) -> bool {
    packet.bth.opcode.headers().contains(&Header::Aeth)
        && packet.ext.aeth.syndrome.class() == SyndromeClass::Nak(NakCode::PsnSequenceError)
}

/// The marks that a queue pair has met, and the CNPs that answered them.
#[derive(Debug, Clone, Default)]
pub(super) struct Congestion {
    /// Marked packets, each of which may have a CNP of its own.
    marks: u64,
    /// Requests behind a gap, and sequence NAKs: some devices send a CNP with such a NAK, before or behind it.
    behind_gaps: u64,
    naks: u64,
    /// Marked CNPs.
    marked_cnps: u64,
    cnps: u64,
    /// P_Key of the marked packets; more than one says nothing.
    pkeys: Vec<PKey>,
}

impl Congestion {
    /// A packet with a right ICRC has come.
    pub(super) fn received(&mut self, packet: &Roce<'_>, is_behind_a_gap: bool) {
        self.behind_gaps += u64::from(is_behind_a_gap);
        if packet.net.ecn() != Ecn::Ce {
            return;
        }
        if packet.bth.opcode.transport() == Transport::Cnp {
            self.marked_cnps += 1;
            return;
        }
        self.marks += 1;
        if self.pkeys.len() < 2 && !self.pkeys.contains(&packet.bth.pkey) {
            self.pkeys.push(packet.bth.pkey);
        }
    }

    /// A packet that is no CNP has left.
    pub(super) fn sent(&mut self, packet: &Roce<'_>) {
        self.naks += u64::from(is_sequence_nak(packet));
    }

    /// A CNP has left. `is_whole`: every mark has passed here. A capture may have been made before the switch that marks, or
    /// begun later.
    pub(super) fn sent_cnp(&mut self, packet: &Roce<'_>, is_whole: bool) -> Vec<Breach> {
        self.cnps += u64::from(is_whole);
        let mut breaches: Vec<Breach> = self.judge_fields(packet).into_iter().collect();
        if !packet.bth.becn {
            // rule: congestion.notification_point.cnp-becn
            breaches.push(Breach {
                rule: "congestion.notification_point.cnp-becn",
                level: Level::Should,
                expected: "becn".to_owned(),
                seen: "becn=0".to_owned(),
                why: "devices set BECN in a CNP",
            });
        }
        if is_whole {
            breaches.extend(self.judge_cause());
        }
        breaches
    }

    /// rule: congestion.notification_point.cnp-fields
    fn judge_fields(&self, packet: &Roce<'_>) -> Option<Breach> {
        let bth = &packet.bth;
        let pkey = if self.pkeys.len() == 1 { self.pkeys.first() } else { None };
        let right = bth.opcode == Opcode::CNP
            && (bth.psn.get(), bth.se, bth.migreq) == (0, false, false)
            && pkey.is_none_or(|pkey| *pkey == bth.pkey)
            && packet.payload.iter().all(|byte| *byte == 0);
        let expected = || match pkey {
            Some(pkey) => format!("CNP psn=@0 se=0 migreq=0 pkey={pkey} and 16 bytes of 0"),
            None => "CNP psn=@0 se=0 migreq=0 and 16 bytes of 0".to_owned(),
        };
        let seen = || {
            let flags = (u8::from(bth.se), u8::from(bth.migreq));
            let body = if packet.payload.iter().all(|byte| *byte == 0) { "0" } else { "other bytes" };
            let (psn, pkey) = (bth.psn.get(), bth.pkey);
            format!(
                "opcode {:#04x} psn=@{psn:#x} se={} migreq={} pkey={pkey} and {body}",
                bth.opcode.0, flags.0, flags.1
            )
        };
        let why = "the fields of a CNP are fixed, but for the queue pair that it names";
        (!right).then(|| must("congestion.notification_point.cnp-fields", expected(), seen(), why))
    }

    /// rule: congestion.notification_point.only-ce, congestion.notification_point.cnp-not-answered
    fn judge_cause(&self) -> Option<Breach> {
        // A gap that only the device has seen shows in its NAK alone.
        let causes = self.marks + self.behind_gaps.max(self.naks);
        if self.cnps <= causes {
            return None;
        }
        let (rule, level, why) = if self.cnps <= causes + self.marked_cnps {
            let why = "a mark on a CNP is not answered by another CNP";
            ("congestion.notification_point.cnp-not-answered", Level::Should, why)
        } else {
            ("congestion.notification_point.only-ce", Level::Must, "a CNP answers a mark of congestion")
        };
        let expected = format!("at most {causes} CNPs");
        Some(Breach { rule, level, expected, seen: format!("CNP number {}", self.cnps), why })
    }
}
