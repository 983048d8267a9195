//! Names of the verbs' numbers, as the protocol spells them: lower case, without prefix.

use rocespec_control::QpState;

/// `ibv_wc_status`, by number.
const STATUSES: [&str; 24] = [
    "success",
    "loc_len_err",
    "loc_qp_op_err",
    "loc_eec_op_err",
    "loc_prot_err",
    "wr_flush_err",
    "mw_bind_err",
    "bad_resp_err",
    "loc_access_err",
    "rem_inv_req_err",
    "rem_access_err",
    "rem_op_err",
    "retry_exc_err",
    "rnr_retry_exc_err",
    "loc_rdd_viol_err",
    "rem_inv_rd_req_err",
    "rem_abort_err",
    "inv_eecn_err",
    "inv_eec_state_err",
    "fatal_err",
    "resp_timeout_err",
    "general_err",
    "tm_err",
    "tm_rndv_incomplete",
];

/// `ibv_event_type`, by number.
const EVENTS: [&str; 21] = [
    "cq_err",
    "qp_fatal",
    "qp_req_err",
    "qp_access_err",
    "comm_est",
    "sq_drained",
    "path_mig",
    "path_mig_err",
    "device_fatal",
    "port_active",
    "port_err",
    "lid_change",
    "pkey_change",
    "sm_change",
    "srq_err",
    "srq_limit_reached",
    "qp_last_wqe_reached",
    "client_reregister",
    "gid_change",
    "wq_fatal",
    "device_speed_change",
];

/// `ibv_wc_opcode`, by number, below the receive bit and above it.
const SENT: [&str; 10] = [
    "send",
    "rdma_write",
    "rdma_read",
    "comp_swap",
    "fetch_add",
    "bind_mw",
    "local_inv",
    "tso",
    "flush",
    "atomic_write",
];
const RECEIVED: [&str; 2] = ["recv", "recv_rdma_with_imm"];
const RECEIVE_BIT: u32 = 1 << 7;

/// `ibv_qp_state`, by number.
const STATES: [QpState; 7] =
    [QpState::Reset, QpState::Init, QpState::Rtr, QpState::Rts, QpState::Sqd, QpState::Sqe, QpState::Error];

fn named(list: &[&str], prefix: &str, number: u32) -> String {
    match list.get(number as usize) {
        Some(name) => (*name).to_owned(),
        // A library newer than this list: its number says more than "unknown".
        None => format!("{prefix}_{number}"),
    }
}

pub(super) fn status(number: u32) -> String {
    named(&STATUSES, "status", number)
}

pub(super) fn event(number: u32) -> String {
    named(&EVENTS, "event", number)
}

pub(super) fn completion_opcode(number: u32) -> String {
    if number & RECEIVE_BIT == 0 {
        named(&SENT, "opcode", number)
    } else {
        named(&RECEIVED, "opcode_recv", number & !RECEIVE_BIT)
    }
}

pub(super) fn state_number(state: QpState) -> u32 {
    STATES.iter().position(|&known| known == state).unwrap_or(0) as u32
}

pub(super) fn state(number: u32) -> Option<QpState> {
    STATES.get(number as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rdma_mummy_sys as ibv;

    #[test]
    fn the_lists_stand_in_the_order_of_the_numbers() {
        assert_eq!(status(ibv::ibv_wc_status::IBV_WC_RNR_RETRY_EXC_ERR), "rnr_retry_exc_err");
        assert_eq!(status(ibv::ibv_wc_status::IBV_WC_TM_RNDV_INCOMPLETE), "tm_rndv_incomplete");
        assert_eq!(status(99), "status_99");
        assert_eq!(event(ibv::ibv_event_type::IBV_EVENT_QP_LAST_WQE_REACHED as u32), "qp_last_wqe_reached");
        assert_eq!(event(ibv::ibv_event_type::IBV_EVENT_DEVICE_SPEED_CHANGE as u32), "device_speed_change");
        assert_eq!(completion_opcode(ibv::ibv_wc_opcode::IBV_WC_ATOMIC_WRITE), "atomic_write");
        assert_eq!(completion_opcode(ibv::ibv_wc_opcode::IBV_WC_RECV_RDMA_WITH_IMM), "recv_rdma_with_imm");
        assert_eq!(state_number(QpState::Error), ibv::ibv_qp_state::IBV_QPS_ERR);
        assert_eq!(state(ibv::ibv_qp_state::IBV_QPS_SQE), Some(QpState::Sqe));
        assert_eq!(state(ibv::ibv_qp_state::IBV_QPS_UNKNOWN), None);
    }
}
