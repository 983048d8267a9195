//! The one table of opcodes: which headers follow, what payload is legal, where in a message the packet stands.
//!
//! RC, UC, RD and UD rows follow the base specification as Linux and Wireshark agree on them; FLUSH and ATOMIC WRITE are
//! those of annex A19; XRC rows (annex A14) and the RD FLUSH row rest on unmerged implementations and are unverified.

use core::fmt;

use crate::ext::Header;

/// Opcode of a BTH: bits 7:5 the transport, bits 4:0 the operation. Any value can be held.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Opcode(pub u8);

/// Transport service that an opcode belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transport {
    /// Reliable connection.
    Rc,
    /// Unreliable connection.
    Uc,
    /// Reliable datagram.
    Rd,
    /// Unreliable datagram.
    Ud,
    /// Congestion notification.
    Cnp,
    /// Extended reliable connection.
    Xrc,
    /// Left to manufacturers.
    Manufacturer,
}

/// Where in a message a packet stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the standard's own")]
pub enum Position {
    First,
    Middle,
    Last,
    Only,
}

/// Who sends a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Request,
    Response,
    Notification,
}

/// How many payload bytes an opcode may carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PayloadRule {
    /// None.
    Empty,
    /// Exactly the path MTU.
    Full,
    /// One byte to the path MTU.
    OneToMtu,
    /// Nothing to the path MTU.
    ZeroToMtu,
    /// Exactly 8 bytes.
    Eight,
    /// Exactly 16 bytes, sent as zero.
    Sixteen,
}

impl PayloadRule {
    /// True when `len` bytes are legal on a path with this MTU, in bytes.
    pub const fn allows(self, len: usize, mtu: usize) -> bool {
        match self {
            PayloadRule::Empty => len == 0,
            PayloadRule::Full => len == mtu,
            PayloadRule::OneToMtu => len > 0 && len <= mtu,
            PayloadRule::ZeroToMtu => len <= mtu,
            PayloadRule::Eight => len == 8,
            PayloadRule::Sixteen => len == 16,
        }
    }
}

/// What is known of a defined opcode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Info {
    /// Name with its transport in front, `RC_SEND_ONLY`.
    pub name: &'static str,
    /// Headers behind the BTH, in wire order.
    pub headers: &'static [Header],
    /// Legal payload.
    pub payload: PayloadRule,
    /// Place in its message.
    pub position: Position,
    kind: Kind,
    flags: u8,
    /// A bit for each header, by its place in [`Header`].
    has: u16,
    headers_len: u8,
}

const PLAIN: u8 = 0;
const RECEIVE: u8 = 1;
const COMPLETION: u8 = 2;
const SOLICITED: u8 = 4;

impl Info {
    /// Sent by a requester.
    pub const fn is_request(&self) -> bool {
        matches!(self.kind, Kind::Request)
    }

    /// Sent by a responder.
    pub const fn is_response(&self) -> bool {
        matches!(self.kind, Kind::Response)
    }

    /// Takes a receive request from the queue at the responder.
    pub const fn takes_receive(&self) -> bool {
        self.flags & RECEIVE != 0
    }

    /// Completes a receive request at the responder.
    pub const fn completes_receive(&self) -> bool {
        self.flags & COMPLETION != 0
    }

    /// The solicited event bit may be set.
    pub const fn may_solicit(&self) -> bool {
        self.flags & SOLICITED != 0
    }

    /// First packet of its message.
    pub const fn starts_message(&self) -> bool {
        matches!(self.position, Position::First | Position::Only)
    }

    /// Last packet of its message.
    pub const fn ends_message(&self) -> bool {
        matches!(self.position, Position::Last | Position::Only)
    }

    /// True when `header` follows the BTH.
    #[inline]
    pub const fn has(&self, header: Header) -> bool {
        self.has >> header as u16 & 1 == 1
    }

    /// Bytes of the headers behind the BTH.
    #[inline]
    pub const fn headers_len(&self) -> usize {
        self.headers_len as usize
    }
}

