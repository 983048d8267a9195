//! Files with faults, and what is said about them. Each snapshot is what a person sees.

use super::good::HEADER;
use crate::scenario::parse;

fn said(text: &str) -> String {
    parse("broken.toml", "broken", text).expect_err("this has no fault").to_string()
}

fn script(script: &str) -> String {
    said(&format!("{HEADER}{script}'''\n"))
}

#[test]
fn all_faults_of_a_file_are_reported_at_once() {
    insta::assert_snapshot!(said(
        "titel = 'T'\nabout = ''\nrules = ['rc.responder.gap-nack', 'zebra']\nlevel = 'mst'\nneeds = ['atomics']\n\
         vary = { start_psn = [0x1000000], ip = ['v5'], mut = [256], mtu = [300, 256, 256] }\n\
         script = '''\n> SEND_ONLI psn=0\nsilense 5ms\n< ACK psn=0 within 5 ms\n'''\n\
         [setup]\nmin_rnr_timer = 32\naccess = ['remote_reed']\nmtu = 'big'\n"
    ));
}

#[test]
fn not_toml() {
    insta::assert_snapshot!(said("title = 'T\nlevel = must\n"));
}

#[test]
fn nothing_at_all() {
    insta::assert_snapshot!(said(""));
}

#[test]
fn a_script_in_the_wrong_quotes() {
    insta::assert_snapshot!(said(&HEADER.replace("'''\n", "\"\"\"\n< ACK\n\"\"\"\n")));
}

#[test]
fn a_script_without_steps() {
    insta::assert_snapshot!(script("\n   # nothing but a comment\n"));
}

#[test]
fn a_script_that_cannot_fail() {
    insta::assert_snapshot!(script("dut recv 1 x 64\n> SEND_ONLY psn=0 ack 64B\nwait 1s\n"));
}

#[test]
fn peers_that_are_none() {
    insta::assert_snapshot!(script("peer recv 64\nlink drop psn=1\ndut recv 64\npeer model\n"));
}

#[test]
fn peers_and_packets_by_hand() {
    insta::assert_snapshot!(script(
        "peer model\npeer\npeer model\n> SEND_ONLY psn=0\n< ACK\nsilence\nprobe\ndut mr in 64 remote_write\n\
         peer mr in 64 none\npeer memory in 4B\npeer rdma_write 64B\npeer rdma_write 64B va=tester\n\
         dut rdma_write 64B va=in\npeer rdma_write 64B va=in+x\npeer sned 64B\n"
    ));
}

#[test]
fn links_that_are_none() {
    insta::assert_snapshot!(script(
        "peer model\nlink\nlink dorp\nlink drop psn=x\nlink drop psn=5..3\nlink drop opcode=SEND_ONLI\n\
         link drop from=tester\nlink drop round=0\nlink drop psn=1 psn=2\nlink drop lost\nlink delay\n\
         link delay 5 psn=1\nlink swap behind=65\nlink drop behind=2\nlink duplicate copies=9\nlink loss\n\
         link loss 101%\nlink loss 1% depth=3\nlink loss 1% psn=3\n"
    ));
}

#[test]
fn links_without_end() {
    insta::assert_snapshot!(script(&format!("peer model\n{}dut qp rts\n", "link drop psn=1\n".repeat(65))));
}

#[test]
fn packets_that_are_none() {
    insta::assert_snapshot!(script(
        "> SEND_ONLI psn=0\n> SEND_ONLY psm=0\n> ACK psn=0 va=mr\n> RDMA_WRITE_ONLY psn=0 va=mr rkey=mr\n\
         < ACK psn=0 code=oops\n< raw 00ff\n> SEND_ONLY psn=0..3\n>\n<\n"
    ));
}

#[test]
fn regions_are_known_from_their_step_on() {
    insta::assert_snapshot!(script(
        "> RDMA_WRITE_ONLY psn=0 va=data rkey=data\ndut mr data 64 remote_write\n\
         > RDMA_WRITE_ONLY psn=0 va=dat+0x40 rkey=data\n< ACK\n"
    ));
}

#[test]
fn alternatives_that_are_none() {
    insta::assert_snapshot!(script(
        "< one of\nsilence\n< one of within 1 2\n< one of\n    loose\n    ACK psn=x\n    nothing\n"
    ));
}

#[test]
fn streams_that_are_none() {
    insta::assert_snapshot!(script(
        "take\ntake 0\ntake 5 as\ntake 5 as Big\ntake 5 as full\ntake 5 as full\ntake 5 90%..10% of full\n\
         take 5 0%..90% of fall\ntake 5 half\ntake until\ntake until ACK psn=x\npaused 5ms\npaused 0 quanta\n\
         flows 5 quanta\nno packet\nno CNP soon\n< one of\n    ACK psn=0\n    CNP\n"
    ));
}

#[test]
fn a_priority_without_a_vlan() {
    insta::assert_snapshot!(said(&format!("setup = {{ priority = 3 }}\n{HEADER}< ACK\n'''\n")));
}

#[test]
fn steps_that_are_none() {
    insta::assert_snapshot!(script(
        "SEND_ONLY psn=0\nwiat 1s\nwait\nwait soon\nwait 700s\nprobe twice\nsilence 1ms 2ms\nsilence maybe\n\
         < ACK within\n< ACK within 1ms please\n"
    ));
}

#[test]
fn orders_that_are_none() {
    insta::assert_snapshot!(script(
        "dut\ndut dance\ndut recv\ndut recv 4 y 64\ndut recv 0 x 64\ndut mr\ndut mr Big 64 none\ndut mr mr 64\n\
         dut mr mr 64 remote_reed\ndut mr mr 0 none\ndut mr mr 64 none\ndut mr mr 64 none\ndut write mr\n\
         dut write m 4B\ndut memory mr+60 8B\ndut memory mr+x 8B\ndut memory mr 8\ndut recv mr+60 8\ndut attach 10.0.0.1\ndut deregister mr+8\ndut attach mr\ndut qp\ndut qp alive\n"
    ));
}

