//! Asynchronous events, and notifications of completions.

use std::mem::MaybeUninit;

use rdma_mummy_sys as ibv;

use super::context::Context;
use super::names;
use crate::backend::{About, Event};

/// Takes what waits, without waiting for more: the event descriptor is non-blocking.
pub(super) fn take(context: &Context, max: usize) -> Vec<Event> {
    std::iter::from_fn(|| next(context).or_else(|| next_completion(context))).take(max).collect()
}

/// A completion that somebody wanted to be told of. The channel's descriptor is non-blocking.
fn next_completion(context: &Context) -> Option<Event> {
    let (mut cq, mut user_data) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: the channel is open and both pointers live over the call.
    if unsafe { ibv::ibv_get_cq_event(context.channel, &mut cq, &mut user_data) } != 0 {
        return None;
    }
    // SAFETY: an event that ibv_get_cq_event gave out, acknowledged once. The queue is alive: destroying one takes its
    // waiting events away, and this agent has one thread.
    unsafe { ibv::ibv_ack_cq_events(cq, 1) };
    Some(Event { name: "completion".to_owned(), about: Some(About::CompletionQueue(cq as usize)) })
}

fn next(context: &Context) -> Option<Event> {
    let mut event = MaybeUninit::<ibv::ibv_async_event>::zeroed();
    // SAFETY: the context is open and the struct lives over the call.
    if unsafe { ibv::ibv_get_async_event(context.raw, event.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: filled by the call. The kind is read as a number, because a newer library may know more kinds than the enum.
    // Zeroed bytes stand for a null pointer where the event has no element.
    let (kind, element) = unsafe {
        let event = event.as_ptr();
        ((&raw const (*event).event_type).cast::<u32>().read(), (&raw const (*event).element).read())
    };
    let about = if about_a_queue_pair(kind) {
        // SAFETY: for these kinds the element is a queue pair. It is alive: destroying one takes its waiting events away,
        // and this agent has one thread.
        Some(About::Qp(unsafe { (*element.qp).qp_num }))
    } else if about_a_shared_queue(kind) {
        // SAFETY: for these kinds the element is a shared receive queue; only its address is taken.
        Some(About::Srq(unsafe { element.srq } as usize))
    } else {
        None
    };
    // SAFETY: an event that ibv_get_async_event gave out, acknowledged once.
    unsafe { ibv::ibv_ack_async_event(event.as_mut_ptr()) };
    Some(Event { name: names::event(kind), about })
}

fn about_a_queue_pair(kind: u32) -> bool {
    use ibv::ibv_event_type as event;
    [
        event::IBV_EVENT_QP_FATAL,
        event::IBV_EVENT_QP_REQ_ERR,
        event::IBV_EVENT_QP_ACCESS_ERR,
        event::IBV_EVENT_COMM_EST,
        event::IBV_EVENT_SQ_DRAINED,
        event::IBV_EVENT_PATH_MIG,
        event::IBV_EVENT_PATH_MIG_ERR,
        event::IBV_EVENT_QP_LAST_WQE_REACHED,
    ]
    .iter()
    .any(|&known| known as u32 == kind)
}

fn about_a_shared_queue(kind: u32) -> bool {
    use ibv::ibv_event_type as event;
    [event::IBV_EVENT_SRQ_ERR, event::IBV_EVENT_SRQ_LIMIT_REACHED].iter().any(|&known| known as u32 == kind)
}
