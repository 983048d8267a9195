//! The state machine of a queue pair as its software sees it: which moves there are and what each needs.
//!
//! As the verbs have it: what a move needs must be given, what it does not know must not.

use crate::config::Config;
use crate::verbs::QpState::{Init, Reset, Rtr, Rts, Sqd, Sqe};
use crate::verbs::{QpAttributes, QpKind, QpState, VerbError};

type Names = &'static [&'static str];

/// A move, and which attributes go with it.
struct Move {
    from: QpState,
    to: QpState,
    required: Names,
    optional: &'static [Names],
}

const fn step(from: QpState, to: QpState, required: Names, optional: &'static [Names]) -> Move {
    Move { from, to, required, optional }
}

/// The moves of a kind. Besides these any state may go to RESET and to ERROR, without attributes.
fn moves(kind: QpKind) -> &'static [Move] {
    match kind {
        QpKind::Rc => RC,
        QpKind::Uc => UC,
        QpKind::Ud => UD,
        QpKind::XrcInitiator => XRC_INITIATOR,
        QpKind::XrcTarget => XRC_TARGET,
    }
}

/// What may be said of the way to the peer.
const PATH: Names = &["gid_index", "traffic_class", "hop_limit", "flow_label", "service_level"];
/// What a responder of a reliable connection has to know of it.
const CONNECTION: Names = &["path_mtu", "dest_qpn", "rq_psn", "max_dest_rd_atomic", "min_rnr_timer", "remote_gid"];
const ACCESS: Names = &["access"];
const BOTH: Names = &["pkey_index", "access"];

const RC: &[Move] = &[
    step(Reset, Init, BOTH, &[]),
    step(Init, Init, &[], &[BOTH]),
    step(Init, Rtr, CONNECTION, &[BOTH, PATH]),
    step(
        Rtr,
        Rts,
        &["sq_psn", "timeout", "retry_count", "rnr_retry", "max_rd_atomic"],
        &[&["access", "min_rnr_timer"]],
    ),
    step(Rts, Rts, &[], &[&["access", "min_rnr_timer"]]),
    step(Rts, Sqd, &[], &[]),
    step(Sqd, Rts, &[], &[&["access", "min_rnr_timer"]]),
    step(
        Sqd,
        Sqd,
        &[],
        &[
            BOTH,
            PATH,
            &["remote_gid", "timeout", "retry_count", "rnr_retry", "min_rnr_timer"],
            &["max_rd_atomic", "max_dest_rd_atomic"],
        ],
    ),
];

const UC: &[Move] = &[
    step(Reset, Init, BOTH, &[]),
    step(Init, Init, &[], &[BOTH]),
    step(Init, Rtr, &["path_mtu", "dest_qpn", "rq_psn", "remote_gid"], &[BOTH, PATH]),
    step(Rtr, Rts, &["sq_psn"], &[ACCESS]),
    step(Rts, Rts, &[], &[ACCESS]),
    step(Rts, Sqd, &[], &[]),
    step(Sqd, Rts, &[], &[ACCESS]),
    step(Sqd, Sqd, &[], &[BOTH, PATH, &["remote_gid"]]),
    step(Sqe, Rts, &[], &[ACCESS]),
];

/// UD is connected with nobody: each request says where it goes.
const UD: &[Move] = &[
    step(Reset, Init, &["pkey_index", "qkey"], &[]),
    step(Init, Init, &[], &[&["pkey_index", "qkey"]]),
    step(Init, Rtr, &[], &[&["pkey_index", "qkey"]]),
    step(Rtr, Rts, &["sq_psn"], &[&["qkey"]]),
    step(Rts, Rts, &[], &[&["qkey"]]),
    step(Rts, Sqd, &[], &[]),
    step(Sqd, Rts, &[], &[&["qkey"]]),
    step(Sqd, Sqd, &[], &[&["pkey_index", "qkey"]]),
    step(Sqe, Rts, &[], &[&["qkey"]]),
];

const XRC_INITIATOR: &[Move] = &[
    step(Reset, Init, BOTH, &[]),
    step(Init, Init, &[], &[BOTH]),
    step(Init, Rtr, &["path_mtu", "dest_qpn", "rq_psn", "remote_gid"], &[BOTH, PATH]),
    step(Rtr, Rts, &["sq_psn", "timeout", "retry_count", "rnr_retry", "max_rd_atomic"], &[ACCESS]),
    step(Rts, Rts, &[], &[ACCESS]),
    step(Rts, Sqd, &[], &[]),
    step(Sqd, Rts, &[], &[ACCESS]),
    step(Sqd, Sqd, &[], &[BOTH, PATH, &["remote_gid", "timeout", "retry_count", "rnr_retry", "max_rd_atomic"]]),
];

