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
