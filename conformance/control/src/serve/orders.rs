//! From the threads that hear testers to the one that drives the device.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use super::Service;
use super::desk::failure;
use crate::command::Command;
use crate::reply::{Device, ErrorCode, Failure, Reply};

/// Orders of the tester that is seated, for whoever drives the device.
#[derive(Debug)]
pub struct Orders {
    waiting: Receiver<Order>,
    /// `shutdown` was carried out; its tester has not left yet.
    is_ending: bool,
}

/// What came of serving what waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Went {
    /// Everything that waited is done.
    On,
    /// A tester said `shutdown`, has its answer and is gone.
    Shutdown,
}

#[derive(Debug)]
enum Order {
    Describe(SyncSender<Result<Device, Failure>>),
    CarryOut(Command, SyncSender<Result<Reply, Failure>>),
    Leave(SyncSender<()>),
}

impl Orders {
    /// Serves testers until one says `shutdown`.
    pub fn serve(mut self, service: &mut dyn Service) {
        while let Ok(order) = self.waiting.recv() {
            if self.one(order, service) == Went::Shutdown {
                return;
            }
        }
    }

    /// Serves what waits now, and does not wait.
    pub fn serve_waiting(&mut self, service: &mut dyn Service) -> Went {
        while let Ok(order) = self.waiting.try_recv() {
            if self.one(order, service) == Went::Shutdown {
                return Went::Shutdown;
            }
        }
        Went::On
    }

    fn one(&mut self, order: Order, service: &mut dyn Service) -> Went {
        // Whoever asked may have gone meanwhile: nobody needs the answer then.
        match order {
            Order::Describe(answer) => {
                let _ = answer.send(service.describe());
            }
            Order::CarryOut(command, answer) => {
                let is_shutdown = command == Command::Shutdown {};
                let result = service.carry_out(command);
                self.is_ending |= is_shutdown && result.is_ok();
                let _ = answer.send(result);
            }
            Order::Leave(answer) => {
                service.leave();
                let _ = answer.send(());
                if self.is_ending {
                    return Went::Shutdown;
                }
            }
        }
        Went::On
    }
}

/// Tells whoever drives the device that an order waits.
pub(super) type Wake = Arc<dyn Fn() + Send + Sync>;

/// The one seat that there is for testers, and the way to the device.
#[derive(Clone)]
pub(super) struct Seat {
    orders: Sender<Order>,
    wake: Wake,
    taken: Arc<(Mutex<bool>, Condvar)>,
}

/// A seat, and where the orders of those who sit there come out.
pub(super) fn seat(wake: Wake) -> (Seat, Orders) {
    let (orders, waiting) = channel();
    (Seat { orders, wake, taken: Arc::default() }, Orders { waiting, is_ending: false })
}

impl Seat {
    /// Takes the seat once it is free, at most a while from now: who has just left is still being cleaned up after.
    fn take(&self, patience: Duration) -> bool {
        let (taken, freed) = &*self.taken;
        let guard = taken.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = freed.wait_timeout_while(guard, patience, |taken| *taken);
        let (mut guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        let free = !timeout.timed_out();
        *guard |= free;
        free
    }

    fn free(&self) {
        let (taken, freed) = &*self.taken;
        *taken.lock().unwrap_or_else(PoisonError::into_inner) = false;
        freed.notify_one();
    }

    /// Has the device's driver do something, and waits for it.
    fn ask<T>(&self, order: impl FnOnce(SyncSender<T>) -> Order) -> Option<T> {
        let (answer, answered) = sync_channel(1);
        self.orders.send(order(answer)).ok()?;
        (self.wake)();
        answered.recv().ok()
    }
}

/// The device as one connection sees it: whoever says the right `hello` takes the seat, if it is free.
pub(super) struct Seated {
    seat: Seat,
    patience: Duration,
    is_seated: bool,
}

impl Seated {
    pub(super) fn new(seat: Seat, patience: Duration) -> Seated {
        Seated { seat, patience, is_seated: false }
    }
}

fn ending() -> Failure {
    failure(ErrorCode::Refused, "the agent is about to end")
}

impl Service for Seated {
    fn describe(&mut self) -> Result<Device, Failure> {
        if !self.is_seated {
            self.is_seated = self.seat.take(self.patience);
            if !self.is_seated {
                let message = "another tester is using the device; one at a time: try again when it is done";
                return Err(failure(ErrorCode::Refused, message));
            }
        }
        self.seat.ask(Order::Describe).unwrap_or_else(|| Err(ending()))
    }

    fn carry_out(&mut self, command: Command) -> Result<Reply, Failure> {
        self.seat.ask(|answer| Order::CarryOut(command, answer)).unwrap_or_else(|| Err(ending()))
    }

    fn leave(&mut self) {
        if self.is_seated {
            let _ = self.seat.ask(Order::Leave);
            self.seat.free();
            self.is_seated = false;
        }
    }
}

impl Drop for Seated {
    fn drop(&mut self) {
        self.leave();
    }
}
