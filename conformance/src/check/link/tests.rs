use rocespec_codec::{ETHERTYPE_MAC_CONTROL, Ethernet, Pause, Pfc, Tag};

use super::*;

const US: u64 = 1_000;

fn stop(link: &mut Link, at_us: u64, quanta: u16) {
    let frame = MacControl::new(MacAddr([2; 6]), Control::Pfc(Pfc::new(0b1000, quanta)));
    link.control(at_us + 1, at_us * US, &frame);
}

fn class_3(link: &Link) -> rocespec_reports::examination::ClassPauses {
    link.pauses()[0].classes[&3].clone()
}

#[test]
fn a_pause_lasts_from_its_stop_to_the_start_that_ends_it() {
    let mut link = Link::new(None);
    stop(&mut link, 0, 0xffff);
    stop(&mut link, 100, 0xffff);
    stop(&mut link, 150, 0);
    stop(&mut link, 400, 100);
    stop(&mut link, 450, 0);
    let class = class_3(&link);
    assert_eq!((class.stops, class.starts, class.most_quanta), (3, 2, 0xffff));
    assert_eq!(
        (class.paused_ns, class.longest_ns, class.gaps),
        (150 * US, 150 * US, 1),
        "100 quanta end before 450 us"
    );
}

#[test]
fn with_a_known_speed_a_pause_runs_out() {
    let mut link = Link::new(Some(LinkSpeed::G100));
    // 10000 quanta are 51.2 us.
    stop(&mut link, 0, 10_000);
    stop(&mut link, 40, 10_000);
    stop(&mut link, 200, 10_000);
    let class = class_3(&link);
    assert_eq!((class.paused_ns, class.longest_ns, class.gaps), (142_400, 91_200, 1));
}

#[test]
fn pause_is_a_class_of_its_own_and_a_vector_without_bits_says_nothing() {
    let mut link = Link::new(None);
    let from = MacAddr([2; 6]);
    link.control(1, 0, &MacControl::new(from, Control::Pause(Pause { quanta: 9 })));
    link.control(2, 0, &MacControl::new(from, Control::Pfc(Pfc { vector: 0, timers: [9; 8] })));
    let pauses = link.pauses();
    assert_eq!((pauses[0].frames, pauses[0].from.as_str()), (2, "02:02:02:02:02:02"));
    assert_eq!(pauses[0].classes.keys().collect::<Vec<_>>(), [&8]);
}

#[test]
fn what_no_port_takes_for_a_pause_is_none() {
    let mut link = Link::new(None);
    let mut frame = MacControl::new(MacAddr([2; 6]), Control::Pfc(Pfc::new(8, 9)));
    frame.eth.dst = MacAddr([4; 6]);
    link.control(1, 0, &frame);
    let mut eth = Ethernet { dst: MAC_CONTROL_DESTINATION, ethertype: ETHERTYPE_MAC_CONTROL, ..frame.eth.clone() };
    eth.tags.push(Tag { tpid: 0x8100, tci: 3 });
    link.control(2, 0, &MacControl { eth, ..frame });
    assert_eq!(link.pauses(), []);
}

#[test]
fn addresses_are_bounded() {
    let mut link = Link::new(None);
    for address in 0..10_000u16 {
        let [high, low] = address.to_be_bytes();
        let frame = MacControl::new(MacAddr([2, 0, 0, 0, high, low]), Control::Pfc(Pfc::new(8, 9)));
        link.control(1, 0, &frame);
    }
    assert_eq!(link.pauses().len(), MOST_ADDRESSES);
}

#[test]
fn a_storm_is_a_class_that_stands_most_of_the_time() {
    let storms = |step_us: u64, quanta: u16, count: u64| {
        let mut link = Link::new(None);
        (0..count).for_each(|at| stop(&mut link, at * step_us, quanta));
        link.senders().values().next().unwrap().storms(None).collect::<Vec<_>>()
    };
    let [storm] = storms(200, 0xffff, 1_000)[..] else { panic!("one storm") };
    assert_eq!((storm.class, storm.frame, storm.stops, storm.gaps), (3, 1, 1_000, 0));
    assert_eq!(storm.paused_ns, storm.period_ns);
    // 65535 quanta within 200 us: no gap on any link up to 167 Gb/s.
    assert_eq!(storm.unbroken_up_to.map(|bits| bits / 1_000_000_000), Some(167));
    assert_eq!(storms(200, 0xffff, 100), [], "short");
    assert_eq!(storms(50_000, 0xffff, 1_000), [], "mostly gaps");
}
