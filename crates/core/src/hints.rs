//! What a text on the forge tells us: files that an issue is likely to be about, the pull request that it names as
//! the one to continue, the issues that a pull request is for. Hints from outside: they order work and find what
//! was begun, and are believed no further.

use crate::ids::{IssueNumber, PrNumber, is_branch_name};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

const PATHS_MAX: usize = 40;
const PATH_CHARS_MAX: usize = 200;
/// How much of a text is read.
const TEXT_BYTES_MAX: usize = 64 * 1024;
/// Words before the number of an issue that a pull request is for, as forges know them.
const FIXES: [&str; 9] =
    ["fix", "fixes", "fixed", "close", "closes", "closed", "resolve", "resolves", "resolved"];
const EXISTING: &str = "existing pr:";

/// What an issue's text says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hints {
    /// Paths that are named, each once, in their order; bounded.
    pub paths: Vec<String>,
    /// `Existing PR: #N`.
    pub pr: Option<PrNumber>,
    /// `Depends on branch NAME`: its change lands after those branches.
    #[serde(default)]
    pub after: Vec<String>,
}

impl Hints {
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.pr.is_none() && self.after.is_empty()
    }
}

/// How many branches one text can name.
const AFTER_MAX: usize = 10;
const AFTER: &str = "depends on branch ";

/// The branches that a text says its change depends on, one per line: `Depends on branch NAME`.
pub fn after(body: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in beginning(body).lines() {
        let line = line.trim_start_matches(['-', '*', '_', ' ', '\t', '>']);
        let Some((begin, rest)) = line.split_at_checked(AFTER.len()) else { continue };
        let word = rest.split_whitespace().next().unwrap_or_default();
        let name = word.trim_matches(['`', '"', '\'', '*', '_', ',', ';', '.', '(', ')']);
        let is_new =
            begin.eq_ignore_ascii_case(AFTER) && is_branch_name(name) && name.len() <= PATH_CHARS_MAX;
        if is_new && found.len() < AFTER_MAX && !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
    }
    found
}

/// The hints in an issue's text.
pub fn of_issue(body: &str) -> Hints {
    let body = beginning(body);
    let mut seen = BTreeSet::new();
    let paths = body.split(is_between).filter_map(path).filter(|path| seen.insert(*path));
    let named = body.lines().find_map(|line| {
        let line = line.trim_start_matches(['-', '*', '_', ' ', '\t']);
        let (begin, rest) = line.split_at_checked(EXISTING.len())?;
        let rest = rest.trim_start_matches(['*', '_', ' ']);
        begin.eq_ignore_ascii_case(EXISTING).then(|| number(rest))?
    });
    let paths = paths.take(PATHS_MAX).map(str::to_owned).collect();
    Hints { paths, pr: named.map(PrNumber), after: after(body) }
}

/// The issues that a pull request's text says it is for: `Fixes #3, closes #4`.
pub fn fixes(body: &str) -> Vec<IssueNumber> {
    let words: Vec<&str> = beginning(body).split_whitespace().collect();
    let is_for = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphabetic()).to_ascii_lowercase();
        FIXES.contains(&word.as_str())
    };
    let mut found: Vec<IssueNumber> = words
        .windows(2)
        .filter(|pair| is_for(pair[0]))
        .filter_map(|pair| number(pair[1].trim_start_matches(['(', '[', '*', '_'])))
        .map(IssueNumber)
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether one of two paths is the other, or lies inside it. A bare name is any file of that name.
pub fn collide(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(|path| path.trim_end_matches('/'));
    let holds =
        |folder: &str, path: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    let named = |name: &str, path: &str| {
        !name.contains('/') && path.strip_suffix(name).is_some_and(|rest| rest.ends_with('/'))
    };
    one == other || holds(one, other) || holds(other, one) || named(one, other) || named(other, one)
}

