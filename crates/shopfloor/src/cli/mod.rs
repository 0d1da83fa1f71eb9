//! The command line: one file a command. A command's doc comment is its help.

mod agents;
mod answer;
mod ask;
mod attach;
mod authority;
mod body;
mod cancel;
mod ci;
mod completions;
mod config;
mod confine;
mod context;
#[cfg(test)]
mod counted;
mod deps;
mod doctor;
mod door;
mod down;
mod error;
mod escalate;
mod events;
mod explain;
mod foreground;
mod formula;
mod gc;
mod groom;
mod health;
mod hook;
pub mod inbox;
mod init;
mod issue;
mod judge;
mod marker;
mod merge_queue;
mod next;
pub(crate) mod output;
mod pause;
pub mod phase;
mod pr;
mod predictions;
mod prompt;
mod question;
mod questions;
mod rescue;
mod resume;
mod runs;
mod schedule;
mod session;
mod status;
mod statusline;
mod step;
mod supervisor;
mod take;
mod timers;
mod trends;
mod troubles;
mod undo;
mod up;
mod vault;
mod verify;

pub use context::Context;
pub use error::{CliError, CliResult, Exit};
pub use shopfloor_desk::now;

use crate::demo_agent;
use clap::{Parser, Subcommand};
use shopfloor_core::ids::Epoch;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// An autonomous code factory: issues in, merged and verified changes out.
///
/// Exit codes: 0 fine, 1 failed, 2 usage or config, 3 a job ended blocked or failed, 4 no such
/// thing, 5 the floor is busy or locked, 6 only a person can continue, 78 there is nothing to do.
#[derive(Parser)]
#[command(name = "shopfloor", version, max_term_width = 100, disable_help_subcommand = true)]
pub struct Cli {
    /// The floor's home folder [default: $XDG_STATE_HOME/shopfloor]
    #[arg(
        long,
        global = true,
        help_heading = "Everywhere",
        env = "SHOPFLOOR_HOME",
        hide_env_values = true,
        value_name = "DIR"
    )]
    home: Option<PathBuf>,
    /// The project; default: the one whose repository this folder is in
    #[arg(long, short, global = true, help_heading = "Everywhere", value_name = "NAME")]
    project: Option<String>,
    /// Answer in JSON
    #[arg(long, global = true, help_heading = "Everywhere")]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Init(init::InitArgs),
    Issue(issue::IssueArgs),
    Up(up::UpArgs),
    Status(status::StatusArgs),
    Down(down::DownArgs),
    Doctor(doctor::DoctorArgs),
    Explain(explain::ExplainArgs),
    Health(health::HealthArgs),
    Trends(trends::TrendsArgs),
    Predictions(predictions::PredictionsArgs),
    Supervisor(supervisor::SupervisorArgs),
    Questions(questions::QuestionsArgs),
    Question(question::QuestionArgs),
    Answer(answer::AnswerArgs),
    Cancel(cancel::CancelArgs),
    Take(take::TakeArgs),
    Formula(formula::FormulaArgs),
    Runs(runs::RunsArgs),
    Run(runs::RunArgs),
    Schedule(schedule::ScheduleArgs),
    Step(step::StepArgs),
    Groom(groom::GroomArgs),
    Undo(undo::UndoArgs),
    Pause(pause::PauseArgs),
    Resume(resume::ResumeArgs),
    Agents(agents::AgentsArgs),
    Attach(attach::AttachArgs),
    Next(next::NextArgs),
    Events(events::EventsArgs),
    Pr(pr::PrArgs),
    Prompt(prompt::PromptArgs),
    Ci(ci::CiArgs),
    #[command(alias = "queue")]
    MergeQueue(merge_queue::MergeQueueArgs),
    Rescue(rescue::RescueArgs),
    Gc(gc::GcArgs),
    Vault(vault::VaultArgs),
    Session(session::SessionArgs),
    Verify(verify::VerifyArgs),
    Marker(marker::MarkerArgs),
    Escalate(escalate::EscalateArgs),
    Config(config::ConfigArgs),
    Phase(phase::PhaseArgs),
    Inbox(inbox::InboxArgs),
    Hook(hook::HookArgs),
    /// Called by Claude Code: draws its status line, with a clock that shows it is alive
    Statusline,
    Deps(deps::DepsArgs),
    Completions(completions::CompletionsArgs),
    #[command(hide = true)]
    Man(completions::ManArgs),
    #[command(hide = true)]
    DemoAgent(demo_agent::DemoArgs),
}

impl Command {
    /// A file of whoever asks, which it reads or looks for: never where the floor is, on behalf of somebody who may see
    /// less. What a command for people reads is not among these.
    fn file(&self) -> Option<&Path> {
        match self {
            Command::Issue(args) => args.file(),
            Command::Vault(args) => args.file(),
            Command::Formula(args) => args.file(),
            Command::Init(_)
            | Command::Up(_)
            | Command::Status(_)
            | Command::Down(_)
            | Command::Trends(_)
            | Command::Predictions(_)
            | Command::Supervisor(_)
            | Command::Groom(_)
            | Command::Undo(_)
            | Command::Doctor(_)
            | Command::Explain(_)
            | Command::Health(_)
            | Command::Questions(_)
            | Command::Question(_)
            | Command::Answer(_)
            | Command::Cancel(_)
            | Command::Take(_)
            | Command::Runs(_)
            | Command::Run(_)
            | Command::Schedule(_)
            | Command::Step(_)
            | Command::Pause(_)
            | Command::Resume(_)
            | Command::Agents(_)
            | Command::Attach(_)
            | Command::Next(_)
            | Command::Events(_)
            | Command::Pr(_)
            | Command::Prompt(_)
            | Command::Ci(_)
            | Command::MergeQueue(_)
            | Command::Rescue(_)
            | Command::Gc(_)
            | Command::Session(_)
            | Command::Verify(_)
            | Command::Marker(_)
            | Command::Escalate(_)
            | Command::Config(_)
            | Command::Phase(_)
            | Command::Inbox(_)
            | Command::Hook(_)
            | Command::Statusline
            | Command::Deps(_)
            | Command::Completions(_)
            | Command::Man(_)
            | Command::DemoAgent(_) => None,
        }
    }
}

