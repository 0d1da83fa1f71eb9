//! Where two commits conflict, for whoever resolves it: the files, and as many of the places in them as fit.

use super::run::{GitResult, Repo};
use shopfloor_core::effect::Conflict;
use shopfloor_core::ids::Sha;
use shopfloor_core::text;

const FILES_MAX: usize = 200;
/// How many files are looked into, and how much of them in all.
const SHOWN_MAX: usize = 20;
const READ_BYTES_MAX: usize = 1024 * 1024;
const HUNKS_BYTES_MAX: usize = 8 * 1024;
const CONTEXT_LINES: usize = 3;

/// What `git merge-tree` says about a conflict.
#[derive(Debug)]
pub(super) struct Clash {
    /// The merged tree, with conflict markers in its files.
    pub(super) tree: Sha,
    pub(super) files: Vec<Vec<u8>>,
}

impl Clash {
    pub(super) fn describe(&self, repo: &Repo) -> GitResult<Conflict> {
        let shown = |name: &[u8]| text::one_line(&String::from_utf8_lossy(name), 300);
        let mut files: Vec<String> = self.files.iter().take(FILES_MAX).map(|name| shown(name)).collect();
        let more = self.files.len().saturating_sub(FILES_MAX);
        if more > 0 {
            files.push(format!("… and {more} more"));
        }
        let mut hunks = String::new();
        for (name, content) in self.files.iter().zip(self.contents(repo)?) {
            let Some(content) = content else { continue };
            let found = marked(&text::neutralise(&content));
            if found.is_empty() {
                continue;
            }
            let part = format!("--- {}\n{found}", shown(name));
            if hunks.len() + part.len() > HUNKS_BYTES_MAX {
                let left = HUNKS_BYTES_MAX.saturating_sub(hunks.len());
                hunks.push_str(&text::head(&part, left));
                hunks.push_str("\n… (there is more)\n");
                break;
            }
            hunks.push_str(&part);
        }
        Ok(Conflict { files, hunks })
    }

    /// The merged files, as far as they are text and fit.
    fn contents(&self, repo: &Repo) -> GitResult<Vec<Option<String>>> {
        let mut asked = Vec::new();
        for name in self.files.iter().take(SHOWN_MAX) {
            asked.extend_from_slice(self.tree.as_str().as_bytes());
            asked.push(b':');
            asked.extend_from_slice(name);
            asked.push(0);
        }
        let call = repo.call("cat-file").args(["--batch", "-z"]).stdin(asked);
        let bytes = call.first_bytes(READ_BYTES_MAX)?;
        let mut rest = bytes.as_slice();
        let mut contents = Vec::new();
        for name in self.files.iter().take(SHOWN_MAX) {
            // `<object> blob <size>` and the blob, or `<name> missing` where one side deleted it.
            let after_name = rest.strip_prefix(&[self.tree.as_str().as_bytes(), b":", name].concat()[..]);
            let start = after_name.unwrap_or(rest);
            let Some(end) = start.iter().position(|byte| *byte == b'\n') else { break };
            let line = String::from_utf8_lossy(&start[..end]);
            let size = line.split_once(" blob ").and_then(|(_, size)| size.parse::<usize>().ok());
            let Some(size) = size.filter(|_| after_name.is_none()) else {
                contents.push(None);
                rest = &start[end + 1..];
                continue;
            };
            let Some(body) = start.get(end + 1..end + 1 + size) else { break };
            let binary = body.contains(&0);
            contents.push((!binary).then(|| String::from_utf8_lossy(body).into_owned()));
            rest = start.get(end + size + 2..).unwrap_or_default();
        }
        Ok(contents)
    }
}

/// The regions between conflict markers, each with a few lines before it.
fn marked(content: &str) -> String {
    let lines: Vec<&str> = content.lines().collect();
    let mut found = String::new();
    let mut at = 0;
    while let Some(begin) = lines[at..].iter().position(|line| line.starts_with("<<<<<<< ")) {
        let begin = at + begin;
        let length = lines[begin..].iter().position(|line| line.starts_with(">>>>>>> "));
        let end = length.map_or(lines.len() - 1, |n| begin + n);
        let from = begin.saturating_sub(CONTEXT_LINES).max(at);
        found.push_str(&format!("@@ line {}\n", from + 1));
        for line in &lines[from..=end] {
            found.push_str(line);
            found.push('\n');
        }
        at = end + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_marked_is_shown() {
        let text = "1\n2\n3\n4\n<<<<<<< a\nours\n=======\ntheirs\n>>>>>>> b\n5\n6\n<<<<<<< a\nx\n=======\n";
        let expected = "@@ line 2\n2\n3\n4\n<<<<<<< a\nours\n=======\ntheirs\n>>>>>>> b\n@@ line 10\n5\n6\n<<<<<<< a\nx\n=======\n";
        assert_eq!(marked(text), expected);
        assert_eq!(marked("nothing\nhere\n"), "");
    }
}
