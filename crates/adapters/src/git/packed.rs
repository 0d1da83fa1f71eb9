//! `packed-refs`: thousands of lines, of which one or two are of interest. Read once for as long as the file is the same.
//!
//! Invariant: what is kept of a file is what is in it now. The kernel sets a file's change time with every write and
//! rename, and nobody can set it back: a file that had changed before it was read, and has the same change time now, is
//! the same. One that changed in the clock's present tick is not kept.

use crate::host::theirs;
use shopfloor_core::ids::Sha;
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

const FILE: &str = "packed-refs";
const BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Shorter files are read as quickly as they are looked for.
const WORTH_KEEPING: usize = 4 * 1024;
/// What is kept of all repositories together. When there is more, all is forgotten.
const KEPT_BYTES_MAX: usize = 2 * BYTES_MAX as usize;

/// A repository's packed refs, as text.
pub(super) struct Packed {
    text: String,
    /// All of it could be read.
    whole: bool,
    /// Each line has its end, and is a ref, what an annotated tag stands for, or the header.
    sound: bool,
    /// Where each ref's line begins and ends, if they are in the order of their names.
    sorted: Option<Vec<(usize, usize)>>,
}

struct Kept {
    print: Print,
    packed: Arc<Packed>,
}

/// Whose content it is: device, file, size, and when it was written and changed.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Print([u64; 3], [i64; 4]);

static KEPT: Mutex<BTreeMap<PathBuf, Kept>> = Mutex::new(BTreeMap::new());

impl Packed {
    pub(super) fn of(dir: &Path) -> Arc<Packed> {
        // Before the file is looked at: whatever is written later changes later.
        let began = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
        let opened = theirs::open_in(dir, FILE).and_then(|file| Ok((file.metadata()?, file)));
        let (meta, file) = match opened {
            Ok(opened) => opened,
            // None are packed, if there is a repository at all.
            Err(e) => {
                forget(dir);
                let none = e.kind() == ErrorKind::NotFound && theirs::has_folder(dir, "refs");
                return Arc::new(Packed::parse(String::new(), none));
            }
        };
        let print = Print::of(&meta);
        if let Some(packed) = kept(dir, print) {
            return packed;
        }
        let packed = Arc::new(Packed::read(file));
        if (meta.ctime(), meta.ctime_nsec()) < (began.tv_sec, began.tv_nsec) {
            keep(dir, print, &packed);
        }
        packed
    }

    fn read(file: File) -> Packed {
        #[cfg(test)]
        tests::READS.with(|reads| reads.set(reads.get() + 1));
        match theirs::text_of(file, BYTES_MAX) {
            Ok(text) => Packed::parse(text, true),
            Err(_) => Packed::parse(String::new(), false),
        }
    }

    fn parse(text: String, whole: bool) -> Packed {
        let is_ref = |line: &str| [40, 64].iter().any(|end| line.as_bytes().get(*end) == Some(&b' '));
        let mut sound = text.is_empty() || text.ends_with('\n');
        let (mut refs, mut sorted, mut at, mut before) = (Vec::new(), true, 0, "");
        for line in text.split_inclusive('\n') {
            let (begin, end) = (at, at + line.trim_end_matches('\n').len());
            at += line.len();
            let line = &text[begin..end];
            if line.starts_with(['#', '^']) {
                continue;
            }
            sound = sound && is_ref(line);
            let name = name_of(line);
            sorted = sorted && before < name;
            before = name;
            refs.push((begin, end));
        }
        let sorted = (sound && sorted).then_some(refs);
        Packed { text, whole, sound, sorted }
    }

    /// Where the ref is, or that it is not packed, if every line is as git writes it.
    pub(super) fn find(&self, name: &str) -> Option<Option<Sha>> {
        let line = match &self.sorted {
            Some(refs) => {
                let found = refs.binary_search_by(|at| name_of(self.line(*at)).cmp(name));
                found.ok().and_then(|found| refs.get(found)).map(|at| self.line(*at))
            }
            None => self.text.find(&format!(" {name}\n")).map(|end| {
                let begin = self.text[..end].rfind('\n').map_or(0, |at| at + 1);
                &self.text[begin..end]
            }),
        };
        match line {
            Some(line) => line.split(' ').next()?.parse().ok().map(Some),
            None => (self.whole && self.sound).then_some(None),
        }
    }

    /// All refs whose names begin so.
    pub(super) fn list<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, Sha)> {
        let (sorted, others) = match &self.sorted {
            Some(refs) => {
                let first = refs.partition_point(|at| name_of(self.line(*at)) < prefix);
                (&refs[first..], "")
            }
            None => (&[] as &[(usize, usize)], self.text.as_str()),
        };
        let sorted = sorted.iter().map(|at| self.line(*at));
        let sorted = sorted.take_while(move |line| name_of(line).starts_with(prefix));
        let lines = sorted.chain(others.lines()).filter_map(|line| line.split_once(' '));
        let mine = lines.filter(move |(_, name)| name.starts_with(prefix));
        mine.filter_map(|(commit, name)| Some((name, commit.parse().ok()?)))
    }

    fn line(&self, (begin, end): (usize, usize)) -> &str {
        &self.text[begin..end]
    }
}

fn name_of(line: &str) -> &str {
    line.split_once(' ').map_or("", |(_, name)| name)
}

