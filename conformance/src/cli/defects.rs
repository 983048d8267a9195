//! `rocespec defects`

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context as _;
use rocespec_model::{Defect, Policy};
use rocespec_reports::defects::{Behaviour, Defects, Manner, Notice, loudest};
use rocespec_reports::html;
use serde::Serialize;

use super::device::built_in;
use super::{Outcome, output, scenarios};
use crate::ledger::{Ledger, Rule};
use crate::run::mutation::{self, Noticed};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Run the catalogue against each defect and each policy, and show what is noticed. Exits with 1 when a defect is
    /// not, or when a policy that the standard allows fails.
    #[arg(long)]
    run: bool,

    #[command(flatten)]
    source: scenarios::Source,

    /// Seed of what the tester chooses at random.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// With --run, also write defects.html to this folder: rule, defect, and the scenarios that caught it.
    #[arg(long, value_name = "DIR", requires = "run")]
    report: Option<PathBuf>,

    /// Form of the output.
    #[arg(long, value_enum, default_value = "text")]
    format: output::Format,
}

#[derive(Serialize)]
struct Known {
    name: &'static str,
    rule: &'static str,
    summary: &'static str,
}

pub(super) fn run(args: &Args) -> Outcome {
    if args.run { notice(args) } else { list(args) }
}

fn list(args: &Args) -> Outcome {
    let known =
        Defect::ALL.iter().map(|defect| Known { name: defect.name(), rule: defect.rule(), summary: defect.summary() });
    let known: Vec<Known> = known.collect();
    if args.format == output::Format::Json {
        output::json(&known)?;
        return Ok(0);
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "Defects, for --dut emulator:NAME and the rule that each breaks:\n")?;
    for defect in &known {
        writeln!(out, "{}\n    {}\n    breaks {}", defect.name, defect.summary, defect.rule)?;
    }
    let policies: Vec<&str> = Policy::PRESETS.iter().map(|(name, _)| *name).collect();
    writeln!(out, "\nPolicies that the standard allows, for --dut emulator:NAME: {}", policies.join(", "))?;
    Ok(0)
}

fn notice(args: &Args) -> Outcome {
    let catalogue = args.source.load()?;
    let rows = mutation::notice(&catalogue, &built_in("emulator")?, args.seed);
    if let Some(folder) = &args.report {
        let defects = Defects {
            tool: concat!("rocespec ", env!("CARGO_PKG_VERSION")).to_owned(),
            behaviours: rows.iter().map(for_report).collect(),
        };
        html::write_defects(&defects, folder).with_context(|| format!("cannot write to {}", folder.display()))?;
    }
    let wrong = rows.iter().filter(|row| !row.is_right()).count();
    if args.format == output::Format::Json {
        output::json(&rows)?;
        return Ok(u8::from(wrong > 0));
    }
    let mut out = std::io::stdout().lock();
    for row in &rows {
        writeln!(out, "{}", describe(row))?;
    }
    let defects = rows.iter().filter(|row| row.rule.is_some()).count();
    let caught: Vec<Manner> =
        rows.iter().filter(|row| row.rule.is_some()).filter_map(|row| Some(loudest(&row.by)?.manner)).collect();
    let count = |manner: &Manner| caught.iter().filter(|caught| *caught == manner).count();
    let manners = Manner::ALL.iter().filter(|manner| count(manner) > 0);
    let manners: Vec<String> = manners.map(|manner| format!("{} as {}", count(manner), manner.name())).collect();
    writeln!(
        out,
        "\n{} of {defects} defects are caught by a scenario about their rule: {}.",
        caught.len(),
        if manners.is_empty() { "none".to_owned() } else { manners.join(", ") }
    )?;
    match rows.iter().filter(|row| row.is_open() && row.by.is_empty()).count() {
        0 => {}
        open => writeln!(out, "{open} break a rule that the ledger does not call tested: open.")?,
    }
    let policies = rows.len() - defects;
    let quiet = rows.iter().filter(|row| row.rule.is_none() && row.is_right()).count();
    writeln!(out, "{quiet} of {policies} policies raise no alarm.")?;
    let unproven = if args.source.is_built_in() { mutation::unproven(&rows) } else { Vec::new() };
    for rule in &unproven {
        writeln!(out, "UNPROVEN {}: no defect breaks it for all to see, and the ledger names no proof", rule.id)?;
    }
    Ok(u8::from(wrong > 0 || !unproven.is_empty()))
}

/// As the report shows it.
fn for_report(row: &Noticed) -> Behaviour {
    let defect = Defect::ALL.iter().find(|defect| row.rule.is_some() && defect.name() == row.behaviour);
    Behaviour {
        name: row.behaviour.to_owned(),
        summary: defect.map_or("A policy that the standard allows.", |defect| defect.summary()).to_owned(),
        rule: row.rule.and_then(|rule| Ledger::embedded().get(rule)).map(Rule::for_report),
        notice: match row.rule {
            Some(_) if !row.by.is_empty() => Notice::Caught,
            Some(_) if row.is_open() => Notice::Open,
            Some(_) => Notice::Missed,
            None if row.is_right() => Notice::Quiet,
            None => Notice::Alarm,
        },
        by: row.by.clone(),
        elsewhere: row.elsewhere.clone(),
    }
}

fn describe(row: &Noticed) -> String {
    let name = row.behaviour;
    let case = |sightings| loudest(sightings).map(|sighting| format!("{} {}", sighting.manner.name(), sighting.case));
    match (row.rule, case(&row.by), case(&row.elsewhere)) {
        (Some(rule), Some(case), _) => {
            let more = if row.by.len() > 1 { format!(", and {} more", row.by.len() - 1) } else { String::new() };
            format!("caught  {name}  {case} ({rule}){more}")
        }
        (Some(rule), None, _) if row.is_open() => format!("open    {name}  {rule} is not tested yet"),
        (Some(rule), None, Some(case)) => format!("MISSED  {name}  {rule} is not blamed, but there is {case}"),
        (Some(rule), None, None) => format!("MISSED  {name}  no case fails ({rule})"),
        (None, _, None) => format!("quiet   {name}  a policy that the standard allows"),
        (None, _, Some(case)) => format!("ALARM   {name}  a policy that the standard allows: {case}"),
    }
}
