//! `rocespec list`

use std::io::Write;

use serde::Serialize;

use super::{Outcome, output, scenarios};
use crate::run;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// List the scenarios whose id contains this.
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,

    #[command(flatten)]
    source: scenarios::Source,

    /// List every case: each scenario with each combination of what it varies.
    #[arg(long)]
    all: bool,

    /// Form of the output.
    #[arg(long, value_enum, default_value = "text")]
    format: output::Format,
}

#[derive(Serialize)]
struct Row<'s> {
    id: String,
    title: &'s str,
    level: rocespec_reports::outcome::Level,
    rules: &'s [String],
    needs: &'s [String],
}

pub(super) fn run(args: &Args) -> Outcome {
    let catalogue = args.source.load()?;
    let planned = run::plan_any(&catalogue, &args.filters, args.all)?;
    let mut rows: Vec<Row<'_>> = Vec::new();
    for case in &planned {
        let scenario = case.scenario;
        let id = if args.all { case.id() } else { scenario.id.clone() };
        if rows.last().is_none_or(|row| row.id != id) {
            let (title, level) = (scenario.title.as_str(), scenario.level);
            rows.push(Row { id, title, level, rules: &scenario.rules, needs: &scenario.needs });
        }
    }
    if args.format == output::Format::Json {
        output::json(&rows)?;
        return Ok(0);
    }
    let mut out = std::io::stdout().lock();
    let widest = rows.iter().map(|row| row.id.len()).max().unwrap_or(0);
    for row in &rows {
        writeln!(out, "{:widest$}  {:6}  {}", row.id, row.level, row.title)?;
    }
    Ok(0)
}