/// Parses the arguments, runs the command and says in the exit code how it went.
pub fn main() -> ExitCode {
    // Clients wait for these at every tool they use: no time for the whole command line.
    if let Some(exit) = hook::at_once(std::env::args_os().skip(1)) {
        return exit;
    }
    if let Some(exit) = confine::at_once(std::env::args_os().skip(1)) {
        return exit;
    }
    if let Some(exit) = judge::at_once(std::env::args_os().skip(1)) {
        return exit;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    let json = cli.json;
    let Ok(caller) = door::begin(cli.home.as_deref()) else { return Exit::Busy.into() };
    let result = match door::of(&cli) {
        Some(door) => door::ask(&door, &cli),
        None => here(cli, caller),
    };
    match result {
        Ok(exit) => exit.into(),
        Err(error) => {
            error::print(&error, json);
            error.exit.into()
        }
    }
}

/// `caller`: the session that it is run for at the door.
fn here(cli: Cli, caller: Option<Epoch>) -> CliResult<Exit> {
    let mut context = Context::from_environment(cli.home, cli.project, cli.json)?;
    context.caller = caller;
    if let Some(who) = authority::check(&context, &cli.command)? {
        context.desk.asked_by(who);
    }
    run(&context, cli.command)
}

/// What is not understood, or only asks for help. Nobody but the words themselves says whether a program
/// wants to know.
fn refuse(error: &clap::Error) -> ExitCode {
    let json = std::env::args_os().skip(1).take_while(|word| word != "--").any(|word| word == "--json");
    if !(json && error.use_stderr()) {
        error.exit();
    }
    let text = error.render().to_string();
    let text = text.trim().strip_prefix("error: ").unwrap_or(text.trim());
    let (message, hint) = match text.split_once("\n\n") {
        Some((message, rest)) => (message, Some(rest.trim().to_owned())),
        None => (text, None),
    };
    let error = CliError { exit: Exit::Usage, message: message.trim().to_owned(), hint };
    error::print(&error, json);
    error.exit.into()
}

fn run(context: &Context, command: Command) -> CliResult<Exit> {
    match command {
        Command::Agents(args) => agents::run(context, &args),
        Command::Answer(args) => answer::run(context, args),
        Command::Attach(args) => attach::run(context, &args),
        Command::Cancel(args) => cancel::run(context, args),
        Command::Take(args) => take::run(context, args),
        Command::Pause(args) => pause::run(context, args),
        Command::Resume(args) => resume::run(context, args),
        Command::Ci(args) => ci::run(context, args),
        Command::Completions(args) => completions::completions(args),
        Command::Config(args) => config::run(context, args),
        Command::DemoAgent(args) => demo_agent::run(&args),
        Command::Deps(args) => deps::run(context, &args),
        Command::Doctor(args) => doctor::run(context, args),
        Command::Down(args) => down::run(context, &args),
        Command::Escalate(args) => escalate::run(context, args),
        Command::Events(args) => events::run(context, args),
        Command::Explain(args) => explain::run(context, &args),
        Command::Formula(args) => formula::run(context, args),
        Command::Gc(args) => gc::run(context, &args),
        Command::Groom(args) => groom::run(context, &args),
        Command::Health(args) => health::run(context, args),
        Command::Hook(args) => hook::run(context, args),
        Command::Inbox(args) => inbox::run(context, args),
        Command::Init(args) => init::run(context, args),
        Command::Issue(args) => issue::run(context, args),
        Command::Man(args) => completions::man(args),
        Command::Marker(args) => marker::run(context, args),
        Command::MergeQueue(args) => merge_queue::run(context, args),
        Command::Next(args) => next::run(context, &args),
        Command::Phase(args) => phase::run(args),
        Command::Pr(args) => pr::run(context, args),
        Command::Predictions(args) => predictions::run(context, &args),
        Command::Prompt(args) => prompt::run(context, args),
        Command::Question(args) => question::run(context, args),
        Command::Questions(args) => questions::run(context, args),
        Command::Rescue(args) => rescue::run(context, args),
        Command::Run(args) => runs::run(context, &args),
        Command::Runs(args) => runs::list(context, &args),
        Command::Schedule(args) => schedule::run(context, args),
        Command::Session(args) => session::run(context, args),
        Command::Status(args) => status::run(context, args),
        Command::Statusline => statusline::run(),
        Command::Step(args) => step::run(context, args),
        Command::Trends(args) => trends::run(context, &args),
        Command::Supervisor(args) => supervisor::run(context, args),
        Command::Undo(args) => undo::run(context, &args),
        Command::Up(args) => up::run(context, &args),
        Command::Vault(args) => vault::run(context, args),
        Command::Verify(args) => verify::run(context, args),
    }
}
