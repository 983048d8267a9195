use rocespec_codec::lldp::{Application, Cee, CeeFeature, Ets, Lldp, PfcConfiguration, Selector, Writer};
use rocespec_codec::notation::{self, Line, Scope};
use rocespec_codec::{Control, EncodeError, Frame, MacAddr, MacControl, Pause, Pfc, decode};

use super::*;
use crate::check::packet::Seen;

/// A capture in the making: a frame every 100 us.
#[derive(Default)]
struct Capture {
    link: Link,
    connections: Vec<([End; 2], Counts)>,
    number: u64,
    /// Path MTU that the connection manager said.
    agreed_mtu: Option<usize>,
}

const STEP_NS: u64 = 100_000;

impl Capture {
    /// A connection between hosts of these numbers: lines in the packet notation, `>` from the first, `<` from the
    /// second one, with `{}` for the PSN. Each is played so often.
    fn connection(&mut self, hosts: [u8; 2], lines: &[(&str, u32)]) -> &mut Capture {
        let mut counts = Counts::new();
        for (line, times) in lines {
            for psn in 0..*times {
                let (way, text) = line.split_at(1);
                let text = text.replace("{}", &psn.to_string());
                let mut room = [0; 8192];
                let Ok(Line::Roce(packet)) = notation::parse(&text, &Scope::default(), &mut room) else {
                    panic!("{text}")
                };
                let (number, time_ns) = self.next();
                let seen = Seen::bare(number, time_ns, &packet);
                counts.note(usize::from(way == "<"), &seen, Some(1024));
            }
        }
        let ends = hosts.map(|host| End { address: format!("10.0.0.{host}"), ..End::default() });
        self.connections.push((ends, counts));
        self
    }

    fn next(&mut self) -> (u64, u64) {
        self.number += 1;
        (self.number, self.number * STEP_NS)
    }

    fn control(&mut self, from: u8, control: Control<'_>, times: u32) -> &mut Capture {
        for _ in 0..times {
            let (number, time_ns) = self.next();
            let from = MacAddr([from; 6]);
            self.link.control(number, time_ns, &MacControl::new(from, control));
        }
        self
    }

    fn pfc(&mut self, class: u8, times: u32) -> &mut Capture {
        self.control(2, Control::Pfc(Pfc::new(1 << class, 0xffff)), times)
    }

