//! The virtual person: files issues, changes their mind, pushes by hand, answers, reviews.

mod asks;
mod branches;
mod health;
mod pulls;
pub mod runs;
mod targets;
mod vault;

use crate::forge::{Changed, Issue, Review};
use crate::git::{Written, sha};
use crate::trouble::Stir;
use crate::world::World;
use shopfloor_core::effect::Verdict;
use shopfloor_core::event::Event;
use shopfloor_core::ids::{IssueNumber, ProjectName, branch_for};
use shopfloor_core::label::Label;
use shopfloor_core::state::{Floor, JobState, Session};
use shopfloor_core::step::may_merge;
use std::collections::BTreeSet;

/// What a person does at some point in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whim {
    FileIssue,
    CloseIssue,
    Relabel,
    /// Blocks an issue, or removes the label that says that it is being worked on.
    TakeAway,
    EditIssue,
    PushPrimary,
    /// Adds a commit to a branch that a job works on.
    PushToBranch,
    /// Merges an open pull request by hand, bypassing the queue.
    LandByPerson,
    Cancel,
    ReviewSomething,
    /// Breaks the primary branch, and mends it later.
    PushBug,
    Mend,
    /// Pauses the merge queue, and resumes it later.
    Pause,
    Resume,
    /// Takes commits off a branch that work lands on; deletes one; and later puts right what the queue stands
    /// still for.
    Rewind,
    DeleteTarget,
    PutRight,
    /// Takes a job from its agent, and later hands back everything they took.
    TakeJob,
    HandBack,
    /// Stops all agents, and lets them continue later.
    PauseWork,
    ResumeWork,
    /// Wants a change in the merge queue, or out of it.
    AskToMerge,
    RefuseToMerge,
    /// Pushes a branch of their own and wants it merged; pushes to it again, or deletes it.
    QueueBranch,
    MoveBranch,
    /// Opens a pull request for a branch of their own; or has one reviewed, pushes to it or closes it.
    ShowPull,
    /// Pushes a branch on top of another one; and gets going again what waits in vain.
    Stack,
    Unstick,
    /// Undoes a landed change, or takes it to another branch, by a change that goes through the queue.
    Carry,
    /// Wants to know whether a branch of their own would land.
    TryBranch,
    /// Wants a formula carried out; and not any more.
    AskForRun,
    CancelRun,
    /// Sets the schedules up, or pauses or resumes one.
    Schedule,
    /// Somebody asks the vault for something; a person says what becomes of it, or declares it otherwise.
    AskVault,
    DecideInVault,
    EditVault,
    /// Acknowledges what the supervisor found, writes to it, or has it look.
    LookAfterHealth,
    /// Looks at what is waiting for a person, and sometimes acts.
    LookAround,
}

impl World {
    pub fn file_issue(&mut self) {
        let number = IssueNumber(self.forge.issues.len() as u64 + 1);
        let mut deps = Vec::new();
        if number.0 > 1 && self.rng.permille(350) {
            deps.push(IssueNumber(self.rng.range(1, number.0 - 1)));
            self.saw("dependency");
        }
        if self.rng.permille(30) {
            // On itself, on an issue that does not exist, or on a later one that may depend on this one.
            deps.push(IssueNumber(number.0 + self.rng.below(3)));
            self.saw("odd dependency");
        }
        let mut labels = BTreeSet::from([self.some_wish().to_string()]);
        if self.rng.permille(150) {
            labels.insert(Label::Priority.to_string());
        }
        if let Some(target) = self.rng.pick(&self.policy.targets).filter(|_| self.rng.permille(500)) {
            labels.insert(target.label.clone());
            self.saw("issue for a target");
        }
        let mut after = Vec::new();
        if self.rng.permille(40) {
            // Another issue's branch, which may never be worked on, or nobody's.
            let other = IssueNumber(self.rng.range(1, number.0 + 1));
            after.push(if other == number { "nobody/s".to_owned() } else { branch_for(other) });
            self.saw("issue that lands after a branch");
        }
        let title = format!("issue {number}");
        self.make_issue(Issue { title, labels, open: true, deps, after, ..Issue::default() });
        self.say(format!("person files #{number}"));
    }

    /// The label by which an issue asks for work.
    fn some_wish(&mut self) -> Label {
        match self.policy.actions && self.deeds.permille(300) {
            true => {
                self.saw("issue that asks for an action");
                Label::Action
            }
            false => Label::Backlog,
        }
    }

    fn some_open_issue(&mut self) -> Option<IssueNumber> {
        let open: Vec<IssueNumber> =
            self.forge.issues.iter().filter(|(_, i)| i.open).map(|(n, _)| *n).collect();
        self.rng.pick(&open).copied()
    }

