//! Files as they should be.

use std::time::Duration;

use rocespec_codec::Psn;
use rocespec_codec::notation::Head;
use rocespec_control::{Access, Opcode, QpKind, QpState, SendFlag, WindowKind};
use rocespec_reports::outcome::Level;

use crate::link::{Damage, Fate, Rate, Rule, Selector};
use crate::scenario::{
    Action, Axis, Bind, CompletionPattern, DEVICE, LinkStep, Local, MemoryBytes, Network, ObjectVerb, PEER, Post,
    RandomFault, Remote, Scenario, Share, Stream, Take, TesterMemory, Verb, When, load, load_folder, parse,
};

pub(super) const HEADER: &str =
    "title = 'T'\nabout = 'A'\nrules = ['rc.responder.send']\nlevel = 'must'\nscript = '''\n";

pub(super) fn scenario(script: &str) -> Scenario {
    read(&format!("{HEADER}{script}'''\n"))
}

fn read(text: &str) -> Scenario {
    parse("a.toml", "a", text).unwrap_or_else(|error| panic!("{error}"))
}

fn actions(script: &str) -> Vec<Action> {
    scenario(script).steps.into_iter().map(|step| step.action).collect()
}

fn verb(line: &str) -> Verb {
    let script = format!("dut mr mr 4096 none\n{line}\nsilence no probe\n");
    let Action::Dut(verb) = actions(&script).swap_remove(1) else { panic!("{line}") };
    verb
}

#[test]
fn a_whole_file_reads() {
    let scenario = read(
        "title = 'T'\nabout = '''\nlong\n  prose\n'''\nrules = ['rc.responder.send', 'rc.responder.msn']\nlevel = 'should'\n\
         needs = ['rc', 'atomic']\nvary = { ip = ['v6', 'v4'], start_psn = [0, 0xfffffe, 7] }\n\
         script = '''\n> SEND_ONLY psn=0\n< ACK\n'''\n\
         [setup]\ntransport = 'uc'\nqkey = 7\nstart_psn = 5\nip = 'v6'\nmtu = 256\naccess = ['remote_read']\nmin_rnr_timer = 14\nmax_dest_rd_atomic = 1\ntimeout = 8\nretry_count = 2\nrnr_retry = 3\nmax_rd_atomic = 5\n",
    );
    assert_eq!((scenario.id.as_str(), scenario.file.as_str(), scenario.title.as_str()), ("a", "a.toml", "T"));
    assert_eq!(scenario.about, "long prose");
    assert_eq!(scenario.rules, ["rc.responder.send", "rc.responder.msn"]);
    assert_eq!(scenario.level, Level::Should);
    assert_eq!(scenario.needs, ["rc", "atomic"]);
    assert_eq!((scenario.setup.start_psn, scenario.setup.ip, scenario.setup.mtu), (5, Network::V6, 256));
    assert_eq!(scenario.setup.access, [Access::RemoteRead]);
    assert_eq!((scenario.setup.min_rnr_timer, scenario.setup.max_dest_rd_atomic), (14, 1));
    let setup = &scenario.setup;
    assert_eq!((setup.transport, setup.qkey), (rocespec_control::QpKind::Uc, 7));
    assert_eq!((setup.timeout, setup.retry_count, setup.rnr_retry, setup.max_rd_atomic), (8, 2, 3, 5));
    assert_eq!(scenario.vary[0], (Axis::Ip, vec!["v6".to_owned(), "v4".to_owned()]));
    assert_eq!(scenario.vary[1].1, ["0x000000", "0xfffffe", "0x000007"]);
    assert_eq!(scenario.script, "> SEND_ONLY psn=0\n< ACK\n");
    assert_eq!(scenario.script_line, 11);
    assert_eq!(scenario.steps[0].line, 11);
    assert_eq!(scenario.steps[1].line, 12);
}

