//! Send requests of the device's own software.

use rocespec_control::{Access, Command, QpKind, SendRequest};

use super::software::hex;
use super::{Bench, Stop};
use crate::scenario::{Local, Post};

impl Bench<'_> {
    /// Posts send requests that are alike; they share a buffer.
    pub(super) fn post_sends(&mut self, post: &Post, line: u32) -> Result<(), Stop> {
        let (mr, offset) = match &post.local {
            Local::Region { name, offset, .. } => (self.region(name, line)?, *offset),
            Local::Nameless(length) => (self.buffer(*length)?, 0),
            Local::Bytes(bytes) => {
                let mr = self.buffer(bytes.len() as u32)?;
                if !bytes.is_empty() {
                    self.dut.control(&Command::WriteMemory { mr, offset: 0, data: hex(bytes) })?;
                }
                (mr, 0)
            }
        };
        let datagram = self.connection.transport == QpKind::Ud;
        let (gid, qkey) = self.connection.tester;
        for _ in 0..post.count {
            let request = SendRequest {
                wr_id: self.connection.posted,
                opcode: post.opcode,
                flags: post.flags.clone(),
                mr,
                offset,
                length: post.local.length(),
                remote_va: post.remote_va,
                rkey: post.rkey,
                immediate: post.immediate,
                compare_add: post.compare_add,
                swap: post.swap,
                remote_gid: datagram.then_some(gid),
                remote_qpn: if datagram { self.connection.tester_qpn.get() } else { 0 },
                remote_qkey: post.qkey.unwrap_or(if datagram { qkey } else { 0 }),
            };
            self.connection.posted += 1;
            self.dut.control(&Command::PostSend { qp: self.connection.qp, request })?;
        }
        self.last_step = self.dut.now();
        Ok(())
    }

    /// Memory of so many bytes, and at least one, which no region can do without.
    fn buffer(&mut self, length: u32) -> Result<u32, Stop> {
        let length = u64::from(length.max(1));
        Ok(self.connection.register(self.dut, None, length, &[Access::LocalWrite])?.mr)
    }
}
