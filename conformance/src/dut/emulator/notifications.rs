//! Notifications of completions: what an event channel does beside a completion queue.

use std::collections::{BTreeMap, VecDeque};

use rocespec_model::{Completion, Endpoint, QpHandle, Status, VerbError};

/// Queue pairs whose completions somebody waits for, by their handles.
#[derive(Debug, Default)]
pub(super) struct Notifications(BTreeMap<u32, Watched>);

#[derive(Debug)]
struct Watched {
    /// `None`: it has come. Else whether only solicited and failed ones count.
    armed: Option<bool>,
    /// Completions that were looked at and not yet polled.
    seen: VecDeque<Completion>,
}

impl Notifications {
    /// Wants to be told once of the next completion, or of the next one that is solicited or failed.
    ///
    /// # Errors
    /// When there is no such queue pair.
    pub(super) fn arm(&mut self, endpoint: &mut Endpoint, qp: QpHandle, solicited_only: bool) -> Result<(), VerbError> {
        endpoint.query_qp(qp)?;
        let watched = self.0.entry(qp.0).or_insert_with(|| Watched { armed: None, seen: VecDeque::new() });
        // What is there already is none of the next ones.
        watched.seen.extend(endpoint.poll(qp, usize::MAX));
        watched.armed = Some(solicited_only);
        Ok(())
    }

    /// Queue pairs whose notification is due; it is disarmed.
    pub(super) fn due(&mut self, endpoint: &mut Endpoint) -> Vec<u32> {
        let mut due = Vec::new();
        for (qp, watched) in &mut self.0 {
            let new = endpoint.poll(QpHandle(*qp), usize::MAX);
            let counts = |done: &Completion| done.solicited || done.status != Status::Success;
            if watched.armed.is_some_and(|solicited| new.iter().any(|done| !solicited || counts(done))) {
                watched.armed = None;
                due.push(*qp);
            }
            watched.seen.extend(new);
        }
        due
    }

    /// As [`Endpoint::poll`], with what was looked at before.
    pub(super) fn poll(&mut self, endpoint: &mut Endpoint, qp: QpHandle, max: usize) -> Vec<Completion> {
        let Some(watched) = self.0.get_mut(&qp.0) else { return endpoint.poll(qp, max) };
        watched.seen.extend(endpoint.poll(qp, usize::MAX));
        watched.seen.drain(..max.min(watched.seen.len())).collect()
    }

    /// The queue pair is gone.
    pub(super) fn forget(&mut self, qp: u32) {
        self.0.remove(&qp);
    }
}
