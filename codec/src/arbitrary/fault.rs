//! What can be wrong with a packet, one thing at a time.

use alloc::vec::Vec;

use super::encoded;
use super::shape::finish_but;
use crate::bth::Bth;
use crate::field::{Field, Ordinary, Value};
use crate::frame::Roce;
use crate::icrc;
use crate::net::Net;
use crate::udp::Udp;

/// One thing that is wrong with a packet.
#[derive(Debug)]
pub struct Fault {
    /// Short name, fit for a file name: `icrc-swapped`.
    pub name: &'static str,
    /// What is wrong, in a sentence.
    pub about: &'static str,
    how: How,
}

#[derive(Debug)]
enum How {
    /// A field has this value.
    Set(&'static str, u64),
    /// A field is off its right or present value by so much.
    Off(&'static str, i64),
    /// A field holds these bytes.
    Bytes(&'static str, &'static [u8]),
    /// The ICRC is this, made of the right one.
    Icrc(fn(u32) -> u32),
    /// The frame ends inside a part; lengths speak of the whole.
    Cut(Place),
    /// The packet ends inside a part; lengths speak of what is there.
    Short(Place),
}

/// A part of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Ethernet,
    Net,
    Udp,
    Bth,
    Extension,
    Payload,
    Icrc,
}

macro_rules! faults {
    ($($name:literal $how:expr, $about:literal;)*) => {
        /// Every fault. The last one fits every packet.
        pub static FAULTS: &[Fault] = &[$(Fault { name: $name, about: $about, how: $how }),*];
    };
}

use How::{Bytes, Cut, Icrc, Off, Set, Short};

faults! {
    "cut-in-ethernet" Cut(Place::Ethernet), "The frame ends inside the Ethernet header.";
    "cut-in-network-header" Cut(Place::Net), "The frame ends inside the IP header or the GRH.";
    "cut-in-udp" Cut(Place::Udp), "The frame ends inside the UDP header.";
    "cut-in-bth" Cut(Place::Bth), "The frame ends inside the base transport header.";
    "cut-in-extension" Cut(Place::Extension), "The frame ends inside the extension headers.";
    "cut-in-payload" Cut(Place::Payload), "The frame ends inside the payload.";
    "cut-in-icrc" Cut(Place::Icrc), "The frame ends inside the ICRC.";
    "short-in-udp" Short(Place::Udp), "By the length of the network header the packet ends inside the UDP header.";
    "short-in-bth" Short(Place::Bth), "By all lengths the packet ends inside the base transport header.";
    "short-in-extension" Short(Place::Extension), "By all lengths the packet ends inside the extension headers.";
    "short-in-icrc" Short(Place::Icrc), "By all lengths the packet ends inside what would be its ICRC.";
    "ip-version" Set("ip.version", 5), "The IP version is 5.";
    "ip-header-length-short" Set("ip.ihl", 4), "The IPv4 header length is below the least possible.";
    "ip-header-length-long" Set("ip.ihl", 15), "The IPv4 header length counts 40 bytes of options that are not there.";
    "ip-options" Bytes("ip.options", &[1, 1, 1, 0]), "The IPv4 header has options.";
    "ip-length-zero" Set("ip.len", 0), "The length in the network header is 0.";
    "ip-length-short" Off("ip.len", -4), "The length in the network header leaves out 4 bytes.";
    "ip-length-long" Off("ip.len", 4), "The length in the network header counts 4 bytes too many.";
    "ip-length-largest" Set("ip.len", 0xffff), "The length in the network header is the largest possible.";
    "ip-protocol" Set("ip.proto", 6), "The network header announces TCP.";
    "ip-fragment-first" Set("ip.mf", 1), "More fragments are announced.";
    "ip-fragment-later" Set("ip.offset", 1), "This is a later fragment.";
    "ip-reserved-flag" Set("ip.reserved", 1), "The reserved IPv4 flag is set.";
    "ip-ttl-zero" Set("ip.ttl", 0), "The hop limit is 0.";
    "ip-checksum" Off("ip.checksum", 1), "The IPv4 header checksum is off by one.";
    "udp-port" Set("udp.dport", 4790), "The UDP port is the one beside that of RoCE.";
    "udp-length-zero" Set("udp.len", 0), "The UDP length is 0.";
    "udp-length-below-header" Set("udp.len", 7), "The UDP length is less than its own header.";
    "udp-length-short" Off("udp.len", -4), "The UDP length leaves out 4 bytes.";
    "udp-length-long" Off("udp.len", 4), "The UDP length counts 4 bytes too many.";
    "udp-checksum" Set("udp.checksum", 0xdead), "The UDP checksum is neither 0 nor right.";
    "opcode-reserved" Set("opcode", 0x15), "The opcode is reserved.";
    "opcode-manufacturer" Set("opcode", 0xff), "The opcode is in the manufacturers' range.";
    "transport-version" Set("tver", 1), "The transport version is 1.";
    "bth-reserved-6" Set("resv6", 0x3f), "Reserved bits that the ICRC does not cover are set.";
    "bth-reserved-7" Set("resv7", 0x7f), "Reserved bits that the ICRC covers are set.";
    "partition-key-zero" Set("pkey", 0), "The partition key is 0.";
    "queue-pair-zero" Set("qp", 0), "The destination is queue pair 0.";
    "solicited-and-forbidden" Set("se", 1), "The solicited event bit is set, whatever the opcode.";
    "pad-count-low" Off("pad", -1), "The pad count is one less than the bytes that pad.";
    "pad-count-high" Off("pad", 1), "The pad count is one more than the bytes that pad.";
    "pad-count-3" Set("pad", 3), "The pad count is 3, whatever the payload.";
    "pad-missing" Bytes("pad.data", &[]), "The pad count is right, the bytes are missing.";
    "pad-nonzero" Bytes("pad.data", &[0xff, 0xff, 0xff]), "The pad bytes are ones.";
    "dma-length-low" Off("len", -1), "The message is one byte shorter than its only packet.";
    "dma-length-zero" Set("len", 0), "The message has length 0.";
    "dma-length-largest" Set("len", 0xffff_ffff), "The message is longer than 2^31 bytes.";
    "address-wraps" Set("va", u64::MAX), "The memory range goes beyond the end of the address space.";
    "address-odd" Off("va", 1), "The virtual address is odd.";
    "syndrome-reserved" Set("syndrome", 0x45), "The syndrome is a reserved one.";
    "nak-code-reserved" Set("syndrome", 0x7f), "The NAK code is a reserved one.";
    "immediate-reserved-deth" Set("deth.resv", 0xff), "Reserved bits of the DETH are set.";
    "reserved-rdeth" Set("rdeth.resv", 0xff), "Reserved bits of the RDETH are set.";
    "reserved-xrceth" Set("xrceth.resv", 0xff), "Reserved bits of the XRCETH are set.";
    "reserved-feth" Set("feth.resv", 0x3ff_ffff), "Reserved bits of the FETH are set.";
    "payload-unexpected" Bytes("data", &[0xaa; 20]), "A payload of 20 bytes, whatever the opcode allows.";
    "payload-missing" Bytes("data", &[]), "No payload, whatever the opcode demands.";
    "ethertype" Set("eth.type", 0x88b5), "The ethertype is one for experiments.";
    "tag-unknown" Set("vlan.tpid", 0x9200), "The tag protocol is not a known one.";
    "icrc-zero" Icrc(|_| 0), "The ICRC is 0.";
    "icrc-placeholder" Icrc(|_| 0xdead_beef), "The ICRC is 0xdeadbeef.";
    "icrc-swapped" Icrc(u32::swap_bytes), "The bytes of the ICRC are in the opposite order.";
    "icrc-off-by-one-bit" Icrc(|right| right ^ 1), "One bit of the ICRC is wrong.";
    "icrc-complement" Icrc(|right| !right), "The ICRC is complemented.";
}

impl PartialEq for Fault {
    fn eq(&self, other: &Fault) -> bool {
        self.name == other.name
    }
}

impl Eq for Fault {}

impl Fault {
    /// By name.
    pub fn named(name: &str) -> Option<&'static Fault> {
        FAULTS.iter().find(|fault| fault.name == name)
    }

