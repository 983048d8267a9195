//! `rocespec pair A B --sweep`: the part of `rocespec pair` that measures.

mod facts;
mod quantity;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail};
use clap::ValueEnum;
use rocespec_codec::Mtu;
use rocespec_model::{LinkSpeed, Policy, SendOperation};
use rocespec_reports::sweep::{Sweep, What};
use rocespec_reports::{folder, terminal};

use super::run::{command, print, progress, take_folder};
use super::{Outcome, output, stop};
use crate::dut::{Dut, Emulator};
use crate::link::{EcnMarking, Rate};
use crate::sweep::{Axis, DCQCN, PFC, Setting, Settings, Value, Watch, between, curves};
use quantity::{bytes, speed, time};

/// What is measured, and with what. Options of sweeps alone; all have a default that is named in the result.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Sweeps")]
#[group(skip)]
pub(super) struct Args {
    /// Measure instead of judging: goodput from A to B against what is changed step by step. `loss=0,1e-5,0.1%,1e-2` is the
    /// share of frames that are lost, both ways; `reorder=…` that of frames that arrive behind later ones; `ce=…` that of
    /// packets marked as having met congestion, without and with DCQCN; `incast=1,2,4,8` are senders to one receiver
    /// through a switch, without and with DCQCN and PFC. Emulators run in virtual time, which repeats to the bit. See
    /// docs/sweeps.md.
    #[arg(long, value_name = "WHAT=VALUES", conflicts_with_all = ["matrix", "all", "jobs", "counters", "strict"])]
    pub(super) sweep: Option<Axis>,

    /// Speed of the links, 1M to 1600G. Emulators only.
    #[arg(long, value_name = "SPEED", default_value = "100G", value_parser = speed, requires = "sweep")]
    speed: LinkSpeed,

    /// Round trip of a bit and its answer, without what whole frames take, 1us to 1s. Emulators only.
    #[arg(long, value_name = "TIME", default_value = "10us", value_parser = time, requires = "sweep")]
    round_trip: Duration,

    /// Path MTU: 256, 512, 1024, 2048 or 4096.
    #[arg(long, value_name = "BYTES", default_value = "1024", value_parser = mtu, requires = "sweep")]
    mtu: Mtu,

    /// What the messages are, where both devices are emulators and no incast is measured; otherwise it is WRITE.
    #[arg(long, value_enum, default_value = "write", requires = "sweep")]
    operation: Operation,

    /// Bytes of a message: 64KiB, 1MiB, 5KB. Several, with commas, make a curve each. Default: 1MiB, of incast and real
    /// devices 64KiB.
    #[arg(long, value_name = "BYTES", value_delimiter = ',', value_parser = bytes, requires = "sweep")]
    message: Vec<u32>,

    /// Messages that are posted at once, 1 to 64. Default: 4, of real devices 16.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=64), requires = "sweep")]
    outstanding: Option<u32>,

