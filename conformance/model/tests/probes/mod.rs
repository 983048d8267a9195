//! Short runs of the model, each of which gives everything that an observer sees of it. Together they touch every rule
//! that a defect breaks.

mod congestion;
mod pause;
mod requester;
mod responder;
mod transports;

use rocespec_model::Defects;

use crate::harness::Lab;

pub(crate) type Probe = fn(Defects) -> Trace;

pub(crate) type Trace = String;

/// All of them.
pub(crate) fn all() -> Vec<Probe> {
    [responder::PROBES, requester::PROBES, congestion::PROBES, pause::PROBES, transports::PROBES].concat()
}

fn trace(lab: &mut Lab, lines: &[String]) -> Trace {
    let completions = lab.completions();
    let state = lab.state();
    let (memory, inbox) = (lab.memory(0, 4096), lab.received(0, 4096));
    format!("{lines:?}\n{:02x?}\n{completions:?}\n{:?}\n{state:?}\n{memory:x?}\n{inbox:x?}", lab.frames, lab.events)
}
