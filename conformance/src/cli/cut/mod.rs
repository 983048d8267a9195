//! `rocespec cut`

mod around;
mod shorten;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use rocespec_codec::{Frame, mad};

use super::connections::Found;
use super::decode::filter::Filter;
use super::decode::sight::{Sight, What};
use super::frames::{self, Frames};
use super::input::Input;
use super::{Outcome, copy};
use crate::capture::inside::Opener;
use crate::capture::pcapng::Writer;
use crate::capture::rewrite::{LeftOut, Rewriter};
use crate::capture::{CapturedFrame, Reader};
use around::Around;
use shorten::Snap;

/// Write a part of a capture to a new file, fit to be shown to others.
///
/// Every condition that is given has to hold. Times stay as they are, and each frame has its old number as a comment.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A pcap or pcapng file, also packed with gzip or zstd; `-` is standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// The pcapng file to write. It must not be there yet.
    #[arg(value_name = "OUT")]
    out: PathBuf,

    /// Only packets of this connection, 1 = the first of the file.
    #[arg(long, value_name = "N")]
    connection: Option<u32>,

    /// Only frames with these numbers, both ends included: 17, 100..250, 100.., ..250. Can be given more than once.
    #[arg(long, value_name = "A..B", value_parser = frames::frames)]
    frames: Vec<Frames>,

    /// Only this frame and those before and behind it, counted among the frames that fit the other conditions.
    #[arg(long, value_name = "NUMBER", conflicts_with = "frames")]
    around: Option<u64>,

    /// How many of them, on each side.
    #[arg(long, value_name = "N", default_value_t = 20, requires = "around", value_parser = clap::value_parser!(u32).range(..=100_000))]
    context: u32,

    #[command(flatten)]
    filter: Filter,

    /// Only RoCE, connection management included, and what the link says beside it: PAUSE, PFC and LLDP.
    #[arg(long)]
    roce: bool,

    /// Keep so many bytes of each frame; `headers` keeps all that stands in front of the payload.
    #[arg(long, value_name = "BYTES", value_parser = shorten::snap)]
    snap: Option<Snap>,

    /// Put other MAC and IP addresses, GIDs, LIDs and GUIDs in the place of those that are there. Comments, names, private
    /// data and everything that is not understood are left out; payloads stay.
    #[arg(long)]
    anonymise: bool,

    /// Put zeroes in the place of payloads. Keys, addresses in memory and messages of the connection manager stay.
    #[arg(long)]
    no_payload: bool,

    /// A UDP port that is RoCE v2 besides 4791. Can be given more than once.
    #[arg(long, value_name = "NUMBER")]
    port: Vec<u16>,
}

/// What was counted.
#[derive(Debug, Default)]
struct Count {
    frames: u64,
    written: u64,
    left_out: BTreeMap<LeftOut, u64>,
    with_payload: u64,
    without_tunnel: u64,
}

pub(super) fn run(args: &Args) -> Outcome {
    let connection = connection(args)?;
    let input = Input::open(&args.file)?;
    let bar = input.bar.clone();
    // Last, so that no new file is left behind when the capture cannot be opened.
    let mut cut = Cut::new(args, connection)?;
    let damage = cut.all(input);
    bar.finish_and_clear();
    let (count, damage) = cut.finish(damage)?;
    count.tell(args, &mut std::io::stdout().lock())?;
    if count.written == 0 {
        // An empty file helps nobody, and would be in the way of the next attempt.
        std::fs::remove_file(&args.out).with_context(|| format!("cannot remove {}", args.out.display()))?;
    }
    let name = args.file.display();
    match damage {
        Some(damage) => Err(damage.context(name.to_string())),
        None if count.written == 0 => {
            bail!("{name}: none of {} frames is what you asked for; nothing is written", count.frames)
        }
        None => Ok(0),
    }
}

/// The connections of the file, and the one that is wanted.
fn connection(args: &Args) -> anyhow::Result<Option<(Found, u32)>> {
    if args.connection.is_none() {
        return Ok(None);
    }
    let found = Found::in_file(&args.file, &args.port)?;
    let number = found.choose(args.connection, &args.file)?.number;
    Ok(Some((found, number)))
}

struct Cut<'a> {
    args: &'a Args,
    out: Writer<std::io::BufWriter<std::fs::File>>,
    /// The connections of the file, and the one that is wanted.
    connection: Option<(Found, u32)>,
    around: Option<Around>,
    rewriter: Option<Rewriter>,
    count: Count,
}

