//! Numbers of MADs and CM messages that have names.

use core::time::Duration;

use super::bits::{Bits, Shape};

/// A number, the names of its values, and their sentences.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident($inner:ty) { $($(#[$value_doc:meta])* $value:literal $constant:ident $text:literal;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        pub struct $name(pub $inner);

        impl $name {
            $(#[doc = $text] $(#[$value_doc])* pub const $constant: $name = $name($value);)*

            /// Its name; `None` for a value that has none.
            pub const fn name(self) -> Option<&'static str> {
                Some(match self.0 {
                    $($value => $text,)*
                    _ => return None,
                })
            }
        }

        impl Bits for $name {
            fn from_bits(bits: u128) -> Self {
                $name(bits as $inner)
            }
            fn bits(self) -> u128 {
                self.0.into()
            }
            const SHAPE: Shape = Shape::Decimal;
        }
    };
}

named! {
    /// Attribute of a MAD; with the class of the communication manager, its message.
    Attribute(u16) {
        0x0001 CLASS_PORT_INFO "ClassPortInfo";
        0x0010 REQ "REQ";
        0x0011 MRA "MRA";
        0x0012 REJ "REJ";
        0x0013 REP "REP";
        0x0014 RTU "RTU";
        0x0015 DREQ "DREQ";
        0x0016 DREP "DREP";
        0x0017 SIDR_REQ "SIDR_REQ";
        0x0018 SIDR_REP "SIDR_REP";
        0x0019 LAP "LAP";
        0x001a APR "APR";
    }
}

named! {
    /// Status of a MAD: bit 0 busy, bit 1 redirect, bits 4:2 what is wrong with a field, bits 15:8 left to the class. The
    /// places of these bits are unverified.
    Status(u16) {
        0x0000 OK "ok";
        0x0001 BUSY "busy";
        0x0002 REDIRECT "redirect";
        0x0004 BAD_VERSION "bad version";
        0x0008 METHOD "method not supported";
        0x000c METHOD_ATTRIBUTE "attribute not supported with this method";
        0x001c INVALID "invalid value";
    }
}

named! {
    /// Why a connection is rejected (REJ). On RoCE v2, 13 and 19 are never sent (CA17-35).
    RejReason(u16) {
        1 NO_QP "no queue pair";
        2 NO_EEC "no end-to-end context";
        3 NO_RESOURCES "no resources";
        4 TIMEOUT "timeout";
        5 UNSUPPORTED "unsupported request";
        6 INVALID_COMM_ID "invalid communication id";
        7 INVALID_COMM_INSTANCE "invalid communication instance";
        8 INVALID_SERVICE_ID "invalid service id";
        9 INVALID_TRANSPORT "invalid transport service";
        10 STALE "stale connection";
        11 NO_RDC "no reliable datagram channel";
        12 PRIMARY_GID "primary GID";
        13 PRIMARY_LID "primary LID";
        14 PRIMARY_SL "primary service level";
        15 PRIMARY_TRAFFIC_CLASS "primary traffic class";
        16 PRIMARY_HOP_LIMIT "primary hop limit";
        17 PRIMARY_PACKET_RATE "primary packet rate";
        18 ALTERNATE_GID "alternate GID";
        19 ALTERNATE_LID "alternate LID";
        20 ALTERNATE_SL "alternate service level";
        21 ALTERNATE_TRAFFIC_CLASS "alternate traffic class";
        22 ALTERNATE_HOP_LIMIT "alternate hop limit";
        23 ALTERNATE_PACKET_RATE "alternate packet rate";
        24 CM_REDIRECT "redirected to another CM";
        25 PORT_REDIRECT "redirected to another port";
        26 INVALID_MTU "path MTU";
        27 RESPONDER_RESOURCES "insufficient responder resources";
        28 CONSUMER "consumer";
        29 RNR_RETRY "RNR retry count";
        30 DUPLICATE_COMM_ID "duplicate communication id";
        31 CLASS_VERSION "class version";
        32 FLOW_LABEL "primary flow label";
        33 ALTERNATE_FLOW_LABEL "alternate flow label";
        35 VENDOR_OPTION "vendor option";
    }
}

named! {
    /// Answer to a service id resolution (SIDR_REP), as Linux names it; unverified.
    SidrStatus(u8) {
        0 SUCCESS "success";
        1 UNSUPPORTED "unsupported";
        2 REJECT "rejected";
        3 NO_QP "no queue pair";
        4 REDIRECT "redirected";
        5 UNSUPPORTED_VERSION "unsupported version";
    }
}

named! {
    /// Answer to an alternate path (APR), as Linux names it; unverified. On RoCE v2, 7 is never sent (CA17-37).
    AprStatus(u8) {
        0 SUCCESS "success";
        1 INVALID_COMM_ID "invalid communication id";
        2 UNSUPPORTED "unsupported";
        3 REJECT "rejected";
        4 REDIRECT "redirected";
        5 IS_CURRENT "is the current path";
        6 INVALID_QPN "invalid queue pair number";
        7 INVALID_LID "invalid LID";
        8 INVALID_GID "invalid GID";
        9 INVALID_FLOW_LABEL "invalid flow label";
        10 INVALID_TRAFFIC_CLASS "invalid traffic class";
        11 INVALID_HOP_LIMIT "invalid hop limit";
        12 INVALID_PACKET_RATE "invalid packet rate";
        13 INVALID_SL "invalid service level";
    }
}

named! {
    /// Transport service of a REQ, 2 bits.
    TransportService(u8) {
        0 RC "RC";
        1 UC "UC";
        2 RD "RD";
        3 EXTENDED "extended";
    }
}

/// The time that a timeout code of the communication manager stands for: 4.096 us * 2^code, codes 0 to 31.
pub const fn timeout(code: u8) -> Duration {
    Duration::from_nanos(4096 << (code & 31))
}
