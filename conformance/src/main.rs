//! The command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    rocespec::cli::main()
}
