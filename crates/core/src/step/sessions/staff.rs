//! Agents that cannot work, whatever the issue: a client that is missing, too old or not logged in, a key that is
//! missing or not accepted, a configuration that the client does not read.
//!
//! - This is an outage of the project's role: one question, one line in `status`, even if one cause affects
//!   several roles. No issue is touched; work that has begun waits where it is, and nothing counts against
//!   anybody.
//! - It ends by itself: when another look finds nothing wrong or, for what only a session can tell, when a session
//!   that was allowed to try gets going.
//! - It is retried when something has changed, when a person says so, and after a growing pause.

use super::Sessions;
use super::login::Login;
use super::reviewer::REVIEWERS_MAX;
use crate::effect::outcome;
use crate::effect::{Action, StartSession};
use crate::event::NoteKind;
use crate::ids::{Duty, Epoch, JobId, ProjectName, QuestionId, Role, role_names, staff_and};
use crate::liveness::{Activity, State};
use crate::state::{AgentStatus, Found, Job, JobState, Message, Outage, Session, Staff};
use crate::step::Turn;
use crate::text::{neutralise, one_line};
use crate::texts::{people, reasons};
use std::time::Duration;

/// How many sessions in a row may end before taking their prompt until the client is blamed.
const STILLBORN_MAX: u32 = 2;
/// How much of an ended session's output is reported: its last lines.
const WORDS_CHARS_MAX: usize = 600;
/// For an agent that is not typed to, nobody knows when it takes its prompt. If it fails this soon after its
/// start, and has said and left nothing, it never worked.
const AT_ITS_START: Duration = Duration::from_secs(60);
const WHY_CHARS_MAX: usize = 1000;
/// However short the configured time, people are not told all the time.
const AGAIN_MIN: Duration = Duration::from_secs(1);

/// The pause before an unprompted retry, which costs a look, or a session's request to the model: ever longer, so
/// that an outage nobody cares about ends up costing nothing.
fn pause(found: Found, tries: u32) -> Duration {
    let first: u64 = match found {
        Found::Look => 60,
        Found::Session => 5 * 60,
    };
    Duration::from_secs((first << tries.min(11)).min(24 * 3600))
}

