//! Durations as people write them: `30s`, `10m`, `3h`, `1h30m`, `500ms`.

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use shopfloor_core::time::{SPAN_UNITS, SpanError, parse_span};
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A length of time in a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(pub Duration);

impl Span {
    pub const fn mins(mins: u64) -> Self {
        Span(Duration::from_secs(mins * 60))
    }
}

impl FromStr for Span {
    type Err = SpanError;

    fn from_str(text: &str) -> Result<Self, SpanError> {
        parse_span(text).map(Span)
    }
}

/// The shortest form that parses back to the same value. Days are written in hours: `24h` is what
/// people put into such files.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut millis = self.0.as_millis() as u64;
        if millis == 0 {
            return f.write_str("0s");
        }
        for (unit, size) in &SPAN_UNITS[1..] {
            if millis >= *size {
                write!(f, "{}{unit}", millis / size)?;
                millis %= size;
            }
        }
        Ok(())
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Span;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration in quotes, such as \"30s\", \"10m\" or \"1h30m\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Span, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Text)
    }
}

impl schemars::JsonSchema for Span {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A length of time: 500ms, 30s, 10m, 3h, 1h30m.",
            "pattern": "^(?=.)([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_understood_and_written_back() {
        let check = |text: &str, millis: u64, back: &str| {
            let span: Span = text.parse().unwrap_or_else(|e| panic!("{text:?}: {e}"));
            assert_eq!(span.0, Duration::from_millis(millis), "{text:?}");
            assert_eq!(span.to_string(), back, "{text:?}");
            assert_eq!(back.parse(), Ok(span), "{back:?}");
        };
        check("500ms", 500, "500ms");
        check("30s", 30_000, "30s");
        check("10m", 600_000, "10m");
        check("3h", 10_800_000, "3h");
        check("1h30m", 5_400_000, "1h30m");
        check("1m0s500ms", 60_500, "1m500ms");
        check("90s", 90_000, "1m30s");
        check("2d", 172_800_000, "48h");
        check("0s", 0, "0s");
    }

    #[test]
    fn anything_else_is_refused() {
        for bad in
            ["", "10", "m", "10 minuets", "1.5h", "-1s", "30m1h", "1h1h", "10M", "1h 30m", "10mm", "٣s"]
        {
            let error = bad.parse::<Span>().unwrap_err();
            assert_eq!(error.to_string(), format!("{bad:?} is not a duration: write 30s, 10m, 3h or 1h30m"));
        }
        for long in ["367d", "99999999999999999999h", "18446744073709551615h"] {
            assert_eq!(long.parse::<Span>(), Err(SpanError::TooLong(long.into())));
        }
    }
}
