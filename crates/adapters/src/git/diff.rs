//! What a branch changes: as much of it as a reviewer is shown.

use super::run::{GitResult, Repo, WITH_SUBMODULES};
use super::site::Site;
use shopfloor_core::ids::Sha;
use shopfloor_core::text;
use shopfloor_engine::ports::PortResult;
use std::collections::{BTreeMap, BTreeSet};

/// How much of a diff is read before it is cut to a reviewer's budget.
const READ_BYTES_MAX: usize = 2 * 1024 * 1024;
const LIST_BYTES_MAX: usize = 1024 * 1024;
/// How many left-out files are named.
const OMITTED_MAX: usize = 40;

/// Whatever a user or repository configures, the same change gives the same text, and all of it.
const PLAIN: [&str; 7] =
    ["-r", "-U3", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", WITH_SUBMODULES];

impl Site {
    /// The change of a pull request, or what is new in it since a reviewed commit: file by file, as long as
    /// there is room, and a list of the rest.
    pub(super) fn review_diff(
        &self,
        since: Option<&Sha>,
        head: &Sha,
        bytes_max: usize,
    ) -> PortResult<String> {
        for commit in since.into_iter().chain([head]) {
            if !self.near().has(commit)? {
                return Ok(format!("(commit {} is not to be had any more)", commit.short()));
            }
        }
        let primary = self.primary_now()?;
        let base = self.near().base(&primary, head)?;
        let Some(since) = since else { return Ok(self.near().shown(&base, head, None, bytes_max)?) };
        // What came in from the primary branch is not part of the pull request.
        let mut own: BTreeSet<String> = self.near().stat(&base, head)?.into_iter().map(|f| f.path).collect();
        own.extend(self.near().stat(&self.near().base(&primary, since)?, since)?.into_iter().map(|f| f.path));
        Ok(self.near().shown(since.as_str(), head, Some(&own), bytes_max)?)
    }
}

impl Repo {
    fn diff_tree(&self, args: &[&str], from: &str, to: &str) -> super::call::Call {
        self.call("diff-tree").args(PLAIN).args(args).args([from, to, "--"])
    }

    fn stat(&self, from: &str, head: &Sha) -> GitResult<Vec<Changed>> {
        let list = self.diff_tree(&["--numstat"], from, head.as_str()).beginning(LIST_BYTES_MAX)?;
        Ok(list.lines().filter_map(Changed::parse).collect())
    }

    fn shown(
        &self,
        from: &str,
        head: &Sha,
        only: Option<&BTreeSet<String>>,
        bytes_max: usize,
    ) -> GitResult<String> {
        let diff = self.diff_tree(&["-p"], from, head.as_str()).beginning(READ_BYTES_MAX)?;
        let cut = diff.len() >= READ_BYTES_MAX;
        let mut parts = by_file(&diff, cut);
        let (mut shown, mut omitted) = (String::new(), Vec::new());
        for file in self.stat(from, head)? {
            if only.is_some_and(|own| !own.contains(&file.path)) {
                continue;
            }
            let part = parts.remove(file.header().as_str()).map(|part| text::neutralise(&part));
            match part.filter(|part| shown.len() + part.len() <= bytes_max) {
                Some(part) => shown.push_str(&part),
                None => omitted.push(file),
            }
        }
        if shown.is_empty() && omitted.is_empty() {
            return Ok("(no file differs)".into());
        }
        shown.push_str(&omission(&omitted));
        Ok(shown)
    }
}

/// A file, as git names it in lists, and how many lines were added and removed.
struct Changed {
    path: String,
    lines: String,
}

impl Changed {
    fn parse(line: &str) -> Option<Changed> {
        let (added, rest) = line.split_once('\t')?;
        let (removed, path) = rest.split_once('\t')?;
        let lines = match added {
            "-" => "binary".to_owned(),
            _ => format!("+{added} -{removed}"),
        };
        Some(Changed { path: path.to_owned(), lines })
    }

    /// The first line of its part of a diff.
    fn header(&self) -> String {
        match self.path.strip_prefix('"') {
            // With its closing quote.
            Some(quoted) => format!("diff --git \"a/{quoted} \"b/{quoted}"),
            None => format!("diff --git a/{0} b/{0}", self.path),
        }
    }
}

/// A diff's parts by their first lines. A file that became a link has two. `cut`: the last part is
/// incomplete.
fn by_file(diff: &str, cut: bool) -> BTreeMap<&str, String> {
    let mut parts: BTreeMap<&str, String> = BTreeMap::new();
    let mut current = "";
    for line in diff.split_inclusive('\n') {
        // Lines of file content begin with a sign.
        if line.starts_with("diff --git ") {
            current = line.trim_end_matches('\n');
        }
        parts.entry(current).or_default().push_str(line);
    }
    if cut {
        parts.remove(current);
    }
    parts
}

fn omission(files: &[Changed]) -> String {
    if files.is_empty() {
        return String::new();
    }
    let mut note = format!("\nLeft out for want of room, {} files:\n", files.len());
    for file in files.iter().take(OMITTED_MAX) {
        note.push_str(&format!("- {} ({})\n", text::one_line(&file.path, 160), file.lines));
    }
    if files.len() > OMITTED_MAX {
        note.push_str(&format!("- and {} more\n", files.len() - OMITTED_MAX));
    }
    note
}
