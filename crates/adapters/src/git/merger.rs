//! The [`Merger`] port: candidates built in the queue's own bare repository, without a checkout.
//!
//! * The head that was queued is pinned under `refs/queue/N`, the candidate made of it under
//!   `refs/candidates/N`, before either is reported.
//! * The same base, head and method give the same commit: a build repeated after a crash finds its
//!   candidate again. Dates come from the commits, not from the clock.
//! * The primary branch moves by compare-and-swap, only forward, and is on disk when the call
//!   returns (the hub syncs objects and refs).
//!
//! Rebasing replays the branch's commits one at a time. A branch with a merge commit in it has no
//! one linear form, so it is joined by a merge commit instead. Commits that change nothing on top
//! of what came before are left out. Merge drivers named in `.gitattributes` do not apply.

use super::commit::{Commit, Stamp, factory};
use super::run::{Git, GitError, GitResult, Repo, branch_ref, parse_sha};
use super::{GitProject, Projects, locks};
use crate::layout::Layout;
use rustix::fs::{FlockOperation, flock};
use shopfloor_core::ids::{EntryId, ProjectName, Sha};
use shopfloor_core::policy::MergeMethod;
use shopfloor_core::text;
use shopfloor_engine::ports::{BuildRequest, Built, Merger, PortError, PortResult};
use shopfloor_engine::proof::QueueLock;
use std::any::Any;
use std::fs::File;
use std::path::PathBuf;

const CONFLICT_FILES_MAX: usize = 200;
const SUBJECTS_MAX: usize = 50;
const CO_AUTHORS_MAX: usize = 20;

pub struct GitMerger {
    git: Git,
    layout: Layout,
    projects: Projects,
}

/// A project's queue: its repository, and where it publishes.
struct Queue {
    repo: Repo,
    hub: PathBuf,
    primary: String,
}

/// Gives the lock back at once, even if a process being started still has the file open.
struct Guard(File);

impl Drop for Guard {
    fn drop(&mut self) {
        // Closing the file, which follows, would do it too.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

impl GitMerger {
    pub fn new(git: Git, layout: Layout, projects: Projects) -> Self {
        GitMerger { git, layout, projects }
    }

    fn queue(&self, name: &ProjectName) -> PortResult<Queue> {
        let GitProject { primary_branch, .. } = (self.projects)(name).ok_or_else(|| {
            PortError::transient(format!("the configuration of project {name} is not to be had"))
        })?;
        Ok(Queue {
            repo: self.git.bare(&self.layout.queue_repo(name)),
            hub: self.layout.hub(name),
            primary: branch_ref(&primary_branch)?,
        })
    }
}

impl Merger for GitMerger {
    fn take_lock(&self, project: &ProjectName) -> PortResult<Box<dyn Any>> {
        let path = self.layout.queue_lock(project);
        let file = File::options().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(|e| PortError::transient(format!("opening {}: {e}", path.display())))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|e| {
            PortError::transient(format!("the merge queue of {project} is held by another process ({e})"))
        })?;
        // Whoever left a lock in the queue's repository is dead: this process holds the queue now.
        locks::sweep_repository(&self.layout.queue_repo(project));
        Ok(Box::new(Guard(file)))
    }

    fn build(&self, lock: &QueueLock, request: &BuildRequest<'_>) -> PortResult<Built> {
        if lock.project() != request.project {
            return Err(PortError::permanent("the queue lock is another project's"));
        }
        let queue = self.queue(request.project)?;
        let branch = branch_ref(request.branch)?;
        let mut refs = queue.repo.remote_refs(queue.hub.as_os_str(), &[&queue.primary, &branch])?;
        let (head, base) = (refs.remove(1), refs.remove(0));
        let base = base.ok_or_else(|| PortError::permanent(format!("origin has no {}", queue.primary)))?;
        if head.as_ref() != Some(request.head) {
            return Ok(Built::BranchMoved { head });
        }
        queue.obtain(&base, &branch, request.head)?;
        let joined = queue.join(&base, request)?;
        queue.pin(request, &joined)?;
        Ok(joined)
    }

    /// A primary branch that went on from `new` has it, so that is success too.
    fn publish(
        &self,
        lock: &QueueLock,
        _entry: EntryId,
        old: &Sha,
        new: &Sha,
    ) -> PortResult<Result<(), Sha>> {
        let queue = self.queue(lock.project())?;
        let actual = queue.primary_now()?;
        if &actual != old {
            return Ok(if queue.is_in(new, &actual)? { Ok(()) } else { Err(actual) });
        }
        if !queue.repo.is_ancestor(old, new)? {
            let (new, old) = (new.short(), old.short());
            return Err(PortError::permanent(format!(
                "{new} does not contain {old}: publishing it would drop commits"
            )));
        }
        let lease = format!("--force-with-lease={}:{old}", queue.primary);
        let call = queue.repo.call("push").args(["--quiet", &lease, "--"]);
        let Err(error) = call.arg(&queue.hub).arg(format!("{new}:{}", queue.primary)).run() else {
            return Ok(Ok(()));
        };
        // Refused or cut off: where the branch is now tells which.
        let actual = queue.primary_now()?;
        if &actual == old {
            return Err(error.into());
        }
        Ok(if queue.is_in(new, &actual)? { Ok(()) } else { Err(actual) })
    }
}

impl Queue {
    fn primary_now(&self) -> PortResult<Sha> {
        let head = self.repo.remote_refs(self.hub.as_os_str(), &[&self.primary])?.remove(0);
        head.ok_or_else(|| PortError::permanent(format!("origin has no {}", self.primary)))
    }

