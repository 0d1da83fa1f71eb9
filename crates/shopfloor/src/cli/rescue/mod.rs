//! `shopfloor rescue`: what agents' worktrees held, kept on rescue refs. Works on the repositories
//! themselves, whether a daemon runs or not.

mod list;
mod restore;
mod show;

use super::authority::ELSEWHERE;
use super::{CliError, CliResult, Context, Exit, output};
use clap::{Args, Subcommand};
use serde::Serialize;
use shopfloor_adapters::git::{Caps, GitProject, GitWorkspace, Left, Part, PartKind, Rescued};
use shopfloor_core::ids::{Assignment, IssueNumber, ProjectName, Role, Sha, agent_name};
use shopfloor_core::redact::Redactor;
use std::sync::Arc;

/// List, show and restore what agents' worktrees held
///
/// A snapshot is made at each phase, on a timer while an agent works, and before anything is ended or removed.
/// It holds tracked and untracked files, but no ignored ones, and what else the repository has: stashes,
/// unpublished branches and tags, commits made in submodules.
#[derive(Args)]
pub struct RescueArgs {
    #[command(subcommand)]
    command: RescueCommand,
}

impl RescueArgs {
    pub(super) fn persons(&self) -> Option<&'static str> {
        matches!(self.command, RescueCommand::Restore(_)).then_some(ELSEWHERE)
    }
}

#[derive(Subcommand)]
enum RescueCommand {
    List(list::ListArgs),
    Show(show::ShowArgs),
    Restore(restore::RestoreArgs),
}

pub fn run(context: &Context, args: RescueArgs) -> CliResult<Exit> {
    match args.command {
        RescueCommand::List(args) => list::run(context, args),
        RescueCommand::Show(args) => show::run(context, &args),
        RescueCommand::Restore(args) => restore::run(context, &args),
    }
}

/// A project's rescue refs, and what to do with them.
struct Site {
    project: ProjectName,
    workspace: GitWorkspace,
}

impl Site {
    fn open(context: &Context) -> CliResult<Site> {
        let known = context.project()?;
        let project = known.name.clone();
        // As the floor has it: a configuration that became wrong is no reason to keep work back.
        let git = GitProject {
            name: known.name,
            primary_branch: known.policy.primary_branch,
            checkout: known.checkout.into(),
            push_rescues: false,
            caps: Caps::default(),
            secrets: Redactor::default(),
            signing: None,
            targets: Vec::new(),
            origin: None,
        };
        let projects = Arc::new(move |wanted: &ProjectName| (*wanted == git.name).then(|| git.clone()));
        let workspace = GitWorkspace::new(context.git()?, context.layout.clone(), projects);
        Ok(Site { project, workspace })
    }

    fn all(&self) -> CliResult<Vec<Rescued>> {
        Ok(self.workspace.rescues(&self.project)?)
    }

    /// The snapshot meant: a ref, whole or without `refs/rescue/`; or the newest of an agent, or of
    /// an issue's developer.
    fn find(&self, what: &str) -> CliResult<Rescued> {
        let all = self.all()?;
        let number: Option<IssueNumber> = what.trim_start_matches('#').parse().ok();
        let agent =
            number.map_or(what.to_owned(), |n| agent_name(Role::DEV, &self.project, Assignment::Issue(n)));
        let named = |r: &&Rescued| r.reference == what || r.reference == format!("refs/rescue/{what}");
        let exact = all.iter().find(named);
        let found = exact.or_else(|| all.iter().rfind(|r| r.agent == agent));
        found.cloned().ok_or_else(|| {
            let shown = shopfloor_core::text::one_line(what, 100);
            let hint = match all.last() {
                Some(last) => {
                    format!("`shopfloor rescue list` shows them all; the last is {}", last.reference)
                }
                None => format!("nothing has been rescued in project {} yet", self.project),
            };
            CliError::no_such(format!("there is no rescue ref {shown}")).hint(hint)
        })
    }
}

/// A rescue ref in `--json`.
#[derive(Serialize)]
struct RescueView {
    #[serde(rename = "ref")]
    reference: String,
    agent: String,
    issue: Option<IssueNumber>,
    at: String,
    commit: Sha,
    /// HEAD of the worktree then.
    head: Option<Sha>,
    /// Files that differ from that HEAD.
    files: usize,
    /// The branch that has all of it as well.
    also_in: Option<String>,
    /// What it keeps beside: stashes, other branches, tags, submodules' commits.
    parts: Vec<PartView>,
    /// What it does not hold because it was too large.
    left: Vec<LeftView>,
}

#[derive(Serialize)]
struct LeftView {
    path: String,
    bytes: u64,
    /// Whether it was ignored anyway.
    ignored: bool,
}

#[derive(Serialize)]
struct PartView {
    kind: &'static str,
    name: String,
    commit: Sha,
}

impl RescueView {
    fn new(project: &ProjectName, rescued: &Rescued) -> Self {
        RescueView {
            reference: rescued.reference.clone(),
            agent: rescued.agent.clone(),
            issue: rescued.tree_of(project).and_then(|tree| tree.number()),
            at: output::moment(rescued.at),
            commit: rescued.commit.clone(),
            head: rescued.head.clone(),
            files: rescued.files,
            also_in: rescued.also_in.clone(),
            parts: rescued.parts.iter().map(PartView::new).collect(),
            left: rescued.left.iter().map(LeftView::new).collect(),
        }
    }
}

impl LeftView {
    fn new(left: &Left) -> Self {
        LeftView { path: left.path.clone(), bytes: left.bytes, ignored: left.ignored }
    }
}

impl PartView {
    fn new(part: &Part) -> Self {
        PartView { kind: part.kind.as_str(), name: part.name.clone(), commit: part.commit.clone() }
    }
}

/// `2 stashes, 1 branch`; nothing for none.
fn parts(rescued: &Rescued) -> String {
    let kinds = [PartKind::Stash, PartKind::Branch, PartKind::Tag, PartKind::Submodule];
    let counts = kinds.into_iter().filter_map(|kind| {
        let count = rescued.parts.iter().filter(|part| part.kind == kind).count();
        let (one, many) = match kind {
            PartKind::Stash => ("stash", "stashes"),
            PartKind::Branch => ("branch", "branches"),
            PartKind::Tag => ("tag", "tags"),
            PartKind::Submodule => ("submodule commit", "submodule commits"),
        };
        (count > 0).then(|| format!("{count} {}", if count == 1 { one } else { many }))
    });
    counts.collect::<Vec<_>>().join(", ")
}

/// `1 file`, `3 files`.
fn files(count: usize) -> String {
    format!("{count} {}", if count == 1 { "file" } else { "files" })
}
