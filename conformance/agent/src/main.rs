//! Runs beside a real RDMA device and drives it through libibverbs, on the orders of rocespec's control protocol.

mod args;
mod backend;
#[cfg(test)]
mod fake;
mod hex;
mod serve;
mod session;
mod verbs;

use std::process::ExitCode;

use clap::Parser;

use crate::args::Args;
use crate::verbs::Verbs;

fn main() -> ExitCode {
    let args = Args::parse();
    let result = Verbs::open(&args.device, args.port).and_then(|mut verbs| serve::serve(&args, &mut verbs));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("rocespec-agent: {error}");
            ExitCode::from(2)
        }
    }
}
