//! Carries out an effect through the ports. Each arm is safe to repeat from its beginning, whatever part of
//! it was done before.

use crate::ports::forge::{By, NewComment, NewIssue, NewPr, NewReview};
use crate::ports::{
    BranchState, Briefing, BuildRequest, Built, CiRequest, Earlier, Escalation, Final, Forge, IssueText,
    NotPublished, NotSigned, Outfit, PortError, PortResult, Ports, Prepared, PrimaryAt, PublishRequest,
    SetupFailure, Snapshot, Started, Tree, Workspace,
};
use crate::proof::{MergedProof, QueueLock, RescueProof};
use crate::pull;
use shopfloor_core::effect::outcome;
use shopfloor_core::effect::{Action, AgentTrouble, EndStray, Outcome, PlanAction, StartSession, Tidy};
use shopfloor_core::forge::Subject;
use shopfloor_core::ids::{Assignment, Duty, Epoch, PrNumber, ProjectName, Role, Sha, staff_and};
use shopfloor_core::planner::TrialId;
use shopfloor_core::protected::Protected;
use std::cell::Cell;

/// How much of the work done so far a successor is shown.
const WORK_DONE_BYTES_MAX: usize = 16 * 1024;

/// How much of what is new goes into the message to a reviewer; it is typed.
const MESSAGE_DIFF_BYTES_MAX: usize = 14 * 1024;

/// How many changed files a work record names.
const CHANGED_FILES_MAX: usize = 200;

/// How one attempt went.
#[derive(Debug)]
pub enum Attempt {
    Done(Outcome),
    /// It may work later.
    Failed(String),
}

/// Performs an action once.
pub fn attempt(ports: &Ports, action: &Action) -> Attempt {
    match perform(ports, action) {
        Ok(outcome) => Attempt::Done(outcome),
        Err(PortError::Transient(why)) => Attempt::Failed(why),
        Err(PortError::Permanent { why, .. }) => {
            Attempt::Done(Outcome::Impossible(outcome::Impossible { why }))
        }
    }
}

