//! The surroundings of a frame.

use std::collections::VecDeque;

use crate::capture::CapturedFrame;

/// Takes one frame and so many on each side.
#[derive(Debug)]
pub(super) struct Around {
    number: u64,
    context: usize,
    before: VecDeque<CapturedFrame>,
    /// How many may still come; `None` before the frame itself.
    left: Option<usize>,
}

impl Around {
    pub(super) fn new(number: u64, context: usize) -> Around {
        Around { number, context, before: VecDeque::new(), left: None }
    }

    /// The next frame of the file; gives those that are to be written now. The frame itself is written whether or not it
    /// is wanted otherwise.
    pub(super) fn take(&mut self, captured: CapturedFrame, is_wanted: bool) -> Vec<CapturedFrame> {
        match &mut self.left {
            None if captured.number == self.number => {
                self.left = Some(self.context);
                self.before.push_back(captured);
                std::mem::take(&mut self.before).into()
            }
            None if is_wanted && self.context > 0 => {
                if self.before.len() == self.context {
                    self.before.pop_front();
                }
                self.before.push_back(captured);
                Vec::new()
            }
            Some(left) if is_wanted && *left > 0 => {
                *left -= 1;
                vec![captured]
            }
            _ => Vec::new(),
        }
    }

    /// No more can be written.
    pub(super) fn is_over(&self) -> bool {
        self.left == Some(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(number: u64, context: usize, wanted: impl Fn(u64) -> bool) -> Vec<u64> {
        let mut around = Around::new(number, context);
        let mut taken = Vec::new();
        for number in 1..=100 {
            let captured = CapturedFrame { number, ..CapturedFrame::default() };
            taken.extend(around.take(captured, wanted(number)).iter().map(|captured| captured.number));
            if around.is_over() {
                break;
            }
        }
        taken
    }

    #[test]
    fn so_many_on_each_side_of_those_that_fit() {
        assert_eq!(taken(50, 2, |_| true), [48, 49, 50, 51, 52]);
        assert_eq!(taken(50, 2, |number| number % 10 == 0), [30, 40, 50, 60, 70]);
        assert_eq!(taken(55, 1, |number| number % 10 == 0), [50, 55, 60]);
        assert_eq!(taken(1, 2, |_| true), [1, 2, 3]);
        assert_eq!(taken(100, 1, |_| true), [99, 100]);
        assert_eq!(taken(7, 0, |_| true), [7]);
        assert!(taken(101, 3, |_| true).is_empty());
    }
}
