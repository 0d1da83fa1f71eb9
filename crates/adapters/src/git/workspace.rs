//! The [`Workspace`] port: trees that agents work in, each with a repository of its own.
//!
//! An existing tree belongs to an agent and is never reset. Commits, untracked files and a rebase in progress
//! survive every call here but [`Workspace::remove`], which wants proof of a rescue. Branches only go
//! forward, and a branch is deleted only at the head that was merged. What an agent configures in its
//! repository does not matter here: the factory looks at its commits from the keeper, and publishes them from
//! there.

use super::capture::Captured;
use super::checkout::Checkout;
use super::run::{Git, GitError, WITH_SUBMODULES, branch_ref};
use super::site::Site;
use super::worktree::{Found, Worktree};
use super::{Projects, hazards, leaks, linked, origin, parts, repos, rescue, same, transfer};
use crate::layout::Layout;
use shopfloor_core::effect::outcome::Packed;
use shopfloor_core::effect::{Taken, Tidy};
use shopfloor_core::ids::{PrNumber, ProjectName, Sha, Target};
use shopfloor_core::text;
use shopfloor_engine::ports::{
    BranchState, Final, PortError, PortResult, Prepared, Snapshot, Tree, Workspace,
};
use shopfloor_engine::proof::{MergedProof, RescueProof};
use std::path::PathBuf;

pub struct GitWorkspace {
    pub(super) git: Git,
    pub(super) layout: Layout,
    projects: Projects,
}

impl GitWorkspace {
    pub fn new(git: Git, layout: Layout, projects: Projects) -> Self {
        GitWorkspace { git, layout, projects }
    }

    pub(super) fn site(&self, name: &ProjectName) -> PortResult<Site> {
        let project = (self.projects)(name).ok_or_else(|| {
            PortError::transient(format!("the configuration of project {name} is not to be had"))
        })?;
        let primary = branch_ref(&project.primary_branch)?;
        let (origin, keeper) = (origin::of(&self.git, &self.layout, name), self.layout.clone_repo(name));
        repos::borrow(&keeper, origin.near().path())?;
        Ok(Site { origin, keeper: self.git.shared(&keeper), project, primary })
    }

    /// The same, with the branch that work is to land on as its primary branch.
    pub(super) fn site_onto(&self, name: &ProjectName, target: Option<&Target>) -> PortResult<Site> {
        let site = self.site(name)?;
        match target {
            None => Ok(site),
            Some(target) => Ok(Site { primary: branch_ref(target.branch())?, ..site }),
        }
    }

    pub(super) fn site_of(&self, tree: &Tree) -> PortResult<Site> {
        self.site_onto(&tree.project, tree.onto.as_ref())
    }

    /// The same, with origin as it is now: for whatever depends on where its branches are. What only looks
    /// after a tree must work without a server.
    pub(super) fn site_now(&self, tree: &Tree) -> PortResult<Site> {
        let site = self.site_of(tree)?;
        site.origin.look()?;
        Ok(site)
    }

    fn checkout<'a>(&'a self, site: &'a Site) -> Checkout<'a> {
        let intent = self.layout.checkout_move(&site.project.name);
        Checkout { git: &self.git, origin: &*site.origin, project: &site.project, intent }
    }

    pub(super) fn path(&self, tree: &Tree) -> PathBuf {
        self.layout.tree(tree)
    }

    /// The tree, if it has a folder. Anything else in its place is an error: it may be work.
    fn open(&self, tree: &Tree) -> PortResult<Option<Worktree>> {
        Ok(self.find(tree)?.open())
    }

    pub(super) fn find(&self, tree: &Tree) -> PortResult<Found> {
        match Worktree::find(&self.git, &self.layout, tree)? {
            Found::Foreign => Err(PortError::permanent(
                Final::InTheWay,
                format!(
                    "{} exists but is not a worktree of project {}: look at what is in it and move it away",
                    self.path(tree).display(),
                    tree.project
                ),
            )),
            found => Ok(found),
        }
    }

    pub(super) fn must_open(&self, tree: &Tree) -> PortResult<Worktree> {
        self.open(tree)?.ok_or_else(|| {
            PortError::transient(format!("there is no worktree {}", self.path(tree).display()))
        })
    }

