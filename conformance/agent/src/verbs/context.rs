//! The open device with its protection domain.

use std::ffi::CStr;
use std::ptr;

use rdma_mummy_sys as ibv;
use rocespec_control::{Device, Failure, GidKind, QpKind, VERSION};

use super::qp::{Ops, QueuePair};
use super::sysfs::{self, Sysfs};
use super::{check, last_error};

// From the kernel's interface (enum ib_uverbs_device_cap_flags); rdma-mummy-sys does not carry them.
const DEVICE_FLUSH_GLOBAL: u64 = 1 << 38;
const DEVICE_FLUSH_PERSISTENT: u64 = 1 << 39;
const DEVICE_ATOMIC_WRITE: u64 = 1 << 40;

/// An open device, one of its ports, a protection domain for all objects that name no other, and an event channel.
#[derive(Debug)]
pub(super) struct Context {
    /// Valid from [`Context::open`] to drop.
    pub(super) raw: *mut ibv::ibv_context,
    /// Valid from [`Context::open`] to drop.
    pub(super) pd: *mut ibv::ibv_pd,
    /// Where completion queues tell of completions. Valid from [`Context::open`] to drop.
    pub(super) channel: *mut ibv::ibv_comp_channel,
    pub(super) port: u8,
    /// What the library can post beyond the classic requests.
    pub(super) ops: Ops,
    name: String,
}

impl Context {
    pub(super) fn open(name: &str, port: u8) -> Result<Context, String> {
        let raw = open_by_name(name)?;
        // SAFETY: `raw` was opened just now.
        let pd = unsafe { ibv::ibv_alloc_pd(raw) };
        if pd.is_null() {
            let error = last_error("ibv_alloc_pd");
            // SAFETY: nothing lives in the context yet.
            unsafe { ibv::ibv_close_device(raw) };
            return Err(format!("{name}: {error}"));
        }
        // SAFETY: `raw` was opened just now.
        let channel = unsafe { ibv::ibv_create_comp_channel(raw) };
        if channel.is_null() {
            let error = last_error("ibv_create_comp_channel");
            // SAFETY: nothing lives in the context yet but the domain.
            unsafe {
                ibv::ibv_dealloc_pd(pd);
                ibv::ibv_close_device(raw);
            }
            return Err(format!("{name}: {error}"));
        }
        // From here on, drop cleans up.
        let mut context = Context { raw, pd, channel, port, ops: Ops::default(), name: name.to_owned() };
        context.port_attributes().map_err(|error| format!("{name} port {port}: {error}"))?;
        context.make_events_non_blocking().map_err(|error| format!("{name}: {error}"))?;
        context.ops = context.probe_ops().map_err(|error| format!("{name}: {error}"))?;
        Ok(context)
    }

    pub(super) fn sysfs(&self) -> Sysfs {
        Sysfs::new("/sys", &self.name, self.port)
    }

    /// Everything that the tester learns from `hello`.
    pub(super) fn describe(&self) -> Result<Device, Failure> {
        let active_mtu = mtu_bytes(self.port_attributes()?.active_mtu).unwrap_or(0);
        let sysfs = self.sysfs();
        let gids = sysfs.gids();
        Ok(Device {
            version: VERSION,
            agent: concat!("rocespec-agent ", env!("CARGO_PKG_VERSION")).to_owned(),
            name: self.name.clone(),
            system: sysfs::kernel_release(),
            mac: sysfs.mac(),
            active_mtu,
            capabilities: self.capabilities(&gids)?,
            gids,
        })
    }

    fn capabilities(&self, gids: &[rocespec_control::Gid]) -> Result<Vec<String>, Failure> {
        use ibv::ibv_device_cap_flags as flag;
        let device = self.device_attributes()?;
        let extended = device.device_cap_flags_ex;
        let has = |bit: flag| device.orig_attr.device_cap_flags & bit.0 != 0;
        let supports = |kind| QueuePair::probe(self, kind);
        let any_gid = |wanted: &dyn Fn(&rocespec_control::Gid) -> bool| gids.iter().any(wanted);
        let list = [
            ("rc", supports(QpKind::Rc)),
            ("uc", supports(QpKind::Uc)),
            ("ud", supports(QpKind::Ud)),
            ("xrc", has(flag::IBV_DEVICE_XRC)),
            ("srq", device.orig_attr.max_srq > 0),
            ("window_type_1", has(flag::IBV_DEVICE_MEM_WINDOW)),
            ("window_type_2", has(flag::IBV_DEVICE_MEM_WINDOW_TYPE_2B)),
            ("requester", true),
            ("responder", true),
            ("atomic", device.orig_attr.atomic_cap != ibv::ibv_atomic_cap::IBV_ATOMIC_NONE),
            ("send_invalidate", has(flag::IBV_DEVICE_MEM_MGT_EXTENSIONS)),
            ("atomic_write", extended & DEVICE_ATOMIC_WRITE != 0),
            ("flush", extended & DEVICE_FLUSH_GLOBAL != 0),
            ("flush_persistent", extended & DEVICE_FLUSH_PERSISTENT != 0),
            ("post_atomic_write", self.ops.atomic_write),
            ("post_flush", self.ops.flush),
            ("rocev1", any_gid(&|gid| gid.kind == GidKind::RoceV1)),
            ("rocev2", any_gid(&|gid| gid.kind == GidKind::RoceV2)),
            ("ipv4", any_gid(&|gid| gid.kind == GidKind::RoceV2 && gid.gid.to_ipv4_mapped().is_some())),
            ("ipv6", any_gid(&|gid| gid.kind == GidKind::RoceV2 && gid.gid.to_ipv4_mapped().is_none())),
        ];
        Ok(list.into_iter().filter(|(_, has)| *has).map(|(name, _)| name.to_owned()).collect())
    }

