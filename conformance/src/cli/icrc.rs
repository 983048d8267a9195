//! `rocespec icrc`

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use rocespec_codec::{Roce, icrc};
use serde::Serialize;

use super::decode::layout::{self, Part};
use super::decode::sight::{Sight, What};
use super::input::Input;
use super::{Outcome, copy, output};
use crate::capture::inside::Opener;
use crate::capture::pcapng::Writer;
use crate::capture::{CapturedFrame, Reader};

/// Check the ICRC of every packet of a capture, show how one comes about, or write a copy with right ones.
///
/// Without further words: a line for each packet whose ICRC is wrong, and what the sender has probably done.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A pcap or pcapng file, also packed with gzip or zstd; `-` is standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Show this frame: which bytes count, which are masked, what is expected and what was found.
    #[arg(long, value_name = "NUMBER", conflicts_with = "fix")]
    frame: Option<u64>,

    /// Write a copy to this pcapng file in which every ICRC is right.
    #[arg(long, value_name = "FILE")]
    fix: Option<PathBuf>,

    /// A UDP port that is RoCE v2 besides 4791. Can be given more than once.
    #[arg(long, value_name = "NUMBER")]
    port: Vec<u16>,

    /// Form of the output; JSON is one object per packet.
    #[arg(long, value_enum, default_value = "text")]
    format: output::Format,
}

/// What was counted.
#[derive(Debug, Default)]
struct Count {
    right: u64,
    wrong: u64,
    /// Without a whole ICRC: cut by the capture, or not readable.
    without: u64,
}

/// The ICRC of one packet.
#[derive(Serialize)]
struct Found {
    number: u64,
    verdict: &'static str,
    expected: String,
    found: String,
    /// Fields that count as ones.
    masked: Vec<&'static str>,
    /// Bytes of the frame that count.
    covered: std::ops::Range<usize>,
    text: String,
}

pub(super) fn run(args: &Args) -> Outcome {
    let input = Input::open(&args.file)?;
    let bar = input.bar.clone();
    let copy = args.fix.as_deref().map(copy::begin).transpose()?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let outcome = packets(args, input, copy, &mut out);
    bar.finish_and_clear();
    out.flush()?;
    outcome
}

fn packets(args: &Args, input: Input, mut copy: Option<Writer<BufWriter<File>>>, out: &mut impl Write) -> Outcome {
    let name = args.file.display();
    let mut opener = Opener::with_ports(&args.port[..]);
    let mut count = Count::default();
    let mut damage = None;
    for captured in Reader::new(input) {
        let mut captured = match captured {
            Ok(captured) => captured,
            Err(error) => {
                damage = Some(error);
                break;
            }
        };
        let wanted = args.frame.is_none_or(|number| number == captured.number);
        let sight = Sight::of(opener.open(&captured));
        let mut repair = None;
        match &sight.what {
            What::Roce { packet, right_icrc } if wanted => {
                let is_right = packet.icrc == *right_icrc;
                *if is_right { &mut count.right } else { &mut count.wrong } += 1;
                match args.format {
                    output::Format::Json => json(captured.number, packet, out)?,
                    output::Format::Text if args.frame.is_some() => show(&sight, packet, out)?,
                    output::Format::Text if !is_right => {
                        writeln!(out, "{:>6}  {}", captured.number, icrc::explain(packet))?;
                    }
                    output::Format::Text => {}
                }
                repair = place(&sight, packet).filter(|_| !is_right).map(|at| (at, *right_icrc));
            }
            What::Partial(_) if args.frame.is_none() => count.without += 1,
            What::Partial(_) if wanted => {
                bail!("frame {} of {name} has no whole ICRC; `rocespec decode` says why", captured.number)
            }
            _ if args.frame.is_some() && wanted => bail!("frame {} of {name} is not RoCE", captured.number),
            _ => {}
        }
        if let Some(copy) = &mut copy {
            mend(&mut captured, repair);
            copy.copy(&captured)?;
        }
        if args.frame == Some(captured.number) {
            return Ok(u8::from(count.wrong > 0));
        }
    }
    if let Some(copy) = copy {
        copy.finish().context("cannot write the copy")?;
    }
    out.flush()?;
    if let Some(damage) = damage {
        return Err(anyhow::Error::new(damage).context(name.to_string()));
    }
    if let Some(number) = args.frame {
        bail!("{name} has no frame {number}");
    }
    sum(args, &count, out)?;
    Ok(u8::from(count.wrong > 0))
}

