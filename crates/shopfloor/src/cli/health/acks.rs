//! `shopfloor health ack`, `unack` and `acks`: what people know of and do not want to hear of for a while.

use crate::cli::{CliResult, Context, Exit, output};
use serde::Serialize;
use shopfloor_core::health::FindingKey;
use shopfloor_desk::time::moment;
use shopfloor_desk::view::finding::AckView;
use std::time::Duration;

#[derive(Serialize)]
struct Acknowledged<'a> {
    key: &'a FindingKey,
    /// `null`: not any more.
    until: Option<String>,
}

pub(super) fn ack(context: &Context, key: &FindingKey, within: Duration) -> CliResult<Exit> {
    let project = context.project()?.name;
    let ack = context.acknowledge(&project, key, within, &context.author())?;
    let until = moment(ack.until);
    if context.json {
        output::json(&Acknowledged { key, until: Some(until) });
        return Ok(Exit::Fine);
    }
    match ack.priority {
        Some(priority) => {
            output::line(format!("{key} is quiet until {until}, unless it is worse than {priority}"));
        }
        None => output::line(format!("{key} is not found now; should it be, it is quiet until {until}")),
    }
    Ok(Exit::Fine)
}

pub(super) fn unack(context: &Context, key: &FindingKey) -> CliResult<Exit> {
    context.unacknowledge(&context.project()?.name, key, &context.author())?;
    match context.json {
        true => output::json(&Acknowledged { key, until: None }),
        false => output::line(format!("{key} is shown again")),
    }
    Ok(Exit::Fine)
}

pub(super) fn list(context: &Context) -> CliResult<Exit> {
    let only = context.named_project()?;
    let engine = context.engine()?;
    let all = AckView::all(engine.floor(), |project| only.as_ref().is_none_or(|only| only == project));
    if context.json {
        output::json(&all);
        return Ok(Exit::Fine);
    }
    if all.is_empty() {
        output::line("nothing is acknowledged");
        return Ok(Exit::Fine);
    }
    let row = |ack: &AckView| {
        let of = ack.project.as_ref().map_or_else(|| "the machine".to_owned(), ToString::to_string);
        vec![ack.key.to_string(), of, ack.until.clone(), ack.by.clone()]
    };
    output::table(&["KEY", "OF", "UNTIL", "BY"], &all.iter().map(row).collect::<Vec<_>>());
    Ok(Exit::Fine)
}