impl Opcode {
    /// What is known of it; `None` for reserved and manufacturers' codes.
    #[inline]
    pub const fn info(self) -> Option<&'static Info> {
        INFO[self.0 as usize].as_ref()
    }

    /// Transport service, from bits 7:5.
    pub const fn transport(self) -> Transport {
        match self.0 >> 5 {
            0 => Transport::Rc,
            1 => Transport::Uc,
            2 => Transport::Rd,
            3 => Transport::Ud,
            4 => Transport::Cnp,
            5 => Transport::Xrc,
            _ => Transport::Manufacturer,
        }
    }

    /// The operation, bits 4:0: the same number in every transport that has it.
    pub const fn operation(self) -> u8 {
        self.0 & 0x1f
    }

    /// By its name, with the transport in front (`RC_SEND_ONLY`).
    pub fn from_name(name: &str) -> Option<Opcode> {
        (0..=255).map(Opcode).find(|opcode| opcode.info().is_some_and(|info| info.name == name))
    }

    /// Headers behind the BTH, in wire order; none for an opcode that is not defined.
    #[inline]
    pub const fn headers(self) -> &'static [Header] {
        match self.info() {
            Some(info) => info.headers,
            None => &[],
        }
    }

    /// True when `header` follows the BTH.
    #[inline]
    pub(crate) const fn has(self, header: Header) -> bool {
        matches!(self.info(), Some(info) if info.has(header))
    }

    /// Bytes of the headers behind the BTH.
    #[inline]
    pub(crate) const fn headers_len(self) -> usize {
        match self.info() {
            Some(info) => info.headers_len(),
            None => 0,
        }
    }
}

impl fmt::Debug for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.info() {
            Some(info) => f.write_str(info.name),
            None => write!(f, "Opcode({:#04x})", self.0),
        }
    }
}

/// Headers follow one another as they stand in [`Header`], whatever the opcode: readers rest on it.
const fn are_in_order(headers: &[Header]) -> bool {
    let mut at = 1;
    while at < headers.len() {
        if headers[at - 1] as u8 >= headers[at] as u8 {
            return false;
        }
        at += 1;
    }
    true
}

macro_rules! opcodes {
    ($($code:literal $name:ident $transport:ident [$($header:ident),*] $payload:ident $position:ident $kind:ident
       [$($flag:ident)|+];)*) => {
        impl Opcode {
            $(
                #[doc = concat!("`", stringify!($name), "`, ", stringify!($code), ".")]
                pub const $name: Opcode = Opcode($code);
            )*

            /// Every defined opcode, in the order of the codes.
            pub const DEFINED: &'static [Opcode] = &[$(Opcode::$name),*];
        }

        static INFO: [Option<Info>; 256] = {
            let mut table = [const { None }; 256];
            $(
                assert!(matches!(Opcode($code).transport(), Transport::$transport));
                assert!(are_in_order(&[$(Header::$header),*]));
                table[$code] = Some(Info {
                    name: stringify!($name),
                    headers: &[$(Header::$header),*],
                    payload: PayloadRule::$payload,
                    position: Position::$position,
                    kind: Kind::$kind,
                    flags: $($flag)|+,
                    has: 0 $(| 1 << Header::$header as u16)*,
                    headers_len: 0 $(+ Header::$header.len() as u8)*,
                });
            )*
            table
        };
    };
}

