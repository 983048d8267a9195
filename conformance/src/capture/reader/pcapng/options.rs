//! Options: code, length, value, padding to four bytes (3.5).

use crate::capture::reader::order::Order;

const END: u16 = 0;
const COMMENT: u16 = 1;

/// The options of a block, as code and value. They end at the mark for it, or where the bytes do.
#[derive(Debug, Clone, Copy)]
pub(in crate::capture::reader) struct Options<'b> {
    bytes: &'b [u8],
    order: Order,
}

impl<'b> Options<'b> {
    pub(in crate::capture::reader) fn new(bytes: &'b [u8], order: Order) -> Self {
        Self { bytes, order }
    }

    /// The comments, a line each.
    pub(in crate::capture::reader) fn comment(self) -> Option<String> {
        let mut comments = self.filter(|(code, _)| *code == COMMENT).map(|(_, text)| String::from_utf8_lossy(text));
        let mut all = comments.next()?.trim_end_matches('\0').to_owned();
        for comment in comments {
            all.push('\n');
            all.push_str(comment.trim_end_matches('\0'));
        }
        Some(all)
    }

    /// The value of the first option with this code.
    pub(super) fn value(mut self, wanted: u16) -> Option<&'b [u8]> {
        self.find(|(code, _)| *code == wanted).map(|(_, value)| value)
    }
}

impl<'b> Iterator for Options<'b> {
    type Item = (u16, &'b [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (head, behind) = self.bytes.split_at_checked(4)?;
        let (code, len) = (self.order.u16(head, 0), usize::from(self.order.u16(head, 2)));
        let (value, rest) = behind.split_at_checked(len.next_multiple_of(4))?;
        self.bytes = rest;
        if code == END { None } else { Some((code, &value[..len])) }
    }
}
