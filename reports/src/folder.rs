//! A run's report as a folder.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use crate::html::{self, Dissect};
use crate::outcome::Run;
use crate::terminal::{self, Style};
use crate::{json, junit};

/// Name of the JSON report.
pub const JSON: &str = "report.json";
/// Name of the JUnit report.
pub const JUNIT: &str = "junit.xml";
/// Name of the report for people: the summary, then every case with all its evidence.
pub const TEXT: &str = "report.txt";

/// Columns of `report.txt`.
const WIDTH: usize = 120;

/// Writes [`JSON`], [`JUNIT`], [`TEXT`] and the [pages](html::write) into `dir`, which is created where it is missing; other
/// files there stay. The cases' pcapng files are written by whoever holds the frames.
pub fn write(run: &Run, dissect: Dissect<'_>, dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    json::write(run, BufWriter::new(File::create(dir.join(JSON))?))?;
    junit::write(run, BufWriter::new(File::create(dir.join(JUNIT))?))?;
    let mut text = BufWriter::new(File::create(dir.join(TEXT))?);
    write_text(run, &mut text)?;
    text.flush()?;
    html::write(run, dissect, dir)
}

fn write_text(run: &Run, mut out: impl io::Write) -> io::Result<()> {
    let style = Style { color: false, width: WIDTH, verbose: true };
    writeln!(out, "{}", terminal::summary(run, &style).trim())?;
    writeln!(out)?;
    for case in &run.cases {
        out.write_all(terminal::case(case, &style).as_bytes())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn the_folder_holds_the_run_in_every_form() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().join("deep/down");
        write(&sample::run(), &|_| crate::html::Dissection::default(), &dir).unwrap();
        let json = json::read(File::open(dir.join(JSON)).unwrap()).unwrap();
        assert_eq!(json, sample::run());
        let text = fs::read_to_string(dir.join(TEXT)).unwrap();
        for case in &sample::run().cases {
            assert!(text.contains(&case.id()));
        }
        assert!(fs::read_to_string(dir.join(JUNIT)).unwrap().ends_with("</testsuites>\n"));
    }

    #[test]
    fn a_second_report_takes_the_place_of_the_first() {
        let temp = tempfile::tempdir().unwrap();
        let mut run = sample::run();
        write(&run, &|_| crate::html::Dissection::default(), temp.path()).unwrap();
        run.cases.truncate(1);
        write(&run, &|_| crate::html::Dissection::default(), temp.path()).unwrap();
        assert_eq!(json::read(File::open(temp.path().join(JSON)).unwrap()).unwrap(), run);
    }

    #[test]
    fn the_text_report() {
        let mut bytes = Vec::new();
        write_text(&sample::run(), &mut bytes).unwrap();
        insta::assert_snapshot!(String::from_utf8(bytes).unwrap());
    }
}