#[test]
fn requests_that_are_none() {
    insta::assert_snapshot!(script(
        "dut send\ndut send sixty\ndut send 64B fense\ndut send 64B va=tester\ndut send 64B imm=1 inv=2\n\
         dut send 64B fence fence\ndut send 65 x 64B\ndut send mr+0x40 64\ndut rdma_read 64B\n\
         dut rdma_write 64B va=there\ndut comp_swap swap=1\ndut atomic_write 4B\ndut flush 64 everywhere\n\
         dut modify\ndut event sq_draind\ndut mr tester 64 none\n"
    ));
}

#[test]
fn objects_that_are_none() {
    insta::assert_snapshot!(script(
        "dut srq near\ndut srq limit\ndut srq limit 9999\ndut window w\ndut window w type_3\ndut window w type_1\n\
         dut window w type_1\ndut mr w 64 none\ndut mr mr 64 mw_bind\ndut bind\ndut bind k v mr 64 none\n\
         dut bind k w mr 65 none\ndut bind k w mr 64\ndut bind k w mr 64 none\ndut memory k 4B\ndut invalidate mr\n\
         dut deregister mr never\ndut arm twice\ndut other\ndut other other recv 64\ndut other srq\n\
         dut mr far 64 pd=other\n"
    ));
}

#[test]
fn windows_of_time_that_are_none() {
    insta::assert_snapshot!(script(
        "< ACK after\n< ACK after 5ms within 5ms\n< ACK after 1ms after 2ms\n< ACK within 1ms please\n"
    ));
}

#[test]
fn completions_that_are_none() {
    insta::assert_snapshot!(script(
        "dut completions\ndut completions reef\ndut completions recv:0\ndut completions recv(len)\n\
         dut completions recv(len=1 len=2)\ndut completions recv(color=red)\ndut completions recv(status=flushed)\n\
         dut completions recv(len=1\ndut completions recv)\n"
    ));
}

#[test]
fn a_field_that_one_network_does_not_have() {
    insta::assert_snapshot!(said(&format!(
        "vary = {{ ip = ['v4', 'v6'] }}\n{HEADER}> SEND_ONLY psn=0 ip.options=01010101\n< ACK\n'''\n"
    )));
}

#[test]
fn columns_count_characters() {
    let text = format!("{HEADER}# é\n>  SEND_ONLY psn=0 bytes=é\n< ACK\n'''\n");
    let wrong = parse("broken.toml", "broken", &text).unwrap_err();
    let file = &wrong.files()[0];
    assert_eq!(file.position(&file.problems[0]), Some((7, 20)));
}

#[test]
fn a_packet_that_is_too_long_for_a_script() {
    let said = script("> SEND_ONLY psn=0 65000B\n< ACK\n");
    assert!(said.contains("this packet is too long") && said.contains("16384"), "{said}");
}

#[test]
fn an_axis_has_few_values() {
    let values: Vec<String> = (0..65).map(|psn| psn.to_string()).collect();
    let vary = format!("vary = {{ start_psn = [{}] }}\nscript", values.join(", "));
    let said = said(&format!("{}> SEND_ONLY psn=0 ack\n< ACK\n'''\n", HEADER.replacen("script", &vary, 1)));
    assert!(said.contains("at most 64"), "{said}");
}

#[test]
fn a_flood_of_faults_is_cut() {
    let said = script(&"nonsense\n".repeat(10_000));
    assert!(said.ends_with("9900 more errors; mend these first"));
    assert_eq!(said.matches("no step begins with").count(), 100);
}

#[test]
fn a_script_takes_a_bounded_amount_of_memory() {
    for (line, most, what) in [
        ("dut memory mr 1048576B", 64, "writes and compares too many bytes"),
        ("dut send 1048576B", 64, "writes and compares too many bytes"),
        ("dut recv 64 x 1048576", 3, "registers too much memory"),
        ("dut other recv 16 x 1048576", 15, "registers too much memory"),
        ("dut srq", 4095, "makes too many regions"),
    ] {
        let lines = |count: usize| format!("dut mr mr 1048576 none\n{}dut qp rts\n", format!("{line}\n").repeat(count));
        super::good::scenario(&lines(most));
        let said = script(&lines(most + 10));
        assert!(said.contains(what), "{said}");
        assert!(said.contains(&format!("broken.toml:{}:", 7 + most)), "{said}");
        assert_eq!(said.matches("error: ").count(), 1, "the rest is not read: {said}");
    }
    let regions: String = (0..17).map(|at| format!("dut mr m{at} 16777216 none\n")).collect();
    assert!(script(&regions).contains("broken.toml:22:"), "the seventeenth region is one too many");
}

#[test]
fn what_cannot_be_cut_is_refused() {
    for packet in ["PFC prio=3 quanta=65535", "PAUSE quanta=5", "raw 00112233445566778899aabbccddeeff"] {
        let said = script(&format!("> cut 8 {packet}\n< ACK\n"));
        assert!(said.contains("nothing can be cut out"), "{said}");
    }
    super::good::scenario("> cut 12 SEND_ONLY psn=0 qp=other\nsilence no probe\n");
    let said = script("> cut 13 SEND_ONLY psn=0 qp=other\n< ACK\n");
    assert!(said.contains("at most 12 can be cut out"), "{said}");
}

#[test]
fn a_delay_is_shorter_than_the_wait_of_a_check() {
    let said = script("peer model\nlink delay 11s psn=0\ndut qp rts\n");
    assert!(said.contains("at most 2s"), "{said}");
}
