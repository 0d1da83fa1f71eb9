//! Jobs: the work on one issue, from claiming it to its end, and the states it goes through.

use super::{Memo, SeenReview};
use crate::ids::{
    Assignment, Duty, EntryId, Epoch, IssueNumber, JobId, PrNumber, ProjectName, QuestionId, QueueId, Role,
    RunId, RunNumber, Sha, Target,
};
use crate::label::Label;
use crate::policy::Policy;
use crate::table::Record;
use crate::time::Time;
use crate::verdict::Green;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What an agent's signal is to lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    Ci,
    Review,
    /// Verifying that there is nothing to do, as the agent says.
    Nothing,
    /// A run is through: what it left on its branch is to land.
    Land,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    Merged,
    /// Somebody has to look.
    Blocked,
    /// The agent gave up.
    Failed,
    /// A person ended it.
    Cancelled,
    /// The agent had a reason that the factory acts upon: the issue waits for another, or nothing is left to do.
    Refused,
    /// It was to review a pull request, and has done so.
    Reviewed,
    /// It was a run of a formula, which is through and left nothing to land.
    Done,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum JobState {
    /// Branch and worktree are being made.
    Preparing,
    /// A session is being started.
    Starting,
    /// A session died; its successor starts at the job's deadline, or earlier if nothing else holds it up.
    Respawning {
        /// The job waits until its project's agents can work.
        #[serde(default, rename = "held")]
        unstaffed: bool,
        /// The successor starts as soon as nothing is left of its predecessor.
        #[serde(default)]
        successor_due: bool,
    },
    /// A command of its run's own is under way, and no agent works.
    RunningStep,
    /// The agent works.
    Working,
    /// The branch is being pushed and its pull request opened. The serialized name is older than the code's, and
    /// stays.
    #[serde(rename = "publishing")]
    Pushing { goal: Goal },
    /// The checks run on `head`.
    Checking { goal: Goal, run: RunId, head: Sha },
    /// The checks could not run on `head`; they are retried at the job's deadline.
    Retrying { goal: Goal, head: Sha },
    /// `head` is red, and the commit of the primary branch that it stands on may be too: that commit is being
    /// checked, or the job waits until it is mended. The queue has the rest, see [`crate::state::Parked`].
    Parked { goal: Goal, head: Sha },
    /// `head` waits for a review.
    Reviewing { head: Sha },
    /// In the merge queue.
    #[serde(rename = "merging")]
    InQueue {
        entry: EntryId,
        /// An end that was requested while the entry was being published.
        #[serde(default)]
        end_wanted: Option<(End, String)>,
    },
    /// A person has to decide something.
    NeedsHuman {
        question: String,
        reminded: u32,
        #[serde(default)]
        asked: Asked,
    },
    /// The job's last effects are under way: `remaining` names them.
    Finishing { end: End, remaining: BTreeSet<String> },
    Ended {
        end: End,
        /// The job's worktree, if it ended without a merge.
        #[serde(default, flatten)]
        kept: Kept,
    },
}

/// The worktree of an ended job: when it is removed, and how many removals are under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Kept {
    pub release_at: Option<Time>,
    pub releasing: u32,
}

impl End {
    /// How a job that ended this way is shown.
    pub fn name(self) -> &'static str {
        match self {
            End::Merged => "merged",
            End::Blocked => "blocked",
            End::Failed => "failed",
            End::Cancelled => "cancelled",
            End::Refused => "refused",
            End::Reviewed => "reviewed",
            End::Done => "done",
        }
    }
}

impl JobState {
    pub fn name(&self) -> &'static str {
        match self {
            JobState::Preparing => "preparing",
            JobState::Starting => "starting",
            JobState::Respawning { .. } => "respawning",
            JobState::RunningStep => "running_step",
            JobState::Working => "working",
            JobState::Pushing { .. } => "publishing",
            JobState::Checking { .. } => "checking",
            JobState::Retrying { .. } => "retrying",
            JobState::Parked { .. } => "parked",
            JobState::Reviewing { .. } => "reviewing",
            JobState::InQueue { .. } => "merging",
            JobState::NeedsHuman { .. } => "needs_human",
            JobState::Finishing { .. } => "finishing",
            JobState::Ended { end, .. } => end.name(),
        }
    }
}

/// A question's number and the answers it accepts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    pub id: QuestionId,
    pub options: Vec<String>,
    /// Taken at `due` if nobody has answered.
    pub default: Option<String>,
    pub due: Option<Time>,
}

