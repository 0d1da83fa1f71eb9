//! `shopfloor session finish`: what becomes of a session's own worktree and branch.
//!
//! Invariants:
//! - What is to be done is on record before any of it is, and each part asks for a state, not for a change: killed at
//!   any point and run again, it ends the same.
//! - Nothing is removed before a rescue ref keeps all of it ([`RescueProof`]).
//! - What cannot be merged is refused while the session still runs.

use crate::cli::approval::Approve;
use crate::cli::merge_queue::branch::{self, Wish};
use crate::cli::{CliError, CliResult, Context, Exit, now, output};
use clap::Args;
use serde::Serialize;
use shopfloor_adapters::git::{GitWorkspace, abandon, hub::HubBranch};
use shopfloor_adapters::hand::{Finish, Finishing, Hand, HandSessions, Record};
use shopfloor_core::ids::Sha;
use shopfloor_core::planner;
use shopfloor_core::state::{Entry, Project};
use shopfloor_engine::ports::{BranchState, Setup, Tree, Workspace};
use shopfloor_engine::proof::RescueProof;
use std::path::Path;

/// End a session that has a worktree of its own, and decide what becomes of its work
///
/// Killed in the middle and run again, it ends the same. What cannot be done is refused before the session is ended.
#[derive(Args)]
pub struct FinishArgs {
    name: String,
    #[command(flatten)]
    how: How,
    /// With --merge: approve its head in your name
    #[arg(long, requires = "merge")]
    approve: bool,
    /// With --merge: before all others
    #[arg(long, requires = "merge")]
    urgent: bool,
}

#[derive(Args)]
#[group(required = true, multiple = false)]
struct How {
    /// Publish its branch to the hub and put it into the merge queue, as `merge-queue add` does; the worktree goes
    #[arg(long)]
    merge: bool,
    /// Keep branch and worktree as they are, and what is uncommitted on a rescue ref
    #[arg(long)]
    keep: bool,
    /// Remove worktree and branch; all of it is on a rescue ref. A branch that the hub had before stays there
    #[arg(long)]
    drop: bool,
}

#[derive(Serialize)]
struct Finished {
    name: String,
    /// `merge`, `keep` or `drop`.
    how: Finishing,
    branch: String,
    /// As long as it is there.
    worktree: Option<String>,
    /// Keeps what the worktree held.
    rescue: Option<String>,
    /// Where it is in the merge queue.
    queue: Option<String>,
}

/// What it is about.
struct Work<'a> {
    context: &'a Context,
    hands: &'a HandSessions,
    hand: Hand,
    record: Record,
    branch: String,
    project: Project,
    workspace: GitWorkspace,
    tree: Tree,
}

pub fn run(context: &Context, args: &FinishArgs) -> CliResult<Exit> {
    let hands = super::sessions(context);
    let found = super::find(context, &hands, &args.name)?;
    let _lock = match &found.record {
        Some(record) if record.branch.is_some() => hands.finishing(&found.name)?,
        _ => {
            return Err(CliError::usage(format!("{} has no worktree of its own", found.name))
                .hint(format!("`shopfloor session kill {}` ends it; its folder stays", found.name)));
        }
    };
    let work = Work::new(context, &hands, hands.look(&found.name))?;
    let how = match (args.how.merge, args.how.keep) {
        (true, _) => Finishing::Merge,
        (_, true) => Finishing::Keep,
        _ => Finishing::Drop,
    };
    if let Some(finish) = work.record.finish.as_ref().filter(|finish| finish.done && !work.record.has_tree())
    {
        if finish.how != how {
            let rescue = finish.rescue.as_deref().unwrap_or("no ref");
            return Err(CliError::failed(format!("{} was finished already: {}", found.name, finish.how))
                .hint(format!("what its worktree held is in {rescue}")));
        }
        work.show(how, finish.rescue.clone());
        return Ok(Exit::Fine);
    }
    work.nobody_else()?;
    let approve = if args.approve { Approve::Head } else { Approve::No };
    // Who ends a session to have its work merged says that it is done.
    let wish = Wish { urgent: args.urgent, approve, unfinished: true, ..Wish::default() };
    if how == Finishing::Merge {
        work.may_merge(wish.clone())?;
    }
    let rescue = work.carry_out(how, wish)?;
    work.show(how, rescue);
    Ok(Exit::Fine)
}

