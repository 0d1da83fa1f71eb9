//! `shopfloor init`: a repository becomes a project.

mod commit;
mod leftovers;
mod vision;

use super::config::accept::{accept_all, proposal};
use super::output;
use super::{CliError, CliResult, Context, Exit, now};
use crate::config::{self, FloorConfig, template};
use clap::Args;
use shopfloor_adapters::git::repos::{self, CheckoutProblem, OriginState, RegisterError};
use shopfloor_adapters::git::{Caps, Git, GitError, GitProject};
use shopfloor_adapters::host::atomic::write_atomic;
use shopfloor_core::event::Event;
use shopfloor_core::ids::{ProjectName, Role};
use shopfloor_core::redact::Redactor;
use shopfloor_desk::answer;
use std::ffi::OsStr;
use std::path::Path;

/// Make this git repository a project: write shopfloor.toml, register it
///
/// Can be run again: an existing shopfloor.toml is kept, and the project is brought up to date.
#[derive(Args)]
pub struct InitArgs {
    /// The project's name [default: the folder's]
    #[arg(long)]
    name: Option<String>,
    /// The branch that changes are merged into [default: main, master or the current one]
    #[arg(long, value_name = "BRANCH")]
    primary_branch: Option<String>,
    /// Continue despite uncommitted changes; agents will not see them
    #[arg(long)]
    allow_dirty: bool,
    /// Commit shopfloor.toml, and what else is written, with your own git identity and hooks
    #[arg(long)]
    commit: bool,
    /// Switch the other agents on (gardener, supervisor, predictor, planner, action), and write VISION.md and
    /// RESOURCES.md for you to fill in
    #[arg(long)]
    with_agents: bool,
    /// If a floor was here and its store is gone: move what it left aside, and begin anew
    #[arg(long)]
    set_aside: bool,
}

pub fn run(context: &Context, args: InitArgs) -> CliResult<Exit> {
    let git = context.git()?;
    let checkout = repos::find_checkout(&git, &std::env::current_dir()?).map_err(problem)?;
    let file = checkout.join(config::FILE_NAME);
    let exists = file.exists();
    let config = if exists {
        config::load::project(&file, &context.floor_config()?)?
    } else {
        let text = new_config(&git, &checkout, &args)?;
        config::load::project_from(&file, &text, &context.floor_config()?)?
    };
    if exists && args.name.as_ref().is_some_and(|n| *n != config.project.name.as_str()) {
        return Err(CliError::usage(format!(
            "{} names the project {}",
            config::FILE_NAME,
            config.project.name
        ))
        .hint("leave out --name, or change the file"));
    }
    let project = GitProject {
        name: config.project.name.clone(),
        primary_branch: config.project.primary_branch.clone(),
        checkout: checkout.clone(),
        push_rescues: false,
        caps: Caps::default(),
        secrets: Redactor::default(),
        signing: None,
        targets: Vec::new(),
        origin: config.project.origin.clone(),
    };
    // Everything that can be wrong is found before anything is written.
    match repos::validate(&git, &project) {
        Err(RegisterError::Checkout(CheckoutProblem::Dirty { .. })) if args.allow_dirty => {}
        other => other.map_err(problem)?,
    }
    if args.commit {
        commit::may(context, &checkout, &project.primary_branch)?;
    }
    leftovers::make_room(context, args.set_aside)?;
    let mut engine = context.new_engine()?;
    if let Some(known) = engine.floor().projects.get(&project.name)
        && Path::new(&known.checkout) != checkout
        && Path::new(&known.checkout).exists()
    {
        return Err(CliError::usage(format!(
            "this floor has a project {} already, in {}",
            project.name, known.checkout
        ))
        .hint("choose another name with --name"));
    }
    if exists && args.with_agents {
        let others = Role::OTHERS.into_iter().filter(|role| !config::switch::is_on(&config, *role));
        for role in others {
            eprintln!(
                "note: `shopfloor agents enable {role}` switches the {role} on in the file that is there"
            );
        }
    }
    if !exists {
        let text = new_config(&git, &checkout, &args)?;
        write_atomic(&file, text.as_bytes(), 0o644)?;
    }
    let mut written = vec![config::FILE_NAME];
    if args.with_agents {
        written.extend(vision::write(&checkout)?);
    }
    // Before origin gets the primary branch: then it has the file, too.
    let committed = args.commit && commit::commit(context, &checkout, &written)?;
    let state = repos::register(&git, &context.layout, &project, args.allow_dirty).map_err(problem)?;
    answer(context.forges()?.init(&project.name))?;
    let event = Event::ProjectSet {
        project: project.name.clone(),
        checkout: checkout.display().to_string(),
        policy: config.policy(),
    };
    engine.submit(now(), &event)?;
    let known = engine.floor().pins.get(&project.name).is_some();
    if !known && let Some(row) = engine.floor().projects.get(&project.name) {
        // Whoever makes a repository a project accepts what it says then, and only then.
        accept_all(context, row, proposal(context, row)?)?;
    }
    context.poke();
    let origin = context.origin(&project.name)?;
    report(context, &project, origin.url(), &state, exists, committed);
    Ok(Exit::Fine)
}

