//! What a queue pair sends when its software posts requests.

use rocespec_model::{SendOperation, SendRequest};

use crate::harness::{Lab, MTU, look, pattern};

/// A request for the first bytes of the region.
pub(crate) fn request(operation: SendOperation, length: u32) -> SendRequest {
    SendRequest { length, ..SendRequest::new(1, operation) }
}

/// Posts a request and gives the frames that leave.
pub(crate) fn post(lab: &mut Lab, request: SendRequest) -> Vec<Vec<u8>> {
    lab.set_memory(0, &pattern(4 * MTU));
    let request = SendRequest { mr: lab.mr.handle, ..request };
    lab.port.post_send(lab.qp, &request).unwrap();
    lab.frames.clear();
    lab.collect();
    lab.frames.clone()
}

/// Opcode, PSN and payload length of each frame; the PSN counts from the first one of the connection.
pub(crate) fn shape(lab: &Lab, frames: &[Vec<u8>]) -> Vec<String> {
    let start = lab.options.start_psn;
    let line = |frame: &Vec<u8>| {
        look(frame, |packet| {
            let name = packet.bth.opcode.info().map_or("?", |info| info.name);
            format!("{name} {} {}B", packet.bth.psn.minus(start).get(), packet.payload.len())
        })
    };
    frames.iter().map(line).collect()
}
