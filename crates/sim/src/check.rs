//! The invariants of the design, each a function with its number, checked after every step.

mod acts;
mod bounds;
mod heads;
mod health;
mod landing;
mod people;
mod pull_reviews;
mod removed;
mod reviews;
mod runs;
mod sessions;
mod stacks;
mod told;
mod tries;
mod vault;

use crate::forge::Said;
use crate::world::World;
use shopfloor_core::effect::Action;
use shopfloor_core::ids::{EntryId, Epoch, IssueNumber, JobId, MessageId, ProjectName, Seq, Target};
use shopfloor_core::state::{End, EntryState, Floor, Job, JobState, SessionState, SessionStatus};
use shopfloor_core::step::{Standings, Waiting};
use shopfloor_core::texts::FirstLine;
use shopfloor_core::time::Time;
use shopfloor_store::{JournalEntry, OutboxEffect};
use std::collections::{BTreeMap, BTreeSet};

/// What the checker remembers from step to step.
#[derive(Default)]
pub struct Checker {
    /// How far the journal was read.
    pub position: Seq,
    moves: usize,
    /// Where the branches that work lands on are.
    tips: BTreeMap<String, Option<u32>>,
    /// What landed on them, and as what.
    landed: BTreeMap<(String, Option<JobId>, String, Option<u32>), u32>,
    /// The branch that a job's change is for, as its issue said when it was claimed.
    meant: BTreeMap<JobId, Option<Target>>,
    /// Entries that were to be alone before they were published.
    alone: BTreeSet<EntryId>,
    /// Entries that waited after the last step, and those whose queue was held.
    waiting: BTreeSet<EntryId>,
    held_back: BTreeSet<EntryId>,
    /// Entries that wait for a branch nobody is working on, and since when.
    vain: BTreeMap<EntryId, Time>,
    /// Reverts and back-ports that were checked.
    carried: BTreeSet<EntryId>,
    /// Branches that people were told about.
    told_of: BTreeSet<String>,
    retired: BTreeSet<EntryId>,
    ended: usize,
    over: BTreeSet<JobId>,
    messages: BTreeMap<MessageId, sessions::Known>,
    messages_of: BTreeMap<JobId, u32>,
    /// Live sessions and their status after the last step.
    live: BTreeMap<Epoch, Option<SessionStatus>>,
    /// Jobs that ended because nothing was heard from their agent.
    silent: BTreeSet<JobId>,
    told: BTreeSet<IssueNumber>,
    runs: runs::Seen,
    acts: acts::Seen,
    commits: usize,
    /// Live sessions that a person has, or that are paused, and until when.
    held: BTreeMap<Epoch, (Time, bool)>,
    newest_message: MessageId,
    /// Entries that were found approved, and whether they were to be published then.
    queued: BTreeMap<EntryId, bool>,
    /// The same for those that change what is protected.
    with_a_persons_word: BTreeMap<EntryId, bool>,
}

impl Checker {
    pub fn after_step(
        &mut self,
        world: &mut World,
        floor: &Floor,
        outbox: &[OutboxEffect],
        entries: &[JournalEntry],
    ) {
        for entry in entries {
            self.position = entry.seq;
            let issue = entry.issue.map_or(String::new(), |i| format!(" #{i}"));
            if entry.kind == "event" {
                world.say(format!("<{}", entry.body.chars().take(160).collect::<String>()));
            } else {
                world.say(format!("  {}{issue} {}", entry.kind, entry.text));
            }
            note_coverage(world, entry);
            if entry.text.contains("a bug") {
                world.broken("nothing is out of order with the program", entry.text.clone());
            }
            if matches!(entry.kind.as_str(), "NEEDS_HUMAN" | "ESCALATION") {
                self.told.extend(entry.issue.map(IssueNumber));
                self.told_of.extend(entry.text.split_once(": ").map(|(branch, _)| branch.to_owned()));
            }
        }
        self.agents_keep_to_their_role(world, outbox);
        self.moves_are_tested(world, floor);
        self.what_is_wanted_is_remembered(world, floor);
        self.nobody_waits_in_vain(world, floor);
        self.what_is_carried_is_there(world, floor);
        self.no_commit_is_lost(world);
        self.one_owner(world, floor);
        self.nothing_is_done_twice(world);
        self.ends_are_told_once(world, floor);
        self.a_try_is_only_that(world, floor, outbox);
        self.messages_are_accounted_for(world, floor, entries);
        self.who_waits_is_waited_for(world, floor, entries);
        self.everything_told_has_a_cause(world, floor);
        self.merged_is_where_it_lands(world, floor);
        self.every_wait_has_a_deadline(world, floor, outbox);
        self.only_own_sessions_are_ended(world, floor);
        self.everything_is_bounded(world, floor);
        self.no_entry_is_forgotten(world, floor, outbox);
        self.people_are_answered(world, floor, outbox);
        self.what_is_queued_is_approved(world, floor);
        self.what_is_protected_has_a_persons_word(world, floor);
        self.heads_are_judged_fairly(world, floor);
        self.no_parked_job_is_forgotten(world, floor, outbox);
        self.the_person_is_the_boss(world, floor, entries);
        self.agents_are_no_people(world, entries);
        self.nobody_is_blocked_by_weather(world, floor);
        self.reviews_of_pulls_are_only_that(world, floor, outbox);
        self.runs_are_carried_out_once(world, floor);
        self.the_vault_is_kept(world, floor, outbox);
        self.health_is_looked_after(world, floor, outbox);
    }

