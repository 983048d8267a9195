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
        match self.variant.name() {
            name if name.is_empty() => self.scenario.id.clone(),
            name => format!("{}[{name}]", self.scenario.id),
        }
    }
}

/// Every case that the filters let through, in the order of the ids.
///
/// A filter that is a folder of the catalogue or the id of a scenario takes what is below it (`rc`, `rc/responder`); any
/// other takes the scenarios whose id contains it (`psn`). Values of the variant may follow in brackets, in any order and not
/// necessarily all (`rc[ip=v6]`): they choose among the usual variants, or where none of those has them, among all that there
/// are. Upper and lower case are the same. No filter takes everything.
///
/// # Errors
/// The first filter that matches nothing.
pub fn plan<'s>(scenarios: &'s [Scenario], filters: &[String], all: bool) -> Result<Vec<Planned<'s>>, NoMatch> {
    let planned = plan_where(scenarios, filters, all, |scenario, _| !scenario.is_for_pairs());
    planned.map_err(|NoMatch { filter, .. }| {
        let for_pairs = plan_pairs(scenarios, std::slice::from_ref(&filter), all).is_ok();
        NoMatch { filter, for_pairs }
    })
}

/// The same for two devices: the scenarios that are for two and, where a filter asks for them, those whose peer is otherwise
/// the reference model.
///
/// # Errors
/// The first filter that matches nothing.
pub fn plan_pairs<'s>(scenarios: &'s [Scenario], filters: &[String], all: bool) -> Result<Vec<Planned<'s>>, NoMatch> {
    plan_where(scenarios, filters, all, |scenario, asked| scenario.is_for_pairs() || asked && scenario.has_peer())
}

/// The same of all scenarios, for one device and for two.
///
/// # Errors
/// The first filter that matches nothing.
pub fn plan_any<'s>(scenarios: &'s [Scenario], filters: &[String], all: bool) -> Result<Vec<Planned<'s>>, NoMatch> {
    plan_where(scenarios, filters, all, |_, _| true)
}

/// The cases of scenarios that `fits` says can be played; it is told whether a filter asks for them.
fn plan_where<'s>(
    scenarios: &'s [Scenario],
    filters: &[String],
    all: bool,
    fits: impl Fn(&Scenario, bool) -> bool,
) -> Result<Vec<Planned<'s>>, NoMatch> {
    let mut filters: Vec<Filter<'_>> = filters.iter().map(|filter| Filter::new(filter, scenarios)).collect();
    let mut planned = Vec::new();
    let is_asked = !filters.is_empty();
    for scenario in scenarios.iter().filter(|scenario| fits(scenario, is_asked)) {
        let (usual, every) = (cases(scenario, all), cases(scenario, true));
        let mut wanted = BTreeSet::new();
        if filters.is_empty() {
            wanted.extend(usual.iter().map(Planned::id));
        }
        for filter in filters.iter_mut().filter(|filter| filter.takes(scenario)) {
            let of = |cases: &[Planned<'_>]| -> Vec<String> {
                cases.iter().filter(|case| filter.takes_variant(case)).map(Planned::id).collect()
            };
            let mut chosen = of(&usual);
            if chosen.is_empty() {
                chosen = of(&every);
            }
            filter.used |= !chosen.is_empty();
            wanted.extend(chosen);
        }
        planned.extend(every.into_iter().filter(|case| wanted.contains(&case.id())));
    }
    match filters.iter().find(|filter| !filter.used) {
        Some(filter) => Err(NoMatch { filter: filter.text.to_owned(), for_pairs: false }),
        None => Ok(planned),
    }
}

/// A scenario in every variant, or in the usual ones.
fn cases(scenario: &Scenario, all: bool) -> Vec<Planned<'_>> {
    scenario.variants(all).into_iter().map(|variant| Planned { scenario, variant }).collect()
}

/// What was asked for, in lower case.
struct Filter<'f> {
    text: &'f str,
    scenario: String,
    /// It is a folder or a scenario: what else contains it is not meant.
    is_place: bool,
    /// `axis=value`.
    values: Vec<String>,
    used: bool,
}