fn beginning(text: &str) -> &str {
    let end = (0..=TEXT_BYTES_MAX.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    &text[..end.unwrap_or(0)]
}

fn is_between(c: char) -> bool {
    let mark = |c| {
        matches!(c, '`' | '\'' | '"' | '(' | ')' | '[' | ']' | '{' | '}' | '<' | '>' | ',' | ';' | '|' | '*')
    };
    c.is_whitespace() || mark(c)
}

/// `#N` at the beginning of a text.
fn number(text: &str) -> Option<u64> {
    let digits = text.strip_prefix('#')?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    let ends = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    digits.parse().ok().filter(|number| ends && *number > 0)
}

/// The word as a path in the repository, if it looks like one.
fn path(word: &str) -> Option<&str> {
    // Most words have neither.
    if !word.bytes().any(|byte| matches!(byte, b'.' | b'/')) {
        return None;
    }
    // `src/a.rs:12:5` is about a line of the file.
    let word = word.split(':').next()?;
    let word = word.strip_prefix("./").unwrap_or(word).trim_end_matches(['.', '!', '?']);
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+' | '@');
    let good = !word.is_empty()
        && word.len() <= PATH_CHARS_MAX
        && !word.starts_with(['/', '-', '@'])
        && word.chars().all(plain)
        && !word.contains("//")
        && !word.split('/').any(|part| part == "..");
    if !good {
        return None;
    }
    let slashes = word.matches('/').count();
    let name = word.rsplit('/').next()?;
    let has_extension = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        let letters = extension.starts_with(|c: char| c.is_ascii_alphabetic());
        letters && extension.len() <= 8 && (stem.len() > 1 || slashes > 0 || stem.is_empty())
    });
    // "and/or" is not a path; "a/b/c" and "docs/" are.
    (has_extension || slashes > 1 || (slashes > 0 && name.is_empty())).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_from_words() {
        let check = |body: &str, expect: &[&str]| assert_eq!(of_issue(body).paths, expect, "{body:?}");
        check(
            "Change `src/a.rs` and (src/b/mod.rs:12:5), then docs/.",
            &["src/a.rs", "src/b/mod.rs", "docs/"],
        );
        check("See ./Makefile.am, README.md. README.md!", &["Makefile.am", "README.md"]);
        check("and/or, read/write, e.g. this, i.e. that, 1.2.3, v2.0, 3.5", &[]);
        check("https://example.org/a/b.rs //x /etc/passwd ../up.rs a\\b.rs -x/y.rs", &[]);
        check("crates/core/src is a folder", &["crates/core/src"]);
        check(".env and .github/workflows/ci.yml", &[".env", ".github/workflows/ci.yml"]);
        let many: String = (0..100).map(|n| format!("src/f{n}.rs ")).collect();
        assert_eq!(of_issue(&many).paths.len(), PATHS_MAX);
        check(&format!("src/{}.rs", "x".repeat(300)), &[]);
    }

    #[test]
    fn branches_to_land_after_are_named_in_a_line_of_their_own() {
        let text = "Why.\n\n- Depends on branch `ada/base`.\ndepends on branch two, then three\nDepends on branch ../x\n\
                    It depends on branch four\nDepends on branch two";
        assert_eq!(after(text), ["ada/base", "two"]);
        let many: String = (0..50).map(|n| format!("Depends on branch b{n}\n")).collect();
        assert_eq!(after(&many).len(), AFTER_MAX);
        assert!(after("Depends on branch ").is_empty() && after("Depends on branch -x").is_empty());
    }

    #[test]
    fn an_existing_pull_request_is_named_in_a_line_of_its_own() {
        let check = |body: &str, expect: Option<u64>| {
            assert_eq!(of_issue(body).pr, expect.map(PrNumber), "{body:?}");
        };
        check("Text\nExisting PR: #12\n", Some(12));
        check("- **existing pr:** #7, half done", Some(7));
        check("there is an existing PR: #7", None);
        check("Existing PR: 7\nExisting PR: #7x\nExisting PR: #0", None);
        check("Äxisting PR: #7\nExisting ÄÖ #7", None);
        check("", None);
    }

    #[test]
    fn a_pull_request_says_what_it_is_for() {
        let check = |body: &str, expect: &[u64]| {
            let found: Vec<u64> = fixes(body).into_iter().map(|n| n.0).collect();
            assert_eq!(found, expect, "{body:?}");
        };
        check("Fixes #3", &[3]);
        check("Summary\n\n**Closes:** #4. resolves (#2) and fixed #4", &[2, 4]);
        check("fixes other/repo#3, fix 3, prefixes #9, Fixes #3x, #5", &[]);
    }

    #[test]
    fn files_collide_with_themselves_their_folders_and_their_names() {
        for (one, other) in
            [("src/a.rs", "src/a.rs"), ("src/", "src/a.rs"), ("src/b/c.rs", "src/b"), ("a.rs", "src/a.rs")]
        {
            assert!(collide(one, other) && collide(other, one), "{one} {other}");
        }
        for (one, other) in [("src/a.rs", "src/b.rs"), ("src/a", "src/ab.rs"), ("a.rs", "src/ba.rs")] {
            assert!(!collide(one, other) && !collide(other, one), "{one} {other}");
        }
    }
}
