//! The floor as it is shown: the committed state, which mirrors the forges, plus what is new on forges that
//! are part of the floor. A forge elsewhere is not asked.

use crate::{Desk, Result, answer};
use shopfloor_core::ids::ProjectName;
use shopfloor_core::state::{Floor, Shelf};
use shopfloor_engine::ports::{Forge, Forges};

impl Desk {
    /// The floor with everything that can be known without asking anybody elsewhere, including what no daemon
    /// has seen yet.
    pub fn floor(&self) -> Result<Floor> {
        self.floor_about(&[])
    }

    /// The same with what is on these shelves, for whoever shows it.
    pub fn floor_about(&self, shelves: &[Shelf]) -> Result<Floor> {
        let mut floor = self.engine()?.floor_with(shelves)?;
        let forges = self.forges()?;
        let projects: Vec<ProjectName> = floor.projects.iter().map(|p| p.name.clone()).collect();
        for project in projects {
            look_at(&mut floor, &project, &*answer(forges.of(&project))?)?;
        }
        Ok(floor)
    }

    /// The committed state, with what is on these shelves.
    pub fn committed_about(&self, shelves: &[Shelf]) -> Result<Floor> {
        Ok(self.engine()?.floor_with(shelves)?)
    }

    /// The committed state, with all of its history that is still kept.
    pub fn history(&self) -> Result<Floor> {
        Ok(self.engine()?.whole_floor()?)
    }
}

fn look_at(floor: &mut Floor, project: &ProjectName, forge: &dyn Forge) -> Result<()> {
    if forge.resync().is_some() {
        return Ok(());
    }
    let mut cursor = floor.projects.get(project).map(|p| p.cursor.clone()).unwrap_or_default();
    loop {
        let changes = answer(forge.changes(&cursor))?;
        changes.observations.iter().for_each(|observation| floor.see_issue(project, observation));
        cursor = changes.cursor;
        if !changes.more {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shopfloor_core::effect::StatusState;
    use shopfloor_core::forge::*;
    use shopfloor_core::ids::*;
    use shopfloor_engine::ports::forge::*;
    use shopfloor_engine::ports::{Changes, PortResult};
    use std::time::Duration;

    /// A forge that nobody is to ask.
    struct Elsewhere;

    impl Forge for Elsewhere {
        fn resync(&self) -> Option<Resync> {
            Some(Resync { soonest: Duration::from_secs(60), latest: Duration::from_secs(600) })
        }
        fn changes(&self, _: &Cursor) -> PortResult<Changes> {
            panic!("asked for changes")
        }
        fn issue(&self, _: IssueNumber) -> PortResult<Issue> {
            panic!("asked for an issue")
        }
        fn issues(&self, _: &IssueFilter) -> PortResult<Vec<IssueSummary>> {
            panic!("asked for issues")
        }
        fn pull(&self, _: PrNumber) -> PortResult<Pr> {
            panic!("asked for a pull request")
        }
        fn pulls(&self, _: Option<PrState>) -> PortResult<Vec<PrSummary>> {
            panic!("asked for pull requests")
        }
        fn labels(&self) -> PortResult<Vec<String>> {
            panic!("asked for labels")
        }
        fn ensure_labels(&self, _: &[String]) -> PortResult<()> {
            unreachable!()
        }
        fn create_issue(&self, _: &NewIssue<'_>) -> PortResult<IssueNumber> {
            unreachable!()
        }
        fn edit_issue(&self, _: IssueNumber, _: Option<&str>, _: Option<&str>) -> PortResult<()> {
            unreachable!()
        }
        fn edit_labels(&self, _: IssueNumber, _: &[String], _: &[String]) -> PortResult<Version> {
            unreachable!()
        }
        fn comment(&self, _: Subject, _: &NewComment<'_>) -> PortResult<()> {
            unreachable!()
        }
        fn edit_comment(&self, _: Subject, _: u64, _: &str) -> PortResult<()> {
            unreachable!()
        }
        fn close_issue(&self, _: IssueNumber) -> PortResult<()> {
            unreachable!()
        }
        fn reopen_issue(&self, _: IssueNumber) -> PortResult<()> {
            unreachable!()
        }
        fn open_pr(&self, _: &NewPr<'_>) -> PortResult<PrNumber> {
            unreachable!()
        }
        fn move_pr(&self, _: PrNumber, _: &Sha) -> PortResult<()> {
            unreachable!()
        }
        fn close_pr(&self, _: PrNumber, _: Option<&Sha>) -> PortResult<()> {
            unreachable!()
        }
        fn post_review(&self, _: PrNumber, _: &NewReview<'_>) -> PortResult<()> {
            unreachable!()
        }
        fn post_status(&self, _: &Sha, _: RunId, _: StatusState, _: &str) -> PortResult<()> {
            unreachable!()
        }
    }

    #[test]
    fn a_forge_elsewhere_is_not_asked_by_who_only_looks() {
        let project = "app".parse().unwrap();
        look_at(&mut Floor::default(), &project, &Elsewhere).unwrap();
    }
}
