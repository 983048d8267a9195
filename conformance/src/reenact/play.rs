//! The reference model has the script played to it.

use std::fmt::Write as _;

use rocespec_reports::outcome::{Actor, Verdict};

use super::script::{Line, Script};
use super::text;
use crate::dut::Emulator;
use crate::golden;
use crate::run::{Done, Options, plan, run};
use crate::scenario;

/// What the model did.
pub(super) struct Answers {
    /// Its packets, by the step that they answer.
    pub(super) packets: Vec<Vec<String>>,
    /// Its completions, as a step.
    pub(super) completions: Option<String>,
}

/// Why there is no scenario.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotPlayed {
    /// There is nothing to send.
    #[error("the connection has no packet that a scenario could send; is this the right end as the device?")]
    Nothing,
    /// The device answers nothing, and its software sees nothing: a scenario that expects nothing tests nothing.
    #[error("a right device answers none of these packets, and nothing shows that they arrived")]
    NothingToExpect,
    /// What was made cannot be read.
    #[error("the scenario that was made cannot be read:\n{0}")]
    Unreadable(String),
    /// What was made does not pass on the emulator.
    #[error("the scenario that was made does not pass on the emulator: {0}")]
    Fails(String),
}

/// Has the steps played to the model, with time after each for all that it has to say.
pub(super) fn stimuli(script: &Script, model: &dyn Fn() -> Emulator) -> Result<Answers, NotPlayed> {
    let mut body = script.memory.iter().map(|step| format!("{step}\n")).collect::<String>();
    let mut at = body.lines().count() as u32;
    let mut places = Vec::new();
    for Line { step, patience, .. } in &script.lines {
        places.push(at + 1);
        if !step.is_empty() {
            let wait = patience.unwrap_or_default() + ENOUGH;
            let _ = writeln!(body, "{step}\nwait {}", crate::duration::text(wait));
            at += 2;
        }
    }
    // Its finding says what there is.
    body.push_str("dut completions none\n");
    let whole = text::file(&text::Head::plain(script), &body);
    let first = whole.lines().position(|line| line.starts_with("script")).unwrap_or(0) as u32 + 1;
    let mut answers = Answers { packets: vec![Vec::new(); places.len()], completions: None };
    let played = play(&whole, model, &mut |done| {
        let Some(form) = &done.form else { return };
        let mut at = None;
        for line in form.recording(&done.case.trace, false).lines {
            match line.line {
                Some(number) => at = places.iter().rposition(|place| first + place <= number),
                // A CNP is free, and stands beside the exchange.
                None if line.actor == Actor::Device && !line.text.starts_with("CNP") => {
                    if let Some(packets) = at.and_then(|at: usize| answers.packets.get_mut(at)) {
                        packets.push(expected(&line.text));
                    }
                }
                None => {}
            }
        }
        let last = done.case.findings.iter().find(|finding| finding.expected == "no completion");
        answers.completions = last.map(|finding| completions(&finding.seen));
    });
    played?;
    Ok(answers)
}

/// Longer than any answer takes.
const ENOUGH: std::time::Duration = std::time::Duration::from_millis(20);

/// The scenario passes on the model.
pub(super) fn check(text: &str, model: &dyn Fn() -> Emulator) -> Result<(), NotPlayed> {
    let mut failed = None;
    play(text, model, &mut |done| {
        if done.case.verdict != Verdict::Pass {
            let finding = done.case.findings.first();
            let at = finding.and_then(|finding| finding.line).map_or(String::new(), |line| format!("line {line}: "));
            let why = finding.map(|finding| format!("expected {}, seen {}", finding.expected, finding.seen));
            failed = Some(format!("{at}{}", why.unwrap_or_else(|| done.case.reason.clone())));
        }
    })?;
    failed.map_or(Ok(()), |why| Err(NotPlayed::Fails(why)))
}

fn play(text: &str, model: &dyn Fn() -> Emulator, done: &mut dyn FnMut(&mut Done)) -> Result<(), NotPlayed> {
    let scenario =
        scenario::parse("scenario", "capture", text).map_err(|error| NotPlayed::Unreadable(error.to_string()))?;
    let scenarios = [scenario];
    let planned = plan(&scenarios, &[], false).map_err(|error| NotPlayed::Unreadable(error.to_string()))?;
    let options = Options { seed: 1, dut: "emulator".to_owned(), repeat: String::new(), jobs: 1, counters: false };
    run(&mut model(), &planned, &options, done);
    Ok(())
}

/// A packet of the model as an expectation: without what a device chooses for itself.
fn expected(line: &str) -> String {
    let is_request = !golden::is_response(line.split(' ').next().unwrap_or_default());
    let is_free =
        |word: &&str| word.starts_with("credits=") || is_request && (*word == "ack" || word.starts_with("migreq"));
    line.split(' ').filter(|word| !is_free(word)).collect::<Vec<_>>().join(" ")
}

/// Completions as a finding lists them, as a step.
fn completions(seen: &str) -> String {
    let mut step = "dut completions".to_owned();
    for completion in seen.split(", ") {
        let mut words = completion.split(' ');
        let (kind, status) = (words.next().unwrap_or_default(), words.next());
        let _ = match (kind, status) {
            (kind @ ("recv" | "recv_rdma_with_imm"), Some("success")) => {
                write!(step, " {kind}({})", words.collect::<Vec<_>>().join(" "))
            }
            (kind, Some("success")) => write!(step, " {kind}"),
            (status, _) => write!(step, " recv(status={status})"),
        };
    }
    step
}
