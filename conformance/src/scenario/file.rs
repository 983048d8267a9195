//! Reads a scenario file: the TOML around the script. Finds every fault, not only the first.

use std::ops::Range;

use rocespec_control::{QpKind, QpState};
use rocespec_reports::outcome::Level;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::diagnostics::{Diagnostics, Problem, position};
use super::header::{Axis, Scenario, Setup};
use super::network::Network;
use super::parse::{Context, script};
use super::verb::RIGHTS;
use super::words::{Piece, one_of, suggestion};
use crate::ledger::Ledger;

/// Capabilities that a scenario may need.
pub const CAPABILITIES: &[&str] = &[
    "rc",
    "uc",
    "ud",
    "xrc",
    "atomic",
    "rocev1",
    "vlan",
    "rnr",
    "go-back-n",
    "ack-timeout",
    "flush",
    "atomic_write",
    "pkey-table",
    "send_invalidate",
    "credits",
    "multicast",
    "pipeline",
    "post_flush",
    "post_atomic_write",
    "cnp",
    "dcqcn",
    "pfc",
    "pause",
    "srq",
    "window_type_1",
    "window_type_2",
];

const KEYS: &[&str] = &["title", "about", "rules", "level", "needs", "alone", "setup", "vary", "script"];
const LEVELS: &[(&str, Level)] =
    &[("must", Level::Must), ("should", Level::Should), ("may", Level::May), ("info", Level::Info)];
const TRANSPORTS: &[(&str, QpKind)] = &[
    ("rc", QpKind::Rc),
    ("uc", QpKind::Uc),
    ("ud", QpKind::Ud),
    ("xrc_initiator", QpKind::XrcInitiator),
    ("xrc_target", QpKind::XrcTarget),
];
/// How far a connection can have come when a script finds it.
const STATES: &[(&str, QpState)] = &[("init", QpState::Init), ("rtr", QpState::Rtr), ("rts", QpState::Rts)];
const NETWORKS: &[(&str, Network)] = &[("v4", Network::V4), ("v6", Network::V6), ("v1", Network::V1)];
/// Most values of one axis.
const MAX_VALUES: usize = 64;
const MTUS: [u64; 5] = [256, 512, 1024, 2048, 4096];

/// Reads the text of a scenario. `file_name` is how messages call it; `id` is its path below the folder of scenarios.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse(file_name: &str, id: &str, text: &str) -> Result<Scenario, Diagnostics> {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut problems: Vec<Problem> =
        errors.iter().map(|error| Problem::at(error.span().unwrap_or(0..0), error.message())).collect();
    if problems.is_empty() {
        let mut reader = Reader { text, problems: Vec::new() };
        let scenario = reader.scenario(file_name, id, table.get_ref());
        problems = reader.problems;
        if problems.is_empty() {
            return Ok(scenario);
        }
    }
    Err(Diagnostics::new(file_name, text, problems))
}

struct Reader<'t> {
    text: &'t str,
    problems: Vec<Problem>,
}

type Entry<'a> = (&'a str, Range<usize>, &'a Spanned<DeValue<'a>>);

/// The entries of a table in the order written.
fn entries<'a>(table: &'a DeTable<'a>) -> Vec<Entry<'a>> {
    let mut entries: Vec<Entry<'a>> =
        table.iter().map(|(key, value)| (key.get_ref().as_ref(), key.span(), value)).collect();
    entries.sort_by_key(|(_, span, _)| span.start);
    entries
}

