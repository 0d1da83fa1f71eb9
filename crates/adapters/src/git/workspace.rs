//! The [`Workspace`] port: worktrees of the floor's private clone.
//!
//! A worktree that exists is an agent's and is never reset. Commits, untracked files and a rebase
//! in progress survive every call here but [`Workspace::remove`], which wants proof of a rescue.
//! The clone's branches go forward only, and a branch is deleted only at the head that was merged.

use super::run::{Git, GitError, branch_ref};
use super::site::Site;
use super::worktree::{self, Found, Worktree};
use super::{Projects, checkout, hazards, locks, rescue};
use crate::layout::Layout;
use shopfloor_core::effect::Tidy;
use shopfloor_core::ids::{PrNumber, ProjectName, Sha};
use shopfloor_core::text;
use shopfloor_engine::ports::{
    BranchState, Final, PortError, PortResult, Prepared, Snapshot, Tree, Workspace,
};
use shopfloor_engine::proof::{MergedProof, RescueProof};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

pub struct GitWorkspace {
    pub(super) git: Git,
    layout: Layout,
    projects: Projects,
    /// One at a time may add or remove worktrees of a clone: git does not lock that itself.
    registers: Mutex<BTreeMap<ProjectName, Arc<Mutex<()>>>>,
}

impl GitWorkspace {
    pub fn new(git: Git, layout: Layout, projects: Projects) -> Self {
        GitWorkspace { git, layout, projects, registers: Mutex::default() }
    }

    pub(super) fn site(&self, name: &ProjectName) -> PortResult<Site> {
        let project = (self.projects)(name).ok_or_else(|| {
            PortError::transient(format!("the configuration of project {name} is not to be had"))
        })?;
        let primary = branch_ref(&project.primary_branch)?;
        Ok(Site { clone: self.git.shared(&self.layout.clone_repo(name)), project, primary })
    }

    pub(super) fn register(&self, project: &ProjectName) -> Arc<Mutex<()>> {
        let mut all = self.registers.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(project.clone()).or_default().clone()
    }

    fn path(&self, tree: &Tree) -> PathBuf {
        self.layout.tree(tree)
    }

    /// The worktree, if there is one. Anything else in its place is an error: it may be work.
    fn open(&self, tree: &Tree) -> PortResult<Option<Worktree>> {
        Ok(self.find(tree)?.map(|(worktree, _)| worktree))
    }

    /// The same, and whether it had to be repaired.
    fn find(&self, tree: &Tree) -> PortResult<Option<(Worktree, bool)>> {
        let path = self.path(tree);
        match Worktree::find(&self.git, &self.layout.clone_repo(&tree.project), &path)? {
            Found::Absent => Ok(None),
            Found::Open(worktree) => Ok(Some((worktree, false))),
            Found::Repaired(worktree) => Ok(Some((worktree, true))),
            Found::Foreign => Err(PortError::permanent(
                Final::InTheWay,
                format!(
                    "{} exists but is not a worktree of project {}: look at what is in it and move it away",
                    path.display(),
                    tree.project
                ),
            )),
        }
    }

    pub(super) fn must_open(&self, tree: &Tree) -> PortResult<Worktree> {
        self.open(tree)?.ok_or_else(|| {
            PortError::transient(format!("there is no worktree {}", self.path(tree).display()))
        })
    }

    /// Clears the way for a new worktree without losing what a dead one still records.
    /// `again`: the branch of a worktree that is to be made again.
    fn clear_dead(&self, site: &Site, tree: &Tree, again: Option<&str>) -> PortResult<()> {
        let path = self.path(tree);
        if let Some(dead) = worktree::listed(&site.clone, &path)? {
            if let Some(full) = again
                && worktree::was_ready(&site.clone, &dead)
            {
                self.remember(site, tree, full, dead.head.as_ref())?;
            }
            if let Some(head) = &dead.head {
                rescue::keep_commit(&site.clone, tree, head)?;
            }
            worktree::discard(&site.clone, &dead.path)?;
        }
        Ok(())
    }

    /// The worktree if it is usable; one whose making was cut short is cleared away.
    fn usable(
        &self,
        site: &Site,
        tree: &Tree,
        branch: Option<&str>,
        notes: &mut Vec<String>,
    ) -> PortResult<Option<Worktree>> {
        match self.find(tree)? {
            Some((worktree, repaired)) => {
                if repaired {
                    notes.push("the worktree's .git file was damaged and is repaired".into());
                }
                let unlocked = worktree.unlock();
                if !unlocked.is_empty() {
                    notes.push(format!("{} was left by a git that died and is removed", unlocked.join(", ")));
                }
                if worktree.is_ready() {
                    return Ok(Some(worktree));
                }
                // No agent was ever in it. All the same, nothing is deleted unrescued.
                self.keep(site, &worktree, tree)?;
                worktree::discard(&site.clone, &worktree.path)?;
                Ok(None)
            }
            None => {
                self.clear_dead(site, tree, branch)?;
                Ok(None)
            }
        }
    }

