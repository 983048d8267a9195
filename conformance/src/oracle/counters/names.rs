//! What counters count, by the names that devices give them.
//!
//! The meanings are those of public documentation: NVIDIA's guide to the counters of mlx5 in Linux and the kernel's page on
//! its ethtool counters, the lists in the kernel's documentation of sysfs, Broadcom's and Intel's notes on their drivers. A
//! name whose meaning differs between devices, or is not said, is not here: it is read and not compared. So are times and
//! states that the wire does not show (`local_ack_timeout_err`, `retry_exceeded_err`), work requests (`rdma_sends`,
//! `rdma_recvs`), and the port's counters of all traffic, of which RoCE is a part.

use super::Kind;

/// How a counter and the wire belong together.
#[derive(Debug, Clone, Copy)]
pub(super) enum Counts {
    /// Each one that the device sent, once.
    Left(Kind),
    /// Those that came and got so far: at most all.
    Came(Kind),
    /// The same, and at least as many as the device answered so.
    Answered(Kind, Kind),
}

use Counts::{Answered, Came, Left};

/// Counters whose meaning is certain.
pub(super) const KNOWN: &[(&str, Counts)] = &[
    // Linux's rxe.
    ("sent_pkts", Left(Kind::Packets)),
    ("rcvd_pkts", Came(Kind::Packets)),
    ("out_of_seq_request", Answered(Kind::Requests, Kind::SequenceNaks)),
    ("rcvd_seq_err", Came(Kind::SequenceNaks)),
    ("rcvd_rnr_err", Came(Kind::RnrNaks)),
    ("send_rnr_err", Left(Kind::RnrNaks)),
    // rxe and mlx5.
    ("duplicate_request", Came(Kind::Requests)),
    // mlx5, hw_counters.
    ("out_of_sequence", Answered(Kind::Packets, Kind::SequenceNaks)),
    ("packet_seq_err", Came(Kind::SequenceNaks)),
    ("rnr_nak_retry_err", Came(Kind::RnrNaks)),
    ("implied_nak_seq_err", Came(Kind::Responses)),
    ("np_cnp_sent", Left(Kind::Cnps)),
    ("np_ecn_marked_roce_packets", Came(Kind::Marked)),
    ("rp_cnp_handled", Came(Kind::Cnps)),
    ("rp_cnp_ignored", Came(Kind::Cnps)),
    ("rx_icrc_encapsulated", Came(Kind::Damaged)),
    // mlx5, ethtool.
    ("tx_vport_rdma_unicast_packets", Left(Kind::Unicast)),
    ("rx_vport_rdma_unicast_packets", Came(Kind::Unicast)),
    ("rx_pause_ctrl_phy", Came(Kind::Pauses)),
    // bnxt_re.
    ("tx_cnp_pkts", Left(Kind::Cnps)),
    ("rx_cnp_pkts", Came(Kind::Cnps)),
    ("rx_ecn_marked_pkts", Came(Kind::Marked)),
    ("rx_roce_good_pkts", Came(Kind::Packets)),
    ("seq_err_naks_rcvd", Came(Kind::SequenceNaks)),
    ("rnr_naks_rcvd", Came(Kind::RnrNaks)),
    ("dup_req", Came(Kind::Requests)),
    // irdma.
    ("cnpSent", Left(Kind::Cnps)),
    ("cnpHandled", Came(Kind::Cnps)),
    ("cnpIgnored", Came(Kind::Cnps)),
    ("RxECNMrkd", Came(Kind::Marked)),
    // The emulator.
    ("frames_sent", Left(Kind::Packets)),
    ("frames_received", Came(Kind::Frames)),
    ("cnp_sent", Left(Kind::Cnps)),
    ("cnp_received", Came(Kind::Cnps)),
    ("ecn_marked", Came(Kind::Marked)),
    ("pause_obeyed", Came(Kind::Pauses)),
    ("rnr_nak_sent", Left(Kind::RnrNaks)),
    ("duplicate_requests", Came(Kind::Requests)),
    ("sequence_naks_received", Came(Kind::SequenceNaks)),
    ("rnr_naks_received", Came(Kind::RnrNaks)),
    ("drop_icrc", Came(Kind::Damaged)),
];
