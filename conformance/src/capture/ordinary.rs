//! What a line about a captured packet does not say: values that are ordinary on its path.

use rocespec_codec::field::{Field, Ordinary, complete};
use rocespec_codec::notation::Scope;
use rocespec_codec::{Ipv4, Ipv6, Net, Qpn, Roce};

/// Makes ordinary what the line says already, and what differs from packet to packet and means nothing: source ports,
/// identifications, hop limits, flow labels, ECN capability. What is left to be printed is worth a look.
pub fn set_ordinary(scope: &mut Scope<'static>, packet: &Roce<'_>) {
    let base = &mut scope.base;
    (base.eth.dst, base.eth.src) = (packet.eth.dst, packet.eth.src);
    base.net = match packet.net {
        Net::V4(ip) => {
            Net::V4(Ipv4 { tos: calm(ip.tos), flags_offset: Ipv4::DF, ttl: alive(ip.ttl), options: &[], ..ip })
        }
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

/// The headers of a packet whose payload is not there: in its place the one that says least, and right lengths for that.
pub fn headers_alone<'a>(packet: &Roce<'a>) -> Roce<'a> {
    // What is there of payload, pad and ICRC says nothing; its lengths are those of the whole.
    let mut head = packet.clone();
    if let Some(field) = Field::named("data")
        && let Ordinary::Opcode(ordinary) = field.ordinary
    {
        (field.set)(&mut head, ordinary(packet.bth.opcode));
    }
    complete(&mut head, |field| field.name == "len");
    head
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
