//! The messages of the communication manager.

use core::net::Ipv6Addr;

use super::DATA_LEN;
use super::bits::{self, Bits, MadField};
use super::fields::message;
use super::ip::ServiceId;
use super::names::{AprStatus, Attribute, RejReason, SidrStatus, TransportService};
use crate::number::{PKey, Psn, QKey, Qpn};

message! {
    /// Asks for a connection. LIDs are not looked at on RoCE v2 (CA17-34).
    Req[DATA_LEN] {
        /// What the sender calls the connection.
        local_comm_id: u32 = 0 / 0, 32;
        /// Which service is asked for.
        service_id: ServiceId = 8 / 0, 64;
        /// Of the sender's adapter.
        local_ca_guid: u64 = 16 / 0, 64;
        /// Queue key of the sender.
        local_qkey: QKey = 28 / 0, 32;
        /// Queue pair of the sender.
        local_qpn: Qpn = 32 / 0, 24;
        /// READs and ATOMICs that the sender answers at a time.
        responder_resources: u8 = 35 / 0, 8;
        /// End-to-end context of the sender.
        local_eecn: Qpn = 36 / 0, 24;
        /// READs and ATOMICs that the sender has under way at a time.
        initiator_depth: u8 = 39 / 0, 8;
        /// End-to-end context of the receiver.
        remote_eecn: Qpn = 40 / 0, 24;
        /// How long the receiver may take to answer, see [`timeout`](super::timeout).
        remote_response_timeout: u8 = 43 / 0, 5;
        /// Transport.
        transport: TransportService = 43 / 5, 2;
        /// The sender has end-to-end credits.
        flow_control: bool = 43 / 7, 1;
        /// First PSN that the sender sends.
        starting_psn: Psn = 44 / 0, 24;
        /// How long the sender may take to answer.
        local_response_timeout: u8 = 47 / 0, 5;
        /// Retries after a timeout or a sequence error.
        retry_count: u8 = 47 / 5, 3;
        /// Partition key.
        pkey: PKey = 48 / 0, 16;
        /// Code of the path MTU: 1 is 256 bytes, 5 is 4096, see [`Mtu`](crate::Mtu).
        path_mtu: u8 = 50 / 0, 4;
        /// A reliable datagram channel exists.
        rdc_exists: bool = 50 / 4, 1;
        /// Retries after a receiver that is not ready.
        rnr_retry: u8 = 50 / 5, 3;
        /// Retries of the communication manager.
        max_cm_retries: u8 = 51 / 0, 4;
        /// The sender has a shared receive queue.
        srq: bool = 51 / 4, 1;
        /// With [`TransportService::EXTENDED`]: 1 is XRC.
        extended_transport: u8 = 51 / 5, 3;
        /// Primary path.
        primary_local_lid: u16 = 52 / 0, 16;
        /// Primary path.
        primary_remote_lid: u16 = 54 / 0, 16;
        /// Primary path: address of the sender.
        primary_local_gid: Ipv6Addr = 56 / 0, 128;
        /// Primary path: address of the receiver.
        primary_remote_gid: Ipv6Addr = 72 / 0, 128;
        /// Primary path.
        primary_flow_label: u32 = 88 / 0, 20;
        /// Primary path.
        primary_packet_rate: u8 = 91 / 2, 6;
        /// Primary path.
        primary_traffic_class: u8 = 92 / 0, 8;
        /// Primary path.
        primary_hop_limit: u8 = 93 / 0, 8;
        /// Primary path: service level.
        primary_sl: u8 = 94 / 0, 4;
        /// Primary path: the two ends are in one subnet.
        primary_subnet_local: bool = 94 / 4, 1;
        /// Primary path: timeout of the sender for acknowledgements.
        primary_ack_timeout: u8 = 95 / 0, 5;
        /// Alternate path.
        alternate_local_lid: u16 = 96 / 0, 16;
        /// Alternate path.
        alternate_remote_lid: u16 = 98 / 0, 16;
        /// Alternate path; zero: there is none.
        alternate_local_gid: Ipv6Addr = 100 / 0, 128;
        /// Alternate path.
        alternate_remote_gid: Ipv6Addr = 116 / 0, 128;
        /// Alternate path.
        alternate_flow_label: u32 = 132 / 0, 20;
        /// Alternate path.
        alternate_packet_rate: u8 = 135 / 2, 6;
        /// Alternate path.
        alternate_traffic_class: u8 = 136 / 0, 8;
        /// Alternate path.
        alternate_hop_limit: u8 = 137 / 0, 8;
        /// Alternate path.
        alternate_sl: u8 = 138 / 0, 4;
        /// Alternate path.
        alternate_subnet_local: bool = 138 / 4, 1;
        /// Alternate path.
        alternate_ack_timeout: u8 = 139 / 0, 5;
    } bytes {
        /// Left to the programs; [`Req::ip_cm`] reads the header that RDMA-CM puts in front.
        [private_data] = 140..232;
    }
}

