//! Events: everything the core is ever told. Each is journaled before anything acts on it.

use crate::act::Act;
use crate::delivery::Transition;
use crate::effect::{Action, Outcome, Verdict};
use crate::forge::{Cursor, Subject, Version};
use crate::hints::Hints;
use crate::ids::{
    Epoch, IssueNumber, MessageId, PrNumber, ProjectName, QuestionId, RequestNumber, RequestType, Role,
    RunId, RunNumber, ScheduleName, Sha, StepId, Target,
};
use crate::phase::{Ask, PhaseReport};
use crate::planner::{Priority, TreeId};
use crate::policy::Policy;
use crate::recipe::Recipe;
use crate::state::{AnswerEnd, Decision, Due, SchedulePlan, SessionStatus, WorkPhase};
use crate::time::Time;
use crate::vault::Spec;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A project was registered or its policy changed.
    ProjectSet {
        project: ProjectName,
        checkout: String,
        policy: Policy,
    },
    /// A project's configuration cannot be read: nothing new is started until it can.
    ProjectPaused {
        project: ProjectName,
        why: String,
    },
    /// The part of a project's configuration that executes or grants is in force as `text` from now on, and as
    /// `ahead` as soon as its files say that.
    ConfigAccepted {
        project: ProjectName,
        text: String,
        #[serde(default)]
        ahead: Option<String>,
        by: Accepter,
    },
    /// What a project's files say of that part now, and how it differs from what is in force, for people.
    ConfigSeen {
        project: ProjectName,
        text: String,
        diff: String,
    },
    /// A page of what a project's forge shows. Level-triggered: an observation may repeat or come late, and says
    /// what is, not what changed.
    Observed {
        project: ProjectName,
        #[serde(flatten)]
        page: Page,
    },
    /// An effect was performed.
    Performed {
        action: Action,
        outcome: Outcome,
    },
    /// A session's phase file was written. `stamp` tells one writing from the next.
    PhaseWritten {
        epoch: Epoch,
        stamp: String,
        report: PhaseReport,
    },
    /// A session's phase file holds something that is not a phase.
    PhaseUnreadable {
        epoch: Epoch,
        stamp: String,
        first_line: String,
    },
    /// A reviewer's result file was written.
    ResultWritten {
        epoch: Epoch,
    },
    /// A session's process is proven gone.
    SessionExited {
        epoch: Epoch,
        status: Option<i32>,
    },
    /// An agent took a message: its turn has started.
    MessageTaken {
        message: MessageId,
        epoch: Epoch,
    },
    /// A message that is typed into a session's terminal got a step further, or will get no further.
    MessageMoved {
        message: MessageId,
        epoch: Epoch,
        to: Transition,
    },
    /// Something keeps a message from being typed; `None`: no longer.
    MessageHeld {
        message: MessageId,
        epoch: Epoch,
        why: Option<String>,
        /// This will not end by itself, so nobody waits to see whether it does.
        #[serde(default)]
        for_good: bool,
    },
    /// What a session's client reveals about how far its work is.
    WorkSeen {
        epoch: Epoch,
        phase: WorkPhase,
    },
    /// A session that reports nothing about itself wrote to its terminal. Repeated now and then while it does.
    OutputSeen {
        epoch: Epoch,
    },
    /// A session's branch is at another commit: usually its agent has committed.
    Committed {
        epoch: Epoch,
        head: Sha,
    },
    /// A session's evidence changed, or has stayed the same for a while.
    StatusSeen {
        epoch: Epoch,
        status: SessionStatus,
        conversation: Option<String>,
    },
    /// What became of a person's answer to a dialog of a session's client.
    DialogAnswered {
        epoch: Epoch,
        question: QuestionId,
        end: AnswerEnd,
    },
    /// A person's terminal that is attached to a session sent a key at that time.
    PersonTyped {
        epoch: Epoch,
        at: Time,
    },
    /// No person's terminal is attached to the session any more.
    PersonLeft {
        epoch: Epoch,
    },
    /// A person takes a job from its agent.
    Taken {
        project: ProjectName,
        issue: IssueNumber,
    },
    /// The person hands it back.
    HandedBack {
        project: ProjectName,
        issue: IssueNumber,
    },
    /// A person pauses the agents of one project, or of all.
    WorkPaused {
        project: Option<ProjectName>,
        why: String,
    },
    /// A person lets them continue.
    WorkResumed {
        project: Option<ProjectName>,
    },
    /// A person answered a question.
    Answered {
        project: ProjectName,
        /// `None`: the question says whose it is.
        issue: Option<IssueNumber>,
        text: String,
        /// The question that is meant; else whichever is open.
        #[serde(default)]
        question: Option<QuestionId>,
    },
    /// A person ended a job.
    Cancelled {
        project: ProjectName,
        issue: IssueNumber,
    },
    /// Somebody, or some program, wants people to look at something.
    Escalated {
        project: ProjectName,
        text: String,
    },
    /// Something that the floor started asked for what only a person may have done. It was not done.
    PersonNeeded {
        project: ProjectName,
        by: String,
        asked: String,
    },
    /// A person wants an issue's change in the merge queue, again or sooner.
    MergeAsked {
        project: ProjectName,
        issue: IssueNumber,
        urgent: bool,
        /// Never tried or landed together with others.
        #[serde(default)]
        alone: bool,
    },
    /// A person wants that change out of the merge queue.
    MergeRefused {
        project: ProjectName,
        issue: IssueNumber,
    },
    /// A person wants a branch that no job carries in the merge queue, again or sooner.
    BranchAsked {
        project: ProjectName,
        ask: BranchAsk,
    },
    /// A person wants that branch out of the merge queue.
    BranchRefused {
        project: ProjectName,
        branch: String,
    },
    /// A person wants an agent to review a pull request that no job carries, as it was at that moment.
    ReviewAsked {
        project: ProjectName,
        pr: PrNumber,
        branch: String,
        head: Sha,
    },
    /// Somebody wants a formula carried out.
    RunAsked {
        project: ProjectName,
        ask: RunAsk,
    },
    /// A person wants a run ended.
    RunCancelled {
        project: ProjectName,
        run: RunNumber,
    },
    /// The schedules that a project has, all of them.
    SchedulesSet {
        project: ProjectName,
        plans: BTreeMap<ScheduleName, SchedulePlan>,
    },
    /// A person wants nothing run by a schedule until further notice.
    SchedulePaused {
        project: ProjectName,
        schedule: ScheduleName,
        by: String,
    },
    ScheduleResumed {
        project: ProjectName,
        schedule: ScheduleName,
        by: String,
    },
    /// A session says of a step of its run that it is done, or passes it over.
    StepSaid {
        epoch: Epoch,
        said: StepSaid,
    },
    /// An agent wants something done on the forge.
    ActAsked {
        epoch: Epoch,
        #[serde(flatten)]
        act: Act,
    },
    /// An agent asks people something, and works on meanwhile.
    QuestionAsked {
        epoch: Epoch,
        question: String,
        ask: Ask,
    },
    /// Somebody asks the vault for something.
    VaultAsked {
        project: ProjectName,
        ask: VaultAsk,
    },
    /// A person says what becomes of a request to the vault.
    VaultDecided {
        project: ProjectName,
        request: RequestNumber,
        word: Word,
    },
    /// Somebody wants to know whether a branch would land.
    TryAsked {
        project: ProjectName,
        ask: TryAsk,
    },
    /// Nobody wants to know any more.
    TryDropped {
        project: ProjectName,
        branch: String,
    },
    /// A branch that waits, with its job or in the queue, is not where it was; `None`: it is gone.
    BranchTouched {
        project: ProjectName,
        branch: String,
        head: Option<Sha>,
    },
    /// The primary branch of the user's checkout is not where the hub's is.
    CheckoutTouched {
        project: ProjectName,
    },
    /// Somebody moved the primary branch, or may have.
    PrimaryTouched {
        project: ProjectName,
        #[serde(default)]
        target: Option<Target>,
    },
    /// Somebody is about to push that to a branch of the hub, and is no agent, check or setup.
    BranchPushed {
        project: ProjectName,
        branch: String,
        old: Option<Sha>,
        new: Sha,
        by: String,
    },
    /// A repository of the floor's was not as the factory wrote it, and was put right.
    FoundChanged {
        project: ProjectName,
        repository: String,
        what: String,
    },
    /// An effect, or the reading of the forge (see [`crate::step::read_lane`]), has failed a few times and is
    /// being retried.
    TroubleSeen {
        project: ProjectName,
        lane: String,
        /// The action's name.
        what: String,
        issue: Option<IssueNumber>,
        why: String,
    },
    /// Something that is not an effect works again.
    TroubleOver {
        project: ProjectName,
        lane: String,
    },
    /// A person pauses the merge queue; `None`: resumes it.
    QueuePaused {
        project: ProjectName,
        #[serde(default)]
        target: Option<Target>,
        why: Option<String>,
        /// Only entries below this priority.
        #[serde(default)]
        below: Option<Priority>,
    },
    /// A person wants what is old removed now, in one project or (`None`) in all.
    TidyAsked {
        #[serde(default)]
        project: Option<ProjectName>,
    },
    /// Numbers that are already in use although the store does not know it, because it was restored from a copy.
    NumbersSeen {
        epoch: Epoch,
        run: RunId,
    },
    /// Something that agents need may have been fixed: a key, a login, a program; or a person says so. `None`: in
    /// any project.
    StaffTouched {
        #[serde(default)]
        project: Option<ProjectName>,
    },
    /// The daemon starts, or the machine slept: for a while nobody was there to take in signals.
    Resumed,
    /// A deadline has passed.
    Tick,
    /// One of those timers, by itself, because the program failed on all of them together.
    TimerDue {
        due: Due,
    },
    /// The program failed on an event: it is skipped, and people are told.
    SetAside {
        aside: Box<Event>,
        what: String,
        why: String,
    },
}

