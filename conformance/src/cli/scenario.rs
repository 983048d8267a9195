//! `rocespec scenario`

use std::fs::File;
use std::io::Write;
use std::net::{IpAddr, Ipv6Addr};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use rocespec_codec::mad::{self, Message};
use rocespec_codec::{Net, Qpn, Roce, Transport};
use rocespec_reports::examination::Connection;

use super::connections::{Found, packets};
use super::decode::sight::What;
use super::{Outcome, device};
use crate::dut::Emulator;
use crate::reenact::{End, Exchange, Heard, MOST_PACKETS, make};
use crate::scenario::Network;

/// Write a connection of a capture as a scenario: a regression test from the field.
///
/// The tester plays one end of the connection. A right device passes, and where the captured device broke a rule, one like
/// it fails; a comment says at which frame.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A pcap or pcapng file, also packed with gzip or zstd.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Which connection, 1 = the first of the file. Can be left out where there is one.
    #[arg(long, value_name = "N")]
    connection: Option<u32>,

    /// Address of the end that is the device under test. Left out: the end that answers; of two that send requests, the one
    /// that began later.
    #[arg(long, value_name = "ADDRESS")]
    device: Option<IpAddr>,

    /// Write to this file, which must not be there yet. Left out: to standard output.
    #[arg(short = 'o', long, value_name = "OUT")]
    out: Option<PathBuf>,

    /// Stop after so many steps of the tester and of the device's software.
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u16).range(1..=2000))]
    steps: u16,

    /// A UDP port that is RoCE v2 besides 4791. Can be given more than once.
    #[arg(long, value_name = "NUMBER")]
    port: Vec<u16>,
}

pub(super) fn run(args: &Args) -> Outcome {
    let found = Found::in_file(&args.file, &args.port)?;
    let connection = found.choose(args.connection, &args.file)?;
    let number = connection.number;
    let mut exchange = exchange(args, connection)?;
    exchange.guessed = found.is_guessed(connection);
    let mut first_request = None;
    packets(&args.file, &args.port, |captured, time_ns, sight, packet| {
        agreed(packet, &mut exchange.ends);
        let Some((other, from)) = found.of(packet, captured) else { return };
        if other != number {
            return;
        }
        if exchange.heard.len() == MOST_PACKETS {
            exchange.beyond += 1;
            return;
        }
        let payload_len = match &sight.what {
            What::Partial(partial) if !partial.has_headers => None,
            What::Partial(partial) => partial.payload_len,
            _ => Some(packet.payload.len()),
        };
        let heard = payload_len.and_then(|len| Heard::new((captured, time_ns), from, packet, len));
        if packet.bth.opcode.info().is_some_and(rocespec_codec::Info::is_request) {
            first_request.get_or_insert(from);
        }
        exchange.network = network(packet);
        match heard {
            Some(heard) => exchange.heard.push(heard),
            None => exchange.unreadable += 1,
        }
    })?;
    exchange.device = match args.device {
        Some(address) => end(&exchange, address)?,
        None => 1 - first_request.unwrap_or(0),
    };
    let profile = device::built_in("emulator")?;
    let emulator = || Emulator::named("", profile.clone()).expect("no behaviour is named");
    let made = make(&exchange, args.steps.into(), &emulator).with_context(|| format!("connection {number}"))?;
    match &args.out {
        Some(path) => write(path, &made.text)?,
        None => std::io::stdout().lock().write_all(made.text.as_bytes())?,
    }
    for remark in &made.remarks {
        eprintln!("rocespec: not as captured: {remark}");
    }
    for rule in &made.rules {
        eprintln!("rocespec: the captured device broke {rule}");
    }
    if let Some(path) = &args.out {
        eprintln!("rocespec: run it: rocespec run --scenarios {}", device::quoted(&path.to_string_lossy()));
    }
    Ok(0)
}

fn exchange(args: &Args, connection: &Connection) -> anyhow::Result<Exchange> {
    let number = connection.number;
    let transport = match connection.transport.as_str() {
        "RC" => Transport::Rc,
        "UC" => Transport::Uc,
        other => bail!("connection {number} is {other}; scenarios are made of RC and UC"),
    };
    let name = args.file.file_name().map_or_else(|| args.file.clone(), PathBuf::from);
    let end = |at: usize| -> anyhow::Result<End> {
        let end = &connection.ends[at];
        let address = end.address.parse().map(gid).with_context(|| format!("connection {number} has no address"))?;
        Ok(End { address, qpn: Qpn::new(end.qpn.unwrap_or(0)), start: None })
    };
    Ok(Exchange {
        file: name.to_string_lossy().chars().filter(|c| !c.is_control()).collect(),
        connection: number,
        transport,
        ends: [end(0)?, end(1)?],
        device: 0,
        network: Network::V4,
        mtu: connection.ends.iter().filter_map(|end| end.mtu).max(),
        guessed: false,
        heard: Vec::new(),
        beyond: 0,
        unreadable: 0,
    })
}

/// What the connection manager says of the first PSNs.
fn agreed(packet: &Roce<'_>, ends: &mut [End; 2]) {
    let (qpn, psn) = match mad::of(packet).and_then(|mad| mad.message()) {
        Some(Message::Req(req)) => (req.local_qpn, req.starting_psn),
        Some(Message::Rep(rep)) => (rep.local_qpn, rep.starting_psn),
        _ => return,
    };
    let is_its = |end: &&mut End| end.address == packet.net.src_gid() && end.qpn == qpn;
    if let Some(end) = ends.iter_mut().find(is_its) {
        end.start = Some(psn);
    }
}

/// An address as a GID.
fn gid(address: IpAddr) -> Ipv6Addr {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped(),
        IpAddr::V6(v6) => v6,
    }
}

/// Which end has this address.
fn end(exchange: &Exchange, address: IpAddr) -> anyhow::Result<usize> {
    let [one, other] = exchange.ends.map(|end| IpAddr::V6(end.address).to_canonical());
    match [one, other].iter().position(|end| *end == address.to_canonical()) {
        Some(end) => Ok(end),
        None => bail!("connection {} is between {one} and {other}; {address} is neither", exchange.connection),
    }
}

fn network(packet: &Roce<'_>) -> Network {
    match packet.net {
        Net::V4(_) => Network::V4,
        Net::V6(_) => Network::V6,
        Net::Grh(_) => Network::V1,
    }
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    let cannot = || format!("cannot write {}; name a file that is not there yet", path.display());
    let mut file = File::create_new(path).with_context(cannot)?;
    file.write_all(text.as_bytes()).with_context(cannot)
}
