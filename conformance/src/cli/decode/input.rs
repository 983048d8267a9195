//! A file or standard input, with a bar for those who wait.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Files below this size are through before anybody could look at a bar, in bytes.
const LARGE: u64 = 64 << 20;

/// What is decoded.
pub(super) struct Input {
    source: Box<dyn Read>,
    /// How far it is; hidden where nobody looks.
    pub(super) bar: ProgressBar,
}

impl Input {
    /// Opens a file; `-` is standard input.
    pub(super) fn open(path: &Path) -> anyhow::Result<Input> {
        if path.as_os_str() == "-" {
            return Ok(Input { source: Box::new(io::stdin()), bar: ProgressBar::hidden() });
        }
        let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        let size = file.metadata().map_or(0, |meta| meta.len());
        // Lines that scroll by are progress enough.
        let is_watched = io::stderr().is_terminal() && !io::stdout().is_terminal();
        let bar = if size > LARGE && is_watched { bar(size) } else { ProgressBar::hidden() };
        Ok(Input { source: Box::new(file), bar })
    }
}

fn bar(size: u64) -> ProgressBar {
    let template = "{bar:30} {bytes} of {total_bytes}, {elapsed} gone, about {eta} left";
    let style = ProgressStyle::with_template(template).expect("a template that is right");
    ProgressBar::with_draw_target(Some(size), ProgressDrawTarget::stderr()).with_style(style)
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.bar.inc(count as u64);
        Ok(count)
    }
}
