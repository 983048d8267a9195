//! What a script says, as data. Packets stay text until a live connection gives its symbols their values; they have
//! been checked when the scenario was loaded.

use std::time::Duration;

use rocespec_control::{Access, QpState};

/// One step of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Line of the scenario file, 1 = first.
    pub line: u32,
    /// The step as written, without its comment.
    pub text: String,
    /// What it does.
    pub action: Action,
    /// The rule that is broken when it is not met, `@RULE`; `None` = the first rule of the scenario.
    pub rule: Option<String>,
}

/// What a step does.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// `> PACKET`: the tester sends.
    Send(PacketText),
    /// `< PACKET` and `< one of`: the device must send one of these next.
    Expect {
        /// In the order written; at least one.
        any_of: Vec<Alternative>,
        /// Longest wait; `None` = the profile's.
        within: Option<Duration>,
    },
    /// `silence`: the device must send nothing to this queue pair.
    Silence {
        /// How long; `None` = the profile's.
        length: Option<Duration>,
    },
    /// `probe`: sends a duplicate of what was acknowledged last and wants it acknowledged again with unchanged numbers.
    /// Follows every `silence` that does not say `no probe`.
    Probe,
    /// `wait`: time passes; what the device sends meanwhile waits for the next step.
    Wait(Duration),
    /// `dut …`: the device's own software does something.
    Dut(Verb),
}

/// A packet in the notation, not yet resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketText {
    /// The text.
    pub text: String,
    /// Column of its first character in the scenario file, 1 = first.
    pub column: u32,
}

/// One of several right answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Alternative {
    /// The packet; `None` = nothing at all within the time (`nothing`).
    pub packet: Option<PacketText>,
    /// Right, but not what the standard recommends (`loose`): the verdict becomes LOOSE.
    pub loose: bool,
    /// Line of the scenario file.
    pub line: u32,
}

/// What the device's own software does.
#[derive(Debug, Clone, PartialEq)]
pub enum Verb {
    /// `dut recv COUNT x BYTES`: posts receives.
    Receive {
        /// How many.
        count: u32,
        /// Size of each buffer.
        length: u32,
    },
    /// `dut mr NAME BYTES RIGHT…`: registers memory; its name stands for its address and key from then on.
    RegisterMemory {
        /// Name in packets.
        name: String,
        /// Size.
        length: u64,
        /// Rights.
        access: Vec<Access>,
    },
    /// `dut write NAME+OFFSET BYTES`: puts bytes into memory.
    WriteMemory(MemoryBytes),
    /// `dut memory NAME+OFFSET BYTES`: memory must hold these bytes.
    CheckMemory(MemoryBytes),
    /// `dut completions …`: these and no other completions must be there.
    CheckCompletions(Vec<CompletionPattern>),
    /// `dut qp STATE`: the queue pair must be in this state.
    CheckState(QpState),
}

/// Bytes at a place in a named region.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryBytes {
    /// Name of the region.
    pub region: String,
    /// Offset in it.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// A completion that must be there. What is not written is free.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CompletionPattern {
    /// How many of them in a row.
    pub count: u32,
    /// Allowed kinds as in the control protocol, `recv`; empty = any. Not looked at unless the status is `success`.
    pub opcodes: Vec<String>,
    /// Allowed statuses; empty = `success` alone.
    pub statuses: Vec<String>,
    /// Bytes received.
    pub length: Option<u32>,
    /// Immediate data.
    pub immediate: Option<u32>,
}
