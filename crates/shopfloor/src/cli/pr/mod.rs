//! `shopfloor pr`: the pull requests of a project's forge.

mod create;
mod review;

use super::{CliResult, Context, Exit, output};
use clap::{Args, Subcommand, ValueEnum};
use shopfloor_core::forge::PrState;
use shopfloor_core::ids::PrNumber;
use shopfloor_core::state::Project;
use shopfloor_core::text::one_line;
use shopfloor_desk::answer;
use shopfloor_desk::view::job;
use shopfloor_desk::view::pull::{ListedPr, Seen, found};
use shopfloor_engine::ports::Forge;

/// Open, list, show and review pull requests
#[derive(Args)]
pub struct PrArgs {
    #[command(subcommand)]
    command: PrCommand,
}

impl PrArgs {
    pub(super) fn persons(&self) -> Option<&'static str> {
        match &self.command {
            PrCommand::List { .. } | PrCommand::Show { .. } => None,
            PrCommand::Create(_) => {
                Some("a job has one as soon as there is something to check: signal awaiting_ci")
            }
            // An agent's word is no evidence, least of all on its own work.
            PrCommand::Review(_) => Some("a reviewing agent writes its verdict to $SHOPFLOOR_RESULT_FILE"),
            // It withdraws what somebody has approved.
            PrCommand::Close { .. } => Some("an agent that gives up signals failed"),
        }
    }
}

#[derive(Subcommand)]
enum PrCommand {
    Create(create::CreateArgs),
    /// List pull requests
    List {
        #[arg(long, value_enum, default_value_t = Which::Open)]
        state: Which,
    },
    /// Show a pull request: reviews, statuses, and how to see the diff
    Show {
        #[arg(value_name = "PR")]
        number: PrNumber,
    },
    Review(review::ReviewArgs),
    /// Close a pull request without merging it
    Close {
        #[arg(value_name = "PR")]
        number: PrNumber,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Which {
    Open,
    Closed,
    Merged,
    All,
}

pub fn run(context: &Context, args: PrArgs) -> CliResult<Exit> {
    let project = context.project()?;
    let forge = &*context.forge(&project.name)?;
    match args.command {
        PrCommand::Create(args) => create::run(context, &project, args),
        PrCommand::List { state } => list(context, forge, state),
        PrCommand::Show { number } => show(context, &project, forge, number),
        PrCommand::Review(args) => review::run(context, &project, args),
        PrCommand::Close { number } => close(context, &project, number),
    }
}

fn list(context: &Context, forge: &dyn Forge, state: Which) -> CliResult<Exit> {
    let state = match state {
        Which::Open => Some(PrState::Open),
        Which::Closed => Some(PrState::Closed),
        Which::Merged => Some(PrState::Merged),
        Which::All => None,
    };
    let prs = answer(forge.pulls(state))?;
    if context.json {
        output::json(&prs.into_iter().map(ListedPr::from).collect::<Vec<_>>());
        return Ok(Exit::Fine);
    }
    let rows: Vec<Vec<String>> = prs
        .iter()
        .map(|pr| {
            vec![
                format!("#{}", pr.number),
                one_line(&pr.title, job::TITLE_CHARS),
                pr.state.as_str().to_owned(),
                output::or_dash(pr.issue.map(|issue| format!("#{issue}"))),
                pr.branch.clone(),
                pr.head.short().to_owned(),
            ]
        })
        .collect();
    output::table(&["PR", "TITLE", "STATE", "ISSUE", "BRANCH", "HEAD"], &rows);
    Ok(Exit::Fine)
}

fn show(context: &Context, project: &Project, forge: &dyn Forge, number: PrNumber) -> CliResult<Exit> {
    context.follow_branch(&context.asking(project.clone()), found(forge, number)?.summary())?;
    present(context, project, number)
}

fn present(context: &Context, project: &Project, number: PrNumber) -> CliResult<Exit> {
    let seen = Seen::new(context, project, number)?;
    if context.json {
        output::json(&seen.view());
    } else {
        print_human(&seen);
    }
    Ok(Exit::Fine)
}

fn print_human(Seen { pr, diff }: &Seen) {
    output::line(format!("#{} {}", pr.number, one_line(&pr.title, usize::MAX)));
    let author = one_line(&pr.author, 80);
    let issue = pr.issue.map(|issue| format!(", for issue #{issue}")).unwrap_or_default();
    output::line(format!("  {}, by {author}{issue}, branch {}", pr.state.as_str(), pr.branch));
    output::line(format!("  head {}", pr.head));
    if let Some(commit) = &pr.merged_commit {
        output::line(format!("  merged as {commit}"));
    }
    for status in &pr.statuses {
        let run = status.run.map(|run| format!(" (run {run})")).unwrap_or_default();
        let context = one_line(&status.context, 80);
        let says = one_line(&status.description, 120);
        output::line(format!("  {context}: {}, {says}{run}", status.state.as_str()));
    }
    output::line(format!("  see the change: {diff}"));
    if !pr.body.trim().is_empty() {
        output::line("");
        output::quoted(&pr.body);
    }
    for review in &pr.reviews {
        let old = if review.head == pr.head { "" } else { ", of an older head" };
        let dismissed = if review.dismissed_at.is_some() { ", dismissed" } else { "" };
        output::line("");
        output::line(format!(
            "  {} by {}, {}, {}{old}{dismissed}",
            review.verdict.as_str(),
            one_line(&review.author, 80),
            output::timestamp(review.created_at),
            review.head.short()
        ));
        output::quoted(&review.text);
    }
    for comment in &pr.comments {
        output::line("");
        let (author, at) = (one_line(&comment.author, 80), output::timestamp(comment.created_at));
        output::line(format!("  {author}, {at}"));
        output::quoted(&comment.body);
    }
}

fn close(context: &Context, project: &Project, number: PrNumber) -> CliResult<Exit> {
    context.close_pull(&project.name, number)?;
    if context.json {
        return present(context, project, number);
    }
    output::line(format!("#{number} closed"));
    Ok(Exit::Fine)
}
