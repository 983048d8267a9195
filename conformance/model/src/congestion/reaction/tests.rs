use alloc::vec::Vec;
use core::time::Duration;

use proptest::prelude::*;

use super::*;

const LINK: u64 = 100_000_000_000;
const GIGABIT: u64 = 1_000_000_000;
const MICRO: u64 = 1000;

fn point(config: ReactionConfig) -> ReactionPoint {
    ReactionPoint::new(&config, LinkSpeed::G100)
}

fn at(micros: u64) -> Time {
    Time::from_nanos(micros * MICRO)
}

/// The rate at each of these times, in microseconds.
fn rates<const N: usize>(point: &mut ReactionPoint, times: [u64; N]) -> [u64; N] {
    times.map(|time| {
        point.on_timer(at(time));
        point.rate()
    })
}

#[test]
fn without_cnp_there_is_no_limit_and_no_timer() {
    let mut point = point(ReactionConfig::PAPER);
    for _ in 0..1000 {
        assert_eq!(point.may_send_at(at(5), 4200), at(5));
        point.sent(at(5), 4200);
    }
    assert_eq!((point.rate(), point.next_timer()), (LINK, None));
}

#[test]
fn the_first_cnp_halves_the_rate_and_the_target_stays() {
    for (name, config) in ReactionConfig::PRESETS {
        let mut point = point(config);
        point.cnp(at(1000));
        let half = if name == "connectx" { LINK - LINK * 1023 / 2048 } else { LINK / 2 };
        assert_eq!((point.rate(), point.target_rate()), (half, LINK), "{name}");
        assert_eq!(point.next_timer(), Some(at(1000) + config.rate_timer), "{name}");
    }
}

#[test]
fn a_second_cnp_makes_the_first_cut_rate_the_target() {
    let mut point = point(ReactionConfig::PAPER);
    point.cnp(at(0));
    point.cnp(at(1));
    assert_eq!((point.rate(), point.target_rate()), (LINK / 4, LINK / 2));
}

#[test]
fn alpha_decays_while_no_cnp_comes_and_rises_with_one() {
    let mut point = point(ReactionConfig::QCN);
    point.on_timer(at(10_000));
    assert_eq!(point.alpha(), 65536, "nothing decays before the first CNP");
    point.cnp(at(0));
    assert_eq!(point.alpha(), 65536, "(1 - g) * 1 + g");
    point.on_timer(at(54));
    assert_eq!(point.alpha(), 65536);
    point.on_timer(at(55));
    assert_eq!(point.alpha(), 65536 - 4096);
    point.on_timer(at(110));
    assert_eq!(point.alpha(), 61440 - 3840);
    point.cnp(at(111));
    assert_eq!(point.alpha(), 57600 + (65536 - 57600) / 16);
    assert_eq!(point.rate(), 50 * GIGABIT - 50 * GIGABIT * 57600 / 131072, "a cut takes the alpha of before");
}

#[test]
fn alpha_ends_at_zero_and_a_cnp_cuts_even_then() {
    for (name, config) in ReactionConfig::PRESETS {
        let mut point = point(config);
        point.cnp(at(0));
        point.on_timer(at(3_600_000_000));
        assert_eq!((point.alpha(), point.rate()), (0, LINK), "{name}");
        point.cnp(at(3_600_000_000));
        assert!(point.rate() < LINK && point.alpha() > 0, "{name}");
    }
}

#[test]
fn five_timer_rises_recover_to_the_target_and_then_the_target_rises() {
    let mut point = point(ReactionConfig::PAPER);
    point.cnp(at(0));
    point.cnp(at(0));
    let (target, additive) = (50 * GIGABIT, 40_000_000);
    assert_eq!(
        rates(&mut point, [54, 55, 110, 165, 220, 275]),
        [25_000_000_000, 37_500_000_000, 43_750_000_000, 46_875_000_000, 48_437_500_000, 49_218_750_000,]
    );
    assert_eq!(point.target_rate(), target);
    point.on_timer(at(330));
    assert_eq!(point.target_rate(), target + additive);
    assert_eq!(point.rate(), (target + additive + 49_218_750_000) / 2);
}

#[test]
fn bytes_raise_the_rate_as_time_does() {
    let mut point = point(ReactionConfig::PAPER);
    point.cnp(at(0));
    point.sent(at(0), 9_999_999);
    assert_eq!(point.rate(), 50 * GIGABIT);
    point.sent(at(0), 1);
    assert_eq!(point.rate(), 75 * GIGABIT);
    point.sent(at(0), 20_000_000);
    assert_eq!(point.rate(), 93_750_000_000);
}

