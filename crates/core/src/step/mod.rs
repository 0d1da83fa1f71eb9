//! The state machine: one pure function from an event to a changed floor, effects and notes.
//!
//! [`step`] has no clock, no randomness and no I/O, and it never fails: an event that does not fit
//! the state any more (a stale answer, a signal of a session that was replaced) changes nothing
//! but is noted. Each topic has its file; all of them act on a [`Turn`].

mod aside;
mod blame;
mod by_hand;
mod chat;
mod checkout;
mod checks;
mod circles;
mod deadline;
mod dependencies;
mod dialog;
mod finish;
mod heads;
mod hold;
mod landing;
mod login;
mod message;
mod overlap;
mod people;
mod phase;
mod primary;
mod pull_review;
mod question;
mod queue;
mod record;
mod recovery;
mod refusal;
mod review;
mod reviewer;
mod scheduler;
mod session;
mod session_end;
mod stack;
mod staff;
mod status;
mod tidy;
mod told;
mod trials;
mod tries;
mod trouble;
mod turn;

#[cfg(test)]
mod tests;

pub(crate) use dialog::HELD_FOR;

pub use by_hand::{Hindrance, may_queue};
pub use overlap::{Overlap, overlap};
pub use pull_review::{NotReviewed, may_ask_for_review};
pub use queue::may_merge;
pub use scheduler::{Standings, Waiting};
pub use tries::may_try;
pub use trouble::{READ_FORGE, is_wanted, read_lane};

use crate::effect::{Action, CiAbout, CiPurpose, Outcome, StartSession, Telling, Tidy};
use crate::event::{Event, Note, NoteKind, Observation};
use crate::ids::{Epoch, IssueNumber, JobId, ProjectName, QueueId, Role, branch_for};
use crate::policy::Policy;
use crate::state::{Floor, JobKind, Project, SeenReview};
use crate::time::Time;
use crate::verdict::believed;
use std::collections::BTreeSet;
use turn::relabel;

/// What a step wants done and told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    pub effects: Vec<Action>,
    pub notes: Vec<Note>,
}

/// Takes in one event.
pub fn step(floor: &mut Floor, now: Time, event: &Event) -> Step {
    let mut turn = Turn { floor, now, step: Step::default() };
    turn.take_in(event);
    turn.step
}

/// Takes in one event on which [`step`] fails, and begins nothing new: if that is what fails, no event is lost by it.
pub fn step_beginning_nothing(floor: &mut Floor, now: Time, event: &Event, why: &str) -> Step {
    let mut turn = Turn { floor, now, step: Step::default() };
    turn.take_in_alone(event);
    turn.begin_nothing(why);
    turn.step
}

/// The session that would be started for an issue now: of its live job, or of one that began.
pub fn next_session(floor: &Floor, project: &ProjectName, issue: IssueNumber, role: Role) -> StartSession {
    let job = floor.job_of(project, issue).filter(|job| job.is_live());
    let row = floor.issues.get(&(project.clone(), issue));
    let pulls = recovery::OpenPulls::of(floor, project);
    let pull = row.filter(|_| job.is_none()).and_then(|issue| pulls.to_go_on_with(issue));
    let branch = job.map(|job| &job.branch).or(pull.map(|pull| &pull.branch));
    let mut copy = floor.clone();
    let turn = Turn { floor: &mut copy, now: Time::default(), step: Step::default() };
    StartSession {
        epoch: Epoch(floor.counters.get(&()).map_or(0, |c| c.epoch) + 1),
        job: job.map_or_else(JobId::default, |job| job.id),
        role,
        project: project.clone(),
        issue,
        branch: branch.cloned().unwrap_or_else(|| branch_for(issue)),
        pr: job.and_then(|job| job.pr).or(pull.map(|pull| pull.number)),
        head: job.and_then(|job| job.head.clone()).filter(|_| role == Role::Review),
        trouble: job.filter(|_| role == Role::Review).and_then(|job| job.memo.review_trouble.clone()),
        reviewed: job.filter(|_| role == Role::Review).and_then(|job| turn.reviewed_before(job.id)),
        diff_bytes: floor.policy(project).review_diff_bytes,
        resume: job.filter(|_| role == Role::Dev).and_then(|job| turn.resume_of(job.id)),
        target: match job {
            Some(job) => job.target.clone(),
            None => row.and_then(|issue| floor.policy(project).target_of(&issue.labels).cloned()),
        },
        kind: JobKind::Issue,
    }
}

