//! The name that was probably meant.

/// Words longer than this are no slips of the finger.
const LONGEST: usize = 40;

/// The candidate nearest to `word`, if one is near: at most a third of its letters are wrong.
pub(super) fn nearest<'c>(word: &str, candidates: impl Iterator<Item = &'c str>) -> Option<&'c str> {
    let within = word.len() / 3;
    candidates
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= within.max(1))
        .filter_map(|candidate| Some((distance(word.as_bytes(), candidate.as_bytes())?, candidate)))
        .filter(|(distance, _)| *distance <= within.max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many letters have to be put in, taken out, replaced or swapped with their neighbour.
fn distance(a: &[u8], b: &[u8]) -> Option<usize> {
    if a.len() > LONGEST || b.len() > LONGEST {
        return None;
    }
    let mut rows = [[0usize; LONGEST + 1]; 3];
    for (at, cell) in rows[1].iter_mut().enumerate() {
        *cell = at;
    }
    for i in 1..=a.len() {
        rows.rotate_left(1);
        // Now rows[0] is the row above and rows[2] the one above that.
        let [above, current, before] = &mut rows;
        current[0] = i;
        for j in 1..=b.len() {
            let differ = usize::from(a[i - 1] != b[j - 1]);
            let mut least = (above[j] + 1).min(current[j - 1] + 1).min(above[j - 1] + differ);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(before[j - 2] + 1);
            }
            current[j] = least;
        }
    }
    Some(rows[1][b.len()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        let distance = |a: &str, b: &str| distance(a.as_bytes(), b.as_bytes()).unwrap();
        assert_eq!(distance("psn", "psn"), 0);
        assert_eq!(distance("pns", "psn"), 1);
        assert_eq!(distance("", "psn"), 3);
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("ip.tll", "ip.ttl"), 1);
    }

    #[test]
    fn far_names_are_not_offered() {
        assert_eq!(nearest("pns", ["msn", "psn"].into_iter()), Some("psn"));
        assert_eq!(nearest("quanta", ["psn", "qp"].into_iter()), None);
    }
}
