//! Axes of pictures: where values lie, and which of them are written.

/// A value that is written at an axis.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tick {
    /// Where, in pixels along the axis.
    pub(crate) at: u32,
    pub(crate) label: String,
}

/// The next of 1, 2, 5, 10, 20, 50… that is not less than `least`.
pub(crate) fn step(least: u64) -> u64 {
    let mut decade: u64 = 1;
    loop {
        for times in [1, 2, 5] {
            let step = decade.saturating_mul(times);
            if step >= least || step == u64::MAX {
                return step;
            }
        }
        decade = decade.saturating_mul(10);
    }
}

/// A part of the time axis on which time runs evenly.
#[derive(Debug, PartialEq, Eq)]
struct Stretch {
    start: u64,
    end: u64,
    /// Where its start lies.
    at: u32,
    width: u32,
}

/// A time axis. Where nothing happens for most of the time it is broken, so that the rest can be seen.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TimeAxis {
    stretches: Vec<Stretch>,
    /// Where it is broken, and for how long nothing happens there, in nanoseconds.
    pub(crate) breaks: Vec<(u32, u64)>,
    step: u64,
}

/// Pixels that a break takes, and those on both sides of a stretch.
const BREAK: u32 = 60;
const MARGIN: u32 = 12;
/// Pixels between two ticks at least, and of a character of their labels.
const TICKS: u32 = 90;
const CHARACTER: u32 = 7;

impl TimeAxis {
    /// For times in ascending order, from pixel `left` on, `width` pixels wide. `None` for no times.
    pub(crate) fn new(times: &[u64], left: u32, width: u32) -> Option<TimeAxis> {
        let (first, last) = (*times.first()?, *times.last()?);
        let total = last.saturating_sub(first);
        let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
        let mut sorted = gaps.clone();
        sorted.sort_unstable();
        let usual = sorted.get(sorted.len() / 2).copied().unwrap_or(0);
        // No more than four gaps take more than a fifth each.
        let is_break = |gap: u64| gap > total / 5 && gap / 10 > usual;
        let mut spans = vec![(first, first)];
        for (index, gap) in gaps.iter().enumerate() {
            let time = times[index + 1];
            match spans.last_mut() {
                Some(span) if !is_break(*gap) => span.1 = time,
                _ => spans.push((time, time)),
            }
        }
        let count = u32::try_from(spans.len()).ok()?;
        let room = width.saturating_sub((count - 1) * BREAK + count * 2 * MARGIN);
        let active: u64 = spans.iter().map(|(start, end)| end - start).sum();
        let mut axis = TimeAxis { stretches: Vec::new(), breaks: Vec::new(), step: 1 };
        let mut at = left;
        for (index, (start, end)) in spans.iter().enumerate() {
            if let Some(before) = axis.stretches.last() {
                axis.breaks.push((at + BREAK / 2, start - before.end));
                at += BREAK;
            }
            let width = match active {
                // Moments alone share the room.
                0 => room / count,
                _ => scaled(end - start, room, active),
            };
            let centre = if active == 0 { width / 2 } else { 0 };
            axis.stretches.push(Stretch { start: *start, end: *end, at: at + MARGIN + centre, width: width - centre });
            at += width + 2 * MARGIN;
            debug_assert!(index < 5, "no more than four gaps take more than a fifth each");
        }
        axis.step = step(active / u64::from((room / TICKS).max(1)));
        Some(axis)
    }

    /// Where a time lies; one between two stretches lies at the end of the first.
    pub(crate) fn at(&self, time: u64) -> u32 {
        let after = self.stretches.partition_point(|stretch| stretch.start <= time);
        let Some(stretch) = self.stretches.get(after.saturating_sub(1)) else { return 0 };
        let inside = time.clamp(stretch.start, stretch.end) - stretch.start;
        match stretch.end - stretch.start {
            0 => stretch.at,
            length => stretch.at + scaled(inside, stretch.width, length),
        }
    }

