//! What a tester may ask of the device's own software.

use serde::{Deserialize, Serialize};

/// Handle of a queue pair, given out by the agent. Not the queue pair number on the wire.
pub type Qp = u32;

/// One order. The names follow the verbs that an agent calls to carry it out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "cmd", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// First on every connection: names the version and asks who is there. Answer: `device`.
    Hello {
        /// Protocol version of the tester.
        version: u32,
        /// The shared secret, where the agent was started with one (TCP). Ignored by agents without.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        token: Option<String>,
    },
    /// Destroys every object that earlier commands made. Answer: `done`.
    Reset {},
    /// Makes a queue pair with a completion queue of its own, in state RESET. Answer: `qp`.
    CreateQp {
        /// Transport service.
        kind: QpKind,
        /// Sizes of its queues.
        #[serde(default)]
        capacity: QpCapacity,
    },
    /// Moves a queue pair to a state and sets attributes on the way. Only the attributes present are set. Answer: `done`.
    ModifyQp {
        /// The queue pair.
        qp: Qp,
        /// What to set.
        attributes: QpAttributes,
    },
    /// Reads back the state and the attributes. Answer: `qp_attributes`.
    QueryQp {
        /// The queue pair.
        qp: Qp,
    },
    /// Answer: `done`.
    DestroyQp {
        /// The queue pair.
        qp: Qp,
    },
    /// Lets a UD queue pair have the datagrams to a multicast group as well. Answer: `done`.
    AttachMulticast {
        /// The queue pair.
        qp: Qp,
        /// The group, as an IPv6 address in text; IPv4 as `::ffff:a.b.c.d`.
        group: std::net::Ipv6Addr,
    },
    /// Takes a queue pair out of a multicast group. Answer: `done`.
    DetachMulticast {
        /// The queue pair.
        qp: Qp,
        /// The group.
        group: std::net::Ipv6Addr,
    },
    /// Registers zeroed memory of the agent's own with the device. Answer: `memory`.
    RegisterMemory {
        /// Bytes, 1 to 16 MiB.
        length: u64,
        /// Rights; local write is implied where the verbs demand it.
        access: Vec<Access>,
    },
    /// Answer: `done`.
    DeregisterMemory {
        /// Handle of the region.
        mr: u32,
    },
    /// Puts bytes into a region. Answer: `done`.
    WriteMemory {
        /// Handle of the region.
        mr: u32,
        /// Offset in it.
        offset: u64,
        /// The bytes in hex, at most 1 MiB of them.
        data: String,
    },
    /// Answer: `data`.
    ReadMemory {
        /// Handle of the region.
        mr: u32,
        /// Offset in it.
        offset: u64,
        /// Bytes, at most 1 MiB.
        length: u64,
    },
    /// Posts one receive request of one buffer. Answer: `done`.
    PostReceive {
        /// The queue pair.
        qp: Qp,
        /// Comes back in the completion.
        wr_id: u64,
        /// Region of the buffer.
        mr: u32,
        /// Offset in it.
        offset: u64,
        /// Bytes.
        length: u32,
    },
    /// Posts one send request. Answer: `done`.
    PostSend {
        /// The queue pair.
        qp: Qp,
        /// The request.
        request: SendRequest,
    },
    /// Takes finished work requests of a queue pair, oldest first. Does not wait. Answer: `completions`.
    Poll {
        /// The queue pair.
        qp: Qp,
        /// At most so many, 1 to 1024.
        max: u32,
    },
    /// All counters that the device offers, by their own names. Answer: `counters`.
    Counters {},
    /// Takes asynchronous events since the last call. Answer: `events`.
    Events {},
    /// Stops the agent; in a guest made for the purpose also the machine. Answer: `done`, then the stream ends.
    Shutdown {},
}

impl Command {
    /// Every `cmd` of this version of the protocol.
    pub const NAMES: [&str; 18] = [
        "hello",
        "reset",
        "create_qp",
        "modify_qp",
        "query_qp",
        "destroy_qp",
        "attach_multicast",
        "detach_multicast",
        "register_memory",
        "deregister_memory",
        "write_memory",
        "read_memory",
        "post_receive",
        "post_send",
        "poll",
        "counters",
        "events",
        "shutdown",
    ];

    /// The first order on every connection, without a token.
    pub fn hello() -> Command {
        Command::Hello { version: crate::VERSION, token: None }
    }
}

/// Transport service of a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QpKind {
    /// Reliable connection.
    Rc,
    /// Unreliable connection.
    Uc,
    /// Unreliable datagram.
    Ud,
}

