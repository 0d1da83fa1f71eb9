//! Tries: branches that are checked as they would land, without landing.

use crate::Exit;
use crate::time::moment;
use serde::Serialize;
use shopfloor_adapters::layout::Layout;
use shopfloor_core::ids::{IssueNumber, PrNumber, ProjectName, RunId, Sha, TryId};
use shopfloor_core::state::{Floor, Try, TryState};
use shopfloor_core::text::one_line;

/// A try as `--json` shows it.
#[derive(Serialize)]
pub struct TryView {
    #[serde(rename = "try")]
    id: TryId,
    pub project: ProjectName,
    pub branch: String,
    head: Sha,
    issue: Option<IssueNumber>,
    pr: Option<PrNumber>,
    /// What it is put on: the branch, and where that branch was.
    on: String,
    base: Sha,
    /// building, testing, green, red, conflicted or unknown.
    pub state: &'static str,
    /// What was checked.
    commit: Option<Sha>,
    run: Option<RunId>,
    reason: Option<String>,
    /// The files in conflict.
    files: Vec<String>,
    log: Option<String>,
    pub excerpt: Option<String>,
    by: String,
    asked_at: String,
    ended_at: Option<String>,
}

impl TryView {
    pub fn new(floor: &Floor, layout: &Layout, row: &Try) -> TryView {
        let mut view = TryView {
            id: row.id,
            project: row.project.clone(),
            branch: row.branch.clone(),
            head: row.head.clone(),
            issue: row.issue,
            pr: row.pr,
            on: floor.policy(&row.project).branch_of(row.on.as_ref()).to_owned(),
            base: row.base.clone(),
            state: row.state.name(),
            commit: None,
            run: None,
            reason: None,
            files: Vec::new(),
            log: None,
            excerpt: None,
            by: row.by.clone(),
            asked_at: moment(row.asked_at),
            ended_at: row.ended_at.map(moment),
        };
        let mut said = String::new();
        match &row.state {
            TryState::Building => {}
            TryState::Testing { run, commit } => {
                (view.run, view.commit) = (Some(*run), Some(commit.clone()));
            }
            TryState::Green { run, commit, log } => {
                (view.run, view.commit) = (*run, Some(commit.clone()));
                said.clone_from(log);
            }
            TryState::Red { run, commit, reason, log, excerpt } => {
                (view.run, view.commit, view.reason) = (*run, commit.clone(), Some(reason.clone()));
                view.excerpt = Some(excerpt.clone()).filter(|excerpt| !excerpt.is_empty());
                said.clone_from(log);
            }
            TryState::Conflicted { files, hunks } => {
                view.files.clone_from(files);
                view.excerpt = Some(hunks.clone()).filter(|hunks| !hunks.is_empty());
            }
            TryState::Unknown { reason, log } => {
                view.reason = Some(reason.clone());
                said.clone_from(log);
            }
        }
        let by_run = view.run.map(|run| layout.ci_run(&row.project, run).join("log"));
        let by_run = by_run.map(|log| log.display().to_string());
        view.log = Some(said).filter(|log| !log.is_empty()).or(by_run);
        view
    }

    /// The try, in one line.
    pub fn tell(&self) -> String {
        let run = self.run.map(|run| format!("CI run {run}"));
        let log = self.log.as_ref().map(|log| format!("the log: {log}"));
        let files = Some(one_line(&self.files.join(", "), 200)).filter(|files| !files.is_empty());
        let nothing = self.state == "green" && self.run.is_none();
        let nothing = nothing.then(|| "it brings nothing new".to_owned());
        let reason = self.reason.as_ref().map(|reason| one_line(reason, 300));
        let parts: Vec<String> = [reason, files, nothing, run, log].into_iter().flatten().collect();
        let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
        let (head, on, base) = (self.head.short(), &self.on, self.base.short());
        format!("{} at {head}, on top of {on} at {base}: {}{parts}", self.branch, self.state)
    }

    /// The exit code of a command that asked for it.
    pub fn exit(&self) -> Exit {
        match self.state {
            "green" => Exit::Fine,
            "red" => Exit::Unfinished,
            "conflicted" => Exit::NeedsPerson,
            _ => Exit::Failed,
        }
    }
}
