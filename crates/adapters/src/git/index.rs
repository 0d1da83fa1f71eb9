//! What a git index says, read from its file without starting a process: the repositories it names, the
//! files that git is told not to look at, and the tree that it is known to stand for.
//!
//! An index of a kind that is not known here (split, sparse, a later version) is not read at all; then git
//! has to be asked.

use crate::host::theirs;
use shopfloor_core::ids::Sha;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

/// The mode of a commit of another repository.
const LINK: u32 = 0o160_000;

/// Millions of files have a shorter one.
pub(super) const INDEX_BYTES_MAX: u64 = 1024 * 1024 * 1024;
/// What comes before an object's name in an entry: times, device, inode, mode, owner, size.
const STAT: usize = 40;
const MODE_AT: usize = 24;

const ASSUMED: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
const STAGE: u16 = 0x3000;
const SKIPPED: u16 = 0x4000;
const INTENDED: u16 = 0x2000;

#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Index {
    /// Commits that stand for repositories.
    pub links: Vec<(OsString, Sha)>,
    /// Files that git assumes to be unchanged.
    pub assumed: Vec<OsString>,
    /// Files that git considers not to be in the working tree.
    pub skipped: Vec<OsString>,
    /// What its tree depends on: of each entry the flags, the mode, the object and the path.
    entries: Vec<u8>,
    /// The tree of everything in it, if git has not touched an entry since that was written.
    tree: Option<Sha>,
}

impl Index {
    /// Reads an index of objects that have names like `like`. `None`: only git can read it. An index that
    /// does not exist is empty.
    pub(crate) fn read(path: &Path, like: &Sha) -> Option<Index> {
        match theirs::read(path, INDEX_BYTES_MAX) {
            Ok(bytes) => Index::parse(&bytes, like.as_str().len() / 2),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Some(Index::default()),
            Err(_) => None,
        }
    }

    /// The tree of everything in it, if that is known: from itself, or from what it was `before`.
    pub(super) fn tree(&self, before: &Index) -> Option<Sha> {
        let same = || before.tree.clone().filter(|_| before.entries == self.entries);
        self.tree.clone().or_else(same)
    }

    /// What its tree depends on, and nothing else.
    pub(super) fn entries(&self) -> &[u8] {
        &self.entries
    }

    /// The tree that it was last written as, if git has not touched an entry since.
    pub(super) fn own_tree(&self) -> Option<&Sha> {
        self.tree.as_ref()
    }

    /// Each file's path and mode, if each is there once and as it is to be committed; for objects with names like
    /// `like`.
    pub(crate) fn files(&self, like: &Sha) -> Option<Vec<(&[u8], u32)>> {
        let fixed = FIXED + like.as_str().len() / 2;
        let file = |(path, what): (_, &[u8])| {
            let (flags, mode) = what.get(..FIXED)?.split_at_checked(FIXED - 4)?;
            let plain = flags.iter().all(|byte| *byte == 0);
            plain.then_some((path, u32::from_be_bytes(mode.try_into().ok()?)))
        };
        Entries { rest: &self.entries, fixed }.map(file).collect()
    }

    /// How many paths are in one of the two alone, or differently in each, if objects have names like `like`.
    pub(super) fn differing(&self, other: &Index, like: &Sha) -> u32 {
        let fixed = FIXED + like.as_str().len() / 2;
        let (mut ours, mut theirs) =
            (Entries { rest: &self.entries, fixed }, Entries { rest: &other.entries, fixed });
        let (mut one, mut another, mut count) = (ours.next(), theirs.next(), 0);
        // Both are sorted by path.
        while let (Some((path, what)), Some((others, theirs_what))) = (one, another) {
            count += u32::from(path != others || what != theirs_what);
            if path <= others {
                one = ours.next();
            }
            if path >= others {
                another = theirs.next();
            }
        }
        let left =
            usize::from(one.is_some()) + ours.count() + usize::from(another.is_some()) + theirs.count();
        count.saturating_add(u32::try_from(left).unwrap_or(u32::MAX))
    }

    fn parse(bytes: &[u8], name_bytes: usize) -> Option<Index> {
        // The last bytes are a checksum, which git does not look at either.
        let mut rest = Bytes(bytes.get(..bytes.len().checked_sub(name_bytes)?)?);
        let (signature, version, count) = (rest.take(4)?, rest.u32()?, rest.u32()?);
        if signature != b"DIRC" || !(2..=4).contains(&version) {
            return None;
        }
        let mut index = Index::default();
        let mut path = Vec::new();
        for _ in 0..count {
            let before = rest.0.len();
            let mode = Bytes(rest.take(STAT)?.get(MODE_AT..)?).u32()?;
            let object = rest.take(name_bytes)?;
            let flags = rest.u16()?;
            let more = if flags & EXTENDED != 0 { rest.u16()? } else { 0 };
            if version == 4 {
                let kept = path.len().checked_sub(rest.varint()?)?;
                path.truncate(kept);
                path.extend_from_slice(rest.until(0)?);
            } else {
                path = rest.until(0)?.to_vec();
                // Each entry is as long as a multiple of eight, with at least one zero at its end.
                let length = before - rest.0.len();
                rest.take(length.next_multiple_of(8) - length)?;
            }
            for part in
                [&(flags & STAGE).to_be_bytes()[..], &(more & INTENDED).to_be_bytes(), &mode.to_be_bytes()]
            {
                index.entries.extend_from_slice(part);
            }
            index.entries.extend_from_slice(object);
            index.entries.extend_from_slice(&path);
            index.entries.push(0);
            let named = || OsString::from_vec(path.clone());
            if mode == LINK {
                index.links.push((named(), sha(object)?));
            }
            if flags & ASSUMED != 0 {
                index.assumed.push(named());
            }
            if more & SKIPPED != 0 {
                index.skipped.push(named());
            }
        }
        while !rest.0.is_empty() {
            let (kind, size) = (rest.take(4)?, rest.u32()?);
            let body = rest.take(usize::try_from(size).ok()?)?;
            match kind {
                b"TREE" => index.tree = root(body, name_bytes),
                // One that must be understood.
                _ if !kind[0].is_ascii_uppercase() => return None,
                _ => {}
            }
        }
        Some(index)
    }
}

