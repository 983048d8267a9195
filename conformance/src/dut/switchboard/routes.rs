//! Whose frame is it? Known from what the jobs tell the device: it may send only to queue pairs that somebody named.

use std::collections::BTreeSet;

use rocespec_codec::{Frame, Header, Roce, decode};
use rocespec_control::{AsyncEvent, Command, Qp, Reply};

/// Most events that wait for one job to ask for them.
const MOST_EVENTS: usize = 1024;

/// Numbers of all jobs.
pub(super) struct Routes {
    jobs: Vec<Numbers>,
    /// Queue pair numbers of the tester in cases that are over.
    past: BTreeSet<u32>,
}

/// Numbers that the case of one job uses.
#[derive(Default)]
struct Numbers {
    /// Handles of the device's queue pairs.
    handles: BTreeSet<Qp>,
    /// Their numbers.
    device: BTreeSet<u32>,
    /// Queue pair numbers of the tester that the device was told.
    tester: BTreeSet<u32>,
    /// What the device reported of them, or of none in particular.
    events: Vec<AsyncEvent>,
}

/// Where a frame of the device goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum To {
    /// To these jobs.
    Jobs(Vec<usize>),
    /// To a case that is over.
    Gone,
    /// Nobody knows. Each of these may have caused it.
    Unknown(Vec<usize>),
}

impl Routes {
    pub(super) fn new(jobs: usize) -> Routes {
        Routes { jobs: (0..jobs).map(|_| Numbers::default()).collect(), past: BTreeSet::new() }
    }

    /// Notes what an order says about queue pairs, and takes the events of others out of its answer.
    pub(super) fn ordered(&mut self, from: usize, command: &Command, reply: Reply) -> Reply {
        let numbers = &mut self.jobs[from];
        match (command, reply) {
            (_, Reply::Qp { qp, qpn }) => {
                numbers.handles.insert(qp);
                numbers.device.insert(qpn);
                Reply::Qp { qp, qpn }
            }
            (Command::ModifyQp { attributes, .. }, reply) => {
                numbers.tester.extend(attributes.dest_qpn);
                reply
            }
            (Command::PostSend { request, .. }, reply) => {
                numbers.tester.extend(Some(request.remote_qpn).filter(|qpn| *qpn != 0));
                reply
            }
            (Command::Events {}, Reply::Events(events)) => {
                for event in events {
                    self.report(&event);
                }
                Reply::Events(std::mem::take(&mut self.jobs[from].events))
            }
            (_, reply) => reply,
        }
    }

    /// An event goes to the job whose queue pair it is about, or to all.
    fn report(&mut self, event: &AsyncEvent) {
        let owner = event.qp.and_then(|qp| self.jobs.iter().position(|job| job.handles.contains(&qp)));
        for (job, numbers) in self.jobs.iter_mut().enumerate() {
            if owner.is_none_or(|owner| owner == job) && numbers.events.len() < MOST_EVENTS {
                numbers.events.push(event.clone());
            }
        }
    }

    /// Notes the number that a datagram of the tester names as its source. Gives the job whose queue pair the frame
    /// reaches, when that is another's.
    pub(super) fn sent(&mut self, from: usize, frame: &[u8]) -> Option<usize> {
        let Ok(Frame::Roce(packet)) = decode(frame) else { return None };
        if has_source(&packet) {
            self.jobs[from].tester.insert(packet.ext.deth.src_qp.get());
        }
        let dest = packet.bth.dest_qp.get();
        self.jobs.iter().position(|job| job.device.contains(&dest)).filter(|owner| *owner != from)
    }

    /// Whose a frame of the device is. What is not RoCE is everybody's.
    pub(super) fn find(&self, frame: &[u8]) -> To {
        let packet = match decode(frame) {
            Ok(Frame::Roce(packet)) => packet,
            Ok(_) => return To::Jobs(self.at_work()),
            Err(error) if error.layer.is_around_roce() => return To::Jobs(self.at_work()),
            Err(_) => return To::Unknown(self.at_work()),
        };
        let dest = packet.bth.dest_qp.get();
        let jobs = self.those(|job| job.tester.contains(&dest));
        match jobs.is_empty() {
            false => To::Jobs(jobs),
            true if self.past.contains(&dest) => To::Gone,
            true => To::Unknown(self.at_work()),
        }
    }

    /// Jobs that have a queue pair on the device.
    fn at_work(&self) -> Vec<usize> {
        self.those(|job| !job.device.is_empty())
    }

    fn those(&self, which: impl Fn(&Numbers) -> bool) -> Vec<usize> {
        self.jobs.iter().enumerate().filter(|(_, numbers)| which(numbers)).map(|(job, _)| job).collect()
    }

    /// The case of this job is over.
    pub(super) fn forget(&mut self, job: usize) {
        self.past.extend(std::mem::take(&mut self.jobs[job]).tester);
    }
}

fn has_source(packet: &Roce<'_>) -> bool {
    packet.bth.opcode.info().is_some_and(|info| info.has(Header::Deth))
}
