//! The examples of docs/scenarios.md, played: what a reader copies works.

mod common;

use common::{emulator, run_on, scenario, script};
use rocespec_reports::outcome::Verdict;
use rocespec_reports::terminal::{self, Style};

/// The fenced blocks with this tag.
fn blocks(tag: &str) -> Vec<String> {
    let text = include_str!("../../docs/scenarios.md");
    let fences: Vec<&str> = text.split("```").collect();
    let inside = fences.iter().skip(1).step_by(2);
    inside.filter_map(|block| block.strip_prefix(tag)?.strip_prefix('\n')).map(str::to_owned).collect()
}

#[test]
fn every_example_passes_on_the_emulator() {
    let scripts = blocks("script").into_iter().map(|text| script("must", &text));
    let files = blocks("toml").into_iter().map(|text| scenario(&text));
    let examples: Vec<_> = scripts.chain(files).collect();
    assert!(examples.len() > 8);
    let mut wrong = Vec::new();
    for example in examples {
        let (run, _) = run_on(&mut emulator(""), std::slice::from_ref(&example));
        for case in &run.cases {
            let is_good = matches!(case.verdict, Verdict::Pass | Verdict::Loose);
            if !is_good {
                wrong.push(terminal::case(case, &Style::default()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