opcodes! {
    0x00 RC_SEND_FIRST Rc [] Full First Request [RECEIVE];
    0x01 RC_SEND_MIDDLE Rc [] Full Middle Request [PLAIN];
    0x02 RC_SEND_LAST Rc [] OneToMtu Last Request [COMPLETION | SOLICITED];
    0x03 RC_SEND_LAST_WITH_IMMEDIATE Rc [ImmDt] OneToMtu Last Request [COMPLETION | SOLICITED];
    0x04 RC_SEND_ONLY Rc [] ZeroToMtu Only Request [RECEIVE | COMPLETION | SOLICITED];
    0x05 RC_SEND_ONLY_WITH_IMMEDIATE Rc [ImmDt] ZeroToMtu Only Request [RECEIVE | COMPLETION | SOLICITED];
    0x06 RC_RDMA_WRITE_FIRST Rc [Reth] Full First Request [PLAIN];
    0x07 RC_RDMA_WRITE_MIDDLE Rc [] Full Middle Request [PLAIN];
    0x08 RC_RDMA_WRITE_LAST Rc [] OneToMtu Last Request [PLAIN];
    0x09 RC_RDMA_WRITE_LAST_WITH_IMMEDIATE Rc [ImmDt] OneToMtu Last Request [RECEIVE | COMPLETION | SOLICITED];
    0x0a RC_RDMA_WRITE_ONLY Rc [Reth] ZeroToMtu Only Request [PLAIN];
    0x0b RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE Rc [Reth, ImmDt] ZeroToMtu Only Request [RECEIVE | COMPLETION | SOLICITED];
    0x0c RC_RDMA_READ_REQUEST Rc [Reth] Empty Only Request [PLAIN];
    0x0d RC_RDMA_READ_RESPONSE_FIRST Rc [Aeth] Full First Response [PLAIN];
    0x0e RC_RDMA_READ_RESPONSE_MIDDLE Rc [] Full Middle Response [PLAIN];
    0x0f RC_RDMA_READ_RESPONSE_LAST Rc [Aeth] OneToMtu Last Response [PLAIN];
    0x10 RC_RDMA_READ_RESPONSE_ONLY Rc [Aeth] ZeroToMtu Only Response [PLAIN];
    0x11 RC_ACKNOWLEDGE Rc [Aeth] Empty Only Response [PLAIN];
    0x12 RC_ATOMIC_ACKNOWLEDGE Rc [Aeth, AtomicAckEth] Empty Only Response [PLAIN];
    0x13 RC_COMPARE_SWAP Rc [AtomicEth] Empty Only Request [PLAIN];
    0x14 RC_FETCH_ADD Rc [AtomicEth] Empty Only Request [PLAIN];
    0x16 RC_SEND_LAST_WITH_INVALIDATE Rc [Ieth] OneToMtu Last Request [COMPLETION | SOLICITED];
    0x17 RC_SEND_ONLY_WITH_INVALIDATE Rc [Ieth] ZeroToMtu Only Request [RECEIVE | COMPLETION | SOLICITED];
    0x1c RC_FLUSH Rc [Feth, Reth] Empty Only Request [PLAIN];
    0x1d RC_ATOMIC_WRITE Rc [Reth] Eight Only Request [PLAIN];
    0x20 UC_SEND_FIRST Uc [] Full First Request [RECEIVE];
    0x21 UC_SEND_MIDDLE Uc [] Full Middle Request [PLAIN];
    0x22 UC_SEND_LAST Uc [] OneToMtu Last Request [COMPLETION | SOLICITED];
    0x23 UC_SEND_LAST_WITH_IMMEDIATE Uc [ImmDt] OneToMtu Last Request [COMPLETION | SOLICITED];
    0x24 UC_SEND_ONLY Uc [] ZeroToMtu Only Request [RECEIVE | COMPLETION | SOLICITED];
    0x25 UC_SEND_ONLY_WITH_IMMEDIATE Uc [ImmDt] ZeroToMtu Only Request [RECEIVE | COMPLETION | SOLICITED];
    0x26 UC_RDMA_WRITE_FIRST Uc [Reth] Full First Request [PLAIN];
    0x27 UC_RDMA_WRITE_MIDDLE Uc [] Full Middle Request [PLAIN];
    0x28 UC_RDMA_WRITE_LAST Uc [] OneToMtu Last Request [PLAIN];
    0x29 UC_RDMA_WRITE_LAST_WITH_IMMEDIATE Uc [ImmDt] OneToMtu Last Request [RECEIVE | COMPLETION | SOLICITED];
    0x2a UC_RDMA_WRITE_ONLY Uc [Reth] ZeroToMtu Only Request [PLAIN];
    0x2b UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE Uc [Reth, ImmDt] ZeroToMtu Only Request [RECEIVE | COMPLETION | SOLICITED];
    0x40 RD_SEND_FIRST Rd [Rdeth, Deth] Full First Request [RECEIVE];
    0x41 RD_SEND_MIDDLE Rd [Rdeth, Deth] Full Middle Request [PLAIN];
    0x42 RD_SEND_LAST Rd [Rdeth, Deth] OneToMtu Last Request [COMPLETION | SOLICITED];
    0x43 RD_SEND_LAST_WITH_IMMEDIATE Rd [Rdeth, Deth, ImmDt] OneToMtu Last Request [COMPLETION | SOLICITED];
    0x44 RD_SEND_ONLY Rd [Rdeth, Deth] ZeroToMtu Only Request [RECEIVE | COMPLETION | SOLICITED];
    0x45 RD_SEND_ONLY_WITH_IMMEDIATE Rd [Rdeth, Deth, ImmDt] ZeroToMtu Only Request [RECEIVE | COMPLETION | SOLICITED];
    0x46 RD_RDMA_WRITE_FIRST Rd [Rdeth, Deth, Reth] Full First Request [PLAIN];
    0x47 RD_RDMA_WRITE_MIDDLE Rd [Rdeth, Deth] Full Middle Request [PLAIN];
    0x48 RD_RDMA_WRITE_LAST Rd [Rdeth, Deth] OneToMtu Last Request [PLAIN];
    0x49 RD_RDMA_WRITE_LAST_WITH_IMMEDIATE Rd [Rdeth, Deth, ImmDt] OneToMtu Last Request [RECEIVE | COMPLETION | SOLICITED];
    0x4a RD_RDMA_WRITE_ONLY Rd [Rdeth, Deth, Reth] ZeroToMtu Only Request [PLAIN];
    0x4b RD_RDMA_WRITE_ONLY_WITH_IMMEDIATE Rd [Rdeth, Deth, Reth, ImmDt] ZeroToMtu Only Request [RECEIVE | COMPLETION | SOLICITED];
    0x4c RD_RDMA_READ_REQUEST Rd [Rdeth, Deth, Reth] Empty Only Request [PLAIN];
    0x4d RD_RDMA_READ_RESPONSE_FIRST Rd [Rdeth, Aeth] Full First Response [PLAIN];
    0x4e RD_RDMA_READ_RESPONSE_MIDDLE Rd [Rdeth] Full Middle Response [PLAIN];
    0x4f RD_RDMA_READ_RESPONSE_LAST Rd [Rdeth, Aeth] OneToMtu Last Response [PLAIN];
    0x50 RD_RDMA_READ_RESPONSE_ONLY Rd [Rdeth, Aeth] ZeroToMtu Only Response [PLAIN];
    0x51 RD_ACKNOWLEDGE Rd [Rdeth, Aeth] Empty Only Response [PLAIN];
    0x52 RD_ATOMIC_ACKNOWLEDGE Rd [Rdeth, Aeth, AtomicAckEth] Empty Only Response [PLAIN];
    0x53 RD_COMPARE_SWAP Rd [Rdeth, Deth, AtomicEth] Empty Only Request [PLAIN];
    0x54 RD_FETCH_ADD Rd [Rdeth, Deth, AtomicEth] Empty Only Request [PLAIN];
    0x55 RD_RESYNC Rd [Rdeth, Deth] Empty Only Request [PLAIN];
    0x5c RD_FLUSH Rd [Rdeth, Feth, Reth] Empty Only Request [PLAIN];
    0x64 UD_SEND_ONLY Ud [Deth] ZeroToMtu Only Request [RECEIVE | COMPLETION | SOLICITED];
    0x65 UD_SEND_ONLY_WITH_IMMEDIATE Ud [Deth, ImmDt] ZeroToMtu Only Request [RECEIVE | COMPLETION | SOLICITED];
    0x80 CNP_NATIVE Cnp [] Sixteen Only Notification [PLAIN];
    0x81 CNP Cnp [] Sixteen Only Notification [PLAIN];
    0xa0 XRC_SEND_FIRST Xrc [XrcEth] Full First Request [RECEIVE];
    0xa1 XRC_SEND_MIDDLE Xrc [XrcEth] Full Middle Request [PLAIN];
    0xa2 XRC_SEND_LAST Xrc [XrcEth] OneToMtu Last Request [COMPLETION | SOLICITED];
    0xa3 XRC_SEND_LAST_WITH_IMMEDIATE Xrc [XrcEth, ImmDt] OneToMtu Last Request [COMPLETION | SOLICITED];
    0xa4 XRC_SEND_ONLY Xrc [XrcEth] ZeroToMtu Only Request [RECEIVE | COMPLETION | SOLICITED];
    0xa5 XRC_SEND_ONLY_WITH_IMMEDIATE Xrc [XrcEth, ImmDt] ZeroToMtu Only Request [RECEIVE | COMPLETION | SOLICITED];
    0xa6 XRC_RDMA_WRITE_FIRST Xrc [XrcEth, Reth] Full First Request [PLAIN];
    0xa7 XRC_RDMA_WRITE_MIDDLE Xrc [XrcEth] Full Middle Request [PLAIN];
    0xa8 XRC_RDMA_WRITE_LAST Xrc [XrcEth] OneToMtu Last Request [PLAIN];
    0xa9 XRC_RDMA_WRITE_LAST_WITH_IMMEDIATE Xrc [XrcEth, ImmDt] OneToMtu Last Request [RECEIVE | COMPLETION | SOLICITED];
    0xaa XRC_RDMA_WRITE_ONLY Xrc [XrcEth, Reth] ZeroToMtu Only Request [PLAIN];
    0xab XRC_RDMA_WRITE_ONLY_WITH_IMMEDIATE Xrc [XrcEth, Reth, ImmDt] ZeroToMtu Only Request [RECEIVE | COMPLETION | SOLICITED];
    0xac XRC_RDMA_READ_REQUEST Xrc [XrcEth, Reth] Empty Only Request [PLAIN];
    0xad XRC_RDMA_READ_RESPONSE_FIRST Xrc [Aeth] Full First Response [PLAIN];
    0xae XRC_RDMA_READ_RESPONSE_MIDDLE Xrc [] Full Middle Response [PLAIN];
    0xaf XRC_RDMA_READ_RESPONSE_LAST Xrc [Aeth] OneToMtu Last Response [PLAIN];
    0xb0 XRC_RDMA_READ_RESPONSE_ONLY Xrc [Aeth] ZeroToMtu Only Response [PLAIN];
    0xb1 XRC_ACKNOWLEDGE Xrc [Aeth] Empty Only Response [PLAIN];
    0xb2 XRC_ATOMIC_ACKNOWLEDGE Xrc [Aeth, AtomicAckEth] Empty Only Response [PLAIN];
    0xb3 XRC_COMPARE_SWAP Xrc [XrcEth, AtomicEth] Empty Only Request [PLAIN];
    0xb4 XRC_FETCH_ADD Xrc [XrcEth, AtomicEth] Empty Only Request [PLAIN];
    0xb6 XRC_SEND_LAST_WITH_INVALIDATE Xrc [XrcEth, Ieth] OneToMtu Last Request [COMPLETION | SOLICITED];
    0xb7 XRC_SEND_ONLY_WITH_INVALIDATE Xrc [XrcEth, Ieth] ZeroToMtu Only Request [RECEIVE | COMPLETION | SOLICITED];
    0xbc XRC_FLUSH Xrc [XrcEth, Feth, Reth] Empty Only Request [PLAIN];
    0xbd XRC_ATOMIC_WRITE Xrc [XrcEth, Reth] Eight Only Request [PLAIN];
}