fn perform(ports: &Ports, action: &Action) -> PortResult<Outcome> {
    match action {
        Action::PrepareWorktree { project, assignment, role, branch, target, .. } => {
            let tree = Tree::of_job(project, *role, *assignment).onto(target.as_ref());
            let Prepared { path, head, mut notes } = ports.workspace.prepare(&tree, branch, None)?;
            Ok(match ports.setup.set_up(&tree)? {
                Ok(outfit) => {
                    notes.extend(outfit.notes);
                    Outcome::WorktreeReady(outcome::WorktreeReady { path, head, notes })
                }
                Err(SetupFailure { why, excerpt }) => {
                    Outcome::SetupFailed(outcome::SetupFailed { path, why, excerpt })
                }
            })
        }
        Action::StartSession(start) => start_session(ports, start),
        Action::CheckAgents { project, others } => check_agents(ports, project, others),
        Action::EndSession { role, project, assignment, epoch, .. } => {
            end_session(ports, &Tree::of_job(project, *role, *assignment), *epoch)
        }
        Action::Checkpoint { project, assignment, role, branch, target, .. } => {
            checkpoint(ports, &Tree::of_job(project, *role, *assignment).onto(target.as_ref()), branch)
        }
        Action::PlanRun(plan) => Ok(Outcome::RunPlanned(ports.schedules.plan(plan)?)),
        Action::PlanAction(PlanAction { project, issue, .. }) => {
            let text = ports.forges.of(project)?.issue_text(*issue)?;
            let what = ports.schedules.action(project, &text)?;
            Ok(Outcome::RunPlanned(outcome::RunPlanned { next: None, what }))
        }
        Action::CheckHealth(order) => {
            let measured = Box::new(ports.health.measure(&order.project)?);
            Ok(Outcome::HealthChecked(outcome::HealthChecked { measured }))
        }
        Action::RecordHealth(record) => {
            ports.health.record(record)?;
            Ok(Outcome::Done)
        }
        // As any session is ended: its work is kept before, and once more after.
        Action::EndStray(EndStray { stray, .. }) => {
            end_session(ports, &Tree::of_job(&stray.project, stray.role, stray.assignment), stray.epoch)
        }
        Action::RunStep(step) => {
            let tree = Tree::of_run(&step.project, step.role, step.run, step.issue);
            Ok(Outcome::StepRan(ports.steps.run(&tree, step)?))
        }
        Action::StopStep { project, role, run, issue } => {
            ports.steps.stop(&Tree::of_run(project, *role, *run, *issue))?;
            Ok(Outcome::Done)
        }
        Action::VerifyStep(claim) => {
            let tree = Tree::of_run(&claim.project, claim.role, claim.run, claim.issue);
            Ok(Outcome::StepVerified(ports.steps.verify(&tree, claim)?))
        }
        Action::RingInbox { epoch, message } => {
            ports.agents.ring(*epoch, *message)?;
            Ok(Outcome::Done)
        }
        Action::PushBranch {
            project,
            assignment,
            role,
            branch,
            reviewed,
            each_commit,
            protected,
            target,
            ..
        } => {
            let tree = Tree::of_job(project, *role, *assignment).onto(target.as_ref());
            push_branch(ports, &tree, branch, (reviewed, *each_commit), protected)
        }
        Action::OpenPr { project, assignment, title, branch, head, .. } => {
            let forge = ports.forges.of(project)?;
            let pr = open_pr(&*forge, *assignment, title.as_deref(), branch, head)?;
            ports.workspace.pin_pr(project, pr, head)?;
            Ok(Outcome::PrOpen(outcome::PrOpen { pr }))
        }
        Action::RunCi { project, issue, run, commit, source, purpose, about, .. } => {
            let (issue, run, source, purpose) = (*issue, *run, *source, *purpose);
            let request = CiRequest { project, issue, run, commit, source, purpose, about };
            Ok(Outcome::CiFinished(ports.ci.run(&request)?))
        }
        Action::CancelCi { project, run } => {
            ports.ci.cancel(project, *run)?;
            Ok(Outcome::Done)
        }
        Action::PostStatus { project, commit, run, state, text } => {
            ports.forges.of(project)?.post_status(commit, *run, *state, text)?;
            Ok(Outcome::Done)
        }
        Action::CollectReview { project, epoch, head, moved, .. } => {
            Ok(match ports.agents.review_result(project, *epoch, head, *moved)? {
                Ok(review) => Outcome::ReviewCollected(outcome::ReviewCollected { review }),
                Err(why) => Outcome::ReviewUnusable(outcome::ReviewUnusable { why }),
            })
        }
        Action::MoveReview {
            project, assignment, branch, epoch, reviewed, head, diff_bytes, target, ..
        } => {
            // The reviewer rests, and is told only when all of this is done; so all of it may be repeated.
            let tree = Tree::of_job(project, Role::REVIEW, *assignment).onto(target.as_ref());
            let ready = ports.workspace.prepare(&tree, branch, Some(head))?;
            let bytes_max = (*diff_bytes).min(MESSAGE_DIFF_BYTES_MAX);
            let news = ports.workspace.review_diff(&tree, Some(reviewed), head, bytes_max)?;
            let diff = ports.agents.begin_review(project, *epoch, reviewed, &news)?;
            Ok(Outcome::ReviewMoved(outcome::ReviewMoved { diff, notes: ready.notes }))
        }
        Action::PostReview { project, pr, head, epoch, review, .. } => {
            let marker = format!("review-session-{epoch}-{}", head.short());
            let text = pull::review(review, head);
            let (by, marker, verdict) = (By::Factory, Some(&*marker), review.verdict);
            let new = NewReview { by, marker, head, verdict, text: &text };
            ports.forges.of(project)?.post_review(*pr, &new)?;
            Ok(Outcome::Done)
        }
        Action::EditLabels { project, issue, add, remove } => {
            let version = ports.forges.of(project)?.edit_labels(*issue, add, remove)?;
            Ok(Outcome::Labelled(outcome::Labelled { version }))
        }
        Action::Comment { project, issue, marker, body } => {
            say(ports, project, Subject::Issue(*issue), marker, body)
        }
        Action::CommentPr { project, pr, marker, body } => {
            say(ports, project, Subject::Pr(*pr), marker, body)
        }
        Action::MovePr { project, pr, head } => {
            // The commit first: then what the pull request names can be looked at.
            ports.workspace.pin_pr(project, *pr, head)?;
            ports.forges.of(project)?.move_pr(*pr, head)?;
            Ok(Outcome::Done)
        }
        Action::Tell(telling) => Ok(Outcome::Told(ports.notices.run(telling)?)),
        Action::Fire(fire) => Ok(Outcome::Fired(ports.vault.fire(fire)?)),
        Action::CloseIssue { project, issue } => {
            ports.forges.of(project)?.close_issue(*issue)?;
            Ok(Outcome::Done)
        }
        Action::CreateIssue { project, marker, title, body, labels } => {
            let (by, marker, deps) = (By::Factory, Some(&**marker), &[]);
            ports.forges.of(project)?.create_issue(&NewIssue { by, marker, title, body, labels, deps })?;
            Ok(Outcome::Done)
        }
        Action::Act(order) => Ok(Outcome::Acted(crate::act::perform(ports, order)?)),
        Action::Escalate { job, project, assignment, trigger, context, about, at } => {
            ports.escalations.record(&Escalation {
                job: *job,
                project,
                assignment: *assignment,
                trigger,
                context,
                about,
                at: *at,
            })?;
            Ok(Outcome::Done)
        }
        Action::ClosePr { project, pr, merged } => {
            ports.forges.of(project)?.close_pr(*pr, merged.as_ref())?;
            Ok(Outcome::Done)
        }
        Action::FindPrimary { project, target, known } => {
            Ok(match ports.merger.primary(project, target.as_ref(), known.as_ref())? {
                Some(PrimaryAt { head, continues, recorded }) => {
                    Outcome::Primary(outcome::Primary { head, continues, recorded })
                }
                None => Outcome::NoPrimary,
            })
        }
        Action::BuildChain { project, target, trial, base, method, list, removed, landed, each_commit } => {
            let lock = QueueLock::acquire(&*ports.merger, project)?;
            let (target, trial, method, each_commit) = (target.as_ref(), *trial, *method, *each_commit);
            let request =
                BuildRequest { project, target, trial, base, method, list, removed, landed, each_commit };
            Ok(chain(ports.merger.build(&lock, &request)?))
        }
        Action::BuildTry { project, target, base, method, entry, removed, landed, each_commit, .. } => {
            let lock = QueueLock::acquire(&*ports.merger, project)?;
            let (target, trial, method, each_commit) = (target.as_ref(), TrialId(0), *method, *each_commit);
            let list = std::slice::from_ref(entry);
            let request =
                BuildRequest { project, target, trial, base, method, list, removed, landed, each_commit };
            Ok(chain(ports.merger.build(&lock, &request)?))
        }
        Action::BuildLanding { project, old, steps, .. } => {
            let lock = QueueLock::acquire(&*ports.merger, project)?;
            Ok(match ports.merger.build_landing(&lock, old, steps)? {
                Ok(built) => Outcome::LandingBuilt(built),
                Err(NotSigned(why)) => Outcome::NotSigned(outcome::NotSigned { why }),
            })
        }
        Action::Publish { project, target, old, new, tested, entries, branches } => {
            let lock = QueueLock::acquire(&*ports.merger, project)?;
            let request = PublishRequest { target: target.as_ref(), old, new, tested, entries, branches };
            Ok(match ports.merger.publish(&lock, &request)? {
                Ok(()) => Outcome::Published,
                Err(NotPublished::Primary(Some(head))) => {
                    Outcome::PrimaryMoved(outcome::PrimaryMoved { head })
                }
                Err(NotPublished::Primary(None)) => Outcome::NoPrimary,
                Err(NotPublished::Branches(moved)) => {
                    Outcome::BranchesMoved(outcome::BranchesMoved { moved })
                }
            })
        }
        Action::FindMerged { project, heads } => {
            let mut found = Vec::new();
            for head in heads {
                if ports.workspace.is_merged(project, head.target.as_ref(), &head.head)? {
                    found.push(head.clone());
                }
            }
            Ok(Outcome::FoundMerged(outcome::FoundMerged { heads: found }))
        }
        Action::VerifyLanded { project, landed } => {
            Ok(Outcome::Landed(outcome::Landed { incomplete: ports.merger.incomplete(project, landed)? }))
        }
        Action::ReleaseWorktree { role, project, assignment, branch, merged, .. } => {
            let tree = Tree::of_job(project, *role, *assignment);
            let note = if role.develops() { tear_down(ports, &tree)? } else { None };
            let proof = RescueProof::obtain(&*ports.workspace, &tree)?;
            let rescue = proof.snapshot().map(|s| s.reference.clone());
            ports.workspace.remove(proof)?;
            if let Some(merged) = merged {
                let proof = MergedProof::obtain(&*ports.workspace, project, merged)?;
                ports.workspace.delete_branch(branch, proof)?;
            }
            Ok(Outcome::Released(outcome::Released { rescue, note }))
        }
        Action::RetireBranch { project, branch, issue, merged } => {
            let proof = MergedProof::obtain(&*ports.workspace, project, merged)?;
            ports.workspace.delete_branch(branch, proof)?;
            if let Some(pr) = merged.pr {
                ports.forges.of(project)?.close_pr(pr, Some(&merged.commit))?;
            }
            if let Some(issue) = issue {
                ports.forges.of(project)?.close_issue(*issue)?;
            }
            Ok(Outcome::Done)
        }
        Action::Tidy(order) => Ok(Outcome::Tidied(tidy(ports, order)?)),
        Action::TakeCheckout { project } => Ok(Outcome::CheckoutTaken(outcome::CheckoutTaken {
            taken: ports.workspace.take_checkout(project)?,
        })),
        Action::SyncCheckout { project, .. } => {
            let (updated, note) = ports.workspace.sync_checkout(project)?;
            Ok(Outcome::Checkout(outcome::Checkout { updated, note }))
        }
    }
}