    /// Packets in flight at most. Several make a curve each. Default: 1024, or what the policy of A says. Emulators only.
    #[arg(long, value_name = "PACKETS", value_delimiter = ',', requires = "sweep",
          value_parser = clap::value_parser!(u32).range(1..=0x7f_ffff))]
    window: Vec<u32>,

    /// Local ACK timeout code: 4.096us * 2^code, 0 is none. Several make a curve each.
    #[arg(long, value_name = "CODE", value_delimiter = ',', default_value = "14", requires = "sweep",
          value_parser = clap::value_parser!(u8).range(0..=31))]
    ack_timeout: Vec<u8>,

    /// Behind how many others a frame may fall, of `reorder`.
    #[arg(long, value_name = "FRAMES", default_value_t = 8, requires = "sweep",
          value_parser = clap::value_parser!(u32).range(1..=64))]
    depth: u32,

    /// Runs of each value, with seeds that follow each other from --seed on. Default: 5, of incast and real devices 3.
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=100), requires = "sweep")]
    runs: Option<u32>,

    /// Packets that the messages of a run need, of loss, reorder and ce on emulators.
    #[arg(long, value_name = "PACKETS", default_value_t = 200_000, requires = "sweep",
          value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    packets: u64,

    /// Length of a run of incast, whose first quarter is not counted, and of real devices. Default: 20ms and 3s.
    #[arg(long, value_name = "TIME", value_parser = time, requires = "sweep")]
    duration: Option<Duration>,

    /// DCQCN, of ce and incast.
    #[arg(long, value_enum, default_value = "both", requires = "sweep")]
    dcqcn: Switched,

    /// Priority flow control, of incast.
    #[arg(long, value_enum, default_value = "both", requires = "sweep")]
    pfc: Switched,

    /// Queue that is marked never, of incast.
    #[arg(long, value_name = "BYTES", default_value = "5KB", value_parser = bytes, requires = "sweep")]
    kmin: u32,

    /// Queue that is marked always, of incast.
    #[arg(long, value_name = "BYTES", default_value = "200KB", value_parser = bytes, requires = "sweep")]
    kmax: u32,

    /// Share that is marked just below --kmax, of incast.
    #[arg(long, value_name = "SHARE", default_value = "1%", requires = "sweep")]
    pmax: Rate,

    /// What of one sender may lie in the switch before it is asked to pause, of incast.
    #[arg(long, value_name = "BYTES", default_value = "100KB", value_parser = bytes, requires = "sweep")]
    xoff: u32,

    /// At which it may go on.
    #[arg(long, value_name = "BYTES", default_value = "50KB", value_parser = bytes, requires = "sweep")]
    xon: u32,

    /// Room of each queue of the switch, of incast.
    #[arg(long, value_name = "BYTES", default_value = "6MB", value_parser = bytes, requires = "sweep")]
    queue: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Operation {
    Send,
    Write,
    Read,
}

/// What is measured without, with, or both for comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switched {
    Off,
    On,
    Both,
}

impl Switched {
    fn values(self) -> &'static [bool] {
        match self {
            Switched::Off => &[false],
            Switched::On => &[true],
            Switched::Both => &[false, true],
        }
    }
}

fn mtu(text: &str) -> Result<Mtu, String> {
    let found = Mtu::ALL.iter().find(|mtu| mtu.bytes().to_string() == text);
    found.copied().ok_or_else(|| "take 256, 512, 1024, 2048 or 4096".to_owned())
}

/// The devices, and what else `rocespec pair` knows.
pub(super) struct Pair<'p> {
    pub(super) names: [&'p str; 2],
    pub(super) seed: u64,
    pub(super) report: &'p Path,
    pub(super) verbose: bool,
}

/// Two devices that were started.
type Started = [Box<dyn Dut>; 2];

/// Makes the sweep and writes its report. `start` starts the devices, where they are not both emulators.
pub(super) fn run(
    args: &Args,
    axis: &Axis,
    pair: &Pair<'_>,
    start: impl FnOnce() -> anyhow::Result<Started>,
) -> Outcome {
    let is_model = pair.names.iter().all(|name| is_emulator(name));
    let usual = args.usual(axis, pair.names, is_model)?;
    let settings = args.settings(axis, &usual, is_model)?;
    let runs = args.runs.unwrap_or(if is_model && !is_incast(axis) { 5 } else { 3 });
    let _lock = take_folder(pair.report)?;
    stop::on_signals();
    let bar = progress(axis.values().len() * settings.len() * runs as usize, "runs");
    let watch = Watch { stop: &stop::asked, done: &|| bar.inc(1) };
    let devices = pair.names.map(str::to_owned);
    let facts = facts::of(axis, &settings, (pair.seed, runs), is_model);
    let mut sweep = if is_model {
        curves(axis, &settings, pair.seed, runs, devices, &watch)
    } else {
        let [setting] = &settings[..] else {
            bail!("real devices are measured in one setting: name one message, window and ACK timeout");
        };
        let [mut a, mut b] = start()?;
        between([&mut *a, &mut *b], axis, setting.clone(), pair.seed, runs, devices, &watch)?
    };
    bar.finish_and_clear();
    (sweep.command, sweep.setting) = (command(), facts);
    folder::write_sweep(&sweep, pair.report).with_context(|| format!("cannot write to {}", pair.report.display()))?;
    tell(&sweep, pair)?;
    // Goodput is no verdict; a rule that is broken is.
    Ok(u8::from(!sweep.findings.is_empty()))
}

