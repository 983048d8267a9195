//! Deviations that can be switched on, to see whether a test notices.

use core::fmt;

macro_rules! defects {
    ($($variant:ident $name:literal $rule:literal $summary:literal;)*) => {
        /// A named deviation from the rules, off by default.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Defect {
            $(#[doc = $summary] $variant,)*
        }

        impl Defect {
            /// All, in the order of the rules' families.
            pub const ALL: &'static [Defect] = &[$(Defect::$variant,)*];

            /// Name in kebab-case, as on the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Defect::$variant => $name,)*
                }
            }

            /// Id of the rule that it breaks.
            pub const fn rule(self) -> &'static str {
                match self {
                    $(Defect::$variant => $rule,)*
                }
            }

            /// What the device does, in one sentence.
            pub const fn summary(self) -> &'static str {
                match self {
                    $(Defect::$variant => $summary,)*
                }
            }
        }
    };
}

defects! {
    AcceptsBadIcrc "accepts-bad-icrc" "icrc.responder.drop-bad"
        "Accepts packets whatever their ICRC says.";
    IcrcWithoutPad "icrc-without-pad" "icrc.responder.pad"
        "Leaves the pad bytes out of the ICRC, in what it checks and in what it sends.";
    IcrcByteSwapped "icrc-byte-swapped" "icrc.responder.byte-order"
        "Sends the ICRC with its high byte first.";
    IcrcCastagnoli "icrc-castagnoli" "icrc.responder.polynomial"
        "Takes the polynomial of CRC-32C, in what it checks and in what it sends.";
    IcrcWithoutReserved "icrc-without-reserved" "icrc.responder.covered"
        "Takes the reserved bits beside AckReq for zeroes in the ICRC, in what it checks.";
    IgnoresUdpLength "ignores-udp-length" "frame.responder.udp-length"
        "Takes the end of the packet from the IP header and does not look at the UDP length.";
    IgnoresUdpPort "ignores-udp-port" "frame.responder.udp-port"
        "Takes UDP packets to every port for RoCE.";
    WantsHighSourcePort "wants-high-source-port" "frame.responder.udp-source-port"
        "Drops packets from UDP source ports below 0xc000.";
    IgnoresIpVersion "ignores-ip-version" "frame.responder.ip-version"
        "Goes by the ethertype and does not look at the version of the IP header.";
    IgnoresIpLength "ignores-ip-length" "frame.responder.total-length"
        "Takes the end of the packet from the UDP header and does not look at the IPv4 length.";
    IgnoresGrhFields "ignores-grh-fields" "frame.responder.grh"
        "Takes what follows a GRH for a transport packet whatever the GRH announces.";
    AcceptsCutHeaders "accepts-cut-headers" "frame.responder.truncated"
        "Takes the bytes that a packet is too short for as zeroes.";
    AcceptsPadBeyondPayload "accepts-pad-beyond-payload" "frame.responder.truncated"
        "Takes a pad count that is larger than the payload for none.";
    RefusesIpv4 "refuses-ipv4" "frame.responder.ipv4"
        "Drops RoCE v2 packets over IPv4.";
    RefusesIpv6 "refuses-ipv6" "frame.responder.ipv6"
        "Drops RoCE v2 packets over IPv6.";
    RefusesRocev1 "refuses-rocev1" "frame.responder.rocev1"
        "Drops RoCE v1 packets.";
    AcceptsIpOptions "accepts-ip-options" "frame.responder.ip-options"
        "Accepts IPv4 headers with options.";
    AcceptsFragments "accepts-fragments" "frame.responder.fragment"
        "Accepts IPv4 packets that say more fragments follow.";
    IgnoresIpChecksum "ignores-ip-checksum" "frame.responder.ip-checksum"
        "Accepts IPv4 headers with a wrong checksum.";
    IgnoresDestination "ignores-destination" "frame.responder.destination"
        "Accepts packets to an address that is not the queue pair's.";
    IgnoresSource "ignores-source" "frame.responder.source"
        "Accepts packets from an address that is not the connected peer's.";
    IgnoresGidKind "ignores-gid-kind" "frame.responder.gid-kind"
        "Accepts RoCE v1 packets for a v2 GID and v2 packets for a v1 GID.";
    CountsTrailerAsPayload "counts-trailer-as-payload" "frame.responder.trailer"
        "Takes the Ethernet padding behind an empty message for its payload.";
    ChangesSourcePort "changes-source-port" "frame.responder.source-port"
        "Sends every packet from another UDP source port.";
    IgnoresTrafficClass "ignores-traffic-class" "frame.responder.traffic-class"
        "Sends with traffic class 0 whatever the address vector says.";
    MarksItself "marks-itself" "frame.responder.ecn"
        "Sends packets that say that they met congestion.";
    IgnoresHopLimit "ignores-hop-limit" "frame.responder.hop-limit"
        "Sends with hop limit 1 whatever the address vector says.";
    SendsWithoutDontFragment "sends-without-dont-fragment" "frame.responder.dont-fragment"
        "Sends IPv4 packets that routers may fragment.";
    SendsUntagged "sends-untagged" "frame.responder.vlan"
        "Sends without VLAN tag whatever the peer's packets have.";
    LengthsWithoutIcrc "lengths-without-icrc" "frame.responder.ip-length"
        "Leaves the ICRC out of the IP and UDP lengths that it sends.";
    AnswersUnknownQp "answers-unknown-qp" "bth.responder.unknown-qp"
        "Gives packets for a queue pair that does not exist to the first one.";
    AnswersMulticastQp "answers-multicast-qp" "bth.responder.multicast-qp"
        "Gives connected requests to the multicast queue pair number to its first queue pair.";
    IgnoresTransportClass "ignores-transport-class" "bth.responder.transport-class"
        "Takes opcodes of another transport service for those of its own.";
    ReceivesBeforeRtr "receives-before-rtr" "bth.responder.qp-state"
        "Takes requests on a queue pair that is not ready to receive yet.";
    IgnoresTver "ignores-tver" "bth.responder.tver"
        "Accepts packets of an unknown transport version.";
    IgnoresPkey "ignores-pkey" "bth.responder.pkey"
        "Accepts packets of another partition.";
    AcceptsTwoLimitedMembers "accepts-two-limited-members" "bth.responder.pkey-membership"
        "Lets two limited members of a partition talk to each other.";
    AnswersStrayResponse "answers-stray-response" "bth.responder.stray-response"
        "Answers a response that nobody waits for with NAK invalid request.";
    DropsReservedBits "drops-reserved-bits" "bth.responder.reserved-ignored"
        "Drops packets whose reserved BTH bits are not 0.";
    DropsMigrated "drops-migrated" "bth.responder.migreq"
        "Drops packets whose MigReq bit is set.";
    AcceptsPsnGap "accepts-psn-gap" "rc.responder.gap-nak"
        "Executes a packet behind a gap as if nothing were missing.";
    IgnoresPsnGap "ignores-psn-gap" "rc.responder.gap-nak"
        "Drops packets behind a gap without a NAK.";
    GapNakOffByOne "gap-nak-off-by-one" "rc.responder.gap-nak"
        "Sends the NAK for a gap with the PSN of the last packet received.";
    GapNakWithPsnOfPacket "gap-nak-with-psn-of-packet" "rc.responder.gap-nak"
        "Sends the NAK for a gap with the PSN of the packet behind it.";
    RepeatsGapNak "repeats-gap-nak" "rc.responder.one-nak-per-gap"
        "Sends a NAK for every packet behind a gap.";
    DoesNotRearmNak "does-not-rearm-nak" "rc.responder.nak-rearmed"
        "Sends one NAK for the first gap and none for later ones.";
    ComparesPsnWithoutWrap "compares-psn-without-wrap" "rc.responder.psn-wrap"
        "Compares PSNs as plain numbers.";
    NaksDuplicate "naks-duplicate" "rc.responder.duplicate-send"
        "Takes a duplicate for a gap and sends a NAK.";
    DropsDuplicate "drops-duplicate" "rc.responder.duplicate-send"
        "Does not acknowledge duplicates of SEND and WRITE again.";
    AcksDuplicateWithResetPsn "acks-duplicate-with-reset-psn" "rc.responder.duplicate-ack-psn"
        "Acknowledges a duplicate with PSN 0xffffff.";
    ExecutesDuplicateSend "executes-duplicate-send" "rc.responder.duplicate-send"
        "Delivers a duplicate SEND a second time.";
    ExecutesDuplicateWrite "executes-duplicate-write" "rc.responder.duplicate-write"
        "Writes the data of a duplicate WRITE again.";
    DropsDuplicateRead "drops-duplicate-read" "rc.responder.duplicate-read"
        "Does not answer a READ that was answered before.";
    RestartsDuplicateRead "restarts-duplicate-read" "rc.responder.duplicate-read"
        "Answers the retry of a READ's tail with the data from its beginning.";
    AnswersDuplicateReadOutside "answers-duplicate-read-outside" "rc.responder.duplicate-read-outside"
        "Answers a duplicate READ for memory that the original did not ask for.";
    ExecutesDuplicateAtomic "executes-duplicate-atomic" "rc.responder.duplicate-atomic"
        "Executes a duplicate ATOMIC again.";
    AnswersDuplicateAtomicFromMemory "answers-duplicate-atomic-from-memory" "rc.responder.duplicate-atomic"
        "Answers a duplicate ATOMIC with what is in memory now.";
    IgnoresOpcodeOrder "ignores-opcode-order" "rc.responder.opcode-order"
        "Begins a new message in the middle of another one, and continues one that never began.";
    IgnoresReservedOpcode "ignores-reserved-opcode" "rc.responder.reserved-opcode"
        "Drops undefined opcodes without a NAK.";
    AcksReservedOpcode "acks-reserved-opcode" "rc.responder.reserved-opcode"
        "Acknowledges undefined opcodes.";
    AcceptsShortFirst "accepts-short-first" "rc.responder.packet-length"
        "Accepts FIRST and MIDDLE packets that are shorter than the path MTU.";
    AcceptsLongPacket "accepts-long-packet" "rc.responder.packet-length"
        "Accepts packets that are longer than the path MTU.";
    AcceptsEmptyLast "accepts-empty-last" "rc.responder.packet-length"
        "Accepts LAST packets without payload.";
    IgnoresPad "ignores-pad" "rc.responder.pad"
        "Accepts pad counts that do not fit the payload.";
    CountsPadAsReceived "counts-pad-as-received" "rc.responder.pad"
        "Reports the pad bytes as received.";
    IgnoresWriteTotal "ignores-write-total" "rc.responder.message-length"
        "Does not compare the payload of a WRITE with the length that its RETH said.";
    AcceptsHugeReth "accepts-huge-reth" "rc.responder.reth-length"
        "Looks at the memory of a request for more than 2^31 bytes before it looks at the length.";
    TruncatesLongSend "truncates-long-send" "rc.responder.receive-length"
        "Cuts a SEND to the size of the receive buffer and acknowledges it.";
    IgnoresRkey "ignores-rkey" "rc.responder.rkey"
        "Finds memory by its address alone.";
    NaksAccessErrorAsInvalid "naks-access-error-as-invalid" "rc.responder.rkey"
        "Answers accesses without right with NAK invalid request.";
    RangeOffByOne "range-off-by-one" "rc.responder.range"
        "Allows accesses that end one byte behind the region.";
    RangeWraps "range-wraps" "rc.responder.range"
        "Lets address plus length wrap around 2^64 in its range check.";
    IgnoresRights "ignores-rights" "rc.responder.rights"
        "Does not look at the rights of a memory region.";
    IgnoresQpRights "ignores-qp-rights" "rc.responder.qp-rights"
        "Does not look at the access flags of the queue pair.";
    ChecksKeyOfZeroLength "checks-key-of-zero-length" "rc.responder.zero-length"
        "Looks up key and address of requests for no bytes.";
    ReadSegmentsShort "read-segments-short" "rc.responder.read-segmentation"
        "Sends READ responses of half the path MTU.";
    ReadEndsWithMiddle "read-ends-with-middle" "rc.responder.read-segmentation"
        "Ends READ responses with a MIDDLE packet.";
    ReadLastWithoutAeth "read-last-without-aeth" "rc.responder.read-segmentation"
        "Sends READ RESPONSE LAST without its AETH.";
    ReadRepeatsPsn "read-repeats-psn" "rc.responder.read-psn"
        "Sends all responses of a READ with the PSN of the request.";
    ReadCountsOnePsn "read-counts-one-psn" "rc.responder.read-psn"
        "Expects the PSN behind a READ request next, however many responses there are.";
    ReadMsnNotAdvanced "read-msn-not-advanced" "rc.responder.read-msn"
        "Sends READ responses with the MSN of before the READ.";
    AcksBeforeResponses "acks-before-responses" "rc.responder.response-order"
        "Lets ACKs overtake the responses of earlier READs.";
    MsnNotAdvancedByWrite "msn-not-advanced-by-write" "rc.responder.msn"
        "Does not count WRITEs in the MSN.";
    MsnCountsPackets "msn-counts-packets" "rc.responder.msn"
        "Counts packets instead of messages in the MSN.";
    AcksNextPsn "acks-next-psn" "rc.responder.ack"
        "Sends ACKs with the PSN that it expects next.";
    IgnoresAckRequestInMessage "ignores-ack-request-in-message" "rc.responder.ack"
        "Acknowledges only the last packet of a message, even when an earlier one asks.";
    NeverAcksWrite "never-acks-write" "rc.responder.ack"
        "Does not acknowledge WRITEs.";
    AckAsksForAck "ack-asks-for-ack" "rc.responder.ack-fields"
        "Sends ACKs with the A bit set.";
    AckSolicited "ack-solicited" "rc.responder.ack-fields"
        "Sends ACKs with the SE bit set.";
    AckToOwnQp "ack-to-own-qp" "rc.responder.ack-fields"
        "Sends responses to its own queue pair number.";
    AckWithoutPkey "ack-without-pkey" "rc.responder.ack-fields"
        "Sends responses with P_Key 0.";
    PromisesTooManyCredits "promises-too-many-credits" "rc.responder.credits"
        "Gives more credits than it has receives posted.";
    DropsWhenNotReady "drops-when-not-ready" "rc.responder.rnr-nak"
        "Drops requests without a word when no receive is posted.";
    AcksWhenNotReady "acks-when-not-ready" "rc.responder.rnr-nak"
        "Acknowledges and loses messages when no receive is posted.";
    RnrTimerZero "rnr-timer-zero" "rc.responder.rnr-timer"
        "Sends RNR NAKs with timer code 0, the longest, whatever was asked for.";
    RnrAdvancesPsn "rnr-advances-psn" "rc.responder.rnr-psn"
        "Expects the PSN behind a request that it answered with RNR NAK.";
    RepeatsRnrNak "repeats-rnr-nak" "rc.responder.rnr-behind"
        "Sends an RNR NAK for every packet behind one that got one.";
    ImmediateByteSwapped "immediate-byte-swapped" "rc.responder.immediate"
        "Delivers immediate data with its bytes in the other order.";
    WriteTakesReceive "write-takes-receive" "rc.responder.write-without-receive"
        "Takes a receive for WRITEs without immediate.";
    WriteImmediateKeepsReceive "write-immediate-keeps-receive" "rc.responder.write-immediate"
        "Drops the immediate data of a WRITE and takes no receive for it.";
    IgnoresInvalidate "ignores-invalidate" "rc.responder.invalidate"
        "Delivers SEND with invalidate without invalidating anything.";
    IgnoresSolicited "ignores-solicited" "rc.responder.solicited"
        "Does not raise the solicited event.";
    CompareSwapAlwaysSwaps "compare-swap-always-swaps" "rc.responder.atomic-compare-swap"
        "Swaps whether the values compare equal or not.";
    FetchAddReturnsNew "fetch-add-returns-new" "rc.responder.atomic-fetch-add"
        "Returns the value after the addition.";
    AcceptsMisalignedAtomic "accepts-misaligned-atomic" "rc.responder.atomic-alignment"
        "Executes ATOMICs at addresses that are no multiple of 8.";
    AnswersAtomicWithAck "answers-atomic-with-ack" "rc.responder.atomic-ack"
        "Answers ATOMICs with a plain ACK.";
    AnswersFlushWithAck "answers-flush-with-ack" "rc.responder.flush"
        "Answers FLUSH and ATOMIC WRITE with a plain ACK.";
    DropsDuplicateFlush "drops-duplicate-flush" "rc.responder.flush"
        "Does not answer a FLUSH or an ATOMIC WRITE that was answered before.";
    AcceptsFlushPayload "accepts-flush-payload" "rc.responder.flush-payload"
        "Serves a FLUSH that brings a payload.";
    IgnoresFlushPlacement "ignores-flush-placement" "rc.responder.flush-placement"
        "Serves a FLUSH to persistence where the region grants global visibility alone, and the reverse.";
    ChecksRangeOfWholeFlush "checks-range-of-whole-flush" "rc.responder.flush-selectivity"
        "Looks at address and length of a FLUSH that is for the whole region.";
    AcceptsMisalignedAtomicWrite "accepts-misaligned-atomic-write" "rc.responder.atomic-write-alignment"
        "Executes ATOMIC WRITEs at addresses that are no multiple of 8.";
    IgnoresAtomicWriteLength "ignores-atomic-write-length" "rc.responder.atomic-write-length"
        "Executes ATOMIC WRITEs whose RETH does not say eight bytes.";
    ExecutesDuplicateAtomicWrite "executes-duplicate-atomic-write" "rc.responder.atomic-write"
        "Writes the data of a duplicate ATOMIC WRITE again.";
    IgnoresRdAtomicLimit "ignores-rd-atomic-limit" "rc.responder.rd-atomic-limit"
        "Serves READs and ATOMICs on a queue pair that granted none.";
    AnswersAfterFatalNak "answers-after-fatal-nak" "rc.responder.error-silence"
        "Goes on as before after a fatal NAK.";
    KeepsReceivesAfterFatalNak "keeps-receives-after-fatal-nak" "rc.responder.error-flush"
        "Does not complete posted receives when the queue pair goes to error.";
    IgnoresLocalFault "ignores-local-fault" "rc.responder.local-fault"
        "Acknowledges data that it could not place in the receive buffer.";
    UcAcknowledges "uc-acknowledges" "uc.responder.silent"
        "Acknowledges UC requests that ask for it.";
    UcNaksGap "uc-naks-gap" "uc.responder.silent"
        "Answers a gap between UC packets with a NAK.";
    UcAnswersNotReady "uc-answers-not-ready" "uc.responder.not-ready"
        "Answers a UC request with an RNR NAK when no receive is posted.";
    UcDeliversBrokenMessage "uc-delivers-broken-message" "uc.responder.gap"
        "Delivers a UC message of which a packet is missing.";
    UcDoesNotResync "uc-does-not-resync" "uc.responder.resync"
        "Drops everything behind a gap between UC packets.";
    UcLosesReceive "uc-loses-receive" "uc.responder.broken-receive"
        "Loses the receive that a broken UC message had taken.";
    UcStopsOnAccessError "uc-stops-on-access-error" "uc.responder.access"
        "Goes to ERROR when a UC request has no right to the memory it names.";
    UdIgnoresQkey "ud-ignores-qkey" "ud.responder.qkey"
        "Accepts datagrams whatever their Q_Key.";
    UdWithoutGrhArea "ud-without-grh-area" "ud.responder.payload-offset"
        "Places the payload of a datagram at the beginning of the buffer.";
    UdPlacesIpHeaderFirst "ud-places-ip-header-first" "ud.responder.v4-header"
        "Places the IPv4 header of a datagram at the beginning of the buffer.";
    UdCountsWithoutGrhArea "ud-counts-without-grh-area" "ud.responder.byte-count"
        "Leaves the GRH area out of the bytes that it reports as received.";
    UdHidesSource "ud-hides-source" "ud.responder.source-qp"
        "Reports 0 as the queue pair that a datagram came from.";
    UdOverrunsBuffer "ud-overruns-buffer" "ud.responder.buffer"
        "Writes a datagram over the end of a receive that is too small for it.";
    UdKeepsToOneSource "ud-keeps-to-one-source" "ud.responder.any-source"
        "Accepts datagrams only from the queue pair that sent the first one.";
    UdTakesOneVersion "ud-takes-one-version" "ud.responder.both-versions"
        "Accepts datagrams only to the first entry of the GID table, and so of one RoCE version.";
    UdChecksPsn "ud-checks-psn" "ud.responder.any-psn"
        "Drops datagrams whose PSN does not follow the one before.";
    UdAcknowledges "ud-acknowledges" "ud.responder.silent"
        "Acknowledges datagrams.";
    UdNaksGap "ud-naks-gap" "ud.responder.silent"
        "Answers a datagram whose PSN does not follow the one before with a NAK.";
    UdAnswersNotReady "ud-answers-not-ready" "ud.responder.not-ready"
        "Answers a datagram with an RNR NAK when no receive is posted.";
    UdIgnoresMulticast "ud-ignores-multicast" "ud.responder.multicast"
        "Drops multicast datagrams.";
    UdDeliversMulticastOnce "ud-delivers-multicast-once" "ud.responder.multicast"
        "Delivers a multicast datagram to one member of the group.";
    SrqTakesNewestFirst "srq-takes-newest-first" "rc.responder.srq-order"
        "Takes the receive from a shared queue that was posted last.";
    SrqForgetsLimit "srq-forgets-limit" "rc.responder.srq-limit"
        "Does not tell when fewer receives are left in a shared queue than its limit says.";
    SrqGivesCredits "srq-gives-credits" "rc.responder.srq-credits"
        "Gives credits for receives of a shared queue.";
    XrcIgnoresSrqNumber "xrc-ignores-srq-number" "xrc.responder.srq"
        "Takes receives from the first shared queue of the domain, whatever the request names.";
    XrcAcceptsForeignSrq "xrc-accepts-foreign-srq" "xrc.responder.domain"
        "Takes receives from shared queues of other XRC domains.";
    XrcRepliesWithXrceth "xrc-replies-with-xrceth" "xrc.responder.reply-headers"
        "Puts an XRCETH into its responses.";
    XrcCompletesOnQp "xrc-completes-on-qp" "xrc.responder.srq-completion"
        "Completes receives of a shared queue on the XRC target.";
    IgnoresPdOfKeys "ignores-pd-of-keys" "memory.responder.pd"
        "Lets a peer use memory of another protection domain.";
    KeyOutlivesRegion "key-outlives-region" "memory.responder.deregister"
        "Serves the key of a region that was deregistered.";
    WindowKeepsOldKeys "window-keeps-old-keys" "memory.responder.window-key"
        "Serves keys that a memory window had before it was bound anew.";
    WindowIgnoresRange "window-ignores-range" "memory.responder.window-range"
        "Opens the whole region with the key of a memory window.";
    WindowIgnoresRights "window-ignores-rights" "memory.responder.window-rights"
        "Gives the rights of the region to whoever has the key of a memory window.";
    WindowServesEveryQp "window-serves-every-qp" "memory.responder.window-qp"
        "Serves the key of a memory window of type 2 on every queue pair.";
    DeregistersBoundRegion "deregisters-bound-region" "memory.responder.bound-region"
        "Takes a region back although a memory window is bound to it.";
    WindowSurvivesInvalidate "window-survives-invalidate" "memory.responder.window-invalidate"
        "Serves the key of a memory window that was invalidated.";
    IgnoresStartPsn "ignores-start-psn" "rc.requester.start-psn"
        "Begins with PSN 0 whatever was agreed.";
    SendsShortPackets "sends-short-packets" "rc.requester.segmentation"
        "Sends FIRST and MIDDLE packets of half the path MTU.";
    SkipsPsn "skips-psn" "rc.requester.psn-order"
        "Begins each message one PSN further than the one before it ended.";
    SendsPadUncounted "sends-pad-uncounted" "rc.requester.pad"
        "Fills payloads up and leaves the pad count at 0.";
    RethSaysPacketLength "reth-says-packet-length" "rc.requester.write-length"
        "Says the length of the first packet in the RETH of a WRITE, not that of the message.";
    ReadTakesOnePsn "read-takes-one-psn" "rc.requester.read-psns"
        "Goes on with the PSN behind a READ request, however many responses it will get.";
    SendsImmediateByteSwapped "sends-immediate-byte-swapped" "rc.requester.immediate"
        "Sends immediate data with its bytes in the other order.";
    SolicitsWithWrite "solicits-with-write" "rc.requester.solicited"
        "Sets the SE bit on WRITEs.";
    BeginsWhileStopped "begins-while-stopped" "rc.requester.drain"
        "Begins requests while the send queue is stopped.";
    NeverAsksForAck "never-asks-for-ack" "rc.requester.ack-request"
        "Never sets the A bit.";
    NeverTimesOut "never-times-out" "rc.requester.ack-timeout"
        "Waits for a lost ACK for ever.";
    TimesOutEarly "times-out-early" "rc.requester.ack-timeout"
        "Sends again before the local ACK timeout has run out.";
    TimesOutWhenTold "times-out-when-told-not-to" "rc.requester.timeout-zero"
        "Sends again after a while although the local ACK timeout is switched off.";
    RetriesWithoutEnd "retries-without-end" "rc.requester.retry-limit"
        "Sends again for ever.";
    RetrySevenHasNoEnd "retry-seven-has-no-end" "rc.requester.retry-seven"
        "Takes a retry count of 7 for an endless one.";
    DoesNotRefillRetries "does-not-refill-retries" "rc.requester.retry-refill"
        "Counts retries over the whole connection.";
    ResumesBehindNak "resumes-behind-nak" "rc.requester.go-back-n"
        "Goes on behind the packet that a NAK asks for.";
    NakAcknowledgesNothing "nak-acknowledges-nothing" "rc.requester.nak-acknowledges"
        "Does not complete what a NAK acknowledges.";
    ResendsWithOtherPsn "resends-with-other-psn" "rc.requester.retransmission-unchanged"
        "Sends a packet again with the next PSN.";
    ResendsMiddleAsFirst "resends-middle-as-first" "rc.requester.retransmission-unchanged"
        "Begins a message anew when it sends its middle again.";
    GoesOnAfterFatalNak "goes-on-after-fatal-nak" "rc.requester.nak-fatal"
        "Sends a request again that was refused for good.";
    ReportsAccessErrorAsInvalid "reports-access-error-as-invalid" "rc.requester.nak-status"
        "Completes a request without access right as an invalid one.";
    DoesNotWaitForRnr "does-not-wait-for-rnr" "rc.requester.rnr-wait"
        "Sends again before the time that an RNR NAK asked for.";
    IgnoresRnrLimit "ignores-rnr-limit" "rc.requester.rnr-limit"
        "Sends again after any number of RNR NAKs.";
    RnrSevenHasAnEnd "rnr-seven-has-an-end" "rc.requester.rnr-seven"
        "Gives up after seven RNR NAKs although seven stands for no limit.";
    CompletesOnePerAck "completes-one-per-ack" "rc.requester.coalesced-ack"
        "Completes one request for each ACK, however many the ACK stands for.";
    MissesImpliedNak "misses-implied-nak" "rc.requester.implied-nak"
        "Waits for the timeout although a later response shows that one is lost.";
    AcceptsReadGap "accepts-read-gap" "rc.requester.read-response-gap"
        "Takes the READ response behind a gap for the missing one.";
    RetriesReadFromItsBeginning "retries-read-from-its-beginning" "rc.requester.read-retry"
        "Asks for the rest of a READ with the address of its beginning.";
    CompletesOnDuplicateAck "completes-on-duplicate-ack" "rc.requester.duplicate-ack"
        "Completes the next request when an old ACK comes again.";
    CompletesOnGhostAck "completes-on-ghost-ack" "rc.requester.ghost-ack"
        "Completes a request on an ACK for a PSN that was never sent.";
    AcceptsResponseDisorder "accepts-response-disorder" "rc.requester.response-order"
        "Accepts READ responses whose opcodes are out of order.";
    AcceptsResponseOfAnyLength "accepts-response-of-any-length" "rc.requester.response-length"
        "Accepts READ responses that are shorter or longer than asked for.";
    AcceptsWrongResponseType "accepts-wrong-response-type" "rc.requester.response-type"
        "Completes a request on a response of another kind.";
    IgnoresCredits "ignores-credits" "rc.requester.credit-limit"
        "Sends SENDs without credit although it keeps to credits otherwise.";
    IgnoresUnsolicitedCredits "ignores-unsolicited-credits" "rc.requester.unsolicited-ack"
        "Does not look at the credits of an ACK that acknowledges nothing new.";
    ExceedsRdAtomic "exceeds-rd-atomic" "rc.requester.rd-atomic"
        "Has more READs and ATOMICs outstanding than agreed.";
    IgnoresFence "ignores-fence" "rc.requester.fence"
        "Does not wait for READs and ATOMICs before a fenced request.";
    KeepsUnsignaledErrors "keeps-unsignaled-errors" "rc.requester.error-completion"
        "Does not complete a failed request that asked for no completion.";
    SendsAfterFailure "sends-after-failure" "rc.requester.error-silence"
        "Goes on with the next request after one has failed.";
    ForgetsToFlush "forgets-to-flush" "rc.requester.flush"
        "Does not complete the requests behind one that failed.";
    UcSendsRcOpcodes "uc-sends-rc-opcodes" "uc.requester.opcodes"
        "Sends UC requests with the opcodes of RC.";
    UcWaitsForAck "uc-waits-for-ack" "uc.requester.completion"
        "Waits for an acknowledgement before it completes an unreliable request.";
    UcFailsOnLocalError "uc-fails-on-local-error" "uc.requester.local-error"
        "Goes to ERROR, not to SQE, when an unreliable request cannot be sent.";
    UdSendsRcOpcodes "ud-sends-rc-opcodes" "ud.requester.opcodes"
        "Sends datagrams with the opcodes of RC.";
    UdSendsTooMuch "ud-sends-too-much" "ud.requester.length"
        "Sends datagrams of any length.";
    UdSendsOwnQkey "ud-sends-own-qkey" "ud.requester.qkey"
        "Sends every datagram with its own Q_Key.";
    UdSendsPrivilegedQkey "ud-sends-privileged-qkey" "ud.requester.privileged-qkey"
        "Sends a Q_Key with bit 31 set as it stands in the request.";
    XrcNamesSrqOnce "xrc-names-srq-once" "xrc.requester.xrceth"
        "Names the shared receive queue in the first packet of a message alone.";
    BindsWithoutRight "binds-without-right" "memory.requester.bind"
        "Binds memory windows to regions that do not allow it.";
    IgnoresPdOfBuffers "ignores-pd-of-buffers" "memory.requester.pd"
        "Sends from and receives into memory of another protection domain.";
    UdSendsForeignSource "ud-sends-foreign-source" "ud.requester.source-qp"
        "Names the receiver as the sender of a datagram.";
    SendsCnpWithoutMark "sends-cnp-without-mark" "congestion.notification_point.only-ce"
        "Answers packets that met no congestion with CNPs.";
    NeverSendsCnp "never-sends-cnp" "congestion.notification_point.cnp-on-ce"
        "Answers no mark with a CNP.";
    SendsCnpForBadIcrc "sends-cnp-for-bad-icrc" "congestion.notification_point.only-valid"
        "Answers marked packets with a wrong ICRC with CNPs.";
    AnswersCnpWithCnp "answers-cnp-with-cnp" "congestion.notification_point.cnp-not-answered"
        "Answers marked CNPs with CNPs.";
    SendsCnpToOwnQp "sends-cnp-to-own-qp" "congestion.notification_point.cnp-to-source"
        "Sends CNPs to its own queue pair number.";
    SendsCnpWithPsn "sends-cnp-with-psn" "congestion.notification_point.cnp-fields"
        "Sends CNPs with the PSN of the marked packet.";
    SendsCnpWithOwnPkey "sends-cnp-with-own-pkey" "congestion.notification_point.cnp-fields"
        "Sends CNPs with the P_Key of the queue pair instead of that of the marked packet.";
    SendsCnpWithBody "sends-cnp-with-body" "congestion.notification_point.cnp-fields"
        "Sends CNPs whose reserved bytes are not 0.";
    SendsNativeCnp "sends-native-cnp" "congestion.notification_point.cnp-fields"
        "Sends CNPs with opcode 0x80, that of native InfiniBand.";
    SendsCnpWithoutBecn "sends-cnp-without-becn" "congestion.notification_point.cnp-becn"
        "Sends CNPs without BECN.";
    SendsCnpForEveryMark "sends-cnp-for-every-mark" "congestion.notification_point.interval"
        "Answers every mark with a CNP, however soon after the last.";
    DropsMarked "drops-marked" "congestion.notification_point.marked-is-taken"
        "Drops packets that met congestion.";
    IgnoresCnp "ignores-cnp" "congestion.reaction_point.cut"
        "Sends as fast as before after a CNP.";
    SlowsDownEveryQp "slows-down-every-qp" "congestion.reaction_point.one-qp"
        "Lowers the rate of all queue pairs for a CNP to one.";
    AcceptsCnpWithBadIcrc "accepts-cnp-with-bad-icrc" "congestion.reaction_point.only-valid"
        "Lowers the rate for CNPs with a wrong ICRC.";
    ChecksCnpPsn "checks-cnp-psn" "congestion.reaction_point.any-psn"
        "Drops CNPs whose PSN is not the one that it expects of a request.";
    ChecksCnpBody "checks-cnp-body" "congestion.reaction_point.reserved-ignored"
        "Drops CNPs whose reserved bytes are not 0.";
    NaksCnp "naks-cnp" "bth.responder.cnp-silent"
        "Answers CNPs with NAK invalid request.";
    AlwaysHalvesRate "always-halves-rate" "congestion.reaction_point.alpha"
        "Halves the rate with each CNP, however long ago the last one came.";
    CutsOnEveryCnp "cuts-on-every-cnp" "congestion.reaction_point.reduce-period"
        "Lowers the rate with each CNP, however soon after the last.";
    StopsOnCnp "stops-on-cnp" "congestion.reaction_point.min-rate"
        "Sends nothing after a CNP until the rate is back.";
    NeverRecovers "never-recovers" "congestion.reaction_point.recover"
        "Never raises the rate again.";
    RecoversAtOnce "recovers-at-once" "congestion.reaction_point.stages"
        "Goes back to full speed with the first rise of the rate.";
    DoesNotLimitReads "does-not-limit-reads" "congestion.reaction_point.cut"
        "Sends the responses of READs as fast as before after a CNP.";
    IgnoresXoff "ignores-xoff" "pause.link.xoff"
        "Goes on sending when told to pause.";
    StopsLate "stops-late" "pause.link.stop-bound"
        "Goes on for another 1000 quanta when told to pause.";
    IgnoresXon "ignores-xon" "pause.link.xon"
        "Does not end a pause when told to.";
    PausesForever "pauses-forever" "pause.link.expiry"
        "Pauses until it is told to go on, however long that takes.";
    AddsPauses "adds-pauses" "pause.link.refresh"
        "Adds the time of each pause to what is left of the one before.";
    KeepsLongerPause "keeps-longer-pause" "pause.link.refresh"
        "Does not shorten a pause when told a shorter time.";
    CountsQuantaAtOneGigabit "counts-quanta-at-one-gigabit" "pause.link.quanta"
        "Counts quanta at 1 Gb/s whatever the speed of the link.";
    PausesAllClasses "pauses-all-classes" "pause.link.class"
        "Pauses all classes when told to pause one.";
    ReversesPauseClasses "reverses-pause-classes" "pause.link.class"
        "Takes the timer of class 7 for that of class 0, and so on.";
    ObeysDisabledTimers "obeys-disabled-timers" "pause.link.disabled-class"
        "Pauses classes whose timers the vector does not enable.";
    ObeysPauseBesidePfc "obeys-pause-beside-pfc" "pause.link.pause-while-pfc"
        "Obeys PAUSE while it does priority-based flow control.";
    ObeysPauseToOthers "obeys-pause-to-others" "pause.link.destination"
        "Obeys pause frames to whatever address.";
    ObeysAnyControlOpcode "obeys-any-control-opcode" "pause.link.opcode"
        "Takes MAC control frames of every opcode for priority-based flow control.";
    ObeysTaggedPause "obeys-tagged-pause" "pause.link.tagged"
        "Obeys pause frames with a VLAN tag.";
    StopsReceivingWhenPaused "stops-receiving-when-paused" "pause.link.receive"
        "Drops what it receives while a class is paused.";
    CountsCnpsTwice "counts-cnps-twice" "device.link.counters"
        "Counts each CNP that it sends twice.";
}