impl Event {
    /// Whether only a person brings it about, with a command. Where commands are committed, nobody else's are.
    pub fn is_a_persons(&self) -> bool {
        matches!(
            self,
            Event::ConfigAccepted { .. }
                | Event::Taken { .. }
                | Event::HandedBack { .. }
                | Event::WorkPaused { .. }
                | Event::WorkResumed { .. }
                | Event::Answered { .. }
                | Event::Cancelled { .. }
                | Event::MergeAsked { .. }
                | Event::MergeRefused { .. }
                | Event::BranchAsked { .. }
                | Event::BranchRefused { .. }
                | Event::ReviewAsked { .. }
                | Event::RunAsked { .. }
                | Event::RunCancelled { .. }
                | Event::SchedulePaused { .. }
                | Event::ScheduleResumed { .. }
                | Event::VaultDecided { .. }
                | Event::TryAsked { .. }
                | Event::TryDropped { .. }
                | Event::QueuePaused { .. }
                | Event::TidyAsked { .. }
        )
    }
}

/// By whose word a configuration is in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Accepter {
    Person(String),
    /// Nobody's: the floor had it when acceptance was introduced.
    First,
    /// The floor's own file accepts everything.
    Policy,
}

/// A branch that a person wants merged, as it was when they asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BranchAsk {
    pub branch: String,
    pub head: Sha,
    pub tree: TreeId,
    pub title: String,
    /// What its commit is to say besides the title; `None`: what the branch's own commits say.
    #[serde(default)]
    pub message: Option<String>,
    /// Its pull request and the issue that one is for, if any.
    pub pr: Option<(PrNumber, Option<IssueNumber>)>,
    /// Who asks.
    pub by: String,
    /// Who made its newest commit.
    #[serde(default)]
    pub author: Option<String>,
    /// Whose approval of this head is on record.
    pub approved_by: Option<String>,
    pub urgent: bool,
    /// Never tried or landed together with others.
    #[serde(default)]
    pub alone: bool,
    /// The branch it is to land on; `None`: the primary branch.
    #[serde(default)]
    pub target: Option<Target>,
    /// Branches that it has to land after.
    #[serde(default)]
    pub after: Vec<String>,
    /// Protected files that it changes, if no person has approved that.
    #[serde(default)]
    pub unapproved: Vec<String>,
}