    fn push_to_branch(&mut self, project: &ProjectName, floor: &Floor) -> Option<Event> {
        let branches: Vec<String> = floor.live_jobs(project).map(|j| j.branch.clone()).collect();
        let branch = self.rng.pick(&branches)?.clone();
        let head = *self.git.hub.get(&branch)?;
        let mut content = self.git.content(head).clone();
        let mine = Written { at_attempt: self.attempt, ..Written::default() };
        content.insert(950 + self.rng.below(5), self.git.write(mine));
        let commit = self.git.commit(vec![head], content, true);
        self.git.hub.insert(branch.clone(), commit);
        self.saw("person pushed to a branch");
        self.say(format!("person pushes c{commit} to {branch}"));
        // Perhaps nobody was there to notice.
        let noticed = self.rng.permille(700);
        noticed.then(|| Event::BranchTouched { project: project.clone(), branch, head: Some(sha(commit)) })
    }

    fn review_pr(&mut self, verdict: Verdict) {
        let open: Vec<_> =
            self.forge.prs.iter().filter(|(_, p)| p.open).map(|(n, p)| (*n, p.head.clone())).collect();
        let Some((pr, head)) = self.rng.pick(&open).cloned() else { return };
        let marker = format!("person-{}", self.forge.reviews.len());
        let (author, text) = ("person".into(), marker.clone());
        self.post_review(Review { pr, head, verdict, marker, author, text, dismissed: false, at: self.now });
        self.saw("person reviewed");
        self.say(format!("person reviews PR {pr}: {verdict:?}"));
    }

    /// Acts; whatever goes through the store is returned as an event.
    pub fn whim(&mut self, whim: Whim, project: &ProjectName, floor: &Floor) -> Option<Event> {
        match whim {
            Whim::FileIssue => self.file_issue(),
            Whim::PushPrimary => self.push_by_person(),
            Whim::PushToBranch => return self.push_to_branch(project, floor),
            Whim::LandByPerson => self.land_by_person(floor),
            Whim::PushBug => self.push_bug(),
            Whim::Mend => self.mend(),
            Whim::Pause => return Some(self.pause(project)),
            Whim::Resume => return Some(self.resume_some(project, floor)),
            Whim::Rewind => self.rewind(project, floor),
            Whim::DeleteTarget => self.delete_target(project, floor),
            Whim::PutRight => return self.put_right(project, floor),
            Whim::TakeJob => {
                let live: Vec<IssueNumber> =
                    floor.live_jobs(project).filter_map(shopfloor_core::state::Job::number).collect();
                let issue = *self.rng.pick(&live)?;
                self.saw("person took a job");
                self.say(format!("person takes #{issue}"));
                return Some(Event::Taken { project: project.clone(), issue });
            }
            Whim::HandBack => {
                let job = floor.live_jobs(project).find(|job| job.taken.is_some())?;
                let issue = job.number()?;
                self.saw("person handed a job back");
                self.say(format!("person hands #{issue} back"));
                return Some(Event::HandedBack { project: project.clone(), issue });
            }
            Whim::PauseWork | Whim::ResumeWork => {
                self.saw("agents paused");
                self.say(format!("person: {whim:?}"));
                // With other projects on the floor, a person stops only their own.
                let project = self.several.then(|| project.clone());
                return Some(match whim {
                    Whim::PauseWork => Event::WorkPaused { project, why: "a release".into() },
                    _ => Event::WorkResumed { project },
                });
            }
            Whim::AskToMerge => {
                let issue = self.some_open_issue()?;
                let (urgent, alone) = (self.rng.permille(500), self.rng.permille(200));
                let job = floor.job_of(project, issue)?;
                if let JobState::InQueue { entry, .. } = job.state {
                    self.asked_anyway.insert(entry);
                }
                if may_merge(floor, job).is_ok() {
                    self.saw(if job.is_live() { "person asked to merge" } else { "job revived" });
                }
                self.say(format!("person wants #{issue} merged"));
                return Some(Event::MergeAsked { project: project.clone(), issue, urgent, alone });
            }
            Whim::RefuseToMerge => {
                let queued = floor.entries.iter().filter(|e| e.state.is_live());
                let entry = *self.rng.pick(&queued.collect::<Vec<_>>())?;
                self.saw("person took it out of the queue");
                if entry.job.is_none() {
                    let branch = entry.branch.clone();
                    self.say(format!("person takes {branch} out of the queue"));
                    return Some(Event::BranchRefused { project: project.clone(), branch });
                }
                let issue = entry.issue?;
                self.say(format!("person takes #{issue} out of the queue"));
                return Some(Event::MergeRefused { project: project.clone(), issue });
            }
            Whim::QueueBranch => {
                let branch = self.push_own_branch();
                return self.ask_for(&branch, project, floor);
            }
            Whim::ShowPull => return self.show_pull(project),
            Whim::Stack => self.push_stack(),
            Whim::Unstick => return self.unstick(project, floor),
            Whim::Carry => return self.carry(project, floor),
            Whim::TryBranch => return Some(self.try_own_branch(project)),
            Whim::MoveBranch => return self.move_branch(project),
            Whim::CloseIssue => {
                let number = self.some_open_issue()?;
                self.forge.issues.get_mut(&number)?.open = false;
                self.forge_changed(Changed::Issue(number));
                self.saw("person closed an issue");
                self.say(format!("person closes #{number}"));
            }
            Whim::Relabel => {
                let number = self.some_open_issue()?;
                self.ask_again(number);
            }
            Whim::TakeAway => {
                let number = self.some_open_issue()?;
                let blocks = self.rng.permille(500);
                let issue = self.forge.issues.get_mut(&number)?;
                if blocks {
                    issue.labels.insert(Label::Blocked.to_string());
                } else {
                    issue.labels.remove(Label::InProgress.as_str());
                }
                self.forge_changed(Changed::Issue(number));
                self.saw(if blocks { "person blocked an issue" } else { "person took a label" });
                self.say(format!("person takes #{number} away, blocked: {blocks}"));
            }
            Whim::EditIssue => {
                let number = self.some_open_issue()?;
                self.forge.issues.get_mut(&number)?.revision += 1;
                self.forge_changed(Changed::Issue(number));
                self.saw("person edited an issue");
                self.say(format!("person edits #{number}"));
            }
            Whim::Cancel => {
                let issue = self.some_open_issue()?;
                self.saw("person cancelled");
                self.say(format!("person cancels #{issue}"));
                return Some(Event::Cancelled { project: project.clone(), issue });
            }
            Whim::ReviewSomething => {
                let verdict = if self.rng.permille(500) { Verdict::Approve } else { Verdict::RequestChanges };
                self.review_pr(verdict);
            }
            Whim::AskForRun => return Some(self.ask_for_run(project)),
            Whim::CancelRun => return self.cancel_run(project, floor),
            Whim::Schedule => return self.schedule(project, floor),
            Whim::AskVault => return Some(self.ask_vault(project, floor)),
            Whim::DecideInVault => return self.decide_in_vault(project, floor),
            Whim::EditVault => self.edit_vault(),
            Whim::LookAfterHealth => return Some(self.look_after_health(project, floor)),
            Whim::LookAround => return self.look_around(project, floor),
        }
        None
    }

