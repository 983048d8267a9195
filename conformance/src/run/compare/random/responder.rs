//! Sequences in which the tester sends: right requests of every kind and size, and wrong ones, one packet at a time.

use super::{Dice, Setting};

/// Packets of a sequence before it ends by itself.
const MOST_STEPS: u64 = 8;
/// Size of the regions and of the receives, in bytes.
const REGION: u64 = 16384;
const RECEIVE: u64 = 4096;

/// The scenario file of a sequence.
pub(super) fn script(seed: u64, number: u64) -> String {
    let mut dice = Dice::of(seed, number);
    let setting = Setting::roll(&mut dice);
    let mut sequence = Sequence {
        dice,
        mtu: setting.mtu,
        psn: 0,
        receives: 0,
        message: None,
        executed: Vec::new(),
        lines: vec![
            format!("dut mr mr {REGION} remote_read remote_write remote_atomic"),
            format!("dut mr ro {REGION} remote_read"),
            format!("dut mr wo {REGION} remote_write"),
        ],
        put_off: false,
        in_parts: Vec::new(),
        over: false,
    };
    sequence.make();
    setting.scenario("tester", "", &sequence.lines)
}

/// A message that has begun and not ended.
#[derive(Clone, Copy)]
struct Begun {
    write: bool,
    /// Bytes to come.
    left: u64,
}

struct Sequence {
    dice: Dice,
    mtu: u64,
    /// PSN that the device expects.
    psn: i64,
    /// Receives that are posted and not taken.
    receives: u32,
    message: Option<Begun>,
    /// Packets that were executed, without their remarks.
    executed: Vec<(i64, String)>,
    lines: Vec<String>,
    /// The expected request was put off by an RNR NAK.
    put_off: bool,
    /// PSNs of READs of which a part was asked for again.
    in_parts: Vec<i64>,
    /// The connection is in error: nothing more will be answered.
    over: bool,
}

impl Sequence {
    fn make(&mut self) {
        let count = 1 + self.dice.below(6) as u32;
        self.post(count);
        for _ in 0..=self.dice.below(MOST_STEPS) {
            if self.over {
                break;
            }
            match self.dice.below(100) {
                0..60 => self.right(),
                60..80 => self.harmless(),
                _ => self.wrong(),
            }
        }
        // Is it silent after an error, and alive without one?
        if self.over {
            let fill = self.fill();
            self.say(format!("SEND_ONLY psn={} ack 16B={fill}", self.psn), "after-error");
            self.say(format!("RDMA_READ_REQUEST psn={} va=mr rkey=mr len=16", self.psn + 1), "after-error");
        } else {
            self.right();
        }
    }

    fn post(&mut self, count: u32) {
        self.lines.push(format!("dut recv {count} x {RECEIVE}"));
        self.receives += count;
    }

    /// Sends, and looks.
    fn say(&mut self, packet: String, remark: &str) {
        self.lines.push(format!("> {packet}  # {remark}"));
        self.lines.push("< one of".to_owned());
        self.lines.push("    nothing".to_owned());
    }

    /// A packet that is executed and takes so many PSNs.
    fn execute(&mut self, packet: &str, psns: u64, remark: &str) {
        let text = packet.replace("PSN", &self.psn.to_string());
        self.executed.push((self.psn, text.clone()));
        self.say(text, remark);
        self.put_off = false;
        self.psn += psns as i64;
    }

    /// A packet that ends the connection.
    fn fatal(&mut self, packet: &str, remark: &str) {
        self.say(packet.replace("PSN", &self.psn.to_string()), remark);
        self.over = true;
    }

    fn fill(&mut self) -> String {
        format!("{:02x}", self.dice.below(255) + 1)
    }