    /// A library may promise to post what the device below it does not know: both must agree.
    fn probe_ops(&self) -> Result<Ops, Failure> {
        let known = self.device_attributes()?.device_cap_flags_ex;
        let library = QueuePair::probe_ops(self);
        Ok(Ops {
            atomic_write: library.atomic_write && known & DEVICE_ATOMIC_WRITE != 0,
            flush: library.flush && known & (DEVICE_FLUSH_GLOBAL | DEVICE_FLUSH_PERSISTENT) != 0,
        })
    }

    fn device_attributes(&self) -> Result<ibv::ibv_device_attr_ex, Failure> {
        // SAFETY: all-zero bytes are a valid value of this plain C struct; an older library fills less of it.
        let mut attributes: ibv::ibv_device_attr_ex = unsafe { std::mem::zeroed() };
        // SAFETY: the context is open; no input is what the null pointer stands for; the struct lives over the call.
        check("ibv_query_device_ex", unsafe { ibv::ibv_query_device_ex(self.raw, ptr::null(), &mut attributes) })?;
        Ok(attributes)
    }

    fn port_attributes(&self) -> Result<ibv::ibv_port_attr, Failure> {
        // SAFETY: all-zero bytes are a valid value of this plain C struct.
        let mut attributes: ibv::ibv_port_attr = unsafe { std::mem::zeroed() };
        // SAFETY: the context is open and the struct lives over the call.
        check("ibv_query_port", unsafe { ibv::ibv_query_port(self.raw, self.port, &mut attributes) })?;
        Ok(attributes)
    }

    fn make_events_non_blocking(&self) -> Result<(), std::io::Error> {
        // SAFETY: context and channel are open, and so are their descriptors.
        let descriptors = unsafe { [(*self.raw).async_fd, (*self.channel).fd] };
        for fd in descriptors {
            // SAFETY: the calls only touch the flags of an open descriptor.
            let result = unsafe {
                let flags = libc::fcntl(fd, libc::F_GETFL);
                libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK)
            };
            if result < 0 {
                return Err(std::io::Error::last_os_error());
            }
        }
        Ok(())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: every object in the domain holds an `Rc` of this context, so all of them are gone.
        unsafe {
            ibv::ibv_destroy_comp_channel(self.channel);
            ibv::ibv_dealloc_pd(self.pd);
            ibv::ibv_close_device(self.raw);
        }
    }
}

fn open_by_name(wanted: &str) -> Result<*mut ibv::ibv_context, String> {
    let mut count = 0;
    // SAFETY: `count` lives over the call.
    let list = unsafe { ibv::ibv_get_device_list(&mut count) };
    if list.is_null() {
        let error = std::io::Error::last_os_error();
        return Err(match error.raw_os_error() {
            Some(libc::EOPNOTSUPP) => {
                "libibverbs.so.1 cannot be loaded (Debian: apt-get install libibverbs1 ibverbs-providers)".to_owned()
            }
            Some(libc::ENOSYS) => "this kernel has no RDMA: is ib_uverbs loaded?".to_owned(),
            _ => format!("ibv_get_device_list: {error}"),
        });
    }
    let mut names = Vec::new();
    let mut opened = None;
    for index in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: the list has `count` entries and is freed below; names are strings that live as long as it.
        let (device, name) = unsafe {
            let device = *list.add(index);
            (device, CStr::from_ptr(ibv::ibv_get_device_name(device)).to_string_lossy().into_owned())
        };
        if name == wanted {
            // SAFETY: the device comes from the list, which is still there.
            let context = unsafe { ibv::ibv_open_device(device) };
            opened = Some(if context.is_null() { Err(last_error("ibv_open_device")) } else { Ok(context) });
        }
        names.push(name);
    }
    // SAFETY: came from ibv_get_device_list; an open context does not need it.
    unsafe { ibv::ibv_free_device_list(list) };
    match opened {
        Some(Ok(context)) => Ok(context),
        Some(Err(error)) => Err(format!("{wanted}: {error}")),
        None if names.is_empty() => Err(format!("no RDMA device {wanted}: libibverbs sees none at all")),
        None => Err(format!("no RDMA device {wanted}; there are: {}", names.join(", "))),
    }
}

pub(super) fn mtu_bytes(code: ibv::ibv_mtu::Type) -> Option<u32> {
    (1..=5).contains(&code).then(|| 128 << code)
}

/// The other way round. The protocol layer lets no other sizes in.
pub(super) fn mtu_code(bytes: u32) -> ibv::ibv_mtu::Type {
    bytes.max(256).ilog2() - 7
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mtu_codes_go_both_ways() {
        for (code, bytes) in [(1, 256), (2, 512), (3, 1024), (4, 2048), (5, 4096)] {
            assert_eq!(mtu_bytes(code), Some(bytes));
            assert_eq!(mtu_code(bytes), code);
        }
        assert_eq!(mtu_bytes(0), None);
        assert_eq!(mtu_bytes(6), None);
    }
}
