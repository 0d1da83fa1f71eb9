//! The embedded forge does what every forge does, on every kind of store.

use shopfloor_adapters::forge::local::{LocalForge, LocalForges};
use shopfloor_conformance::forge::ForgeWorld;
use shopfloor_conformance::forge_suite;
use shopfloor_core::effect::Verdict;
use shopfloor_core::forge::Subject;
use shopfloor_core::ids::{IssueNumber, PrNumber, ProjectName, Sha};
use shopfloor_engine::ports::Forge;
use shopfloor_store::backend;
use shopfloor_store::forge::{ForgeTables, NewIssue, NewPr, NewReview};
use tempfile::TempDir;

/// The forge as the engine has it, and a person's own handle on the same data.
struct Embedded {
    _dir: TempDir,
    forge: LocalForge,
    person: Box<dyn ForgeTables>,
    project: ProjectName,
}

impl Embedded {
    fn new(kind: &str) -> Embedded {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("{kind}:{}", dir.path().join("floor.db").display());
        let project: ProjectName = "app".parse().unwrap();
        let forges = LocalForges::new(backend::at(&url).unwrap().forge().unwrap());
        forges.init(&project).unwrap();
        let (forge, person) = (forges.forge(&project), backend::at(&url).unwrap().forge().unwrap());
        Embedded { _dir: dir, forge, person, project }
    }
}

impl ForgeWorld for Embedded {
    fn forge(&self) -> &dyn Forge {
        &self.forge
    }

    fn commit(&mut self, number: u32) -> Sha {
        format!("{number:040x}").parse().unwrap()
    }

    fn settle(&mut self) {}

    fn open_issue(&mut self, title: &str, body: &str) -> IssueNumber {
        let (title, body, author) = (title.into(), body.into(), "ann".into());
        let new = NewIssue { title, body, author, ..NewIssue::default() };
        self.person.create_issue_once(&self.project, &new, None).unwrap()
    }

    fn edit_issue(&mut self, issue: IssueNumber, title: &str, body: &str) {
        self.person.edit_issue(&self.project, issue, Some(title), Some(body)).unwrap();
    }

    fn label(&mut self, issue: IssueNumber, add: &[&str], remove: &[&str]) {
        let [add, remove] =
            [add, remove].map(|labels| labels.iter().map(|l| l.to_string()).collect::<Vec<_>>());
        self.person.edit_labels(&self.project, issue, &add, &remove).unwrap();
    }

    fn close_issue(&mut self, issue: IssueNumber) {
        self.person.close_issue(&self.project, issue).unwrap();
    }

    fn reopen_issue(&mut self, issue: IssueNumber) {
        self.person.reopen_issue(&self.project, issue).unwrap();
    }

    fn comment(&mut self, on: Subject, text: &str) -> u64 {
        match on {
            Subject::Issue(issue) => self.person.comment(&self.project, issue, "ann", text, None),
            Subject::Pr(pr) => self.person.comment_pr(&self.project, pr, "ann", text, None),
        }
        .unwrap()
    }

    fn edit_comment(&mut self, on: Subject, id: u64, text: &str) {
        self.person.edit_comment(&self.project, on, id, text).unwrap();
    }

    fn open_pull(&mut self, branch: &str, head: &Sha, issue: Option<IssueNumber>) -> PrNumber {
        let (title, branch, head) = ("A change".into(), branch.into(), head.clone());
        let new = NewPr { title, body: String::new(), branch, head, issue, author: "ann".into() };
        self.person.open_pr(&self.project, &new).unwrap()
    }

    fn review(&mut self, pr: PrNumber, head: &Sha, verdict: Verdict, text: &str) {
        let (head, text, author) = (head.clone(), text.into(), "bob".into());
        let new = NewReview { head, verdict, text, author, marker: None };
        self.person.review(&self.project, pr, &new).unwrap();
    }

    fn close_pull(&mut self, pr: PrNumber) {
        self.person.close_pr(&self.project, pr, None).unwrap();
    }

    fn merge_pull(&mut self, pr: PrNumber, commit: &Sha) {
        self.person.close_pr(&self.project, pr, Some(commit)).unwrap();
    }
}

mod sqlite {
    use super::*;
    forge_suite!(Embedded::new("sqlite"));
}

mod memory {
    use super::*;
    forge_suite!(Embedded::new("memory"));
}
