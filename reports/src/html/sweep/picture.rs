//! Goodput against what is changed, as lines.

use std::fmt::Write as _;

use crate::html::axis::Tick;
use crate::sweep::{Curve, Sweep, What, percent};

/// Size of the picture, and where what is drawn lies inside it.
pub(crate) const WIDTH: u32 = 720;
pub(crate) const HEIGHT: u32 = 380;
pub(crate) const LEFT: u32 = 64;
pub(crate) const RIGHT: u32 = WIDTH - 20;
pub(crate) const TOP: u32 = 34;
pub(crate) const BOTTOM: u32 = HEIGHT - 56;
/// Between the frame and the first and last value.
const MARGIN: u32 = 26;
/// What 0 takes on an axis that has no place for it.
const ZERO: u32 = 70;
/// Pixels of a character of a label.
const CHARACTER: u32 = 8;
/// Looks that tell curves apart; beyond, they come again.
const LOOKS: usize = 6;

/// A picture.
pub(crate) struct Picture {
    pub(crate) values: Vec<Tick>,
    pub(crate) shares: Vec<Tick>,
    /// Where the axis is broken between 0 and the first share.
    pub(crate) gap: Option<u32>,
    pub(crate) lines: Vec<Line>,
    /// What the formulas say: name, class and path.
    pub(crate) formulas: Vec<(&'static str, &'static str, String)>,
    /// In words, for those who do not see it.
    pub(crate) told: String,
}

/// A curve.
pub(crate) struct Line {
    pub(crate) name: String,
    /// 0 to 5: its colour and its mark.
    pub(crate) look: usize,
    pub(crate) path: String,
    /// From the least to the most of the runs.
    pub(crate) spreads: String,
    pub(crate) marks: Vec<Mark>,
}

/// A point of a curve.
pub(crate) struct Mark {
    pub(crate) x: u32,
    pub(crate) y: u32,
    pub(crate) title: String,
}

/// Where values lie: evenly by their logarithm, 0 apart from the others.
struct Axis {
    least: f64,
    most: f64,
    has_zero: bool,
}

impl Axis {
    fn of(values: &[f64]) -> Axis {
        let positive = || values.iter().copied().filter(|value| *value > 0.0);
        Axis {
            least: positive().fold(f64::INFINITY, f64::min),
            most: positive().fold(0.0, f64::max),
            has_zero: values.contains(&0.0),
        }
    }

    fn at(&self, value: f64) -> u32 {
        if value <= 0.0 {
            return LEFT + MARGIN;
        }
        let left = LEFT + MARGIN + if self.has_zero { ZERO } else { 0 };
        let room = f64::from(RIGHT - MARGIN - left);
        let span = (self.most / self.least).ln();
        let share = if span > 0.0 { (value / self.least).ln() / span } else { 0.5 };
        left + (room * share.clamp(0.0, 1.0)).round() as u32
    }
}

impl Picture {
    pub(crate) fn of(sweep: &Sweep) -> Picture {
        let points = || sweep.curves.iter().flat_map(|curve| &curve.points);
        let mut values: Vec<f64> = points().map(|point| point.value).filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        let axis = Axis::of(&values);
        // In tenths: what goes beyond the reference has its place too.
        let most = points().map(|point| point.relative).filter(|share| share.is_finite()).fold(1.0, f64::max);
        let top = (most * 10.0).ceil().min(100.0) / 10.0;
        let height = |share: f64| BOTTOM - (f64::from(BOTTOM - TOP) * (share / top).clamp(0.0, 1.0)).round() as u32;
        let curve = |(place, curve): (usize, &Curve)| line(sweep.what, curve, place, &axis, &height);
        let step = if top > 2.0 { 0.5 } else { 0.2 };
        let shares = (0..).map(|step_of| f64::from(step_of) * step).take_while(|share| *share <= top + 1e-9);
        Picture {
            values: ticks(sweep.what, &values, &axis),
            shares: shares.map(|share| Tick { at: height(share), label: format!("{:.0} %", share * 100.0) }).collect(),
            gap: (axis.has_zero && axis.most > 0.0).then_some(LEFT + MARGIN + ZERO / 2),
            lines: sweep.curves.iter().enumerate().map(curve).collect(),
            formulas: formulas(sweep, &axis, &height),
            told: told(sweep),
        }
    }
}

