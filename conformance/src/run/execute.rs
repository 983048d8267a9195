//! Plays one case: sets the connection up, takes the script step by step, and cleans up whatever happens.

use std::collections::BTreeSet;

use rocespec_codec::Qpn;
use rocespec_control::QpKind;
use rocespec_reports::outcome::{Finding, Level, TraceLine};

use super::bench::{Bench, Pace, Stop, Traffic};
use super::connection::{Connection, TesterEnd, other_peer};
use super::judge::Ending;
use super::observations::HandedOut;
use super::record::Recorder;
use super::{Planned, ending, prepared};
use crate::dut::{Dut, DutError, Emulator};
use crate::golden::Form;
use crate::scenario::{Network, Scenario, Setup};

/// What came of a case before it is judged.
pub(super) struct Executed {
    pub(super) ending: Ending,
    pub(super) findings: Vec<Finding>,
    /// An allowed alternative that was taken, if one was.
    pub(super) loose: Option<String>,
    pub(super) trace: Vec<TraceLine>,
    pub(super) pcapng: Vec<u8>,
    /// How its frames are written in a golden trace.
    pub(super) form: Option<Form>,
    pub(super) duration_ns: u64,
    /// Numbers that the device chose.
    pub(super) handed_out: HandedOut,
    /// What is missing from the recording, or in the wrong place there.
    pub(super) hole: Option<String>,
    /// It killed the device the first time and not the second.
    pub(super) once: bool,
}

impl Executed {
    /// A case that was not begun.
    pub(super) fn nothing(ending: Ending) -> Executed {
        Executed {
            ending,
            findings: Vec::new(),
            loose: None,
            trace: Vec::new(),
            pcapng: Vec::new(),
            form: None,
            duration_ns: 0,
            handed_out: HandedOut::default(),
            hole: None,
            once: false,
        }
    }

    /// A device is about to be blamed for what its packets or its software said.
    pub(super) fn blames(&self) -> bool {
        matches!(self.ending, Ending::Ran) && self.findings.iter().any(|finding| finding.level >= Level::Should)
    }

    /// Before a device is blamed: notes frames of it that are known to be missing. `name` is what it is called.
    pub(super) fn note_lost(&mut self, dut: &mut dyn Dut, name: &str) {
        if let Ok(count @ 1..) = dut.lost_frames() {
            self.hole.get_or_insert_with(|| format!("{count} frames of {name} did not reach it"));
        }
    }
}

/// Plays the case. `past` holds the queue pair numbers that the tester used before; those of this case are added.
pub(super) fn execute(
    dut: &mut dyn Dut,
    planned: &Planned<'_>,
    seed: u64,
    pace: Pace,
    past: &mut BTreeSet<Qpn>,
) -> Executed {
    let setup = &planned.variant.setup;
    if let Some(lacking) = lacking(dut, planned.scenario, setup) {
        return Executed::nothing(Ending::Lacks(lacking));
    }
    let prepared = match prepared::choose(dut, planned) {
        Ok(prepared) => prepared,
        Err(lacking) => return Executed::nothing(Ending::Lacks(lacking)),
    };
    let mut tester = choose(seed, &planned.id(), past);
    if let Some(prepared) = &prepared {
        tester.qpn = prepared.peer;
    }
    let planned = prepared.as_ref().map_or(planned, |prepared| &prepared.planned);
    let setup = &planned.variant.setup;
    dut.prepare(&planned.scenario.needs);
    let recorder = Recorder::new(dut.now());
    let connection = match Connection::open(dut, setup, tester) {
        Ok(connection) => connection,
        // A device that refuses the set-up has not been judged on the wire.
        Err(error) => return Executed::nothing(ending(error)),
    };
    past.extend([tester.qpn, other_peer(tester.qpn)]);
    let mut model = planned
        .scenario
        .has_peer()
        .then(|| Emulator::peer(dut.tester(), connection.device(), connection.tester_qpn, dut.profile().clone()));
    let there = TesterEnd { qpn: connection.device_qpn(), sport: 0 };
    let seed = u64::from(connection.tester_qpn.get());
    let traffic = model.as_mut().map(|model| {
        let peered = Connection::open(model, &setup.of_peer(), there)?;
        Ok(Traffic::new(dut, model, setup, peered, seed))
    });
    let traffic = match traffic.transpose() {
        Ok(traffic) => traffic,
        Err(error) => return Executed::nothing(ending(error)),
    };
    let mut bench = Bench::new(dut, planned, connection, recorder, pace, past).with(traffic);
    let stop = bench.play();
    let (connection, _, mut executed) = bench.finish(match stop {
        Ok(()) | Err(Stop::Found) => Ending::Ran,
        Err(Stop::Device(error)) => ending(error),
    });
    if !matches!(executed.ending, Ending::Crashed(_))
        && let Err(error @ DutError::Crash(_)) = connection.close(dut)
    {
        executed.ending = ending(error);
    }
    if executed.blames() {
        executed.note_lost(dut, "the device");
    }
    executed
}

/// The first thing that the device cannot do and the case needs.
pub(super) fn lacking(dut: &dyn Dut, scenario: &Scenario, setup: &Setup) -> Option<String> {
    let network = match setup.ip {
        Network::V4 => "ipv4",
        Network::V6 => "ipv6",
        Network::V1 => "rocev1",
    };
    let transport = match setup.transport {
        QpKind::Rc => "rc",
        QpKind::Uc => "uc",
        QpKind::Ud => "ud",
        QpKind::XrcInitiator | QpKind::XrcTarget => "xrc",
    };
    let needs = scenario
        .needs
        .iter()
        .map(String::as_str)
        .chain([network, transport])
        .chain(setup.vlan.filter(|id| *id != 0).map(|_| "vlan"))
        .chain(setup.srq.then_some("srq"));
    for need in needs {
        if !dut.profile().can(need) {
            return Some(format!("needs {need:?}, which the profile {} does not list", dut.profile().name));
        }
    }
    let active = dut.device().active_mtu;
    (setup.mtu > active).then(|| format!("path MTU {} is above the port's {active}", setup.mtu))
}

/// Numbers of the tester's end: the same for the same seed and case, whatever ran before, unless they are taken.
pub(super) fn choose(seed: u64, id: &str, past: &BTreeSet<Qpn>) -> TesterEnd {
    let mut state = id
        .bytes()
        .fold(seed ^ 0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    loop {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut random = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        random = (random ^ random >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        random ^= random >> 31;
        // 0 and 1 are the management queue pairs, the last one is multicast.
        let qpn = Qpn::new((random as u32 & 0xff_ffff).clamp(0x100, 0xff_fffe));
        let can_be = |qpn: Qpn| (0x100..=0xff_fffe).contains(&qpn.get()) && !past.contains(&qpn);
        if can_be(qpn) && can_be(other_peer(qpn)) {
            return TesterEnd { qpn, sport: 0xc000 | (random >> 32) as u16 & 0x3fff };
        }
    }
}