    fn prepare_dev(
        &self,
        site: &Site,
        tree: &Tree,
        branch: &str,
        notes: &mut Vec<String>,
    ) -> PortResult<Worktree> {
        let full = branch_ref(branch)?;
        if full == site.primary {
            return Err(PortError::permanent(
                Final::Refused,
                format!("{branch} is the primary branch: no agent works on it"),
            ));
        }
        if let Some(worktree) = self.usable(site, tree, Some(&full), notes)? {
            self.put_back_done(site, tree)?;
            self.go_over(site, &worktree, branch, &full)?;
            self.catch_up(site, &worktree, &full)?;
            return Ok(worktree);
        }
        locks::sweep_repository(site.clone.path());
        site.fetch()?;
        site.start_branch(branch, &full)?;
        self.release_branch(site, &full)?;
        let path = self.path(tree);
        let call = site.clone.call("worktree").args(["add", "--quiet", "--"]);
        call.arg(&path).arg(branch).run()?;
        let worktree = self.must_open(tree)?;
        notes.extend(self.put_back(site, tree, &worktree)?);
        worktree.set_ready(&full)?;
        self.put_back_done(site, tree)?;
        self.catch_up(site, &worktree, &full)?;
        Ok(worktree)
    }

    /// A worktree that was kept from work on another branch goes over to the one that is worked on now,
    /// if that leaves nothing behind. Else whoever works in it is told.
    fn go_over(&self, site: &Site, worktree: &Worktree, branch: &str, full: &str) -> PortResult<()> {
        if !worktree.is_for_another(full) {
            return Ok(());
        }
        if site.clone.commit(full)?.is_none() {
            site.fetch()?;
            site.start_branch(branch, full)?;
        }
        let left = hazards::operation(worktree).is_some()
            || hazards::astray(&site.clone, worktree, full)?.is_some()
            || worktree.dirty()? > 0;
        if !left {
            self.release_branch(site, full)?;
            worktree.repo.call("checkout").args(["--quiet", branch, "--"]).run()?;
            worktree.set_ready(full)?;
        }
        Ok(())
    }

    /// A worktree in which nothing was done begins where the primary branch is now.
    fn catch_up(&self, site: &Site, worktree: &Worktree, full: &str) -> PortResult<()> {
        site.fetch()?;
        let primary = site.clone.commit(&site.tracking(&site.project.primary_branch))?;
        let (Some(head), Some(primary)) = (worktree.head()?, primary) else { return Ok(()) };
        let on_branch = site.clone.commit(full)?.as_ref() == Some(&head);
        let behind = head != primary && site.clone.is_ancestor(&head, &primary)?;
        if on_branch && behind && worktree.dirty()? == 0 {
            worktree.repo.call("merge").args(["--quiet", "--ff-only", primary.as_str()]).run()?;
        }
        Ok(())
    }

    fn prepare_review(
        &self,
        site: &Site,
        tree: &Tree,
        at: &Sha,
        notes: &mut Vec<String>,
    ) -> PortResult<Worktree> {
        let existing = self.usable(site, tree, None, notes)?;
        if site.clone.commit(at.as_str())?.is_none() {
            site.fetch()?;
        }
        if site.clone.commit(at.as_str())?.is_none() {
            return Err(PortError::permanent(
                Final::Missing,
                format!("commit {} is not on origin", at.short()),
            ));
        }
        let Some(worktree) = existing else {
            let call = site.clone.call("worktree").args(["add", "--quiet", "--detach", "--"]);
            call.arg(self.path(tree)).arg(at.as_str()).run()?;
            let worktree = self.must_open(tree)?;
            worktree.set_ready("")?;
            return Ok(worktree);
        };
        if worktree.head()?.as_ref() != Some(at) {
            // What a reviewer changed is of no further use, but it is kept.
            self.keep(site, &worktree, tree)?;
            let call = worktree.repo.call("checkout").args(["--quiet", "--force", "--detach"]);
            call.arg(at.as_str()).arg("--").run()?;
        }
        Ok(worktree)
    }

