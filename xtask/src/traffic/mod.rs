//! `cargo xtask traffic`: a capture of any size of many reliable connections between some hosts, to measure with.

mod connection;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::Context as _;
use oorandom::Rand32;
use rocespec::link::Rate;
use rocespec_codec::Mtu;

use connection::{Connection, MAX_FRAME};

/// Bits that the link carries in a nanosecond.
const SPEED: u64 = 100;
/// Bytes on the wire for each frame besides those that are captured: preamble, FCS, gap.
const AROUND: u64 = 24;
/// Packets that a connection sends before another has its turn, at most.
const BURST: u32 = 8;
/// Time of the first frame in nanoseconds since 1970.
const START_NS: u64 = 1_700_000_000_000_000_000;

/// Write a capture of RC traffic of any size
///
/// SEND, RDMA WRITE and RDMA READ between some hosts, with their answers and right ICRCs, in the order of their times, as a
/// pcap file with nanoseconds. Without loss there is nothing in it that any rule forbids, and with loss neither: what is
/// lost is sent again. The same options give the same bytes.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// Where to write; a file that is there is replaced.
    file: PathBuf,

    /// Length of the file: a number of bytes, or with K, M or G behind it. The last frame may exceed it.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    bytes: u64,

    /// Connections between the hosts.
    #[arg(long, default_value = "1000", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    connections: u32,

    /// Path MTU: bytes of payload in most data packets.
    #[arg(long, default_value = "1024", value_name = "BYTES", value_parser = mtu)]
    mtu: Mtu,

    /// Share of the requests that are lost behind the place of the capture, and so are seen there twice.
    #[arg(long, default_value = "0%", value_name = "SHARE")]
    loss: Rate,

    /// Seed of the traffic.
    #[arg(long, default_value = "1", value_name = "N")]
    seed: u64,
}

fn size(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.strip_suffix(['K', 'M', 'G']) {
        Some(digits) if text.ends_with('K') => (digits, 10),
        Some(digits) if text.ends_with('M') => (digits, 20),
        Some(digits) => (digits, 30),
        None => (text, 0),
    };
    let bytes = digits.parse().ok().and_then(|number: u64| number.checked_mul(1 << unit));
    bytes.ok_or_else(|| "a size is a number, or one with K, M or G behind it".to_owned())
}

fn mtu(text: &str) -> Result<Mtu, String> {
    text.parse().ok().and_then(Mtu::from_bytes).ok_or_else(|| "one of 256, 512, 1024, 2048, 4096".to_owned())
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let cannot = || format!("cannot write {}", args.file.display());
    let mut out = BufWriter::with_capacity(1 << 20, File::create(&args.file).with_context(cannot)?);
    let frames = write(args, &mut out).and_then(|frames| out.flush().map(|()| frames)).with_context(cannot)?;
    println!("{}: {frames} frames of {} connections", args.file.display(), args.connections);
    Ok(())
}

/// Writes the file and says how many frames are in it.
fn write(args: &Args, out: &mut impl Write) -> std::io::Result<u64> {
    let mut random = Rand32::new(args.seed);
    let payloads: Vec<u8> = (0..1 << 16).map(|_| random.rand_u32() as u8).collect();
    let mut connections: Vec<_> =
        (0..args.connections).map(|number| Connection::new(number, args.mtu, &mut random)).collect();
    // The format: magic, version 2.4, two fields that are 0, snap length, Ethernet.
    for word in [0xa1b2_3c4d, 4 << 16 | 2, 0, 0, MAX_FRAME as u32, 1] {
        out.write_all(&u32::to_le_bytes(word))?;
    }
    let (mut now, mut written, mut frames) = (0, 24, 0);
    let mut buffer = [0; MAX_FRAME];
    while written < args.bytes {
        let connection = &mut connections[random.rand_range(0..args.connections) as usize];
        for _ in 0..random.rand_range(1..BURST + 1) {
            let Some(frame) = connection.next_frame(now, args.loss, &payloads, &mut random, &mut buffer) else { break };
            record(out, START_NS + now, frame)?;
            now += (frame.len() as u64 + AROUND) * 8 / SPEED;
            written += 16 + frame.len() as u64;
            frames += 1;
        }
        // Time goes on where all wait for it.
        now += 10;
    }
    Ok(frames)
}

fn record(out: &mut impl Write, time_ns: u64, frame: &[u8]) -> std::io::Result<()> {
    let len = frame.len() as u32;
    for word in [(time_ns / 1_000_000_000) as u32, (time_ns % 1_000_000_000) as u32, len, len] {
        out.write_all(&word.to_le_bytes())?;
    }
    out.write_all(frame)
}