#[test]
fn time_and_bytes_together_reach_the_hyper_stage() {
    let config = ReactionConfig { fast_recovery: 1, min_rate: GIGABIT, ..ReactionConfig::QCN };
    let mut point = ReactionPoint::new(&config, LinkSpeed::G400);
    for _ in 0..20 {
        point.cnp(at(0));
    }
    assert_eq!((point.rate(), point.target_rate()), (GIGABIT, GIGABIT));
    point.on_timer(at(1500));
    assert_eq!(point.target_rate(), GIGABIT, "fast recovery");
    point.on_timer(at(3000));
    assert_eq!(point.target_rate(), GIGABIT + 40_000_000, "additive: bytes did nothing yet");
    point.sent(at(3000), 150_000);
    assert_eq!(point.target_rate(), GIGABIT + 80_000_000, "T_c = 2, B_c = 0");
    point.sent(at(3000), 150_000);
    assert_eq!(point.target_rate(), GIGABIT + 120_000_000, "T_c = 2, B_c = 1");
    point.sent(at(3000), 150_000);
    assert_eq!(point.target_rate(), GIGABIT + 120_000_000 + 2 * 400_000_000, "T_c = 2, B_c = 2: i = 2");
}

#[test]
fn a_cnp_begins_the_stages_and_counters_anew() {
    let mut point = point(ReactionConfig::PAPER);
    point.cnp(at(0));
    point.sent(at(50), 9_999_999);
    point.cnp(at(50));
    point.sent(at(50), 1);
    assert_eq!(point.rate(), 25 * GIGABIT, "the byte counter began anew");
    assert_eq!(rates(&mut point, [104, 105]), [25 * GIGABIT, 37_500_000_000]);
}

#[test]
fn the_rate_never_falls_below_the_least_and_the_next_cnp_finds_it_there() {
    for (name, config) in ReactionConfig::PRESETS {
        let mut point = point(config);
        for micros in 0..1000 {
            point.cnp(at(10 * micros));
        }
        assert_eq!(point.rate(), config.min_rate, "{name}");
    }
    let mut slow = ReactionPoint::new(&ReactionConfig::PAPER, LinkSpeed::from_bits_per_second(1000).unwrap());
    slow.cnp(at(0));
    assert_eq!(slow.rate(), 1000, "a link below the least rate is not slowed down");
}

#[test]
fn cnps_within_the_reduce_period_do_not_cut_but_keep_alpha_up() {
    let mut point = point(ReactionConfig::CONNECTX);
    point.cnp(at(0));
    let cut = point.rate();
    for nanos in [500, 1400, 2300, 3200, 3999] {
        point.cnp(Time::from_nanos(nanos));
    }
    assert_eq!(point.rate(), cut);
    assert_eq!(point.alpha(), 65472, "less than 1 us between any two");
    point.cnp(at(4));
    assert_eq!(point.rate(), cut - cut * 65472 / 131072);
}

#[test]
fn connectx_keeps_the_target_of_a_cut_behind_a_cut() {
    let mut point = point(ReactionConfig::CONNECTX);
    point.cnp(at(0));
    point.cnp(at(4));
    assert_eq!(point.target_rate(), LINK);
    point.on_timer(at(304));
    let risen = point.rate();
    point.cnp(at(305));
    assert_eq!(point.target_rate(), risen);
}

#[test]
fn it_comes_back_to_the_speed_of_the_link_and_stops_there() {
    for (name, config) in ReactionConfig::PRESETS {
        let mut point = point(config);
        for micros in 0..100 {
            point.cnp(at(10 * micros));
        }
        let mut rises = 0_u32;
        while let Some(next) = point.next_timer() {
            let before = point.rate();
            point.on_timer(next);
            assert!(point.rate() >= before, "{name}");
            rises += 1;
        }
        assert_eq!((point.rate(), point.target_rate()), (LINK, LINK), "{name}");
        assert!(rises > u32::from(config.fast_recovery), "{name}");
    }
}

#[test]
fn packets_leave_at_the_rate() {
    let config = ReactionConfig { rate_timer: Duration::from_secs(3600), byte_counter: 0, ..ReactionConfig::PAPER };
    let mut point = point(config);
    point.cnp(at(0));
    let mut now = at(0);
    let mut bytes = 0_u64;
    while now < at(1000) {
        point.sent(now, 1250);
        bytes += 1250;
        now = point.may_send_at(now, 1250);
    }
    let exact = 50 * GIGABIT / 8 / 1000;
    assert!(bytes.abs_diff(exact) <= u64::from(config.burst) + 1250, "{bytes} in a millisecond");
}

#[test]
fn silence_earns_no_more_than_the_burst() {
    let config = ReactionConfig { rate_timer: Duration::from_secs(3600), burst: 2000, ..ReactionConfig::PAPER };
    let mut point = point(config);
    point.cnp(at(0));
    let now = at(1_000_000);
    for _ in 0..2 {
        assert_eq!(point.may_send_at(now, 1000), now);
        point.sent(now, 1000);
    }
    assert_eq!(point.may_send_at(now, 1000), now + Duration::from_nanos(160), "8000 bits at 50 Gb/s");
}

#[test]
fn a_packet_longer_than_the_bucket_waits_until_that_is_full() {
    let config = ReactionConfig { rate_timer: Duration::from_secs(3600), burst: 100, ..ReactionConfig::PAPER };
    let mut point = point(config);
    point.cnp(at(0));
    assert_eq!(point.may_send_at(at(0), 4096), at(0));
    point.sent(at(0), 4096);
    assert_eq!(point.may_send_at(at(0), 4096), Time::from_nanos(656), "4096 bytes at 50 Gb/s are 655.36 ns");
}

