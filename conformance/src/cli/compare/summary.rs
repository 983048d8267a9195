//! What a comparison as a whole says.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::dut::Dut;
use crate::golden::{Explanation, Explanations, Kind};
use crate::run::compare::{Compared, Outcome};

/// A whole comparison. The JSON output is exactly this; `docs/compare.md` describes it.
#[derive(Debug, Serialize)]
pub(super) struct Summary<'e> {
    /// Version of this form.
    schema: u32,
    /// Name and version of the tool.
    tool: &'static str,
    /// The device as named on the command line.
    pub(super) dut: String,
    /// Its profile.
    pub(super) profile: String,
    /// What it says of itself.
    pub(super) system: String,
    pub(super) seed: u64,
    /// The known differences, and how often each showed.
    pub(super) explanations: Vec<Used<'e>>,
    /// What the tool itself knows to be free, by the reason.
    pub(super) freedoms: BTreeMap<String, usize>,
    pub(super) cases: Vec<Compared>,
}

/// An explanation and what it explained.
#[derive(Debug, Serialize)]
pub(super) struct Used<'e> {
    #[serde(flatten)]
    pub(super) explanation: &'e Explanation,
    /// Cases in which it explained something.
    pub(super) count: usize,
    /// Cases in which it might have: it is stale when there are some and `count` is 0.
    pub(super) concerned: usize,
}

impl<'e> Summary<'e> {
    pub(super) fn new(device: &dyn Dut, dut: &str, seed: u64, explanations: &'e Explanations) -> Summary<'e> {
        let unused = |explanation| Used { explanation, count: 0, concerned: 0 };
        Summary {
            schema: 1,
            tool: concat!("rocespec ", env!("CARGO_PKG_VERSION")),
            dut: dut.to_owned(),
            profile: device.profile().name.clone(),
            system: device.device().system.clone(),
            seed,
            explanations: explanations.entries().iter().map(unused).collect(),
            freedoms: BTreeMap::new(),
            cases: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, compared: Compared) {
        let played = !matches!(compared.result, Outcome::Unsupported(_) | Outcome::NotPlayed(_));
        for (at, used) in self.explanations.iter_mut().enumerate() {
            used.concerned += usize::from(played && used.explanation.concerns(&compared.case));
            used.count += usize::from(compared.differences.iter().any(|difference| difference.by == Some(at)));
        }
        for difference in compared.differences.iter().filter(|d| d.kind == Kind::Freedom && d.by.is_none()) {
            *self.freedoms.entry(difference.why.clone()).or_default() += 1;
        }
        self.cases.push(compared);
    }

    pub(super) fn count(&self, of: impl Fn(&Outcome) -> bool) -> usize {
        self.cases.iter().filter(|case| of(&case.result)).count()
    }

    /// 1 when something is unexplained, else 2 when something could not be compared.
    pub(super) fn exit_code(&self) -> u8 {
        if self.count(|outcome| *outcome == Outcome::Unexplained) > 0 {
            return 1;
        }
        let lost = self.cases.is_empty() || self.count(|outcome| matches!(outcome, Outcome::NotPlayed(_))) > 0;
        if lost { 2 } else { 0 }
    }
}
