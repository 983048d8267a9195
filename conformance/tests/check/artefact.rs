//! What captures do to traffic, done on purpose.

use rocespec::capture::{CapturedFrame, LINKTYPE_ETHERNET};
use rocespec_codec::{Frame, decode, icrc};

const COOKED_1: u32 = 113;
const COOKED_2: u32 = 276;
/// Where the IP header begins in an untagged frame.
const IP: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];

/// Frames with everything there, in the order of their times.
pub type Frames = Vec<CapturedFrame>;

/// Something that captures do, by name.
pub struct Artefact {
    pub name: &'static str,
    apply: fn(&Frames) -> Frames,
    /// Nothing tells afterwards whether a frame was damaged. Damaged frames do not come to where this is done.
    hides_damage: bool,
}

/// Of these not even a capture at the port of a device is free: it begins and ends somewhere.
const AT_A_PORT: [&str; 6] =
    ["none", "first frame missing", "first half missing", "second half missing", "a frame check sequence", "VXLAN"];

impl Artefact {
    /// It leaves out nothing between the first frame and the last, and changes no order.
    pub fn is_whole(&self) -> bool {
        AT_A_PORT.contains(&self.name)
    }

    pub fn apply(&self, frames: &Frames) -> Frames {
        if self.hides_damage { (self.apply)(&keep(frames, |_, frame| is_intact(frame))) } else { (self.apply)(frames) }
    }
}

macro_rules! artefacts {
    ($($name:literal $($hides:ident)? => $apply:expr,)*) => {
        &[$(Artefact { name: $name, apply: $apply, hides_damage: !stringify!($($hides)?).is_empty() }),*]
    };
}

/// All of them. The first one changes nothing.
pub const ALL: &[Artefact] = artefacts![
    "none" => Clone::clone,
    "cut to 64 bytes" hides_damage => |frames| cut(frames, 64),
    "cut to 96 bytes" hides_damage => |frames| cut(frames, 96),
    "cut to 256 bytes" hides_damage => |frames| cut(frames, 256),
    "every second frame missing" => |frames| without_every(frames, 2, 0),
    "every third frame missing" => |frames| without_every(frames, 3, 1),
    "every fourth frame missing" => |frames| without_every(frames, 4, 3),
    "every seventh frame missing" => |frames| without_every(frames, 7, 2),
    "bursts missing" => |frames| keep(frames, |at, _| at % 16 < 11),
    "first frame missing" => |frames| frames[1.min(frames.len())..].to_vec(),
    "first half missing" => |frames| frames[frames.len() / 2..].to_vec(),
    "second half missing" => |frames| frames[..frames.len() / 2].to_vec(),
    "one direction" => |frames| one_direction(frames, true),
    "the other direction" => |frames| one_direction(frames, false),
    "twice in one place" => |frames| twice(frames, |_| ()),
    "twice, by another interface" => |frames| twice(frames, |copy| copy.interface = 1),
    "twice, behind a router" => |frames| twice(frames, behind_a_router),
    "twice, the second time later" => later_copies,
    "neighbours turned around" => |frames| turned(frames, 0),
    "neighbours turned around, from the second on" => |frames| turned(frames, 1),
    "one overtakes three" => overtaken,
    "ICRC of 0" hides_damage => |frames| with_icrc(frames, [0; 4]),
    "a constant ICRC" hides_damage => |frames| with_icrc(frames, [0xde, 0xad, 0xbe, 0xef]),
    "a frame check sequence" => |frames| map(frames, |frame| append(frame, &[0x11, 0x22, 0x33, 0x44])),
    "cooked" => |frames| map(frames, cooked_1),
    "cooked, version 2" => |frames| map(frames, cooked_2),
    "cooked, of two interfaces" => twice_cooked,
    "a VLAN tag" => |frames| map(frames, |frame| insert(frame, 12, &[0x81, 0x00, 0x60, 0x05])),
    "VXLAN" => |frames| map(frames, vxlan),
    "ERSPAN" => |frames| map(frames, |frame| around(frame, &gre(0x88be, &[0x10, 0, 0, 7, 0, 0, 0, 0], true))),
    "ERSPAN without a sequence number" => |frames| map(frames, |frame| around(frame, &gre(0x88be, &[], false))),
    "ERSPAN of cut frames" hides_damage => |frames| {
        map(&cut(frames, 128), |frame| around(frame, &gre(0x88be, &[0x10, 0, 0x04, 7, 0, 0, 0, 0], true)))
    },
    "times run backwards" => |frames| times(frames, |at, _, last| last - at),
    "times go back now and then" => |frames| times(frames, |at, number, _| at.saturating_sub(number % 5 * 700)),
    "no times" => |frames| times(frames, |_, _, _| 0),
];

