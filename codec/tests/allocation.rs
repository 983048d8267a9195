//! Decoding, verifying, building and printing allocate nothing, and a decoded packet borrows its payload.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::Write;

use common::vectors;
use rocespec_codec::notation::{Scope, print};
use rocespec_codec::{Frame, build, decode, decode_lax, encode, icrc};

/// The system's allocator, counting the calls of each thread.
struct Counting;

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

fn count() {
    // A thread that ends allocates without being counted.
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: every call goes on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the promises of this function, which are the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(run: impl FnOnce()) -> usize {
    let before = CALLS.get();
    run();
    CALLS.get() - before
}

#[test]
fn the_counter_counts() {
    assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(1)))), 1);
}

#[test]
fn decoding_and_verifying_allocate_nothing() {
    for vector in vectors() {
        let calls = allocations(|| {
            let Ok(Frame::Roce(packet)) = decode(&vector.frame) else { panic!("{}", vector.name) };
            assert!(icrc::verify(&packet) && icrc::verify_in(&vector.frame, &packet));
            for len in 0..vector.frame.len() {
                let _ = decode(&vector.frame[..len]);
                decode_lax(&vector.frame[..len], vector.frame.len());
            }
        });
        assert_eq!(calls, 0, "{}", vector.name);
    }
}

#[test]
fn building_and_printing_allocate_nothing() {
    let mut buffer = vec![0; 8192];
    let mut line = String::with_capacity(16384);
    let scope = Scope::default();
    for vector in vectors() {
        let calls = allocations(|| {
            let Ok(Frame::Roce(mut packet)) = decode(&vector.frame) else { panic!("{}", vector.name) };
            encode(&packet, &mut buffer).unwrap();
            line.clear();
            write!(line, "{}", print(&packet, &scope)).unwrap();
            build(&mut packet, &mut buffer).unwrap();
        });
        assert_eq!(calls, 0, "{}", vector.name);
    }
}

#[test]
fn a_decoded_packet_borrows_its_bytes() {
    for vector in vectors() {
        let Ok(Frame::Roce(packet)) = decode(&vector.frame) else { panic!("{}", vector.name) };
        let within = vector.frame.as_ptr_range();
        for bytes in [packet.payload, packet.pad, packet.trailer] {
            let bytes = bytes.as_ptr_range();
            assert!(within.start <= bytes.start && bytes.end <= within.end, "{}", vector.name);
        }
    }
}
