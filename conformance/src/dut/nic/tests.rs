//! On a pair of virtual Ethernet interfaces in a network namespace of the test's own. Without root they say that they are
//! skipped.

use std::io::Write as _;
use std::process::Command as Program;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rocespec_codec::MacAddr;
use rocespec_model::Time;

use super::*;
use crate::dut::port::Received;
use crate::dut::port::neighbour::tests::{arp_request, tester};
use crate::dut::port::neighbour::{Kind, look};
use socket::PacketSocket;

const PATIENCE: Duration = Duration::from_secs(10);

/// Runs it in a thread with a network namespace of its own, where `near` and `far` are the ends of one cable.
fn on_a_cable(test: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        let ended = scope.spawn(|| {
            // SAFETY: the call has no pointers; the new namespace is this thread's alone and goes with it.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                // Past the test harness, which shows what is printed of failed tests alone.
                let _ = writeln!(std::io::stderr(), "skipped: a network namespace needs root");
                return;
            }
            for words in [
                "link add near type veth peer name far",
                "link set near addrgenmode none",
                "link set far addrgenmode none",
                "link set lo up",
                "link set near up",
                "link set far up",
            ] {
                ip(words);
            }
            // The link comes up a moment later than it was told to.
            let started = Instant::now();
            while !["near", "far"].iter().all(|end| Interface::find(end).is_ok()) {
                assert!(started.elapsed() < PATIENCE, "no link");
                std::thread::sleep(Duration::from_millis(10));
            }
            test();
        });
        ended.join().unwrap();
    });
}

fn ip(words: &str) {
    let status = Program::new("ip").args(words.split(' ')).status().unwrap();
    assert!(status.success(), "ip {words}");
}

/// A way to open our end.
type Open = fn(&Interface, &Addresses, Clock) -> Result<Port, DutError>;

/// Every way that this build has.
const WAYS: &[Open] = &[
    packet::open,
    #[cfg(feature = "live")]
    pcap::open,
];

/// Both ends, our own opened in every way that there is.
fn on_each_port(test: impl Fn(Port, PacketSocket, Clock) + Sync) {
    for open in WAYS {
        on_a_cable(|| {
            let clock = Clock::new();
            let port = open(&near(), &tester(), clock).unwrap();
            test(port, peer(), clock);
        });
    }
}

fn near() -> Interface {
    Interface::find("near").unwrap()
}

/// A socket at the other end that sees everything.
fn peer() -> PacketSocket {
    let everything = libc::sock_filter { code: (libc::BPF_RET | libc::BPF_K) as u16, jt: 0, jf: 0, k: u32::MAX };
    PacketSocket::open(&Interface::find("far").unwrap(), &mut [everything]).unwrap()
}

fn port(socket: PacketSocket, interface: &Interface) -> Port {
    let (input, output) = packet::ends_of(socket, interface, Clock::new());
    Port::open(input, output, &tester()).unwrap()
}

fn heard(peer: &PacketSocket) -> Option<Vec<u8>> {
    let mut buffer = [0; 2048];
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        peer.wait(Duration::from_millis(20)).unwrap();
        if let Some(arrival) = peer.receive(&mut buffer).unwrap() {
            return Some(buffer[..arrival.length].to_vec());
        }
    }
    None
}

/// A frame of RoCE v1 with a number in it.
fn roce(number: u16) -> Vec<u8> {
    let mut frame = [tester().mac.0, [0x52, 0x54, 0, 0xaa, 0, 2]].concat();
    frame.extend([0x89, 0x15]);
    frame.extend(number.to_be_bytes());
    frame.resize(100, 0x5a);
    frame
}

fn collect(port: &Port, count: usize) -> Vec<(Time, Vec<u8>)> {
    let mut all = Vec::new();
    let deadline = Instant::now() + PATIENCE;
    while all.len() < count && Instant::now() < deadline {
        port.receive(Duration::from_millis(50)).unwrap();
        port.drain(&mut |stamped| all.push((stamped.time, stamped.frame.to_vec())));
    }
    all
}

fn only_frame(port: &Port) -> Vec<u8> {
    let mut frames = collect(port, 1);
    assert_eq!(frames.len(), 1);
    frames.remove(0).1
}