    /// Keeps what the tree holds before it is overwritten or removed: all of it, or it stays as it is.
    pub(super) fn keep_all(&self, site: &Site, worktree: &Worktree, tree: &Tree) -> PortResult<Snapshot> {
        let snapshot = self.keep(site, worktree, tree)?;
        nothing_left_out(site, worktree, &snapshot)?;
        Ok(snapshot)
    }

    pub(super) fn keep(&self, site: &Site, worktree: &Worktree, tree: &Tree) -> PortResult<Snapshot> {
        rescue::keep(&self.git, site, worktree, tree).map_err(moving)
    }
}

impl Workspace for GitWorkspace {
    fn prepare(&self, tree: &Tree, branch: &str, at: Option<&Sha>) -> PortResult<Prepared> {
        self.ready(tree, branch, at)
    }

    fn branch_ahead(&self, tree: &Tree, branch: &str) -> PortResult<(Sha, u32)> {
        self.ahead(&self.site_now(tree)?, self.open(tree)?.as_ref(), branch)
    }

    fn branch_state(&self, tree: &Tree, branch: &str) -> PortResult<BranchState> {
        let site = self.site_now(tree)?;
        let full = branch_ref(branch)?;
        let worktree = self.open(tree)?;
        let (head, ahead) = self.ahead(&site, worktree.as_ref(), branch)?;
        let pushed = site.on_origin(&full);
        let dirty = worktree.as_ref().map_or(Ok(0), |worktree| self.dirty(&site, worktree))?;
        let unfinished = match &worktree {
            Some(worktree) => match hazards::operation(worktree) {
                Some(operation) => Some(operation.note()),
                None => hazards::astray(worktree, &full)?,
            },
            None => None,
        };
        Ok(BranchState { head, ahead, dirty, pushed, unfinished })
    }

    fn same_changes(
        &self,
        tree: &Tree,
        head: &Sha,
        reviewed: &[Sha],
        each_commit: bool,
    ) -> PortResult<Vec<Sha>> {
        let site = self.site_now(tree)?;
        let look = site.looking_into(self.open(tree)?.as_ref()).by_no_ones_rules();
        Ok(same::changes(&look, &site.primary_now()?, head, reviewed, each_commit)?)
    }

    fn stands_on(&self, tree: &Tree, head: &Sha) -> PortResult<Option<Sha>> {
        let site = self.site_now(tree)?;
        let look = site.looking_into(self.open(tree)?.as_ref());
        Ok(look.merge_base(&site.primary_now()?, head)?)
    }

    fn changed_paths(&self, tree: &Tree, base: Option<&Sha>, head: &Sha) -> PortResult<Vec<String>> {
        let site = self.site_now(tree)?;
        let look = site.looking_into(self.open(tree)?.as_ref());
        Ok(super::branches::changed_paths(&look, base, head)?)
    }

    fn push(&self, tree: &Tree, branch: &str) -> PortResult<Sha> {
        let site = self.site_now(tree)?;
        let full = branch_ref(branch)?;
        if site.is_landed_on(&full) {
            return Err(PortError::permanent(Final::Refused, format!("only the merge queue moves {branch}")));
        }
        let worktree = self.open(tree)?;
        let head = site.branch(worktree.as_ref(), &full);
        let head =
            head.ok_or_else(|| PortError::permanent(Final::Missing, format!("there is no branch {branch}")))?;
        // Whoever pushes reads only what the factory wrote, and so does whoever looks for secrets in it: what is found
        // to be without any is what is pushed.
        if !site.keeper.has(&head)? {
            let known = site.known(Some(&full));
            let theirs = site.looking_into(worktree.as_ref());
            transfer::transfer(&theirs, &site.keeper, &[&head], &known.iter().collect::<Vec<_>>())?;
        }
        if let Some(why) = self.leaks(&site, &full, &head)? {
            return Err(PortError::permanent(Final::Refused, why));
        }
        match site.origin.put(&site.keeper, &full, &head, true) {
            Ok(Ok(())) => Ok(head),
            Ok(Err(_)) | Err(PortError::Permanent { cause: Final::Rejected, .. }) => {
                Err(PortError::permanent(
                    Final::Rejected,
                    format!(
                        "origin's {branch} has commits that the worktree's lacks: fetch, then merge or rebase onto origin/{branch}"
                    ),
                ))
            }
            Err(e) => Err(e),
        }
    }

