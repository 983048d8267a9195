//! A file is read on any number of threads, and the same is found in it.

use super::*;
use crate::capture::pcapng::Writer;

/// A file of the clean exchange many times over, between many queue pairs, with faults in between.
fn file() -> Vec<u8> {
    let mut file = Writer::bare(Vec::new()).unwrap();
    let exchange = frames(CLEAN);
    let mut number = 0;
    for round in 0..200_u64 {
        for frame in &exchange {
            number += 1;
            let mut frame = CapturedFrame { number, time_ns: number * STEP_NS, ..frame.clone() };
            // The third byte of the destination queue pair; what the ICRC says of it is wrong from now on.
            frame.data[49] ^= u8::from(round % 7 == 3);
            if round % 50 == 49 {
                frame.data.truncate(60);
            }
            file.copy(&frame).unwrap();
        }
    }
    file.finish().unwrap()
}

fn read(file: &[u8], threads: usize) -> (CaptureFile, Option<String>) {
    let mut check = Check::new(Options::default(), &[4800]);
    let error = check.read(file, threads).err();
    let (found, _) = check.finish();
    (found, error.map(|error| error.to_string()))
}

#[test]
fn any_number_of_threads_finds_the_same() {
    let file = file();
    let (alone, error) = read(&file, 1);
    assert_eq!(error, None);
    assert!(alone.frames == 6_000 && !broken(&alone).is_empty() && !alone.artefacts.is_empty());
    for threads in [2, 3, 5, 64] {
        assert!(read(&file, threads).0 == alone, "{threads} threads");
    }
}

#[test]
fn everything_before_a_damage_is_examined_by_any_number_of_threads() {
    let mut file = file();
    file.truncate(file.len() - 10);
    let (alone, error) = read(&file, 1);
    assert!(alone.frames == 5_999 && error.is_some());
    for threads in [2, 3, 5] {
        let (ahead, same_error) = read(&file, threads);
        assert!(ahead == alone, "{threads} threads");
        assert_eq!(same_error, error);
    }
}

#[test]
#[should_panic(expected = "a scoped thread panicked")]
fn an_input_that_panics_is_no_end_of_the_file() {
    struct Breaks;
    impl std::io::Read for Breaks {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            panic!("the input breaks")
        }
    }
    let _ = Check::new(Options::default(), &[]).read(Breaks, 2);
}
