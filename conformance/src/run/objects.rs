//! What a case has beside its queue pair: shared receive queues, a second protection domain, memory windows, a second
//! queue pair.

use std::collections::BTreeMap;

use rocespec_codec::Qpn;
use rocespec_control::{AsyncEvent, Command, Completion, MemoryRegion, Qp, QpCapacity, QpKind, Reply, WindowKind};

use super::connection::{Connection, other_peer, unexpected};
use crate::dut::{Dut, DutError};

/// Receives that a shared queue has room for.
const SRQ_CAPACITY: u32 = 256;

/// Handles of the objects.
#[derive(Debug, Default)]
pub(super) struct Objects {
    /// Shared receive queues. The last one is the one in use.
    pub(super) srqs: Vec<u32>,
    xrc_domains: Vec<u32>,
    /// The protection domain called `other`.
    pd: Option<u32>,
    /// The queue pair called `other`.
    pub(super) qp: Option<Qp>,
    /// Its number.
    qpn: Qpn,
    /// Memory windows by their names in the script.
    pub(super) windows: BTreeMap<String, u32>,
    /// What the keys of bound windows open, by their names in the script.
    pub(super) keys: Vec<(String, MemoryRegion)>,
}

/// The queue pair and the shared receive queue whose events a script asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct About {
    qp: Qp,
    srq: Option<u32>,
}

impl About {
    /// True for an event of one of them.
    pub(super) fn fits(self, event: &AsyncEvent) -> bool {
        event.qp == Some(self.qp) || event.srq.is_some() && event.srq == self.srq
    }
}

impl Objects {
    /// What a queue pair of this kind takes its receives from, where that is not its own queue. Gives the XRC domain of
    /// the queue pair and the number of its shared receive queue.
    pub(super) fn open(&mut self, dut: &mut dyn Dut, kind: QpKind, srq: bool) -> Result<(Option<u32>, Qpn), DutError> {
        if kind == QpKind::XrcTarget {
            let number = self.create_srq(dut, true)?;
            return Ok((self.xrc_domains.first().copied(), number));
        }
        if srq && kind != QpKind::XrcInitiator {
            self.srqs.push(new_srq(dut, None)?.0);
        }
        Ok((None, Qpn::default()))
    }

    /// Makes a shared receive queue for XRC, in a new domain or that of the queue pair. It is the one in use from then on.
    pub(super) fn create_srq(&mut self, dut: &mut dyn Dut, in_new_domain: bool) -> Result<Qpn, DutError> {
        if in_new_domain {
            match dut.control(&Command::CreateXrcDomain {})? {
                Reply::XrcDomain { xrc_domain } => self.xrc_domains.push(xrc_domain),
                other => return Err(unexpected("create_xrc_domain", &other)),
            }
        }
        let domain = if in_new_domain { self.xrc_domains.last() } else { self.xrc_domains.first() };
        let (srq, number) = new_srq(dut, domain.copied())?;
        self.srqs.push(srq);
        Ok(Qpn::new(number))
    }

    /// The second protection domain, made when first asked for.
    pub(super) fn other_pd(&mut self, dut: &mut dyn Dut) -> Result<u32, DutError> {
        match self.pd {
            Some(pd) => Ok(pd),
            None => match dut.control(&Command::CreatePd {})? {
                Reply::Pd { pd } => Ok(*self.pd.insert(pd)),
                other => Err(unexpected("create_pd", &other)),
            },
        }
    }

    pub(super) fn allocate_window(&mut self, dut: &mut dyn Dut, name: &str, kind: WindowKind) -> Result<(), DutError> {
        match dut.control(&Command::AllocateWindow { kind, pd: None })? {
            Reply::Window { window, .. } => {
                self.windows.insert(name.to_owned(), window);
                Ok(())
            }
            other => Err(unexpected("allocate_window", &other)),
        }
    }

