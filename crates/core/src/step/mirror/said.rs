//! What people say on the forge, and the issues that follow from reviews.

use super::Mirror;
use crate::effect::{Action, FollowUp, Review};
use crate::forge::Subject;
use crate::ids::{PrNumber, ProjectName};
use crate::label::Label;
use crate::step::Turn;
use crate::text::one_line;
use crate::texts::{comments, markers};
use std::collections::BTreeSet;

/// How much of a title is compared.
const TITLE_CHARS_MAX: usize = 300;

impl Turn<'_> {
    /// Somebody said something, or changed what they said. Nothing follows from it yet; that it was heard is
    /// recorded, so that whatever follows one day follows once.
    pub(in crate::step) fn heard(&mut self, project: &ProjectName, on: Subject, id: u64, revision: u64) {
        let heard = match on {
            Subject::Issue(issue) => {
                let open =
                    self.floor.issues.edit(Mirror(()), &(project.clone(), issue)).filter(|issue| issue.open);
                open.map(|issue| &mut issue.heard)
            }
            Subject::Pr(pr) => {
                self.floor.pulls.edit(Mirror(()), &(project.clone(), pr)).map(|pull| &mut pull.heard)
            }
        };
        if let Some(heard) = heard {
            heard.hear(id, revision);
        }
    }

    /// Creates issues for what a review suggests, unless one with that title exists, open or closed. Another
    /// review may suggest the same before the first issue is seen, so the title is the marker.
    pub(in crate::step) fn follow_up(&mut self, project: &ProjectName, pr: PrNumber, review: &Review) {
        if review.follow_ups.is_empty() {
            return;
        }
        let plain = |title: &str| one_line(title, TITLE_CHARS_MAX).to_lowercase();
        let issues = self.floor.issues.iter().filter(|issue| issue.project == *project);
        let mut known: BTreeSet<String> = issues.map(|issue| plain(&issue.title)).collect();
        for FollowUp { title, body } in &review.follow_ups {
            if known.insert(plain(title)) {
                self.act(Action::CreateIssue {
                    project: project.clone(),
                    marker: markers::follow_up(&plain(title)),
                    title: title.clone(),
                    body: comments::follow_up(body, pr),
                    labels: vec![Label::TechDebt.to_string()],
                });
            }
        }
    }
}
