//! Dependencies that can never be met: on the issue itself, or on numbers that are not issues. People are told
//! once, after they have lasted a while: news from the forge arrives one item at a time.

use super::Mirror;
use crate::effect::Action;
use crate::event::NoteKind;
use crate::ids::{IssueNumber, ProjectName};
use crate::state::Issue;
use crate::step::{Standings, Turn, Waiting};
use crate::texts::{comments, escalations, issues, markers};
use std::time::Duration;

const SETTLE: Duration = Duration::from_secs(10);

impl Turn<'_> {
    /// An issue was seen: if it waits for others, its dependencies are examined once it has settled. All that are
    /// due by then are examined together: one at a time would cost their number squared.
    pub(super) fn doubt_dependencies(&mut self, project: &ProjectName, issue: IssueNumber) {
        let key = (project.clone(), issue);
        let Some(row) = self.floor.issues.get(&key) else { return };
        let met = |n: &IssueNumber| self.floor.issues.get(&(project.clone(), *n)).is_some_and(|i| !i.open);
        let at = (row.open && !row.deps.iter().all(met)).then(|| self.now + SETTLE);
        let over = at.is_none() && !row.deps_told.is_empty();
        if (row.deps_due.is_none() && at.is_some()) || over {
            let row = self.floor.issues.edit(Mirror(()), &key).expect("just seen");
            row.deps_due = at;
            if over {
                row.deps_told.clear();
            }
        }
    }

    pub(in crate::step) fn dependencies_due(&mut self, project: &ProjectName) {
        let now = self.now;
        let due = |issue: &&Issue| issue.project == *project && issue.deps_due.is_some_and(|at| at <= now);
        let standings = Standings::of(self.floor);
        let due = self.floor.doubted_issues().into_iter().filter(due);
        let due: Vec<(Issue, Option<Trouble>)> =
            due.map(|issue| (issue.clone(), trouble(issue, standings.why(issue)))).collect();
        for (issue, trouble) in due {
            let Some(row) = self.floor.issues.edit(Mirror(()), &(issue.project.clone(), issue.number)) else {
                continue;
            };
            row.deps_due = None;
            match trouble {
                Some(trouble) => self.tell_trouble(&issue, &trouble),
                None => row.deps_told.clear(),
            }
        }
    }

    fn tell_trouble(&mut self, issue: &Issue, trouble: &Trouble) {
        // One report for a whole circle, whichever of its issues was seen last.
        let told = |n: &IssueNumber| {
            self.floor.issues.get(&(issue.project.clone(), *n)).is_some_and(|i| i.deps_told == trouble.key)
        };
        let known = trouble.of.iter().any(told);
        if let Some(row) = self.floor.issues.edit(Mirror(()), &(issue.project.clone(), issue.number)) {
            row.deps_told = trouble.key.clone();
        }
        if known {
            return;
        }
        self.note(NoteKind::Escalation, &issue.project, Some(issue.number), trouble.text.clone());
        self.act(Action::Comment {
            project: issue.project.clone(),
            issue: issue.number,
            marker: markers::dependencies(&trouble.key),
            body: comments::not_started(&trouble.text),
        });
    }
}

fn trouble(issue: &Issue, waiting: Waiting) -> Option<Trouble> {
    match waiting {
        Waiting::OnUnknown(numbers) => Some(Trouble {
            key: format!("unknown-{}", issues(&numbers, "-")),
            text: escalations::waits_for_unknown(&numbers),
            of: vec![issue.number],
        }),
        Waiting::Cycle(mut path) => {
            let mut of = path.clone();
            of.sort_unstable();
            path.push(issue.number);
            let text = escalations::waits_for_itself(&path);
            Some(Trouble { key: format!("cycle-{}", issues(&of, "-")), text, of })
        }
        _ => None,
    }
}

/// What is wrong with an issue's dependencies.
struct Trouble {
    /// The same for the same trouble.
    key: String,
    text: String,
    /// The issues that have this trouble.
    of: Vec<IssueNumber>,
}
