//! Where the explanations of known differences come from.

use std::path::Path;

use anyhow::Context as _;

use crate::golden::Explanations;

/// Those that come with the tool, by the profiles that they are for.
const FILES: [(&str, &str); 3] = [
    ("rxe", include_str!("../../../../fixtures/differences/rxe.toml")),
    ("rxe-6.1", include_str!("../../../../fixtures/differences/rxe-6.1.toml")),
    ("rxe-7.3", include_str!("../../../../fixtures/differences/rxe-7.3.toml")),
];

/// The explanations of a file or, without one, those for a profile. A profile `rxe-6.1` has those of `rxe` too.
pub(super) fn explanations(file: Option<&Path>, profile: &str) -> anyhow::Result<Explanations> {
    if let Some(path) = file {
        let shown = path.display().to_string();
        let text = super::device::read(path).with_context(|| format!("cannot read the differences {shown}"))?;
        return Ok(Explanations::parse(&shown, &text)?);
    }
    let is_for = |name: &str| profile == name || profile.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'));
    let mut all = Explanations::default();
    for (name, text) in FILES.iter().rev().filter(|(name, _)| is_for(name)) {
        all.join(Explanations::parse(name, text)?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_has_the_entries_of_its_family_behind_its_own() {
        let of = |profile| explanations(None, profile).unwrap().entries().len();
        for (name, text) in FILES {
            let own = Explanations::parse(name, text).unwrap().entries().len();
            let family = if name == "rxe" { 0 } else { of("rxe") };
            assert_eq!(of(name), own + family, "{name}");
        }
        assert_eq!(of("emulator"), 0);
        assert_eq!(of("rxe-9"), of("rxe"));
    }
}
