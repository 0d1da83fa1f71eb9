//! The hub as people use it: the branches they push there, and where its primary branch is, read without
//! starting git.

use super::chain::{Links, merge_trees};
use super::commit::Commit;
use super::refs;
use super::run::{Git, GitError, Repo, branch_ref};
use shopfloor_core::hints;
use shopfloor_core::ids::{PrNumber, Sha};
use shopfloor_core::planner::Tree;
use shopfloor_core::policy::MergeMethod;
use shopfloor_core::text;
use shopfloor_engine::ports::{Final, PortError};
use std::path::{Path, PathBuf};

/// A branch that has something to merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubBranch {
    pub head: Sha,
    pub tree: Tree,
    /// The first line of its newest commit.
    pub subject: String,
    /// `Name <mail>` of who made it.
    pub author: String,
    /// The first line of one of its commits that says itself that it is not for others yet.
    pub unfinished: Option<String>,
    /// Branches of the hub that its commits say it depends on, and that have not landed as they are.
    pub after: Vec<String>,
}

/// How the first lines begin of what is to become part of another commit, or is not done.
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
}

/// Commits of a branch that are looked at.
const SUBJECTS_MAX: &str = "1000";

/// Looks at a branch that is to be merged.
pub fn branch(git: &Git, hub: &Path, primary: &str, name: &str) -> Result<HubBranch, BranchProblem> {
    let full = |name: &str| branch_ref(name).map_err(|_| BranchProblem::BadName(name.to_owned()));
    let (name_ref, primary_ref) = (full(name)?, full(primary)?);
    let hub = git.bare(hub);
    let mut refs = hub.refs(&[&name_ref, &primary_ref])?;
    let on = refs.remove(1).ok_or_else(|| BranchProblem::NoPrimary(primary.to_owned()))?;
    let head = refs.remove(0).ok_or_else(|| BranchProblem::Unknown(name.to_owned()))?;
    let names = || (name.to_owned(), primary.to_owned());
    if hub.is_ancestor(&head, &on)? {
        let (name, primary) = names();
        return Err(BranchProblem::Nothing(name, primary));
    }
    if hub.call("merge-base").args([on.as_str(), head.as_str()]).ending(&[0, 1])?.code != 0 {
        let (name, primary) = names();
        return Err(BranchProblem::Unrelated(name, primary));
    }
    let commits = Commit::read_all(&hub, &[&head, &on])?;
    let base = (on.clone(), commits[1].clone());
    if changes_nothing(&hub, &on, &head, &commits[1].tree)?
        && !Links::new(&hub, MergeMethod::Squash, base).brings_something(name, &head)?
    {
        let (name, primary) = names();
        return Err(BranchProblem::Empty(name, primary));
    }
    let [head_commit, _] = &commits[..] else { unreachable!("two were asked for") };
    let range = format!("{on}..{head}");
    let log = hub.call("log").args(["--format=%s%n%b%x00", "-n", SUBJECTS_MAX, &range, "--"]).text()?;
    let subjects = log.split('\0').filter_map(|message| message.trim_start().lines().next());
    let unfinished = subjects.into_iter().find(|subject| is_unfinished(subject));
    let unfinished = unfinished.map(|subject| text::one_line(subject, 200));
    let (tree, subject) = (Tree(head_commit.tree.clone()), head_commit.subject());
    let (author, mut after) = (head_commit.author_name(), hints::after(&log.replace('\0', "\n")));
    after.retain(|name| is_to_come(&hub, &on, name));
    Ok(HubBranch { head, tree, subject, author, unfinished, after })
}

/// Whether the hub has a branch of that name with something that is not in `on` yet.
fn is_to_come(hub: &Repo, on: &Sha, name: &str) -> bool {
    let head = refs::read(hub.path(), &format!("refs/heads/{name}"));
    head.is_some_and(|head| !hub.is_ancestor(&head, on).unwrap_or(false))
}

fn changes_nothing(hub: &Repo, on: &Sha, head: &Sha, tree: &Sha) -> Result<bool, GitError> {
    Ok(merge_trees(hub, on, head)?.ok().as_ref() == Some(tree))
}

/// Where the primary branch is, and whether that has everything it was once `known` to have. `None`: there
/// is none.
pub fn primary(
    git: &Git,
    hub: &Path,
    branch: &str,
    known: Option<&Sha>,
) -> Result<Option<(Sha, bool)>, PortError> {
    let hub = git.bare(hub);
    let Some(head) = hub.refs(&[&branch_ref(branch)?])?.remove(0) else { return Ok(None) };
    let goes_on = match known {
        Some(known) if *known == head => true,
        // What the hub does not have cannot be in its branch.
        Some(known) => hub.commit(known.as_str())?.is_some() && hub.is_ancestor(known, &head)?,
        None => true,
    };
    Ok(Some((head, goes_on)))
}

/// What is read of one file.
const FILE_BYTES_MAX: usize = 1024 * 1024;

/// A file of a branch.
pub enum HubFile {
    Text(String),
    /// The branch has none.
    Absent,
    NoBranch,
}

pub fn file(git: &Git, hub: &Path, branch: &str, path: &str) -> Result<HubFile, PortError> {
    let name = branch_ref(branch)?;
    let hub = git.bare(hub);
    if !hub.path().exists() || hub.refs(&[&name])?[0].is_none() {
        return Ok(HubFile::NoBranch);
    }
    let call = hub.call("ls-tree").args(["-z", &name, "--", path]);
    let listed = call.text()?;
    // `<mode> <type> <object>`, a tab, the path.
    let Some((entry, _)) = listed.split_once('\t') else { return Ok(HubFile::Absent) };
    if !entry.starts_with("100") {
        return Err(PortError::permanent(Final::Config, format!("{path} of {branch} is no plain file")));
    }
    let object = entry.rsplit(' ').next().unwrap_or_default();
    let bytes = hub.call("cat-file").args(["blob", object]).run()?;
    if bytes.len() > FILE_BYTES_MAX {
        let why = format!("{path} of {branch} is larger than {FILE_BYTES_MAX} bytes");
        return Err(PortError::permanent(Final::Config, why));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(HubFile::Text(text)),
        Err(_) => Err(PortError::permanent(Final::Config, format!("{path} of {branch} is not UTF-8"))),
    }
}

/// Keeps a pull request's head, as forges do: whatever becomes of its branch, it can be looked at.
pub fn pin_pr(git: &Git, hub: &Path, pr: PrNumber, head: &Sha) -> Result<(), GitError> {
    let name = format!("refs/pull/{pr}/head");
    git.bare(hub).call("update-ref").args([name.as_str(), head.as_str()]).run().map(drop)
}

/// The files that change when the branch moves.
pub fn files_of(hub: &Path, branch: &str) -> [PathBuf; 2] {
    [hub.join("refs/heads").join(branch), hub.join("packed-refs")]
}

/// Where the branch is, as git's files say: no process is started for it. `None`: nowhere, or they do not
/// say so plainly, and git has to be asked.
pub fn peek(hub: &Path, branch: &str) -> Option<Sha> {
    refs::read(hub, &format!("refs/heads/{branch}"))
}