#[test]
fn variants_are_few_or_all() {
    let text = |vary: &str| format!("{vary}\n{HEADER}< ACK\n'''\n");
    let shown = |vary: &str, all: bool| -> Vec<String> {
        let scenario = read(&text(vary));
        let variants = scenario.variants(all);
        variants.iter().map(|variant| variant.values.values().cloned().collect::<Vec<_>>().join(" ")).collect()
    };
    assert_eq!(shown("", false), [""]);
    assert_eq!(shown("", true), [""]);
    let both = "vary = { start_psn = [0, 1, 2], ip = ['v4', 'v6'] }";
    assert_eq!(shown(both, false), ["v4 0x000000", "v6 0x000001", "v4 0x000002"]);
    assert_eq!(shown(both, true).len(), 6);
    let variant = read(&text(both)).variants(false).swap_remove(1);
    assert_eq!((variant.setup.start_psn, variant.setup.ip, variant.setup.mtu), (1, Network::V6, 1024));
    let mtu = read(&text("vary = { mtu = [256, 4096] }")).variants(true).swap_remove(1);
    assert_eq!((mtu.setup.mtu, mtu.values["mtu"].as_str()), (4096, "4096"));
}

#[test]
fn every_kind_of_step_reads() {
    let steps = scenario(
        "# a comment\n\n\
         >    SEND_ONLY psn=0 ack 64B       # and another\n\
         <    ACK psn=0 msn=1               within 100ms\n\
         <    one of                        within 1s\n        ACK psn=1\n        loose NAK code=invalid_request\n        nothing\n\
         \u{20}    silence 20ms\n     silence no probe\n     silence\n     probe\n     wait 4.096us\n",
    )
    .steps;
    let lines: Vec<u32> = steps.iter().map(|step| step.line).collect();
    assert_eq!(lines, [8, 9, 10, 14, 14, 15, 16, 17, 18]);
    assert_eq!(steps[0].text, "> SEND_ONLY psn=0 ack 64B".replace("> ", ">    "));
    let Action::Send(packet) = &steps[0].action else { panic!() };
    assert_eq!((packet.text.as_str(), packet.column), ("SEND_ONLY psn=0 ack 64B", 6));
    let Action::Expect { any_of, when } = &steps[1].action else { panic!() };
    assert_eq!(*when, When { after: None, within: Some(Duration::from_millis(100)) });
    assert_eq!(any_of[0].packet.as_ref().unwrap().text, "ACK psn=0 msn=1");
    let Action::Expect { any_of, when } = &steps[2].action else { panic!() };
    assert_eq!(when.within, Some(Duration::from_secs(1)));
    let shown: Vec<_> = any_of
        .iter()
        .map(|one| (one.packet.as_ref().map(|packet| packet.text.as_str()), one.loose, one.line))
        .collect();
    let expected = [(Some("ACK psn=1"), false, 11), (Some("NAK code=invalid_request"), true, 12), (None, false, 13)];
    assert_eq!(shown, expected);
    assert_eq!(steps[3].action, Action::Silence { length: Some(Duration::from_millis(20)) });
    assert_eq!(steps[4].action, Action::Probe);
    assert_eq!(steps[5].action, Action::Silence { length: None });
    assert_eq!(steps[6].action, Action::Silence { length: None });
    assert_eq!(steps[7].action, Action::Probe);
    assert_eq!(steps[8].action, Action::Wait(Duration::from_nanos(4096)));
}

#[test]
fn every_step_about_a_stream_reads() {
    let take = |count, name: Option<&str>, share| {
        Action::Stream(Stream::Take(Take { count, name: name.map(str::to_owned), slowest: None, share }))
    };
    let share = Share { from: 0, to: 90, of: "before".to_owned() };
    let steps = actions(
        "take 16\ntake 4096 as before\ntake 60 as cut 0%..90% of before\ntake 1 110%..10000% of cut\n\
         take until SEND_LAST psn=9\npaused 1 quanta\nflows within 1000000 quanta\nno CNP\nno CNP 20us\n\
         take 60 as slow slowest 16\n",
    );
    assert_eq!(steps[0], take(16, None, None));
    assert_eq!(steps[1], take(4096, Some("before"), None));
    assert_eq!(steps[2], take(60, Some("cut"), Some(share)));
    assert_eq!(steps[3], take(1, None, Some(Share { from: 110, to: 10_000, of: "cut".to_owned() })));
    let Action::Stream(Stream::Until(packet)) = &steps[4] else { panic!("{:?}", steps[4]) };
    assert_eq!((packet.text.as_str(), packet.column), ("SEND_LAST psn=9", 12));
    assert_eq!(steps[5], Action::Stream(Stream::Paused(1)));
    assert_eq!(steps[6], Action::Stream(Stream::Flows(1_000_000)));
    assert_eq!(steps[7], Action::Stream(Stream::NoCnp(None)));
    assert_eq!(steps[8], Action::Stream(Stream::NoCnp(Some(Duration::from_micros(20)))));
    let slow = Take { count: 60, name: Some("slow".to_owned()), slowest: Some(16), share: None };
    assert_eq!(steps[9], Action::Stream(Stream::Take(slow)));
}

