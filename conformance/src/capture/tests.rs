use std::io::{self, Read};

use pcap_parser::pcapng::OptionCode;
use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
use pcap_parser::{Block, PcapBlockOwned, PcapError, PcapNGReader};
use proptest::prelude::*;

use super::pcapng::{MAX_COMMENT, Writer};
use super::*;

/// Reads until the end: the frames and, where there is one, the error.
fn read(bytes: &[u8]) -> (Vec<CapturedFrame>, Option<CaptureError>) {
    let mut reader = Reader::new(bytes);
    let mut frames = Vec::new();
    while let Some(next) = reader.next() {
        match next {
            Ok(frame) => frames.push(frame),
            Err(error) => {
                assert!(reader.next().is_none(), "nothing comes after an error");
                return (frames, Some(error));
            }
        }
    }
    (frames, None)
}

fn good(bytes: &[u8]) -> Vec<CapturedFrame> {
    let (frames, error) = read(bytes);
    assert_eq!(error, None);
    frames
}

/// Frames of every length modulo four; and the offsets at which their blocks begin, with that of the end.
fn written() -> (Vec<u8>, Vec<usize>) {
    let mut writer = Writer::new(Vec::new()).unwrap();
    for n in 0..6u8 {
        let direction = if n.is_multiple_of(2) { Direction::Outbound } else { Direction::Inbound };
        let comment = (n != 3).then(|| format!("line {n}: é…"));
        writer.frame(u64::from(n) << 33 | 7, direction, &vec![n; 60 + usize::from(n)], comment.as_deref()).unwrap();
    }
    let file = writer.finish().unwrap();
    let length = |at: usize| u32::from_le_bytes([4, 5, 6, 7].map(|n| file[at + n])) as usize;
    let mut starts = vec![length(0) + length(length(0))];
    while starts[starts.len() - 1] < file.len() {
        starts.push(starts[starts.len() - 1] + length(starts[starts.len() - 1]));
    }
    (file, starts)
}

mod writer {
    use super::*;

    /// pcap-parser's own reader, which shares no line with the writer.
    #[test]
    fn an_independent_reader_finds_everything_that_was_written() {
        let (file, _) = written();
        let mut reader = PcapNGReader::new(1 << 16, &file[..]).unwrap();
        let mut frames = 0u8;
        loop {
            match reader.next() {
                Ok((offset, PcapBlockOwned::NG(block))) => {
                    match block {
                        Block::SectionHeader(section) => {
                            assert_eq!(section.shb_userappl().unwrap().unwrap(), "rocespec");
                            assert_eq!(section.section_len, -1);
                        }
                        Block::InterfaceDescription(interface) => {
                            assert_eq!(interface.linktype.0, 1);
                            assert_eq!(interface.if_tsresol, 9);
                            assert_eq!(interface.if_name().unwrap().unwrap(), "tester");
                        }
                        Block::EnhancedPacket(packet) => {
                            let time = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                            assert_eq!(time, u64::from(frames) << 33 | 7);
                            assert_eq!(packet.packet_data(), vec![frames; 60 + usize::from(frames)]);
                            let option = |code| packet.options.iter().find(|option| option.code == code);
                            let flags = option(OptionCode(2)).unwrap().as_u32_le().unwrap();
                            assert_eq!(flags, if frames.is_multiple_of(2) { 2 } else { 1 });
                            let comment = option(OptionCode::Comment).map(|option| option.as_str().unwrap().to_owned());
                            assert_eq!(comment, (frames != 3).then(|| format!("line {frames}: é…")));
                            frames += 1;
                        }
                        other => panic!("{other:?}"),
                    }
                    reader.consume(offset);
                }
                Ok(_) => panic!("no pcapng block"),
                Err(PcapError::Eof) => break,
                Err(PcapError::Incomplete(_)) => reader.refill().unwrap(),
                Err(error) => panic!("{error:?}"),
            }
        }
        assert_eq!(frames, 6);
    }

    #[test]
    fn the_bytes_stay_the_same_from_release_to_release() {
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.frame(0x1_0000_0002, Direction::Inbound, &[0xaa; 5], Some("step")).unwrap();
        let hex: String = writer.finish().unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
        let section = "0a0d0d0a 2c000000 4d3c2b1a 01000000 ffffffffffffffff 04000800726f636573706563 00000000 2c000000";
        let interface =
            "01000000 2c000000 01000000 00000000 020006007465737465720000 0900010009000000 00000000 2c000000";
        let frame = "06000000 3c000000 00000000 01000000 02000000 05000000 05000000 aaaaaaaaaa000000 \
                     0200040001000000 0100040073746570 00000000 3c000000";
        assert_eq!(hex, [section, interface, frame].concat().replace(' ', ""));
    }

