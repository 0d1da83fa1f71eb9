//! `[compat] seed_files`: takes in what tools made for the phase protocol's own system put into the phase
//! files' folder, and puts there what they look for. See [`SeedFiles`].
//!
//! Invariant: a reply answers the one question that was open when it was taken, and no other: it is removed
//! only when that question is no longer open.

use crate::projects::Projects;
use shopfloor_adapters::host::file_watch::{FileWatcher, When};
use shopfloor_adapters::seed_files::SeedFiles;
use shopfloor_core::effect::outcome::Amount;
use shopfloor_core::effect::{CiReport, CommitSource, Tidy};
use shopfloor_core::event::Event;
use shopfloor_core::ids::{IssueNumber, ProjectName, QuestionId, RunId};
use shopfloor_core::state::{Floor, Job, JobState};
use shopfloor_engine::ports::{Ci, CiRequest, PortResult};
use shopfloor_engine::{Handle, Input};
use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Place = (ProjectName, IssueNumber);

pub struct SeedWatch {
    shared: Arc<Shared>,
    /// Issues that have, or may have, files there, and issues with a mark.
    known: Option<BTreeSet<Place>>,
    marked: BTreeSet<Place>,
    _files: FileWatcher,
}

struct Shared {
    seeds: SeedFiles,
    configs: Projects,
    handle: Handle,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    questions: Vec<(QuestionId, Place)>,
    /// Questions whose replies were taken, and those whose replies were passed on.
    taken: BTreeSet<QuestionId>,
    sent: BTreeSet<QuestionId>,
    /// How many questions were open when it was unclear which of them a reply answers.
    unclear: usize,
}

impl SeedWatch {
    pub fn start(seeds: SeedFiles, configs: Projects, handle: Handle) -> io::Result<SeedWatch> {
        let taken = seeds.answered().into_iter().collect();
        let reply = seeds.reply();
        let open = Mutex::new(Open { taken, ..Open::default() });
        let shared = Arc::new(Shared { seeds, configs, handle, open });
        let for_files = shared.clone();
        let files = FileWatcher::spawn(move |_| for_files.look())?;
        files.watch_when(0, reply, When::Written)?;
        Ok(SeedWatch { shared, known: None, marked: BTreeSet::new(), _files: files })
    }

    pub fn reconcile(&mut self, floor: &Floor) {
        self.reconcile_files(floor);
        let open = floor.jobs.iter().filter_map(|job| match &job.state {
            // Those tools know of issues alone.
            JobState::NeedsHuman { asked, .. } => Some((asked.id, job.place()?)),
            _ => None,
        });
        let open: Vec<_> = open.collect();
        {
            let mut state = self.shared.open();
            if state.questions == open && state.taken.is_empty() {
                return;
            }
            state.questions = open;
        }
        self.shared.look();
    }

    /// Updates the marks of repeated questions, and removes everything of issues that nobody works on.
    fn reconcile_files(&mut self, floor: &Floor) {
        let live: BTreeSet<Place> =
            floor.jobs.iter().filter(|j| j.is_live()).filter_map(Job::place).collect();
        let seeds = &self.shared.seeds;
        // At the start, also what an earlier daemon may have left.
        let all = || floor.jobs.iter().filter_map(Job::place).collect();
        for (project, issue) in self.known.take().unwrap_or_else(all).difference(&live) {
            seeds.forget_issue(project, *issue);
        }
        let repeated = |job: &&Job| matches!(job.state, JobState::NeedsHuman { reminded: 1.., .. });
        let repeated: BTreeSet<Place> = floor.jobs.iter().filter(repeated).filter_map(Job::place).collect();
        for (project, issue) in live.difference(&repeated) {
            if self.marked.remove(&(project.clone(), *issue)) {
                seeds.unmark_renotified(project, *issue);
            }
        }
        for (project, issue) in &repeated {
            if self.marked.insert((project.clone(), *issue))
                && let Err(e) = seeds.mark_renotified(project, *issue)
            {
                tracing::warn!("{e}");
            }
        }
        self.known = Some(live);
    }
}

impl Shared {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a reply, if there is one and it is clear which question it answers, and passes on what was
    /// taken.
    fn look(&self) {
        let mut open = self.open();
        match self.seeds.has_reply() {
            Ok(true) => self.take(&mut open),
            Ok(false) => open.unclear = 0,
            Err(e) => tracing::warn!("a reply is not taken: {e}"),
        }
        let Open { questions, taken, sent, .. } = &mut *open;
        taken.retain(|id| {
            let Some((_, (project, issue))) = questions.iter().find(|(open, _)| open == id) else {
                self.seeds.forget_reply(*id);
                return false;
            };
            if sent.insert(*id) {
                self.answer(*id, project, *issue);
            }
            true
        });
    }

    fn take(&self, open: &mut Open) {
        let count = open.questions.len();
        match open.questions.as_slice() {
            // The reply is left for the next question.
            [] => {}
            [(id, _)] => match self.seeds.take_reply(*id) {
                Ok(()) => {
                    open.taken.insert(*id);
                    // A second reply, before the first was acted upon, comes too late.
                    open.unclear = 0;
                }
                Err(e) => tracing::warn!("a reply cannot be taken: {e}"),
            },
            [(_, (project, _)), ..] if open.unclear != count => {
                open.unclear = count;
                let text = format!(
                    "{} is not taken: {count} questions are open. `shopfloor questions` shows them; answer with `shopfloor answer`",
                    self.seeds.reply().display()
                );
                self.handle.send(Input::Event(Event::Escalated { project: project.clone(), text }));
            }
            _ => {}
        }
    }

    fn answer(&self, id: QuestionId, project: &ProjectName, issue: IssueNumber) {
        // It waits until it is known what is to be hidden in it.
        let Some(redactor) = self.configs.get(project).map(|p| p.redactor) else { return };
        let text = match self.seeds.answer(id) {
            Ok(Some(text)) => text,
            Ok(None) => return,
            Err(e) => {
                tracing::warn!("a reply cannot be read: {e}");
                return;
            }
        };
        let (project, issue, text) = (project.clone(), Some(issue), redactor.redact(&text));
        self.handle.send(Input::Event(Event::Answered { project, issue, text, question: Some(id) }));
    }
}

/// Runs the checks, and puts the newest result where those tools look for it.
pub struct SeedCi {
    pub inner: Arc<dyn Ci>,
    pub seeds: SeedFiles,
}

impl Ci for SeedCi {
    fn run(&self, request: &CiRequest<'_>) -> PortResult<CiReport> {
        let report = self.inner.run(request)?;
        if let (Some(issue), CommitSource::Hub) = (request.issue, request.source)
            && let Err(e) = self.seeds.write_ci_result(request.project, issue, request.commit, &report)
        {
            tracing::warn!("{e}");
        }
        Ok(report)
    }

    fn prune(&self, tidy: &Tidy) -> PortResult<Amount> {
        self.inner.prune(tidy)
    }

    fn cancel(&self, project: &ProjectName, run: RunId) -> PortResult<()> {
        self.inner.cancel(project, run)
    }
}
