//! LLDP and DCBX, both ways. The frames are written out by hand from the layouts.

use proptest::collection::vec;
use proptest::prelude::*;
use rocespec_codec::field::Walk;
use rocespec_codec::lldp::*;
use rocespec_codec::{EncodeError, Frame, MacAddr, decode};

const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 1]);

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap()).collect()
}

fn lldp(frame: &[u8]) -> Lldp<'_> {
    match decode(frame) {
        Ok(Frame::Lldp(lldp)) => lldp,
        other => panic!("{other:?}"),
    }
}

/// A port that speaks the IEEE form: priority 3 lossless, RoCE v2 on it.
const IEEE: &str = "0180c200000e 020000000001 88cc
    0207 04 020000000001
    0402 07 31
    0602 0078
    fe19 0080c2 09 82 00010000 32320000 00000000 02020000 00000000
    fe19 0080c2 0a 00 00010000 32320000 00000000 02020000 00000000
    fe06 0080c2 0b 88 08
    fe0b 0080c2 0c 00 63 12b7 61 8915
    0000";

/// One that speaks the older form.
const CEE: &str = "0180c200000e 020000000001 88cc
    0207 04 020000000001
    0402 07 31
    0602 0078
    fe37 001b21 02
      020a 00 00 00000001 00000002
      0411 00 00 80 00 000f0000 32320000 00000000 02
      0606 00 00 c0 00 08 08
      080a 00 00 80 00 8906 00 1b21 08
    0000";

fn ets() -> Ets {
    Ets {
        flags: Ets::WILLING | 2,
        classes: [0, 0, 0, 1, 0, 0, 0, 0],
        bandwidth: [50, 50, 0, 0, 0, 0, 0, 0],
        selection: [2, 2, 0, 0, 0, 0, 0, 0],
    }
}

const PFC: PfcConfiguration =
    PfcConfiguration { willing: true, mbc: false, reserved: 0, capability: 8, enabled: 0b1000 };

const APPLICATIONS: [Application; 2] = [
    Application { priority: 3, reserved: 0, selector: Selector::UDP, protocol: 4791 },
    Application { priority: 3, reserved: 0, selector: Selector::ETHERTYPE, protocol: 0x8915 },
];

#[test]
fn the_ieee_form_is_read() {
    let frame = hex(IEEE);
    let tlvs: Vec<Tlv<'_>> = lldp(&frame).tlvs().map(Result::unwrap).collect();
    assert_eq!(tlvs[0].read(), TlvValue::ChassisId { subtype: 4, id: &MAC.0 });
    assert_eq!(tlvs[1].read(), TlvValue::PortId { subtype: 7, id: b"1" });
    assert_eq!(tlvs[2].read(), TlvValue::TimeToLive(120));
    assert_eq!(tlvs.last().unwrap().read(), TlvValue::End);
    let dcbx: Vec<Dcbx<'_>> = tlvs.iter().filter_map(Tlv::dcbx).collect();
    assert_eq!(dcbx[0], Dcbx::EtsConfiguration(ets()));
    assert_eq!(ets().max_classes(), 2);
    assert_eq!(dcbx[1], Dcbx::EtsRecommendation(Ets { flags: 0, ..ets() }));
    assert_eq!(Ets { flags: 0, ..ets() }.max_classes(), 8);
    assert_eq!(dcbx[2], Dcbx::Pfc(PFC));
    let Dcbx::Applications(table) = dcbx[3] else { panic!("{dcbx:?}") };
    assert_eq!(table.iter().collect::<Vec<_>>(), APPLICATIONS);
    assert_eq!(APPLICATIONS[0].selector.name(), Some("udp"));
    assert_eq!(dcbx.len(), 4);
}

#[test]
fn the_ieee_form_is_written() {
    let mut buffer = [0; 200];
    let mut writer = Writer::new(&mut buffer, MAC);
    let mut write = || {
        writer
            .identity(MAC, "1", 120)?
            .ets_configuration(ets())?
            .ets_recommendation(Ets { flags: 0, ..ets() })?
            .pfc(PFC)?
            .applications(&APPLICATIONS)?
            .end()?;
        Ok::<(), EncodeError>(())
    };
    write().unwrap();
    assert_eq!(writer.frame(), hex(IEEE));
}

#[test]
fn the_older_form_is_read_and_written() {
    let frame = hex(CEE);
    let dcbx: Vec<Dcbx<'_>> = lldp(&frame).tlvs().filter_map(|tlv| tlv.unwrap().dcbx()).collect();
    let [Dcbx::Cee(inside)] = &dcbx[..] else { panic!("{dcbx:?}") };
    let seen: Vec<Cee<'_>> = inside.clone().map(Result::unwrap).collect();
    let feature = |flags| CeeFeature { operating_version: 0, max_version: 0, flags, subtype: 0 };
    let control = Cee::Control { operating_version: 0, max_version: 0, sequence: 1, acknowledged: 2 };
    let groups =
        PriorityGroups { groups: [0, 0, 0, 15, 0, 0, 0, 0], bandwidth: [50, 50, 0, 0, 0, 0, 0, 0], classes: 2 };
    let groups = Cee::PriorityGroups(feature(CeeFeature::ENABLED), groups);
    let flags = CeeFeature::ENABLED | CeeFeature::WILLING;
    let pfc = Cee::Pfc { feature: feature(flags), enabled: 8, capability: 8 };
    let application = CeeApplication { protocol: 0x8906, oui: 0x1b21, selector: 0, priorities: 8 };
    let mut table = [0; 10];
    let applications = Writer::cee_applications(feature(CeeFeature::ENABLED), &[application], &mut table).unwrap();
    assert_eq!(seen[..3], [control, groups, pfc]);
    let (Cee::Applications(left, a), Cee::Applications(right, b)) = (seen[3], applications) else { panic!("{seen:?}") };
    assert_eq!((left, a.iter().collect::<Vec<_>>()), (right, b.iter().collect::<Vec<_>>()));
    assert_eq!(a.iter().collect::<Vec<_>>(), [application]);

    let mut buffer = [0; 200];
    let mut writer = Writer::new(&mut buffer, MAC);
    writer.identity(MAC, "1", 120).unwrap().cee(&[control, groups, pfc, applications]).unwrap().end().unwrap();
    assert_eq!(writer.frame(), frame);
}

