//! A floor with a past: identities, and the sessions, jobs and issues they come from.

use crate::floor::BenchFloor;
use anyhow::Result;
use serde::Serialize;
use shopfloor_core::ids::{Epoch, IssueNumber, JobId, ProjectName, Role, branch_for, tmux_name};
use shopfloor_core::phase::Phase;
use shopfloor_core::state::{
    Agent, AgentStatus, Counters, End, Issue, Job, JobState, Session, SessionState, Stage,
};
use shopfloor_core::table::Record;
use shopfloor_core::time::Time;
use shopfloor_store::{Commit, NewEntry, Row, Store};

/// Commits `count` ended jobs, each with its issue, its session and its identity, at once.
/// All of them have ended: the daemon has nothing to do, and what is measured is their number.
pub fn identities(floor: &BenchFloor, count: u64) -> Result<()> {
    let project = floor.project();
    let mut store = floor.store()?;
    let rows: Vec<Row> = (1..=count).flat_map(|n| rows_of(&project, n)).chain([counters(count)]).collect();
    let (_, expected) = store.rows_since(Default::default())?;
    let entry =
        NewEntry { kind: "event".into(), project: None, issue: None, text: String::new(), body: "{}".into() };
    store.commit(&Commit { expected, at: Time(1), entries: vec![entry], rows, ..Commit::default() })?;
    Ok(())
}

fn rows_of(project: &ProjectName, n: u64) -> [Row; 4] {
    let (issue, epoch, job) = (IssueNumber(n), Epoch(n), JobId(n));
    let at = |minute: u64| Time(1_700_000_000_000 + (n * 10 + minute) * 60_000);
    let states =
        ["preparing", "starting", "working", "publishing", "checking", "merging", "finishing", "merged"];
    let history = (0..).zip(states).map(|(minute, state)| Stage { state: state.into(), at: at(minute) });
    [
        row(&Issue {
            project: project.clone(),
            number: issue,
            title: format!("Issue number {n} of the bench"),
            labels: Default::default(),
            open: false,
            deps: Vec::new(),
            created_at: at(0),
            edits_pending: 0,
        }),
        row(&Job {
            id: job,
            project: project.clone(),
            issue,
            title: format!("Issue number {n} of the bench"),
            branch: branch_for(issue),
            state: JobState::Ended { end: End::Merged },
            created_at: at(0),
            deadline: None,
            worktree: None,
            pr: None,
            head: None,
            green: None,
            session: None,
            last_session: Some(epoch),
            review_session: None,
            review: None,
            review_told: None,
            ci_fixes: 0,
            ci_retries: 0,
            review_rounds: 0,
            review_attempts: 0,
            merge_rounds: 0,
            respawns: 0,
            reminders: 0,
            merged: Some(format!("{n:040x}").parse().expect("forty digits")),
            reason: None,
            rescue: None,
            history: history.collect(),
        }),
        row(&Session {
            epoch,
            job,
            role: Role::Dev,
            project: project.clone(),
            issue,
            state: SessionState::Ended,
            tmux: tmux_name(Role::Dev, project, issue, epoch),
            process: None,
            phase_file: None,
            phase: Some(Phase::Done),
            phase_stamp: Some(n.to_string()),
            created_at: at(1),
            last_seen: at(6),
            exit_status: Some(0),
            predecessor: None,
        }),
        row(&Agent {
            role: Role::Dev,
            name: format!("{project}-{n}"),
            project: project.clone(),
            issue,
            session: epoch,
            predecessor: None,
            status: AgentStatus::Terminated,
            created_at: at(1),
            last_seen: at(6),
        }),
    ]
}

fn counters(count: u64) -> Row {
    row(&Counters { job: count, epoch: count, ..Counters::default() })
}

fn row<R: Record + Serialize>(record: &R) -> Row {
    let doc = serde_json::to_string(record).expect("records have string keys only");
    Row { kind: R::KIND.into(), key: R::key_text(&record.key()), doc: Some(doc) }
}
