//! What a packet of a capture costs until it is decoded and its ICRC is verified, on one processor, held against the copy of
//! the file that cannot be saved.
//!
//! `cargo bench -p rocespec --bench capture`

use std::hint::black_box;
use std::io::Read;

use criterion::{Criterion, Throughput};
use rocespec::capture::inside::{Inside, Opener};
use rocespec::capture::pcapng::{Direction, Writer};
use rocespec::capture::{Batch, Batches, Reader};
use rocespec_codec::notation::{Line, Scope, parse};
use rocespec_codec::{Frame, Psn, build, decode, icrc};

/// Frames of a file: more bytes than the processor's own caches hold.
const FRAMES: u32 = 1 << 16;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for (name, file) in [("pcapng", pcapng()), ("pcap", pcap())] {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(FRAMES.into()));
        group.bench_function("copy", |b| b.iter(|| copy(&file)));
        group.bench_function("batches", |b| b.iter(|| assert_eq!(batches(&file), FRAMES as usize)));
        group.bench_function("frames", |b| b.iter(|| assert_eq!(Reader::new(&file[..]).count(), FRAMES as usize)));
        group.bench_function("decode", |b| b.iter(|| assert_eq!(packets(&file, |_, _| true), FRAMES as usize)));
        group.bench_function("verify", |b| b.iter(|| assert_eq!(packets(&file, icrc::verify_in), FRAMES as usize)));
        group.finish();
    }
    criterion.final_summary();
}

/// Hands over frames of WRITEs of 1 KiB, each in its turn.
fn frames(mut each: impl FnMut(&[u8])) {
    let (mut bytes, mut buffer) = ([0; 2048], [0; 2048]);
    let line = parse("RDMA_WRITE_MIDDLE qp=0x11 1024B", &Scope::default(), &mut bytes);
    let Ok(Line::Roce(mut packet)) = line else { panic!("{line:?}") };
    for psn in 0..FRAMES {
        packet.bth.psn = Psn::new(psn);
        each(build(&mut packet, &mut buffer).expect("room"));
    }
}

fn pcapng() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new()).expect("a Vec takes all");
    frames(|frame| writer.frame(0, Direction::Inbound, frame, None).expect("a Vec takes all"));
    writer.finish().expect("a Vec takes all")
}

fn pcap() -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    let mut file = words(&[0xa1b2_3c4d, 4 << 16 | 2, 0, 0, 65_535, 1]);
    frames(|frame| {
        file.extend(words(&[0, 0, frame.len() as u32, frame.len() as u32]));
        file.extend(frame);
    });
    file
}

/// What `cat FILE > /dev/null` does.
fn copy(mut file: &[u8]) {
    let mut buffer = vec![0; 128 << 10];
    while file.read(&mut buffer).expect("memory can be read") > 0 {
        black_box(&buffer);
    }
}

fn batches(file: &[u8]) -> usize {
    let (mut batches, mut batch, mut count) = (Batches::new(file), Batch::default(), 0);
    while let Some(filled) = batches.fill(&mut batch) {
        filled.expect("a sound file");
        count += batch.len();
    }
    count
}

/// Packets that are right.
fn packets(file: &[u8], is_right: impl Fn(&[u8], &rocespec_codec::Roce<'_>) -> bool) -> usize {
    let (mut batches, mut batch, mut opener) = (Batches::new(file), Batch::default(), Opener::default());
    let mut count = 0;
    while let Some(filled) = batches.fill(&mut batch) {
        filled.expect("a sound file");
        for frame in batch.iter() {
            let Inside::Ethernet(carried) = opener.look(frame.linktype, frame.original_len, frame.data) else {
                continue;
            };
            if let Ok(Frame::Roce(packet)) = black_box(&decode(carried.frame)) {
                count += usize::from(is_right(carried.frame, packet));
            }
        }
    }
    count
}