#[test]
fn frames_go_both_ways_in_order_and_with_rising_times_of_the_run() {
    on_each_port(|port, peer, clock| {
        port.send(&roce(7)).unwrap();
        assert_eq!(heard(&peer), Some(roce(7)));
        let before = clock.now();
        for number in 0..100 {
            peer.send(&roce(number)).unwrap();
        }
        let frames = collect(&port, 100);
        let numbers: Vec<_> = frames.iter().map(|(_, frame)| frame.clone()).collect();
        assert_eq!(numbers, (0..100).map(roce).collect::<Vec<_>>());
        assert!(frames.is_sorted_by_key(|(time, _)| *time));
        // The system's clock and ours are read one after the other.
        let early = frames[0].0 + Duration::from_millis(1);
        assert!(early >= before && frames[99].0 <= clock.now());
    });
}

#[test]
fn our_own_frames_do_not_come_back() {
    on_each_port(|port, peer, _| {
        for number in 0..10 {
            port.send(&roce(number)).unwrap();
            assert_eq!(heard(&peer), Some(roce(number)));
        }
        peer.send(&roce(99)).unwrap();
        assert_eq!(only_frame(&port), roce(99));
    });
}

#[test]
fn vlan_tags_are_kept_in_both_directions() {
    on_each_port(|port, peer, _| {
        for tags in [&[0x81, 0x00, 0x60, 0x05][..], &[0x88, 0xa8, 0, 7, 0x81, 0, 0x20, 9]] {
            let mut tagged = roce(1);
            tagged.splice(12..12, tags.iter().copied());
            peer.send(&tagged).unwrap();
            assert_eq!(only_frame(&port), tagged);
        }
        let mut tagged = roce(2);
        tagged.splice(12..12, [0x81, 0x00, 0x60, 0x05]);
        port.send(&tagged).unwrap();
        let mut buffer = [0; 2048];
        peer.wait(PATIENCE).unwrap();
        assert_eq!(peer.receive(&mut buffer).unwrap().unwrap().tag, Some((0x8100, 0x6005)));
    });
}

#[test]
fn questions_for_the_testers_address_are_answered() {
    on_each_port(|port, peer, _| {
        peer.send(&arp_request()).unwrap();
        let answer = heard(&peer).unwrap();
        assert_eq!(answer[12..14], [0x08, 0x06]);
        assert_eq!(answer[22..28], tester().mac.0);
        assert_eq!(port.receive(Duration::from_millis(10)), Ok(Received::Nothing));
    });
}

/// A frame of IPv4 or IPv6 from elsewhere, with the first bytes behind its IP header.
fn packet(mac: [u8; 6], destination: std::net::IpAddr, protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = [mac, [2; 6]].concat();
    match destination {
        std::net::IpAddr::V4(destination) => {
            frame.extend([0x08, 0x00, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, protocol, 0, 0, 192, 0, 2, 1]);
            frame.extend(destination.octets());
        }
        std::net::IpAddr::V6(destination) => {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 8, protocol, 64]);
            frame.extend([0x20; 16]);
            frame.extend(destination.octets());
        }
    }
    frame.extend(payload);
    frame.resize(frame.len().max(60), 0);
    frame
}

#[test]
fn only_what_concerns_us_comes_through_the_filter() {
    const ROCE: &[u8] = &[0xc0, 0, 0x12, 0xb7, 0, 8, 0, 0];
    const OTHER: &[u8] = &[0xc0, 0, 0x00, 0x35, 0, 8, 0, 0];
    let [us, host, group] = [tester().mac.0, [2, 0, 0, 0, 0, 9], [1, 0, 0x5e, 1, 2, 3]];
    let [v4, other_v4] = [tester().v4, "198.51.100.9".parse().unwrap()].map(std::net::IpAddr::V4);
    let [v6, other_v6] = [tester().v6, "2001:db8::9".parse().unwrap()].map(std::net::IpAddr::V6);
    let pause = {
        let mut frame = [[1, 0x80, 0xc2, 0, 0, 1], host].concat();
        frame.extend([0x88, 0x08, 0, 1, 0xff, 0xff]);
        frame.resize(60, 0);
        frame
    };
    let taken = [
        roce(1),
        pause,
        packet(host, other_v4, 17, ROCE),
        packet(host, other_v6, 17, ROCE),
        packet(group, other_v4, 17, ROCE),
        packet(us, other_v4, 6, OTHER),
        packet(host, v4, 17, OTHER),
        packet(host, v6, 17, OTHER),
    ];
    let left = [
        packet(host, other_v4, 17, OTHER),
        packet(host, other_v6, 17, OTHER),
        packet(host, other_v4, 6, ROCE),
        packet(host, other_v6, 6, ROCE),
        packet(host, other_v6, 58, &[136]),
    ];
    on_each_port(|port, peer, _| {
        for frame in left.iter().chain(&taken) {
            peer.send(frame).unwrap();
        }
        let came: Vec<_> = collect(&port, taken.len()).into_iter().map(|(_, frame)| frame).collect();
        assert_eq!(came, taken);
        assert_eq!(port.receive(Duration::from_millis(50)), Ok(Received::Nothing));
    });
}

