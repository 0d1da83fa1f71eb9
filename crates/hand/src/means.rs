//! What hand sessions need from the floor they are on, and which session a name means.

use crate::sessions::{Hand, HandError, HandSessions};
use shopfloor_adapters::git::origin::Origin;
use shopfloor_adapters::git::{Git, GitWorkspace};
use shopfloor_adapters::setup::WorktreeSetup;
use shopfloor_core::ids::{HandName, ProjectName};
use shopfloor_core::redact::Redactor;
use shopfloor_core::runtime::RuntimeSpec;
use shopfloor_core::state::Project;
use shopfloor_core::text::neutralise;
use shopfloor_desk::{Desk, Error, Exit, Result};
use std::sync::Arc;

/// What follows from the configuration and the environment, which only the binary reads. Each is made on
/// request, so a mistake in the configuration stops only those who need it.
pub trait Means {
    fn desk(&self) -> &Desk;
    fn sessions(&self) -> HandSessions;
    fn git(&self) -> Result<Git>;
    /// Where a project's branches live.
    fn origin(&self, project: &ProjectName) -> Result<Arc<dyn Origin>>;
    /// Git as the agents' workplace.
    fn workspace(&self) -> Result<GitWorkspace>;
    /// What the projects want done to worktrees.
    fn setup(&self) -> Result<WorktreeSetup>;
    /// A runtime, with the user's overrides.
    fn runtime(&self, name: &str) -> Result<Arc<RuntimeSpec>>;
    /// What hides a project's secrets.
    fn redactor(&self, project: Option<&ProjectName>) -> Redactor;
    /// A remark to the caller, besides the answer.
    fn remark(&self, text: &str);
}

impl dyn Means + '_ {
    pub(crate) fn project(&self, name: &ProjectName) -> Result<Project> {
        let project = self.desk().engine()?.floor().projects.get(name).cloned();
        project.ok_or_else(|| Error::no_such("its project is not on this floor any more"))
    }

    /// The runtime a session was started with; without a record, nothing is known about it.
    pub fn runtime_of(&self, hand: &Hand) -> Result<Arc<RuntimeSpec>> {
        self.runtime(hand.record.as_ref().map_or("generic", |record| &record.runtime))
    }
}

/// The session that is meant, ended or not.
pub fn find(desk: &Desk, hands: &HandSessions, who: &str) -> Result<Hand> {
    if let Some(found) = hands.find(who)? {
        return Ok(found);
    }
    refuse_jobs(desk, who)?;
    Err(Error::no_such(format!("there is no session {who}")).hint("`shopfloor session list` shows them"))
}

/// The session that is meant, which must still exist.
pub fn find_live(desk: &Desk, hands: &HandSessions, who: &str) -> Result<Hand> {
    let hand = find(desk, hands, who)?;
    match hand.ended() {
        Some(ended) => Err(Error::no_such(format!("session {} is over: {}", hand.name, ended.why))),
        None => Ok(hand),
    }
}

/// Jobs' sessions belong to the factory: it would replace one that dies.
fn refuse_jobs(desk: &Desk, who: &str) -> Result<()> {
    let Ok(engine) = desk.engine() else { return Ok(()) };
    let Some(session) = engine.floor().sessions.iter().find(|session| session.tmux == who) else {
        return Ok(());
    };
    let assignment = session.assignment;
    let cancel = match assignment.run() {
        Some(run) => format!("run cancel {run}"),
        None => format!("cancel {}", assignment.tag()),
    };
    Err(Error::usage(format!("{who} is the session of a job, for {assignment}"))
        .hint(format!("`shopfloor {cancel}` ends the job with it; `shopfloor attach {who}` shows it")))
}

/// What a session printed, safe to show.
pub fn printed(hands: &HandSessions, name: &HandName, lines: u32, redactor: &Redactor) -> Result<String> {
    let text = hands.tmux.capture(&name.to_string(), lines).map_err(HandError::from)?;
    Ok(redactor.redact(&neutralise(&text)))
}

impl From<HandError> for Error {
    fn from(e: HandError) -> Self {
        match &e {
            HandError::Busy(_) => Error::new(Exit::Busy, e.to_string()).hint("try again"),
            HandError::Tree { name, .. } => Error::failed(e.to_string()).hint(format!(
                "fix that and start another; `shopfloor session finish {name} --drop` removes what is left of this one"
            )),
            _ => Error::failed(e.to_string()),
        }
    }
}