fn sum(args: &Args, count: &Count, out: &mut impl Write) -> std::io::Result<()> {
    let Count { right, wrong, without } = count;
    if args.format == output::Format::Json {
        return Ok(());
    }
    write!(out, "{} packets: {right} right, {wrong} wrong", right + wrong + without)?;
    if *without > 0 {
        write!(out, ", {without} without a whole ICRC")?;
    }
    writeln!(out)?;
    if let Some(path) = &args.fix {
        writeln!(out, "{} holds a copy in which the {wrong} are right", path.display())?;
    }
    Ok(())
}

/// Where the ICRC of the packet lies in the captured bytes.
fn place(sight: &Sight<'_>, packet: &Roce<'_>) -> Option<usize> {
    let carried = sight.carried.as_ref()?;
    (packet.packet_len() - 4).checked_sub(carried.made).map(|at| carried.start + at)
}

/// Puts the right ICRC into the captured bytes, low byte first.
fn mend(captured: &mut CapturedFrame, repair: Option<(usize, u32)>) {
    if let Some((at, right)) = repair
        && let Some(bytes) = captured.data.get_mut(at..at + 4)
    {
        bytes.copy_from_slice(&right.to_le_bytes());
    }
}

fn json(number: u64, packet: &Roce<'_>, out: &mut impl Write) -> anyhow::Result<()> {
    let explained = icrc::explain(packet);
    let found = Found {
        number,
        verdict: explained.verdict.name(),
        expected: format!("{:#010x}", explained.expected),
        found: format!("{:#010x}", explained.found),
        masked: explained.masked.iter().map(|mask| mask.field).collect(),
        covered: explained.covered.clone(),
        text: explained.to_string(),
    };
    serde_json::to_writer(&mut *out, &found).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(())
}

/// Bytes of one row.
const ROW: usize = 16;

/// Shows what counts: each part of the packet as it is and, where bits are masked, as it counts.
fn show(sight: &Sight<'_>, packet: &Roce<'_>, out: &mut impl Write) -> std::io::Result<()> {
    let explained = icrc::explain(packet);
    let frame = sight.bytes();
    let mut counted = frame.to_vec();
    for bit in explained.masked.iter().flat_map(|mask| mask.bits.clone()) {
        if let Some(byte) = counted.get_mut(bit / 8) {
            *byte |= 0x80 >> (bit % 8);
        }
    }
    writeln!(out, "{:>12}  {:<48} {:<14} ff ff ff ff ff ff ff ff", "in front", "", "eight ones")?;
    for Part { bytes, layer, fields } in layout::parts(packet) {
        let is_counted = explained.covered.contains(&bytes.start);
        if !is_counted && layer != "ICRC" {
            continue;
        }
        for at in bytes.clone().step_by(ROW) {
            let row = at..bytes.end.min(at + ROW);
            let (Some(captured), Some(counts)) = (frame.get(row.clone()), counted.get(row)) else { break };
            write!(out, "{at:>12}  {:<48} {layer:<14} ", hex(captured))?;
            match () {
                () if !is_counted => writeln!(out, "the ICRC, low byte first")?,
                () if captured != counts => writeln!(out, "counts as {} ({})", hex(counts), fields.join(", "))?,
                () if at == bytes.start => writeln!(out, "{}", fields.join(", "))?,
                () => writeln!(out)?,
            }
        }
    }
    writeln!(out, "\nmasked    {}", explained.masked)?;
    writeln!(out, "expected  {}", hex(&explained.expected.to_le_bytes()))?;
    writeln!(out, "found     {}", hex(&explained.found.to_le_bytes()))?;
    writeln!(out, "\n{explained}")
}

fn hex(bytes: &[u8]) -> String {
    let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    pairs.join(" ")
}