#[test]
fn a_vlan_makes_a_tag() {
    let tag =
        |setup: &str| read(&format!("setup = {{ {setup} }}\n{HEADER}< ACK\n'''\n")).setup.tag().map(|tag| tag.tci);
    assert_eq!(tag(""), None);
    assert_eq!(tag("vlan = 4094"), Some(4094));
    assert_eq!(tag("vlan = 0, priority = 7"), Some(0xe000));
}

#[test]
fn every_verb_reads() {
    assert_eq!(verb("dut recv 4 x 4096"), Verb::Receive { count: 4, buffer: Local::Nameless(4096) });
    let place = Local::Region { name: "mr".to_owned(), offset: 64, length: 104 };
    assert_eq!(verb("dut recv 2 x mr+0x40 104"), Verb::Receive { count: 2, buffer: place });
    assert_eq!(verb("dut attach ff0e::1"), Verb::Attach("ff0e::1".parse().unwrap()));
    assert_eq!(verb("dut attach 239.1.1.1"), Verb::Attach("::ffff:239.1.1.1".parse().unwrap()));
    assert_eq!(verb("dut deregister mr"), Verb::DeregisterMemory("mr".to_owned()));
    assert_eq!(verb("dut recv 0"), Verb::Receive { count: 1, buffer: Local::Nameless(0) });
    let access = vec![Access::RemoteRead, Access::RemoteWrite];
    let registered = Verb::RegisterMemory { name: "other_1".to_owned(), length: 64, access, foreign: false };
    assert_eq!(verb("dut mr other_1 64 remote_read remote_write"), registered);
    let bytes = |offset, bytes: &[u8]| MemoryBytes { region: "mr".to_owned(), offset, bytes: bytes.to_vec() };
    assert_eq!(verb("dut write mr+0x10 3B"), Verb::WriteMemory(bytes(16, &[0, 1, 2])));
    assert_eq!(verb("dut memory mr 2B=aa"), Verb::CheckMemory(bytes(0, &[0xaa, 0xaa])));
    assert_eq!(verb("dut memory mr+4094 data=beef"), Verb::CheckMemory(bytes(4094, &[0xbe, 0xef])));
    assert_eq!(verb("dut qp rts"), Verb::CheckState(QpState::Rts));
    assert_eq!(verb("dut qp error"), Verb::CheckState(QpState::Error));
    assert_eq!(verb("dut completions none"), Verb::CheckCompletions(vec![]));
    let one =
        |opcode: &str| CompletionPattern { count: 1, opcodes: vec![opcode.to_owned()], ..CompletionPattern::default() };
    let patterns = vec![
        one("recv"),
        CompletionPattern { count: 2, ..one("recv") },
        CompletionPattern { length: Some(64), immediate: Some(0xcafe_babe), ..one("recv_rdma_with_imm") },
        CompletionPattern {
            count: 3,
            statuses: vec!["wr_flush_err".to_owned(), "loc_len_err".to_owned()],
            ..one("recv")
        },
    ];
    let line = "dut completions recv recv:2 recv_rdma_with_imm(len=64 imm=0xcafebabe) recv:3( status=wr_flush_err|loc_len_err )";
    assert_eq!(verb(line), Verb::CheckCompletions(patterns));
}

