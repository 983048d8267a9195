//! A capture file that a command writes.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use anyhow::Context as _;

use crate::capture::pcapng::Writer;

/// Begins a file that is not there yet: under another name it could be the capture itself.
pub(super) fn begin(path: &Path) -> anyhow::Result<Writer<BufWriter<File>>> {
    let file = File::create_new(path)
        .with_context(|| format!("cannot begin the copy in {}; name a file that is not there yet", path.display()))?;
    Ok(Writer::bare(BufWriter::new(file))?)
}
