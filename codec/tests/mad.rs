//! MADs and the messages of the communication manager: the frames of `fixtures/vectors/cm.json`, both ways.

mod common;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use common::{encoded, packet, roce, unhex};
use proptest::collection::vec;
use proptest::prelude::*;
use rocespec_codec::field::Value;
use rocespec_codec::mad::{self, *};
use rocespec_codec::notation::{Scope, print};
use rocespec_codec::{PKey, Psn, QKey, Qpn, Roce, icrc};

/// Name and frame of each vector.
fn vectors() -> Vec<(String, Vec<u8>)> {
    let file: serde_json::Value = serde_json::from_str(include_str!("../../fixtures/vectors/cm.json")).unwrap();
    let frames = file["frames"].as_array().unwrap().iter();
    frames.map(|frame| (frame["name"].as_str().unwrap().to_owned(), unhex(frame["frame"].as_str().unwrap()))).collect()
}

fn message(name: &str) -> Message {
    let (_, frame) = vectors().into_iter().find(|(vector, _)| vector == name).unwrap();
    mad::of(&roce(&frame)).unwrap().message().unwrap()
}

#[test]
fn the_vectors_are_read_and_written_back() {
    assert_eq!(vectors().len(), 6);
    for (name, frame) in vectors() {
        let packet = roce(&frame);
        assert!(icrc::verify(&packet), "{name}");
        let mad = mad::of(&packet).unwrap();
        assert_eq!((mad.base_version, mad.class, mad.class_version, mad.method), (1, CLASS_CM, 2, METHOD_SEND));
        assert_eq!((mad.status.name(), mad.transaction), (Some("ok"), 0x1122_3344_5566_7788));
        assert_eq!(mad.attribute.name().map(|attribute| format!("CM_{attribute}")), Some(name.clone()));
        // From the fields alone to the same frame.
        let message = mad.message().unwrap();
        assert_eq!(message.attribute(), mad.attribute);
        let data = message.data();
        let mut buffer = [0; Mad::LEN];
        let again = Mad::cm(mad.transaction, message.attribute(), &data).encode(&mut buffer).unwrap();
        assert_eq!(encoded(&Roce { payload: again, ..packet.clone() }), frame, "{name}");
        // And as a line.
        let line = print(&packet, &Scope::default()).to_string();
        let mut buffer = [0; 512];
        assert_eq!(mad::of(&common::packet(&line, &Scope::default(), &mut buffer)), Some(mad));
    }
}

