//! Events: everything the core is ever told. Each is journaled before anything acts on it.

mod asked;
mod note;
mod page;

pub use asked::{Accepter, BranchAsk, HealthAck, RunAsk, StepSaid, TryAsk, VaultAsk, Word};
pub use note::{Note, NoteKind};
pub use page::{Observation, Page, Seen};

use crate::act::Act;
use crate::delivery::Transition;
use crate::effect::{Action, Outcome};
use crate::ids::{
    ActId, Epoch, IssueNumber, MessageId, PrNumber, ProjectName, QuestionId, RequestNumber, RunId, RunNumber,
    ScheduleName, Sha, Target,
};
use crate::phase::{Ask, PhaseReport};
use crate::planner::Priority;
use crate::policy::Policy;
use crate::state::{AnswerEnd, Due, SchedulePlan, SessionStatus, WorkPhase};
use crate::time::Time;
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
    /// A person wants an act undone.
    UndoAsked {
        project: ProjectName,
        act: ActId,
        /// Whatever became of it since.
        #[serde(default)]
        force: bool,
        by: String,
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
    /// A person wants the machine and a project looked at now, and what is found remedied.
    CheckupAsked {
        project: ProjectName,
    },
    /// A person does not want to hear of a finding for a while.
    HealthAcked {
        project: ProjectName,
        ack: HealthAck,
    },
    HealthUnacked {
        project: ProjectName,
        ack: HealthAck,
    },
    /// A person writes to a project's supervisor.
    SupervisorTold {
        project: ProjectName,
        text: String,
        by: String,
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
                | Event::CheckupAsked { .. }
                | Event::HealthAcked { .. }
                | Event::HealthUnacked { .. }
                | Event::SupervisorTold { .. }
                | Event::UndoAsked { .. }
                | Event::TryAsked { .. }
                | Event::TryDropped { .. }
                | Event::QueuePaused { .. }
                | Event::TidyAsked { .. }
        )
    }
}