    #[test]
    fn a_long_comment_is_cut_between_characters() {
        for shift in 0..4 {
            let comment = format!("{}{}", "x".repeat(shift), "é".repeat(MAX_COMMENT));
            let mut writer = Writer::new(Vec::new()).unwrap();
            writer.frame(0, Direction::Inbound, &[0; 60], Some(&comment)).unwrap();
            let read = good(&writer.finish().unwrap()).remove(0).comment.unwrap();
            assert!(read.len() <= MAX_COMMENT && read.len() > MAX_COMMENT - 4);
            assert!(comment.starts_with(read.strip_suffix('…').unwrap()));
        }
    }

    #[test]
    fn a_frame_that_no_reader_would_take_is_refused() {
        let mut writer = Writer::new(io::sink()).unwrap();
        let error = writer.frame(0, Direction::Inbound, &vec![0; MAX_BLOCK], None).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn the_longest_frame_reads_back() {
        let longest = vec![7; MAX_BLOCK - 64 - MAX_COMMENT];
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.frame(0, Direction::Inbound, &longest, Some(&"c".repeat(2 * MAX_COMMENT))).unwrap();
        assert_eq!(good(&writer.finish().unwrap())[0].data, longest);
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            frames in prop::collection::vec(
                (any::<u64>(), any::<bool>(), prop::collection::vec(any::<u8>(), 0..200), prop::option::of(".{1,40}")), 0..8),
        ) {
            let mut writer = Writer::new(Vec::new()).unwrap();
            for (time_ns, inbound, data, comment) in &frames {
                let direction = if *inbound { Direction::Inbound } else { Direction::Outbound };
                writer.frame(*time_ns, direction, data, comment.as_deref()).unwrap();
            }
            let read = good(&writer.finish().unwrap());
            prop_assert_eq!(read.len(), frames.len());
            for (n, (read, (time_ns, _, data, comment))) in read.iter().zip(&frames).enumerate() {
                prop_assert_eq!(read.number, n as u64 + 1);
                prop_assert_eq!(read.time_ns, *time_ns);
                prop_assert_eq!(&read.data, data);
                prop_assert_eq!(read.original_len as usize, data.len());
                prop_assert_eq!(read.linktype, LINKTYPE_ETHERNET);
                let comment = comment.as_ref().map(|comment| comment.trim_end_matches('\0').to_owned());
                prop_assert_eq!(&read.comment, &comment);
            }
        }
    }
}

/// Puts files together byte by byte, in either byte order.
struct Bytes {
    big_endian: bool,
    bytes: Vec<u8>,
}

impl Bytes {
    fn new(big_endian: bool) -> Self {
        Self { big_endian, bytes: Vec::new() }
    }

    fn u16(&mut self, values: &[u16]) -> &mut Self {
        for value in values {
            self.bytes.extend(if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
        }
        self
    }

    fn u32(&mut self, values: &[u32]) -> &mut Self {
        for value in values {
            self.bytes.extend(if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() });
        }
        self
    }

    fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend(bytes);
        self
    }

    fn pcap_header(&mut self, magic: u32, network: u32) -> &mut Self {
        self.u32(&[magic]).u16(&[2, 4]).u32(&[0, 0, 65535, network])
    }

    fn block(&mut self, kind: u32, body: impl FnOnce(&mut Bytes)) -> &mut Self {
        let mut inner = Bytes::new(self.big_endian);
        body(&mut inner);
        inner.bytes.resize(inner.bytes.len().next_multiple_of(4), 0);
        let length = inner.bytes.len() as u32 + 12;
        self.u32(&[kind, length]).raw(&inner.bytes).u32(&[length])
    }

    fn section(&mut self) -> &mut Self {
        self.block(0x0a0d_0d0a, |b| {
            b.u32(&[0x1a2b_3c4d]).u16(&[1, 0]).u32(&[u32::MAX, u32::MAX]);
        })
    }

    fn interface(&mut self, linktype: u16, snaplen: u32, options: impl FnOnce(&mut Bytes)) -> &mut Self {
        self.block(1, |b| {
            b.u16(&[linktype, 0]).u32(&[snaplen]);
            options(b);
        })
    }

    fn packet(&mut self, interface: u32, timestamp: u64, original: u32, data: &[u8]) -> &mut Self {
        self.block(6, |b| {
            b.u32(&[interface, (timestamp >> 32) as u32, timestamp as u32, data.len() as u32, original]).raw(data);
        })
    }
}

