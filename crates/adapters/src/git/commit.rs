//! Commits, read and written as the bytes they are.
//!
//! Written with `hash-object` rather than `commit-tree`: the author line, the encoding and the message of a
//! replayed commit pass through unchanged, whatever they contain, and the same input gives the same commit,
//! so that rebuilding a candidate after a crash finds the one built before.

use super::run::{GitError, GitResult, IDENTITY_EMAIL, IDENTITY_NAME, Repo, parse_sha};
use super::sign::Signing;
use crate::host::clock;
use shopfloor_core::ids::Sha;
use shopfloor_core::text;
use std::time::UNIX_EPOCH;

/// In seconds. Clocks may differ by this much.
const DAY: u64 = 24 * 3600;

/// A moment as git writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub seconds: u64,
    pub zone: String,
}

impl Stamp {
    /// The later of the two, so that a commit is not older than its parent. A date in the future is not
    /// followed: it would stick to everything that lands after it.
    pub(crate) fn later(self, other: &Stamp) -> Stamp {
        let now = clock::now().duration_since(UNIX_EPOCH).map_or(u64::MAX, |since| since.as_secs());
        self.later_before(other, now)
    }

    fn later_before(self, other: &Stamp, now: u64) -> Stamp {
        let is_ahead = |stamp: &Stamp| stamp.seconds > now.saturating_add(DAY);
        match (is_ahead(&self), is_ahead(other)) {
            (false, true) => self,
            (true, false) => other.clone(),
            // The same all day, because rebuilding must give the same commit.
            (true, true) => Stamp { seconds: now - now % DAY, zone: "+0000".into() },
            (false, false) if other.seconds > self.seconds => other.clone(),
            (false, false) => self,
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Commit {
    pub tree: Sha,
    pub parents: Vec<Sha>,
    /// `Name <mail> seconds zone`.
    pub author: Vec<u8>,
    pub committed: Stamp,
    pub encoding: Option<Vec<u8>>,
    pub message: Vec<u8>,
    /// Whether the factory is its committer; that is always so for commits it writes.
    pub ours: bool,
}

impl Commit {
    pub(crate) fn read(repo: &Repo, commit: &Sha) -> GitResult<Commit> {
        Ok(Commit::read_all(repo, &[commit])?.remove(0))
    }

    /// Reads them, in the order asked for. One process reads those that were not read before.
    pub(crate) fn read_all(repo: &Repo, commits: &[&Sha]) -> GitResult<Vec<Commit>> {
        let known: Vec<Option<Vec<u8>>> = commits.iter().map(|commit| repo.known_commit(commit)).collect();
        let unknown =
            commits.iter().zip(&known).filter(|(_, known)| known.is_none()).map(|(commit, _)| *commit);
        let mut read = Commit::ask(repo, &unknown.collect::<Vec<_>>())?.into_iter();
        let mut one = |known: Option<Vec<u8>>| match known {
            Some(bytes) => Ok(Commit::parse("git cat-file --batch", &bytes)?),
            None => Ok(read.next()),
        };
        let all: GitResult<Vec<Option<Commit>>> = known.into_iter().map(&mut one).collect();
        Ok(all?.into_iter().map(|commit| commit.expect("each is known or was read")).collect())
    }

    fn ask(repo: &Repo, commits: &[&Sha]) -> GitResult<Vec<Commit>> {
        if commits.is_empty() {
            return Ok(Vec::new());
        }
        let call = repo.call("cat-file").arg("--batch");
        let command = call.shown();
        let asked: String = commits.iter().map(|commit| format!("{commit}\n")).collect();
        let bytes = call.stdin(asked).run()?;
        let unexpected = |bytes: &[u8]| GitError::Answer {
            command: command.clone(),
            answer: text::one_line(&String::from_utf8_lossy(&bytes[..bytes.len().min(200)]), 200),
        };
        let mut rest = bytes.as_slice();
        let mut read = Vec::with_capacity(commits.len());
        for commit in commits {
            // `<name> commit <size>`, a line end, the commit, a line end.
            let line_end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(|| unexpected(rest))?;
            let line = String::from_utf8_lossy(&rest[..line_end]);
            let size = line.split_once(" commit ").and_then(|(_, size)| size.parse::<usize>().ok());
            let body = size.and_then(|size| rest.get(line_end + 1..line_end + 1 + size));
            let body = body.ok_or_else(|| unexpected(rest))?;
            read.push(Commit::parse(&command, body)?.ok_or_else(|| unexpected(body))?);
            repo.know_commit(commit, body);
            rest = rest.get(line_end + body.len() + 2..).unwrap_or_default();
        }
        Ok(read)
    }

    fn parse(command: &str, bytes: &[u8]) -> GitResult<Option<Commit>> {
        let Some(end) = bytes.windows(2).position(|pair| pair == b"\n\n") else { return Ok(None) };
        let (headers, message) = (&bytes[..end], bytes[end + 2..].to_vec());
        let (mut tree, mut parents, mut author, mut committed, mut encoding, mut ours) =
            (None, vec![], None, None, None, false);
        let us = format!("{IDENTITY_NAME} <{IDENTITY_EMAIL}> ");
        for line in headers.split(|byte| *byte == b'\n') {
            let Some(space) = line.iter().position(|byte| *byte == b' ') else { continue };
            let value = &line[space + 1..];
            let sha = || parse_sha(command, &String::from_utf8_lossy(value));
            match &line[..space] {
                b"tree" => tree = Some(sha()?),
                b"parent" => parents.push(sha()?),
                b"author" => author = Some(value.to_vec()),
                b"committer" => {
                    committed = Some(stamp(value));
                    ours = value.starts_with(us.as_bytes());
                }
                b"encoding" => encoding = Some(value.to_vec()),
                _ => {}
            }
        }
        Ok(match (tree, author, committed) {
            (Some(tree), Some(author), Some(committed)) => {
                Some(Commit { tree, parents, author, committed, encoding, message, ours })
            }
            _ => None,
        })
    }

    /// Writes it with the factory as committer.
    pub(crate) fn write(&self, repo: &Repo) -> GitResult<Sha> {
        self.write_signed(repo, None)
    }

    /// The same, with a signature.
    pub(crate) fn write_signed(&self, repo: &Repo, signing: Option<&Signing>) -> GitResult<Sha> {
        let mut bytes = self.headers();
        if let Some(signing) = signing {
            let signature = signing.sign(&[bytes.as_slice(), b"\n\n", &self.message].concat())?;
            // Named as git names it, after the repository's hash function.
            let name = if self.tree.as_str().len() == 64 { "gpgsig-sha256" } else { "gpgsig" };
            let lines: Vec<&str> = signature.trim_end().lines().collect();
            bytes.extend_from_slice(format!("\n{name} {}", lines.join("\n ")).as_bytes());
        }
        bytes.extend_from_slice(b"\n\n");
        bytes.extend_from_slice(&self.message);
        let call = repo.call("hash-object").args(["-t", "commit", "-w", "--stdin"]);
        let id = call.stdin(bytes.clone()).sha()?;
        repo.know_commit(&id, &bytes);
        Ok(id)
    }

    fn headers(&self) -> Vec<u8> {
        let mut bytes = format!("tree {}\n", self.tree).into_bytes();
        for parent in &self.parents {
            bytes.extend_from_slice(format!("parent {parent}\n").as_bytes());
        }
        bytes.extend_from_slice(b"author ");
        bytes.extend_from_slice(&self.author);
        bytes.extend_from_slice(b"\ncommitter ");
        bytes.extend_from_slice(&factory(&self.committed));
        if let Some(encoding) = &self.encoding {
            bytes.extend_from_slice(b"\nencoding ");
            bytes.extend_from_slice(encoding);
        }
        bytes
    }

    /// `Name <mail>` of the author.
    pub(crate) fn author_name(&self) -> String {
        let line = String::from_utf8_lossy(&self.author);
        let name = line.rfind('>').map_or(line.as_ref(), |end| &line[..=end]);
        text::one_line(name, 200)
    }

    pub(crate) fn subject(&self) -> String {
        text::one_line(self.text().trim_start().lines().next().unwrap_or_default(), 200)
    }

    /// The message in UTF-8. Of the old encodings only Latin-1 is supported; no other is still in use.
    pub(crate) fn text(&self) -> String {
        let latin = self.encoding.as_ref().is_some_and(|name| {
            let name = name.to_ascii_lowercase();
            [&b"iso-8859-1"[..], b"iso8859-1", b"latin1", b"latin-1"].contains(&name.as_slice())
        });
        match latin {
            true => self.message.iter().map(|byte| char::from(*byte)).collect(),
            false => String::from_utf8_lossy(&self.message).into_owned(),
        }
    }
}

/// The factory's identity at a moment, as an author or committer line.
pub(crate) fn factory(when: &Stamp) -> Vec<u8> {
    format!("{IDENTITY_NAME} <{IDENTITY_EMAIL}> {} {}", when.seconds, when.zone).into_bytes()
}

/// The moment at the end of an author or committer line; the epoch for a line without one.
fn stamp(line: &[u8]) -> Stamp {
    let line = String::from_utf8_lossy(line);
    let mut words = line[line.rfind('>').map_or(0, |end| end + 1)..].split_whitespace();
    let seconds = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    let zone = words.next().filter(|zone| zone.len() == 5 && zone.starts_with(['+', '-']));
    Stamp { seconds, zone: zone.unwrap_or("+0000").to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_from_the_future_is_not_followed() {
        let at = |seconds| Stamp { seconds, zone: "+0100".into() };
        let now = 1_000 * DAY + 5;
        assert_eq!(at(10).later_before(&at(20), now), at(20));
        assert_eq!(at(20).later_before(&at(10), now), at(20));
        let ahead = at(now + 2 * DAY);
        assert_eq!(at(10).later_before(&ahead, now), at(10));
        assert_eq!(ahead.clone().later_before(&at(10), now), at(10));
        let both = ahead.clone().later_before(&ahead, now);
        assert_eq!(both, ahead.clone().later_before(&ahead, now + 60));
        assert!(both.seconds <= now);
    }

    #[test]
    fn a_commit_is_read_with_odd_headers_and_bytes() {
        let tree = "a".repeat(40);
        let bytes = [
            format!("tree {tree}\nparent {tree}\nauthor A > B <a@x> 12 +0130\ncommitter C <c@x> 34 -0200\n")
                .as_bytes(),
            b"encoding latin1\ngpgsig -----BEGIN\n line\n\nsubject \xe4\n\nbody\n",
        ]
        .concat();
        let commit = Commit::parse("test", &bytes).expect("shas").expect("whole");
        assert_eq!(commit.parents.len(), 1);
        assert_eq!(commit.author_name(), "A > B <a@x>");
        assert_eq!(commit.committed, Stamp { seconds: 34, zone: "-0200".into() });
        assert_eq!(commit.encoding.as_deref(), Some(&b"latin1"[..]));
        assert_eq!(commit.message, b"subject \xe4\n\nbody\n");
        assert_eq!(commit.text(), "subject \u{e4}\n\nbody\n");
    }
}
