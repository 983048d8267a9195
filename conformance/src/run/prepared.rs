//! Which prepared queue pair suits a case. What a case needs is all known before it begins: it stands in its script.

use rocespec_codec::Qpn;
use rocespec_control::{Access, QpKind};

use super::Planned;
use crate::dut::{Dut, Prepared, PreparedQp, PreparedRegion};
use crate::scenario::{Action, Local, Setup, Verb};

/// What was chosen for a case.
pub(super) struct Chosen<'s> {
    /// The case with what the queue pair has.
    pub(super) planned: Planned<'s>,
    /// The number that the queue pair has for its peer.
    pub(super) peer: Qpn,
}

/// Takes a queue pair for the case, where the device has only prepared ones. `None` where it makes its own.
///
/// # Errors
/// What the case needs and the file does not give.
pub(super) fn choose<'s>(dut: &mut dyn Dut, planned: &Planned<'s>) -> Result<Option<Chosen<'s>>, String> {
    match dut.prepared() {
        None => Ok(None),
        Some(prepared) => take(prepared, planned).map(Some),
    }
}

fn take<'s>(prepared: &mut Prepared, planned: &Planned<'s>) -> Result<Chosen<'s>, String> {
    let wanted = Wanted::of(planned, prepared.has("atomic"))?;
    if prepared.unused().next().is_none() {
        return Err("the file names no unused queue pair".to_owned());
    }
    let fits = prepared.unused().filter_map(|(place, qp)| Some((place, qp.psn, qp.peer, wanted.regions_in(qp)?)));
    // One with the very PSN first: the others may be for the other variants.
    let best = fits.min_by_key(|(_, psn, ..)| *psn != wanted.setup.start_psn);
    let (place, psn, peer, regions) =
        best.ok_or_else(|| format!("no unused queue pair of the file fits; this case takes one with {wanted}"))?;
    prepared.take(place, regions);
    let mut planned = planned.clone();
    planned.variant.setup.start_psn = psn;
    Ok(Chosen { planned, peer: Qpn::new(peer) })
}

/// What a case needs of a queue pair.
struct Wanted<'p> {
    setup: &'p Setup,
    /// Its first PSN, where that is what the case is about. 0 is the ordinary one: any other will do.
    psn: Option<u32>,
    /// The device serves ATOMICs. For one that does not, the right to them is nothing to ask for.
    atomics: bool,
    receives: u32,
    /// Size of each.
    receive_bytes: u32,
    /// In the order of the script.
    regions: Vec<(u64, Vec<Access>)>,
}

impl<'p> Wanted<'p> {
    fn of(planned: &'p Planned<'_>, atomics: bool) -> Result<Wanted<'p>, String> {
        let setup = &planned.variant.setup;
        let psn = Some(setup.start_psn).filter(|psn| *psn != 0);
        let mut wanted = Wanted { setup, psn, atomics, receives: 0, receive_bytes: 0, regions: Vec::new() };
        if let Some(other) = beyond_a_file(setup) {
            return Err(format!("needs {other}, which a file of queue pairs cannot say"));
        }
        let mut on_the_way = false;
        for step in &planned.scenario.steps {
            let needs = |what: &str| Err(format!("needs a control channel: `{}` {what}", step.text));
            match &step.action {
                Action::Dut(Verb::Receive { count, buffer: buffer @ (Local::Bytes(_) | Local::Nameless(_)) })
                    if !on_the_way && (wanted.receives == 0 || wanted.receive_bytes == buffer.length()) =>
                {
                    wanted.receives += count;
                    wanted.receive_bytes = buffer.length();
                }
                Action::Dut(Verb::RegisterMemory { length, access, foreign: false, .. }) => {
                    wanted.regions.push((*length, wanted.remote(access)));
                }
                Action::Dut(Verb::Receive { .. }) if on_the_way => return needs("comes after the first packet"),
                Action::Dut(_) => return needs("is for the device's software"),
                Action::Peered(_) | Action::Peer(_) | Action::Link(_) => {
                    return needs("is about traffic that the device's software begins");
                }
                _ => on_the_way = true,
            }
        }
        Ok(wanted)
    }

    /// Places of its regions in the queue pair, if that fits.
    fn regions_in(&self, qp: &PreparedQp) -> Option<Vec<usize>> {
        let Setup { transport, mtu, min_rnr_timer, max_dest_rd_atomic, access, .. } = self.setup;
        let fits = qp.transport == *transport
            && qp.mtu == *mtu
            && self.psn.is_none_or(|psn| qp.psn == psn)
            && self.remote(&qp.access) == self.remote(access)
            && (qp.min_rnr_timer, qp.max_dest_rd_atomic) == (*min_rnr_timer, *max_dest_rd_atomic)
            && qp.receives == self.receives
            && (self.receives == 0 || qp.receive_bytes == self.receive_bytes);
        if !fits {
            return None;
        }
        let mut places: Vec<usize> = Vec::new();
        for (length, access) in &self.regions {
            let is_it = |region: &PreparedRegion| region.length == *length && self.remote(&region.access) == *access;
            let free = |(place, region): &(usize, &PreparedRegion)| !places.contains(place) && is_it(region);
            places.push(qp.regions.iter().enumerate().find(free)?.0);
        }
        Some(places)
    }

    /// The rights that a peer notices, in order.
    fn remote(&self, access: &[Access]) -> Vec<Access> {
        let notices = |right: &Access| match right {
            Access::LocalWrite => false,
            Access::RemoteAtomic => self.atomics,
            _ => true,
        };
        let mut access: Vec<Access> = access.iter().copied().filter(notices).collect();
        access.sort_unstable();
        access.dedup();
        access
    }
}

