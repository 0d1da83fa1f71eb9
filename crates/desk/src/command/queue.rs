//! The merge queue: changes put in, taken out and queued again; queues paused and resumed.

use super::asking::queues_meant;
use super::{Asking, Change, Wish};
use crate::{Desk, Error, Exit, Result, texts};
use serde::Serialize;
use shopfloor_core::event::Event;
use shopfloor_core::ids::{IssueNumber, ProjectName, QueueId, Sha};
use shopfloor_core::planner::Priority;
use shopfloor_core::state::{End, Entry, Job, JobState, Project};
use shopfloor_core::step::may_merge;
use shopfloor_core::text::one_line;

/// What was put into the queue: a job's change, by its issue, or a branch that no job carries.
pub struct Queued {
    pub change: Change,
    /// The head that was approved in the same step.
    pub approved: Option<Sha>,
}

/// What holds queues, if anything does.
#[derive(Serialize)]
pub struct HoldView {
    pub paused: Option<String>,
    pub paused_below: Option<&'static str>,
    pub project: ProjectName,
    pub queues: Vec<String>,
    /// Who they are held for, in words.
    #[serde(skip)]
    pub pause: Option<String>,
}

impl Desk {
    /// Puts an issue's change or a person's branch into the queue; moves it ahead if it is already there and
    /// urgent.
    pub fn queue(&self, asking: &Asking<'_>, change: &Change, wish: Wish) -> Result<Queued> {
        let project = &asking.project.name;
        let floor = self.committed_about(&[change.shelf(project)])?;
        if let Change::Branch(name) = change {
            let job = floor.job_on(project, name);
            // A job that ended leaves its branch to people, unless it can continue just as it was.
            let can_continue = |job: &Job| {
                job.is_live()
                    || may_merge(&floor, job).is_ok_and(|head| {
                        asking.look(name, job.target.as_ref()).is_ok_and(|found| found.head == head)
                    })
            };
            if !job.is_some_and(can_continue) {
                return self.queue_branch(asking, name, wish);
            }
        }
        let job = change.job(&floor, project)?;
        let issue = of_issue(job)?;
        if wish.approve.is_given() || wish.pr.is_some() || wish.target.is_some() {
            let pr = job.pr.map_or_else(|| "PR".to_owned(), |pr| pr.to_string());
            let error = Error::usage(format!("the job of issue #{issue} carries that change"));
            return Err(match wish.target {
                Some(_) => error.hint("its issue's labels say where it lands, when the job is begun"),
                None => error.hint(format!("`shopfloor pr review {pr} --approve` approves it")),
            });
        }
        if job.end() == Some(End::Merged) {
            return Err(Error::failed(format!("issue #{issue} is merged already"))
                .hint(format!("`shopfloor explain {issue}` says when and as what")));
        }
        let Wish { urgent, alone, .. } = wish;
        if !matches!(job.state, JobState::InQueue { .. }) {
            may_merge(&floor, job).map_err(|why| {
                Error::failed(format!("issue #{issue} cannot be queued: {why}"))
                    .hint(format!("`shopfloor explain {issue}` says what it waits for"))
            })?;
        }
        self.submit(&Event::MergeAsked { project: project.clone(), issue, urgent, alone })?;
        Ok(Queued { change: Change::Issue(issue), approved: None })
    }

    /// Queues it again, to land where it was to land before: nobody asked for another branch.
    pub fn queue_again(&self, asking: &Asking<'_>, change: &Change) -> Result<Queued> {
        let target = match change {
            Change::Issue(_) => None,
            Change::Branch(name) => {
                let project = &asking.project.name;
                let floor = self.committed_about(&[change.shelf(project)])?;
                let same = |e: &&Entry| e.job.is_none() && e.project == *project && e.branch == *name;
                floor.entries.iter().rev().find(same).and_then(|e| e.target.clone())
            }
        };
        self.queue(asking, change, Wish { target, ..Wish::default() })
    }

