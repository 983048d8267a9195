//! Queue pairs: making, moving, asking, polling.

use std::collections::BTreeMap;
use std::net::Ipv6Addr;
use std::ptr;
use std::rc::Rc;

use ibv::ibv_qp_attr_mask as mask;
use rdma_mummy_sys as ibv;
use rocespec_control::{Access, ErrorCode, Failure, QpAttributes, QpCapacity, QpKind, QpState};

use super::completions::{self, CompletionQueue, receive_request};
use super::context::{Context, mtu_bytes, mtu_code};
use super::shared::Pd;
use super::{Verbs, access_flags, check, last_error, names};
use crate::backend::{Uses, failure};

/// Bytes that a request may carry inside itself, where the device can do that.
const INLINE: u32 = 64;
const DEFAULT_HOP_LIMIT: u8 = 64;

/// Requests that only the extended posting interface knows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Ops {
    pub(super) atomic_write: bool,
    pub(super) flush: bool,
}

impl Ops {
    fn flags(self) -> u32 {
        use ibv::ibv_qp_create_send_ops_flags as op;
        let flag = |on: bool, flag: u32| if on { flag } else { 0 };
        flag(self.atomic_write, op::IBV_QP_EX_WITH_ATOMIC_WRITE.0) | flag(self.flush, op::IBV_QP_EX_WITH_FLUSH.0)
    }
}

/// The address vector, gathered over several orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Path {
    pub(super) remote_gid: Ipv6Addr,
    gid_index: u8,
    traffic_class: u8,
    hop_limit: u8,
    flow_label: u32,
    service_level: u8,
}

impl Default for Path {
    fn default() -> Path {
        Path {
            remote_gid: Ipv6Addr::UNSPECIFIED,
            gid_index: 0,
            traffic_class: 0,
            hop_limit: DEFAULT_HOP_LIMIT,
            flow_label: 0,
            service_level: 0,
        }
    }
}

impl Path {
    /// True if the order says anything about the path.
    fn take(&mut self, attributes: &QpAttributes) -> bool {
        let before = (attributes.remote_gid, attributes.gid_index, attributes.traffic_class, attributes.hop_limit);
        self.remote_gid = attributes.remote_gid.unwrap_or(self.remote_gid);
        self.gid_index = attributes.gid_index.unwrap_or(self.gid_index);
        self.traffic_class = attributes.traffic_class.unwrap_or(self.traffic_class);
        self.hop_limit = attributes.hop_limit.unwrap_or(self.hop_limit);
        self.flow_label = attributes.flow_label.unwrap_or(self.flow_label);
        self.service_level = attributes.service_level.unwrap_or(self.service_level);
        before != (None, None, None, None)
            || attributes.flow_label.or(attributes.service_level.map(u32::from)).is_some()
    }

    pub(super) fn address_handle(&self, port: u8) -> ibv::ibv_ah_attr {
        ibv::ibv_ah_attr {
            grh: ibv::ibv_global_route {
                dgid: ibv::ibv_gid { raw: self.remote_gid.octets() },
                flow_label: self.flow_label,
                sgid_index: self.gid_index,
                hop_limit: self.hop_limit,
                traffic_class: self.traffic_class,
            },
            dlid: 0,
            sl: self.service_level,
            src_path_bits: 0,
            static_rate: 0,
            is_global: 1,
            port_num: port,
        }
    }
}

/// A queue pair with its completion queue.
pub(crate) struct QueuePair {
    /// Valid until drop.
    pub(super) raw: *mut ibv::ibv_qp,
    pub(super) completions: CompletionQueue,
    pub(super) kind: QpKind,
    pub(super) path: Path,
    /// UD: address handles in use, one for each path.
    pub(super) handles: BTreeMap<Path, *mut ibv::ibv_ah>,
    uses: Uses<Verbs>,
    pub(super) context: Rc<Context>,
}

impl QueuePair {
    pub(super) fn create(
        context: &Rc<Context>,
        kind: QpKind,
        capacity: QpCapacity,
        uses: Uses<Verbs>,
    ) -> Result<QueuePair, Failure> {
        let completions = CompletionQueue::create(context, capacity)?;
        // Atomic writes and flushes are a reliable connection's.
        let ops = if kind == QpKind::Rc { context.ops } else { Ops::default() };
        let raw = create_raw(context, completions.raw, kind, capacity, ops, Some(&uses))?;
        Ok(QueuePair {
            raw,
            completions,
            kind,
            path: Path::default(),
            handles: BTreeMap::new(),
            uses,
            context: Rc::clone(context),
        })
    }

