//! One device for several cases at once.
//!
//! The switchboard has the device on one thread. Each job has a [`Seat`], which is itself a [`Dut`]: what the job orders
//! and sends goes through the board in the order asked, and a frame of the device goes to those whose queue pair it names
//! (see [`routes`]). A frame keeps the time at which it came, and no job is told that a time is over before it has every
//! frame that came until then: what other jobs do delays a job, but hides nothing from it.
//!
//! What cannot be attributed is not guessed at: every case that was at work is then doubtful, and the runner plays it
//! again alone.

mod routes;
mod seat;

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use rocespec_control::{Command, Reply};
use rocespec_model::Time;

use self::routes::{Routes, To};
use super::{Dut, DutError, Stamped, Waker};

pub(crate) use seat::Seat;

/// Longest wait for the device when nobody waits for a time. A job that asks something ends it.
const IDLE: Duration = Duration::from_secs(1);
/// Frames that wait for one job. Beyond, they are not kept and its case is doubtful.
const MOST_WAITING: usize = 16_384;

/// What a job asks for, and where the answer goes.
enum Ask {
    /// The device's software is to do something.
    Control(Command, Answer<Reply>),
    /// The device is to have this frame.
    Transmit(Vec<u8>, Answer<()>),
    /// Frames, or that this time is over.
    Advance(Time, Answer<Advanced>),
    /// The case is over: may its result be trusted?
    Finish(Answer<bool>),
    /// Nobody sits here any more.
    Leave,
}

type Answer<T> = Sender<Result<T, DutError>>;

/// The time reached, and what came until then.
type Advanced = (Time, Vec<Frame>);

/// A frame of the device and when it came.
type Frame = (Time, Vec<u8>);

/// The board.
pub(crate) struct Switchboard {
    asks: Receiver<(usize, Ask)>,
    /// Orders to the device's software that wait for their turn. What is to be sent overtakes them.
    orders: VecDeque<(usize, Command, Answer<Reply>)>,
    jobs: Vec<Job>,
    routes: Routes,
    /// All frames that came until then are in their jobs' hands.
    reached: Time,
    /// How the device died.
    dead: Option<String>,
}

/// What the board knows of a job.
#[derive(Default)]
struct Job {
    /// What it waits for.
    waits: Option<(Time, Answer<Advanced>)>,
    frames: Vec<Frame>,
    doubtful: bool,
    left: bool,
}

impl Switchboard {
    /// A board with so many seats for this device, whose waker is given.
    pub(crate) fn new(dut: &dyn Dut, waker: &Waker, seats: usize) -> (Switchboard, Vec<Seat>) {
        let (ask, asks) = channel();
        let board = Switchboard {
            asks,
            orders: VecDeque::new(),
            jobs: (0..seats).map(|_| Job::default()).collect(),
            routes: Routes::new(seats),
            reached: dut.now(),
            dead: None,
        };
        (board, seat::make(dut, waker, &ask, seats))
    }

    /// Serves the jobs until the last one has left. `dut` is the device for which the board was made. Gives what killed
    /// the device, if something did.
    pub(crate) fn serve(mut self, dut: &mut dyn Dut) -> Option<String> {
        loop {
            self.listen(dut);
            if self.jobs.iter().all(|job| job.left) {
                return self.dead;
            }
            if let Some((from, command, answer)) = self.orders.pop_front() {
                let reply = self.alive(|| dut.control(&command));
                let reply = reply.map(|reply| self.routes.ordered(from, &command, reply));
                let _ = answer.send(reply);
            }
            self.advance(dut);
            for job in 0..self.jobs.len() {
                self.tell(job);
            }
        }
    }

    /// Takes what is asked. With a dead device there is nothing else to wait for.
    fn listen(&mut self, dut: &mut dyn Dut) {
        if self.dead.is_some()
            && let Ok((from, ask)) = self.asks.recv()
        {
            self.take(dut, from, ask);
        }
        while let Ok((from, ask)) = self.asks.try_recv() {
            self.take(dut, from, ask);
        }
    }

    fn take(&mut self, dut: &mut dyn Dut, from: usize, ask: Ask) {
        match ask {
            Ask::Control(command, answer) => self.orders.push_back((from, command, answer)),
            Ask::Transmit(frame, answer) => {
                if let Some(other) = self.routes.sent(from, &frame) {
                    self.jobs[from].doubtful = true;
                    self.jobs[other].doubtful = true;
                }
                let _ = answer.send(self.alive(|| dut.transmit(&frame)));
            }
            Ask::Advance(until, answer) => {
                self.jobs[from].waits = Some((until, answer));
                self.tell(from);
            }
            Ask::Finish(answer) => {
                self.routes.forget(from);
                let job = std::mem::take(&mut self.jobs[from]);
                let _ = answer.send(Ok(!job.doubtful && self.dead.is_none()));
            }
            Ask::Leave => {
                self.routes.forget(from);
                self.jobs[from].left = true;
            }
        }
    }

    /// Does something with the device, and remembers when it died.
    fn alive<T>(&mut self, act: impl FnOnce() -> Result<T, DutError>) -> Result<T, DutError> {
        if let Some(how) = &self.dead {
            return Err(DutError::Crash(how.clone()));
        }
        let result = act();
        if let Err(DutError::Crash(how)) = &result {
            self.dead = Some(how.clone());
        }
        result
    }

    /// Waits for the device, not longer than a job waits, and not at all while orders wait.
    fn advance(&mut self, dut: &mut dyn Dut) {
        let now = dut.now();
        let first = self.jobs.iter().filter_map(|job| job.waits.as_ref()).map(|(until, _)| *until).min();
        let until = match self.orders.is_empty() {
            true => first.unwrap_or(now + IDLE).max(now),
            false => now,
        };
        let mut frames = Vec::new();
        let result =
            self.alive(|| dut.advance(until, &mut |Stamped { time, frame }| frames.push((time, frame.to_vec()))));
        for (time, frame) in frames {
            self.route(time, frame);
        }
        if let Ok(reached) = result {
            // Of what came after the time that was asked for, not all may have been given.
            self.reached = self.reached.max(reached.min(until));
        }
    }

    fn route(&mut self, time: Time, frame: Vec<u8>) {
        match self.routes.find(&frame) {
            To::Jobs(jobs) => {
                for job in jobs {
                    self.jobs[job].take((time, frame.clone()));
                }
            }
            To::Gone => {}
            To::Unknown(jobs) => {
                for job in jobs {
                    self.jobs[job].doubtful = true;
                }
            }
        }
    }

    /// Answers a job that waits, if there is something to say.
    fn tell(&mut self, job: usize) {
        let Job { waits, frames, .. } = &mut self.jobs[job];
        let over = |(until, _): &mut (Time, _)| !frames.is_empty() || self.dead.is_some() || self.reached >= *until;
        let Some((_, answer)) = waits.take_if(over) else { return };
        let _ = answer.send(match &self.dead {
            Some(how) if frames.is_empty() => Err(DutError::Crash(how.clone())),
            _ => Ok((self.reached, std::mem::take(frames))),
        });
    }
}

impl Job {
    fn take(&mut self, frame: Frame) {
        if self.frames.len() < MOST_WAITING {
            self.frames.push(frame);
        } else {
            self.doubtful = true;
        }
    }
}
