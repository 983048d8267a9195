//! What the standard leaves to the implementation.

/// Every freedom that an endpoint has. [`Policy::default`] is the plain one, [`Policy::PRESETS`] has others by name.
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
    /// Most PSNs that a requester has outstanding, 1 to 2^23 - 1. A READ of more responses goes out alone.
    pub window: u32,
    /// A requester asks for an ACK with the last packet of each message, with the last one that its window lets out, and
    /// with every packet of this count within a message.
    pub ack_every: u32,
    /// Local ACK timeout as a multiple of the time that was asked for, 1 to 4 (9.7.6.1.3 allows that range).
    pub timeout_multiple: u32,
    /// What a requester does with the credits of ACKs.
    pub credit_use: CreditUse,
    /// How a READ is asked for again when some of its responses came.
    pub read_retry: ReadRetry,
    /// What a requester does with a response whose syndrome is reserved.
    pub reserved_syndrome: ReservedSyndrome,
    /// What a requester does with a plain ACK for the response that it expects next of a READ or an ATOMIC.
    pub ack_instead_of_response: AckInsteadOfResponse,
    /// What becomes of a UC message that begins where another one should go on.
    pub uc_interruption: Interruption,
    /// What becomes of a datagram that the receive's buffer is too small for.
    pub long_datagram: LongDatagram,
    /// What becomes of an XRC request that names a shared receive queue of another domain, or none.
    pub foreign_srq: ForeignSrq,
    /// Sends with the migration bit set, as ConnectX does; without path migration both values say the same.
    pub sends_migrated: bool,
}

/// What becomes of an XRC request that names a shared receive queue of another domain, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignSrq {
    /// It is dropped.
    Dropped,
    /// NAK invalid request.
    Nak,
}

/// What becomes of a UC message that begins where another one should go on. The other one is lost either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interruption {
    /// It is taken.
    Taken,
    /// It is lost as well.
    Lost,
}

/// What becomes of a datagram that the receive's buffer is too small for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LongDatagram {
    /// It is dropped; the receive waits for another one.
    Dropped,
    /// It is dropped; the receive completes with a length error.
    Completed,
}

/// What a requester does with the credits of ACKs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreditUse {
    /// It does not look at them and lives with RNR NAKs.
    Ignored,
    /// Messages that take a receive wait for credit, except one packet at a time that asks for an ACK to learn of more.
    Kept,
}

/// How a READ is asked for again when some of its responses came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadRetry {
    /// For what is missing.
    Tail,
    /// From its beginning.
    Whole,
}

/// What a requester does with a response whose syndrome is reserved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReservedSyndrome {
    /// Drops it; the ACK timeout brings the matter to an end.
    Ignored,
    /// Takes it for a bad response: the request fails.
    Fatal,
}

/// What a requester does with a plain ACK for the response that it expects next of a READ or an ATOMIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AckInsteadOfResponse {
    /// It takes the response for lost, as with an ACK beyond it, and asks for it again.
    LostResponse,
    /// It takes the ACK for a response of the wrong kind: the request fails.
    BadResponse,
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
        window: 128,
        ack_every: 64,
        timeout_multiple: 2,
        credit_use: CreditUse::Ignored,
        read_retry: ReadRetry::Tail,
        reserved_syndrome: ReservedSyndrome::Ignored,
        ack_instead_of_response: AckInsteadOfResponse::LostResponse,
        uc_interruption: Interruption::Taken,
        long_datagram: LongDatagram::Dropped,
        foreign_srq: ForeignSrq::Nak,
        sends_migrated: false,
    };
}

impl Default for Policy {
    fn default() -> Self {
        Policy::PLAIN
    }
}
