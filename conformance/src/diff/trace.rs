//! A golden trace as a side: each variant is a connection. Its numbers are symbols already.

use rocespec_reports::outcome::Actor;

use super::side::{Conversation, Form, PSN, Packet, Side, SideError, Stream, Who};
use crate::golden;

/// First bytes of a golden trace.
const FIRST: &[u8] = b"rocespec golden ";

impl Side {
    /// True when a file that begins so is meant as a golden trace.
    pub fn is_trace(beginning: &[u8]) -> bool {
        beginning.starts_with(FIRST)
    }

    /// Bytes that [`is_trace`](Side::is_trace) has to see.
    pub const BEGINNING: usize = FIRST.len();

    /// Reads a golden trace.
    ///
    /// # Errors
    /// The first line that is wrong, or more lines than can be held.
    pub fn trace(name: &str, text: &str) -> Result<Side, SideError> {
        let variants = golden::read(name, text)?;
        let connections: Vec<Conversation> = variants.into_iter().map(|(name, all)| variant(name, &all)).collect();
        let lines = connections.iter().map(Conversation::packets).sum::<usize>();
        if lines > super::MOST_PACKETS {
            return Err(SideError::Long);
        }
        let lines = lines as u64;
        Ok(Side { form: Form::Trace, frames: lines, packets: lines, unreadable: 0, damage: None, connections })
    }
}

fn variant(name: String, recording: &golden::Recording) -> Conversation {
    let streams = [(Who::A, Actor::Tester), (Who::B, Actor::Device), (Who::Software, Actor::Software)];
    let streams = streams.into_iter().flat_map(|(who, actor)| {
        let lines = recording.lines.iter().enumerate().filter(|(_, line)| line.actor == actor);
        Stream::all(who, lines.map(|(at, line)| packet(at, line)).collect(), true)
    });
    let streams = streams.collect();
    let mut conversation = Conversation { transport: "variant", ends: vec![name], streams };
    conversation.set_delays();
    conversation
}

fn packet(at: usize, line: &golden::Line) -> Packet {
    let is_packet = line.text.starts_with(|first: char| first.is_ascii_uppercase());
    let word = line.text.split(' ').find(|word| is_packet && word.starts_with("psn="));
    let psn = word.and_then(|word| word.strip_prefix("psn=")?.parse().ok());
    let text = match (word, psn) {
        (Some(word), Some(_)) => line.text.replacen(word, PSN, 1),
        _ => line.text.clone(),
    };
    let at = at as u64 + 1;
    Packet { at, time_ns: line.time_ns, delay_ns: 0, line: text.into(), psn, memory: None, mad: None }
}
