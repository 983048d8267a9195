//! Packets of a script, checked before any device is there to give their symbols a value.

use rocespec_codec::notation::{Line, NotationError, NotationErrorKind, Region, Scope, parse, parse_pattern};
use rocespec_codec::{Ipv4, Net, RKey, Roce, Udp, encoded_len};

use super::diagnostics::Problem;
use super::link::DEVICE;
use super::network::Network;
use super::script::{PacketText, TesterMemory};
use super::words::Piece;
use crate::link::End;

/// What the script has given names so far.
#[derive(Debug)]
pub(super) struct Regions {
    known: Vec<Known>,
    /// Whose step is read.
    pub(super) speaker: End,
    /// The script has a peer whose memory has names.
    pub(super) has_peer: bool,
}

#[derive(Debug)]
struct Known {
    name: String,
    kind: Named,
    /// Bytes.
    length: u64,
    /// Who has it.
    owner: End,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Named {
    /// A region.
    Memory,
    /// What the key of a bound window opens. Packets can name it as they name a region.
    Key,
    /// A window.
    Window,
}

impl Regions {
    pub(super) fn new() -> Regions {
        Regions { known: Vec::new(), speaker: DEVICE, has_peer: false }
    }

    /// The speaker makes something of that name.
    pub(super) fn add(&mut self, name: &str, kind: Named, length: u64) {
        self.known.push(Known { name: name.to_owned(), kind, length, owner: self.speaker });
    }

    /// True for a name that either end has given.
    pub(super) fn is_taken(&self, name: &str) -> bool {
        self.known.iter().any(|known| known.name == name)
    }

    /// True for something of that kind that the speaker has.
    pub(super) fn has(&self, name: &str, kind: Named) -> bool {
        self.find(self.speaker, name).is_some_and(|known| known.kind == kind)
    }

    /// Size of a region of the speaker's own.
    pub(super) fn length(&self, name: &str) -> Option<u64> {
        self.find(self.speaker, name).filter(|known| known.kind == Named::Memory).map(|known| known.length)
    }

    /// Size of what a key of the other end opens.
    pub(super) fn remote_length(&self, name: &str) -> Option<u64> {
        self.find(self.speaker.other(), name).filter(|known| known.kind != Named::Window).map(|known| known.length)
    }

    fn find(&self, end: End, name: &str) -> Option<&Known> {
        self.known.iter().find(|known| known.name == name && known.owner == end)
    }
}

/// What a packet is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To be sent: everything that is not written has its ordinary value.
    Send,
    /// To be sent without so many bytes in front of its ICRC.
    Cut(usize),
    /// To be compared with: everything that is not written is free.
    Expect,
}

/// Longest frame that a script may write, in bytes.
const LONGEST_FRAME: usize = 16 << 10;

/// Checks one packet on every network that the scenario runs on.
pub(super) fn check(text: Piece<'_>, purpose: Purpose, networks: &[Network], regions: &Regions) -> Result<(), Problem> {
    if text.text.is_empty() {
        return Err(text.wrong("no packet stands here"));
    }
    // Addresses and keys that no region will have: what matters is that the names are known.
    let regions: Vec<Region<'_>> = (1..)
        .zip(&regions.known)
        .filter(|(_, known)| known.kind != Named::Window)
        .map(|(at, known)| Region { name: &known.name, va: at << 48, len: known.length, rkey: RKey::new(at as u32) })
        .chain([TesterMemory::region()])
        .collect();
    let mut buffer = vec![0; LONGEST_FRAME];
    for (at, network) in networks.iter().enumerate() {
        let mut scope = Scope { regions: &regions, ..Scope::default() };
        if let Ok(Line::Roce(base)) = parse(&format!("SEND_ONLY psn=0 {}", network.name()), &Scope::default(), &mut [])
        {
            scope.base = base_of(&base);
        }
        let named = PacketText::with_other(text.text, 0);
        let result = match purpose {
            Purpose::Send => parse(&named, &scope, &mut buffer).map(|_| ()),
            Purpose::Cut(count) => match parse(&named, &scope, &mut buffer) {
                Ok(line) => {
                    may_cut(text, &line, count)?;
                    Ok(())
                }
                Err(error) => Err(error),
            },
            Purpose::Expect => parse_pattern(text.text, &scope, &mut buffer).map(|_| ()),
        };
        if let Err(error) = result {
            return Err(problem(text, &error, (at > 0).then_some(*network)));
        }
    }
    Ok(())
}

/// Bytes of a packet that lie behind UDP, or behind the GRH, and in front of the ICRC: what can be cut out.
pub(crate) fn cuttable(packet: &Roce<'_>) -> usize {
    let headers = packet.eth.len() + packet.net.len() + packet.udp.map_or(0, |_| Udp::LEN);
    encoded_len(packet).saturating_sub(headers + packet.trailer.len() + 4)
}

fn may_cut(text: Piece<'_>, line: &Line<'_>, count: usize) -> Result<(), Problem> {
    match line {
        Line::Roce(packet) if count <= cuttable(packet) => Ok(()),
        Line::Roce(packet) => {
            let label = format!("at most {} can be cut out of this packet", cuttable(packet));
            Err(text.wrong("there are not so many bytes to cut out").label(label))
        }
        Line::Raw(_) => Err(text.wrong("nothing can be cut out of raw bytes").label("write what is left of them")),
    }
}

/// The headers of a packet without its bytes.
fn base_of(packet: &Roce<'_>) -> Roce<'static> {
    let net = match packet.net {
        Net::V4(ip) => Net::V4(Ipv4 { options: &[], ..ip }),
        Net::V6(ip) => Net::V6(ip),
        Net::Grh(ip) => Net::Grh(ip),
    };
    Roce { eth: packet.eth.clone(), net, payload: &[], pad: &[], trailer: &[], ..Scope::default().base }
}

fn problem(text: Piece<'_>, error: &NotationError, network: Option<Network>) -> Problem {
    // What the codec says is a fault and, after a semicolon, what to do.
    let said = match error.kind {
        NotationErrorKind::Buffer { .. } => {
            format!("this packet is too long; a script's packets have at most {LONGEST_FRAME} bytes")
        }
        _ => error.to_string(),
    };
    let (message, label) = said.split_once("; ").unwrap_or((&said, ""));
    let on = network.map_or(String::new(), |network| format!(" (when ip is {})", network.name()));
    Problem::at(text.at + error.span.start..text.at + error.span.end, format!("{message}{on}")).label(label)
}
