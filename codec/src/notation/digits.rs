//! Numbers and bytes to digits, without the formatting machinery: lines are printed by the million.

use core::fmt;
use core::net::Ipv4Addr;

use arrayvec::ArrayVec;

/// The two hex digits of each byte.
static PAIRS: [[u8; 2]; 256] = {
    let digits = b"0123456789abcdef";
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [digits[byte >> 4], digits[byte & 0xf]];
        byte += 1;
    }
    pairs
};

/// Bytes that are turned into digits at a time.
const CHUNK: usize = 64;

/// What takes text in small pieces.
pub(super) trait Sink: fmt::Write {
    /// Takes ASCII.
    fn ascii(&mut self, text: &[u8]) -> fmt::Result;
}

impl Sink for fmt::Formatter<'_> {
    fn ascii(&mut self, text: &[u8]) -> fmt::Result {
        self.write_str(core::str::from_utf8(text).map_err(|_| fmt::Error)?)
    }
}

/// Gathers pieces: to hand over a long one costs no more than a short one.
pub(super) struct Gather<'g, 'f> {
    to: &'g mut fmt::Formatter<'f>,
    text: ArrayVec<u8, 256>,
}

impl<'g, 'f> Gather<'g, 'f> {
    pub(super) fn new(to: &'g mut fmt::Formatter<'f>) -> Self {
        Gather { to, text: ArrayVec::new() }
    }

    /// Hands over what there is.
    pub(super) fn flush(&mut self) -> fmt::Result {
        self.to.ascii(&self.text)?;
        self.text.clear();
        Ok(())
    }
}

impl fmt::Write for Gather<'_, '_> {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.text.try_extend_from_slice(text.as_bytes()).is_err() {
            self.flush()?;
            return self.to.write_str(text);
        }
        Ok(())
    }
}

impl Sink for Gather<'_, '_> {
    #[inline]
    fn ascii(&mut self, text: &[u8]) -> fmt::Result {
        if self.text.try_extend_from_slice(text).is_err() {
            self.flush()?;
            return self.to.ascii(text);
        }
        Ok(())
    }
}

/// Writes a number in decimal.
pub(super) fn decimal(f: &mut impl Sink, mut number: u64) -> fmt::Result {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return f.ascii(&digits[at..]);
        }
    }
}

/// Writes a number in hex, with `0x` and at least `width` digits.
pub(super) fn hex(f: &mut impl Sink, number: u64, width: usize) -> fmt::Result {
    let mut digits = [0; 18];
    for (pair, byte) in digits[2..].chunks_exact_mut(2).zip(number.to_be_bytes()) {
        pair.copy_from_slice(&PAIRS[usize::from(byte)]);
    }
    let needed = (16 - number.leading_zeros() as usize / 4).max(width).clamp(1, 16);
    let start = 16 - needed;
    digits[start..start + 2].copy_from_slice(b"0x");
    f.ascii(&digits[start..])
}

/// Writes an IPv4 address.
pub(super) fn v4(f: &mut impl Sink, address: Ipv4Addr) -> fmt::Result {
    let (mut text, mut len) = ([b'.'; 16], 0);
    for octet in address.octets() {
        let digits = [octet / 100, octet / 10 % 10, octet % 10];
        let zeroes = usize::from(octet < 100) + usize::from(octet < 10);
        for digit in &digits[zeroes..] {
            text[len] = b'0' + digit;
            len += 1;
        }
        len += 1;
    }
    f.ascii(&text[..len - 1])
}

/// Writes bytes as pairs of hex digits.
pub(super) fn pairs(f: &mut impl Sink, bytes: &[u8]) -> fmt::Result {
    for chunk in bytes.chunks(CHUNK) {
        let mut digits = [0; 2 * CHUNK];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(chunk) {
            pair.copy_from_slice(&PAIRS[usize::from(*byte)]);
        }
        f.ascii(&digits[..2 * chunk.len()])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrayvec::ArrayString;
    use core::fmt::Write;

    /// Displays by a function.
    struct By<F>(F);

    impl<F: Fn(&mut fmt::Formatter<'_>) -> fmt::Result> fmt::Display for By<F> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            (self.0)(f)
        }
    }

    fn text(write: impl Fn(&mut fmt::Formatter<'_>) -> fmt::Result) -> ArrayString<400> {
        let mut text = ArrayString::new();
        write!(text, "{}", By(write)).unwrap();
        text
    }

    #[test]
    fn digits_are_those_of_the_formatting_machinery() {
        let mut expected = ArrayString::<400>::new();
        for number in [0, 1, 9, 10, 15, 16, 255, 256, 99_999, 0xff_ffff, u64::from(u32::MAX), u64::MAX - 1, u64::MAX] {
            let mut check = |seen: ArrayString<400>, right: fmt::Arguments<'_>| {
                expected.clear();
                expected.write_fmt(right).unwrap();
                assert_eq!(seen, expected);
            };
            check(text(|f| decimal(f, number)), format_args!("{number}"));
            check(text(|f| hex(f, number, 1)), format_args!("{number:#x}"));
            check(text(|f| hex(f, number, 6)), format_args!("{number:#08x}"));
        }
    }

    #[test]
    fn addresses_are_those_of_the_formatting_machinery() {
        for octets in [[0, 1, 9, 10], [11, 99, 100, 101], [199, 200, 250, 255], [255; 4], [0; 4]] {
            let mut expected = ArrayString::<400>::new();
            write!(expected, "{}", Ipv4Addr::from(octets)).unwrap();
            assert_eq!(text(|f| v4(f, octets.into())), expected);
        }
    }

    #[test]
    fn bytes_are_pairs_of_digits() {
        assert_eq!(&text(|f| pairs(f, &[])), "");
        assert_eq!(&text(|f| pairs(f, &[0, 0x0a, 0xff])), "000aff");
        let long = text(|f| pairs(f, &[0x5a; CHUNK + 1]));
        assert!(long.len() == 2 * CHUNK + 2 && long.as_bytes().chunks(2).all(|pair| pair == b"5a"));
    }
}
