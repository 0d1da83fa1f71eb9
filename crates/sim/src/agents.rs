//! Virtual agents: scripted developers and reviewers with habits, good and bad.
//!
//! An agent acts when its time has come ([`World::agent_act`]): it edits, commits, pushes, signals a phase,
//! or asks for its next message. It asks the driver for what it cannot do by itself (taking a message goes
//! through the store, as `shopfloor inbox` does). An agent that is typed to acts only in a turn of its
//! [client](crate::client).

use crate::git::{Content, Written};
use crate::rng::Rng;
use crate::world::World;
use shopfloor_core::effect::{Review, StartSession, Verdict};
use shopfloor_core::ids::{Assignment, Duty, Epoch, IssueNumber, Role, Sha, Target};
use shopfloor_core::phase::{Ask, Phase, PhaseReport};
use shopfloor_core::texts::{FirstLine, agents};
use shopfloor_core::time::Time;
use shopfloor_engine::ports::Tree;
use std::time::Duration;

/// A session's habits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persona {
    Diligent,
    /// Makes mistakes everywhere.
    Sloppy,
    /// Signals often, out of order and twice.
    Spammer,
    /// Dies.
    Fragile,
    /// Does not read its messages.
    Deaf,
    /// Says nothing at all.
    Silent,
}

/// What an agent does next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Remaining edits, then the phase to signal.
    Work(u32, Phase),
    /// Take in the primary branch, then continue working.
    TakePrimary,
    Wait,
}

#[derive(Clone, Debug)]
pub struct Proc {
    pub epoch: Epoch,
    /// Whose versions its edits are.
    pub issue: IssueNumber,
    /// It carries out a formula, and has not said of every step of its own that it is done.
    pub has_steps: bool,
    pub tree: Tree,
    /// The branch that its work is to land on; `None`: the primary one.
    pub target: Option<Target>,
    pub persona: Persona,
    pub mode: Mode,
    pub alive: bool,
    pub exit: Option<i32>,
    /// The phase file's content, and how often it was written.
    pub phase: Option<String>,
    pub writes: u64,
    /// A reviewer's result file with the commit it names, and the commit it was told to review.
    pub result: Option<(Option<Sha>, Result<Review, String>)>,
    pub results: u64,
    pub head: Option<Sha>,
    /// The commit about which it has said everything it had to say.
    pub decided: Option<Sha>,
    /// Acts since it was told what to review.
    pub review_acts: u32,
    pub acts: u32,
    pub started: Time,
}

/// What an agent wants from the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    Nothing,
    TakeMessage(Epoch),
    /// Say of a step of its run that it is done.
    SayStep(Epoch),
}

const OF_RUNS: u64 = 1_000_000;

/// An agent that never ends would keep the run from ending; the floor's own limits end it sooner.
const ACTS_MAX: u32 = 120;

impl Proc {
    pub fn new(start: &StartSession, tree: Tree, rng: &mut Rng, now: Time) -> Proc {
        let persona = match rng.below(100) {
            0..62 => Persona::Diligent,
            62..80 => Persona::Sloppy,
            80..87 => Persona::Spammer,
            87..95 => Persona::Fragile,
            95..98 => Persona::Deaf,
            _ => Persona::Silent,
        };
        let mut proc = Proc {
            epoch: start.epoch,
            issue: writer(start.assignment),
            has_steps: start.task.is_some(),
            tree,
            target: start.target.clone(),
            persona,
            mode: Mode::Work(rng.range(1, 3) as u32, first_phase(start)),
            alive: true,
            exit: None,
            phase: None,
            writes: 0,
            result: None,
            results: 0,
            head: start.head.clone(),
            decided: None,
            review_acts: 0,
            acts: 0,
            started: now,
        };
        // What the predecessor left unread is in the prompt.
        for unread in start.resume.iter().flat_map(|r| &r.unread) {
            proc.read(&unread.text, rng);
        }
        proc
    }

