//! Developer commands of rocespec: `cargo xtask COMMAND`. One file or folder per command; this one only dispatches.

mod agent;
mod publish;
mod rxe;
mod soak;
mod traffic;

use std::process::{self, ExitCode};

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
        Command::Traffic(args) => traffic::run(&args).map(|()| ExitCode::SUCCESS),
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
