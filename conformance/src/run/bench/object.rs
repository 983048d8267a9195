//! Objects beside the queue pair: shared receive queues, memory windows, notifications.

use rocespec_control::{BindRequest, Command, ErrorCode, MemoryRegion, Opcode, Reply, SendFlag, SendRequest};

use super::{Bench, Stop};
use crate::dut::DutError;
use crate::run::connection::unexpected;
use crate::scenario::{Bind, ObjectVerb};

impl Bench<'_> {
    /// Carries out a `dut` step about such an object.
    pub(super) fn object(&mut self, verb: &ObjectVerb, line: u32) -> Result<(), Stop> {
        match verb {
            ObjectVerb::CreateSrq { foreign } => {
                let (dut, connection) = self.speaker();
                let number = connection.objects.create_srq(dut, *foreign)?;
                connection.name_srq(number);
            }
            ObjectVerb::LimitSrq(limit) => {
                let Some(srq) = self.here().objects.srqs.last().copied() else {
                    return Err(self.cannot(&format!("line {line}: the connection has no shared receive queue")));
                };
                self.order(&Command::ModifySrq { srq, limit: *limit })?;
            }
            ObjectVerb::AllocateWindow { name, kind } => {
                let (dut, connection) = self.speaker();
                connection.objects.allocate_window(dut, name, *kind)?;
            }
            ObjectVerb::Bind(bind) => self.bind(bind, line)?,
            ObjectVerb::Invalidate(name) => self.invalidate(name, line)?,
            ObjectVerb::KeepMemory(name) => self.keep_memory(name, line)?,
            ObjectVerb::Arm { solicited } => {
                let (qp, solicited_only) = (self.qp(), *solicited);
                self.order(&Command::RequestNotification { qp, solicited_only })?;
            }
        }
        Ok(())
    }

    /// Posts a request that binds a window.
    fn bind(&mut self, bind: &Bind, line: u32) -> Result<(), Stop> {
        let Some(region) = self.here().region(&bind.region).copied() else {
            return Err(self.cannot(&format!("line {line}: no region {:?}", bind.region)));
        };
        let Some(window) = self.here().objects.windows.get(&bind.window).copied() else {
            return Err(self.cannot(&format!("line {line}: no window {:?}", bind.window)));
        };
        let request = BindRequest {
            wr_id: self.here().next_id(),
            window,
            mr: region.mr,
            offset: bind.offset,
            length: bind.length,
            access: bind.access.clone(),
        };
        let rkey = match self.order(&Command::BindWindow { qp: self.qp(), request })? {
            Reply::Window { rkey, .. } => rkey,
            other => return Err(unexpected("bind_window", &other).into()),
        };
        let key = MemoryRegion { va: region.va.wrapping_add(bind.offset), length: bind.length, rkey, ..region };
        self.here().objects.keys.push((bind.name.clone(), key));
        if let Some(listener) = self.listener() {
            listener.remote.push((bind.name.clone(), key));
        }
        self.last_step = self.dut.now();
        Ok(())
    }

    /// Does something with the second queue pair in the place of the first.
    pub(super) fn as_other(&mut self, act: impl FnOnce(&mut Self) -> Result<(), Stop>) -> Result<(), Stop> {
        let (dut, connection) = self.speaker();
        let other = connection.other_qp(dut)?;
        let own = std::mem::replace(&mut self.here().qp, other);
        let result = act(self);
        self.here().qp = own;
        result
    }

    fn invalidate(&mut self, name: &str, line: u32) -> Result<(), Stop> {
        let key = self.here().objects.keys.iter().find(|(known, _)| known == name).map(|(_, key)| key.rkey);
        let Some(rkey) = key else {
            return Err(self.cannot(&format!("line {line}: no window was bound as {name:?}")));
        };
        let request = SendRequest {
            wr_id: self.here().next_id(),
            opcode: Opcode::LocalInvalidate,
            flags: vec![SendFlag::Signaled],
            mr: self.buffer(1)?,
            offset: 0,
            length: 0,
            remote_va: 0,
            rkey: 0,
            immediate: rkey,
            compare_add: 0,
            swap: 0,
            remote_gid: None,
            remote_qpn: 0,
            remote_qkey: 0,
            remote_srqn: 0,
        };
        self.order(&Command::PostSend { qp: self.qp(), request })?;
        self.last_step = self.dut.now();
        Ok(())
    }

    /// The device must refuse to let go of a region.
    fn keep_memory(&mut self, name: &str, line: u32) -> Result<(), Stop> {
        let mr = self.region(name, line)?;
        match self.order(&Command::DeregisterMemory { mr }) {
            Err(DutError::Refused(refusal)) if refusal.code == ErrorCode::Refused => Ok(()),
            Ok(_) => {
                self.here().taken_back.insert(name.to_owned());
                let expected = format!("`{name}` stays while a window is bound to it");
                Err(self.found(line, None, expected, "it was deregistered".to_owned(), ""))
            }
            Err(error) => Err(error.into()),
        }
    }
}
