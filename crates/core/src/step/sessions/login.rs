//! A client that wants its user to log in is an outage of its role, like any trouble that would strike every other
//! agent too. But its dialog is up, and can be answered: for as long as it is, it is the outage's question.
//!
//! - The session stays, as the one that tries; a second one that asks the same is sent away.
//! - The outage is over when the session gets going; or the session is replaced when there are signs that the
//!   login was fixed elsewhere. Time alone does not take away a dialog that somebody may be about to answer.

use crate::ids::{Epoch, JobId, ProjectName, QuestionId, Role};
use crate::state::{About, SessionAsk};
use crate::step::Turn;

/// The session whose dialog is an outage's question.
#[derive(Clone, Copy)]
pub(super) struct Login {
    pub job: JobId,
    pub epoch: Epoch,
    pub question: QuestionId,
}

impl Turn<'_> {
    pub(super) fn login_asked(&mut self, id: JobId, epoch: Epoch, role: Role, why: &str) {
        let Some(project) = self.job(id).map(|j| j.project.clone()) else { return };
        let shown = self.floor.outage(&project, role).and_then(|outage| self.floor.login_dialog(outage));
        if shown.is_some_and(|other| other.epoch != epoch) {
            self.client_fails(id, epoch, role, why);
            return;
        }
        let asks = self.floor.sessions.get(&epoch).and_then(|s| s.asks.open.as_ref());
        // Otherwise it was answered a moment ago, and the result will be seen next.
        if let Some(SessionAsk { id: question, about: About::Dialog { .. }, .. }) = asks {
            let login = Login { job: id, epoch, question: *question };
            self.out_at_login(&project, role, why, login);
        }
    }

    /// There are signs that it was fixed elsewhere: the session in the dialog makes way for one that finds out.
    /// Not if a person is using it.
    pub(super) fn leave_login(&mut self, project: &ProjectName, role: Role) {
        let outage = self.floor.outage(project, role);
        let Some(session) = outage.and_then(|outage| self.floor.login_dialog(outage)) else { return };
        let (id, epoch, role) = (session.job, session.epoch, session.role);
        if self.is_held(epoch) {
            return;
        }
        if let Some(outage) = self.outage_mut(project, role) {
            outage.trial = None;
        }
        if let Some(staff) = self.floor.staff_mut(project) {
            staff.outages.iter_mut().for_each(|outage| outage.dialog = None);
        }
        self.sent_away(id, epoch, role);
    }
}
