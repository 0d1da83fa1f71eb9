//! The state machine: one pure function from an event to a changed floor, effects and notes.
//!
//! [`step`] has no clock, no randomness and no I/O, and it never fails: an event that no longer fits the state (a
//! stale answer, a signal of a session that was replaced) is noted but changes nothing. Each table has an owner,
//! with a folder of its own; all of them act on a [`Turn`].

mod acts;
mod attention;
mod health;
mod jobs;
mod mirror;
mod performed;
mod pins;
mod projects;
mod queue;
mod runs;
mod sessions;
mod shelving;
mod timers;
mod turn;
mod vault;

#[cfg(test)]
mod tests;

pub(crate) use acts::Acts;
pub(crate) use attention::Attention;
pub(crate) use health::Healths;
pub(crate) use jobs::Jobs;
pub(crate) use mirror::Mirror;
pub(crate) use pins::Pins;
pub(crate) use projects::Projects;
pub(crate) use queue::Queues;
pub(crate) use runs::Runs;
pub(crate) use sessions::{HELD_FOR, Sessions};
pub(crate) use turn::Numbers;
pub(crate) use vault::Vault;

pub use acts::{dressed, may_act, may_ask, may_ask_the_vault, may_do};
pub use attention::{READ_FORGE, is_wanted, read_lane};
pub use health::may_tell;
pub use jobs::{
    NotReviewed, Overlap, RunWaiting, Standings, Waiting, may_ask_for_review, overlap, tidy_order,
};
pub use queue::{Hindrance, may_merge, may_queue, may_try};
pub use runs::{NotAStep, may_run, may_say};
pub use shelving::wanted;
pub use vault::{may_decide, may_request};

use crate::effect::{Action, StartSession};
use crate::event::{Event, Note, NoteKind, Observation};
use crate::ids::{Assignment, Epoch, IssueNumber, JobId, ProjectName, QueueId, Role, branch_for};
use crate::label::Label;
use crate::state::{Floor, SeenReview};
use crate::time::Time;
use std::collections::BTreeSet;

/// What a step wants done and told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    pub effects: Vec<Action>,
    pub notes: Vec<Note>,
}

/// Takes in one event.
pub fn step(floor: &mut Floor, now: Time, event: &Event) -> Step {
    let mut turn = Turn::new(floor, now);
    turn.take_in(event);
    turn.step
}

/// Takes in one event on which [`step`] fails, and begins nothing new: if beginning is what fails, no event is
/// lost.
pub fn step_beginning_nothing(floor: &mut Floor, now: Time, event: &Event, why: &str) -> Step {
    let mut turn = Turn::new(floor, now);
    turn.take_in_alone(event);
    turn.begin_nothing(why);
    turn.step
}

/// The session that would be started for an issue now: in its live job, or in a new one.
pub fn next_session(floor: &Floor, project: &ProjectName, issue: IssueNumber, role: Role) -> StartSession {
    let job = floor.job_of(project, issue).filter(|job| job.is_live());
    let row = floor.issues.get(&(project.clone(), issue));
    let pulls = jobs::OpenPulls::of(floor, project);
    let pull = row.filter(|_| job.is_none()).and_then(|issue| pulls.to_go_on_with(issue));
    let branch = job.map(|job| &job.branch).or(pull.map(|pull| &pull.branch));
    let mut copy = floor.clone();
    let turn = Turn::new(&mut copy, Time::default());
    StartSession {
        epoch: Epoch(floor.counters.get(&()).map_or(0, |c| c.epoch) + 1),
        job: job.map_or_else(JobId::default, |job| job.id),
        role,
        project: project.clone(),
        assignment: Assignment::Issue(issue),
        branch: branch.cloned().unwrap_or_else(|| branch_for(issue)),
        pr: job.and_then(|job| job.pr).or(pull.map(|pull| pull.number)),
        head: job.and_then(|job| job.head.clone()).filter(|_| role.reviews()),
        trouble: job.filter(|_| role.reviews()).and_then(|job| job.memo.review_trouble.clone()),
        reviewed: job.filter(|_| role.reviews()).and_then(|job| turn.reviewed_before(job.id)),
        diff_bytes: floor.policy(project).review_diff_bytes,
        resume: job.filter(|_| role.develops()).and_then(|job| turn.resume_of(job.id)),
        target: match job {
            Some(job) => job.target.clone(),
            None => row.and_then(|issue| floor.policy(project).target_of(&issue.labels).cloned()),
        },
        task: None,
    }
}

/// One step under way.
struct Turn<'a> {
    floor: &'a mut Floor,
    now: Time,
    step: Step,
    orders: queue::Orders,
}

