//! An examination of captures for people: of each file what broke first, what follows from it, what the capture itself did,
//! what is configured wrong, and a table of its connections.

mod closer;
mod findings;
mod remarks;
mod table;
#[cfg(test)]
mod tests;

use super::Style;
use super::paint::{Paint, paint};
use crate::cause::{self, Judgement, State};
use crate::examination::{CaptureFile, Examination};
use crate::outcome::Rule;
use crate::text::{columns, counted, duration, one_line, utc, wrap};

/// Everything there is to say about an examination. Every finding and connection when the style is verbose, else those that
/// matter most, with the number of the others. Ends with a newline.
pub fn examination(examination: &Examination, style: &Style) -> String {
    let mut out = String::new();
    for (n, file) in examination.files.iter().enumerate() {
        if n > 0 {
            out.push('\n');
        }
        capture_file(&mut out, file, &examination.rules, style);
    }
    if examination.files.len() > 1 {
        let judged = examination.files.iter().filter(|file| cause::is_read(file));
        let states: Vec<State> = judged.map(|file| Judgement::of(file).state).collect();
        let count = |state: State| states.iter().filter(|known| **known == state).count();
        let told = [(State::Broken, "with broken rules"), (State::Remarked, "with remarks"), (State::Clean, "clean")];
        let mut counts: Vec<String> = told
            .into_iter()
            .map(|(state, words)| (state, count(state), words))
            .filter(|(_, count, _)| *count > 0)
            .map(|(state, count, words)| paint(style, Paint::of_state(state), &format!("{count} {words}")))
            .collect();
        let damaged = examination.files.iter().filter(|file| file.error.is_some()).count();
        if damaged > 0 {
            counts.push(paint(style, Paint::Unsure, &format!("{damaged} that could not be read to the end")));
        }
        let heading = paint(style, Paint::Strong, &format!("{}:", counted(examination.files.len(), "file")));
        out.push_str(&format!("\n{heading} {}\n", counts.join(", ")));
    }
    out
}

impl Paint {
    fn of_state(state: State) -> Paint {
        match state {
            State::Broken => Paint::Bad,
            State::Remarked => Paint::Warn,
            State::Clean => Paint::Good,
        }
    }
}

fn capture_file(out: &mut String, file: &CaptureFile, rules: &[Rule], style: &Style) {
    let mut facts = format!("{}, {} of them RoCE", counted(file.frames, "frame"), file.packets);
    facts.push_str(&format!(", {}", counted(file.connections.len(), "connection")));
    if file.frames > 0 {
        facts.push_str(&format!(", {}", duration(file.duration_ns)));
    }
    if file.start_ns > 0 {
        facts.push_str(&format!(" from {}", utc(file.start_ns)));
    }
    let name = one_line(&file.name);
    out.push_str(&paint(style, Paint::Strong, &name));
    if style.width == 0 || columns(&name) + 2 + columns(&facts) <= style.width {
        out.push_str(&format!(": {facts}\n"));
    } else {
        out.push_str(":\n");
        push_wrapped(out, style, Paint::Plain, "  ", &facts);
    }
    if let Some(error) = &file.error {
        let what = if file.frames == 0 { "not read" } else { "not read to its end" };
        push_wrapped(out, style, Paint::Unsure, "  ", &format!("? {what}: {error}"));
    }
    if !cause::is_read(file) {
        return;
    }
    let judgement = Judgement::of(file);
    let text = format!("{} {}", judgement.state.sign(), judgement.text);
    push_wrapped(out, style, Paint::of_state(judgement.state), "  ", &text);
    findings::push(out, file, rules, style);
    remarks::push(out, file, style);
    table::push(out, file, style);
    closer::push(out, file, style);
}

/// A text below a margin, broken to the width.
fn push_wrapped(out: &mut String, style: &Style, how: Paint, margin: &str, text: &str) {
    let width = if style.width == 0 { 0 } else { style.width.saturating_sub(margin.len()).max(20) };
    for line in wrap(text, width) {
        out.push_str(margin);
        out.push_str(&paint(style, how, &line));
        out.push('\n');
    }
}

/// A text with a label before it; its further lines stand below its beginning.
fn push_labelled(out: &mut String, style: &Style, label: &str, text: &str) {
    const MARGIN: usize = 16;
    if text.is_empty() {
        return;
    }
    let width = if style.width == 0 { 0 } else { style.width.saturating_sub(MARGIN).max(20) };
    for (n, line) in wrap(text, width).iter().enumerate() {
        let label = if n == 0 { label } else { "" };
        out.push_str(format!("      {label:<10}{line}").trim_end());
        out.push('\n');
    }
}

/// A heading with an empty line above it.
fn push_heading(out: &mut String, style: &Style, text: &str) {
    out.push_str(&format!("\n{}\n", paint(style, Paint::Strong, text)));
}