    /// LLDP from this host, three times.
    fn lldp(&mut self, host: u8, say: impl Fn(&mut Writer<'_>) -> Result<(), EncodeError>) -> &mut Capture {
        let mut buffer = [0; 512];
        let mut writer = Writer::new(&mut buffer, MacAddr([host; 6]));
        writer.identity(MacAddr([host; 6]), "1", 120).unwrap();
        say(&mut writer).unwrap();
        let Ok(Frame::Lldp(lldp)) = decode(writer.end().unwrap().frame()) else { panic!("LLDP") };
        let lldp: Lldp<'_> = lldp;
        for _ in 0..SETTLED {
            let (number, _) = self.next();
            self.link.lldp(number, &lldp);
        }
        self
    }

    fn faults(&self) -> Vec<Fault> {
        let mut faults = Faults::new(&self.link);
        for (number, (ends, counts)) in (1..).zip(&self.connections) {
            faults.connection(number, ends, self.agreed_mtu, counts);
        }
        faults.finish()
    }

    /// Their names.
    fn kinds(&self) -> Vec<String> {
        self.faults().into_iter().map(|fault| fault.kind).collect()
    }
}

const SETTLED: u32 = 3;
const NONE: [&str; 0] = [];

fn kinds(make: impl FnOnce(&mut Capture) -> &mut Capture) -> Vec<String> {
    let mut capture = Capture::default();
    make(&mut capture);
    for fault in capture.faults() {
        assert!(!fault.seen.is_empty() && !fault.hint.is_empty() && fault.frame > 0, "{fault:?}");
        assert!(fault.frame <= capture.number, "{fault:?}");
    }
    capture.kinds()
}

/// PFC for these priorities.
fn pfc(enabled: u8) -> PfcConfiguration {
    PfcConfiguration { willing: false, mbc: false, reserved: 0, capability: 8, enabled }
}

/// UDP port 4791 has this priority.
fn roce(priority: u8) -> Application {
    Application { priority, reserved: 0, selector: Selector::UDP, protocol: 4791 }
}

fn send(class: &str) -> String {
    format!("> SEND_ONLY psn={{}} 8B {class}")
}

#[test]
fn traffic_outside_of_the_lossless_class() {
    let with = |class: &str, times: u32| {
        kinds(|capture| {
            capture.lldp(1, |lldp| lldp.pfc(pfc(0b1000)).map(drop)).connection([1, 2], &[(&send(class), times)])
        })
    };
    assert_eq!(with("ip.dscp=0", 20), ["class-not-lossless"]);
    assert_eq!(with("ip.dscp=0 vlan.pcp=5", 20), ["class-not-lossless"]);
    assert_eq!(with("ip.dscp=26", 20), NONE);
    assert_eq!(with("ip.dscp=0 vlan.pcp=3", 20), NONE, "the tag says it");
    assert_eq!(with("ip.dscp=26 vlan.pcp=0", 20), NONE, "the switch may look at the DSCP");
    assert_eq!(with("ip.dscp=0", 9), NONE, "a few");
    // PFC shows the class, too, and where nothing is lossless, nothing is wrong.
    let lines = [(&send("ip.dscp=0")[..], 20)];
    assert_eq!(kinds(|capture| capture.pfc(3, 3).connection([1, 2], &lines)), ["class-not-lossless"]);
    assert_eq!(kinds(|capture| capture.pfc(3, 2).connection([1, 2], &lines)), NONE);
    assert_eq!(kinds(|capture| capture.connection([1, 2], &lines)), NONE);
}

#[test]
fn a_table_of_dscps_is_believed() {
    let to_3 = Application { priority: 3, reserved: 0, selector: Selector::DSCP, protocol: 10 };
    let with = |table: &[Application]| {
        kinds(|capture| {
            capture.lldp(1, |lldp| lldp.pfc(pfc(0b1000))?.applications(table).map(drop));
            capture.connection([1, 2], &[(&send("ip.dscp=10"), 20)])
        })
    };
    assert_eq!(with(&[]), ["class-not-lossless"]);
    assert_eq!(with(&[to_3]), NONE);
}

#[test]
fn notifications_may_have_another_class() {
    let lines = [("> SEND_ONLY psn={} 8B ip.dscp=26 ip.ecn=ce", 200), ("< CNP ip.dscp=48", 200)];
    let with = kinds(|capture| capture.lldp(1, |lldp| lldp.pfc(pfc(0b1000)).map(drop)).connection([1, 2], &lines));
    assert_eq!(with, NONE);
}

#[test]
fn a_priority_that_is_not_the_announced_one() {
    let with = |class: &str| {
        kinds(|capture| {
            capture.lldp(1, |lldp| lldp.pfc(pfc(0b11000))?.applications(&[roce(3)]).map(drop));
            capture.connection([1, 2], &[(&send(class), 20)])
        })
    };
    assert_eq!(with("vlan.pcp=4"), ["application-priority"]);
    assert_eq!(with("vlan.pcp=3"), NONE);
    assert_eq!(with("ip.dscp=34"), NONE, "no tag");
}

#[test]
fn applications_and_bandwidth_fit_the_lossless_class() {
    let applications = |priority: u8| {
        kinds(|capture| capture.lldp(1, |lldp| lldp.pfc(pfc(0b1000))?.applications(&[roce(priority)]).map(drop)))
    };
    assert_eq!(applications(4), ["application-not-lossless"]);
    assert_eq!(applications(3), NONE);
    let bandwidth = |percent: u8, selection: u8| {
        let mut ets = Ets { flags: 0, classes: [0, 0, 0, 1, 0, 0, 0, 0], bandwidth: [0; 8], selection: [2; 8] };
        (ets.bandwidth[0], ets.bandwidth[1], ets.selection[1]) = (100 - percent, percent, selection);
        kinds(|capture| capture.lldp(1, |lldp| lldp.ets_configuration(ets)?.pfc(pfc(0b1000)).map(drop)))
    };
    assert_eq!(bandwidth(0, 2), ["class-without-bandwidth"]);
    assert_eq!(bandwidth(50, 2), NONE);
    assert_eq!(bandwidth(0, 0), NONE, "strict priority has no share");
}

#[test]
fn marks_that_the_sender_sets_itself() {
    let with = |line: &str, times: u32| {
        kinds(|capture| capture.connection([1, 2], &[(line, times), ("< CNP", 20), ("< ACK psn=0", 20)]))
    };
    let marked = "> SEND_ONLY psn={} ip.ecn=ce ip.ttl=64";
    assert_eq!(with(marked, 1_100), ["ce-by-sender"]);
    assert_eq!(with(marked, 900), NONE, "not for long");
    assert_eq!(with("> SEND_ONLY psn={} ip.ecn=ce ip.ttl=61", 1_100), NONE, "routers lie between");
    let one_without = [(marked, 1_100), ("> SEND_ONLY psn=1100 ip.ecn=ect0", 1), ("< CNP", 20)];
    assert_eq!(kinds(|capture| capture.connection([1, 2], &one_without)), NONE);
    // Another connection of the address is not marked.
    let elsewhere = kinds(|capture| {
        let other = [("> SEND_ONLY psn={} ip.ecn=ect0", 10)];
        capture.connection([1, 2], &[(marked, 1_100), ("< CNP", 20)]).connection([1, 3], &other)
    });
    assert_eq!(elsewhere, NONE);
}

#[test]
fn marks_that_nobody_notifies_of() {
    let marked = [("> SEND_ONLY psn={} 8B ip.ecn=ce", 100), ("> SEND_ONLY psn=100 8B", 1), ("< ACK psn=0", 10)];
    let with = |lines: &[(&str, u32)]| kinds(|capture| capture.connection([1, 2], lines));
    assert_eq!(with(&marked), ["ce-without-cnp"]);
    assert_eq!(with(&marked[..2]), NONE, "only one direction is captured");
    assert_eq!(with(&[marked[0], marked[2], ("< CNP", 1)]), NONE);
    assert_eq!(with(&[("> SEND_ONLY psn={} 8B ip.ecn=ce", 99), marked[2]]), NONE);
    // Notifications may be paced for all connections together.
    let paced = kinds(|capture| {
        let other = [("> SEND_ONLY psn={} 8B ip.ecn=ce", 10), ("< CNP", 1)];
        capture.connection([1, 2], &marked).connection([3, 2], &other)
    });
    assert_eq!(paced, NONE);
}

#[test]
fn notifications_without_marks() {
    let with = |ecn: &str, cnps: u32, naks: u32| {
        let mut capture = Capture::default();
        let line = format!("> SEND_ONLY psn={{}} 8B {ecn}");
        let nak = "< NAK psn={} code=psn_sequence_error";
        capture.connection([1, 2], &[(&line, 100), ("< CNP", cnps), (nak, naks)]);
        capture.faults().into_iter().map(|fault| (fault.kind, fault.weight)).collect::<Vec<_>>()
    };
    let one = |weight| [("cnp-without-ce".to_owned(), weight)];
    assert_eq!(with("ip.ecn=not-ect", 10, 0), one(Weight::Fault));
    assert_eq!(with("ip.ecn=ect0", 10, 0), one(Weight::Remark));
    assert_eq!(with("ip.ecn=ect0", 9, 0), []);
    assert_eq!(with("ip.ecn=ect0", 10, 5), [], "some devices send one with each NAK");
}

#[test]
fn path_mtus_that_differ() {
    let with = |one: u32, other: u32| {
        let (one, other) = (format!("> SEND_FIRST psn={{}} {one}B"), format!("< SEND_FIRST psn={{}} {other}B"));
        kinds(|capture| capture.connection([1, 2], &[(&one, 1), (&other, 1)]))
    };
    assert_eq!(with(4096, 1024), ["mtu-differs"]);
    assert_eq!(with(1024, 1024), NONE);
    assert_eq!(with(1000, 1024), NONE, "no MTU: another fault");
    assert_eq!(kinds(|capture| capture.connection([1, 2], &[("> SEND_FIRST psn={} 1024B", 2)])), NONE);
    let agreed = |mtu| {
        kinds(|capture| {
            capture.agreed_mtu = Some(mtu);
            capture.connection([1, 2], &[("> SEND_FIRST psn={} 1024B", 2)])
        })
    };
    assert_eq!(agreed(4096), ["mtu-not-agreed"]);
    assert_eq!(agreed(1024), NONE);
}

#[test]
fn source_ports() {
    let with = |ports: &[u16]| {
        kinds(|capture| {
            for port in ports {
                let line = format!("> SEND_ONLY psn={{}} udp.sport={port}");
                capture.connection([1, 2], &[(&line, 1)]);
            }
            capture
        })
    };
    assert_eq!(with(&[50_000; 4]), ["one-source-port"]);
    assert_eq!(with(&[50_000; 3]), NONE);
    assert_eq!(with(&[50_000, 50_001, 50_000, 50_000]), NONE);
    assert_eq!(with(&[69]), ["low-source-port"]);
    assert_eq!(kinds(|capture| capture.connection([1, 2], &[("< CNP udp.sport=0", 1)])), NONE);
}

#[test]
fn a_fault_that_connections_share_is_said_once() {
    let mut capture = Capture::default();
    for _ in 0..3 {
        capture.connection([1, 2], &[("> SEND_ONLY psn={} udp.sport=69", 1)]);
    }
    let [fault] = &capture.faults()[..] else { panic!("one") };
    assert_eq!((fault.frame, fault.connection), (1, Some(1)));
    assert!(fault.seen.ends_with("the same in 2 more connections"), "{}", fault.seen);
}

#[test]
fn a_fault_that_both_ends_show_is_one_of_one_connection() {
    let mut capture = Capture { agreed_mtu: Some(4096), ..Capture::default() };
    let both = [("> SEND_FIRST psn={} 1024B", 1), ("< SEND_FIRST psn={} 1024B", 1)];
    capture.connection([1, 2], &both);
    let [fault] = &capture.faults()[..] else { panic!("one") };
    assert!(fault.seen.ends_with("the connection manager said 4096"), "{}", fault.seen);
}

#[test]
fn of_marks_that_nobody_notifies_of_the_first_one_with_payload_is_shown() {
    let mut capture = Capture::default();
    let lines = [("> ACK psn=0 ip.ecn=ce", 1), ("> SEND_ONLY psn={} 8B ip.ecn=ce", 100), ("< ACK psn=0", 10)];
    capture.connection([1, 2], &lines);
    let faults = capture.faults();
    let frames: Vec<_> =
        faults.iter().filter(|fault| fault.kind == "ce-without-cnp").map(|fault| fault.frame).collect();
    assert_eq!(frames, [2]);
}

#[test]
fn a_hop_limit_of_1() {
    let with = |text: &str| kinds(|capture| capture.connection([1, 2], &[(text, 1)]));
    assert_eq!(with("> SEND_ONLY psn={} ip.ttl=1"), ["hop-limit-1"]);
    assert_eq!(with("> SEND_ONLY psn={} ip.ttl=2"), NONE);
    assert_eq!(with("> UD_SEND_ONLY psn={} ip.ttl=1"), NONE, "the connection manager's, for example");
}

#[test]
fn receivers_that_are_not_ready_for_long() {
    let with = |timer: &str, times: u32| {
        let line = format!("< RNR_NAK psn=0 timer={timer}");
        kinds(|capture| capture.connection([1, 2], &[("> SEND_ONLY psn={}", 1), (&line, times)]))
    };
    assert_eq!(with("655.36ms", 1), ["rnr-stall"]);
    assert_eq!(with("10.24ms", 100), ["rnr-stall"]);
    assert_eq!(with("10.24ms", 10), NONE);
}

#[test]
fn pfc_at_one_end_only_or_for_other_priorities() {
    let with = |one: Option<u8>, other: Option<u8>| {
        kinds(|capture| {
            for (host, enabled) in [(1, one), (2, other)] {
                capture.lldp(host, |lldp| match enabled {
                    Some(enabled) => lldp.pfc(pfc(enabled)).map(drop),
                    None => Ok(()),
                });
            }
            capture
        })
    };
    assert_eq!(with(Some(8), None), ["pfc-one-side"]);
    assert_eq!(with(Some(0), Some(8)), ["pfc-one-side"]);
    assert_eq!(with(Some(8), Some(16)), ["pfc-differs"]);
    assert_eq!(with(Some(8), Some(8)), NONE);
    assert_eq!(with(None, Some(0)), NONE);
    let third =
        kinds(|capture| capture.lldp(1, |lldp| lldp.pfc(pfc(8)).map(drop)).lldp(2, |_| Ok(())).lldp(3, |_| Ok(())));
    assert_eq!(third, NONE, "nobody knows who shares a link with whom");
}

#[test]
fn dcbx_versions_that_differ() {
    let feature = CeeFeature { operating_version: 0, max_version: 0, flags: CeeFeature::ENABLED, subtype: 0 };
    let cee = |lldp: &mut Writer<'_>| lldp.cee(&[Cee::Pfc { feature, enabled: 8, capability: 8 }]).map(drop);
    let ieee = |lldp: &mut Writer<'_>| lldp.pfc(pfc(8)).map(drop);
    assert_eq!(kinds(|capture| capture.lldp(1, cee).lldp(2, ieee)), ["dcbx-versions"]);
    assert_eq!(kinds(|capture| capture.lldp(1, cee).lldp(2, cee)), NONE);
    let both = |lldp: &mut Writer<'_>| cee(lldp).and_then(|()| ieee(lldp));
    assert_eq!(kinds(|capture| capture.lldp(1, both).lldp(2, ieee)), NONE);
}

#[test]
fn pauses_for_what_nobody_announced() {
    let with = |class: u8| kinds(|capture| capture.lldp(1, |lldp| lldp.pfc(pfc(8)).map(drop)).pfc(class, 1));
    assert_eq!(with(4), ["pfc-not-announced"]);
    assert_eq!(with(3), NONE);
}

#[test]
fn both_kinds_of_pause_from_one_end() {
    let pause = Control::Pause(Pause { quanta: 9 });
    assert_eq!(kinds(|capture| capture.pfc(3, 1).control(2, pause, 1)), ["pause-and-pfc"]);
    assert_eq!(kinds(|capture| capture.pfc(3, 1).control(4, pause, 1)), NONE);
    assert_eq!(kinds(|capture| capture.pfc(3, 1).control(2, Control::Pause(Pause { quanta: 0 }), 1)), NONE);
}

#[test]
fn pauses_without_an_address() {
    let pfc = Control::Pfc(Pfc::new(8, 9));
    assert_eq!(kinds(|capture| capture.control(0, pfc, 1)), ["pause-zero-source"]);
    assert_eq!(kinds(|capture| capture.control(2, pfc, 1)), NONE);
}

#[test]
fn a_pause_storm_and_its_gaps() {
    assert_eq!(kinds(|capture| capture.pfc(3, 1_000)), NONE, "under 100 ms");
    let mut capture = Capture::default();
    let [fault] = &capture.pfc(3, 1_002).faults()[..] else { panic!("one") };
    assert_eq!((fault.kind.as_str(), fault.frame), ("pause-storm", 1));
    assert!(fault.seen.ends_with("1002 times in 100.1ms, without a gap on a link of up to 335 Gb/s"), "{}", fault.seen);
    let go_on = Control::Pfc(Pfc::new(8, 0));
    let mut capture = Capture::default();
    let [fault] = &capture.pfc(3, 1_000).control(2, go_on, 1).pfc(3, 100).faults()[..] else { panic!("one") };
    assert!(fault.seen.ends_with("with 1 gaps, 99% of the time at least"), "{}", fault.seen);
}