impl<'a> Turn<'a> {
    fn new(floor: &'a mut Floor, now: Time) -> Turn<'a> {
        Turn { floor, now, step: Step::default(), orders: queue::Orders::default() }
    }

    fn take_in(&mut self, event: &Event) {
        self.take_in_alone(event);
        if matches!(event, Event::SetAside { .. }) {
            return;
        }
        self.tell_who_waits_in_vain();
        self.begin_what_is_ready();
        self.shelve_what_is_over(event);
    }

    fn take_in_alone(&mut self, event: &Event) {
        match event {
            Event::ProjectSet { project, checkout, policy } => self.project_set(project, checkout, policy),
            Event::ProjectPaused { project, why } => self.project_paused(project, why),
            Event::ConfigAccepted { project, text, ahead, by } => {
                self.config_accepted(project, text, ahead.as_deref(), by);
            }
            Event::ConfigSeen { project, text, diff } => self.config_seen(project, text, diff),
            Event::Observed { project, page } => {
                self.turn_the_page(project, page);
                page.seen.0.iter().for_each(|observation| self.observed(project, observation));
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
            Event::PersonNeeded { project, by, asked } => self.person_needed(project, by, asked),
            Event::MergeAsked { project, issue, urgent, alone } => {
                self.merge_asked(project, *issue, *urgent, *alone);
            }
            Event::MergeRefused { project, issue } => self.merge_refused(project, *issue),
            Event::BranchAsked { project, ask } => self.branch_asked(project, ask),
            Event::BranchRefused { project, branch } => self.branch_refused(project, branch),
            Event::ReviewAsked { project, pr, branch, head } => self.review_asked(project, *pr, branch, head),
            Event::RunAsked { project, ask } => self.run_asked(project, ask),
            Event::RunCancelled { project, run } => self.run_cancelled(project, *run),
            Event::SchedulesSet { project, plans } => self.schedules_set(project, plans),
            Event::SchedulePaused { project, schedule, by } => self.schedule_paused(project, schedule, by),
            Event::ScheduleResumed { project, schedule, by } => self.schedule_resumed(project, schedule, by),
            Event::StepSaid { epoch, said } => self.step_said(*epoch, said),
            Event::ActAsked { epoch, act } => self.act_asked(*epoch, act),
            Event::QuestionAsked { epoch, question, ask } => self.question_asked(*epoch, question, ask),
            Event::VaultAsked { project, ask } => self.vault_asked(project, ask),
            Event::VaultDecided { project, request, word } => self.vault_decided(project, *request, word),
            Event::CheckupAsked { project } => self.checkup_asked(project),
            Event::HealthAcked { project, ack } => self.health_acked(project, ack),
            Event::HealthUnacked { project, ack } => self.health_unacked(project, ack),
            Event::SupervisorTold { project, text, by } => self.supervisor_told(project, text, by),
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
            Event::BranchPushed { project, branch, old, new, by } => {
                self.push_recorded(project, branch, old.as_ref(), new, by);
            }
            Event::FoundChanged { project, repository, what } => {
                let text = crate::texts::notes::found_changed(repository, what);
                self.note(NoteKind::Escalation, project, None, text);
            }
            Event::TroubleSeen { project, lane, what, issue, why } => {
                self.trouble_seen(project, lane, what, *issue, why);
            }
            Event::TroubleOver { project, lane } => self.trouble_over(project, lane),
            Event::QueuePaused { project, target, why, below } => {
                self.queue_paused(&QueueId::new(project, target.as_ref()), why.as_deref(), *below);
            }
            Event::TidyAsked { project } => self.tidy_asked(project.as_ref()),
            Event::NumbersSeen { epoch, run } => {
                self.number_from(|c| &mut c.epoch, epoch.0);
                self.number_from(|c| &mut c.run, run.0);
            }
            Event::StaffTouched { project } => self.staff_touched(project.as_ref(), true),
            Event::Resumed => self.resumed(),
            Event::Tick => self.tick(),
            // Another event may have moved the timer.
            Event::TimerDue { due } => {
                let now = self.now;
                if self.floor.timers().any(|timer| timer.due == *due && timer.at <= now) {
                    self.see_to(due.clone());
                }
            }
            Event::SetAside { aside, what, why } => self.set_aside(aside, what, why),
        }
    }

    fn observed(&mut self, project: &ProjectName, observation: &Observation) {
        if self.floor.projects.get(project).is_none() {
            return;
        }
        match observation {
            Observation::Issue { number, .. } => {
                self.issue_seen(project, *number, observation);
            }
            // Its author has said something else since then.
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
            // A person closed it, or we did, while finishing a job.
            Observation::Pr { number, open: false, .. } => {
                self.pr_closed(project, *number);
            }
            Observation::Comment { on, id, revision, .. } => self.heard(project, *on, *id, *revision),
            Observation::Pr { number, open: true, .. } => self.pull_seen(project, *number, observation),
        }
    }
}

/// A set of labels, from literals.
fn labels(labels: &[Label]) -> Vec<String> {
    labels.iter().map(Label::to_string).collect()
}

/// A set of names, for a finishing job.
fn names(actions: &[Action]) -> BTreeSet<String> {
    actions.iter().map(jobs::action_key).collect()
}
