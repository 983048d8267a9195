//! The connections of a capture file, for commands that want one of them.

use std::path::Path;

use anyhow::{Context as _, bail};
use rocespec_codec::Roce;
use rocespec_reports::examination::{Connection, Paired};

use super::decode::sight::Sight;
use super::input::Input;
use crate::capture::Reader;
use crate::capture::inside::Opener;
use crate::check::{Check, Membership, Options};

/// Hands over each RoCE packet of a file: number of its frame, nanoseconds since the first frame, and what it is.
///
/// Damage ends it as the end of the file does: what comes before stands.
pub(super) fn packets(
    path: &Path,
    ports: &[u16],
    mut look: impl FnMut(u64, u64, &Sight<'_>, &Roce<'_>),
) -> anyhow::Result<()> {
    let input = Input::open(path)?;
    let bar = input.bar.clone();
    let mut opener = Opener::with_ports(ports);
    let mut start_ns = None;
    for captured in Reader::new(input) {
        let captured = match captured {
            Ok(captured) => captured,
            Err(error) if start_ns.is_none() => {
                bar.finish_and_clear();
                return Err(anyhow::Error::new(error).context(path.display().to_string()));
            }
            Err(error) => {
                eprintln!("rocespec: {}: {error}", path.display());
                break;
            }
        };
        let since = captured.time_ns.saturating_sub(*start_ns.get_or_insert(captured.time_ns));
        let sight = Sight::of(opener.open(&captured));
        if let Some(packet) = sight.packet() {
            look(captured.number, since, &sight, packet);
        }
    }
    bar.finish_and_clear();
    Ok(())
}

/// The connections of a file, which is read a second time afterwards; as `check` finds and numbers them.
pub(super) struct Found {
    connections: Vec<Connection>,
    membership: Membership,
}

impl Found {
    pub(super) fn in_file(path: &Path, ports: &[u16]) -> anyhow::Result<Found> {
        if path.as_os_str() == "-" {
            bail!(
                "standard input cannot be read twice, and one reading finds the connections; save it to a file first"
            );
        }
        let input = Input::open_silently(path)?;
        let bar = input.bar.clone();
        let mut check = Check::new(Options::default(), ports);
        // Damage is told by the second reading.
        let _ = check.read(input, std::thread::available_parallelism().map_or(1, usize::from));
        bar.finish_and_clear();
        let (file, membership) = check.finish();
        Ok(Found { connections: file.connections, membership })
    }

    /// The connection of this number, or the only one.
    pub(super) fn choose(&self, number: Option<u32>, path: &Path) -> anyhow::Result<&Connection> {
        let name = path.display();
        let number = match (number, &self.connections[..]) {
            (_, []) => bail!("{name} has no connection"),
            (Some(number), _) => number,
            (None, [only]) => only.number,
            (None, many) => bail!("{name} has {} connections; choose one: --connection 1", many.len()),
        };
        self.connections.iter().find(|connection| connection.number == number).with_context(|| {
            match self.connections.len() {
                1 => format!("{name} has one connection, and no number {number}"),
                many => format!("{name} has the connections 1 to {many}, and no number {number}"),
            }
        })
    }

    /// Number of the connection that a packet belongs to, and which of its ends sent it.
    pub(super) fn of(&self, packet: &Roce<'_>, frame: u64) -> Option<(u32, usize)> {
        self.membership.of(packet, frame)
    }

    /// Another connection of the same two addresses, at the same time, lacks a direction that this one may have.
    pub(super) fn is_guessed(&self, connection: &Connection) -> bool {
        let addresses = |connection: &Connection| {
            let mut both = connection.ends.clone().map(|end| end.address);
            both.sort();
            both
        };
        let own = addresses(connection);
        self.connections.iter().any(|other| {
            other.number != connection.number
                && other.paired == Paired::OneDirection
                && matches!(other.transport.as_str(), "RC" | "UC")
                && other.frames[0] <= connection.frames[1]
                && connection.frames[0] <= other.frames[1]
                && addresses(other) == own
        })
    }
}