/// A formula that somebody wants carried out, filled in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunAsk {
    pub recipe: Recipe,
    /// Who asks.
    pub by: String,
    /// The schedule by which it is due, if that is why.
    #[serde(default)]
    pub schedule: Option<ScheduleName>,
}

/// What a session says of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepSaid {
    pub step: StepId,
    /// It is passed over, for the reason in `note`.
    #[serde(default)]
    pub skip: bool,
    #[serde(default)]
    pub note: String,
}

/// What somebody asks the vault for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VaultAsk {
    pub r#type: RequestType,
    /// The type as the floor's own file declares it; `None`: it does not.
    pub spec: Option<Spec>,
    pub payload: String,
    pub reason: String,
    /// Who asks, through which interface, and the session if it is an agent's.
    pub by: String,
    pub from: String,
    #[serde(default)]
    pub session: Option<Epoch>,
}

/// What a person says of a request to the vault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Word {
    pub decision: Decision,
    pub by: String,
    /// The interface that they said it through.
    pub from: String,
    /// The question that they answered; needed if what was asked for is no longer what it was.
    #[serde(default)]
    pub question: Option<QuestionId>,
    #[serde(default)]
    pub why: String,
}

/// A branch that somebody wants tried as it would land, as it was when they asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TryAsk {
    pub branch: String,
    pub head: Sha,
    pub title: String,
    /// The branch it is put on (`None`: the primary branch), and where that branch was.
    pub on: Option<Target>,
    pub base: Sha,
    pub issue: Option<IssueNumber>,
    pub pr: Option<PrNumber>,
    /// It is an agent's branch, and would land as those do.
    pub of_agent: bool,
    pub by: String,
}