    /// Whether `new` is in the history of `actual`, origin's primary branch.
    fn is_in(&self, new: &Sha, actual: &Sha) -> PortResult<bool> {
        if new == actual {
            return Ok(true);
        }
        self.fetch(&[&self.primary])?;
        let known = self.repo.commit(new.as_str())?.is_some() && self.repo.commit(actual.as_str())?.is_some();
        Ok(known && self.repo.is_ancestor(new, actual)?)
    }

    fn fetch(&self, names: &[&str]) -> GitResult<()> {
        let call = self.repo.call("fetch").args(["--quiet", "--no-tags", "--no-write-fetch-head", "--"]);
        let specs = names.iter().map(|name| format!("+{name}:refs/origin/{}", &name["refs/".len()..]));
        call.arg(&self.hub).args(specs).run()?;
        Ok(())
    }

    /// Has both commits here, fetched if need be.
    fn obtain(&self, base: &Sha, branch: &str, head: &Sha) -> PortResult<()> {
        let missing = || -> GitResult<bool> {
            let call = self.repo.call("cat-file").arg("--batch-check");
            Ok(call.stdin(format!("{base}\n{head}\n")).text()?.lines().any(|line| !line.contains(" commit ")))
        };
        if missing()? {
            self.fetch(&[&self.primary, branch])?;
            if missing()? {
                return Err(PortError::transient("origin's branches moved while they were fetched"));
            }
        }
        Ok(())
    }

    fn pin(&self, request: &BuildRequest<'_>, joined: &Built) -> GitResult<()> {
        let BuildRequest { entry, head, .. } = request;
        let mut lines = format!("update refs/queue/{entry}\0{head}\0\0");
        if let Built::Candidate { commit, .. } = joined {
            lines.push_str(&format!("update refs/candidates/{entry}\0{commit}\0\0"));
        }
        self.repo.call("update-ref").args(["-z", "--stdin"]).stdin(lines).run()?;
        Ok(())
    }

