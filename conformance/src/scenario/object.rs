//! The `dut` steps about objects beside the queue pair: shared receive queues, memory windows, notifications.

use rocespec_control::{Access, WindowKind};

use super::diagnostics::Problem;
use super::packet::{Named, Regions};
use super::script::Verb;
use super::verb::{RIGHTS, exactly, new_name, place, verb, wrong_form};
use super::words::{Piece, number, one_of};

/// What the device's own software does with an object beside the queue pair.
#[derive(Debug, Clone, PartialEq)]
pub enum ObjectVerb {
    /// `dut srq [foreign]`: makes a further shared receive queue in the XRC domain of the queue pair, or in another one.
    /// From then on receives go there and packets name it.
    CreateSrq {
        /// In another domain.
        foreign: bool,
    },
    /// `dut srq limit N`: arms the event of the shared receive queue.
    LimitSrq(u32),
    /// `dut window NAME KIND`: makes a memory window that is bound to nothing.
    AllocateWindow {
        /// Name in later `bind` steps.
        name: String,
        /// Kind.
        kind: WindowKind,
    },
    /// `dut bind …`: posts a request that binds a window.
    Bind(Bind),
    /// `dut invalidate NAME`: posts a request that takes the key of a window back.
    Invalidate(String),
    /// `dut deregister NAME refused`: the device must not let go of the region.
    KeepMemory(String),
    /// `dut arm [solicited]`: wants to be told of the next completion.
    Arm {
        /// Only of one that is solicited or failed.
        solicited: bool,
    },
}

/// `dut bind NAME WINDOW REGION[+OFFSET] BYTES RIGHT…`.
#[derive(Debug, Clone, PartialEq)]
pub struct Bind {
    /// Name of what the key opens, in packets.
    pub name: String,
    /// Name of the window.
    pub window: String,
    /// Name of the region.
    pub region: String,
    /// Offset in it.
    pub offset: u64,
    /// Bytes.
    pub length: u64,
    /// What a peer may do.
    pub access: Vec<Access>,
}

pub(super) fn srq(name: Piece<'_>, rest: Piece<'_>, _: &mut Regions) -> Result<Verb, Problem> {
    let words = rest.words();
    Ok(Verb::Object(match &words[..] {
        [] => ObjectVerb::CreateSrq { foreign: false },
        [foreign] if foreign.text == "foreign" => ObjectVerb::CreateSrq { foreign: true },
        [limit, count] if limit.text == "limit" => ObjectVerb::LimitSrq(number(*count, "the limit", 0..=256)? as u32),
        _ => return Err(wrong_form(name, rest, "`dut srq`, `dut srq foreign` or `dut srq limit COUNT`")),
    }))
}

pub(super) fn window(name: Piece<'_>, rest: Piece<'_>, regions: &mut Regions) -> Result<Verb, Problem> {
    let [window, kind] = exactly(name, rest, "`dut window NAME type_1` or `dut window NAME type_2`")?;
    let kind = one_of(kind, "kind of window", &[("type_1", WindowKind::Type1), ("type_2", WindowKind::Type2)])?;
    new_name(window, regions)?;
    regions.add(window.text, Named::Window, 0);
    Ok(Verb::Object(ObjectVerb::AllocateWindow { name: window.text.to_owned(), kind }))
}

pub(super) fn bind(name: Piece<'_>, rest: Piece<'_>, regions: &mut Regions) -> Result<Verb, Problem> {
    let words = rest.words();
    let [key, window, region, size, rights @ ..] = &words[..] else {
        return Err(wrong_form(name, rest, "`dut bind NAME WINDOW REGION[+OFFSET] BYTES RIGHT…`"));
    };
    new_name(*key, regions)?;
    if !regions.has(window.text, Named::Window) {
        return Err(window
            .wrong(format!("no memory window is called `{}` here", window.text))
            .label("make it with `dut window` in a step before this one"));
    }
    let length = number(*size, "the size of a window", 0..=super::verb::MAX_REGION)?;
    let (region, offset) = place(*region, length, regions)?;
    let access = rights_of(name, rights)?;
    regions.add(key.text, Named::Key, length);
    let (name, window) = (key.text.to_owned(), window.text.to_owned());
    Ok(Verb::Object(ObjectVerb::Bind(Bind { name, window, region, offset, length, access })))
}

pub(super) fn invalidate(name: Piece<'_>, rest: Piece<'_>, regions: &mut Regions) -> Result<Verb, Problem> {
    let [key] = exactly(name, rest, "`dut invalidate NAME`")?;
    if !regions.has(key.text, Named::Key) {
        return Err(key
            .wrong(format!("no window was bound as `{}` here", key.text))
            .label("bind it with `dut bind` in a step before this one"));
    }
    Ok(Verb::Object(ObjectVerb::Invalidate(key.text.to_owned())))
}

pub(super) fn arm(name: Piece<'_>, rest: Piece<'_>, _: &mut Regions) -> Result<Verb, Problem> {
    match rest.text {
        "" => Ok(Verb::Object(ObjectVerb::Arm { solicited: false })),
        "solicited" => Ok(Verb::Object(ObjectVerb::Arm { solicited: true })),
        _ => Err(wrong_form(name, rest, "`dut arm` or `dut arm solicited`")),
    }
}

pub(super) fn deregister(name: Piece<'_>, rest: Piece<'_>, regions: &mut Regions) -> Result<Verb, Problem> {
    let words = rest.words();
    let (region, refused) = match &words[..] {
        [region] => (*region, false),
        [region, refused] if refused.text == "refused" => (*region, true),
        _ => return Err(wrong_form(name, rest, "`dut deregister NAME` or `dut deregister NAME refused`")),
    };
    match place(region, 0, regions)? {
        (name, 0) if refused => Ok(Verb::Object(ObjectVerb::KeepMemory(name))),
        (name, 0) => Ok(Verb::DeregisterMemory(name)),
        _ => Err(region.wrong("a region is taken back as a whole")),
    }
}

/// Rights by name, or `none`.
pub(super) fn rights_of(verb: Piece<'_>, words: &[Piece<'_>]) -> Result<Vec<Access>, Problem> {
    match words {
        [] => Err(verb.wrong("which rights does a peer have?").label("name them after the size, or say `none`")),
        [none] if none.text == "none" => Ok(Vec::new()),
        words => words.iter().map(|word| one_of(*word, "right", RIGHTS)).collect(),
    }
}

/// `dut other VERB …`: what the second queue pair does.
pub(super) fn other(name: Piece<'_>, rest: Piece<'_>, regions: &mut Regions) -> Result<Verb, Problem> {
    let wrong = || {
        name.wrong("this step is not for the other queue pair")
            .label("recv, completions, qp, event, attach, modify, bind, invalidate and arm are")
    };
    // Looked at before anything is read: a line may hold the word any number of times.
    if rest.word().0.text == name.text {
        return Err(wrong());
    }
    let inner = verb(rest, regions)?;
    match inner {
        Verb::Receive { .. }
        | Verb::CheckCompletions(_)
        | Verb::CheckState(_)
        | Verb::CheckEvent(_)
        | Verb::Attach(_)
        | Verb::Modify(_)
        | Verb::Object(ObjectVerb::Bind(_) | ObjectVerb::Invalidate(_) | ObjectVerb::Arm { .. }) => {
            Ok(Verb::Other(Box::new(inner)))
        }
        _ => Err(wrong()),
    }
}
