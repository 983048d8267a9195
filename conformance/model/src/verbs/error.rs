//! Why the software is refused.

use core::fmt;

use super::QpState;

/// Why a verb was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum VerbError {
    /// No object with that handle.
    NoSuchObject,
    /// The endpoint cannot do this (yet).
    Unsupported,
    /// No such move between states.
    IllegalTransition {
        /// State of the queue pair.
        from: QpState,
        /// State asked for.
        to: QpState,
    },
    /// The move needs an attribute that was not given.
    MissingAttribute(&'static str),
    /// The attribute cannot be set in this move.
    UnexpectedAttribute(&'static str),
    /// The argument is out of its range.
    OutOfRange(&'static str),
    /// Not in this state of the queue pair.
    WrongState(QpState),
    /// The queue is full.
    QueueFull,
    /// Something else still uses it.
    InUse,
}

impl fmt::Display for VerbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            VerbError::NoSuchObject => f.write_str("no object with that handle"),
            VerbError::Unsupported => f.write_str("not supported"),
            VerbError::IllegalTransition { from, to } => write!(f, "no transition from {from:?} to {to:?}"),
            VerbError::MissingAttribute(name) => write!(f, "this transition needs {name}"),
            VerbError::UnexpectedAttribute(name) => write!(f, "{name} cannot be set in this transition"),
            VerbError::OutOfRange(name) => write!(f, "{name} is out of range"),
            VerbError::WrongState(state) => write!(f, "not in state {state:?}"),
            VerbError::QueueFull => f.write_str("the queue is full"),
            VerbError::InUse => f.write_str("something still uses it"),
        }
    }
}

impl core::error::Error for VerbError {}
