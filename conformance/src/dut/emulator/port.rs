//! What the emulator's port does about congestion and pauses.

use rocespec_model::{ClassBy, CongestionConfig, NotificationConfig, PauseConfig, PauseMode, ReactionConfig};

use crate::profile::Profile;

/// The class that obeys priority-based flow control.
const LOSSLESS: u8 = 3;

/// The numbers of the DCQCN paper, and of adapters the one that it does not have.
const REACTION: ReactionConfig =
    ReactionConfig { reduce_period: ReactionConfig::CONNECTX.reduce_period, ..ReactionConfig::PAPER };

/// Notification point and reaction point, where the profile has them.
pub(super) fn congestion(profile: &Profile) -> CongestionConfig {
    CongestionConfig {
        notification: profile.can("cnp").then(NotificationConfig::default),
        reaction: profile.can("dcqcn").then_some(REACTION),
        ..CongestionConfig::default()
    }
}

/// The flow control for a case that needs these capabilities. PAUSE and priority-based flow control exclude each other.
pub(super) fn flow_control(profile: &Profile, needs: &[String]) -> PauseConfig {
    let is_needed = |capability: &str| needs.iter().any(|need| need == capability);
    let mode = match (profile.can("pfc"), profile.can("pause")) {
        (pfc, true) if !pfc || is_needed("pause") => PauseMode::Pause,
        (true, _) => PauseMode::Pfc { classes: 1 << LOSSLESS },
        _ => PauseMode::Off,
    };
    PauseConfig { mode, class_by: ClassBy::Pcp }
}
