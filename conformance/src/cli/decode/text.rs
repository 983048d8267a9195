//! Lines for people.

use std::fmt::Display;
use std::io::{self, Write};

use rocespec_codec::field::{Field, Ordinary, complete};
use rocespec_codec::notation::{Scope, print, print_frame};
use rocespec_codec::{Frame, Header, Ipv4, Ipv6, Net, Qpn, Roce};

use super::mads;
use super::sight::{Partial, Sight, What, opcode_name};
use super::{Args, bytes};

/// Prints frames of one file.
pub(super) struct Printer<'a> {
    args: &'a Args,
    /// Time of the first frame.
    start_ns: Option<u64>,
    scope: Scope<'static>,
}

impl<'a> Printer<'a> {
    pub(super) fn new(args: &'a Args) -> Self {
        Printer { args, start_ns: args.epoch.then_some(0), scope: Scope::default() }
    }

    pub(super) fn saw(&mut self, sight: &Sight<'_>) {
        self.start_ns.get_or_insert(sight.captured.time_ns);
    }

    pub(super) fn print(&mut self, sight: &Sight<'_>, out: &mut impl Write) -> io::Result<()> {
        let captured = sight.captured;
        let start = self.start_ns.unwrap_or(0);
        // Frames of several interfaces are not always in the order of their times.
        let sign = if captured.time_ns < start { "-" } else { "" };
        let ns = captured.time_ns.abs_diff(start);
        let (seconds, fraction) = (ns / 1_000_000_000, ns % 1_000_000_000);
        write!(out, "{:>6}  {sign}{seconds}.{fraction:09}  ", captured.number)?;
        match &sight.what {
            What::Roce(packet) => {
                path(packet, out)?;
                set_ordinary(&mut self.scope, packet);
                let line = print(packet, &self.scope).absolute();
                write(&line, &line.elided(), self.args.payload, out)?;
            }
            What::Other(None) => write!(out, "link type {}: not Ethernet", captured.linktype)?,
            What::Other(Some(frame)) => self.other(frame, out)?,
            What::Partial(partial) => self.partial(partial, out)?,
        }
        if let Some(mad) = sight.mad() {
            write!(out, "  # {}", mads::Datagram(mad))?;
        }
        notes(sight, out)?;
        writeln!(out)?;
        if let Some(comment) = &captured.comment {
            for line in comment.lines() {
                writeln!(out, "        # {line}")?;
            }
        }
        if self.args.bytes { bytes::print(sight, out) } else { Ok(()) }
    }

    fn partial(&mut self, partial: &Partial<'_>, out: &mut impl Write) -> io::Result<()> {
        let Some(packet) = &partial.packet else {
            return write!(out, "no RoCE headers can be read");
        };
        path(packet, out)?;
        if !partial.has_headers {
            return write!(out, "{} psn=@{:#08x}", opcode_name(packet.bth.opcode), packet.bth.psn.get());
        }
        set_ordinary(&mut self.scope, packet);
        // What is there of payload, pad and ICRC says nothing; its lengths are those of the whole.
        let mut head = packet.clone();
        if let Some(field) = Field::named("data")
            && let Ordinary::Opcode(ordinary) = field.ordinary
        {
            (field.set)(&mut head, ordinary(packet.bth.opcode));
        }
        complete(&mut head, |field| field.name == "len");
        write!(out, "{}", print(&head, &self.scope).absolute())?;
        match partial.payload_len {
            Some(len) if len > 0 => write!(out, " {len}B=*"),
            _ => Ok(()),
        }
    }

    fn other(&self, frame: &Frame<'_>, out: &mut impl Write) -> io::Result<()> {
        let scope = Scope::default();
        let line = print_frame(frame, &scope);
        write(&line, &line.elided(), self.args.payload, out)
    }
}

fn write(full: &dyn Display, elided: &dyn Display, is_full: bool, out: &mut impl Write) -> io::Result<()> {
    if is_full { write!(out, "{full}") } else { write!(out, "{elided}") }
}

/// What is wrong stands behind `#`.
fn notes(sight: &Sight<'_>, out: &mut impl Write) -> io::Result<()> {
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

/// Writes where the packet comes from and goes to.
fn path(packet: &Roce<'_>, out: &mut impl Write) -> io::Result<()> {
    match &packet.net {
        Net::V4(ip) => write!(out, "{}", ip.src)?,
        Net::V6(ip) | Net::Grh(ip) => write!(out, "{}", ip.src)?,
    }
    if packet.bth.opcode.headers().contains(&Header::Deth) {
        write!(out, " qp={}", packet.ext.deth.src_qp)?;
    }
    match &packet.net {
        Net::V4(ip) => write!(out, " > {}", ip.dst)?,
        Net::V6(ip) | Net::Grh(ip) => write!(out, " > {}", ip.dst)?,
    }
    write!(out, " qp={}", packet.bth.dest_qp)?;
    // Addresses do not tell RoCE v1 from v2 over IPv6.
    out.write_all(if matches!(packet.net, Net::Grh(_)) { b" v1  " } else { b"  " })
}

/// Makes ordinary what the line says already, and what differs from packet to packet and means nothing: source ports,
/// identifications, hop limits, flow labels, ECN capability. What is left to be printed is worth a look.
fn set_ordinary(scope: &mut Scope<'static>, packet: &Roce<'_>) {
    let base = &mut scope.base;
    (base.eth.dst, base.eth.src) = (packet.eth.dst, packet.eth.src);
    base.net = match packet.net {
        Net::V4(ip) => Net::V4(Ipv4 {
            version: ip.version,
            ihl: ip.ihl,
            tos: calm(ip.tos),
            total_len: ip.total_len,
            id: ip.id,
            flags_offset: Ipv4::DF,
            ttl: alive(ip.ttl),
            protocol: ip.protocol,
            checksum: ip.checksum,
            src: ip.src,
            dst: ip.dst,
            options: &[],
        }),
        Net::V6(ip) => Net::V6(ordinary_v6(ip)),
        Net::Grh(ip) => Net::Grh(ordinary_v6(ip)),
    };
    if let (Some(base), Some(udp)) = (&mut base.udp, packet.udp) {
        base.sport = udp.sport;
    }
    base.bth.dest_qp = packet.bth.dest_qp;
    base.ext.deth.src_qp = packet.ext.deth.src_qp;
    if packet.bth.dest_qp == GENERAL_SERVICES {
        base.ext.deth.qkey = packet.ext.deth.qkey;
    }
}

/// The queue pair of management datagrams; all of them have the same queue key.
const GENERAL_SERVICES: Qpn = Qpn::new(1);

fn ordinary_v6(ip: Ipv6) -> Ipv6 {
    Ipv6 { traffic_class: calm(ip.traffic_class), hop_limit: alive(ip.hop_limit), ..ip }
}

/// DSCP 0; congestion experienced is never ordinary.
fn calm(traffic_class: u8) -> u8 {
    match traffic_class & 3 {
        3 => 0,
        ecn => ecn,
    }
}

/// Any hop limit that lets a packet go on.
fn alive(hop_limit: u8) -> u8 {
    if hop_limit < 2 { 64 } else { hop_limit }
}