    fn ack(&mut self) -> &'static str {
        if self.dice.percent(80) { " ack" } else { "" }
    }

    /// A payload length of one packet: nothing, one byte, odd ones, the path MTU.
    fn length(&mut self) -> u64 {
        match self.dice.below(8) {
            0 => 0,
            1 => 1,
            2 => self.mtu,
            3 => self.mtu - 1,
            _ => 1 + self.dice.below(self.mtu),
        }
    }

    fn place(&mut self, len: u64) -> String {
        let offset = self.dice.below(REGION - len + 1);
        if offset == 0 { "mr".to_owned() } else { format!("mr+{offset:#x}") }
    }

    /// A bit of the header that changes nothing.
    fn ornament(&mut self) -> &'static str {
        match self.dice.below(20) {
            0 => " se",
            1 => " migreq",
            2 => " resv6=0x15",
            3 => " fecn",
            4 => " resv7=0x2a",
            _ => "",
        }
    }

    /// A receive is there for a message that needs one; else the device puts the message off.
    fn is_ready(&mut self, packet: &str) -> bool {
        if self.receives > 0 {
            self.receives -= 1;
            return true;
        }
        self.say(packet.replace("PSN", &self.psn.to_string()), "not-ready");
        self.put_off = true;
        if self.dice.percent(50) {
            self.say(format!("RDMA_WRITE_ONLY psn={} va=mr rkey=mr ack 8B=77", self.psn + 1), "behind-not-ready");
        }
        if self.dice.percent(70) {
            self.post(2);
            self.receives -= 1;
            return true;
        }
        false
    }

    /// The next packet of an exchange without faults.
    fn right(&mut self) {
        let (fill, ack, ornament) = (self.fill(), self.ack(), self.ornament());
        if let Some(begun) = self.message {
            return self.go_on(begun);
        }
        let len = self.length();
        match self.dice.below(11) {
            0 | 1 => {
                let packet = format!("SEND_ONLY psn=PSN{ack}{ornament} {len}B={fill}");
                if self.is_ready(&packet) {
                    self.execute(&packet, 1, "send");
                }
            }
            2 => {
                let packet = format!(
                    "SEND_ONLY_WITH_IMMEDIATE psn=PSN{ack}{ornament} imm={:#x} {len}B={fill}",
                    self.dice.below(1 << 32)
                );
                if self.is_ready(&packet) {
                    self.execute(&packet, 1, "send");
                }
            }
            3 | 4 => self.begin(),
            5 => {
                let va = self.place(len);
                self.execute(
                    &format!("RDMA_WRITE_ONLY psn=PSN va={va} rkey=mr{ack}{ornament} {len}B={fill}"),
                    1,
                    "write",
                );
            }
            6 => {
                let va = self.place(len);
                let packet = format!(
                    "RDMA_WRITE_ONLY_WITH_IMMEDIATE psn=PSN va={va} rkey=mr{ack}{ornament} imm={:#x} {len}B={fill}",
                    self.dice.below(1 << 32)
                );
                if self.is_ready(&packet) {
                    self.execute(&packet, 1, "write");
                }
            }
            7 | 8 => {
                let len = if self.dice.percent(10) { 0 } else { self.dice.below(4 * self.mtu) + 1 };
                let va = self.place(len);
                self.execute(
                    &format!("RDMA_READ_REQUEST psn=PSN va={va} rkey=mr len={len}{ornament}"),
                    len.div_ceil(self.mtu).max(1),
                    "read",
                );
            }
            9 => {
                let at = self.dice.below(REGION / 8) * 8;
                let (compare, swap) = (self.dice.below(2), self.dice.roll());
                self.execute(
                    &format!(
                        "COMPARE_SWAP psn=PSN va=mr+{at:#x} rkey=mr compare={compare:#x} swap={swap:#x}{ornament}"
                    ),
                    1,
                    "atomic",
                );
            }
            _ => {
                let at = self.dice.below(REGION / 8) * 8;
                let add = self.dice.roll();
                self.execute(&format!("FETCH_ADD psn=PSN va=mr+{at:#x} rkey=mr add={add:#x}{ornament}"), 1, "atomic");
            }
        }
    }

    /// Begins a message of several packets.
    fn begin(&mut self) {
        let (fill, ack, mtu) = (self.fill(), self.ack(), self.mtu);
        let len = mtu + 1 + self.dice.below(2 * mtu);
        if self.dice.percent(50) {
            let packet = format!("SEND_FIRST psn=PSN{ack} {mtu}B={fill}");
            if self.is_ready(&packet) {
                self.execute(&packet, 1, "first");
                self.message = Some(Begun { write: false, left: len - mtu });
            }
        } else {
            let va = self.place(len);
            self.execute(&format!("RDMA_WRITE_FIRST psn=PSN va={va} rkey=mr len={len}{ack} {mtu}B={fill}"), 1, "first");
            self.message = Some(Begun { write: true, left: len - mtu });
        }
    }

    fn go_on(&mut self, begun: Begun) {
        let (fill, ack, mtu) = (self.fill(), self.ack(), self.mtu);
        let name = if begun.write { "RDMA_WRITE" } else { "SEND" };
        if begun.left > mtu {
            self.execute(&format!("{name}_MIDDLE psn=PSN{ack} {mtu}B={fill}"), 1, "middle");
            self.message = Some(Begun { left: begun.left - mtu, ..begun });
        } else {
            self.execute(&format!("{name}_LAST psn=PSN{ack} {}B={fill}", begun.left), 1, "last");
            self.message = None;
        }
    }

    /// Something that does not change what the device expects.
    fn harmless(&mut self) {
        let (psn, fill) = (self.psn, self.fill());
        let ahead = 1 + self.dice.below(3) as i64;
        let gap = if self.put_off { "behind-not-ready" } else { "gap" };
        match self.dice.below(14) {
            0..4 if !self.executed.is_empty() => {
                let at = self.dice.pick(self.executed.len());
                let (psn, packet) = self.executed[at].clone();
                let remark = match (self.in_parts.contains(&psn), packet.contains(" len=0")) {
                    (true, _) => "duplicate again",
                    (_, true) => "duplicate zero",
                    _ => "duplicate",
                };
                self.say(packet, remark);
            }
            4 => self.part_of_a_read(),
            5 | 6 => self.say(format!("SEND_ONLY psn={} ack 8B={fill}", psn + ahead), gap),
            7 => self.say(format!("RDMA_READ_REQUEST psn={} va=mr rkey=mr len=8", psn + ahead), gap),
            8 => self.say(format!("SEND_ONLY psn={} ack 8B={fill}", psn + 0x7f_ffff), gap),
            9 => self.say(format!("ACK psn={} msn=0", psn - 1), "stray-response"),
            10 => self.say(format!("SEND_ONLY psn={psn} ack 8B={fill} icrc=bad"), "bad-icrc"),
            11 => self.say(format!("SEND_ONLY psn={psn} ack 8B={fill} tver=1"), "bad-tver"),
            12 => self.say(format!("SEND_ONLY psn={psn} ack 8B={fill} pkey=0x1234"), "bad-pkey"),
            _ => self.say(format!("UC_SEND_ONLY psn={psn} 8B={fill}"), "other-transport"),
        }
    }

    /// The retry of a READ from one of its later responses on.
    fn part_of_a_read(&mut self) {
        let mtu = self.mtu;
        let number = |text: &str, key: &str| {
            let word = text.split(' ').find_map(|word| word.strip_prefix(key))?;
            word.strip_prefix("mr+0x").map_or_else(
                || if word == "mr" { Some(0) } else { word.parse().ok() },
                |hex| u64::from_str_radix(hex, 16).ok(),
            )
        };
        let reads = self.executed.iter().rev().filter(|(_, text)| text.starts_with("RDMA_READ_REQUEST"));
        let found = reads
            .filter_map(|(psn, text)| Some((*psn, number(text, "va=")?, number(text, "len=")?)))
            .find(|(.., len)| *len > mtu);
        if let Some((psn, at, len)) = found {
            let skip = 1 + self.dice.below((len - 1) / mtu);
            let remark = if self.in_parts.contains(&psn) { "duplicate part again" } else { "duplicate part" };
            self.in_parts.push(psn);
            let (psn, at, len) = (psn + skip as i64, at + skip * mtu, len - skip * mtu);
            self.say(format!("RDMA_READ_REQUEST psn={psn} va=mr+{at:#x} rkey=mr len={len}"), remark);
        }
    }

    /// Something that ends the connection.
    fn wrong(&mut self) {
        let (fill, mtu) = (self.fill(), self.mtu);
        if let Some(begun) = self.message {
            let name = if begun.write { "RDMA_WRITE" } else { "SEND" };
            let other = if begun.write { "SEND" } else { "RDMA_WRITE" };
            return match self.dice.below(8) {
                0 => self.fatal(&format!("{name}_LAST psn=PSN ack"), "empty-last"),
                1 => self.fatal(&format!("{name}_MIDDLE psn=PSN ack {}B={fill}", mtu - 4), "short-middle"),
                2 => self.fatal(&format!("{name}_LAST psn=PSN ack {}B={fill}", mtu + 4), "long-last"),
                3 => self.fatal(&format!("{other}_LAST psn=PSN ack 8B={fill}"), "other-operation"),
                4 => self.fatal(&format!("SEND_ONLY psn=PSN ack 8B={fill}"), "only-inside"),
                5 => self.fatal("RDMA_READ_REQUEST psn=PSN va=mr rkey=mr len=8", "read-inside"),
                6 if begun.write => {
                    let len = if begun.left < 2 || self.dice.percent(50) && begun.left < mtu {
                        begun.left + 1
                    } else {
                        begun.left - 1
                    };
                    self.fatal(&format!("RDMA_WRITE_LAST psn=PSN ack {}B={fill}", len.clamp(1, mtu)), "write-total");
                }
                _ => self.fatal("FETCH_ADD psn=PSN va=mr rkey=mr add=0x1", "atomic-inside"),
            };
        }
        let needs_receive = |sequence: &mut Sequence| {
            if sequence.receives == 0 {
                sequence.post(1);
            }
        };
        match self.dice.below(20) {
            0 => {
                needs_receive(self);
                self.fatal(&format!("SEND_FIRST psn=PSN ack {}B={fill}", mtu - 4), "short-first");
            }
            1 => {
                let len = 2 * mtu;
                self.fatal(
                    &format!("RDMA_WRITE_FIRST psn=PSN va=mr rkey=mr len={len} ack {}B={fill}", mtu - 4),
                    "short-first",
                );
            }
            2 => {
                needs_receive(self);
                self.fatal(&format!("SEND_ONLY psn=PSN ack {}B={fill}", mtu + 4), "long-only");
            }
            3 => self.fatal(&format!("SEND_LAST psn=PSN ack 8B={fill}"), "last-without-first"),
            4 => self.fatal(&format!("RDMA_WRITE_MIDDLE psn=PSN ack {mtu}B={fill}"), "middle-without-first"),
            5 => {
                needs_receive(self);
                self.fatal(&format!("SEND_ONLY psn=PSN ack 13B={fill} pad=2"), "bad-pad");
            }
            6 => self.fatal(&format!("RDMA_WRITE_ONLY psn=PSN va=mr rkey=mr len=100 ack 64B={fill}"), "write-total"),
            7 => self.fatal(&format!("RDMA_WRITE_ONLY psn=PSN va=mr rkey=mr+1 ack 64B={fill}"), "bad-key"),
            8 => self.fatal("RDMA_READ_REQUEST psn=PSN va=mr rkey=0x12345678 len=64", "bad-key"),
            9 => self.fatal(&format!("RDMA_WRITE_ONLY psn=PSN va=ro rkey=ro ack 64B={fill}"), "no-right"),
            10 => self.fatal("RDMA_READ_REQUEST psn=PSN va=wo rkey=wo len=64", "no-right"),
            11 => self.fatal("FETCH_ADD psn=PSN va=ro rkey=ro add=0x1", "no-right"),
            12 => self
                .fatal(&format!("RDMA_WRITE_ONLY psn=PSN va=mr+{:#x} rkey=mr ack 64B={fill}", REGION - 63), "beyond"),
            13 => self.fatal(&format!("RDMA_READ_REQUEST psn=PSN va=mr-1 rkey=mr len={mtu}"), "beyond"),
            14 => self.fatal("RDMA_READ_REQUEST psn=PSN va=0xfffffffffffffff0 rkey=mr len=64", "wrapping"),
            15 => self.fatal("RDMA_READ_REQUEST psn=PSN va=mr rkey=mr len=0x80000001", "huge"),
            16 => self.fatal("COMPARE_SWAP psn=PSN va=mr+0x4 rkey=mr compare=0x0 swap=0x1", "misaligned"),
            17 => {
                let opcode = [0x15, 0x18, 0x19, 0x1a, 0x1b, 0x1e, 0x1f][self.dice.pick(7)];
                self.fatal(&format!("OP_{opcode:#04x} psn=PSN ack 8B={fill}"), "reserved-opcode");
            }
            18 => {
                needs_receive(self);
                self.fatal(
                    &format!("SEND_ONLY_WITH_INVALIDATE psn=PSN ack inv=0x12345600 8B={fill}"),
                    "bad-invalidate",
                );
            }
            _ => self.long_message(&fill),
        }
    }

    /// A SEND that is longer than its receive.
    fn long_message(&mut self, fill: &str) {
        if self.receives == 0 {
            self.post(1);
        }
        let mtu = self.mtu;
        let packets = RECEIVE / mtu;
        self.execute(&format!("SEND_FIRST psn=PSN {mtu}B={fill}"), 1, "first");
        for _ in 1..packets {
            self.execute(&format!("SEND_MIDDLE psn=PSN {mtu}B={fill}"), 1, "middle");
        }
        self.fatal(&format!("SEND_LAST psn=PSN ack 4B={fill}"), "long-message");
    }
}