/// Prunes and packs, or (`dry_run`) counts what would be. Git comes last: whatever is wrong with a repository, the rest
/// does not accumulate.
pub fn tidy(ports: &Ports, order: &Tidy) -> PortResult<outcome::Tidied> {
    let kept = ports.archive.prune(order)?;
    let sessions = ports.agents.prune(order)?;
    let logs = ports.ci.prune(order)?;
    let mut notices = ports.notices.prune(order)?;
    notices += ports.vault.prune(order)?;
    notices += ports.health.prune(order)?;
    let rescues = ports.workspace.prune_rescues(order)?;
    let packed = ports.workspace.keep_up(order)?;
    Ok(outcome::Tidied { rescues, sessions, logs, notices, kept, packed })
}

/// For an issue's job it says what the issue does; a run's has a title of its own.
fn open_pr(
    forge: &dyn Forge,
    assignment: Assignment,
    own_title: Option<&str>,
    branch: &str,
    head: &Sha,
) -> PortResult<PrNumber> {
    let issue = assignment.issue();
    let (title, body) = match issue {
        Some(number) => {
            let row = forge.issue(number)?;
            (pull::title(&row), pull::body(&row.body, number))
        }
        None => (pull::own_title(own_title.unwrap_or(branch)), pull::body_of_run(assignment)),
    };
    forge.open_pr(&NewPr { by: By::Factory, title: &title, body: &body, branch, head, issue })
}