#[test]
fn a_rise_on_the_way_makes_a_packet_leave_earlier() {
    let config = ReactionConfig { min_rate: 1_000_000, burst: 0, byte_counter: 0, ..ReactionConfig::PAPER };
    let mut point = point(config);
    for micros in 0..1000 {
        point.cnp(at(micros));
    }
    assert_eq!(point.rate(), 1_000_000);
    let mut now = at(1000);
    point.sent(now, 4096);
    let at_constant_rate = now + Duration::from_nanos(4096 * 8 * 1000);
    loop {
        let ready = point.may_send_at(now, 4096);
        if ready == now {
            break;
        }
        now = ready;
    }
    assert!(now > at(1000) && now < at_constant_rate);
    let just_before = Time::from_nanos(now.nanos() - 1);
    assert!(point.clone().may_send_at(just_before, 4096) >= just_before);
}

#[test]
fn silence_of_centuries_costs_no_more_than_a_short_one() {
    let slowest = ReactionConfig {
        gain: 1,
        alpha_timer: Duration::ZERO,
        rate_timer: Duration::ZERO,
        additive_increase: 1,
        byte_counter: 0,
        min_rate: 1,
        fast_recovery: 255,
        ..ReactionConfig::PAPER
    };
    let mut point = ReactionPoint::new(&slowest, LinkSpeed::from_bits_per_second(u64::MAX).unwrap());
    for _ in 0..1000 {
        point.cnp(at(0));
    }
    point.sent(at(0), u32::MAX);
    let centuries = Time::from_nanos(u64::MAX);
    point.on_timer(centuries);
    assert!(point.rate() > u64::MAX / 2);
    assert_eq!(point.may_send_at(centuries, 4096), centuries);
}

fn configs() -> impl Strategy<Value = ReactionConfig> {
    (0_usize..3, any::<bool>(), 0_u64..100, 0_u64..3_000_000, 0_u32..9000, 0_u8..8).prop_map(
        |(preset, keeps_target, additive, hyper, burst, fast_recovery)| ReactionConfig {
            additive_increase: additive * 7919,
            hyper_increase: hyper,
            keeps_target,
            burst,
            fast_recovery,
            ..ReactionConfig::PRESETS[preset].1
        },
    )
}

#[derive(Debug, Clone)]
enum Step {
    Cnp,
    Sent(u32),
    Wait(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        Just(Step::Cnp),
        (0_u32..200_000).prop_map(Step::Sent),
        (0_u64..200_000).prop_map(Step::Wait),
        (0_u64..200_000_000).prop_map(Step::Wait),
    ];
    proptest::collection::vec(step, 0..40)
}

/// Everything that there is to see.
fn state(point: &mut ReactionPoint, now: Time) -> (u64, u64, u32, Option<Time>, Time) {
    (point.rate(), point.target_rate(), point.alpha(), point.next_timer(), point.may_send_at(now, 1500))
}

proptest! {
    #[test]
    fn looking_seldom_and_looking_at_every_timer_give_the_same(config in configs(), steps in steps()) {
        let (mut seldom, mut often) = (point(config), point(config));
        let mut now = Time::ZERO;
        for step in steps {
            match step {
                Step::Cnp => {
                    seldom.cnp(now);
                    often.cnp(now);
                }
                Step::Sent(bytes) => {
                    seldom.sent(now, bytes);
                    often.sent(now, bytes);
                }
                Step::Wait(nanos) => {
                    now = now + Duration::from_nanos(nanos);
                    while let Some(next) = often.next_timer().filter(|next| *next <= now) {
                        often.on_timer(next);
                    }
                    seldom.on_timer(now);
                    often.on_timer(now);
                }
            }
            prop_assert_eq!(state(&mut seldom, now), state(&mut often, now));
            prop_assert!(seldom.rate() <= seldom.target_rate() && seldom.target_rate() <= LINK);
            prop_assert!(seldom.rate() >= config.min_rate);
        }
    }

    #[test]
    fn no_more_leaves_than_the_rate_and_the_burst_allow(config in configs(), sizes in proptest::collection::vec(64_u32..9000, 1..60)) {
        let config = ReactionConfig { rate_timer: Duration::from_secs(3600), byte_counter: 0, ..config };
        let mut point = point(config);
        point.cnp(Time::ZERO);
        let (mut now, mut bits) = (Time::ZERO, 0_u128);
        let longest = u128::from(*sizes.iter().max().unwrap());
        for size in sizes {
            now = point.may_send_at(now, size);
            prop_assert_eq!(point.may_send_at(now, size), now);
            point.sent(now, size);
            bits += u128::from(size) * 8;
            let earned = u128::from(now.nanos()) * u128::from(point.rate()) / 1_000_000_000;
            prop_assert!(bits <= earned + 8 * (u128::from(config.burst) + longest) + 1);
        }
    }
}
