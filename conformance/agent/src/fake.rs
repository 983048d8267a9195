//! A device that exists only in memory, so that the protocol is tested without hardware.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::rc::Rc;

use rocespec_control::{
    Access, Completion, Device, ErrorCode, Failure, QpAttributes, QpCapacity, QpKind, QpState, SendRequest, VERSION,
};

use crate::backend::{Backend, Event, Region, failure};

#[derive(Default)]
pub(crate) struct Fake {
    next: u32,
    /// Objects alive, to see that a session leaves none behind.
    pub(crate) alive: Rc<Cell<usize>>,
    pub(crate) events: Vec<Event>,
}

struct Alive(Rc<Cell<usize>>);

impl Alive {
    fn new(counter: &Rc<Cell<usize>>) -> Alive {
        counter.set(counter.get() + 1);
        Alive(Rc::clone(counter))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

pub(crate) struct FakeQp {
    qpn: u32,
    attributes: QpAttributes,
    completions: Vec<Completion>,
    groups: Vec<Ipv6Addr>,
    _alive: Alive,
}

pub(crate) struct FakeMemory {
    bytes: std::cell::RefCell<Vec<u8>>,
    key: u32,
    _alive: Alive,
}

impl Backend for Fake {
    type Qp = FakeQp;
    type Memory = FakeMemory;

    fn describe(&mut self) -> Result<Device, Failure> {
        Ok(Device {
            version: VERSION,
            agent: "fake".to_owned(),
            name: "fake0".to_owned(),
            system: "none".to_owned(),
            mac: "02:00:00:00:00:01".to_owned(),
            active_mtu: 1024,
            gids: Vec::new(),
            capabilities: vec!["rc".to_owned()],
        })
    }

    fn create_qp(&mut self, kind: QpKind, _capacity: QpCapacity) -> Result<FakeQp, Failure> {
        if kind == QpKind::Uc {
            return Err(failure(ErrorCode::Unsupported, "no UC here"));
        }
        self.next += 1;
        let attributes = QpAttributes { state: Some(QpState::Reset), ..QpAttributes::default() };
        Ok(FakeQp {
            qpn: self.next,
            attributes,
            completions: Vec::new(),
            groups: Vec::new(),
            _alive: Alive::new(&self.alive),
        })
    }

    fn qpn(&self, qp: &FakeQp) -> u32 {
        qp.qpn
    }

    fn modify_qp(&mut self, qp: &mut FakeQp, attributes: &QpAttributes) -> Result<(), Failure> {
        qp.attributes.state = attributes.state.or(qp.attributes.state);
        qp.attributes.rq_psn = attributes.rq_psn.or(qp.attributes.rq_psn);
        Ok(())
    }

    fn query_qp(&mut self, qp: &FakeQp) -> Result<QpAttributes, Failure> {
        Ok(qp.attributes.clone())
    }

    fn multicast(&mut self, qp: &mut FakeQp, group: Ipv6Addr, member: bool) -> Result<(), Failure> {
        let known = qp.groups.iter().position(|known| *known == group);
        match (known, member) {
            (None, true) => qp.groups.push(group),
            (Some(at), false) => drop(qp.groups.remove(at)),
            _ => return Err(failure(ErrorCode::Refused, "no such change")),
        }
        Ok(())
    }

    fn register_memory(&mut self, length: usize, _access: &[Access]) -> Result<FakeMemory, Failure> {
        self.next += 1;
        Ok(FakeMemory { bytes: vec![0; length].into(), key: self.next, _alive: Alive::new(&self.alive) })
    }

    fn region(&self, memory: &FakeMemory) -> Region {
        Region { va: 0x1000, length: memory.bytes.borrow().len() as u64, lkey: memory.key, rkey: memory.key }
    }

    fn write_memory(&mut self, memory: &FakeMemory, offset: usize, bytes: &[u8]) {
        memory.bytes.borrow_mut()[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn read_memory(&mut self, memory: &FakeMemory, offset: usize, length: usize) -> Vec<u8> {
        memory.bytes.borrow()[offset..offset + length].to_vec()
    }

    fn post_receive(
        &mut self,
        qp: &mut FakeQp,
        wr_id: u64,
        _memory: &FakeMemory,
        _offset: usize,
        length: u32,
    ) -> Result<(), Failure> {
        qp.completions.push(completion(wr_id, "recv", length));
        Ok(())
    }

    fn post_send(&mut self, qp: &mut FakeQp, request: &SendRequest, _memory: &FakeMemory) -> Result<(), Failure> {
        qp.completions.push(completion(request.wr_id, "send", 0));
        Ok(())
    }

    fn poll(&mut self, qp: &mut FakeQp, max: usize) -> Result<Vec<Completion>, Failure> {
        let count = max.min(qp.completions.len());
        Ok(qp.completions.drain(..count).collect())
    }

    fn counters(&mut self) -> Result<BTreeMap<String, u64>, Failure> {
        Ok(BTreeMap::from([("rcvd_pkts".to_owned(), 3)]))
    }

    fn events(&mut self, max: usize) -> Vec<Event> {
        let count = max.min(self.events.len());
        self.events.drain(..count).collect()
    }
}

fn completion(wr_id: u64, opcode: &str, byte_len: u32) -> Completion {
    Completion {
        wr_id,
        status: "success".to_owned(),
        opcode: opcode.to_owned(),
        byte_len,
        immediate: None,
        invalidated_rkey: None,
        src_qpn: 0,
        grh: false,
    }
}