    /// The protection domain that it is in.
    pub(super) fn pd(&self) -> *mut ibv::ibv_pd {
        Pd::of(self.uses.pd.as_ref(), &self.context)
    }

    /// Whether the device knows the transport at all.
    pub(super) fn probe(context: &Context, kind: QpKind) -> bool {
        try_out(context, kind, Ops::default())
    }

    /// Which of the newer requests the library can post.
    pub(super) fn probe_ops(context: &Context) -> Ops {
        let can = |ops| try_out(context, QpKind::Rc, ops);
        Ops {
            atomic_write: can(Ops { atomic_write: true, flush: false }),
            flush: can(Ops { atomic_write: false, flush: true }),
        }
    }

    pub(super) fn qpn(&self) -> u32 {
        // SAFETY: valid until drop; libibverbs does not change the number.
        unsafe { (*self.raw).qp_num }
    }

    pub(super) fn modify(&mut self, attributes: &QpAttributes) -> Result<(), Failure> {
        // SAFETY: all-zero bytes are a valid value of this plain C struct.
        let mut attr: ibv::ibv_qp_attr = unsafe { std::mem::zeroed() };
        let mut set = Mask(0);
        let to_init = attributes.state == Some(QpState::Init);
        if let Some(state) = attributes.state {
            attr.qp_state = names::state_number(state);
            set.add(mask::IBV_QP_STATE);
        }
        if to_init {
            attr.port_num = self.context.port;
            set.add(mask::IBV_QP_PORT);
        }
        // The verbs ask for both on the way to INIT: absent means the default P_Key and no rights.
        if attributes.pkey_index.is_some() || to_init {
            attr.pkey_index = attributes.pkey_index.unwrap_or(0);
            set.add(mask::IBV_QP_PKEY_INDEX);
        }
        if self.kind != QpKind::Ud && (attributes.access.is_some() || to_init) {
            attr.qp_access_flags = access_flags(attributes.access.as_deref().unwrap_or_default());
            set.add(mask::IBV_QP_ACCESS_FLAGS);
        }
        set.field(&mut attr.qkey, attributes.qkey, mask::IBV_QP_QKEY);
        set.field(&mut attr.path_mtu, attributes.path_mtu.map(mtu_code), mask::IBV_QP_PATH_MTU);
        set.field(&mut attr.dest_qp_num, attributes.dest_qpn, mask::IBV_QP_DEST_QPN);
        set.field(&mut attr.rq_psn, attributes.rq_psn, mask::IBV_QP_RQ_PSN);
        set.field(&mut attr.sq_psn, attributes.sq_psn, mask::IBV_QP_SQ_PSN);
        set.field(&mut attr.timeout, attributes.timeout, mask::IBV_QP_TIMEOUT);
        set.field(&mut attr.retry_cnt, attributes.retry_count, mask::IBV_QP_RETRY_CNT);
        set.field(&mut attr.rnr_retry, attributes.rnr_retry, mask::IBV_QP_RNR_RETRY);
        set.field(&mut attr.min_rnr_timer, attributes.min_rnr_timer, mask::IBV_QP_MIN_RNR_TIMER);
        set.field(&mut attr.max_rd_atomic, attributes.max_rd_atomic, mask::IBV_QP_MAX_QP_RD_ATOMIC);
        set.field(&mut attr.max_dest_rd_atomic, attributes.max_dest_rd_atomic, mask::IBV_QP_MAX_DEST_RD_ATOMIC);

        let mut path = self.path;
        if path.take(attributes) && self.kind != QpKind::Ud {
            if path.remote_gid.is_unspecified() {
                let message = "an address vector needs `remote_gid`";
                return Err(failure(ErrorCode::BadArgument, message));
            }
            attr.ah_attr = path.address_handle(self.context.port);
            set.add(mask::IBV_QP_AV);
        }
        if set.0 != 0 {
            // SAFETY: the queue pair is valid until drop; every field that the mask names is set; the struct lives over the
            // call.
            check("ibv_modify_qp", unsafe { ibv::ibv_modify_qp(self.raw, &mut attr, set.0.cast_signed()) })?;
        }
        // Only what the device took is remembered.
        self.path = path;
        Ok(())
    }

