//! What holds for any input: no panic, the same bytes for the same calls, readable answers.

mod harness;

use harness::{Ip, Lab, Options, Req, req};
use proptest::prelude::*;
use rocespec_codec::{Frame, Ieth, ImmDt, Opcode, QKey, Qpn, Transport, decode, icrc};
use rocespec_model::{Defect, Defects, Policy, QpKind};

#[derive(Debug, Clone)]
enum Step {
    Request { opcode: u8, psn: u32, len: usize, offset: i64, message: u32, ack: bool, key: Option<u32> },
    Flip { opcode: u8, psn: u32, at: usize, with: u8 },
    Bytes(Vec<u8>),
    Post,
    Collect,
}

fn step() -> impl Strategy<Value = Step> {
    let opcode = prop_oneof![8 => 0u8..0x20, 1 => any::<u8>()];
    let psn = prop_oneof![8 => 0u32..12, 1 => Just(0xff_ffff), 1 => any::<u32>()];
    let len = prop_oneof![Just(0usize), Just(4), Just(256), 0usize..300];
    let offset = prop_oneof![6 => (0i64..512).prop_map(|n| n * 8), 1 => 4000i64..4100, 1 => any::<i64>()];
    let message = prop_oneof![Just(0u32), Just(4), Just(256), Just(512), 0u32..2000, any::<u32>()];
    let key = prop_oneof![6 => Just(None), 1 => any::<u32>().prop_map(Some)];
    prop_oneof![
        12 => (opcode.clone(), psn.clone(), len, offset, message, any::<bool>(), key).prop_map(
            |(opcode, psn, len, offset, message, ack, key)| {
                Step::Request { opcode, psn, len, offset, message, ack, key }
            }
        ),
        2 => (opcode, psn, 0usize..128, any::<u8>()).prop_map(|(opcode, psn, at, with)| {
            Step::Flip { opcode, psn, at, with }
        }),
        1 => prop::collection::vec(any::<u8>(), 0..120).prop_map(Step::Bytes),
        2 => Just(Step::Post),
        2 => Just(Step::Collect),
    ]
}

/// A request of the kind's own transport, where `opcode` names no other one.
fn request(kind: QpKind, opcode: u8, psn: u32, len: usize, offset: i64, message: u32) -> Req {
    let class = match kind.transport() {
        Transport::Uc => 0x20,
        Transport::Ud => 0x60,
        Transport::Xrc => 0xa0,
        _ => 0,
    };
    let opcode = if opcode < 0x20 { opcode | class } else { opcode };
    let mut request = req(Opcode(opcode), psn).len(len).to(offset, message).atomic(offset, 3, 4);
    (request.ext.immdt, request.ext.ieth) = (ImmDt(message), Ieth(rocespec_codec::RKey::new(message)));
    request.ext.deth.qkey = if message == 4 { QKey::default() } else { harness::QKEY };
    request.ext.xrceth.srqn = Qpn::new(1 + message % 2);
    request
}

fn play(options: &Options, steps: &[Step]) -> Vec<Vec<u8>> {
    let mut lab = Lab::new(options.clone());
    let mut posted = 4;
    for step in steps {
        match step {
            Step::Request { opcode, psn, len, offset, message, ack, key } => {
                let mut request = request(options.kind, *opcode, *psn, *len, *offset, *message);
                request.bth.ack_req = *ack;
                if let Some(key) = key {
                    request = request.keyed(*offset, *message, *key);
                }
                let frame = request.frame(&lab);
                lab.port.handle(lab.now, rocespec_model::Input::Frame(&frame));
            }
            Step::Flip { opcode, psn, at, with } => {
                let mut frame = request(options.kind, *opcode, *psn, 8, 0, 8).frame(&lab);
                let at = at % frame.len();
                frame[at] ^= with;
                lab.port.handle(lab.now, rocespec_model::Input::Frame(&frame));
            }
            Step::Bytes(bytes) => lab.port.handle(lab.now, rocespec_model::Input::Frame(bytes)),
            Step::Post if posted < 40 => {
                lab.post(posted);
                posted += 1;
            }
            Step::Post => {}
            Step::Collect => drop(lab.collect()),
        }
    }
    lab.collect();
    assert_eq!(lab.port.next_timeout(), None, "everything was collected");
    lab.frames
}

