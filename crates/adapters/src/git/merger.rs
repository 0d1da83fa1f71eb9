//! The [`Merger`] port: candidates built in the queue's own bare repository, without a checkout.
//!
//! * The queue's repository borrows the objects near origin (`objects/info/alternates`), so nothing has to be
//!   fetched twice. What it makes is its own until it is published. Origin never needs the queue's repository.
//! * The same base, heads and method give the same commits: a build repeated after a crash finds its
//!   candidates again. Dates come from the commits, not from the clock.
//! * Nothing here is pinned: neither repository ever prunes (`gc.pruneExpire = never`), and the heads that
//!   were queued are kept by `refs/pull/N/head` on origin.
//! * The primary branch moves by compare-and-swap, only forward, to a commit that origin holds whole, and
//!   is on disk when the call returns.

use super::attributes::Attributes;
use super::chain::{Join, Links};
use super::commit::Commit;
use super::origin::{self, Origin};
use super::run::{Git, GitError, Repo, UPLOAD, branch_ref};
use super::{GitProject, Projects, branches, locks};
use super::{landing, publish};
use crate::layout::Layout;
use rustix::fs::{FlockOperation, flock};
use shopfloor_core::effect::{BuiltLanding, LandedEntry, LandingStep, MovedBranch};
use shopfloor_core::ids::{EntryId, ProjectName, Sha, Target, in_words};
use shopfloor_core::text;
use shopfloor_engine::ports::{
    BuildRequest, Built, Final, Merger, NotPublished, NotSigned, PortError, PortResult, PrimaryAt,
    PublishRequest,
};
use shopfloor_engine::proof::QueueLock;
use std::any::Any;
use std::fs::File;
use std::sync::Arc;

pub struct GitMerger {
    git: Git,
    layout: Layout,
    projects: Projects,
    attributes: Attributes,
}

/// A project's queue: its repository, and where it publishes.
pub(super) struct Queue {
    pub(super) repo: Repo,
    pub(super) origin: Arc<dyn Origin>,
    /// The full name of the branch that it moves.
    pub(super) primary: String,
}

/// Gives the lock back at once, even if a process being started still has the file open.
struct Guard(File);

