//! Makes trees ready for an agent. Whatever is there is kept: only a folder that is missing, or was never
//! completely filled, is filled.

use super::refs;
use super::repository::{self, Beginning};
use super::run::{GitError, UPLOAD, branch_ref};
use super::site::Site;
use super::workspace::GitWorkspace;
use super::worktree::{Found, Worktree};
use super::{hazards, linked, rescue};
use shopfloor_core::ids::Sha;
use shopfloor_core::text::one_line;
use shopfloor_engine::ports::{Final, PortError, PortResult, Prepared, Tree};

/// What git keeps in its directory during an operation; without the worktree's files, no operation can
/// continue.
const OPERATIONS: [&str; 9] = [
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "MERGE_HEAD",
    "MERGE_MSG",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "BISECT_LOG",
    "index",
];

impl GitWorkspace {
    pub(super) fn ready(&self, tree: &Tree, branch: &str, at: Option<&Sha>) -> PortResult<Prepared> {
        let site = self.site_now(tree)?;
        let full = branch_ref(branch)?;
        let mut notes = Vec::new();
        let worktree = match (tree.is_review(), at) {
            (false, _) => self.prepare_on_branch(&site, tree, branch, &full, &mut notes)?,
            (true, Some(at)) => self.prepare_review(&site, tree, at, &mut notes)?,
            (true, None) => {
                return Err(PortError::permanent(Final::Refused, "a review needs the commit it is about"));
            }
        };
        // An agent may have checked out a branch without a commit; then the tree's own branch decides.
        let head = worktree.head()?.or_else(|| worktree.at_ref(&full)).ok_or_else(|| {
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
                None => notes.extend(hazards::astray(&worktree, &full)?),
            }
            notes.extend(hazards::submodules(&self.git, &worktree)?);
        }
        Ok(Prepared { path: path.to_owned(), head, notes })
    }

    fn prepare_on_branch(
        &self,
        site: &Site,
        tree: &Tree,
        branch: &str,
        full: &str,
        notes: &mut Vec<String>,
    ) -> PortResult<Worktree> {
        if site.is_landed_on(full) {
            return Err(PortError::permanent(
                Final::Refused,
                format!("work lands on {branch}: no agent works on it"),
            ));
        }
        let worktree = match self.usable(site, tree, Some(full), notes)? {
            Some(worktree) => {
                self.go_over(site, &worktree, branch, full)?;
                worktree
            }
            None => self.make_on_branch(site, tree, full, notes)?,
        };
        self.catch_up(site, &worktree, full, notes)?;
        Ok(worktree)
    }

    fn make_on_branch(
        &self,
        site: &Site,
        tree: &Tree,
        full: &str,
        notes: &mut Vec<String>,
    ) -> PortResult<Worktree> {
        // What an earlier build's worktree in this folder left on record, if the folder is gone.
        let dead = linked::record(site.keeper.path(), &self.path(tree));
        let mut put_back = None;
        if let Some(dead) = &dead {
            if dead.was_ready {
                put_back = self.remember(site, tree, full, dead.head.as_ref(), None)?;
            }
            if let Some(head) = &dead.head {
                rescue::keep_commit(site, None, tree, head)?;
            }
        }
        let (commit, kept) = site.start(full)?;
        let begin = Beginning { commit: &commit, branch: Some(full), put_back: put_back.as_ref() };
        let worktree = self.make(site, tree, &begin, kept)?;
        if dead.is_some() {
            linked::discard(&site.keeper, &worktree.path)?;
        }
        self.fill(site, &worktree, Some(full), notes)?;
        Ok(worktree)
    }

    /// Makes the tree's repository; the folder still has to be filled.
    fn make(&self, site: &Site, tree: &Tree, begin: &Beginning<'_>, kept: bool) -> PortResult<Worktree> {
        let dir = self.layout.repository(tree);
        repository::make(site, &dir, begin, |new| match kept {
            true => site.bring(&[begin.commit], &self.git.bare(new)),
            false => Ok(()),
        })?;
        Ok(Worktree::at(&self.git, self.path(tree), dir.clone(), dir))
    }

