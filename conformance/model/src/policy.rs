//! What the standard leaves to the responder.

/// Every freedom that the RC responder has. [`Policy::default`] is the plain one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// Which packets of SEND and WRITE are acknowledged.
    pub ack: AckWhen,
    /// How many acknowledgements one ACK may stand for while it waits for its time to leave: 1 = none is saved.
    pub coalesce: u32,
    /// What ACKs say about posted receives.
    pub credits: CreditPolicy,
    /// PSN of the ACK that answers a duplicate SEND or WRITE.
    pub duplicate_ack: DuplicateAck,
    /// Duplicates that ask for no ACK get one all the same.
    pub ack_unasked_duplicates: bool,
    /// What happens to packets behind one that got an RNR NAK.
    pub behind_rnr: BehindRnr,
    /// An operation that the queue pair's own flags forbid: NAK remote access error instead of invalid request.
    pub qp_rights_as_access_error: bool,
    /// More READs and ATOMICs at once than granted.
    pub excess_reads: ExcessReads,
    /// SEND with invalidate may invalidate the key of a plain memory region. Most devices refuse that: such keys are not
    /// made for it, only those of windows and fast-registered regions are.
    pub invalidates_plain_regions: bool,
}

/// Which packets of SEND and WRITE are acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckWhen {
    /// Those that ask.
    Asked,
    /// Those that ask and the last packet of each message.
    EveryMessage,
    /// All.
    EveryPacket,
}

/// What ACKs say about posted receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreditPolicy {
    /// Code 31: the requester does not limit itself.
    NotGiven,
    /// As many as there are receives posted, rounded down to a code.
    Given,
}

/// PSN of the ACK that answers a duplicate SEND or WRITE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DuplicateAck {
    /// The last one received in order; where a READ or an ATOMIC came in between, the one before its.
    Latest,
    /// That of the duplicate.
    Own,
}

/// What happens to packets behind one that got an RNR NAK.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BehindRnr {
    /// Dropped.
    Silent,
    /// The first one gets a NAK for the gap in front of it.
    SequenceNak,
}

/// More READs and ATOMICs at once than granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExcessReads {
    /// Served; the oldest is no longer remembered.
    Serve,
    /// NAK invalid request.
    Nak,
}

impl Policy {
    /// Acknowledges what asks for it, one ACK each, gives no credits.
    pub const PLAIN: Policy = Policy {
        ack: AckWhen::Asked,
        coalesce: 1,
        credits: CreditPolicy::NotGiven,
        duplicate_ack: DuplicateAck::Latest,
        ack_unasked_duplicates: true,
        behind_rnr: BehindRnr::Silent,
        qp_rights_as_access_error: false,
        excess_reads: ExcessReads::Serve,
        invalidates_plain_regions: false,
    };

    /// Policies by name, the plain one first.
    pub const PRESETS: [(&'static str, Policy); 6] = [
        ("plain", Policy::PLAIN),
        ("eager", Policy { ack: AckWhen::EveryPacket, ..Policy::PLAIN }),
        ("coalescing", Policy { coalesce: 16, ..Policy::PLAIN }),
        ("credits", Policy { credits: CreditPolicy::Given, ..Policy::PLAIN }),
        (
            "strict",
            Policy {
                duplicate_ack: DuplicateAck::Own,
                ack_unasked_duplicates: false,
                qp_rights_as_access_error: true,
                excess_reads: ExcessReads::Nak,
                ..Policy::PLAIN
            },
        ),
        (
            "lenient",
            Policy {
                ack: AckWhen::EveryMessage,
                behind_rnr: BehindRnr::SequenceNak,
                invalidates_plain_regions: true,
                ..Policy::PLAIN
            },
        ),
    ];

    /// By its name in [`Policy::PRESETS`].
    pub fn named(name: &str) -> Option<Policy> {
        Policy::PRESETS.iter().find(|(preset, _)| *preset == name).map(|(_, policy)| *policy)
    }
}

impl Default for Policy {
    fn default() -> Self {
        Policy::PLAIN
    }
}