    fn leak(&self, tree: &Tree, branch: &str, head: &Sha) -> PortResult<Option<String>> {
        let site = self.site_now(tree)?;
        self.leaks(&site, "", head).map(|why| why.map(|why| format!("{branch}: {why}")))
    }

    fn work_done(&self, tree: &Tree, bytes_max: usize) -> PortResult<String> {
        let site = self.site_of(tree)?;
        let worktree = self.must_open(tree)?;
        let held = rescue::Held::of(&self.git, &site, &worktree).map_err(moving)?;
        let look = held.look(&site);
        let content = held.content;
        let primary = site.primary_now()?;
        let head = content.head.unwrap_or_else(|| primary.clone());
        let base = look.base(&primary, &head)?;
        let show = |subcommand: &str, args: &[&str]| {
            look.call(subcommand).args(args).beginning(bytes_max.saturating_add(1))
        };
        let plain = ["--no-color", "--no-ext-diff", "--no-textconv", WITH_SUBMODULES];
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
            // Before anything that may be long: whoever continues must not miss these parts.
            if title == "Not committed" {
                all.push_str(&parts::told(&content.parts, &look, bytes_max / 4)?);
            }
        }
        Ok(bounded(&all, bytes_max))
    }

    fn review_diff(
        &self,
        tree: &Tree,
        since: Option<&Sha>,
        head: &Sha,
        bytes_max: usize,
    ) -> PortResult<String> {
        self.site_of(tree)?.review_diff(since, head, bytes_max)
    }

    fn change_of(&self, tree: &Tree, head: &Sha, bytes_max: usize) -> PortResult<String> {
        let site = self.site_of(tree)?;
        if !site.near().has(head)? {
            return Ok(String::new());
        }
        let base = site.near().base(&site.primary_now()?, head)?;
        let range = format!("{base}..{head}");
        let log = site.near().call("log").args(["--no-color", "--oneline", "--no-decorate", &range, "--"]);
        let stat = site.near().call("diff").args([
            "--no-color",
            "--no-ext-diff",
            "--stat=100",
            WITH_SUBMODULES,
            &range,
            "--",
        ]);
        let (log, stat) = (log.beginning(bytes_max + 1)?, stat.beginning(bytes_max + 1)?);
        Ok(bounded(&text::neutralise(format!("{}\n\n{}", log.trim_end(), stat.trim_end()).trim()), bytes_max))
    }

    fn changed_files(&self, tree: &Tree, snapshot: &Snapshot, max: usize) -> PortResult<Vec<String>> {
        let site = self.site_of(tree)?;
        let content = rescue::held_by(&site.keeper, &snapshot.commit)?;
        let primary = site.primary_now()?;
        let head = content.head.unwrap_or_else(|| primary.clone());
        let base = site.keeper.base(&primary, &head)?;
        let range =
            ["--name-only", "-z", "--no-renames", "-r", WITH_SUBMODULES, &base, content.tree.as_str()];
        let listed =
            site.keeper.lasting_beginning(|| site.keeper.call("diff-tree").args(range), FILES_BYTES_MAX)?;
        Ok(listed.split('\0').filter(|name| !name.is_empty()).take(max).map(str::to_owned).collect())
    }

    fn snapshot(&self, tree: &Tree) -> PortResult<Option<Snapshot>> {
        let site = self.site_of(tree)?;
        match self.open(tree)? {
            Some(worktree) => Ok(Some(self.keep(&site, &worktree, tree)?)),
            None => Ok(None),
        }
    }

    fn snapshot_holds(&self, tree: &Tree, snapshot: &Snapshot) -> PortResult<bool> {
        let site = self.site_of(tree)?;
        let worktree = self.open(tree)?;
        rescue::holds(&self.git, &site, worktree.as_ref(), snapshot).map_err(moving)
    }

    fn share(&self, tree: &Tree, snapshot: &Snapshot) -> PortResult<()> {
        self.send(tree, snapshot)
    }

    fn prune_rescues(&self, tidy: &Tidy) -> PortResult<u32> {
        self.prune(tidy)
    }

    fn keep_up(&self, tidy: &Tidy) -> PortResult<Packed> {
        self.keep_up(tidy)
    }

    fn remove(&self, proof: RescueProof) -> PortResult<()> {
        let tree = proof.tree();
        let site = self.site_of(tree)?;
        let worktree = match self.find(tree)? {
            Found::Absent | Found::Foreign => return self.clear_record(&site, tree),
            // The folder is gone; what else the repository has is kept all the same.
            Found::Folderless(worktree) => {
                rescue::keep_refs(&self.git, &site, &worktree, tree)?;
                return self.discard(&site, &worktree);
            }
            Found::Open(worktree) | Found::Repaired(worktree) => worktree,
        };
        let held = match proof.snapshot() {
            Some(snapshot) => rescue::still_holds(&self.git, &site, &worktree, snapshot).map_err(moving)?,
            None => false,
        };
        if !held {
            let path = worktree.path.display();
            return Err(PortError::transient(format!("{path} changed after it was rescued, so it is kept")));
        }
        if let Some(snapshot) = proof.snapshot() {
            nothing_left_out(&site, &worktree, snapshot)?;
        }
        self.discard(&site, &worktree)
    }

    fn delete_branch(&self, branch: &str, proof: MergedProof) -> PortResult<()> {
        let site = self.site(proof.project())?;
        let full = branch_ref(branch)?;
        let target = proof.merged().target.as_ref();
        if site.is_landed_on(&full) || target.is_some_and(|target| target.branch() == branch) {
            return Err(PortError::permanent(
                Final::Refused,
                format!("work lands on {branch}: it is not deleted"),
            ));
        }
        let head = &proof.merged().head;
        if site.origin.refs(&[&full])?[0].as_ref() == Some(head) {
            // If somebody moved the branch meanwhile, it is theirs.
            let _ = site.origin.delete(&full, head)?;
        }
        if site.branch(None, &full).as_ref() != Some(head) {
            return Ok(());
        }
        if let Some(holder) = linked::holder(site.keeper.path(), &full) {
            let name = holder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            return Err(PortError::permanent(
                Final::InTheWay,
                format!("{branch} is checked out in worktrees/{name}, so it is kept"),
            ));
        }
        Ok(site.keeper.update_refs("", format!("delete {full}\0{head}\0"))?)
    }

    fn is_merged(&self, project: &ProjectName, target: Option<&Target>, commit: &Sha) -> PortResult<bool> {
        let site = self.site_onto(project, target)?;
        site.origin.look()?;
        // Nothing is in a target that is gone.
        if target.is_some() && site.on_origin(&site.primary).is_none() {
            return Ok(false);
        }
        let primary = site.primary_now()?;
        site.origin.has(commit, &primary)
    }

    fn pin_pr(&self, project: &ProjectName, pr: PrNumber, head: &Sha) -> PortResult<()> {
        self.site(project)?.origin.pin(&format!("refs/pull/{pr}/head"), head)
    }

    fn pin_merged(&self, project: &ProjectName, head: &Sha) -> PortResult<()> {
        self.site(project)?.origin.pin(&format!("refs/shopfloor/merged/{head}"), head)
    }

    fn sync_checkout(&self, project: &ProjectName) -> PortResult<(bool, String)> {
        self.checkout(&self.site(project)?).sync()
    }

    fn take_checkout(&self, project: &ProjectName) -> PortResult<Taken> {
        self.checkout(&self.site(project)?).take()
    }
}

