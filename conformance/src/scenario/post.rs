//! The `dut` steps that post send requests: `dut send …`, `dut rdma_read …` and their like.

use rocespec_control::{Opcode, SendFlag};

use super::diagnostics::Problem;
use super::packet::Regions;
use super::script::{Local, Post, Remote, TesterMemory, Verb};
use super::verb::{MAX_REGION, MAX_REQUESTS, place};
use super::words::{Piece, bytes, number, one_of, suggestion};

const MAX_WORD: u64 = u32::MAX as u64;
/// Flags by name. A request is signaled unless it says otherwise.
const FLAGS: &[(&str, SendFlag)] =
    &[("fence", SendFlag::Fence), ("solicited", SendFlag::Solicited), ("inline", SendFlag::Inline)];

/// What a word of a request may be, by the verb.
struct Form {
    opcode: Opcode,
    data: Data,
    /// Words `name=…` that it knows, and those of them that it needs.
    fields: &'static [&'static str],
    needed: &'static [&'static str],
    /// Bare words that it knows beside flags.
    marks: &'static [&'static str],
}

/// What stands for the local end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Data {
    /// Bytes, or a length, or a place and a length.
    Out,
    /// A length, or a place and a length.
    In,
    /// Eight bytes, whose place may be named.
    Word,
    /// A length of the peer's memory.
    None,
}

fn form(verb: &str) -> Option<Form> {
    let form = |opcode, data, fields, needed, marks| Some(Form { opcode, data, fields, needed, marks });
    match verb {
        "send" => form(Opcode::Send, Data::Out, &["imm", "inv", "qkey", "srqn"], &[], &[]),
        "rdma_write" => form(Opcode::RdmaWrite, Data::Out, &["va", "rkey", "imm", "srqn"], &[], &[]),
        "rdma_read" => form(Opcode::RdmaRead, Data::In, &["va", "rkey"], &[], &[]),
        "comp_swap" => {
            form(Opcode::CompareSwap, Data::Word, &["va", "rkey", "compare", "swap"], &["compare", "swap"], &[])
        }
        "fetch_add" => form(Opcode::FetchAdd, Data::Word, &["va", "rkey", "add"], &["add"], &[]),
        "atomic_write" => form(Opcode::AtomicWrite, Data::Out, &["va", "rkey"], &[], &[]),
        "flush" => form(Opcode::Flush, Data::None, &["va", "rkey"], &[], &["global", "persistent", "whole"]),
        _ => None,
    }
}

/// Placement of a FLUSH: global visibility.
const GLOBAL: u32 = 1;
/// Placement of a FLUSH: persistence.
const PERSISTENT: u32 = 2;

/// Reads what follows a verb that posts send requests.
pub(super) fn post(name: Piece<'_>, rest: Piece<'_>, regions: &mut Regions) -> Result<Verb, Problem> {
    let form = form(name.text).ok_or_else(|| name.wrong("this posts nothing"))?;
    let words = rest.words();
    let (count, words) = match &words[..] {
        [count, times, words @ ..] if times.text == "x" => {
            (number(*count, "the count of requests", 1..=MAX_REQUESTS)?, words)
        }
        words => (1, words),
    };
    let (data, words) = words.split_at(own_words(form.data, words, &form).min(words.len()));
    let at = data.first().map_or(name, |first| rest.part(first.at - rest.at..rest.text.len()));
    let mut post = Post {
        count: count as u32,
        opcode: form.opcode,
        local: local(form.data, at, data, regions)?,
        flags: vec![SendFlag::Signaled],
        remote_va: Remote::Number(TesterMemory::VA),
        rkey: Remote::Number(u64::from(TesterMemory::RKEY)),
        immediate: 0,
        compare_add: 0,
        swap: 0,
        qkey: None,
        srqn: 0,
    };
    if form.opcode == Opcode::AtomicWrite && post.local.length() != 8 {
        return Err(at.wrong("an ATOMIC WRITE takes 8 bytes"));
    }
    let mut written: Vec<&str> = Vec::new();
    for word in words {
        let key = word.text.split('=').next().unwrap_or_default();
        if written.contains(&key) {
            return Err(word.wrong(format!("`{key}` stands twice")));
        }
        written.push(key);
        match word.split_at_char('=') {
            Some((key, value)) if form.fields.contains(&key.text) => field(&mut post, key, value, regions)?,
            _ => mark(&mut post, *word, &form)?,
        }
    }
    let names_memory = form.fields.contains(&"va") && regions.has_peer;
    let needed = form.needed.iter().chain(names_memory.then_some(&"va"));
    if let Some(missing) = needed.into_iter().find(|needed| !written.contains(needed)) {
        return Err(name.wrong(format!("`{missing}=…` is missing")));
    }
    if let (Remote::Region { name, .. }, false) = (&post.remote_va, written.contains(&"rkey")) {
        post.rkey = Remote::Region { name: name.clone(), offset: 0 };
    }
    Ok(Verb::Post(post))
}

