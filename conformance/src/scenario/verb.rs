//! The `dut` steps of a script: what the device's own software does.

use std::net::{Ipv4Addr, Ipv6Addr};

use rocespec_control::{Access, QpState};

use super::diagnostics::Problem;
use super::object;
use super::packet::{Named, Regions};
use super::post;
use super::script::{CompletionPattern, Local, MemoryBytes, TesterMemory, Verb};
use super::words::{Piece, bytes, number, one_of};

/// Rights by name.
pub(super) const RIGHTS: &[(&str, Access)] = &[
    ("local_write", Access::LocalWrite),
    ("remote_write", Access::RemoteWrite),
    ("remote_read", Access::RemoteRead),
    ("remote_atomic", Access::RemoteAtomic),
    ("flush_global", Access::FlushGlobal),
    ("flush_persistent", Access::FlushPersistent),
    ("mw_bind", Access::MwBind),
];

const STATES: &[(&str, QpState)] = &[
    ("reset", QpState::Reset),
    ("init", QpState::Init),
    ("rtr", QpState::Rtr),
    ("rts", QpState::Rts),
    ("sqd", QpState::Sqd),
    ("sqe", QpState::Sqe),
    ("error", QpState::Error),
];

/// Statuses of completions by the verbs' names.
const STATUSES: &[&str] = &[
    "success",
    "loc_len_err",
    "loc_qp_op_err",
    "loc_eec_op_err",
    "loc_prot_err",
    "wr_flush_err",
    "mw_bind_err",
    "bad_resp_err",
    "loc_access_err",
    "rem_inv_req_err",
    "rem_access_err",
    "rem_op_err",
    "retry_exc_err",
    "rnr_retry_exc_err",
    "rem_abort_err",
    "fatal_err",
    "general_err",
];

/// Kinds of completions.
const KINDS: &[&str] = &[
    "send",
    "rdma_write",
    "rdma_read",
    "comp_swap",
    "fetch_add",
    "atomic_write",
    "flush",
    "bind_mw",
    "local_inv",
    "recv",
    "recv_rdma_with_imm",
];

/// Events by the verbs' names, and the notification of a completion.
const EVENTS: &[&str] = &[
    "qp_fatal",
    "qp_req_err",
    "qp_access_err",
    "comm_est",
    "sq_drained",
    "qp_last_wqe_reached",
    "srq_limit_reached",
    "completion",
];

/// Most work requests that one step posts.
pub(super) const MAX_REQUESTS: u64 = 64;
const MAX_BUFFER: u64 = 1 << 20;
/// Largest region in bytes.
pub(super) const MAX_REGION: u64 = 16 << 20;

/// Reads what follows `dut`.
pub(super) fn verb(line: Piece<'_>, regions: &mut Regions) -> Result<Verb, Problem> {
    let (name, rest) = line.word();
    type Reader = fn(Piece<'_>, Piece<'_>, &mut Regions) -> Result<Verb, Problem>;
    let readers: &[(&str, Reader)] = &[
        ("recv", receive),
        ("mr", register),
        ("deregister", object::deregister),
        ("write", |name, rest, regions| memory(name, rest, regions).map(Verb::WriteMemory)),
        ("memory", |name, rest, regions| memory(name, rest, regions).map(Verb::CheckMemory)),
        ("completions", |name, rest, _| completions(name, rest).map(Verb::CheckCompletions)),
        ("qp", |name, rest, _| {
            let [state] = exactly(name, rest, "`dut qp STATE`")?;
            one_of(state, "state", STATES).map(Verb::CheckState)
        }),
        ("attach", |name, rest, _| {
            let [group] = exactly(name, rest, "`dut attach GID`")?;
            attach(group)
        }),
        ("modify", |name, rest, _| {
            let [state] = exactly(name, rest, "`dut modify STATE`")?;
            one_of(state, "state", STATES).map(Verb::Modify)
        }),
        ("event", |name, rest, _| {
            let [event] = exactly(name, rest, "`dut event NAME`")?;
            let known: Vec<(&str, &str)> = EVENTS.iter().map(|name| (*name, *name)).collect();
            one_of(event, "event", &known).map(|name| Verb::CheckEvent(name.to_owned()))
        }),
        ("send", post::post),
        ("rdma_write", post::post),
        ("rdma_read", post::post),
        ("comp_swap", post::post),
        ("fetch_add", post::post),
        ("atomic_write", post::post),
        ("flush", post::post),
        ("srq", object::srq),
        ("window", object::window),
        ("bind", object::bind),
        ("invalidate", object::invalidate),
        ("arm", object::arm),
        ("other", object::other),
    ];
    if name.text.is_empty() {
        return Err(line
            .wrong("what is the device's software to do?")
            .label("recv, send, mr, write, memory, completions, qp or another verb"));
    }
    one_of(name, "verb", readers)?(name, rest, regions)
}

