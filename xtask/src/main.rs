//! Developer commands of rocespec: `cargo xtask COMMAND`. One file or folder per command; this one only dispatches.

mod rxe;

use std::process::ExitCode;

use clap::Parser;

/// Developer commands of rocespec
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 120)]
enum Command {
    Rxe(rxe::Args),
}

fn main() -> ExitCode {
    let result = match Command::parse() {
        Command::Rxe(args) => rxe::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}
