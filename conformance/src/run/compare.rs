//! The same stimuli to the reference model and to a device: what they do differently, and why.

mod random;

use std::collections::BTreeSet;

use rocespec_codec::Qpn;
use rocespec_control::ErrorCode;
use serde::Serialize;

use super::Planned;
use super::bench::observe::Guide;
use super::bench::{Bench, Pace, Stop};
use super::connection::{Connection, other_peer};
use super::execute::{choose, lacking};
use super::record::Recorder;
use crate::dut::{Dut, DutError};
use crate::golden::{self, Difference, Explained, Explanations, Governed, Kind, Subject, Trace};

pub use random::{REQUESTER, RESPONDER, is_made, script};

/// How much longer everything waits when a difference is looked at again.
const SECOND_LOOK: u32 = 5;

/// What came of one case.
#[derive(Debug, Clone, Serialize)]
pub struct Compared {
    /// Scenario and variant.
    pub case: String,
    /// One sentence.
    pub title: String,
    /// How it went.
    pub result: Outcome,
    /// What differs, in the order of the script.
    pub differences: Vec<Explained>,
    /// The device's frames: a pcapng file.
    #[serde(skip)]
    pub pcapng: Vec<u8>,
    /// The command that repeats it.
    pub repeat: String,
}

/// How a comparison went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Both did the same.
    Same,
    /// They differ, and each difference is explained.
    Explained,
    /// They differ, and nobody has said why.
    Unexplained,
    /// One of the two lacks something that the case needs.
    Unsupported(String),
    /// It could not be played to its end.
    NotPlayed(String),
}

/// What a comparison needs to know besides the cases.
#[derive(Debug, Clone)]
pub struct Options<'o> {
    /// Seed of everything that is chosen at random.
    pub seed: u64,
    /// Further words for the command that repeats a case.
    pub repeat: String,
    /// The known differences of the device.
    pub explanations: &'o Explanations,
}

/// Compares the cases one after the other until `stop` says to stop; `done` sees each result as it comes.
///
/// What nobody has explained is played again with longer waits before it counts: a busy machine is no difference.
pub fn compare(
    (model, device): (&mut dyn Dut, &mut dyn Dut),
    planned: &[Planned<'_>],
    options: &Options<'_>,
    stop: &dyn Fn() -> bool,
    done: &mut dyn FnMut(Compared),
) {
    let (mut reference, mut under_test) = (Player::new(model), Player::new(device));
    for planned in planned {
        if stop() {
            return;
        }
        done(case(&mut reference, &mut under_test, planned, options));
    }
}

/// What a device did in a case.
struct Played {
    trace: Trace,
    pcapng: Vec<u8>,
    ended: Result<(), DutError>,
}

/// A device and the queue pair numbers that the tester has used towards it.
struct Player<'d> {
    dut: &'d mut dyn Dut,
    past: BTreeSet<Qpn>,
}

