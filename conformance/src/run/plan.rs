//! What is to be run: scenarios, variants and filters.

use std::collections::BTreeSet;

use crate::scenario::{Scenario, Variant};

/// A scenario in one variant.
#[derive(Debug, Clone)]
pub struct Planned<'s> {
    /// The scenario.
    pub scenario: &'s Scenario,
    /// Its variant.
    pub variant: Variant,
}

impl Planned<'_> {
    /// Scenario and variant: `rc/responder/psn-gap[ip=v6,start_psn=0xfffffe]`.
    pub fn id(&self) -> String {
        if self.variant.values.is_empty() {
            return self.scenario.id.clone();
        }
        let values: Vec<String> = self.variant.values.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
        format!("{}[{}]", self.scenario.id, values.join(","))
    }
}

/// Every case that the filters let through, in the order of the ids.
///
/// A filter takes the scenarios whose id begins with it at a path boundary (`rc`, `rc/responder`), equals it, or
/// contains it (`psn`). With a variant in brackets it takes that variant alone, out of all that there are. No filter
/// takes everything.
///
/// # Errors
/// The first filter that matches nothing.
pub fn plan<'s>(scenarios: &'s [Scenario], filters: &[String], all: bool) -> Result<Vec<Planned<'s>>, NoMatch> {
    let mut used = vec![false; filters.len()];
    let mut planned = Vec::new();
    for scenario in scenarios {
        let usual: BTreeSet<String> =
            scenario.variants(all).into_iter().map(|v| Planned { scenario, variant: v }.id()).collect();
        for variant in scenario.variants(true) {
            let case = Planned { scenario, variant };
            let id = case.id();
            let mut wanted = filters.is_empty() && usual.contains(&id);
            for (filter, used) in filters.iter().zip(&mut used) {
                let takes = match filter.contains('[') {
                    true => *filter == id,
                    false => scenario.id.contains(filter.trim_end_matches('/')) && usual.contains(&id),
                };
                *used |= takes;
                wanted |= takes;
            }
            if wanted {
                planned.push(case);
            }
        }
    }
    match filters.iter().zip(used).find(|(_, used)| !used) {
        Some((filter, _)) => Err(NoMatch { filter: filter.clone() }),
        None => Ok(planned),
    }
}

/// A filter that no scenario answers to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no scenario matches {filter:?}; `rocespec list` shows what there is")]
pub struct NoMatch {
    /// The filter.
    pub filter: String,
}