fn ticks(what: What, values: &[f64], axis: &Axis) -> Vec<Tick> {
    let mut free = 0;
    let mut ticks = Vec::new();
    for value in values {
        let (at, label) = (axis.at(*value), what.value(*value));
        let half = label.len() as u32 * CHARACTER / 2;
        if at >= free + half {
            free = at + half + CHARACTER;
            ticks.push(Tick { at, label });
        }
    }
    ticks
}

fn line(what: What, curve: &Curve, place: usize, axis: &Axis, height: &impl Fn(f64) -> u32) -> Line {
    let share = |bps: u64| if curve.reference_bps > 0 { bps as f64 / curve.reference_bps as f64 } else { 0.0 };
    let (mut marks, mut spreads) = (Vec::new(), String::new());
    for point in &curve.points {
        let (x, y) = (axis.at(point.value), height(point.relative));
        let [low, high] = [point.goodput_bps.min, point.goodput_bps.max].map(|bps| height(share(bps)));
        if low > high + 2 {
            let _ = write!(spreads, "M{x} {low}V{high}M{} {low}h8M{} {high}h8", x - 4, x - 4);
        }
        let value = format!("{} {}: {}", what.name(), what.value(point.value), percent(point.relative));
        let title = if curve.name.is_empty() { value } else { format!("{}, {value}", curve.name) };
        marks.push(Mark { x, y, title });
    }
    let path = path(marks.iter().map(|mark| (mark.x, mark.y)));
    Line { name: curve.name.clone(), look: place % LOOKS, path, spreads, marks }
}

/// The formulas of the first curve: those of several would hide what was measured.
fn formulas(sweep: &Sweep, axis: &Axis, height: &impl Fn(f64) -> u32) -> Vec<(&'static str, &'static str, String)> {
    let Some(curve) = sweep.curves.first() else { return Vec::new() };
    let predicted = || curve.points.iter().filter_map(|point| Some((axis.at(point.value), point.predicted?)));
    if predicted().next().is_none() {
        return Vec::new();
    }
    vec![
        (
            "formula: a loss costs a round trip",
            "simple",
            path(predicted().map(|(x, predicted)| (x, height(predicted.go_back_n)))),
        ),
        (
            "formula: and some an ACK timeout",
            "late",
            path(predicted().map(|(x, predicted)| (x, height(predicted.with_timeouts)))),
        ),
    ]
}

fn path(places: impl Iterator<Item = (u32, u32)>) -> String {
    let mut path = String::new();
    for (x, y) in places {
        let _ = write!(path, "{}{x} {y}", if path.is_empty() { 'M' } else { 'L' });
    }
    path
}

fn told(sweep: &Sweep) -> String {
    let curve = |curve: &Curve| {
        let points = curve.points.iter().map(|point| {
            let value = sweep.what.value(point.value);
            format!("{value} {}", percent(point.relative))
        });
        let name = if curve.name.is_empty() { String::new() } else { format!("{}: ", curve.name) };
        format!("{name}{}", points.collect::<Vec<_>>().join(", "))
    };
    sweep.curves.iter().map(curve).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::sample;

    #[test]
    fn shares_lie_by_their_logarithm_and_zero_apart() {
        let picture = Picture::of(&sample::loss());
        let labels: Vec<&str> = picture.values.iter().map(|tick| tick.label.as_str()).collect();
        assert_eq!(labels, ["0", "1e-5", "1e-3", "1e-2"]);
        let at: Vec<u32> = picture.values.iter().map(|tick| tick.at).collect();
        assert!((at[2] - at[1]).abs_diff(2 * (at[3] - at[2])) <= 1, "two decades, then one: {at:?}");
        assert!(at[0] < picture.gap.unwrap() && picture.gap.unwrap() < at[1]);
        let [top, .., low] = &picture.lines[0].marks[..] else { panic!() };
        assert_eq!((top.y, picture.formulas.len()), (TOP, 2));
        assert!(low.y > BOTTOM - 5 && low.y <= BOTTOM);
    }

    #[test]
    fn nothing_and_nonsense_make_a_picture_too() {
        let mut sweep = sample::incast();
        sweep.curves[0].points.truncate(1);
        sweep.curves[0].points[0].relative = f64::NAN;
        sweep.curves[1].points.clear();
        let picture = Picture::of(&sweep);
        let mark = &picture.lines[0].marks[0];
        assert!((LEFT..=RIGHT).contains(&mark.x) && (TOP..=BOTTOM).contains(&mark.y));
        sweep.curves.clear();
        assert!(Picture::of(&sweep).lines.is_empty());
    }
}
