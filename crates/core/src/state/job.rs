//! Jobs: the carrying of one issue to its end, and the states it goes through.

use super::{Memo, SeenReview};
use crate::ids::{
    EntryId, Epoch, IssueNumber, JobId, PrNumber, ProjectName, QuestionId, QueueId, RunId, Sha, Target,
};
use crate::policy::Policy;
use crate::table::Record;
use crate::time::Time;
use crate::verdict::Green;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What a signal of the agent is to lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    Ci,
    Review,
    /// To see that there is nothing, as the agent says.
    Nothing,
}

/// What a job is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobKind {
    /// To carry an issue to the branch it is for.
    #[default]
    Issue,
    /// To review a pull request that no job carries: advice to whoever made it. It has no developer, changes
    /// nothing on the branch, and its `issue` is the pull request's own number.
    Review,
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
    /// The agent had a reason that the factory acts upon: it waits for another issue, or nothing is left
    /// to do.
    Refused,
    /// It was to review a pull request, and did.
    Reviewed,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum JobState {
    /// Branch and worktree are being made.
    Preparing,
    /// A session is being started.
    Starting,
    /// A session died; its successor starts at the job's deadline.
    Respawning,
    /// The agent works.
    Working,
    /// The branch is being pushed and its pull request opened.
    Publishing {
        goal: Goal,
    },
    /// The checks run on `head`.
    Checking {
        goal: Goal,
        run: RunId,
        head: Sha,
    },
    /// The checks could not run on `head`; they are tried again at the job's deadline.
    Retrying {
        goal: Goal,
        head: Sha,
    },
    /// `head` is red, and so may be the commit of the primary branch that it stands on: that is being checked, or
    /// is waited for to be mended. The queue has the rest, see [`crate::state::Parked`].
    Parked {
        goal: Goal,
        head: Sha,
    },
    /// `head` waits for a review.
    Reviewing {
        head: Sha,
    },
    /// In the merge queue.
    Merging {
        entry: EntryId,
    },
    /// A person has to decide something.
    NeedsHuman {
        question: String,
        reminded: u32,
        #[serde(default)]
        asked: Asked,
    },
    /// The job's last effects are under way: `remaining` names them.
    Finishing {
        end: End,
        remaining: BTreeSet<String>,
    },
    Ended {
        end: End,
    },
}

impl JobState {
    pub fn name(&self) -> &'static str {
        match self {
            JobState::Preparing => "preparing",
            JobState::Starting => "starting",
            JobState::Respawning => "respawning",
            JobState::Working => "working",
            JobState::Publishing { .. } => "publishing",
            JobState::Checking { .. } => "checking",
            JobState::Retrying { .. } => "retrying",
            JobState::Parked { .. } => "parked",
            JobState::Reviewing { .. } => "reviewing",
            JobState::Merging { .. } => "merging",
            JobState::NeedsHuman { .. } => "needs_human",
            JobState::Finishing { .. } => "finishing",
            JobState::Ended { end: End::Merged } => "merged",
            JobState::Ended { end: End::Blocked } => "blocked",
            JobState::Ended { end: End::Failed } => "failed",
            JobState::Ended { end: End::Cancelled } => "cancelled",
            JobState::Ended { end: End::Refused } => "refused",
            JobState::Ended { end: End::Reviewed } => "reviewed",
        }
    }
}