    /// The frame of the packet with this fault. `None` where the packet cannot have it, or would stay as it is.
    pub fn apply(&self, packet: &Roce<'_>) -> Option<Vec<u8>> {
        let right = encoded(packet);
        let wrong = match self.how {
            Cut(place) => cut(packet, &right, place)?,
            Short(place) => short(packet, &right, place)?,
            _ => self.within(packet)?,
        };
        (wrong != right).then_some(wrong)
    }

    /// A frame of the same parts.
    fn within(&self, packet: &Roce<'_>) -> Option<Vec<u8>> {
        let mut wrong = packet.clone();
        let name = match self.how {
            Set("opcode", code) => {
                wrong.bth.opcode.0 = code as u8;
                ""
            }
            Set(name, number) => {
                let field = Field::named(name)?;
                (field.get)(&wrong)?;
                (field.set)(&mut wrong, Value::Uint(number))?;
                name
            }
            Off(name, by) => {
                let field = Field::named(name)?;
                let number = match field.ordinary {
                    Ordinary::Derived(right) if name != "len" => right(&wrong),
                    _ => (field.get)(&wrong)?,
                };
                let off = number.uint()?.checked_add_signed(by)?;
                (field.set)(&mut wrong, Value::Uint(off))?;
                name
            }
            Bytes(name, bytes) => {
                let bytes = if name == "pad.data" { bytes.get(..bytes.len().min(wrong.pad.len()))? } else { bytes };
                (Field::named(name)?.set)(&mut wrong, Value::Bytes(bytes))?;
                name
            }
            Icrc(of) => {
                wrong.icrc = of(icrc::compute(packet));
                "icrc"
            }
            Cut(_) | Short(_) => return None,
        };
        // A message that is longer than its packet keeps its length: it is no fault of this one.
        let is_longer = packet.ext.reth.len != packet.payload.len() as u32;
        finish_but(&mut wrong, |field| field.name == name || is_longer && field.name == "len");
        Some(encoded(&wrong))
    }
}

