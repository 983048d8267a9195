//! PSNs over time: a picture for the requests of one end, with what the other end answers to them.

use std::collections::BTreeSet;

use super::axis::{Tick, TimeAxis, scaled, step};
use crate::cause::Cause;
use crate::examination::{Connection, Finding, Mark, Point};
use crate::text::{duration, milliseconds};

/// Size of a picture, and where what is drawn lies inside it.
pub(crate) const WIDTH: u32 = 960;
pub(crate) const HEIGHT: u32 = 360;
pub(crate) const LEFT: u32 = 84;
pub(crate) const RIGHT: u32 = WIDTH - 16;
pub(crate) const TOP: u32 = 64;
pub(crate) const BOTTOM: u32 = HEIGHT - 48;
/// Where congestion notifications stand: they have no PSN.
pub(crate) const LANE: u32 = TOP - 16;
/// Height of a step of the PSN axis, at least.
const TICKS: u32 = 40;
/// Findings that are flagged, and pixels that a flag's text takes.
const FLAGS: usize = 20;
const FLAG: u32 = 64;
/// Rows of the table of rare marks.
const ROWS: usize = 200;
/// PSNs come again after this many.
const RANGE: i64 = 1 << 24;

/// A picture.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sequence {
    /// The PSN that is called 0.
    pub(crate) origin: u32,
    pub(crate) times: Vec<Tick>,
    pub(crate) unit: &'static str,
    /// Where time is left out, and how much.
    pub(crate) breaks: Vec<(u32, String)>,
    pub(crate) psns: Vec<Tick>,
    /// Marks that there are many of: a path for each kind.
    pub(crate) paths: Vec<(Mark, String)>,
    /// Marks that deserve a look each.
    pub(crate) rare: Vec<Rare>,
    pub(crate) flags: Vec<Flag>,
    /// How many there are of each kind.
    pub(crate) counts: Vec<(Mark, usize)>,
    /// The rare ones in words, and how many more there are.
    pub(crate) rows: Vec<Row>,
    pub(crate) more_rows: usize,
}

/// A mark that deserves a look.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Rare {
    pub(crate) mark: Mark,
    pub(crate) x: u32,
    pub(crate) y: u32,
    pub(crate) title: String,
}

/// Where a finding is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Flag {
    /// Its place among the findings as they are shown: 1 is the cause.
    pub(crate) place: usize,
    pub(crate) x: u32,
    /// The packet itself, where it is in the picture.
    pub(crate) y: Option<u32>,
    pub(crate) frame: u64,
    /// It is what broke first.
    pub(crate) is_cause: bool,
    /// There is room for its text.
    pub(crate) is_labelled: bool,
}

/// A rare mark in words.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) frame: u64,
    pub(crate) time: String,
    pub(crate) mark: Mark,
    /// From [`Sequence::origin`] on; `None` of what has no PSN.
    pub(crate) psn: Option<i64>,
}

impl Mark {
    /// All, in the order of a legend.
    pub(crate) const ALL: [Mark; 7] =
        [Mark::Request, Mark::Response, Mark::Ack, Mark::Retransmission, Mark::Nak, Mark::RnrNak, Mark::Cnp];

    /// Name of its class in the style sheet and of its shape.
    pub(crate) fn class(self) -> &'static str {
        match self {
            Mark::Request => "request",
            Mark::Retransmission => "again",
            Mark::Response => "response",
            Mark::Ack => "ack",
            Mark::Nak => "nak",
            Mark::RnrNak => "rnr",
            Mark::Cnp => "cnp",
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Mark::Request => "request",
            Mark::Retransmission => "retransmission",
            Mark::Response => "READ or ATOMIC response",
            Mark::Ack => "ACK",
            Mark::Nak => "NAK",
            Mark::RnrNak => "RNR NAK",
            Mark::Cnp => "CNP",
        }
    }

    /// The requester sends it.
    fn is_request(self) -> bool {
        matches!(self, Mark::Request | Mark::Retransmission)
    }

    fn is_rare(self) -> bool {
        !matches!(self, Mark::Request | Mark::Response | Mark::Ack)
    }

    /// Its shape around a place, as a part of a path.
    fn outline(self, x: u32, y: u32) -> String {
        match self {
            Mark::Response => format!("M{x} {}l3 3l-3 3l-3 -3z", y - 3),
            Mark::Ack => format!("M{} {y}a3 3 0 1 0 6 0a3 3 0 1 0 -6 0", x - 3),
            _ => format!("M{} {}h4v4h-4z", x - 2, y - 2),
        }
    }
}

