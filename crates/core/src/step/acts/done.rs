//! What became of acts, and the end of an agent's conduct.

use super::Acts;
use crate::act::ActOrder;
use crate::effect::outcome;
use crate::event::NoteKind;
use crate::ids::{IssueNumber, JobId, ProjectName, Role};
use crate::state::{Conduct, DeedEnd};
use crate::step::Turn;
use crate::texts::notes;

impl Turn<'_> {
    pub(in crate::step) fn acted(&mut self, order: &ActOrder, acted: &outcome::Acted) {
        let issue = acted.issue;
        self.reversal_of(order, acted);
        let text = notes::act_done(order.role, &notes::act(&order.what), issue);
        self.note(NoteKind::AgentAct, &order.project, Some(issue), text);
        self.deed_ends(order, DeedEnd::Done { issue });
    }

    pub(in crate::step) fn act_impossible(&mut self, order: &ActOrder, why: &str) {
        let text = notes::act_failed(order.role, &notes::act(&order.what), why);
        self.note(NoteKind::AgentAct, &order.project, order.assignment.number(), text);
        self.no_reversal_of(order.id);
        self.deed_ends(order, DeedEnd::Impossible { why: why.to_owned() });
    }

    /// The forge shows an issue: if an agent made it, it is compared with as it is there.
    pub(in crate::step) fn made_is_seen(&mut self, project: &ProjectName, issue: IssueNumber) {
        let made = |conduct: &&Conduct| {
            let mut deeds = conduct.deeds.iter();
            conduct.project == *project
                && deeds.any(|deed| deed.title.is_some() && deed.issue() == Some(issue))
        };
        let Some(key) = self.floor.conducts.iter().find(made).map(|c| (c.job, c.role)) else { return };
        let deeds = self.floor.conduct_mut(key).into_iter().flat_map(|conduct| &mut conduct.deeds);
        deeds.filter(|deed| deed.issue() == Some(issue)).for_each(|deed| deed.title = None);
    }

    fn deed_ends(&mut self, order: &ActOrder, end: DeedEnd) {
        let key = (order.job, order.role);
        let made = match end {
            DeedEnd::Done { issue } => Some(issue),
            DeedEnd::Impossible { .. } => None,
        };
        let conduct = self.floor.conduct_mut(key);
        if let Some(deed) = conduct.and_then(|c| c.deeds.iter_mut().find(|deed| deed.id == order.id)) {
            // What cannot be made is like nothing.
            deed.title = deed.title.take().filter(|_| matches!(end, DeedEnd::Done { .. }));
            deed.end = Some(end);
        }
        if let Some(issue) =
            made.filter(|issue| self.floor.issues.get(&(order.project.clone(), *issue)).is_some())
        {
            self.made_is_seen(&order.project, issue);
        }
        self.forget_conduct_if_over(key);
    }

    /// A job is over: nobody counts any longer, and nobody asks. What is on its way is still done.
    pub(in crate::step) fn forget_conduct(&mut self, job: JobId) {
        let of_job = |conduct: &&Conduct| conduct.job == job;
        let keys: Vec<(JobId, Role)> =
            self.floor.conducts.iter().filter(of_job).map(|c| (c.job, c.role)).collect();
        for key in keys {
            if let Some(conduct) = self.floor.conduct_mut(key) {
                conduct.query = None;
            }
            self.forget_conduct_if_over(key);
        }
    }

    fn forget_conduct_if_over(&mut self, key: (JobId, Role)) {
        let over = self.job(key.0).is_none_or(|job| !job.is_live());
        let done =
            self.floor.conducts.get(&key).is_some_and(|c| c.deeds.iter().all(|deed| deed.end.is_some()));
        if over && done {
            self.floor.conducts.remove(Acts(()), &key);
        }
    }
}
