//! Results for people: bad cases with their evidence, the others counted by area, and a summary.

mod examination;
mod flow;
mod golden;
mod paint;
mod summary;
mod sweep;

pub use examination::examination;
pub use flow::Flow;
pub use summary::{summary, summary_with_report};
pub use sweep::sweep;

use crate::evidence::{self, Extent, Tone, first_rule};
use crate::outcome::{Case, Verdict};
use crate::text::{columns, cut, one_line, wrap};
use paint::{Paint, paint};

/// How to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// ANSI colours.
    pub color: bool,
    /// Columns to stay within; 0 when there is no limit, as in a file. Ids, rules, and commands to copy are never cut.
    pub width: usize,
    /// The evidence of every case, also of one that passed, with the whole script and trace.
    pub verbose: bool,
}

/// Columns of the longest verdict.
const VERDICT: usize = 12;
/// How far evidence is moved in.
const INDENT: usize = 4;
/// A reason shorter than this says nothing: better past the edge than cut to less.
const SHORTEST_REASON: usize = 40;

/// A case as one line: verdict, id, the first rule, the reason. A case that needs a look (FAIL, CRASH, XPASS,
/// INCONCLUSIVE) has its evidence below, moved in. Ends with a newline.
pub fn case(case: &Case, style: &Style) -> String {
    let (id, rule, reason) = (one_line(&case.id()), one_line(first_rule(case)), one_line(evidence::reason(case)));
    let mut line = format!("{} {}", paint(style, Paint::of(case.verdict), &format!("{:VERDICT$}", case.verdict)), id);
    let mut used = VERDICT + 1 + columns(&id);
    if !rule.is_empty() {
        line.push_str("  ");
        line.push_str(&paint(style, Paint::Faint, &rule));
        used += 2 + columns(&rule);
    }
    let room = if style.width == 0 { 0 } else { style.width.saturating_sub(used + 2).max(SHORTEST_REASON) };
    let short = cut(&reason, room);
    if !short.is_empty() {
        line.push_str("  ");
        line.push_str(&short);
    }
    line.push('\n');
    if needs_a_look(case.verdict) || style.verbose {
        if !case.title.is_empty() {
            push_indented(&mut line, &paint(style, Paint::Faint, &one_line(&case.title)));
        }
        if short != reason && !evidence::is_told(case) {
            for line_of_reason in wrap(evidence::reason(case), style.width.saturating_sub(INDENT).max(20)) {
                push_indented(&mut line, &line_of_reason);
            }
        }
        block(&mut line, case, style);
    }
    line
}

fn block(out: &mut String, case: &Case, style: &Style) {
    let width = if style.width == 0 { 0 } else { style.width.saturating_sub(INDENT).max(20) };
    for line in evidence::of(case, Extent { width, whole: style.verbose }) {
        let how = match line.tone {
            Tone::Heading => Paint::Strong,
            Tone::Plain => Paint::Plain,
            Tone::Marked => Paint::Bad,
            Tone::Command => Paint::Command,
        };
        push_indented(out, &paint(style, how, &line.text));
    }
    out.push('\n');
}

fn push_indented(out: &mut String, line: &str) {
    out.push_str(&" ".repeat(INDENT));
    out.push_str(line);
    out.push('\n');
}

/// Does someone have to do something about a case with this verdict?
fn needs_a_look(verdict: Verdict) -> bool {
    verdict.exit_code(false) != 0
}

#[cfg(test)]
mod tests;