fn say(ports: &Ports, project: &ProjectName, on: Subject, marker: &str, body: &str) -> PortResult<Outcome> {
    let new = NewComment { by: By::Factory, marker: Some(marker), body };
    ports.forges.of(project)?.comment(on, &new)?;
    Ok(Outcome::Done)
}

fn chain(built: Built) -> Outcome {
    match built {
        Built::Chain { primary, moved, links } => Outcome::Chain(outcome::Chain { primary, moved, links }),
        Built::Conflict { primary, moved, entry, with_base, conflict } => {
            Outcome::ChainConflict(outcome::ChainConflict { primary, moved, entry, with_base, conflict })
        }
        Built::Unmergeable { entry, why } => Outcome::Unmergeable(outcome::Unmergeable { entry, why }),
        Built::NoPrimary => Outcome::NoPrimary,
    }
}

fn check_agents(ports: &Ports, project: &ProjectName, others: &[Role]) -> PortResult<Outcome> {
    let mut troubles = Vec::new();
    for role in staff_and(others) {
        let why = ports.agents.trouble(project, role)?;
        troubles.extend(why.map(|why| AgentTrouble { role, why }));
    }
    Ok(Outcome::AgentsChecked(outcome::AgentsChecked { troubles, unset: ports.agents.unset(project) }))
}

