use super::*;

/// A frame that a file is made of.
#[derive(Debug, Clone)]
struct Wanted {
    interface: u32,
    /// In microseconds.
    time: u32,
    beyond: u32,
    data: Vec<u8>,
    comment: String,
}

impl Wanted {
    fn original_len(&self) -> u32 {
        self.data.len() as u32 + self.beyond
    }

    /// As a file of one interface, or of several, gives it back.
    fn captured(&self, number: u64, interface: u32, linktype: u32, comment: &str) -> CapturedFrame {
        CapturedFrame {
            number,
            time_ns: u64::from(self.time) * 1000,
            interface,
            linktype,
            original_len: self.original_len(),
            data: self.data.clone(),
            comment: Some(comment.to_owned()).filter(|comment| !comment.is_empty()),
        }
    }
}

fn frames(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Wanted>> {
    // Some are longer than what is read together.
    let length = prop_oneof![90 => 0..90usize, 9 => 1000..70_000usize, 1 => 300_000..600_000usize];
    let frame = (0..3u32, any::<u32>(), 0..2000u32, length, "(|[a-zé]{1,9})");
    let frame = frame.prop_map(|(interface, time, beyond, length, comment)| {
        let data = (0..length).map(|at| (at * 7 + length) as u8).collect();
        Wanted { interface, time, beyond, data, comment }
    });
    prop::collection::vec(frame, count)
}

const LINKTYPES: [u32; 3] = [1, 276, 101];

/// A section; its interfaces count in 10^-9, 10^-6 and 10^-7 seconds.
fn section(big_endian: bool, frames: &[Wanted]) -> Vec<u8> {
    let mut file = Bytes::new(big_endian);
    file.section();
    for (linktype, resolution) in LINKTYPES.into_iter().zip([9, 6, 7]) {
        file.interface(linktype as u16, 0, |b| {
            b.u16(&[9, 1]).raw(&[resolution, 0, 0, 0]).u16(&[0, 0]);
        });
    }
    let padding = |length: usize| vec![0; length.next_multiple_of(4) - length];
    for frame in frames {
        let time = u64::from(frame.time) * [1000, 1, 10][frame.interface as usize];
        file.block(6, |b| {
            b.u32(&[frame.interface, (time >> 32) as u32, time as u32, frame.data.len() as u32, frame.original_len()]);
            b.raw(&frame.data).raw(&padding(frame.data.len()));
            if !frame.comment.is_empty() {
                b.u16(&[1, frame.comment.len() as u16]).raw(frame.comment.as_bytes());
                b.raw(&padding(frame.comment.len())).u16(&[0, 0]);
            }
        });
        file.block(0xbad, |b| {
            b.u32(&[1, 2]);
        });
    }
    file.bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pcap_of_every_kind_is_read_as_it_was_written(
        big_endian in any::<bool>(),
        is_nano in any::<bool>(),
        frames in frames(0..12),
    ) {
        let mut file = Bytes::new(big_endian);
        file.pcap_header(if is_nano { 0xa1b2_3c4d } else { 0xa1b2_c3d4 }, 1);
        for frame in &frames {
            let fraction = frame.time % 1_000_000 * if is_nano { 1000 } else { 1 };
            file.u32(&[frame.time / 1_000_000, fraction, frame.data.len() as u32, frame.original_len()]).raw(&frame.data);
        }
        let expected: Vec<_> = frames.iter().zip(1..).map(|(frame, number)| frame.captured(number, 0, 1, "")).collect();
        prop_assert_eq!(good(&file.bytes), expected);
    }

    #[test]
    fn sections_in_either_byte_order_are_read_as_they_were_written(
        first in frames(0..8),
        second in frames(0..8),
        big_endian in any::<bool>(),
    ) {
        let file = [section(big_endian, &first), section(!big_endian, &second)].concat();
        let captured = |(frame, number): (&Wanted, u64)| {
            frame.captured(number, frame.interface, LINKTYPES[frame.interface as usize], &frame.comment)
        };
        let expected: Vec<_> = first.iter().chain(&second).zip(1..).map(captured).collect();
        prop_assert_eq!(good(&file), expected);
    }
}

/// Blocks without a frame, without end; says how much of it was read.
struct Endless {
    block: Vec<u8>,
    at: usize,
    left: usize,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let from = self.at % self.block.len();
        let len = buffer.len().min(self.block.len() - from).min(self.left);
        buffer[..len].copy_from_slice(&self.block[from..from + len]);
        self.at += len;
        self.left -= len;
        Ok(len)
    }
}

#[test]
fn what_holds_no_frames_takes_no_room() {
    let mut head = Bytes::new(false);
    head.section();
    let mut block = Bytes::new(false);
    block.block(0xbad, |b| {
        b.raw(&[0; 1 << 20]);
    });
    let length = block.bytes.len();
    let (mut batches, mut batch) =
        (Batches::new(head.bytes.chain(Endless { block: block.bytes, at: 0, left: 200 * length })), Batch::default());
    assert!(batches.fill(&mut batch).is_none());
    assert!(batch.room() <= 4 * length, "{} bytes", batch.room());
}

#[test]
fn a_batch_is_as_large_as_what_is_read_together_and_shrinks_to_that() {
    let mut file = Bytes::new(false);
    file.pcap_header(0xa1b2_c3d4, 1);
    for length in [4 << 20, 1000] {
        file.u32(&[0, 0, length, length]).raw(&vec![1; length as usize]);
    }
    for _ in 0..3000 {
        file.u32(&[0, 0, 1000, 1000]).raw(&[2; 1000]);
    }
    let (mut batches, mut batch) = (Batches::new(&file.bytes[..]), Batch::default());
    batches.fill(&mut batch).unwrap().unwrap();
    assert!((4 << 20..32 << 20).contains(&batch.room()));
    let mut frames = batch.len();
    while let Some(filled) = batches.fill(&mut batch) {
        filled.unwrap();
        frames += batch.len();
    }
    assert_eq!(frames, 3002);
    assert!(batch.room() < 1 << 20, "{} bytes", batch.room());
}

#[test]
fn what_a_pipe_gave_does_not_wait_for_what_it_will_give() {
    let (file, starts) = written();
    let (first, _) = file.split_at(starts[2]);
    // A second read would panic.
    struct Silent;
    impl Read for Silent {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            panic!("asked for more than is needed")
        }
    }
    let (mut batches, mut batch) = (Batches::new(first.chain(Silent)), Batch::default());
    batches.fill(&mut batch).unwrap().unwrap();
    assert_eq!(batch.iter().map(|frame| frame.number).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn who_reads_ahead_stops_when_nobody_listens() {
    let (file, starts) = written();
    let (head, frames) = file.split_at(starts[0]);
    let frames = Endless { block: frames.to_vec(), at: 0, left: usize::MAX };
    // Dropped when the thread ends.
    let alive = std::sync::Arc::new(());
    let watched = Watched(io::Cursor::new(head.to_vec()).chain(frames), alive.clone());
    let (mut ahead, mut batch) = (Ahead::new(watched), Batch::default());
    for _ in 0..20 {
        ahead.fill(&mut batch).unwrap().unwrap();
    }
    drop(ahead);
    while std::sync::Arc::strong_count(&alive) > 1 {
        std::thread::yield_now();
    }
}

struct Watched<R>(R, #[expect(dead_code, reason = "it is counted")] std::sync::Arc<()>);

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

#[test]
#[should_panic(expected = "the input fell over")]
fn an_input_that_panics_does_not_look_like_its_end() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            panic!("the input fell over")
        }
    }
    let _ = Ahead::new(Broken).fill(&mut Batch::default());
}
