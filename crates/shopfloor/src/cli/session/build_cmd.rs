//! `shopfloor session build-cmd`: a step's command line, by the project's configuration.

use super::state_file::StateFile;
use crate::cli::{CliError, CliResult, Context, Exit, output};
use crate::config::{HandStep, ProjectConfig};
use clap::Args;
use shopfloor_core::text::shell_word;
use shopfloor_hand::step::Fill;

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

pub fn run(context: &Context, args: &BuildCmdArgs) -> CliResult<Exit> {
    let config = super::project_config(context, &context.project()?)?;
    let step = step(&config, &args.step)?;
    let state_file = args.state_file.path()?;
    let extra = args.extra.as_deref().unwrap_or_default();
    let argv = argv(step, (&args.step, &args.story), extra, state_file.as_deref())?;
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
pub(super) fn argv(
    configured: &HandStep,
    (step, story): (&str, &str),
    extra: &str,
    state_file: Option<&str>,
) -> CliResult<Vec<String>> {
    let HandStep { command, prompt, .. } = configured;
    let fill = Fill { command, prompt: prompt.as_deref(), step, story, extra, state_file };
    if fill.lacks_state_file() {
        return Err(CliError::usage(format!("[steps.{step}] uses {{state_file}}, and there is none"))
            .hint("pass --state-file FILE"));
    }
    fill.argv()
        .map_err(|e| CliError::usage(e.to_string()).hint(format!("see [steps.{step}] in shopfloor.toml")))
}
