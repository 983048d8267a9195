//! Points of a picture of PSNs over time, thinned out evenly.

use rocespec_reports::examination::{Mark, Point};

/// Points of ordinary packets that are kept.
const ORDINARY: usize = 512;

/// Points that are kept of what is rare where all is well: NAKs, retransmissions, congestion notifications.
const SPECIAL: usize = 256;

/// Points of either that are kept where there are thousands of pictures.
const OF_MANY: usize = 32;

/// Kinds of packet: two ends, seven marks.
const CLASSES: usize = 14;

/// The picture of one connection.
#[derive(Debug, Clone)]
pub(super) struct Picture {
    ordinary: Thinned,
    special: Thinned,
}

impl Picture {
    pub(super) fn new() -> Picture {
        Picture { ordinary: Thinned::new(ORDINARY), special: Thinned::new(SPECIAL) }
    }

    /// The picture of one connection among thousands.
    pub(super) fn small() -> Picture {
        Picture { ordinary: Thinned::new(OF_MANY), special: Thinned::new(OF_MANY) }
    }

    #[inline]
    pub(super) fn add(&mut self, point: Point) {
        match point.mark {
            Mark::Request | Mark::Response | Mark::Ack => self.ordinary.add(point),
            Mark::Retransmission | Mark::Nak | Mark::RnrNak | Mark::Cnp => self.special.add(point),
        }
    }

    /// The points in the order of their frames.
    pub(super) fn finish(self) -> Vec<Point> {
        let mut points = self.ordinary.points;
        points.extend(self.special.points);
        points.sort_by_key(|point| point.frame);
        points
    }
}

/// Keeps every packet of a kind, then every second, every fourth and so on, so that at most `limit` are kept in all.
/// Each kind is counted on its own: data and acknowledgements in turn would otherwise leave only one of them.
#[derive(Debug, Clone)]
struct Thinned {
    limit: usize,
    /// One less than how many stand for one; a power of two less one.
    mask: u64,
    seen: [u64; CLASSES],
    points: Vec<Point>,
}

impl Thinned {
    fn new(limit: usize) -> Thinned {
        Thinned { limit, mask: 0, seen: [0; CLASSES], points: Vec::new() }
    }

    #[inline]
    fn add(&mut self, point: Point) {
        let seen = &mut self.seen[class(&point)];
        let is_kept = *seen & self.mask == 0;
        *seen += 1;
        if is_kept {
            self.keep(point);
        }
    }

    fn keep(&mut self, point: Point) {
        if self.points.len() < self.limit {
            self.points.push(point);
            return;
        }
        self.mask = self.mask << 1 | 1;
        let mut at = [0u64; CLASSES];
        self.points.retain(|point| {
            let at = &mut at[class(point)];
            *at += 1;
            *at % 2 == 1
        });
        // The newest one has to stand on the coarser grid, too.
        if (self.seen[class(&point)] - 1) & self.mask == 0 {
            self.points.push(point);
        }
    }
}

fn class(point: &Point) -> usize {
    usize::from(point.from & 1) * 7 + point.mark as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(frame: u64, from: u8, mark: Mark) -> Point {
        Point { frame, time_ns: frame, from, psn: 0, psns: 1, mark }
    }

    #[test]
    fn points_are_thinned_out_evenly_and_of_each_kind() {
        let mut picture = Picture::new();
        for frame in 0..100_000 {
            let (from, mark) = if frame % 2 == 0 { (0, Mark::Request) } else { (1, Mark::Ack) };
            picture.add(point(frame, from, mark));
        }
        let points = picture.finish();
        assert!((ORDINARY / 2..=ORDINARY).contains(&points.len()), "{}", points.len());
        let requests: Vec<u64> = points.iter().filter(|point| point.mark == Mark::Request).map(|p| p.frame).collect();
        assert_eq!(requests.len(), points.len() / 2);
        let step = requests[1] - requests[0];
        assert!(requests.windows(2).all(|pair| pair[1] - pair[0] == step), "evenly");
        assert!(100_000 - requests.last().unwrap() <= step, "to the end");
    }

    #[test]
    fn what_is_rare_is_kept_among_much_that_is_not() {
        let mut picture = Picture::new();
        for frame in 0..50_000 {
            picture.add(point(frame, 0, Mark::Request));
            if frame % 1_000 == 0 {
                picture.add(point(frame, 1, Mark::Nak));
            }
        }
        assert_eq!(picture.finish().iter().filter(|point| point.mark == Mark::Nak).count(), 50);
    }

    #[test]
    fn a_small_picture_has_room_for_every_kind() {
        let mut picture = Picture::small();
        let kinds = [Mark::Request, Mark::Response, Mark::Ack];
        for frame in 0..90_000 {
            picture.add(point(frame, frame as u8 & 1, kinds[frame as usize % 3]));
        }
        let points = picture.finish();
        assert!(points.len() <= OF_MANY);
        assert!((0..2).all(|from| kinds.iter().all(|kind| points.iter().any(|p| (p.from, p.mark) == (from, *kind)))));
    }

    #[test]
    fn kinds_that_are_few_survive_those_that_are_many() {
        let mut picture = Picture::new();
        picture.add(point(1, 1, Mark::Ack));
        (2..90_000).for_each(|frame| picture.add(point(frame, 0, Mark::Request)));
        assert!(picture.finish().iter().any(|point| point.mark == Mark::Ack));
    }
}