/// When a job entered a state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stage {
    pub state: String,
    pub at: Time,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub id: JobId,
    /// A job for a pull request has no developer and changes nothing on the branch.
    #[serde(flatten)]
    pub assignment: Assignment,
    /// Who works on its branch.
    #[serde(default = "Role::dev")]
    pub role: Role,
    /// The run by which an issue is carried that asks for an action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<RunNumber>,
    pub project: ProjectName,
    pub title: String,
    pub branch: String,
    /// The branch that the change is to land on, as the issue said when the job began; `None`: the primary branch.
    #[serde(default)]
    pub target: Option<Target>,
    pub state: JobState,
    pub created_at: Time,
    /// When somebody is told that nothing happened.
    pub deadline: Option<Time>,
    pub worktree: Option<String>,
    pub pr: Option<PrNumber>,
    /// The branch's head when last looked at.
    pub head: Option<Sha>,
    #[serde(flatten)]
    pub known: KnownHeads,
    /// The dev session that owns the job now, and the newest there has been.
    pub session: Option<Epoch>,
    pub last_session: Option<Epoch>,
    /// Where an older program kept the newest review; it is migrated at startup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<SeenReview>,
    #[serde(flatten)]
    pub reviewer: Reviewer,
    #[serde(flatten)]
    pub rounds: Rounds,
    /// When the next snapshot of the worktree is due.
    #[serde(default)]
    pub checkpoint_at: Option<Time>,
    /// A conversation could not be resumed; that is not tried twice.
    #[serde(default)]
    pub resume_failed: bool,
    /// Since when a person has had the job, by command.
    #[serde(default)]
    pub taken: Option<Time>,
    pub merged: Option<Sha>,
    /// Why it ended, or what is wrong.
    pub reason: Option<String>,
    pub rescue: Option<String>,
    /// The end of its newest dev session's output, for the diagnosis.
    pub last_output: String,
    pub history: Vec<Stage>,
    #[serde(default)]
    pub memo: Memo,
}
record!(Job, "job", Jobs, JobId, |j| j.id, |k| k.to_string());

impl Job {
    pub fn new(
        id: JobId,
        assignment: Assignment,
        project: ProjectName,
        branch: String,
        state: JobState,
        now: Time,
    ) -> Job {
        let history = vec![Stage { state: state.name().into(), at: now }];
        Job {
            id,
            assignment,
            role: Role::DEV,
            action: None,
            project,
            title: String::new(),
            branch,
            target: None,
            state,
            created_at: now,
            deadline: None,
            worktree: None,
            pr: None,
            head: None,
            known: KnownHeads::default(),
            session: None,
            last_session: None,
            review: None,
            reviewer: Reviewer::default(),
            rounds: Rounds::default(),
            checkpoint_at: None,
            resume_failed: false,
            taken: None,
            merged: None,
            reason: None,
            rescue: None,
            last_output: String::new(),
            history,
            memo: Memo::default(),
        }
    }

    pub fn is_review(&self) -> bool {
        matches!(self.assignment, Assignment::Pull(_))
    }

    /// The issue it carries.
    pub fn issue(&self) -> Option<IssueNumber> {
        self.assignment.issue()
    }

    /// The run that it carries out.
    pub fn run(&self) -> Option<RunNumber> {
        self.assignment.run().or(self.action)
    }

    /// The label by which its issue asks for work.
    pub fn asked_by(&self) -> Label {
        // Which formula it is, and so who carries it out, is not known at once.
        let is_action = self.action.is_some() || (self.role == Role::ACTION && self.issue().is_some());
        if is_action { Label::Action } else { Label::Backlog }
    }

    /// The number that it has on the forge, if it has one.
    pub fn number(&self) -> Option<IssueNumber> {
        self.assignment.number()
    }

    /// The same with its project: issues are found by that.
    pub fn place(&self) -> Option<(ProjectName, IssueNumber)> {
        Some((self.project.clone(), self.number()?))
    }

    /// The session that has this duty in the job now.
    pub fn session_on(&self, duty: Duty) -> Option<Epoch> {
        match duty {
            Duty::Develop => self.session,
            Duty::Review => self.reviewer.session,
        }
    }

    /// The merge queue that its change goes through.
    pub fn queue(&self) -> QueueId {
        QueueId::new(&self.project, self.target.as_ref())
    }

    pub fn is_live(&self) -> bool {
        !matches!(self.state, JobState::Ended { .. })
    }

    /// Whether this head may be reviewed and queued: it is green, or its trial will decide.
    pub fn is_fit(&self, head: &Sha, policy: &Policy) -> bool {
        let green = self.known.green.as_ref().is_some_and(|g| g.commit() == head && g.holds(policy));
        green || self.known.unchecked.as_ref() == Some(head)
    }

    pub fn end(&self) -> Option<End> {
        match self.state {
            JobState::Ended { end, .. } => Some(end),
            _ => None,
        }
    }

    /// An end that was requested while the entry was being published.
    pub fn end_wanted(&self) -> Option<&(End, String)> {
        match &self.state {
            JobState::InQueue { end_wanted, .. } => end_wanted.as_ref(),
            _ => None,
        }
    }

    /// What has become of its worktree since it ended.
    pub fn kept(&self) -> Kept {
        match self.state {
            JobState::Ended { kept, .. } => kept,
            _ => Kept::default(),
        }
    }

