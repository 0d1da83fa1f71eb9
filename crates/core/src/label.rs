//! Labels that the factory reads and sets. People and their tools use them too, so these spellings never change.

use std::fmt;

/// A prediction that nobody has looked at; one that is watched; one that was acted on or dismissed.
pub const UNREVIEWED: &str = "prediction/unreviewed";
pub const WATCHED: &str = "prediction/backlog";
pub const ACTIONED: &str = "prediction/actioned";
/// What the project is for, in large.
pub const VISION: &str = "vision";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// Somebody wants the issue worked on.
    Backlog,
    /// A job works on it.
    InProgress,
    /// A person has to deal with it first.
    Blocked,
    /// It has to be split or made clearer first.
    Underspecified,
    /// It goes before others.
    Priority,
    /// A review found it in passing.
    TechDebt,
    /// Something to be done by a formula, not by a change of the code alone.
    Action,
}

impl Label {
    pub const ALL: [Label; 7] = [
        Label::Backlog,
        Label::InProgress,
        Label::Blocked,
        Label::Underspecified,
        Label::Priority,
        Label::TechDebt,
        Label::Action,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Label::Backlog => "backlog",
            Label::InProgress => "in-progress",
            Label::Blocked => "blocked",
            Label::Underspecified => "underspecified",
            Label::Priority => "priority",
            Label::TechDebt => "tech-debt",
            Label::Action => "action",
        }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