#[test]
fn unknown_tlvs_are_kept() {
    let frame = hex("0180c200000e 020000000001 88cc 1402 abcd fe05 0080c2 63 01 fe05 0080c2 0b 88 00 00 0000 ffff");
    let frame = &frame[..frame.len()];
    let lldp = lldp(frame);
    let mut tlvs = lldp.tlvs();
    let unknown = tlvs.next().unwrap().unwrap();
    assert_eq!((unknown.kind, unknown.offset, unknown.read()), (10, 14, TlvValue::Other(&[0xab, 0xcd])));
    let of_802_1 = tlvs.next().unwrap().unwrap();
    assert_eq!(of_802_1.read(), TlvValue::Organization { oui: [0, 0x80, 0xc2], subtype: 0x63, info: &[1] });
    // A PFC configuration of another length is not understood, and not lost.
    let odd = tlvs.next().unwrap().unwrap();
    assert_eq!((odd.dcbx(), odd.value.len()), (None, 5));
}

#[test]
fn what_lies_behind_the_end_is_no_tlv() {
    let frame = hex("0180c200000e 020000000001 88cc 0602 0078 0000 0602 0001");
    let lldp = lldp(&frame);
    let mut tlvs = lldp.tlvs();
    assert_eq!(tlvs.by_ref().count(), 2);
    assert_eq!(tlvs.rest(), hex("0602 0001"));
}

#[test]
fn a_length_that_lies_ends_the_list() {
    let frame = hex("0180c200000e 020000000001 88cc 0602 0078 fe19 0080c2");
    let seen: Vec<_> = lldp(&frame).tlvs().collect();
    assert_eq!(seen[1], Err(TlvError { offset: 18, claimed: 25, available: 3 }));
    assert_eq!(seen[1].unwrap_err().to_string(), "TLV at byte 18: claims 25 bytes, but there are 3");
    assert_eq!(seen.len(), 2);
    let frame = hex("0180c200000e 020000000001 88cc 06");
    assert_eq!(lldp(&frame).tlvs().next(), Some(Err(TlvError { offset: 14, claimed: 2, available: 1 })));
}

#[test]
fn a_buffer_that_is_too_short_says_what_is_needed() {
    let mut buffer = [0; 20];
    let mut writer = Writer::new(&mut buffer, MAC);
    assert_eq!(writer.pfc(PFC).unwrap_err(), EncodeError { needed: 22, available: 20 });
    assert_eq!(writer.frame().len(), 14);
    assert_eq!(writer.end().unwrap_err().needed, 60);
    let long = [APPLICATIONS[0]; 169];
    let mut buffer = [0; 1000];
    assert_eq!(Writer::new(&mut buffer, MAC).applications(&long[..168]).err(), None);
    let mut buffer = [0; 1000];
    assert_eq!(Writer::new(&mut buffer, MAC).applications(&long).unwrap_err().available, 511);
    let mut buffer = [0; 13];
    let mut writer = Writer::new(&mut buffer, MAC);
    assert!(writer.frame().is_empty() && writer.end().is_err());
}

#[test]
fn fields_are_walked_by_name() {
    let frame = hex(IEEE);
    let mut seen = Vec::new();
    for tlv in lldp(&frame).tlvs() {
        tlv.unwrap().walk(&mut |name, _, value| seen.push((name, value.uint())));
    }
    assert!(seen.contains(&("pfc.enabled", Some(8))));
    assert_eq!(seen.iter().filter(|(name, _)| *name == "app.protocol").count(), 2);
    assert!(seen.contains(&("app.protocol", Some(4791))));
}

proptest! {
    #[test]
    fn any_bytes_are_walked_in_bounded_steps(bytes in vec(any::<u8>(), 0..300), seed in prop_oneof![Just(IEEE), Just(CEE)], at: prop::sample::Index) {
        for frame in [[&hex(seed)[..14], &bytes].concat(), {
            let mut frame = hex(seed);
            let at = 14 + at.index(frame.len() - 14);
            frame.splice(at..at + 1, bytes.iter().copied());
            frame
        }] {
            let seen = lldp(&frame);
            let mut steps = 0;
            for tlv in seen.tlvs().flatten() {
                steps += 1;
                tlv.walk(&mut |_, _, _| ());
                // What is understood is written back as it was.
                if let Some(dcbx) = tlv.dcbx() {
                    let mut buffer = [0; 600];
                    let mut writer = Writer::new(&mut buffer, MAC);
                    writer.dcbx(&dcbx).unwrap();
                    let len = tlv.value.len();
                    prop_assert_eq!(&writer.frame()[16..], tlv.value);
                    prop_assert_eq!(writer.frame().len(), 16 + len);
                }
            }
            prop_assert!(steps <= frame.len() / 2);
            let mut buffer = vec![0; frame.len()];
            prop_assert_eq!(Frame::Lldp(seen).encode(&mut buffer).unwrap(), &frame[..]);
        }
    }
}
