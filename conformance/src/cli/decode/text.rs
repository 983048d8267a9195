//! Lines for people.

use std::fmt::{Display, Write as _};
use std::io::{self, Write};
use std::net::Ipv6Addr;

use rocespec_codec::notation::{Scope, print, print_frame};
use rocespec_codec::{Frame, Header, Net, Qpn, Roce};

use super::mads;
use super::sight::{Partial, Sight, What, opcode_name};
use super::{Args, bytes};
use crate::capture::ordinary::{headers_alone, set_ordinary};

/// Prints frames of one file.
pub(super) struct Printer<'a> {
    args: &'a Args,
    /// Where times count from.
    start_ns: u64,
    scope: Scope<'static>,
    addresses: Addresses,
    /// The line at hand.
    line: String,
}

impl<'a> Printer<'a> {
    pub(super) fn new(args: &'a Args, start_ns: u64) -> Self {
        let addresses = Addresses::default();
        Printer { args, start_ns, scope: Scope::default(), addresses, line: String::new() }
    }

    pub(super) fn print(&mut self, sight: &Sight<'_>, out: &mut impl Write) -> io::Result<()> {
        self.line.clear();
        self.write(sight).map_err(io::Error::other)?;
        out.write_all(self.line.as_bytes())?;
        if self.args.bytes { bytes::print(sight, out) } else { Ok(()) }
    }

    fn write(&mut self, sight: &Sight<'_>) -> std::fmt::Result {
        let captured = sight.captured;
        let start = self.start_ns;
        padded(&mut self.line, captured.number, 6, b' ');
        self.line.push_str("  ");
        // Frames of several interfaces are not always in the order of their times.
        if captured.time_ns < start {
            self.line.push('-');
        }
        let ns = captured.time_ns.abs_diff(start);
        padded(&mut self.line, ns / 1_000_000_000, 1, b'0');
        self.line.push('.');
        padded(&mut self.line, ns % 1_000_000_000, 9, b'0');
        self.line.push_str("  ");
        for around in sight.carried.iter().flat_map(|carried| &carried.around) {
            write!(self.line, "[{around}] ")?;
        }
        match &sight.what {
            What::Roce { packet, right_icrc } => {
                self.path(packet);
                set_ordinary(&mut self.scope, packet);
                let line = print(packet, &self.scope).absolute().with_right_icrc(*right_icrc);
                write(&line, &line.elided(), self.args.payload, &mut self.line)?;
            }
            What::Unknown => write!(self.line, "link type {}: not known, or too short for it", captured.linktype)?,
            What::InfiniBand(native) => write!(self.line, "{native}")?,
            What::Other(frame) => self.other(frame)?,
            What::Partial(partial) => self.partial(partial)?,
        }
        if let Some(mad) = sight.mad() {
            write!(self.line, "  # {}", mads::Datagram(mad))?;
        }
        notes(sight, &mut self.line)?;
        self.line.push('\n');
        if let Some(comment) = &captured.comment {
            for line in comment.lines() {
                writeln!(self.line, "        # {line}")?;
            }
        }
        Ok(())
    }

    fn partial(&mut self, partial: &Partial<'_>) -> std::fmt::Result {
        let Some(packet) = &partial.packet else {
            self.line.push_str("no RoCE headers can be read");
            return Ok(());
        };
        self.path(packet);
        if !partial.has_headers {
            return write!(self.line, "{} psn=@{:#08x}", opcode_name(packet.bth.opcode), packet.bth.psn.get());
        }
        set_ordinary(&mut self.scope, packet);
        write!(self.line, "{}", print(&headers_alone(packet), &self.scope).absolute())?;
        match partial.payload_len {
            Some(len) if len > 0 => write!(self.line, " {len}B=*"),
            _ => Ok(()),
        }
    }

    /// Writes where the packet comes from and goes to.
    fn path(&mut self, packet: &Roce<'_>) {
        self.line.push_str(self.addresses.text(packet.net.src_gid(), &packet.net));
        if packet.bth.opcode.headers().contains(&Header::Deth) {
            queue_pair(&mut self.line, packet.ext.deth.src_qp);
        }
        self.line.push_str(" > ");
        self.line.push_str(self.addresses.text(packet.net.dst_gid(), &packet.net));
        queue_pair(&mut self.line, packet.bth.dest_qp);
        // Addresses do not tell RoCE v1 from v2 over IPv6.
        self.line.push_str(if matches!(packet.net, Net::Grh(_)) { " v1  " } else { "  " });
    }

    fn other(&mut self, frame: &Frame<'_>) -> std::fmt::Result {
        let scope = Scope::default();
        let line = print_frame(frame, &scope);
        write(&line, &line.elided(), self.args.payload, &mut self.line)
    }
}

fn write(full: &dyn Display, elided: &dyn Display, is_full: bool, out: &mut String) -> std::fmt::Result {
    if is_full { write!(out, "{full}") } else { write!(out, "{elided}") }
}

/// What is wrong stands behind `#`.
fn notes(sight: &Sight<'_>, out: &mut String) -> std::fmt::Result {
    let captured = sight.captured;
    let mut mark = "  # ";
    for wrong in &sight.wrong {
        write!(out, "{mark}{wrong}")?;
        mark = "; ";
    }
    if sight.is_cut {
        write!(out, "{mark}cut by the capture: {} of {} bytes", captured.data.len(), captured.original_len)?;
    }
    Ok(())
}

/// Texts of the last addresses: the two ends of a conversation take turns.
#[derive(Default)]
struct Addresses {
    last: [Option<(Ipv6Addr, bool, String)>; 4],
    next: usize,
}

impl Addresses {
    fn text(&mut self, gid: Ipv6Addr, net: &Net<'_>) -> &str {
        let is_v4 = matches!(net, Net::V4(_));
        let known = self
            .last
            .iter()
            .position(|entry| entry.as_ref().is_some_and(|(address, kind, _)| *address == gid && *kind == is_v4));
        let place = known.unwrap_or_else(|| {
            let text = match gid.to_ipv4_mapped() {
                Some(address) if is_v4 => address.to_string(),
                _ => gid.to_string(),
            };
            let place = self.next;
            self.next = (place + 1) % self.last.len();
            self.last[place] = Some((gid, is_v4, text));
            place
        });
        self.last[place].as_ref().map_or("", |(_, _, text)| text)
    }
}

/// Writes ` qp=` and a queue pair number.
fn queue_pair(line: &mut String, qpn: Qpn) {
    line.push_str(" qp=0x");
    let digits = (24 - (qpn.get() | 1).leading_zeros().saturating_sub(8)).div_ceil(4);
    for place in (0..digits).rev() {
        let digit = qpn.get() >> (4 * place) & 0xf;
        line.push(char::from_digit(digit, 16).expect("four bits"));
    }
}

/// Writes a number in at least so many places.
fn padded(line: &mut String, number: u64, places: usize, fill: u8) {
    let mut digits = [fill; 20];
    let (mut at, mut rest) = (digits.len(), number);
    while rest > 0 || at == digits.len() {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    let text = &digits[at.min(digits.len() - places)..];
    line.push_str(std::str::from_utf8(text).expect("digits"));
}