#[test]
fn every_step_about_objects_beside_the_queue_pair_reads() {
    let object = |line: &str| match verb(line) {
        Verb::Object(verb) => verb,
        _ => panic!("{line}"),
    };
    assert_eq!(object("dut srq"), ObjectVerb::CreateSrq { foreign: false });
    assert_eq!(object("dut srq foreign"), ObjectVerb::CreateSrq { foreign: true });
    assert_eq!(object("dut srq limit 2"), ObjectVerb::LimitSrq(2));
    assert_eq!(object("dut deregister mr refused"), ObjectVerb::KeepMemory("mr".to_owned()));
    assert_eq!(object("dut arm"), ObjectVerb::Arm { solicited: false });
    assert_eq!(object("dut arm solicited"), ObjectVerb::Arm { solicited: true });
    let window = |name: &str, kind| ObjectVerb::AllocateWindow { name: name.to_owned(), kind };
    assert_eq!(object("dut window w type_1"), window("w", WindowKind::Type1));
    assert_eq!(object("dut window w type_2"), window("w", WindowKind::Type2));
    let foreign = Verb::RegisterMemory { name: "far".to_owned(), length: 64, access: Vec::new(), foreign: true };
    assert_eq!(verb("dut mr far 64 none pd=other"), foreign);
    let other = Verb::Other(Box::new(Verb::Receive { count: 2, buffer: Local::Nameless(64) }));
    assert_eq!(verb("dut other recv 2 x 64"), other);
}

#[test]
fn a_bound_window_can_be_named_in_packets() {
    let script = "dut mr mr 64 mw_bind\ndut window w type_2\ndut bind part w mr+8 16 remote_write remote_read\n\
                  > RDMA_WRITE_ONLY psn=0 ack va=part+8 rkey=part 8B\n< ACK psn=0\ndut invalidate part\n";
    let steps = actions(script);
    let bind = ObjectVerb::Bind(Bind {
        name: "part".to_owned(),
        window: "w".to_owned(),
        region: "mr".to_owned(),
        offset: 8,
        length: 16,
        access: vec![Access::RemoteWrite, Access::RemoteRead],
    });
    assert_eq!(steps[2], Action::Dut(Verb::Object(bind)));
    assert_eq!(steps[5], Action::Dut(Verb::Object(ObjectVerb::Invalidate("part".to_owned()))));
}

#[test]
fn the_setup_knows_shared_queues_and_both_sides_of_xrc() {
    let setup = |words: &str| read(&format!("setup = {{ {words} }}\n{HEADER}< ACK\n'''\n")).setup;
    assert!(setup("srq = true").srq && !setup("srq = false").srq);
    assert_eq!(setup("transport = 'xrc_target'").transport, QpKind::XrcTarget);
    assert_eq!(setup("transport = 'xrc_initiator'").transport, QpKind::XrcInitiator);
}

#[test]
fn a_window_of_time_has_two_ends_in_any_order() {
    let window = |text: &str| match actions(&format!("< SEND_ONLY psn=0 {text}\n")).swap_remove(0) {
        Action::Expect { when, .. } => (when.after.map(|t| t.as_millis()), when.within.map(|t| t.as_millis())),
        _ => panic!("{text}"),
    };
    assert_eq!(window("after 67ms within 268ms"), (Some(67), Some(268)));
    assert_eq!(window("within 268ms after 67ms"), (Some(67), Some(268)));
    assert_eq!(window("after 67ms"), (Some(67), None));
    assert_eq!(window(""), (None, None));
}

