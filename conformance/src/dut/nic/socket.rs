//! A raw socket on one interface: the system calls, each with what makes it safe, and nothing else.

use std::io;
use std::mem::{size_of, size_of_val, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::{Duration, SystemTime};

use libc::{c_int, c_void, socklen_t};

use super::interface::Interface;

/// Room for frames that we have not read. Less where the kernel allows no more.
const BUFFER: c_int = 32 << 20;
/// How long a frame may wait for room on its way out.
const SEND_LIMIT: libc::timeval = libc::timeval { tv_sec: 5, tv_usec: 0 };
/// Every ethertype, in the order of the network.
const ALL: u16 = (libc::ETH_P_ALL as u16).to_be();

/// A raw socket, bound to an interface.
#[derive(Debug)]
pub(super) struct PacketSocket(OwnedFd);

/// What came with a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrival {
    /// Bytes of the frame in the buffer.
    pub(super) length: usize,
    /// It had more than the buffer takes.
    pub(super) is_cut: bool,
    /// When the kernel had it, on the system's clock.
    pub(super) stamp: Option<SystemTime>,
    /// The VLAN tag that the kernel took out: protocol and control information.
    pub(super) tag: Option<(u16, u16)>,
    /// The host sent it itself.
    pub(super) is_own: bool,
}

