//! `rocespec decode`

mod bytes;
mod dissect;
pub(super) mod filter;
mod json;
pub(super) mod layout;
mod mads;
pub(super) mod sight;
mod text;

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::Outcome;
use super::frames::{self, Frames};
use super::input::Input;
use super::output::{self, counted};
use crate::capture::inside::Opener;
use crate::capture::{CapturedFrame, Reader};
pub(super) use dissect::dissect;
use filter::Filter;
use sight::{Sight, What};

/// Print the packets of capture files, one line each.
///
/// A line holds the number of the frame, its time, where it came from and went to, and the packet in the notation of
/// docs/notation.md; fields that hold the ordinary value of their path are left out. Behind `#` stands what is wrong.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// pcap or pcapng files, also packed with gzip or zstd; `-` is standard input.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Only frames with these numbers, both ends included: 17, 100..250, 100.., ..250. Can be given more than once.
    #[arg(long, value_name = "A..B", value_parser = frames::frames)]
    frames: Vec<Frames>,

    #[command(flatten)]
    filter: Filter,

    /// A UDP port that is RoCE v2 besides 4791. Can be given more than once.
    #[arg(long, value_name = "NUMBER")]
    port: Vec<u16>,

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
    let result = read(args, path, left, &mut count, input, out);
    bar.finish_and_clear();
    result?;
    if count.packets == 0 || count.printed == 0 {
        // Below what was printed, where both go to the same place.
        out.flush()?;
        let name = path.display();
        match count.packets {
            0 if !args.frames.is_empty() => {
                eprintln!("rocespec: {name}: no RoCE packet among the frames that you asked for");
            }
            0 => eprintln!("rocespec: {name}: {}, no RoCE packet among them", counted(count.frames, "frame")),
            packets => {
                eprintln!("rocespec: {name}: {}, none that you asked for", counted(packets, "RoCE packet"));
            }
        }
    }
    Ok(())
}

/// Frames that are decoded side by side, and the bytes of them that are held at most before that.
const BATCH_FRAMES: usize = 4096;
const BATCH_BYTES: usize = 4 << 20;

fn read(
    args: &Args,
    path: &Path,
    left: &mut u64,
    count: &mut Count,
    input: Input,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    // What comes through a pipe is printed as it comes; a limit counts from the front.
    let alone = args.limit.is_some() || path.as_os_str() == "-";
    let workers = if alone { 1 } else { std::thread::available_parallelism().map_or(1, usize::from) };
    let mut start_ns = args.epoch.then_some(0);
    let mut reader = Reader::new(input);
    let allowed = *left;
    let last = frames::last(&args.frames);
    while *left > 0 && count.frames < last {
        let mut batch = Vec::new();
        let mut damage = None;
        let mut bytes = 0;
        let most = if alone { 1 } else { BATCH_FRAMES as u64 }.min(last - count.frames);
        while (batch.len() as u64) < most && bytes < BATCH_BYTES {
            match reader.next() {
                Some(Ok(captured)) => {
                    bytes += captured.data.len() + captured.comment.as_ref().map_or(0, String::len);
                    batch.push(captured);
                }
                Some(Err(error)) => {
                    damage = Some(anyhow::Error::new(error).context(path.display().to_string()));
                    break;
                }
                None => break,
            }
        }
        let ended = batch.is_empty();
        if let Some(first) = batch.first() {
            let start = *start_ns.get_or_insert(first.time_ns);
            print_batch(args, path, start, workers, &batch, count, out)?;
            *left = allowed.saturating_sub(count.printed);
        }
        match damage {
            Some(damage) => return Err(damage),
            None if ended => break,
            None => {}
        }
    }
    Ok(())
}

/// Decodes a batch on every processor, and prints it in its order.
fn print_batch(
    args: &Args,
    path: &Path,
    start_ns: u64,
    workers: usize,
    batch: &[CapturedFrame],
    count: &mut Count,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let share = batch.len().div_ceil(workers).max(1);
    let decode = |frames: &[CapturedFrame]| -> std::io::Result<(Count, Vec<u8>)> {
        let mut printer = Printer::new(args, path, start_ns);
        let (mut count, mut text) = (Count::default(), Vec::new());
        for captured in frames {
            printer.frame(args, captured, &mut count, &mut text)?;
        }
        Ok((count, text))
    };
    let shares: Vec<_> = std::thread::scope(|scope| {
        let mut shares = batch.chunks(share);
        let first = shares.next().unwrap_or_default();
        let others: Vec<_> = shares.map(|frames| scope.spawn(|| decode(frames))).collect();
        let first = decode(first);
        let others = others.into_iter().map(|other| other.join().expect("decoding does not panic"));
        std::iter::once(first).chain(others).collect()
    });
    for share in shares {
        let (counted, text) = share?;
        out.write_all(&text)?;
        count.frames += counted.frames;
        count.packets += counted.packets;
        count.printed += counted.printed;
    }
    Ok(())
}

struct Printer<'a> {
    opener: Opener,
    form: Form<'a>,
}

#[expect(clippy::large_enum_variant, reason = "there is one of them")]
enum Form<'a> {
    Text(text::Printer<'a>),
    Json(json::Printer<'a>),
}

impl<'a> Printer<'a> {
    fn new(args: &'a Args, path: &Path, start_ns: u64) -> Self {
        let form = match args.format {
            output::Format::Text => Form::Text(text::Printer::new(args, start_ns)),
            output::Format::Json => Form::Json(json::Printer::new(args, path)),
        };
        Printer { opener: Opener::with_ports(&args.port[..]), form }
    }

    /// Counts a frame, and prints it if it is asked for.
    fn frame(
        &mut self,
        args: &Args,
        captured: &CapturedFrame,
        count: &mut Count,
        out: &mut Vec<u8>,
    ) -> std::io::Result<()> {
        count.frames += 1;
        if !frames::are_asked_for(&args.frames, captured.number) {
            return Ok(());
        }
        let sight = Sight::of(self.opener.open(captured));
        if matches!(sight.what, What::Other(_) | What::InfiniBand(_) | What::Unknown) {
            if !args.others || args.filter.is_set() {
                return Ok(());
            }
        } else {
            count.packets += 1;
            if !args.filter.takes(&sight) {
                return Ok(());
            }
        }
        count.printed += 1;
        match &mut self.form {
            Form::Text(printer) => printer.print(&sight, out),
            Form::Json(printer) => printer.print(&sight, out),
        }
    }
}