    fn join(&self, base: &Sha, request: &BuildRequest<'_>) -> PortResult<Built> {
        let head = request.head;
        let ancestor = self.repo.call("merge-base").args([base.as_str(), head.as_str()]).ending(&[0, 1])?;
        if ancestor.code != 0 {
            return Err(PortError::permanent(format!(
                "{} shares no history with the primary branch",
                text::one_line(request.branch, 80)
            )));
        }
        let ancestor = ancestor.text();
        if ancestor == head.as_str() {
            return Ok(Built::NothingToMerge { base: base.clone() });
        }
        let on_top = ancestor == base.as_str();
        let joined = match request.method {
            MergeMethod::Rebase if on_top => Join::Commit(head.clone()),
            MergeMethod::Rebase => {
                let commits = self.commits(base, head)?;
                if commits.iter().any(|(_, commit)| commit.parents.len() > 1) {
                    self.merge(base, request)?
                } else {
                    self.rebase(base, &commits)?
                }
            }
            MergeMethod::Merge => self.merge(base, request)?,
            MergeMethod::Squash => self.squash(base, request)?,
        };
        let base = base.clone();
        Ok(match joined {
            Join::Commit(commit) => Built::Candidate { base, commit },
            Join::Conflict(files) => Built::Conflict { base, files },
            Join::Nothing => Built::NothingToMerge { base },
        })
    }

    /// The commits of the branch that the primary branch lacks, oldest first.
    fn commits(&self, base: &Sha, head: &Sha) -> GitResult<Vec<(Sha, Commit)>> {
        let range = format!("{base}..{head}");
        let call = self.repo.call("rev-list").args(["--reverse", "--topo-order", &range, "--"]);
        let command = call.shown();
        let list = call.text()?;
        let names = list.lines().map(|line| parse_sha(&command, line)).collect::<GitResult<Vec<Sha>>>()?;
        let commits = Commit::read_all(&self.repo, &names.iter().collect::<Vec<_>>())?;
        Ok(names.into_iter().zip(commits).collect())
    }

    fn rebase(&self, base: &Sha, commits: &[(Sha, Commit)]) -> GitResult<Join> {
        let mut onto = base.clone();
        let mut onto_commit = Commit::read(&self.repo, base)?;
        for (sha, commit) in commits {
            // A merge of this commit with a commit that has its parent, and the tree it is to go on
            // top of, has that parent as merge base: a cherry-pick. (`--merge-base` says the same,
            // but git 2.39 does not know it.)
            let stand_in = Commit {
                parents: commit.parents.clone(),
                author: factory(&commit.committed),
                message: b"stand-in for the new parent\n".to_vec(),
                encoding: None,
                ..onto_commit.clone()
            };
            let tree = match self.merge_trees(&stand_in.write(&self.repo)?, sha)? {
                Ok(tree) => tree,
                Err(files) => return Ok(Join::Conflict(files)),
            };
            if tree == onto_commit.tree {
                continue;
            }
            // Never before its parent, or walks of the history could go astray.
            let committed = commit.committed.clone().later(&onto_commit.committed);
            onto_commit = Commit { tree, parents: vec![onto], committed, ..commit.clone() };
            onto = onto_commit.write(&self.repo)?;
        }
        Ok(if onto == *base { Join::Nothing } else { Join::Commit(onto) })
    }

    fn pair(&self, base: &Sha, head: &Sha) -> GitResult<[Commit; 2]> {
        let read = Commit::read_all(&self.repo, &[base, head])?;
        Ok(read.try_into().expect("as many as asked for"))
    }

    fn merge(&self, base: &Sha, request: &BuildRequest<'_>) -> GitResult<Join> {
        let [base_commit, head_commit] = self.pair(base, request.head)?;
        let tree = match self.merge_trees(base, request.head)? {
            Ok(tree) if tree == base_commit.tree => return Ok(Join::Nothing),
            Ok(tree) => tree,
            Err(files) => return Ok(Join::Conflict(files)),
        };
        let committed = head_commit.committed.later(&base_commit.committed);
        let message = format!("{}\n\nMerges {}.\n", title(request), text::one_line(request.branch, 200));
        let parents = vec![base.clone(), request.head.clone()];
        Ok(Join::Commit(self.ours(tree, parents, committed, None, message)?))
    }

