//! `rocespec rules`

use std::io::Write;

use rocespec_model::Defect;
use serde::Serialize;

use super::{Outcome, output, scenarios};
use crate::ledger::{Ledger, Rule, State};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Show the rules whose id contains this.
    #[arg(value_name = "FILTER")]
    filter: Option<String>,

    #[command(flatten)]
    source: scenarios::Source,

    /// Form of the output.
    #[arg(long, value_enum, default_value = "text")]
    format: output::Format,
}

#[derive(Serialize)]
struct Row<'l> {
    id: &'l str,
    level: String,
    role: &'static str,
    statement: &'l str,
    source: &'l str,
    state: &'static str,
    why: Option<&'l str>,
    scenarios: Vec<&'l str>,
    defects: Vec<&'static str>,
}

pub(super) fn run(args: &Args) -> Outcome {
    let ledger = Ledger::embedded();
    let catalogue = args.source.load()?;
    let wanted = |rule: &&Rule| args.filter.as_deref().is_none_or(|filter| rule.id.contains(filter));
    let row = |rule: &'static Rule| Row {
        id: &rule.id,
        level: rule.level.to_string(),
        role: rule.role.name(),
        statement: &rule.statement,
        source: &rule.source,
        state: rule.state.name(),
        why: rule.why.as_deref(),
        scenarios: catalogue
            .iter()
            .filter(|scenario| scenario.rules.contains(&rule.id))
            .map(|scenario| scenario.id.as_str())
            .collect(),
        defects: Defect::ALL.iter().filter(|defect| defect.rule() == rule.id).map(|defect| defect.name()).collect(),
    };
    let rows: Vec<Row<'_>> = ledger.rules().iter().filter(wanted).map(row).collect();
    if rows.is_empty() {
        anyhow::bail!("no rule matches {:?}", args.filter.as_deref().unwrap_or_default());
    }
    if args.format == output::Format::Json {
        output::json(&rows)?;
        return Ok(0);
    }
    let mut out = std::io::stdout().lock();
    for row in &rows {
        writeln!(out, "{}  ({}, {}, {})", row.id, row.level, row.role, row.state)?;
        writeln!(out, "    {}", row.statement)?;
        writeln!(out, "    source: {}", row.source)?;
        if let Some(why) = row.why {
            writeln!(out, "    why: {why}")?;
        }
        if row.scenarios.is_empty() && row.id.starts_with("lint.") && row.state == State::Tested.name() {
            writeln!(out, "    tested on every frame of the device, in every scenario")?;
        }
        for scenario in &row.scenarios {
            writeln!(out, "    tested by {scenario}")?;
        }
        if !row.defects.is_empty() {
            writeln!(out, "    broken by {}", row.defects.join(", "))?;
        }
    }
    Ok(0)
}