/// A point and its PSN from the first one on, beyond the end of the range of PSNs.
struct Placed<'p> {
    point: &'p Point,
    psn: i64,
}

impl Sequence {
    /// The picture of one end's requests; `None` when there are no packets for it.
    pub(crate) fn of(connection: &Connection, requester: usize) -> Option<Sequence> {
        let belongs = |point: &&Point| (usize::from(point.from > 0) == requester) == point.mark.is_request();
        let mut points: Vec<&Point> = connection.points.iter().filter(belongs).collect();
        points.sort_by_key(|point| (point.time_ns, point.frame));
        let (origin, placed) = unwrapped(&points);
        let (low, high) = bounds(&placed)?;
        let mut times: Vec<u64> = points.iter().map(|point| point.time_ns).collect();
        let findings = flagged(connection, &points);
        times.extend(findings.iter().map(|(_, finding)| finding.time_ns));
        times.sort_unstable();
        let axis = TimeAxis::new(&times, LEFT, RIGHT - LEFT)?;
        let scale = PsnScale { low, span: high.saturating_sub(low).unsigned_abs().max(1) };
        let mut picture = Sequence {
            origin,
            times: axis.ticks(),
            unit: axis.unit(),
            breaks: axis.breaks.iter().map(|(at, ns)| (*at, duration(*ns))).collect(),
            psns: scale.ticks(high),
            paths: Vec::new(),
            rare: Vec::new(),
            flags: Vec::new(),
            counts: Vec::new(),
            rows: Vec::new(),
            more_rows: 0,
        };
        picture.draw(&placed, &axis, &scale);
        picture.flag(&findings, &placed, &axis, &scale);
        Some(picture)
    }
}

impl Sequence {
    /// Is there a mark that has no PSN?
    pub(crate) fn has_cnps(&self) -> bool {
        self.counts.iter().any(|(mark, _)| *mark == Mark::Cnp)
    }

    fn draw(&mut self, placed: &[Placed<'_>], axis: &TimeAxis, scale: &PsnScale) {
        // What would lie on the same pixel is drawn once.
        let mut drawn = BTreeSet::new();
        for mark in Mark::ALL {
            let of_kind = placed.iter().filter(|placed| placed.point.mark == mark);
            let mut path = String::new();
            let mut count = 0;
            for placed in of_kind {
                count += 1;
                let x = axis.at(placed.point.time_ns);
                let y = if mark == Mark::Cnp { LANE } else { scale.at(placed.psn) };
                let top = if mark == Mark::Request { scale.at(placed.top()) } else { y };
                if mark.is_rare() {
                    self.row(placed);
                }
                if !drawn.insert((mark, x, y, top)) {
                    continue;
                }
                if mark.is_rare() {
                    self.rare.push(Rare { mark, x, y, title: title(placed) });
                } else if y.saturating_sub(top) > 4 {
                    path.push_str(&format!("M{} {top}h3V{y}h-3z", x.saturating_sub(1)));
                } else {
                    path.push_str(&mark.outline(x, y));
                }
            }
            if count > 0 {
                self.counts.push((mark, count));
            }
            if !path.is_empty() {
                self.paths.push((mark, path));
            }
        }
        self.rows.sort_by_key(|row| row.frame);
        self.more_rows = self.rows.len().saturating_sub(ROWS);
        self.rows.truncate(ROWS);
    }

    fn row(&mut self, placed: &Placed<'_>) {
        let Point { frame, time_ns, mark, .. } = *placed.point;
        let psn = (mark != Mark::Cnp).then_some(placed.psn);
        self.rows.push(Row { frame, time: milliseconds(time_ns), mark, psn });
    }

    fn flag(&mut self, findings: &[(usize, &Finding)], placed: &[Placed<'_>], axis: &TimeAxis, scale: &PsnScale) {
        for &(place, finding) in findings {
            let packet = placed.iter().find(|placed| placed.point.frame == finding.frame);
            let x = axis.at(packet.map_or(finding.time_ns, |placed| placed.point.time_ns));
            let at = |placed: &Placed<'_>| if placed.point.mark == Mark::Cnp { LANE } else { scale.at(placed.psn) };
            let is_labelled = self.flags.iter().all(|flag| !flag.is_labelled || flag.x.abs_diff(x) >= FLAG);
            let (y, frame) = (packet.map(at), finding.frame);
            self.flags.push(Flag { place, x, y, frame, is_cause: place == 1, is_labelled });
        }
    }
}

/// The findings of a picture with these points, with their places as a page shows them: the cause comes first, so that it has
/// its label in any case. One whose packet is no point of the connection is in both pictures.
fn flagged<'c>(connection: &'c Connection, points: &[&Point]) -> Vec<(usize, &'c Finding)> {
    let Some(cause) = Cause::of(&connection.findings) else { return Vec::new() };
    let frames = |points: &mut dyn Iterator<Item = &Point>| points.map(|point| point.frame).collect::<BTreeSet<u64>>();
    let (here, anywhere) = (frames(&mut points.iter().copied()), frames(&mut connection.points.iter()));
    let in_order = [cause.finding].into_iter().chain(cause.others).take(FLAGS);
    let is_here =
        |(_, finding): &(usize, &Finding)| here.contains(&finding.frame) || !anywhere.contains(&finding.frame);
    (1..).zip(in_order).filter(is_here).collect()
}

fn title(placed: &Placed<'_>) -> String {
    let Point { frame, time_ns, mark, .. } = *placed.point;
    let psn = if mark == Mark::Cnp { String::new() } else { format!(", PSN {:+}", placed.psn) };
    format!("{}: frame {frame}, {}{psn}", mark.name(), milliseconds(time_ns))
}

impl Placed<'_> {
    /// The last PSN that it stands for.
    fn top(&self) -> i64 {
        self.psn + (i64::from(self.point.psns) - 1).clamp(0, RANGE / 2)
    }
}

