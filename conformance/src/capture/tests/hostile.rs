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