#[test]
fn frames_that_the_socket_has_no_room_for_are_counted() {
    const SENT: u16 = 500;
    on_a_cable(|| {
        let socket = packet::open_socket(&near(), &tester()).unwrap();
        socket.set_receive_buffer(libc::SO_RCVBUF, 1).unwrap();
        let peer = peer();
        for number in 0..SENT {
            peer.send(&roce(number)).unwrap();
        }
        let port = port(socket, &near());
        let lost = port.lost();
        assert!(lost > 0 && lost < u64::from(SENT));
        let came = collect(&port, usize::from(SENT) - lost as usize);
        assert_eq!(came.len() as u64 + lost, u64::from(SENT));
        // The kernel forgets what it told; we do not.
        assert_eq!(port.lost(), lost);
    });
}

fn device(active_mtu: u32) -> Device {
    let gid = "::ffff:10.0.0.2".parse().unwrap();
    Device {
        version: 1,
        agent: String::new(),
        name: String::new(),
        system: String::new(),
        mac: "02:00:00:00:00:02".to_owned(),
        active_mtu,
        gids: vec![rocespec_control::Gid { index: 0, gid, kind: rocespec_control::GidKind::RoceV2 }],
        capabilities: Vec::new(),
    }
}

/// A host at the far end that answers pings for 10.0.0.2 but those that are lost, and the first two in another order if told.
fn host(is_lost: fn(u16) -> bool, disorders: bool, done: &AtomicBool) {
    let peer = peer();
    let us = Addresses { mac: MacAddr([2, 0, 0, 0, 0, 2]), v4: "10.0.0.2".parse().unwrap(), ..tester() };
    let mut buffer = [0; 2048];
    let mut held = None;
    while !done.load(Ordering::Acquire) {
        peer.wait(Duration::from_millis(10)).unwrap();
        let Some(arrival) = peer.receive(&mut buffer).unwrap() else { continue };
        let frame = &buffer[..arrival.length];
        let Kind::Question(answer) = look(frame, &us) else { continue };
        match u16::from_be_bytes([frame[40], frame[41]]) {
            number if is_lost(number) => {}
            0 if disorders => held = Some(answer),
            _ => {
                peer.send(&answer).unwrap();
                if let Some(late) = held.take() {
                    peer.send(&late).unwrap();
                }
            }
        }
    }
}

#[test]
fn a_way_that_loses_or_disorders_pings_is_found_out_and_one_without_pings_says_nothing() {
    let losses = |is_lost: fn(u16) -> bool, disorders| {
        let mut losses = None;
        on_a_cable(|| {
            let done = AtomicBool::new(false);
            // A thread begins in the namespace of the one that starts it.
            std::thread::scope(|scope| {
                let host = scope.spawn(|| host(is_lost, disorders, &done));
                // Until the host listens, its pings are lost.
                std::thread::sleep(Duration::from_millis(100));
                losses = Some(path::losses(&near(), &tester(), &device(1024)));
                done.store(true, Ordering::Release);
                host.join().unwrap();
            });
        });
        losses
    };
    // Without root there is no cable.
    let Some(clean) = losses(|_| false, false) else { return };
    assert_eq!(clean, 0);
    assert_eq!(losses(|number| number % 40 == 7, false), Some(5));
    assert_eq!(losses(|_| false, true), Some(1));
    assert_eq!(losses(|_| true, false), Some(0));
}

#[test]
fn what_does_not_fit_is_said_with_the_command_that_helps() {
    on_a_cable(|| {
        let nic =
            || Nic { options: Options::parse("near").unwrap(), prepared: None, interface: near(), tester: tester() };
        assert!(nic().check(&device(1024)).is_ok());
        let error = nic().check(&device(4096)).unwrap_err().to_string();
        assert!(error.contains("ip link set dev near mtu 4200"), "{error}");
        ip("link set near mtu 4200");
        assert!(nic().check(&device(4096)).is_ok());
    });
}

