//! Origin's branches as people think of them: what a branch has to merge, where the primary branch is, a file
//! on it.

use super::chain::{Links, merge_trees};
use super::commit::Commit;
use super::origin::Origin;
use super::run::{GitError, GitResult, Repo, WITH_SUBMODULES, branch_ref};
use shopfloor_core::hints;
use shopfloor_core::ids::Sha;
use shopfloor_core::planner::TreeId;
use shopfloor_core::policy::MergeMethod;
use shopfloor_core::text;
use shopfloor_engine::ports::{Final, PortError, PortResult};

/// A branch that has something to merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OriginBranch {
    pub head: Sha,
    pub tree: TreeId,
    /// The first line of its newest commit.
    pub subject: String,
    /// `Name <mail>` of that commit's author.
    pub author: String,
    /// The first line of a commit on it that says itself that it is not ready for others.
    pub unfinished: Option<String>,
    /// Branches of origin that its commits say it depends on and that have not landed as they are.
    pub after: Vec<String>,
    /// Every path that it changes, seen from where it left the branch it is to land on.
    pub paths: Vec<String>,
}

/// How the subject of a commit begins that is to become part of another, or is not finished.
const UNFINISHED: [&str; 5] = ["fixup!", "squash!", "amend!", "wip:", "wip "];

fn is_unfinished(subject: &str) -> bool {
    let subject = subject.to_ascii_lowercase();
    subject == "wip" || UNFINISHED.iter().any(|word| subject.starts_with(word))
}

