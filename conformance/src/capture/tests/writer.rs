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
    let interface = "01000000 2c000000 01000000 00000000 020006007465737465720000 0900010009000000 00000000 2c000000";
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