    /// 7: what may work later is waited for. It ends no job and no entry.
    fn nobody_is_blocked_by_weather(&mut self, world: &mut World, floor: &Floor) {
        let weather = |why: &str| why.contains("failed (simulated)") || why.contains("no answer (simulated)");
        let jobs = floor.jobs.iter().filter(|j| j.reason.as_deref().is_some_and(weather));
        let jobs = jobs.map(|j| format!("job {}: {}", j.id, j.reason.as_deref().unwrap_or_default()));
        let entries = floor.entries.iter().filter_map(|e| match &e.state {
            EntryState::Failed { reason } if weather(reason) => Some(format!("entry {}: {reason}", e.id)),
            _ => None,
        });
        for text in jobs.chain(entries).collect::<Vec<_>>() {
            world.broken("7 weather is waited for", text);
        }
    }

    /// 2: every commit that an agent made, and did not itself throw away, can be found.
    fn no_commit_is_lost(&mut self, world: &mut World) {
        // Only when refs may have changed: commits were made or work continued.
        if self.commits == world.git.commits.len() && !world.attempt.is_multiple_of(8) {
            return;
        }
        self.commits = world.git.commits.len();
        let found = world.git.reachable(world.git.roots());
        let lost = (0..world.git.commits.len() as u32)
            .find(|c| world.git.commits[*c as usize].keep && !found.contains(c));
        if let Some(lost) = lost {
            world.broken("2 no work is lost", format!("commit c{lost} cannot be found"));
        }
    }

    /// 3: one live developer per job in the state, one process per worktree in the world.
    fn one_owner(&self, world: &mut World, floor: &Floor) {
        for job in floor.jobs.iter().filter(|j| j.is_live()) {
            let live = |s: &&shopfloor_core::state::Session| {
                s.job == job.id
                    && s.role.develops()
                    && matches!(s.state, SessionState::Starting | SessionState::Live)
            };
            let count = floor.sessions.iter().filter(live).count();
            if count > 1 {
                world.broken("3 one owner", format!("job {} has {count} sessions", job.id));
            }
        }
        let mut trees = BTreeSet::new();
        let twice = world.procs.values().filter(|p| p.alive).find(|p| !trees.insert(p.tree.clone()));
        if let Some(proc) = twice {
            let text = format!("two processes work in {:?}", proc.tree);
            world.broken("3 one owner", text);
        }
    }

    /// The job, as it is now, of a session that is no longer its owner.
    pub fn owner_of(&self, floor: &Floor, epoch: Epoch) -> Option<(Job, Epoch)> {
        let session = floor.sessions.get(&epoch)?;
        let job = floor.jobs.get(&session.job)?;
        let owner = job.session == Some(epoch) || job.reviewer.session == Some(epoch);
        (!owner).then(|| (job.clone(), epoch))
    }

    /// 3: a stale signal changes nothing about its job.
    pub fn stale_signals_change_nothing(&self, world: &mut World, floor: &Floor, before: &Job, epoch: Epoch) {
        if floor.jobs.get(&before.id) != Some(before) {
            world.broken("3 one owner", format!("a stale signal of {epoch} changed job {}", before.id));
        }
    }

