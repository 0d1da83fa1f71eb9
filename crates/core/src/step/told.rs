//! Who is told how an entry of the merge queue ended: the branch's author.
//!
//! An agent is told by a message, where that happens. Of a person's branch the pull request says it, if it has
//! one. And for either, a command of the project's own is run, if it has one for that end: through the outbox,
//! once. It holds nothing up, and what goes wrong with it is only told.

use super::Turn;
use crate::effect::{Action, CiReport, CommandEnd, EntryEnd, Outcome, Telling};
use crate::event::NoteKind;
use crate::ids::{EntryId, Role, RunId, Sha, agent_name};
use crate::policy::Policy;
use crate::state::{Entry, EntryState, StoodOn};
use crate::text::one_line;

/// Entries named of those that one stood on; there are rarely more.
const BEHIND_MAX: usize = 20;

impl StoodOn {
    /// In a line: on top of what, in which run, and where its log is.
    pub fn tell(&self) -> String {
        let on = self.base.as_ref().map(|base| format!("on top of {}", base.short()));
        let with = match self.behind.is_empty() {
            true => None,
            false => Some(format!("with {}", one_line(&self.behind.join(", "), 200))),
        };
        let run = self.run.map(|run| format!("CI run {run}"));
        let log = Some(&self.log).filter(|log| !log.is_empty()).map(|log| format!("the log: {log}"));
        [on, with, run, log].into_iter().flatten().collect::<Vec<_>>().join(", ")
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
    /// Keeps what an entry was tried on.
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
        let Some(entry) = self.floor.entries.edit(&id) else { return };
        entry.stood_on = Some(StoodOn { base: base.cloned(), behind, run, log });
    }

    /// It has ended: those who are not there to see it are told.
    pub(super) fn tell_end(&mut self, id: EntryId, end: EntryEnd) {
        let Some(entry) = self.floor.entries.get(&id) else { return };
        let telling = self.telling(entry, end);
        let by_hand = entry.by_hand.is_some();
        if let Some(pr) = entry.pr.filter(|_| by_hand) {
            let marker = format!("merge-queue-entry-{id}-{}", end.as_str());
            let body = comment(&telling);
            self.act(Action::CommentPr { project: telling.project.clone(), pr, marker, body });
        }
        if has_command(&self.policy(&telling.project), end) {
            self.act(Action::Tell(telling));
        }
    }

    fn telling(&self, entry: &Entry, end: EntryEnd) -> Telling {
        let by_hand = entry.by_hand.as_ref();
        let (reason, commit) = match &entry.state {
            EntryState::Merged { commit } => (String::new(), Some(commit.clone())),
            EntryState::Conflicted { files } => (format!("conflicts in {}", files.join(", ")), None),
            EntryState::Failed { reason } | EntryState::Cancelled { reason } => (reason.clone(), None),
            _ => (String::new(), None),
        };
        let stood_on = entry.stood_on.clone().unwrap_or_default();
        let agent = || agent_name(Role::Dev, &entry.project, entry.issue.unwrap_or_default());
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
            by: by_hand.map_or_else(agent, |by| one_line(&by.by, 80)),
            author: by_hand.and_then(|by| by.author.as_ref()).map(|author| one_line(author, 200)),
            base: stood_on.base,
            behind: stood_on.behind,
            commit,
            run: stood_on.run,
            log: stood_on.log,
            reason: one_line(&reason, 500),
        }
    }

    /// The command has ended, or could not be run.
    pub(super) fn told(&mut self, telling: &Telling, outcome: &Outcome) {
        let Outcome::Told(command) = outcome else { return };
        if let Some(entry) = self.floor.entries.edit(&telling.entry) {
            entry.command = Some(command.clone());
        }
        if let CommandEnd { trouble: Some(trouble), log } = command {
            let log = if log.is_empty() { String::new() } else { format!("; what it printed: {log}") };
            let name = if telling.end == EntryEnd::Landed { "on_landed" } else { "on_not_landed" };
            let text = format!("the command {name} for entry {}: {trouble}{log}", telling.entry);
            self.note(NoteKind::Escalation, &telling.project, telling.issue, text);
        }
    }
}

/// What a person's pull request says of it.
fn comment(telling: &Telling) -> String {
    let Telling { end, branch, commit, reason, base, behind, run, log, by, author, .. } = telling;
    let first = match end {
        EntryEnd::Landed => {
            let commit = commit.as_ref().map(Sha::to_string).unwrap_or_default();
            format!("Landed on {} as {commit}.", telling.target)
        }
        EntryEnd::Failed => format!("Did not land: {reason}."),
        EntryEnd::Conflicted => format!("Did not land: it {reason}."),
    };
    let stood_on = StoodOn { base: base.clone(), behind: behind.clone(), run: *run, log: log.clone() }.tell();
    let stood_on = if stood_on.is_empty() { String::new() } else { format!("\n\nTried {stood_on}.") };
    let next = match end {
        EntryEnd::Landed => String::new(),
        _ => format!("\n\nPut it right, push it, and `shopfloor merge-queue retry {branch}`."),
    };
    let author = author.as_ref().filter(|author| *author != by);
    let author = author.map(|author| format!("; its newest commit is by {author}")).unwrap_or_default();
    format!("{first}{stood_on}{next}\n\nQueued by {by}{author}.")
}