fn start_session(ports: &Ports, start: &StartSession) -> PortResult<Outcome> {
    // First of all: nothing must be prepared for a session that already runs.
    let adopted = ports.agents.adopt(start);
    if let Ok(Some(started)) = adopted {
        return Ok(session_started(started, Vec::new()));
    }
    if let Some(why) = ports.agents.trouble(&start.project, start.role)? {
        return Ok(Outcome::AgentUnusable(outcome::AgentUnusable { why }));
    }
    adopted?;
    let tree = Tree::of_job(&start.project, start.role, start.assignment).onto(start.target.as_ref());
    // Also for a successor: the worktree may have been deleted by hand meanwhile.
    let ready = ports.workspace.prepare(&tree, &start.branch, start.head.as_ref())?;
    let outfit = match start.role.duty() {
        Duty::Develop => {
            ports.setup.set_up(&tree)?.map_err(|failed| PortError::permanent(Final::Setup, failed.why))?
        }
        Duty::Review => Outfit::default(),
    };
    let mut briefing = brief(&*ports.workspace, &*ports.forges.of(&start.project)?, start, ready.path)?;
    if let Some(task) = &start.task {
        briefing.context = ports.steps.context(&tree, task.run, &task.context)?;
    }
    briefing.notes = ready.notes.into_iter().chain(outfit.notes).collect();
    briefing.port = outfit.port;
    Ok(session_started(ports.agents.start(start, &briefing)?, briefing.notes))
}

/// What a session is told besides what it is started for. Changes nothing.
pub fn brief(
    workspace: &dyn Workspace,
    forge: &dyn Forge,
    start: &StartSession,
    worktree: String,
) -> PortResult<Briefing> {
    let mut briefing = Briefing { worktree, ..Briefing::default() };
    match start.assignment {
        Assignment::Pull(pr) => {
            let text = forge.pull_text(pr)?;
            briefing.issue = match text.issue {
                Some(issue) => forge.issue_text(issue)?,
                None => IssueText::default(),
            };
            briefing.pull = Some(Earlier { number: pr, open: true, text, change: String::new() });
        }
        Assignment::Issue(issue) => briefing.issue = forge.issue_text(issue)?,
        // What it is to do came with its start.
        Assignment::Run(_) => {}
    }
    let tree = Tree::of_job(&start.project, start.role, start.assignment).onto(start.target.as_ref());
    if start.resume.is_some() {
        briefing.work_done = workspace.work_done(&tree, WORK_DONE_BYTES_MAX)?;
    }
    if let (Duty::Develop, Assignment::Issue(issue)) = (start.role.duty(), start.assignment) {
        let known = start.pr.map_or_else(|| forge.abandoned_pull(issue), |pr| Ok(Some(pr)));
        if let Some(pr) = known? {
            let text = forge.pull_text(pr)?;
            // A successor has seen more than that.
            let change = match start.resume {
                Some(_) => String::new(),
                None => workspace.change_of(&tree, &text.head, WORK_DONE_BYTES_MAX)?,
            };
            briefing.reviews = forge.review_texts(pr)?;
            briefing.pull = Some(Earlier { number: pr, open: start.pr.is_some(), text, change });
        }
    }
    if let (Duty::Review, Some(head)) = (start.role.duty(), &start.head) {
        let diff = |since| workspace.review_diff(&tree, since, head, start.diff_bytes);
        briefing.change = diff(None)?;
        if let (Some(reviewed), Some(pr)) = (&start.reviewed, start.pr) {
            briefing.news = diff(Some(reviewed))?;
            briefing.reviews = forge.review_texts(pr)?;
        }
    }
    Ok(briefing)
}

