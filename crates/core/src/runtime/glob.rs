//! Patterns for lines of a screen: plain characters, `*` (any run, even an empty one), `?` (any one character) and
//! `[a-z…]` (one of a set). `\` takes the next character literally. A pattern matches a whole line, so it is
//! anchored at its beginning: what an agent prints is indented or marked by its client, and cannot pass for the
//! client's own rows. No regular expressions: these are enough, cannot run away, and are read at a glance.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How many characters a pattern may have; nobody needs more, and matching costs pattern times line.
pub const PATTERN_CHARS_MAX: usize = 300;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Char(char),
    AnyRun,
    AnyOne,
    /// Inclusive ranges.
    Set(Vec<(char, char)>),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Glob {
    text: String,
    tokens: Vec<Token>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pattern {pattern:?} cannot be used: {why}")]
pub struct BadGlob {
    pub pattern: String,
    pub why: &'static str,
}

impl Glob {
    pub fn new(text: &str) -> Result<Glob, BadGlob> {
        let bad = |why| BadGlob { pattern: text.chars().take(80).collect(), why };
        if text.is_empty() {
            return Err(bad("it is empty"));
        }
        if text.chars().count() > PATTERN_CHARS_MAX {
            return Err(bad("it has more than 300 characters"));
        }
        if text.chars().any(char::is_control) {
            return Err(bad("it holds a control character; patterns are matched line by line"));
        }
        let mut tokens = Vec::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            tokens.push(match c {
                '*' if tokens.last() == Some(&Token::AnyRun) => continue,
                '*' => Token::AnyRun,
                '?' => Token::AnyOne,
                '\\' => Token::Char(chars.next().ok_or_else(|| bad("it ends in a single `\\`"))?),
                '[' => Token::Set(set(&mut chars).map_err(bad)?),
                c => Token::Char(c),
            });
        }
        if tokens == [Token::AnyRun] {
            return Err(bad("it matches every line"));
        }
        Ok(Glob { text: text.to_owned(), tokens })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the whole line matches. Cost: line times pattern, with a single place to backtrack to.
    pub fn matches(&self, line: &str) -> bool {
        let line: Vec<char> = line.chars().collect();
        let (mut at, mut token) = (0, 0);
        let mut back: Option<(usize, usize)> = None;
        while at < line.len() {
            match self.tokens.get(token) {
                Some(Token::AnyRun) => {
                    back = Some((at, token));
                    token += 1;
                }
                Some(t) if one(t, line[at]) => {
                    at += 1;
                    token += 1;
                }
                _ => match back {
                    Some((from, star)) => {
                        back = Some((from + 1, star));
                        at = from + 1;
                        token = star + 1;
                    }
                    None => return false,
                },
            }
        }
        self.tokens[token..].iter().all(|t| *t == Token::AnyRun)
    }
}

fn one(token: &Token, c: char) -> bool {
    match token {
        Token::Char(expected) => *expected == c,
        Token::AnyOne => true,
        Token::AnyRun => false,
        Token::Set(ranges) => ranges.iter().any(|(first, last)| (*first..=*last).contains(&c)),
    }
}

/// After the opening bracket. The first character is always a member.
fn set(chars: &mut std::str::Chars<'_>) -> Result<Vec<(char, char)>, &'static str> {
    const OPEN: &str = "it opens a set with `[` and does not close it; write `\\[` for the character";
    let mut ranges = Vec::new();
    let mut c = chars.next().ok_or(OPEN)?;
    loop {
        let mut ahead = chars.clone();
        if ahead.next() == Some('-')
            && let Some(last) = ahead.next()
            && last != ']'
        {
            if last < c {
                return Err("a range in it runs backwards");
            }
            ranges.push((c, last));
            *chars = ahead;
        } else {
            ranges.push((c, c));
        }
        c = match chars.next().ok_or(OPEN)? {
            ']' => return Ok(ranges),
            next => next,
        };
    }
}

impl TryFrom<String> for Glob {
    type Error = BadGlob;
    fn try_from(text: String) -> Result<Self, BadGlob> {
        Glob::new(&text)
    }
}

impl From<Glob> for String {
    fn from(glob: Glob) -> String {
        glob.text
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_matches_the_whole_line() {
        for (pattern, line, expect) in [
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("abc*", "abcd", true),
            ("*bc", "abc", true),
            ("*b*", "abc", true),
            ("*b*d", "abcbd", true),
            ("a**c", "ac", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("[·✢✻] *…*", "✢ Compacting… (0s)", true),
            ("[·✢✻] *…*", "  ✢ Compacting…", false),
            ("[⠁-⣿]*", "⠙ proj", true),
            ("[a-c]x", "bx", true),
            ("[a-]x", "-x", true),
            ("[]]", "]", true),
            ("\\*x\\[", "*x[", true),
            ("*ab*ab*ab*c", &"ab".repeat(200), false),
        ] {
            assert_eq!(Glob::new(pattern).unwrap().matches(line), expect, "{pattern} on {line}");
        }
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        for (pattern, why) in [
            ("", "empty"),
            ("*", "every line"),
            ("**", "every line"),
            ("[ab", "does not close"),
            ("[", "does not close"),
            ("a\\", "single"),
            ("[z-a]", "backwards"),
            ("a\nb", "control"),
        ] {
            let error = Glob::new(pattern).unwrap_err().to_string();
            assert!(error.contains(why), "{pattern:?}: {error}");
        }
        assert!(Glob::new(&"x".repeat(301)).is_err());
    }
}