    /// Name of the unit of the labels.
    pub(crate) fn unit(&self) -> &'static str {
        self.scale().1
    }

    fn scale(&self) -> (u64, &'static str) {
        match self.stretches.last().map_or(0, |stretch| stretch.end) {
            0..10_000 => (1, "ns"),
            10_000..10_000_000 => (1_000, "us"),
            10_000_000..10_000_000_000 => (1_000_000, "ms"),
            _ => (1_000_000_000, "s"),
        }
    }

    /// What is written below it: round times, and the start of a stretch that has none.
    pub(crate) fn ticks(&self) -> Vec<Tick> {
        let mut ticks: Vec<Tick> = Vec::new();
        let mut free = 0;
        for stretch in &self.stretches {
            let round = (stretch.start.div_ceil(self.step)..).map(|n| n.saturating_mul(self.step));
            let mut times: Vec<u64> = round.take_while(|time| *time <= stretch.end).take(50).collect();
            if times.is_empty() {
                times.push(stretch.start);
            }
            for time in times {
                let (at, label) = (self.at(time), self.label(time));
                let half = label.len() as u32 * CHARACTER / 2;
                if ticks.is_empty() || at >= free + half {
                    ticks.push(Tick { at, label });
                    free = at + half + CHARACTER;
                }
            }
        }
        ticks
    }

    /// A time in the unit of the axis, with as many digits as its steps need.
    fn label(&self, time: u64) -> String {
        let (unit, _) = self.scale();
        let mut digits = 0;
        while self.step < unit && !self.step.is_multiple_of(unit / 10u64.pow(digits)) {
            digits += 1;
        }
        if digits == 0 {
            return (time / unit).to_string();
        }
        let fraction = time % unit / (unit / 10u64.pow(digits));
        format!("{}.{fraction:0width$}", time / unit, width = digits as usize)
    }
}

/// `part` of `whole` as pixels of `room`.
pub(crate) fn scaled(part: u64, room: u32, whole: u64) -> u32 {
    let pixels = (u128::from(part) * u128::from(room)).checked_div(u128::from(whole)).unwrap_or(0);
    u32::try_from(pixels).unwrap_or(room).min(room)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn steps_are_round() {
        assert_eq!([0, 1, 2, 3, 6, 11, 501].map(step), [1, 1, 2, 5, 10, 20, 1_000]);
        assert!(step(u64::MAX) == u64::MAX);
    }

    #[test]
    fn even_times_make_one_stretch() {
        let times: Vec<u64> = (0..=100).map(|n| n * 1_000_000).collect();
        let axis = TimeAxis::new(&times, 100, 824).unwrap();
        assert_eq!((axis.at(0), axis.at(50_000_000), axis.at(100_000_000)), (112, 512, 912));
        assert!(axis.breaks.is_empty());
        let labels: Vec<String> = axis.ticks().into_iter().map(|tick| tick.label).collect();
        assert_eq!((labels, axis.unit()), (["0", "20", "40", "60", "80", "100"].map(str::to_owned).to_vec(), "ms"));
    }

    #[test]
    fn a_stall_breaks_the_axis_and_says_how_long_it_is() {
        let times: Vec<u64> = (0..50).chain(4_000_000..4_000_050).map(|us| us * 1_000).collect();
        let axis = TimeAxis::new(&times, 0, 800).unwrap();
        assert_eq!(axis.breaks.len(), 1);
        assert_eq!(axis.breaks[0].1, 3_999_951_000);
        assert!(axis.at(49_000) < axis.breaks[0].0 && axis.breaks[0].0 < axis.at(4_000_000_000));
        assert!(axis.at(49_000) > 300, "each half has its room");
    }

    #[test]
    fn one_moment_stands_in_the_middle() {
        let axis = TimeAxis::new(&[7, 7, 7], 0, 800).unwrap();
        assert_eq!((axis.at(7), axis.ticks().len()), (400, 1));
        assert_eq!(TimeAxis::new(&[], 0, 800), None);
    }

    proptest! {
        #[test]
        fn every_time_lies_inside_and_in_its_order(mut times in prop::collection::vec(any::<u64>(), 1..60)) {
            times.sort_unstable();
            let axis = TimeAxis::new(&times, 50, 800).unwrap();
            let places: Vec<u32> = times.iter().map(|time| axis.at(*time)).collect();
            prop_assert!(places.iter().all(|at| (50..=850).contains(at)), "{places:?}");
            prop_assert!(places.windows(2).all(|pair| pair[0] <= pair[1]), "{places:?}");
            prop_assert!(axis.ticks().iter().all(|tick| (50..=850).contains(&tick.at)));
        }
    }
}