    pub(super) fn keep(&self, site: &Site, worktree: &Worktree, tree: &Tree) -> PortResult<Snapshot> {
        rescue::keep(&self.git, &site.clone, worktree, tree).map_err(moving)
    }

    /// Makes sure that no other worktree has the branch checked out.
    fn release_branch(&self, site: &Site, full: &str) -> PortResult<()> {
        let all = worktree::list(&site.clone)?;
        let Some(other) = all.into_iter().find(|entry| entry.branch.as_deref() == Some(full)) else {
            return Ok(());
        };
        if !other.path.exists() {
            // The branch itself keeps its commits.
            return Ok(worktree::discard(&site.clone, &other.path)?);
        }
        let is_review =
            other.path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"review-"));
        let clone = self.layout.clone_repo(&site.project.name);
        if is_review
            && let Found::Open(worktree) | Found::Repaired(worktree) =
                Worktree::find(&self.git, &clone, &other.path)?
        {
            // HEAD lets go of the branch and stays at its commit; no file changes.
            worktree.repo.call("checkout").args(["--quiet", "--detach"]).run()?;
            return Ok(());
        }
        Err(PortError::permanent(
            Final::InTheWay,
            format!("{full} is checked out in {}", other.path.display()),
        ))
    }
}

impl Workspace for GitWorkspace {
    fn prepare(&self, tree: &Tree, branch: &str, at: Option<&Sha>) -> PortResult<Prepared> {
        let site = self.site(&tree.project)?;
        let register = self.register(&tree.project);
        let _held = register.lock().unwrap_or_else(PoisonError::into_inner);
        let mut notes = Vec::new();
        let worktree = match (tree.is_review(), at) {
            (false, _) => self.prepare_dev(&site, tree, branch, &mut notes)?,
            (true, Some(at)) => self.prepare_review(&site, tree, at, &mut notes)?,
            (true, None) => {
                return Err(PortError::permanent(Final::Refused, "a review needs the commit it is about"));
            }
        };
        // An agent may have left a branch without a commit checked out; then the branch speaks.
        let head = match worktree.head()? {
            Some(head) => Some(head),
            None => site.clone.commit(&branch_ref(branch)?)?,
        };
        let head = head.ok_or_else(|| {
            PortError::permanent(
                Final::Missing,
                format!("{} has no commit checked out", worktree.path.display()),
            )
        })?;
        let path = worktree
            .path
            .to_str()
            .ok_or_else(|| PortError::permanent(Final::Config, "the floor's path is not UTF-8"))?;
        if !tree.is_review() {
            match hazards::operation(&worktree) {
                Some(operation) => notes.push(operation.note()),
                None => notes.extend(hazards::astray(&site.clone, &worktree, &branch_ref(branch)?)?),
            }
            notes.extend(hazards::submodules(&self.git, &worktree)?);
        }
        Ok(Prepared { path: path.to_owned(), head, notes })
    }

    fn branch_state(&self, tree: &Tree, branch: &str) -> PortResult<BranchState> {
        let site = self.site(&tree.project)?;
        let full = branch_ref(branch)?;
        let head = site.clone.commit(&full)?;
        let head =
            head.ok_or_else(|| PortError::permanent(Final::Missing, format!("there is no branch {branch}")))?;
        let mut origin = site.on_origin(&[&full, &site.primary])?;
        let head = site.gone_on(&full, head, origin[0].as_ref())?;
        let primary = site.have_primary(origin.remove(1))?;
        let range = format!("{primary}..{head}");
        let call = site.clone.call("rev-list").args(["--count", &range, "--"]);
        let (command, text) = (call.shown(), call.text()?);
        let ahead = text.parse().map_err(|_| GitError::Answer { command, answer: text })?;
        // Commits that change nothing are no work.
        let ahead = if ahead > 0 && site.changes_nothing(&primary, &head)? { 0 } else { ahead };
        let worktree = self.open(tree)?;
        let dirty = worktree.as_ref().map_or(Ok(0), Worktree::dirty)?;
        let unfinished = match &worktree {
            Some(worktree) => match hazards::operation(worktree) {
                Some(operation) => Some(operation.note()),
                None => hazards::astray(&site.clone, worktree, &full)?,
            },
            None => None,
        };
        let patch = match ahead {
            0 => None,
            _ => site.patch(&site.base(&primary, &head)?, &head)?,
        };
        Ok(BranchState { head, ahead, dirty, pushed: origin.remove(0), unfinished, patch })
    }

