//! `shopfloor rescue restore`.

use super::super::{CliError, CliResult, Context, Exit, output};
use super::{Site, files};
use clap::Args;
use serde::Serialize;
use shopfloor_adapters::git::{PartKind, Rescued};
use shopfloor_adapters::terminal::tmux::Tmux;
use shopfloor_core::ids::{Assignment, IssueNumber, Role, branch_for};
use shopfloor_core::state::{SessionState, Shelf};
use shopfloor_hand::HandSessions;
use std::path::{Path, PathBuf};

/// Restore what a snapshot holds
///
/// Without an option, it goes into the issue's own worktree, but only while no agent works there, and after a
/// snapshot of what is there. Nothing is overwritten that is not kept.
#[derive(Args)]
pub struct RestoreArgs {
    /// A rescue ref; or an agent or an issue, for the newest of its snapshots
    #[arg(value_name = "REF|AGENT|ISSUE")]
    what: String,
    /// Write the files into this folder, which must be new or empty
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Create a branch of this name in the floor's repository
    #[arg(long, value_name = "NAME", conflicts_with = "to")]
    branch: Option<String>,
    /// Instead of the worktree's files, something that was kept with them (a stash, another branch, a
    /// submodule's commit), by its number in `rescue show`; with `--to` or `--branch`
    #[arg(long, value_name = "N")]
    part: Option<usize>,
}

#[derive(Serialize, Default)]
struct RestoredView {
    #[serde(rename = "ref")]
    reference: String,
    folder: Option<String>,
    branch: Option<String>,
    /// Where what the worktree held before is kept.
    before: Option<String>,
    /// Why the worktree's HEAD is not the snapshot's.
    note: Option<String>,
}

pub fn run(context: &Context, args: &RestoreArgs) -> CliResult<Exit> {
    let site = Site::open(context)?;
    let mut found = site.find(&args.what)?;
    if let Some(number) = args.part {
        if args.to.is_none() && args.branch.is_none() {
            return Err(CliError::usage("no destination was given").hint("add `--to DIR` or `--branch NAME`"));
        }
        let part = site.workspace.rescued_part(&site.project, &found, number)?;
        found = part.ok_or_else(|| {
            CliError::no_such(format!("{} has no part {number}", found.reference))
                .hint(format!("`shopfloor rescue show {}` numbers them", found.reference))
        })?;
    }
    let mut view = RestoredView { reference: found.reference.clone(), ..RestoredView::default() };
    let what = match args.part {
        Some(number) => format!("part {number} of {}", found.reference),
        None => format!("{} ({} changed against its HEAD)", found.reference, files(found.files)),
    };
    if let Some(dir) = &args.to {
        let dir = std::path::absolute(dir)?;
        site.workspace.restore_to(&site.project, &found, &dir)?;
        view.folder = Some(dir.display().to_string());
        say(context, view, &[format!("the files of {what} are in {}", dir.display())]);
    } else if let Some(branch) = &args.branch {
        site.workspace.restore_branch(&site.project, &found, branch)?;
        view.branch = Some(branch.clone());
        let fetch = format!("get it with `git fetch shopfloor {branch}`");
        say(context, view, &[format!("branch {branch} is at {what}"), fetch]);
    } else {
        in_place(context, &site, &found, view, &what)?;
    }
    Ok(Exit::Fine)
}

fn in_place(
    context: &Context,
    site: &Site,
    found: &Rescued,
    mut view: RestoredView,
    what: &str,
) -> CliResult<()> {
    let elsewhere = "`--to DIR` writes it to a folder, `--branch NAME` to a branch";
    let tree = found.tree_of(&site.project).filter(|tree| !tree.is_review());
    let Some((tree, issue)) = tree.and_then(|tree| tree.number().map(|issue| (tree, issue))) else {
        return Err(
            CliError::usage(format!("{} is not of an issue's own worktree", found.reference)).hint(elsewhere)
        );
    };
    refuse_if_at_work(context, site, issue, elsewhere)?;
    let floor = context.committed_about(&[Shelf::Number(site.project.clone(), issue)])?;
    let job = floor.job_of(&site.project, issue).map(|job| job.branch.clone());
    let branch = job.unwrap_or_else(|| branch_for(issue));
    let done = site.workspace.restore_in_place(&tree, &branch, found)?;
    let mut lines = vec![format!("{} holds what {what} held", done.path.display())];
    lines.push(format!("what it held before is kept at {}", done.before.reference));
    for part in &done.parts {
        let name = shopfloor_core::text::one_line(&part.name, 200);
        lines.push(format!("its {} is restored: {name}", part.kind.as_str()));
    }
    let left = found.parts.iter().filter(|part| part.kind == PartKind::Submodule).count();
    if left > 0 {
        lines.push(format!(
            "{left} commits of submodules can be restored with `--part N --branch NAME`; `shopfloor rescue show {}` numbers them",
            found.reference
        ));
    }
    if let Some(other) = &done.other_head {
        let note = format!(
            "HEAD stays at {}: going to {}, where it was, would leave commits behind",
            done.head.short(),
            other.short()
        );
        lines.push(note.clone());
        view.note = Some(note);
    }
    view.folder = Some(done.path.display().to_string());
    view.before = Some(done.before.reference);
    say(context, view, &lines);
    Ok(())
}

/// Nobody's files are changed under their hands.
fn refuse_if_at_work(context: &Context, site: &Site, issue: IssueNumber, elsewhere: &str) -> CliResult<()> {
    let busy = |who: String| {
        Err(CliError::new(Exit::Busy, format!("{who}, so its worktree is left alone")).hint(elsewhere))
    };
    let engine = context.engine()?;
    let floor = engine.floor();
    if let Some(job) = floor.live_jobs(&site.project).find(|job| job.issue() == Some(issue)) {
        return busy(format!("job {} is at work on issue #{issue} ({})", job.id, job.state.name()));
    }
    let owns = |s: &&shopfloor_core::state::Session| {
        s.project == site.project && s.assignment.number() == Some(issue) && s.state != SessionState::Ended
    };
    if let Some(session) = floor.sessions.iter().find(owns) {
        return busy(format!("session {} of issue #{issue} has not ended", session.tmux));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let hands =
        HandSessions { layout: context.layout.clone(), tmux: Tmux::new(context.layout.tmux_socket(), path) };
    let worktree = context.layout.worktree(&site.project, Role::DEV, Assignment::Issue(issue));
    let inside = |cwd: &str| {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        real(Path::new(cwd)).starts_with(real(&worktree))
    };
    for hand in hands.all(false)? {
        if hand.ended().is_none() && hand.record.as_ref().is_some_and(|record| inside(&record.cwd)) {
            return busy(format!("session {} runs there", hand.name));
        }
    }
    Ok(())
}

fn say(context: &Context, view: RestoredView, lines: &[String]) {
    if context.json {
        output::json(&view);
        return;
    }
    for line in lines {
        output::line(shopfloor_core::text::one_line(line, 1000));
    }
}
