//! Packets that are right but for one thing: building what was decoded gives the same bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rocespec_codec::arbitrary::{NearlyWellFormed, WellFormed};
use rocespec_codec::field::{FIELDS, complete};
use rocespec_codec::{Frame, decode, encode, icrc};

fuzz_target!(|packets: (WellFormed, NearlyWellFormed)| {
    let (right, wrong) = packets;
    let packet = right.packet();
    assert!(icrc::verify(&packet));
    let mut same = packet.clone();
    complete(&mut same, |field| field.name == "len");
    assert_eq!(same, packet, "every derived field is right");
    let Ok(Frame::Roce(packet)) = decode(wrong.bytes()) else { return };
    let mut out = [0; 5000];
    assert_eq!(encode(&packet, &mut out).unwrap(), wrong.bytes(), "{}", wrong.fault().name);
    // Setting every field to what it is changes nothing.
    let mut same = packet.clone();
    for field in FIELDS {
        if let Some(value) = (field.get)(&packet) {
            (field.set)(&mut same, value).unwrap_or_else(|| panic!("{field:?} does not take {value:?}"));
        }
    }
    assert_eq!(same, packet);
});
