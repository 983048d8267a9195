//! The JSON report: exactly a [`Run`], described in `docs/report-schema.md`.

use std::io::{self, Read, Write};

use flate2::read::GzDecoder;
use serde::{Deserialize, Serialize};

use crate::outcome::{Run, SCHEMA};

/// The largest report that is read, in bytes once it is unpacked: a damaged or hostile file takes no more memory.
const LARGEST: u64 = 1 << 30;

/// Why a JSON report could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The bytes did not come.
    #[error("cannot read the report: {0}")]
    Io(#[from] io::Error),
    /// It is not JSON, or not a report; the message names line and column.
    #[error("this is no rocespec report: {0}")]
    Syntax(#[from] serde_json::Error),
    /// It is a report, but of another schema.
    #[error(
        "this report has schema {found}, this rocespec reads schema {SCHEMA}; read it with the version that wrote it"
    )]
    Schema {
        /// What the report says.
        found: u64,
    },
}

/// Writes a run, or whatever else has a JSON form, indented and with a newline at the end.
pub fn write(value: &impl Serialize, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, value)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Reads a report. The schema is looked at before anything else, so a report of another version is told from a damaged
/// one. Fields that this version does not know are passed over. The report may be compressed with gzip.
pub fn read(mut input: impl Read) -> Result<Run, ReadError> {
    #[derive(Deserialize)]
    struct Versioned {
        schema: u64,
    }

    let mut bytes = Vec::new();
    input.by_ref().take(LARGEST).read_to_end(&mut bytes)?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let packed = std::mem::take(&mut bytes);
        GzDecoder::new(&packed[..]).take(LARGEST).read_to_end(&mut bytes)?;
    }
    let Versioned { schema } = serde_json::from_slice(&bytes)?;
    if schema != u64::from(SCHEMA) {
        return Err(ReadError::Schema { found: schema });
    }
    Ok(serde_json::from_slice(&bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::{Level, Verdict};
    use crate::sample::{self, documented, fields};

    const PAGE: &str = include_str!("../../docs/report-schema.md");

    fn written(run: &Run) -> String {
        let mut bytes = Vec::new();
        write(run, &mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        let run = sample::run();
        assert_eq!(read(written(&run).as_bytes()).unwrap(), run);
    }

    #[test]
    fn the_largest_numbers_survive() {
        let mut run = sample::run();
        run.seed = u64::MAX;
        run.cases[0].duration_ns = u64::MAX;
        assert_eq!(read(written(&run).as_bytes()).unwrap(), run);
    }

    #[test]
    fn a_report_of_another_schema_is_told_from_a_damaged_one() {
        assert!(matches!(read(&b"{\"schema\": 2, \"new\": true}"[..]), Err(ReadError::Schema { found: 2 })));
        let damaged = read(&b"{\"schema\": 1,\n \"tool\": 7}"[..]).unwrap_err().to_string();
        assert!(damaged.contains("line 2"), "{damaged}");
        assert!(read(&b"\xff\xfe"[..]).is_err());
    }

    #[test]
    fn fields_from_the_future_are_passed_over() {
        let text = written(&sample::run()).replacen("\"schema\": 1,", "\"schema\": 1, \"moon\": \"full\",", 1);
        assert_eq!(read(text.as_bytes()).unwrap(), sample::run());
    }

    #[test]
    fn the_documented_example_is_a_report() {
        let example = PAGE.split("```json\n").nth(1).expect("an example").split("```").next().unwrap();
        let run = read(example.as_bytes()).unwrap();
        assert_eq!(written(&run).trim(), example.trim(), "the example is written as the tool writes it");
    }

    #[test]
    fn the_documented_fields_are_those_of_a_report() {
        let (mut run, mut case) = (sample::run(), sample::gap());
        run.pair = Some([run.device.clone(), run.device.clone()]);
        case.findings[0].device = Some("A (emulator)".to_owned());
        let difference = crate::outcome::Difference {
            line: None,
            frame: None,
            subject: String::new(),
            golden: String::new(),
            seen: String::new(),
            golden_packet: String::new(),
            seen_packet: String::new(),
            rule: None,
            why: String::new(),
        };
        let golden = crate::outcome::Golden { name: String::new(), differences: Vec::new() };
        for (heading, fields) in [
            ("Run", fields(&run)),
            ("Device", fields(&run.device)),
            ("Rule", fields(&run.rules[0])),
            ("Case", fields(&case)),
            ("Finding", fields(&case.findings[0])),
            ("Trace line", fields(&case.trace[0])),
            ("Golden trace", fields(&golden)),
            ("Difference", fields(&difference)),
        ] {
            assert_eq!(documented(PAGE, heading), fields, "{heading}");
        }
    }

    #[test]
    fn the_documented_words_are_those_of_a_report() {
        assert_eq!(documented(PAGE, "Verdict"), Verdict::ALL.iter().map(Verdict::to_string).collect());
        let levels = [Level::Info, Level::May, Level::Should, Level::Must];
        assert_eq!(documented(PAGE, "Level"), levels.iter().map(Level::to_string).collect());
    }

    #[test]
    fn json_layout() {
        insta::assert_snapshot!(written(&sample::run()));
    }
}
