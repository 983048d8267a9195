//! Congestion: the notification point, which answers marks with CNPs, and the reaction point, which slows down on them.
//!
//! Both are state machines of their own, without frames: [`NotificationPoint`] says whether a CNP leaves,
//! [`ReactionPoint`] says when a packet may leave.

mod cnp;
mod notice;
mod notification;
mod pacer;
mod params;
mod reaction;

pub use cnp::CnpConfig;
pub(crate) use notice::{is_marked, notice};
pub use notification::{CnpScope, NotificationConfig, NotificationPoint};
pub(crate) use pacer::Pacer;
pub use params::ReactionConfig;
pub use reaction::ReactionPoint;

/// What an endpoint does about congestion; nothing by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CongestionConfig {
    /// Sends request and response packets as ECN-capable (ECT(0)) where the traffic class of the queue pair says
    /// nothing of ECN.
    pub ecn_capable: bool,
    /// Answers packets that met congestion with CNPs.
    pub notification: Option<NotificationConfig>,
    /// Slows down on CNPs.
    pub reaction: Option<ReactionConfig>,
}
