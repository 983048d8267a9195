//! The exactness of `rocespec check`: what is right is never blamed, whatever the capture did to it, and what is wrong is
//! seen as far as a capture can show it.
#![allow(unreachable_pub, missing_docs, reason = "test programs have no outside")]

mod artefact;
mod catalogue;
#[path = "../common/mod.rs"]
mod common;
mod defects;
mod pair;

use rocespec::capture::{CapturedFrame, LINKTYPE_ETHERNET};
use rocespec::check::{Check, Options};
use rocespec::dut::{Dut, Emulator};
use rocespec_reports::examination::{CaptureFile, Finding};
use rocespec_reports::outcome::Level;

/// Examines frames, numbered in their order.
fn examine(options: &Options, frames: &[CapturedFrame]) -> CaptureFile {
    let mut check = Check::new(options.clone(), &[]);
    for (at, frame) in frames.iter().enumerate() {
        check.frame(&CapturedFrame { number: at as u64 + 1, ..frame.clone() }.borrowed());
    }
    check.finish().0
}

/// What was found, of connections first.
fn findings(file: &CaptureFile) -> impl Iterator<Item = &Finding> {
    let connections = file.connections.iter().flat_map(|connection| &connection.findings.first);
    connections.chain(&file.loose.first)
}

/// What is certain.
fn certain(file: &CaptureFile) -> impl Iterator<Item = &Finding> {
    findings(file).filter(|finding| finding.level == Level::Must)
}

/// A frame as a capture has it.
fn captured(time_ns: u64, data: Vec<u8>) -> CapturedFrame {
    CapturedFrame {
        time_ns,
        linktype: LINKTYPE_ETHERNET,
        original_len: data.len() as u32,
        data,
        ..CapturedFrame::default()
    }
}

/// What the device sends is judged, and nothing else.
fn of_the_device(emulator: &Emulator) -> Options {
    let judge = emulator.device().gids.iter().map(|gid| gid.gid.to_canonical()).collect();
    Options { judge, ..Options::default() }
}

/// A few findings, for people.
fn told<'f>(findings: impl Iterator<Item = &'f Finding>) -> String {
    let line = |finding: &Finding| {
        let Finding { rule, frame, packet, expected, seen, .. } = finding;
        let around = finding.around.iter().map(|line| format!("\n        #{} {} {}", line.frame, line.from, line.text));
        let around: String = around.collect();
        format!("\n    {rule} in frame {frame}: {packet}: expected {expected}, seen {seen}{around}")
    };
    findings.take(3).map(line).collect()
}