fn tell(sweep: &Sweep, pair: &Pair<'_>) -> anyhow::Result<()> {
    let mut text = terminal::sweep(sweep, &output::style(pair.verbose));
    text.push_str(&format!("The report is in {}.\n", pair.report.display()));
    print(&mut std::io::stdout().lock(), &text)
}

/// Whether an option has a part in a sweep of this, on emulators or not.
type HasPart = fn(What, bool) -> bool;

/// Options that have a part in some sweeps alone: of which, in words, and whether this is one.
const PARTS: [(&str, &str, HasPart); 14] = [
    ("speed", "sweeps of emulators", |_, is_model| is_model),
    ("round_trip", "sweeps of emulators", |_, is_model| is_model),
    ("window", "sweeps of emulators", |_, is_model| is_model),
    ("depth", "reorder", |what, _| what == What::Reorder),
    ("packets", "loss, reorder and ce on emulators", |what, is_model| is_model && what != What::Incast),
    ("duration", "incast and of real devices", |what, is_model| !is_model || what == What::Incast),
    ("dcqcn", "ce on emulators and incast", |what, is_model| is_model && what == What::Ce || what == What::Incast),
    ("pfc", "incast", |what, _| what == What::Incast),
    ("kmin", "incast", |what, _| what == What::Incast),
    ("kmax", "incast", |what, _| what == What::Incast),
    ("pmax", "incast", |what, _| what == What::Incast),
    ("xoff", "incast", |what, _| what == What::Incast),
    ("xon", "incast", |what, _| what == What::Incast),
    ("queue", "incast", |what, _| what == What::Incast),
];

/// An option that this sweep has no use for is a mistake: the result would not be what was asked for.
pub(super) fn refuse_others(axis: &Axis, devices: &[String], is_given: &dyn Fn(&str) -> bool) -> anyhow::Result<()> {
    let is_model = devices.iter().all(|name| is_emulator(name));
    for (option, of, has_part) in PARTS {
        if is_given(option) && !has_part(axis.what(), is_model) {
            bail!("--{} is an option of {of}; this sweep has no use for it", option.replace('_', "-"));
        }
    }
    Ok(())
}

fn is_emulator(name: &str) -> bool {
    name.split(':').next() == Some("emulator")
}

fn is_incast(axis: &Axis) -> bool {
    matches!(axis, Axis::Incast(_))
}

impl Args {
    /// What all curves have in common.
    fn usual(&self, axis: &Axis, names: [&str; 2], is_model: bool) -> anyhow::Result<Settings> {
        let shortest = Duration::from_micros(1);
        if self.round_trip < shortest || self.round_trip > Duration::from_secs(1) {
            bail!("--round-trip is out of range; take 1us to 1s");
        }
        if self.kmin > self.kmax {
            bail!("--kmin is above --kmax: a queue is marked never up to the one, always above the other");
        }
        if self.xon > self.xoff {
            bail!("--xon is above --xoff: a sender is let go at the one, and held at the other");
        }
        let longest = Duration::from_secs(if is_model { 1 } else { 600 });
        let duration =
            self.duration.unwrap_or(if is_model { Duration::from_millis(20) } else { Duration::from_secs(3) });
        if duration < Duration::from_millis(1) || duration > longest {
            bail!("--duration is out of range; take 1ms to {longest:?}");
        }
        let mut behaviours = [(Policy::PLAIN, rocespec_model::Defects::NONE); 2];
        if is_model {
            for (name, behaviour) in names.iter().zip(&mut behaviours) {
                *behaviour = Emulator::behaviours(name.split_once(':').map_or("", |(_, rest)| rest))?;
            }
        }
        let long = is_model && !is_incast(axis);
        Ok(Settings {
            speed: self.speed,
            round_trip: self.round_trip,
            mtu: self.mtu,
            operation: match self.operation {
                Operation::Write => SendOperation::RdmaWrite,
                Operation::Send if long => SendOperation::Send,
                Operation::Read if long => SendOperation::RdmaRead,
                _ => bail!("--operation is for loss, reorder and ce on emulators; here it is WRITE"),
            },
            message: if long { 1 << 20 } else { 64 << 10 },
            outstanding: self.outstanding.unwrap_or(if is_model { 4 } else { 16 }),
            depth: self.depth,
            packets: self.packets,
            duration,
            ecn: EcnMarking { min: self.kmin as usize, max: self.kmax as usize, most: self.pmax },
            queue: self.queue as usize,
            policy: behaviours.map(|(policy, _)| policy),
            defects: behaviours.map(|(_, defects)| defects),
            ..Settings::default()
        })
    }

