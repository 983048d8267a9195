//! `rocespec emulate`

use std::fs;
use std::io::ErrorKind;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use rocespec_codec::{MacAddr, Mtu};
use rocespec_control::serve::Door;

use super::{Outcome, device, stop};
use crate::dut::{Addresses, Emulator};
use crate::emulate::{Stand, Wire};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  rocespec emulate --on unix:/tmp/wire
  rocespec emulate emulator:accepts-bad-icrc --on unix:/tmp/wire
  ROCESPEC_TOKEN=secret rocespec emulate --on eth1 --control 192.0.2.1:4792")]
pub(super) struct Args {
    /// What the emulator does: `emulator`, or `emulator:DEFECT,…` with names that `rocespec defects` lists, or those names
    /// alone.
    #[arg(value_name = "BEHAVIOURS", default_value = "emulator")]
    behaviours: String,

    /// The wire: an Ethernet interface (needs CAP_NET_RAW), or `unix:PATH`, a socket that testers connect to, on which each
    /// frame has its length before it (4 bytes, big-endian).
    #[arg(long, value_name = "WIRE")]
    on: String,

    /// Where testers talk to the emulator's software: `unix:PATH` or `ADDRESS:PORT`. Default for a wire
    /// at `unix:PATH`: beside it, `PATH.control`.
    #[arg(long, value_name = "WHERE")]
    control: Option<String>,

    /// Secret that a tester must name in its `hello`. Needed where the control stream is on the network.
    #[arg(long, value_name = "TOKEN", env = "ROCESPEC_TOKEN", hide_env_values = true,
          value_parser = clap::builder::NonEmptyStringValueParser::new())]
    token: Option<String>,

    /// MAC address of the emulator.
    #[arg(long, value_name = "MAC", default_value_t = USUAL.mac, value_parser = mac_address)]
    mac: MacAddr,

    /// Its IPv4 address.
    #[arg(long, value_name = "ADDRESS", default_value_t = USUAL.v4)]
    ip4: Ipv4Addr,

    /// Its IPv6 address.
    #[arg(long, value_name = "ADDRESS", default_value_t = USUAL.v6)]
    ip6: Ipv6Addr,
}

/// Where the emulator stands when nobody says otherwise.
const USUAL: Addresses = {
    let [here, _] = Emulator::places();
    here
};

/// A scheme for paths.
const UNIX: &str = "unix:";

pub(super) fn run(args: &Args) -> Outcome {
    let own = own_addresses(args)?;
    let mut profile = device::built_in("emulator")?;
    // Before it is up nobody can tell it which of the two excluding ones a test needs.
    profile.capabilities.retain(|capability| capability != "pause");
    let names = args.behaviours.strip_prefix("emulator").map_or(args.behaviours.as_str(), |rest| match rest {
        "" => "",
        _ => rest.strip_prefix(':').unwrap_or(&args.behaviours),
    });
    let place = Place::take(args, &own)?;
    // Nobody is at the other end yet.
    let nobody = Addresses { mac: MacAddr([0; 6]), v4: Ipv4Addr::UNSPECIFIED, v6: Ipv6Addr::UNSPECIFIED };
    let emulator = Emulator::named(names, profile)?.with_port_mtu(place.mtu).facing(&own, nobody);
    let complain = |what: &str| eprintln!("rocespec: {what}");
    let stand = Stand::new(emulator, own.clone(), place.wire, place.door, args.token.clone(), complain)?;
    stop::on_signals();
    let with = if names.is_empty() { String::new() } else { format!(" with {names}") };
    print!("The emulator{with} is {}, {} and {}. Ctrl-C ends it. ", own.mac, own.v4, own.v6);
    tell(place.dut.as_deref(), &place.control, args.token.is_some());
    stand.serve(&stop::asked).map_err(anyhow::Error::msg)?;
    Ok(0)
}

/// Where the emulator stands.
struct Place {
    wire: Wire,
    mtu: Mtu,
    door: Door,
    /// How `rocespec run` names it, where both its ways are such that it can.
    dut: Option<String>,
    /// Where its software is reached.
    control: String,
    _sockets: Vec<Socket>,
}

