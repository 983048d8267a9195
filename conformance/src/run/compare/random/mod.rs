//! Sequences made from a seed: what nobody would think of writing down.
//!
//! A sequence is the text of a scenario, so that one which shows something can be kept. The remark at each packet says what
//! it is; explanations refer to it.

mod requester;
mod responder;

use std::fmt::Write as _;

/// What ids of sequences begin with in which the tester sends requests: `random/17`.
pub const RESPONDER: &str = "random/";
/// What ids of sequences begin with in which the device sends requests: `random-requester/17`.
pub const REQUESTER: &str = "random-requester/";

/// True for the id of a made sequence, or what looks like one.
pub fn is_made(id: &str) -> bool {
    id.starts_with(RESPONDER) || id.starts_with(REQUESTER)
}

/// The scenario file of the sequence that an id names; `None` where it names none.
pub fn script(seed: u64, id: &str) -> Option<String> {
    match (id.strip_prefix(RESPONDER), id.strip_prefix(REQUESTER)) {
        (Some(number), _) => Some(responder::script(seed, number.parse().ok()?)),
        (_, Some(number)) => Some(requester::script(seed, number.parse().ok()?)),
        (None, None) => None,
    }
}

/// The connection of a sequence.
struct Setting {
    start_psn: u64,
    ip: &'static str,
    /// A path MTU that every device has.
    mtu: u64,
}

impl Setting {
    fn roll(dice: &mut Dice) -> Setting {
        let start_psn = [0, 0x7f_fffe, 0xff_fffe, dice.below(1 << 24)][dice.pick(4)];
        Setting { start_psn, ip: ["v4", "v6"][dice.pick(2)], mtu: [256, 512, 1024][dice.pick(3)] }
    }

    /// A scenario file with these lines as its script.
    fn scenario(&self, sender: &str, more_setup: &str, lines: &[String]) -> String {
        let Setting { start_psn, ip, mtu } = self;
        let mut text = format!(
            "title = \"A made sequence in which the {sender} sends\"\nabout = \"Made from a seed.\"\nlevel = \"info\"\n\
             rules = [\"rc.responder.ack\"]\nneeds = [\"rc\", \"atomic\", \"rnr\", \"go-back-n\", \"send_invalidate\"]\n\
             setup = {{ start_psn = {start_psn:#x}, ip = \"{ip}\", mtu = {mtu}{more_setup} }}\n\nscript = '''\n"
        );
        for line in lines {
            let _ = writeln!(text, "{line}");
        }
        text + "'''\n"
    }
}

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn of(seed: u64, number: u64) -> Dice {
        Dice(seed ^ number.wrapping_mul(0xd134_2543_de82_ef95))
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut random = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        random = (random ^ random >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        random ^ random >> 31
    }

    /// 0 to `end` - 1.
    fn below(&mut self, end: u64) -> u64 {
        self.roll() % end.max(1)
    }

    fn pick(&mut self, count: usize) -> usize {
        self.below(count as u64) as usize
    }

    fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sequence_is_a_scenario_and_the_same_each_time() {
        for prefix in [RESPONDER, REQUESTER] {
            for number in 0..300 {
                let id = format!("{prefix}{number}");
                let text = script(7, &id).unwrap();
                assert_eq!(Some(&text), script(7, &id).as_ref());
                if let Err(problems) = crate::scenario::parse("made.toml", &id, &text) {
                    panic!("{problems}\n{text}");
                }
            }
            assert_ne!(script(7, &format!("{prefix}0")), script(8, &format!("{prefix}0")));
        }
        assert_eq!(script(7, "random/x"), None);
        assert_eq!(script(7, "rc/responder/send"), None);
    }
}
