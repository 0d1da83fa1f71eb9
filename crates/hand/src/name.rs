//! Names of hand sessions: `hand-{project}-{step}-{epic}-{story}[-rN]-hN`.
//!
//! Invariants:
//! - The name without its number (the *stem*) follows from project, step, epic, story and cycle alone.
//! - Different inputs have different stems. Plain ones (a step of letters and digits, an epic and a story of
//!   numbers and dots) can be read back from the stem; if anything had to be replaced or cut, or could be
//!   read in two ways, a digest of everything is added.
//! - It is a valid stem for a [`HandName`].

use shopfloor_core::digest::Digest;
use shopfloor_core::ids::{HandName, ProjectName};

const PART_CHARS_MAX: usize = 24;
/// How many digits of the digest are shown.
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
    let mut stem = format!("{}{project}-{}-{}-{}", HandName::PREFIX, slug(step), slug(epic), slug(story));
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

/// Letters and digits as they are, anything else as a hyphen, at most that long.
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
                            assert!(HandName::is_stem(&stem), "{stem}");
                            let name = HandName::new(stem.clone(), u64::MAX).to_string();
                            assert!(name.len() <= HandName::BYTES_MAX + 24, "{name}");
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
}
