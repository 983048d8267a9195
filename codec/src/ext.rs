//! The extension headers behind the BTH.

use crate::code::Syndrome;
use crate::error::Layer;
use crate::number::{Msn, QKey, Qpn, RKey};
use crate::opcode::Opcode;
use crate::wire;

/// Kinds of extension header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are the standard's own")]
pub enum Header {
    Rdeth,
    Deth,
    XrcEth,
    Feth,
    Reth,
    AtomicEth,
    Aeth,
    AtomicAckEth,
    ImmDt,
    Ieth,
}

impl Header {
    /// Bytes on the wire.
    #[expect(clippy::len_without_is_empty, reason = "a header is never empty")]
    pub const fn len(self) -> usize {
        match self {
            Header::Reth => 16,
            Header::AtomicEth => 28,
            Header::Deth | Header::AtomicAckEth => 8,
            Header::Rdeth | Header::XrcEth | Header::Feth | Header::Aeth | Header::ImmDt | Header::Ieth => 4,
        }
    }

    pub(crate) const fn layer(self) -> Layer {
        match self {
            Header::Rdeth => Layer::Rdeth,
            Header::Deth => Layer::Deth,
            Header::XrcEth => Layer::XrcEth,
            Header::Feth => Layer::Feth,
            Header::Reth => Layer::Reth,
            Header::AtomicEth => Layer::AtomicEth,
            Header::Aeth => Layer::Aeth,
            Header::AtomicAckEth => Layer::AtomicAckEth,
            Header::ImmDt => Layer::ImmDt,
            Header::Ieth => Layer::Ieth,
        }
    }
}

/// Reliable datagram extended transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Rdeth {
    /// Reserved, 8 bits.
    pub reserved: u8,
    /// End-to-end context, 24 bits.
    pub ee_context: Qpn,
}

/// Datagram extended transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Deth {
    /// Queue key.
    pub qkey: QKey,
    /// Reserved, 8 bits.
    pub reserved: u8,
    /// Queue pair that sent it.
    pub src_qp: Qpn,
}

/// XRC extended transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct XrcEth {
    /// Reserved, 8 bits.
    pub reserved: u8,
    /// Number of the shared receive queue, 24 bits.
    pub srqn: Qpn,
}

/// FLUSH extended transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Feth(
    /// Bits 31:6 reserved, 5:4 selectivity, 3:0 placement.
    pub u32,
);

/// RDMA extended transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Reth {
    /// Virtual address.
    pub va: u64,
    /// Remote key.
    pub rkey: RKey,
    /// Bytes of the whole message.
    pub len: u32,
}

/// Atomic extended transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct AtomicEth {
    /// Virtual address, a multiple of 8.
    pub va: u64,
    /// Remote key.
    pub rkey: RKey,
    /// Value to swap in or to add.
    pub swap_add: u64,
    /// Value to compare with; not used by FETCH ADD.
    pub compare: u64,
}

/// ACK extended transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Aeth {
    /// ACK, RNR NAK or NAK with its value.
    pub syndrome: Syndrome,
    /// Messages completed.
    pub msn: Msn,
}

/// Atomic ACK extended transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct AtomicAckEth {
    /// What was in memory before.
    pub original: u64,
}

/// Immediate data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ImmDt(pub u32);

/// Invalidate extended transport header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Ieth(pub RKey);

/// All extension headers. Those that the opcode calls for are written, the others stay zero and are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[expect(missing_docs, reason = "each is named as its type")]
pub struct Extensions {
    pub rdeth: Rdeth,
    pub deth: Deth,
    pub xrceth: XrcEth,
    pub feth: Feth,
    pub reth: Reth,
    pub atomic: AtomicEth,
    pub aeth: Aeth,
    pub atomic_ack: AtomicAckEth,
    pub immdt: ImmDt,
    pub ieth: Ieth,
}

impl Extensions {
    /// Reads the headers that `opcode` calls for from bytes that are as long as they.
    pub(crate) fn read_all(opcode: Opcode, mut bytes: &[u8]) -> Extensions {
        let mut ext = Extensions::default();
        for header in opcode.headers() {
            ext.read(*header, bytes);
            bytes = &bytes[header.len()..];
        }
        ext
    }

