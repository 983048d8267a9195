//! The examples of `docs/notation.md`.

mod common;

use common::packet;
use rocespec_codec::field::FIELDS;
use rocespec_codec::notation::{Line, Region, Scope, parse, parse_pattern, print, print_frame};
use rocespec_codec::{Frame, RKey, decode};

const DOC: &str = include_str!("../../docs/notation.md");
const REGIONS: [Region<'static>; 1] = [Region { name: "mr", va: 0x1_0000, len: 0x1000, rkey: RKey::new(0x1234) }];

fn scope() -> Scope<'static> {
    Scope { regions: &REGIONS, ..Scope::default() }
}

/// Lines of the code blocks that are marked so.
fn lines(mark: &str) -> Vec<&'static str> {
    let open = format!("```{mark}");
    let mut lines = Vec::new();
    let mut inside = false;
    for line in DOC.lines() {
        if line.starts_with("```") {
            inside = line == open;
        } else if inside && !line.is_empty() {
            lines.push(line);
        }
    }
    assert!(!lines.is_empty(), "no {mark} in the document");
    lines
}

/// The line that the packet or frame of a line prints as.
fn printed(line: &str) -> String {
    let (mut buffer, mut out) = ([0; 4096], [0; 4096]);
    let read = parse(line, &scope(), &mut buffer).unwrap_or_else(|error| panic!("{line}: {error}"));
    match &read {
        Line::Roce(packet) => print(packet, &scope()).to_string(),
        Line::Raw(_) => print_frame(&Frame::Other(read.encode(&mut out).unwrap()), &scope()).to_string(),
    }
}

#[test]
fn packets_print_as_they_are_written() {
    for line in lines("packet") {
        let spaced = line.strip_prefix("raw ").map(|bytes| format!("raw {}", bytes.replace(' ', "")));
        let line = spaced.as_deref().unwrap_or(line);
        let printed = printed(line);
        let sorted = |line: &str| {
            let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            words.sort_unstable();
            words
        };
        assert_eq!(sorted(line), sorted(&printed), "{line} prints as {printed}");
    }
}

#[test]
fn packets_read_as_said() {
    for line in lines("reads") {
        let (written, shown) = line.split_once("=>").unwrap();
        assert_eq!(printed(written), shown.trim(), "{line}");
        assert_eq!(printed(shown), shown.trim(), "{line}");
    }
}

#[test]
fn expectations_are_understood() {
    for line in lines("expect") {
        let mut buffer = [0; 256];
        parse_pattern(line, &scope(), &mut buffer).unwrap_or_else(|error| panic!("{line}: {error}"));
    }
}

#[test]
fn mismatches_are_said_as_shown() {
    let mut rest = lines("mismatch").into_iter().peekable();
    while let Some(expect) = rest.next() {
        let (mut buffer, mut other) = ([0; 256], [0; 256]);
        let pattern = parse_pattern(expect.strip_prefix("expect").unwrap(), &scope(), &mut buffer).unwrap();
        let packet = packet(rest.next().unwrap().strip_prefix("packet").unwrap(), &scope(), &mut other);
        let mut says = Vec::new();
        while let Some(line) = rest.next_if(|line| line.starts_with("says")) {
            says.push(line.strip_prefix("says").unwrap().trim());
        }
        let said: Vec<String> = pattern.wrong_fields(&packet).map(|wrong| wrong.to_string()).collect();
        assert_eq!(said, says, "{expect}");
        assert_eq!(pattern.mismatch(&packet).unwrap().to_string(), says[0]);
    }
}

#[test]
fn errors_point_at_the_word_and_say_what_to_do() {
    for pair in lines("error").chunks(2) {
        let [line, mark] = pair else { panic!("{pair:?}") };
        let start = mark.find('^').unwrap();
        let end = mark.rfind('^').unwrap() + 1;
        let mut buffer = [0; 256];
        let error = parse(line, &scope(), &mut buffer).unwrap_err();
        assert_eq!(error.to_string(), mark[end..].trim(), "{line}");
        assert_eq!(error.span, start..end, "{line}");
    }
}

#[test]
fn every_field_has_its_row() {
    let table = DOC.split_once("## Fields").unwrap().1;
    let mut at = 0;
    for field in FIELDS {
        let name = format!("`{}`", field.name);
        let found = table.find(&name).unwrap_or_else(|| panic!("{name} is not in the table"));
        // Pairs share a row.
        assert!(found >= at || field.name.starts_with("vlan"), "{name} stands in the wrong place");
        at = found;
    }
}

#[test]
fn the_defaults_are_those_that_are_documented() {
    let mut buffer = [0; 64];
    let (mut out, mut other) = ([0; 128], [0; 128]);
    let bare = parse("SEND_ONLY 4B", &Scope::default(), &mut buffer).unwrap();
    let bytes = bare.encode(&mut out).unwrap();
    let written = "SEND_ONLY v4 4B eth.src=02:00:00:00:00:01 eth.dst=02:00:00:00:00:02 ip.src=10.0.0.1 ip.dst=10.0.0.2 \
                   ip.ttl=64 ip.df ip.id=0 ip.dscp=0 ip.ecn=not-ect udp.sport=0xc000 pkey=0xffff qp=0 psn=@0";
    let mut buffer = [0; 64];
    let said = parse(written, &Scope::default(), &mut buffer).unwrap();
    assert_eq!(bytes, said.encode(&mut other).unwrap());
    let Ok(Frame::Roce(packet)) = decode(bytes) else { panic!("not RoCE") };
    assert!(rocespec_codec::icrc::verify(&packet));
}