impl Place {
    fn take(args: &Args, own: &Addresses) -> anyhow::Result<Place> {
        let (mut sockets, path) = (Vec::new(), args.on.strip_prefix(UNIX));
        let control = match (&args.control, path) {
            (Some(control), _) => control.clone(),
            (None, Some(path)) => format!("{UNIX}{path}.control"),
            (None, None) if args.on.contains('/') => {
                bail!("--on {0} is no interface; if it is to be a unix socket, say --on {UNIX}{0}", args.on)
            }
            (None, None) => bail!("--on {} needs --control ADDRESS:PORT, where testers reach its software", args.on),
        };
        if [&args.on, &control].iter().any(|word| *word == UNIX) {
            bail!("{UNIX} needs the path of the socket behind it: {UNIX}/tmp/wire");
        }
        let (wire, mtu) = match path {
            Some(path) => {
                let socket = Socket::bind(Path::new(path))?;
                let wire = Wire::socket(socket.listener.try_clone()?)?;
                sockets.push(socket);
                (wire, Mtu::B4096)
            }
            None => Wire::interface(&args.on, own)?,
        };
        let (door, control) = match control.strip_prefix(UNIX) {
            Some(path) => {
                let socket = Socket::bind(Path::new(path))?;
                let door = Door::Unix(socket.listener.try_clone()?);
                sockets.push(socket);
                (door, path.to_owned())
            }
            None => door_on_the_network(&control, args.token.as_deref())?,
        };
        let dut = match (path, &door) {
            (Some(path), Door::Unix(_)) => Some(format!("socket:wire={path},control={control}")),
            (None, Door::Tcp(_)) => Some(format!("nic:INTERFACE,agent={control}")),
            _ => None,
        };
        Ok(Place { wire, mtu, door, dut, control, _sockets: sockets })
    }
}

fn mac_address(text: &str) -> Result<MacAddr, String> {
    text.parse().map_err(|_| "a MAC address is six pairs of hex digits, as 02:00:00:00:00:02".to_owned())
}

fn own_addresses(args: &Args) -> anyhow::Result<Addresses> {
    let Args { mac, ip4, ip6, .. } = *args;
    if mac.0[0] & 1 != 0 || mac.0 == [0; 6] {
        bail!("--mac {mac} is no address of a single station");
    }
    if ip4.is_unspecified() || ip4.is_multicast() || ip4.is_broadcast() {
        bail!("--ip4 {ip4} is no address of a single station");
    }
    if ip6.is_unspecified() || ip6.is_multicast() || ip6.to_ipv4_mapped().is_some() {
        bail!("--ip6 {ip6} is no address of a single station");
    }
    Ok(Addresses { mac, v4: ip4, v6: ip6 })
}

fn door_on_the_network(control: &str, token: Option<&str>) -> anyhow::Result<(Door, String)> {
    let Ok(address) = control.parse::<SocketAddr>() else {
        bail!("--control {control:?} is neither unix:PATH nor ADDRESS:PORT, as 192.0.2.1:4792 or [fd00::1]:4792");
    };
    if token.is_none() {
        bail!("--control on the network needs a secret: --token, or ROCESPEC_TOKEN in the environment");
    }
    let listener = TcpListener::bind(address).with_context(|| {
        format!("cannot listen on {address}: it has to be an address of this host, and a port that nobody has")
    })?;
    // With port 0 the system chose one.
    let address = listener.local_addr().unwrap_or(address).to_string();
    Ok((Door::Tcp(listener), address))
}

/// Says how it is tested.
fn tell(dut: Option<&str>, control: &str, has_token: bool) {
    let token = if has_token { "ROCESPEC_TOKEN=… " } else { "" };
    match dut {
        Some(dut) => println!("To test it:\n  {token}rocespec run --dut {dut}"),
        None => {
            println!(
                "Its software listens at {control}. `rocespec run` does not know such a pair of ways to a device."
            );
        }
    }
}

/// A socket in the file system that listens. Its file goes with it.
struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// A file that an earlier socket left behind is taken; no other is.
    fn bind(path: &Path) -> anyhow::Result<Socket> {
        let cannot = || format!("cannot listen on {}", path.display());
        let is_left_behind = || {
            fs::symlink_metadata(path).is_ok_and(|file| file.file_type().is_socket())
                && UnixStream::connect(path).is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
        };
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && is_left_behind() => {
                fs::remove_file(path).with_context(cannot)?;
                UnixListener::bind(path)
            }
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                bail!("{}: somebody listens there, or it is another file; take another path", cannot())
            }
            other => other,
        };
        Ok(Socket { listener: listener.with_context(cannot)?, path: path.to_owned() })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