    /// The tree, if there is one; its folder is filled if it is incomplete.
    fn usable(
        &self,
        site: &Site,
        tree: &Tree,
        full: Option<&str>,
        notes: &mut Vec<String>,
    ) -> PortResult<Option<Worktree>> {
        let worktree = match self.find(tree)? {
            Found::Absent | Found::Foreign => return Ok(None),
            Found::Folderless(worktree) => {
                unlock(&worktree, notes);
                if worktree.is_ready() {
                    self.folder_is_gone(site, tree, &worktree, full)?;
                }
                self.fill(site, &worktree, full, notes)?;
                return Ok(Some(worktree));
            }
            Found::Repaired(worktree) => {
                notes.push("the worktree's .git file was damaged and is repaired".into());
                worktree
            }
            Found::Open(worktree) => worktree,
        };
        unlock(&worktree, notes);
        if !worktree.is_linked() {
            repository::set_up(site, &worktree.git_dir)?;
        }
        if !worktree.is_ready() {
            // No agent has been in it since. All the same, nothing is deleted unrescued.
            self.keep_all(site, &worktree, tree)?;
            if worktree.is_linked() {
                linked::discard(&site.keeper, &worktree.path)?;
                return Ok(None);
            }
            self.fill(site, &worktree, full, notes)?;
        }
        Ok(Some(worktree))
    }

    /// Before a folder that somebody deleted is filled again: remembers what is to be put back, and moves the
    /// branch to commits that were on no branch, if they only add to it.
    fn folder_is_gone(
        &self,
        site: &Site,
        tree: &Tree,
        worktree: &Worktree,
        full: Option<&str>,
    ) -> PortResult<()> {
        let head = worktree.head()?;
        let put_back = match full {
            Some(full) => self.remember(site, tree, full, head.as_ref(), Some(worktree))?,
            None => None,
        };
        if let Some(head) = &head {
            rescue::keep_commit(site, Some(worktree), tree, head)?;
        }
        Ok(worktree.set_put_back(put_back.as_ref())?)
    }

    /// Fills the folder anew from the repository, which is complete.
    fn fill(
        &self,
        site: &Site,
        worktree: &Worktree,
        full: Option<&str>,
        notes: &mut Vec<String>,
    ) -> PortResult<()> {
        let io = |e| GitError::io(format!("filling {}", worktree.path.display()), e);
        repository::remove_all(&worktree.path).map_err(io)?;
        for name in OPERATIONS {
            let path = worktree.git_dir.join(name);
            match path.is_dir() {
                true => repository::remove_all(&path).map_err(io)?,
                // The file may be missing.
                false => drop(std::fs::remove_file(path)),
            }
        }
        std::fs::create_dir_all(&worktree.path).map_err(io)?;
        worktree.tie()?;
        if let Some(full) = full {
            begin_branch(site, worktree, full)?;
            if worktree.branch().as_deref() != Some(full) {
                worktree.repo.call("symbolic-ref").args(["HEAD", full]).run()?;
            }
        }
        worktree.repo.call("reset").args(["--quiet", "--hard"]).run()?;
        notes.extend(self.put_back(site, worktree)?);
        Ok(worktree.set_ready(full.unwrap_or_default())?)
    }

    /// Switches a worktree that was kept from work on another branch to the current one, if that leaves
    /// nothing behind. Otherwise whoever works in it is told.
    fn go_over(&self, site: &Site, worktree: &Worktree, branch: &str, full: &str) -> PortResult<()> {
        if !worktree.is_for_another(full) {
            return Ok(());
        }
        begin_branch(site, worktree, full)?;
        let left = hazards::operation(worktree).is_some()
            || hazards::astray(worktree, full)?.is_some()
            || worktree.dirty()? > 0;
        if !left {
            worktree.repo.call("checkout").args(["--quiet", branch, "--"]).run()?;
            worktree.set_ready(full)?;
        }
        Ok(())
    }

    /// Tells the tree's git about origin's branches, and moves a tree in which nothing was done to where the
    /// primary branch is now.
    fn catch_up(
        &self,
        site: &Site,
        worktree: &Worktree,
        full: &str,
        notes: &mut Vec<String>,
    ) -> PortResult<()> {
        if !repository::is_current(site, &worktree.common) {
            self.fetch(site, worktree, notes)?;
        }
        let primary = site.primary_now()?;
        let Some(head) = worktree.head()? else { return Ok(()) };
        let on_branch = worktree.at_ref(full).as_ref() == Some(&head);
        let behind =
            on_branch && head != primary && site.looking_into(Some(worktree)).is_ancestor(&head, &primary)?;
        if behind && worktree.dirty()? == 0 {
            let merge = worktree.repo.call("merge").args(["--quiet", "--ff-only", primary.as_str()]);
            merge.run()?;
        }
        Ok(())
    }