impl std::fmt::Display for Wanted<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Setup { transport, mtu, min_rnr_timer, max_dest_rd_atomic, access, .. } = self.setup;
        let kind = if *transport == QpKind::Uc { "uc" } else { "rc" };
        write!(f, "transport {kind}, mtu {mtu}")?;
        if let Some(psn) = self.psn {
            write!(f, ", psn {psn:#x}")?;
        }
        write!(f, ", access {}", rights(&self.remote(access)))?;
        write!(f, ", min_rnr_timer {min_rnr_timer}, max_dest_rd_atomic {max_dest_rd_atomic}")?;
        match self.receives {
            0 => f.write_str(", no receives")?,
            count => write!(f, ", {count} receives of {} bytes", self.receive_bytes)?,
        }
        for (length, access) in &self.regions {
            write!(f, ", memory of {length} bytes with {}", rights(access))?;
        }
        Ok(())
    }
}

fn rights(access: &[Access]) -> String {
    let name = |right: &Access| serde_json::to_value(right).ok().and_then(|name| name.as_str().map(str::to_owned));
    let names: Vec<String> = access.iter().filter_map(name).collect();
    if names.is_empty() { "no rights".to_owned() } else { names.join("+") }
}

/// The first thing in the set-up of a case that is not as usual and that a file of queue pairs has no word for.
fn beyond_a_file(setup: &Setup) -> Option<&'static str> {
    let usual = Setup::default();
    [
        (!matches!(setup.transport, QpKind::Rc | QpKind::Uc), "another transport than RC and UC"),
        (setup.state != usual.state, "a queue pair that is not in RTS"),
        (setup.pkey_index != usual.pkey_index, "another P_Key"),
        (setup.traffic_class != usual.traffic_class, "a traffic class"),
        (setup.hop_limit != usual.hop_limit, "a hop limit"),
        (setup.priority != usual.priority || setup.vlan.is_some(), "a VLAN or a priority"),
        (setup.srq, "a shared receive queue"),
    ]
    .into_iter()
    .find_map(|(is_so, what)| is_so.then_some(what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::plan;
    use crate::scenario::catalogue;

    const FILE: &str = "[device]\nmac = '02:00:00:00:00:02'\nip4 = '10.0.0.2'\ncapabilities = ['rc']\n";

    fn prepared(qps: &str) -> Prepared {
        Prepared::parse(&format!("{FILE}{qps}")).unwrap()
    }

    fn taken(prepared: &mut Prepared, case: &str) -> Result<(u32, u32), String> {
        let catalogue = catalogue().unwrap();
        let planned = plan(&catalogue, &[case.to_owned()], false).unwrap();
        take(prepared, &planned[0]).map(|chosen| (chosen.peer.get(), chosen.planned.variant.setup.start_psn))
    }

    #[test]
    fn a_case_takes_the_queue_pair_that_fits_and_each_is_taken_once() {
        let without = "[[qp]]\nqpn = 1\npeer = 0x101\npsn = 5\n";
        // It serves no ATOMICs.
        let access = "access = ['local_write', 'remote_read', 'remote_write']";
        let with = format!("[[qp]]\nqpn = 2\npeer = 0x102\npsn = 6\n{access}\nreceives = 4\nreceive_bytes = 4096\n");
        let mut file = prepared(&format!("{without}{with}"));
        let case = "bth/reserved-opcode-0x18";
        let said = taken(&mut file, case);
        let again = taken(&mut file, case).unwrap_err();
        assert_eq!(said, Ok((0x102, 6)));
        assert!(again.contains("fits; this case takes one with transport rc"), "{again}");
        assert!(again.contains("4 receives of 4096 bytes"), "{again}");
        file.take(0, Vec::new());
        assert_eq!(taken(&mut file, case).unwrap_err(), "the file names no unused queue pair");
    }

    #[test]
    fn what_only_software_can_do_is_named() {
        let mut file = prepared("[[qp]]\nqpn = 1\npeer = 0x101\npsn = 0\n");
        assert!(taken(&mut file, "rc/responder/psn-gap").unwrap_err().contains("`dut completions"));
        assert_eq!(file.unused().count(), 1);
    }
}