    /// Orders that free what goes before the connection's own queue pair and memory, and those that free what goes behind.
    /// Windows go before the queue pair that bound them: some devices wait for the one to let go of the other.
    pub(super) fn close(&self) -> (Vec<Command>, Vec<Command>) {
        let qp = self.qp.map(|qp| Command::DestroyQp { qp });
        let windows = self.windows.values().map(|window| Command::DeallocateWindow { window: *window });
        let srqs = self.srqs.iter().map(|srq| Command::DestroySrq { srq: *srq });
        let domains = self.xrc_domains.iter().map(|domain| Command::DestroyXrcDomain { xrc_domain: *domain });
        let pd = self.pd.map(|pd| Command::DestroyPd { pd });
        (windows.chain(qp).collect(), srqs.chain(domains).chain(pd).collect())
    }
}

fn new_srq(dut: &mut dyn Dut, xrc_domain: Option<u32>) -> Result<(u32, u32), DutError> {
    match dut.control(&Command::CreateSrq { max_wr: SRQ_CAPACITY, pd: None, xrc_domain })? {
        Reply::Srq { srq, srqn } => Ok((srq, srqn)),
        other => Err(unexpected("create_srq", &other)),
    }
}

impl Connection {
    /// Posts a receive where the queue pair takes them from.
    pub(super) fn receive(&self, wr_id: u64, mr: u32, offset: u64, length: u32) -> Command {
        match self.objects.srqs.last() {
            Some(&srq) => Command::PostSrqReceive { srq, wr_id, mr, offset, length },
            None => Command::PostReceive { qp: self.qp, wr_id, mr, offset, length },
        }
    }

    /// Takes what has completed: of an XRC target at its shared queues.
    pub(super) fn completions(&self, dut: &mut dyn Dut) -> Result<Vec<Completion>, DutError> {
        const MAX: u32 = 256;
        let polls: Vec<Command> = match self.transport {
            QpKind::XrcTarget => self.objects.srqs.iter().map(|&srq| Command::PollSrq { srq, max: MAX }).collect(),
            _ => vec![Command::Poll { qp: self.qp, max: MAX }],
        };
        let mut completions = Vec::new();
        for poll in polls {
            match dut.control(&poll)? {
                Reply::Completions(more) => completions.extend(more),
                other => return Err(unexpected("poll", &other)),
            }
        }
        Ok(completions)
    }

    /// Whose events a script asks for.
    pub(super) fn about(&self) -> About {
        About { qp: self.qp, srq: self.objects.srqs.last().copied() }
    }

    /// The number of the second queue pair.
    pub(super) fn other_qpn(&mut self, dut: &mut dyn Dut) -> Result<Qpn, DutError> {
        self.other_qp(dut)?;
        Ok(self.objects.qpn)
    }

    /// The second queue pair, made like the first one when first asked for. Nobody is at its other end.
    pub(super) fn other_qp(&mut self, dut: &mut dyn Dut) -> Result<Qp, DutError> {
        if let Some(qp) = self.objects.qp {
            return Ok(qp);
        }
        let capacity = QpCapacity::default();
        // For XRC the queue belongs to the domain, which the second queue pair has no part in.
        let srq = self.objects.srqs.first().copied().filter(|_| self.transport != QpKind::XrcTarget);
        let create = Command::CreateQp { kind: self.transport, capacity, pd: None, srq, xrc_domain: None };
        let qp = match dut.control(&create)? {
            Reply::Qp { qp, qpn } => {
                self.objects.qpn = Qpn::new(qpn);
                *self.objects.qp.insert(qp)
            }
            other => return Err(unexpected("create_qp", &other)),
        };
        for mut attributes in self.ladder.clone() {
            // What it sends is not to be taken for that of the first one.
            attributes.dest_qpn = attributes.dest_qpn.map(|_| other_peer(self.tester_qpn).get());
            dut.control(&Command::ModifyQp { qp, attributes })?;
        }
        Ok(qp)
    }
}
