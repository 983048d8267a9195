//! A file or standard input, with a bar for those who wait.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::Path;

use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::capture::unpack;

/// Files below this size are through before anybody could look at a bar, in bytes.
const LARGE: u64 = 64 << 20;

/// A capture, unpacked where it is packed.
pub(super) struct Input {
    source: Box<dyn Read + Send>,
    /// How far it is; hidden where nobody looks.
    pub(super) bar: ProgressBar,
}

impl Input {
    /// Opens a file; `-` is standard input.
    pub(super) fn open(path: &Path) -> anyhow::Result<Input> {
        // Lines that scroll by are progress enough.
        Input::open_with(path, !io::stdout().is_terminal())
    }

    /// As [`Input::open`], where nothing is said before the whole file was read.
    pub(super) fn open_silently(path: &Path) -> anyhow::Result<Input> {
        Input::open_with(path, true)
    }

    fn open_with(path: &Path, has_bar: bool) -> anyhow::Result<Input> {
        let cannot = || format!("cannot read {}", path.display());
        if path.as_os_str() == "-" {
            let source = unpack(io::stdin()).with_context(cannot)?;
            return Ok(Input { source, bar: ProgressBar::hidden() });
        }
        let file = File::open(path).with_context(cannot)?;
        let size = file.metadata().map_or(0, |meta| meta.len());
        let bar = if has_bar && size > LARGE && io::stderr().is_terminal() { bar(size) } else { ProgressBar::hidden() };
        let source = unpack(bar.wrap_read(file)).with_context(cannot)?;
        Ok(Input { source, bar })
    }
}

fn bar(size: u64) -> ProgressBar {
    let template = "{bar:30} {bytes} of {total_bytes}, {elapsed} gone, about {eta} left";
    let style = ProgressStyle::with_template(template).expect("a template that is right");
    ProgressBar::with_draw_target(Some(size), ProgressDrawTarget::stderr()).with_style(style)
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.source.read(buffer)
    }
}
