//! The ledger of rules: what the suite knows of the wire protocol, rule by rule.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::OnceLock;

use rocespec_reports::outcome::{self, Case, Level};
use serde::Deserialize;

/// All rules.
#[derive(Debug, Clone)]
pub struct Ledger {
    rules: Vec<Rule>,
}

/// One rule.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// `area.role.name`, or `lint.name` for a rule that every frame of a device has to keep.
    pub id: String,
    /// How binding it is.
    pub level: Level,
    /// Who has to keep it.
    pub role: Role,
    /// What it asks for, in our own words.
    pub statement: String,
    /// Compliance id or section; `clause unverified` where none could be confirmed.
    pub source: String,
    /// Whether something tests it.
    pub state: State,
    /// Why it cannot be tested; there when, and only when, the state is [`State::Untestable`].
    #[serde(default)]
    pub why: Option<String>,
    /// What shows that the rule can be seen to be broken, where no defect of the model breaks it: a test with frames that
    /// are wrong on purpose, as `file::test`.
    #[serde(default)]
    pub proof: Option<String>,
}

impl Rule {
    /// As a report shows it.
    pub fn for_report(&self) -> outcome::Rule {
        let Rule { id, level, statement, source, .. } = self.clone();
        outcome::Rule { id, level, statement, source }
    }
}

/// Who has to keep a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The side that executes requests.
    Responder,
    /// The side that sends requests.
    Requester,
    /// Whoever sends a frame.
    Sender,
    /// The side that answers congestion marks with CNPs.
    NotificationPoint,
    /// The side that slows down on CNPs.
    ReactionPoint,
    /// The Ethernet port.
    Link,
}

impl Role {
    /// Its name in the ledger.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Responder => "responder",
            Role::Requester => "requester",
            Role::Sender => "sender",
            Role::NotificationPoint => "notification_point",
            Role::ReactionPoint => "reaction_point",
            Role::Link => "link",
        }
    }
}

/// Whether a rule is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
pub enum State {
    /// By a scenario or, for `lint` rules, on every frame of a device.
    #[serde(rename = "tested")]
    Tested,
    /// It cannot be seen from outside.
    #[serde(rename = "untestable")]
    Untestable,
    /// Not yet.
    #[serde(rename = "to do")]
    ToDo,
}

impl State {
    /// Its name in the ledger.
    pub const fn name(self) -> &'static str {
        match self {
            State::Tested => "tested",
            State::Untestable => "untestable",
            State::ToDo => "to do",
        }
    }
}

/// Why a ledger could not be had.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The file cannot be read.
    #[error("cannot read the ledger {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The file is not a ledger.
    #[error("the ledger {path} is not right:\n{source}")]
    Parse {
        /// The file.
        path: String,
        /// Why.
        source: Box<toml::de::Error>,
    },
    /// A rule contradicts itself or another one.
    #[error("the ledger {path} is not right: {rule}: {message}")]
    Rule {
        /// The file.
        path: String,
        /// Id of the rule.
        rule: String,
        /// What is wrong.
        message: &'static str,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "rule")]
    rules: Vec<Rule>,
}

impl Ledger {
    /// The ledger that is built into this program.
    pub fn embedded() -> &'static Ledger {
        static LEDGER: OnceLock<Ledger> = OnceLock::new();
        LEDGER.get_or_init(|| match Ledger::parse("rules.toml", include_str!("../../fixtures/rules.toml")) {
            Ok(ledger) => ledger,
            // It is part of the program, and its tests read it.
            Err(error) => unreachable!("{error}"),
        })
    }

    /// Reads a ledger file.
    ///
    /// # Errors
    /// When it cannot be read or is not a ledger.
    pub fn load(path: &Path) -> Result<Ledger, LedgerError> {
        let shown = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|source| LedgerError::Read { path: shown.clone(), source })?;
        Ledger::parse(&shown, &text)
    }

    /// Reads the text of a ledger. `path` is how messages call it.
    ///
    /// # Errors
    /// When it is not TOML or not a ledger.
    pub fn parse(path: &str, text: &str) -> Result<Ledger, LedgerError> {
        let file: File = toml::from_str(text)
            .map_err(|source| LedgerError::Parse { path: path.to_owned(), source: Box::new(source) })?;
        let mut rules = file.rules;
        rules.sort_by(|a, b| a.id.cmp(&b.id));
        let wrong = |rule: &Rule, message| LedgerError::Rule { path: path.to_owned(), rule: rule.id.clone(), message };
        for (at, rule) in rules.iter().enumerate() {
            if at > 0 && rules[at - 1].id == rule.id {
                return Err(wrong(rule, "stands twice"));
            }
            if rule.statement.trim().is_empty() || rule.source.trim().is_empty() {
                return Err(wrong(rule, "needs a statement and a source"));
            }
            if (rule.state == State::Untestable) != rule.why.is_some() {
                return Err(wrong(rule, "says `why` when, and only when, its state is `untestable`"));
            }
            if rule.proof.is_some() && rule.state != State::Tested {
                return Err(wrong(rule, "has a `proof` although nothing tests it"));
            }
        }
        Ok(Ledger { rules })
    }

    /// Every rule, sorted by id.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rules that the cases and their findings name, as a report shows them. Sorted by id.
    pub fn cited_by(&self, cases: &[Case]) -> Vec<outcome::Rule> {
        let ids: BTreeSet<&str> = cases.iter().flat_map(Case::cited).collect();
        let rules = ids.into_iter().filter_map(|id| self.get(id));
        rules.map(Rule::for_report).collect()
    }

    /// By id.
    pub fn get(&self, id: &str) -> Option<&Rule> {
        self.rules.binary_search_by(|rule| rule.id.as_str().cmp(id)).ok().map(|at| &self.rules[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: &str = "[[rule]]\nid = 'a.b'\nlevel = 'must'\nrole = 'responder'\nstatement = 'x'\nsource = 'y'\n";

    fn message(text: &str) -> String {
        Ledger::parse("rules.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn the_embedded_ledger_reads() {
        let ledger = Ledger::embedded();
        assert!(ledger.rules().iter().all(|rule| ledger.get(&rule.id) == Some(rule)));
        assert_eq!(ledger.get("no.such.rule"), None);
    }

    #[test]
    fn a_ledger_that_contradicts_itself_is_refused() {
        let tested = format!("{RULE}state = 'tested'\n");
        assert!(Ledger::parse("", &tested).is_ok());
        assert!(message(&format!("{tested}{tested}")).contains("a.b: stands twice"));
        assert!(message(&format!("{RULE}state = 'untestable'\n")).contains("says `why`"));
        assert!(message(&format!("{tested}why = 'z'\n")).contains("says `why`"));
        assert!(message(&format!("{RULE}state = 'to do'\nproof = 'z'\n")).contains("has a `proof`"));
        assert!(message(&format!("{tested}colour = 'red'\n")).contains("unknown field `colour`"));
        assert!(message(&format!("{RULE}state = 'perhaps'\n")).contains("unknown variant `perhaps`"));
    }
}
