//! How the frames of one case are written, so that another run and another device of its kind write the same.

use std::collections::BTreeSet;

use rocespec_codec::notation::{self, Region, Scope};
use rocespec_codec::{Frame, Net, Qpn, RKey, Roce, Transport, decode};
use rocespec_reports::outcome::{Actor, TraceLine};

use super::packet;
use super::recording::{Line, Recording};

/// What the numbers of a case stand for.
#[derive(Debug, Clone)]
pub struct Form {
    to_device: Roce<'static>,
    from_device: Roce<'static>,
    symbols: Vec<Symbol>,
    past: BTreeSet<Qpn>,
}

#[derive(Debug, Clone)]
struct Symbol {
    name: String,
    va: u64,
    len: u64,
    rkey: RKey,
}

impl Symbol {
    fn region(&self) -> Region<'_> {
        Region { name: &self.name, va: self.va, len: self.len, rkey: self.rkey }
    }
}

impl Form {
    /// From an ordinary packet of each direction, the memory that scripts know by name, and the queue pair numbers that the
    /// tester used before: what still comes for them belongs to other cases.
    pub fn new(
        to_device: Roce<'static>,
        from_device: Roce<'static>,
        symbols: &[Region<'_>],
        past: BTreeSet<Qpn>,
    ) -> Form {
        let owned = |region: &Region<'_>| Symbol {
            name: region.name.to_owned(),
            va: region.va,
            len: region.len,
            rkey: region.rkey,
        };
        Form { to_device, from_device, symbols: symbols.iter().map(owned).collect(), past }
    }

    /// The trace of a case in normal form. Left out are frames of other cases, and frames of the device that are neither
    /// RoCE nor flow control. What the device chooses for itself falls away: its source port, the flow label, the
    /// identification of IPv4. With `exact` its choice has to hold all the same: the flow label that the queue pair was
    /// given, and an identification that counts up by one.
    pub fn recording(&self, trace: &[TraceLine], exact: bool) -> Recording {
        let regions: Vec<Region<'_>> = self.symbols.iter().map(Symbol::region).collect();
        let to_device = Scope { base: self.to_device.clone(), regions: &regions };
        let mut device = Sender::new(Scope { base: self.from_device.clone(), regions: &regions }, exact);
        let mut peer = Sender::new(to_device.clone(), exact);
        let mut written = |line: &TraceLine| {
            let text = match (line.actor, &line.bytes) {
                (Actor::Software, _) | (_, None) => step(&line.text),
                (Actor::Tester, Some(bytes)) => match decode(&bytes.0) {
                    // No step of the script sent it: the model speaks for the tester.
                    Ok(Frame::Roce(packet)) if line.line.is_none() => peer.packet(&packet),
                    Ok(frame) => notation::print_frame(&frame, &to_device).elided().to_string(),
                    Err(_) => notation::print_frame(&Frame::Other(&bytes.0), &to_device).elided().to_string(),
                },
                (Actor::Device, Some(bytes)) => self.of_device(&bytes.0, &mut device)?,
            };
            Some(Line { time_ns: line.time_ns, actor: line.actor, text, line: line.line, frame: line.frame })
        };
        Recording { lines: trace.iter().filter_map(&mut written).collect() }
    }

    /// A frame of the device, unless it does not belong here.
    fn of_device(&self, bytes: &[u8], device: &mut Sender<'_>) -> Option<String> {
        match decode(bytes) {
            Ok(Frame::Roce(packet)) => {
                let to = packet.bth.dest_qp;
                let is_late = to != self.from_device.bth.dest_qp && self.past.contains(&to);
                (!is_late).then(|| device.packet(&packet))
            }
            Ok(frame @ Frame::MacControl(_)) => Some(notation::print_frame(&frame, &device.scope).elided().to_string()),
            Ok(_) => None,
            Err(error) => {
                let roce = !error.layer.is_around_roce();
                roce.then(|| format!("cannot be decoded: {error}"))
            }
        }
    }
}

/// A step in single spaces, without the rule that it names.
fn step(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().filter(|word| !word.starts_with('@')).collect();
    words.join(" ")
}

/// Someone who chooses his own source port and identifications.
struct Sender<'s> {
    scope: Scope<'s>,
    /// UDP source port of his first packet. Which it is, is free; that it stays the same is not.
    source_port: Option<u16>,
    /// Identification that his next packet over IPv4 has when it counts up.
    next_id: Option<u16>,
    exact: bool,
}

impl<'s> Sender<'s> {
    fn new(scope: Scope<'s>, exact: bool) -> Sender<'s> {
        Sender { scope, source_port: None, next_id: None, exact }
    }

    fn packet(&mut self, packet: &Roce<'_>) -> String {
        let port = packet.udp.map(|udp| udp.sport);
        if packet.bth.opcode.transport() != Transport::Cnp {
            self.source_port = self.source_port.or(port);
        }
        let mut scope = self.scope.clone();
        if let (Some(udp), Some(port)) = (&mut scope.base.udp, self.source_port.or(port)) {
            udp.sport = port;
        }
        match (&mut scope.base.net, packet.net) {
            (Net::V4(base), Net::V4(seen)) if self.exact => {
                base.id = self.next_id.unwrap_or(seen.id);
                self.next_id = Some(seen.id.wrapping_add(1));
            }
            _ if self.exact => {}
            _ => packet::free(&mut scope.base, packet),
        }
        notation::print(packet, &scope).elided().to_string()
    }
}
