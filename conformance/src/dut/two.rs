//! Two devices on one clock: time passes for both, and what either sends is given in the order of time.
//!
//! Nothing lies between them here: whoever holds the two decides what becomes of a frame, and when it goes to the other.

use std::time::Duration;

use rocespec_model::Time;

use super::{Dut, DutError, Stamped, bell};
use crate::link::End;

/// How often a wait for devices in real time looks whether they live.
const LOOK: Duration = Duration::from_millis(20);

/// Two devices, for as long as they are looked at together.
///
/// Those in real time tell the same time. One in virtual time follows the clock of the other; where both are in virtual time
/// it passes at once, and the same orders and frames give the same times.
pub struct Two<'d> {
    ends: [&'d mut dyn Dut; 2],
}

/// One of the two failed.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct Failed {
    /// Which.
    pub end: End,
    /// How.
    pub error: DutError,
}

/// Frames that were sent: when, by whom, what.
type Sent = Vec<(Time, End, Vec<u8>)>;

impl<'d> Two<'d> {
    /// One device at each end.
    pub fn new(a: &'d mut dyn Dut, b: &'d mut dyn Dut) -> Two<'d> {
        Two { ends: [a, b] }
    }

    /// The device at this end.
    pub fn at(&mut self, end: End) -> &mut dyn Dut {
        &mut *self.ends[end as usize]
    }

    /// The time now.
    pub fn now(&self) -> Time {
        let real = self.ends.iter().find(|dut| !dut.is_virtual()).map(|dut| dut.now());
        real.unwrap_or_else(|| self.ends[0].now().max(self.ends[1].now()))
    }

    /// Sends a frame to the device at this end, now.
    ///
    /// # Errors
    /// When the wire to it is gone.
    pub fn transmit(&mut self, to: End, frame: &[u8]) -> Result<(), Failed> {
        self.at(to).transmit(frame).map_err(|error| Failed { end: to, error })
    }

    /// Lets time pass until `until`, or until one of the two has sent something: then it gives each frame to `seen`, in the
    /// order of time, and comes back early. Gives the time reached: what either sent until then was given. In real time it is
    /// looked at one after the other, so a frame may be older, by the time of a look, than the last one of the other end.
    ///
    /// # Errors
    /// When one of them died or its wire is gone. What was sent before was given.
    pub fn advance(&mut self, until: Time, seen: &mut dyn FnMut(End, Stamped<'_>)) -> Result<Time, Failed> {
        let mut now = self.now();
        loop {
            let rung = bell::count();
            let mut sent = Sent::new();
            let looked = End::BOTH.into_iter().try_for_each(|end| self.look(end, now, &mut sent));
            sent.sort_by_key(|(time, ..)| *time);
            sent.iter().for_each(|(time, end, frame)| seen(*end, Stamped { time: *time, frame }));
            looked?;
            if !sent.is_empty() || now >= until {
                return Ok(now);
            }
            let next = self.ends.iter().filter_map(|dut| dut.next_timeout()).min();
            let next = next.map_or(until, |next| next.min(until));
            now = if self.ends.iter().all(|dut| dut.is_virtual()) {
                next.max(now)
            } else {
                bell::wait(rung, (next - now).min(LOOK));
                self.now()
            };
        }
    }

    /// Takes what the device at this end has sent by now.
    fn look(&mut self, end: End, now: Time, sent: &mut Sent) -> Result<(), Failed> {
        let dut = self.at(end);
        loop {
            let before = sent.len();
            let take = &mut |Stamped { time, frame }: Stamped<'_>| sent.push((time, end, frame.to_vec()));
            let reached = dut.advance(now, take).map_err(|error| Failed { end, error })?;
            // In real time there may be more each time one looks.
            if !dut.is_virtual() || reached >= now && sent.len() == before {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::thread;
    use std::time::Instant;

    use rocespec_control::{Command, Device, Reply};

    use super::*;
    use crate::dut::{Addresses, Emulator};
    use crate::profile::Profile;

    /// Sends a byte at each of these times. With an origin it lives in real time, and rings.
    struct Sender {
        now: Time,
        frames: VecDeque<(Time, u8)>,
        origin: Option<Instant>,
        dies: bool,
    }

    fn at(micros: u64) -> Time {
        Time::from_nanos(micros * 1000)
    }

    fn sender(frames: &[(u64, u8)]) -> Sender {
        let frames = frames.iter().map(|(micros, byte)| (at(*micros), *byte)).collect();
        Sender { now: Time::ZERO, frames, origin: None, dies: false }
    }

    impl Sender {
        fn real(self) -> Sender {
            let origin = Instant::now();
            let alarms: Vec<Time> = self.frames.iter().map(|(time, _)| *time).collect();
            thread::spawn(move || {
                for alarm in alarms {
                    thread::sleep((alarm - Time::ZERO).saturating_sub(origin.elapsed()));
                    bell::ring();
                }
            });
            Sender { origin: Some(origin), ..self }
        }
    }

    impl Dut for Sender {
        fn advance(&mut self, until: Time, seen: &mut dyn FnMut(Stamped<'_>)) -> Result<Time, DutError> {
            if self.dies {
                return Err(DutError::Crash("as it was told".to_owned()));
            }
            let reached = if self.is_virtual() { until } else { self.now() };
            match self.frames.pop_front_if(|(time, _)| *time <= reached) {
                Some((time, byte)) => {
                    self.now = self.now.max(time);
                    seen(Stamped { time, frame: &[byte] });
                }
                None => self.now = self.now.max(until),
            }
            Ok(self.now())
        }

        fn now(&self) -> Time {
            self.origin.map_or(self.now, |origin| Time::ZERO + origin.elapsed())
        }

        fn is_virtual(&self) -> bool {
            self.origin.is_none()
        }

        fn next_timeout(&self) -> Option<Time> {
            if self.is_virtual() { self.frames.front().map(|(time, _)| *time) } else { None }
        }

        fn profile(&self) -> &Profile {
            unreachable!()
        }

        fn device(&self) -> &Device {
            unreachable!()
        }

        fn control(&mut self, _: &Command) -> Result<Reply, DutError> {
            unreachable!()
        }

        fn transmit(&mut self, _: &[u8]) -> Result<(), DutError> {
            unreachable!()
        }

        fn tester(&self) -> &Addresses {
            unreachable!()
        }

        fn restart(&mut self) -> Result<(), DutError> {
            unreachable!()
        }
    }

    /// Everything that the two send until then: who, what and when in us.
    fn sent(two: &mut Two<'_>, until: u64) -> Vec<(End, u8, u64)> {
        let mut all = Vec::new();
        loop {
            let mut take = |end, stamped: Stamped<'_>| {
                all.push((end, stamped.frame[0], (stamped.time - Time::ZERO).as_micros() as u64));
            };
            if two.advance(at(until), &mut take).unwrap() >= at(until) {
                return all;
            }
        }
    }

    #[test]
    fn what_two_send_comes_in_the_order_of_time_in_virtual_time_and_all_of_it_in_real_time() {
        let a = [(10, 1), (30, 2), (30, 3), (40, 4)];
        let b = [(5, 5), (30, 6), (35, 7), (90, 8)];
        let order = [5, 1, 2, 3, 6, 7, 4, 8];
        let bytes = |sent: Vec<(End, u8, u64)>| sent.into_iter().map(|(_, byte, _)| byte).collect::<Vec<_>>();
        let (mut one, mut other) = (sender(&a), sender(&b));
        let both = sent(&mut Two::new(&mut one, &mut other), 100);
        assert!(both.iter().all(|(end, byte, _)| (*byte <= 4) == (*end == End::A)));
        assert_eq!(bytes(both), order);
        assert_eq!((one.now(), other.now()), (at(100), at(100)));
        // In real time a look may come late: nothing is lost, whatever the order.
        let slow = |frames: &[(u64, u8)]| sender(&frames.iter().map(|(at, b)| (at * 1000, *b)).collect::<Vec<_>>());
        let (mut one, mut other) = (slow(&a).real(), slow(&b));
        assert_eq!(bytes(sent(&mut Two::new(&mut one, &mut other), 100_000)).len(), order.len());
        let (mut one, mut other) = (slow(&a).real(), slow(&b).real());
        assert_eq!(bytes(sent(&mut Two::new(&mut one, &mut other), 100_000)).len(), order.len());
    }

    #[test]
    fn the_one_that_dies_is_named_and_what_the_other_sent_before_is_given() {
        let (mut one, mut other) = (sender(&[(0, 1)]), sender(&[]));
        other.dies = true;
        let mut frames = 0;
        let failed = Two::new(&mut one, &mut other).advance(at(10), &mut |_, _| frames += 1).unwrap_err();
        assert_eq!((failed.end, frames), (End::B, 1));
        assert!(matches!(failed.error, DutError::Crash(_)));
    }

    #[test]
    fn an_emulator_stands_where_it_is_told() {
        let profile = Profile::parse("emulator", include_str!("../../../fixtures/profiles/emulator.toml")).unwrap();
        let [here, there] = Emulator::places();
        let emulator = Emulator::named("", profile).unwrap().facing(&there, here.clone());
        assert_eq!(emulator.device().mac, there.mac.to_string());
        assert!(emulator.device().gids.iter().any(|gid| gid.gid == there.v6));
        assert_eq!(emulator.tester(), &here);
    }
}
