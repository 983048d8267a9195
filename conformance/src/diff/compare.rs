//! What differs between two recordings.

use std::collections::HashSet;
use std::time::Duration;

use super::align;
use super::judge::{self, Acknowledged, payload_len};
use super::matching::{self, Match, facing};
use super::memory::{Named, Regions};
use super::result::{Comparison, Connection, Counts, Decided, Differing, End, FieldDifference, Place, Whole};
use super::side::{Conversation, Form, Packet, Role, Side, Stream, Who};
use super::throughout::Habits;
use crate::duration;
use crate::golden::{self, Pair};

/// How to compare.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Compare the time from one packet of a connection to the next, too: the same when it differs by no more than this.
    pub timing: Option<Duration>,
    /// Only this connection of the first recording, 1 = first.
    pub connection: Option<usize>,
    /// Most differing packets of each connection that are listed. All are counted.
    pub limit: usize,
}

/// Holds two recordings of the same form against each other.
pub fn compare(sides: &mut [Side; 2], options: &Options) -> Comparison {
    let [one, other] = &*sides;
    let mut matches = matching::connections([one, other]);
    matches.retain(|found| {
        options.connection.is_none_or(|number| found.places[0].is_some_and(|place| place + 1 == number))
    });
    let mut comparison = Comparison { connections: Vec::new(), counts: Counts::default() };
    for found in matches {
        let begins_later = count_alike(sides, &found);
        let conversations = [0, 1].map(|side| found.places[side].map(|place| &sides[side].connections[place]));
        let ends = [0, 1].map(|side| found.places[side].map(|place| end(place, &sides[side].connections[place])));
        let mut connection = Connection {
            ends,
            begins_later,
            throughout: Vec::new(),
            differences: Vec::new(),
            unlisted: 0,
            counts: Counts::default(),
        };
        match conversations {
            [Some(one), Some(other)] => {
                connection.counts.paired = 1;
                fill(&mut connection, [one, other], found.swapped, sides[0].form, options);
            }
            [one, other] => {
                connection.counts.alone = 1;
                connection.counts.missing = one.map_or(0, |one| one.packets() as u64);
                connection.counts.extra = other.map_or(0, |other| other.packets() as u64);
            }
        }
        comparison.counts.add(&connection.counts);
        comparison.connections.push(connection);
    }
    comparison
}

/// Makes the PSNs of the second recording count from where those of the first do, and says how much that is for each sender
/// of requests.
fn count_alike(sides: &mut [Side; 2], found: &Match) -> [i32; 2] {
    let [Some(one), Some(other)] = found.places else { return [0; 2] };
    let [first, second] = sides;
    let (one, other) = (&first.connections[one], &mut second.connections[other]);
    [Who::A, Who::B].map(|who| {
        let there = facing(who, found.swapped);
        let is_of = |stream: &Stream, who| stream.who == who && stream.role == Role::Request;
        let requests = one.streams.iter().find(|stream| is_of(stream, who));
        let others = other.streams.iter().find(|stream| is_of(stream, there));
        let shift = requests.zip(others).map_or(0, |(one, other)| matching::shift(one, other));
        // Requests of an end, and the responses of the other, have their PSNs in common.
        let shares = |stream: &&mut Stream| (stream.role == Role::Response) != (stream.who == there);
        if shift != 0 {
            for packet in other.streams.iter_mut().filter(shares).flat_map(|stream| &mut stream.packets) {
                packet.psn = packet.psn.map(|psn| psn.wrapping_add(shift));
            }
        }
        shift
    })
}

fn end(place: usize, conversation: &Conversation) -> End {
    End {
        number: place + 1,
        transport: conversation.transport,
        ends: conversation.ends.clone(),
        packets: conversation.packets() as u64,
    }
}

/// Compares two connections, sender by sender and role by role.
fn fill(connection: &mut Connection, conversations: [&Conversation; 2], swapped: bool, form: Form, options: &Options) {
    let packets = |side: usize, who: Who, role: Role| {
        let who = if side == 0 { who } else { facing(who, swapped) };
        let is_it = |stream: &&Stream| stream.who == who && stream.role == role;
        let stream = conversations[side].streams.iter().find(is_it);
        stream.map_or(&[][..], |stream| &stream.packets)
    };
    let mut listed = Vec::new();
    for (who, peer) in [(Who::A, Who::B), (Who::B, Who::A), (Who::Software, Who::Software)] {
        for role in Role::ALL {
            let sides = [0, 1].map(|side| packets(side, who, role));
            let sent_to = [0, 1].map(|side| packets(side, peer, Role::Request));
            Sender { who, sides, sent_to, form, options }.compare(connection, &mut listed);
        }
    }
    listed.sort_by_key(|(place, _)| *place);
    let rest = listed.len().saturating_sub(options.limit);
    listed.truncate(options.limit);
    connection.unlisted += rest as u64;
    connection.differences = listed.into_iter().map(|(_, difference)| difference).collect();
}

