//! One recording, sorted by connection and sender.

use std::borrow::Cow;
use std::fmt::Write as _;

use rocespec_model::Time;

use super::memory::{Memory, Named};
use crate::capture::CaptureError;
use crate::golden::{self, FileError, Value};

/// Most RoCE packets of one recording: all of them are held while they are aligned, in 200 bytes or so each.
pub const MOST_PACKETS: usize = 1_000_000;

/// What a recording is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Packets of a capture file.
    Capture,
    /// A golden trace.
    Trace,
}

/// One recording.
#[derive(Debug)]
pub struct Side {
    /// What it is.
    pub form: Form,
    /// Frames of the capture, or lines of the trace.
    pub frames: u64,
    /// Those that are compared.
    pub packets: u64,
    /// RoCE packets of which too little can be read to compare them.
    pub unreadable: u64,
    /// Why it could not be read to its end.
    pub damage: Option<CaptureError>,
    /// In the order of their first packets.
    pub(super) connections: Vec<Conversation>,
}

impl Side {
    /// Connections that it holds; of a trace, variants.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }
}

/// Why a recording cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum SideError {
    /// More packets than can be held.
    #[error(
        "more than {MOST_PACKETS} RoCE packets, and all of them have to be held in memory; cut out what matters first, for \
         example with `rocespec cut FILE OUT --connection N` or `--frames 1..500000`"
    )]
    Long,
    /// It says that it is a golden trace, and is none.
    #[error(transparent)]
    Trace(#[from] FileError),
}

/// Two ends that talk to each other, or one that is heard alone. Of a trace: a variant.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// `RC`, `UD`; `variant` in a trace.
    pub(super) transport: &'static str,
    /// The ends, `a` first: address and queue pair. Of a trace the name of the variant alone.
    pub(super) ends: Vec<String>,
    /// What each sender sent: `a`, the end that is seen first, and `b`; in a trace also the software.
    pub(super) streams: Vec<Stream>,
}

impl Conversation {
    /// Packets of all senders.
    pub(super) fn packets(&self) -> usize {
        self.streams.iter().map(|stream| stream.packets.len()).sum()
    }

    /// Works out how long after the one before it each packet came, whoever sent that.
    pub(super) fn set_delays(&mut self) {
        let mut next = vec![0; self.streams.len()];
        let mut before = None;
        let earliest = |next: &[usize], streams: &[Stream]| {
            let at = |stream: usize| streams[stream].packets.get(next[stream]).map(|packet| (packet.at, stream));
            (0..streams.len()).filter_map(at).min()
        };
        while let Some((_, stream)) = earliest(&next, &self.streams) {
            let packet = &mut self.streams[stream].packets[next[stream]];
            packet.delay_ns = packet.time_ns.saturating_sub(before.unwrap_or(packet.time_ns));
            before = Some(packet.time_ns);
            next[stream] += 1;
        }
    }
}

/// Who sent packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Who {
    /// The end that is seen first; in a trace the tester.
    A,
    /// The other one; in a trace the device.
    B,
    /// The device's own software, in a trace.
    Software,
}

impl Who {
    /// Its letter or word.
    pub fn word(self) -> &'static str {
        match self {
            Who::A => "a",
            Who::B => "b",
            Who::Software => "software",
        }
    }
}

/// What packets are for. What a sender asks, answers and notifies has no order among each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    /// Requests, and steps of software.
    Request,
    /// ACK, NAK, READ and ATOMIC responses.
    Response,
    /// CNP.
    Notification,
}

impl Role {
    pub(super) const ALL: [Role; 3] = [Role::Request, Role::Response, Role::Notification];

    /// By the first word of a line.
    pub(super) fn of(head: &str) -> Role {
        match head {
            "CNP" => Role::Notification,
            head if golden::is_response(head) => Role::Response,
            _ => Role::Request,
        }
    }
}

/// What one sender sent in one role, in order.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) who: Who,
    pub(super) role: Role,
    pub(super) packets: Vec<Packet>,
    /// The connection manager said from where its PSNs count.
    pub(super) is_announced: bool,
}

impl Stream {
    /// A stream for each role.
    pub(super) fn all(who: Who, packets: Vec<Packet>, is_announced: bool) -> impl Iterator<Item = Stream> {
        let mut sorted = Role::ALL.map(|role| Stream { who, role, packets: Vec::new(), is_announced });
        for packet in packets {
            sorted[Role::of(packet.head()) as usize].packets.push(packet);
        }
        sorted.into_iter()
    }
}

/// What stands in a line for a PSN and for memory that [`Packet`] holds as numbers.
pub(super) const PSN: &str = "psn=0";
pub(super) const REGION: &str = "mr";

/// A packet.
#[derive(Debug, Clone)]
pub(super) struct Packet {
    /// Number of the frame, or of the line in its variant; 1 = first.
    pub(super) at: u64,
    /// Since the first frame of the file, in nanoseconds.
    pub(super) time_ns: u64,
    /// Since the packet before it on its connection, whoever sent that, in nanoseconds.
    pub(super) delay_ns: u64,
    /// In the notation, with [`PSN`] and [`REGION`] in the place of numbers.
    pub(super) line: Box<str>,
    /// Counted from the first one of the connection.
    pub(super) psn: Option<i32>,
    /// The memory that it names.
    pub(super) memory: Option<Memory>,
    /// What the management datagram in it says, apart from numbers that are new in each run.
    pub(super) mad: Option<Box<[Value]>>,
}

impl Packet {
    /// The first word of its line: which packet it is.
    pub(super) fn head(&self) -> &str {
        self.line.split(' ').next().unwrap_or_default()
    }

    /// A word of its line, such as `ack`.
    pub(super) fn has(&self, word: &str) -> bool {
        self.line.split(' ').any(|has| has == word)
    }

    /// Its line with every number; `named` is what its memory is called.
    pub(super) fn text(&self, named: Option<&Named>) -> String {
        let mut text = String::with_capacity(self.line.len() + 16);
        for word in self.line.split(' ') {
            if !text.is_empty() {
                text.push(' ');
            }
            text += &self.word(word, named);
        }
        // The first of them is the name of the message.
        if let Some(message) = self.mad.as_deref().and_then(<[Value]>::first) {
            let _ = write!(text, "  # {} {}", message.name.to_ascii_uppercase(), message.text);
        }
        text
    }

    fn word<'w>(&self, word: &'w str, named: Option<&Named>) -> Cow<'w, str> {
        match (self.psn, named, word.split_once('=')) {
            (Some(psn), ..) if word == PSN => format!("psn={psn}").into(),
            (_, Some(named), Some(("va", REGION))) => format!("va={}", named.va).into(),
            (_, Some(named), Some((name, REGION))) => format!("{name}={}", named.rkey).into(),
            _ => word.into(),
        }
    }

    /// As the golden traces have it, to be taken apart by fields.
    pub(super) fn fields(&self, named: Option<&Named>) -> golden::Packet {
        let line: Vec<Cow<'_, str>> = self.line.split(' ').map(|word| self.word(word, named)).collect();
        let mut packet = golden::Packet::read(&line.join(" "), Time::from_nanos(self.time_ns));
        packet.values.extend(self.mad.iter().flatten().cloned());
        packet
    }
}
