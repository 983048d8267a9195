//! Sequences in which the device sends: its software posts requests, and the tester answers rightly, wrongly or not.
//!
//! The device has no ACK timeout, so that nothing happens but what the tester brings about.

use super::{Dice, Setting};

/// Steps of a sequence before it ends by itself.
const MOST_STEPS: u64 = 7;
/// Size of the region that data comes back to, in bytes.
const REGION: u64 = 16384;

/// The scenario file of a sequence.
pub(super) fn script(seed: u64, number: u64) -> String {
    let mut dice = Dice::of(!seed, number);
    let setting = Setting::roll(&mut dice);
    let mut sequence = Sequence {
        dice,
        mtu: setting.mtu,
        psn: 0,
        msn: 0,
        flight: Vec::new(),
        lines: vec![format!("dut mr mr {REGION} local_write")],
        over: false,
    };
    sequence.make();
    setting.scenario("device", ", timeout = 0", &sequence.lines)
}

/// A request that is posted and not answered.
#[derive(Clone, Copy)]
struct Work {
    kind: Kind,
    psn: i64,
    packets: i64,
    len: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Send,
    Write,
    Read,
    Atomic,
}

struct Sequence {
    dice: Dice,
    mtu: u64,
    /// PSN of the next request.
    psn: i64,
    /// Messages that the tester has answered.
    msn: u32,
    flight: Vec<Work>,
    lines: Vec<String>,
    over: bool,
}

impl Sequence {
    fn make(&mut self) {
        self.post();
        for _ in 0..=self.dice.below(MOST_STEPS) {
            if self.over {
                break;
            }
            match (self.flight.first().copied(), self.dice.below(100)) {
                (None, _) | (_, 0..25) => self.post(),
                (Some(work), 25..65) => self.answer(work),
                (Some(work), 65..85) => self.harmless(work),
                (Some(work), _) => self.wrong(work),
            }
        }
        if !self.over && self.flight.is_empty() {
            self.post();
        }
        while let Some(work) = self.flight.first().copied().filter(|_| !self.over) {
            self.answer(work);
        }
    }

    fn look(&mut self) {
        self.lines.push("< one of".to_owned());
        self.lines.push("    nothing".to_owned());
    }

    fn say(&mut self, packet: &str, remark: &str) {
        self.lines.push(format!("> {packet}  # {remark}"));
    }

    fn post(&mut self) {
        let len = match self.dice.below(5) {
            0 => self.dice.below(2),
            1 => self.mtu * (1 + self.dice.below(3)),
            _ => 1 + self.dice.below(3 * self.mtu),
        };
        let packets = len.div_ceil(self.mtu).max(1) as i64;
        let at = self.dice.below((REGION - len) / 8) * 8;
        let fill = format!("{len}B={:02x}", self.dice.below(256));
        let imm = self.dice.below(1 << 32);
        let (kind, packets, text) = match self.dice.below(9) {
            0 | 1 => (Kind::Send, packets, format!("send {fill}")),
            2 => (Kind::Send, packets, format!("send {fill} imm={imm:#x} solicited")),
            3 | 4 => (Kind::Write, packets, format!("rdma_write {fill} va=tester+{at:#x}")),
            5 => (Kind::Write, packets, format!("rdma_write {fill} va=tester+{at:#x} imm={imm:#x}")),
            6 | 7 => (Kind::Read, packets, format!("rdma_read mr+{at:#x} {len} va=tester+{at:#x}")),
            _ => (Kind::Atomic, 1, format!("fetch_add mr+{at:#x} add={imm:#x} va=tester+{at:#x}")),
        };
        self.lines.push(format!("dut {text}"));
        self.flight.push(Work { kind, psn: self.psn, packets, len });
        self.psn += packets;
        self.look();
    }

    /// The oldest request gets its right answer, or several do by one ACK.
    fn answer(&mut self, work: Work) {
        self.flight.remove(0);
        self.msn += 1;
        match work.kind {
            Kind::Send | Kind::Write => {
                let mut last = work;
                while let Some(next) = self.flight.first().copied()
                    && matches!(next.kind, Kind::Send | Kind::Write)
                    && self.dice.percent(50)
                {
                    last = next;
                    self.flight.remove(0);
                    self.msn += 1;
                }
                let packet = format!("ACK psn={} msn={}", last.psn + last.packets - 1, self.msn);
                self.say(&packet, "ack");
            }
            Kind::Read => self.responses(work, 0, work.packets),
            Kind::Atomic => {
                let packet =
                    format!("ATOMIC_ACKNOWLEDGE psn={} msn={} original={:#x}", work.psn, self.msn, self.dice.roll());
                self.say(&packet, "ack");
            }
        }
        self.look();
    }

    /// Responses of a READ from one on, up to another.
    fn responses(&mut self, work: Work, first: i64, end: i64) {
        for at in first..end {
            let (name, aeth) = match (at == first, at == work.packets - 1) {
                (true, true) => ("ONLY", true),
                (true, false) => ("FIRST", true),
                (false, true) => ("LAST", true),
                (false, false) => ("MIDDLE", false),
            };
            let len = if at == work.packets - 1 { work.len - at as u64 * self.mtu } else { self.mtu };
            let msn = if aeth { format!(" msn={}", self.msn) } else { String::new() };
            let fill = self.dice.below(256);
            self.say(&format!("RDMA_READ_RESPONSE_{name} psn={}{msn} {len}B={fill:02x}", work.psn + at), "response");
        }
    }

    /// What makes the device send again, or changes nothing.
    fn harmless(&mut self, work: Work) {
        let (psn, msn) = (work.psn, self.msn);
        let inside = psn + self.dice.below(work.packets as u64) as i64;
        let plain = matches!(work.kind, Kind::Send | Kind::Write);
        match self.dice.below(8) {
            0..3 if plain => self.say(&format!("NAK psn={inside} msn={msn} code=psn_sequence_error"), "gap"),
            3 if plain => self.say(&format!("RNR_NAK psn={psn} msn={msn} timer=0.01ms"), "not-ready"),
            4 if plain && inside < psn + work.packets - 1 => self.say(&format!("ACK psn={inside} msn={msn}"), "part"),
            5 => self.say(&format!("ACK psn={} msn={msn} icrc=bad", psn + work.packets - 1), "bad-icrc"),
            6 => self.say(&format!("ACK psn={} msn={msn}", self.psn + 5), "ghost"),
            _ => self.say(&format!("ACK psn={} msn={msn}", psn - 1), "old"),
        }
        self.look();
    }

    /// What ends the connection.
    fn wrong(&mut self, work: Work) {
        let (psn, msn) = (work.psn, self.msn);
        let code = ["invalid_request", "remote_access_error", "remote_operational_error"][self.dice.pick(3)];
        match (work.kind, self.dice.below(4)) {
            (Kind::Read, 0) => {
                self.say(&format!("RDMA_READ_RESPONSE_LAST psn={psn} msn={} 4B", msn + 1), "wrong-order");
            }
            (Kind::Read, 1) => {
                let len = if work.packets > 1 { self.mtu } else { work.len + 4 };
                self.say(&format!("RDMA_READ_RESPONSE_ONLY psn={psn} msn={} {len}B", msn + 1), "wrong-length");
            }
            (Kind::Atomic, 0) => {
                self.say(&format!("RDMA_READ_RESPONSE_ONLY psn={psn} msn={} 8B", msn + 1), "wrong-kind");
            }
            _ => self.say(&format!("NAK psn={psn} msn={msn} code={code}"), "fatal"),
        }
        self.over = true;
        self.look();
    }
}