    /// 4: one pull request per branch, one comment and one review per marker.
    fn nothing_is_done_twice(&self, world: &mut World) {
        let mut broken = Vec::new();
        let mut seen = BTreeSet::new();
        for (number, pr) in world.forge.prs.iter().filter(|(_, p)| p.open) {
            if !seen.insert(pr.branch.clone()) {
                broken.push(format!("PR {number} is the second of {}", pr.branch));
            }
        }
        for (number, issue) in &world.forge.issues {
            if has_twice(&issue.comments) {
                broken.push(format!("#{number} has a comment twice"));
            }
        }
        let distinct: BTreeSet<&String> = world.forge.reviews.iter().map(|r| &r.marker).collect();
        if distinct.len() != world.forge.reviews.len() {
            broken.push("a review was posted twice".into());
        }
        for text in broken {
            world.broken("4 effects are idempotent", text);
        }
    }

    /// 7: a live job has a deadline; a job whose last effects are under way has them in the outbox.
    fn every_wait_has_a_deadline(&self, world: &mut World, floor: &Floor, outbox: &[OutboxEffect]) {
        for job in floor.jobs.iter().filter(|j| j.is_live()) {
            if job.deadline.is_none() {
                world.broken("7 every wait has a deadline", format!("job {} has none", job.id));
            }
            let mine = |q: &&OutboxEffect| match &*q.action {
                Action::EndSession { job: j, .. }
                | Action::ReleaseWorktree { job: j, .. }
                | Action::Escalate { job: j, .. } => *j == job.id,
                Action::EditLabels { issue, .. }
                | Action::Comment { issue, .. }
                | Action::CloseIssue { issue, .. } => Some(*issue) == job.number(),
                Action::ClosePr { pr, .. } => job.pr == Some(*pr),
                _ => false,
            };
            if let JobState::Finishing { remaining, .. } = &job.state
                && outbox.iter().filter(mine).count() == 0
                // A person types there: the session ends when they leave.
                && !floor.sessions.iter().any(|s| s.job == job.id && s.end_put_off)
            {
                let text = format!("job {} waits for {remaining:?}, which nobody does", job.id);
                world.broken("7 every wait has a deadline", text);
            }
        }
    }

    /// 8: only sessions whose end the floor ordered are ended.
    fn only_own_sessions_are_ended(&mut self, world: &mut World, floor: &Floor) {
        let new = world.ended[self.ended..].to_vec();
        self.ended = world.ended.len();
        for epoch in new {
            let state = floor.sessions.get(&epoch).map(|s| s.state);
            if !matches!(state, Some(SessionState::Ending | SessionState::Ended)) {
                world.broken("8 unknown is not dead", format!("session {epoch} was ended, it is {state:?}"));
            }
        }
    }

    /// 7: what the forge shows was read, whatever crash or lag came in between, and what is ready and has a
    /// slot was started.
    fn nothing_on_the_forge_was_missed(
        &self,
        world: &mut World,
        floor: &Floor,
        project: &ProjectName,
        room: bool,
    ) {
        let mut missed = Vec::new();
        for (number, issue) in &world.forge.issues {
            let known = floor.issues.get(&(project.clone(), *number));
            if known.is_none_or(|k| k.open != issue.open || (k.seen != issue.labels)) {
                missed.push(format!("#{number} is {issue:?}, known as {known:?}"));
            }
        }
        let live = floor.live_jobs(project).count();
        let ready = floor.issues.iter().find(|i| Standings::of(floor).why(i) == Waiting::Ready);
        if let Some(issue) = ready
            && live < world.policy.max_jobs
            && room
        {
            missed.push(format!("#{} is ready and not started", issue.number));
        }
        for text in missed {
            world.broken("7 every wait has a deadline", text);
        }
    }

    /// Whether somebody was told about a job.
    fn is_told(&self, job: &Job) -> bool {
        match job.number() {
            Some(number) => self.told.contains(&number),
            None => self.told_of.contains(&job.assignment.to_string()),
        }
    }