#[test]
fn a_frame_that_does_not_fit_is_said_or_lost_and_one_that_is_too_short_is_filled() {
    on_each_port(|port, peer, _| {
        let PortError::Failed(error) = port.send(&[0; 4000]).unwrap_err() else { panic!() };
        assert!(error.contains("ip link set dev near mtu 4200"), "{error}");
        // No port has to take this one.
        port.send(&[0; 16_000]).unwrap();
        port.send(&[0xff; 3]).unwrap();
        let filled = heard(&peer).unwrap();
        assert_eq!((filled.len(), &filled[..4]), (60, &[0xff, 0xff, 0xff, 0][..]));
    });
}

#[test]
fn a_frame_longer_than_the_interface_can_bring_is_no_frame_of_the_wire() {
    on_a_cable(|| {
        let socket = packet::open_socket(&near(), &tester()).unwrap();
        let small = Interface { mtu: 60, ..near() };
        let port = port(socket, &small);
        peer().send(&roce(1)).unwrap();
        let Err(PortError::Failed(error)) = port.receive(PATIENCE) else { panic!() };
        assert!(error.contains("ethtool -K near gro off"), "{error}");
    });
}

#[test]
fn an_interface_that_goes_down_is_named() {
    on_a_cable(|| {
        let port = packet::open(&near(), &tester(), Clock::new()).unwrap();
        ip("link set near down");
        let Err(PortError::Failed(error)) = port.receive(PATIENCE) else { panic!() };
        assert!(error.contains("ip link set dev near up"), "{error}");
        let error = Interface::find("near").unwrap_err().to_string();
        assert!(error.contains("near is down"), "{error}");
        ip("link set near up");
        ip("link set far down");
        // The kernel notices a moment later.
        let deadline = Instant::now() + PATIENCE;
        let error = loop {
            match Interface::find("near") {
                Err(error) => break error.to_string(),
                Ok(_) => assert!(Instant::now() < deadline, "the link is still there"),
            }
        };
        assert!(error.contains("no link"), "{error}");
    });
}

#[test]
fn what_is_no_port_for_a_device_is_refused() {
    let error = |name: &str| Interface::find(name).unwrap_err().to_string();
    assert!(error("nonexistent0").contains("ip -brief link"));
    assert!(error("no\0name").contains("no network interface"));
    assert!(error("lo").contains("no Ethernet interface"));
}

#[test]
fn somebody_drives_the_device_an_agent_or_a_file() {
    let profile = Profile::parse("x", include_str!("../../../../fixtures/profiles/nic.toml")).unwrap();
    let error = start("lo", None, profile).unwrap_err().to_string();
    assert!(error.contains("agent=HOST:PORT") && error.contains("--qp FILE"), "{error}");
}

#[test]
fn addresses_of_this_host_are_not_the_testers() {
    let ours = Addresses { v4: "127.0.0.1".parse().unwrap(), ..tester() };
    let error = refuse_addresses_of_this_host(&ours, ["ip4=", "ip6="]).unwrap_err().to_string();
    assert!(error.contains("127.0.0.1 (ip4=)"), "{error}");
    let nobodys = Addresses { v4: "203.0.113.1".parse().unwrap(), v6: "2001:db8::1".parse().unwrap(), ..tester() };
    assert!(refuse_addresses_of_this_host(&nobodys, ["ip4=", "ip6="]).is_ok());
}

/// Header and two sets of capabilities, as `capset` of version 3 takes them.
#[repr(C)]
struct NoCapabilities {
    header: [u32; 2],
    sets: [u32; 6],
}

#[test]
fn without_the_capability_the_message_has_the_command_that_grants_it() {
    let interface = Interface { name: "eth9".to_owned(), index: 1, mac: MacAddr([2; 6]), mtu: 1500 };
    let error = std::thread::spawn(move || {
        let none = NoCapabilities { header: [0x2008_0522, 0], sets: [0; 6] };
        // SAFETY: both structures have the layout that the call wants and live over it. It takes capabilities from this
        // thread alone.
        assert_eq!(unsafe { libc::syscall(libc::SYS_capset, &raw const none.header, &raw const none.sets) }, 0);
        packet::open(&interface, &tester(), Clock::new()).unwrap_err().to_string()
    });
    let error = error.join().unwrap();
    assert!(error.contains("sudo setcap cap_net_raw+ep /"), "{error}");
}

#[test]
fn an_interface_that_is_not_there_has_lost_nothing() {
    assert_eq!(losses::of_interface("nonexistent0"), 0);
}