/// Exactly so many words.
pub(super) fn exactly<'a, const N: usize>(
    verb: Piece<'_>,
    rest: Piece<'a>,
    form: &str,
) -> Result<[Piece<'a>; N], Problem> {
    rest.words().try_into().map_err(|_| wrong_form(verb, rest, form))
}

/// What stands behind the verb is not what has to.
pub(super) fn wrong_form(verb: Piece<'_>, rest: Piece<'_>, form: &str) -> Problem {
    let at = if rest.text.is_empty() { verb } else { rest };
    at.wrong(format!("the form of this step is {form}"))
}

fn receive(name: Piece<'_>, rest: Piece<'_>, regions: &mut Regions) -> Result<Verb, Problem> {
    let words = rest.words();
    let (count, words) = match words[..] {
        [count, times, ref buffer @ ..] if times.text == "x" => {
            (number(count, "the count of receives", 1..=MAX_REQUESTS)?, buffer)
        }
        ref buffer => (1, buffer),
    };
    let size = |word: Piece<'_>| number(word, "the size of a receive buffer", 0..=MAX_BUFFER);
    let buffer = match words {
        [length] => Local::Nameless(size(*length)? as u32),
        [region, length] => {
            let length = size(*length)?;
            let (name, offset) = place(*region, length, regions)?;
            Local::Region { name, offset, length: length as u32 }
        }
        _ => return Err(wrong_form(name, rest, "`dut recv [COUNT x] [NAME[+OFFSET]] BYTES`")),
    };
    Ok(Verb::Receive { count: count as u32, buffer })
}

fn attach(group: Piece<'_>) -> Result<Verb, Problem> {
    let v4 = group.text.parse().map(|v4: Ipv4Addr| v4.to_ipv6_mapped());
    let gid: Option<Ipv6Addr> = v4.ok().or_else(|| group.text.parse().ok());
    let gid = gid.ok_or_else(|| group.wrong("this is no address").label("like ff0e::1 or 239.1.1.1"))?;
    let is_group = gid.to_ipv4_mapped().map_or(gid.is_multicast(), |v4| v4.is_multicast());
    if is_group { Ok(Verb::Attach(gid)) } else { Err(group.wrong("this address is none of a multicast group")) }
}

fn register(name: Piece<'_>, rest: Piece<'_>, regions: &mut Regions) -> Result<Verb, Problem> {
    let words = rest.words();
    let [region, size, rights @ ..] = &words[..] else {
        return Err(wrong_form(name, rest, "`dut mr NAME BYTES RIGHT… [pd=other]`"));
    };
    new_name(*region, regions)?;
    let length = number(*size, "the size of a region", 1..=MAX_REGION)?;
    let (foreign, rights) = match rights {
        [rights @ .., last] if last.text == "pd=other" => (true, rights),
        rights => (false, rights),
    };
    let access = object::rights_of(name, rights)?;
    regions.add(region.text, Named::Memory, length);
    Ok(Verb::RegisterMemory { name: region.text.to_owned(), length, access, foreign })
}

