//! A story's key, as given by a person or a program: safe inside a path, a branch name and an argument.

use shopfloor_core::ids::InvalidName;
use std::fmt;

const CHARS_MAX: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoryKey(String);

impl StoryKey {
    pub const RULE: &'static str = "use 1 to 100 characters, no `/`, no `..`, no control characters, and \
                                    neither `-` nor `.` at the beginning";

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for StoryKey {
    type Err = InvalidName;
    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let good = (1..=CHARS_MAX).contains(&text.chars().count())
            && !text.contains(|c: char| c.is_control() || c == '/' || shopfloor_core::text::is_invisible(c))
            && !text.contains("..")
            && !text.starts_with(['-', '.']);
        if good {
            return Ok(StoryKey(text.to_owned()));
        }
        Err(InvalidName { what: "key", value: text.chars().take(80).collect(), rule: Self::RULE })
    }
}

impl fmt::Display for StoryKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_could_leave_their_folder_are_refused() {
        for bad in
            ["", "a/b", "..", "a..b", "../x", "-x", ".git", "a\nb", "a\0", "\u{202e}x", &"x".repeat(101)]
        {
            assert!(bad.parse::<StoryKey>().is_err(), "{bad:?}");
        }
        for good in ["5.3", "5-3-login", "Ünï", "a b", "*", "x'y"] {
            assert!(good.parse::<StoryKey>().is_ok(), "{good:?}");
        }
    }
}
