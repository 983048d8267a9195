//! End-to-end credits: how many messages the peer has receives for.

use rocespec_codec::{Credits, Msn};

use crate::policy::CreditUse;

/// Up to which message the peer has said to have receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Credit {
    /// The peer does not limit, or nobody looks.
    #[default]
    Unlimited,
    /// Up to and with this message.
    UpTo(Msn),
}

impl Credit {
    /// At the start of a connection nothing is known of the peer's receives.
    pub(super) fn new(policy: CreditUse) -> Credit {
        match policy {
            CreditUse::Ignored => Credit::Unlimited,
            CreditUse::Kept => Credit::UpTo(Msn::new(0)),
        }
    }

    pub(super) fn covers(self, message: Msn) -> bool {
        match self {
            Credit::Unlimited => true,
            Credit::UpTo(limit) => message.since(limit) <= 0,
        }
    }

    /// What an ACK says. The limit never sinks: an ACK that was overtaken says less than is known.
    pub(super) fn update(&mut self, msn: Msn, credits: Credits) {
        let Credit::UpTo(limit) = *self else { return };
        *self = match credits.count() {
            None => Credit::Unlimited,
            Some(count) => {
                let said = msn.plus(u32::from(count));
                Credit::UpTo(if said.since(limit) > 0 { said } else { limit })
            }
        };
    }
}
