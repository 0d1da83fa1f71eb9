//! Every wait has a deadline. Here is what happens at each.

use super::Turn;
use crate::effect::Action;
use crate::ids::{Epoch, JobId, MessageId, ProjectName, Sha};
use crate::liveness::State;
use crate::planner::Input;
use crate::state::{Due, Job, JobState, Message, MessageState, Session, SessionState};
use std::collections::BTreeSet;
use std::time::Duration;

/// After this long somebody is told again that something takes long.
const LONG_AGAIN: Duration = Duration::from_secs(3600);

impl Turn<'_> {
    /// Sees to all timers that are due, kind after kind: what is done about one may set or clear those of the next.
    pub(super) fn tick(&mut self) {
        let now = self.now;
        let mut seen_to: BTreeSet<&'static str> = BTreeSet::new();
        loop {
            let due = self.floor.timers().filter(|timer| timer.at <= now).map(|timer| timer.due);
            let due: BTreeSet<Due> = due.filter(|due| !seen_to.contains(due.name())).collect();
            let Some(kind) = due.first().map(Due::name) else { return };
            for due in due.into_iter().take_while(|due| due.name() == kind) {
                self.see_to(due);
            }
            seen_to.insert(kind);
        }
    }

    pub(super) fn see_to(&mut self, due: Due) {
        // It may work this time; else it is put off again.
        self.floor.mutes.remove(&due);
        match due {
            Due::Handback(epoch) => self.let_go(epoch, "the person typed nothing for long"),
            Due::Held(message) => self.tell_of_held(message),
            Due::Delivery(message) => self.message_due(message),
            Due::Resume(epoch) => self.resume_due(epoch),
            Due::Review(epoch) => self.review_due(epoch),
            Due::Checkpoint(job) => self.checkpoint_due(job),
            Due::Release(job) => self.release_due(job),
            Due::Tidy(project) => self.tidy(&project),
            Due::Job(job) => self.job_due(job),
            Due::Trouble(project) => self.troubles_due(&project),
            Due::Staff(project) => self.staff_due(&project),
            Due::Dependencies(project) => self.dependencies_due(&project),
            Due::Queue(queue) => self.plan(&queue, &Input::Tick),
            Due::Signing(queue) => self.sign_again(&queue),
            Due::Entry(entry) => self.check_entry(entry),
            Due::Wait(entry) => self.tell_of_wait(entry),
        }
    }

    /// Time that passed while nobody was there counts against no agent: what it did or said then
    /// was not taken in yet. People's deadlines go on. What could not be ended is tried once more:
    /// whatever stood in the way may be gone.
    pub(super) fn resumed(&mut self) {
        self.queues_resumed();
        self.reviews_resumed();
        let projects: Vec<ProjectName> = self.floor.projects.iter().map(|p| p.name.clone()).collect();
        for project in projects {
            self.look_for_merges(&project);
            self.look_at_staff(&project);
        }
        self.staff_touched(None, false);
        let unended = |s: &&Session| s.state == SessionState::Unended;
        let sessions: Vec<Epoch> = self.floor.sessions.iter().filter(unended).map(|s| s.epoch).collect();
        for session in sessions {
            self.end_session(session);
        }
        let jobs: Vec<JobId> =
            self.floor.jobs.iter().filter(|j| j.state == JobState::Working).map(|j| j.id).collect();
        for id in jobs {
            let at = self.now + self.policy_of(id).idle_timeout;
            if let Some(job) = self.floor.jobs.edit(&id) {
                job.deadline = job.deadline.max(Some(at));
            }
        }
        let waiting = |m: &&Message| m.state == MessageState::Queued && m.deadline.is_some();
        let messages: Vec<(MessageId, JobId)> =
            self.floor.messages.iter().filter(waiting).map(|m| (m.id, m.job)).collect();
        for (id, job) in messages {
            let at = self.now + self.policy_of(job).delivery_timeout;
            if let Some(message) = self.floor.messages.edit(&id) {
                message.deadline = message.deadline.max(Some(at));
            }
        }
    }

    /// A message that was not taken in time: given up, unless its session has a good reason.
    fn message_due(&mut self, id: MessageId) {
        let Some(message) = self.floor.messages.get(&id) else { return };
        match self.patience(message.to, message.queued_at) {
            Some(at) => {
                if let Some(message) = self.floor.messages.edit(&id) {
                    message.deadline = Some(at);
                }
            }
            None => self.undelivered(id, None),
        }
    }

    fn job_due(&mut self, id: JobId) {
        let policy = self.policy_of(id);
        let Some(job) = self.job(id) else { return };
        let suspended = matches!(job.state, JobState::Working | JobState::Respawning)
            || matches!(&job.state, JobState::Finishing { .. } if self.waits_for_a_person_to_leave(id));
        if let Some(until) = self.job_held_until(id).filter(|_| suspended) {
            // A person has it: nothing is judged by the time that takes.
            self.floor.jobs.edit(&id).expect("just read").deadline = Some(until);
            return;
        }
        match job.state.clone() {
            JobState::Respawning => self.start_successor(id),
            JobState::Working => {
                let since = job.history.last().map_or(job.created_at, |stage| stage.at);
                if let Some(at) = self.patience(job.session, since) {
                    let background = |s: &Session| {
                        s.status.as_ref().is_some_and(|s| matches!(s.state, State::Background { .. }))
                    };
                    // That is told when its own time is over.
                    if !self.floor.session_of(job).is_some_and(background) {
                        self.escalate_job(id, "the agent still waits");
                    }
                    if let Some(job) = self.floor.jobs.edit(&id) {
                        job.deadline = Some(at);
                    }
                    return;
                }
                if self.background_over(id) || self.extended(id) {
                    return;
                }
                self.silent(id, &format!("no sign of the agent for {}", minutes(policy.idle_timeout)));
            }
            JobState::NeedsHuman { .. } => self.question_due(id),
            JobState::Retrying { goal, head } => self.check(id, goal, head),
            JobState::Reviewing { head } => self.no_review(id, &head),
            state @ JobState::Parked { .. } => self.parked_due(id, state),
            // Effects under way: the engine repeats them until they work. That they fail is told
            // elsewhere; else somebody is told, again and again, that it takes long.
            state @ (JobState::Preparing
            | JobState::Starting
            | JobState::Publishing { .. }
            | JobState::Checking { .. }
            | JobState::Merging { .. }
            | JobState::Finishing { .. }) => {
                if self.floor.trouble_of(job).is_some() {
                    let at = self.now + LONG_AGAIN;
                    if let Some(job) = self.floor.jobs.edit(&id) {
                        job.deadline = Some(at);
                    }
                    return;
                }
                self.escalate_job(id, &format!("{} takes longer than expected", state.name()));
                self.enter(id, state, LONG_AGAIN);
            }
            JobState::Ended { .. } => {}
        }
    }

    /// Nobody reviews: that is said each time, and done something about once for each head.
    fn no_review(&mut self, id: JobId, head: &Sha) {
        let within = self.policy_of(id).review_timeout;
        let text = format!("no review of {} in {}", head.short(), minutes(within));
        let told_only = self.job(id).is_some_and(Job::is_review);
        let Some(job) = self.floor.jobs.edit(&id) else { return };
        let told = job.memo.review_late.replace(head.clone()).as_ref() == Some(head);
        let (project, issue, pr) = (job.project.clone(), job.issue, job.pr.unwrap_or_default());
        // A person's pull request waits for nothing: it was to be advice.
        if told || told_only {
            self.escalate_job(id, &text);
        } else {
            self.escalate_on_record(id, "review_timeout", head.short(), &text);
            self.act(Action::Comment {
                project,
                issue,
                marker: format!("no-review-{id}-{}", head.short()),
                body: format!("Pull request #{pr} waits for a review: {text}. Review it with `shopfloor pr review {pr} --approve` or `--request-changes`."),
            });
            self.inform(id, &format!("no review, escalating\nNobody has reviewed commit {head} in {}. People were told. Wait: there is nothing for you to do.", minutes(within)));
        }
        self.enter(id, JobState::Reviewing { head: head.clone() }, within);
    }
}

pub(super) fn minutes(d: Duration) -> String {
    match d.as_secs() {
        s if s >= 7200 && s % 3600 == 0 => format!("{} h", s / 3600),
        s if s >= 120 => format!("{} min", s / 60),
        s => format!("{s} s"),
    }
}