    /// Reacts to a message's first line, as a program would.
    pub fn read(&mut self, text: &str, rng: &mut Rng) {
        let first = FirstLine::of(text);
        if self.tree.is_review() {
            self.read_as_reviewer(first.as_ref(), text, rng);
            return;
        }
        let edits = rng.range(1, 2) as u32;
        let Some(first) = first else {
            self.mode = Mode::Work(edits, Phase::AwaitingCi);
            return;
        };
        self.mode = match first {
            FirstLine::CiPassed if rng.permille(60) => Mode::Work(0, Phase::AwaitingCi),
            FirstLine::CiPassed => Mode::Work(0, Phase::AwaitingReview),
            FirstLine::CiFailed | FirstLine::CiTimeout => Mode::Work(edits, Phase::AwaitingCi),
            FirstLine::MergeConflict | FirstLine::MergeFailed => Mode::TakePrimary,
            // Somebody tidies up after the approval.
            FirstLine::Review(Verdict::Approve) if rng.permille(80) => Mode::TakePrimary,
            FirstLine::Review(Verdict::Approve) if rng.permille(300) => Mode::Wait,
            FirstLine::Review(Verdict::Approve) => Mode::Work(0, Phase::Done),
            FirstLine::Review(_) if rng.permille(100) => Mode::Work(0, Phase::AwaitingReview),
            FirstLine::Review(_) => Mode::Work(edits, Phase::AwaitingReview),
            FirstLine::NoReview => Mode::Wait,
            FirstLine::StepsReady
            | FirstLine::StepsOpen
            | FirstLine::StepsOver
            | FirstLine::StepNotVerified => {
                self.has_steps = true;
                Mode::Work(edits, Phase::Done)
            }
            FirstLine::CiWaits if rng.permille(800) => Mode::Wait,
            FirstLine::PhaseNotUnderstood => Mode::Work(0, Phase::AwaitingCi),
            FirstLine::NotMerged if text == agents::in_merge_queue() => Mode::Wait,
            _ => Mode::Work(edits, Phase::AwaitingCi),
        };
    }

    fn sloppy(&self, rng: &mut Rng, permille: u32) -> bool {
        let factor = match self.persona {
            Persona::Diligent => 1,
            Persona::Sloppy => 4,
            _ => 2,
        };
        rng.permille(permille * factor)
    }
}

impl World {
    /// Schedules an agent's next act.
    pub fn agent_again(&mut self, epoch: Epoch, ms_max: u64) {
        let at = self.now + Duration::from_millis(self.rng.range(200, ms_max));
        self.agent_acts.push((at, epoch));
    }

    pub fn agent_act(&mut self, epoch: Epoch) -> Wish {
        let typed = self.is_typed(epoch);
        if typed && !self.clients[&epoch].works() {
            return Wish::Nothing;
        }
        let Some(proc) = self.procs.get_mut(&epoch) else { return Wish::Nothing };
        proc.acts += 1;
        if !proc.alive {
            return Wish::Nothing;
        }
        if proc.acts > ACTS_MAX {
            self.turn_over(epoch);
            return Wish::Nothing;
        }
        let (persona, role, tree) = (proc.persona, role_of(&proc.tree), proc.tree.clone());
        if !self.git.trees.contains_key(&tree) {
            self.die(epoch, Some(1), "its worktree is gone");
            return Wish::Nothing;
        }
        if persona == Persona::Fragile && self.rng.permille(250) {
            let status = [None, Some(1), Some(137)][self.rng.below(3) as usize];
            self.die(epoch, status, "crashed");
            self.saw("agent crashed");
            return Wish::Nothing;
        }
        if typed {
            return self.typed_act(epoch, role);
        }
        match role.duty() {
            Duty::Develop => self.dev_act(epoch),
            Duty::Review => {
                self.reviewer_act(epoch);
                Wish::Nothing
            }
        }
    }