impl Defect {
    /// By its name.
    pub fn from_name(name: &str) -> Option<Defect> {
        Defect::ALL.iter().copied().find(|defect| defect.name() == name)
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of defects.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Defects([u64; WORDS]);

const WORDS: usize = Defect::ALL.len().div_ceil(64);

impl Defects {
    /// None: a conforming device.
    pub const NONE: Defects = Defects([0; WORDS]);

    /// True when the defect is switched on.
    #[inline]
    pub const fn has(&self, defect: Defect) -> bool {
        self.0[defect as usize / 64] & (1 << (defect as u32 % 64)) != 0
    }

    /// This set and one more.
    #[must_use]
    pub const fn with(mut self, defect: Defect) -> Defects {
        self.0[defect as usize / 64] |= 1 << (defect as u32 % 64);
        self
    }

    /// True when there is none.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; WORDS]
    }

    /// Those that are switched on.
    pub fn iter(self) -> impl Iterator<Item = Defect> {
        Defect::ALL.iter().copied().filter(move |defect| self.has(*defect))
    }
}

impl From<Defect> for Defects {
    fn from(defect: Defect) -> Defects {
        Defects::NONE.with(defect)
    }
}

impl FromIterator<Defect> for Defects {
    fn from_iter<I: IntoIterator<Item = Defect>>(defects: I) -> Defects {
        defects.into_iter().fold(Defects::NONE, Defects::with)
    }
}

impl fmt::Debug for Defects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Defect::name)).finish()
    }
}