    fn push(&self, tree: &Tree, branch: &str) -> PortResult<Sha> {
        let site = self.site(&tree.project)?;
        let full = branch_ref(branch)?;
        if full == site.primary {
            return Err(PortError::permanent(Final::Refused, format!("only the merge queue moves {branch}")));
        }
        let head = site.clone.commit(&full)?;
        let head =
            head.ok_or_else(|| PortError::permanent(Final::Missing, format!("there is no branch {branch}")))?;
        let pushed = site.clone.call("push").args(["--quiet", "origin"]).arg(format!("{head}:{full}")).run();
        match pushed {
            Ok(_) => Ok(head),
            Err(e) if e.says("non-fast-forward") || e.says("fetch first") => Err(PortError::permanent(
                Final::Rejected,
                format!(
                    "origin's {branch} has commits that the worktree's lacks: fetch, then merge or rebase onto origin/{branch}"
                ),
            )),
            Err(e) => Err(e.into()),
        }
    }

    fn work_done(&self, tree: &Tree, bytes_max: usize) -> PortResult<String> {
        let site = self.site(&tree.project)?;
        let worktree = self.must_open(tree)?;
        let content = rescue::Content::of(&self.git, &worktree).map_err(moving)?;
        let primary = site.primary_now()?;
        let head = content.head.unwrap_or_else(|| primary.clone());
        let base = site.base(&primary, &head)?;
        let show = |subcommand: &str, args: &[&str]| {
            site.clone.call(subcommand).args(args).beginning(bytes_max.saturating_add(1))
        };
        let plain = ["--no-color", "--no-ext-diff", "--no-textconv"];
        let diff = |args: &[&str]| show("diff", &[&plain[..], args, &["--"]].concat());
        let range = format!("{base}..{head}");
        let now = content.tree.as_str();
        let parts = [
            ("Commits", show("log", &["--no-color", "--oneline", "--no-decorate", &range, "--"])?),
            ("Not committed", diff(&["--stat=100", head.as_str(), now])?),
            ("All changes", diff(&["--stat=100", &base, now])?),
            ("Diff", diff(&[&base, now])?),
        ];
        let mut all = String::new();
        for (title, body) in parts {
            let body = text::neutralise(body.trim_end());
            all.push_str(&format!("{title}:\n{}\n\n", if body.is_empty() { "(none)" } else { &body }));
        }
        Ok(bounded(&all, bytes_max))
    }

    fn review_diff(
        &self,
        project: &ProjectName,
        since: Option<&Sha>,
        head: &Sha,
        bytes_max: usize,
    ) -> PortResult<String> {
        self.site(project)?.review_diff(since, head, bytes_max)
    }

    fn change_of(&self, project: &ProjectName, head: &Sha, bytes_max: usize) -> PortResult<String> {
        let site = self.site(project)?;
        if site.clone.commit(head.as_str())?.is_none() {
            // By its name: no branch may have it any more.
            let call = site.clone.call("fetch").args(["--quiet", "--no-tags", "origin", head.as_str()]);
            call.ending(&[0, 1, 128])?;
        }
        if site.clone.commit(head.as_str())?.is_none() {
            return Ok(String::new());
        }
        let base = site.base(&site.primary_now()?, head)?;
        let range = format!("{base}..{head}");
        let log = site.clone.call("log").args(["--no-color", "--oneline", "--no-decorate", &range, "--"]);
        let stat = site.clone.call("diff").args(["--no-color", "--no-ext-diff", "--stat=100", &range, "--"]);
        let (log, stat) = (log.beginning(bytes_max + 1)?, stat.beginning(bytes_max + 1)?);
        Ok(bounded(&text::neutralise(format!("{}\n\n{}", log.trim_end(), stat.trim_end()).trim()), bytes_max))
    }

    fn changed_files(&self, tree: &Tree, max: usize) -> PortResult<Vec<String>> {
        let site = self.site(&tree.project)?;
        let worktree = self.must_open(tree)?;
        let content = rescue::Content::of(&self.git, &worktree).map_err(moving)?;
        let primary = site.primary_now()?;
        let head = content.head.unwrap_or_else(|| primary.clone());
        let base = site.base(&primary, &head)?;
        let range = ["--name-only", "-z", "--no-renames", "-r", &base, content.tree.as_str()];
        let listed = site.clone.call("diff-tree").args(range).beginning(FILES_BYTES_MAX)?;
        Ok(listed.split('\0').filter(|name| !name.is_empty()).take(max).map(str::to_owned).collect())
    }

    fn snapshot(&self, tree: &Tree) -> PortResult<Option<Snapshot>> {
        let site = self.site(&tree.project)?;
        match self.open(tree)? {
            Some(worktree) => Ok(Some(self.keep(&site, &worktree, tree)?)),
            None => Ok(None),
        }
    }

