//! `shopfloor session build-cmd`: a step's command line, by the project's configuration.

use super::state_file::StateFile;
use crate::cli::{CliError, CliResult, Context, Exit, output};
use crate::config::{COMMAND_PLACEHOLDERS, HandStep, ProjectConfig, STATE_FILE};
use clap::Args;
use shopfloor_core::hand::fill;
use shopfloor_core::text::shell_word;

/// Print the command line of a step, as `[steps.STEP]` in shopfloor.toml says
///
/// Every word is quoted, so that the line is safe for `session spawn --command` and for a shell.
#[derive(Args)]
pub struct BuildCmdArgs {
    step: String,
    story: String,
    /// More words for the prompt
    extra: Option<String>,
    #[command(flatten)]
    state_file: StateFile,
}

/// What a step's templates are filled in with.
pub(super) struct Fill<'a> {
    pub step: &'a str,
    pub story: &'a str,
    pub extra: &'a str,
    pub state_file: Option<&'a str>,
}

pub fn run(context: &Context, args: &BuildCmdArgs) -> CliResult<Exit> {
    let config = super::project_config(context, &context.project()?)?;
    let step = step(&config, &args.step)?;
    let state_file = args.state_file.path()?;
    let argv = argv(
        step,
        &Fill {
            step: &args.step,
            story: &args.story,
            extra: args.extra.as_deref().unwrap_or_default(),
            state_file: state_file.as_deref(),
        },
    )?;
    let words: Vec<String> = argv.iter().map(|word| shell_word(word)).collect();
    if context.json {
        output::json(&serde_json::json!({
            "command": words.join(" "), "argv": argv, "runtime": step.runtime,
        }));
    } else {
        output::line(words.join(" "));
    }
    Ok(Exit::Fine)
}

pub(super) fn step<'c>(config: &'c ProjectConfig, name: &str) -> CliResult<&'c HandStep> {
    config.steps.get(name).ok_or_else(|| {
        let known: Vec<&str> = config.steps.keys().map(String::as_str).collect();
        let known =
            if known.is_empty() { String::new() } else { format!(" (configured: {})", known.join(", ")) };
        CliError::usage(format!("shopfloor.toml does not say what to run for the step {name:?}{known}")).hint(
            "add for example: [steps.create], command = [\"my-agent\", \"{prompt}\"], \
             prompt = \"Create story {story}. {extra}\"",
        )
    })
}

/// The step's command, filled in.
pub(super) fn argv(step: &HandStep, fill: &Fill<'_>) -> CliResult<Vec<String>> {
    let name = fill.step;
    let wrong = |e: fill::FillError| {
        CliError::usage(e.to_string()).hint(format!("see [steps.{name}] in shopfloor.toml"))
    };
    let all = step.command.iter().chain(&step.prompt);
    let wants_file = |text: &String| matches!(fill::uses(text, STATE_FILE, &COMMAND_PLACEHOLDERS), Ok(true));
    if fill.state_file.is_none() && all.into_iter().any(wants_file) {
        return Err(CliError::usage(format!("[steps.{name}] uses {{state_file}}, and there is none"))
            .hint("pass --state-file FILE"));
    }
    let state_file = (STATE_FILE, fill.state_file.unwrap_or_default());
    let values = [("story", fill.story), ("step", name), ("extra", fill.extra), state_file];
    let prompt =
        step.prompt.as_deref().map(|prompt| fill::text(prompt, &values)).transpose().map_err(wrong)?;
    let [story, step_name, extra, state_file] = values;
    let prompt = ("prompt", prompt.as_deref().unwrap_or_default());
    fill::argv(&step.command, &[story, step_name, extra, state_file, prompt]).map_err(wrong)
}
