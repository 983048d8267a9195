//! Developer commands of rocespec: `cargo xtask COMMAND`. One file or folder per command; this one only dispatches.

mod agent;
mod publish;
mod rxe;
mod soak;
mod traffic;

use std::process::{self, ExitCode};

use anyhow::{Context as _, bail};
use clap::Parser;

/// Developer commands of rocespec
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 120)]
enum Command {
    Agent(agent::Args),
    Publish(publish::Args),
    Rxe(rxe::Args),
    Soak(soak::Args),
    Traffic(traffic::Args),
    Veth(rxe::veth::Args),
}

fn main() -> ExitCode {
    let result = match Command::parse() {
        Command::Agent(args) => agent::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Publish(args) => publish::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Rxe(args) => rxe::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Soak(args) => soak::run(&args),
        Command::Traffic(args) => traffic::run(&args),
        Command::Veth(args) => rxe::veth::run(&args),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// The cargo that runs us.
fn cargo() -> process::Command {
    process::Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// rocespec as it stands here, in the root of the workspace. Its own words follow.
fn rocespec() -> process::Command {
    let mut command = cargo();
    command.current_dir(rxe::workspace()).args(["run", "--quiet", "--release", "--package", "rocespec", "--"]);
    command
}

/// The same command, built with optimisation: it takes a tenth of the time.
fn again_in_release() -> anyhow::Result<ExitCode> {
    let status = cargo()
        .args(["run", "--quiet", "--release", "-p", "xtask", "--"])
        .args(std::env::args_os().skip(1))
        .status()
        .context("cannot run cargo")?;
    match status.code() {
        Some(code) => Ok(ExitCode::from(u8::try_from(code).unwrap_or(2))),
        None => bail!("the run was killed"),
    }
}
