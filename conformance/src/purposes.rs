//! Test purposes: what a certification of RoCE asks for, one line each, and the scenarios that test it.
//!
//! Rules say what an implementation has to do, purposes what a laboratory wants to have seen. Both lead to scenarios.

use std::sync::OnceLock;

use rocespec_reports::outcome::Level;
use serde::Deserialize;

/// Every purpose, in the order of the file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Purposes {
    #[serde(rename = "purpose")]
    purposes: Vec<Purpose>,
}

/// One purpose.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Purpose {
    /// Family and number: `RSP-004`.
    pub id: String,
    /// How binding it is.
    pub level: Level,
    /// What is to be seen, in our own words.
    pub statement: String,
    /// Compliance id or section; `clause unverified` where none could be confirmed.
    pub source: String,
    /// Ids of the scenarios that test it; none when, and only when, it says why.
    #[serde(default)]
    pub scenarios: Vec<String>,
    /// Why nothing tests it.
    #[serde(default)]
    pub untestable: Option<String>,
}

impl Purposes {
    /// The list that is built into this program.
    pub fn embedded() -> &'static Purposes {
        static PURPOSES: OnceLock<Purposes> = OnceLock::new();
        PURPOSES.get_or_init(|| match toml::from_str(include_str!("../../fixtures/purposes.toml")) {
            Ok(purposes) => purposes,
            // It is part of the program, and its tests read it.
            Err(error) => unreachable!("purposes.toml: {error}"),
        })
    }

    /// All of them.
    pub fn all(&self) -> &[Purpose] {
        &self.purposes
    }

    /// Ids of the purposes that a scenario tests.
    pub fn of<'p>(&'p self, scenario: &str) -> impl Iterator<Item = &'p str> {
        let tests = move |purpose: &&Purpose| purpose.scenarios.iter().any(|id| id == scenario);
        self.purposes.iter().filter(tests).map(|purpose| purpose.id.as_str())
    }
}
