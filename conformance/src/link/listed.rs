//! Faults by the number of the frame: what a property test shrinks and a fuzzer chooses.

use std::collections::BTreeMap;

use super::End;
use super::fate::{Fate, Fates};

/// Faults by the number of the frame. Frames that nobody speaks of arrive.
#[derive(Debug, Clone, Default)]
pub struct Listed {
    fates: BTreeMap<(End, u64), Fate>,
    sent: [u64; 2],
}

impl Listed {
    /// From pairs of a frame (who sends it, its number among those it sends, from 0) and what happens to it.
    pub fn new(fates: impl IntoIterator<Item = ((End, u64), Fate)>) -> Listed {
        Listed { fates: fates.into_iter().collect(), sent: [0; 2] }
    }
}

impl Fates for Listed {
    fn fate(&mut self, from: End, _frame: &[u8]) -> Fate {
        let sent = &mut self.sent[from as usize];
        let number = *sent;
        *sent += 1;
        self.fates.get(&(from, number)).copied().unwrap_or_default()
    }
}