/// Checks the name of a new region, window or binding.
pub(super) fn new_name(name: Piece<'_>, regions: &Regions) -> Result<(), Problem> {
    let good_name = |text: &str| {
        text.len() <= 32
            && text.starts_with(|c: char| c.is_ascii_lowercase())
            && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    if !good_name(name.text) {
        return Err(name
            .wrong(format!("`{}` cannot be the name of a region", name.text))
            .label("a lower-case letter, then lower-case letters, digits and _"));
    }
    if name.text == TesterMemory::NAME {
        return Err(name.wrong("`tester` is the memory of the tester"));
    }
    if regions.is_taken(name.text) {
        return Err(name.wrong(format!("`{}` is registered already", name.text)));
    }
    Ok(())
}

fn memory(name: Piece<'_>, rest: Piece<'_>, regions: &Regions) -> Result<MemoryBytes, Problem> {
    let form = format!("`dut {} NAME[+OFFSET] BYTES`", name.text);
    let [place, content] = exactly(name, rest, &form)?;
    let content = bytes(content)?;
    if content.is_empty() {
        return Err(rest.wrong("no bytes"));
    }
    let (region, offset) = self::place(place, content.len() as u64, regions)?;
    Ok(MemoryBytes { region, offset, bytes: content })
}

/// `NAME[+OFFSET]`, where so many bytes of a registered region lie.
pub(super) fn place(place: Piece<'_>, length: u64, regions: &Regions) -> Result<(String, u64), Problem> {
    let (region, offset) = match place.split_at_char('+') {
        Some((region, offset)) => (region, number(offset, "the offset", 0..=MAX_REGION - 1)?),
        None => (place, 0),
    };
    let Some(size) = regions.length(region.text) else {
        return Err(region
            .wrong(format!("no region is called `{}` here", region.text))
            .label("register it with `dut mr` in a step before this one"));
    };
    if offset + length > size {
        return Err(place
            .wrong(format!("this goes past the end of `{}`", region.text))
            .label(format!("it has {size} bytes")));
    }
    Ok((region.text.to_owned(), offset))
}

fn completions(name: Piece<'_>, rest: Piece<'_>) -> Result<Vec<CompletionPattern>, Problem> {
    if rest.text.is_empty() {
        return Err(name.wrong("which completions?").label("`none`, or kinds like `recv` and `recv:2`"));
    }
    if rest.text == "none" {
        return Ok(Vec::new());
    }
    let mut patterns = Vec::new();
    let mut rest = rest;
    while !rest.text.is_empty() {
        let end = rest.text.find(|c: char| c.is_whitespace() || c == '(').unwrap_or(rest.text.len());
        let (head, after) = rest.cut(end);
        let mut pattern = completion_head(head)?;
        rest = match after.text.strip_prefix('(') {
            None => after,
            Some(_) => {
                let Some(close) = after.text.find(')') else {
                    return Err(after.part(0..1).wrong("no `)` closes this"));
                };
                let inner = after.part(1..close);
                for field in inner.words() {
                    completion_field(field, &mut pattern)?;
                }
                after.part(close + 1..after.text.len())
            }
        }
        .trim();
        patterns.push(pattern);
    }
    Ok(patterns)
}

/// `recv`, `recv|recv_rdma_with_imm`, `recv:2`.
fn completion_head(head: Piece<'_>) -> Result<CompletionPattern, Problem> {
    let (kinds, count) = match head.split_at_char(':') {
        Some((kinds, count)) => (kinds, number(count, "the count of completions", 1..=MAX_REQUESTS)?),
        None => (head, 1),
    };
    let opcodes = names(kinds, "kind of completion", KINDS)?;
    Ok(CompletionPattern { count: count as u32, opcodes, ..CompletionPattern::default() })
}

fn completion_field(field: Piece<'_>, pattern: &mut CompletionPattern) -> Result<(), Problem> {
    let Some((key, value)) = field.split_at_char('=') else {
        return Err(field.wrong("the form is `len=…`, `imm=…`, `status=…` or `from=tester`"));
    };
    let set = match one_of(key, "field of a completion", &[("len", 0), ("imm", 1), ("status", 2), ("from", 3)])? {
        0 => pattern.length.replace(number(value, "the length", 0..=u64::from(u32::MAX))? as u32).is_some(),
        1 => pattern.immediate.replace(number(value, "the immediate data", 0..=u64::from(u32::MAX))? as u32).is_some(),
        3 => {
            one_of(value, "sender", &[(TesterMemory::NAME, ())])?;
            std::mem::replace(&mut pattern.from_tester, true)
        }
        _ => {
            let again = !pattern.statuses.is_empty();
            pattern.statuses = names(value, "status", STATUSES)?;
            again
        }
    };
    if set { Err(key.wrong(format!("`{}` stands twice", key.text))) } else { Ok(()) }
}

/// Names with `|` between them.
fn names(list: Piece<'_>, what: &str, known: &[&'static str]) -> Result<Vec<String>, Problem> {
    let known: Vec<(&str, &str)> = known.iter().map(|name| (*name, *name)).collect();
    let mut found = Vec::new();
    let mut rest = Some(list);
    while let Some(piece) = rest {
        let (name, more) = piece.split_at_char('|').map_or((piece, None), |(name, more)| (name, Some(more)));
        found.push(one_of(name, what, &known)?.to_owned());
        rest = more;
    }
    Ok(found)
}
