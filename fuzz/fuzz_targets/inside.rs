//! Any bytes of any link type: what lies around a frame is taken off, and what is left lies in what was captured.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rocespec::capture::CapturedFrame;
use rocespec::capture::inside::{Inside, Opener};

fuzz_target!(|input: (u16, u16, u16, &[u8])| {
    let (linktype, port, beyond, data) = input;
    let captured = CapturedFrame {
        linktype: u32::from(linktype),
        original_len: data.len() as u32 + u32::from(beyond),
        data: data.to_vec(),
        ..CapturedFrame::default()
    };
    let mut opener = Opener::with_ports([port]);
    if let Inside::Ethernet(carried) = opener.open(&captured).inside {
        // What lies around it may say that it ends before the captured bytes do.
        let end = carried.start + carried.frame.len() - carried.made;
        assert!(end <= data.len());
        if carried.port.is_none() {
            assert_eq!(carried.frame[carried.made..], data[carried.start..end]);
        }
    }
});