impl PacketSocket {
    /// Opens it. Only frames that pass the filter come, and none that came before this.
    pub(super) fn open(interface: &Interface, filter: &mut [libc::sock_filter]) -> io::Result<PacketSocket> {
        // Protocol 0: nothing comes before the filter is in place.
        // SAFETY: the call has no pointers.
        let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just opened and is nobody else's.
        let socket = PacketSocket(unsafe { OwnedFd::from_raw_fd(fd) });
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        socket.set(libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)?;
        socket.set(libc::SOL_PACKET, libc::PACKET_AUXDATA, &1)?;
        // Before Linux 4.20 there is no such option; then `Arrival::is_own` tells.
        let _ = socket.set(libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1);
        socket.set(libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1)?;
        socket.set(libc::SOL_SOCKET, libc::SO_SNDTIMEO, &SEND_LIMIT)?;
        // Beyond the system's limit only with CAP_NET_ADMIN.
        if socket.set_receive_buffer(libc::SO_RCVBUFFORCE, BUFFER).is_err() {
            socket.set_receive_buffer(libc::SO_RCVBUF, BUFFER)?;
        }
        // All frames of the wire: the tester's address is not the interface's, and groups and pauses have their own.
        let everything = libc::packet_mreq {
            mr_ifindex: interface.index as c_int,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        socket.set(libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &everything)?;
        socket.bind(interface.index)?;
        Ok(socket)
    }

    /// Sets the size of the receive buffer, by one of two options.
    pub(super) fn set_receive_buffer(&self, option: c_int, bytes: c_int) -> io::Result<()> {
        self.set(libc::SOL_SOCKET, option, &bytes)
    }

    fn bind(&self, index: u32) -> io::Result<()> {
        // SAFETY: all zero is a `sockaddr_ll`: it has only numbers.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = ALL;
        address.sll_ifindex = index as c_int;
        let length = size_of_val(&address) as socklen_t;
        // SAFETY: the address has the length that is told and lives over the call.
        match unsafe { libc::bind(self.fd(), (&raw const address).cast(), length) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// `T` must be what the option is set by.
    fn set<T>(&self, level: c_int, option: c_int, value: &T) -> io::Result<()> {
        let length = size_of::<T>() as socklen_t;
        // SAFETY: the value has the length that is told and lives over the call; what a filter program points to is held by
        // the caller.
        match unsafe { libc::setsockopt(self.fd(), level, option, std::ptr::from_ref(value).cast(), length) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Frames that the kernel had no room for since this was last asked.
    pub(super) fn take_drops(&self) -> u64 {
        // SAFETY: all zero is a `tpacket_stats`: it has only numbers.
        let mut stats: libc::tpacket_stats = unsafe { zeroed() };
        let mut length = size_of_val(&stats) as socklen_t;
        let into = (&raw mut stats).cast::<c_void>();
        // SAFETY: the value has the length that is told, and both live over the call.
        let answer =
            unsafe { libc::getsockopt(self.fd(), libc::SOL_PACKET, libc::PACKET_STATISTICS, into, &raw mut length) };
        if answer == 0 { stats.tp_drops.into() } else { 0 }
    }

    /// Sends a frame that has its Ethernet header.
    pub(super) fn send(&self, frame: &[u8]) -> io::Result<()> {
        // SAFETY: the pointer and the length are those of a slice that lives over the call.
        match unsafe { libc::send(self.fd(), frame.as_ptr().cast(), frame.len(), 0) } {
            0.. => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Waits until a frame is there, at most this long.
    pub(super) fn wait(&self, limit: Duration) -> io::Result<bool> {
        wait(self.fd(), limit)
    }

    /// Takes the next frame, if one is there.
    pub(super) fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<Arrival>> {
        let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        // SAFETY: all zero is a `sockaddr_ll`: it has only numbers.
        let mut from: libc::sockaddr_ll = unsafe { zeroed() };
        // Aligned as control messages want it; two small ones are expected.
        let mut control = [0_u64; 32];
        // SAFETY: all zero is a `msghdr`: it has numbers, and pointers that may be null.
        let mut message: libc::msghdr = unsafe { zeroed() };
        message.msg_name = (&raw mut from).cast();
        message.msg_namelen = size_of_val(&from) as socklen_t;
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of_val(&control) as _;
        // SAFETY: everything that the message points to has the length that it tells, is ours alone and lives over the call.
        let length = unsafe { libc::recvmsg(self.fd(), &raw mut message, libc::MSG_DONTWAIT) };
        let Ok(length) = usize::try_from(length) else {
            let error = io::Error::last_os_error();
            return if error.kind() == io::ErrorKind::WouldBlock { Ok(None) } else { Err(error) };
        };
        let mut arrival = Arrival {
            length,
            is_cut: message.msg_flags & libc::MSG_TRUNC != 0,
            stamp: None,
            tag: None,
            is_own: c_int::from(from.sll_pkttype) == c_int::from(libc::PACKET_OUTGOING),
        };
        // SAFETY: the kernel has filled `message`, whose control buffer still lives; these walk it within its length.
        let mut next = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
        while !next.is_null() {
            // SAFETY: not null, so it points to a whole header inside the control buffer.
            let header = unsafe { *next };
            // SAFETY: as above; the data follow the header.
            let data = unsafe { libc::CMSG_DATA(next) };
            match (header.cmsg_level, header.cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    // SAFETY: a message of this kind carries a `timespec`, any bytes are one, and it need not be aligned.
                    let time = unsafe { data.cast::<libc::timespec>().read_unaligned() };
                    arrival.stamp = since_epoch(time.tv_sec, time.tv_nsec);
                }
                (libc::SOL_PACKET, libc::PACKET_AUXDATA) => {
                    // SAFETY: as above, with a `tpacket_auxdata`.
                    arrival.tag = tag(unsafe { data.cast::<libc::tpacket_auxdata>().read_unaligned() });
                }
                _ => {}
            }
            // SAFETY: `next` is a header inside the control buffer of `message`.
            next = unsafe { libc::CMSG_NXTHDR(&raw const message, next) };
        }
        Ok(Some(arrival))
    }

    fn fd(&self) -> c_int {
        self.0.as_raw_fd()
    }
}

/// Waits until a descriptor has something to read, or to complain of, at most this long.
pub(super) fn wait(descriptor: RawFd, limit: Duration) -> io::Result<bool> {
    let mut poll = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
    let limit = c_int::try_from(limit.as_millis()).unwrap_or(c_int::MAX);
    // SAFETY: one `pollfd` is told of, and it lives over the call; a descriptor that is not open is answered, too.
    match unsafe { libc::poll(&raw mut poll, 1, limit) } {
        0.. => Ok(poll.revents != 0),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A stamp of the system's clock. How wide its numbers are depends on the machine.
pub(super) fn since_epoch(seconds: impl TryInto<u64>, nanos: impl TryInto<u64>) -> Option<SystemTime> {
    let since = Duration::from_secs(seconds.try_into().ok()?) + Duration::from_nanos(nanos.try_into().ok()?);
    SystemTime::UNIX_EPOCH.checked_add(since)
}

fn tag(aux: libc::tpacket_auxdata) -> Option<(u16, u16)> {
    let says = |flag: u32| aux.tp_status & flag != 0;
    let protocol = if says(libc::TP_STATUS_VLAN_TPID_VALID) { aux.tp_vlan_tpid } else { 0x8100 };
    says(libc::TP_STATUS_VLAN_VALID).then_some((protocol, aux.tp_vlan_tci))
}
