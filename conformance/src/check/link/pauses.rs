//! Pauses of one sender.

use rocespec_codec::{Control, MacAddr};
use rocespec_model::LinkSpeed;
use rocespec_reports::examination::{ClassPauses, Pauses};

use super::{CLASSES, PAUSE};

/// A class that is stopped for as long as this, most of the time, carries nothing: switches that watch for it begin to
/// drop.
const STORM_NS: u64 = 100_000_000;

/// Stops that a storm has at least.
const STORM_STOPS: u64 = 10;

/// Who asks for pauses.
#[derive(Debug, Clone, Default)]
pub(in crate::check) struct Sender {
    frames: u64,
    /// First frame.
    pub(in crate::check) frame: u64,
    classes: [Class; CLASSES],
}

/// Pauses of one class.
#[derive(Debug, Clone, Default)]
struct Class {
    counts: ClassPauses,
    /// First stop: frame and time.
    first: Option<(u64, u64)>,
    last_stop_ns: u64,
    /// Stops that follow each other without a gap.
    chain: Option<Chain>,
    /// Bits per second up to which no refresh came too late.
    unbroken_up_to: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Chain {
    since_ns: u64,
    last_ns: u64,
    quanta: u16,
}

/// A class that is told to stop most of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::check) struct Storm {
    pub(in crate::check) class: usize,
    /// First stop.
    pub(in crate::check) frame: u64,
    pub(in crate::check) stops: u64,
    /// From the first stop to the last.
    pub(in crate::check) period_ns: u64,
    pub(in crate::check) paused_ns: u64,
    pub(in crate::check) gaps: u64,
    /// Where the speed is not known: bits per second up to which what has no gap has none.
    pub(in crate::check) unbroken_up_to: Option<u64>,
}

impl Sender {
    pub(super) fn note(&mut self, number: u64, time_ns: u64, control: &Control<'_>, speed: Option<LinkSpeed>) {
        if self.frames == 0 {
            self.frame = number;
        }
        self.frames += 1;
        let mut tell = |class: usize, quanta: u16| {
            let class = &mut self.classes[class];
            match quanta {
                0 => class.start(time_ns, speed),
                _ => class.stop(number, time_ns, quanta, speed),
            }
        };
        match control {
            Control::Pause(pause) => tell(PAUSE, pause.quanta),
            Control::Pfc(pfc) => {
                (0..8u8).for_each(|class| {
                    pfc.timer(class).into_iter().for_each(|quanta| tell(class.into(), quanta));
                });
            }
            Control::Other(_) => {}
        }
    }

    /// Frames that stop a class.
    pub(in crate::check) fn stops(&self, class: usize) -> u64 {
        self.classes[class].counts.stops
    }

    /// The first frame that stops a class.
    pub(in crate::check) fn first_stop(&self, class: usize) -> Option<u64> {
        self.classes[class].first.map(|(frame, _)| frame)
    }

    pub(super) fn report(&self, from: MacAddr, speed: Option<LinkSpeed>) -> Pauses {
        let classes = self.classes.iter().enumerate().filter(|(_, class)| class.counts.stops + class.counts.starts > 0);
        Pauses {
            from: from.to_string(),
            frames: self.frames,
            classes: classes.map(|(number, class)| (number as u8, class.finished(speed).counts)).collect(),
        }
    }

    pub(in crate::check) fn storms(&self, speed: Option<LinkSpeed>) -> impl Iterator<Item = Storm> {
        self.classes.iter().enumerate().filter_map(move |(class, state)| {
            let (frame, first_ns) = state.first?;
            let Class { counts, last_stop_ns, unbroken_up_to, .. } = state.finished(speed);
            let period_ns = last_stop_ns.saturating_sub(first_ns);
            let is_storm =
                counts.stops >= STORM_STOPS && counts.paused_ns >= STORM_NS && counts.paused_ns >= period_ns / 2;
            let ClassPauses { stops, paused_ns, gaps, .. } = counts;
            is_storm.then_some(Storm { class, frame, stops, period_ns, paused_ns, gaps, unbroken_up_to })
        })
    }
}

impl Class {
    fn stop(&mut self, number: u64, time_ns: u64, quanta: u16, speed: Option<LinkSpeed>) {
        self.counts.stops += 1;
        self.counts.most_quanta = self.counts.most_quanta.max(quanta);
        if let Some(chain) = self.chain {
            let since = time_ns.saturating_sub(chain.last_ns);
            if since > life(chain.quanta, speed) {
                self.close(time_ns, speed);
            } else if speed.is_none() && since > 0 {
                let up_to = u64::from(chain.quanta) * 512 * 1_000_000_000 / since;
                self.unbroken_up_to = Some(self.unbroken_up_to.map_or(up_to, |least| least.min(up_to)));
            }
        }
        if self.chain.is_none() && self.first.is_some() {
            self.counts.gaps += 1;
        }
        let since_ns = self.chain.map_or(time_ns, |chain| chain.since_ns);
        self.chain = Some(Chain { since_ns, last_ns: time_ns, quanta });
        self.first = self.first.or(Some((number, time_ns)));
        self.last_stop_ns = time_ns;
    }

    fn start(&mut self, time_ns: u64, speed: Option<LinkSpeed>) {
        self.counts.starts += 1;
        self.close(time_ns, speed);
    }

    /// The pause ends now, or ended by itself before. Where the speed is not known it lasts at least to the last stop.
    fn close(&mut self, time_ns: u64, speed: Option<LinkSpeed>) {
        let Some(chain) = self.chain.take() else { return };
        let life = life(chain.quanta, speed);
        let end = match time_ns.saturating_sub(chain.last_ns) {
            since if since <= life => chain.last_ns + since,
            _ if speed.is_some() => chain.last_ns.saturating_add(life),
            _ => chain.last_ns,
        };
        let paused = end.saturating_sub(chain.since_ns);
        self.counts.paused_ns = self.counts.paused_ns.saturating_add(paused);
        self.counts.longest_ns = self.counts.longest_ns.max(paused);
    }

    /// As if the last pause had run out.
    fn finished(&self, speed: Option<LinkSpeed>) -> Class {
        let mut class = self.clone();
        class.close(u64::MAX, speed);
        class
    }
}

/// How long a stop lasts, in nanoseconds: where nobody says the speed, on the slowest link that RoCE is used on.
fn life(quanta: u16, speed: Option<LinkSpeed>) -> u64 {
    speed.unwrap_or(LinkSpeed::G10).time_of_quanta(quanta).as_nanos() as u64
}