impl Turn<'_> {
    /// Has the project's agents looked at. Nothing new is begun before that.
    pub(in crate::step) fn look_at_staff(&mut self, project: &ProjectName) {
        if self.floor.staff.get(project).is_none() {
            self.floor.staff.put(Sessions(()), Staff::new(project.clone()));
        }
        let Some(staff) = self.floor.staff_mut(project) else { return };
        if staff.looking {
            staff.again = true;
            return;
        }
        staff.looking = true;
        let others =
            staff.outages.iter().map(|outage| outage.role).filter(|role| !Role::STAFF.contains(role));
        let others = others.collect();
        self.act(Action::CheckAgents { project: project.clone(), others });
    }

    /// `others`: who was looked at besides those that the factory always gives work to.
    pub(in crate::step) fn staff_seen(
        &mut self,
        project: &ProjectName,
        others: &[Role],
        seen: &outcome::AgentsChecked,
    ) {
        let outcome::AgentsChecked { troubles, unset } = seen;
        let Some(staff) = self.floor.staff_mut(project) else { return };
        staff.looking = false;
        let again = std::mem::take(&mut staff.again);
        if staff.unset != *unset {
            staff.unset.clone_from(unset);
            if !unset.is_empty() {
                let text = people::not_set(&one_line(&unset.join(", "), 500));
                self.note(NoteKind::Escalation, project, None, text);
            }
        }
        let mut causes: Vec<(&str, Vec<Role>)> = Vec::new();
        let mut mended = Vec::new();
        for role in staff_and(others) {
            match troubles.iter().find(|trouble| trouble.role == role) {
                Some(trouble) => match causes.iter_mut().find(|(why, _)| *why == trouble.why) {
                    Some((_, roles)) => roles.push(role),
                    None => causes.push((&trouble.why, vec![role])),
                },
                None if self.floor.outage(project, role).is_some_and(|o| o.found == Found::Look) => {
                    mended.push(role);
                }
                None => {}
            }
        }
        for (why, roles) in causes {
            self.out(project, &roles, why, Found::Look);
        }
        self.back(project, &mended);
        if again {
            self.look_at_staff(project);
        }
    }

    /// Something that agents need may have changed, or a person says so; `None`: in any project. A daemon that is
    /// starting knows of no change: a session in a login dialog stays there.
    pub(in crate::step) fn staff_touched(&mut self, only: Option<&ProjectName>, changed: bool) {
        let touched = |s: &&Staff| only.is_none_or(|p| s.project == *p) && !s.outages.is_empty();
        let projects: Vec<ProjectName> =
            self.floor.staff.iter().filter(touched).map(|s| s.project.clone()).collect();
        for project in projects {
            self.look_at_staff(&project);
            for role in self.floor.roles_out(&project) {
                if self.floor.outage(&project, role).is_some_and(|h| h.found == Found::Session) {
                    if changed {
                        self.leave_login(&project, role);
                    }
                    self.let_one_try(&project, role);
                }
            }
        }
    }

    /// Roles are out. One cause is reported once, however often it is found and whichever roles it affects.
    fn out(&mut self, project: &ProjectName, roles: &[Role], why: &str, found: Found) {
        self.out_by(project, roles, why, found, None);
    }

    /// A role is out because of an open login dialog that people were told of.
    pub(super) fn out_at_login(&mut self, project: &ProjectName, role: Role, why: &str, login: Login) {
        self.out_by(project, &[role], why, Found::Session, Some(login));
    }

    fn out_by(
        &mut self,
        project: &ProjectName,
        roles: &[Role],
        why: &str,
        found: Found,
        login: Option<Login>,
    ) {
        let why = one_line(&neutralise(why), WHY_CHARS_MAX);
        if self.floor.staff.get(project).is_none() {
            self.floor.staff.put(Sessions(()), Staff::new(project.clone()));
        }
        let (question, known) = match login {
            Some(login) => (login.question, true),
            None => self.question_of(project, roles, &why),
        };
        let (now, remind_at) = (self.now, self.now + self.policy(project).renotify_after);
        let Some(staff) = self.floor.staff_mut(project) else { return };
        let told = staff.outages.iter().find(|o| known && o.question == question);
        let (remind_at, reminded) = told.map_or((remind_at, 0), |o| (o.remind_at, o.reminded));
        for role in roles {
            match staff.outages.iter_mut().find(|outage| outage.role == *role) {
                Some(outage) => {
                    outage.trial = login.map(|login| login.job);
                    outage.dialog = login.map(|login| login.epoch);
                    outage.retry_at = now + pause(found, outage.tries);
                    outage.why.clone_from(&why);
                    outage.found = found;
                    outage.question = question;
                }
                None => staff.outages.push(Outage {
                    role: *role,
                    why: why.clone(),
                    found,
                    since: now,
                    question,
                    remind_at,
                    reminded,
                    retry_at: now + pause(found, 0),
                    tries: 0,
                    trial: login.map(|login| login.job),
                    dialog: login.map(|login| login.epoch),
                    tried: None,
                    shown_by: None,
                }),
            }
        }
        // The dialog is the question about its cause, whichever roles that affects.
        if let Some(login) = login {
            for outage in staff.outages.iter_mut().filter(|outage| outage.why == why) {
                (outage.question, outage.dialog) = (login.question, Some(login.epoch));
            }
        }
        if !known {
            self.note(NoteKind::NeedsHuman, project, None, told_of(roles, &why, question));
        }
    }

    /// The question about a cause, and whether people know of it: that of the same cause, else the roles' own
    /// question, else a new one.
    fn question_of(&mut self, project: &ProjectName, roles: &[Role], why: &str) -> (QuestionId, bool) {
        let outages = self.floor.staff.get(project).map_or(&[][..], |staff| &staff.outages);
        if let Some(same) = outages.iter().find(|outage| outage.why == why) {
            return (same.question, true);
        }
        let shared = |question| outages.iter().any(|o| o.question == question && !roles.contains(&o.role));
        let own = outages.iter().find(|o| roles.contains(&o.role) && !shared(o.question)).map(|o| o.question);
        (own.unwrap_or_else(|| QuestionId(self.number(|c| &mut c.question))), false)
    }

    pub(super) fn outage_mut(&mut self, project: &ProjectName, role: Role) -> Option<&mut Outage> {
        self.floor.staff_mut(project)?.outages.iter_mut().find(|outage| outage.role == role)
    }

    /// The outage is over: what waited continues.
    fn back(&mut self, project: &ProjectName, roles: &[Role]) {
        let Some(staff) = self.floor.staff_mut(project).filter(|_| !roles.is_empty()) else { return };
        staff.outages.retain(|outage| !roles.contains(&outage.role));
        let text = people::outage_over(&role_names(roles));
        self.note(NoteKind::AgentStatus, project, None, text);
        for role in roles {
            for job in self.waiting_jobs(project, *role) {
                self.start_waiting(job, *role);
            }
        }
    }

    /// The jobs that a role's outage holds up, oldest first.
    fn waiting_jobs(&self, project: &ProjectName, role: Role) -> Vec<JobId> {
        let waits = |j: &&Job| match role.duty() {
            Duty::Develop => j.is_unstaffed(),
            Duty::Review => {
                let waits = matches!(j.state, JobState::Reviewing { .. }) && j.reviewer.session.is_none();
                waits && j.reviewer.attempts < REVIEWERS_MAX
            }
        };
        self.floor.all_live_jobs(project).filter(waits).map(|j| j.id).collect()
    }

    fn start_waiting(&mut self, id: JobId, role: Role) {
        match (role.duty(), self.job(id).map(|j| j.state.clone())) {
            (Duty::Develop, Some(JobState::Respawning { .. })) => {
                self.staffed(id);
            }
            (Duty::Review, Some(JobState::Reviewing { head })) => self.see_to_a_reviewer(id, &head),
            _ => {}
        }
    }

    /// One of the waiting jobs finds out; the others keep waiting, and nothing new is begun.
    fn let_one_try(&mut self, project: &ProjectName, role: Role) {
        if self.floor.outage(project, role).is_some_and(|h| h.trial.is_some_and(|job| self.tries(job, role)))
        {
            return;
        }
        let waiting = self.waiting_jobs(project, role);
        let last = self.floor.outage(project, role).and_then(|outage| outage.tried);
        // In turn: it may be one of the jobs that cannot get going.
        let next = waiting.iter().find(|job| last.is_some_and(|last| **job > last)).or(waiting.first());
        let Some(job) = next.copied() else {
            // Whoever found it is gone: the next to begin finds out.
            self.back(project, &[role]);
            return;
        };
        let now = self.now;
        if let Some(outage) = self.outage_mut(project, role) {
            outage.trial = Some(job);
            outage.tried = Some(job);
            outage.tries = outage.tries.saturating_add(1);
            outage.retry_at = now + pause(outage.found, outage.tries);
        }
        self.start_waiting(job, role);
    }

    /// Whether the job's session exists, to find out.
    fn tries(&self, job: JobId, role: Role) -> bool {
        self.job(job).is_some_and(|j| j.session_on(role.duty()).is_some())
    }

    /// Whether a job has to wait before a session of that role is started for it.
    pub(in crate::step) fn lacks_staff(&self, id: JobId, role: Role) -> bool {
        let Some(job) = self.job(id) else { return false };
        self.floor.outage(&job.project, role).is_some_and(|outage| outage.trial != Some(id))
    }

    /// A session cannot be started, whatever its assignment.
    pub(in crate::step) fn session_unusable(&mut self, start: &StartSession, why: &str) {
        self.set_agent(start.epoch, AgentStatus::Crashed);
        self.out(&start.project, &[start.role], why, Found::Look);
        self.not_begun(start.job, start.epoch, start.role);
    }

    /// A session's client cannot work: its login, its bill, its model.
    pub(super) fn client_fails(&mut self, id: JobId, epoch: Epoch, role: Role, why: &str) {
        let Some(project) = self.job(id).map(|j| j.project.clone()) else { return };
        self.out(&project, &[role], why, Found::Session);
        self.sent_away(id, epoch, role);
    }

    /// Ends a session that cannot work; its successor has another environment, and continues the conversation.
    pub(super) fn sent_away(&mut self, id: JobId, epoch: Epoch, role: Role) {
        match role.duty() {
            Duty::Develop => {
                self.replace(id, epoch);
                self.wait_for_staff(id);
            }
            Duty::Review => self.not_begun(id, epoch, role),
        }
    }

    /// A session that was ordered for a job did not start: it is ordered again when the outage is over.
    fn not_begun(&mut self, id: JobId, epoch: Epoch, role: Role) {
        let before = self.floor.sessions.get(&epoch).and_then(|s| s.predecessor);
        let current = self.job(id).is_some_and(|j| j.session_on(role.duty()) == Some(epoch));
        let ending = self.end_session(epoch).is_some();
        match role.duty() {
            Duty::Develop if current => self.dev_not_begun(id, before),
            Duty::Review if current => {
                if let Some(reviewer) = self.reviewer_mut(id) {
                    reviewer.excused(ending);
                }
            }
            _ => {}
        }
    }

    /// Whether a job's sessions keep ending before they work, counted in a row.
    pub(super) fn is_stillborn(&mut self, epoch: Epoch, status: Option<i32>) -> bool {
        let Some(session) = self.floor.sessions.get(&epoch) else { return false };
        let (id, stillborn) = (session.job, self.never_worked(session, status));
        if let Some(session) = self.floor.session_mut(epoch) {
            session.client.stillborn = stillborn;
        }
        if !stillborn {
            self.count_anew(id, |rounds| &mut rounds.stillborn);
            return false;
        }
        self.count(id, |rounds| &mut rounds.stillborn).is_some_and(|times| times >= STILLBORN_MAX)
    }

    /// Whether a session ended before it took its prompt; or, for a reviewer that is not typed to, with an error
    /// at its start. Not if a reviewer of another change got going since then: in that case this change has its
    /// own trouble. A developer has successors instead.
    fn never_worked(&self, session: &Session, status: Option<i32>) -> bool {
        if session.phase.is_some() {
            return false;
        }
        if session.client.typed {
            let prompt = |m: &&Message| m.prompt && m.to == Some(session.epoch) && m.taken_at.is_none();
            return !session.client.resumed && self.floor.messages.iter().any(|m| prompt(&m));
        }
        let own = |job: &Job| job.memo.review_dies.is_some() && job.memo.review_dies == session.review.head;
        let soon = |since| self.now.since(since) <= AT_ITS_START;
        session.review.verdict.mute_since.is_some_and(soon)
            && status.is_some_and(|status| status != 0)
            && !self.job(session.job).is_some_and(own)
    }

    /// A session's remains are cleared away, and its last words are known.
    pub(super) fn last_words(&mut self, session: &Session, output: &str) {
        let Some(job) = self.job(session.job) else { return };
        let (id, project) = (job.id, job.project.clone());
        if session.client.stillborn && job.rounds.stillborn >= STILLBORN_MAX {
            let (how, words) = (how_it_ended(session), words(output, WORDS_CHARS_MAX));
            let why = reasons::ends_at_once(session.client.typed, &how, &words);
            self.out(&project, &[session.role], &why, Found::Session);
            self.forgive_stillborn(id, STILLBORN_MAX);
            if let Some(outage) = self.outage_mut(&project, session.role) {
                outage.shown_by = Some(id);
            }
        }
    }

    /// A session shows that the model answers it: whatever kept its role out is fixed.
    pub(super) fn proves(&mut self, epoch: Epoch) {
        let Some(session) = self.floor.sessions.get(&epoch) else { return };
        let (project, role, job) = (session.project.clone(), session.role, session.job);
        let Some(outage) = self.floor.outage(&project, role).filter(|o| o.trial == Some(job)) else { return };
        let other = outage.shown_by.filter(|by| *by != job && role.reviews());
        if let Some(other) = other {
            self.review_dies(other);
        }
        self.back(&project, &[role]);
    }

    /// Handles what outages were waiting for time to pass for.
    pub(in crate::step) fn staff_due(&mut self, project: &ProjectName) {
        self.remind_of_staff(project);
        self.retry_staff(project);
    }

    fn remind_of_staff(&mut self, project: &ProjectName) {
        let (now, again) = (self.now, self.policy(project).escalate_after.max(AGAIN_MIN));
        let Some(staff) = self.floor.staff.get(project) else { return };
        let due = |(outage, roles): (&Outage, Vec<Role>)| {
            let kind = if outage.reminded == 0 { NoteKind::NeedsHuman } else { NoteKind::Escalation };
            (outage.remind_at <= now)
                .then(|| (kind, outage.question, told_of(&roles, &outage.why, outage.question)))
        };
        let due: Vec<(NoteKind, QuestionId, String)> = staff.causes().into_iter().filter_map(due).collect();
        for (kind, question, text) in due {
            let staff = self.floor.staff_mut(project).expect("just read");
            for outage in staff.outages.iter_mut().filter(|outage| outage.question == question) {
                outage.reminded += 1;
                outage.remind_at = now + again;
            }
            self.note(kind, project, None, text);
        }
    }

    fn retry_staff(&mut self, project: &ProjectName) {
        let now = self.now;
        let Some(staff) = self.floor.staff_mut(project) else { return };
        let mut due = Vec::new();
        for outage in staff.outages.iter_mut().filter(|outage| outage.retry_at <= now) {
            outage.tries = outage.tries.saturating_add(1);
            outage.retry_at = now + pause(outage.found, outage.tries);
            due.push((outage.role, outage.found));
        }
        if due.iter().any(|(_, found)| *found == Found::Look) {
            self.look_at_staff(project);
        }
        for (role, _) in due.into_iter().filter(|(_, found)| *found == Found::Session) {
            self.let_one_try(project, role);
        }
    }
}

/// Whether a session can only be in this state if the model answers it.
pub(super) fn is_answered(state: &State) -> bool {
    matches!(
        state,
        State::Working { activity: Activity::Tool { .. } | Activity::Compacting }
            | State::Idle
            | State::IdlePrompt
            | State::ContextLow { .. }
    )
}

/// The end of a session's output, for people.
pub(super) fn words(output: &str, chars_max: usize) -> String {
    let all = one_line(output, usize::MAX);
    match all.chars().count() {
        0 => "nothing".to_owned(),
        n if n <= chars_max => all,
        n => format!("…{}", all.chars().skip(n + 1 - chars_max).collect::<String>()),
    }
}

pub(super) fn how_it_ended(session: &Session) -> String {
    session.exit_status.map_or_else(|| reasons::killed().to_owned(), reasons::exit)
}

fn told_of(roles: &[Role], why: &str, question: QuestionId) -> String {
    people::outage(&role_names(roles), why, question)
}
