//! Names of hand sessions, `hand-…-hN`: those that run on the floor beside the factory's own. The names of their
//! worktrees, branches and rescue refs follow from them.
//!
//! A name is safe for tmux, a path and a shell, is bounded, and is never that of a job's session, which begins
//! with its role.

use std::fmt;

/// A session's name: its stem, and a number that no other session of the floor has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HandName {
    stem: String,
    number: u64,
}

impl HandName {
    pub const PREFIX: &str = "hand-";
    /// The limit for a name without its number.
    pub const BYTES_MAX: usize = 160;

    /// `stem` must be a valid stem.
    pub fn new(stem: String, number: u64) -> HandName {
        HandName { stem, number }
    }

    /// Reads a name back. `None`: it cannot be a hand session's.
    pub fn parse(name: &str) -> Option<HandName> {
        let (stem, number) = name.rsplit_once("-h")?;
        let digits = !number.starts_with('0') && number.bytes().all(|b| b.is_ascii_digit());
        let number = number.parse().ok().filter(|_| digits)?;
        HandName::is_stem(stem).then(|| HandName { stem: stem.to_owned(), number })
    }

    /// Whether a text can be the stem of a hand session's name: then it is safe as a file name.
    pub fn is_stem(text: &str) -> bool {
        let good = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        text.starts_with(HandName::PREFIX)
            && text.len() > HandName::PREFIX.len()
            && text.len() <= HandName::BYTES_MAX
            && text.bytes().all(good)
    }

    pub fn stem(&self) -> &str {
        &self.stem
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    /// Its own branch, unless another was named.
    pub fn branch(&self) -> String {
        let name = self.to_string();
        format!("hand/{}", name.strip_prefix(HandName::PREFIX).unwrap_or(&name))
    }
}

impl fmt::Display for HandName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-h{}", self.stem, self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back_and_others_are_not_taken_for_them() {
        let name = HandName::new("hand-demo-create-5-5-3-r2".to_owned(), 17);
        assert_eq!(name.to_string(), "hand-demo-create-5-5-3-r2-h17");
        assert_eq!(HandName::parse(&name.to_string()), Some(name));
        for other in [
            "dev-demo-1-e1",
            "review-demo-1-e2",
            "shopfloor",
            "hand-demo",
            "hand--h",
            "hand-x-h01",
            "hand-x-h+1",
            "hand-../x-h1",
            "hand-x.y-h1",
            "-h1",
            "hand--h1x",
            "",
        ] {
            assert_eq!(HandName::parse(other), None, "{other}");
        }
    }
}
