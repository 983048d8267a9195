//! `rocespec diff`

mod text;

use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use serde::Serialize;

use super::input::Input;
use super::{Outcome, output};
use crate::diff::{Comparison, Form, Options, Side, compare};
use crate::scenario;

/// Compare two captures or golden traces, field by field.
///
/// A is how it should be, or was before; B is how it is. Both are sorted by connection and sender, and numbers that are new in
/// each run (queue pairs, first PSNs, addresses, keys) are left out or made symbols, so that recordings of the same exchange
/// on other hosts are the same. Exit code 0: the same, or different only where senders are free; 1: different.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A pcap or pcapng file, also packed with gzip or zstd, or a golden trace; `-` is standard input.
    #[arg(value_name = "A")]
    one: PathBuf,

    /// The same, to be held against A.
    #[arg(value_name = "B")]
    other: PathBuf,

    /// Only connection N of A, 1 = first, and its counterpart.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    connection: Option<u32>,

    /// Compare times, too: how long after the one before it on its connection each packet came. They are the same when they
    /// differ by no more than TOLERANCE.
    #[arg(long, value_name = "TOLERANCE", num_args = 0..=1, require_equals = true, default_missing_value = "1ms",
        value_parser = tolerance)]
    timing: Option<Duration>,

    /// Exit with 1 also when they differ only where senders are free.
    #[arg(long)]
    strict: bool,

    /// List at most so many differing packets of each connection; all are counted.
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,

    /// A UDP port that is RoCE v2 besides 4791. Can be given more than once.
    #[arg(long, value_name = "NUMBER")]
    port: Vec<u16>,

    /// Form of the output; JSON is one object.
    #[arg(long, value_enum, default_value = "text")]
    format: output::Format,
}

/// The JSON output; `docs/diff.md` describes it.
#[derive(Serialize)]
struct Report<'r> {
    /// Version of this form.
    schema: u32,
    tool: &'static str,
    files: [File; 2],
    /// `same`, `free` when only what is free differs, `different`.
    verdict: &'static str,
    #[serde(flatten)]
    comparison: &'r Comparison,
}

/// One of the two files.
#[derive(Serialize)]
struct File {
    name: String,
    #[serde(skip)]
    form: Form,
    /// Frames; lines of a trace.
    frames: u64,
    /// Those that are RoCE.
    packets: u64,
    /// RoCE packets of which too little can be read.
    unreadable: u64,
    connections: usize,
    /// Why it could not be read to its end.
    error: Option<String>,
}

pub(super) fn run(args: &Args) -> Outcome {
    let paths = [&args.one, &args.other];
    if paths.iter().all(|path| path.as_os_str() == "-") {
        bail!("only one of the two can come from standard input");
    }
    let [one, other] = paths.map(|path| side(path, &args.port));
    let mut sides = [one?, other?];
    let [one, other] = &sides;
    if one.form != other.form {
        bail!("one of the two is a capture and the other a golden trace; what can be compared are two of a kind");
    }
    let number = args.connection.map(|number| number as usize);
    if let Some(number) = number.filter(|number| *number > one.connections()) {
        let is_one = one.connections() == 1;
        let have = if is_one { "1 connection".to_owned() } else { format!("{} connections", one.connections()) };
        bail!("{} has no connection {number}, it has {have}", args.one.display());
    }
    let options = Options { timing: args.timing, connection: number, limit: args.limit };
    let files = [(&args.one, one), (&args.other, other)].map(|(path, side)| file(path, side));
    let comparison = compare(&mut sides, &options);
    let counts = &comparison.counts;
    let verdict = match () {
        () if counts.is_different() => "different",
        () if counts.is_same() => "same",
        () => "free",
    };
    let damage: Vec<String> = files.iter().filter_map(|file| file.error.clone()).collect();
    let report = Report {
        schema: 1,
        tool: concat!("rocespec ", env!("CARGO_PKG_VERSION")),
        files,
        verdict,
        comparison: &comparison,
    };
    match args.format {
        output::Format::Json => output::json(&report)?,
        output::Format::Text => {
            let mut out = BufWriter::new(std::io::stdout().lock());
            text::print(&report, args.strict, &mut out)?;
            out.flush()?;
        }
    }
    if !damage.is_empty() {
        bail!("{}", damage.join("\nrocespec: "));
    }
    Ok(u8::from(verdict == "different" || args.strict && verdict == "free"))
}

/// Reads one of the two.
fn side(path: &Path, ports: &[u16]) -> anyhow::Result<Side> {
    let mut input = Input::open(path)?;
    let bar = input.bar.clone();
    let name = path.display();
    let mut beginning = Vec::new();
    (&mut input)
        .take(Side::BEGINNING as u64)
        .read_to_end(&mut beginning)
        .with_context(|| format!("cannot read {name}"))?;
    let is_trace = Side::is_trace(&beginning);
    let input = std::io::Cursor::new(beginning).chain(input);
    let side = if is_trace { trace(path, input) } else { Ok(Side::capture(input, ports).context(name.to_string())?) };
    bar.finish_and_clear();
    let side = side?;
    if side.packets == 0 {
        return Err(match side.damage {
            Some(damage) => anyhow::Error::new(damage).context(name.to_string()),
            None if side.form == Form::Trace => anyhow::anyhow!("{name}: no lines in it, nothing to compare"),
            None => {
                let frames = if side.frames == 1 { "frame" } else { "frames" };
                anyhow::anyhow!("{name}: {} {frames}, no RoCE packet among them; nothing to compare", side.frames)
            }
        });
    }
    Ok(side)
}

/// Most bytes of a golden trace.
const MOST_OF_TRACE: u64 = 4 << 20;

fn trace(path: &Path, input: impl Read) -> anyhow::Result<Side> {
    let name = path.display();
    let mut text = String::new();
    input
        .take(MOST_OF_TRACE + 1)
        .read_to_string(&mut text)
        .with_context(|| format!("cannot read {name} as a golden trace"))?;
    if text.len() as u64 > MOST_OF_TRACE {
        bail!("{name}: a golden trace has at most 4 MiB");
    }
    Ok(Side::trace(&name.to_string(), &text)?)
}

fn file(path: &Path, side: &Side) -> File {
    let name = path.display().to_string();
    File {
        form: side.form,
        frames: side.frames,
        packets: side.packets,
        unreadable: side.unreadable,
        connections: side.connections(),
        error: side.damage.as_ref().map(|damage| format!("{name}: {}", chain(damage))),
        name,
    }
}

/// An error with its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn tolerance(text: &str) -> Result<Duration, String> {
    scenario::duration(text).ok_or_else(|| "a time is like 1ms, 250us or 4.096us".to_owned())
}