fn report(
    context: &Context,
    project: &GitProject,
    origin: &OsStr,
    state: &OriginState,
    existed: bool,
    committed: bool,
) {
    let remote = origin.to_string_lossy();
    if context.json {
        output::json(&serde_json::json!({
            "project": project.name.as_str(),
            "primary_branch": project.primary_branch,
            "checkout": project.checkout.display().to_string(),
            "home": context.layout.root().display().to_string(),
            "hub": remote,
            "config_written": !existed,
            "config_committed": committed,
        }));
        return;
    }
    let file = match (existed, committed) {
        (_, true) => "committed",
        (true, false) => "kept",
        (false, false) => "wrote",
    };
    output::line(format!(
        "project {}: {file} {}, floor in {}",
        project.name,
        config::FILE_NAME,
        context.layout.root().display()
    ));
    output::line(format!("remote `shopfloor` is {remote}"));
    let branch = &project.primary_branch;
    match state {
        OriginState::Pushed | OriginState::Same => {}
        OriginState::Ahead => {
            output::line(format!("the floor is ahead of you: run `git pull --rebase shopfloor {branch}`"));
        }
        OriginState::Diverged { .. } => output::line(format!(
            "your {branch} and the floor's have diverged: agents work on the floor's. `shopfloor up` puts your commits through the merge queue; or bring both together yourself: `git pull --rebase shopfloor {branch}`"
        )),
    }
    output::line("next: shopfloor issue add \"title\" --label backlog, then shopfloor up");
}

fn new_config(git: &Git, checkout: &Path, args: &InitArgs) -> CliResult<String> {
    let name: ProjectName = match &args.name {
        Some(name) => name.parse()?,
        None => name_of(checkout)?,
    };
    let primary = match &args.primary_branch {
        Some(branch) => branch.clone(),
        None => repos::guess_primary(git, checkout).map_err(problem)?,
    };
    let text = template::render(&name, &primary, &template::detect(checkout));
    if !args.with_agents {
        return Ok(text);
    }
    let file = checkout.join(config::FILE_NAME);
    Role::OTHERS.into_iter().try_fold(text, |text, role| {
        let config = config::load::project_from(&file, &text, &FloorConfig::default())?;
        Ok(config::switch::on(&file, &text, &config, role)?)
    })
}

/// A name from the folder's, as near as the rules allow.
fn name_of(checkout: &Path) -> CliResult<ProjectName> {
    let folder = checkout.file_name().map(|n| n.to_string_lossy().to_lowercase()).unwrap_or_default();
    let plain: String =
        folder.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
    let name: String = plain.trim_matches(['-', '_']).chars().take(40).collect();
    name.parse().map_err(|_| {
        CliError::usage(format!("no project name can be made from the folder's name {folder:?}"))
            .hint("give one with --name")
    })
}

fn problem(error: RegisterError) -> CliError {
    let exit = match &error {
        RegisterError::Checkout(_) => Exit::Usage,
        RegisterError::Git(GitError::Settled(_)) => Exit::Usage,
        RegisterError::Git(_) | RegisterError::Origin(_) => Exit::Failed,
    };
    let hint = matches!(&error, RegisterError::Checkout(CheckoutProblem::Dirty { .. }))
        .then_some("or pass --allow-dirty: agents will not see those changes");
    let mut shown = CliError::new(exit, error.to_string());
    shown.hint = hint.map(str::to_owned);
    shown
}
