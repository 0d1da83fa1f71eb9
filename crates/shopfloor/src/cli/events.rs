//! `shopfloor events`: what happened, and what happens.

use super::{CliResult, Context, Exit, output};
use crate::config::Span;
use clap::Args;
use shopfloor_core::ids::{IssueNumber, Seq};
use shopfloor_core::text::one_line;
use shopfloor_desk::now;
use shopfloor_desk::view::note::NoteView;
use shopfloor_store::JournalEntry;
use shopfloor_store::NoteFilter;
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
    /// At most this many, the newest [default: 50, without --since]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Keep showing what happens, as it happens; with --json one object a line
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

pub fn run(context: &Context, args: EventsArgs) -> CliResult<Exit> {
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
    if args.follow {
        return follow(context, &filter, limit);
    }
    let notes = context.reader()?.last_notes(&filter, limit)?;
    if context.json {
        output::json(&notes.into_iter().map(NoteView::from).collect::<Vec<_>>());
    } else {
        notes.iter().for_each(print_line);
    }
    Ok(Exit::Fine)
}

/// One line for people.
pub fn print_line(note: &JournalEntry) {
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

/// What there is, then what comes.
fn follow(context: &Context, filter: &NoteFilter, limit: usize) -> CliResult<Exit> {
    // Before what there is is read, so that nothing falls in between.
    let mut coming = context.subscribe(None)?;
    let mut shown = Seq(0);
    let mut show = |notes: Vec<JournalEntry>| {
        for note in notes.into_iter().filter(|note| filter.passes(note)) {
            if note.seq <= shown {
                continue;
            }
            shown = note.seq;
            match context.json {
                true => output::json_line(&NoteView::from(note)),
                false => print_line(&note),
            }
        }
    };
    show(context.reader()?.last_notes(filter, limit)?);
    loop {
        if let Some(changes) = coming.next(Duration::MAX)? {
            show(changes.notes);
        }
    }
}