    /// Removes `blocked` and adds `backlog`, as the comment says.
    fn ask_again(&mut self, number: IssueNumber) {
        // Perhaps for another branch than before.
        let elsewhere = self.rng.pick(&self.policy.targets).map(|t| t.label.clone());
        let elsewhere = elsewhere.filter(|_| self.rng.permille(300));
        let Some(issue) = self.forge.issues.get_mut(&number) else { return };
        issue.labels.remove(Label::Blocked.as_str());
        issue.labels.insert(Label::Backlog.to_string());
        if let Some(label) = elsewhere
            && !issue.labels.remove(&label)
        {
            issue.labels.insert(label);
        }
        self.forge_changed(Changed::Issue(number));
        self.saw("person relabelled");
        self.say(format!("person asks for #{number} again"));
    }

    /// Answers what a client asks, through the floor's own question.
    fn answer_a_dialog(&mut self, project: &ProjectName, floor: &Floor) -> Option<Event> {
        let asks = |s: &&Session| s.asks.open.as_ref().is_some_and(|ask| ask.answer.is_none());
        let session = floor.sessions.iter().filter(asks).find(|_| self.rng.permille(600))?;
        let ask = session.asks.open.as_ref().expect("just seen");
        self.saw("person answered a client");
        self.say(format!("person answers q{} of session {}", ask.id, session.epoch));
        if self.rng.permille(250) {
            // Somebody at the terminal is faster.
            self.stir(session.epoch, Stir::Closes);
        }
        let (project, question) = (project.clone(), Some(ask.id));
        Some(Event::Answered { project, issue: session.assignment.number(), text: "1".into(), question })
    }

    fn look_around(&mut self, project: &ProjectName, floor: &Floor) -> Option<Event> {
        let asked = self.answer_a_dialog(project, floor).or_else(|| self.answer_a_query(project, floor));
        if asked.is_some() {
            return asked;
        }
        for job in floor.live_jobs(project) {
            match &job.state {
                JobState::NeedsHuman { .. }
                    if job.issue().is_some() && may_merge(floor, job).is_ok() && self.rng.permille(500) =>
                {
                    self.saw("person asked to merge");
                    let (project, issue) = (project.clone(), job.number()?);
                    return Some(Event::MergeAsked { project, issue, urgent: false, alone: false });
                }
                JobState::NeedsHuman { asked, .. } if self.rng.permille(800) => {
                    self.saw("question answered");
                    self.say(format!("person answers {}", job.assignment.mention()));
                    let text = "A".to_owned();
                    return Some(Event::Answered {
                        project: project.clone(),
                        issue: job.number(),
                        text,
                        question: job.assignment.run().map(|_| asked.id),
                    });
                }
                JobState::Reviewing { .. } if self.rng.permille(500) => {
                    let verdict =
                        if self.rng.permille(800) { Verdict::Approve } else { Verdict::RequestChanges };
                    self.review_pr(verdict);
                    return None;
                }
                _ => {}
            }
        }
        None
    }
}
