//! The catalogue on the emulator, captured at the tester's port: the tester sends wrong packets on purpose, the device
//! answers rightly, and is never blamed.

use std::sync::atomic::{AtomicUsize, Ordering};

use rocespec::capture::{CapturedFrame, Reader};
use rocespec::dut::Emulator;
use rocespec::run::{Planned, plan, run};
use rocespec::scenario::catalogue;
use rocespec_model::{Defects, Policy};

use crate::{artefact, certain, common, examine, of_the_device, told};

/// The frames of a case.
pub fn play(emulator: &mut Emulator, case: &Planned<'_>) -> Vec<CapturedFrame> {
    let mut frames = Vec::new();
    run(emulator, std::slice::from_ref(case), &common::options(), &mut |done| {
        // A case that the device cannot do is not begun.
        if !done.pcapng.is_empty() {
            frames = Reader::new(&done.pcapng[..]).collect::<Result<_, _>>().unwrap();
        }
    });
    frames
}

/// Does something with each of so many jobs, on all processors.
pub fn on_all<T: Send>(jobs: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let take = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < jobs);
        std::iter::from_fn(take).map(|at| (at, work(at))).collect::<Vec<_>>()
    };
    let mut all: Vec<(usize, T)> = std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..std::thread::available_parallelism().map_or(1, usize::from)).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, done)| done).collect()
}

#[test]
fn a_right_device_is_never_blamed_whatever_the_tester_sends_and_the_capture_does() {
    let catalogue = catalogue().unwrap();
    let planned = plan(&catalogue, &[], false).unwrap();
    let blamed = on_all(planned.len(), |at| {
        let case = &planned[at];
        let (name, policy) = Policy::PRESETS[at % Policy::PRESETS.len()];
        let mut emulator = Emulator::new(policy, Defects::NONE, common::profile());
        let frames = play(&mut emulator, case);
        let mut options = of_the_device(&emulator);
        let mut blamed = Vec::new();
        for (number, artefact) in artefact::ALL.iter().enumerate() {
            // A case meets the plain capture and every third artefact; all of them together meet each in many cases.
            if number > 0 && number % 3 != at % 3 {
                continue;
            }
            let file = examine(&options, &artefact.apply(&frames));
            if certain(&file).next().is_some() {
                blamed.push(format!("{} on {name}, {}:{}", case.id(), artefact.name, told(certain(&file))));
            }
        }
        options.at.clone_from(&options.judge);
        for artefact in artefact::ALL.iter().filter(|artefact| artefact.is_whole()) {
            let file = examine(&options, &artefact.apply(&frames));
            if certain(&file).next().is_some() {
                let artefact = artefact.name;
                blamed.push(format!("{} on {name}, at its port, {artefact}:{}", case.id(), told(certain(&file))));
            }
        }
        blamed
    });
    let blamed = blamed.concat();
    assert!(blamed.is_empty(), "{} captures:\n{}", blamed.len(), blamed.join("\n"));
}