    /// A curve for each combination of what there are several values of.
    fn settings(&self, axis: &Axis, usual: &Settings, is_model: bool) -> anyhow::Result<Vec<Setting>> {
        let or = |list: &[u32], usual: u32| if list.is_empty() { vec![usual] } else { list.to_vec() };
        let messages = or(&self.message, usual.message);
        let policy = usual.policy[0].window;
        let windows = or(&self.window, if policy == Policy::PLAIN.window { usual.window } else { policy });
        let (dcqcn, pfc): (&[bool], &[bool]) = match axis {
            Axis::Incast(_) => (self.dcqcn.values(), self.pfc.values()),
            _ if axis.what() == What::Ce && is_model => (self.dcqcn.values(), &[false]),
            _ => (&[false], &[false]),
        };
        let most_senders = match axis.values().last() {
            Some(Value::Senders(senders)) => Some(*senders),
            _ => None,
        };
        let mut all = Vec::new();
        for (message, window, ack_timeout) in combinations(&messages, &windows, &self.ack_timeout) {
            for (dcqcn_on, pfc_on) in pfc.iter().flat_map(|pfc| dcqcn.iter().map(|dcqcn| (*dcqcn, *pfc))) {
                let limits = crate::link::PfcThresholds { xoff: self.xoff as usize, xon: self.xon as usize, ..PFC };
                let settings = Settings {
                    message,
                    window,
                    ack_timeout,
                    dcqcn: dcqcn_on.then_some(DCQCN),
                    pfc: pfc_on.then_some(limits),
                    ..usual.clone()
                };
                settings.check(most_senders).map_err(anyhow::Error::msg)?;
                if !is_model && message > 1 << 20 {
                    bail!("real devices are measured with messages of at most 1MiB");
                }
                let mut name = Vec::new();
                if messages.len() > 1 {
                    name.push(format!("{} messages", quantity::bytes_text(message.into())));
                }
                if windows.len() > 1 {
                    name.push(format!("window {window}"));
                }
                if self.ack_timeout.len() > 1 {
                    name.push(format!("ACK timeout {ack_timeout}"));
                }
                let state = |is_on| if is_on { "on" } else { "off" };
                if dcqcn.len() > 1 {
                    name.push(format!("DCQCN {}", state(dcqcn_on)));
                }
                if pfc.len() > 1 {
                    name.push(format!("PFC {}", state(pfc_on)));
                }
                all.push(Setting { name: name.join(", "), settings });
            }
        }
        Ok(all)
    }
}

fn combinations<'l>(
    messages: &'l [u32],
    windows: &'l [u32],
    timeouts: &'l [u8],
) -> impl Iterator<Item = (u32, u32, u8)> + 'l {
    let pairs = messages.iter().flat_map(move |message| windows.iter().map(move |window| (*message, *window)));
    pairs.flat_map(move |(message, window)| timeouts.iter().map(move |timeout| (message, window, *timeout)))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Cli {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn every_option_with_a_part_in_some_sweeps_is_one() {
        let command = Cli::command();
        let names: Vec<&str> = command.get_arguments().map(|option| option.get_id().as_str()).collect();
        for (option, of, _) in PARTS {
            assert!(names.contains(&option), "{option} of {of}");
        }
    }
}
