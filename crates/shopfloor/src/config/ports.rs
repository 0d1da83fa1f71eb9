//! A range of ports as people write it: `21000-21999`.

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// The first and the last port, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    first: u16,
    last: u16,
}

impl PortRange {
    /// Below what kernels give to whoever asks for any port.
    pub const DEFAULT: PortRange = PortRange { first: 21_000, last: 21_999 };

    pub fn range(self) -> RangeInclusive<u16> {
        self.first..=self.last
    }
}

impl FromStr for PortRange {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ends = text.split_once('-').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        match ends {
            // Lower ones are the system's.
            Some((first, last)) if first >= 1024 && first <= last => Ok(PortRange { first, last }),
            _ => {
                Err(format!("{text:?} is not a range of ports: write \"21000-21999\", from 1024 up to 65535"))
            }
        }
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

impl Serialize for PortRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PortRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = PortRange;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a range of ports in quotes, such as \"21000-21999\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<PortRange, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl schemars::JsonSchema for PortRange {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PortRange".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A range of ports: 21000-21999.",
            "pattern": "^[0-9]{4,5}-[0-9]{4,5}$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_understood_and_written_back_and_nothing_else_is() {
        let range: PortRange = "1024-65535".parse().unwrap();
        assert_eq!((range.range(), range.to_string()), (1024..=65535, "1024-65535".to_owned()));
        for bad in ["", "21000", "21999-21000", "80-90", "21000-70000", "21000 - 21001", "a-b"] {
            assert!(bad.parse::<PortRange>().is_err(), "{bad:?}");
        }
    }
}
