//! Dependencies that nobody will ever meet: on themselves, or on numbers that are no issues. They are
//! told once, when they have lasted a while: what is new on the forge comes one by one.

use super::{Standings, Turn, Waiting};
use crate::effect::Action;
use crate::event::NoteKind;
use crate::ids::{IssueNumber, ProjectName};
use crate::state::Issue;
use std::time::Duration;

const SETTLE: Duration = Duration::from_secs(10);

impl Turn<'_> {
    /// An issue was seen: if its dependencies look wrong, they are looked at again.
    pub(super) fn doubt_dependencies(&mut self, project: &ProjectName, issue: IssueNumber) {
        let key = (project.clone(), issue);
        let Some(row) = self.floor.issues.get(&key) else { return };
        let at = (!row.deps.is_empty() && self.trouble(row).is_some()).then(|| self.now + SETTLE);
        let over = at.is_none() && !row.deps_told.is_empty();
        if (row.deps_due.is_none() && at.is_some()) || over {
            let row = self.floor.issues.edit(&key).expect("just seen");
            row.deps_due = at;
            if over {
                row.deps_told.clear();
            }
        }
    }

    pub(super) fn dependencies_due(&mut self) {
        let now = self.now;
        let due: Vec<_> = self
            .floor
            .issues
            .iter()
            .filter(|issue| issue.deps_due.is_some_and(|at| at <= now))
            .map(|issue| (issue.project.clone(), issue.number))
            .collect();
        for key in due {
            let Some(issue) = self.floor.issues.edit(&key) else { continue };
            issue.deps_due = None;
            let issue = issue.clone();
            if let Some(trouble) = self.trouble(&issue) {
                self.tell_trouble(&issue, &trouble);
            }
        }
    }

    fn tell_trouble(&mut self, issue: &Issue, trouble: &Trouble) {
        // One word for a whole circle, whoever of it was seen last.
        let told = |n: &IssueNumber| {
            self.floor.issues.get(&(issue.project.clone(), *n)).is_some_and(|i| i.deps_told == trouble.key)
        };
        let known = trouble.of.iter().any(told);
        if let Some(row) = self.floor.issues.edit(&(issue.project.clone(), issue.number)) {
            row.deps_told = trouble.key.clone();
        }
        if known {
            return;
        }
        self.note(NoteKind::Escalation, &issue.project, Some(issue.number), trouble.text.clone());
        self.act(Action::Comment {
            project: issue.project.clone(),
            issue: issue.number,
            marker: format!("dependencies-{}", trouble.key),
            body: format!("This issue is not begun: {}. Edit the text that says so.", trouble.text),
        });
    }

    fn trouble(&self, issue: &Issue) -> Option<Trouble> {
        let listed = |numbers: &[IssueNumber], between: &str| {
            numbers.iter().map(|n| format!("#{n}")).collect::<Vec<_>>().join(between)
        };
        match Standings::why_of(self.floor, issue) {
            Waiting::OnUnknown(numbers) => Some(Trouble {
                key: format!("unknown-{}", listed(&numbers, "-")),
                text: format!("it waits for {}, and there is no such issue", listed(&numbers, ", ")),
                of: vec![issue.number],
            }),
            Waiting::Cycle(mut path) => {
                let mut of = path.clone();
                of.sort_unstable();
                path.push(issue.number);
                let text = format!("it waits for itself: {}", listed(&path, " -> "));
                Some(Trouble { key: format!("cycle-{}", listed(&of, "-")), text, of })
            }
            _ => None,
        }
    }
}

/// What is wrong with an issue's dependencies.
struct Trouble {
    /// The same for the same.
    key: String,
    text: String,
    /// The issues it is the trouble of.
    of: Vec<IssueNumber>,
}