/// What comes before an object's name in [`Index::entries`]: two times two bytes of flags, and the mode.
const FIXED: usize = 8;

/// The entries, each as its path and what is said of it.
struct Entries<'a> {
    rest: &'a [u8],
    /// How much comes before the path.
    fixed: usize,
}

impl<'a> Iterator for Entries<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (what, rest) = self.rest.split_at_checked(self.fixed)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        self.rest = &rest[end + 1..];
        Some((&rest[..end], what))
    }
}

/// The tree at the root of a `TREE` extension: an empty path, the number of entries (negative: not known),
/// the number of subtrees, the tree's name.
fn root(body: &[u8], name_bytes: usize) -> Option<Sha> {
    let mut rest = Bytes(body);
    let (path, entries) = (rest.until(0)?, rest.until(b' ')?);
    rest.until(b'\n')?;
    if !path.is_empty() || entries.starts_with(b"-") {
        return None;
    }
    sha(rest.take(name_bytes)?)
}

fn sha(bytes: &[u8]) -> Option<Sha> {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().parse().ok()
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_be_bytes(self.take(2)?.try_into().ok()?))
    }

    /// What comes before the next `end`, which is passed over.
    fn until(&mut self, end: u8) -> Option<&'a [u8]> {
        let at = self.0.iter().position(|byte| *byte == end)?;
        let taken = self.take(at)?;
        self.take(1)?;
        Some(taken)
    }

    /// A number as git packs it: seven bits a byte, the highest first, each further byte counting from one.
    fn varint(&mut self) -> Option<usize> {
        let mut byte = self.take(1)?[0];
        let mut value = usize::from(byte & 0x7f);
        while byte & 0x80 != 0 {
            byte = self.take(1)?[0];
            value = value.checked_add(1)?.checked_mul(128)? + usize::from(byte & 0x7f);
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// A repository with an index of every kind of entry.
    fn repository(format: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("tempdir");
        git(&dir, &["init", "--quiet", "--object-format", format]);
        for name in ["a", "folder/longer name", "folder/longer still", "z"] {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
            std::fs::write(path, name).expect("written");
        }
        git(&dir, &["add", "-A"]);
        git(&dir, &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "begin"]);
        dir
    }

    fn git(dir: &tempfile::TempDir, args: &[&str]) -> String {
        let out = Command::new("git")
            .args(args)
            .current_dir(dir)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .expect("git runs");
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).expect("UTF-8").trim_end().to_owned()
    }

    #[test]
    fn every_version_says_what_git_says() {
        for (format, version) in [("sha1", "2"), ("sha1", "4"), ("sha256", "2"), ("sha256", "4")] {
            let dir = repository(format);
            let head: Sha = git(&dir, &["rev-parse", "HEAD"]).parse().expect("a name");
            let read = || Index::read(&dir.path().join(".git/index"), &head);
            git(&dir, &["update-index", "--index-version", version]);
            let tree = git(&dir, &["rev-parse", "HEAD^{tree}"]).parse().ok();
            let begun = read().expect("read");
            assert_eq!(begun.tree, tree, "{format} {version}");
            assert_eq!((&begun.links, begun.assumed.len(), begun.skipped.len()), (&Vec::new(), 0, 0));

            // An entry that was touched and is the same: what it was before tells.
            std::fs::write(dir.path().join("a"), "a").expect("written");
            git(&dir, &["rm", "--quiet", "--cached", "a"]);
            assert_eq!(read().expect("read").tree(&begun), None);
            git(&dir, &["add", "a"]);
            let again = read().expect("read");
            assert_eq!((&again.tree, again.tree(&begun)), (&None, tree), "{format} {version}");

            let link = format!("160000,{head},folder/sub");
            git(&dir, &["update-index", "--add", "--cacheinfo", &link]);
            git(&dir, &["update-index", "--assume-unchanged", "folder/longer still"]);
            git(&dir, &["update-index", "--skip-worktree", "z"]);
            let flagged = read().expect("read");
            assert_eq!(flagged.links, [("folder/sub".into(), head.clone())], "{format} {version}");
            assert_eq!(flagged.assumed, ["folder/longer still"]);
            assert_eq!(flagged.skipped, ["z"]);
            assert_eq!(flagged.tree(&begun), None);
        }
    }

    #[test]
    fn what_is_not_known_is_left_to_git() {
        let dir = repository("sha1");
        let head: Sha = git(&dir, &["rev-parse", "HEAD"]).parse().expect("a name");
        let path = dir.path().join(".git/index");
        let bytes = std::fs::read(&path).expect("read");
        for end in 0..bytes.len() {
            // Cut anywhere, it is refused or lacks its last parts; nothing fails.
            let _ = Index::parse(&bytes[..end], 20);
        }
        assert_eq!(Index::parse(b"DIRC\0\0\0\x09\0\0\0\0aaaaaaaaaaaaaaaaaaaa", 20), None);
        git(&dir, &["update-index", "--split-index"]);
        assert_eq!(Index::read(&path, &head), None);
        assert_eq!(Index::read(&dir.path().join("none"), &head), Some(Index::default()));
    }
}