    /// One act of a turn in a terminal; when there is nothing left to do, the turn is over.
    fn typed_act(&mut self, epoch: Epoch, role: Role) -> Wish {
        if self.trouble(epoch) {
            return Wish::Nothing;
        }
        let acts = self.agent_acts.len();
        let over = match role.duty() {
            Duty::Develop => {
                let wish = self.dev_act(epoch);
                if matches!(wish, Wish::SayStep(_)) {
                    return wish;
                }
                self.procs[&epoch].mode == Mode::Wait
            }
            Duty::Review => {
                self.reviewer_act(epoch);
                self.agent_acts.len() == acts
            }
        };
        if over {
            self.turn_over(epoch);
        }
        Wish::Nothing
    }

    pub fn die(&mut self, epoch: Epoch, exit: Option<i32>, why: &str) {
        let Some(proc) = self.procs.get_mut(&epoch).filter(|p| p.alive) else { return };
        proc.alive = false;
        proc.exit = exit;
        self.notices.insert(epoch);
        self.say(format!("session {epoch} {why} ({exit:?})"));
    }

    fn dev_act(&mut self, epoch: Epoch) -> Wish {
        let proc = self.procs[&epoch].clone();
        match proc.mode {
            Mode::Wait => {
                if proc.persona == Persona::Spammer && self.rng.permille(500) {
                    let phase = Phase::ALL[self.rng.below(4) as usize];
                    self.saw("signal out of order");
                    self.signal(epoch, phase);
                    self.agent_again(epoch, 900_000);
                }
                if proc.persona == Persona::Deaf && self.rng.permille(800) {
                    self.saw("message ignored");
                    return Wish::Nothing;
                }
                return Wish::TakeMessage(epoch);
            }
            Mode::TakePrimary => {
                self.take_primary(&proc);
                let edits = self.rng.below(2) as u32;
                self.set_mode(epoch, Mode::Work(edits, Phase::AwaitingCi));
                self.agent_again(epoch, 120_000);
            }
            Mode::Work(0, _) if proc.has_steps && !proc.sloppy(&mut self.rng, 20) => {
                self.commit_tree(&proc.tree);
                return Wish::SayStep(epoch);
            }
            Mode::Work(0, phase) => self.finish_turn(&proc, phase),
            Mode::Work(edits, phase) => {
                let bad = proc.sloppy(&mut self.rng, 60);
                self.edit(&proc.tree, bad);
                if self.rng.permille(400) {
                    self.commit_tree(&proc.tree);
                }
                self.set_mode(epoch, Mode::Work(edits - 1, phase));
                self.agent_again(epoch, 300_000);
            }
        }
        Wish::Nothing
    }

    /// It has said what it could of its run's steps: what it does then.
    pub fn steps_said(&mut self, epoch: Epoch, through: bool, could: bool) {
        let Some(proc) = self.procs.get_mut(&epoch).filter(|proc| proc.alive) else { return };
        proc.has_steps = !through;
        proc.mode = match (through, could) {
            (true, _) => Mode::Work(0, Phase::Done),
            (false, true) => Mode::Work(1, Phase::Done),
            // A command or a verifier is under way.
            (false, false) => Mode::Wait,
        };
        let waits = proc.mode == Mode::Wait;
        if waits && self.is_typed(epoch) {
            self.turn_over(epoch);
        } else {
            self.agent_again(epoch, 300_000);
        }
    }

    /// Commits, pushes and signals; each of these may be forgotten.
    fn finish_turn(&mut self, proc: &Proc, phase: Phase) {
        let epoch = proc.epoch;
        if proc.sloppy(&mut self.rng, 25) {
            self.saw("commit forgotten");
        } else {
            self.commit_tree(&proc.tree);
            if self.rng.permille(700) {
                self.push_branch(&proc.tree);
            } else {
                self.saw("push forgotten");
            }
        }
        self.set_mode(epoch, Mode::Wait);
        if proc.persona == Persona::Silent {
            self.saw("agent silent");
            return;
        }
        match self.rng.below(1000) {
            0..25 => self.write_phase(epoch, "PHASE:finished\n", "garbage phase"),
            25..60 => self.signal(epoch, Phase::NeedsHuman),
            60..80 => self.signal(epoch, Phase::Done),
            80..92 => self.signal(epoch, Phase::Failed),
            92..140 => self.signal(epoch, Phase::AwaitingReview),
            _ => self.signal(epoch, phase),
        }
        if self.rng.permille(50) {
            self.saw("signal twice");
            self.signal(epoch, phase);
        }
        if self.rng.permille(60) {
            self.saw("exit after signal");
            self.die(epoch, Some(0), "left after its signal");
            return;
        }
        // It may have missed the bell: it looks once on its own.
        self.agent_again(epoch, 600_000);
    }