    fn squash(&self, base: &Sha, request: &BuildRequest<'_>) -> GitResult<Join> {
        let [base_commit, head_commit] = self.pair(base, request.head)?;
        let tree = match self.merge_trees(base, request.head)? {
            Ok(tree) if tree == base_commit.tree => return Ok(Join::Nothing),
            Ok(tree) => tree,
            Err(files) => return Ok(Join::Conflict(files)),
        };
        let commits = self.commits(base, request.head)?;
        let own: Vec<&Commit> = commits.iter().map(|(_, c)| c).filter(|c| c.parents.len() < 2).collect();
        let author = own.first().map(|commit| commit.author.clone());
        let committed = head_commit.committed.later(&base_commit.committed);
        let message = squash_message(&title(request), &own);
        Ok(Join::Commit(self.ours(tree, vec![base.clone()], committed, author, message)?))
    }

    fn ours(
        &self,
        tree: Sha,
        parents: Vec<Sha>,
        committed: Stamp,
        author: Option<Vec<u8>>,
        message: String,
    ) -> GitResult<Sha> {
        let author = author.unwrap_or_else(|| factory(&committed));
        Commit { tree, parents, author, committed, encoding: None, message: message.into_bytes() }
            .write(&self.repo)
    }

    /// The merged tree, or the files in conflict.
    fn merge_trees(&self, ours: &Sha, theirs: &Sha) -> GitResult<Result<Sha, Vec<String>>> {
        let call = self.repo.call("merge-tree").args(["--write-tree", "-z", "--name-only", "--no-messages"]);
        let call = call.args([ours.as_str(), theirs.as_str()]);
        let command = call.shown();
        let output = call.ending(&[0, 1])?;
        let mut fields = output.stdout.split(|byte| *byte == 0);
        let tree = fields.next().unwrap_or_default();
        if output.code == 0 {
            return parse_sha(&command, &String::from_utf8_lossy(tree)).map(Ok);
        }
        let names = fields.take_while(|name| !name.is_empty());
        let mut files: Vec<String> =
            names.map(|name| text::one_line(&String::from_utf8_lossy(name), 300)).collect();
        if files.is_empty() {
            // Exit code 1 without a file is not how git reports a conflict.
            return Err(GitError::Answer { command, answer: "a conflict in no file".into() });
        }
        let more = files.len().saturating_sub(CONFLICT_FILES_MAX);
        if more > 0 {
            files.truncate(CONFLICT_FILES_MAX);
            files.push(format!("… and {more} more"));
        }
        Ok(Err(files))
    }
}

enum Join {
    Commit(Sha),
    Conflict(Vec<String>),
    Nothing,
}

fn title(request: &BuildRequest<'_>) -> String {
    let title = text::one_line(request.title, 200);
    let title = if title.is_empty() { text::one_line(request.branch, 200) } else { title };
    format!("{title} (#{})", request.pr)
}

fn squash_message(title: &str, commits: &[&Commit]) -> String {
    let mut message = format!("{title}\n");
    if commits.len() > 1 {
        message.push('\n');
        for commit in commits.iter().take(SUBJECTS_MAX) {
            message.push_str(&format!("* {}\n", commit.subject()));
        }
        if commits.len() > SUBJECTS_MAX {
            message.push_str(&format!("* … and {} more\n", commits.len() - SUBJECTS_MAX));
        }
    }
    let first = commits.first().map(|commit| commit.author_name());
    let mut others: Vec<String> = Vec::new();
    for commit in commits {
        let body = String::from_utf8_lossy(&commit.message);
        let named = body.lines().filter_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case("co-authored-by").then(|| text::one_line(value, 200))
        });
        for author in std::iter::once(commit.author_name()).chain(named) {
            if Some(&author) != first.as_ref() && !others.contains(&author) {
                others.push(author);
            }
        }
    }
    if !others.is_empty() {
        message.push('\n');
    }
    for author in others.iter().take(CO_AUTHORS_MAX) {
        message.push_str(&format!("Co-authored-by: {author}\n"));
    }
    message
}
