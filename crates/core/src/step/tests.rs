//! Tests of the state machine, by topic. A [`Scene`] is a floor with one project and the effects
//! that were ordered and not yet answered; a test says what happens and looks at the job's state.

mod actions;
mod acts;
mod backlog;
mod checks;
mod deadlines;
mod dialogs;
mod each;
mod finish;
mod forge;
mod freeze;
mod heads;
mod health;
mod hold;
mod issues;
mod messages;
mod order;
mod people;
mod persons_branch;
mod phases;
mod pins;
mod primary;
mod protected;
mod pull_reviews;
mod queue;
mod records;
mod reviewers;
mod reviews;
mod runs;
mod sessions;
mod shelving;
mod signing;
mod staff;
mod statuses;
mod targets;
mod tidy;
mod told;
mod tries;
mod troubles;
mod vault;

use super::{Step, step};
use crate::effect::outcome;
use crate::effect::{Action, ChainLink, CiReport, CiVerdict, Outcome, ProcessId, Review, Verdict};
use crate::event::{Event, Note, NoteKind, Observation, Page};
use crate::forge::Version;
use crate::hints::Hints;
use crate::ids::{Epoch, IssueNumber, JobId, MessageId, PrNumber, ProjectName, Sha};
use crate::phase::{Phase, PhaseReport};
use crate::planner::{Link, TreeId};
use crate::policy::Policy;
use crate::state::{Floor, Job, MessageState};
use crate::table::{Record, Table};
use crate::time::Time;
use std::time::Duration;

const JOB: JobId = JobId(1);
const PR: PrNumber = PrNumber(100);
/// The first developer and, where a review agent reviews, the first reviewer.
const DEV: Epoch = Epoch(1);
const REVIEWER: Epoch = Epoch(2);

fn sha(n: u32) -> Sha {
    format!("{n:08x}{}", "0".repeat(32)).try_into().expect("forty digits")
}

fn project() -> ProjectName {
    "p".parse().expect("a valid name")
}

/// Puts a record in place as it would not come about by itself.
fn alter<R: Record + Clone>(table: &mut Table<R>, key: &R::Key, change: impl FnOnce(&mut R)) {
    let mut record = table.get(key).expect("it is there").clone();
    change(&mut record);
    table.load(record);
}

fn labelled(labels: &[&str]) -> Vec<String> {
    labels.iter().map(|label| (*label).to_owned()).collect()
}

struct Scene {
    floor: Floor,
    now: Time,
    pending: Vec<Action>,
    notes: Vec<Note>,
    stamps: u64,
    /// Of the issues, as the forge counts them.
    version: u64,
    revision: u64,
    /// Looks at the agents find nothing wrong with them.
    staffed: bool,
    /// What branches stand on; an older program did not say.
    base: Option<Sha>,
    /// The protected files that branches change.
    protected: Vec<String>,
}

impl Scene {
    fn new(policy: Policy) -> Scene {
        let mut scene = Scene {
            floor: Floor::default(),
            now: Time(1_000),
            pending: Vec::new(),
            notes: Vec::new(),
            stamps: 0,
            version: 0,
            revision: 0,
            staffed: true,
            base: None,
            protected: Vec::new(),
        };
        scene.event(Event::ProjectSet { project: project(), checkout: "co".into(), policy });
        scene
    }

    fn event(&mut self, event: Event) -> &mut Self {
        let Step { effects, notes } = step(&mut self.floor, self.now, &event);
        self.pending.extend(effects);
        self.notes.extend(notes);
        // Agents that can work, unless a test says otherwise.
        if self.staffed && self.has("check_agents") {
            self.answer(
                "check_agents",
                Outcome::AgentsChecked(outcome::AgentsChecked { troubles: vec![], unset: vec![] }),
            );
        }
        self
    }

    fn observe(&mut self, observation: Observation) -> &mut Self {
        self.event(Event::Observed { project: project(), page: Page::of(observation) })
    }

    fn issue(&mut self, number: u64, labels: &[&str], deps: &[u64]) -> &mut Self {
        self.issue_is(number, labels, deps, true)
    }

    fn issue_is(&mut self, number: u64, labels: &[&str], deps: &[u64], open: bool) -> &mut Self {
        self.version += 1;
        self.observe(Observation::Issue {
            number: IssueNumber(number),
            title: format!("issue {number}"),
            labels: labelled(labels),
            open,
            deps: deps.iter().map(|n| IssueNumber(*n)).collect(),
            created_at: Time(number),
            by: None,
            revision: self.revision,
            version: Version::numbered(self.version),
            hints: Hints::default(),
        })
    }