fn options() -> impl Strategy<Value = Options> {
    let ip = prop_oneof![Just(Ip::V4), Just(Ip::V6), Just(Ip::Grh)];
    let start_psn = prop_oneof![Just(0u32), Just(0xff_fffa), Just(0x7f_fffc)];
    let policy = (0..Policy::PRESETS.len()).prop_map(|at| Policy::PRESETS[at].1);
    let kind = prop_oneof![
        4 => Just(QpKind::Rc),
        2 => Just(QpKind::Uc),
        2 => Just(QpKind::Ud),
        2 => Just(QpKind::XrcTarget),
    ];
    let transport = (kind, any::<bool>());
    (transport, ip, start_psn, policy, 0usize..5).prop_map(|((kind, shared), ip, start_psn, policy, receives)| {
        Options { kind, shared, ip, start_psn, policy, receives, ..Options::default() }
    })
}

/// What happens to a packet on its way.
#[derive(Debug, Clone, Copy)]
enum Fate {
    Arrives,
    Lost,
    Twice,
}

/// The packets of SENDs of these lengths.
fn packets(lens: &[usize]) -> Vec<Req> {
    let mut packets = Vec::new();
    for len in lens {
        let data = harness::pattern(*len);
        let count = len.div_ceil(harness::MTU).max(1);
        for at in 0..count {
            let opcode = match (at, at + 1 == count) {
                (0, true) => Opcode::RC_SEND_ONLY,
                (0, false) => Opcode::RC_SEND_FIRST,
                (_, false) => Opcode::RC_SEND_MIDDLE,
                (_, true) => Opcode::RC_SEND_LAST,
            };
            let part = &data[at * harness::MTU..(*len).min((at + 1) * harness::MTU)];
            packets.push(req(opcode, packets.len() as u32).payload(part));
        }
    }
    packets
}

/// How many packets an answer says have arrived.
fn acknowledged(answer: &str) -> usize {
    let mut words = answer.split(' ');
    let (kind, psn) = (words.next().unwrap(), words.next().unwrap().parse().unwrap());
    match kind {
        // Of a duplicate from before the first packet there is none here.
        "ACK" => psn + 1,
        "NAK" => psn,
        other => panic!("{other}"),
    }
}

proptest! {
    #[test]
    fn the_same_calls_give_the_same_bytes(options in options(), steps in prop::collection::vec(step(), 0..40)) {
        let once = play(&options, &steps);
        prop_assert_eq!(&once, &play(&options, &steps));
        for frame in &once {
            let Ok(Frame::Roce(packet)) = decode(frame) else { panic!("unreadable answer {frame:02x?}") };
            prop_assert!(icrc::verify(&packet));
            prop_assert!(packet.bth.opcode.info().is_some_and(rocespec_codec::Info::is_response));
            prop_assert!(frame.len() >= 60);
        }
    }

    #[test]
    fn no_defect_panics(
        defects in prop::collection::vec(0..Defect::ALL.len(), 1..6),
        options in options(),
        steps in prop::collection::vec(step(), 0..40),
    ) {
        let defects: Defects = defects.into_iter().map(|at| Defect::ALL[at]).collect();
        play(&Options { defects, ..options }, &steps);
    }

    #[test]
    fn go_back_n_delivers_every_message_once_and_in_order(
        start_psn in prop_oneof![Just(0u32), Just(0xff_fff0), any::<u32>()],
        policy in 0..Policy::PRESETS.len(),
        lens in prop::collection::vec(0usize..900, 1..8),
        fates in prop::collection::vec(prop_oneof![4 => Just(Fate::Arrives), 1 => Just(Fate::Lost), 1 => Just(Fate::Twice)], 1..64),
    ) {
        let mut lab = Lab::new(Options {
            start_psn,
            policy: Policy::PRESETS[policy].1,
            receives: lens.len(),
            ..Options::default()
        });
        let packets = packets(&lens);
        let mut fates = fates.into_iter();
        let mut next = 0;
        while next < packets.len() {
            let before = next;
            for packet in &packets[next..] {
                let times = match fates.next().unwrap_or(Fate::Arrives) {
                    Fate::Arrives => 1,
                    Fate::Lost => 0,
                    Fate::Twice => 2,
                };
                for _ in 0..times {
                    let answers = lab.send(packet.clone());
                    next = answers.iter().fold(next, |next, answer| next.max(acknowledged(answer)));
                }
            }
            prop_assert!(next >= before);
        }
        let received: Vec<_> = lab.completions().iter().map(|c| (c.wr_id, c.status.name(), c.byte_len as usize)).collect();
        let sent: Vec<_> = (0..).zip(&lens).map(|(wr_id, len)| (wr_id, "success", *len)).collect();
        prop_assert_eq!(received, sent);
        for (wr_id, len) in (0..).zip(&lens) {
            prop_assert_eq!(lab.received(wr_id, *len as u64), harness::pattern(*len));
        }
    }

    #[test]
    fn any_bytes_are_taken(frame in prop::collection::vec(any::<u8>(), 0..200)) {
        play(&Options::default(), &[Step::Bytes(frame)]);
    }
}