impl<'t> Reader<'t> {
    fn scenario<'a>(&mut self, file: &str, id: &str, table: &'a DeTable<'a>) -> Scenario {
        let mut scenario = Scenario {
            id: id.to_owned(),
            file: file.to_owned(),
            title: String::new(),
            about: String::new(),
            rules: Vec::new(),
            level: Level::Must,
            needs: vec!["rc".to_owned()],
            setup: Setup::default(),
            alone: false,
            vary: Vec::new(),
            steps: Vec::new(),
            script: String::new(),
            script_line: 1,
        };
        for (key, span, value) in entries(table) {
            match key {
                "title" => scenario.title = self.prose(value),
                "about" => scenario.about = self.prose(value),
                "rules" => scenario.rules = self.rules(value),
                "level" => self.named(value, "level", LEVELS, |level| scenario.level = level),
                "needs" => scenario.needs = self.needs(value),
                "setup" => self.setup(value, &mut scenario.setup),
                "alone" => scenario.alone = self.flag(value),
                "vary" => scenario.vary = self.vary(value),
                // Last: what its packets may say depends on the networks.
                "script" => {}
                unknown => self.unknown_key(unknown, span, KEYS),
            }
        }
        if let Some(value) = table.get("script") {
            self.script(value, &mut scenario);
        }
        for key in ["title", "about", "rules", "level", "script"] {
            if !table.keys().any(|present| present.get_ref() == key) {
                self.problems.push(Problem::at(0..0, format!("the key `{key}` is missing")));
            }
        }
        scenario
    }

    fn unknown_key(&mut self, key: &str, span: Range<usize>, known: &[&str]) {
        self.problems.push(Problem::at(span, format!("unknown key `{key}`")).label(suggestion(key, known)));
    }

    fn wrong<T>(&mut self, value: &Spanned<T>, message: impl Into<String>) {
        self.problems.push(Problem::at(value.span(), message));
    }

    fn string<'a>(&mut self, value: &'a Spanned<DeValue<'a>>) -> Option<&'a str> {
        let string = value.get_ref().as_str();
        if string.is_none() {
            self.wrong(value, "this must be a string");
        }
        string
    }

    fn flag(&mut self, value: &Spanned<DeValue<'_>>) -> bool {
        let flag = value.get_ref().as_bool();
        if flag.is_none() {
            self.wrong(value, "this must be true or false");
        }
        flag.unwrap_or_default()
    }

    fn prose(&mut self, value: &Spanned<DeValue<'_>>) -> String {
        let text = self.string(value).map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
        if text.as_deref() == Some("") {
            self.wrong(value, "say something here");
        }
        text.unwrap_or_default()
    }

    /// A name that must be one of a few.
    fn named<T: Copy>(&mut self, value: &Spanned<DeValue<'_>>, what: &str, known: &[(&str, T)], set: impl FnOnce(T)) {
        let Some(name) = self.string(value) else { return };
        match one_of(Piece { text: name, at: value.span().start }, what, known) {
            Ok(value) => set(value),
            Err(problem) => self.problems.push(Problem { span: Some(value.span()), ..problem }),
        }
    }

    fn list<'a>(&mut self, value: &'a Spanned<DeValue<'a>>) -> Vec<&'a Spanned<DeValue<'a>>> {
        match value.get_ref().as_array() {
            Some(list) if !list.is_empty() => return list.iter().collect(),
            Some(_) => self.wrong(value, "this list is empty"),
            None => self.wrong(value, "this must be a list"),
        }
        Vec::new()
    }

    fn strings<'a>(&mut self, value: &'a Spanned<DeValue<'a>>) -> Vec<(&'a str, &'a Spanned<DeValue<'a>>)> {
        let list = self.list(value);
        let mut strings: Vec<(&str, &Spanned<DeValue<'_>>)> = Vec::new();
        for item in list {
            let Some(text) = self.string(item) else { continue };
            if strings.iter().any(|(before, _)| *before == text) {
                self.wrong(item, format!("`{text}` stands twice"));
            }
            strings.push((text, item));
        }
        strings
    }

    fn rules(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<String> {
        let ledger = Ledger::embedded();
        let mut rules = Vec::new();
        for (rule, item) in self.strings(value) {
            if ledger.get(rule).is_none() {
                let known: Vec<&str> = ledger.rules().iter().map(|rule| rule.id.as_str()).collect();
                let problem = Problem::at(item.span(), format!("the ledger has no rule `{rule}`"));
                self.problems.push(problem.label(suggestion(rule, &known)));
            }
            rules.push(rule.to_owned());
        }
        rules
    }

    fn needs(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<String> {
        let known: Vec<(&str, &str)> = CAPABILITIES.iter().map(|name| (*name, *name)).collect();
        let mut needs = Vec::new();
        for item in self.list(value) {
            self.named(item, "capability", &known, |name| needs.push(name.to_owned()));
        }
        needs
    }

    fn number(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        what: &str,
        bounds: std::ops::RangeInclusive<u64>,
    ) -> Option<u64> {
        let Some(integer) = value.get_ref().as_integer() else {
            self.wrong(value, "this must be a whole number");
            return None;
        };
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok().filter(|n| bounds.contains(n));
        if number.is_none() {
            let problem = Problem::at(value.span(), format!("{what} is out of range"));
            self.problems.push(problem.label(format!("{} to {} is possible", bounds.start(), bounds.end())));
        }
        number
    }

    fn start_psn(&mut self, value: &Spanned<DeValue<'_>>) -> Option<u32> {
        self.number(value, "a PSN", 0..=0xff_ffff).map(|psn| psn as u32)
    }

    fn mtu(&mut self, value: &Spanned<DeValue<'_>>) -> Option<u32> {
        let mtu = self.number(value, "a path MTU", 256..=4096)?;
        if !MTUS.contains(&mtu) {
            self.problems
                .push(Problem::at(value.span(), "no path MTU has this size").label("256, 512, 1024, 2048 or 4096"));
            return None;
        }
        Some(mtu as u32)
    }

    fn table<'a>(&mut self, value: &'a Spanned<DeValue<'a>>) -> Vec<Entry<'a>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.wrong(value, "this must be a table");
        }
        table.map(entries).unwrap_or_default()
    }

    fn setup(&mut self, value: &Spanned<DeValue<'_>>, setup: &mut Setup) {
        const KEYS: &[&str] = &[
            "transport",
            "state",
            "qkey",
            "start_psn",
            "ip",
            "mtu",
            "peer_mtu",
            "access",
            "min_rnr_timer",
            "max_dest_rd_atomic",
            "pkey_index",
            "traffic_class",
            "hop_limit",
            "timeout",
            "retry_count",
            "rnr_retry",
            "max_rd_atomic",
            "vlan",
            "priority",
            "srq",
        ];
        for (key, span, value) in self.table(value) {
            match key {
                "transport" => self.named(value, "transport", TRANSPORTS, |kind| setup.transport = kind),
                "state" => self.named(value, "state", STATES, |state| setup.state = state),
                "qkey" => setup.qkey = self.number(value, "a Q_Key", 0..=0xffff_ffff).unwrap_or(0) as u32,
                "start_psn" => setup.start_psn = self.start_psn(value).unwrap_or_default(),
                "ip" => self.named(value, "network", NETWORKS, |network| setup.ip = network),
                "mtu" => setup.mtu = self.mtu(value).unwrap_or(1024),
                "peer_mtu" => setup.peer_mtu = self.mtu(value),
                "access" => {
                    setup.access.clear();
                    // Unlike elsewhere an empty list says something: a peer may only SEND.
                    if value.get_ref().as_array().is_some_and(|list| list.is_empty()) {
                        continue;
                    }
                    for item in self.list(value) {
                        self.named(item, "right", RIGHTS, |right| setup.access.push(right));
                    }
                }
                "min_rnr_timer" => {
                    setup.min_rnr_timer = self.number(value, "a timer code", 0..=31).unwrap_or_default() as u8;
                }
                "max_dest_rd_atomic" => {
                    setup.max_dest_rd_atomic = self.number(value, "this depth", 0..=255).unwrap_or_default() as u8;
                }
                "pkey_index" => setup.pkey_index = self.number(value, "this index", 0..=0xffff).unwrap_or(0) as u16,
                "traffic_class" => {
                    setup.traffic_class = self.number(value, "a traffic class", 0..=255).unwrap_or(0) as u8;
                }
                "hop_limit" => setup.hop_limit = self.number(value, "a hop limit", 1..=255).unwrap_or(64) as u8,
                "timeout" => setup.timeout = self.number(value, "a timeout code", 0..=31).unwrap_or(0) as u8,
                "retry_count" => setup.retry_count = self.number(value, "a retry count", 0..=7).unwrap_or(7) as u8,
                "rnr_retry" => setup.rnr_retry = self.number(value, "a retry count", 0..=7).unwrap_or(7) as u8,
                "max_rd_atomic" => {
                    setup.max_rd_atomic = self.number(value, "this depth", 0..=255).unwrap_or_default() as u8;
                }
                "vlan" => setup.vlan = self.number(value, "a VLAN id", 0..=4094).map(|id| id as u16),
                "priority" => setup.priority = self.number(value, "a priority", 0..=7).unwrap_or_default() as u8,
                "srq" => setup.srq = self.flag(value),
                unknown => self.unknown_key(unknown, span, KEYS),
            }
        }
        if setup.priority > 0 && setup.vlan.is_none() {
            self.wrong(value, "`priority` is that of VLAN tags: name a `vlan`, too");
        }
    }

    fn vary(&mut self, value: &Spanned<DeValue<'_>>) -> Vec<(Axis, Vec<String>)> {
        let mut axes = Vec::new();
        for (key, span, value) in self.table(value) {
            let Some(axis) = Axis::ALL.into_iter().find(|axis| axis.name() == key) else {
                self.unknown_key(key, span, &Axis::ALL.map(Axis::name));
                continue;
            };
            let mut shown: Vec<String> = Vec::new();
            let list = self.list(value);
            if list.len() > MAX_VALUES {
                let problem = Problem::at(span, "too many values");
                self.problems.push(problem.label(format!("at most {MAX_VALUES}")));
                continue;
            }
            for item in list {
                let mut text = None;
                match axis {
                    Axis::StartPsn => text = self.start_psn(item).map(|psn| format!("{psn:#08x}")),
                    Axis::Mtu => text = self.mtu(item).map(|mtu| mtu.to_string()),
                    Axis::Ip => self.named(item, "network", NETWORKS, |network| text = Some(network.name().to_owned())),
                }
                if let Some(text) = text {
                    if shown.contains(&text) {
                        self.wrong(item, "this value stands twice");
                    }
                    shown.push(text);
                }
            }
            axes.push((axis, shown));
        }
        axes
    }

    fn script(&mut self, value: &Spanned<DeValue<'_>>, scenario: &mut Scenario) {
        if self.string(value).is_none() {
            return;
        }
        let span = value.span();
        let raw = self.text.get(span.clone()).unwrap_or_default();
        let Some(inner) = raw.strip_prefix("'''").and_then(|rest| rest.strip_suffix("'''")) else {
            self.wrong(value, "write the script between ''' and '''");
            return;
        };
        // The first line break belongs to the quotes.
        let body = inner.strip_prefix("\r\n").or_else(|| inner.strip_prefix('\n')).unwrap_or(inner);
        let at = span.start + 3 + (inner.len() - body.len());
        scenario.script = body.to_owned();
        scenario.script_line = position(self.text, at).0;
        // A script that says nothing is blamed at its key, where there is something to point at.
        let piece = Piece { text: body, at };
        let mut problems = Vec::new();
        let mut networks: Vec<Network> = scenario.variants(true).iter().map(|variant| variant.setup.ip).collect();
        networks.sort_by_key(|network| *network as u8);
        networks.dedup();
        let context = Context { file: self.text, networks: &networks };
        scenario.steps = script(piece, &context, &mut problems);
        for problem in &mut problems {
            if problem.span.as_ref().is_some_and(|span| *span == piece.span()) {
                problem.span = Some(value.span().start..value.span().start + 3);
            }
        }
        self.problems.append(&mut problems);
    }
}
