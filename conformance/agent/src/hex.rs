//! Bytes as hex digits, two for each, without separators.

pub(crate) fn encode(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Upper and lower case digits; anything else, and an odd number of them, is an error that says what is wrong.
pub(crate) fn decode(text: &str) -> Result<Vec<u8>, String> {
    if !text.len().is_multiple_of(2) {
        return Err(format!("data: {} hex digits are no whole number of bytes", text.len()));
    }
    let digit = |at: usize| match text.as_bytes()[at] {
        d @ b'0'..=b'9' => Ok(d - b'0'),
        d @ b'a'..=b'f' => Ok(d - b'a' + 10),
        d @ b'A'..=b'F' => Ok(d - b'A' + 10),
        _ => Err(format!("data: no hex digit at position {at}")),
    };
    (0..text.len()).step_by(2).map(|at| Ok(digit(at)? << 4 | digit(at + 1)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_their_digits() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&bytes)), Ok(bytes.clone()));
        assert_eq!(decode(&encode(&bytes).to_uppercase()), Ok(bytes));
    }

    #[test]
    fn what_is_no_hex_is_refused_with_its_position() {
        assert_eq!(decode("abc"), Err("data: 3 hex digits are no whole number of bytes".to_owned()));
        assert_eq!(decode("ab0x"), Err("data: no hex digit at position 3".to_owned()));
        assert!(decode("éé").is_err());
    }
}
