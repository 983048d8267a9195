//! Packets for fuzzers of RoCE parsers, this one or another (feature `arbitrary`).
//!
//! [`WellFormed`] and [`NearlyWellFormed`] are made from the fuzzer's bytes by [`arbitrary::Arbitrary`]; [`mutate`] is a
//! custom mutator for libFuzzer and AFL++. All of them give whole Ethernet frames without the frame check sequence.
//!
//! ```
//! use arbitrary::{Arbitrary, Unstructured};
//! use rocespec_codec::arbitrary::{NearlyWellFormed, WellFormed};
//! use rocespec_codec::icrc;
//!
//! let mut choices = Unstructured::new(b"whatever the fuzzer has in mind");
//! let right = WellFormed::arbitrary(&mut choices)?;
//! assert!(icrc::verify(&right.packet()));
//!
//! let mut choices = Unstructured::new(b"the fuzzer has a lot of things in mind");
//! let wrong = NearlyWellFormed::arbitrary(&mut choices)?;
//! println!("{}: {:02x?}", wrong.fault().name, wrong.bytes());
//! # Ok::<(), arbitrary::Error>(())
//! ```

mod choose;
mod fault;
mod mutate;
mod shape;

use alloc::vec::Vec;

use arbitrary::{Arbitrary, Result, Unstructured};

pub use fault::{FAULTS, Fault};
pub use mutate::mutate;
pub use shape::{Network, ordinary, payload_lengths};

use crate::decode::decode;
use crate::encode::{encode, encoded_len};
use crate::frame::{Frame, Roce};

/// A RoCE packet in which everything is right: lengths, checksums, pad and ICRC, reserved bits, payload allowed by the
/// opcode. Addresses, numbers, keys and flags are any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WellFormed {
    bytes: Vec<u8>,
}

impl WellFormed {
    /// The frame, from the destination MAC address on.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The frame taken apart.
    pub fn packet(&self) -> Roce<'_> {
        match decode(&self.bytes) {
            Ok(Frame::Roce(packet)) => packet,
            other => unreachable!("a well-formed packet decodes: {other:?}"),
        }
    }
}

impl<'a> Arbitrary<'a> for WellFormed {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let mut payload = Vec::new();
        let packet = choose::packet(u, &mut payload)?;
        Ok(WellFormed { bytes: encoded(&packet) })
    }

    fn size_hint(_: usize) -> (usize, Option<usize>) {
        (8, None)
    }
}

/// A RoCE packet in which one thing is wrong. What depends on it is right for the wrong value: a packet with a reserved
/// bit set has the ICRC that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NearlyWellFormed {
    bytes: Vec<u8>,
    fault: &'static Fault,
}

impl NearlyWellFormed {
    /// The frame, from the destination MAC address on. It may not decode.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What is wrong with it.
    pub fn fault(&self) -> &'static Fault {
        self.fault
    }
}

impl<'a> Arbitrary<'a> for NearlyWellFormed {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let mut payload = Vec::new();
        let packet = choose::packet(u, &mut payload)?;
        let first = u.choose_index(FAULTS.len())?;
        // Not every fault fits every packet; the last of the table does.
        let wrapped = FAULTS[first..].iter().find_map(|fault| Some((fault, fault.apply(&packet)?)));
        let (fault, bytes) = wrapped.ok_or(arbitrary::Error::IncorrectFormat)?;
        Ok(NearlyWellFormed { bytes, fault })
    }

    fn size_hint(_: usize) -> (usize, Option<usize>) {
        (8, None)
    }
}

/// The bytes of a packet.
fn encoded(packet: &Roce<'_>) -> Vec<u8> {
    let mut bytes = alloc::vec![0; encoded_len(packet)];
    match encode(packet, &mut bytes) {
        Ok(_) => bytes,
        Err(error) => unreachable!("the buffer is as long as it has to be: {error}"),
    }
}
