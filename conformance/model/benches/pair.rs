//! Two endpoints that move 1 KiB WRITEs: time of a packet, the share of the ICRC in it, and what many queue pairs cost.
//!
//! `cargo bench -p rocespec-model --bench pair`

#[path = "../tests/harness/pair.rs"]
#[expect(unreachable_pub, reason = "test programs have no outside")]
mod pair;

use std::hint::black_box;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput};
use pair::{Pair, Setup};
use rocespec_codec::{Frame, decode, icrc};
use rocespec_model::{Output, Policy, SendFlags, SendOperation, SendRequest};

/// Bytes of a WRITE: one packet.
const LEN: u32 = 1024;
/// WRITEs of a turn.
const TURN: usize = 10_000;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    packets(&mut criterion);
    parts(&mut criterion);
    criterion.final_summary();
    many_queue_pairs();
}

/// So many queue pairs between two ends; `policy` is that of both.
fn pair(queue_pairs: usize, policy: Policy) -> Pair {
    let depth = TURN.div_ceil(queue_pairs).clamp(1, 16_384) as u32;
    Pair::new(&Setup { policies: [policy; 2], queue_pairs, depth, ..Setup::default() })
}

/// Posts a turn of WRITEs, the queue pairs one after the other, and carries them out. Gives the frames that went over.
fn turn(pair: &mut Pair) -> u64 {
    let before = pair.frames;
    let request = SendRequest {
        mr: pair.ends[0].own.handle,
        length: LEN,
        remote_va: pair.ends[1].shared.va,
        rkey: pair.ends[1].shared.rkey,
        flags: SendFlags::default(),
        ..SendRequest::new(0, SendOperation::RdmaWrite)
    };
    let end = &mut pair.ends[0];
    for qp in end.qps.iter().cycle().take(TURN) {
        end.port.post_send(*qp, &request).expect("room in the send queue");
    }
    pair.run();
    pair.frames - before
}

/// All packets, those of the ACKs too.
fn packets(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("packets");
    for (name, policy) in [("plain", Policy::PLAIN), ("coalesce-all", Policy::named("coalesce-all").expect("a preset"))]
    {
        let mut pair = pair(10, policy);
        group.throughput(Throughput::Elements(turn(&mut pair)));
        group.bench_function(BenchmarkId::new("WRITE 1024 B", name), |b| b.iter(|| turn(&mut pair)));
    }
    group.finish();
}

/// A request as it leaves the one end.
fn a_request(operation: SendOperation, length: u32) -> Vec<u8> {
    let mut pair = pair(1, Policy::PLAIN);
    let end = &mut pair.ends[0];
    let request = SendRequest { mr: end.own.handle, length, ..SendRequest::new(0, operation) };
    end.port.post_send(end.qps[0], &request).expect("a queue pair in RTS");
    match end.port.poll_output(pair.now) {
        Some(Output::Frame(frame)) => frame,
        other => panic!("{other:?}"),
    }
}

/// What a packet cannot do without: the ICRC at both ends, and the copies from memory to memory.
fn parts(criterion: &mut Criterion) {
    let frame = a_request(SendOperation::RdmaWrite, LEN);
    let Ok(Frame::Roce(packet)) = decode(&frame) else { panic!("a WRITE") };
    let (mut copy, source) = (vec![0; 1 << 16], vec![1; LEN as usize]);
    let mut group = criterion.benchmark_group("of which");
    group.bench_function("ICRC, once", |b| b.iter(|| icrc::verify_in(black_box(&frame), black_box(&packet))));
    group.bench_function("copy of 1024 B, once", |b| {
        b.iter(|| copy[..source.len()].copy_from_slice(black_box(&source)));
    });
    group.finish();
}

/// Nanoseconds that the ICRC of a frame takes.
fn icrc_of(frame: &[u8]) -> f64 {
    const TIMES: u32 = 100_000;
    let Ok(Frame::Roce(packet)) = decode(frame) else { panic!("no packet") };
    let start = busy();
    for _ in 0..TIMES {
        assert!(icrc::verify_in(black_box(frame), black_box(&packet)));
    }
    (busy() - start) as f64 / f64::from(TIMES)
}

/// Nanoseconds that this program has had a processor to itself; where the system does not say, the time of day.
fn busy() -> u64 {
    let spent = std::fs::read_to_string("/proc/self/schedstat").ok();
    let spent = spent.and_then(|text| text.split(' ').next()?.parse().ok());
    spent.unwrap_or_else(|| START.elapsed().as_nanos() as u64)
}

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The time of a packet with many queue pairs, held against that with few in turns, so that both see the same machine.
fn many_queue_pairs() {
    let mut sides = [10, 10_000].map(|queue_pairs| pair(queue_pairs, Policy::PLAIN));
    let mut nanos = [Vec::new(), Vec::new()];
    let end = Instant::now() + Duration::from_secs(5);
    while Instant::now() < end {
        for (pair, nanos) in sides.iter_mut().zip(&mut nanos) {
            let start = busy();
            let frames = turn(pair);
            nanos.push((busy() - start) as f64 / frames as f64);
        }
    }
    let mut ratios: Vec<_> = nanos[0].iter().zip(&nanos[1]).map(|(few, many)| many / few).collect();
    ratios.sort_by(f64::total_cmp);
    let at = |quarter: usize| ratios[(ratios.len() - 1) * quarter / 4];
    let [few, many] = nanos.map(|mut nanos| {
        nanos.sort_by(f64::total_cmp);
        nanos[nanos.len() / 2]
    });
    println!("a packet with 10 queue pairs {few:.0} ns (aim: <= 667 ns), with 10,000 {many:.0} ns");
    // An empty SEND has the length of an ACK, but for its AETH. Each frame has its ICRC made and verified.
    let icrc = icrc_of(&a_request(SendOperation::RdmaWrite, LEN)) + icrc_of(&a_request(SendOperation::Send, 0));
    println!("of which ICRC {:.0} % (of a WRITE and its ACK, made and verified)", icrc / few * 100.0);
    println!("ratio {:.2} (quartiles {:.2} .. {:.2}; aim: <= 2)", at(2), at(1), at(3));
}
