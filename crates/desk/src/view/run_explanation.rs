//! Why a run of a formula is where it is: its job, what is asked and still to be done for it, and the notes about it.

use super::explanation::{self, MessageView, PendingView, StageView, concerns};
use super::formula_run::FormulaRunView;
use super::job::JobView;
use super::note::NoteView;
use super::question::{self, QuestionView};
use crate::{DaemonView, Desk, Error, Result};
use serde::Serialize;
use shopfloor_core::ids::{ProjectName, RunNumber};
use shopfloor_core::state::{Floor, Job, Run};
use shopfloor_store::{JournalEntry, NoteFilter, OutboxEffect, Store};

const NOTES: usize = 20;
/// How many of the project's notes are searched for those about the run.
const NOTES_LOOKED_AT: usize = 2000;

#[derive(Serialize)]
pub struct Explanation {
    pub run: FormulaRunView,
    pub daemon: DaemonView,
    /// `null` before it begins.
    pub job: Option<JobView>,
    /// When the job entered each state.
    pub history: Vec<StageView>,
    /// What people are asked about it.
    pub questions: Vec<QuestionView>,
    pub unread_messages: Vec<MessageView>,
    pub pending: Vec<PendingView>,
    pub notes: Vec<NoteView>,
}

/// What an explanation is made of.
pub struct Explained<'f> {
    pub run: &'f Run,
    pub daemon: DaemonView,
    pub job: Option<&'f Job>,
    pub pending: Vec<OutboxEffect>,
    pub notes: Vec<JournalEntry>,
}

impl<'f> Explained<'f> {
    pub fn new(desk: &Desk, floor: &'f Floor, project: &ProjectName, number: RunNumber) -> Result<Self> {
        let run = floor.runs.get(&number).filter(|run| run.project == *project);
        let run = run.ok_or_else(|| Error::no_run(project, number))?;
        let job = run.job().and_then(|job| floor.jobs.get(&job));
        let mut store = desk.reader()?;
        let filter = NoteFilter { project: Some(project.to_string()), ..NoteFilter::default() };
        let mut notes = store.last_notes(&filter, NOTES_LOOKED_AT)?;
        let own = format!("run {number}");
        notes.retain(|note| {
            note.text.strip_prefix(&own).is_some_and(|rest| rest.starts_with(':') || rest.starts_with(' '))
        });
        let surplus = notes.len().saturating_sub(NOTES);
        notes.drain(..surplus);
        let mut pending = store.outbox()?;
        pending.retain(|queued| concerns(&queued.action, floor, project, None, job));
        Ok(Explained { run, daemon: desk.daemon()?, job, pending, notes })
    }

    /// The form that programs get.
    pub fn view(self, floor: &Floor) -> Explanation {
        let job = self.job;
        Explanation {
            run: FormulaRunView::new(floor, self.run),
            daemon: self.daemon,
            job: job.map(|job| JobView::new(floor, job)),
            history: job.map(explanation::history).unwrap_or_default(),
            questions: job
                .map(|job| question::about(floor, job).into_iter().map(Into::into).collect())
                .unwrap_or_default(),
            unread_messages: job.map(|job| explanation::unread(floor, job)).unwrap_or_default(),
            pending: self.pending.iter().map(explanation::pending_view).collect(),
            notes: self.notes.into_iter().map(NoteView::from).collect(),
        }
    }
}
