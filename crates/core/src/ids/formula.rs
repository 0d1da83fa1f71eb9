//! Names in formulas and of the vault's types: safe as file names, as parts of branches, and on command lines.

use super::InvalidName;
use serde::{Deserialize, Serialize};
use std::fmt;

const NAME_BYTES_MAX: usize = 40;

/// Whether it is one word that nothing takes for an option, a path or a pattern.
fn is_word(value: &str) -> bool {
    let other = |b: u8| b == b'-' || b == b'_';
    (1..=NAME_BYTES_MAX).contains(&value.len())
        && value.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || other(b))
        && value.as_bytes()[0].is_ascii_lowercase()
}

macro_rules! word {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            pub const RULE: &'static str =
                "use 1 to 40 of a-z, 0-9, '-' and '_', beginning with a letter";

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidName;
            fn try_from(value: String) -> Result<Self, InvalidName> {
                match is_word(&value) {
                    true => Ok($name(value)),
                    false => Err(InvalidName::new($what, &value, Self::RULE)),
                }
            }
        }

        impl std::str::FromStr for $name {
            type Err = InvalidName;
            fn from_str(s: &str) -> Result<Self, InvalidName> {
                s.to_owned().try_into()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

word!(
    /// A formula's name, which is that of its file.
    FormulaName,
    "formula name"
);
word!(
    /// A schedule's name.
    ScheduleName,
    "schedule name"
);
word!(
    /// The name of a step within its formula.
    StepId,
    "step id"
);
word!(
    /// What kind of thing the vault is asked for.
    RequestType,
    "type"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_be_taken_for_something_else_are_refused() {
        for bad in ["", "-a", "1a", "A", "a b", "a/b", "a.b", "../a", "a\n", "ä"] {
            assert!(bad.parse::<FormulaName>().is_err(), "{bad:?}");
            assert!(bad.parse::<StepId>().is_err(), "{bad:?}");
        }
        for good in ["a", "run-gardener", "step_2"] {
            assert_eq!(good.parse::<FormulaName>().map(String::from).as_deref(), Ok(good));
        }
    }
}
