//! What the endpoint counts.

macro_rules! counters {
    ($($variant:ident $name:literal,)*) => {
        /// Something that is counted.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Counter {
            $($variant,)*
        }

        const ALL: &[(Counter, &str)] = &[$((Counter::$variant, $name),)*];
    };
}

counters! {
    FramesReceived "frames_received",
    FramesSent "frames_sent",
    RequestsExecuted "requests_executed",
    DuplicateRequests "duplicate_requests",
    OutOfSequence "out_of_sequence",
    CnpReceived "cnp_received",
    CnpSent "cnp_sent",
    MarkedReceived "ecn_marked",
    PauseObeyed "pause_obeyed",
    PauseIgnored "pause_ignored",
    NakSent "nak_sent",
    RnrNakSent "rnr_nak_sent",
    Retransmitted "retransmitted",
    AckTimeouts "ack_timeouts",
    SequenceNaks "sequence_naks_received",
    ImpliedNaks "implied_naks",
    RnrNaks "rnr_naks_received",
    DropMac "drop_mac",
    DropNotRoce "drop_not_roce",
    DropMalformed "drop_malformed",
    DropIpHeader "drop_ip_header",
    DropDestination "drop_destination",
    DropSource "drop_source",
    DropUnknownQp "drop_unknown_qp",
    DropTransportClass "drop_transport_class",
    DropQpState "drop_qp_state",
    DropBth "drop_bth",
    DropPkey "drop_pkey",
    DropIcrc "drop_icrc",
    DropUnexpectedResponse "drop_unexpected_response",
    DropUnexpectedRequest "drop_unexpected_request",
    DropForeignSrq "drop_foreign_srq",
    DropBehindNak "drop_behind_nak",
    DropDuplicate "drop_duplicate",
    DropBusy "drop_busy",
    DropMessage "drop_message",
    DropNotReady "drop_not_ready",
    QkeyViolations "qkey_violations",
}

/// All counters.
#[derive(Debug, Clone)]
pub(crate) struct Counters([u64; ALL.len()]);

impl Counters {
    pub(crate) fn new() -> Counters {
        Counters([0; ALL.len()])
    }

    pub(crate) fn count(&mut self, counter: Counter) {
        self.0[counter as usize] += 1;
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        ALL.iter().map(|(counter, name)| (*name, self.0[*counter as usize]))
    }
}