#[test]
fn every_request_of_the_devices_own_software_reads() {
    let post = |line: &str| match verb(line) {
        Verb::Post(post) => post,
        _ => panic!("{line}"),
    };
    let plain = |opcode, local| Post {
        count: 1,
        opcode,
        local,
        flags: vec![SendFlag::Signaled],
        remote_va: Remote::Number(TesterMemory::VA),
        rkey: Remote::Number(u64::from(TesterMemory::RKEY)),
        immediate: 0,
        compare_add: 0,
        swap: 0,
        qkey: None,
        srqn: 0,
    };
    let mr = |offset, length| Local::Region { name: "mr".to_owned(), offset, length };
    assert_eq!(post("dut send 3B"), plain(Opcode::Send, Local::Bytes(vec![0, 1, 2])));
    assert_eq!(post("dut send 0B"), plain(Opcode::Send, Local::Bytes(vec![])));
    let four = Post {
        count: 4,
        flags: vec![SendFlag::Fence, SendFlag::Solicited, SendFlag::Inline],
        ..plain(Opcode::Send, mr(64, 300))
    };
    assert_eq!(post("dut send 4 x mr+0x40 300 fence unsignaled solicited inline"), four);
    let with_immediate = Post { immediate: 0xcafe, ..plain(Opcode::SendWithImmediate, Local::Nameless(64)) };
    assert_eq!(post("dut send 64 imm=0xcafe"), with_immediate);
    let invalidating =
        Post { immediate: TesterMemory::RKEY + 1, ..plain(Opcode::SendWithInvalidate, Local::Nameless(0)) };
    assert_eq!(post("dut send 0 inv=tester+1"), invalidating);
    let elsewhere = Post {
        remote_va: Remote::Number(TesterMemory::VA + 64),
        rkey: Remote::Number(0x77),
        ..plain(Opcode::RdmaWrite, Local::Bytes(vec![0xaa; 2]))
    };
    assert_eq!(post("dut rdma_write 2B=aa va=tester+0x40 rkey=0x77"), elsewhere);
    let with_immediate = Post { immediate: 7, ..plain(Opcode::RdmaWriteWithImmediate, Local::Nameless(9)) };
    assert_eq!(post("dut rdma_write 9 imm=7"), with_immediate);
    assert_eq!(post("dut rdma_read mr 4096"), plain(Opcode::RdmaRead, mr(0, 4096)));
    let swapping = Post { compare_add: 1, swap: 0xffff_ffff_ffff, ..plain(Opcode::CompareSwap, mr(8, 8)) };
    assert_eq!(post("dut comp_swap mr+8 compare=1 swap=0xffffffffffff"), swapping);
    let every_bit = Post { swap: u64::MAX, ..swapping };
    assert_eq!(post("dut comp_swap mr+8 compare=1 swap=0xffffffffffffffff"), every_bit);
    assert_eq!(post("dut fetch_add add=5"), Post { compare_add: 5, ..plain(Opcode::FetchAdd, Local::Nameless(8)) });
    assert_eq!(post("dut atomic_write 8B"), plain(Opcode::AtomicWrite, Local::Bytes((0..8).collect())));
    let flushing = Post { immediate: 3, compare_add: 1, ..plain(Opcode::Flush, Local::Nameless(64)) };
    assert_eq!(post("dut flush 64 global persistent whole"), flushing);
    let keyed = Post { qkey: Some(0x8000_0001), ..plain(Opcode::Send, Local::Nameless(64)) };
    assert_eq!(post("dut send 64 qkey=0x80000001"), keyed);
    assert_eq!(verb("dut modify sqd"), Verb::Modify(QpState::Sqd));
    assert_eq!(verb("dut event sq_drained"), Verb::CheckEvent("sq_drained".to_owned()));
}

#[test]
fn the_memory_of_the_tester_can_be_named_in_packets() {
    let script = "dut rdma_read 64 va=tester+8\n< RDMA_READ_REQUEST psn=0 va=tester+8 rkey=tester len=64\n";
    assert_eq!(actions(script).len(), 2);
}

#[test]
fn a_registered_region_can_be_named_in_packets() {
    let script = "dut mr mr 4096 none\n> RDMA_WRITE_ONLY psn=0 va=mr+0x40 rkey=mr len=8 8B\n< ACK\n";
    assert_eq!(actions(script).len(), 3);
}

#[test]
fn lines_may_end_as_on_windows() {
    let text = format!("{HEADER}> SEND_ONLY psn=0\n< ACK\n'''\n").replace('\n', "\r\n");
    let scenario = read(&text);
    assert_eq!(scenario.steps.len(), 2);
    assert_eq!((scenario.script_line, scenario.steps[1].line), (6, 7));
    assert_eq!(scenario.steps[0].text, "> SEND_ONLY psn=0");
}

