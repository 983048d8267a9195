//! The protocol against a fake device: what is asked, what is answered, and that rubbish is answered too.

use rocespec_control::serve::{Desk, Next};
use rocespec_control::{Completion, QpAttributes, QpState, Request, Response, Status};

use super::*;
use crate::backend::About;
use crate::fake::Fake;

/// One tester's connection.
struct Talk<'a> {
    desk: Desk<'a>,
    session: Session<'a, Fake>,
}

impl<'a> Talk<'a> {
    fn new(fake: &'a mut Fake, token: Option<&'a str>) -> Talk<'a> {
        Talk { desk: Desk::new(token), session: Session::new(fake) }
    }

    fn receive(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> std::io::Result<Next> {
        self.desk.receive(bytes, &mut self.session, out)
    }
}

/// Sends one line and reads the one answer.
fn ask(session: &mut Talk<'_>, line: &str) -> Response {
    let mut out = Vec::new();
    session.receive(line.as_bytes(), &mut out).unwrap();
    session.receive(b"\n", &mut out).unwrap();
    assert_eq!(out.iter().filter(|&&b| b == b'\n').count(), 1, "{line}: {}", String::from_utf8_lossy(&out));
    serde_json::from_slice(&out).unwrap()
}

fn ok(session: &mut Talk<'_>, line: &str) -> Reply {
    match ask(session, line).result {
        Status::Ok(reply) => reply,
        Status::Error(error) => panic!("{line}: {error}"),
    }
}

fn error(session: &mut Talk<'_>, line: &str) -> ErrorCode {
    match ask(session, line).result {
        Status::Ok(reply) => panic!("{line}: {reply:?}"),
        Status::Error(error) => error.code,
    }
}

