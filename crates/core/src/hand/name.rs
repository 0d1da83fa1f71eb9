//! Names of hand sessions: `hand-{project}-{step}-{epic}-{story}[-rN]-hN`.
//!
//! Invariants:
//! - The name without its number (the *stem*) follows from project, step, epic, story and cycle alone.
//! - Different inputs have different stems. Plain ones (a step of letters and digits, an epic and a
//!   story of numbers and dots) can be read back from the stem; whatever had to be replaced or cut,
//!   or could be read in two ways, adds a digest of all of it.
//! - A name is safe for tmux, a path and a shell, has at most [`NAME_BYTES_MAX`] bytes, and is never
//!   that of a job's session, which begins with its role.

use crate::digest::Digest;
use crate::ids::ProjectName;
use std::fmt;

pub const PREFIX: &str = "hand-";
pub const NAME_BYTES_MAX: usize = 160;
const PART_CHARS_MAX: usize = 24;
/// Digits of the digest that are shown.
const DIGEST_DIGITS: usize = 12;

/// What a session is for.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    pub project: &'a ProjectName,
    pub step: &'a str,
    pub epic: &'a str,
    pub story: &'a str,
    pub cycle: Option<u32>,
}

/// The name without its number.
pub fn stem(parts: &Parts<'_>) -> String {
    let Parts { project, step, epic, story, cycle } = *parts;
    let mut stem = format!("{PREFIX}{project}-{}-{}-{}", slug(step), slug(epic), slug(story));
    if let Some(cycle) = cycle {
        stem.push_str(&format!("-r{cycle}"));
    }
    if !(is_word(step) && is_number(epic) && is_numbers(story)) {
        let mut digest = Digest::new();
        for field in [project.as_str(), step, epic, story] {
            digest = digest.field(field.as_bytes());
        }
        let digest = format!("{:016x}", digest.finish());
        stem.push_str(&format!("-x{}", &digest[..DIGEST_DIGITS]));
    }
    stem
}

/// A session's name: its stem, and a number that no other session of the floor has.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HandName {
    stem: String,
    number: u64,
}

impl HandName {
    /// `stem` must be of [`stem`].
    pub fn new(stem: String, number: u64) -> HandName {
        HandName { stem, number }
    }

    /// Reads a name back. `None`: it cannot be a hand session's.
    pub fn parse(name: &str) -> Option<HandName> {
        let (stem, number) = name.rsplit_once("-h")?;
        let digits = !number.starts_with('0') && number.bytes().all(|b| b.is_ascii_digit());
        let number = number.parse().ok().filter(|_| digits)?;
        is_stem(stem).then(|| HandName { stem: stem.to_owned(), number })
    }

    pub fn stem(&self) -> &str {
        &self.stem
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    /// The branch that is its own, unless another was named.
    pub fn branch(&self) -> String {
        let name = self.to_string();
        format!("hand/{}", name.strip_prefix(PREFIX).unwrap_or(&name))
    }
}

impl fmt::Display for HandName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-h{}", self.stem, self.number)
    }
}

/// Whether a text can be the stem of a hand session's name: then it is safe as a file's name.
pub fn is_stem(text: &str) -> bool {
    let good = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    text.starts_with(PREFIX)
        && text.len() > PREFIX.len()
        && text.len() <= NAME_BYTES_MAX
        && text.bytes().all(good)
}

/// Letters and digits as they are, anything else a hyphen, at most so long.
fn slug(part: &str) -> String {
    let mut out = String::new();
    for c in part.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => out.push(c),
            _ if out.is_empty() || out.ends_with('-') => {}
            _ => out.push('-'),
        }
        if out.len() >= PART_CHARS_MAX {
            break;
        }
    }
    let out = out.trim_end_matches('-');
    if out.is_empty() { "none".to_owned() } else { out.to_owned() }
}

fn is_word(part: &str) -> bool {
    part.len() <= PART_CHARS_MAX
        && part.starts_with(|c: char| c.is_ascii_lowercase())
        && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

fn is_number(part: &str) -> bool {
    (1..=PART_CHARS_MAX).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit())
}

fn is_numbers(part: &str) -> bool {
    part.len() <= PART_CHARS_MAX && part.split('.').all(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn of(project: &str, step: &str, epic: &str, story: &str, cycle: Option<u32>) -> String {
        stem(&Parts { project: &project.parse().unwrap(), step, epic, story, cycle })
    }

    #[test]
    fn plain_input_has_a_plain_name() {
        assert_eq!(of("demo", "create", "5", "5.3", None), "hand-demo-create-5-5-3");
        assert_eq!(of("my-app", "dev", "5", "5.3", Some(2)), "hand-my-app-dev-5-5-3-r2");
        let odd = of("demo", "create", "5", "login page", None);
        assert!(odd.starts_with("hand-demo-create-5-login-page-x"), "{odd}");
    }

    #[test]
    fn different_input_never_has_the_same_stem() {
        let long = "x".repeat(10_000);
        let longer = format!("{long}y");
        let words =
            ["a", "b", "a-b", "5", "5.3", "5-3", "5..3", "", "A", "é", "r2", "h1", "a.b", " ", "none"];
        let hostile = ["../../etc", "$(reboot)", "';rm -rf ~;'", "\u{1b}]0;x\u{7}", "a\0b", &long, &longer];
        let all: Vec<&str> = words.iter().chain(&hostile).copied().collect();
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        for project in ["a", "a-b", "5"] {
            for step in &all {
                for epic in &all {
                    for story in &all {
                        for cycle in [None, Some(2)] {
                            let stem = of(project, step, epic, story, cycle);
                            assert!(is_stem(&stem), "{stem}");
                            let name = HandName::new(stem.clone(), u64::MAX).to_string();
                            assert!(name.len() <= NAME_BYTES_MAX + 24, "{name}");
                            let input = format!("{project:?} {step:?} {epic:?} {story:?} {cycle:?}");
                            if let Some(other) = seen.insert(stem.clone(), input.clone()) {
                                panic!("{stem}: {input} and {other}");
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn names_are_read_back_and_others_are_not_taken_for_them() {
        let name = HandName::new(of("demo", "create", "5", "5.3", Some(2)), 17);
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
