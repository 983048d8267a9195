//! Any text: a scenario, or problems that lie inside of it.
#![no_main]

use libfuzzer_sys::fuzz_target;
use rocespec::scenario::parse;

fuzz_target!(|text: &str| {
    if let Err(diagnostics) = parse("scenario.toml", "rc/responder/scenario", text) {
        assert!(!diagnostics.to_string().is_empty());
    }
});
