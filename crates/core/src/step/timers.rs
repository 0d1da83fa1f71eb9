//! Timers that are due: each is handled by the owner of the record that it is about.

use super::Turn;
use crate::ids::ProjectName;
use crate::planner::PlanEvent;
use crate::state::Due;
use crate::texts::notes;
use std::collections::BTreeSet;

impl Turn<'_> {
    /// Handles all timers that are due, kind by kind: handling one may set or clear those of the next kind.
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
        self.unmute(&due);
        match due {
            Due::Handback(epoch) => self.let_go(epoch, notes::person_typed_nothing()),
            Due::Held(message) => self.tell_of_held(message),
            Due::Delivery(message) => self.message_due(message),
            Due::Resume(epoch) => self.resume_due(epoch),
            Due::Review(epoch) => self.review_due(epoch),
            Due::Checkpoint(job) => self.checkpoint_due(job),
            Due::Release(job) => self.release_due(job),
            Due::Tidy(project) => self.tidy(&project, false),
            Due::Job(job) => self.job_due(job),
            Due::Query(question) => self.query_due(question),
            Due::Trouble(project) => self.troubles_due(&project),
            Due::Config(project) => self.config_due(&project),
            Due::Run(run) => self.run_due(run),
            Due::Schedule(project, name) => self.schedule_due(&project, &name),
            Due::Request(request) => self.request_due(request),
            Due::Acknowledged(place) => self.acks_due(&place),
            Due::Staff(project) => self.staff_due(&project),
            Due::Dependencies(project) => self.dependencies_due(&project),
            Due::Queue(queue) => self.plan(&queue, &PlanEvent::Tick),
            Due::Signing(queue) => self.sign_again(&queue),
            Due::Entry(entry) => self.check_entry(entry),
            Due::Wait(entry) => self.tell_of_wait(entry),
        }
    }

    /// Time that passed while nobody was there counts against no agent: what it did or said then has not been
    /// taken in yet. People's deadlines keep running. Sessions that could not be ended are tried once more:
    /// whatever stood in the way may be gone.
    pub(super) fn resumed(&mut self) {
        self.queues_resumed();
        self.reviews_resumed();
        let projects: Vec<ProjectName> = self.floor.projects.iter().map(|p| p.name.clone()).collect();
        for project in projects {
            self.look_for_merges(&project);
            self.look_at_staff(&project);
            self.forget_old_lanes(&project);
        }
        self.staff_touched(None, false);
        self.sessions_resumed();
        self.agents_resumed();
        self.messages_resumed();
    }
}
