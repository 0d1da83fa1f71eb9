//! Pull requests: opened for people's branches, kept in line with them, reviewed by people or at their
//! request, closed.

use super::Asking;
use crate::view::pull::found;
use crate::{Desk, Error, Result, answer, texts};
use shopfloor_adapters::git::branches::OriginBranch;
use shopfloor_core::effect::Verdict;
use shopfloor_core::event::Event;
use shopfloor_core::forge::{PrState, PrSummary};
use shopfloor_core::ids::{PrNumber, ProjectName, Sha};
use shopfloor_core::state::JobState;
use shopfloor_core::step::{NotReviewed, may_ask_for_review};
use shopfloor_engine::ports::Forge;
use shopfloor_engine::ports::forge::{By, NewPr, NewReview};

impl Desk {
    /// The branch, if a pull request may be opened for it.
    pub fn may_open_pull(&self, asking: &Asking<'_>, name: &str) -> Result<OriginBranch> {
        let branch = asking.look(name, None)?;
        let project = &asking.project.name;
        if let Some(job) = self.engine()?.floor().live_jobs(project).find(|job| job.branch == name) {
            return Err(Error::failed(format!("the job of {} carries {name}", job.assignment))
                .hint(texts::how_far(job.assignment)));
        }
        if let Some(pr) = open(&*self.forge(project)?, name)? {
            return Err(Error::failed(format!("{name} has a pull request already: #{}", pr.number))
                .hint(format!("`shopfloor pr show {}` shows it", pr.number)));
        }
        Ok(branch)
    }

    pub fn open_pull(&self, asking: &Asking<'_>, new: &NewPr<'_>) -> Result<PrNumber> {
        let project = &asking.project.name;
        let number = answer(self.forge(project)?.open_pr(new))?;
        pin(asking, number, new.head)?;
        self.hint(project);
        Ok(number)
    }

    /// Closes it without merging.
    pub fn close_pull(&self, project: &ProjectName, number: PrNumber) -> Result<()> {
        let forge = &*self.forge(project)?;
        if found(forge, number)?.state == PrState::Merged {
            return Err(Error::failed(format!("pull request #{number} is merged already")));
        }
        answer(forge.close_pr(number, None))?;
        self.hint(project);
        Ok(())
    }

    /// The pull request, moved to the commit its branch is at now. A job's stays where the factory last
    /// looked at it; if a branch is gone, its last commit stays.
    pub fn follow_branch(&self, asking: &Asking<'_>, pr: PrSummary) -> Result<PrSummary> {
        let project = &asking.project.name;
        let carried = self.engine()?.floor().live_jobs(project).any(|job| job.branch == pr.branch);
        let now = (asking.origin)()?.branch(&pr.branch).filter(|_| pr.state == PrState::Open && !carried);
        let Some(head) = now.filter(|head| *head != pr.head) else { return Ok(pr) };
        pin(asking, pr.number, &head)?;
        answer(self.forge(project)?.move_pr(pr.number, &head))?;
        Ok(PrSummary { head, ..pr })
    }

    /// The pull request as it is to be reviewed.
    pub fn to_review(&self, asking: &Asking<'_>, number: PrNumber) -> Result<PrSummary> {
        let pr = found(&*self.forge(&asking.project.name)?, number)?.summary();
        // A person's branch may have moved since it was looked at: what is approved is where it is now.
        let pr = self.follow_branch(asking, pr)?;
        if pr.state != PrState::Open {
            return Err(Error::failed(format!("pull request #{number} is {}", pr.state.as_str())));
        }
        Ok(pr)
    }

    pub fn review(&self, asking: &Asking<'_>, pr: &PrSummary, verdict: Verdict, text: &str) -> Result<()> {
        if verdict != Verdict::Approve && text.trim().is_empty() {
            return Err(Error::usage("say what should change").hint("pass --body or --body-file"));
        }
        let (project, author) = (&asking.project.name, &asking.by);
        if verdict == Verdict::Approve && *author == pr.author {
            return Err(Error::failed(format!("pull request #{} is by {author}, who cannot approve it", pr.number))
                .hint("somebody else has to review it; `shopfloor merge-queue add BRANCH --approve` queues your own branch in your name"));
        }
        let (by, head) = (By::Person(author), &pr.head);
        let review = NewReview { by, marker: None, head, verdict, text };
        answer(self.forge(project)?.post_review(pr.number, &review))?;
        self.hint(project);
        Ok(())
    }

    /// Asks for an agent's review; returns whether one has begun.
    pub fn ask_for_review(&self, project: &ProjectName, pr: &PrSummary) -> Result<bool> {
        let number = pr.number;
        may_ask_for_review(self.engine()?.floor(), project, number, &pr.branch).map_err(|why| {
            let error = Error::failed(format!("no agent reviews pull request #{number}: {why}"));
            match why {
                NotReviewed::Never => {
                    error.hint("`people = \"ask\"` in [review] of shopfloor.toml allows it")
                }
                NotReviewed::NoReviewer => error.hint("[agents.review] in shopfloor.toml says who reviews"),
                NotReviewed::Job(assignment) => error.hint(texts::how_far(assignment)),
            }
        })?;
        let (branch, head) = (pr.branch.clone(), pr.head.clone());
        self.submit(&Event::ReviewAsked { project: project.clone(), pr: number, branch, head })?;
        let engine = self.engine()?;
        let job = engine.floor().review_of(project, number);
        Ok(job.is_some_and(|job| matches!(job.state, JobState::Reviewing { .. })))
    }
}

/// The branch's open pull request.
pub(super) fn open(forge: &dyn Forge, branch: &str) -> Result<Option<PrSummary>> {
    let open = answer(forge.pulls(Some(PrState::Open)))?;
    Ok(open.into_iter().find(|pr| pr.branch == branch))
}

fn pin(asking: &Asking<'_>, number: PrNumber, head: &Sha) -> Result<()> {
    (asking.origin)()?
        .pin(&format!("refs/pull/{number}/head"), head)
        .map_err(|e| Error::failed(format!("the head of pull request #{number} could not be kept: {e}")))
}
