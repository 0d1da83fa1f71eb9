//! `shopfloor events`: what happened, and what happens.

use super::context::now;
use super::{CliResult, Context, Exit, output};
use crate::config::Span;
use clap::Args;
use serde::Serialize;
use shopfloor_core::ids::{IssueNumber, Seq};
use shopfloor_core::text::one_line;
use shopfloor_store::Entry;
use shopfloor_store::sqlite::{NoteFilter, SqliteStore};
use std::str::FromStr;
use std::time::Duration;

/// Show what happened on the floor, oldest first
#[derive(Args)]
pub struct EventsArgs {
    /// Only what came after this event's number, or within this time (10m, 3h)
    #[arg(long, value_name = "SEQ|DURATION")]
    since: Option<Since>,
    /// Only of this issue
    #[arg(long, value_name = "ISSUE")]
    issue: Option<IssueNumber>,
    /// At most so many, the newest [default: 50, without --since]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Go on with what happens from now on; with --json one object a line
    #[arg(long, short)]
    follow: bool,
}

#[derive(Clone)]
enum Since {
    Seq(Seq),
    Within(Span),
}

impl FromStr for Since {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        match word.parse::<Seq>() {
            Ok(seq) => Ok(Since::Seq(seq)),
            Err(_) => word.parse().map(Since::Within).map_err(|e: <Span as FromStr>::Err| e.to_string()),
        }
    }
}

const LIMIT: usize = 50;

/// A note as `--json` shows it.
#[derive(Serialize)]
pub struct NoteView {
    seq: Seq,
    at: String,
    kind: String,
    project: Option<String>,
    issue: Option<u64>,
    text: String,
}

impl From<Entry> for NoteView {
    fn from(entry: Entry) -> Self {
        NoteView {
            seq: entry.seq,
            at: output::moment(entry.at),
            kind: entry.kind,
            project: entry.project,
            issue: entry.issue,
            text: entry.text,
        }
    }
}

pub fn run(context: &Context, args: EventsArgs) -> CliResult<Exit> {
    let mut store = context.reader()?;
    let mut filter = NoteFilter {
        project: context.named_project()?.map(|name| name.to_string()),
        issue: args.issue.map(|n| n.0),
        ..NoteFilter::default()
    };
    let limit = args.limit.unwrap_or(if args.since.is_some() { usize::MAX } else { LIMIT });
    match args.since {
        Some(Since::Seq(seq)) => filter.after = seq,
        Some(Since::Within(span)) => filter.since = now() - span.0,
        None => {}
    }
    let notes = store.last_notes(&filter, limit)?;
    if args.follow {
        return follow(context, store, filter, notes);
    }
    if context.json {
        output::json(&notes.into_iter().map(NoteView::from).collect::<Vec<_>>());
    } else {
        notes.iter().for_each(print_line);
    }
    Ok(Exit::Fine)
}

/// One line for people.
pub fn print_line(note: &Entry) {
    let about = match (&note.project, note.issue) {
        (Some(project), Some(issue)) => format!("{project}#{issue}"),
        (Some(project), None) => project.clone(),
        _ => "-".into(),
    };
    let text = one_line(&note.text, 200);
    output::line(
        format!("{:>6}  {}  {about:<16}  {:<19}  {text}", note.seq, output::timestamp(note.at), note.kind)
            .trim_end(),
    );
}

/// Reads what is new whenever the store was written.
fn follow(
    context: &Context,
    mut store: SqliteStore,
    mut filter: NoteFilter,
    first: Vec<Entry>,
) -> CliResult<Exit> {
    let watch = context.watch_store()?;
    show(context, &mut filter, first);
    loop {
        watch.wait(Duration::MAX)?;
        let notes = store.last_notes(&filter, usize::MAX)?;
        show(context, &mut filter, notes);
    }
}

/// Prints notes, and moves the filter behind them.
fn show(context: &Context, filter: &mut NoteFilter, notes: Vec<Entry>) {
    for note in notes {
        filter.after = filter.after.max(note.seq);
        if context.json {
            output::json_line(&NoteView::from(note));
        } else {
            print_line(&note);
        }
    }
}
