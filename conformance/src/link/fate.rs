//! What happens to one frame on its way, and who decides.

use std::fmt;
use std::time::Duration;

use super::End;

/// What happens to one frame on its way. Left at its default: it arrives, after the delay of the cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Fate {
    /// It never arrives.
    pub lost: bool,
    /// It arrives so many times more, right behind itself, or later when it is overtaken too. Only the first of
    /// them is damaged.
    pub copies: u8,
    /// So many of the frames sent after it arrive before it; fewer when too few follow in time, see [`Link::patient`](super::Link::patient).
    pub behind: u32,
    /// It takes so much longer, and so does what follows, as in a queue: the order is kept.
    pub queued: Duration,
    /// It alone takes so much longer; others overtake it.
    pub late: Duration,
    /// A switch on the way says that it was congested, when the packet lets it (ECN other than 00).
    pub congested: bool,
    /// It does not arrive as it was sent.
    pub damage: Option<Damage>,
}

impl Fate {
    /// It never arrives.
    pub const LOST: Fate = Fate {
        lost: true,
        copies: 0,
        behind: 0,
        queued: Duration::ZERO,
        late: Duration::ZERO,
        congested: false,
        damage: None,
    };
}

/// As what is said of a packet: "is lost", "arrives behind 2 others".
impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.lost {
            return f.write_str("is lost");
        }
        f.write_str(match self.copies {
            0 => "arrives",
            _ => "arrives more than once",
        })?;
        match self.behind {
            0 => {}
            1 => f.write_str(" behind another one")?,
            many => write!(f, " behind {many} others")?,
        }
        let late = self.late + self.queued;
        if late > Duration::ZERO {
            write!(f, " {late:?} late")?;
        }
        if self.congested {
            f.write_str(", marked as having met congestion")?;
        }
        match self.damage {
            Some(Damage::Bit(bit)) => write!(f, ", damaged at bit {bit}"),
            Some(Damage::Cut(length)) => write!(f, ", cut to {length} bytes"),
            Some(Damage::Content) => f.write_str(", damaged"),
            None => Ok(()),
        }
    }
}

/// What the frame check sequence of Ethernet failed to notice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Damage {
    /// This bit is turned over, counted from the first of the frame; beyond its end it begins anew.
    Bit(u32),
    /// Only so many bytes arrive.
    Cut(usize),
    /// The last bit in front of the ICRC is turned over: the end of the data or, without any, of the headers.
    Content,
}

/// Says what happens to each frame that is sent.
pub trait Fates: fmt::Debug + Send {
    /// The fate of the next frame.
    fn fate(&mut self, from: End, frame: &[u8]) -> Fate;
}

/// Nothing happens to any frame.
impl Fates for () {
    fn fate(&mut self, _from: End, _frame: &[u8]) -> Fate {
        Fate::default()
    }
}