impl<'a> Cut<'a> {
    fn new(args: &'a Args, connection: Option<(Found, u32)>) -> anyhow::Result<Cut<'a>> {
        let rewriter = match (args.anonymise, args.no_payload) {
            (true, true) => Some(Rewriter::anonymising().and_without_payload()),
            (true, false) => Some(Rewriter::anonymising()),
            (false, true) => Some(Rewriter::without_payload()),
            (false, false) => None,
        };
        Ok(Cut {
            args,
            connection,
            out: copy::begin(&args.out)?,
            around: args.around.map(|number| Around::new(number, args.context as usize)),
            rewriter,
            count: Count::default(),
        })
    }

    /// Goes through the file, up to its end, the last frame that can be wanted, or damage.
    fn all(&mut self, input: Input) -> anyhow::Result<()> {
        let args = self.args;
        let mut opener = Opener::with_ports(&args.port[..]);
        let last = frames::last(&args.frames);
        for captured in Reader::new(input) {
            let captured = captured?;
            self.count.frames += 1;
            let is_wanted = frames::are_asked_for(&args.frames, captured.number) && self.fits(&mut opener, &captured);
            match &mut self.around {
                None if is_wanted => self.write(&mut opener, captured)?,
                None => {}
                Some(around) => {
                    for captured in around.take(captured, is_wanted) {
                        self.write(&mut opener, captured)?;
                    }
                }
            }
            if self.count.frames >= last || self.around.as_ref().is_some_and(Around::is_over) {
                break;
            }
        }
        Ok(())
    }

    /// What a frame is fits.
    fn fits(&self, opener: &mut Opener, captured: &CapturedFrame) -> bool {
        if !self.args.roce && !self.args.filter.is_set() && self.connection.is_none() {
            return true;
        }
        let sight = Sight::of(opener.open(captured));
        if let Some((found, wanted)) = &self.connection
            && sight
                .packet()
                .and_then(|packet| found.of(packet, captured.number))
                .is_none_or(|(number, _)| number != *wanted)
        {
            return false;
        }
        let is_roce = matches!(sight.what, What::Roce { .. } | What::Partial(_));
        if self.args.filter.is_set() {
            return is_roce && self.args.filter.takes(&sight);
        }
        is_roce || matches!(sight.what, What::Other(Frame::MacControl(_) | Frame::Lldp(_)))
    }

    fn write(&mut self, opener: &mut Opener, captured: CapturedFrame) -> anyhow::Result<()> {
        let number = captured.number;
        let mut captured = match &mut self.rewriter {
            None => captured,
            Some(rewriter) => {
                let opened = opener.open(&captured);
                let has_tunnel = shorten::has_tunnel(&opened);
                match rewriter.frame(&opened) {
                    Ok(rewritten) => {
                        self.count.without_tunnel += u64::from(has_tunnel);
                        rewritten
                    }
                    Err(reason) => {
                        *self.count.left_out.entry(reason).or_default() += 1;
                        return Ok(());
                    }
                }
            }
        };
        if self.args.anonymise && !self.args.no_payload {
            self.count.with_payload += u64::from(has_payload(&Sight::of(opener.open(&captured))));
        }
        if let Some(snap) = self.args.snap {
            let len = snap.len(&Sight::of(opener.open(&captured)));
            captured.data.truncate(len);
        }
        let frame = format!("frame {number}");
        captured.comment = Some(match captured.comment.take() {
            Some(comment) => format!("{frame}\n{comment}"),
            None => frame,
        });
        self.out.copy(&captured).context("cannot write the copy")?;
        self.count.written += 1;
        Ok(())
    }

    /// Ends the file. What was written before damage is kept.
    fn finish(self, result: anyhow::Result<()>) -> anyhow::Result<(Count, Option<anyhow::Error>)> {
        self.out.finish().context("cannot write the copy")?;
        Ok((self.count, result.err()))
    }
}

/// It carries what programs sent.
fn has_payload(sight: &Sight<'_>) -> bool {
    sight.packet().is_some_and(|packet| !packet.payload.is_empty() && !mad::is_management(&packet.bth))
}

impl Count {
    fn tell(&self, args: &Args, out: &mut impl Write) -> std::io::Result<()> {
        if self.written > 0 {
            writeln!(out, "{} frames of {} written to {}", self.written, self.frames, args.out.display())?;
        }
        let left_out: u64 = self.left_out.values().sum();
        if left_out > 0 {
            writeln!(out, "{left_out} left out, since they cannot be rewritten safely:")?;
            for (reason, count) in &self.left_out {
                writeln!(out, "{count:>8}  {reason}")?;
            }
        }
        if self.without_tunnel > 0 {
            writeln!(
                out,
                "{} written without what lay around them: tunnel, mirror or link header",
                self.without_tunnel
            )?;
        }
        if self.with_payload > 0 {
            writeln!(out, "{} with the payload that they had; --no-payload zeroes it", self.with_payload)?;
        }
        Ok(())
    }
}