message! {
    /// Asks for more time.
    Mra[DATA_LEN] {
        /// What the sender calls the connection.
        local_comm_id: u32 = 0 / 0, 32;
        /// What the receiver calls it.
        remote_comm_id: u32 = 4 / 0, 32;
        /// Which message it is about: 0 REQ, 1 REP, 2 LAP.
        message: u8 = 8 / 0, 2;
        /// How much time, see [`timeout`](super::timeout).
        service_timeout: u8 = 9 / 0, 5;
    } bytes {
        /// Left to the programs.
        [private_data] = 10..232;
    }
}

message! {
    /// Rejects a connection.
    Rej[DATA_LEN] {
        /// What the sender calls the connection.
        local_comm_id: u32 = 0 / 0, 32;
        /// What the receiver calls it.
        remote_comm_id: u32 = 4 / 0, 32;
        /// Which message it is about: 0 REQ, 1 REP, 2 another.
        message: u8 = 8 / 0, 2;
        /// Bytes of the additional information that count.
        info_len: u8 = 9 / 0, 7;
        /// Why.
        reason: RejReason = 10 / 0, 16;
    } bytes {
        /// Additional information.
        [info] = 12..84;
        /// Left to the programs.
        [private_data] = 84..232;
    }
}

message! {
    /// Takes a connection.
    Rep[DATA_LEN] {
        /// What the sender calls the connection.
        local_comm_id: u32 = 0 / 0, 32;
        /// What the receiver calls it.
        remote_comm_id: u32 = 4 / 0, 32;
        /// Queue key of the sender.
        local_qkey: QKey = 8 / 0, 32;
        /// Queue pair of the sender.
        local_qpn: Qpn = 12 / 0, 24;
        /// End-to-end context of the sender.
        local_eecn: Qpn = 16 / 0, 24;
        /// First PSN that the sender sends.
        starting_psn: Psn = 20 / 0, 24;
        /// READs and ATOMICs that the sender answers at a time.
        responder_resources: u8 = 24 / 0, 8;
        /// READs and ATOMICs that the sender has under way at a time.
        initiator_depth: u8 = 25 / 0, 8;
        /// How long the sender takes to acknowledge.
        target_ack_delay: u8 = 26 / 0, 5;
        /// What becomes of the alternate path: 0 taken, 1 not supported, 2 rejected.
        failover_accepted: u8 = 26 / 5, 2;
        /// The sender has end-to-end credits.
        flow_control: bool = 26 / 7, 1;
        /// Retries after a receiver that is not ready.
        rnr_retry: u8 = 27 / 0, 3;
        /// The sender has a shared receive queue.
        srq: bool = 27 / 3, 1;
        /// Of the sender's adapter.
        local_ca_guid: u64 = 28 / 0, 64;
    } bytes {
        /// Left to the programs.
        [private_data] = 36..232;
    }
}

message! {
    /// The connection is up.
    Rtu[DATA_LEN] {
        /// What the sender calls the connection.
        local_comm_id: u32 = 0 / 0, 32;
        /// What the receiver calls it.
        remote_comm_id: u32 = 4 / 0, 32;
    } bytes {
        /// Left to the programs.
        [private_data] = 8..232;
    }
}

message! {
    /// Takes a connection down.
    Dreq[DATA_LEN] {
        /// What the sender calls the connection.
        local_comm_id: u32 = 0 / 0, 32;
        /// What the receiver calls it.
        remote_comm_id: u32 = 4 / 0, 32;
        /// Queue pair, or end-to-end context, of the receiver.
        remote_qpn: Qpn = 8 / 0, 24;
    } bytes {
        /// Left to the programs.
        [private_data] = 12..232;
    }
}

message! {
    /// The connection is down.
    Drep[DATA_LEN] {
        /// What the sender calls the connection.
        local_comm_id: u32 = 0 / 0, 32;
        /// What the receiver calls it.
        remote_comm_id: u32 = 4 / 0, 32;
    } bytes {
        /// Left to the programs.
        [private_data] = 8..232;
    }
}

message! {
    /// Asks for the queue pair of a datagram service.
    SidrReq[DATA_LEN] {
        /// What the sender calls the request.
        request_id: u32 = 0 / 0, 32;
        /// Partition key.
        pkey: PKey = 4 / 0, 16;
        /// Which service is asked for.
        service_id: ServiceId = 8 / 0, 64;
    } bytes {
        /// Left to the programs; [`SidrReq::ip_cm`] reads the header that RDMA-CM puts in front.
        [private_data] = 16..232;
    }
}

