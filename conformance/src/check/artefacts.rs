//! What the capture did to the traffic: named once each, with a way to capture better, and never taken for a fault.

use std::collections::BTreeMap;

use rocespec_reports::examination::Artefact;

/// A kind of artefact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Frames are cut by the snap length, or by a mirror.
    Cut,
    /// Packets are missing.
    Hole,
    /// Packets come twice.
    Copies,
    /// The ICRC was not there yet.
    IcrcPlaceholder,
    /// The IP header checksum was not there yet.
    ChecksumPlaceholder,
    /// Bytes stand behind the packet.
    Trailer,
    /// Frames are not in the order of their times.
    Order,
    /// Only one direction was captured.
    OneDirection,
    /// Connections were made, and no data was captured.
    NoData,
    /// Native InfiniBand.
    Native,
    /// There are more connections than are looked at.
    Beyond,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Cut => "cut",
            Kind::Hole => "hole",
            Kind::Copies => "copies",
            Kind::IcrcPlaceholder => "icrc-placeholder",
            Kind::ChecksumPlaceholder => "checksum-placeholder",
            Kind::Trailer => "trailer",
            Kind::Order => "order",
            Kind::OneDirection => "one-direction",
            Kind::NoData => "no-data",
            Kind::Native => "native-infiniband",
            Kind::Beyond => "too-many-connections",
        }
    }

    fn seen(self, count: u64) -> String {
        let (frames, have) =
            if count == 1 { ("1 frame".to_owned(), "has") } else { (format!("{count} frames"), "have") };
        match self {
            Kind::Cut => format!("{frames} cut by the capture; their ICRCs and payloads were not looked at"),
            Kind::Hole if count == 1 => "1 packet that was sent and acknowledged is not in the capture".to_owned(),
            Kind::Hole => format!("{count} packets that were sent and acknowledged are not in the capture"),
            Kind::Copies => format!("{frames} captured a second time; the copies were left out"),
            Kind::IcrcPlaceholder => format!("{frames} {have} something else in place of the ICRC, and were accepted"),
            Kind::ChecksumPlaceholder => format!("{frames} {have} an IP header checksum of 0"),
            Kind::Trailer => format!("{frames} {have} bytes behind the packet, such as a frame check sequence"),
            Kind::Order => format!("{frames} captured before the one in front of it"),
            Kind::OneDirection if count == 1 => "of 1 connection only one direction was found".to_owned(),
            Kind::OneDirection => format!("of {count} connections only one direction was found"),
            Kind::NoData if count == 1 => "1 connection was set up, and no packet of it is in the capture".to_owned(),
            Kind::NoData => format!("{count} connections were set up, and no packet of them is in the capture"),
            Kind::Native => format!("{frames} of native InfiniBand, which is not RoCE"),
            Kind::Beyond => {
                format!("{frames} or more belong to connections beyond the first 32,768, which were not looked at")
            }
        }
    }

    fn hint(self) -> &'static str {
        match self {
            Kind::Cut => "capture whole frames: tcpdump -s 0, and no truncation in the mirror session",
            Kind::Hole => {
                "capture with a larger buffer (tcpdump -B 65536), to a faster disk, or fewer bytes of each frame"
            }
            Kind::Copies => {
                "capture on one interface instead of any, and mirror one port in both directions, not both ports"
            }
            Kind::IcrcPlaceholder => {
                "the adapter adds the ICRC behind the place of the capture; capture at the other end or at a switch to \
                 have it checked"
            }
            Kind::ChecksumPlaceholder => "the adapter fills it in behind the place of the capture",
            Kind::Trailer => "nothing is wrong; capture without FCS to save room",
            Kind::Order => "frames of several queues or interfaces: reordercap sorts them by time",
            Kind::OneDirection => {
                "mirror both directions of the port, and begin before the connections are made: packets do not name the \
                 queue pair that they come from. What a response answers was not looked at"
            }
            Kind::NoData => {
                "an adapter that does RDMA by itself shows tcpdump nothing of it: capture on the RDMA device \
                 (tcpdump -i mlx5_0), or mirror the switch port"
            }
            Kind::Native => "its ICRC covers other bytes; this tool judges RoCE alone",
            Kind::Beyond => "capture or cut out less: rocespec cut FILE OUT --from ADDRESS, or editcap -c",
        }
    }
}

/// Collects artefacts.
#[derive(Debug, Clone, Default)]
pub(super) struct Artefacts {
    /// How many frames, and the first of them.
    kinds: BTreeMap<Kind, (u64, u64)>,
}

impl Artefacts {
    /// A frame shows it.
    pub(super) fn note(&mut self, kind: Kind, frame: u64) {
        self.note_several(kind, 1, frame);
    }

    /// So many show it, and this is the first.
    pub(super) fn note_several(&mut self, kind: Kind, count: u64, frame: u64) {
        if count == 0 {
            return;
        }
        let (so_far, first) = self.kinds.entry(kind).or_insert((0, frame));
        *so_far += count;
        *first = frame.min(*first);
    }

    pub(super) fn merge(&mut self, other: &Artefacts) {
        for (kind, (count, first)) in &other.kinds {
            self.note_several(*kind, *count, *first);
        }
    }

    pub(super) fn finish(&self) -> Vec<Artefact> {
        let artefact = |(kind, (count, frame)): (&Kind, &(u64, u64))| Artefact {
            kind: kind.name().to_owned(),
            count: *count,
            frame: *frame,
            seen: kind.seen(*count),
            hint: kind.hint().to_owned(),
        };
        self.kinds.iter().map(artefact).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_lists_every_artefact() {
        let guide = include_str!("../../../docs/check.md");
        let section = guide.split("\n## ").find(|section| section.starts_with("What the capture did\n")).unwrap();
        let listed: Vec<&str> =
            section.lines().filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0)).collect();
        let all = [
            Kind::Cut,
            Kind::Hole,
            Kind::Copies,
            Kind::IcrcPlaceholder,
            Kind::ChecksumPlaceholder,
            Kind::Trailer,
            Kind::Order,
            Kind::OneDirection,
            Kind::NoData,
            Kind::Native,
            Kind::Beyond,
        ];
        assert_eq!(listed, all.map(Kind::name));
    }
}