/// The target sends nothing but answers; it may stay in RTR.
const XRC_TARGET: &[Move] = &[
    step(Reset, Init, BOTH, &[]),
    step(Init, Init, &[], &[BOTH]),
    step(Init, Rtr, CONNECTION, &[BOTH, PATH]),
    step(Rtr, Rts, &["sq_psn", "timeout"], &[&["access", "min_rnr_timer"]]),
    step(Rts, Rts, &[], &[&["access", "min_rnr_timer"]]),
    step(Rts, Sqd, &[], &[]),
    step(Sqd, Rts, &[], &[&["access", "min_rnr_timer"]]),
    step(Sqd, Sqd, &[], &[BOTH, PATH, &["remote_gid", "timeout", "min_rnr_timer", "max_dest_rd_atomic"]]),
];

/// Checks that a queue pair in state `from` may take these attributes, and gives the state that it moves to.
pub(crate) fn check(
    kind: QpKind,
    from: QpState,
    attributes: &QpAttributes,
    config: &Config,
) -> Result<QpState, VerbError> {
    let to = attributes.state.unwrap_or(from);
    let (required, optional): (Names, &[Names]) = if matches!(to, QpState::Reset | QpState::Error) {
        (&[], &[])
    } else {
        let found = moves(kind).iter().find(|step| step.from == from && step.to == to);
        let found = found.ok_or(VerbError::IllegalTransition { from, to })?;
        (found.required, found.optional)
    };
    if let Some(missing) = required.iter().find(|name| !given(attributes).any(|given| given == **name)) {
        return Err(VerbError::MissingAttribute(missing));
    }
    if let Some(extra) =
        given(attributes).find(|name| !required.contains(name) && !optional.iter().any(|names| names.contains(name)))
    {
        return Err(VerbError::UnexpectedAttribute(extra));
    }
    check_ranges(attributes, config)?;
    Ok(to)
}

fn check_ranges(attributes: &QpAttributes, config: &Config) -> Result<(), VerbError> {
    let above = |value: Option<u32>, limit: u32, name| match value {
        Some(value) if value > limit => Err(VerbError::OutOfRange(name)),
        _ => Ok(()),
    };
    if attributes.pkey_index.is_some_and(|index| usize::from(index) >= config.pkeys.len()) {
        return Err(VerbError::OutOfRange("pkey_index"));
    }
    above(attributes.timeout.map(u32::from), 31, "timeout")?;
    above(attributes.retry_count.map(u32::from), 7, "retry_count")?;
    above(attributes.rnr_retry.map(u32::from), 7, "rnr_retry")?;
    above(attributes.flow_label, 0xf_ffff, "flow_label")?;
    above(attributes.service_level.map(u32::from), 7, "service_level")?;
    if let Some(remote) = attributes.remote_gid {
        let index = usize::from(attributes.gid_index.unwrap_or(0));
        let local = config.gids.get(index).ok_or(VerbError::OutOfRange("gid_index"))?;
        if !local.reaches(remote) {
            return Err(VerbError::OutOfRange("remote_gid"));
        }
    } else if attributes.gid_index.is_some() {
        // One without the other could pair an IPv4 address with an IPv6 one.
        return Err(VerbError::MissingAttribute("remote_gid"));
    }
    Ok(())
}

/// Walks over the attributes by name, once, so that the lists cannot drift apart.
macro_rules! attributes {
    ($($name:ident)*) => {
        /// Names of the attributes that are given; the state is none of them.
        fn given(attributes: &QpAttributes) -> impl Iterator<Item = &'static str> {
            [$(attributes.$name.is_some().then_some(stringify!($name)),)*].into_iter().flatten()
        }

        /// Takes over the attributes that are given.
        pub(crate) fn apply(to: &mut QpAttributes, from: &QpAttributes) {
            $(
                if from.$name.is_some() {
                    to.$name = from.$name;
                }
            )*
        }
    };
}

attributes! {
    access pkey_index qkey path_mtu dest_qpn rq_psn sq_psn timeout retry_count rnr_retry min_rnr_timer max_rd_atomic
    max_dest_rd_atomic gid_index remote_gid traffic_class hop_limit flow_label service_level
}
