//! What can be told of the device without judging it: how well the numbers that it hands out can be guessed.

use std::collections::BTreeMap;

use rocespec_reports::outcome::Observation;

/// Fewer numbers than this say nothing about the next one.
const ENOUGH: usize = 3;

/// Numbers that the device chose in one case.
#[derive(Debug, Clone, Default)]
pub(super) struct HandedOut {
    pub(super) qpn: Option<u32>,
    /// Keys of memory regions, in the order of their registration.
    pub(super) rkeys: Vec<u32>,
    /// UDP source port of the queue pair.
    pub(super) source_port: Option<u16>,
}

/// Collects them over a run.
#[derive(Debug, Default)]
pub(super) struct Observer {
    qpns: Vec<u32>,
    rkeys: Vec<u32>,
    source_ports: Vec<u32>,
}

impl Observer {
    /// Another case is over.
    pub(super) fn note(&mut self, numbers: &HandedOut) {
        self.qpns.extend(numbers.qpn);
        self.rkeys.extend(&numbers.rkeys);
        self.source_ports.extend(numbers.source_port.map(u32::from));
    }

    /// What there is to say.
    pub(super) fn finish(&self) -> Vec<Observation> {
        let mut all = Vec::new();
        let mut say = |subject: &str, numbers: &[u32], pattern: Option<String>| {
            let pattern = pattern.unwrap_or_else(|| "no step between them comes up in half of them".to_owned());
            if numbers.len() >= ENOUGH {
                let seen = format!("{} seen: {pattern}", numbers.len());
                all.push(Observation { subject: subject.to_owned(), seen });
            }
        };
        say("queue pair numbers", &self.qpns, steps(&self.qpns));
        say("keys of memory regions", &self.rkeys, steps_of_keys(&self.rkeys));
        say("UDP source ports", &self.source_ports, Some(spread(&self.source_ports)));
        if !self.qpns.is_empty() {
            let seen = "chosen by the tester, as software does through the verbs interface".to_owned();
            all.push(Observation { subject: "start PSNs".to_owned(), seen });
        }
        all
    }
}

/// How the numbers lie to each other. They are looked at in order of size: cases may run side by side.
fn steps(numbers: &[u32]) -> Option<String> {
    let mut sorted = numbers.to_vec();
    sorted.sort_unstable();
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    for pair in sorted.windows(2) {
        *counts.entry(pair[1] - pair[0]).or_default() += 1;
    }
    let all = sorted.len().saturating_sub(1);
    let (step, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    let how = match step {
        0 => "the same as another one".to_owned(),
        step => format!("{step:#x} above another one"),
    };
    match count {
        count if count == all => Some(format!("each is {how}")),
        count if count * 2 >= all => Some(format!("{count} of {all} are {how}")),
        _ => None,
    }
}

/// Of keys often all but the lowest byte is counted on.
fn steps_of_keys(keys: &[u32]) -> Option<String> {
    steps(keys).or_else(|| {
        let upper: Vec<u32> = keys.iter().map(|key| key >> 8).collect();
        Some(format!("without their lowest byte {}", steps(&upper)?))
    })
}

/// How well the ports spread over the paths of a network.
fn spread(ports: &[u32]) -> String {
    let (least, most) = (ports.iter().min().unwrap_or(&0), ports.iter().max().unwrap_or(&0));
    let mut different = ports.to_vec();
    different.sort_unstable();
    different.dedup();
    match different.len() {
        1 => format!("always {least}, so that all connections take one path"),
        count => format!("{count} different ones from {least} to {most}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_comes_again_is_told() {
        let told = |numbers: &[u32]| steps(numbers).unwrap_or_default();
        assert_eq!(told(&[0x13, 0x11, 0x12]), "each is 0x1 above another one");
        assert_eq!(told(&[7, 7, 7]), "each is the same as another one");
        assert_eq!(told(&[1, 2, 3, 9]), "2 of 3 are 0x1 above another one");
        assert_eq!(told(&[1, 500, 3, 77, 2000]), "");
        let keys = steps_of_keys(&[0x1ab, 0x217, 0x3ff, 0x402]);
        assert_eq!(keys.as_deref(), Some("without their lowest byte each is 0x1 above another one"));
    }

    #[test]
    fn what_comes_too_seldom_is_not_told() {
        let mut observer = Observer::default();
        assert!(observer.finish().is_empty());
        for qpn in 0x11..0x14 {
            observer.note(&HandedOut { qpn: Some(qpn), rkeys: vec![], source_port: Some(50_000) });
        }
        observer.note(&HandedOut { rkeys: vec![1, 2], ..HandedOut::default() });
        let seen: Vec<String> =
            observer.finish().into_iter().map(|one| format!("{}: {}", one.subject, one.seen)).collect();
        assert_eq!(
            seen,
            [
                "queue pair numbers: 3 seen: each is 0x1 above another one",
                "UDP source ports: 3 seen: always 50000, so that all connections take one path",
                "start PSNs: chosen by the tester, as software does through the verbs interface",
            ]
        );
    }
}
