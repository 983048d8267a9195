//! The state machine of a queue pair as its software sees it: which moves there are and what each needs.
//!
//! As the verbs have it for RC: what a move needs must be given, what it does not know must not.

use crate::config::{GidEntry, GidKind, PKEY_TABLE};
use crate::verbs::{QpAttributes, QpState, VerbError};

struct Transition {
    from: QpState,
    to: QpState,
    required: &'static [&'static str],
    optional: &'static [&'static str],
}

/// RC. Besides these any state may go to RESET and to ERROR, without attributes.
const TRANSITIONS: &[Transition] = &[
    Transition { from: QpState::Reset, to: QpState::Init, required: &["pkey_index", "access"], optional: &[] },
    Transition { from: QpState::Init, to: QpState::Init, required: &[], optional: &["pkey_index", "access"] },
    Transition {
        from: QpState::Init,
        to: QpState::Rtr,
        required: &["path_mtu", "dest_qpn", "rq_psn", "max_dest_rd_atomic", "min_rnr_timer", "remote_gid"],
        optional: &["access", "pkey_index", "gid_index", "traffic_class", "hop_limit", "flow_label", "service_level"],
    },
    Transition {
        from: QpState::Rtr,
        to: QpState::Rts,
        required: &["sq_psn", "timeout", "retry_count", "rnr_retry", "max_rd_atomic"],
        optional: &["access", "min_rnr_timer"],
    },
    Transition { from: QpState::Rts, to: QpState::Rts, required: &[], optional: &["access", "min_rnr_timer"] },
    Transition { from: QpState::Rts, to: QpState::Sqd, required: &[], optional: &[] },
    Transition { from: QpState::Sqd, to: QpState::Rts, required: &[], optional: &["access", "min_rnr_timer"] },
    Transition {
        from: QpState::Sqd,
        to: QpState::Sqd,
        required: &[],
        optional: &[
            "access",
            "pkey_index",
            "timeout",
            "retry_count",
            "rnr_retry",
            "max_rd_atomic",
            "max_dest_rd_atomic",
            "min_rnr_timer",
            "gid_index",
            "remote_gid",
            "traffic_class",
            "hop_limit",
            "flow_label",
            "service_level",
        ],
    },
];

/// Checks that a queue pair in state `from` may take these attributes, and gives the state that it moves to.
pub(crate) fn check(from: QpState, attributes: &QpAttributes, gids: &[GidEntry]) -> Result<QpState, VerbError> {
    let to = attributes.state.unwrap_or(from);
    let (required, optional): (&[_], &[_]) = if matches!(to, QpState::Reset | QpState::Error) {
        (&[], &[])
    } else {
        let transition = TRANSITIONS.iter().find(|transition| transition.from == from && transition.to == to);
        let transition = transition.ok_or(VerbError::IllegalTransition { from, to })?;
        (transition.required, transition.optional)
    };
    if let Some(missing) = required.iter().find(|name| !given(attributes).any(|given| given == **name)) {
        return Err(VerbError::MissingAttribute(missing));
    }
    if let Some(extra) = given(attributes).find(|name| !required.contains(name) && !optional.contains(name)) {
        return Err(VerbError::UnexpectedAttribute(extra));
    }
    check_ranges(attributes, gids)?;
    Ok(to)
}

fn check_ranges(attributes: &QpAttributes, gids: &[GidEntry]) -> Result<(), VerbError> {
    let above = |value: Option<u32>, limit: u32, name| match value {
        Some(value) if value > limit => Err(VerbError::OutOfRange(name)),
        _ => Ok(()),
    };
    above(attributes.pkey_index.map(u32::from), PKEY_TABLE.len() as u32 - 1, "pkey_index")?;
    above(attributes.timeout.map(u32::from), 31, "timeout")?;
    above(attributes.retry_count.map(u32::from), 7, "retry_count")?;
    above(attributes.rnr_retry.map(u32::from), 7, "rnr_retry")?;
    above(attributes.flow_label, 0xf_ffff, "flow_label")?;
    above(attributes.service_level.map(u32::from), 7, "service_level")?;
    if let Some(remote) = attributes.remote_gid {
        let index = usize::from(attributes.gid_index.unwrap_or(0));
        let local = gids.get(index).ok_or(VerbError::OutOfRange("gid_index"))?;
        let both_v4_or_neither = local.gid.to_ipv4_mapped().is_some() == remote.to_ipv4_mapped().is_some();
        if local.kind == GidKind::RoceV2 && !both_v4_or_neither {
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
