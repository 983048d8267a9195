//! What a script says, as data. Packets stay text until a live connection gives its symbols their values; they have
//! been checked when the scenario was loaded.

use std::net::Ipv6Addr;
use std::time::Duration;

use rocespec_codec::RKey;
use rocespec_codec::notation::Region;
use rocespec_control::{Access, Opcode, QpState, SendFlag};

use super::object::ObjectVerb;
use super::stream::Stream;
use crate::link::{End, Rate, Rule};

/// One step of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Line of the scenario file, 1 = first.
    pub line: u32,
    /// The step as written, without its comment.
    pub text: String,
    /// What it does.
    pub action: Action,
    /// The rule that is broken when it is not met, `@RULE`; `None` = the first rule of the scenario.
    pub rule: Option<String>,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// `> PACKET`: the tester sends.
    Send(PacketText),
    /// `> cut BYTES PACKET`: the tester sends what is left of a packet without the bytes in front of its ICRC; lengths and
    /// ICRC are those of the rest.
    SendCut {
        /// The packet.
        packet: PacketText,
        /// Bytes that are cut out.
        bytes: usize,
    },
    /// `< PACKET` and `< one of`: the device must send one of these next.
    Expect {
        /// In the order written; at least one.
        any_of: Vec<Alternative>,
        /// When it may come.
        when: When,
    },
    /// `silence`: the device must send nothing to this queue pair.
    Silence {
        /// How long; `None` = the profile's.
        length: Option<Duration>,
    },
    /// `probe`: sends a duplicate of what was acknowledged last and wants it acknowledged again with unchanged numbers.
    /// Follows every `silence` that does not say `no probe`.
    Probe,
    /// `wait`: time passes; what the device sends meanwhile waits for the next step.
    Wait(Duration),
    /// `take`, `paused`, `flows` and `no CNP`: what is asked of a stream of packets.
    Stream(Stream),
    /// `dut …`: the device's own software does something.
    Dut(Verb),
    /// `peer model`, `peer device`: who stands at the tester's end; the first step of a script that has a peer.
    Peered(Peer),
    /// `peer …`: the peer's software does something.
    Peer(Verb),
    /// `link …`: what happens to packets on their way, from now on.
    Link(LinkStep),
}

/// Who stands at the tester's end where no script does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// The reference model.
    Model,
    /// A second device.
    Device,
}

/// What happens between the device and the peer. The device stands at the end [`DEVICE`](super::DEVICE) of the link.
#[derive(Debug, Clone, PartialEq)]
pub enum LinkStep {
    /// Faults of chosen packets. PSNs count from the start PSN.
    Chosen(Rule),
    /// Faults at random, from the seed of the run.
    Random {
        /// What happens.
        fault: RandomFault,
        /// To what this end sends; `None` = both.
        from: Option<End>,
        /// How often.
        rate: Rate,
        /// Behind how many packets at most a reordered one arrives.
        depth: u32,
    },
}

/// A kind of fault that happens at random.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RandomFault {
    /// A packet is lost.
    Loss,
    /// A packet arrives twice.
    Duplication,
    /// A packet arrives behind some that were sent after it.
    Reordering,
    /// One bit of a packet is turned over.
    Corruption,
}

impl Action {
    /// More than one queue pair notices it: it stops the port, measures how fast it sends, or joins a group that others may
    /// join as well.
    pub(super) fn concerns_all(&self) -> bool {
        match self {
            Action::Send(packet) => packet.text.starts_with("PFC") || packet.text.starts_with("PAUSE"),
            Action::Stream(wanted) => !matches!(wanted, Stream::NoCnp(_)),
            Action::Dut(Verb::Other(verb)) => matches!(**verb, Verb::Attach(_)),
            Action::Dut(verb) => matches!(verb, Verb::Attach(_)),
            _ => false,
        }
    }
}

/// When an expected packet may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct When {
    /// `after`: not before this time has passed since the step before. `None` = at once.
    pub after: Option<Duration>,
    /// `within`: longest wait; `None` = the profile's. It counts from the step before where `after` is written, else from
    /// the beginning of this step.
    pub within: Option<Duration>,
}

/// A packet in the notation, not yet resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketText {
    /// The text.
    pub text: String,
    /// Column of its first character in the scenario file, 1 = first.
    pub column: u32,
}

impl PacketText {
    /// True for a congestion notification, which stands outside of the exchange.
    pub(crate) fn is_cnp(&self) -> bool {
        matches!(self.text.split_whitespace().next(), Some("CNP" | "CNP_NATIVE"))
    }

    /// `qp=other`: the device's second queue pair.
    pub(crate) const TO_OTHER: &str = "qp=other";

    /// The text of a packet with this number of the second queue pair, at most six digits in hex, in place of its name.
    pub(crate) fn with_other(text: &str, number: u32) -> String {
        // As long as the name is, so that nothing behind it moves.
        text.replace(PacketText::TO_OTHER, &format!("qp=0x{number:03x}"))
    }
}

/// One of several right answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Alternative {
    /// The packet; `None` = nothing at all within the time (`nothing`).
    pub packet: Option<PacketText>,
    /// Right, but not what the standard recommends (`loose`): the verdict becomes LOOSE.
    pub loose: bool,
    /// Line of the scenario file.
    pub line: u32,
}