#[test]
fn a_folder_gives_ids_by_path() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("rc/deep")).unwrap();
    let text = format!("{HEADER}< ACK\n'''\n");
    std::fs::write(folder.path().join("z.toml"), &text).unwrap();
    std::fs::write(folder.path().join("rc/deep/b.toml"), &text).unwrap();
    std::fs::write(folder.path().join("rc/notes.txt"), "not a scenario").unwrap();
    let ids: Vec<String> = load_folder(folder.path()).unwrap().into_iter().map(|scenario| scenario.id).collect();
    assert_eq!(ids, ["rc/deep/b", "z"]);
}

#[test]
fn what_is_no_text_is_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        load(&path, "x").unwrap_err().to_string()
    };
    assert!(file("a.toml", b"title = '\xff'").contains("the byte at offset 9 is no text"));
    assert!(file("b.toml", &vec![b'#'; (1 << 20) + 1]).contains("larger than 1048576 bytes"));
    assert!(load(&folder.path().join("none.toml"), "x").unwrap_err().to_string().contains("cannot be read"));
    assert!(load_folder(&folder.path().join("none")).unwrap_err().to_string().contains("cannot be read"));
    let all = load_folder(folder.path()).unwrap_err();
    assert_eq!(all.files().len(), 2);
}

fn link_step(line: &str) -> LinkStep {
    let script = format!("peer model\n{line}\ndut qp rts\n");
    let Action::Link(step) = actions(&script).swap_remove(1) else { panic!("{line}") };
    step
}

#[test]
fn links_read() {
    let chosen = |selector, fate| LinkStep::Chosen(Rule { selector, count: None, fate });
    let all = Selector::default;
    assert_eq!(link_step("link drop"), chosen(all(), Fate::LOST));
    let selector = Selector {
        from: Some(DEVICE),
        heads: ["SEND_FIRST", "ACK"].map(|word| Head::parse(word).unwrap()).to_vec(),
        psns: Some((Psn::new(3), 5)),
        round: Some(2),
    };
    let rule = Rule { selector, count: Some(4), fate: Fate { late: Duration::from_millis(1), ..Fate::default() } };
    let line = "link delay 1ms from=dut opcode=SEND_FIRST|ACK psn=3..7 round=2 count=4";
    assert_eq!(link_step(line), LinkStep::Chosen(rule));
    let one = Selector { from: Some(PEER), psns: Some((Psn::new(0xff_ffff), 1)), ..all() };
    assert_eq!(
        link_step("link duplicate copies=3 from=peer psn=0xffffff"),
        chosen(one, Fate { copies: 3, ..Fate::default() })
    );
    assert_eq!(link_step("link swap behind=4"), chosen(all(), Fate { behind: 4, ..Fate::default() }));
    assert_eq!(link_step("link ce"), chosen(all(), Fate { congested: true, ..Fate::default() }));
    let damage = Some(Damage::Content);
    assert_eq!(link_step("link corrupt"), chosen(all(), Fate { damage, ..Fate::default() }));
    let rate = Rate::per_million(5000);
    assert_eq!(
        link_step("link reordering 0.5% from=dut depth=7"),
        LinkStep::Random { fault: RandomFault::Reordering, from: Some(DEVICE), rate, depth: 7 }
    );
    assert_eq!(link_step("link loss 0.005"), LinkStep::Random { fault: RandomFault::Loss, from: None, rate, depth: 1 });
}

#[test]
fn a_peer_does_what_the_device_does_and_each_names_the_memory_of_the_other() {
    let script = "peer model\ndut mr in 64 remote_write\npeer mr out 64 none\npeer rdma_write out+8 16 va=in+4\n\
                  dut rdma_write 8B va=out rkey=0x77\npeer completions rdma_write\n";
    let scenario = scenario(script);
    assert!(scenario.has_peer());
    let region = |name: &str, offset| Remote::Region { name: name.to_owned(), offset };
    let Action::Peer(Verb::Post(post)) = &scenario.steps[3].action else { panic!() };
    assert_eq!((&post.remote_va, &post.rkey), (&region("in", 4), &region("in", 0)));
    assert_eq!(post.local, Local::Region { name: "out".to_owned(), offset: 8, length: 16 });
    let Action::Dut(Verb::Post(post)) = &scenario.steps[4].action else { panic!() };
    assert_eq!((&post.remote_va, &post.rkey), (&region("out", 0), &Remote::Number(0x77)));
}
