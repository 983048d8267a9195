use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::*;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

fn read_packed(bytes: Vec<u8>) -> Content {
    one_by_one(unpack(io::Cursor::new(bytes)).unwrap())
}

#[test]
fn packed_files_are_read_as_what_is_in_them() {
    let (file, _) = written();
    for packed in [file.clone(), gzip(&file), zstd(&file)] {
        assert_eq!(read_packed(packed), (good(&file), None));
    }
}

#[test]
fn files_packed_in_pieces_are_read_to_the_end() {
    let (file, starts) = written();
    let (one, other) = file.split_at(starts[3]);
    assert_eq!(read_packed([gzip(one), gzip(other)].concat()), (good(&file), None));
    assert_eq!(read_packed([zstd(one), zstd(other)].concat()), (good(&file), None));
    // A frame that holds no data may stand anywhere.
    let skipped = [0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3].to_vec();
    let packed = [skipped.clone(), zstd(one), skipped.clone(), zstd(other), skipped].concat();
    assert_eq!(read_packed(packed), (good(&file), None));
}

#[test]
fn a_packed_file_that_was_cut_gives_what_is_there() {
    let (file, _) = written();
    // Noise between the frames, so that cutting cuts something.
    let noise: Vec<u8> = (0..200_000u32).flat_map(|n| n.wrapping_mul(0x9e37_79b9).to_le_bytes()).collect();
    let mut writer = Writer::new(Vec::new()).unwrap();
    for piece in noise.chunks(1000) {
        writer.frame(0, Direction::Inbound, piece, None).unwrap();
    }
    let noisy = writer.finish().unwrap();
    for packed in [gzip(&noisy), zstd(&noisy)] {
        let (frames, error) = read_packed(packed[..packed.len() / 2].to_vec());
        assert!(!frames.is_empty());
        assert_eq!(frames, good(&noisy)[..frames.len()]);
        let error = error.unwrap();
        assert!(error.hint.contains("damaged or cut off") || error.what.contains("ends inside"), "{error}");
    }
    let twice = read_packed(gzip(&gzip(&file))).1.unwrap();
    assert!(twice.to_string().contains("packed twice"), "{twice}");
}
