//! Who is told how an entry of the merge queue ended: the branch's author.
//!
//! An agent is told by a message, at the place where it happens. For a person's branch, the pull request says it,
//! if there is one. And for either, the project's own command for that end is run, if it has one: through the
//! outbox, once. It holds nothing up, and its failure is only reported.

use crate::effect::{Action, CiReport, CommandEnd, EntryEnd, Telling};
use crate::event::NoteKind;
use crate::ids::{EntryId, RunId, Sha, agent_name};
use crate::policy::Policy;
use crate::state::{Entry, EntryState, StoodOn};
use crate::step::Turn;
use crate::text::one_line;
use crate::texts::{comments, markers, queue, reasons};

/// How many of the entries that one stood on are named; there are rarely more.
const BEHIND_MAX: usize = 20;

impl StoodOn {
    /// In one line: on top of what, in which run, and where its log is.
    pub fn tell(&self) -> String {
        comments::tried_on(self)
    }
}

/// Whether the project has a command for that end.
fn has_command(policy: &Policy, end: EntryEnd) -> bool {
    match end {
        EntryEnd::Landed => policy.tells_landed,
        EntryEnd::Failed | EntryEnd::Conflicted => policy.tells_not_landed,
    }
}

impl Turn<'_> {
    /// Records what an entry was tried on.
    pub(super) fn stands_on(
        &mut self,
        id: EntryId,
        base: Option<&Sha>,
        behind: &[EntryId],
        run: Option<RunId>,
        report: Option<&CiReport>,
    ) {
        let name = |id: &EntryId| self.floor.entries.get(id).map(|e| one_line(&e.branch, 100));
        let behind = behind.iter().filter_map(name).take(BEHIND_MAX).collect();
        let log = report.map(|r| r.log.clone()).unwrap_or_default();
        let Some(entry) = self.floor.entry_mut(id) else { return };
        entry.stood_on = Some(StoodOn { base: base.cloned(), behind, run, log });
    }

    /// It has ended: those who are not there to see it are told.
    pub(super) fn tell_end(&mut self, id: EntryId, end: EntryEnd) {
        let Some(entry) = self.floor.entries.get(&id) else { return };
        let telling = self.telling(entry, end);
        let persons = entry.person.is_some();
        if let Some(pr) = entry.pr.filter(|_| persons) {
            let marker = markers::entry_end(id, end);
            let body = comments::entry_ended(&telling);
            self.act(Action::CommentPr { project: telling.project.clone(), pr, marker, body });
        }
        if has_command(&self.policy(&telling.project), end) {
            self.act(Action::Tell(telling));
        }
    }

    fn telling(&self, entry: &Entry, end: EntryEnd) -> Telling {
        let persons = entry.person.as_ref();
        let (reason, commit) = match &entry.state {
            EntryState::Merged { commit } => (String::new(), Some(commit.clone())),
            EntryState::Conflicted { files } => (reasons::conflicts(files), None),
            EntryState::Failed { reason } | EntryState::Cancelled { reason } => (reason.clone(), None),
            _ => (String::new(), None),
        };
        let stood_on = entry.stood_on.clone().unwrap_or_default();
        let job = entry.job.and_then(|job| self.floor.jobs.get(&job));
        let agent = || job.map_or_else(String::new, |j| agent_name(j.role, &j.project, j.assignment));
        Telling {
            project: entry.project.clone(),
            entry: entry.id,
            end,
            target: self.floor.policy(&entry.project).branch_of(entry.target.as_ref()).to_owned(),
            branch: entry.branch.clone(),
            head: entry.head.clone(),
            title: one_line(&self.floor.title(entry), 300),
            issue: entry.issue,
            pr: entry.pr,
            by: persons.map_or_else(agent, |by| one_line(&by.by, 80)),
            author: persons.and_then(|by| by.author.as_ref()).map(|author| one_line(author, 200)),
            base: stood_on.base,
            behind: stood_on.behind,
            commit,
            run: stood_on.run,
            log: stood_on.log,
            reason: one_line(&reason, 500),
        }
    }

    /// The command has ended, or could not be run.
    pub(in crate::step) fn told(&mut self, telling: &Telling, command: &CommandEnd) {
        if let Some(entry) = self.floor.entry_mut(telling.entry) {
            entry.command = Some(command.clone());
        }
        if let CommandEnd { trouble: Some(trouble), log } = command {
            let name = if telling.end == EntryEnd::Landed { "on_landed" } else { "on_not_landed" };
            let text = queue::command_failed(name, telling.entry, trouble, log);
            self.note(NoteKind::Escalation, &telling.project, telling.issue, text);
        }
    }
}