impl GitWorkspace {
    /// What the commits that are not on the primary branch, nor where origin has the branch `full`, must not hold.
    fn leaks(&self, site: &Site, full: &str, head: &Sha) -> PortResult<Option<String>> {
        let secrets = &site.project.secrets;
        if secrets.is_blind() {
            let why = "the project's secrets cannot be read, so nobody can tell whether a commit holds one";
            return Err(PortError::transient(why));
        }
        let known = [site.primary_now()?].into_iter().chain(site.on_origin(full));
        let known: Vec<Sha> = known.collect();
        let look = site.keeper.by_no_ones_rules();
        Ok(leaks::find(&look, &known.iter().collect::<Vec<_>>(), head, secrets)?)
    }

    /// The head of a tree's branch, and how many commits it has that the primary branch lacks.
    fn ahead(&self, site: &Site, worktree: Option<&Worktree>, branch: &str) -> PortResult<(Sha, u32)> {
        let full = branch_ref(branch)?;
        let look = site.looking_into(worktree);
        let head = site.branch(worktree, &full);
        let head =
            head.ok_or_else(|| PortError::permanent(Final::Missing, format!("there is no branch {branch}")))?;
        let head = site.gone_on(worktree, &full, head, site.on_origin(&full).as_ref())?;
        let primary = site.primary_now()?;
        if head == primary {
            return Ok((head, 0));
        }
        let own = look.own(&primary, &head)?;
        // Commits that change nothing do not count as work.
        Ok((head, if own.changes_nothing { 0 } else { own.commits }))
    }

