//! What an issue's text says it depends on.
//!
//! Two forms count: `#N` anywhere under a heading `Dependencies`, `Depends on` or `Blocked by` (any level, up to
//! the next heading), and the phrases `depends on #N` and `blocked by #N` in running text, also with a list (`#1,
//! #2 and #3`). Fenced code and HTML comments do not count: the former shows text, the latter is where issue
//! templates keep their examples. Neither does `other/repo#N`, which is another project's issue.

use crate::ids::IssueNumber;

const SECTIONS: [&str; 3] = ["dependencies", "depends on", "blocked by"];
const PHRASES: [&str; 2] = ["depends on", "blocked by"];

/// The issues that `body` depends on: each once, in ascending order.
pub fn parse(body: &str) -> Vec<IssueNumber> {
    // Most texts refer to nothing.
    if !body.contains('#') {
        return Vec::new();
    }
    let body = without_comments(body);
    let mut found = Vec::new();
    let mut fence: Option<(char, usize)> = None;
    let mut in_section = false;
    for line in body.lines() {
        let trimmed = line.trim();
        match (fence, fence_of(trimmed)) {
            (Some((mark, len)), Some(close)) => {
                if close.mark == mark && close.len >= len && close.bare {
                    fence = None;
                }
            }
            (Some(_), None) => {}
            (None, Some(open)) => fence = Some((open.mark, open.len)),
            (None, None) => {
                if let Some(heading) = heading_of(trimmed) {
                    in_section = SECTIONS.contains(&heading.as_str());
                } else if in_section {
                    references(trimmed, &mut found);
                } else {
                    phrases(trimmed, &mut found);
                }
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// A comment that never ends is text.
fn without_comments(body: &str) -> String {
    let mut out = String::with_capacity(body.len());
    let mut rest = body;
    while let Some((before, after)) = rest.split_once("<!--") {
        let Some((_, behind)) = after.split_once("-->") else { break };
        out.push_str(before);
        rest = behind;
    }
    out.push_str(rest);
    out
}

struct Fence {
    mark: char,
    len: usize,
    /// Nothing follows the marks: only then can it close.
    bare: bool,
}

fn fence_of(line: &str) -> Option<Fence> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let len = line.chars().take_while(|c| *c == mark).count();
    let info = &line[len..];
    // "```x```" on one line is a code span, not a fence.
    (len >= 3 && !(mark == '`' && info.contains('`'))).then_some(Fence { mark, len, bare: info.is_empty() })
}

/// The heading's text in lower case, without closing marks and a colon.
fn heading_of(line: &str) -> Option<String> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    if !(1..=6).contains(&level) || !(text.is_empty() || text.starts_with([' ', '\t'])) {
        return None;
    }
    let text = text.trim().trim_end_matches('#').trim_end().trim_end_matches(':');
    Some(text.trim_matches(['*', '_', ' ']).trim_end_matches(':').to_lowercase())
}

fn references(line: &str, found: &mut Vec<IssueNumber>) {
    let mut previous = ' ';
    for (at, c) in line.char_indices() {
        if c == '#'
            && !(previous.is_alphanumeric() || matches!(previous, '/' | '#' | '&' | '_' | '-' | '.'))
            && let Some((number, _)) = reference(&line[at..])
        {
            found.push(number);
        }
        previous = c;
    }
}

/// The issue number that a text begins with, and the rest.
fn reference(text: &str) -> Option<(IssueNumber, &str)> {
    let digits = text.strip_prefix('#')?;
    let len = digits.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = digits.split_at(len);
    if rest.starts_with(|c: char| c.is_alphanumeric() || c == '_') {
        return None;
    }
    // A number that is too large is not a reference. #0 is one, to an issue that never existed: people are told.
    digits.parse().ok().map(|number| (IssueNumber(number), rest))
}

fn phrases(line: &str, found: &mut Vec<IssueNumber>) {
    // ASCII only, so that positions are those of `line`.
    let lower = line.to_ascii_lowercase();
    for phrase in PHRASES {
        for (at, _) in lower.match_indices(phrase) {
            if !lower[..at].ends_with(|c: char| c.is_alphanumeric()) {
                list(&lower[at + phrase.len()..], found);
            }
        }
    }
}

/// A list of references at the beginning of a text.
fn list(text: &str, found: &mut Vec<IssueNumber>) {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ':', '*', '_', ',', '&', '[', '(']);
        let word = rest.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or_default();
        if matches!(word, "and" | "issue" | "issues") {
            rest = &rest[word.len()..];
            continue;
        }
        match reference(rest) {
            Some((number, behind)) => {
                found.push(number);
                rest = behind;
            }
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expect: &[u64]) {
        let numbers: Vec<u64> = parse(body).into_iter().map(|n| n.0).collect();
        assert_eq!(numbers, expect, "{body:?}");
    }

    #[test]
    fn sections_list_dependencies_until_the_next_heading() {
        check("## Dependencies\n- #42\n- #55\n", &[42, 55]);
        check("### depends on:\r\n* [ ] #7 the parser\r\n* [x] #3\r\n# Other\r\n- #9\r\n", &[3, 7]);
        check("# Blocked By #\n#12\nand #11 (see #12)\n", &[11, 12]);
        check("## **Dependencies**\n\nNone\n\n## Notes\n#5", &[]);
        check("## Dependencies of the parser\n#5", &[]);
        check("##Dependencies\n#5", &[]);
        check(
            "## Dependencies\n- https://x/y#4, org/repo#5, &#39; ##6 #7x #8_a #99999999999999999999999",
            &[],
        );
        check("## Dependencies\n- (#4), [#5](x): #6.", &[4, 5, 6]);
    }

    #[test]
    fn phrases_count_in_running_text() {
        check("This depends on #5.", &[5]);
        check("Depends on: #5, #3 and #4, then #9", &[3, 4, 5]);
        check("**Depends on:** #5\nBLOCKED BY issue #2 & #1", &[1, 2, 5]);
        check("blocked by #1, and #2; see #3", &[1, 2]);
        check("depends on other/repo#5, or on #6", &[]);
        check("fixes #5, related to #6", &[]);
        check("ÄÖÜ depends on #5 — ÄÖÜ", &[5]);
        check("depends on #5 and depends on #5", &[5]);
        check("depends on # 5, depends on", &[]);
        check("Depends on #0", &[0]);
    }

    #[test]
    fn code_and_comments_do_not_count() {
        check("```\ndepends on #5\n## Dependencies\n#6\n```\ndepends on #7", &[7]);
        check("## Dependencies\n#1\n~~~text\n```\n#2\n~~~\n#3", &[1, 3]);
        check("````\n```\ndepends on #5\n````\ndepends on #6", &[6]);
        check("```rust\ndepends on #5", &[]);
        check("```inline``` depends on #5", &[5]);
        check("<!-- depends on #5\n## Dependencies\n-->depends on #6", &[6]);
        check("depends on #1 <!-- never ends, depends on #2", &[1, 2]);
        check("", &[]);
    }
}