impl Print {
    fn of(meta: &Metadata) -> Print {
        let times = [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()];
        Print([meta.dev(), meta.ino(), meta.size()], times)
    }
}

fn with<T>(work: impl FnOnce(&mut BTreeMap<PathBuf, Kept>) -> T) -> T {
    work(&mut KEPT.lock().unwrap_or_else(PoisonError::into_inner))
}

fn kept(dir: &Path, print: Print) -> Option<Arc<Packed>> {
    with(|all| all.get(dir).filter(|kept| kept.print == print).map(|kept| kept.packed.clone()))
}

fn forget(dir: &Path) {
    with(|all| all.remove(dir));
}

fn keep(dir: &Path, print: Print, packed: &Arc<Packed>) {
    if packed.text.len() < WORTH_KEEPING {
        return;
    }
    with(|all| {
        all.remove(dir);
        let others: usize = all.values().map(|kept| kept.packed.text.len()).sum();
        if others + packed.text.len() > KEPT_BYTES_MAX {
            all.clear();
        }
        all.insert(dir.to_owned(), Kept { print, packed: packed.clone() });
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        pub(super) static READS: Cell<usize> = const { Cell::new(0) };
    }

    const HEADER: &str = "# pack-refs with: peeled fully-peeled sorted \n";

    fn sha(digit: char) -> Sha {
        digit.to_string().repeat(40).parse().expect("a name")
    }

    fn line(digit: char, name: &str) -> String {
        format!("{} {name}\n", sha(digit))
    }

    /// As git does it, with the clock's tick in which it happens over.
    fn write(dir: &Path, text: &str) {
        let (draft, file) = (dir.join("packed-refs.lock"), dir.join(FILE));
        std::fs::write(&draft, text).expect("written");
        std::fs::rename(&draft, &file).expect("renamed");
        let meta = file.metadata().expect("it is there");
        loop {
            let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
            if (meta.ctime(), meta.ctime_nsec()) < (now.tv_sec, now.tv_nsec) {
                return;
            }
            std::thread::yield_now();
        }
    }

    fn many(digit: char) -> String {
        (1000..1400).map(|n| line(digit, &format!("refs/pull/{n}/head"))).collect()
    }

    #[test]
    fn the_same_file_is_read_once_and_another_at_once() {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(dir.path().join("refs")).expect("made");
        let find = |name: &str| Packed::of(dir.path()).find(name);
        let reads = || READS.with(Cell::take);
        assert_eq!(find("refs/pull/1100/head"), Some(None), "there is no such file");
        write(dir.path(), &format!("{HEADER}{}", many('a')));
        for _ in 0..10 {
            assert_eq!(find("refs/pull/1100/head"), Some(Some(sha('a'))));
            assert_eq!(find("refs/pull/1100"), Some(None));
            assert_eq!(Packed::of(dir.path()).list("refs/pull/10").count(), 100);
        }
        assert_eq!(reads(), 1);
        write(dir.path(), &format!("{HEADER}{}", many('b')));
        assert_eq!(find("refs/pull/1100/head"), Some(Some(sha('b'))), "as long, and another");
        assert_eq!(reads(), 1);
        std::fs::remove_file(dir.path().join(FILE)).expect("removed");
        assert_eq!(find("refs/pull/1100/head"), Some(None));
        assert_eq!(reads(), 0);
    }

    #[test]
    fn what_was_written_just_now_is_not_kept() {
        let dir = tempfile::tempdir().expect("a folder");
        let text = many('a');
        write(dir.path(), &text);
        // In place, twice in a tick: whoever looks in between sees what is there.
        for digit in ['b', 'c', 'd'] {
            std::fs::write(dir.path().join(FILE), many(digit)).expect("written");
            let found = Packed::of(dir.path()).find("refs/pull/1001/head");
            assert_eq!(found, Some(Some(sha(digit))));
        }
    }

    #[test]
    fn refs_are_found_in_whatever_order_they_are() {
        let names = ["refs/heads/a", "refs/heads/a-b", "refs/heads/a/b", "refs/heads/b", "refs/tags/t"];
        let sorted: String = names.iter().map(|name| line('a', name)).collect();
        let peeled = format!("{HEADER}{sorted}^{}\n", sha('b'));
        let upside_down: String = names.iter().rev().map(|name| line('a', name)).collect();
        for (text, in_order) in [(sorted, true), (peeled, true), (upside_down, false)] {
            let packed = Packed::parse(text, true);
            assert_eq!(packed.sorted.is_some(), in_order);
            assert!(names.iter().all(|name| packed.find(name) == Some(Some(sha('a')))));
            assert!(["refs/heads", "refs/heads/c", ""].iter().all(|no| packed.find(no) == Some(None)));
            let mut list: Vec<&str> = packed.list("refs/heads/").map(|(name, _)| name).collect();
            list.sort_unstable();
            assert_eq!(list, names[..4]);
            assert_eq!(packed.list("refs/x").count(), 0);
        }
    }

    #[test]
    fn of_what_git_would_not_write_nothing_is_concluded() {
        for text in ["half a li", "half a line\n", "nonsense\nmore\n"] {
            let packed = Packed::parse(format!("{}{text}", line('a', "refs/heads/a")), true);
            assert_eq!(packed.find("refs/heads/a"), Some(Some(sha('a'))));
            assert_eq!(packed.find("refs/heads/b"), None);
        }
        assert_eq!(Packed::parse(String::new(), false).find("refs/heads/a"), None);
    }
}
