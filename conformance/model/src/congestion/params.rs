//! The numbers of the reaction point.

use core::time::Duration;

/// The numbers of the reaction point (DCQCN). Rates are in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReactionConfig {
    /// Gain g of the congestion estimate, in 1024ths: 0 to 1024.
    pub gain: u16,
    /// Alpha when a queue pair begins, in 1024ths: 0 to 1024.
    pub initial_alpha: u16,
    /// K: alpha decays each time that so long no CNP came. At least 1 ns.
    pub alpha_timer: Duration,
    /// T: the rate rises each time that so long was no cut. At least 1 ns.
    pub rate_timer: Duration,
    /// B: the rate rises each time that so many bytes were sent; 0: never because of bytes.
    pub byte_counter: u64,
    /// F: so many rises of the timer, and of the byte counter, are fast recovery.
    pub fast_recovery: u8,
    /// R_AI: what the target gains in the additive stage.
    pub additive_increase: u64,
    /// R_HAI: what the target gains, times the index of the rise, in the hyper stage.
    pub hyper_increase: u64,
    /// No cut goes below. At least 1.
    pub min_rate: u64,
    /// Least time from one cut to the next; CNPs in between only keep alpha from decaying.
    pub reduce_period: Duration,
    /// A cut behind another one, without a rise in between, leaves the target where it was.
    pub keeps_target: bool,
    /// Bytes that may leave at once after silence.
    pub burst: u32,
}

/// Longest packet that is worth a bucket of its own: 4096 bytes and their headers.
const ONE_PACKET: u32 = 4096 + 128;

impl ReactionConfig {
    /// The start values that DCQCN took from QCN and DCTCP. The sources leave out K, which is taken from the paper's
    /// choice, R_HAI, taken as ten times R_AI, and the least rate, taken from firmware.
    pub const QCN: ReactionConfig = ReactionConfig {
        gain: 64,
        initial_alpha: 1024,
        alpha_timer: Duration::from_micros(55),
        rate_timer: Duration::from_micros(1500),
        byte_counter: 150_000,
        fast_recovery: 5,
        additive_increase: 40_000_000,
        hyper_increase: 400_000_000,
        min_rate: 1_000_000,
        reduce_period: Duration::ZERO,
        keeps_target: false,
        burst: ONE_PACKET,
    };

    /// What the DCQCN paper chose. R_HAI and the least rate as in [`ReactionConfig::QCN`].
    pub const PAPER: ReactionConfig = ReactionConfig {
        gain: 4,
        rate_timer: Duration::from_micros(55),
        byte_counter: 10_000_000,
        ..ReactionConfig::QCN
    };

    /// ConnectX firmware defaults: `DCE_TCP_G` 1019, `DCE_TCP_RTT` 1 us, `RPG_TIME_RESET` 300 us, `RPG_BYTE_RESET`
    /// 32767, `RPG_THRESHOLD` 1, `RPG_AI_RATE` 5 and `RPG_HAI_RATE` 50 Mb/s, `RPG_GD` 11, `RPG_MIN_RATE` 1 Mb/s,
    /// `RATE_REDUCE_MONITOR_PERIOD` 4 us, `CLAMP_TGT_RATE` 0 with `CLAMP_TGT_RATE_AFTER_TIME_INC` 1.
    pub const CONNECTX: ReactionConfig = ReactionConfig {
        gain: 1024 - 1019,
        initial_alpha: 1023,
        alpha_timer: Duration::from_micros(1),
        rate_timer: Duration::from_micros(300),
        byte_counter: 32_767,
        fast_recovery: 1,
        additive_increase: 5_000_000,
        hyper_increase: 50_000_000,
        min_rate: 1_000_000,
        reduce_period: Duration::from_micros(4),
        keeps_target: true,
        burst: ONE_PACKET,
    };

    /// The sets by name.
    pub const PRESETS: [(&'static str, ReactionConfig); 3] =
        [("qcn", ReactionConfig::QCN), ("paper", ReactionConfig::PAPER), ("connectx", ReactionConfig::CONNECTX)];

    /// By its name in [`ReactionConfig::PRESETS`].
    pub fn named(name: &str) -> Option<ReactionConfig> {
        ReactionConfig::PRESETS.iter().find(|(preset, _)| *preset == name).map(|(_, config)| *config)
    }
}