/// Where a part lies in the frame.
fn place(packet: &Roce<'_>, place: Place) -> Option<core::ops::Range<usize>> {
    let eth = packet.eth.len();
    let udp = eth + packet.net.len();
    let bth = udp + packet.udp.map_or(0, |_| Udp::LEN);
    let ext = bth + Bth::LEN;
    let icrc = packet.packet_len() - 4;
    let payload = icrc - packet.payload.len() - packet.pad.len();
    let range = match place {
        Place::Ethernet => 0..eth,
        Place::Net => eth..udp,
        Place::Udp => udp..bth,
        Place::Bth => bth..ext,
        Place::Extension => ext..payload,
        Place::Payload => payload..payload + packet.payload.len(),
        Place::Icrc => icrc..icrc + 4,
    };
    (range.len() > 1).then_some(range)
}

fn cut(packet: &Roce<'_>, right: &[u8], inside: Place) -> Option<Vec<u8>> {
    let range = place(packet, inside)?;
    Some(right[..range.start + range.len() / 2].to_vec())
}

/// As [`cut`], with the lengths of the network and UDP headers made right for what is left, and padding behind it.
fn short(packet: &Roce<'_>, right: &[u8], inside: Place) -> Option<Vec<u8>> {
    let mut frame = match inside {
        // Nothing but three bytes behind the headers.
        Place::Icrc => {
            let end = place(packet, Place::Icrc)?.start - packet.payload.len() - packet.pad.len();
            right[..end + 3].to_vec()
        }
        _ => cut(packet, right, inside)?,
    };
    let (net, len) = (packet.eth.len(), frame.len());
    let behind = len - net - packet.net.len();
    let mut put = |at: usize, number: usize| frame[at..at + 2].copy_from_slice(&(number as u16).to_be_bytes());
    match packet.net {
        Net::V4(ip) => {
            put(net + 2, len - net);
            let ip = crate::net::Ipv4 { total_len: (len - net) as u16, ..ip };
            put(net + 10, ip.right_checksum().into());
        }
        Net::V6(_) | Net::Grh(_) => put(net + 4, behind),
    }
    if packet.udp.is_some() && behind >= Udp::LEN {
        put(net + packet.net.len() + 4, behind);
    }
    frame.resize(len.max(crate::eth::MIN_FRAME), 0);
    Some(frame)
}