/// One step under way.
struct Turn<'a> {
    floor: &'a mut Floor,
    now: Time,
    step: Step,
}

impl Turn<'_> {
    fn take_in(&mut self, event: &Event) {
        self.take_in_alone(event);
        if matches!(event, Event::SetAside { .. }) {
            return;
        }
        self.tell_who_waits_in_vain();
        // Whatever happened may have freed a slot or closed a dependency.
        let projects: Vec<ProjectName> = self.floor.projects.iter().map(|p| p.name.clone()).collect();
        for project in projects {
            self.claim_ready(&project);
            self.begin_reviews(&project);
        }
    }

    fn take_in_alone(&mut self, event: &Event) {
        match event {
            Event::ProjectSet { project, checkout, policy } => self.project_set(project, checkout, policy),
            Event::ProjectPaused { project, why } => self.project_paused(project, why),
            Event::Observed { project, observation, cursor, more } => {
                self.observed(project, observation, *cursor, *more);
            }
            Event::Performed { action, outcome } => self.performed(action, outcome),
            Event::PhaseWritten { epoch, stamp, report } => self.phase_written(*epoch, stamp, report),
            Event::PhaseUnreadable { epoch, stamp, first_line } => {
                self.phase_unreadable(*epoch, stamp, first_line);
            }
            Event::ResultWritten { epoch } => self.result_written(*epoch),
            Event::SessionExited { epoch, status } => self.session_exited(*epoch, *status),
            Event::MessageTaken { message, epoch } => self.message_taken(*message, *epoch),
            Event::MessageMoved { message, epoch, to } => self.message_moved(*message, *epoch, to),
            Event::MessageHeld { message, epoch, why, for_good } => {
                self.message_held(*message, *epoch, why.as_deref(), *for_good);
            }
            Event::Committed { epoch, head } => self.committed(*epoch, head),
            Event::WorkSeen { epoch, phase } => self.work_seen(*epoch, *phase),
            Event::OutputSeen { epoch } => self.output_seen(*epoch),
            Event::StatusSeen { epoch, status, conversation } => {
                self.status_seen(*epoch, status, conversation.as_deref());
            }
            Event::DialogAnswered { epoch, question, end } => self.dialog_answered(*epoch, *question, end),
            Event::PersonTyped { epoch, at } => self.person_typed(*epoch, *at),
            Event::PersonLeft { epoch } => self.person_left(*epoch),
            Event::Taken { project, issue } => self.taken(project, *issue),
            Event::HandedBack { project, issue } => self.handed_back(project, *issue),
            Event::WorkPaused { project, why } => self.work_paused(project.as_ref(), why),
            Event::WorkResumed { project } => self.work_resumed(project.as_ref()),
            Event::Answered { project, issue, text, question } => {
                self.answered(project, *issue, text, *question);
            }
            Event::Cancelled { project, issue } => self.cancelled(project, *issue),
            Event::Escalated { project, text } => {
                self.note(NoteKind::Escalation, project, None, text.clone());
            }
            Event::MergeAsked { project, issue, urgent, alone } => {
                self.merge_asked(project, *issue, *urgent, *alone);
            }
            Event::MergeRefused { project, issue } => self.merge_refused(project, *issue),
            Event::BranchAsked { project, ask } => self.branch_asked(project, ask),
            Event::BranchRefused { project, branch } => self.branch_refused(project, branch),
            Event::ReviewAsked { project, pr, branch, head } => self.review_asked(project, *pr, branch, head),
            Event::TryAsked { project, ask } => self.try_asked(project, ask),
            Event::TryDropped { project, branch } => self.try_dropped(project, branch),
            Event::BranchTouched { project, branch, head } => {
                self.branch_touched(project, branch, head.as_ref());
            }
            Event::CheckoutTouched { project } => self.checkout_touched(project),
            Event::PrimaryTouched { project, target } => {
                self.look_for_merges(project);
                self.primary_touched(&QueueId::new(project, target.as_ref()));
            }
            Event::TroubleSeen { project, lane, what, issue, why } => {
                self.trouble_seen(project, lane, what, *issue, why);
            }
            Event::TroubleOver { project, lane } => self.trouble_over(project, lane),
            Event::QueuePaused { project, target, why, below } => {
                self.queue_paused(&QueueId::new(project, target.as_ref()), why.as_deref(), *below);
            }
            Event::NumbersSeen { epoch, run } => {
                self.number_from(|c| &mut c.epoch, epoch.0);
                self.number_from(|c| &mut c.run, run.0);
            }
            Event::StaffTouched { project } => self.staff_touched(project.as_ref(), true),
            Event::Resumed => self.resumed(),
            Event::Tick => self.tick(),
            // Another may have moved it.
            Event::TimerDue { due } => {
                let now = self.now;
                if self.floor.timers().any(|timer| timer.due == *due && timer.at <= now) {
                    self.see_to(due.clone());
                }
            }
            Event::SetAside { aside, what, why } => self.set_aside(aside, what, why),
        }
    }

    fn project_set(&mut self, project: &ProjectName, checkout: &str, policy: &Policy) {
        let known = self.floor.projects.get(project);
        let (cursor, reading, tidy_at) = known.map_or((0, false, None), |p| (p.cursor, p.reading, p.tidy_at));
        let troubles = known.map(|p| p.troubles.clone()).unwrap_or_default();
        let before = known.map(|p| p.policy.clone());
        let pause = known.map_or_else(|| self.floor_pause(), |known| known.pause.clone());
        self.floor.projects.put(Project {
            name: project.clone(),
            checkout: checkout.to_owned(),
            policy: policy.clone(),
            cursor,
            reading,
            paused: None,
            pause,
            tidy_at,
            troubles,
        });
        if let Some(before) = before {
            self.terms_changed(project, &before, policy);
        }
        self.look_at_staff(project);
    }

    fn project_paused(&mut self, project: &ProjectName, why: &str) {
        let Some(row) = self.floor.projects.edit(project) else { return };
        row.paused = Some(why.to_owned());
        self.note(NoteKind::Escalation, project, None, format!("nothing new is begun: {why}"));
    }

    fn observed(&mut self, project: &ProjectName, observation: &Observation, cursor: u64, more: bool) {
        let Some(known) = self.floor.projects.edit(project) else { return };
        known.cursor = known.cursor.max(cursor);
        known.reading = more;
        match observation {
            Observation::Issue { number, .. } => {
                let before = self.floor.issues.get(&(project.clone(), *number)).map(|i| i.revision);
                self.floor.see_issue(project, observation);
                self.reprioritise(project, *number);
                self.doubt_dependencies(project, *number);
                self.heed_issue(project, *number, before);
            }
            // Its author has said something else since.
            Observation::Review { dismissed: true, .. } => {}
            Observation::Review { pr, head, verdict, text, author, agent, id, .. } => {
                let review = SeenReview {
                    id: *id,
                    head: head.clone(),
                    verdict: *verdict,
                    text: text.clone(),
                    author: author.clone(),
                    agent: *agent,
                };
                self.review_seen(project, *pr, review);
            }
            // A person closed it, or we did, finishing.
            Observation::Pr { number, open: false, .. } => {
                self.pr_closed(project, *number);
            }
            Observation::Pr { number, open: true, branch, head, fixes, title, ours } => {
                let pull = self.floor.pull(project, *number);
                branch.clone_into(&mut pull.branch);
                head.clone_into(&mut pull.head);
                fixes.clone_into(&mut pull.fixes);
                title.clone_into(&mut pull.title);
                pull.ours = Some(*ours);
                self.pull_of_queued(project, *number, branch);
                self.review_follows(project, *number);
            }
        }
    }

    /// The answer to an action of ours.
    fn performed(&mut self, action: &Action, outcome: &Outcome) {
        if let Some(project) = self.floor.project_of(action) {
            self.trouble_over(&project, &action.lane());
        }
        if let Outcome::Impossible { why } = outcome {
            self.impossible(action, why);
            return;
        }
        match action {
            Action::PrepareWorktree { job, .. } => self.worktree_ready(*job, outcome),
            Action::CheckAgents { project } => self.staff_seen(project, outcome),
            Action::StartSession(start) => self.session_started(start, outcome),
            Action::EndSession { job, epoch, .. } => self.session_ended(*job, *epoch, action, outcome),
            Action::PublishBranch { job, each_commit, .. } => {
                self.branch_published(*job, *each_commit, outcome);
            }
            Action::Checkpoint { job, .. } => self.checkpoint_made(*job, outcome),
            Action::OpenPr { job, head, .. } => self.pr_open(*job, head, outcome),
            Action::RunCi { job, project, run, commit, purpose, about, .. } => {
                let queue = QueueId::new(project, about.target.as_ref());
                if let Outcome::CiFinished(report) = outcome {
                    let report = &*believed(&self.policy(project), report);
                    match purpose {
                        CiPurpose::Head => {
                            if let Some(job) = job {
                                self.checks_finished(*job, *run, commit, report);
                            }
                        }
                        CiPurpose::Try(id) => self.try_checked(*id, *run, report),
                        CiPurpose::Entry(entry) => self.entry_checked(*entry, *run, report),
                        CiPurpose::Trial(trial) => self.trial_checked(&queue, *trial, *run, report),
                        CiPurpose::Base => self.base_checked(&queue, *run, report),
                    }
                }
            }
            Action::CollectReview { job, epoch, pr, head, .. } => {
                self.review_collected(*job, *epoch, *pr, head, outcome);
            }
            Action::MoveReview { job, epoch, head, .. } => self.reviewer_moved(*job, *epoch, head, outcome),
            Action::PostReview { job, epoch, head, review, .. } => {
                self.review_posted(*job, *epoch, head, review.verdict);
            }
            Action::EditLabels { project, issue, add, remove } => {
                if let Some(issue) = self.floor.issues.edit(&(project.clone(), *issue)) {
                    issue.edits_pending = issue.edits_pending.saturating_sub(1);
                    issue.held = false;
                    // What was observed meanwhile may be older than this, or newer.
                    let version = match outcome {
                        Outcome::Labelled { version } => *version,
                        _ => issue.version,
                    };
                    if version >= issue.version {
                        issue.version = version;
                        relabel(issue, add, remove);
                    }
                }
                self.finishing_done_by_issue(project, *issue, action);
                self.heed_labels(project, *issue);
            }
            Action::Comment { project, issue, .. } | Action::CloseIssue { project, issue } => {
                self.finishing_done_by_issue(project, *issue, action);
            }
            Action::ClosePr { project, pr, .. } => self.finishing_done_by_pr(project, *pr, action),
            Action::ReleaseWorktree { job, role, .. } => {
                self.worktree_released(*job, *role, outcome);
                self.finishing_done(*job, action);
            }
            Action::Escalate { job, .. } => self.finishing_done(*job, action),
            Action::FindPrimary { project, target, known } => {
                let queue = QueueId::new(project, target.as_ref());
                self.primary_answered(&queue, known.as_ref(), outcome);
            }
            Action::BuildChain { project, target, trial, list, .. } => {
                self.chain_built(&QueueId::new(project, target.as_ref()), *trial, list, outcome);
            }
            Action::BuildLanding { project, target, tip, .. } => {
                self.landing_built(&QueueId::new(project, target.as_ref()), tip, outcome);
            }
            Action::Publish { project, target, old, new, .. } => {
                self.publish_answered(&QueueId::new(project, target.as_ref()), old, new, outcome);
            }
            Action::FindMerged { .. } => {
                if let Outcome::FoundMerged { heads } = outcome {
                    self.merged_by_hand(heads);
                }
            }
            Action::VerifyLanded { project, landed } => {
                if let Outcome::Landed { incomplete } = outcome {
                    self.landing_verified(project, landed, incomplete);
                }
            }
            Action::SyncCheckout { project, .. } => {
                if let Outcome::Checkout { note, .. } = outcome {
                    self.note(NoteKind::Checkout, project, None, note.clone());
                }
            }
            Action::TakeCheckout { project } => {
                if let Outcome::CheckoutTaken { taken } = outcome {
                    self.checkout_taken(project, taken);
                }
            }
            Action::BuildTry { id, .. } => self.try_built(*id, outcome),
            Action::Tell(telling) => self.told(telling, outcome),
            Action::RingInbox { .. }
            | Action::PostStatus { .. }
            | Action::CommentPr { .. }
            | Action::MovePr { .. }
            | Action::CancelCi { .. }
            | Action::Tidy(_) => {}
            Action::RetireBranch { project, branch, merged, .. } => {
                self.branch_retired(project, branch, &merged.commit);
            }
        }
    }

    /// An action that will never work. Somebody is told, and what waited for it does not wait on.
    fn impossible(&mut self, action: &Action, why: &str) {
        let reason = format!("{} failed: {why}", action.name().replace('_', " "));
        match action {
            Action::PrepareWorktree { job, .. }
            | Action::PublishBranch { job, .. }
            | Action::OpenPr { job, .. }
            | Action::RunCi { job: Some(job), purpose: CiPurpose::Head, .. } => {
                // What is not waited for any more may fail.
                if trouble::waits_for(self.floor, *job, action) {
                    self.block(*job, &reason);
                } else {
                    self.stale(*job, reason);
                }
            }
            Action::StartSession(start) => self.session_impossible(start, &reason),
            Action::RunCi {
                project,
                purpose: CiPurpose::Trial(trial),
                about: CiAbout { target, .. },
                ..
            }
            | Action::BuildChain { project, target, trial, .. } => {
                self.trial_impossible(&QueueId::new(project, target.as_ref()), *trial, &reason);
            }
            Action::RunCi { project, run, purpose: CiPurpose::Base, about, .. } => {
                self.base_uncheckable(&QueueId::new(project, about.target.as_ref()), *run, &reason);
            }
            Action::RunCi { run, purpose: CiPurpose::Entry(entry), .. } => {
                self.entry_uncheckable(*entry, *run, &reason);
            }
            Action::RunCi { job: None, purpose: CiPurpose::Head, .. } => {}
            Action::FindPrimary { project, target, .. } => {
                self.primary_unknown(&QueueId::new(project, target.as_ref()), &reason);
            }
            Action::BuildLanding { project, target, tip, .. } => {
                self.landing_impossible(&QueueId::new(project, target.as_ref()), tip, &reason);
            }
            Action::Publish { project, target, old, new, .. } => {
                self.publish_impossible(&QueueId::new(project, target.as_ref()), old, new, &reason);
            }
            Action::CollectReview { job, epoch, .. } => self.reviewer_failed(*job, *epoch, &reason),
            Action::PostReview { job, epoch, head, .. } => {
                self.review_not_posted(*job, *epoch, head, &reason);
            }
            Action::MoveReview { job, epoch, head, .. } => {
                self.reviewer_not_moved(*job, *epoch, head, &reason);
            }
            Action::EndSession { job, role, epoch, .. } => {
                self.not_ended(*job, *role, *epoch, action, &reason);
                self.reviewer_not_ended(*job, *epoch, &reason);
            }
            Action::ReleaseWorktree { job, role, .. } => {
                self.escalate_job(*job, &reason);
                self.worktree_released(*job, *role, &Outcome::Done);
                self.finishing_done(*job, action);
            }
            Action::Escalate { job, .. } => {
                self.escalate_job(*job, &reason);
                self.finishing_done(*job, action);
            }
            Action::EditLabels { project, issue, .. } => {
                if let Some(issue) = self.floor.issues.edit(&(project.clone(), *issue)) {
                    issue.edits_pending = issue.edits_pending.saturating_sub(1);
                    issue.held = true;
                }
                self.note(NoteKind::Escalation, project, Some(*issue), reason);
                self.finishing_done_by_issue(project, *issue, action);
            }
            Action::Comment { project, issue, .. } | Action::CloseIssue { project, issue } => {
                self.note(NoteKind::Escalation, project, Some(*issue), reason);
                self.finishing_done_by_issue(project, *issue, action);
            }
            Action::ClosePr { project, pr, .. } => {
                self.note(NoteKind::Escalation, project, None, reason);
                self.finishing_done_by_pr(project, *pr, action);
            }
            Action::BuildTry { id, .. } | Action::RunCi { purpose: CiPurpose::Try(id), .. } => {
                self.try_impossible(*id, &reason);
            }
            Action::Tell(Telling { project, .. })
            | Action::CommentPr { project, .. }
            | Action::MovePr { project, .. }
            | Action::PostStatus { project, .. }
            | Action::SyncCheckout { project, .. }
            | Action::TakeCheckout { project }
            | Action::CancelCi { project, .. }
            | Action::VerifyLanded { project, .. }
            | Action::FindMerged { project, .. }
            | Action::RetireBranch { project, .. }
            | Action::Tidy(Tidy { project, .. }) => {
                self.note(NoteKind::Escalation, project, None, reason);
            }
            // Another is made later, and one at the session's end; somebody should know.
            Action::Checkpoint { job, .. } if is_wanted(self.floor, action) => {
                self.escalate_job(*job, &reason)
            }
            Action::Checkpoint { job, .. } => self.stale(*job, reason),
            // Whoever is started next finds out.
            Action::CheckAgents { project } => self.staff_seen(project, &Outcome::Done),
            // The message's own deadline reports it.
            Action::RingInbox { .. } => {}
        }
    }
}

/// A set of labels, from literals.
fn labels(names: &[&str]) -> Vec<String> {
    names.iter().map(|n| (*n).to_owned()).collect()
}

/// A set of names, for a finishing job.
fn names(actions: &[Action]) -> BTreeSet<String> {
    actions.iter().map(finish::action_key).collect()
}
