//! Packets of a script, checked before any device is there to give their symbols a value.

use rocespec_codec::notation::{Line, NotationError, NotationErrorKind, Region, Scope, parse, parse_pattern};
use rocespec_codec::{Ipv4, Net, RKey, Roce};

use super::diagnostics::Problem;
use super::network::Network;
use super::script::TesterMemory;
use super::words::Piece;

/// The regions that the script has registered so far.
#[derive(Debug, Default)]
pub(super) struct Regions {
    known: Vec<(String, u64)>,
}

impl Regions {
    pub(super) fn add(&mut self, name: &str, length: u64) {
        self.known.push((name.to_owned(), length));
    }

    pub(super) fn length(&self, name: &str) -> Option<u64> {
        self.known.iter().find(|(known, _)| known == name).map(|(_, length)| *length)
    }
}

/// What a packet is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To be sent: everything that is not written has its ordinary value.
    Send,
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
        .map(|(at, (name, len))| Region { name, va: at << 48, len: *len, rkey: RKey::new(at as u32) })
        .chain([TesterMemory::region()])
        .collect();
    let mut buffer = vec![0; LONGEST_FRAME];
    for (at, network) in networks.iter().enumerate() {
        let mut scope = Scope { regions: &regions, ..Scope::default() };
        if let Ok(Line::Roce(base)) = parse(&format!("SEND_ONLY psn=0 {}", network.name()), &Scope::default(), &mut [])
        {
            scope.base = base_of(&base);
        }
        let result = match purpose {
            Purpose::Send => parse(text.text, &scope, &mut buffer).map(|_| ()),
            Purpose::Expect => parse_pattern(text.text, &scope, &mut buffer).map(|_| ()),
        };
        if let Err(error) = result {
            return Err(problem(text, &error, (at > 0).then_some(*network)));
        }
    }
    Ok(())
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