/// The project's last word on a worktree. Whatever goes wrong is reported and holds nothing up.
fn tear_down(ports: &Ports, tree: &Tree) -> PortResult<Option<String>> {
    let unkept = Cell::new(false);
    let keep = || ports.workspace.snapshot(tree).map(drop).inspect_err(|_| unkept.set(true));
    match ports.setup.tear_down(tree, &keep) {
        Err(e) if !unkept.get() => Ok(Some(format!("the teardown could not be run: {e}"))),
        told => told,
    }
}

fn session_started(started: Started, notes: Vec<String>) -> Outcome {
    let Started { tmux, process, phase_file, runtime, prompt } = started;
    Outcome::SessionStarted(outcome::SessionStarted { tmux, process, phase_file, runtime, prompt, notes })
}

fn end_session(ports: &Ports, tree: &Tree, epoch: Epoch) -> PortResult<Outcome> {
    let last_output = ports.agents.last_output(tree, epoch)?;
    // A snapshot before anything is killed. The agent may still be writing, so this one need not be the last
    // word; the one after the end is.
    ports.workspace.snapshot(tree)?;
    ports.agents.end(tree, epoch)?;
    let snapshot = ports.workspace.snapshot(tree)?;
    let note = share(ports, tree, snapshot.as_ref());
    let rescue = snapshot.map(|s| s.reference);
    Ok(Outcome::SessionEnded(outcome::SessionEnded { rescue, last_output, note }))
}

fn checkpoint(ports: &Ports, tree: &Tree, branch: &str) -> PortResult<Outcome> {
    let Some(snapshot) = ports.workspace.snapshot(tree)? else {
        return Ok(Outcome::Checkpoint(outcome::Checkpoint {
            rescue: None,
            head: None,
            ahead: None,
            files: Vec::new(),
            note: None,
        }));
    };
    let note = share(ports, tree, Some(&snapshot));
    let files = ports.workspace.changed_files(tree, &snapshot, CHANGED_FILES_MAX)?;
    let (head, ahead) = ports.workspace.branch_ahead(tree, branch)?;
    let (rescue, head, ahead) = (Some(snapshot.reference), Some(head), Some(ahead));
    Ok(Outcome::Checkpoint(outcome::Checkpoint { rescue, head, ahead, files, note }))
}

/// Sends a snapshot to origin, if that is wanted. It is kept here either way, so trouble is only reported.
fn share(ports: &Ports, tree: &Tree, snapshot: Option<&Snapshot>) -> Option<String> {
    let snapshot = snapshot?;
    let failed = ports.workspace.share(tree, snapshot).err()?;
    Some(format!("{} could not be sent to origin: {failed}", snapshot.reference))
}

fn push_branch(
    ports: &Ports,
    tree: &Tree,
    branch: &str,
    (reviewed, each_commit): (&[Sha], bool),
    protected: &[String],
) -> PortResult<Outcome> {
    let state = ports.workspace.branch_state(tree, branch)?;
    // Half a rebase is nobody's change.
    let mut note = state.unfinished.clone();
    if note.is_none() && state.ahead > 0 && state.pushed.as_ref() != Some(&state.head) {
        match ports.workspace.push(tree, branch) {
            Ok(_) => {}
            Err(PortError::Permanent { why, .. }) => note = Some(why),
            Err(transient) => return Err(transient),
        }
    }
    // What an agent pushed itself goes no further either. (What we push has been looked through.)
    if note.is_none() && state.ahead > 0 && state.pushed.as_ref() == Some(&state.head) {
        note = ports.workspace.leak(tree, branch, &state.head)?;
    }
    let BranchState { head, ahead, dirty, .. } = state;
    let same_as = match note.is_none() && ahead > 0 {
        true => ports.workspace.same_changes(tree, &head, reviewed, each_commit)?,
        false => Vec::new(),
    };
    let base = match note.is_none() && ahead > 0 {
        true => ports.workspace.stands_on(tree, &head)?,
        false => None,
    };
    let protected = match note.is_none() && ahead > 0 && !protected.is_empty() {
        true => {
            let patterns = Protected::new(protected).map_err(|e| PortError::permanent(Final::Config, e))?;
            patterns.of(&ports.workspace.changed_paths(tree, base.as_ref(), &head)?)
        }
        false => Vec::new(),
    };
    Ok(Outcome::Branch(outcome::Branch { head, ahead, dirty, note, same_as, base, protected }))
}
