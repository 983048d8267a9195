//! A report as a folder: that of a run, of an examination of captures, or of a sweep.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::claim::{FRAMES, claim, remove};
use crate::examination::Examination;
use crate::html::{self, Dissect};
use crate::outcome::Run;
use crate::sweep::{Sweep, write_csv};
use crate::terminal::{self, Style};
use crate::{json, junit};

/// Name of the JSON report.
pub const JSON: &str = "report.json";
/// Name of the JSON report where it is compressed.
pub const JSON_GZ: &str = "report.json.gz";
/// Name of the JUnit report.
pub const JUNIT: &str = "junit.xml";
/// Name of the report for people: the summary, then every case with all its evidence.
pub const TEXT: &str = "report.txt";
/// Name of the JSON form of an examination.
pub const CHECK_JSON: &str = "check.json";
/// Name of the examination for people, with all that was found.
pub const CHECK_TEXT: &str = "check.txt";

/// Name of the JSON form of a sweep.
pub const SWEEP_JSON: &str = "sweep.json";
/// Name of the sweep as a table for other programs.
pub const SWEEP_CSV: &str = "sweep.csv";
/// Name of the sweep for people.
pub const SWEEP_TEXT: &str = "sweep.txt";

/// What a kind of report leaves beside its first page: files, and folders with the ending of their files.
type Left = (&'static [&'static str], &'static [(&'static str, &'static str)]);
const OF_RUNS: Left = (&[JSON, JSON_GZ, JUNIT, TEXT], &[(html::CASES, "html"), (FRAMES, "pcapng")]);
const OF_CAPTURES: Left = (&[CHECK_JSON, CHECK_TEXT], &[(html::CONNECTIONS, "html")]);
const OF_SWEEPS: Left = (&[SWEEP_JSON, SWEEP_CSV, SWEEP_TEXT], &[]);

/// Columns of the forms for people.
const WIDTH: usize = 120;

/// Writes [`JSON`], [`JUNIT`], [`TEXT`] and the [pages](html::write) into `dir`, which is [claimed](claim); other files there
/// stay. The cases' pcapng files are written by whoever holds the frames.
pub fn write(run: &Run, dissect: Dissect<'_>, dir: &Path) -> io::Result<()> {
    begin(dir, [OF_CAPTURES, OF_SWEEPS])?;
    json::write(run, BufWriter::new(File::create(dir.join(JSON))?))?;
    write_junit(run, dir)?;
    let mut text = BufWriter::new(File::create(dir.join(TEXT))?);
    write_text(run, &mut text)?;
    text.flush()?;
    html::write(run, dissect, &[("JSON", JSON), ("JUnit", JUNIT), ("Text", TEXT)], dir)
}

/// Writes a report that is small enough for a repository: [`JSON_GZ`], [`JUNIT`] and the pages.
pub fn write_small(run: &Run, dissect: Dissect<'_>, dir: &Path) -> io::Result<()> {
    begin(dir, [OF_CAPTURES, OF_SWEEPS])?;
    let mut packer = GzEncoder::new(File::create(dir.join(JSON_GZ))?, Compression::best());
    json::write(run, BufWriter::new(&mut packer))?;
    packer.finish()?;
    write_junit(run, dir)?;
    html::write(run, dissect, &[("JSON, compressed", JSON_GZ), ("JUnit", JUNIT)], dir)
}

/// Writes [`CHECK_JSON`], [`CHECK_TEXT`] and the [pages](html::write_examination) of an examination into `dir`, which is
/// [claimed](claim). A run's report that was there before goes; other files stay.
///
/// # Errors
/// When the folder is not one for reports, or a file cannot be written.
pub fn write_examination(examination: &Examination, dir: &Path) -> io::Result<()> {
    begin(dir, [OF_RUNS, OF_SWEEPS])?;
    json::write(examination, BufWriter::new(File::create(dir.join(CHECK_JSON))?))?;
    let style = Style { color: false, width: WIDTH, verbose: true };
    std::fs::write(dir.join(CHECK_TEXT), terminal::examination(examination, &style))?;
    html::write_examination(examination, &[("JSON", CHECK_JSON), ("Text", CHECK_TEXT)], dir)
}

/// Writes [`SWEEP_JSON`], [`SWEEP_CSV`], [`SWEEP_TEXT`] and the [page](html::write_sweep) of a sweep into `dir`, which is
/// [claimed](claim). The report of a run or an examination that was there before goes; other files stay.
///
/// # Errors
/// When the folder is not one for reports, or a file cannot be written.
pub fn write_sweep(sweep: &Sweep, dir: &Path) -> io::Result<()> {
    begin(dir, [OF_RUNS, OF_CAPTURES])?;
    json::write(sweep, BufWriter::new(File::create(dir.join(SWEEP_JSON))?))?;
    write_csv(sweep, BufWriter::new(File::create(dir.join(SWEEP_CSV))?))?;
    let style = Style { color: false, width: WIDTH, verbose: true };
    std::fs::write(dir.join(SWEEP_TEXT), terminal::sweep(sweep, &style))?;
    html::write_sweep(sweep, &[("JSON", SWEEP_JSON), ("CSV", SWEEP_CSV), ("Text", SWEEP_TEXT)], dir)
}

/// Claims the folder. What the other kinds of reports left there goes.
fn begin(dir: &Path, others: [Left; 2]) -> io::Result<()> {
    claim(dir)?;
    others.into_iter().try_for_each(|(files, folders)| remove(dir, files, folders))
}

fn write_junit(run: &Run, dir: &Path) -> io::Result<()> {
    junit::write(run, BufWriter::new(File::create(dir.join(JUNIT))?))
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
    use std::fs;

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
    fn a_small_report_reads_back_the_same() {
        let temp = tempfile::tempdir().unwrap();
        write_small(&sample::run(), &|_| crate::html::Dissection::default(), temp.path()).unwrap();
        let file = temp.path().join(JSON_GZ);
        assert_eq!(json::read(File::open(&file).unwrap()).unwrap(), sample::run());
        assert!(fs::metadata(&file).unwrap().len() < 4_000);
        assert!(!temp.path().join(TEXT).exists());
        let index = fs::read_to_string(temp.path().join(html::INDEX)).unwrap();
        assert!(index.contains(JSON_GZ) && !index.contains(TEXT));
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
    fn an_examination_takes_the_place_of_a_run_and_the_other_way_round() {
        let temp = tempfile::tempdir().unwrap();
        let examination = crate::examination::sample::examination();
        let names = || {
            let entries = fs::read_dir(temp.path()).unwrap().map(|entry| entry.unwrap().file_name());
            let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
            names.retain(|name| !name.starts_with('.'));
            names.sort();
            names
        };
        let (of_run, of_captures) =
            (["cases", "index.html", JUNIT, JSON, TEXT], [CHECK_JSON, CHECK_TEXT, "connections", "index.html"]);
        write(&sample::run(), &|_| crate::html::Dissection::default(), temp.path()).unwrap();
        assert_eq!(names(), of_run);
        write_examination(&examination, temp.path()).unwrap();
        assert_eq!(names(), of_captures);
        let json = File::open(temp.path().join(CHECK_JSON)).unwrap();
        assert_eq!(serde_json::from_reader::<_, Examination>(json).unwrap(), examination);
        write(&sample::run(), &|_| crate::html::Dissection::default(), temp.path()).unwrap();
        assert_eq!(names(), of_run);
    }

    #[test]
    fn the_text_report() {
        let mut bytes = Vec::new();
        write_text(&sample::run(), &mut bytes).unwrap();
        insta::assert_snapshot!(String::from_utf8(bytes).unwrap());
    }
}