    /// Fetches as whoever works there would, but from origin, whatever the tree's configuration calls by that
    /// name.
    fn fetch(&self, site: &Site, worktree: &Worktree, notes: &mut Vec<String>) -> PortResult<()> {
        let fetch = || {
            let call = worktree.repo.call("fetch");
            let call = call.args(["--quiet", "--no-tags", "--prune", "--no-write-fetch-head", UPLOAD, "--"]);
            call.arg(site.near().path()).arg("+refs/heads/*:refs/remotes/origin/*").run()
        };
        match fetch() {
            Err(e) if e.says("bad config") && !worktree.is_linked() => {
                repository::mend_config(site, &worktree.git_dir)?;
                let aside = worktree.git_dir.join("config.broken");
                notes.push(format!(
                    "git could not read the repository's configuration; it is written anew, the old one is {}",
                    aside.display()
                ));
                fetch()?;
            }
            // The agent configured something that git cannot do: that is for the next agent to see.
            Err(e @ GitError::Failed { code: Some(_), .. })
                if !e.says(".lock'") && !e.says("No space left") =>
            {
                let why = one_line(&e.to_string(), 300);
                notes.push(format!("origin's branches could not be fetched: {why}"));
            }
            done => drop(done?),
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
        if !site.near().has(at)? {
            return Err(PortError::permanent(
                Final::Missing,
                format!("commit {} is not on origin", at.short()),
            ));
        }
        let Some(worktree) = self.usable(site, tree, None, notes)? else {
            if let Some(dead) = linked::record(site.keeper.path(), &self.path(tree)) {
                if let Some(head) = &dead.head {
                    rescue::keep_commit(site, None, tree, head)?;
                }
                linked::discard(&site.keeper, &self.path(tree))?;
            }
            let begin = Beginning { commit: at, branch: None, put_back: None };
            let worktree = self.make(site, tree, &begin, false)?;
            self.fill(site, &worktree, None, notes)?;
            return Ok(worktree);
        };
        if worktree.head()?.as_ref() != Some(at) {
            // A reviewer's changes are of no further use, but they are kept.
            self.keep(site, &worktree, tree)?;
            let call = worktree.repo.call("checkout").args(["--quiet", "--force", "--detach"]);
            call.arg(at.as_str()).arg("--").run()?;
        }
        Ok(worktree)
    }

    /// Deletes a tree whose content is known to be kept; the keeper's copy of its branch is brought up to
    /// date.
    pub(super) fn discard(&self, site: &Site, worktree: &Worktree) -> PortResult<()> {
        if worktree.is_linked() {
            return Ok(linked::discard(&site.keeper, &worktree.path)?);
        }
        if let Some(full) = worktree.made_for() {
            self.keep_branch(site, worktree, &full)?;
        }
        Ok(repository::remove(&worktree.git_dir, &worktree.path)?)
    }

    /// The branch's next tree begins where this one ends, if origin does not have that commit.
    fn keep_branch(&self, site: &Site, worktree: &Worktree, full: &str) -> PortResult<()> {
        let Some(head) = worktree.at_ref(full) else { return Ok(()) };
        if site.on_origin(full).as_ref() == Some(&head)
            || refs::read(site.keeper.path(), full).as_ref() == Some(&head)
        {
            return Ok(());
        }
        match site.keeper.update_refs("", format!("update {full}\0{head}\0\0")) {
            // Another branch's name is in the way: the rescue ref has the commits.
            Err(e) if e.says("exists; cannot create") || e.says("refname conflict") => Ok(()),
            done => Ok(done?),
        }
    }
}

/// Makes sure that the branch exists.
fn begin_branch(site: &Site, worktree: &Worktree, full: &str) -> PortResult<()> {
    if worktree.at_ref(full).is_some() {
        return Ok(());
    }
    let (commit, kept) = site.start(full)?;
    if kept && !worktree.is_linked() {
        site.bring(&[&commit], &worktree.repo)?;
    }
    let line = format!("create {full}\0{commit}\0");
    Ok(worktree.repo.update_refs("", line)?)
}

fn unlock(worktree: &Worktree, notes: &mut Vec<String>) {
    let unlocked = worktree.unlock();
    if !unlocked.is_empty() {
        notes.push(format!("{} was left by a git that died and is removed", unlocked.join(", ")));
    }
}