    fn snapshot_holds(&self, tree: &Tree, snapshot: &Snapshot) -> PortResult<bool> {
        let site = self.site(&tree.project)?;
        let worktree = self.open(tree)?;
        rescue::holds(&self.git, &site.clone, worktree.as_ref(), snapshot).map_err(moving)
    }

    fn share(&self, tree: &Tree, snapshot: &Snapshot) -> PortResult<()> {
        self.send(tree, snapshot)
    }

    fn prune_rescues(&self, tidy: &Tidy) -> PortResult<u32> {
        self.prune(tidy)
    }

    fn remove(&self, proof: RescueProof) -> PortResult<()> {
        let tree = proof.tree();
        let site = self.site(&tree.project)?;
        let register = self.register(&tree.project);
        let _held = register.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(worktree) = self.open(tree)? else {
            return self.clear_dead(&site, tree, None);
        };
        let held = match proof.snapshot() {
            Some(snapshot) => {
                rescue::holds(&self.git, &site.clone, Some(&worktree), snapshot).map_err(moving)?
            }
            None => false,
        };
        if !held {
            let path = worktree.path.display();
            return Err(PortError::transient(format!("{path} changed after it was rescued, so it is kept")));
        }
        Ok(worktree::discard(&site.clone, &worktree.path)?)
    }

    fn delete_branch(&self, branch: &str, proof: MergedProof) -> PortResult<()> {
        let site = self.site(proof.project())?;
        let full = branch_ref(branch)?;
        if full == site.primary {
            return Err(PortError::permanent(
                Final::Refused,
                format!("{branch} is the primary branch: it is not deleted"),
            ));
        }
        let head = &proof.merged().head;
        if site.on_origin(&[&full])?.remove(0).as_ref() == Some(head) {
            let lease = format!("--force-with-lease={full}:{head}");
            site.clone.call("push").args(["--quiet", &lease, "origin"]).arg(format!(":{full}")).run()?;
        }
        if site.clone.commit(&full)?.as_ref() == Some(head) {
            let holder = worktree::list(&site.clone)?.into_iter().find(|w| w.branch.as_ref() == Some(&full));
            if let Some(holder) = holder {
                let path = holder.path.display();
                return Err(PortError::permanent(
                    Final::InTheWay,
                    format!("{branch} is checked out in {path}, so it is kept"),
                ));
            }
            let line = format!("delete {full}\0{head}\0");
            site.clone.call("update-ref").args(["-z", "--stdin"]).stdin(line).run()?;
        }
        Ok(())
    }

    fn is_merged(&self, project: &ProjectName, commit: &Sha) -> PortResult<bool> {
        let site = self.site(project)?;
        let primary = site.primary_now()?;
        Ok(site.clone.commit(commit.as_str())?.is_some() && site.clone.is_ancestor(commit, &primary)?)
    }

    fn pin_pr(&self, project: &ProjectName, pr: PrNumber, head: &Sha) -> PortResult<()> {
        self.pin(project, &format!("refs/pull/{pr}/head"), head)
    }

    fn pin_merged(&self, project: &ProjectName, head: &Sha) -> PortResult<()> {
        self.pin(project, &format!("refs/shopfloor/merged/{head}"), head)
    }

    fn sync_checkout(&self, project: &ProjectName) -> PortResult<(bool, String)> {
        let site = self.site(project)?;
        let hub = self.layout.hub(project);
        checkout::sync(&self.git, Path::new(&hub), &site.project)
    }
}

impl GitWorkspace {
    /// Keeps a commit under a ref of origin's.
    fn pin(&self, project: &ProjectName, name: &str, head: &Sha) -> PortResult<()> {
        let site = self.site(project)?;
        if site.on_origin(&[name])?.remove(0).as_ref() == Some(head) {
            return Ok(());
        }
        if site.clone.commit(head.as_str())?.is_none() {
            site.fetch()?;
        }
        site.clone.call("push").args(["--quiet", "origin"]).arg(format!("+{head}:{name}")).run()?;
        Ok(())
    }
}

/// A live agent may delete a file while git reads it: whatever failed, it is worth another try.
fn moving(error: GitError) -> PortError {
    PortError::transient(error)
}

/// What is read of a list of files.
const FILES_BYTES_MAX: usize = 256 * 1024;

/// At most that many bytes, the note about what was left out included.
fn bounded(all: &str, bytes_max: usize) -> String {
    const NOTE: usize = 48;
    if all.len() <= bytes_max { all.to_owned() } else { text::head(all, bytes_max.saturating_sub(NOTE)) }
}
