use rocespec_model::SendOperation::{
    AtomicWrite, CompareSwap, FetchAdd, Flush, RdmaRead, RdmaWrite, Send, SendWithImmediate,
};
use rocespec_model::{Access, Capacity, MemoryHandle, QpState, SendFlags, SendRequest, VerbError};

use crate::harness::requester::{T, ack, requester, requester_with};
use crate::harness::{lab, pattern};

#[test]
fn a_buffer_that_is_not_there_fails_the_request_before_anything_is_sent() {
    for operation in [Send, RdmaWrite, RdmaRead, FetchAdd, CompareSwap, AtomicWrite] {
        let mut lab = requester();
        let request = SendRequest { offset: (1 << 16) - 7, ..lab.work(0, operation, 8) };
        assert_eq!(lab.submit(request), [""; 0]);
        assert_eq!((lab.statuses(), lab.state()), (vec![(0, "loc_prot_err")], QpState::Error), "{operation:?}");
    }
}

#[test]
fn what_comes_home_needs_the_right_to_be_written() {
    for (operation, status) in [(RdmaRead, "loc_prot_err"), (FetchAdd, "loc_prot_err")] {
        let mut lab = requester_with(|options| options.region_access = Access::REMOTE_READ);
        lab.start(0, operation, 8);
        assert_eq!(lab.statuses(), [(0, status)], "{operation:?}");
    }
    let mut lab = requester_with(|options| options.region_access = Access::REMOTE_READ);
    assert_eq!(lab.start(0, Send, 8).len(), 1, "what goes out does not");
}

#[test]
fn without_any_depth_reads_and_atomics_cannot_be_carried_out() {
    for operation in [RdmaRead, FetchAdd, CompareSwap, AtomicWrite, Flush] {
        let mut lab = requester_with(|options| options.attributes.max_rd_atomic = Some(0));
        assert_eq!(lab.start(0, operation, 8), [""; 0]);
        assert_eq!(lab.statuses(), [(0, "loc_qp_op_err")], "{operation:?}");
    }
}

#[test]
fn a_request_fails_in_its_place() {
    let mut lab = requester();
    lab.start_all(Send, &[4, 4]);
    let bad = SendRequest { offset: 1 << 16, ..lab.work(2, Send, 4) };
    assert_eq!(lab.submit(bad), [""; 0]);
    assert_eq!(lab.start(3, Send, 4), [""; 0], "nothing overtakes it");
    assert!(lab.completions().is_empty());
    assert_eq!(lab.wait(T).len(), 2, "those before it are looked after");
    lab.answer(ack(1, 2));
    let ends = [(0, "success"), (1, "success"), (2, "loc_prot_err"), (3, "wr_flush_err")];
    lab.leaving();
    assert_eq!((lab.statuses(), lab.state()), (ends.to_vec(), QpState::Error));
}

#[test]
fn an_error_is_told_even_to_who_asked_for_no_completion() {
    let mut lab = requester();
    for wr_id in 0..2 {
        let quiet = SendRequest { flags: SendFlags::default(), ..lab.work(wr_id, Send, 4) };
        lab.submit(quiet);
    }
    lab.wait(T * 9);
    assert_eq!(lab.statuses(), [(0, "retry_exc_err"), (1, "wr_flush_err")]);
}

#[test]
fn inline_data_is_that_of_when_it_was_posted() {
    let sent = |inline| {
        let mut lab = requester();
        let flags = SendFlags { inline, ..SendFlags::default() };
        let request = SendRequest { flags, ..lab.work(0, Send, 300) };
        lab.port.post_send(lab.qp, &request).unwrap();
        lab.set_memory(0, &[0; 300]);
        lab.leaving();
        lab.wait(T);
        let data = |frames: &[Vec<u8>]| crate::harness::read_data(frames);
        assert_eq!(data(&lab.frames[..2]), data(&lab.frames[2..]), "the second time too");
        data(&lab.frames[..2])
    };
    assert_eq!(sent(true), pattern(300));
    assert_eq!(sent(false), [0; 300]);
}

#[test]
fn inline_atomic_writes_take_their_eight_bytes() {
    let mut lab = requester();
    let flags = SendFlags { inline: true, ..SendFlags::default() };
    let request = SendRequest { flags, ..lab.work(0, AtomicWrite, 0) };
    assert_eq!(lab.submit(request), ["ATOMIC_WRITE 0 ack va=0 len=8 8B"]);
}

#[test]
fn what_cannot_be_posted_is_refused() {
    let mut lab = requester_with(|options| options.capacity = Capacity { max_send_wr: 2, max_recv_wr: 1 });
    let post = |lab: &mut crate::harness::Lab, request: SendRequest| lab.port.post_send(lab.qp, &request);
    let elsewhere = SendRequest { mr: MemoryHandle(99), ..lab.work(0, Send, 4) };
    assert_eq!(post(&mut lab, elsewhere), Err(VerbError::NoSuchObject));
    let empty = SendRequest { length: 0, ..elsewhere };
    assert_eq!(post(&mut lab, empty), Ok(()), "without bytes there is no memory");
    let long = lab.work(0, SendWithImmediate, (1 << 31) + 1);
    assert_eq!(post(&mut lab, long), Err(VerbError::OutOfRange("length")));
    let one = lab.work(0, Send, 4);
    assert_eq!([post(&mut lab, one), post(&mut lab, one)], [Ok(()), Err(VerbError::QueueFull)]);
}

#[test]
fn a_queue_pair_that_is_not_ready_to_send_takes_no_request() {
    let mut lab = lab();
    let request = lab.work(0, Send, 4);
    assert_eq!(lab.port.post_send(lab.qp, &request), Err(VerbError::WrongState(QpState::Rtr)));
}
