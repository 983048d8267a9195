//! Which differences of a device are known, and why they are there. `docs/compare.md` is the manual of the files.

use serde::{Deserialize, Serialize};

use super::Governed;
use super::compare::Difference;
use crate::ledger::Ledger;

/// The known differences of a device.
#[derive(Debug, Clone, Default)]
pub struct Explanations(Vec<Explanation>);

/// A known difference. Every pattern that is given has to fit.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Explanation {
    /// Cases in which it may show, by id; behind a `#` the remark of the script at the packet sent last or, for what
    /// software sees at the end, at any packet. `*` stands for anything. Empty: all.
    #[serde(default)]
    pub cases: Vec<String>,
    /// Words of one packet that the tester sent just before.
    #[serde(default)]
    pub sent: String,
    /// What differs: the name of a field, `packet`, `completion`, `qp`, `event`, `memory`, `refusal` or `death`.
    pub subject: String,
    /// Words of what the model has; `nothing` for no packet.
    #[serde(default)]
    pub model: String,
    /// Words of what the device has.
    #[serde(default)]
    pub device: String,
    /// What kind of difference it is.
    pub kind: Kind,
    /// The rule that leaves it free, or that the device breaks.
    pub rule: String,
    /// Why, in one sentence.
    pub why: String,
    /// True when the two are in different states from there on: what differs later in the case follows from it.
    #[serde(default)]
    pub parts: bool,
}

/// What kind of difference it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The standard allows both.
    Freedom,
    /// The device breaks a rule.
    Deviation,
    /// It follows from an earlier difference of the same case.
    Follows,
    /// Nobody has said why.
    Unexplained,
}

/// A difference with its explanation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// The difference.
    #[serde(flatten)]
    pub difference: Difference,
    /// What kind of difference it is.
    pub kind: Kind,
    /// The rule that leaves it free or is broken, where one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Why it is there; empty while nobody has said.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// Place of the explanation in the list, 0 = first.
    #[serde(skip)]
    pub by: Option<usize>,
}

/// Why a file of explanations could not be used.
#[derive(Debug, thiserror::Error)]
pub enum ExplanationsError {
    /// It is not such a file.
    #[error("the differences {name} are not right:\n{source}")]
    Parse {
        /// The file.
        name: String,
        /// Why.
        source: Box<toml::de::Error>,
    },
    /// An entry contradicts itself.
    #[error("the differences {name} are not right: entry {entry} ({why:?}): {message}")]
    Entry {
        /// The file.
        name: String,
        /// Which, 1 = first.
        entry: usize,
        /// What it says.
        why: String,
        /// What is wrong.
        message: String,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default, rename = "difference")]
    differences: Vec<Explanation>,
}

impl Explanations {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// When it is not TOML, when an entry lacks something, when it names a rule that the ledger does not know, or when it
    /// would explain anything.
    pub fn parse(name: &str, text: &str) -> Result<Explanations, ExplanationsError> {
        let file: File = toml::from_str(text)
            .map_err(|source| ExplanationsError::Parse { name: name.to_owned(), source: Box::new(source) })?;
        for (at, entry) in file.differences.iter().enumerate() {
            if let Some(message) = fault(entry) {
                let why = entry.why.clone();
                return Err(ExplanationsError::Entry { name: name.to_owned(), entry: at + 1, why, message });
            }
        }
        Ok(Explanations(file.differences))
    }

    /// These and those.
    pub fn join(&mut self, more: Explanations) {
        self.0.extend(more.0);
    }

    /// The entries in order.
    pub fn entries(&self) -> &[Explanation] {
        &self.0
    }

    /// Says of each difference of a case what it is. An entry of the file goes before what the tool itself knows to be free.
    pub fn explain(&self, case: &str, differences: Vec<Difference>) -> Vec<Explained> {
        let mut parted = false;
        let mut explained = Vec::new();
        for difference in differences {
            let by = self.0.iter().position(|entry| entry.fits(case, &difference));
            let entry = by.and_then(|at| self.0.get(at));
            let (kind, rule, why) = match (entry, &difference.governed) {
                _ if parted => (Kind::Follows, None, String::new()),
                (Some(entry), _) => (entry.kind, Some(entry.rule.clone()), entry.why.clone()),
                (None, Governed::Free(why)) => (Kind::Freedom, None, (*why).to_owned()),
                (None, Governed::Rule(rule)) => (Kind::Unexplained, Some(rule.clone()), String::new()),
                (None, Governed::Open) => (Kind::Unexplained, None, String::new()),
            };
            let by = by.filter(|_| !parted);
            parted |= entry.is_some_and(|entry| entry.parts);
            explained.push(Explained { difference, kind, rule, why, by });
        }
        explained
    }
}

