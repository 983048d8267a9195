//! Send requests of the device's own software.

use rocespec_control::{Command, MemoryRegion, QpKind, SendRequest};

use super::software::hex;
use super::{Bench, Stop};
use crate::scenario::{Local, Post, Remote};

impl Bench<'_> {
    /// Posts send requests that are alike; they share a buffer.
    pub(super) fn post_sends(&mut self, post: &Post, line: u32) -> Result<(), Stop> {
        let (mr, offset) = match &post.local {
            Local::Region { name, offset, .. } => (self.region(name, line)?, *offset),
            Local::Nameless(length) => (self.buffer(u64::from(*length))?, 0),
            Local::Bytes(bytes) => {
                let mr = self.buffer(bytes.len() as u64)?;
                if !bytes.is_empty() {
                    self.order(&Command::WriteMemory { mr, offset: 0, data: hex(bytes) })?;
                }
                (mr, 0)
            }
        };
        let remote_va = self.remote(&post.remote_va, line, |region| region.va)?;
        let rkey = self.remote(&post.rkey, line, |region| u64::from(region.rkey))? as u32;
        let datagram = self.here().transport == QpKind::Ud;
        let (gid, qkey) = self.here().tester;
        for _ in 0..post.count {
            let request = SendRequest {
                wr_id: self.here().next_id(),
                opcode: post.opcode,
                flags: post.flags.clone(),
                mr,
                offset,
                length: post.local.length(),
                remote_va,
                rkey,
                immediate: post.immediate,
                compare_add: post.compare_add,
                swap: post.swap,
                remote_gid: datagram.then_some(gid),
                remote_qpn: if datagram { self.here().tester_qpn.get() } else { 0 },
                remote_qkey: post.qkey.unwrap_or(if datagram { qkey } else { 0 }),
                remote_srqn: post.srqn,
            };
            self.order(&Command::PostSend { qp: self.qp(), request })?;
        }
        self.last_step = self.dut.now();
        Ok(())
    }

    /// An address or a key of the other end, `of` a region.
    fn remote(&mut self, symbol: &Remote, line: u32, of: fn(&MemoryRegion) -> u64) -> Result<u64, Stop> {
        match symbol {
            Remote::Number(number) => Ok(*number),
            Remote::Region { name, offset } => {
                let region = self.here().remote.iter().find(|(known, _)| known == name).map(|(_, region)| of(region));
                let first = region.ok_or_else(|| self.cannot(&format!("line {line}: no region {name:?}")))?;
                Ok(first.wrapping_add(*offset))
            }
        }
    }
}
