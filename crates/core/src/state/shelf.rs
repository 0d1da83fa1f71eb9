//! The shelf: where records are kept that no live work needs, such as closed issues and ended jobs. They are not
//! part of a loaded [`Floor`](super::Floor), so what they cost does not grow with a floor's history. Whatever is
//! about one of them, an event or a command, takes it down first.

use super::{Agent, Entry, Issue, Job, Request, Run, Session, WorkRecord};
use crate::ids::{Assignment, IssueNumber, ProjectName, RequestNumber, RunNumber};
use crate::table::Record;
use std::fmt;

/// The label that a record is found under. All that belongs to one issue or pull request has the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shelf {
    /// An issue or a pull request: a forge numbers them together.
    Number(ProjectName, IssueNumber),
    /// A run of a formula.
    Run(ProjectName, RunNumber),
    /// A request to the vault.
    Request(ProjectName, RequestNumber),
    /// A branch. Those of jobs are found under their number as well.
    Branch(ProjectName, String),
}

impl Shelf {
    pub fn of(project: &ProjectName, assignment: Assignment) -> Shelf {
        match assignment {
            Assignment::Issue(number) => Shelf::Number(project.clone(), number),
            Assignment::Pull(number) => Shelf::Number(project.clone(), IssueNumber(number.0)),
            Assignment::Run(run) => Shelf::Run(project.clone(), run),
        }
    }
}

/// As it is stored: neither `/` nor `:` is part of a project's name.
impl fmt::Display for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shelf::Number(project, number) => write!(f, "{project}/{number}"),
            Shelf::Run(project, run) => write!(f, "{project}/r{run}"),
            Shelf::Request(project, request) => write!(f, "{project}/v{request}"),
            Shelf::Branch(project, branch) => write!(f, "{project}:{branch}"),
        }
    }
}

/// A record that may be put on a shelf.
pub trait Shelvable: Record {
    fn shelf(&self) -> Shelf;

    /// The branch under which it is looked for as well.
    fn branch(&self) -> Option<Shelf> {
        None
    }
}

impl Shelvable for Issue {
    fn shelf(&self) -> Shelf {
        Shelf::Number(self.project.clone(), self.number)
    }
}

impl Shelvable for Job {
    fn shelf(&self) -> Shelf {
        Shelf::of(&self.project, self.assignment)
    }

    fn branch(&self) -> Option<Shelf> {
        Some(Shelf::Branch(self.project.clone(), self.branch.clone()))
    }
}

impl Shelvable for Session {
    fn shelf(&self) -> Shelf {
        Shelf::of(&self.project, self.assignment)
    }
}

impl Shelvable for Agent {
    fn shelf(&self) -> Shelf {
        Shelf::of(&self.project, self.assignment)
    }
}

impl Shelvable for WorkRecord {
    fn shelf(&self) -> Shelf {
        Shelf::of(&self.project, self.assignment())
    }
}

impl Shelvable for Run {
    fn shelf(&self) -> Shelf {
        Shelf::Run(self.project.clone(), self.number)
    }
}

impl Shelvable for Request {
    fn shelf(&self) -> Shelf {
        Shelf::Request(self.project.clone(), self.number)
    }
}

/// A person's branch may be for an issue, but no job carries it.
impl Shelvable for Entry {
    fn shelf(&self) -> Shelf {
        match (self.job, self.issue) {
            (Some(_), Some(issue)) => Shelf::Number(self.project.clone(), issue),
            _ => Shelf::Branch(self.project.clone(), self.branch.clone()),
        }
    }

    fn branch(&self) -> Option<Shelf> {
        self.job.map(|_| Shelf::Branch(self.project.clone(), self.branch.clone()))
    }
}
