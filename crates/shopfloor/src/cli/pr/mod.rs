//! `shopfloor pr`: the pull requests of the embedded forge.

pub(super) mod create;
mod review;

use super::body;
use super::{CliError, CliResult, Context, Exit, output, view};
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use shopfloor_core::effect::Verdict;
use shopfloor_core::ids::{IssueNumber, PrNumber, RunId, Sha};
use shopfloor_core::state::{Job, Project};
use shopfloor_core::text::one_line;
use shopfloor_store::forge::{Comment, ForgeDb, Pr, PrState, PrSummary, Review, Status};

/// Open, list, show and review pull requests
#[derive(Args)]
pub struct PrArgs {
    #[command(subcommand)]
    command: PrCommand,
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

#[derive(Serialize)]
struct ListedPr {
    number: PrNumber,
    title: String,
    state: PrState,
    branch: String,
    head: Sha,
    /// `null`: it is for none.
    issue: Option<IssueNumber>,
    merged_commit: Option<Sha>,
    author: String,
    created_at: String,
    updated_at: String,
}

#[derive(Serialize)]
struct ShownPr {
    number: PrNumber,
    title: String,
    state: PrState,
    branch: String,
    head: Sha,
    /// `null`: it is for none.
    issue: Option<IssueNumber>,
    merged_commit: Option<Sha>,
    author: String,
    body: String,
    created_at: String,
    updated_at: String,
    reviews: Vec<ShownReview>,
    comments: Vec<ShownComment>,
    statuses: Vec<ShownStatus>,
    /// Commands that show the change.
    diff: String,
}

#[derive(Serialize)]
struct ShownReview {
    id: u64,
    head: Sha,
    verdict: Verdict,
    author: String,
    text: String,
    created_at: String,
    /// When its author's approval took it back.
    dismissed_at: Option<String>,
}

#[derive(Serialize)]
struct ShownComment {
    author: String,
    body: String,
    created_at: String,
}

#[derive(Serialize)]
struct ShownStatus {
    context: String,
    state: &'static str,
    description: String,
    run: Option<RunId>,
    updated_at: String,
}

pub fn run(context: &Context, args: PrArgs) -> CliResult<Exit> {
    let project = context.project()?;
    let mut forge = context.forge()?;
    match args.command {
        PrCommand::Create(args) => create::run(context, &project, &mut forge, args),
        PrCommand::List { state } => list(context, &project, &mut forge, state),
        PrCommand::Show { number } => show(context, &project, &mut forge, number),
        PrCommand::Review(args) => review::run(context, &project, &mut forge, args),
        PrCommand::Close { number } => close(context, &project, &mut forge, number),
    }
}

fn list(context: &Context, project: &Project, forge: &mut ForgeDb, state: Which) -> CliResult<Exit> {
    let state = match state {
        Which::Open => Some(PrState::Open),
        Which::Closed => Some(PrState::Closed),
        Which::Merged => Some(PrState::Merged),
        Which::All => None,
    };
    let prs = forge.prs(&project.name, state)?;
    if context.json {
        output::json(&prs.into_iter().map(listed).collect::<Vec<_>>());
        return Ok(Exit::Fine);
    }
    let rows: Vec<Vec<String>> = prs
        .iter()
        .map(|pr| {
            vec![
                format!("#{}", pr.number),
                one_line(&pr.title, view::TITLE_CHARS),
                pr.state.as_str().to_owned(),
                view::or_dash(pr.issue.map(|issue| format!("#{issue}"))),
                pr.branch.clone(),
                pr.head.short().to_owned(),
            ]
        })
        .collect();
    output::table(&["PR", "TITLE", "STATE", "ISSUE", "BRANCH", "HEAD"], &rows);
    Ok(Exit::Fine)
}

fn listed(pr: PrSummary) -> ListedPr {
    ListedPr {
        number: pr.number,
        title: pr.title,
        state: pr.state,
        branch: pr.branch,
        head: pr.head,
        issue: pr.issue,
        merged_commit: pr.merged_commit,
        author: pr.author,
        created_at: output::moment(pr.created_at),
        updated_at: output::moment(pr.updated_at),
    }
}

fn show(context: &Context, project: &Project, forge: &mut ForgeDb, number: PrNumber) -> CliResult<Exit> {
    let pr = forge.pr_summary(&project.name, number).map_err(|e| missing(e.into()))?;
    create::follow(context, project, forge, pr)?;
    present(context, project, forge, number)
}

fn present(context: &Context, project: &Project, forge: &mut ForgeDb, number: PrNumber) -> CliResult<Exit> {
    let pr = forge.pr(&project.name, number).map_err(|e| missing(e.into()))?;
    let engine = context.engine()?;
    let carries = |job: &&Job| !job.is_review() && job.project == project.name && job.pr == Some(number);
    let target = engine.floor().jobs.iter().rfind(carries).and_then(|job| job.target.clone());
    let diff = format!(
        "git fetch shopfloor refs/pull/{number}/head && git diff shopfloor/{}...FETCH_HEAD",
        project.policy.branch_of(target.as_ref())
    );
    if context.json {
        output::json(&shown(pr, diff));
    } else {
        print_human(&pr, &diff);
    }
    Ok(Exit::Fine)
}

fn missing(e: CliError) -> CliError {
    if e.exit == Exit::NoSuchThing { e.hint("`shopfloor pr list --state all` shows them") } else { e }
}

fn shown(pr: Pr, diff: String) -> ShownPr {
    let review = |r: Review| ShownReview {
        id: r.id,
        head: r.head,
        verdict: r.verdict,
        author: r.author,
        text: r.text,
        created_at: output::moment(r.created_at),
        dismissed_at: r.dismissed_at.map(output::moment),
    };
    let comment = |c: Comment| ShownComment {
        author: c.author,
        body: c.body,
        created_at: output::moment(c.created_at),
    };
    let status = |s: Status| ShownStatus {
        context: s.context,
        state: s.state.as_str(),
        description: s.description,
        run: s.run,
        updated_at: output::moment(s.updated_at),
    };
    ShownPr {
        number: pr.number,
        title: pr.title,
        state: pr.state,
        branch: pr.branch,
        head: pr.head,
        issue: pr.issue,
        merged_commit: pr.merged_commit,
        author: pr.author,
        body: pr.body,
        created_at: output::moment(pr.created_at),
        updated_at: output::moment(pr.updated_at),
        reviews: pr.reviews.into_iter().map(review).collect(),
        comments: pr.comments.into_iter().map(comment).collect(),
        statuses: pr.statuses.into_iter().map(status).collect(),
        diff,
    }
}

fn print_human(pr: &Pr, diff: &str) {
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

fn close(context: &Context, project: &Project, forge: &mut ForgeDb, number: PrNumber) -> CliResult<Exit> {
    // It withdraws what somebody has approved.
    if body::session().is_some() {
        return Err(CliError::usage("an agent's session cannot close a pull request")
            .hint("an agent that gives up signals failed"));
    }
    let pr = forge.pr_summary(&project.name, number).map_err(|e| missing(e.into()))?;
    if pr.state == PrState::Merged {
        return Err(CliError::failed(format!("pull request #{number} is merged already")));
    }
    forge.close_pr(&project.name, number, None)?;
    context.poke();
    if context.json {
        return present(context, project, forge, number);
    }
    output::line(format!("#{number} closed"));
    Ok(Exit::Fine)
}
