//! Where the pages of a report lie, and how one leads to another.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use crate::outcome::Run;

/// Folder of the case pages, inside the report folder.
pub(super) const CASES: &str = "cases";

/// Longest name of a page in bytes, without its ending: file systems take 255 with it.
const LONGEST: usize = 200;

/// The page of each case, by its place in the run: names without a folder, no two the same.
pub(super) fn pages(run: &Run) -> Vec<String> {
    unique(run.cases.iter().map(|case| file_name(&case.id())), ".html")
}

/// The names with an ending, and with a number where one has come before.
pub(super) fn unique(names: impl Iterator<Item = String>, ending: &str) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let name = |name: String| {
        let numbered = (2..).map(|n| format!("{name}~{n}{ending}"));
        let mut names = std::iter::once(format!("{name}{ending}")).chain(numbered);
        // Some file systems do not tell capital letters from small ones.
        names.find(|name| taken.insert(name.to_lowercase())).unwrap_or_default()
    };
    names.map(name).collect()
}

/// An id as a file name without an ending: `rc.responder.psn-gap[ip=v6]`.
pub(super) fn file_name(id: &str) -> String {
    let letter = |c: char| match c {
        '/' => '.',
        c if c.is_ascii_alphanumeric() || "._-=,+[]".contains(c) => c,
        _ => '_',
    };
    let name: String = id.chars().take(LONGEST).map(letter).collect();
    if name.is_empty() || name.starts_with('.') { format!("_{name}") } else { name }
}

/// A path below the report folder as an address relative to it. `None` for one that leads elsewhere.
pub(super) fn address(path: &str) -> Option<String> {
    let inside = Path::new(path).components().all(|component| matches!(component, Component::Normal(_)));
    (inside && !path.is_empty() && !path.contains(['\\', ':'])).then(|| encode(path))
}

/// `text` as a part of an address: what is no letter, digit or one of `-._~/` as `%5b`.
pub(super) fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(byte as char),
            byte => out.push_str(&format!("%{byte:02x}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn no_id_leaves_the_folder_and_no_two_share_a_page() {
        let mut run = sample::run();
        let ids = ["../../etc/passwd", "../../etc/passwd", "..", "", "a/b", "A.b", "é\n", "x/".repeat(300).as_str()]
            .map(str::to_owned);
        for (case, id) in run.cases.iter_mut().zip(ids) {
            case.scenario = id;
            case.variant.clear();
        }
        let pages = pages(&run);
        assert_eq!(pages[..2], ["_......etc.passwd.html", "_......etc.passwd~2.html"]);
        assert_eq!(pages.iter().collect::<BTreeSet<_>>().len(), pages.len());
        assert!(pages.iter().all(|page| !page.contains(['/', '\n']) && !page.starts_with('.') && page.len() < 255));
    }

    #[test]
    fn an_address_stays_below_the_report() {
        assert_eq!(address("frames/a[ip=v6].pcapng").as_deref(), Some("frames/a%5bip%3dv6%5d.pcapng"));
        for path in ["../x", "/etc/passwd", "javascript:alert(1)", "", "a/../../b", "c:\\x", "\\\\host\\x"] {
            assert_eq!(address(path), None, "{path}");
        }
    }
}