/// A question's number and what it may be answered with.
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
    #[serde(default)]
    pub kind: JobKind,
    pub project: ProjectName,
    pub issue: IssueNumber,
    pub title: String,
    pub branch: String,
    /// The branch its change is to land on, as its issue said when it was begun; `None`: the primary branch.
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
    /// The newest head that passed the checks.
    pub green: Option<Green>,
    /// The newest head that goes on without having passed them by itself: its trial tells.
    #[serde(default)]
    pub unchecked: Option<Sha>,
    /// The newest head that failed them.
    #[serde(default)]
    pub red: Option<RedHead>,
    /// The commit of the primary branch that the head stands on.
    #[serde(default)]
    pub base: Option<Sha>,
    /// The dev session that owns the job now, and the newest there ever was.
    pub session: Option<Epoch>,
    pub last_session: Option<Epoch>,
    pub review_session: Option<Epoch>,
    /// Where an older program kept the newest review; it is taken over at the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<SeenReview>,
    /// Heads that make the same change as others that were published before; bounded.
    #[serde(default)]
    pub same_changes: Vec<SameChange>,
    /// The review the agent was last told of.
    pub review_told: Option<u64>,
    pub ci_fixes: u32,
    pub ci_retries: u32,
    pub review_rounds: u32,
    pub review_attempts: u32,
    pub merge_rounds: u32,
    pub respawns: u32,
    pub reminders: u32,
    /// Runs of the checks and questions asked, over the job's whole life.
    #[serde(default)]
    pub ci_runs: u32,
    #[serde(default)]
    pub questions: u32,
    /// The head reviewers were last started for, and whether another is to follow the one that is
    /// being ended.
    #[serde(default)]
    pub review_head: Option<Sha>,
    #[serde(default)]
    pub reviewer_wanted: bool,
    /// Times the project's setup of the worktree failed.
    #[serde(default)]
    pub setups_failed: u32,
    /// When the worktree is to be snapshotted next.
    #[serde(default)]
    pub checkpoint_at: Option<Time>,
    /// A conversation that could not be taken up again is not tried twice.
    #[serde(default)]
    pub resume_failed: bool,
    /// Sessions replaced because their context was full, and times the present one was given more time.
    #[serde(default)]
    pub cycles: u32,
    #[serde(default)]
    pub extensions: u32,
    /// It waits until its project's agents can work; and how many sessions in a row never began to.
    #[serde(default, rename = "held")]
    pub unstaffed: bool,
    #[serde(default)]
    pub stillborn: u32,
    /// A successor is to start as soon as nothing is left of its predecessor.
    #[serde(default)]
    pub successor_due: bool,
    /// An end that was asked for while a publication was under way.
    #[serde(default)]
    pub end_wanted: Option<(End, String)>,
    /// Since when a person has it, by command.
    #[serde(default)]
    pub taken: Option<Time>,
    /// A reviewer is to start as soon as one may.
    #[serde(default)]
    pub reviewer_put_off: bool,
    /// When the worktree of a job that ended without a merge is removed, and how many removals are
    /// under way.
    #[serde(default)]
    pub release_at: Option<Time>,
    #[serde(default)]
    pub releasing: u32,
    pub merged: Option<Sha>,
    /// Why it ended, or what is wrong.
    pub reason: Option<String>,
    pub rescue: Option<String>,
    /// The end of what its newest dev session printed, for the diagnosis.
    pub last_output: String,
    pub history: Vec<Stage>,
    #[serde(default)]
    pub memo: Memo,
}
record!(Job, "job", JobId, |j| j.id, |k| k.to_string());

impl Job {
    pub fn new(
        id: JobId,
        kind: JobKind,
        project: ProjectName,
        issue: IssueNumber,
        branch: String,
        state: JobState,
        now: Time,
    ) -> Job {
        let history = vec![Stage { state: state.name().into(), at: now }];
        Job {
            id,
            kind,
            project,
            issue,
            title: String::new(),
            branch,
            target: None,
            state,
            created_at: now,
            deadline: None,
            worktree: None,
            pr: None,
            head: None,
            green: None,
            unchecked: None,
            red: None,
            base: None,
            session: None,
            last_session: None,
            review_session: None,
            review: None,
            same_changes: Vec::new(),
            review_told: None,
            ci_fixes: 0,
            ci_retries: 0,
            review_rounds: 0,
            review_attempts: 0,
            merge_rounds: 0,
            respawns: 0,
            reminders: 0,
            ci_runs: 0,
            questions: 0,
            review_head: None,
            reviewer_wanted: false,
            setups_failed: 0,
            checkpoint_at: None,
            resume_failed: false,
            cycles: 0,
            extensions: 0,
            unstaffed: false,
            stillborn: 0,
            successor_due: false,
            end_wanted: None,
            taken: None,
            reviewer_put_off: false,
            release_at: None,
            releasing: 0,
            merged: None,
            reason: None,
            rescue: None,
            last_output: String::new(),
            history,
            memo: Memo::default(),
        }
    }

    pub fn is_review(&self) -> bool {
        self.kind == JobKind::Review
    }

    /// The queue that its change goes through.
    pub fn queue(&self) -> QueueId {
        QueueId::new(&self.project, self.target.as_ref())
    }

    pub fn is_live(&self) -> bool {
        !matches!(self.state, JobState::Ended { .. })
    }

    /// Whether that head may be reviewed and queued: it is green, or its trial will tell.
    pub fn is_fit(&self, head: &Sha, policy: &Policy) -> bool {
        let green = self.green.as_ref().is_some_and(|g| g.commit() == head && g.holds(policy));
        green || self.unchecked.as_ref() == Some(head)
    }

    pub fn end(&self) -> Option<End> {
        match self.state {
            JobState::Ended { end } => Some(end),
            _ => None,
        }
    }

    /// Whether `head` makes the same change as `of` did, as far as is known: itself, or by way of heads between.
    /// `each_commit`: also by the same commits.
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

    /// Takes in that `head` makes the same change as each of these.
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

/// More than reviews are kept of a pull request.
const SAME_CHANGES_MAX: usize = 60;

/// A head that failed the checks, and how often in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedHead {
    pub head: Sha,
    pub runs: u32,
}

/// `head` is `of`, put on top of another commit of the primary branch, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SameChange {
    pub head: Sha,
    pub of: Sha,
    /// Also commit by commit.
    pub each_commit: bool,
}