    /// 7: what is left at the end waits for a person, and a person was told. `room`: the floor takes another
    /// job.
    pub fn at_the_end(&self, world: &mut World, floor: &Floor, project: &ProjectName, room: bool) {
        self.every_end_is_told(world, floor);
        self.nothing_on_the_forge_was_missed(world, floor, project, room);
        self.nothing_is_left_on_its_way(world, floor);
        self.pulls_are_looked_at(world, floor, project, room);
        self.no_run_is_left(world, floor, room);
        self.no_request_is_left(world, floor);
        for entry in floor.entries.iter().filter(|e| e.state.is_live() && e.job.is_none()) {
            if !self.told_of.contains(&entry.branch) && floor.waits_for_branch(entry).is_none() {
                let text = format!("{} is left in the queue and nobody knows", entry.branch);
                world.broken("7 every wait has a deadline", text);
            }
        }
        for job in floor.jobs.iter() {
            world.saw(job_end(job));
            if !job.is_live() {
                continue;
            }
            let waits = match &job.state {
                JobState::NeedsHuman { .. } | JobState::Reviewing { .. } => true,
                JobState::InQueue { entry, .. } => {
                    floor.entries.get(entry).is_some_and(|e| floor.waits_for_branch(e).is_some())
                }
                _ => false,
            };
            if !waits || !self.is_told(job) {
                let text = format!("job {} is left {} and nobody knows", job.id, job.state.name());
                world.broken("7 every wait has a deadline", text);
            }
        }
    }
}

fn job_end(job: &Job) -> &'static str {
    match job.end() {
        Some(End::Merged) => "job merged",
        Some(End::Blocked) => "job blocked",
        Some(End::Failed) => "job failed",
        Some(End::Cancelled) => "job cancelled",
        Some(End::Refused) => "job refused",
        Some(End::Reviewed) => "person's change reviewed",
        Some(End::Done) => "run done",
        None => "job waits for a person",
    }
}

fn note_coverage(world: &mut World, entry: &JournalEntry) {
    let what = match entry.kind.as_str() {
        "AGENT_ACT" if entry.text.contains("cannot be done") => "act impossible",
        "AGENT_ACT" if entry.text.starts_with("done for the") => "act done",
        "MESSAGE_UNDELIVERED" => "message undelivered",
        "MESSAGE_SUPERSEDED" => "message superseded",
        "MERGE_CONFLICT" => "merge conflict told",
        "MERGE_FAILED" => "merge failed told",
        "WORKTREE" if entry.text.contains("was kept long enough") => "kept worktree released",
        "REVIEW_RESULT" if entry.text.starts_with("REQUEST") => "changes requested",
        "REVIEW_RESULT" if entry.text.starts_with("APPROVE") => "approved",
        "REVIEW_RESULT" if entry.text.contains("holds for") => "approval carried over",
        "ESCALATION" if entry.text.contains("is still being tried") => "trouble asked about",
        "ESCALATION" if entry.text.contains("(not wanted any more)") => "failing effect dropped",
        "STALE_SIGNAL" if entry.text.contains("(not wanted any more)") => "failing effect dropped",
        "STALE_SIGNAL" => "stale signal noted",
        "TROUBLE" if entry.text.contains("tried again") => "trouble told",
        "TROUBLE" => "trouble over",
        "ESCALATION" if entry.text.contains("asked for changes before") => "objection stands",
        "ESCALATION" if entry.text.contains("a person has to review") => "person asked to review",
        "MESSAGE_QUEUED" => match FirstLine::of(&entry.text) {
            Some(FirstLine::ReviewAgain) => "told to review again",
            Some(FirstLine::ResultUnusable) => "review to be repaired",
            Some(FirstLine::ResultMissing) => "reviewer reminded",
            Some(FirstLine::Continue) => "told to go on",
            _ => return,
        },
        "HANDOFF_REQUESTED" => "context cycled",
        "NEEDS_HUMAN" if entry.text.starts_with("The agent cannot work") => "agent cannot work",
        "CI_FLAKE" if entry.text.starts_with("trial") => "flake noted",
        "CI_FLAKE" => "flaky head noted",
        "CI_RESULT" if entry.text.contains("not checked by itself") => "head not checked",
        "QUEUE_STATE" if entry.text.contains("primary branch is fixed") => "parked job goes on",
        "ESCALATION" if entry.text.contains("the primary branch itself fails") => "red base",
        "ESCALATION" if entry.text.contains("not every change") => "incomplete landing",
        "ESCALATION" if entry.text.contains("no verdict on") => "verdict missing",
        "ESCALATION" if entry.text.contains("publication is under way") => "cancel during publish",
        "ESCALATION" if entry.text.contains("has waited for 48 h") => "vault not answered",
        "ESCALATION" if entry.text.contains("is carried out without asking") => "vault fired and told",
        _ => return,
    };
    world.saw(what);
}

/// Whether the factory said the same thing twice.
fn has_twice(comments: &[Said]) -> bool {
    let markers: Vec<&String> = comments.iter().filter_map(|said| said.marker.as_ref()).collect();
    markers.iter().collect::<BTreeSet<_>>().len() != markers.len()
}