message! {
    /// Tells it.
    SidrRep[DATA_LEN] {
        /// What the receiver calls the request.
        request_id: u32 = 0 / 0, 32;
        /// How it went.
        status: SidrStatus = 4 / 0, 8;
        /// Bytes of the additional information that count.
        info_len: u8 = 5 / 0, 8;
        /// Queue pair of the service.
        qpn: Qpn = 8 / 0, 24;
        /// Which service.
        service_id: ServiceId = 12 / 0, 64;
        /// Queue key of the service.
        qkey: QKey = 20 / 0, 32;
    } bytes {
        /// Additional information.
        [info] = 24..96;
        /// Left to the programs.
        [private_data] = 96..232;
    }
}

message! {
    /// Offers an alternate path. LIDs are not looked at on RoCE v2 (CA17-36).
    Lap[DATA_LEN] {
        /// What the sender calls the connection.
        local_comm_id: u32 = 0 / 0, 32;
        /// What the receiver calls it.
        remote_comm_id: u32 = 4 / 0, 32;
        /// Queue pair, or end-to-end context, of the receiver.
        remote_qpn: Qpn = 12 / 0, 24;
        /// How long the receiver may take to answer.
        remote_response_timeout: u8 = 15 / 0, 5;
        /// Alternate path.
        alternate_local_lid: u16 = 20 / 0, 16;
        /// Alternate path.
        alternate_remote_lid: u16 = 22 / 0, 16;
        /// Alternate path: address of the sender.
        alternate_local_gid: Ipv6Addr = 24 / 0, 128;
        /// Alternate path: address of the receiver.
        alternate_remote_gid: Ipv6Addr = 40 / 0, 128;
        /// Alternate path.
        alternate_flow_label: u32 = 56 / 0, 20;
        /// Alternate path.
        alternate_traffic_class: u8 = 59 / 0, 8;
        /// Alternate path.
        alternate_hop_limit: u8 = 60 / 0, 8;
        /// Alternate path.
        alternate_packet_rate: u8 = 61 / 2, 6;
        /// Alternate path.
        alternate_sl: u8 = 62 / 0, 4;
        /// Alternate path.
        alternate_subnet_local: bool = 62 / 4, 1;
        /// Alternate path.
        alternate_ack_timeout: u8 = 63 / 0, 5;
    } bytes {
        /// Left to the programs.
        [private_data] = 64..232;
    }
}

message! {
    /// Answers a [`Lap`].
    Apr[DATA_LEN] {
        /// What the sender calls the connection.
        local_comm_id: u32 = 0 / 0, 32;
        /// What the receiver calls it.
        remote_comm_id: u32 = 4 / 0, 32;
        /// Bytes of the additional information that count.
        info_len: u8 = 8 / 0, 8;
        /// How it went.
        status: AprStatus = 9 / 0, 8;
    } bytes {
        /// Additional information.
        [info] = 12..84;
        /// Left to the programs.
        [private_data] = 84..232;
    }
}

macro_rules! messages {
    ($($name:ident $attribute:ident,)*) => {
        /// A message of the communication manager.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[expect(missing_docs, reason = "each is named as its type")]
        pub enum Message {
            $($name($name),)*
        }

        impl Message {
            pub(super) fn read(attribute: Attribute, data: &[u8; DATA_LEN]) -> Option<Message> {
                Some(match attribute {
                    $(Attribute::$attribute => Message::$name($name::read(data)),)*
                    _ => return None,
                })
            }

            /// The attribute that says which message it is.
            pub fn attribute(&self) -> Attribute {
                match self {
                    $(Message::$name(_) => Attribute::$attribute,)*
                }
            }

            /// Its fields, in wire order.
            pub fn fields(&self) -> &'static [MadField] {
                match self {
                    $(Message::$name(_) => $name::FIELDS,)*
                }
            }

            /// Writes every field, and leaves the reserved bits as they are.
            pub fn write(&self, data: &mut [u8; DATA_LEN]) {
                match self {
                    $(Message::$name(message) => message.write(data),)*
                }
            }

            /// The data of a MAD with this message; reserved bits are 0.
            pub fn data(&self) -> [u8; DATA_LEN] {
                let mut data = [0; DATA_LEN];
                self.write(&mut data);
                data
            }
        }

        $(impl From<$name> for Message {
            fn from(message: $name) -> Message {
                Message::$name(message)
            }
        })*
    };
}

messages! {
    Req REQ,
    Mra MRA,
    Rej REJ,
    Rep REP,
    Rtu RTU,
    Dreq DREQ,
    Drep DREP,
    SidrReq SIDR_REQ,
    SidrRep SIDR_REP,
    Lap LAP,
    Apr APR,
}
