//! What the vault is asked for, and who decides about that.

use super::Vault;
use crate::event::{NoteKind, VaultAsk};
use crate::ids::{ProjectName, RequestNumber};
use crate::state::{Doubt, Floor, Request, RequestEnd, RequestEventKind, RequestState};
use crate::step::Turn;
use crate::text::{head, neutralise, one_line};
use crate::texts::vault;
use crate::vault::{PAYLOAD_BYTES_MAX, Payload, Route};

/// How many requests of a project may be open at once.
const OPEN_MAX: usize = 20;
const REASON_BYTES_MAX: usize = 2 * 1024;
const BY_CHARS_MAX: usize = 80;

/// Whether another request may be made; else how many are open.
pub fn may_request(floor: &Floor, project: &ProjectName) -> Result<(), usize> {
    let open = floor.requests.iter().filter(|r| r.project == *project && r.is_live()).count();
    if open < OPEN_MAX { Ok(()) } else { Err(open) }
}

/// The payload as it is passed on, and what is run; or why not.
fn judge(ask: &VaultAsk) -> Result<(Payload, Vec<String>, Route), String> {
    let spec = ask.spec.as_ref().ok_or_else(|| vault::unknown_type(&ask.r#type))?;
    let payload = Payload::try_from(ask.payload.clone())?;
    let command = spec.command(&payload)?;
    Ok((payload, command, spec.route()))
}

impl Turn<'_> {
    pub(in crate::step) fn vault_asked(&mut self, project: &ProjectName, ask: &VaultAsk) {
        if self.floor.projects.get(project).is_none() {
            return;
        }
        if let Err(open) = may_request(self.floor, project) {
            return self.note(NoteKind::StaleSignal, project, None, vault::too_many(open));
        }
        if let Some(epoch) = ask.session
            && !self.vault_asked_by(epoch, &vault::wanted(&ask.r#type))
        {
            return;
        }
        let number = RequestNumber(self.number(|c| &mut c.requests));
        let (payload, command, route) = match judge(ask) {
            Ok((payload, command, route)) => (payload.into(), command, Ok(route)),
            Err(why) => (head(&neutralise(&ask.payload), PAYLOAD_BYTES_MAX), Vec::new(), Err(why)),
        };
        let asking = ask.session.and_then(|epoch| self.floor.sessions.get(&epoch));
        let request = Request {
            number,
            project: project.clone(),
            r#type: ask.r#type.clone(),
            spec: ask.spec.clone(),
            payload,
            command,
            reason: head(&neutralise(&ask.reason), REASON_BYTES_MAX),
            by: one_line(&ask.by, BY_CHARS_MAX),
            job: asking.map(|session| session.job),
            role: asking.map(|session| session.role),
            on: asking.map(|session| session.assignment),
            asked_at: self.now,
            // What is not refused is fired or held in this very step.
            state: RequestState::Ended {
                end: RequestEnd::Rejected,
                reason: route.as_ref().err().map_or_else(String::new, |why| one_line(why, 500)),
                at: self.now,
            },
            fires: 0,
            output: String::new(),
            history: Vec::new(),
        };
        let text = vault::asked(&request);
        self.floor.requests.put(Vault(()), request);
        self.did(number, RequestEventKind::Asked, &ask.by, &ask.from, "");
        self.note(NoteKind::Vault, project, None, text);
        match route {
            // Whoever asks is told by the command.
            Err(why) => {
                self.did(number, RequestEventKind::Ended, "", "", RequestEnd::Rejected.name());
                self.note(NoteKind::Vault, project, None, vault::refused(number, &why));
            }
            Ok(Route::Ask) => self.hold(number, Doubt::Approval { changed: false }),
            Ok(Route::Fire) => self.fire(number),
            Ok(Route::FireAndTell) => {
                self.fire(number);
                let text = self.floor.requests.get(&number).map(vault::fired_unasked);
                self.note(NoteKind::Escalation, project, None, text.unwrap_or_default());
            }
        }
    }
}
