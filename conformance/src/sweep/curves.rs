//! From the settings to the curves of a sweep.

use rocespec_reports::sweep::{Clock, Curve, Finding, Incast, Point, Run, SCHEMA, Spread, Sweep};

use super::formula;
use super::{Axis, Fault, Job, Measured, Results, Settings, Value, Watch, Wrong, on_model, side_by_side};

/// The settings of one curve, and what tells it from the others.
#[derive(Debug, Clone)]
pub struct Setting {
    /// `DCQCN on, PFC off`; empty where there is only one curve.
    pub name: String,
    /// What it is measured with.
    pub settings: Settings,
}

/// Makes a sweep on the model: each value of the axis in each setting, with so many seeds from `first_seed` on. The devices
/// are called so; the command and the settings in words are the caller's to fill in.
pub fn curves(
    axis: &Axis,
    settings: &[Setting],
    first_seed: u64,
    runs: u32,
    devices: [String; 2],
    watch: &Watch<'_>,
) -> Sweep {
    let values = axis.values();
    let mut jobs = Vec::new();
    for curve in 0..settings.len() {
        for value in 0..values.len() {
            let seeds = (0..u64::from(runs)).map(|run| first_seed.wrapping_add(run));
            jobs.extend(seeds.map(|seed| Job { curve, value, seed }));
        }
    }
    // What takes longest comes first, so that nothing long is left for the end.
    jobs.reverse();
    let run = |job: Job| on_model(&settings[job.curve].settings, values[job.value], job.seed);
    let results = side_by_side(jobs, watch, run);
    gather(axis, settings, results, Clock::Virtual, devices)
}

/// Puts the results of runs together.
pub(super) fn gather(
    axis: &Axis,
    settings: &[Setting],
    mut results: Results,
    clock: Clock,
    devices: [String; 2],
) -> Sweep {
    results.sort_by_key(|(job, _)| (job.curve, job.value, job.seed));
    let complete = results.iter().all(|(_, result)| result.is_some());
    let values = axis.values();
    let finding = |(job, result): &(Job, Option<Result<Measured, Wrong>>)| {
        let Some(Err(wrong)) = result else { return None };
        Some(Finding {
            curve: settings[job.curve].name.clone(),
            value: axis.what().value(values[job.value].number()),
            seed: job.seed,
            device: wrong.end.map(|end| devices[end as usize].clone()).unwrap_or_default(),
            rule: wrong.rule.clone(),
            sentence: wrong.sentence.clone(),
        })
    };
    let findings = results.iter().filter_map(finding).collect();
    let curve = |(index, setting): (usize, &Setting)| {
        let points = values.iter().enumerate().map(|(place, value)| {
            let of_point = results.iter().filter(|(job, _)| (job.curve, job.value) == (index, place));
            let runs = of_point.filter_map(|(job, result)| Some((job.seed, result.as_ref()?.as_ref().ok()?)));
            point(*value, &runs.collect::<Vec<_>>(), &setting.settings, clock)
        });
        with_reference(setting, points.flatten().collect(), axis, clock)
    };
    Sweep {
        schema: SCHEMA,
        tool: concat!("rocespec ", env!("CARGO_PKG_VERSION")).to_owned(),
        command: String::new(),
        what: axis.what(),
        clock,
        setting: Vec::new(),
        curves: settings.iter().enumerate().map(curve).collect(),
        findings,
        complete,
        devices,
    }
}

/// A value without a run that came to its end has no point.
fn point(value: Value, runs: &[(u64, &Measured)], settings: &Settings, clock: Clock) -> Option<Point> {
    if runs.is_empty() {
        return None;
    }
    let mut counts = runs[0].1.counts;
    runs[1..].iter().for_each(|(_, run)| counts.add(&run.counts));
    let goodputs: Vec<f64> = runs.iter().map(|(_, run)| run.goodput_bps).collect();
    let predicted = match value {
        Value::Share(Fault::Loss, _) if clock == Clock::Virtual => formula::go_back_n(settings, value.number()),
        _ => None,
    };
    let incasts: Vec<Incast> = runs.iter().filter_map(|(_, run)| run.incast).collect();
    Some(Point {
        value: value.number(),
        goodput_bps: Spread::of(&goodputs),
        relative: 0.0,
        predicted,
        counts,
        incast: together(&incasts),
        runs: runs.iter().map(|(seed, run)| told(*seed, run)).collect(),
    })
}

fn told(seed: u64, run: &Measured) -> Run {
    Run {
        seed,
        goodput_bps: run.goodput_bps.round() as u64,
        messages: run.counts.messages,
        time_ns: u64::try_from(run.time.as_nanos()).unwrap_or(u64::MAX),
        ended: run.ended.clone(),
    }
}

fn together(runs: &[Incast]) -> Option<Incast> {
    let fairness = runs.iter().map(|run| run.fairness).sum::<f64>() / runs.len() as f64;
    let sum = |a: Incast, b: &Incast| Incast {
        fairness,
        drops: a.drops + b.drops,
        marks: a.marks + b.marks,
        pauses: a.pauses + b.pauses,
        longest_queue: a.longest_queue.max(b.longest_queue),
    };
    let (first, rest) = runs.split_first()?;
    Some(rest.iter().fold(Incast { fairness, ..*first }, sum))
}

/// Of shares the goodput at 0 stands for 1, of senders what the link to the receiver can carry.
fn with_reference(setting: &Setting, points: Vec<Point>, axis: &Axis, clock: Clock) -> Curve {
    let capacity = || (setting.settings.capacity_bps().round() as u64, "what the link carries");
    let (reference_bps, reference) = match (axis, points.first()) {
        (Axis::Share(..), Some(first)) if first.value == 0.0 => (first.goodput_bps.mean, "measured at 0"),
        (_, Some(first)) if clock == Clock::Real => (first.goodput_bps.mean, "measured at the first value"),
        _ => capacity(),
    };
    // Six decimals say more than the runs do.
    let relative = |mean: u64| (mean as f64 / reference_bps.max(1) as f64 * 1e6).round() / 1e6;
    let points = points.into_iter().map(|point| Point { relative: relative(point.goodput_bps.mean), ..point });
    Curve { name: setting.name.clone(), reference_bps, reference: reference.to_owned(), points: points.collect() }
}
