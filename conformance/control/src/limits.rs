//! Bounds that keep a tester's slip from taking the machine down. `docs/control-protocol.md` names the same numbers.

use crate::command::Command;
use crate::qp::QpAttributes;
use crate::reply::{ErrorCode, Failure};

/// Queue pairs at one time, memory regions at one time, and so on for each kind of object.
pub const MAX_OBJECTS: usize = 4096;
/// Work requests in one queue.
pub const MAX_QUEUE: u32 = 16_384;
/// Bytes of one region.
pub const MAX_REGION: u64 = 16 << 20;
/// Bytes of all regions together.
pub const MAX_TOTAL_MEMORY: u64 = 128 << 20;
/// Bytes that one command reads or writes.
pub const MAX_TRANSFER: u64 = 1 << 20;
/// Completions that one command takes.
pub const MAX_POLL: u32 = 1024;
/// Asynchronous events that one command takes.
pub const MAX_EVENTS: usize = 1024;

/// Checks what the protocol bounds in an order, whatever the device. What the device bounds is the device's to refuse.
///
/// # Errors
/// [`ErrorCode::BadArgument`], with the argument, its value and the bound.
pub fn check(command: &Command) -> Result<(), Failure> {
    match command {
        Command::CreateQp { capacity, .. } => {
            at_most("max_send_wr", capacity.max_send_wr, MAX_QUEUE)?;
            at_most("max_recv_wr", capacity.max_recv_wr, MAX_QUEUE)
        }
        Command::CreateSrq { max_wr, .. } => at_most("max_wr", *max_wr, MAX_QUEUE),
        Command::ModifyQp { attributes, .. } => check_attributes(attributes),
        Command::RegisterMemory { length, .. } if *length == 0 || *length > MAX_REGION => {
            Err(bad(format!("length {length} is not in 1..={MAX_REGION}")))
        }
        Command::WriteMemory { data, .. } => at_most("bytes of data", data.len() as u64 / 2, MAX_TRANSFER),
        Command::ReadMemory { length, .. } => at_most("length", *length, MAX_TRANSFER),
        Command::Poll { max, .. } | Command::PollSrq { max, .. } if *max == 0 || *max > MAX_POLL => {
            Err(bad(format!("max {max} is not in 1..={MAX_POLL}")))
        }
        _ => Ok(()),
    }
}

fn check_attributes(attributes: &QpAttributes) -> Result<(), Failure> {
    const BITS_24: u32 = 0xff_ffff;
    fits("dest_qpn", attributes.dest_qpn, BITS_24)?;
    fits("rq_psn", attributes.rq_psn, BITS_24)?;
    fits("sq_psn", attributes.sq_psn, BITS_24)?;
    fits("timeout", attributes.timeout, 31)?;
    fits("retry_count", attributes.retry_count, 7)?;
    fits("rnr_retry", attributes.rnr_retry, 7)?;
    fits("min_rnr_timer", attributes.min_rnr_timer, 31)?;
    fits("flow_label", attributes.flow_label, 0xf_ffff)?;
    fits("service_level", attributes.service_level, 7)?;
    match attributes.path_mtu {
        None | Some(256 | 512 | 1024 | 2048 | 4096) => Ok(()),
        Some(other) => Err(bad(format!("path_mtu {other} is not one of 256, 512, 1024, 2048, 4096"))),
    }
}

fn fits<T: PartialOrd + std::fmt::Display>(name: &str, value: Option<T>, limit: T) -> Result<(), Failure> {
    match value {
        Some(value) if value > limit => Err(bad(format!("{name} {value} is more than {limit}"))),
        _ => Ok(()),
    }
}

fn at_most<T: PartialOrd + std::fmt::Display>(what: &str, value: T, limit: T) -> Result<(), Failure> {
    if value <= limit { Ok(()) } else { Err(bad(format!("{what}: {value} is more than {limit}"))) }
}

fn bad(message: String) -> Failure {
    Failure { code: ErrorCode::BadArgument, message, errno: None }
}
