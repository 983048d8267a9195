//! Asynchronous events.

use std::mem::MaybeUninit;

use rdma_mummy_sys as ibv;

use super::context::Context;
use super::names;
use crate::backend::Event;

/// Takes what waits, without waiting for more: the event descriptor is non-blocking.
pub(super) fn take(context: &Context, max: usize) -> Vec<Event> {
    std::iter::from_fn(|| next(context)).take(max).collect()
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
    let qpn = about_a_queue_pair(kind).then(|| {
        // SAFETY: for these kinds the element is a queue pair. It is alive: destroying one takes its waiting events away,
        // and this agent has one thread.
        unsafe { (*element.qp).qp_num }
    });
    // SAFETY: an event that ibv_get_async_event gave out, acknowledged once.
    unsafe { ibv::ibv_ack_async_event(event.as_mut_ptr()) };
    Some(Event { name: names::event(kind), qpn })
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