    pub(crate) fn kept_mut(&mut self) -> Option<&mut Kept> {
        match &mut self.state {
            JobState::Ended { kept, .. } => Some(kept),
            _ => None,
        }
    }

    /// Whether the job waits until its project's agents can work.
    pub fn is_unstaffed(&self) -> bool {
        matches!(self.state, JobState::Respawning { unstaffed: true, .. })
    }
}

/// More than the number of reviews kept of a pull request.
const SAME_CHANGES_MAX: usize = 60;

/// What is known of the branch's heads, besides where the branch is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KnownHeads {
    /// The newest that passed the checks.
    pub green: Option<Green>,
    /// The newest that continues without having passed them by itself: its trial decides.
    pub unchecked: Option<Sha>,
    /// The newest that failed them.
    pub red: Option<RedHead>,
    /// The commit of the primary branch that the newest head stands on.
    pub base: Option<Sha>,
    /// Which protected files the newest head changes, if that was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protected: Option<ProtectedFiles>,
    /// The newest head that a person was asked to approve because of such files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persons_word_asked: Option<Sha>,
    /// Heads that make the same change as others published earlier; bounded.
    pub same_changes: Vec<SameChange>,
}

impl KnownHeads {
    /// Whether `head` is known to make the same change as `of`, directly or by way of other heads. `each_commit`:
    /// also with the same commits.
    pub fn is_same_change(&self, of: &Sha, head: &Sha, each_commit: bool) -> bool {
        let mut same = vec![head];
        let mut at = 0;
        while let Some(head) = same.get(at).copied() {
            if head == of {
                return true;
            }
            let usable = |c: &&SameChange| c.head == *head && (c.each_commit || !each_commit);
            for next in self.same_changes.iter().filter(usable) {
                if !same.contains(&&next.of) {
                    same.push(&next.of);
                }
            }
            at += 1;
        }
        false
    }

    /// Records that `head` makes the same change as each of these.
    pub fn makes_same_change(&mut self, head: &Sha, of: &[Sha], each_commit: bool) {
        for of in of {
            let found = SameChange { head: head.clone(), of: of.clone(), each_commit };
            self.same_changes.retain(|known| *known != found);
            self.same_changes.push(found);
        }
        let surplus = self.same_changes.len().saturating_sub(SAME_CHANGES_MAX);
        self.same_changes.drain(..surplus);
    }
}

/// A job's reviewer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reviewer {
    #[serde(rename = "review_session")]
    pub session: Option<Epoch>,
    /// The head that reviewers were last started for, and how many have been.
    #[serde(rename = "review_head")]
    pub head: Option<Sha>,
    #[serde(rename = "review_attempts")]
    pub attempts: u32,
    /// Another reviewer is to follow the one that is being ended.
    #[serde(rename = "reviewer_wanted")]
    pub wanted: bool,
    /// A reviewer is to start as soon as one may.
    #[serde(rename = "reviewer_put_off")]
    pub put_off: bool,
    /// The review the job's agent was last told of.
    #[serde(rename = "review_told")]
    pub told: Option<u64>,
}

impl Reviewer {
    /// The reviewer did not do its part. There are never two in one worktree: while it is being ended (`ending`),
    /// the next one, if there may be one (`more`), waits.
    pub fn failed(&mut self, ending: bool, more: bool) {
        self.wanted = ending && more;
        if !ending {
            self.session = None;
        }
    }

    /// The reviewer failed through no fault of its own: this does not count as an attempt.
    pub fn excused(&mut self, ending: bool) {
        self.attempts = self.attempts.saturating_sub(1);
        self.failed(ending, true);
    }
}

/// How often things were done for a job that may not be done without end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rounds {
    /// Fixes since the last green run, and runs in a row that could not be carried out.
    pub ci_fixes: u32,
    pub ci_retries: u32,
    pub review_rounds: u32,
    pub merge_rounds: u32,
    pub respawns: u32,
    pub reminders: u32,
    /// Runs of the checks and questions asked, over the whole life of the job.
    pub ci_runs: u32,
    pub questions: u32,
    /// Times the project's setup of the worktree failed.
    pub setups_failed: u32,
    /// Sessions replaced because their context was full, and how often the present one was given more time.
    pub cycles: u32,
    pub extensions: u32,
    /// Sessions in a row that never began to work.
    pub stillborn: u32,
}

/// A head that failed the checks, and how often in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedHead {
    pub head: Sha,
    pub runs: u32,
}

/// The protected files that a head changes. `by`: the patterns they were looked for by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtectedFiles {
    pub head: Sha,
    pub by: Vec<String>,
    pub files: Vec<String>,
}

/// `head` is `of`, put on top of another commit of the primary branch, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SameChange {
    pub head: Sha,
    pub of: Sha,
    /// It is the same commit by commit, too.
    pub each_commit: bool,
}
