//! `rocespec decode`

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::PathBuf;

use anyhow::Context as _;
use rocespec_codec::notation::{Scope, print_frame};
use rocespec_codec::{Frame, decode, icrc};

use super::Outcome;
use crate::capture::{LINKTYPE_ETHERNET, Reader};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A pcap or pcapng file of Ethernet frames; `-` is standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Also print what is not RoCE.
    #[arg(long)]
    others: bool,
}

pub(super) fn run(args: &Args) -> Outcome {
    let input: Box<dyn std::io::Read> = match args.file.as_os_str() == "-" {
        true => Box::new(std::io::stdin()),
        false => Box::new(BufReader::new(
            File::open(&args.file).with_context(|| format!("cannot read {}", args.file.display()))?,
        )),
    };
    let scope = Scope::default();
    let mut out = BufWriter::new(std::io::stdout().lock());
    let (mut packets, mut frames) = (0, 0);
    for captured in Reader::new(input) {
        let captured = match captured {
            Ok(captured) => captured,
            Err(error) => {
                out.flush()?;
                return Err(anyhow::Error::new(error).context(format!("{}", args.file.display())));
            }
        };
        frames += 1;
        let seconds = captured.time_ns as f64 / 1e9;
        let mut line = |text: &dyn std::fmt::Display| writeln!(out, "{:>6} {seconds:.9} {text}", captured.number);
        if captured.linktype != LINKTYPE_ETHERNET {
            if args.others {
                line(&format_args!("link type {}: not Ethernet", captured.linktype))?;
            }
            continue;
        }
        match decode(&captured.data) {
            Ok(frame @ Frame::Roce(_)) => {
                packets += 1;
                let wrong = matches!(&frame, Frame::Roce(packet) if !icrc::verify(packet));
                let note = if wrong { "  # ICRC is wrong" } else { "" };
                line(&format_args!("{}{note}", print_frame(&frame, &scope).elided()))?;
            }
            Ok(frame) if args.others => line(&print_frame(&frame, &scope).elided())?,
            Ok(_) => {}
            Err(error) => line(&format_args!("cannot be decoded: {error}"))?,
        }
    }
    out.flush()?;
    if packets == 0 {
        eprintln!("rocespec: {} holds {frames} frames and no RoCE packet", args.file.display());
    }
    Ok(0)
}
