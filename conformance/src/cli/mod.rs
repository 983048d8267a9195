//! The command line: one file per subcommand, thin.

mod check;
mod compare;
mod connections;
mod copy;
mod corpus;
mod cut;
mod decode;
mod defects;
mod device;
mod diff;
mod emulate;
mod frames;
mod goldens;
mod icrc;
mod input;
mod list;
mod output;
mod pair;
mod purposes;
mod report;
mod rules;
mod run;
mod scenario;
mod scenarios;
mod stop;
mod sweep;

use std::process::ExitCode;

use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

/// Packet-level conformance tests for RoCE (RDMA over Converged Ethernet, v1 and v2).
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100, arg_required_else_help = true, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 all is as the rules say, 1 the device broke a rule or died, 2 no judgement could be made (nothing to run, \
something is missing, the device does not answer, a file cannot be read).";

#[derive(Debug, Subcommand)]
enum Command {
    /// Run scenarios against a device and judge it.
    Run(run::Args),
    /// Put two devices face to face, with a faulty link between them, and judge both.
    Pair(pair::Args),
    /// Write the HTML report of one run again, or of several runs side by side.
    Report(report::Args),
    /// Be a device that others test: the emulator in real time, with the control protocol.
    Emulate(emulate::Args),
    /// Compare a device with the reference model, packet by packet, and explain the differences.
    Compare(compare::Args),
    /// List the scenarios.
    List(list::Args),
    /// List the rules, or with --purposes the test purposes, and which scenario tests each.
    Rules(rules::Args),
    /// List the emulator's deliberate defects; with --run, show which scenario catches each.
    Defects(defects::Args),
    /// Examine capture files: what broke first, by which rule, and what is only an artefact of the capture.
    Check(check::Args),
    /// Print the packets of a capture file, one line each.
    Decode(decode::Args),
    /// Compare two captures or golden traces, field by field.
    Diff(diff::Args),
    /// Check the ICRCs of a capture file, show how one comes about, or repair them.
    Icrc(icrc::Args),
    /// Write a part of a capture file to a new one: a connection, some frames, with other addresses, without payload.
    Cut(cut::Args),
    /// Write a connection of a capture file as a scenario.
    Scenario(scenario::Args),
    /// Write seed frames and a dictionary for fuzzers of RoCE parsers.
    Corpus(corpus::Args),
}

/// How a command went, as its exit code.
type Outcome = anyhow::Result<u8>;

/// Reads the command line, carries it out, gives the exit code.
pub fn main() -> ExitCode {
    let matches = Cli::command().get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let outcome = match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Pair(args) => pair::run(&args, &|option| {
            let source = matches.subcommand().and_then(|(_, pair)| pair.value_source(option));
            source == Some(ValueSource::CommandLine)
        }),
        Command::Report(args) => report::run(&args),
        Command::Emulate(args) => emulate::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::List(args) => list::run(&args),
        Command::Rules(args) => rules::run(&args),
        Command::Defects(args) => defects::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Decode(args) => decode::run(&args),
        Command::Diff(args) => diff::run(&args),
        Command::Icrc(args) => icrc::run(&args),
        Command::Cut(args) => cut::run(&args),
        Command::Scenario(args) => scenario::run(&args),
        Command::Corpus(args) => corpus::run(&args),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        // Whoever reads us has seen enough: `rocespec list | head`.
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rocespec: {error:#}");
            ExitCode::from(2)
        }
    }
}
