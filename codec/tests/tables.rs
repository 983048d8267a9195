//! The tables of the crate against those of `fixtures/vectors/`.

use rocespec_codec::{Credits, Header, Mtu, NakCode, Opcode, PayloadRule, Position, RnrTimer};
use serde_json::Value;

fn rows(file: &str, key: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(file).unwrap();
    file[key].as_array().unwrap().clone()
}

#[test]
fn opcodes() {
    let rows = rows(include_str!("../../fixtures/vectors/opcodes.json"), "opcodes");
    assert_eq!(rows.len(), Opcode::DEFINED.len());
    for (row, defined) in rows.iter().zip(Opcode::DEFINED) {
        let opcode = Opcode(row["opcode"].as_u64().unwrap() as u8);
        assert_eq!(opcode, *defined);
        let info = opcode.info().unwrap();
        assert_eq!(info.name, row["name"]);
        assert_eq!(Opcode::from_name(info.name), Some(opcode));
        let headers: Vec<&str> = info.headers.iter().map(|header| header_name(*header)).collect();
        assert_eq!(Value::from(headers), row["headers"], "{opcode:?}");
        assert_eq!(payload_name(info.payload), row["payload"], "{opcode:?}");
        let kind = match (info.is_request(), info.is_response()) {
            (true, false) => "request",
            (false, true) => "response",
            _ => "cnp",
        };
        assert_eq!(kind, row["kind"], "{opcode:?}");
        let position = match info.position {
            Position::First => "first",
            Position::Middle => "middle",
            Position::Last => "last",
            Position::Only => "only",
        };
        assert_eq!(position, row["position"], "{opcode:?}");
        assert_eq!(info.takes_receive(), row["takes_receive"], "{opcode:?}");
        assert_eq!(info.completes_receive(), row["completes_receive"], "{opcode:?}");
        assert_eq!(info.may_solicit(), row["may_solicit"], "{opcode:?}");
    }
    assert_eq!((0..=255).filter(|code| Opcode(*code).info().is_some()).count(), rows.len());
}

fn header_name(header: Header) -> &'static str {
    match header {
        Header::Rdeth => "RDETH",
        Header::Deth => "DETH",
        Header::XrcEth => "XRCETH",
        Header::Feth => "FETH",
        Header::Reth => "RETH",
        Header::AtomicEth => "AtomicETH",
        Header::Aeth => "AETH",
        Header::AtomicAckEth => "AtomicAckETH",
        Header::ImmDt => "ImmDt",
        Header::Ieth => "IETH",
    }
}

fn payload_name(rule: PayloadRule) -> &'static str {
    match rule {
        PayloadRule::Empty => "0",
        PayloadRule::Full => "mtu",
        PayloadRule::OneToMtu => "1..mtu",
        PayloadRule::ZeroToMtu => "0..mtu",
        PayloadRule::Eight => "8",
        PayloadRule::Sixteen => "16",
    }
}

#[test]
fn rnr_timers() {
    let rows = rows(include_str!("../../fixtures/vectors/rnr_timer.json"), "timers");
    assert_eq!(rows.len(), 32);
    for row in rows {
        let timer = RnrTimer::new(row["code"].as_u64().unwrap() as u8);
        assert_eq!(timer.duration().as_micros() as u64, row["us"].as_u64().unwrap());
        assert_eq!(RnrTimer::from_duration(timer.duration()), Some(timer));
    }
}

#[test]
fn credits() {
    let rows = rows(include_str!("../../fixtures/vectors/credits.json"), "credits");
    assert_eq!(rows.len(), 32);
    for row in rows {
        let credits = Credits::new(row["code"].as_u64().unwrap() as u8);
        assert_eq!(credits.count().map(u64::from), row["credits"].as_u64());
    }
}

#[test]
fn nak_codes_and_path_mtus_read_back() {
    for code in (0..32).map(NakCode::new) {
        assert_eq!(NakCode::new(code.get()), code);
        assert!(code.name().is_none_or(|name| NakCode::from_name(name) == Some(code)));
    }
    for mtu in Mtu::ALL {
        assert_eq!(Mtu::from_bytes(mtu.bytes()), Some(mtu));
    }
    assert_eq!(Mtu::ALL.map(Mtu::bytes), [256, 512, 1024, 2048, 4096]);
}