mod pcap {
    use super::*;

    #[test]
    fn both_resolutions_and_both_byte_orders_are_read() {
        for big_endian in [false, true] {
            for (magic, fraction_ns) in [(0xa1b2_c3d4, 1_000), (0xa1b2_3c4d, 1)] {
                let mut file = Bytes::new(big_endian);
                file.pcap_header(magic, 1).u32(&[1_700_000_000, 123_456, 5, 1500]).raw(b"abcde").u32(&[0, 0, 0, 0]);
                let frames = good(&file.bytes);
                let expected = CapturedFrame {
                    number: 1,
                    time_ns: 1_700_000_000_000_000_000 + 123_456 * fraction_ns,
                    interface: 0,
                    linktype: LINKTYPE_ETHERNET,
                    original_len: 1500,
                    data: b"abcde".to_vec(),
                    comment: None,
                };
                assert_eq!(frames[0], expected);
                assert_eq!((frames[1].number, frames[1].data.len()), (2, 0));
            }
        }
    }

    #[test]
    fn the_length_of_a_captured_fcs_does_not_hide_the_link_type() {
        let mut file = Bytes::new(false);
        file.pcap_header(0xa1b2_c3d4, 0x4400_0001).u32(&[0, 0, 1, 1]).raw(&[0]);
        assert_eq!(good(&file.bytes)[0].linktype, LINKTYPE_ETHERNET);
    }

    #[test]
    fn a_length_that_lies_costs_no_memory() {
        let mut file = Bytes::new(false);
        file.pcap_header(0xa1b2_c3d4, 1).u32(&[0, 0, 1, 1]).raw(&[0]).u32(&[0, 0, u32::MAX, 1]).raw(&[0; 40]);
        let (frames, error) = read(&file.bytes);
        let error = error.unwrap();
        assert_eq!((frames.len(), error.offset), (1, 24 + 17));
        assert!(error.what.contains("4294967295"), "{error}");
    }

    #[test]
    fn a_file_cut_anywhere_gives_its_whole_frames_and_says_where_it_ends() {
        let mut file = Bytes::new(true);
        file.pcap_header(0xa1b2_3c4d, 1);
        let mut starts = vec![file.bytes.len()];
        for n in 0..4u32 {
            file.u32(&[n, 0, n * 3, n * 3]).raw(&vec![1; n as usize * 3]);
            starts.push(file.bytes.len());
        }
        cut_anywhere(&file.bytes, &starts);
    }
}

/// `starts`: where each frame begins, and the end.
fn cut_anywhere(file: &[u8], starts: &[usize]) {
    let all = good(file);
    for end in 0..file.len() {
        let (frames, error) = read(&file[..end]);
        let whole = starts.iter().skip(1).filter(|&&start| start <= end).count();
        assert_eq!(frames, all[..whole], "cut at {end}");
        if starts.contains(&end) {
            assert_eq!(error, None, "cut at {end}");
        } else if let Some(error) = error {
            assert!(error.offset <= end as u64, "cut at {end}: {error}");
            if end > starts[0] {
                assert_eq!(error.offset, starts[whole] as u64, "cut at {end}: {error}");
            }
        }
    }
}

mod pcapng_files {
    use super::*;

    #[test]
    fn a_file_cut_anywhere_gives_its_whole_frames_and_says_where_it_ends() {
        let (file, starts) = written();
        cut_anywhere(&file, &starts);
    }

