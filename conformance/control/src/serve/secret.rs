//! The shared secret.

/// Compares without telling by the time it takes where the first difference is, or that there is none in a part. How long
/// the secret is does not count as one: whoever watches the wire sees the lengths of lines anyway.
pub(super) fn is_same(expected: &[u8], given: &[u8]) -> bool {
    let difference = expected.iter().zip(given).fold(0, |all, (a, b)| all | (a ^ b));
    // Else the compiler might leave the loop where the result is known.
    std::hint::black_box(difference) == 0 && expected.len() == given.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_secret_is_the_secret() {
        assert!(is_same(b"secret", b"secret"));
        for given in [&b""[..], b"s", b"secre", b"secret ", b"secrets", b"Secret", b"secreT", b"\0\0\0\0\0\0"] {
            assert!(!is_same(b"secret", given), "{given:?}");
        }
    }
}
