//! Where output goes and how it is to look.

use std::io::IsTerminal;

use clap::ValueEnum;
use rocespec_reports::terminal::Style;

/// Form of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// How standard output is to be written: with colour and as wide as the terminal, or plain when piped.
pub(super) fn style(verbose: bool) -> Style {
    let terminal = std::io::stdout().is_terminal();
    let color = terminal && std::env::var_os("NO_COLOR").is_none();
    let width = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).unwrap_or(100);
    Style { color, width, verbose }
}

/// `1 frame`, `2 frames`.
pub(super) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// True when the reader of our output went away.
pub(super) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kind =
        |cause: &(dyn std::error::Error + 'static)| cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
    error.chain().any(|cause| kind(cause) == Some(std::io::ErrorKind::BrokenPipe))
}

/// Writes a value as JSON to standard output.
pub(super) fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    Ok(rocespec_reports::json::write(value, std::io::stdout().lock())?)
}
