//! `shopfloor completions` and `shopfloor man`: what packagers and shells take from the command
//! line's own description.

use super::{Cli, CliResult, Exit, output};
use clap::{Args, CommandFactory, ValueEnum};
use std::path::PathBuf;

/// Print a completion script for a shell
#[derive(Args)]
pub struct CompletionsArgs {
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// Write the manual pages
#[derive(Args)]
pub struct ManArgs {
    /// The folder to write them to
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub fn completions(args: CompletionsArgs) -> CliResult<Exit> {
    let shell = match args.shell {
        Shell::Bash => clap_complete::Shell::Bash,
        Shell::Zsh => clap_complete::Shell::Zsh,
        Shell::Fish => clap_complete::Shell::Fish,
    };
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "shopfloor", &mut script);
    output::line(String::from_utf8_lossy(&script).trim_end());
    Ok(Exit::Fine)
}

pub fn man(args: ManArgs) -> CliResult<Exit> {
    std::fs::create_dir_all(&args.out)?;
    clap_mangen::generate_to(Cli::command(), &args.out)?;
    Ok(Exit::Fine)
}