    pub(super) fn query(&self) -> Result<QpAttributes, Failure> {
        // SAFETY: all-zero bytes are valid values of these plain C structs.
        let (mut attr, mut init): (ibv::ibv_qp_attr, ibv::ibv_qp_init_attr) = unsafe { std::mem::zeroed() };
        // Everything up to the last attribute that every kernel knows.
        let wanted = (mask::IBV_QP_DEST_QPN.0 << 1) - 1;
        // SAFETY: the queue pair is valid until drop and the structs live over the call.
        check("ibv_query_qp", unsafe { ibv::ibv_query_qp(self.raw, &mut attr, wanted.cast_signed(), &mut init) })?;
        let connected = self.kind != QpKind::Ud;
        let mut path = self.path;
        if connected && attr.ah_attr.is_global != 0 {
            let grh = attr.ah_attr.grh;
            // SAFETY: both variants of the union are 16 bytes of plain data.
            path.remote_gid = Ipv6Addr::from(unsafe { grh.dgid.raw });
            path.gid_index = grh.sgid_index;
            path.traffic_class = grh.traffic_class;
            path.hop_limit = grh.hop_limit;
            path.flow_label = grh.flow_label;
            path.service_level = attr.ah_attr.sl;
        }
        Ok(QpAttributes {
            state: names::state(attr.qp_state),
            access: connected.then(|| rights(attr.qp_access_flags)),
            pkey_index: Some(attr.pkey_index),
            qkey: (!connected).then_some(attr.qkey),
            path_mtu: mtu_bytes(attr.path_mtu),
            dest_qpn: connected.then_some(attr.dest_qp_num),
            rq_psn: connected.then_some(attr.rq_psn),
            sq_psn: Some(attr.sq_psn),
            timeout: connected.then_some(attr.timeout),
            retry_count: connected.then_some(attr.retry_cnt),
            rnr_retry: connected.then_some(attr.rnr_retry),
            min_rnr_timer: connected.then_some(attr.min_rnr_timer),
            max_rd_atomic: connected.then_some(attr.max_rd_atomic),
            max_dest_rd_atomic: connected.then_some(attr.max_dest_rd_atomic),
            gid_index: Some(path.gid_index),
            remote_gid: Some(path.remote_gid).filter(|gid| !gid.is_unspecified()),
            traffic_class: Some(path.traffic_class),
            hop_limit: Some(path.hop_limit),
            flow_label: Some(path.flow_label),
            service_level: Some(path.service_level),
        })
    }

    /// Enters a multicast group, or leaves it.
    pub(super) fn multicast(&mut self, group: Ipv6Addr, member: bool) -> Result<(), Failure> {
        let gid = ibv::ibv_gid { raw: group.octets() };
        // SAFETY: the queue pair is valid until drop and the GID lives over the call; RoCE has no LIDs.
        unsafe {
            match member {
                true => check("ibv_attach_mcast", ibv::ibv_attach_mcast(self.raw, &gid, 0)),
                false => check("ibv_detach_mcast", ibv::ibv_detach_mcast(self.raw, &gid, 0)),
            }
        }
    }

    pub(super) fn post_receive(&mut self, wr_id: u64, mut piece: ibv::ibv_sge) -> Result<(), Failure> {
        let mut request = receive_request(wr_id, &mut piece);
        let mut bad = ptr::null_mut();
        // SAFETY: the queue pair is valid until drop; request and list live over the call, which copies them. The memory is
        // registered; where the tester deregisters it too early, the device reports an error.
        check("ibv_post_recv", unsafe { ibv::ibv_post_recv(self.raw, &mut request, &mut bad) })
    }
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        // SAFETY: made by this object and not destroyed since; the queue pair goes before what it uses.
        unsafe {
            ibv::ibv_destroy_qp(self.raw);
            for &handle in self.handles.values() {
                ibv::ibv_destroy_ah(handle);
            }
        }
    }
}

/// Which attributes of a struct are meant.
struct Mask(u32);

impl Mask {
    fn add(&mut self, flag: mask) {
        self.0 |= flag.0;
    }