    fn set_mode(&mut self, epoch: Epoch, mode: Mode) {
        if let Some(proc) = self.procs.get_mut(&epoch) {
            proc.mode = mode;
        }
    }

    pub fn signal(&mut self, epoch: Epoch, phase: Phase) {
        let detail = match phase {
            Phase::NeedsHuman => Some("A or B?".to_owned()),
            Phase::Failed => {
                let reasons = ["it is too hard", "blocked_by #1", "too_large", "already_done"];
                let which = self.rng.below(reasons.len() as u64) as usize;
                Some(reasons[which].to_owned())
            }
            _ => None,
        };
        let mut ask = Ask::default();
        if phase == Phase::NeedsHuman && self.rng.permille(300) {
            self.saw("question with a default");
            ask.options = vec!["A".into(), "B".into()];
            ask.default = Some("A".into());
            ask.within = Some(std::time::Duration::from_secs(1800));
        }
        let session = self.rng.permille(700).then_some(epoch);
        let id = self.procs.get(&epoch).map_or(0, |p| p.writes + 1).to_string();
        let text = PhaseReport { detail, session, ask, ..PhaseReport::new(phase) }.render(&id);
        self.write_phase(epoch, &text, phase.as_str());
    }

    fn write_phase(&mut self, epoch: Epoch, text: &str, what: &'static str) {
        let Some(proc) = self.procs.get_mut(&epoch) else { return };
        proc.writes += 1;
        proc.phase = Some(text.to_owned());
        self.notices.insert(epoch);
        self.saw(what);
        self.say(format!("session {epoch} writes {}", text.lines().next().unwrap_or("")));
    }

    /// A new version of a file, uncommitted.
    pub fn edit(&mut self, tree: &Tree, bad: bool) {
        let issue = issue_of(tree);
        let shared = self.rng.permille(250);
        let file = if shared { self.rng.below(4) } else { issue.0 * 10 + self.rng.below(3) };
        let clash = u64::from(self.rng.permille(80));
        let bug = bad && clash == 0;
        let written = Written { issue: Some(issue), bug, clash, at_attempt: self.attempt };
        let version = self.git.write(written);
        if let Some(worktree) = self.git.trees.get_mut(tree) {
            worktree.dirty.insert(file, version);
        }
        // An agent that keeps editing repairs what is wrong with its own work.
        if !bad && clash == 0 && self.rng.permille(850) {
            self.repair(tree);
        }
    }

    fn repair(&mut self, tree: &Tree) {
        let Some(worktree) = self.git.trees.get(tree) else { return };
        let mine = |w: &Written| w.issue == tree.assignment().map(writer) && (w.bug || w.clash > 0);
        let content: Content = self.git.tree_content(worktree);
        let wrong: Vec<u64> =
            content.iter().filter(|(_, v)| mine(&self.git.versions[**v as usize])).map(|(f, _)| *f).collect();
        for file in wrong {
            let written =
                Written { issue: Some(issue_of(tree)), at_attempt: self.attempt, ..Written::default() };
            let version = self.git.write(written);
            if let Some(worktree) = self.git.trees.get_mut(tree) {
                worktree.dirty.insert(file, version);
            }
        }
    }

    pub fn commit_tree(&mut self, tree: &Tree) {
        let Some(worktree) = self.git.trees.get(tree).filter(|t| !t.dirty.is_empty()) else { return };
        let (head, content) = (self.git.head_of(worktree), self.git.tree_content(worktree));
        let commit = self.git.commit(vec![head], content, true);
        let worktree = self.git.trees.get_mut(tree).expect("just seen");
        worktree.dirty.clear();
        match worktree.branch.clone() {
            Some(branch) => {
                self.git.local.insert(branch, commit);
            }
            None => worktree.detached = commit,
        }
    }

