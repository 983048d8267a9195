//! Frames by their numbers.

/// Numbers from one to another, both included; 1 is the first frame of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frames {
    first: u64,
    last: u64,
}

/// True for a frame with this number where these are asked for; without any, all are.
pub(super) fn are_asked_for(ranges: &[Frames], number: u64) -> bool {
    ranges.is_empty() || ranges.iter().any(|range| (range.first..=range.last).contains(&number))
}

/// The highest number that is asked for.
pub(super) fn last(ranges: &[Frames]) -> u64 {
    ranges.iter().map(|range| range.last).max().unwrap_or(u64::MAX)
}

/// Reads `17`, `100..250`, `100..` and `..250`.
pub(super) fn frames(text: &str) -> Result<Frames, String> {
    let number = |text: &str, other: u64| match text.trim().trim_start_matches('=') {
        "" => Some(other),
        text if text.starts_with('+') => None,
        text => text.parse().ok().filter(|number| *number > 0),
    };
    let read = match text.split_once("..") {
        Some((first, last)) if !(first.is_empty() && last.is_empty()) => number(first, 1).zip(number(last, u64::MAX)),
        None if !text.is_empty() => number(text, 0).map(|one| (one, one)),
        _ => None,
    };
    match read {
        Some((first, last)) if first <= last => Ok(Frames { first, last }),
        Some(_) => Err("the first number is the lower one: 100..250".to_owned()),
        None => Err("frames are numbers from 1 on: 17, 100..250, 100..".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_both_their_ends() {
        let read = |text| frames(text).map(|Frames { first, last }| (first, last));
        assert_eq!(read("17"), Ok((17, 17)));
        assert_eq!(read("100..250"), Ok((100, 250)));
        assert_eq!(read("100..=250"), Ok((100, 250)));
        assert_eq!(read("100.."), Ok((100, u64::MAX)));
        assert_eq!(read("..250"), Ok((1, 250)));
        for wrong in ["", "..", "0", "0..3", "5..4", "x", "+3", "1..+3", "1-3"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
