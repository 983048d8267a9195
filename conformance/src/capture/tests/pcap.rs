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
