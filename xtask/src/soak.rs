//! `cargo xtask soak`: two endpoints of the model over a faulty link for millions of packets, with everything checked
//! that must hold.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rocespec::link::pair::{Checks, Endless, Pair, PairConfig, Totals};
use rocespec::link::{Faults, RandomFaults, Rate};
use rocespec_codec::{Mtu, Transport};

/// Packets between two looks at the clock.
const STRIDE: u64 = 50_000;
/// Virtual time that a stride, or the end, may take.
const PATIENCE: Duration = Duration::from_secs(1000);

/// Run two endpoints over a faulty link for millions of packets
///
/// Ends with figures, and with exit code 1, the violation and the seed when something does not hold that must.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// Packets of each transport.
    #[arg(long, default_value = "10000000", value_name = "N")]
    packets: u64,

    /// Only this transport: rc, uc, ud or xrc.
    #[arg(long, value_parser = transport)]
    transport: Option<Transport>,

    /// Seed of the operations and of the faults.
    #[arg(long, default_value = "1", value_name = "N")]
    seed: u64,

    /// Share of the packets that are lost.
    #[arg(long, default_value = "1%", value_name = "SHARE")]
    loss: Rate,

    /// Share of the packets that arrive behind later ones.
    #[arg(long, default_value = "1%", value_name = "SHARE")]
    reorder: Rate,
}

const TRANSPORTS: [(&str, Transport); 4] =
    [("rc", Transport::Rc), ("uc", Transport::Uc), ("ud", Transport::Ud), ("xrc", Transport::Xrc)];

fn transport(name: &str) -> Result<Transport, String> {
    let found = TRANSPORTS.iter().find(|(known, _)| *known == name);
    found.map(|(_, transport)| *transport).ok_or_else(|| "one of rc, uc, ud, xrc".to_owned())
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    for (name, transport) in TRANSPORTS {
        if args.transport.is_none_or(|wanted| wanted == transport) && !soak(name, transport, args)? {
            return Ok(ExitCode::from(1));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Gives false when something does not hold.
fn soak(name: &str, transport: Transport, args: &Args) -> anyhow::Result<bool> {
    let config = PairConfig { transport, mtu: Mtu::B1024, ..PairConfig::default() };
    let faults = Faults { loss: args.loss, reordering: args.reorder, depth: 8, ..Faults::default() };
    let operations = Endless::new(args.seed, transport, config.mtu.bytes() as u32, config.max_len);
    let pair = Pair::new(&config, RandomFaults::new(faults, args.seed), operations);
    let mut pair = pair.with_context(|| format!("{name} cannot be set up"))?.with_checks(Checks::Every(4096));
    let begun = Instant::now();
    let outcome = loop {
        match pair.run_packets(STRIDE.min(args.packets - pair.totals().packets), PATIENCE) {
            Ok(totals) if totals.failed > 0 => break Err(format!("{} ends report an error", totals.failed)),
            Ok(totals) if totals.packets >= args.packets => break pair.wind_up(PATIENCE).map_err(|it| it.to_string()),
            Ok(totals) => progress(name, &totals, args.packets, begun),
            Err(violation) => break Err(violation.to_string()),
        }
    };
    let (totals, seconds) = (pair.totals(), begun.elapsed().as_secs_f64());
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
    println!(
        "{name}: {} packets, {} messages, {} retransmissions, {seconds:.1} s, {:.0} packets/s, {:.1} s of virtual time",
        totals.packets,
        totals.messages,
        totals.retransmissions,
        totals.packets as f64 / seconds,
        totals.time.as_secs_f64(),
    );
    if let Err(why) = &outcome {
        println!("{name}: with seed {} this does not hold:\n{why}", args.seed);
    }
    Ok(outcome.is_ok())
}

fn progress(name: &str, totals: &Totals, packets: u64, begun: Instant) {
    let mut terminal = std::io::stderr();
    if terminal.is_terminal() {
        let share = totals.packets as f64 / packets as f64;
        let left = begun.elapsed().as_secs_f64() * (1.0 - share) / share;
        let _ = write!(terminal, "\r\x1b[K{name}: {:.0} %, {left:.0} s left", share * 100.0);
    }
}