    /// The oldest unanswered effect of that name.
    fn take(&mut self, name: &str) -> Action {
        let at = self.pending.iter().position(|a| a.name() == name);
        let at = at.unwrap_or_else(|| panic!("no {name} among {:?}", self.names()));
        self.pending.remove(at)
    }

    fn answer(&mut self, name: &str, outcome: Outcome) -> &mut Self {
        let action = self.take(name);
        self.event(Event::Performed { action, outcome })
    }

    fn done(&mut self, name: &str) -> &mut Self {
        let action = self.take(name);
        let outcome = self.floor.uneventful(&action);
        self.event(Event::Performed { action, outcome })
    }

    fn impossible(&mut self, name: &str) -> &mut Self {
        self.answer(name, Outcome::Impossible(outcome::Impossible { why: "broken".into() }))
    }

    fn names(&self) -> Vec<&'static str> {
        self.pending.iter().map(Action::name).collect()
    }

    fn has(&self, name: &str) -> bool {
        self.names().contains(&name)
    }

    fn wait(&mut self, time: Duration) -> &mut Self {
        self.now = self.now + time;
        self.event(Event::Tick)
    }

    // ---- the way of a job ----------------------------------------------------------------------

    fn start_session(&mut self) -> &mut Self {
        self.answer(
            "start_session",
            Outcome::SessionStarted(outcome::SessionStarted {
                tmux: "t".into(),
                process: ProcessId { pid: 1, start: 1 },
                phase_file: "f".into(),
                runtime: "generic".into(),
                prompt: None,
                notes: vec![],
            }),
        )
    }

    /// Issue 1 is claimed and its agent works.
    fn working(policy: Policy) -> Scene {
        let mut scene = Scene::new(policy);
        scene.issue(1, &["backlog"], &[]).done("edit_labels");
        scene.answer(
            "prepare_worktree",
            Outcome::WorktreeReady(outcome::WorktreeReady { path: "w".into(), head: sha(0), notes: vec![] }),
        );
        scene.start_session();
        assert_eq!(scene.state(), "working");
        scene
    }

    fn signal(&mut self, epoch: Epoch, phase: Phase) -> &mut Self {
        self.stamps += 1;
        let report = PhaseReport::new(phase);
        self.event(Event::PhaseWritten { epoch, stamp: self.stamps.to_string(), report })
    }

    fn branch(&mut self, head: u32) -> &mut Self {
        self.branch_like(head, &[])
    }

    /// The same, and the head makes the same change as these.
    fn branch_like(&mut self, head: u32, same_as: &[u32]) -> &mut Self {
        let (head, ahead) = (sha(head), u32::from(head > 0));
        let same_as = same_as.iter().map(|head| sha(*head)).collect();
        self.answer(
            "publish_branch",
            Outcome::Branch(outcome::Branch {
                head,
                ahead,
                dirty: 0,
                note: None,
                same_as,
                base: self.base.clone(),
                protected: self.protected.clone(),
            }),
        )
    }

    /// From a signal to the run of the checks.
    fn checking(&mut self, phase: Phase, head: u32) -> &mut Self {
        let epoch = self.job().session.expect("there is an agent");
        self.signal(epoch, phase).branch(head).answer("open_pr", Outcome::PrOpen(outcome::PrOpen { pr: PR }))
    }

    fn ci(&mut self, verdict: CiVerdict) -> &mut Self {
        let report = CiReport {
            verdict,
            step: Some("test".into()),
            excerpt: "e".into(),
            log: "l".into(),
            steps_run: 1,
            at: None,
            duration_ms: 1,
            checks: String::new(),
        };
        self.answer("run_ci", Outcome::CiFinished(report))
    }

    /// The head is red, twice, on a base that nobody knows of.
    fn red(&mut self) -> &mut Self {
        self.ci(CiVerdict::Red).ci(CiVerdict::Red)
    }

    /// The head is green and under review by an agent.
    fn reviewing(policy: Policy, head: u32) -> Scene {
        let mut scene = Scene::working(policy);
        scene.checking(Phase::AwaitingReview, head).ci(CiVerdict::Green);
        assert_eq!(scene.state(), "reviewing");
        scene
    }

    fn review(&mut self, id: u64, head: u32, verdict: Verdict) -> &mut Self {
        self.review_by("someone", id, head, verdict)
    }

    /// `agent` is the factory's own reviewer.
    fn review_by(&mut self, author: &str, id: u64, head: u32, verdict: Verdict) -> &mut Self {
        let (text, agent) = ("t".into(), author == "agent");
        let (pr, head, author) = (PR, sha(head), author.to_owned());
        self.observe(Observation::Review { pr, head, verdict, text, author, agent, dismissed: false, id })
    }

    /// The head is approved and its candidate is being built.
    fn merging(policy: Policy, head: u32) -> Scene {
        let mut scene = Scene::approved(policy, head);
        scene.primary(10);
        scene
    }

    /// In the queue, which does not know yet where the primary branch is.
    fn approved(policy: Policy, head: u32) -> Scene {
        let mut scene = Scene::reviewing(policy, head);
        scene.start_session();
        scene.review(1, head, Verdict::Approve).end_session();
        assert_eq!(scene.state(), "merging");
        scene
    }

    /// The primary branch is looked for, and found.
    fn primary(&mut self, head: u32) -> &mut Self {
        self.answer(
            "find_primary",
            Outcome::Primary(outcome::Primary { head: sha(head), continues: true, recorded: false }),
        )
    }

    /// The oldest chain is built: its links are these commits.
    fn chain(&mut self, commits: &[u32]) -> &mut Self {
        self.chain_seen(10, commits)
    }

    /// The same, and the primary branch is seen there.
    fn chain_seen(&mut self, primary: u32, commits: &[u32]) -> &mut Self {
        let link = |n: &u32| ChainLink {
            link: Link { commit: sha(*n), tree: TreeId(sha(1_000 + n)) },
            head_tree: TreeId(sha(2_000 + n)),
            left_out: 0,
            inner: vec![],
        };
        let links = commits.iter().map(link).collect();
        self.answer(
            "build_chain",
            Outcome::Chain(outcome::Chain { primary: sha(primary), moved: Vec::new(), links }),
        )
    }

    /// The candidate 20 on base 10 is being published.
    fn publishing(policy: Policy, head: u32) -> Scene {
        let mut scene = Scene::merging(policy, head);
        scene.chain(&[20]).ci(CiVerdict::Green);
        assert!(scene.has("publish"));
        scene
    }

    fn end_session(&mut self) -> &mut Self {
        self.done("end_session")
    }

    fn exited(&mut self, epoch: Epoch, status: Option<i32>) -> &mut Self {
        self.event(Event::SessionExited { epoch, status })
    }

    /// Answers everything that an end orders.
    fn settle(&mut self) -> &mut Self {
        while let Some(action) = self.pending.first().cloned() {
            let outcome = match action {
                Action::FindPrimary { ref known, .. } => {
                    let continues = known.as_ref().is_none_or(|known| *known == sha(10));
                    Outcome::Primary(outcome::Primary { head: sha(10), continues, recorded: false })
                }
                Action::PrepareWorktree { .. } => Outcome::WorktreeReady(outcome::WorktreeReady {
                    path: "w".into(),
                    head: sha(0),
                    notes: vec![],
                }),
                Action::StartSession(_) => Outcome::SessionStarted(outcome::SessionStarted {
                    tmux: "t".into(),
                    process: ProcessId { pid: 1, start: 1 },
                    phase_file: "f".into(),
                    runtime: "generic".into(),
                    prompt: None,
                    notes: vec![],
                }),
                _ => self.floor.uneventful(&action),
            };
            self.pending.remove(0);
            self.event(Event::Performed { action, outcome });
        }
        self
    }

    // ---- what is looked at ---------------------------------------------------------------------

    fn job(&self) -> &Job {
        self.floor.jobs.get(&JOB).expect("there is a job")
    }

    fn state(&self) -> &'static str {
        self.job().state.name()
    }

    /// The end the job is on its way to, or has come to.
    fn reason(&self) -> &str {
        self.job().reason.as_deref().unwrap_or("")
    }

    /// The first lines of what the agent has not read.
    fn unread(&self) -> Vec<&str> {
        let queued = self.floor.messages.iter().filter(|m| m.state == MessageState::Queued);
        queued.filter_map(|m| m.text.lines().next()).collect()
    }

    fn noted(&self, kind: NoteKind) -> usize {
        self.notes.iter().filter(|n| n.kind == kind).count()
    }

    fn read(&mut self, message: u64, epoch: Epoch) -> &mut Self {
        self.event(Event::MessageTaken { message: MessageId(message), epoch })
    }
}

fn closed_pull(number: PrNumber) -> Observation {
    let (branch, title, fixes) = (String::new(), String::new(), vec![]);
    Observation::Pr {
        number,
        open: false,
        branch,
        head: None,
        fixes,
        title,
        ours: false,
        author: String::new(),
        labels: vec![],
        merged: None,
    }
}

fn reviewed(verdict: Verdict) -> Outcome {
    let review = Review { verdict, reason: "r".into(), markdown: "m".into(), follow_ups: vec![] };
    Outcome::ReviewCollected(outcome::ReviewCollected { review })
}