/// The ICRC of a frame is right, as far as it has one.
fn is_intact(frame: &CapturedFrame) -> bool {
    !matches!(decode(&frame.data), Ok(Frame::Roce(packet)) if !icrc::verify(&packet))
}

/// Frames that have not even an IP header stay as they are.
fn map(frames: &Frames, change: impl Fn(&mut CapturedFrame)) -> Frames {
    let mut frames = frames.clone();
    frames.iter_mut().filter(|frame| frame.data.len() >= IP + 20).for_each(change);
    frames
}

fn keep(frames: &Frames, keeps: impl Fn(usize, &CapturedFrame) -> bool) -> Frames {
    frames.iter().enumerate().filter(|(at, frame)| keeps(*at, frame)).map(|(_, frame)| frame.clone()).collect()
}

fn cut(frames: &Frames, snap: usize) -> Frames {
    map(frames, |frame| frame.data.truncate(snap))
}

fn without_every(frames: &Frames, count: usize, from: usize) -> Frames {
    keep(frames, |at, _| at % count != from)
}

fn one_direction(frames: &Frames, first: bool) -> Frames {
    let source = |frame: &CapturedFrame| frame.data.get(6..12).map(<[u8]>::to_vec);
    let Some(one) = frames.first().map(source) else { return Vec::new() };
    keep(frames, |_, frame| (source(frame) == one) == first)
}

fn twice(frames: &Frames, change: impl Fn(&mut CapturedFrame)) -> Frames {
    let copies = map(frames, change);
    frames.iter().cloned().zip(copies).flat_map(|(frame, copy)| [frame, copy]).collect()
}

/// The second port of a mirror is some packets late.
fn later_copies(frames: &Frames) -> Frames {
    let mut all = Vec::new();
    for at in 0..frames.len() + 3 {
        all.extend(frames.get(at).cloned());
        if let Some(frame) = at.checked_sub(3).and_then(|before| frames.get(before)) {
            let time_ns = all.last().map_or(frame.time_ns, |last: &CapturedFrame| last.time_ns);
            all.push(CapturedFrame { interface: 1, time_ns, ..frame.clone() });
        }
    }
    all
}

fn behind_a_router(frame: &mut CapturedFrame) {
    frame.data[..12].copy_from_slice(&[2, 0, 0, 0, 9, 1, 2, 0, 0, 0, 9, 2]);
    match frame.data[12..IP] {
        [0x08, 0x00] => {
            frame.data[IP + 8] -= 1;
            // RFC 1624: the sum of the header without the hop that it lost.
            let sum = u16::from_be_bytes([frame.data[IP + 10], frame.data[IP + 11]]);
            let (sum, carry) = sum.overflowing_add(0x0100);
            frame.data[IP + 10..IP + 12].copy_from_slice(&(sum + u16::from(carry)).to_be_bytes());
        }
        [0x86, 0xdd] => frame.data[IP + 7] -= 1,
        _ => {}
    }
}

/// Frames change places with their neighbours; their times stay where they are.
fn turned(frames: &Frames, from: usize) -> Frames {
    let mut turned = frames.clone();
    for pair in turned[from.min(frames.len())..].chunks_exact_mut(2) {
        pair.swap(0, 1);
    }
    with_times_of(turned, frames)
}

fn overtaken(frames: &Frames) -> Frames {
    let mut turned = frames.clone();
    turned.chunks_exact_mut(8).for_each(|part| part[2..6].rotate_right(1));
    with_times_of(turned, frames)
}

fn with_times_of(mut frames: Frames, others: &Frames) -> Frames {
    frames.iter_mut().zip(others).for_each(|(frame, other)| frame.time_ns = other.time_ns);
    frames
}

fn times(frames: &Frames, time: impl Fn(u64, u64, u64) -> u64) -> Frames {
    let last = frames.last().map_or(0, |last| last.time_ns);
    let mut frames = frames.clone();
    for (number, frame) in frames.iter_mut().enumerate() {
        frame.time_ns = time(frame.time_ns, number as u64, last);
    }
    frames
}