    pub fn push_branch(&mut self, tree: &Tree) {
        let Some(branch) = self.git.trees.get(tree).and_then(|t| t.branch.clone()) else { return };
        let Some(head) = self.git.local.get(&branch).copied() else { return };
        let there = self.git.hub.get(&branch).copied();
        if there.is_none_or(|c| self.git.is_ancestor(c, head)) {
            self.git.hub.insert(branch, head);
        }
    }

    /// Merges the primary branch in, or rebases onto it; on a conflict it redoes its own side.
    fn take_primary(&mut self, proc: &Proc) {
        let Some(branch) = self.git.trees.get(&proc.tree).and_then(|t| t.branch.clone()) else { return };
        self.commit_tree(&proc.tree);
        let Some(head) = self.git.local.get(&branch).copied() else { return };
        let Some(primary) = self.git.tip(proc.target.as_ref()) else { return };
        if self.git.is_ancestor(primary, head) {
            return;
        }
        let content = match self.git.three_way(primary, head) {
            Ok(content) => content,
            Err(files) => {
                let mut content = self.git.content(primary).clone();
                let base = self.git.content(self.git.merge_base(primary, head)).clone();
                for (file, version) in self.git.content(head).clone() {
                    if base.get(&file) != Some(&version) && !files.contains(&file) {
                        content.insert(file, version);
                    }
                }
                for file in files {
                    let written =
                        Written { issue: Some(proc.issue), at_attempt: self.attempt, ..Written::default() };
                    content.insert(file, self.git.write(written));
                }
                content
            }
        };
        if self.rng.permille(300) {
            // A rebase: the agent itself throws its old commits away, and force-pushes or forgets to. The hub
            // does not let it throw away what others pushed.
            let there = self.git.hub.get(&branch).copied();
            let own = there.is_none_or(|there| self.git.is_ancestor(there, head));
            let commit = self.git.commit(vec![primary], content, true);
            for old in self.git.reachable([head]).difference(&self.git.reachable([primary])) {
                self.git.commits[*old as usize].keep = false;
            }
            self.git.local.insert(branch.clone(), commit);
            if self.rng.permille(700) && own {
                self.git.hub.insert(branch, commit);
            }
            self.saw("agent rebased");
        } else {
            let commit = self.git.commit(vec![head, primary], content, true);
            self.git.local.insert(branch, commit);
        }
    }

    /// An agent does something in the middle of somebody else's action.
    pub fn fidget(&mut self) {
        let live: Vec<Epoch> = self.procs.values().filter(|p| p.alive).map(|p| p.epoch).collect();
        let Some(epoch) = self.rng.pick(&live).copied() else { return };
        let tree = self.procs[&epoch].tree.clone();
        if !self.git.trees.contains_key(&tree) {
            return;
        }
        self.saw("agent interleaved");
        match self.rng.below(4) {
            0 => self.commit_tree(&tree),
            1 => self.push_branch(&tree),
            _ => self.edit(&tree, false),
        }
    }
}

/// Only jobs' trees are simulated.
fn issue_of(tree: &Tree) -> IssueNumber {
    tree.assignment().map(writer).expect("a job's tree")
}

/// What a run writes is told from what issues' jobs write by a number that no issue has.
pub fn writer(assignment: Assignment) -> IssueNumber {
    match assignment {
        Assignment::Issue(issue) => issue,
        Assignment::Pull(pr) => IssueNumber(pr.0),
        Assignment::Run(run) => IssueNumber(OF_RUNS + run.0),
    }
}

fn first_phase(start: &StartSession) -> Phase {
    if start.task.is_some() { Phase::Done } else { Phase::AwaitingCi }
}

fn role_of(tree: &Tree) -> Role {
    tree.role().expect("a job's tree")
}