/// The first PSN, and all from there on. A PSN is taken to be as near as it can to the last request or response.
fn unwrapped<'p>(points: &[&'p Point]) -> (u32, Vec<Placed<'p>>) {
    let with_psn = || points.iter().filter(|point| point.mark != Mark::Cnp);
    let first = with_psn().find(|point| point.mark.is_request()).or(with_psn().next());
    let origin = first.map_or(0, |point| point.psn & 0xff_ffff);
    let mut near = 0;
    let place = |point: &&'p Point| {
        if point.mark == Mark::Cnp {
            return Placed { point, psn: near };
        }
        let ahead = (i64::from(point.psn) - i64::from(origin) - near).rem_euclid(RANGE);
        let psn = near + if ahead < RANGE / 2 { ahead } else { ahead - RANGE };
        if point.mark.is_request() || point.mark == Mark::Response {
            near = psn;
        }
        Placed { point, psn }
    };
    (origin, points.iter().map(place).collect())
}

/// The lowest and the highest PSN of the picture. An answer that is far from all requests, as one that makes up its PSN, would
/// press them together to a line: it stands at the edge.
fn bounds(placed: &[Placed<'_>]) -> Option<(i64, i64)> {
    let has_psn = || placed.iter().filter(|placed| placed.point.mark != Mark::Cnp);
    let span = |of: &dyn Fn(&&Placed<'_>) -> bool| {
        let low = has_psn().filter(of).map(|placed| placed.psn).min()?;
        Some((low, has_psn().filter(of).map(Placed::top).max()?))
    };
    let Some((low, high)) = span(&|placed| placed.point.mark.is_request()) else { return span(&|_| true) };
    let far = high.saturating_sub(low).saturating_add(256);
    span(&|placed| placed.psn >= low.saturating_sub(far) && placed.psn <= high.saturating_add(far))
}

/// The axis of PSNs.
struct PsnScale {
    low: i64,
    /// From the lowest to the highest, at least 1.
    span: u64,
}

impl PsnScale {
    fn at(&self, psn: i64) -> u32 {
        let above = psn.saturating_sub(self.low).max(0).unsigned_abs().min(self.span);
        BOTTOM - scaled(above, BOTTOM - TOP, self.span)
    }

    fn ticks(&self, high: i64) -> Vec<Tick> {
        let step = step(self.span / u64::from((BOTTOM - TOP) / TICKS)).min(1 << 40) as i64;
        let first = self.low.div_euclid(step) * step;
        let round = (0..).map(|n: i64| first + n * step);
        let shown = round.skip_while(|psn| *psn < self.low).take_while(|psn| *psn <= high).take(20);
        shown.map(|psn| Tick { at: self.at(psn), label: psn.to_string() }).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::examination::sample;

    fn of(points: Vec<Point>) -> Option<Sequence> {
        Sequence::of(&Connection { points, ..Connection::default() }, 0)
    }

    fn point(n: u32, psn: u32, mark: Mark) -> Point {
        let from = u8::from(!mark.is_request());
        Point { frame: u64::from(n), time_ns: u64::from(n) * 1_000, from, psn, psns: 1, mark }
    }

    #[test]
    fn an_answer_far_from_all_requests_stands_at_the_edge() {
        let ack = |psn| {
            let points = vec![point(1, 10, Mark::Request), point(2, 30, Mark::Request), point(3, psn, Mark::Ack)];
            let picture = of(points).unwrap();
            (picture.psns.iter().map(|tick| tick.label.parse::<i64>().unwrap()).max().unwrap(), picture.counts[1])
        };
        assert_eq!(ack(5), (20, (Mark::Ack, 1)));
        assert_eq!(ack(0x40_0000), (20, (Mark::Ack, 1)));
        assert_eq!(ack(0xff_ffff), (20, (Mark::Ack, 1)));
    }

    #[test]
    fn psns_go_on_where_they_begin_again() {
        let picture = Sequence::of(&sample::clean(1), 0).unwrap();
        assert_eq!((picture.origin, picture.counts), (0xff_fff0, vec![(Mark::Request, 40), (Mark::Ack, 10)]));
        let labels: Vec<&str> = picture.psns.iter().map(|tick| tick.label.as_str()).collect();
        assert_eq!(labels, ["0", "10", "20", "30"]);
        assert!(picture.psns.windows(2).all(|pair| pair[0].at > pair[1].at), "upwards");
        assert_eq!(Sequence::of(&sample::clean(1), 1), None, "the other end only answers");
    }

    #[test]
    fn what_answers_stands_with_the_requests_that_it_answers() {
        let connection = sample::broken(3);
        let (left, right) = (Sequence::of(&connection, 0).unwrap(), Sequence::of(&connection, 1).unwrap());
        let kinds = |picture: &Sequence| picture.counts.iter().map(|(mark, _)| *mark).collect::<Vec<_>>();
        assert_eq!(kinds(&left), Mark::ALL);
        assert_eq!(kinds(&right), [Mark::Request]);
        assert!(right.flags.is_empty(), "the packets of all findings are in the other picture");
        let cause = &left.flags[0];
        assert!(cause.is_cause && cause.is_labelled && cause.y.is_some() && cause.frame == 17);
        assert_eq!((left.flags.len(), left.breaks.len()), (3, 2), "two stalls of half a second");
        assert_eq!(left.rows.len(), 4 + 1 + 1 + 3);
    }

    #[test]
    fn nothing_is_no_picture_and_one_point_is_one() {
        assert_eq!(of(Vec::new()), None);
        assert_eq!(of(vec![point(1, 0, Mark::Cnp)]), None, "there is no PSN to draw");
        let picture = of(vec![point(1, 7, Mark::Request)]).unwrap();
        assert_eq!((picture.times.len(), picture.psns.len(), picture.paths.len()), (1, 1, 1));
    }

    #[test]
    fn many_points_make_a_picture_of_bounded_size() {
        let points =
            |count| (0..count).map(|n| point(n, n & 0xff_ffff, if n % 3 == 0 { Mark::Ack } else { Mark::Request }));
        let size = |count| of(points(count).collect()).unwrap().paths.iter().map(|(_, path)| path.len()).sum::<usize>();
        assert!(size(2_000) < 60_000, "{}", size(2_000));
        assert!(size(200_000) < 60_000, "{}", size(200_000));
    }

    proptest! {
        #[test]
        fn any_points_lie_inside(values in prop::collection::vec(any::<(u64, u64, u8, u32, u32, u8)>(), 0..60)) {
            let points = values.iter().map(|&(frame, time_ns, from, psn, psns, mark)| {
                Point { frame, time_ns, from, psn, psns, mark: Mark::ALL[usize::from(mark) % 7] }
            });
            let connection = Connection { points: points.collect(), ..sample::broken(1) };
            for requester in 0..2 {
                let Some(picture) = Sequence::of(&connection, requester) else { continue };
                prop_assert!(picture.rare.iter().all(|rare| (LEFT..=RIGHT).contains(&rare.x) && rare.y <= BOTTOM));
                prop_assert!(picture.flags.iter().all(|flag| (LEFT..=RIGHT).contains(&flag.x)));
                prop_assert!(picture.psns.iter().all(|tick| (TOP..=BOTTOM).contains(&tick.at)));
            }
        }
    }
}
