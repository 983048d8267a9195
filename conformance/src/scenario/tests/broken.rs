//! Files with faults, and what is said about them.

use super::good::HEADER;
use crate::scenario::parse;

fn said(text: &str) -> String {
    parse("broken.toml", "broken", text).expect_err("this has no fault").to_string()
}

fn script(script: &str) -> String {
    said(&format!("{HEADER}{script}'''\n"))
}

#[test]
fn x() {
    println!("{}", script("> SEND_ONLI psn=0\n"));
}