/// The ICRC is the last thing in a frame of RoCE without trailer.
fn with_icrc(frames: &Frames, icrc: [u8; 4]) -> Frames {
    map(frames, |frame| {
        let ends =
            match (frame.data[12..IP].try_into().unwrap_or_default(), frame.data.get(IP + 9), frame.data.get(IP + 6)) {
                (IPV4, Some(17), _) => IP + usize::from(u16::from_be_bytes([frame.data[IP + 2], frame.data[IP + 3]])),
                (IPV6, _, Some(17)) | ([0x89, 0x15], ..) => {
                    IP + 40 + usize::from(u16::from_be_bytes([frame.data[IP + 4], frame.data[IP + 5]]))
                }
                _ => return,
            };
        if let Some(place) = ends.checked_sub(4).and_then(|start| frame.data.get_mut(start..ends)) {
            place.copy_from_slice(&icrc);
        }
    })
}

fn append(frame: &mut CapturedFrame, bytes: &[u8]) {
    frame.data.extend(bytes);
    frame.original_len += bytes.len() as u32;
}

fn insert(frame: &mut CapturedFrame, at: usize, bytes: &[u8]) {
    frame.data.splice(at..at, bytes.iter().copied());
    frame.original_len += bytes.len() as u32;
}

fn cooked_1(frame: &mut CapturedFrame) {
    let source: Vec<u8> = frame.data[6..12].to_vec();
    let protocol: Vec<u8> = frame.data[12..IP].to_vec();
    let header = [&[0, 0, 0, 1, 0, 6][..], &source, &[0, 0], &protocol].concat();
    replace_link(frame, COOKED_1, &header);
}

fn cooked_2(frame: &mut CapturedFrame) {
    cooked_2_by(frame, 2);
}

fn cooked_2_by(frame: &mut CapturedFrame, interface: u8) {
    let source: Vec<u8> = frame.data[6..12].to_vec();
    let protocol: Vec<u8> = frame.data[12..IP].to_vec();
    let header = [&protocol[..], &[0, 0, 0, 0, 0, interface, 0, 1, 0, 6], &source, &[0, 0]].concat();
    replace_link(frame, COOKED_2, &header);
}

fn replace_link(frame: &mut CapturedFrame, linktype: u32, header: &[u8]) {
    frame.data.splice(..IP, header.iter().copied());
    frame.original_len = frame.original_len - IP as u32 + header.len() as u32;
    frame.linktype = linktype;
}

fn twice_cooked(frames: &Frames) -> Frames {
    let copies = [1, 2].map(|interface| map(frames, |frame| cooked_2_by(frame, interface)));
    let [one, other] = copies;
    one.into_iter().zip(other).flat_map(|(frame, copy)| [frame, copy]).collect()
}

/// Ethernet and IPv4 around a frame, and in it what `inside` says of the rest.
fn around(frame: &mut CapturedFrame, inside: &Tunnel) {
    let len = (20 + inside.header.len()) as u16 + frame.original_len as u16;
    let mut header = vec![2, 0, 0, 0, 8, 1, 2, 0, 0, 0, 8, 2, 0x08, 0x00, 0x45, 0];
    header.extend(len.to_be_bytes());
    header.extend([0, 0, 0, 0, 64, inside.protocol, 0, 0, 10, 9, 0, 1, 10, 9, 0, 2]);
    header.extend(&inside.header);
    assert_eq!(frame.linktype, LINKTYPE_ETHERNET);
    insert(frame, 0, &header);
}

struct Tunnel {
    protocol: u8,
    header: Vec<u8>,
}

fn gre(protocol: u16, erspan: &[u8], has_sequence: bool) -> Tunnel {
    let mut header = vec![if has_sequence { 0x10 } else { 0 }, 0];
    header.extend(protocol.to_be_bytes());
    if has_sequence {
        header.extend([0, 0, 0, 1]);
    }
    header.extend(erspan);
    Tunnel { protocol: 47, header }
}

fn vxlan(frame: &mut CapturedFrame) {
    let len = 16 + frame.original_len as u16;
    let mut header = [0xc0, 0x01, 0x12, 0xb5].to_vec();
    header.extend(len.to_be_bytes());
    header.extend([0, 0, 8, 0, 0, 0, 0, 0, 99, 0]);
    around(frame, &Tunnel { protocol: 17, header });
}
