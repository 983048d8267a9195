//! `rocespec decode`

mod bytes;
mod filter;
mod input;
mod json;
mod layout;
mod mads;
mod sight;
mod text;

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::{Outcome, output};
use crate::capture::Reader;
use filter::Filter;
use input::Input;
use sight::{Sight, What};

/// Print the packets of capture files, one line each.
///
/// A line holds the number of the frame, its time, where it came from and went to, and the packet in the notation of
/// docs/notation.md; fields that hold the ordinary value of their path are left out. Behind `#` stands what is wrong.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// pcap or pcapng files of Ethernet frames; `-` is standard input.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    filter: Filter,

    /// Also print what is not RoCE.
    #[arg(long)]
    others: bool,

    /// Stop after this many packets.
    #[arg(long, value_name = "N")]
    limit: Option<u64>,

    /// Print the bytes of each packet below it, with the fields that they are.
    #[arg(short = 'x', long)]
    bytes: bool,

    /// Print payloads in full, however long.
    #[arg(long)]
    payload: bool,

    /// Print times as they stand in the file (mostly seconds since 1970), not since its first frame.
    #[arg(long)]
    epoch: bool,

    /// Form of the output; JSON is one object per line.
    #[arg(long, value_enum, default_value = "text")]
    format: output::Format,
}

/// What is counted over a file.
#[derive(Debug, Default)]
struct Count {
    frames: u64,
    /// Frames that are RoCE, or would be if they could be read.
    packets: u64,
    printed: u64,
}

pub(super) fn run(args: &Args) -> Outcome {
    let mut out = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let mut left = args.limit.unwrap_or(u64::MAX);
    let mut code = 0;
    for path in &args.files {
        if left == 0 {
            break;
        }
        if args.files.len() > 1 && args.format == output::Format::Text {
            writeln!(out, "== {}", path.display())?;
        }
        if let Err(error) = file(args, path, &mut left, &mut out) {
            out.flush()?;
            if output::is_broken_pipe(&error) {
                return Err(error);
            }
            // The next file may be sound.
            eprintln!("rocespec: {error:#}");
            code = 2;
        }
    }
    out.flush()?;
    Ok(code)
}

/// Decodes one file. Everything before a damaged place is printed before the error comes back.
fn file(args: &Args, path: &Path, left: &mut u64, out: &mut impl Write) -> anyhow::Result<()> {
    let input = Input::open(path)?;
    let bar = input.bar.clone();
    let mut count = Count::default();
    let result = frames(args, path, left, &mut count, input, out);
    bar.finish_and_clear();
    result?;
    if count.packets == 0 || count.printed == 0 {
        // Below what was printed, where both go to the same place.
        out.flush()?;
        let (name, number) =
            (path.display(), |count, noun| format!("{count} {noun}{}", if count == 1 { "" } else { "s" }));
        match count.packets {
            0 => eprintln!("rocespec: {name}: {}, no RoCE packet among them", number(count.frames, "frame")),
            packets => eprintln!("rocespec: {name}: {}, none that you asked for", number(packets, "RoCE packet")),
        }
    }
    Ok(())
}

fn frames(
    args: &Args,
    path: &Path,
    left: &mut u64,
    count: &mut Count,
    input: Input,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let mut printer = match args.format {
        output::Format::Text => Printer::Text(text::Printer::new(args)),
        output::Format::Json => Printer::Json(json::Printer::new(args, path)),
    };
    for captured in Reader::new(input) {
        let captured = captured.map_err(|error| anyhow::Error::new(error).context(path.display().to_string()))?;
        count.frames += 1;
        let sight = Sight::of(&captured);
        printer.saw(&sight);
        if matches!(sight.what, What::Other(_)) {
            if !args.others || args.filter.is_set() {
                continue;
            }
        } else {
            count.packets += 1;
            if !args.filter.takes(&sight) {
                continue;
            }
        }
        match &mut printer {
            Printer::Text(printer) => printer.print(&sight, out)?,
            Printer::Json(printer) => printer.print(&sight, out)?,
        }
        count.printed += 1;
        *left -= 1;
        if *left == 0 {
            break;
        }
    }
    Ok(())
}

#[expect(clippy::large_enum_variant, reason = "there is one of them")]
enum Printer<'a> {
    Text(text::Printer<'a>),
    Json(json::Printer<'a>),
}

impl Printer<'_> {
    /// Takes notice of a frame, printed or not.
    fn saw(&mut self, sight: &Sight<'_>) {
        if let Printer::Text(printer) = self {
            printer.saw(sight);
        }
    }
}
