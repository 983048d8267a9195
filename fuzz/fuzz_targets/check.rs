//! A capture, as a file or as the traffic of a few queue pairs: it is examined, and what is found can be shown in every
//! form and names frames that there are.
#![no_main]

use std::net::Ipv4Addr;

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use rocespec::capture::inside::{Inside, Opener};
use rocespec::capture::{CapturedFrame, LINKTYPE_ETHERNET, Reader};
use rocespec::check::packet::{Look, look};
use rocespec::check::{Check, Options};
use rocespec_codec::arbitrary::{Network, mutate, ordinary};
use rocespec_codec::field::complete;
use rocespec_codec::{Msn, Net, Opcode, Psn, Qpn, Syndrome, encode};
use rocespec_model::LinkSpeed;
use rocespec_reports::examination::{CaptureFile, Examination, SCHEMA};
use rocespec_reports::terminal::{self, Style};

/// Frames of the traffic, at most.
const MOST: usize = 200;
/// The longest frame, in bytes.
const ROOM: usize = 2048;

fn address(end: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, end & 3)
}

/// Who is judged, and where the capture was made.
fn options(choices: u8) -> Options {
    let listed = |at: u8| (0..2).filter(|end| choices >> (at + end) & 1 == 1).map(|end| address(end).into()).collect();
    Options { judge: listed(0), at: listed(2), speed: (choices >> 4 & 1 == 1).then_some(LinkSpeed::G10) }
}

/// A frame from one queue pair to another, as such a queue pair might send it, or nearly so.
fn frame(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    const PAYLOAD: [u8; 512] = [0x5a; 512];
    let (choices, opcode, psn, msn): (u8, u8, i8, u8) = u.arbitrary()?;
    // RC, UC, UD, XRC and CNP, and now and then any other one.
    let opcode = if choices & 3 == 3 { opcode } else { opcode % 0x18 };
    let len = *u.choose(&[0, 4, 16, 255, 256, 257, 512])?;
    let mut packet = ordinary(Opcode(opcode), *u.choose(&Network::ALL)?, &PAYLOAD[..len]);
    let from = choices >> 2 & 1;
    packet.bth.dest_qp = Qpn::new(u32::from(0x10 + (choices >> 3 & 1) + 2 * from));
    packet.bth.psn = Psn::new(if choices & 0x60 == 0x60 { u.arbitrary()? } else { 0 }).plus(psn as u32 & 0xff_ffff);
    packet.bth.ack_req = choices & 0x10 != 0;
    packet.ext.aeth.msn = Msn::new(msn.into());
    packet.ext.aeth.syndrome = Syndrome(*u.choose(&[0x1f, 0, 0x20, 0x3f, 0x60, 0x61, 0x63, 0x64, 0xff])?);
    packet.ext.reth.len = *u.choose(&[0, 16, 256, 512, 5000, 1 << 20, u32::MAX])?;
    if let Net::V4(ip) = &mut packet.net {
        (ip.src, ip.dst) = (address(from), address(1 - from));
    }
    complete(&mut packet, |field| field.name == "len");
    let mut room = [0; ROOM];
    Ok(encode(&packet, &mut room).map_or(Vec::new(), <[u8]>::to_vec))
}

/// Frames that follow each other at any distance of time, some of them the same again, cut or wrong in one thing.
fn traffic(u: &mut Unstructured<'_>) -> Result<Vec<CapturedFrame>> {
    let mut frames: Vec<CapturedFrame> = Vec::new();
    let mut time_ns = u.arbitrary::<u64>()?;
    while !u.is_empty() && frames.len() < MOST {
        let choices: u8 = u.arbitrary()?;
        let mut data = match choices & 3 {
            0 if !frames.is_empty() => u.choose(&frames)?.data.clone(),
            _ => frame(u)?,
        };
        if choices & 12 == 12 {
            let size = data.len();
            data.resize(ROOM, 0);
            let size = mutate(&mut data, size, ROOM, u.arbitrary()?);
            data.truncate(size);
        }
        let original_len = data.len() as u32;
        if choices & 0x30 == 0x30 {
            data.truncate(u.arbitrary::<u8>()?.into());
        }
        time_ns = match choices >> 6 {
            0 => time_ns.wrapping_add(u.arbitrary::<u64>()?),
            1 => time_ns.wrapping_sub(u.arbitrary::<u16>()?.into()),
            _ => time_ns.wrapping_add(u.arbitrary::<u16>()?.into()),
        };
        frames.push(CapturedFrame {
            number: frames.len() as u64 + 1,
            time_ns,
            interface: u32::from(choices == 0xff),
            linktype: LINKTYPE_ETHERNET,
            original_len,
            data,
            ..CapturedFrame::default()
        });
    }
    Ok(frames)
}

/// What is said of frames is said of those that are there.
fn hold(file: &CaptureFile, frames: &[CapturedFrame]) {
    let in_file = |frame: u64| assert!((1..=frames.len() as u64).contains(&frame), "frame {frame}");
    assert_eq!(file.frames, frames.len() as u64);
    for (connection, number) in file.connections.iter().zip(1..) {
        assert_eq!(connection.number, number);
        assert!(connection.frames[0] <= connection.frames[1]);
        connection.frames.into_iter().for_each(in_file);
        for finding in &connection.findings.first {
            assert!((connection.frames[0]..=connection.frames[1]).contains(&finding.frame), "{finding:?}");
            assert!(finding.around.iter().is_sorted_by_key(|line| line.frame), "{finding:?}");
        }
        connection.points.iter().for_each(|point| in_file(point.frame));
    }
    file.loose.first.iter().for_each(|finding| in_file(finding.frame));
    file.artefacts.iter().for_each(|artefact| in_file(artefact.frame));
    file.faults.iter().for_each(|fault| in_file(fault.frame));
}

fuzz_target!(|input: &[u8]| {
    let Some((choices, rest)) = input.split_first() else { return };
    let frames: Vec<CapturedFrame> = match choices >> 7 {
        0 => Reader::new(rest).map_while(Result::ok).collect(),
        _ => traffic(&mut Unstructured::new(rest)).unwrap_or_default(),
    };
    let mut check = Check::new(options(*choices), &[4000]);
    frames.iter().for_each(|frame| check.frame(&frame.borrowed()));
    let (file, membership) = check.finish();
    hold(&file, &frames);
    let mut opener = Opener::with_ports([4000]);
    for frame in &frames {
        let inside = opener.look(frame.linktype, frame.original_len, &frame.data);
        let Look::Roce { packet, .. } = look(&frame.borrowed(), &inside, None) else { continue };
        assert!(matches!(inside, Inside::Ethernet(_)));
        if let Some((number, from)) = membership.of(&packet, frame.number) {
            assert!(from < 2 && (1..=file.connections.len()).contains(&(number as usize)));
        }
    }
    let examination = Examination {
        schema: SCHEMA,
        tool: String::new(),
        command: String::new(),
        rules: Vec::new(),
        files: vec![file],
    };
    for verbose in [false, true] {
        let text = terminal::examination(&examination, &Style { color: verbose, width: 80, verbose });
        assert!(!text.is_empty());
    }
    let json = serde_json::to_string(&examination).expect("it is plain data");
    assert_eq!(serde_json::from_str::<Examination>(&json).expect("it reads back"), examination);
});