/// What was read of a forge in one go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    #[serde(flatten)]
    pub seen: Seen,
    /// Where reading began. A page that did not begin at the cursor does not move it; `None`: this page moves it
    /// in any case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Cursor>,
    /// Where the next page begins.
    pub cursor: Cursor,
    /// There is more to read.
    #[serde(default)]
    pub more: bool,
}

impl Page {
    pub fn of(observation: Observation) -> Page {
        Page { seen: Seen(vec![observation]), ..Page::default() }
    }
}

/// The observations of one page. A single one is written as older builds did, which had no pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub struct Seen(pub Vec<Observation>);

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    One { observation: Box<Observation> },
    Page { observations: Vec<Observation> },
}

impl From<Written> for Seen {
    fn from(written: Written) -> Seen {
        match written {
            Written::One { observation } => Seen(vec![*observation]),
            Written::Page { observations } => Seen(observations),
        }
    }
}

impl From<Seen> for Written {
    fn from(Seen(mut observations): Seen) -> Written {
        match observations.pop() {
            Some(alone) if observations.is_empty() => Written::One { observation: Box::new(alone) },
            last => {
                observations.extend(last);
                Written::Page { observations }
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "seen", rename_all = "snake_case")]
pub enum Observation {
    Issue {
        number: IssueNumber,
        title: String,
        labels: Vec<String>,
        open: bool,
        /// Numbers the issue's text says it depends on.
        deps: Vec<IssueNumber>,
        created_at: Time,
        /// Changes whenever the title or the text does.
        #[serde(default)]
        revision: u64,
        /// Changes with every change of the issue, including ours.
        #[serde(default)]
        version: Version,
        /// What else its text says.
        #[serde(default)]
        hints: Hints,
        /// The role of the agent that made it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Role>,
    },
    Review {
        pr: PrNumber,
        head: Sha,
        verdict: Verdict,
        /// Bounded; the forge has the whole text.
        text: String,
        author: String,
        /// It is from the factory's own reviewer, not from a person.
        #[serde(default)]
        agent: bool,
        /// Its author has withdrawn it.
        #[serde(default)]
        dismissed: bool,
        id: u64,
    },
    Pr {
        number: PrNumber,
        open: bool,
        #[serde(default)]
        branch: String,
        #[serde(default)]
        head: Option<Sha>,
        /// The issues it says it is for.
        #[serde(default)]
        fixes: Vec<IssueNumber>,
        #[serde(default)]
        title: String,
        /// The factory opened it.
        #[serde(default)]
        ours: bool,
        #[serde(default)]
        author: String,
        #[serde(default)]
        labels: Vec<String>,
        /// The commit it was merged as, whoever merged it.
        #[serde(default)]
        merged: Option<Sha>,
    },
    /// What a person said outside a review. Shown again when they edit it. The factory's own comments are not
    /// shown.
    Comment {
        on: Subject,
        /// Unique among the comments of one subject.
        id: u64,
        author: String,
        /// Bounded; the forge has the whole text.
        text: String,
        /// Changes when the text does.
        revision: u64,
        created_at: Time,
    },
}

/// Something that happened, for people and other tools: written to the journal, shown by every UI.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub kind: NoteKind,
    pub project: ProjectName,
    pub issue: Option<IssueNumber>,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum NoteKind {
    AgentRegistered,
    AgentCrashed,
    AgentTerminated,
    AgentStatus,
    /// An agent's context is nearly full; a successor is to follow it; the successor has begun.
    ContextWarning,
    HandoffRequested,
    HandoffComplete,
    /// A client neither moves nor shows any sign of life. (The name is the seeds'.)
    OrchestratorStuck,
    /// A work record says something new.
    #[serde(rename = "HOOK_UPDATED")]
    RecordUpdated,
    /// A formula's run was asked for, started or ended, or one of its steps did.
    RunState,
    JobStarted,
    JobState,
    JobEnded,
    CiResult,
    /// The checks failed, and passed when repeated on the same change.
    CiFlake,
    ReviewResult,
    /// A reviewer's result cannot be used, and why.
    ReviewUnusable,
    QueueState,
    MergeReady,
    MergeConflict,
    MergeFailed,
    MergeComplete,
    MessageQueued,
    MessageTaken,
    MessageUndelivered,
    /// It was not read, and there is no longer anything in it to act upon.
    MessageSuperseded,
    StaleSignal,
    NeedsHuman,
    /// A person has it, or no longer has it.
    Held,
    Escalation,
    /// What only a person may do was asked for by something else, or by an agent what its role may not; and not done.
    Refused,
    /// An agent has the factory do something on the forge; it was done, or cannot be.
    AgentAct,
    /// An issue's text was changed while the issue is being worked on.
    IssueEdited,
    Checkout,
    /// Something was out of order in a worktree, or one was removed.
    Worktree,
    /// Something fails and is retried until it works, or works again.
    Trouble,
    /// What of a project's configuration is in force was settled.
    Config,
    /// The vault was asked for something, or something became of that.
    Vault,
}

impl NoteKind {
    pub fn as_str(self) -> &'static str {
        match self {
            NoteKind::AgentRegistered => "AGENT_REGISTERED",
            NoteKind::AgentCrashed => "AGENT_CRASHED",
            NoteKind::AgentTerminated => "AGENT_TERMINATED",
            NoteKind::AgentStatus => "AGENT_STATUS",
            NoteKind::ContextWarning => "CONTEXT_WARNING",
            NoteKind::HandoffRequested => "HANDOFF_REQUESTED",
            NoteKind::HandoffComplete => "HANDOFF_COMPLETE",
            NoteKind::OrchestratorStuck => "ORCHESTRATOR_STUCK",
            NoteKind::RecordUpdated => "HOOK_UPDATED",
            NoteKind::RunState => "RUN_STATE",
            NoteKind::JobStarted => "JOB_STARTED",
            NoteKind::JobState => "JOB_STATE",
            NoteKind::JobEnded => "JOB_ENDED",
            NoteKind::CiResult => "CI_RESULT",
            NoteKind::CiFlake => "CI_FLAKE",
            NoteKind::QueueState => "QUEUE_STATE",
            NoteKind::ReviewResult => "REVIEW_RESULT",
            NoteKind::ReviewUnusable => "REVIEW_UNUSABLE",
            NoteKind::MergeReady => "MERGE_READY",
            NoteKind::MergeConflict => "MERGE_CONFLICT",
            NoteKind::MergeFailed => "MERGE_FAILED",
            NoteKind::MergeComplete => "MERGE_COMPLETE",
            NoteKind::MessageQueued => "MESSAGE_QUEUED",
            NoteKind::MessageTaken => "MESSAGE_TAKEN",
            NoteKind::MessageUndelivered => "MESSAGE_UNDELIVERED",
            NoteKind::MessageSuperseded => "MESSAGE_SUPERSEDED",
            NoteKind::StaleSignal => "STALE_SIGNAL",
            NoteKind::NeedsHuman => "NEEDS_HUMAN",
            NoteKind::Held => "HELD",
            NoteKind::Escalation => "ESCALATION",
            NoteKind::Refused => "REFUSED",
            NoteKind::AgentAct => "AGENT_ACT",
            NoteKind::IssueEdited => "ISSUE_EDITED",
            NoteKind::Checkout => "CHECKOUT",
            NoteKind::Worktree => "WORKTREE",
            NoteKind::Trouble => "TROUBLE",
            NoteKind::Config => "CONFIG",
            NoteKind::Vault => "VAULT",
        }
    }
}
