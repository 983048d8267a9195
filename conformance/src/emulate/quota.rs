//! How much a tester may have at one time. The model itself has room for far more than a machine should give.

use std::collections::BTreeMap;

use rocespec_control::limits::{MAX_OBJECTS, MAX_TOTAL_MEMORY};
use rocespec_control::{Command, ErrorCode, Failure, Reply};

/// What a tester has.
#[derive(Debug, Default)]
pub(super) struct Quota {
    /// Bytes of each memory region by its handle.
    regions: BTreeMap<u32, u64>,
    /// Other objects, by kind: how many.
    objects: BTreeMap<&'static str, usize>,
}

/// The kind of object that an order makes (true) or takes away (false).
fn kind(command: &Command) -> Option<(&'static str, bool)> {
    Some(match command {
        Command::CreateQp { .. } => ("queue pairs", true),
        Command::DestroyQp { .. } => ("queue pairs", false),
        Command::CreatePd { .. } => ("protection domains", true),
        Command::DestroyPd { .. } => ("protection domains", false),
        Command::CreateXrcDomain { .. } => ("XRC domains", true),
        Command::DestroyXrcDomain { .. } => ("XRC domains", false),
        Command::CreateSrq { .. } => ("shared receive queues", true),
        Command::DestroySrq { .. } => ("shared receive queues", false),
        Command::AllocateWindow { .. } => ("memory windows", true),
        Command::DeallocateWindow { .. } => ("memory windows", false),
        _ => return None,
    })
}

impl Quota {
    /// Is there room for what an order asks for?
    ///
    /// # Errors
    /// [`ErrorCode::BadArgument`] where there is none.
    pub(super) fn allows(&self, command: &Command) -> Result<(), Failure> {
        let full = |message: String| Err(Failure { code: ErrorCode::BadArgument, message, errno: None });
        if let Command::RegisterMemory { length, .. } = command {
            if self.regions.len() >= MAX_OBJECTS {
                return full(format!("there are {MAX_OBJECTS} memory regions already: deregister some first"));
            }
            if self.regions.values().sum::<u64>().saturating_add(*length) > MAX_TOTAL_MEMORY {
                return full(format!("all regions together may have {MAX_TOTAL_MEMORY} bytes"));
            }
        }
        match kind(command) {
            Some((what, true)) if self.objects.get(what).is_some_and(|count| *count >= MAX_OBJECTS) => {
                full(format!("there are {MAX_OBJECTS} {what} already: destroy some first"))
            }
            _ => Ok(()),
        }
    }

    /// An order was carried out.
    pub(super) fn note(&mut self, command: &Command, reply: &Reply) {
        match (command, reply) {
            (Command::RegisterMemory { length, .. }, Reply::Memory(region)) => {
                self.regions.insert(region.mr, *length);
            }
            (Command::DeregisterMemory { mr }, _) => {
                self.regions.remove(mr);
            }
            (Command::Reset {}, _) => *self = Quota::default(),
            _ => {}
        }
        if let Some((what, is_new)) = kind(command) {
            let count = self.objects.entry(what).or_default();
            *count = if is_new { *count + 1 } else { count.saturating_sub(1) };
        }
    }
}
