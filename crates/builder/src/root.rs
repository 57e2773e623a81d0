//! A block's root, as beacon nodes write it.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use std::{fmt, str::FromStr};

/// The hash tree root of a block: what tells two blocks of one slot apart.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Root(pub [u8; 32]);

/// Not a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a root, which is 0x and 1 to 64 hexadecimal digits")]
pub struct RootError;

impl FromStr for Root {
    type Err = RootError;

    /// Short ones are padded on the left, so that logs written by hand stay readable.
    fn from_str(text: &str) -> Result<Self, RootError> {
        let digits = text.strip_prefix("0x").ok_or(RootError)?.as_bytes();
        if digits.is_empty() || digits.len() > 64 {
            return Err(RootError);
        }
        let mut bytes = [0; 32];
        for (place, digit) in digits.iter().rev().enumerate() {
            let value = char::from(*digit).to_digit(16).ok_or(RootError)?;
            // A hexadecimal digit is below 16.
            bytes[31 - place / 2] |= (value as u8) << (4 * (place % 2));
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("0x")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Root {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Root {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_roots_are_padded_on_the_left() {
        let root: Root = "0xabc".parse().unwrap();
        assert_eq!(root.0[30..], [0x0a, 0xbc]);
        assert_eq!(root.to_string(), format!("0x{}abc", "0".repeat(61)));
        assert_eq!(root.to_string().parse(), Ok(root));
    }

    #[test]
    fn what_is_no_root_is_refused() {
        for text in ["", "0x", "abc", "0xg", "0x+1", &format!("0x{}", "0".repeat(65)), "0xä"] {
            assert_eq!(text.parse::<Root>(), Err(RootError), "{text}");
        }
    }
}
