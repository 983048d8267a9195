//! Times of the codec, by criterion, each beside what it is held against.
//!
//! `cargo bench -p rocespec-codec --bench codec`

mod work;

use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{Criterion, Throughput};
use etherparse::SlicedPacket;
use rocespec_codec::field::complete;
use rocespec_codec::notation::{Line, Scope, parse, print};
use rocespec_codec::{Frame, build, decode, decode_lax, encode, icrc};

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    headers(&mut criterion);
    verification(&mut criterion);
    building(&mut criterion);
    notation(&mut criterion);
    criterion.final_summary();
}

/// All headers of an RDMA WRITE.
fn headers(criterion: &mut Criterion) {
    let frame = work::write(1024);
    let mut group = criterion.benchmark_group("headers");
    group.bench_function("decode", |b| b.iter(|| _ = black_box(&decode(black_box(&frame)))));
    group.bench_function("decode_lax", |b| b.iter(|| _ = black_box(&decode_lax(black_box(&frame), frame.len()))));
    group.bench_function("etherparse", |b| {
        b.iter(|| _ = black_box(&SlicedPacket::from_ethernet(black_box(&frame))));
    });
    group.finish();
}

/// Decoding with the ICRC.
fn verification(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("icrc");
    for len in [64, 1024, 4096] {
        let frame = work::write(len);
        let covered = &frame[14..frame.len() - 4];
        group.throughput(Throughput::Bytes(covered.len() as u64));
        group.bench_function(format!("decode and verify/{len}"), |b| {
            b.iter(|| matches!(&decode(black_box(&frame)), Ok(Frame::Roce(packet)) if icrc::verify_in(&frame, packet)));
        });
        group.bench_function(format!("crc32fast/{len}"), |b| b.iter(|| crc32fast::hash(black_box(covered))));
    }
    group.finish();
}

/// A SEND into a buffer.
fn building(criterion: &mut Criterion) {
    let frame = work::send(1024);
    let packet = work::roce(&frame);
    let mut buffer = vec![0; 2048];
    let mut group = criterion.benchmark_group("building");
    group.bench_function("build", |b| {
        let mut packet = packet.clone();
        b.iter(|| _ = black_box(&build(black_box(&mut packet), &mut buffer)));
    });
    group.bench_function("complete and encode", |b| {
        b.iter(|| {
            let mut packet = black_box(&packet).clone();
            complete(&mut packet, |_| false);
            _ = black_box(encode(&packet, &mut buffer));
        });
    });
    group.bench_function("encode", |b| b.iter(|| _ = black_box(encode(black_box(&packet), &mut buffer))));
    group.finish();
}

/// Lines of text.
fn notation(criterion: &mut Criterion) {
    let scope = Scope::default();
    let mut group = criterion.benchmark_group("notation");
    for (name, text) in [
        ("send", "SEND_ONLY qp=0x11 psn=5 ack 64B"),
        ("acknowledge", "ACK psn=1 msn=2"),
        ("write", "RDMA_WRITE_FIRST qp=0x11 psn=5 va=0x7f0000001040 rkey=0x1234 len=3000 1024B"),
    ] {
        let frame = work::frame(text);
        let packet = work::roce(&frame);
        let mut line = String::with_capacity(4096);
        group.bench_function(format!("print/{name}"), |b| {
            b.iter(|| {
                line.clear();
                write!(line, "{}", print(black_box(&packet), &scope)).expect("a String takes all");
                black_box(&line);
            });
        });
        let mut buffer = vec![0; 2048];
        group.bench_function(format!("parse/{name}"), |b| {
            b.iter(|| matches!(parse(black_box(text), &scope, &mut buffer), Ok(Line::Roce(_))));
        });
    }
    group.finish();
}