/// What the device's own software does.
#[derive(Debug, Clone, PartialEq)]
pub enum Verb {
    /// `dut recv COUNT x [NAME+OFFSET] BYTES`: posts receives.
    Receive {
        /// How many.
        count: u32,
        /// The buffer: each has one of its own, or all have the same place in a region.
        buffer: Local,
    },
    /// `dut mr NAME BYTES RIGHT…`: registers memory; its name stands for its address and key from then on.
    RegisterMemory {
        /// Name in packets.
        name: String,
        /// Size.
        length: u64,
        /// Rights.
        access: Vec<Access>,
        /// `pd=other`: in another protection domain than the queue pair.
        foreign: bool,
    },
    /// `dut deregister NAME`: takes memory back; its name still stands for its old address and key.
    DeregisterMemory(String),
    /// `dut write NAME+OFFSET BYTES`: puts bytes into memory.
    WriteMemory(MemoryBytes),
    /// `dut memory NAME+OFFSET BYTES`: memory must hold these bytes.
    CheckMemory(MemoryBytes),
    /// `dut completions …`: these and no other completions must be there.
    CheckCompletions(Vec<CompletionPattern>),
    /// `dut qp STATE`: the queue pair must be in this state.
    CheckState(QpState),
    /// `dut attach GID`: lets the queue pair have the datagrams to a multicast group.
    Attach(Ipv6Addr),
    /// `dut modify STATE`: moves the queue pair to this state.
    Modify(QpState),
    /// `dut event NAME`: the device must report this event of the queue pair.
    CheckEvent(String),
    /// `dut send …`, `dut rdma_read …` and their like: posts send requests.
    Post(Post),
    /// `dut srq …`, `dut window …` and what else is about objects beside the queue pair.
    Object(ObjectVerb),
    /// `dut other …`: the same with the device's second queue pair.
    Other(Box<Verb>),
}

impl Verb {
    /// It asks what the software sees, and does nothing.
    pub(crate) fn asks(&self) -> bool {
        use Verb::{CheckCompletions, CheckEvent, CheckMemory, CheckState};
        match self {
            Verb::Other(verb) => verb.asks(),
            _ => matches!(self, CheckMemory(_) | CheckCompletions(_) | CheckState(_) | CheckEvent(_)),
        }
    }
}

/// Send requests that are alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Post {
    /// How many.
    pub count: u32,
    /// What they do.
    pub opcode: Opcode,
    /// Where their data is, or goes to.
    pub local: Local,
    /// Flags.
    pub flags: Vec<SendFlag>,
    /// The peer's address, where the request names one.
    pub remote_va: Remote,
    /// The peer's key, where the request names one.
    pub rkey: Remote,
    /// Immediate data, the key to invalidate, or the placement of a FLUSH.
    pub immediate: u32,
    /// Value to compare with, or to add; 1 for a FLUSH of the whole region.
    pub compare_add: u64,
    /// Value to swap in.
    pub swap: u64,
    /// Q_Key of a datagram; `None` = that of the connection.
    pub qkey: Option<u32>,
    /// Number of the peer's shared receive queue (XRC).
    pub srqn: u32,
}

/// An address or a key of the other end's memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remote {
    /// As it is.
    Number(u64),
    /// That of a region that the other end has registered.
    Region {
        /// Its name.
        name: String,
        /// What is added.
        offset: u64,
    },
}

/// The device's own end of a send request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Local {
    /// A buffer that holds these bytes.
    Bytes(Vec<u8>),
    /// So many bytes of a buffer that nobody looks at.
    Nameless(u32),
    /// So many bytes in a named region.
    Region {
        /// Its name.
        name: String,
        /// Offset in it.
        offset: u64,
        /// Bytes.
        length: u32,
    },
}

/// The tester's memory, as its peers name it. Nothing is behind it: a script answers as if there were.
#[derive(Debug, Clone, Copy)]
pub struct TesterMemory;

impl TesterMemory {
    /// Its name in scripts.
    pub const NAME: &str = "tester";
    /// Address of its first byte.
    pub const VA: u64 = 0x7e57_0000_0000;
    /// Bytes.
    pub const LENGTH: u64 = 1 << 32;
    /// Its key.
    pub const RKEY: u32 = 0x7e57_0000;

    /// Its place in the notation.
    pub(crate) fn region() -> Region<'static> {
        let (name, va, len) = (TesterMemory::NAME, TesterMemory::VA, TesterMemory::LENGTH);
        Region { name, va, len, rkey: RKey::new(TesterMemory::RKEY) }
    }
}

/// Bytes at a place in a named region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryBytes {
    /// Name of the region.
    pub region: String,
    /// Offset in it.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A completion that must be there. What is not written is free.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CompletionPattern {
    /// How many of them in a row.
    pub count: u32,
    /// Allowed kinds as in the control protocol, `recv`; empty = any. Not looked at unless the status is `success`.
    pub opcodes: Vec<String>,
    /// Allowed statuses; empty = `success` alone.
    pub statuses: Vec<String>,
    /// Bytes received.
    pub length: Option<u32>,
    /// Immediate data.
    pub immediate: Option<u32>,
    /// The completion names the tester's queue pair as the sender.
    pub from_tester: bool,
}