    fn field<T>(&mut self, field: &mut T, value: Option<T>, flag: mask) {
        if let Some(value) = value {
            *field = value;
            self.add(flag);
        }
    }
}

/// Makes a queue pair, with room for inline data if the device allows that.
fn create_raw(
    context: &Context,
    cq: *mut ibv::ibv_cq,
    kind: QpKind,
    capacity: QpCapacity,
    ops: Ops,
    uses: Option<&Uses<Verbs>>,
) -> Result<*mut ibv::ibv_qp, Failure> {
    let with_inline = |inline| {
        // SAFETY: all-zero bytes are a valid value of this plain C struct.
        let mut init: ibv::ibv_qp_init_attr_ex = unsafe { std::mem::zeroed() };
        init.send_cq = cq;
        init.recv_cq = cq;
        init.pd = Pd::of(uses.and_then(|uses| uses.pd.as_ref()), context);
        if let Some(srq) = uses.and_then(|uses| uses.srq.as_ref()) {
            init.srq = srq.raw;
        }
        init.qp_type = match kind {
            QpKind::Rc => ibv::ibv_qp_type::IBV_QPT_RC,
            QpKind::Uc => ibv::ibv_qp_type::IBV_QPT_UC,
            QpKind::Ud => ibv::ibv_qp_type::IBV_QPT_UD,
            QpKind::XrcInitiator => ibv::ibv_qp_type::IBV_QPT_XRC_SEND,
            QpKind::XrcTarget => ibv::ibv_qp_type::IBV_QPT_XRC_RECV,
        };
        init.cap.max_send_wr = capacity.max_send_wr;
        init.cap.max_recv_wr = capacity.max_recv_wr;
        init.cap.max_send_sge = 1;
        init.cap.max_recv_sge = 1;
        init.cap.max_inline_data = inline;
        init.comp_mask = ibv::ibv_qp_init_attr_mask::IBV_QP_INIT_ATTR_PD.0;
        if let Some(domain) = uses.and_then(|uses| uses.xrc_domain.as_ref()) {
            init.comp_mask |= ibv::ibv_qp_init_attr_mask::IBV_QP_INIT_ATTR_XRCD.0;
            init.xrcd = domain.raw;
        }
        if ops.flags() != 0 {
            init.comp_mask |= ibv::ibv_qp_init_attr_mask::IBV_QP_INIT_ATTR_SEND_OPS_FLAGS.0;
            init.send_ops_flags = ops.flags().into();
        }
        // SAFETY: the context is open, the struct lives over the call and names objects of this context.
        let qp = unsafe { ibv::ibv_create_qp_ex(context.raw, &mut init) };
        if qp.is_null() { Err(last_error("ibv_create_qp")) } else { Ok(qp) }
    };
    with_inline(INLINE).or_else(|_| with_inline(0))
}

fn try_out(context: &Context, kind: QpKind, ops: Ops) -> bool {
    let capacity = QpCapacity { max_send_wr: 1, max_recv_wr: 1 };
    let Ok(cq) = completions::create_raw(context, capacity) else { return false };
    let made = create_raw(context, cq, kind, capacity, ops, None);
    // SAFETY: both were made just now and nothing uses them.
    unsafe {
        if let Ok(qp) = made {
            ibv::ibv_destroy_qp(qp);
        }
        ibv::ibv_destroy_cq(cq);
    }
    made.is_ok()
}

fn rights(flags: u32) -> Vec<Access> {
    use Access::{FlushGlobal, FlushPersistent, LocalWrite, RemoteAtomic, RemoteRead, RemoteWrite};
    use ibv::ibv_access_flags as flag;
    [
        (LocalWrite, flag::IBV_ACCESS_LOCAL_WRITE),
        (RemoteWrite, flag::IBV_ACCESS_REMOTE_WRITE),
        (RemoteRead, flag::IBV_ACCESS_REMOTE_READ),
        (RemoteAtomic, flag::IBV_ACCESS_REMOTE_ATOMIC),
        (FlushGlobal, flag::IBV_ACCESS_FLUSH_GLOBAL),
        (FlushPersistent, flag::IBV_ACCESS_FLUSH_PERSISTENT),
    ]
    .into_iter()
    .filter(|(_, bit)| flags & bit.0 != 0)
    .map(|(right, _)| right)
    .collect()
}