impl Drop for Guard {
    fn drop(&mut self) {
        // Closing the file, which happens next, would unlock it too.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

impl GitMerger {
    pub fn new(git: Git, layout: Layout, projects: Projects) -> Self {
        GitMerger { git, layout, projects, attributes: Attributes::default() }
    }

    fn known(&self, name: &ProjectName) -> PortResult<GitProject> {
        (self.projects)(name).ok_or_else(|| {
            PortError::transient(format!("the configuration of project {name} is not to be had"))
        })
    }

    fn queue(&self, name: &ProjectName, target: Option<&Target>) -> PortResult<Queue> {
        let GitProject { primary_branch, .. } = self.known(name)?;
        let branch = target.map_or(primary_branch.as_str(), Target::branch);
        Ok(Queue {
            repo: self.git.scratch(&self.layout.queue_repo(name)),
            origin: origin::of(&self.git, &self.layout, name),
            primary: branch_ref(branch)?,
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
        // Whoever left a lock in the queue's repository is dead: this process now holds the queue.
        locks::sweep_repository(&self.layout.queue_repo(project));
        Ok(Box::new(Guard(file)))
    }

    fn primary(
        &self,
        project: &ProjectName,
        target: Option<&Target>,
        known: Option<&Sha>,
    ) -> PortResult<Option<PrimaryAt>> {
        let GitProject { primary_branch, .. } = self.known(project)?;
        let branch = target.map_or(primary_branch.as_str(), Target::branch);
        let origin = origin::of(&self.git, &self.layout, project);
        let found = branches::primary(&*origin, branch, known)?;
        Ok(found.map(|(head, continues)| PrimaryAt { head, continues, recorded: origin.records() }))
    }

    fn build(&self, lock: &QueueLock, request: &BuildRequest<'_>) -> PortResult<Built> {
        if lock.project() != request.project {
            return Err(PortError::permanent(Final::Refused, "the queue lock is another project's"));
        }
        let queue = self.queue(request.project, request.target)?;
        let branches =
            request.list.iter().map(|e| branch_ref(&e.branch)).collect::<Result<Vec<String>, _>>()?;
        let mut names = vec![queue.primary.as_str()];
        names.extend(branches.iter().map(String::as_str));
        queue.origin.look()?;
        let mut refs = queue.origin.near().refs(&names)?;
        let Some(primary) = refs.remove(0) else { return Ok(Built::NoPrimary) };
        let at = refs.into_iter().zip(request.list);
        let moved: Vec<MovedBranch> = at
            .filter(|(head, entry)| head.as_ref() != Some(&entry.head))
            .map(|(head, entry)| MovedBranch { entry: entry.entry, head })
            .collect();

        let mut commits = vec![request.base];
        commits.extend(request.list.iter().map(|e| &e.head));
        let read = match Commit::read_all(&queue.repo, &commits) {
            Err(GitError::Answer { .. }) => {
                if !queue.obtain(&commits, &names, &moved)? {
                    // A missing commit cannot be built on; that its branch moved says why.
                    return Ok(Built::Chain { primary, moved, links: Vec::new() });
                }
                Commit::read_all(&queue.repo, &commits)?
            }
            read => read?,
        };
        let base = (request.base.clone(), read[0].clone());
        let repo = self.attributes.of_tree(&queue.repo, &base.1.tree)?;
        let mut links = Links::new(&repo, request.method, base)
            .without(request.removed)
            .after(request.landed)
            .with_each_commit(request.each_commit);
        for (entry, head) in request.list.iter().zip(&read[1..]) {
            match links.join(entry, head)? {
                Join::Linked => {}
                Join::Unrelated => {
                    let branch = text::one_line(&entry.branch, 80);
                    let why = format!("{branch} shares no history with {}", in_words(request.target));
                    return Ok(Built::Unmergeable { entry: entry.entry, why });
                }
                Join::Conflict(clash) => {
                    let with_base = links.conflict_with_base(entry, head)?;
                    let (with_base, clash) = (with_base.is_some(), with_base.unwrap_or(clash));
                    let conflict = clash.describe(&queue.repo)?;
                    let entry = entry.entry;
                    return Ok(Built::Conflict { primary, moved, entry, with_base, conflict });
                }
            }
        }
        Ok(Built::Chain { primary, moved, links: links.into_links() })
    }

    fn build_landing(
        &self,
        lock: &QueueLock,
        old: &Sha,
        steps: &[LandingStep],
    ) -> PortResult<Result<BuiltLanding, NotSigned>> {
        let signing = self.known(lock.project())?.signing;
        match landing::build(&self.queue(lock.project(), None)?.repo, old, steps, signing.as_ref()) {
            Err(GitError::NotSigned(why)) => Ok(Err(NotSigned(why))),
            built => Ok(Ok(built?)),
        }
    }

    /// If the primary branch has moved on from `new`, it contains it, so that is success too.
    fn publish(
        &self,
        lock: &QueueLock,
        request: &PublishRequest<'_>,
    ) -> PortResult<Result<(), NotPublished>> {
        publish::publish(&self.queue(lock.project(), request.target)?, request)
    }

    /// If everything is there, joining a branch again with what it landed as changes nothing.
    fn incomplete(&self, project: &ProjectName, landed: &[LandedEntry]) -> PortResult<Vec<EntryId>> {
        let queue = self.queue(project, None)?;
        let commits: Vec<&Sha> = landed.iter().map(|l| &l.commit).collect();
        let commits = Commit::read_all(&queue.repo, &commits)?;
        let mut incomplete = Vec::new();
        for (landed, commit) in landed.iter().zip(commits) {
            let repo = self.attributes.of_tree(&queue.repo, &commit.tree)?;
            let again = super::chain::merge_trees(&repo, &landed.commit, &landed.head)?;
            if again.ok().as_ref() != Some(&commit.tree) {
                incomplete.push(landed.entry);
            }
        }
        Ok(incomplete)
    }
}

impl Queue {
    pub(super) fn primary_now(&self) -> PortResult<Option<Sha>> {
        Ok(self.origin.near().refs(&[&self.primary])?.remove(0))
    }

    /// Fetches what is not visible here. The commits are origin's, so they are visible unless the repository
    /// does not borrow from origin (yet). False: a commit whose branch has moved is gone.
    fn obtain(&self, commits: &[&Sha], names: &[&str], moved: &[MovedBranch]) -> PortResult<bool> {
        let call =
            self.repo.call("fetch").args(["--quiet", "--no-tags", "--no-write-fetch-head", UPLOAD, "--"]);
        let specs = names.iter().map(|name| format!("+{name}:refs/origin/{}", &name["refs/".len()..]));
        // One of the branches may just have been deleted.
        if let Err(error) = call.arg(self.origin.near().path()).args(specs).run()
            && moved.is_empty()
        {
            return Err(error.into());
        }
        match Commit::read_all(&self.repo, commits) {
            Ok(_) => Ok(true),
            Err(GitError::Answer { .. }) if !moved.is_empty() => Ok(false),
            Err(GitError::Answer { .. }) => {
                Err(PortError::transient("origin's branches moved while they were fetched"))
            }
            Err(error) => Err(error.into()),
        }
    }
}
