//! What is wrong with a scenario file, all of it, each with its place.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// Most problems that are shown; behind them their number stands.
const SHOWN: usize = 100;

/// Everything that is wrong with one or more scenario files. `Display` gives plain text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostics {
    files: Vec<FileProblems>,
}

/// What is wrong with one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileProblems {
    /// The file as it was named to the loader.
    pub file: String,
    /// Its text; empty when it could not be read.
    pub text: String,
    /// In the order of their places; never empty.
    pub problems: Vec<Problem>,
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Bytes of the file that it is about; `None` when it is about the file as a whole.
    pub span: Option<Range<usize>>,
    /// What is wrong, in one line.
    pub message: String,
    /// Stands at the caret; may be empty.
    pub label: String,
}

impl Problem {
    pub(super) fn at(span: Range<usize>, message: impl Into<String>) -> Problem {
        Problem { span: Some(span), message: message.into(), label: String::new() }
    }

    pub(super) fn label(mut self, label: impl Into<String>) -> Problem {
        self.label = label.into();
        self
    }
}

impl FileProblems {
    /// Line and column of a problem, both from 1, the column in characters. `None` when it is about the whole file.
    pub fn position(&self, problem: &Problem) -> Option<(u32, u32)> {
        problem.span.as_ref().map(|span| position(&self.text, span.start))
    }

    fn render(&self, problem: &Problem, renderer: &Renderer) -> String {
        let Some(span) = &problem.span else {
            let title = format!("{}: {}", self.file, problem.message);
            return renderer.render(&[Group::with_title(Level::ERROR.primary_title(title))]);
        };
        // Only the line in question goes to the renderer, so that what else is in the file cannot trouble it.
        let (start, end) = line_around(&self.text, span.start);
        let source = self.text.get(start..end).unwrap_or_default();
        let within = |at: usize| at.clamp(start, end) - start;
        let caret = within(span.start)..within(span.end);
        let mut annotation = AnnotationKind::Primary.span(caret);
        if !problem.label.is_empty() {
            annotation = annotation.label(problem.label.as_str());
        }
        let line = position(&self.text, span.start).0;
        renderer.render(&[Level::ERROR.primary_title(problem.message.as_str()).element(
            Snippet::source(source).line_start(line as usize).path(self.file.as_str()).annotation(annotation),
        )])
    }
}

impl Diagnostics {
    /// Of one file. Problems are sorted by their place.
    pub(super) fn new(file: &str, text: &str, mut problems: Vec<Problem>) -> Diagnostics {
        let bound = |at: usize| (0..=at.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
        for problem in &mut problems {
            if let Some(span) = &mut problem.span {
                *span = bound(span.start)..bound(span.end.max(span.start));
            }
        }
        problems.sort_by_key(|problem| problem.span.as_ref().map(|span| (span.start, span.end)));
        problems.dedup();
        Diagnostics { files: vec![FileProblems { file: file.to_owned(), text: text.to_owned(), problems }] }
    }

    /// About a file or a folder as a whole.
    pub(super) fn whole(path: &Path, message: impl Into<String>) -> Diagnostics {
        let problem = Problem { span: None, message: message.into(), label: String::new() };
        Diagnostics::new(&path.display().to_string(), "", vec![problem])
    }

    /// Of several files; `None` when there is nothing wrong.
    pub(super) fn join(all: Vec<Diagnostics>) -> Option<Diagnostics> {
        let files: Vec<FileProblems> = all.into_iter().flat_map(|one| one.files).collect();
        (!files.is_empty()).then_some(Diagnostics { files })
    }

    /// File by file.
    pub fn files(&self) -> &[FileProblems] {
        &self.files
    }

    /// As text, with colour for a terminal or without.
    pub fn render(&self, color: bool) -> String {
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let all = || self.files.iter().flat_map(|file| file.problems.iter().map(move |problem| (file, problem)));
        let mut shown: Vec<String> = all().take(SHOWN).map(|(file, problem)| file.render(problem, &renderer)).collect();
        match all().count().saturating_sub(SHOWN) {
            0 => {}
            more => shown.push(format!("{more} more errors; mend these first")),
        }
        shown.join("\n\n")
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Diagnostics {}

/// Line and column of a place in a text, both from 1.
pub(super) fn position(text: &str, at: usize) -> (u32, u32) {
    let (start, _) = line_around(text, at);
    let line = text.as_bytes()[..start].iter().filter(|&&byte| byte == b'\n').count() + 1;
    (line as u32, column(text, at))
}

/// Column of a place in a text, from 1. Unlike [`position`] it does not look at the lines before.
pub(super) fn column(text: &str, at: usize) -> u32 {
    let (start, _) = line_around(text, at);
    text.get(start..at).map_or(0, |before| before.chars().count()) as u32 + 1
}

/// The line around a place, without its end.
fn line_around(text: &str, at: usize) -> (usize, usize) {
    let bytes = text.as_bytes();
    let at = at.min(bytes.len());
    let start = bytes[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let end = bytes[at..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |end| at + end);
    let end = if end > start && bytes[end - 1] == b'\r' { end - 1 } else { end };
    (start, end.max(start))
}
