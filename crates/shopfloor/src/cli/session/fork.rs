//! `shopfloor session fork`: a second session that goes on from another's conversation.

use super::spawn;
use crate::cli::{CliError, CliResult, Context, Exit, now};
use clap::Args;
use shopfloor_adapters::hand::conversation::{self, ClientHomes};
use shopfloor_adapters::hand::{Hand, Record, Spawn};
use shopfloor_core::hand::name::Parts;
use shopfloor_core::runtime::{RuntimeSpec, Values};
use std::path::{Path, PathBuf};

/// Start another session that goes on from the conversation of one, and print its name
///
/// Both have what was said so far, and from now on each its own. The new one works in the same folder, for the same
/// step and story. The other may still run, or be over. It works with clients that can do so: Claude Code and Codex.
#[derive(Args)]
pub struct ForkArgs {
    name: String,
    /// The conversation to go on from, by the client's own id, if more than one could be meant
    #[arg(long, value_name = "ID")]
    conversation: Option<String>,
    /// A variable of this environment that it gets, beside those of `pass_env` in shopfloor.toml; may be repeated
    #[arg(long, value_name = "VARIABLE")]
    pass_env: Vec<String>,
    /// More words for the client, such as options or a first prompt
    #[arg(last = true)]
    words: Vec<String>,
}

pub fn run(context: &Context, args: ForkArgs) -> CliResult<Exit> {
    let hands = super::sessions(context);
    let hand = super::find(context, &hands, &args.name)?;
    let record = hand
        .record
        .as_ref()
        .ok_or_else(|| CliError::failed(format!("nothing is on record of {}", hand.name)))?;
    let spec = super::runtime_of(context, &hand)?;
    let mut argv = argv(&spec, &hand, record, args.conversation)?;
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
        env: spawn::environment(context, &project, cwd, passed, None),
        now: now(),
        by: spawn::this_process()?,
        branch: None,
        taken_over: false,
        forked_from: Some(&record.name),
    })?;
    spawn::show(context, &forked);
    Ok(Exit::Fine)
}

fn argv(spec: &RuntimeSpec, hand: &Hand, record: &Record, named: Option<String>) -> CliResult<Vec<String>> {
    let cannot = |why: &str| CliError::failed(format!("{} cannot be forked: {why}", hand.name));
    let Some(fork) = &spec.fork else {
        let why = format!("{} cannot go on from another's conversation", spec.name);
        return Err(cannot(&why).hint("start a new one with `shopfloor session spawn`"));
    };
    let id = match named {
        Some(id) if conversation::is_id(&id) => id,
        Some(_) => return Err(CliError::usage("--conversation is no id of a conversation")),
        None => conversation::find(spec.setup, hand, &homes()?).map_err(|why| {
            cannot(&why).hint("name it with --conversation ID: the client shows it, such as with /status")
        })?,
    };
    let values = Values::from([("session_id".to_owned(), vec![id])]);
    let mut argv = fork.argv(&values).map_err(|e| cannot(&e.to_string()))?;
    // The very program, where it was named by its path.
    let same = |program: &&String| Path::new(program).file_name() == Path::new(&argv[0]).file_name();
    if let Some(program) = record.argv.first().filter(same) {
        argv[0] = program.clone();
    }
    Ok(argv)
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