fn greeted(fake: &mut Fake) -> Talk<'_> {
    let mut session = Talk::new(fake, None);
    assert!(matches!(ok(&mut session, r#"{"id":1,"cmd":"hello","version":1}"#), Reply::Device(Device { .. })));
    session
}

#[test]
fn nothing_goes_before_hello() {
    let mut fake = Fake::default();
    let mut session = Talk::new(&mut fake, None);
    assert_eq!(error(&mut session, r#"{"id":1,"cmd":"counters"}"#), ErrorCode::BadRequest);
    assert_eq!(error(&mut session, r#"{"id":1,"cmd":"hello","version":2}"#), ErrorCode::BadVersion);
    assert_eq!(error(&mut session, r#"{"id":1,"cmd":"counters"}"#), ErrorCode::BadRequest);
}

#[test]
fn queue_pairs_enter_and_leave_multicast_groups() {
    let mut fake = Fake::default();
    let mut session = greeted(&mut fake);
    assert!(matches!(ok(&mut session, r#"{"id":2,"cmd":"create_qp","kind":"ud"}"#), Reply::Qp { qp: 1, .. }));
    ok(&mut session, r#"{"id":3,"cmd":"attach_multicast","qp":1,"group":"ff0e::1"}"#);
    assert_eq!(
        error(&mut session, r#"{"id":4,"cmd":"attach_multicast","qp":7,"group":"ff0e::1"}"#),
        ErrorCode::NoSuchObject
    );
    ok(&mut session, r#"{"id":5,"cmd":"detach_multicast","qp":1,"group":"ff0e::1"}"#);
    assert_eq!(
        error(&mut session, r#"{"id":6,"cmd":"detach_multicast","qp":1,"group":"ff0e::1"}"#),
        ErrorCode::Refused
    );
}

#[test]
fn without_the_token_the_door_closes() {
    let mut fake = Fake::default();
    for line in [
        r#"{"id":1,"cmd":"hello","version":1}"#,
        r#"{"id":1,"cmd":"hello","version":1,"token":"secre"}"#,
        r#"{"id":1,"cmd":"hello","version":1,"token":"secret "}"#,
        r#"{"id":1,"cmd":"shutdown"}"#,
    ] {
        let mut session = Talk::new(&mut fake, Some("secret"));
        let mut out = Vec::new();
        assert_eq!(session.receive(format!("{line}\n").as_bytes(), &mut out).unwrap(), Next::Close);
        assert!(String::from_utf8(out).unwrap().contains(r#""code":"unauthorized""#));
    }
    let mut session = Talk::new(&mut fake, Some("secret"));
    ok(&mut session, r#"{"id":1,"cmd":"hello","version":1,"token":"secret"}"#);
    ok(&mut session, r#"{"id":2,"cmd":"counters"}"#);
}

#[test]
fn a_queue_pair_lives_from_create_to_destroy() {
    let mut fake = Fake::default();
    let mut session = greeted(&mut fake);
    let Reply::Qp { qp, qpn: 1 } = ok(&mut session, r#"{"id":2,"cmd":"create_qp","kind":"rc"}"#) else { panic!() };
    ok(&mut session, &format!(r#"{{"id":3,"cmd":"modify_qp","qp":{qp},"attributes":{{"state":"rtr","rq_psn":5}}}}"#));
    let Reply::QpAttributes(QpAttributes { state: Some(QpState::Rtr), rq_psn: Some(5), .. }) =
        ok(&mut session, &format!(r#"{{"id":4,"cmd":"query_qp","qp":{qp}}}"#))
    else {
        panic!()
    };
    ok(&mut session, &format!(r#"{{"id":5,"cmd":"destroy_qp","qp":{qp}}}"#));
    assert_eq!(error(&mut session, &format!(r#"{{"id":6,"cmd":"query_qp","qp":{qp}}}"#)), ErrorCode::NoSuchObject);
    assert_eq!(error(&mut session, r#"{"id":7,"cmd":"create_qp","kind":"uc"}"#), ErrorCode::Unsupported);
}

#[test]
fn memory_is_read_and_written_inside_its_bounds_only() {
    let mut fake = Fake::default();
    let mut session = greeted(&mut fake);
    let Reply::Memory(region) = ok(&mut session, r#"{"id":2,"cmd":"register_memory","length":16,"access":[]}"#) else {
        panic!()
    };
    let mr = region.mr;
    ok(&mut session, &format!(r#"{{"id":3,"cmd":"write_memory","mr":{mr},"offset":14,"data":"BEef"}}"#));
    let read = |offset: u64, length: u64| {
        format!(r#"{{"id":4,"cmd":"read_memory","mr":{mr},"offset":{offset},"length":{length}}}"#)
    };
    assert_eq!(ok(&mut session, &read(13, 3)), Reply::Data("00beef".to_owned()));
    assert_eq!(ok(&mut session, &read(16, 0)), Reply::Data(String::new()));
    for (offset, length) in [(14, 3), (17, 0), (u64::MAX, 2), (0, u64::MAX), (0, (1 << 20) + 1)] {
        assert_eq!(error(&mut session, &read(offset, length)), ErrorCode::BadArgument);
    }
    let line = format!(r#"{{"id":3,"cmd":"write_memory","mr":{mr},"offset":15,"data":"beef"}}"#);
    assert_eq!(error(&mut session, &line), ErrorCode::BadArgument);
    let line = format!(r#"{{"id":3,"cmd":"write_memory","mr":{mr},"offset":0,"data":"0g"}}"#);
    assert_eq!(error(&mut session, &line), ErrorCode::BadArgument);
    for length in [0, (16 << 20) + 1, u64::MAX] {
        let line = format!(r#"{{"id":5,"cmd":"register_memory","length":{length},"access":[]}}"#);
        assert_eq!(error(&mut session, &line), ErrorCode::BadArgument);
    }
}

#[test]
fn work_requests_come_back_as_completions() {
    let mut fake = Fake::default();
    let mut session = greeted(&mut fake);
    let Reply::Qp { qp, .. } = ok(&mut session, r#"{"id":2,"cmd":"create_qp","kind":"rc"}"#) else { panic!() };
    let Reply::Memory(region) = ok(&mut session, r#"{"id":2,"cmd":"register_memory","length":16,"access":[]}"#) else {
        panic!()
    };
    let mr = region.mr;
    let receive = |length| {
        format!(r#"{{"id":3,"cmd":"post_receive","qp":{qp},"wr_id":9,"mr":{mr},"offset":0,"length":{length}}}"#)
    };
    ok(&mut session, &receive(16));
    assert_eq!(error(&mut session, &receive(17)), ErrorCode::BadArgument);
    ok(
        &mut session,
        &format!(
            r#"{{"id":4,"cmd":"post_send","qp":{qp},
            "request":{{"wr_id":10,"opcode":"send","mr":{mr},"offset":0,"length":4}}}}"#
        )
        .replace('\n', ""),
    );
    let poll = |max| format!(r#"{{"id":5,"cmd":"poll","qp":{qp},"max":{max}}}"#);
    let Reply::Completions(seen) = ok(&mut session, &poll(1)) else { panic!() };
    assert!(matches!(&seen[..], [Completion { wr_id: 9, .. }]));
    let Reply::Completions(seen) = ok(&mut session, &poll(1024)) else { panic!() };
    assert!(matches!(&seen[..], [Completion { wr_id: 10, .. }]));
    assert_eq!(error(&mut session, &poll(0)), ErrorCode::BadArgument);
    assert_eq!(error(&mut session, &poll(1025)), ErrorCode::BadArgument);
}

#[test]
fn a_handle_of_another_kind_is_no_object() {
    let mut fake = Fake::default();
    let mut session = greeted(&mut fake);
    let Reply::Qp { qp, .. } = ok(&mut session, r#"{"id":2,"cmd":"create_qp","kind":"rc"}"#) else { panic!() };
    assert_eq!(
        error(&mut session, &format!(r#"{{"id":3,"cmd":"deregister_memory","mr":{qp}}}"#)),
        ErrorCode::NoSuchObject
    );
}

#[test]
fn events_carry_the_handle_of_a_queue_pair_that_is_still_there() {
    let mut fake = Fake::default();
    for about in [Some(About::Qp(1)), Some(About::Qp(77)), None] {
        fake.events.push(Event { name: "qp_fatal".to_owned(), about });
    }
    let mut session = greeted(&mut fake);
    let Reply::Qp { qp, qpn: 1 } = ok(&mut session, r#"{"id":2,"cmd":"create_qp","kind":"rc"}"#) else { panic!() };
    let Reply::Events(events) = ok(&mut session, r#"{"id":3,"cmd":"events"}"#) else { panic!() };
    assert_eq!(events.iter().map(|event| event.qp).collect::<Vec<_>>(), [Some(qp), None, None]);
    assert_eq!(ok(&mut session, r#"{"id":4,"cmd":"events"}"#), Reply::Events(Vec::new()));
}

#[test]
fn what_is_shared_stays_while_it_is_used() {
    let mut fake = Fake::default();
    let mut session = greeted(&mut fake);
    let Reply::Pd { pd } = ok(&mut session, r#"{"id":2,"cmd":"create_pd"}"#) else { panic!() };
    let line = format!(r#"{{"id":3,"cmd":"create_srq","max_wr":8,"pd":{pd}}}"#);
    let Reply::Srq { srq, srqn: 0 } = ok(&mut session, &line) else { panic!() };
    let line = format!(r#"{{"id":4,"cmd":"create_qp","kind":"rc","srq":{srq}}}"#);
    let Reply::Qp { qp, .. } = ok(&mut session, &line) else { panic!() };
    let (destroy_pd, destroy_srq) = (
        format!(r#"{{"id":5,"cmd":"destroy_pd","pd":{pd}}}"#),
        format!(r#"{{"id":6,"cmd":"destroy_srq","srq":{srq}}}"#),
    );
    for line in [&destroy_pd, &destroy_srq] {
        assert_eq!(error(&mut session, line), ErrorCode::Refused);
    }
    ok(&mut session, &format!(r#"{{"id":7,"cmd":"destroy_qp","qp":{qp}}}"#));
    ok(&mut session, &destroy_srq);
    ok(&mut session, &destroy_pd);
    for line in [&destroy_pd, &destroy_srq, &format!(r#"{{"id":8,"cmd":"create_qp","kind":"rc","pd":{pd}}}"#)] {
        assert_eq!(error(&mut session, line), ErrorCode::NoSuchObject);
    }
}

#[test]
fn a_shared_queue_for_xrc_has_a_number_and_completions_of_its_own() {
    let mut fake = Fake::default();
    let mut session = greeted(&mut fake);
    let Reply::XrcDomain { xrc_domain } = ok(&mut session, r#"{"id":2,"cmd":"create_xrc_domain"}"#) else { panic!() };
    let line = format!(r#"{{"id":3,"cmd":"create_srq","max_wr":8,"xrc_domain":{xrc_domain}}}"#);
    let Reply::Srq { srq, srqn: 1 } = ok(&mut session, &line) else { panic!() };
    let Reply::Memory(region) = ok(&mut session, r#"{"id":4,"cmd":"register_memory","length":16,"access":[]}"#) else {
        panic!()
    };
    let mr = region.mr;
    let post = |offset: u64| {
        format!(r#"{{"id":5,"cmd":"post_srq_receive","srq":{srq},"wr_id":7,"mr":{mr},"offset":{offset},"length":8}}"#)
    };
    ok(&mut session, &post(8));
    assert_eq!(error(&mut session, &post(9)), ErrorCode::BadArgument);
    let poll = |max: u32| format!(r#"{{"id":6,"cmd":"poll_srq","srq":{srq},"max":{max}}}"#);
    assert!(matches!(ok(&mut session, &poll(9)), Reply::Completions(done) if done.len() == 1 && done[0].wr_id == 7));
    assert_eq!(error(&mut session, &poll(0)), ErrorCode::BadArgument);
    ok(&mut session, &format!(r#"{{"id":7,"cmd":"modify_srq","srq":{srq},"limit":2}}"#));
    let Reply::Events(events) = ok(&mut session, r#"{"id":8,"cmd":"events"}"#) else { panic!() };
    assert_eq!((events[0].srq, events[0].qp), (Some(srq), None));
}

#[test]
fn a_window_holds_its_region_and_has_a_new_key_when_it_is_bound() {
    let mut fake = Fake::default();
    let mut session = greeted(&mut fake);
    let Reply::Qp { qp, .. } = ok(&mut session, r#"{"id":2,"cmd":"create_qp","kind":"rc"}"#) else { panic!() };
    let line = r#"{"id":3,"cmd":"register_memory","length":16,"access":["mw_bind"]}"#;
    let Reply::Memory(region) = ok(&mut session, line) else { panic!() };
    let Reply::Window { window, rkey } = ok(&mut session, r#"{"id":4,"cmd":"allocate_window","kind":"type_2"}"#) else {
        panic!()
    };
    let mr = region.mr;
    let bind = |length: u64| {
        format!(
            r#"{{"id":5,"cmd":"bind_window","qp":{qp},"request":{{"wr_id":1,"window":{window},"mr":{mr},"offset":8,"length":{length},"access":["remote_read"]}}}}"#
        )
    };
    assert_eq!(error(&mut session, &bind(9)), ErrorCode::BadArgument);
    assert_eq!(ok(&mut session, &bind(8)), Reply::Window { window, rkey: rkey + 1 });
    let deregister = format!(r#"{{"id":6,"cmd":"deregister_memory","mr":{mr}}}"#);
    assert_eq!(error(&mut session, &deregister), ErrorCode::Refused);
    ok(&mut session, &format!(r#"{{"id":7,"cmd":"read_memory","mr":{mr},"offset":0,"length":1}}"#));
    let deallocate = format!(r#"{{"id":8,"cmd":"deallocate_window","window":{window}}}"#);
    ok(&mut session, &deallocate);
    assert_eq!(error(&mut session, &deallocate), ErrorCode::NoSuchObject);
}

#[test]
fn a_notification_names_the_queue_pair() {
    let mut fake = Fake::default();
    let mut session = greeted(&mut fake);
    let Reply::Qp { qp, .. } = ok(&mut session, r#"{"id":2,"cmd":"create_qp","kind":"rc"}"#) else { panic!() };
    ok(&mut session, &format!(r#"{{"id":3,"cmd":"request_notification","qp":{qp},"solicited_only":true}}"#));
    let Reply::Events(events) = ok(&mut session, r#"{"id":4,"cmd":"events"}"#) else { panic!() };
    assert_eq!(events, [AsyncEvent { event: "completion".to_owned(), qp: Some(qp), srq: None }]);
}

#[test]
fn nothing_outlives_reset_nor_the_session() {
    let mut fake = Fake::default();
    let alive = std::rc::Rc::clone(&fake.alive);
    let mut session = greeted(&mut fake);
    for _ in 0..3 {
        ok(&mut session, r#"{"id":2,"cmd":"create_qp","kind":"ud"}"#);
        ok(&mut session, r#"{"id":2,"cmd":"register_memory","length":16,"access":["remote_write"]}"#);
    }
    assert_eq!(alive.get(), 6);
    ok(&mut session, r#"{"id":3,"cmd":"reset"}"#);
    assert_eq!(alive.get(), 0);
    ok(&mut session, r#"{"id":2,"cmd":"create_qp","kind":"ud"}"#);
    drop(session);
    assert_eq!(alive.get(), 0);
}

#[test]
fn objects_and_their_bytes_are_bounded() {
    let mut fake = Fake::default();
    let mut session = greeted(&mut fake);
    for _ in 0..MAX_OBJECTS {
        ok(&mut session, r#"{"id":2,"cmd":"create_qp","kind":"rc"}"#);
    }
    assert_eq!(error(&mut session, r#"{"id":2,"cmd":"create_qp","kind":"rc"}"#), ErrorCode::BadArgument);
    for _ in 0..8 {
        ok(&mut session, r#"{"id":2,"cmd":"register_memory","length":16777216,"access":[]}"#);
    }
    let line = r#"{"id":2,"cmd":"register_memory","length":1,"access":[]}"#;
    assert_eq!(error(&mut session, line), ErrorCode::BadArgument);
    let line = r#"{"id":2,"cmd":"create_qp","kind":"rc","capacity":{"max_send_wr":4000000000}}"#;
    assert_eq!(error(&mut session, line), ErrorCode::BadArgument);
}

#[test]
fn attributes_out_of_their_field_are_refused() {
    let mut fake = Fake::default();
    let mut session = greeted(&mut fake);
    let Reply::Qp { qp, .. } = ok(&mut session, r#"{"id":2,"cmd":"create_qp","kind":"rc"}"#) else { panic!() };
    for attribute in [
        r#""dest_qpn":16777216"#,
        r#""rq_psn":16777216"#,
        r#""sq_psn":16777216"#,
        r#""timeout":32"#,
        r#""retry_count":8"#,
        r#""rnr_retry":8"#,
        r#""min_rnr_timer":32"#,
        r#""flow_label":1048576"#,
        r#""service_level":8"#,
        r#""path_mtu":1500"#,
        r#""state":"asleep""#,
        r#""remote_gid":"not an address""#,
        r#""gid_index":256"#,
        r#""colour":1"#,
    ] {
        let line = format!(r#"{{"id":3,"cmd":"modify_qp","qp":{qp},"attributes":{{{attribute}}}}}"#);
        assert_eq!(error(&mut session, &line), ErrorCode::BadArgument, "{attribute}");
    }
}

#[test]
fn shutdown_is_answered_and_then_obeyed() {
    let mut fake = Fake::default();
    let mut session = greeted(&mut fake);
    let mut out = Vec::new();
    let next =
        session.receive(b"{\"id\":9,\"cmd\":\"shutdown\"}\n{\"id\":10,\"cmd\":\"counters\"}\n", &mut out).unwrap();
    assert_eq!(next, Next::Shutdown);
    assert_eq!(out, b"{\"id\":9,\"ok\":{\"done\":{}}}\n");
}

/// Any bytes, in any pieces: every non-blank line gets one answer with an error, and the session goes on.
#[test]
fn rubbish_is_answered_line_by_line_and_the_session_lives() {
    let mut fake = Fake::default();
    let mut session = greeted(&mut fake);
    let mut rubbish: Vec<Vec<u8>> = vec![
        b"\xff\xfe\xfd".to_vec(),
        b"\0\0\0".to_vec(),
        b"null".to_vec(),
        b"{".to_vec(),
        b"{}".to_vec(),
        br#"{"id":1}"#.to_vec(),
        br#"{"id":1,"cmd":"h\u0065llo"}"#.to_vec(),
        br#"{"id":18446744073709551616,"cmd":"reset"}"#.to_vec(),
        br#"{"id":1,"cmd":"\ud800"}"#.to_vec(),
        [b"[".repeat(200_000), b"]".repeat(200_000)].concat(),
        br#"{"a":"#.repeat(100_000),
        [br#"{"id":4,"cmd":""#.to_vec(), b"x".repeat(3 << 20), br#""}"#.to_vec()].concat(),
    ];
    // A cheap sequence of pseudo-random lines without newlines in them.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    for length in 1..200 {
        let mut line = Vec::new();
        for _ in 0..length {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            line.push((state as u8).max(b'!'));
        }
        rubbish.push(line);
    }
    for line in rubbish {
        let mut out = Vec::new();
        for piece in line.chunks(4093) {
            assert_eq!(session.receive(piece, &mut out).unwrap(), Next::Go);
        }
        assert!(out.is_empty(), "an answer before the line ended");
        assert_eq!(session.receive(b"\r\n", &mut out).unwrap(), Next::Go);
        let answer: Response = serde_json::from_slice(&out).unwrap();
        assert!(matches!(answer.result, Status::Error(_)));
    }
    ok(&mut session, r#"{"id":2,"cmd":"counters"}"#);
}

#[test]
fn a_hundred_megabytes_without_newline_are_one_error() {
    let mut fake = Fake::default();
    let mut session = greeted(&mut fake);
    let piece = vec![b'{'; 1 << 20];
    let mut out = Vec::new();
    for _ in 0..100 {
        session.receive(&piece, &mut out).unwrap();
    }
    session.receive(b"\n{\"id\":2,\"cmd\":\"reset\"}\n", &mut out).unwrap();
    let answers: Vec<Response> = out
        .split(|&b| b == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert!(matches!(&answers[0].result, Status::Error(error) if error.code == ErrorCode::BadRequest));
    assert_eq!(answers[1], Response { id: 2, result: Status::Ok(Reply::Done {}) });
    assert_eq!(answers.len(), 2);
}

#[test]
fn the_protocols_page_names_every_command_and_its_examples_are_right() {
    let page = include_str!("../../../docs/control-protocol.md");
    for name in Command::NAMES {
        assert!(page.contains(&format!("| `{name}` |")), "{name} is missing");
    }
    let examples = page.split("```json").nth(1).unwrap().split("```").next().unwrap();
    for (number, line) in examples.trim().lines().enumerate() {
        if number % 2 == 0 {
            Request::parse(line.as_bytes()).unwrap();
        } else {
            serde_json::from_str::<Response>(line).unwrap();
        }
    }
}
