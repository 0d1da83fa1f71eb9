//! What `up` shows: on a terminal a line per job that changes in place, else a line per change, or
//! one JSON object per change; in the background a line of the log.

use crate::cli::{now, output};
use shopfloor_core::event::{Note, NoteKind};
use shopfloor_core::ids::JobId;
use shopfloor_core::state::{Floor, Job};
use shopfloor_core::text::one_line;
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};

pub struct Progress {
    mode: Mode,
    /// The lines on the screen, as last drawn.
    drawn: BTreeMap<JobId, String>,
}

enum Mode {
    /// In the background.
    Log,
    Json,
    Plain,
    InPlace {
        colour: bool,
    },
}

/// Jobs shown at once on a terminal; those that ended first make room.
const LINES_MAX: usize = 20;

impl Progress {
    pub fn new(json: bool, in_background: bool) -> Self {
        let mode = if in_background {
            Mode::Log
        } else if json {
            Mode::Json
        } else if std::io::stdout().is_terminal() {
            Mode::InPlace { colour: output::colour() }
        } else {
            Mode::Plain
        };
        Progress { mode, drawn: BTreeMap::new() }
    }

    pub fn update(&mut self, floor: &Floor, notes: &[Note]) {
        match self.mode {
            Mode::Log => {
                for note in notes.iter().filter(|n| worth_a_line(n.kind)) {
                    log(note);
                }
            }
            Mode::Json => {
                for note in notes {
                    output::progress(output::json_text(note));
                }
            }
            Mode::Plain => {
                for note in notes.iter().filter(|n| worth_a_line(n.kind)) {
                    output::progress(plain(note));
                }
            }
            Mode::InPlace { colour } => self.draw(floor, notes, colour),
        }
    }

    fn draw(&mut self, floor: &Floor, notes: &[Note], colour: bool) {
        let touched = |job: &Job| {
            notes.iter().any(|n| n.project == job.project && n.issue.is_some() && n.issue == job.number())
        };
        let mut changed = false;
        for job in floor.jobs.iter() {
            if !job.is_live() && !self.drawn.contains_key(&job.id) && !touched(job) {
                continue;
            }
            let line = job_line(job, colour);
            if self.drawn.get(&job.id) != Some(&line) {
                changed = true;
            }
        }
        if !changed {
            return;
        }
        let mut out = String::new();
        if !self.drawn.is_empty() {
            out.push_str(&format!("\x1b[{}A", self.drawn.len()));
        }
        let shown: Vec<&Job> = floor
            .jobs
            .iter()
            .filter(|j| j.is_live() || self.drawn.contains_key(&j.id) || touched(j))
            .collect();
        let from = shown.len().saturating_sub(LINES_MAX);
        let before = self.drawn.len();
        self.drawn = shown[from..].iter().map(|j| (j.id, job_line(j, colour))).collect();
        for line in self.drawn.values() {
            out.push_str(&format!("\r\x1b[2K{line}\n"));
        }
        // Fewer lines than before: what is left over is wiped.
        for _ in self.drawn.len()..before {
            out.push_str("\x1b[2K\n");
        }
        if before > self.drawn.len() {
            out.push_str(&format!("\x1b[{}A", before - self.drawn.len()));
        }
        let mut stdout = std::io::stdout().lock();
        let _ = stdout.write_all(out.as_bytes());
        let _ = stdout.flush();
    }
}

fn worth_a_line(kind: NoteKind) -> bool {
    matches!(
        kind,
        NoteKind::JobState
            | NoteKind::JobEnded
            | NoteKind::CiResult
            | NoteKind::ReviewResult
            | NoteKind::MergeConflict
            | NoteKind::MergeFailed
            | NoteKind::MergeComplete
            | NoteKind::AgentCrashed
            | NoteKind::MessageUndelivered
            | NoteKind::NeedsHuman
            | NoteKind::Escalation
            | NoteKind::Refused
            | NoteKind::AgentAct
            | NoteKind::Config
            | NoteKind::IssueEdited
            | NoteKind::Checkout
    )
}

fn log(note: &Note) {
    let (project, text) = (&note.project, told(note, usize::MAX));
    match note.issue {
        Some(issue) => tracing::info!(%project, %issue, "{text}"),
        None => tracing::info!(%project, "{text}"),
    }
}

fn plain(note: &Note) -> String {
    let issue = note.issue.map(|i| format!(" #{i}")).unwrap_or_default();
    format!("{}{issue}: {}", note.project, told(note, 160))
}

fn told(note: &Note, chars_max: usize) -> String {
    let what = note.kind.as_str().to_lowercase().replace('_', " ");
    format!("{what}: {}", one_line(&note.text, chars_max))
}

fn job_line(job: &Job, colour: bool) -> String {
    let state = job.state.name();
    let shown = if colour {
        let code = match state {
            "merged" => 32,
            "blocked" | "failed" => 31,
            "needs_human" => 33,
            _ => 36,
        };
        format!("\x1b[{code}m{state:<11}\x1b[0m")
    } else {
        format!("{state:<11}")
    };
    let ended_at = job.history.last().filter(|_| !job.is_live()).map(|stage| stage.at);
    let took = ended_at.unwrap_or_else(now).since(job.created_at);
    let detail = match (&job.merged, &job.reason) {
        (_, Some(reason)) if !job.is_live() => one_line(reason, 60),
        (Some(commit), _) => commit.short().to_owned(),
        _ => job.history.iter().map(|s| s.state.as_str()).rev().take(4).collect::<Vec<_>>().join(" < "),
    };
    format!(
        "{:<5} {shown} {:>6}  {:<32}  {detail}",
        job.assignment.mention(),
        output::span(took),
        one_line(&job.title, 32)
    )
}