fn fault(entry: &Explanation) -> Option<String> {
    if Ledger::embedded().get(&entry.rule).is_none() {
        return Some(format!("the ledger has no rule {:?}", entry.rule));
    }
    if !matches!(entry.kind, Kind::Freedom | Kind::Deviation) {
        return Some("a kind is `freedom` or `deviation`".to_owned());
    }
    if entry.sent.is_empty() && entry.model.is_empty() && entry.device.is_empty() {
        return Some("say what was sent, what the model has or what the device has".to_owned());
    }
    entry.why.trim().is_empty().then(|| "say why".to_owned())
}

impl Explanation {
    /// True when it may show in this case.
    pub fn concerns(&self, case: &str) -> bool {
        self.cases.is_empty() || self.cases.iter().any(|pattern| glob(split(pattern).0, case))
    }

    fn fits(&self, case: &str, difference: &Difference) -> bool {
        let here = |pattern: &String| {
            let (id, remark) = split(pattern);
            let said = |remark: &str| {
                glob(remark, &difference.remark) || difference.remarks.iter().any(|said| glob(remark, said))
            };
            glob(id, case) && remark.is_none_or(said)
        };
        (self.cases.is_empty() || self.cases.iter().any(here))
            && self.subject == difference.subject.word()
            && (self.sent.is_empty() || difference.sent.iter().any(|line| has_words(line, &self.sent)))
            && has_words(&difference.expected, &self.model)
            && has_words(&difference.seen, &self.device)
    }
}

/// A pattern for cases: the id, and the remark if it asks for one.
fn split(pattern: &str) -> (&str, Option<&str>) {
    pattern.split_once('#').map_or((pattern, None), |(id, remark)| (id, Some(remark)))
}

/// True when every word of `wanted` is a word of `line`.
fn has_words(line: &str, wanted: &str) -> bool {
    wanted.split_whitespace().all(|wanted| line.split_whitespace().any(|word| glob(wanted, word)))
}

/// True when the text is the pattern, in which `*` stands for anything.
fn glob(pattern: &str, text: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut rest) = text.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = tail.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::{Explanations, Kind, glob};
    use crate::golden::{Exchange, Fact, Trace, compare};

    #[test]
    fn what_shows_at_the_end_may_come_from_any_packet() {
        let known = "[[difference]]\ncases = ['x#ghost']\nsubject = 'qp'\nmodel = 'error'\ndevice = 'rts'\n\
                     kind = 'deviation'\nrule = 'rc.requester.ghost-ack'\nwhy = 'takes it'\n";
        let known = Explanations::parse("known", known).unwrap();
        let side = |remark: &str, line, state: &str| {
            let facts = vec![Fact { subject: "qp".to_owned(), value: state.to_owned() }];
            let early = Exchange { line: 1, remark: remark.to_owned(), ..Exchange::default() };
            let late = Exchange { line: 2, remark: "fatal".to_owned(), ..Exchange::default() };
            Trace { exchanges: vec![early, late, Exchange { line, facts, ..Exchange::default() }] }
        };
        for (remark, line, kind) in
            [("ghost", 0, Kind::Deviation), ("old", 0, Kind::Unexplained), ("ghost", 3, Kind::Unexplained)]
        {
            let differences = compare(&side(remark, line, "error"), &side(remark, line, "rts"));
            assert_eq!(known.explain("x", differences)[0].kind, kind, "{remark} {line}");
        }
    }

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, text, fits) in [
            ("ACK", "ACK", true),
            ("ACK", "ACKS", false),
            ("SEND_*", "SEND_ONLY", true),
            ("*_ONLY", "SEND_ONLY", true),
            ("*_ONLY", "SEND_ONLY_ONLY", true),
            ("*_ONLY", "SEND_ONLY_WITH_IMMEDIATE", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("*", "", true),
            ("", "x", false),
            ("rc/*/psn*", "rc/responder/psn-gap[ip=v4]", true),
        ] {
            assert_eq!(glob(pattern, text), fits, "{pattern} {text}");
        }
    }
}
