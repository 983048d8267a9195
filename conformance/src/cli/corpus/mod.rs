//! `rocespec corpus`

mod dictionary;
mod seeds;

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::ValueEnum;

use super::Outcome;

/// Write seed frames and a dictionary for fuzzers of RoCE parsers.
///
/// DIR/frames holds a file per frame: `right.NET.OPCODE.LENGTH` is well formed, `wrong.FAULT.NET.OPCODE` has the one
/// thing wrong that its name says. DIR/roce.dict is a dictionary for libFuzzer and AFL++. The same version writes the
/// same bytes. fuzz/README.md shows what to do with them.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Where to write; is made when it is not there.
    #[arg(value_name = "DIR")]
    dir: PathBuf,

    /// Layer that the parser begins at.
    #[arg(long, value_enum, default_value = "ethernet")]
    layer: Layer,
}

/// Where a seed begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Layer {
    /// The destination MAC address.
    Ethernet,
    /// The IP header or GRH.
    Ip,
    /// The base transport header: what lies behind UDP.
    Bth,
}

pub(super) fn run(args: &Args) -> Outcome {
    let frames = args.dir.join("frames");
    std::fs::create_dir_all(&frames).with_context(|| format!("cannot make the folder {}", frames.display()))?;
    let mut count = 0;
    seeds::each(args.layer, |name, bytes| {
        count += 1;
        write(&frames.join(name), bytes)
    })?;
    let dictionary = args.dir.join("roce.dict");
    write(&dictionary, dictionary::text().as_bytes())?;
    println!("{count} frames in {}", frames.display());
    println!("a dictionary in {}", dictionary.display());
    Ok(0)
}

fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}