impl<'a> Work<'a> {
    fn new(context: &'a Context, hands: &'a HandSessions, hand: Hand) -> CliResult<Work<'a>> {
        let gone = || CliError::failed(format!("nothing is on record of {}", hand.name));
        let record = hand.record.clone().ok_or_else(gone)?;
        let branch = record.branch.clone().ok_or_else(gone)?;
        let project = context.engine()?.floor().projects.get(&record.project).cloned();
        let project =
            project.ok_or_else(|| CliError::no_such("its project is not on this floor any more"))?;
        let workspace = super::workspace(context)?;
        let tree = Tree::of_hand(&record.project, hand.name.clone());
        Ok(Work { context, hands, hand, record, branch, project, workspace, tree })
    }

    /// Whoever else works in the same folder, such as a fork, would lose it.
    fn nobody_else(&self) -> CliResult<()> {
        let here = |other: &&Hand| {
            let same = |record: &Record| record.cwd == self.record.cwd && record.name != self.record.name;
            other.ended().is_none() && other.record.as_ref().is_some_and(same)
        };
        match self.hands.all(false)?.iter().find(here) {
            None => Ok(()),
            Some(other) => Err(CliError::failed(format!("{} works in the same folder", other.name))
                .hint(format!("end it first: `shopfloor session kill {}`", other.name))),
        }
    }

    /// Refuses what the merge queue would not take.
    fn may_merge(&self, wish: Wish) -> CliResult<()> {
        // What was queued before a crash is not asked about again.
        let Some(state) = self.state()? else {
            if self.is_queued(None)? {
                return Ok(());
            }
            let branch = &self.branch;
            return Err(CliError::failed(format!("its worktree {} is gone", self.record.cwd)).hint(format!(
                "use --drop; the hub may have {branch}: `shopfloor merge-queue add {branch}`"
            )));
        };
        self.is_whole(&state)?;
        if self.is_queued(Some(&state.head))? {
            return Ok(());
        }
        // What its tree is matters when it is on the hub, not for whether it may be asked for.
        let tree = planner::Tree(state.head.clone());
        let found = HubBranch {
            head: state.head,
            tree,
            subject: String::new(),
            author: String::new(),
            unfinished: None,
            after: Vec::new(),
        };
        branch::ask(self.context, &self.project, &self.branch, found, wish).map(|_| ())
    }

    /// The branch and the worktree; `None` if the worktree is gone already.
    fn state(&self) -> CliResult<Option<BranchState>> {
        if !self.context.layout.tree(&self.tree).exists() {
            return Ok(None);
        }
        let state = self.workspace.branch_state(&self.tree, &self.branch);
        state.map(Some).map_err(|e| CliError::failed(format!("its branch cannot be looked at: {e}")))
    }

    fn is_whole(&self, state: &BranchState) -> CliResult<()> {
        let (branch, cwd) = (&self.branch, &self.record.cwd);
        if let Some(why) = &state.unfinished {
            return Err(CliError::failed(format!("{branch} cannot be merged as it is: {why}"))
                .hint(format!("finish that in {cwd}, or use --keep or --drop")));
        }
        if state.dirty > 0 {
            let files = state.dirty;
            return Err(CliError::failed(format!("{cwd} has uncommitted changes: {files} files")).hint(
                "commit what belongs to the change and remove the rest, or use --keep or --drop, which keep them on a rescue ref",
            ));
        }
        if state.ahead == 0 {
            let primary = &self.project.policy.primary_branch;
            return Err(CliError::failed(format!("{branch} has nothing that {primary} lacks"))
                .hint("there is nothing to merge: use --keep or --drop"));
        }
        Ok(())
    }

    /// Whether this very head was put into the queue, whatever became of it there.
    fn is_queued(&self, head: Option<&Sha>) -> CliResult<bool> {
        let Some(since) = self.record.finish.as_ref().map(|finish| finish.at) else { return Ok(false) };
        let mine = |e: &Entry| e.job.is_none() && e.project == self.project.name && e.branch == self.branch;
        let now = |e: &Entry| e.requested_at >= since && head.is_none_or(|head| e.head == *head);
        let engine = self.context.engine()?;
        Ok(engine.floor().entries.iter().any(|entry| mine(entry) && now(entry)))
    }

    fn carry_out(&self, how: Finishing, wish: Wish) -> CliResult<Option<String>> {
        // The time of the first try: by it a later one knows what it has done.
        let before = self.record.finish.as_ref().filter(|finish| finish.how == how && !finish.done);
        let at = before.map_or_else(now, |finish| finish.at);
        let mut finish = Finish { how, at, done: false, rescue: before.and_then(|b| b.rescue.clone()) };
        self.put(&finish)?;
        if self.hand.ended().is_none() {
            let kept =
                super::end(self.context, self.hands, &self.hand, &format!("it was finished: {how}"), None)?;
            finish.rescue = kept.map(|snapshot| snapshot.reference).or(finish.rescue);
        }
        if how == Finishing::Merge
            && let Some(state) = self.state()?
        {
            // What it did in its last moment counts too.
            self.is_whole(&state)?;
            if !self.is_queued(Some(&state.head))? {
                self.workspace.push(&self.tree, &self.branch).map_err(|e| {
                    CliError::failed(format!("{} cannot be published: {e}", self.branch)).hint(
                        "the session is ended and its worktree is kept; mend it there and run this again",
                    )
                })?;
                branch::submit(self.context, &self.project, &self.branch, wish)?;
            }
        }
        if how == Finishing::Keep {
            let kept = self.workspace.snapshot(&self.tree).map_err(cannot_keep)?;
            finish.rescue = kept.map(|snapshot| snapshot.reference).or(finish.rescue);
        } else {
            self.remove(&mut finish)?;
        }
        finish.done = true;
        self.put(&finish)?;
        Ok(finish.rescue)
    }

    /// The worktree goes, with a dropped branch; a merged one is the queue's.
    fn remove(&self, finish: &mut Finish) -> CliResult<()> {
        self.tear_down()?;
        let proof = RescueProof::obtain(&self.workspace, &self.tree).map_err(cannot_keep)?;
        let snapshot = proof.snapshot().cloned();
        if let Some(snapshot) = &snapshot {
            finish.rescue = Some(snapshot.reference.clone());
            self.put(finish)?;
        }
        self.workspace.remove(proof).map_err(|e| {
            CliError::failed(format!("its worktree cannot be removed: {e}")).hint("try again")
        })?;
        if finish.how != Finishing::Drop {
            return Ok(());
        }
        // Gone before a crash: then the ref that was written down says what was kept.
        let Some(kept) = finish.rescue.as_deref() else { return Ok(()) };
        let (git, layout) = (self.context.git()?, &self.context.layout);
        let (clone, hub) = (layout.clone_repo(&self.project.name), layout.hub(&self.project.name));
        let own = (!self.record.taken_over).then_some(hub.as_path());
        let repos: Vec<&Path> = own.into_iter().chain([clone.as_path()]).collect();
        let gone = abandon::branch(&git, &clone, &repos, &self.branch, kept)
            .map_err(|e| CliError::failed(format!("its branch cannot be removed: {e}")).hint("try again"))?;
        if !gone {
            eprintln!("warning: {} has commits of others and stays", self.branch);
        }
        Ok(())
    }

    /// The project's last word on the worktree. It may change what is there, so that is kept before; whatever goes
    /// wrong is told and holds nothing up.
    fn tear_down(&self) -> CliResult<()> {
        self.workspace.snapshot(&self.tree).map_err(cannot_keep)?;
        match super::setup(self.context)?.tear_down(&self.tree) {
            Ok(None) => {}
            Ok(Some(note)) => eprintln!("warning: {note}"),
            Err(e) => eprintln!("warning: the teardown could not be run: {e}"),
        }
        Ok(())
    }

    fn put(&self, finish: &Finish) -> CliResult<()> {
        Ok(self.hands.put_finish(&self.hand.name, finish.clone())?)
    }

    fn show(&self, how: Finishing, rescue: Option<String>) {
        let path = self.context.layout.tree(&self.tree);
        let finished = Finished {
            name: self.hand.name.to_string(),
            how,
            branch: self.branch.clone(),
            worktree: path.exists().then(|| path.display().to_string()),
            queue: (how == Finishing::Merge).then(|| self.place()).flatten(),
            rescue,
        };
        if self.context.json {
            return output::json(&finished);
        }
        let Finished { name, branch, worktree, rescue, queue, .. } = finished;
        let rescue = rescue.map(|rescue| format!("; what it held is in {rescue}")).unwrap_or_default();
        output::line(match how {
            Finishing::Merge => {
                format!("{name} is ended; {branch}: {}", queue.unwrap_or("in the queue".into()))
            }
            Finishing::Keep => {
                format!("{name} is ended; {branch} is in {}{rescue}", worktree.unwrap_or_default())
            }
            Finishing::Drop if self.record.taken_over => {
                format!("{name} is ended; its worktree is removed, the hub's {branch} stays{rescue}")
            }
            Finishing::Drop => format!("{name} is ended; {branch} and its worktree are removed{rescue}"),
        });
    }

    /// How its newest entry stands.
    fn place(&self) -> Option<String> {
        let engine = self.context.engine().ok()?;
        let floor = engine.floor();
        let mine = |e: &&Entry| e.project == self.project.name && e.branch == self.branch && e.job.is_none();
        floor.entries.iter().rev().find(mine).map(|entry| floor.entry_status(entry).to_string())
    }
}

fn cannot_keep(e: impl std::fmt::Display) -> CliError {
    CliError::failed(format!("what its worktree holds cannot be kept: {e}"))
        .hint("nothing is removed; run this again when it is at rest")
}