/// Where a difference stands in a list: behind this frame of the first recording, at this one of the second.
type Order = (u64, u64);

/// What one sender sent in one role, in each recording.
struct Sender<'s> {
    who: Who,
    sides: [&'s [Packet]; 2],
    /// What was sent to it.
    sent_to: [&'s [Packet]; 2],
    form: Form,
    options: &'s Options,
}

impl Sender<'_> {
    fn compare(&self, connection: &mut Connection, listed: &mut Vec<(Order, Differing)>) {
        let [left, right] = self.sides;
        let pairs = align::align(left, right);
        let moved = align::moved(left, right, &pairs);
        let arrived: HashSet<usize> = moved.values().copied().collect();
        let regions = self.regions(&pairs);
        let again = self.again();
        let mut habits = Habits::default();
        for pair in &pairs {
            if let Pair::Both(l, r) = *pair
                && left[l].head() == right[r].head()
            {
                let fields = self.fields(l, r, &regions, &again);
                habits.count(left[l].head(), [left[l].at, right[r].at], &fields);
            }
        }
        habits.settle();
        let acknowledged: Vec<Acknowledged> = match pairs.iter().all(|pair| matches!(pair, Pair::Both(..))) {
            true => Vec::new(),
            false => (0..2)
                .map(|side| Acknowledged::new(self.sides[side], self.sent_to[side], self.sides[1 - side]))
                .collect(),
        };
        let (first, mut behind) = (listed.len(), 0);
        let mut list = |order: Order, difference: Differing| {
            if listed.len() - first < self.options.limit {
                listed.push((order, difference));
            } else {
                connection.unlisted += 1;
            }
        };
        let counts = &mut connection.counts;
        for pair in &pairs {
            match *pair {
                Pair::Both(l, r) => {
                    behind = left[l].at;
                    let order = (behind, right[r].at);
                    if let Some(whole) = self.other(l, r, &regions) {
                        counts.differing += 1;
                        list(order, self.whole([Some(l), Some(r)], &regions, whole));
                        continue;
                    }
                    let mut fields = self.fields(l, r, &regions, &again);
                    *match () {
                        () if fields.is_empty() => &mut counts.same,
                        () if fields.iter().all(|field| field.decided.free) => &mut counts.free,
                        () => &mut counts.differing,
                    } += 1;
                    fields.retain(|field| !habits.holds(left[l].head(), field));
                    if !fields.is_empty() {
                        let places = [self.place(0, l, &regions), self.place(1, r, &regions)].map(Some);
                        list(order, Differing { from: self.who, places, whole: None, fields });
                    }
                }
                Pair::Left(l) => {
                    behind = left[l].at;
                    let (what, place, decided) = match moved.get(&l) {
                        Some(&r) => ("moved", Some(r), Decided::open()),
                        None => ("missing", None, acknowledged[0].lonely(self.form, left, l)),
                    };
                    *match () {
                        () if what == "moved" => &mut counts.moved,
                        () if decided.free => &mut counts.free,
                        () => &mut counts.missing,
                    } += 1;
                    list((behind, 0), self.whole([Some(l), place], &regions, Whole { what, decided }));
                }
                // It is said where the first recording has it.
                Pair::Right(r) if arrived.contains(&r) => {}
                Pair::Right(r) => {
                    let decided = acknowledged[1].lonely(self.form, right, r);
                    *if decided.free { &mut counts.free } else { &mut counts.extra } += 1;
                    let whole = Whole { what: "extra", decided };
                    list((behind, right[r].at), self.whole([None, Some(r)], &regions, whole));
                }
            }
        }
        connection.throughout.extend(habits.said(self.who));
    }

    /// Which memory of one recording is which of the other.
    fn regions(&self, pairs: &[Pair]) -> Regions {
        let mut regions = Regions::default();
        for pair in pairs {
            if let Pair::Both(l, r) = *pair
                && let (Some(one), Some(other)) = (self.sides[0][l].memory, self.sides[1][r].memory)
            {
                regions.learn([one, other]);
            }
        }
        regions
    }

    /// For each packet of the second recording whether it was sent before; empty where times are not compared.
    fn again(&self) -> Vec<bool> {
        let mut seen = HashSet::new();
        let mut is_again = |packet| !seen.insert((Packet::head(packet), packet.psn));
        match self.options.timing {
            Some(_) => self.sides[1].iter().map(&mut is_again).collect(),
            None => Vec::new(),
        }
    }

    fn named(&self, side: usize, at: usize, regions: &Regions) -> Option<Named> {
        self.sides[side][at].memory.map(|memory| regions.name(side, memory))
    }

    /// A packet taken apart by fields.
    fn taken_apart(&self, side: usize, at: usize, regions: &Regions) -> golden::Packet {
        self.sides[side][at].fields(self.named(side, at, regions).as_ref())
    }

    fn place(&self, side: usize, at: usize, regions: &Regions) -> Place {
        let packet = &self.sides[side][at];
        let text = packet.text(self.named(side, at, regions).as_ref());
        Place { frame: packet.at, time_ns: packet.time_ns, packet: text }
    }

    fn whole(&self, at: [Option<usize>; 2], regions: &Regions, whole: Whole) -> Differing {
        let places = [0, 1].map(|side| at[side].map(|at| self.place(side, at, regions)));
        Differing { from: self.who, places, whole: Some(whole), fields: Vec::new() }
    }

    /// Says that two packets are of different kinds; of lines that cannot be taken apart, that they are not the same.
    fn other(&self, l: usize, r: usize, regions: &Regions) -> Option<Whole> {
        let (one, other) = (&self.sides[0][l], &self.sides[1][r]);
        let is_other = || {
            let fields = [self.taken_apart(0, l, regions), self.taken_apart(1, r, regions)];
            fields.iter().any(|packet| packet.values.is_empty()) && fields[0].line != fields[1].line
        };
        (one.head() != other.head() || one.line != other.line && is_other())
            .then(|| Whole { what: "other", decided: Decided::open() })
    }

    /// The fields in which two packets of one kind differ.
    fn fields(&self, l: usize, r: usize, regions: &Regions, again: &[bool]) -> Vec<FieldDifference> {
        let (one, other) = (&self.sides[0][l], &self.sides[1][r]);
        let memory = match (one.memory, other.memory) {
            (Some(one), Some(other)) => regions.agree([one, other]),
            (one, other) => one == other,
        };
        let is_same = one.line == other.line && one.psn == other.psn && memory && one.mad == other.mad;
        let mut fields = Vec::new();
        if !is_same {
            let (one, other) = (self.taken_apart(0, l, regions), self.taken_apart(1, r, regions));
            fields.extend(golden::fields(&one, &other).into_iter().filter_map(|(name, values)| {
                let values = values.map(golden::told);
                (!is_cut(name, &values)).then(|| self.field(one.head(), name, values))
            }));
        }
        fields.extend(self.time(l, r, again));
        fields
    }

    fn field(&self, head: &str, name: &str, values: [String; 2]) -> FieldDifference {
        let decided = judge::field(self.form, head, name, [&values[0], &values[1]]);
        FieldDifference { name: name.to_owned(), values, decided }
    }

    /// The time since the packet before, where it differs by more than is tolerated.
    fn time(&self, l: usize, r: usize, again: &[bool]) -> Option<FieldDifference> {
        let tolerance = self.options.timing?;
        let packets = [&self.sides[0][l], &self.sides[1][r]];
        let delays = packets.map(|packet| Duration::from_nanos(packet.delay_ns));
        let is_off = delays[0].abs_diff(delays[1]) > tolerance;
        let is_again = again.get(r).copied().unwrap_or(false);
        is_off.then(|| FieldDifference {
            name: "time".to_owned(),
            values: delays.map(|delay| format!("+{}", duration::text(delay))),
            decided: judge::moment(packets[1].head(), is_again),
        })
    }
}

/// True for a payload that one capture has not kept, when both are as long.
fn is_cut(name: &str, values: &[String; 2]) -> bool {
    name == "data"
        && values.iter().any(|value| value.ends_with("=*"))
        && payload_len(&values[0]) == payload_len(&values[1])
}
