//! The JSON report: exactly a [`Run`], described in `docs/report-schema.md`.

use std::io::{self, Read, Write};

use serde::Deserialize;

use crate::outcome::{Run, SCHEMA};

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

/// Writes a run as indented JSON with a newline at the end.
pub fn write(run: &Run, mut out: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut out, run)?;
    out.write_all(b"\n")?;
    out.flush()
}

/// Reads a report. The schema is looked at before anything else, so a report of another version is told from a damaged
/// one. Fields that this version does not know are passed over.
pub fn read(mut input: impl Read) -> Result<Run, ReadError> {
    #[derive(Deserialize)]
    struct Versioned {
        schema: u64,
    }

    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    let Versioned { schema } = serde_json::from_slice(&bytes)?;
    if schema != u64::from(SCHEMA) {
        return Err(ReadError::Schema { found: schema });
    }
    Ok(serde_json::from_slice(&bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

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
        let page = include_str!("../../docs/report-schema.md");
        let example = page.split("```json\n").nth(1).expect("an example").split("```").next().unwrap();
        let run = read(example.as_bytes()).unwrap();
        assert_eq!(written(&run).trim(), example.trim(), "the example is written as the tool writes it");
    }

    #[test]
    fn every_field_of_a_report_is_documented() {
        fn names(value: &serde_json::Value, found: &mut std::collections::BTreeSet<String>) {
            match value {
                serde_json::Value::Object(map) => {
                    for (name, value) in map {
                        found.insert(name.clone());
                        if name != "variant" {
                            names(value, found);
                        }
                    }
                }
                serde_json::Value::Array(items) => items.iter().for_each(|item| names(item, found)),
                _ => {}
            }
        }
        let page = include_str!("../../docs/report-schema.md");
        let mut found = std::collections::BTreeSet::new();
        names(&serde_json::to_value(sample::run()).unwrap(), &mut found);
        for name in found {
            assert!(page.contains(&format!("| `{name}` |")), "docs/report-schema.md has no row for `{name}`");
        }
    }

    #[test]
    fn json_layout() {
        insta::assert_snapshot!(written(&sample::run()));
    }
}