    #[test]
    fn every_unit_of_time_becomes_nanoseconds_in_both_byte_orders() {
        let cases: [(Option<u8>, i64, u64, u64); 9] = [
            (None, 0, 1_500_000, 1_500_000_000),
            (Some(6), 10, 1_500_000, 11_500_000_000),
            (Some(9), 0, 7, 7),
            (Some(0), 0, 3, 3_000_000_000),
            (Some(12), 0, 7_999, 7),
            (Some(0x7f), 0, u64::MAX, 0),
            (Some(0x80 | 32), 0, 3 << 31, 1_500_000_000),
            (Some(9), -1, 5, 0),
            (Some(0), i64::MAX, u64::MAX, u64::MAX),
        ];
        for big_endian in [false, true] {
            for (resolution, offset, timestamp, ns) in cases {
                let mut file = Bytes::new(big_endian);
                file.section().interface(1, 0, |b| {
                    if let Some(resolution) = resolution {
                        b.u16(&[9, 1]).raw(&[resolution, 0, 0, 0]);
                    }
                    let offset = if big_endian { offset.to_be_bytes() } else { offset.to_le_bytes() };
                    b.u16(&[14, 8]).raw(&offset).u16(&[0, 0]);
                });
                file.packet(0, timestamp, 2, &[1, 2]);
                assert_eq!(good(&file.bytes)[0].time_ns, ns, "{resolution:?} {offset} {timestamp}");
            }
        }
    }

    #[test]
    fn a_new_section_has_its_own_byte_order_and_interfaces() {
        let mut file = Bytes::new(true);
        file.section().interface(1, 0, |_| {}).interface(276, 0, |_| {}).packet(1, 0, 9, &[1]);
        let mut second = Bytes::new(false);
        second.section().interface(228, 0, |_| {}).packet(0, 0, 3, &[2, 2, 2]).packet(1, 0, 3, &[3]);
        file.raw(&second.bytes);
        let (frames, error) = read(&file.bytes);
        let seen: Vec<_> = frames.iter().map(|f| (f.number, f.interface, f.linktype, f.original_len)).collect();
        assert_eq!(seen, [(1, 1, 276, 9), (2, 0, 228, 3)]);
        assert!(error.unwrap().what.contains("names interface 1"));
    }

    #[test]
    fn blocks_without_frames_are_passed_over() {
        let mut file = Bytes::new(false);
        file.section().interface(1, 0, |_| {});
        for kind in [4, 5, 9, 10, 0xbad, 0x4000_0bad, u32::MAX] {
            file.block(kind, |b| {
                b.u32(&[1, 2, 3]);
            });
        }
        file.block(0xbad, |_| {}).packet(0, 0, 1, &[1]);
        assert_eq!(good(&file.bytes).len(), 1);
    }

    #[test]
    fn a_simple_packet_is_as_long_as_the_snap_length_allows() {
        let mut file = Bytes::new(false);
        file.section().interface(1, 6, |_| {});
        file.block(3, |b| {
            b.u32(&[1500]).raw(b"abcdef");
        });
        file.block(3, |b| {
            b.u32(&[3]).raw(b"xyz");
        });
        file.block(3, |b| {
            b.u32(&[5]).raw(b"xyz");
        });
        let (frames, error) = read(&file.bytes);
        assert_eq!((frames[0].data.as_slice(), frames[0].original_len), (&b"abcdef"[..], 1500));
        assert_eq!(frames[1].data, b"xyz");
        assert!(error.unwrap().what.contains("no room for the 5 bytes"));
    }

    #[test]
    fn comments_are_kept_whatever_they_are_made_of() {
        let mut file = Bytes::new(false);
        file.section().interface(1, 0, |_| {});
        file.block(6, |b| {
            b.u32(&[0, 0, 0, 0, 0]).u16(&[1, 3]).raw(b"one\0").u16(&[1, 4]).raw(b"t\xffo\0").u16(&[0, 0]);
            b.u16(&[1, 4]).raw(b"late");
        });
        assert_eq!(good(&file.bytes)[0].comment.as_deref(), Some("one\nt\u{fffd}o"));
    }

    #[test]
    fn damage_is_named_with_its_place() {
        let good_start = |damage: &dyn Fn(&mut Bytes)| {
            let mut file = Bytes::new(false);
            file.section().interface(1, 0, |_| {}).packet(0, 0, 4, &[1, 2, 3, 4]);
            let at = file.bytes.len() as u64;
            damage(&mut file);
            let (frames, error) = read(&file.bytes);
            let error = error.expect("an error");
            assert_eq!((frames.len(), error.offset), (1, at), "{error}");
            error.what
        };
        let lengths = good_start(&|b| {
            b.u32(&[6, 16, 0, 20]);
        });
        assert_eq!(lengths, "a block has 16 bytes by its head and 20 by its end");
        for length in [0, 4, 11, 13, u32::MAX, MAX_BLOCK as u32 + 4] {
            let huge = good_start(&|b| {
                b.u32(&[6, length, 0, 0, 0]);
            });
            assert_eq!(huge, format!("a block says that it has {length} bytes, which no block has"));
        }
        let frame = good_start(&|b| {
            b.block(6, |b| {
                b.u32(&[0, 0, 0, 400, 400, 1]);
            });
        });
        assert_eq!(frame, "a packet block is shorter than the frame that it says it holds");
        let version = good_start(&|b| {
            b.block(0x0a0d_0d0a, |b| {
                b.u32(&[0x1a2b_3c4d]).u16(&[2, 0]).u32(&[0, 0]);
            });
        });
        assert_eq!(version, "pcapng version 2.0 is not known");
        let obsolete = good_start(&|b| {
            b.block(2, |b| {
                b.u32(&[0, 0, 0, 0, 0]);
            });
        });
        assert!(obsolete.contains("obsolete"));
    }
}

