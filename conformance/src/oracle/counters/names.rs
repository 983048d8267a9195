//! What counters count, by the names that devices give them.
//!
//! mlx5: the meanings are those of its vendor's documentation, NVIDIA's guide to the counters in `hw_counters` and the page
//! on its ethtool counters in the documentation of Linux. rxe: what it counts was observed against the wire. The emulator:
//! its own. Other vendors' names are not here, nor is a name whose meaning differs between devices or is not said: it is
//! read and not compared. So are times and states that the wire does not show (`local_ack_timeout_err`,
//! `retry_exceeded_err`), work requests (`rdma_sends`, `rdma_recvs`), and the port's counters of all traffic, of which RoCE
//! is a part.

use super::Kind;

/// How a counter and the wire belong together.
#[derive(Debug, Clone, Copy)]
pub(super) enum Counts {
    /// Each one that the device sent, once.
    Left(Kind),
    /// The same, but that it is not said whether these answers of the device's own accord are counted: one for each of the
    /// second kind at most.
    LeftBut(Kind, Kind),
    /// Those that the device sent and that are counted: at most all.
    LeftAtMost(Kind),
    /// Those that came and got so far: at most all.
    Came(Kind),
    /// The same, and at least as many as the device answered so.
    Answered(Kind, Kind),
}

use Counts::{Answered, Came, Left, LeftAtMost, LeftBut};

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
    // For marks; those that some send with a sequence NAK have a counter of their own.
    ("np_cnp_sent", LeftBut(Kind::Cnps, Kind::SequenceNaks)),
    ("np_ecn_marked_roce_packets", Came(Kind::Marked)),
    ("rp_cnp_handled", Came(Kind::Cnps)),
    ("rp_cnp_ignored", Came(Kind::Cnps)),
    ("rx_icrc_encapsulated", Came(Kind::Damaged)),
    // mlx5, ethtool.
    // Whether all that the device sends by itself is counted, nobody says.
    ("tx_vport_rdma_unicast_packets", LeftAtMost(Kind::Unicast)),
    ("rx_vport_rdma_unicast_packets", Came(Kind::Unicast)),
    ("rx_pause_ctrl_phy", Came(Kind::Pauses)),
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