/// Sizes of a queue pair's queues, in work requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QpCapacity {
    /// Send queue.
    pub max_send_wr: u32,
    /// Receive queue.
    pub max_recv_wr: u32,
}

impl Default for QpCapacity {
    fn default() -> Self {
        QpCapacity { max_send_wr: 64, max_recv_wr: 64 }
    }
}

/// States of a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the standard's own")]
pub enum QpState {
    Reset,
    Init,
    Rtr,
    Rts,
    Sqd,
    Sqe,
    Error,
}

/// A right on a memory region or on a queue pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the standard's own")]
pub enum Access {
    LocalWrite,
    RemoteWrite,
    RemoteRead,
    RemoteAtomic,
    FlushGlobal,
    FlushPersistent,
}

/// Path MTU in bytes: 256, 512, 1024, 2048 or 4096.
pub type PathMtu = u32;

/// Which RoCE a GID table entry stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GidKind {
    /// Ethertype 0x8915.
    RoceV1,
    /// UDP port 4791.
    RoceV2,
}

/// Attributes of a queue pair, all optional. Absent: left as it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QpAttributes {
    /// State to move to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<QpState>,
    /// What a peer may do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub access: Option<Vec<Access>>,
    /// Index into the P_Key table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pkey_index: Option<u16>,
    /// Q_Key of a UD queue pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qkey: Option<u32>,
    /// Path MTU in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path_mtu: Option<PathMtu>,
    /// The peer's queue pair number, 24 bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dest_qpn: Option<u32>,
    /// First PSN expected from the peer, 24 bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rq_psn: Option<u32>,
    /// First PSN sent to the peer, 24 bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sq_psn: Option<u32>,
    /// Local ACK timeout code, 0 to 31: 4.096 us * 2^code, 0 = none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u8>,
    /// Retry count, 0 to 7.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_count: Option<u8>,
    /// RNR retry count, 0 to 7; 7 = without end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rnr_retry: Option<u8>,
    /// RNR NAK timer code that this side asks for, 0 to 31; 0 = 655.36 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rnr_timer: Option<u8>,
    /// READs and ATOMICs outstanding as a requester.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rd_atomic: Option<u8>,
    /// READs and ATOMICs outstanding as a responder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_dest_rd_atomic: Option<u8>,
    /// Index into the GID table of the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gid_index: Option<u8>,
    /// The peer's GID, as an IPv6 address in text; IPv4 as `::ffff:a.b.c.d`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remote_gid: Option<std::net::Ipv6Addr>,
    /// Traffic class octet: DSCP and ECN of what is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub traffic_class: Option<u8>,
    /// Hop limit or TTL of what is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hop_limit: Option<u8>,
    /// Flow label, 20 bits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_label: Option<u32>,
    /// Service level, 0 to 7.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub service_level: Option<u8>,
}

/// What a send request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the standard's own")]
pub enum Opcode {
    Send,
    SendWithImmediate,
    SendWithInvalidate,
    RdmaWrite,
    RdmaWriteWithImmediate,
    RdmaRead,
    CompareSwap,
    FetchAdd,
    AtomicWrite,
    Flush,
}

/// A flag of a send request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names are the standard's own")]
pub enum SendFlag {
    Signaled,
    Solicited,
    Fence,
    Inline,
}

/// One send request. Fields that its opcode does not use are ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendRequest {
    /// Comes back in the completion.
    pub wr_id: u64,
    /// What to do.
    pub opcode: Opcode,
    /// Flags.
    #[serde(default)]
    pub flags: Vec<SendFlag>,
    /// Local region.
    pub mr: u32,
    /// Offset in it.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
    /// The peer's address (WRITE, READ, ATOMIC, FLUSH).
    #[serde(default)]
    pub remote_va: u64,
    /// The peer's key (WRITE, READ, ATOMIC, FLUSH).
    #[serde(default)]
    pub rkey: u32,
    /// Immediate data, or the key to invalidate.
    #[serde(default)]
    pub immediate: u32,
    /// Value to compare with, or to add.
    #[serde(default)]
    pub compare_add: u64,
    /// Value to swap in.
    #[serde(default)]
    pub swap: u64,
    /// UD only: GID of the destination.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote_gid: Option<std::net::Ipv6Addr>,
    /// UD only: queue pair number of the destination.
    #[serde(default)]
    pub remote_qpn: u32,
    /// UD only: Q_Key.
    #[serde(default)]
    pub remote_qkey: u32,
}