/// How many words say what the local end is.
fn own_words(data: Data, words: &[Piece<'_>], form: &Form) -> usize {
    let Some(first) = words.first().map(|word| word.text) else { return 0 };
    let is_place = !first.starts_with(|first: char| first.is_ascii_digit()) && !first.starts_with("data=");
    match data {
        Data::Out | Data::In if is_place && words.len() > 1 => 2,
        Data::Out | Data::In | Data::None => 1,
        Data::Word => usize::from(!first.contains('=') && !is_mark(form, first)),
    }
}

fn is_mark(form: &Form, word: &str) -> bool {
    word == "unsignaled" || FLAGS.iter().any(|(flag, _)| *flag == word) || form.marks.contains(&word)
}

/// The device's own end: what stands in front of fields and flags.
fn local(kind: Data, at: Piece<'_>, words: &[Piece<'_>], regions: &Regions) -> Result<Local, Problem> {
    let length = |word: Piece<'_>| number(word, "the number of bytes", 0..=MAX_REGION).map(|length| length as u32);
    let is_length = |word: &Piece<'_>| word.text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_');
    let named = |word: Piece<'_>, length: u32| {
        let (name, offset) = place(word, u64::from(length), regions)?;
        Ok(Local::Region { name, offset, length })
    };
    match (kind, words) {
        (Data::Out | Data::In | Data::None, [only]) if is_length(only) => Ok(Local::Nameless(length(*only)?)),
        (Data::Out, [only]) => Ok(Local::Bytes(bytes(*only)?)),
        (Data::Out | Data::In, [region, size]) => named(*region, length(*size)?),
        (Data::Word, []) => Ok(Local::Nameless(8)),
        (Data::Word, [region]) => named(*region, 8),
        _ => Err(at.wrong("what is it about?").label(match kind {
            Data::Out => "bytes like `64B`, a length like `64`, or a place and a length like `mr+0x40 64`",
            Data::In => "a length like `64`, or a place and a length like `mr+0x40 64`",
            Data::Word => "nothing, or a place like `mr+0x40`, stands in front of the fields",
            Data::None => "a length like `64`",
        })),
    }
}

fn field(post: &mut Post, key: Piece<'_>, value: Piece<'_>, regions: &Regions) -> Result<(), Problem> {
    match key.text {
        "va" => post.remote_va = symbol(value, &ADDRESS, regions)?,
        "rkey" => post.rkey = symbol(value, &KEY, regions)?,
        "imm" => {
            post.immediate = number(value, "the immediate data", 0..=MAX_WORD)? as u32;
            post.opcode = match post.opcode {
                Opcode::Send => Opcode::SendWithImmediate,
                Opcode::RdmaWrite => Opcode::RdmaWriteWithImmediate,
                _ => return Err(key.wrong("a message has immediate data or a key to invalidate, not both")),
            };
        }
        "inv" => {
            let Remote::Number(invalidated) = symbol(value, &KEY, regions)? else {
                return Err(value.wrong("the key of a region beside `peer model` cannot be named here"));
            };
            post.immediate = invalidated as u32;
            if post.opcode != Opcode::Send {
                return Err(key.wrong("a message has immediate data or a key to invalidate, not both"));
            }
            post.opcode = Opcode::SendWithInvalidate;
        }
        "qkey" => post.qkey = Some(number(value, "the Q_Key", 0..=MAX_WORD)? as u32),
        "srqn" => post.srqn = number(value, "the number of the shared receive queue", 0..=0xff_ffff)? as u32,
        "swap" => post.swap = number(value, "the value", 0..=u64::MAX)?,
        _ => post.compare_add = number(value, "the value", 0..=u64::MAX)?,
    }
    Ok(())
}

/// What a symbol may stand for.
struct Symbol {
    what: &'static str,
    /// Largest number.
    most: u64,
    /// What `tester` stands for.
    tester: u64,
    /// Largest offset behind a name.
    farthest: u64,
}

const ADDRESS: Symbol =
    Symbol { what: "the address", most: u64::MAX, tester: TesterMemory::VA, farthest: TesterMemory::LENGTH - 1 };
const KEY: Symbol = Symbol { what: "the key", most: MAX_WORD, tester: TesterMemory::RKEY as u64, farthest: 0xffff };

/// A number, `tester` or, beside a peer, a region of the other end; a name with an offset or without.
fn symbol(value: Piece<'_>, of: &Symbol, regions: &Regions) -> Result<Remote, Problem> {
    if value.text.starts_with(|first: char| first.is_ascii_digit()) {
        return number(value, of.what, 0..=of.most).map(Remote::Number);
    }
    let (name, offset) = match value.split_at_char('+') {
        Some((name, offset)) => (name, number(offset, "the offset", 0..=of.farthest)?),
        None => (value, 0),
    };
    if regions.has_peer && regions.remote_length(name.text).is_some() {
        return Ok(Remote::Region { name: name.text.to_owned(), offset });
    }
    let label = match regions.has_peer {
        false if name.text == TesterMemory::NAME => return Ok(Remote::Number(of.tester + offset)),
        false => "a number, or the memory `tester`",
        true => "a number, or a region that the other end has registered before",
    };
    Err(value.wrong(format!("`{}` is not known here", value.text)).label(label))
}

fn mark(post: &mut Post, word: Piece<'_>, form: &Form) -> Result<(), Problem> {
    match word.text {
        "unsignaled" => post.flags.retain(|flag| *flag != SendFlag::Signaled),
        "global" if form.marks.contains(&"global") => post.immediate |= GLOBAL,
        "persistent" if form.marks.contains(&"persistent") => post.immediate |= PERSISTENT,
        "whole" if form.marks.contains(&"whole") => post.compare_add = 1,
        flag if FLAGS.iter().any(|(known, _)| *known == flag) => post.flags.push(one_of(word, "flag", FLAGS)?),
        other => {
            let flags = FLAGS.iter().map(|(flag, _)| *flag).chain(["unsignaled"]);
            let known: Vec<&str> = form.fields.iter().chain(form.marks).copied().chain(flags).collect();
            let key = other.split('=').next().unwrap_or_default();
            return Err(word.wrong(format!("`{other}` is no part of this step")).label(suggestion(key, &known)));
        }
    }
    Ok(())
}

impl Local {
    /// Bytes.
    pub fn length(&self) -> u32 {
        match self {
            Local::Bytes(bytes) => bytes.len() as u32,
            Local::Nameless(length) | Local::Region { length, .. } => *length,
        }
    }
}
