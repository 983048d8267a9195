//! Policies that have a name: each takes one or two freedoms in another way than the plain one.

use crate::policy::{
    AckInsteadOfResponse, AckWhen, BehindRnr, CreditPolicy, CreditUse, DuplicateAck, ExcessReads, ForeignSrq,
    Interruption, LongDatagram, Policy, ReadRetry, ReservedSyndrome,
};

const PLAIN: Policy = Policy::PLAIN;

impl Policy {
    /// Policies by name, the plain one first. The name says in what a policy differs from the plain one.
    pub const PRESETS: [(&'static str, Policy); 22] = [
        ("plain", PLAIN),
        // Both sides.
        // The migration bit is set, as adapters have it; the plain policy leaves it 0, as Linux' software device does.
        ("migration-bit-set", Policy { sends_migrated: true, ..PLAIN }),
        // The responder.
        // An ACK for every packet, whether it asks or not.
        ("coalesce-none", Policy { ack: AckWhen::EveryPacket, ..PLAIN }),
        // An ACK for every message, whether it asks or not.
        ("ack-every-message", Policy { ack: AckWhen::EveryMessage, ..PLAIN }),
        // One ACK for up to 16 packets that came in a burst.
        ("coalesce-some", Policy { coalesce: 16, ..PLAIN }),
        // One ACK for a whole burst.
        ("coalesce-all", Policy { coalesce: u32::MAX, ..PLAIN }),
        // Credits are given, and kept to; the plain policy does neither.
        ("credits-on", Policy { credits: CreditPolicy::Given, credit_use: CreditUse::Kept, ..PLAIN }),
        // As Linux' software device: a sequence NAK behind an RNR NAK, and an end at every response that makes no sense.
        (
            "nak-by-rxe",
            Policy { behind_rnr: BehindRnr::SequenceNak, reserved_syndrome: ReservedSyndrome::Fatal, ..PLAIN },
        ),
        // A duplicate is acknowledged with its own PSN, and only when it asks.
        ("duplicate-ack-own", Policy { duplicate_ack: DuplicateAck::Own, ack_unasked_duplicates: false, ..PLAIN }),
        // NAK remote access error, too, for what the queue pair's own flags forbid.
        ("rights-as-access-error", Policy { qp_rights_as_access_error: true, ..PLAIN }),
        // More READs and ATOMICs than granted are refused.
        ("excess-reads-refused", Policy { excess_reads: ExcessReads::Nak, ..PLAIN }),
        // A peer may invalidate the key of a plain region.
        ("invalidate-regions", Policy { invalidates_plain_regions: true, ..PLAIN }),
        // The requester.
        // One packet at a time.
        ("window-one", Policy { window: 1, ..PLAIN }),
        // As much as the PSNs allow.
        ("window-largest", Policy { window: (1 << 23) - 1, ..PLAIN }),
        // Every packet asks for an ACK.
        ("ask-every-packet", Policy { ack_every: 1, ..PLAIN }),
        // Sends again as soon as the timeout allows.
        ("timeout-shortest", Policy { timeout_multiple: 1, ..PLAIN }),
        // Sends again as late as the timeout allows.
        ("timeout-longest", Policy { timeout_multiple: 4, ..PLAIN }),
        // Asks for a whole READ again when a part of it is missing.
        ("read-retry-whole", Policy { read_retry: ReadRetry::Whole, ..PLAIN }),
        // Ends the connection on every response that makes no sense.
        (
            "bad-response-fatal",
            Policy {
                reserved_syndrome: ReservedSyndrome::Fatal,
                ack_instead_of_response: AckInsteadOfResponse::BadResponse,
                ..PLAIN
            },
        ),
        // Other services.
        // A message for a shared receive queue of another XRC domain is dropped.
        ("foreign-srq-dropped", Policy { foreign_srq: ForeignSrq::Dropped, ..PLAIN }),
        // A UC message that interrupts another one is lost with it.
        ("uc-interruption-lost", Policy { uc_interruption: Interruption::Lost, ..PLAIN }),
        // A datagram that is too long for its receive completes it with an error.
        ("long-datagram-completes", Policy { long_datagram: LongDatagram::Completed, ..PLAIN }),
    ];

    /// By its name in [`Policy::PRESETS`].
    pub fn named(name: &str) -> Option<Policy> {
        Policy::PRESETS.iter().find(|(preset, _)| *preset == name).map(|(_, policy)| *policy)
    }
}
