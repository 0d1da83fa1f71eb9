//! `shopfloor vault history`.

use super::super::{CliResult, Context, Exit, output};
use super::project_of;
use clap::Args;
use shopfloor_core::state::{Request, RequestEvent};
use shopfloor_core::text::one_line;
use shopfloor_desk::command::Which;
use shopfloor_desk::view::vault::{RequestView, all};

/// Show who asked for what, who decided what, when and from where, and what became of it
///
/// Of one request, however old; or of those that are open and the newest that are over.
#[derive(Args)]
pub struct HistoryArgs {
    #[arg(value_name = "N|qN")]
    request: Option<Which>,
}

pub fn run(context: &Context, args: &HistoryArgs) -> CliResult<Exit> {
    let requests: Vec<Request> = match args.request {
        Some(which) => vec![context.request(&project_of(context, which)?, which)?],
        None => {
            let only = context.named_project()?;
            let engine = context.engine()?;
            all(engine.floor(), only.as_ref(), usize::MAX).into_iter().cloned().collect()
        }
    };
    if context.json {
        output::json(&requests.iter().map(RequestView::from).collect::<Vec<_>>());
        return Ok(Exit::Fine);
    }
    let deeds = requests.iter().flat_map(|r| r.history.iter().map(move |deed| (deed.at, r, deed)));
    let mut deeds: Vec<_> = deeds.collect();
    // Of the same moment, in the order they were done.
    deeds.sort_by_key(|(at, request, _)| (*at, request.number));
    let row = |(_, request, deed): &(_, &Request, &RequestEvent)| {
        let given = |text: &str| output::or_dash(Some(one_line(text, 60)).filter(|text| !text.is_empty()));
        let by = if deed.by.is_empty() { "the factory".to_owned() } else { one_line(&deed.by, 40) };
        vec![
            output::timestamp(deed.at),
            request.number.to_string(),
            request.r#type.to_string(),
            deed.what.name().to_owned(),
            by,
            given(&deed.from),
            given(&deed.note),
        ]
    };
    match deeds.is_empty() {
        true => output::line("no requests"),
        false => output::table(
            &["WHEN", "REQUEST", "TYPE", "WHAT", "BY", "FROM", "NOTE"],
            &deeds.iter().map(row).collect::<Vec<_>>(),
        ),
    }
    Ok(Exit::Fine)
}
