//! Bounds that keep a tester's slip from taking the machine down. `docs/control-protocol.md` names the same numbers.

use rocespec_control::{ErrorCode, Failure, QpAttributes};

use crate::backend::failure;

/// Queue pairs at one time, and memory regions at one time.
pub(crate) const MAX_OBJECTS: usize = 4096;
/// Work requests in one queue.
pub(crate) const MAX_QUEUE: u64 = 16_384;
/// Bytes of one region.
pub(crate) const MAX_REGION: u64 = 16 << 20;
/// Bytes of all regions together.
pub(crate) const MAX_TOTAL_MEMORY: u64 = 128 << 20;
/// Bytes that one command reads or writes.
pub(crate) const MAX_TRANSFER: u64 = 1 << 20;
/// Completions that one command takes.
pub(crate) const MAX_POLL: u32 = 1024;
/// Asynchronous events that one command takes.
pub(crate) const MAX_EVENTS: usize = 1024;

/// Checks what the protocol bounds. What the device bounds is the device's to refuse.
pub(crate) fn check_attributes(attributes: &QpAttributes) -> Result<(), Failure> {
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
        Some(other) => {
            let message = format!("path_mtu {other} is not one of 256, 512, 1024, 2048, 4096");
            Err(failure(ErrorCode::BadArgument, message))
        }
    }
}

fn fits<T: PartialOrd + std::fmt::Display>(name: &str, value: Option<T>, limit: T) -> Result<(), Failure> {
    match value {
        Some(value) if value > limit => {
            Err(failure(ErrorCode::BadArgument, format!("{name} {value} is more than {limit}")))
        }
        _ => Ok(()),
    }
}
