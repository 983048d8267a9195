//! Runs of two devices each, as laboratories publish them: A x B x case.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::outcome::{Device, Run, SCHEMA, Verdict};
use crate::text::{columns, one_line};

/// A matrix of pairs. The file `matrix.json` is exactly this; `docs/pair.md` describes it.
#[derive(Debug, Clone, Serialize)]
pub struct Matrix<'r> {
    /// [`SCHEMA`].
    pub schema: u32,
    /// Name and version of the tool.
    pub tool: &'r str,
    /// The devices, each once.
    pub devices: Vec<&'r Device>,
    /// What each ordered pair came to.
    pub pairs: Vec<Pair<'r>>,
}

/// Two devices.
#[derive(Debug, Clone, Serialize)]
pub struct Pair<'r> {
    /// The first device.
    pub a: &'r str,
    /// The second one.
    pub b: &'r str,
    /// The folder with its report.
    pub folder: &'r str,
    /// How many cases have each verdict.
    pub counts: BTreeMap<String, usize>,
    /// The cases in the order of their ids.
    pub cases: Vec<Outcome<'r>>,
}

/// A case of a pair.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome<'r> {
    /// Scenario and variant.
    pub case: String,
    /// The judgement.
    pub verdict: Verdict,
    /// Why, in one line.
    pub reason: &'r str,
    /// The device that the first finding is about, where there is one.
    pub device: Option<&'r str>,
}

impl<'r> Matrix<'r> {
    /// Of runs with the folders of their reports. Runs of one device are left out.
    pub fn of(runs: &'r [(String, Run)]) -> Matrix<'r> {
        let mut devices: Vec<&Device> = Vec::new();
        let mut pairs = Vec::new();
        for (folder, run) in runs {
            let Some([a, b]) = &run.pair else { continue };
            for device in [a, b] {
                if !devices.iter().any(|known| known.dut == device.dut) {
                    devices.push(device);
                }
            }
            let cases = run.cases.iter().map(|case| Outcome {
                case: case.id(),
                verdict: case.verdict,
                reason: &case.reason,
                device: case.findings.first().and_then(|finding| finding.device.as_deref()),
            });
            let counts = present(run).map(|verdict| (verdict.to_string(), run.count(verdict)));
            pairs.push(Pair { a: &a.dut, b: &b.dut, folder, counts: counts.collect(), cases: cases.collect() });
        }
        Matrix { schema: SCHEMA, tool: runs.first().map_or("", |(_, run)| &run.tool), devices, pairs }
    }

    /// The pair of these two, by their places among the devices.
    pub fn pair(&self, a: usize, b: usize) -> Option<&Pair<'r>> {
        self.pairs.iter().find(|pair| pair.a == self.devices[a].dut && pair.b == self.devices[b].dut)
    }
}

impl Pair<'_> {
    /// `38 pass, 1 xfail`.
    pub fn tally(&self) -> String {
        let ordered = Verdict::ALL.iter().map(Verdict::to_string);
        let told = ordered.filter_map(|verdict| {
            let count = self.counts.get(&verdict)?;
            Some(format!("{count} {}", verdict.to_lowercase()))
        });
        told.collect::<Vec<_>>().join(", ")
    }
}

/// The verdicts that occur, in the order of a summary.
fn present(run: &Run) -> impl Iterator<Item = Verdict> + '_ {
    Verdict::ALL.into_iter().filter(|&verdict| run.count(verdict) > 0)
}

/// One line about a run, for a terminal.
pub fn line(run: &Run) -> String {
    let counts: Vec<String> =
        present(run).map(|verdict| format!("{} {}", run.count(verdict), verdict.to_string().to_lowercase())).collect();
    format!("{}: {}\n", one_line(&run.device.dut), counts.join(", "))
}

/// The matrix for a terminal: a row for each first device, a column for each second one. Begins with an empty line.
pub fn table(runs: &[(String, Run)]) -> String {
    let matrix = Matrix::of(runs);
    let names: Vec<String> = matrix.devices.iter().map(|device| one_line(&device.dut)).collect();
    let mut rows = vec![std::iter::once("A \\ B".to_owned()).chain(names.iter().cloned()).collect::<Vec<_>>()];
    for (a, name) in names.iter().enumerate() {
        let cells = (0..names.len()).map(|b| matrix.pair(a, b).map_or_else(|| "not played".to_owned(), Pair::tally));
        rows.push(std::iter::once(name.clone()).chain(cells).collect());
    }
    let widths: Vec<usize> =
        (0..=names.len()).map(|column| rows.iter().map(|row| columns(&row[column])).max().unwrap_or(0)).collect();
    let mut out = String::from("\n");
    for row in rows {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell}{}", " ".repeat(width.saturating_sub(columns(cell)))))
            .collect();
        out.push_str(cells.join("  ").trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    fn runs() -> Vec<(String, Run)> {
        let device = |dut: &str| Device { dut: dut.into(), profile: "p".into(), system: "s".into() };
        let of = |a: &str, b: &str| {
            let mut run = sample::run();
            run.pair = Some([device(a), device(b)]);
            run.device = device(&format!("{a} with {b}"));
            (format!("{a}_with_{b}"), run)
        };
        vec![of("x", "x"), of("x", "yy"), of("yy", "x")]
    }

    #[test]
    fn a_matrix_has_a_row_for_each_first_device_and_says_what_was_not_played() {
        let text = table(&runs());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines[1].starts_with("A \\ B") && lines[1].trim_end().ends_with("yy"));
        assert!(lines[2].contains("1 fail") && lines[3].contains("not played"), "{text}");
    }

    #[test]
    fn its_json_names_devices_pairs_and_cases() {
        let runs = runs();
        let json = serde_json::to_value(Matrix::of(&runs)).unwrap();
        assert_eq!(json["devices"].as_array().unwrap().len(), 2);
        assert_eq!(json["pairs"][1]["b"], "yy");
        assert_eq!(json["pairs"][0]["counts"]["FAIL"], 1);
        assert_eq!(json["pairs"][0]["cases"].as_array().unwrap().len(), runs[0].1.cases.len());
        // A run of one device has no place in it.
        assert!(Matrix::of(&[("one".to_owned(), sample::run())]).pairs.is_empty());
    }
}
