//! What the kernel says of a network interface.

use std::ffi::CString;
use std::io;
use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

use rocespec_codec::MacAddr;

use crate::dut::DutError;

/// How long an interface that has just been set up may take to find its link.
const LINK_LIMIT: Duration = Duration::from_secs(5);
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// An Ethernet interface that is up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interface {
    pub(crate) name: String,
    /// Its number, for the kernel.
    pub(super) index: u32,
    pub(crate) mac: MacAddr,
    /// Longest packet behind the Ethernet header, in bytes.
    pub(crate) mtu: usize,
}

impl Interface {
    /// Looks for the interface of this name in our network namespace.
    ///
    /// # Errors
    /// [`DutError::Unreachable`] when there is none, when it is down or when it is not Ethernet; the text says what to do.
    pub(crate) fn find(name: &str) -> Result<Interface, DutError> {
        let unreachable = |what: String| DutError::Unreachable(what);
        let index = index(name).ok_or_else(|| {
            unreachable(format!(
                "there is no network interface {name:?} here; `ip -brief link` lists those that there are"
            ))
        })?;
        let ask = |question: libc::c_ulong| ask(name, question);
        let broken = |error: io::Error| unreachable(format!("cannot ask the kernel about {name}: {error}"));
        let address = ask(libc::SIOCGIFHWADDR as libc::c_ulong).map_err(broken)?;
        // SAFETY: SIOCGIFHWADDR has filled this member of the union; any bytes are a `sockaddr`.
        let address = unsafe { address.ifr_ifru.ifru_hwaddr };
        if address.sa_family != libc::ARPHRD_ETHER {
            return Err(unreachable(format!("{name} is no Ethernet interface; take a port that the device is behind")));
        }
        let mut mac = [0; 6];
        for (octet, byte) in mac.iter_mut().zip(address.sa_data) {
            *octet = byte.cast_unsigned();
        }
        let started = Instant::now();
        loop {
            let flags = ask(libc::SIOCGIFFLAGS as libc::c_ulong).map_err(broken)?;
            // SAFETY: SIOCGIFFLAGS has filled this member of the union; any bytes are a `c_short`.
            let flags = libc::c_int::from(unsafe { flags.ifr_ifru.ifru_flags });
            if flags & libc::IFF_UP == 0 {
                return Err(unreachable(format!("{name} is down: `ip link set dev {name} up`")));
            }
            if flags & libc::IFF_RUNNING != 0 {
                break;
            }
            if started.elapsed() >= LINK_LIMIT {
                return Err(unreachable(format!("{name} has no link: is the other end of its cable up?")));
            }
            thread::sleep(LOOK);
        }
        let mtu = ask(libc::SIOCGIFMTU as libc::c_ulong).map_err(broken)?;
        // SAFETY: SIOCGIFMTU has filled this member of the union; any bytes are a `c_int`.
        let mtu = unsafe { mtu.ifr_ifru.ifru_mtu };
        let mtu = usize::try_from(mtu).unwrap_or_default();
        Ok(Interface { name: name.to_owned(), index, mac: MacAddr(mac), mtu })
    }
}

fn index(name: &str) -> Option<u32> {
    let name = CString::new(name).ok()?;
    // SAFETY: the argument is a string that ends with a zero byte and lives over the call.
    Some(unsafe { libc::if_nametoindex(name.as_ptr()) }).filter(|index| *index != 0)
}

/// One of the questions about an interface that are answered in an `ifreq`.
fn ask(name: &str, question: libc::c_ulong) -> io::Result<libc::ifreq> {
    // Any socket serves to ask.
    let socket = std::net::UdpSocket::bind((std::net::Ipv4Addr::UNSPECIFIED, 0))?;
    // SAFETY: all zero is an `ifreq`: it has numbers and arrays of numbers, and pointers that may be null.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero: a name that is known has at most IFNAMSIZ - 1 bytes.
    for (to, from) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
        *to = from.cast_signed();
    }
    // SAFETY: the descriptor is open, and these questions read and write one `ifreq`, which lives over the call.
    match unsafe { libc::ioctl(socket.as_raw_fd(), question, &raw mut request) } {
        0 => Ok(request),
        _ => Err(io::Error::last_os_error()),
    }
}