mod other_files {
    use super::*;

    #[test]
    fn a_file_that_is_no_capture_is_called_what_it_is() {
        for (bytes, word) in [
            (&b""[..], "empty"),
            (b"\x0a\x0d", "neither"),
            (b"\x1f\x8b\x08\x00\x00", "gzip"),
            (b"\x28\xb5\x2f\xfd", "zstd"),
            (b"snoop\0\0\0", "snoop"),
            (b"PK\x03\x04", "neither"),
        ] {
            let error = read(bytes).1.unwrap();
            assert!(error.what.contains(word), "{error}");
            assert_eq!(error.offset, 0);
            assert!(!error.hint.is_empty());
        }
    }

    /// A pipe that gives a byte at a time and breaks.
    struct Trickle<'a>(&'a [u8]);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else { return Err(io::Error::other("the pipe broke")) };
            buffer[0] = *first;
            self.0 = rest;
            Ok(1)
        }
    }

    #[test]
    fn a_pipe_that_breaks_is_an_error_after_the_frames() {
        let (file, _) = written();
        let items: Vec<_> = Reader::new(Trickle(&file)).collect();
        assert_eq!(items.len(), 7);
        let error = items[6].as_ref().unwrap_err();
        assert_eq!(error.offset, file.len() as u64);
        assert!(error.what.contains("the pipe broke"), "{error}");
    }
}

mod hostile {
    use super::*;

    /// Frames never hold more than the file did, and their numbers run on.
    fn sane(bytes: &[u8]) -> Result<Vec<CapturedFrame>, TestCaseError> {
        let (frames, error) = read(bytes);
        prop_assert!(frames.iter().map(|frame| frame.data.len()).sum::<usize>() <= bytes.len());
        prop_assert!(frames.iter().zip(1..).all(|(frame, number)| frame.number == number));
        if let Some(error) = error {
            prop_assert!(error.offset <= bytes.len() as u64);
        }
        Ok(frames)
    }

    proptest! {
        #[test]
        fn any_bytes_end_in_frames_or_an_error(
            head in prop::sample::select(vec![
                &b""[..],
                b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x34\xcd\xb2\xa1",
                b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0\0\0\0\0\0\0\0\0\x1c\0\0\0",
                b"\x0a\x0d\x0d\x0a\0\0\0\x1c\x1a\x2b\x3c\x4d\0\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\x1c",
            ]),
            tail in prop::collection::vec(prop_oneof![2 => Just(0u8), 1 => 0..16u8, 1 => any::<u8>()], 0..400),
        ) {
            sane(&[head, &tail].concat())?;
        }

        #[test]
        fn frames_before_a_changed_byte_are_read_as_ever(
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            cut in any::<prop::sample::Index>(),
        ) {
            let (file, starts) = written();
            let all = good(&file);
            let (at, cut) = (at.index(file.len()), cut.index(file.len() + 1));
            let mut changed = file.clone();
            changed[at] = byte;
            changed.truncate(cut);
            let frames = sane(&changed)?;
            let untouched = starts.iter().skip(1).filter(|&&end| end <= at.min(cut)).count();
            prop_assert_eq!(&frames[..untouched], &all[..untouched]);
        }

        #[test]
        fn parts_in_the_wrong_place_do_no_harm(
            pieces in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..6),
        ) {
            let (file, _) = written();
            let mut spliced = file[..100].to_vec();
            for (from, to) in pieces {
                let (from, to) = (from.index(file.len() / 4) * 4, to.index(file.len() / 4) * 4);
                spliced.extend(&file[from.min(to)..from.max(to)]);
            }
            sane(&spliced)?;
        }
    }
}
