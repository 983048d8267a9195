//! libpcap reads what we wrote, and we read what it wrote: frame by frame the same.

mod common;

use common::{emulator, run_on};
use rocespec::capture::{CapturedFrame, Reader};
use rocespec::scenario::catalogue;

fn ours(bytes: &[u8]) -> Vec<CapturedFrame> {
    Reader::new(bytes).map(|frame| frame.unwrap()).collect()
}

/// Time in nanoseconds, bytes.
fn theirs(path: &std::path::Path) -> Vec<(u64, Vec<u8>)> {
    let mut capture = pcap::Capture::from_file_with_precision(path, pcap::Precision::Nano).unwrap();
    let mut frames = Vec::new();
    loop {
        match capture.next_packet() {
            Ok(packet) => {
                let time = packet.header.ts;
                frames.push((time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64, packet.data.to_vec()));
            }
            Err(pcap::Error::NoMorePackets) => return frames,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn libpcap_reads_every_file_of_a_run_as_we_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("case.pcapng");
    let (_, files) = run_on(&mut emulator(""), &catalogue().unwrap());
    let mut frames = 0;
    for file in files.iter().filter(|file| !file.is_empty()) {
        std::fs::write(&path, file).unwrap();
        let ours: Vec<(u64, Vec<u8>)> = ours(file).into_iter().map(|frame| (frame.time_ns, frame.data)).collect();
        assert_eq!(ours, theirs(&path));
        frames += ours.len();
    }
    assert!(frames > 1000, "{frames}");
}

#[test]
fn we_read_what_libpcap_writes() {
    let folder = tempfile::tempdir().unwrap();
    let (_, files) = run_on(&mut emulator(""), &catalogue().unwrap()[..3]);
    for precision in [pcap::Precision::Micro, pcap::Precision::Nano] {
        let path = folder.path().join("theirs.pcap");
        let dead = pcap::Capture::dead_with_precision(pcap::Linktype::ETHERNET, precision).unwrap();
        let mut file = dead.savefile(&path).unwrap();
        let frames = ours(&files[0]);
        for (index, frame) in frames.iter().enumerate() {
            let len = frame.data.len() as u32;
            let ts = libc::timeval { tv_sec: 1_000 + index as i64, tv_usec: 999_999 };
            file.write(&pcap::Packet::new(&pcap::PacketHeader { ts, caplen: len, len: len + 4 }, &frame.data));
        }
        drop(file);
        let read = ours(&std::fs::read(&path).unwrap());
        let fraction = if precision == pcap::Precision::Nano { 999_999 } else { 999_999_000 };
        for (index, (read, sent)) in read.iter().zip(&frames).enumerate() {
            assert_eq!(read.data, sent.data);
            assert_eq!(read.original_len as usize, sent.data.len() + 4);
            assert_eq!(read.time_ns, (1_000 + index as u64) * 1_000_000_000 + fraction);
        }
        assert_eq!(read.len(), frames.len());
    }
}