    /// Takes a change out of the queue.
    pub fn unqueue(&self, project: &ProjectName, change: &Change) -> Result<Change> {
        let engine = self.engine()?;
        if let Change::Branch(name) = change
            && engine.floor().queued_by_person(project, name).is_some()
        {
            return self.unqueue_branch(project, name);
        }
        let job = change.job(engine.floor(), project)?;
        let issue = of_issue(job)?;
        if !matches!(job.state, JobState::InQueue { .. }) {
            return Err(Error::no_such(format!("issue #{issue} is not in the merge queue"))
                .hint(format!("its job is {}", job.state.name())));
        }
        self.submit(&Event::MergeRefused { project: project.clone(), issue })?;
        let engine = self.engine()?;
        let job = engine.floor().job_of(project, issue);
        if job.is_some_and(|j| matches!(j.state, JobState::InQueue { .. })) {
            return Err(Error::new(Exit::Busy, format!("issue #{issue} is being published right now"))
                .hint("it lands, or it can be removed when the publication has failed"));
        }
        Ok(Change::Issue(issue))
    }

    /// Pauses the queue of a target, or all of the project's: below a threshold, or altogether.
    pub fn pause_queues(
        &self,
        project: &Project,
        to: Option<&str>,
        why: &str,
        below: Option<Priority>,
    ) -> Result<HoldView> {
        let queues = queues_meant(self.engine()?.floor(), project, to)?;
        self.hold(&project.name, &queues, Some(one_line(why, 200)), below)
    }

    /// The queues that resume when told to, and those that do not: a rewound release branch is accepted only
    /// by its name.
    pub fn resumable(&self, project: &Project, to: Option<&str>) -> Result<(Vec<QueueId>, Vec<QueueId>)> {
        let engine = self.engine()?;
        let lost = |queue: &QueueId| engine.floor().queues.get(queue)?.lost.as_ref();
        let is_moved = |queue: &QueueId| lost(queue).is_some_and(|lost| lost.known.is_some());
        let unnamed = |queue: &QueueId| to.is_none() && queue.target.is_some() && is_moved(queue);
        let queues = queues_meant(engine.floor(), project, to)?;
        Ok(queues.into_iter().partition(|queue| !unnamed(queue)))
    }

    /// The queues that stand still because of where their branch is.
    pub fn standing_still(&self, project: &Project, to: Option<&str>) -> Result<Vec<QueueId>> {
        let engine = self.engine()?;
        let is_lost = |id: &QueueId| engine.floor().queues.get(id).is_some_and(|q| q.lost.is_some());
        Ok(queues_meant(engine.floor(), project, to)?.into_iter().filter(is_lost).collect())
    }

    pub fn resume_queues(&self, asking: &Asking<'_>, queues: &[QueueId]) -> Result<HoldView> {
        let Project { name: project, policy, .. } = &asking.project;
        let engine = self.engine()?;
        for queue in queues {
            let branch = policy.branch_of(queue.target.as_ref());
            let is_lost = engine.floor().queues.get(queue).is_some_and(|q| q.lost.is_some());
            if is_lost && (asking.origin)()?.branch(branch).is_none() {
                let what = if queue.target.is_none() { "primary branch" } else { "branch" };
                return Err(Error::failed(format!("the hub of {project} has no {what} {branch}"))
                    .hint(format!("put it back first: `git push shopfloor {branch}`")));
            }
        }
        self.hold(project, queues, None, None)
    }

    fn hold(
        &self,
        project: &ProjectName,
        queues: &[QueueId],
        paused: Option<String>,
        below: Option<Priority>,
    ) -> Result<HoldView> {
        for QueueId { project, target } in queues.iter().cloned() {
            self.submit(&Event::QueuePaused { project, target, why: paused.clone(), below })?;
        }
        let engine = self.engine()?;
        Ok(HoldView {
            paused,
            paused_below: below.map(Priority::name),
            project: project.clone(),
            queues: queues.iter().map(QueueId::branch_in_words).collect(),
            pause: queues.iter().find_map(|id| engine.floor().queues.get(id)?.pause()),
        })
    }
}

/// What a run made gets into the queue, and out of it, with the run alone.
fn of_issue(job: &Job) -> Result<IssueNumber> {
    job.number().ok_or_else(|| {
        Error::failed(format!("the job of {} carries that change", job.assignment))
            .hint(texts::how_far(job.assignment))
    })
}
