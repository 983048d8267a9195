//! What a sweep held still, in words.

use std::time::Duration;

use rocespec_model::SendOperation;
use rocespec_reports::sweep::{Fact, What};

use super::quantity::{bytes_text, speed_text};
use crate::duration;
use crate::sweep::{Axis, Setting, Settings};

/// The settings that have a part in what is measured, name and value. What tells curves apart stands in their names.
pub(super) fn of(axis: &Axis, settings: &[Setting], (seed, runs): (u64, u32), is_model: bool) -> Vec<Fact> {
    let Some(Setting { settings: first, .. }) = settings.first() else { return Vec::new() };
    let what = axis.what();
    let is_incast = what == What::Incast;
    let mut facts = Facts(Vec::new());
    let all = |same: fn(&Settings, &Settings) -> bool| settings.iter().all(|setting| same(first, &setting.settings));
    if is_model {
        facts.add("link", speed_text(first.speed));
        facts.add("round trip", duration::text(first.round_trip));
    }
    facts.add("path MTU", first.mtu.bytes().to_string());
    facts.add("operation", operation(first.operation).to_owned());
    if all(|one, other| one.message == other.message) {
        facts.add("message", bytes_text(first.message.into()));
    }
    facts.add("messages posted at once", first.outstanding.to_string());
    if is_model && all(|one, other| one.window == other.window) {
        facts.add("packets in flight at most", first.window.to_string());
    }
    if all(|one, other| one.ack_timeout == other.ack_timeout) {
        facts.add("ACK timeout", timeout(first, is_model));
    }
    if what == What::Reorder {
        facts.add("overtaken by at most", first.depth.to_string());
    }
    if is_incast {
        congestion(&mut facts, settings, first);
    }
    if let Some(dcqcn) = settings.iter().find_map(|setting| setting.settings.dcqcn) {
        let times = format!("K {}, T {}", duration::text(dcqcn.alpha_timer), duration::text(dcqcn.rate_timer));
        let rise = format!("{} Mb/s", dcqcn.additive_increase / 1_000_000);
        let byte_counter = bytes_text(dcqcn.byte_counter);
        facts.add("DCQCN", format!("g {}/1024, {times}, B {byte_counter}, R_AI {rise}", dcqcn.gain));
    }
    match (is_incast, is_model) {
        (true, _) => facts.add("run", format!("{}, its first quarter not counted", short(first.duration))),
        (_, true) if all(|one, other| one.message == other.message) => {
            facts.add(
                "run",
                format!("{} messages, {} packets", first.messages(), first.messages() * first.packets_of_message()),
            );
        }
        (_, true) => facts.add("run", format!("messages of {} packets in sum", first.packets)),
        (_, false) => facts.add("run", short(first.duration)),
    }
    facts.add("runs of each value", format!("{runs}, seeds from {seed} on"));
    facts.0
}

fn congestion(facts: &mut Facts, settings: &[Setting], first: &Settings) {
    let ecn = first.ecn;
    let share = f64::from(ecn.most.get()) / 1e4;
    let (min, max) = (bytes_text(ecn.min as u64), bytes_text(ecn.max as u64));
    facts.add("ECN", format!("Kmin {min}, Kmax {max}, Pmax {share} %"));
    if let Some(pfc) = settings.iter().find_map(|setting| setting.settings.pfc) {
        let (xoff, xon) = (bytes_text(pfc.xoff as u64), bytes_text(pfc.xon as u64));
        facts.add("PFC", format!("xoff {xoff}, xon {xon} of each sender"));
    }
    facts.add("queue", bytes_text(first.queue as u64));
}

fn operation(operation: SendOperation) -> &'static str {
    match operation {
        SendOperation::Send => "SEND",
        SendOperation::RdmaRead => "RDMA READ",
        _ => "RDMA WRITE",
    }
}

/// The code, and what it comes to: the model waits as long as its policy says, of a device the least is known.
fn timeout(settings: &Settings, is_model: bool) -> String {
    let code = settings.ack_timeout;
    match settings.timeout() {
        None => "none".to_owned(),
        Some(time) if is_model => format!("code {code}, {}", short(time)),
        Some(_) => format!("code {code}, {} at least", short(rocespec_codec::mad::timeout(code))),
    }
}

/// A time with three digits.
fn short(time: Duration) -> String {
    let (unit, size) = match time.as_nanos() {
        1_000_000_000.. => ("s", 1e9),
        1_000_000.. => ("ms", 1e6),
        _ => ("us", 1e3),
    };
    let value = time.as_nanos() as f64 / size;
    let digits = if value >= 100.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {unit}")
}

struct Facts(Vec<Fact>);

impl Facts {
    fn add(&mut self, name: &str, value: String) {
        self.0.push(Fact { name: name.to_owned(), value });
    }
}
