//! Captures made line by line, and what is found in them.

mod artefacts;
mod judged;
mod threads;

use rocespec_codec::notation::{self, Line, Scope};
use rocespec_codec::{Net, Qpn, encode};
use rocespec_reports::examination::CaptureFile;

use super::{Check, Options};
use crate::capture::{CapturedFrame, LINKTYPE_ETHERNET};

/// Nanoseconds between two lines.
const STEP_NS: u64 = 200_000;

/// Frames of a script: `>` from the first address to the second, `<` back, each with a packet in the notation.
fn frames(script: &str) -> Vec<CapturedFrame> {
    let lines = script.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.enumerate().map(|(at, line)| frame(at as u64 + 1, line)).collect()
}

fn frame(number: u64, line: &str) -> CapturedFrame {
    let (way, text) = line.split_at(1);
    let mut scope = Scope::default();
    let base = &mut scope.base;
    base.bth.dest_qp = Qpn::new(if way == ">" { 0x22 } else { 0x11 });
    if way == "<" {
        std::mem::swap(&mut base.eth.dst, &mut base.eth.src);
        if let Net::V4(ip) = &mut base.net {
            std::mem::swap(&mut ip.src, &mut ip.dst);
        }
    }
    let mut room = [0; 8192];
    let Ok(Line::Roce(packet)) = notation::parse(text.trim(), &scope, &mut room) else { panic!("{line}") };
    let mut bytes = vec![0; 8192];
    let data = encode(&packet, &mut bytes).unwrap().to_vec();
    CapturedFrame {
        number,
        time_ns: 1_000_000_000 + number * STEP_NS,
        linktype: LINKTYPE_ETHERNET,
        original_len: data.len() as u32,
        data,
        ..CapturedFrame::default()
    }
}

/// Examines frames in their order, numbered anew.
fn examine(frames: &[CapturedFrame]) -> CaptureFile {
    examine_with(Options::default(), frames)
}

fn examine_with(options: Options, frames: &[CapturedFrame]) -> CaptureFile {
    let mut check = Check::new(options, &[]);
    for (at, frame) in frames.iter().enumerate() {
        check.frame(&CapturedFrame { number: at as u64 + 1, ..frame.clone() }.borrowed());
    }
    check.finish().0
}

/// Rules that are broken, with the frames that broke them, the first ones first.
fn broken(file: &CaptureFile) -> Vec<(u64, &str)> {
    let connections = file.connections.iter().flat_map(|connection| &connection.findings.first);
    let mut all: Vec<_> = connections.chain(&file.loose.first).map(|found| (found.frame, &*found.rule)).collect();
    all.sort();
    all
}

/// Kinds of artefacts.
fn artefacts(file: &CaptureFile) -> Vec<&str> {
    file.artefacts.iter().map(|artefact| &*artefact.kind).collect()
}

/// An exchange without a fault.
const CLEAN: &str = "
    > SEND_FIRST psn=@0xfffffe 1024B
    > SEND_LAST psn=@0xffffff ack 100B
    < ACK psn=@0xffffff msn=1
    > RDMA_READ_REQUEST psn=@0 va=0x1000 rkey=1 len=2400
    < RDMA_READ_RESPONSE_FIRST psn=@0 msn=2 1024B
    < RDMA_READ_RESPONSE_MIDDLE psn=@1 1024B
    < RDMA_READ_RESPONSE_LAST psn=@2 msn=2 352B
    > SEND_ONLY psn=@3 ack 64B
    < ACK psn=@3 msn=3
    < SEND_ONLY psn=@0x77 ack 64B
    > ACK psn=@0x77 msn=1
    > RDMA_WRITE_FIRST psn=@4 va=0x1000 rkey=1 len=2000 1024B
    > RDMA_WRITE_LAST psn=@5 ack 976B
    < ACK psn=@5 msn=4
    > FETCH_ADD psn=@6 va=0x1000 rkey=1 add=1
    < ATOMIC_ACKNOWLEDGE psn=@6 msn=5
    > SEND_ONLY psn=@7 ack 64B
    < RNR_NAK psn=@7 msn=5 timer=0.01ms
    > SEND_ONLY psn=@7 ack 64B
    < ACK psn=@7 msn=6
    > SEND_ONLY psn=@9 ack 64B
    < NAK psn=@8 msn=6 code=psn_sequence_error
    > SEND_ONLY psn=@8 64B
    > SEND_ONLY psn=@9 ack 64B
    < ACK psn=@9 msn=8
    < CNP becn
    > RDMA_READ_REQUEST psn=@10 va=0x1000 rkey=1 len=8
    < RDMA_READ_RESPONSE_ONLY psn=@10 msn=9 8B
    > SEND_ONLY psn=@11 ack 64B
    < ACK psn=@11 msn=10";
