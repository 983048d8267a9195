//! The aims as ratios: what is compared runs in turns, a few microseconds each, so that both sides see the same machine.
//!
//! `cargo bench -p rocespec-codec --bench aims`

mod work;

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use etherparse::SlicedPacket;
use rocespec_codec::notation::{Scope, print};
use rocespec_codec::{Frame, build, decode, icrc};

/// Turns of each side.
const ROUNDS: usize = 2001;
/// Length of a turn.
const TURN: Duration = Duration::from_micros(20);

fn main() {
    println!("{:44} {:>9} {:>9} {:>22}  aim", "ours / theirs", "ours", "theirs", "ratio (quartiles)");
    let frame = work::write(1024);
    compare(
        "decode / etherparse up to UDP",
        "<= 1.3",
        || _ = black_box(&decode(black_box(&frame))),
        || _ = black_box(&SlicedPacket::from_ethernet(black_box(&frame))),
    );
    for (len, aim) in [(1024, "<= 1.18 (85 %)"), (4096, "<= 1.09 (92 %)")] {
        let frame = work::write(len);
        let covered = &frame[14..frame.len() - 4];
        compare(
            &format!("decode + verify {len} B / crc32fast"),
            aim,
            || assert!(decode_and_verify(black_box(&frame))),
            || _ = black_box(crc32fast::hash(black_box(covered))),
        );
    }
    let frame = work::send(1024);
    let covered = &frame[14..frame.len() - 4];
    let mut packet = work::roce(&frame);
    let (mut buffer, mut copy) = (vec![0; 2048], vec![0; 2048]);
    compare(
        "build SEND 1024 B / crc32fast + copy",
        "<= 1.3",
        || {
            _ = black_box(&build(black_box(&mut packet), &mut buffer));
        },
        || {
            copy[..frame.len()].copy_from_slice(black_box(&frame));
            black_box((&copy, crc32fast::hash(black_box(covered))));
        },
    );
    let scope = Scope::default();
    let mut line = String::with_capacity(4096);
    for text in [
        "SEND_ONLY qp=0x11 psn=5 ack 64B",
        "ACK psn=1 msn=2 credits=31",
        "RDMA_WRITE_FIRST qp=0x11 psn=5 va=0x7f0000001040 rkey=0x1234 len=3000 1024B",
        "SEND_ONLY qp=0x11 psn=5 ip.src=10.1.2.3 ip.dst=10.1.2.4 eth.src=02:00:00:00:00:07 eth.dst=02:00:00:00:00:08 64B",
    ] {
        let frame = work::frame(text);
        let packet = work::roce(&frame);
        let mut print = || {
            line.clear();
            write!(line, "{}", print(black_box(&packet), &scope)).expect("a String takes all");
            black_box(&line);
        };
        let (_, nanos) = measure(&mut print, &mut || {});
        let what = format!("print {text}");
        println!("{what:44.44} {:>7.1}ns {:>43}", nanos[0], "< 300 ns");
    }
}

fn decode_and_verify(frame: &[u8]) -> bool {
    matches!(&decode(frame), Ok(Frame::Roce(packet)) if icrc::verify_in(frame, packet))
}

fn compare(what: &str, aim: &str, mut ours: impl FnMut(), mut theirs: impl FnMut()) {
    let (ratios, nanos) = measure(&mut ours, &mut theirs);
    let at = |quarter: usize| ratios[ratios.len() * quarter / 4];
    println!("{what:44} {:>7.1}ns {:>7.1}ns {:>6.3} ({:.3} .. {:.3})  {aim}", nanos[0], nanos[1], at(2), at(1), at(3));
}

/// The ratios of the turns, sorted, and the median of each side in nanoseconds.
fn measure(ours: &mut dyn FnMut(), theirs: &mut dyn FnMut()) -> (Vec<f64>, [f64; 2]) {
    let counts = [calls(ours), calls(theirs)];
    let (mut ratios, mut nanos) = (Vec::new(), [Vec::new(), Vec::new()]);
    for _ in 0..ROUNDS {
        let turn = [time(ours, counts[0]), time(theirs, counts[1])];
        ratios.push(turn[0] / turn[1]);
        nanos[0].push(turn[0]);
        nanos[1].push(turn[1]);
    }
    ratios.sort_by(f64::total_cmp);
    let medians = nanos.map(|mut nanos| {
        nanos.sort_by(f64::total_cmp);
        nanos[nanos.len() / 2]
    });
    (ratios, medians)
}

/// Calls that fill a turn.
fn calls(run: &mut dyn FnMut()) -> u32 {
    let mut count = 16;
    while time(run, count) * f64::from(count) < TURN.as_nanos() as f64 {
        count *= 2;
    }
    count
}

/// Nanoseconds of a call.
fn time(run: &mut dyn FnMut(), count: u32) -> f64 {
    let start = Instant::now();
    for _ in 0..count {
        run();
    }
    start.elapsed().as_nanos() as f64 / f64::from(count)
}
