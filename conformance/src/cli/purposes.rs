//! `rocespec rules --purposes`

use std::collections::BTreeSet;
use std::io::Write;

use serde::Serialize;

use super::{Outcome, output};
use crate::purposes::{Purpose, Purposes};
use crate::scenario::Scenario;

#[derive(Serialize)]
struct Row<'p> {
    id: &'p str,
    level: String,
    statement: &'p str,
    source: &'p str,
    scenarios: Vec<&'p str>,
    untestable: Option<&'p str>,
}

/// The other way round: what a scenario is good for.
#[derive(Serialize)]
struct Use<'s> {
    id: &'s str,
    purposes: Vec<&'static str>,
}

#[derive(Serialize)]
struct Both<'a> {
    purposes: Vec<Row<'a>>,
    scenarios: Vec<Use<'a>>,
}

/// Shows the purposes whose id or statement contains `filter`, and which purposes each scenario of the catalogue has. A
/// purpose is tested by what is in the catalogue.
pub(super) fn show(filter: Option<&str>, catalogue: &[Scenario], format: output::Format) -> Outcome {
    let list = Purposes::embedded();
    let wanted = |purpose: &&Purpose| {
        let contains = |text: &str, filter: &str| text.to_lowercase().contains(&filter.to_lowercase());
        filter.is_none_or(|filter| contains(&purpose.id, filter) || contains(&purpose.statement, filter))
    };
    let known: BTreeSet<&str> = catalogue.iter().map(|scenario| scenario.id.as_str()).collect();
    let purposes: Vec<Row<'_>> = list.all().iter().filter(wanted).map(|purpose| row(purpose, &known)).collect();
    if purposes.is_empty() {
        anyhow::bail!("no purpose matches {:?}", filter.unwrap_or_default());
    }
    let concerned = |scenario: &&Scenario| {
        filter.is_none() || purposes.iter().any(|purpose| purpose.scenarios.contains(&scenario.id.as_str()))
    };
    let uses = catalogue.iter().filter(concerned);
    let scenarios = uses.map(|scenario| Use { id: &scenario.id, purposes: list.of(&scenario.id).collect() }).collect();
    let both = Both { purposes, scenarios };
    match format {
        output::Format::Json => output::json(&both)?,
        output::Format::Text => text(&both)?,
    }
    Ok(0)
}

fn row<'p>(purpose: &'p Purpose, known: &BTreeSet<&str>) -> Row<'p> {
    let Purpose { id, level, statement, source, scenarios, untestable } = purpose;
    let scenarios = scenarios.iter().map(String::as_str).filter(|id| known.contains(id)).collect();
    Row { id, level: level.to_string(), statement, source, scenarios, untestable: untestable.as_deref() }
}

fn text(both: &Both<'_>) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    for purpose in &both.purposes {
        writeln!(out, "{}  ({})", purpose.id, purpose.level)?;
        writeln!(out, "    {}", purpose.statement)?;
        writeln!(out, "    source: {}", purpose.source)?;
        if let Some(why) = purpose.untestable {
            writeln!(out, "    not tested: {why}")?;
        }
        for scenario in &purpose.scenarios {
            writeln!(out, "    tested by {scenario}")?;
        }
    }
    writeln!(out)?;
    for Use { id, purposes } in &both.scenarios {
        let purposes = if purposes.is_empty() { "no purpose: it goes further".to_owned() } else { purposes.join(", ") };
        writeln!(out, "{id}: {purposes}")?;
    }
    let tested = both.purposes.iter().filter(|purpose| !purpose.scenarios.is_empty()).count();
    let further = both.scenarios.iter().filter(|scenario| scenario.purposes.is_empty()).count();
    writeln!(out, "\n{tested} of {} purposes are tested.", both.purposes.len())?;
    writeln!(out, "{further} of {} scenarios go further than the purposes.", both.scenarios.len())?;
    Ok(())
}
