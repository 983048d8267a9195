//! Two devices face to face, with a faulty link between them, on their own clocks: real time where one of them is real.
//!
//! The tester is the wire and costs time itself, and a guest is slow: what counts is the goodput at 0, and what is left of it.
//! Both ends are judged by the universal rules, and the data is compared at the end of each run.

mod connect;
mod flow;

use rocespec_reports::sweep::{Clock, Sweep};

use super::curves::gather;
use super::{Axis, Job, Measured, Setting, Settings, Value, Watch, Wrong, faults};
use crate::dut::{Dut, DutError};
use crate::link::End;
use flow::Flow;

/// Makes a sweep with two devices: A sends, B receives. As [`curves`](super::curves), but one run after the other.
///
/// # Errors
/// When the axis needs a switch, or a device died or cannot be reached.
pub fn between(
    [a, b]: [&mut dyn Dut; 2],
    axis: &Axis,
    setting: Setting,
    first_seed: u64,
    runs: u32,
    devices: [String; 2],
    watch: &Watch<'_>,
) -> Result<Sweep, DutError> {
    let values = axis.values();
    let mut results = Vec::new();
    // Each value in turn, then all again: a time at which the machine is busy with something else meets them alike.
    for run in 0..u64::from(runs) {
        for (place, value) in values.iter().enumerate() {
            let job = Job { curve: 0, value: place, seed: first_seed.wrapping_add(run) };
            let result = match (watch.stop)() {
                true => None,
                false => Some(one(&mut *a, &mut *b, &setting.settings, *value, job.seed)?),
            };
            (watch.done)();
            results.push((job, result));
        }
    }
    let clock = if a.is_virtual() && b.is_virtual() { Clock::Virtual } else { Clock::Real };
    Ok(gather(axis, &[setting], results, clock, devices))
}

/// One run.
fn one(
    a: &mut dyn Dut,
    b: &mut dyn Dut,
    settings: &Settings,
    value: Value,
    seed: u64,
) -> Result<Result<Measured, Wrong>, DutError> {
    let Value::Share(fault, rate) = value else {
        return Err(DutError::Unreachable(
            "several senders to one receiver are for the emulator alone: rocespec pair emulator emulator".to_owned(),
        ));
    };
    let mut flow = Flow::open(a, b, settings, faults(settings, fault, rate), seed)?;
    let result = flow.run(settings.duration)?;
    flow.close()?;
    Ok(result)
}

/// What is wrong at an end.
fn wrong(end: End, rule: Option<&str>, sentence: String) -> Wrong {
    Wrong { end: Some(end), rule: rule.map(str::to_owned), sentence }
}
