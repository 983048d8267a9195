//! The scenario file.

use std::fmt::Write as _;
use std::net::IpAddr;

use rocespec_codec::Transport;

use super::script::{Fault, Line, MOST_OF_A_RULE, Script};
use super::{Exchange, Made};
use crate::ledger::Ledger;

/// What stands above the script.
pub(super) struct Head {
    title: String,
    about: String,
    rules: Vec<String>,
    needs: Vec<&'static str>,
    setup: String,
}

impl Head {
    /// One that nobody reads, for the steps of a script alone.
    pub(super) fn plain(script: &Script) -> Head {
        Head {
            title: "A connection of a capture".to_owned(),
            about: "What happens to a device.".to_owned(),
            rules: vec![ordinary_rule(script.transport).to_owned()],
            needs: needs(script),
            setup: setup(script),
        }
    }
}

/// The file with this head and these steps.
pub(super) fn file(head: &Head, steps: &str) -> String {
    let text = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let Head { title, about, rules, needs, setup } = head;
    format!(
        "title = {}\nabout = {}\nrules = {rules:?}\nlevel = \"must\"\nneeds = {needs:?}\nsetup = {{ {setup} }}\n\
         script = '''\n{steps}'''\n",
        text(title),
        text(about),
    )
}

/// The scenario of a connection.
pub(super) fn made(exchange: &Exchange, script: &Script) -> Made {
    let ledger = Ledger::embedded();
    let mut rules: Vec<String> = script.rules.iter().map(|(rule, _)| (*rule).to_owned()).collect();
    let title = match script.rules.first().and_then(|(rule, _)| ledger.get(rule)) {
        Some(rule) => rule.statement.trim_end_matches('.').to_owned(),
        None => "What a connection of a capture did is answered as a right device answers it".to_owned(),
    };
    if rules.is_empty() {
        rules.push(ordinary_rule(script.transport).to_owned());
    }
    let remarks = remarks(exchange, script);
    let head =
        Head { title, about: about(exchange, script, &remarks), rules, needs: needs(script), setup: setup(script) };
    let rules = script.rules.iter().map(|(rule, _)| *rule).chain(script.headers.iter().copied()).collect();
    Made { text: file(&head, &steps(script)), remarks, rules }
}

fn about(exchange: &Exchange, script: &Script, remarks: &[String]) -> String {
    let [first, last] = script.frames;
    let device = IpAddr::V6(exchange.ends[exchange.device].address).to_canonical();
    let mut about = format!(
        "From {}, connection {}, frames {first} to {last}; the device is {device}. The tester sends what the other end \
         sent; what is expected is what a right device answers.",
        exchange.file, exchange.connection
    );
    if !script.rules.is_empty() {
        about.push_str(" Where the captured device did otherwise, a comment says so.");
    }
    if !script.headers.is_empty() {
        let rules: Vec<&str> = script.headers.iter().copied().collect();
        let _ = write!(about, " Its headers broke {}, which every run looks at.", rules.join(", "));
    }
    for remark in remarks {
        let _ = write!(about, " Not as captured: {remark}.");
    }
    about
}

/// What is not as it was in the capture.
fn remarks(exchange: &Exchange, script: &Script) -> Vec<String> {
    let mut remarks: Vec<String> = script.remarks.iter().cloned().collect();
    if exchange.beyond > 0 {
        remarks.push(format!("{} later packets of the connection are left out", exchange.beyond));
    }
    if exchange.unreadable > 0 {
        remarks.push(format!("{} packets that cannot be read are left out", exchange.unreadable));
    }
    for (rule, count) in script.rules.iter().filter(|(_, count)| *count > MOST_OF_A_RULE) {
        remarks.push(format!("of {count} packets that broke {rule} the first {MOST_OF_A_RULE} have a comment"));
    }
    remarks
}

/// A rule that is in question in every exchange.
fn ordinary_rule(transport: Transport) -> &'static str {
    if transport == Transport::Uc { "uc.responder.silent" } else { "rc.responder.ack" }
}

fn needs(script: &Script) -> Vec<&'static str> {
    let answers = || script.lines.iter().flat_map(|line| &line.answers);
    let has = script.has;
    let mut needs = vec![if script.transport == Transport::Uc { "uc" } else { "rc" }];
    let wanted = [
        (has.atomic, "atomic"),
        (has.flush, "flush"),
        (has.atomic_write, "atomic_write"),
        (has.posts_atomic_write, "post_atomic_write"),
        (script.setup.min_rnr_timer.is_some() || answers().any(|line| line.starts_with("RNR_NAK")), "rnr"),
        (answers().any(|line| line.contains("code=psn_sequence_error")), "go-back-n"),
    ];
    needs.extend(wanted.into_iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, name)| name));
    needs
}

fn setup(script: &Script) -> String {
    let setup = &script.setup;
    let network = script.network.name();
    let mut text = format!("start_psn = {:#08x}, ip = \"{network}\", mtu = {}", setup.start_psn, setup.mtu);
    if script.transport == Transport::Uc {
        text.push_str(", transport = \"uc\"");
    }
    if let Some(timer) = setup.min_rnr_timer {
        let _ = write!(text, ", min_rnr_timer = {timer}");
    }
    if let Some(reads) = setup.max_rd_atomic {
        let _ = write!(text, ", max_rd_atomic = {reads}");
    }
    if script.has.flush {
        text.push_str(", access = [\"remote_write\", \"remote_read\", \"remote_atomic\", \"flush_global\"]");
    }
    if script.has.posts {
        // The tester answers when its turn comes.
        text.push_str(", timeout = 0");
    }
    text
}

/// The script with what the device must answer.
fn steps(script: &Script) -> String {
    let mut text = script.memory.iter().map(|step| format!("{step}\n")).collect::<String>();
    for line in &script.lines {
        let Line { step, before, patience, answers, faults } = line;
        for comment in before {
            let _ = writeln!(text, "# {comment}");
        }
        if !step.is_empty() {
            let _ = writeln!(text, "{step}");
        }
        for Fault { rule, text: fault } in faults {
            let _ = writeln!(text, "# {rule}: {fault}");
        }
        for (at, answer) in answers.iter().enumerate() {
            let _ = write!(text, "< {answer}");
            if let Some(patience) = patience.filter(|_| at == 0) {
                let _ = write!(text, " within {}", crate::duration::text(patience));
            }
            match faults.first() {
                Some(fault) => writeln!(text, " @{}", fault.rule),
                None => writeln!(text),
            }
            .expect("a string takes all");
        }
    }
    if let Some(completions) = &script.completions {
        let _ = writeln!(text, "{completions}");
    }
    text
}