impl<'f> Filter<'f> {
    fn new(text: &'f str, scenarios: &[Scenario]) -> Filter<'f> {
        let lower = text.to_lowercase();
        let (scenario, values) = lower.split_once('[').unwrap_or((&lower, ""));
        let scenario = scenario.trim().trim_end_matches('/').to_owned();
        let values = values.trim_end().trim_end_matches(']').split(',').map(str::trim);
        let values = values.filter(|value| !value.is_empty()).map(str::to_owned).collect();
        let is_place = scenarios.iter().any(|known| is_below(&known.id, &scenario));
        Filter { text, scenario, is_place, values, used: false }
    }

    fn takes(&self, scenario: &Scenario) -> bool {
        match self.is_place {
            true => is_below(&scenario.id, &self.scenario),
            false => scenario.id.to_lowercase().contains(&self.scenario),
        }
    }

    fn takes_variant(&self, case: &Planned<'_>) -> bool {
        let values = case.variant.values.iter().map(|(axis, value)| format!("{axis}={value}").to_lowercase());
        let values: Vec<String> = values.collect();
        self.values.iter().all(|wanted| values.contains(wanted))
    }
}

/// True when the id is that of `place`, or of something in the folder `place`.
fn is_below(id: &str, place: &str) -> bool {
    id.to_lowercase().strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A filter that no scenario answers to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no scenario {}matches {filter:?}; {} shows what there is",
    if *for_pairs { "for one device " } else { "" },
    if *for_pairs { "`rocespec pair` plays those for two, and `rocespec list`" } else { "`rocespec list`" }
)]
pub struct NoMatch {
    /// The filter.
    pub filter: String,
    /// Scenarios for two devices match it.
    pub for_pairs: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::catalogue;

    fn ids(filter: &str) -> Vec<String> {
        let scenarios = catalogue().unwrap();
        let planned = plan(&scenarios, &[filter.to_owned()], false);
        planned.map(|planned| planned.iter().map(Planned::id).collect()).unwrap_or_default()
    }

    #[test]
    fn a_folder_takes_what_is_in_it_and_a_part_of_a_name_all_that_contain_it() {
        for folder in ["bth/", "rc/responder/"] {
            let inside = ids(folder.trim_end_matches('/'));
            assert!(!inside.is_empty() && inside.iter().all(|id| id.starts_with(folder)), "{inside:?}");
            assert_eq!(ids(folder), inside);
        }
        assert!(ids("gap").iter().any(|id| id.starts_with("rc/responder/psn-gap")));
        assert_eq!(ids("BTH"), ids("bth"));
        assert_eq!(ids("no-such-thing"), [""; 0]);
    }

    #[test]
    fn a_variant_may_be_named_in_part_and_in_any_order() {
        let usual = ids("rc/responder/psn-gap");
        let v4 = ids("rc/responder/psn-gap[ip=v4]");
        assert!(!v4.is_empty() && v4.len() < usual.len(), "{v4:?}");
        assert!(v4.iter().all(|id| usual.contains(id) && id.contains("ip=v4")));
        for id in &usual {
            assert_eq!(ids(id), std::slice::from_ref(id));
            let (scenario, values) = id.trim_end_matches(']').split_once('[').unwrap();
            let turned: Vec<&str> = values.split(',').rev().collect();
            assert_eq!(ids(&format!("{scenario}[{}]", turned.join(", "))), std::slice::from_ref(id));
        }
        assert_eq!(ids("rc/responder/psn-gap[ip=v5]"), [""; 0]);
    }

    #[test]
    fn a_variant_that_is_not_usual_is_found_by_its_name() {
        let scenarios = catalogue().unwrap();
        for case in plan(&scenarios, &["rc/responder/psn-gap".to_owned()], true).unwrap() {
            assert_eq!(ids(&case.id()), [case.id()]);
        }
    }
}
