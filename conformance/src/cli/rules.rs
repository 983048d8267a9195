//! `rocespec rules`

use std::io::Write;

use rocespec_model::Defect;
use serde::Serialize;

use super::{Outcome, output, purposes, scenarios};
use crate::ledger::{Ledger, Rule, State};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Show the rules whose id contains this.
    #[arg(value_name = "FILTER")]
    filter: Option<String>,

    /// Show the test purposes instead: which scenarios test each, and which purposes each scenario has.
    #[arg(long)]
    purposes: bool,

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
    proof: Option<&'l str>,
}

pub(super) fn run(args: &Args) -> Outcome {
    let catalogue = args.source.load()?;
    if args.purposes {
        return purposes::show(args.filter.as_deref(), &catalogue, args.format);
    }
    let ledger = Ledger::embedded();
    let wanted = |rule: &&Rule| args.filter.as_deref().is_none_or(|filter| rule.id.contains(&filter.to_lowercase()));
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
        proof: rule.proof.as_deref(),
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
        if let Some(proof) = row.proof {
            writeln!(out, "    seen to be broken in {proof}")?;
        }
    }
    let count = |state: State| rows.iter().filter(|row| row.state == state.name()).count();
    let [tested, untestable, to_do] = [State::Tested, State::Untestable, State::ToDo].map(count);
    writeln!(out, "\n{} rules: {tested} tested, {untestable} untestable, {to_do} to do.", rows.len())?;
    Ok(0)
}
