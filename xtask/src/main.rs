//! Developer commands of rocespec: `cargo xtask COMMAND`. One file or folder per command; this one only dispatches.

mod rxe;
mod soak;

use std::process::ExitCode;

use clap::Parser;

/// Developer commands of rocespec
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 120)]
enum Command {
    Rxe(rxe::Args),
    Soak(soak::Args),
}

fn main() -> ExitCode {
    let result = match Command::parse() {
        Command::Rxe(args) => rxe::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Soak(args) => soak::run(&args),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