/// Why a branch has nothing to merge.
#[derive(Debug, thiserror::Error)]
pub enum BranchProblem {
    #[error("{:?} is not a valid branch name", text::one_line(.0, 80))]
    BadName(String),
    #[error("the hub has no branch {0}")]
    Unknown(String),
    #[error("the hub has no primary branch {0}")]
    NoPrimary(String),
    #[error("{0} has no commit that {1} lacks: it is merged already, or nothing was committed")]
    Nothing(String, String),
    #[error("{0} changes nothing: all of it is in {1} already")]
    Empty(String, String),
    #[error("{0} shares no history with {1}")]
    Unrelated(String, String),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Origin(#[from] PortError),
}

/// How many commits of a branch are looked at.
const SUBJECTS_MAX: &str = "1000";

/// Looks at a branch that is to be merged.
pub fn branch(origin: &dyn Origin, primary: &str, name: &str) -> Result<OriginBranch, BranchProblem> {
    let full = |name: &str| branch_ref(name).map_err(|_| BranchProblem::BadName(name.to_owned()));
    let (name_ref, primary_ref) = (full(name)?, full(primary)?);
    origin.look()?;
    let near = origin.near();
    let mut refs = near.refs(&[&name_ref, &primary_ref])?;
    let on = refs.remove(1).ok_or_else(|| BranchProblem::NoPrimary(primary.to_owned()))?;
    let head = refs.remove(0).ok_or_else(|| BranchProblem::Unknown(name.to_owned()))?;
    let names = || (name.to_owned(), primary.to_owned());
    if near.is_ancestor(&head, &on)? {
        let (name, primary) = names();
        return Err(BranchProblem::Nothing(name, primary));
    }
    let Some(left) = near.merge_base(&on, &head)? else {
        let (name, primary) = names();
        return Err(BranchProblem::Unrelated(name, primary));
    };
    let commits = Commit::read_all(near, &[&head, &on])?;
    let base = (on.clone(), commits[1].clone());
    if changes_nothing(near, &on, &head, &commits[1].tree)?
        && !Links::new(near, MergeMethod::Squash, base).brings_something(name, &head)?
    {
        let (name, primary) = names();
        return Err(BranchProblem::Empty(name, primary));
    }
    let [head_commit, _] = &commits[..] else { unreachable!("two were asked for") };
    let range = format!("{on}..{head}");
    let log = near.call("log").args(["--format=%s%n%b%x00", "-n", SUBJECTS_MAX, &range, "--"]).text()?;
    let subjects = log.split('\0').filter_map(|message| message.trim_start().lines().next());
    let unfinished = subjects.into_iter().find(|subject| is_unfinished(subject));
    let unfinished = unfinished.map(|subject| text::one_line(subject, 200));
    let (tree, subject) = (TreeId(head_commit.tree.clone()), head_commit.subject());
    let (author, mut after) = (head_commit.author_name(), hints::after(&log.replace('\0', "\n")));
    after.retain(|name| is_to_come(origin, &on, name));
    let paths = changed_paths(near, Some(&left), &head)?;
    Ok(OriginBranch { head, tree, subject, author, unfinished, after, paths })
}

/// Whether there is a branch of that name with something that `on` does not have yet.
fn is_to_come(origin: &dyn Origin, on: &Sha, name: &str) -> bool {
    origin.branch(name).is_some_and(|head| !origin.near().is_ancestor(&head, on).unwrap_or(false))
}

fn changes_nothing(near: &Repo, on: &Sha, head: &Sha, tree: &Sha) -> Result<bool, GitError> {
    Ok(merge_trees(near, on, head)?.ok().as_ref() == Some(tree))
}

/// The tree of nothing, which git always knows.
const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// Every path that differs between two commits, by its old and its new name; `None`: between nothing and `head`.
pub(super) fn changed_paths(repo: &Repo, base: Option<&Sha>, head: &Sha) -> GitResult<Vec<String>> {
    let base = base.map_or(EMPTY_TREE, Sha::as_str);
    let range = ["--name-only", "-z", "--no-renames", "-r", WITH_SUBMODULES, base, head.as_str()];
    let listed = repo.lasting(repo.call("diff-tree").args(range), &[0])?.text();
    Ok(listed.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect())
}

/// Where the primary branch is, and whether it still has everything it was `known` to have. `None`: there is
/// no such branch.
pub fn primary(origin: &dyn Origin, branch: &str, known: Option<&Sha>) -> PortResult<Option<(Sha, bool)>> {
    let name = branch_ref(branch)?;
    origin.look()?;
    let Some(head) = origin.near().refs(&[&name])?.remove(0) else { return Ok(None) };
    // A commit that is not near origin cannot be in its branch.
    let continues = known.map_or(Ok(true), |known| origin.has(known, &head))?;
    Ok(Some((head, continues)))
}

/// How much of one file is read.
const FILE_BYTES_MAX: usize = 1024 * 1024;

/// A file on a branch.
pub enum OriginFile {
    Text(String),
    /// The branch does not have the file.
    Absent,
    NoBranch,
}

/// The file as it was last seen.
pub fn file(origin: &dyn Origin, branch: &str, path: &str) -> PortResult<OriginFile> {
    let name = branch_ref(branch)?;
    let near = origin.near();
    if !near.path().exists() {
        return Ok(OriginFile::NoBranch);
    }
    let Some(commit) = near.refs(&[&name])?.remove(0) else { return Ok(OriginFile::NoBranch) };
    let call = near.call("ls-tree").args(["-z", commit.as_str(), "--", path]);
    let listed = near.lasting(call, &[0])?.text();
    // `<mode> <type> <object>`, a tab, the path.
    let Some((entry, _)) = listed.split_once('\t') else { return Ok(OriginFile::Absent) };
    if !entry.starts_with("100") {
        return Err(PortError::permanent(Final::Config, format!("{path} of {branch} is no plain file")));
    }
    let object = entry.rsplit(' ').next().unwrap_or_default();
    let bytes = near.lasting(near.call("cat-file").args(["blob", object]), &[0])?.stdout;
    if bytes.len() > FILE_BYTES_MAX {
        let why = format!("{path} of {branch} is larger than {FILE_BYTES_MAX} bytes");
        return Err(PortError::permanent(Final::Config, why));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(OriginFile::Text(text)),
        Err(_) => Err(PortError::permanent(Final::Config, format!("{path} of {branch} is not UTF-8"))),
    }
}
