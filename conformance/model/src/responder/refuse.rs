//! Requests that are not executed.

use rocespec_codec::{NakCode, Psn};

use super::{Waiting, acknowledge};
use crate::context::Context;
use crate::counters::Counter;
use crate::defect::Defect;
use crate::memory::AccessError;
use crate::policy::ForeignSrq;
use crate::qp::Qp;
use crate::verbs::{EventKind, QpState, Status};

/// Why a request is not executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// No receive is posted.
    NotReady,
    /// It breaks the protocol, or asks for what the queue pair does not do.
    InvalidRequest,
    /// The message does not fit the receive that it took.
    ReceiveTooShort,
    /// The peer has no right to the memory that it named.
    AccessError,
    /// The receive's buffer is not there or cannot be written.
    LocalFault,
    /// The key is none that a peer can invalidate.
    CannotInvalidate,
    /// The shared receive queue that it names is not there for it (XRC).
    ForeignSrq,
}

impl From<AccessError> for Refusal {
    fn from(_: AccessError) -> Refusal {
        Refusal::AccessError
    }
}

/// Answers a request that is not executed.
pub(super) fn refuse(qp: &mut Qp, psn: Psn, refusal: Refusal, cx: &mut Context<'_>) {
    let (code, status, event) = match refusal {
        Refusal::NotReady => return not_ready(qp, psn, cx),
        Refusal::ForeignSrq if cx.policy.foreign_srq == ForeignSrq::Dropped => {
            return cx.count(Counter::DropForeignSrq);
        }
        Refusal::InvalidRequest | Refusal::ForeignSrq => {
            (Some(NakCode::InvalidRequest), Status::FlushError, Some(EventKind::QpRequestError))
        }
        Refusal::ReceiveTooShort => (Some(NakCode::InvalidRequest), Status::LocalLengthError, None),
        Refusal::AccessError if cx.has(Defect::NaksAccessErrorAsInvalid) => {
            (Some(NakCode::InvalidRequest), Status::FlushError, Some(EventKind::QpAccessError))
        }
        Refusal::AccessError => (Some(NakCode::RemoteAccessError), Status::FlushError, Some(EventKind::QpAccessError)),
        Refusal::LocalFault => (Some(NakCode::RemoteOperationalError), Status::LocalProtectionError, None),
        // Nothing tells the peer: it finds out when it gets no answer.
        Refusal::CannotInvalidate => (None, Status::RemoteInvalidRequestError, None),
    };
    if let Some(code) = code {
        acknowledge::nak(qp, psn, code, cx);
    }
    qp.abandon_message(status, cx);
    fail(qp, event, cx);
}

/// rule: rc.responder.rnr-nak, rc.responder.rnr-psn
fn not_ready(qp: &mut Qp, psn: Psn, cx: &mut Context<'_>) {
    if cx.has(Defect::DropsWhenNotReady) {
        return;
    }
    qp.responder.waiting = Waiting::Retry;
    if cx.has(Defect::RnrAdvancesPsn) {
        qp.responder.advance(1);
    }
    acknowledge::rnr_nak(qp, psn, cx);
}

/// The queue pair goes to ERROR: what it still has to say is said, then it is silent.
pub(super) fn fail(qp: &mut Qp, event: Option<EventKind>, cx: &mut Context<'_>) {
    // rule: rc.responder.error-silence
    if cx.has(Defect::AnswersAfterFatalNak) {
        return qp.responder.advance(1);
    }
    qp.state = QpState::Error;
    // rule: rc.responder.error-flush
    if !cx.has(Defect::KeepsReceivesAfterFatalNak) {
        qp.flush_receives(cx);
    }
    if let Some(event) = event {
        cx.report(event, qp.handle);
    }
}