#[test]
fn a_request_has_every_field() {
    let Message::Req(req) = message("CM_REQ") else { panic!("no REQ") };
    assert_eq!(req.local_comm_id, 0xa1a2_a3a4);
    assert_eq!((req.service_id, req.service_id.port()), (ServiceId::of_port(6, 0x1234), Some((6, 0x1234))));
    assert_eq!((req.local_ca_guid, req.local_qkey), (0x1011_1213_1415_1617, QKey::new(0xb1b2_b3b4)));
    assert_eq!((req.local_qpn, req.local_eecn, req.remote_eecn), (Qpn::new(0xabcd), Qpn::new(0x102), Qpn::new(0x304)));
    assert_eq!((req.responder_resources, req.initiator_depth), (5, 6));
    assert_eq!((req.remote_response_timeout, req.transport, req.flow_control), (19, TransportService::RC, true));
    assert_eq!((req.starting_psn, req.local_response_timeout, req.retry_count), (Psn::new(0x123456), 18, 7));
    assert_eq!((req.pkey, req.path_mtu, req.rdc_exists, req.rnr_retry), (PKey::DEFAULT, 3, true, 6));
    assert_eq!((req.max_cm_retries, req.srq, req.extended_transport), (15, true, 0));
    assert_eq!((req.primary_local_lid, req.primary_remote_lid), (0xb01, 0xc02));
    assert_eq!(req.primary_local_gid, Ipv4Addr::new(10, 0, 0, 1).to_ipv6_mapped());
    assert_eq!(req.primary_remote_gid, Ipv4Addr::new(10, 0, 0, 2).to_ipv6_mapped());
    assert_eq!((req.primary_flow_label, req.primary_packet_rate), (0x12345, 0x15));
    assert_eq!((req.primary_traffic_class, req.primary_hop_limit), (0x60, 64));
    assert_eq!((req.primary_sl, req.primary_subnet_local, req.primary_ack_timeout), (3, true, 14));
    assert!(req.alternate_local_gid.is_unspecified());
    assert_eq!(timeout(req.primary_ack_timeout), Duration::from_nanos(4096 << 14));
    let ip = req.ip_cm().unwrap();
    assert_eq!((ip.major_version, ip.ip_version, ip.src_port), (0, 4, 0x1234));
    let addresses = (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
    assert_eq!(ip.addresses(), Some(addresses));
    assert_eq!(IpCm::new(addresses.0, 0x1234, addresses.1), Some(ip));
}

#[test]
fn the_other_messages_have_their_fields() {
    let Message::Rep(rep) = message("CM_REP") else { panic!("no REP") };
    assert_eq!((rep.local_comm_id, rep.remote_comm_id), (0xc1c2_c3c4, 0xa1a2_a3a4));
    assert_eq!((rep.local_qkey, rep.local_qpn), (QKey::new(0xb1b2_b3b4), Qpn::new(0xdcba)));
    assert_eq!((rep.local_eecn, rep.starting_psn), (Qpn::new(1), Psn::new(0x654321)));
    assert_eq!((rep.responder_resources, rep.initiator_depth), (4, 3));
    assert_eq!((rep.target_ack_delay, rep.failover_accepted, rep.flow_control), (15, 0, true));
    assert_eq!((rep.rnr_retry, rep.srq, rep.local_ca_guid), (7, true, 0x2021_2223_2425_2627));
    let Message::Rej(rej) = message("CM_REJ") else { panic!("no REJ") };
    assert_eq!((rej.message, rej.info_len, &rej.info[..4]), (1, 4, &b"ARI!"[..]));
    assert_eq!((rej.reason, rej.reason.name()), (RejReason::CONSUMER, Some("consumer")));
    let Message::Dreq(dreq) = message("CM_DREQ") else { panic!("no DREQ") };
    assert_eq!(dreq.remote_qpn, Qpn::new(0xdcba));
    let Message::Rtu(rtu) = message("CM_RTU") else { panic!("no RTU") };
    let Message::Drep(drep) = message("CM_DREP") else { panic!("no DREP") };
    assert_eq!((rtu.local_comm_id, drep.remote_comm_id), (0xa1a2_a3a4, 0xc1c2_c3c4));
}

const ALL: [Attribute; 11] = [
    Attribute::REQ,
    Attribute::MRA,
    Attribute::REJ,
    Attribute::REP,
    Attribute::RTU,
    Attribute::DREQ,
    Attribute::DREP,
    Attribute::SIDR_REQ,
    Attribute::SIDR_REP,
    Attribute::LAP,
    Attribute::APR,
];

#[test]
fn fields_lie_in_order_beside_each_other_and_in_the_data() {
    for attribute in ALL {
        let message = Mad::cm(0, attribute, &[0; DATA_LEN]).message().unwrap();
        let mut end = 0;
        for field in message.fields() {
            assert!(field.at >= end, "{attribute:?}: {field:?}");
            end = field.at + field.len;
        }
        assert_eq!(end, DATA_LEN * 8, "{attribute:?}");
    }
    assert_eq!(IpCm::FIELDS.iter().map(|field| field.len).sum::<usize>(), IpCm::LEN * 8);
}

#[test]
fn fields_are_walked_by_name() {
    let (_, frame) = &vectors()[0];
    let packet = roce(frame);
    let mad = mad::of(&packet).unwrap();
    let message = mad.message().unwrap();
    let value = |name: &str| message.fields().iter().find(|field| field.name == name).unwrap().get(mad.data);
    assert_eq!(value("starting_psn"), Some(Value::Uint(0x123456)));
    assert_eq!(value("primary_flow_label"), Some(Value::Uint(0x12345)));
    assert_eq!(value("primary_remote_gid"), Some(Value::V6(Ipv4Addr::new(10, 0, 0, 2).to_ipv6_mapped())));
    assert_eq!(value("private_data"), Some(Value::Bytes(&mad.data[140..])));
    assert_eq!(message.fields().last().unwrap().get(&mad.data[..231]), None);
}

#[test]
fn only_datagrams_to_queue_pair_1_have_a_mad() {
    let mut buffer = [0; 300];
    assert!(mad::of(&packet("UD_SEND_ONLY qp=1 qkey=0x80010000 256B=00", &Scope::default(), &mut buffer)).is_some());
    for line in ["UD_SEND_ONLY qp=2 256B=00", "SEND_ONLY qp=1 256B=00", "UD_SEND_ONLY qp=1 23B"] {
        let mut buffer = [0; 300];
        assert_eq!(mad::of(&packet(line, &Scope::default(), &mut buffer)), None, "{line}");
    }
    // Short of a message, but a MAD.
    let mut buffer = [0; 300];
    let packet = packet("UD_SEND_ONLY qp=1 255B", &Scope::default(), &mut buffer);
    assert_eq!(mad::of(&packet).unwrap().message(), None);
}

#[test]
fn service_ids_of_ports_and_others() {
    assert_eq!(ServiceId::of_port(17, 4791), ServiceId(0x0111_12b7));
    assert_eq!(ServiceId(0x0200_0000_0106_1234).port(), None);
    let mut sidr = SidrReq { service_id: ServiceId::of_port(17, 5), ..SidrReq::default() };
    let v6 = |last| IpAddr::from(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last));
    let ip = IpCm::new(v6(1), 7, v6(2)).unwrap();
    sidr.set_ip_cm(&ip);
    assert_eq!((sidr.ip_cm(), ip.addresses()), (Some(ip), Some((v6(1), v6(2)))));
    assert_eq!(SidrReq { service_id: ServiceId(1), ..sidr }.ip_cm(), None);
    assert_eq!(IpCm::new(v6(1), 7, IpAddr::from([10, 0, 0, 1])), None);
}

proptest! {
    #[test]
    fn any_data_is_read_and_written_back(at in 0..ALL.len(), data in vec(any::<u8>(), DATA_LEN)) {
        let message = Mad::cm(0, ALL[at], &data).message().unwrap();
        let mut again: [u8; DATA_LEN] = data.clone().try_into().unwrap();
        message.write(&mut again);
        prop_assert_eq!(&again[..], &data[..], "reserved bits are kept");
        let fresh = message.data();
        prop_assert_eq!(Mad::cm(0, ALL[at], &fresh).message(), Some(message));
    }

    #[test]
    fn any_bytes_are_a_mad_or_too_short(bytes in vec(any::<u8>(), 0..300)) {
        let Some(mad) = Mad::read(&bytes) else {
            prop_assert!(bytes.len() < Mad::HEADER_LEN);
            return Ok(());
        };
        let mut buffer = [0; 300];
        prop_assert_eq!(mad.encode(&mut buffer).unwrap(), &bytes[..]);
        let _ = mad.message();
    }
}
