//! The examples of the manual.

use super::good::HEADER;
use crate::scenario::parse;

/// The fenced blocks of the manual: their tag, their text and their line.
fn blocks() -> Vec<(&'static str, String, usize)> {
    let mut blocks: Vec<(&str, String, usize)> = Vec::new();
    let mut open = false;
    for (number, line) in (1..).zip(include_str!("../../../../docs/scenarios.md").lines()) {
        match (line.strip_prefix("```"), open) {
            (Some(tag), false) => {
                blocks.push((tag, String::new(), number));
                open = true;
            }
            (Some(_), true) => open = false,
            (None, true) => {
                if let Some((_, text, _)) = blocks.last_mut() {
                    text.push_str(line);
                    text.push('\n');
                }
            }
            (None, false) => {}
        }
    }
    blocks
}

#[test]
fn every_example_is_what_it_says() {
    let blocks = blocks();
    assert!(blocks.len() > 10);
    for (tag, text, line) in blocks {
        let file = format!("docs/scenarios.md:{line}");
        let text = if tag == "toml" { text } else { format!("{HEADER}{text}'''\n") };
        match (tag, parse(&file, "example", &text)) {
            ("toml" | "script", Err(error)) => panic!("{error}"),
            ("wrong", Ok(_)) => panic!("{file}: nothing is wrong with this"),
            ("toml" | "script" | "wrong", _) => {}
            (tag, _) => panic!("{file}: unknown tag {tag}"),
        }
    }
}
