//! `shopfloor session fork`: a second session that goes on from another's conversation.

use super::spawn;
use crate::cli::{CliError, CliResult, Context, Exit, now};
use clap::Args;
use shopfloor_adapters::host::env::clean_env;
use shopfloor_hand::conversation::ClientHomes;
use shopfloor_hand::fork::argv;
use shopfloor_hand::name::Parts;
use shopfloor_hand::spawn::environment;
use shopfloor_hand::{Means, Spawn, find};
use std::path::{Path, PathBuf};

/// Start another session that continues a session's conversation, and print its name
///
/// Both share what was said so far, and then go their own ways. The new one works in the same folder, on the
/// same step and story. The other may still run, or have ended. It works with Claude Code and Codex.
#[derive(Args)]
pub struct ForkArgs {
    name: String,
    /// The conversation to continue, by the client's own id, if several could be meant
    #[arg(long, value_name = "ID")]
    conversation: Option<String>,
    /// A variable of your environment to pass on, besides those in `pass_env` in shopfloor.toml; may be repeated
    #[arg(long, value_name = "VARIABLE")]
    pass_env: Vec<String>,
    /// More arguments for the client, such as options or a first prompt
    #[arg(last = true)]
    words: Vec<String>,
}

pub fn run(context: &Context, args: ForkArgs) -> CliResult<Exit> {
    let hands = super::sessions(context);
    let hand = find(context, &hands, &args.name)?;
    let record = hand
        .record
        .as_ref()
        .ok_or_else(|| CliError::failed(format!("there is no record of {}", hand.name)))?;
    let spec = (context as &dyn Means).runtime_of(&hand)?;
    let mut argv = argv(&spec, &hand, record, args.conversation, homes)?;
    argv.extend(args.words);
    let project = context.engine()?.floor().projects.get(&record.project).cloned();
    let project = project.ok_or_else(|| CliError::no_such("its project is not on this floor any more"))?;
    let cwd = Path::new(&record.cwd);
    if !cwd.is_dir() {
        return Err(CliError::failed(format!("its folder {} is gone", cwd.display())));
    }
    let passed = spawn::pass_env(context, &project, &record.step, args.pass_env);
    let forked = hands.spawn(Spawn {
        parts: Parts {
            project: &record.project,
            step: &record.step,
            epic: &record.epic,
            story: &record.story,
            cycle: record.cycle,
        },
        runtime: &record.runtime,
        cwd,
        argv,
        leader: super::leader::argv()?,
        env: environment(context, &project, cwd, clean_env(std::env::vars_os(), &passed), None),
        now: now(),
        by: spawn::this_process()?,
        branch: None,
        taken_over: false,
        forked_from: Some(&record.name),
    })?;
    spawn::show(context, &forked);
    Ok(Exit::Fine)
}

/// Where the clients of whoever asks keep their conversations.
fn homes() -> CliResult<ClientHomes> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = set("HOME").ok_or_else(|| CliError::usage("HOME is not set"))?;
    Ok(ClientHomes {
        claude: set("CLAUDE_CONFIG_DIR").unwrap_or_else(|| home.join(".claude")),
        codex: set("CODEX_HOME").unwrap_or_else(|| home.join(".codex")),
    })
}
