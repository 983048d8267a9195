//! What a tester may ask of the device's own software.

use serde::{Deserialize, Serialize};

use crate::qp::{Access, QpAttributes, QpCapacity, QpKind};
use crate::send::{BindRequest, SendRequest, WindowKind};

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
        /// Protection domain; absent: the agent's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pd: Option<u32>,
        /// Shared receive queue that it takes from, instead of a receive queue of its own. Not for XRC.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        srq: Option<u32>,
        /// XRC domain. An XRC target needs one, nobody else has one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        xrc_domain: Option<u32>,
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
        /// Protection domain; absent: the agent's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pd: Option<u32>,
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
    /// Makes a protection domain beside the agent's own. Answer: `pd`.
    CreatePd {},
    /// Refused while anything is in it. Answer: `done`.
    DestroyPd {
        /// The domain.
        pd: u32,
    },
    /// Makes an XRC domain. Answer: `xrc_domain`.
    CreateXrcDomain {},
    /// Refused while anything is in it. Answer: `done`.
    DestroyXrcDomain {
        /// The domain.
        xrc_domain: u32,
    },
    /// Makes a receive queue that several queue pairs take from. Answer: `srq`.
    CreateSrq {
        /// Most receives in it.
        max_wr: u32,
        /// Protection domain of its buffers; absent: the agent's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pd: Option<u32>,
        /// With one it serves the XRC targets of this domain, and what they take completes at the queue.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        xrc_domain: Option<u32>,
    },
    /// Arms the event `srq_limit_reached`, which comes once. Answer: `done`.
    ModifySrq {
        /// The queue.
        srq: u32,
        /// Fewer receives than this raise it; 0 disarms it.
        limit: u32,
    },
    /// Refused while a queue pair takes from it. Answer: `done`.
    DestroySrq {
        /// The queue.
        srq: u32,
    },
    /// As `post_receive`, for whichever queue pair takes it. Answer: `done`.
    PostSrqReceive {
        /// The queue.
        srq: u32,
        /// Comes back in the completion.
        wr_id: u64,
        /// Region of the buffer.
        mr: u32,
        /// Offset in it.
        offset: u64,
        /// Bytes.
        length: u32,
    },
    /// As `poll`, for what XRC targets took from the queue. Answer: `completions`.
    PollSrq {
        /// The queue.
        srq: u32,
        /// At most so many, 1 to 1024.
        max: u32,
    },
    /// Makes a memory window that is bound to nothing. Answer: `window`.
    AllocateWindow {
        /// Kind.
        kind: WindowKind,
        /// Protection domain; absent: the agent's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pd: Option<u32>,
    },
    /// Answer: `done`.
    DeallocateWindow {
        /// The window.
        window: u32,
    },
    /// Posts a request that binds a window. Answer: `window`, with the key that it has once the request is done.
    BindWindow {
        /// The queue pair.
        qp: Qp,
        /// The request.
        request: BindRequest,
    },
    /// Arms the event `completion` of a queue pair, which comes once, with the next completion. Answer: `done`.
    RequestNotification {
        /// The queue pair.
        qp: Qp,
        /// With the next completion of a message that asks for it (SE bit) or that failed.
        solicited_only: bool,
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
    pub const NAMES: [&str; 31] = [
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
        "create_pd",
        "destroy_pd",
        "create_xrc_domain",
        "destroy_xrc_domain",
        "create_srq",
        "modify_srq",
        "destroy_srq",
        "post_srq_receive",
        "poll_srq",
        "allocate_window",
        "deallocate_window",
        "bind_window",
        "request_notification",
        "counters",
        "events",
        "shutdown",
    ];

    /// The first order on every connection, without a token.
    pub fn hello() -> Command {
        Command::Hello { version: crate::VERSION, token: None }
    }
}
