use std::collections::HashMap;
use std::time::Duration;

use rocespec::capture::Reader;
use rocespec::oracle::{Ends, Oracle, OracleConfig, StreamConfig};
use rocespec_codec::{Frame, Opcode, Psn, Roce, SyndromeClass, Transport, decode, icrc};
use rocespec_model::Time;

use super::*;

fn args(loss: &str) -> Args {
    Args {
        file: PathBuf::new(),
        bytes: 20 << 20,
        connections: 50,
        mtu: Mtu::B1024,
        loss: loss.parse().unwrap(),
        seed: 7,
    }
}

fn file(args: &Args) -> Vec<u8> {
    let mut file = Vec::new();
    let frames = write(args, &mut file).unwrap();
    assert!(file.len() as u64 >= args.bytes && file.len() as u64 <= args.bytes + (u64::from(BURST) * MAX_FRAME as u64));
    assert_eq!(Reader::new(&file[..]).count() as u64, frames);
    file
}

fn each(file: &[u8], mut look: impl FnMut(Time, &Roce<'_>)) {
    for captured in Reader::new(file).map(Result::unwrap) {
        let Ok(Frame::Roce(packet)) = decode(&captured.data) else { panic!("frame {}", captured.number) };
        assert!(icrc::verify(&packet), "frame {}", captured.number);
        look(Time::ZERO + Duration::from_nanos(captured.time_ns - START_NS), &packet);
    }
}

fn is_response(packet: &Roce<'_>) -> bool {
    packet.bth.opcode.info().unwrap().is_response()
}

/// Judges what one end of each connection sends. The queue pairs of both have the same number here.
fn judge(file: &[u8], judges_responses: bool) {
    let mut oracles = HashMap::new();
    each(file, |now, packet| {
        let oracle = oracles.entry(packet.bth.dest_qp.get()).or_insert_with(|| {
            // The first packet of a connection is a request.
            let first = packet.bth.psn;
            let qpn = packet.bth.dest_qp;
            let [sends_from, expects_from] = if judges_responses { [Psn::new(0), first] } else { [first, Psn::new(0)] };
            Oracle::new(OracleConfig {
                ends: Ends { own_qpn: qpn, peer_qpn: qpn, path: None, station: None, pkey: None },
                stream: StreamConfig {
                    transport: Transport::Rc,
                    mtu: Some(1024),
                    sends_from: Some(sends_from),
                    expects_from: Some(expects_from),
                    is_whole: true,
                    max_rd_atomic: None,
                    go_back_n: true,
                    ack_timeout: None,
                },
                skew: Duration::ZERO,
            })
        });
        if is_response(packet) == judges_responses {
            let breaches = oracle.sent(now, packet);
            assert!(breaches.is_empty(), "{packet:?} breaks {breaches:?}");
        } else {
            oracle.received(now, packet);
        }
    });
    assert_eq!(oracles.len(), 50);
}

#[test]
fn nothing_in_it_breaks_a_rule() {
    let file = file(&args("0%"));
    judge(&file, false);
    judge(&file, true);
}

#[test]
fn with_loss_its_requests_break_no_rule_either() {
    let file = file(&args("1%"));
    // Responders never saw some of what is in the file.
    judge(&file, false);
    let mut naks = 0;
    each(&file, |_, packet| {
        let is_nak = matches!(packet.ext.aeth.syndrome.class(), SyndromeClass::Nak(_));
        naks += u32::from(packet.bth.opcode == Opcode::RC_ACKNOWLEDGE && is_nak);
    });
    assert!(naks > 50, "{naks}");
}

#[test]
fn all_kinds_of_messages_are_in_it_and_its_times_do_not_go_back() {
    let (mut seen, mut last) = (HashMap::new(), Time::ZERO);
    each(&file(&args("0%")), |now, packet| {
        *seen.entry(packet.bth.opcode.0).or_insert(0) += 1;
        assert!(now >= last);
        last = now;
    });
    // SEND and WRITE in four parts, READ and its responses in four, ACK.
    assert_eq!(seen.len(), 4 + 4 + 1 + 4 + 1);
}

#[test]
fn the_same_options_give_the_same_bytes() {
    assert_eq!(file(&args("1%")), file(&args("1%")));
    assert_ne!(file(&args("1%")), file(&Args { seed: 8, ..args("1%") }));
}

#[test]
fn sizes_have_units() {
    assert_eq!(size("4G"), Ok(4 << 30));
    assert_eq!(size("3K"), Ok(3072));
    assert_eq!(size("17"), Ok(17));
    for wrong in ["", "G", "4T", "-1", "99999999999G"] {
        assert!(size(wrong).is_err(), "{wrong}");
    }
}
