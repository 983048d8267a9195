//! Counts the packets of a capture and those with a wrong ICRC, with nothing else around: what reading a capture costs.
//!
//! `cargo run --release -p rocespec --example verify FILE`

use std::fs::File;

use anyhow::Context as _;
use rocespec::capture::inside::{Inside, Opener};
use rocespec::capture::{Batch, Batches, unpack};
use rocespec_codec::{Frame, decode, icrc};

fn main() -> anyhow::Result<()> {
    let path = std::env::args_os().nth(1).context("name a capture file")?;
    let mut batches = Batches::new(unpack(File::open(path)?)?);
    let (mut batch, mut opener) = (Batch::default(), Opener::default());
    let (mut frames, mut packets, mut wrong) = (0, 0_u64, 0_u64);
    while let Some(filled) = batches.fill(&mut batch) {
        filled?;
        frames += batch.len();
        for frame in batch.iter() {
            let Inside::Ethernet(carried) = opener.look(frame.linktype, frame.original_len, frame.data) else {
                continue;
            };
            if let Ok(Frame::Roce(packet)) = &decode(carried.frame) {
                packets += 1;
                wrong += u64::from(!icrc::verify_in(carried.frame, packet));
            }
        }
    }
    println!("{frames} frames, {packets} RoCE packets, {wrong} with a wrong ICRC");
    Ok(())
}