    /// Reads one header from bytes that are long enough.
    #[inline]
    pub(crate) fn read(&mut self, header: Header, bytes: &[u8]) {
        match header {
            Header::Rdeth => self.rdeth = Rdeth::read(bytes),
            Header::Deth => self.deth = Deth::read(bytes),
            Header::XrcEth => self.xrceth = XrcEth::read(bytes),
            Header::Feth => self.feth = Feth::read(bytes),
            Header::Reth => self.reth = Reth::read(bytes),
            Header::AtomicEth => self.atomic = AtomicEth::read(bytes),
            Header::Aeth => self.aeth = Aeth::read(bytes),
            Header::AtomicAckEth => self.atomic_ack = AtomicAckEth::read(bytes),
            Header::ImmDt => self.immdt = ImmDt::read(bytes),
            Header::Ieth => self.ieth = Ieth::read(bytes),
        }
    }

    /// Writes the headers that `opcode` calls for.
    #[inline]
    pub(crate) fn write(&self, opcode: Opcode, mut put: impl FnMut(&[u8])) {
        for header in opcode.headers() {
            put(&self.bytes(*header)[..header.len()]);
        }
    }

    /// One header, with zeroes behind it.
    fn bytes(&self, header: Header) -> [u8; 28] {
        let mut bytes = [0; 28];
        let mut words = bytes.as_chunks_mut::<4>().0.iter_mut();
        let mut put = |word: [u8; 4]| {
            if let Some(place) = words.next() {
                *place = word;
            }
        };
        let long = |value: u64| [(value >> 32) as u32, value as u32].map(u32::to_be_bytes);
        match header {
            Header::Rdeth => put(wire::with_u24(self.rdeth.reserved, self.rdeth.ee_context.get())),
            Header::Deth => {
                put(self.deth.qkey.get().to_be_bytes());
                put(wire::with_u24(self.deth.reserved, self.deth.src_qp.get()));
            }
            Header::XrcEth => put(wire::with_u24(self.xrceth.reserved, self.xrceth.srqn.get())),
            Header::Feth => put(self.feth.0.to_be_bytes()),
            Header::Reth => {
                long(self.reth.va).into_iter().for_each(&mut put);
                put(self.reth.rkey.get().to_be_bytes());
                put(self.reth.len.to_be_bytes());
            }
            Header::AtomicEth => {
                long(self.atomic.va).into_iter().for_each(&mut put);
                put(self.atomic.rkey.get().to_be_bytes());
                long(self.atomic.swap_add).into_iter().for_each(&mut put);
                long(self.atomic.compare).into_iter().for_each(&mut put);
            }
            Header::Aeth => put(wire::with_u24(self.aeth.syndrome.0, self.aeth.msn.get())),
            Header::AtomicAckEth => {
                long(self.atomic_ack.original).into_iter().for_each(&mut put);
            }
            Header::ImmDt => put(self.immdt.0.to_be_bytes()),
            Header::Ieth => put(self.ieth.0.get().to_be_bytes()),
        }
        bytes
    }
}

/// Each header from bytes that are long enough.
macro_rules! read {
    ($($header:ident |$bytes:ident| $value:expr;)*) => {
        $(impl $header {
            #[inline(always)]
            pub(crate) fn read($bytes: &[u8]) -> $header {
                let $bytes = $bytes.first_chunk::<{ Header::$header.len() }>().expect("a header");
                $value
            }
        })*
    };
}

read! {
    Rdeth |bytes| Rdeth { reserved: bytes[0], ee_context: Qpn::new(wire::u32(bytes, 0)) };
    Deth |bytes| Deth { qkey: QKey::new(wire::u32(bytes, 0)), reserved: bytes[4], src_qp: Qpn::new(wire::u32(bytes, 4)) };
    XrcEth |bytes| XrcEth { reserved: bytes[0], srqn: Qpn::new(wire::u32(bytes, 0)) };
    Feth |bytes| Feth(wire::u32(bytes, 0));
    Reth |bytes| Reth { va: wire::u64(bytes, 0), rkey: RKey::new(wire::u32(bytes, 8)), len: wire::u32(bytes, 12) };
    AtomicEth |bytes| AtomicEth {
        va: wire::u64(bytes, 0),
        rkey: RKey::new(wire::u32(bytes, 8)),
        swap_add: wire::u64(bytes, 12),
        compare: wire::u64(bytes, 20),
    };
    Aeth |bytes| Aeth { syndrome: Syndrome(bytes[0]), msn: Msn::new(wire::u32(bytes, 0)) };
    AtomicAckEth |bytes| AtomicAckEth { original: wire::u64(bytes, 0) };
    ImmDt |bytes| ImmDt(wire::u32(bytes, 0));
    Ieth |bytes| Ieth(RKey::new(wire::u32(bytes, 0)));
}
