//! Bytes that are written as hexadecimal digits.

use std::fmt::{self, Debug, Display};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes; in JSON a string of hexadecimal digits, two for each.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Bytes(pub Vec<u8>);

impl Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bytes({self})")
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bytes, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        let digits: Option<Vec<u8>> =
            text.chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
        match digits.filter(|digits| digits.len().is_multiple_of(2)) {
            Some(digits) => Ok(Bytes(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())),
            None => Err(D::Error::custom("bytes are hexadecimal digits, two for each")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_digits_in_json() {
        let bytes = Bytes(vec![0, 0x0a, 0xff]);
        assert_eq!(serde_json::to_string(&bytes).unwrap(), "\"000aff\"");
        assert_eq!(serde_json::from_str::<Bytes>("\"000AfF\"").unwrap(), bytes);
        for wrong in ["\"0\"", "\"0g\"", "\"é\"", "7"] {
            assert!(serde_json::from_str::<Bytes>(wrong).is_err(), "{wrong}");
        }
    }
}