    /// How many files differ from HEAD or are untracked. If nothing was written since the last capture, that knows.
    fn dirty(&self, site: &Site, worktree: &Worktree) -> PortResult<u32> {
        if let Some(head) = worktree.head()?
            && let Some(known) = Captured::known(&self.git, worktree, Some(&head))
            && let Some(changed) = known.changed
            && site.looking_into(Some(worktree)).own(&site.primary_now()?, &head)?.tree.as_ref()
                == Some(&changed.since)
        {
            return Ok(changed.files);
        }
        Ok(worktree.dirty()?)
    }

    /// Clears what an earlier build's worktree left on record although its folder is gone.
    fn clear_record(&self, site: &Site, tree: &Tree) -> PortResult<()> {
        let path = self.path(tree);
        if let Some(dead) = linked::record(site.keeper.path(), &path) {
            if let Some(head) = &dead.head {
                rescue::keep_commit(site, None, tree, head)?;
            }
            linked::discard(&site.keeper, &path)?;
        }
        Ok(())
    }
}

/// The file that changes when a tree's branch moves.
pub fn branch_file(layout: &Layout, tree: &Tree, branch: &str) -> PathBuf {
    let own = layout.repository(tree);
    // A worktree of the clone, as earlier builds made them, has its branches in the clone.
    let repository = if own.exists() { own } else { layout.clone_repo(&tree.project) };
    repository.join("refs/heads").join(branch)
}

/// A worktree whose snapshot left something out is not removed: those files are nowhere else.
fn nothing_left_out(site: &Site, worktree: &Worktree, snapshot: &Snapshot) -> PortResult<()> {
    const SHOWN: usize = 5;
    let left = rescue::held_by(&site.keeper, &snapshot.commit)?.left;
    if left.is_empty() {
        return Ok(());
    }
    let shown: Vec<String> =
        left.iter().take(SHOWN).map(|left| format!("{} ({})", left.path, text::size(left.bytes))).collect();
    let more =
        left.len().checked_sub(SHOWN + 1).map_or(String::new(), |more| format!(" and {} more", more + 1));
    let path = worktree.path.display();
    let files = shown.join(", ");
    Err(PortError::permanent(
        Final::InTheWay,
        format!(
            "{path} is kept: {files}{more} is too large for a snapshot ([rescue] max_file_mib, max_total_mib) and \
             nowhere else: move away what you want to keep, and delete the folder; its commits are kept"
        ),
    ))
}

/// A live agent may delete a file while git reads it: whatever failed is worth another try.
fn moving(error: GitError) -> PortError {
    PortError::transient(error)
}

/// How much is read of a list of files.
const FILES_BYTES_MAX: usize = 256 * 1024;

/// At most that many bytes, including the note about what was left out.
fn bounded(all: &str, bytes_max: usize) -> String {
    const NOTE: usize = 48;
    if all.len() <= bytes_max { all.to_owned() } else { text::head(all, bytes_max.saturating_sub(NOTE)) }
}