impl<'d> Player<'d> {
    fn new(dut: &'d mut dyn Dut) -> Player<'d> {
        Player { dut, past: BTreeSet::new() }
    }

    fn play(&mut self, planned: &Planned<'_>, seed: u64, guide: Option<Guide<'_>>) -> Played {
        let tester = choose(seed, &planned.id(), &self.past);
        let mut played = Played { trace: Trace::default(), pcapng: Vec::new(), ended: Ok(()) };
        let recorder = Recorder::new(self.dut.now());
        let connection = match Connection::open(self.dut, &planned.variant.setup, tester) {
            Ok(connection) => connection,
            Err(error) => {
                played.ended = Err(error);
                return played;
            }
        };
        self.past.extend([tester.qpn, other_peer(tester.qpn)]);
        let mut bench = Bench::new(self.dut, planned, connection, recorder, Pace::Script, &self.past);
        if let Err(Stop::Device(error)) = bench.observe(guide, &mut played.trace) {
            played.ended = Err(error);
        }
        let (connection, _, executed) = bench.finish(super::judge::Ending::Ran);
        played.pcapng = executed.pcapng;
        if !matches!(played.ended, Err(DutError::Crash(_)))
            && let Err(error @ DutError::Crash(_)) = connection.close(self.dut)
        {
            played.ended = Err(error);
        }
        played
    }
}

fn case(
    reference: &mut Player<'_>,
    under_test: &mut Player<'_>,
    planned: &Planned<'_>,
    options: &Options<'_>,
) -> Compared {
    let id = planned.id();
    let mut compared = Compared {
        title: planned.scenario.title.clone(),
        result: Outcome::Same,
        differences: Vec::new(),
        pcapng: Vec::new(),
        repeat: format!("rocespec compare '{id}'{} --seed {}", options.repeat, options.seed),
        case: id,
    };
    if planned.scenario.has_peer() {
        compared.result = Outcome::Unsupported("the tester's end is the model itself, not a script".to_owned());
        return compared;
    }
    let lacks = |dut: &dyn Dut| lacking(dut, planned.scenario, &planned.variant.setup);
    if let Some(what) = lacks(reference.dut).or_else(|| lacks(under_test.dut)) {
        compared.result = Outcome::Unsupported(what);
        return compared;
    }
    let model = reference.play(planned, options.seed, None);
    if let Err(error) = model.ended {
        compared.result = Outcome::NotPlayed(format!("the model: {error}"));
        return compared;
    }
    for patience in [1, SECOND_LOOK] {
        let guide = Guide { trace: &model.trace, patience };
        let device = under_test.play(planned, options.seed, Some(guide));
        compared.pcapng = device.pcapng;
        let mut differences = golden::compare(&model.trace, &device.trace);
        match device.ended {
            Ok(()) => {}
            Err(DutError::Crash(how)) => {
                // What it did not do any more is no difference of its own.
                differences.retain(|difference| stands_before(difference, &device.trace));
                differences.push(last_words(&device.trace, Subject::Death, "a device that lives", &how));
                if let Err(error) = under_test.dut.restart() {
                    compared.result = Outcome::NotPlayed(format!("the device is lost: {error}"));
                    return compared;
                }
            }
            Err(DutError::Refused(failure)) if failure.code != ErrorCode::Unsupported => {
                // The rest of the script was not played.
                differences.retain(|difference| stands_before(difference, &device.trace));
                differences.push(last_words(&device.trace, Subject::Refusal, "carried out", &failure.to_string()));
            }
            Err(DutError::Refused(failure)) => {
                compared.result = Outcome::Unsupported(failure.to_string());
                return compared;
            }
            Err(error) => {
                compared.result = Outcome::NotPlayed(error.to_string());
                return compared;
            }
        }
        compared.differences = options.explanations.explain(&compared.case, differences);
        let unexplained = compared.differences.iter().any(|difference| difference.kind == Kind::Unexplained);
        compared.result = match (compared.differences.is_empty(), unexplained) {
            (true, _) => Outcome::Same,
            (false, false) => Outcome::Explained,
            (false, true) => Outcome::Unexplained,
        };
        if !unexplained {
            break;
        }
    }
    compared
}

/// True for what differs before the place where a device stopped.
fn stands_before(difference: &Difference, trace: &Trace) -> bool {
    let last = trace.exchanges.last().map_or(0, |exchange| exchange.line);
    difference.line != 0 && (last == 0 || difference.line < last)
}

/// What a device did last, when it did not play on.
fn last_words(trace: &Trace, subject: Subject, expected: &str, seen: &str) -> Difference {
    let last = trace.exchanges.iter().rfind(|exchange| !exchange.sent.is_empty());
    let sent = last.map(|exchange| exchange.sent.iter().map(|packet| packet.line.clone()).collect());
    Difference {
        line: trace.exchanges.last().map_or(0, |exchange| exchange.line),
        sent: sent.unwrap_or_default(),
        remark: last.map(|exchange| exchange.remark.clone()).unwrap_or_default(),
        remarks: Vec::new(),
        subject,
        expected: expected.to_owned(),
        seen: seen.lines().next().unwrap_or_default().to_owned(),
        governed: Governed::Open,
    }
}
