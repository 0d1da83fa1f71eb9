//! What is a person's to do. Everything else a command does is for anybody who may use the floor: to look, and what
//! an agent says of its own work. Each command names its own cases; here they are enforced, in one place.

use super::{CliError, CliResult, Command, Context, Exit};
use shopfloor_core::event::Event;
use shopfloor_core::text::one_line;

/// What to do instead, where no command has more to say.
pub(super) const ELSEWHERE: &str = "run it outside of what the factory started";
/// For the journal: the command and what it is about, not the texts that follow.
const ASKED_WORDS: usize = 3;
const ASKED_CHARS_MAX: usize = 80;

/// Refuses what only a person may do to anybody else, and journals who asked.
pub(super) fn check(context: &Context, command: &Command) -> CliResult<()> {
    let Some(instead) = persons(command) else { return Ok(()) };
    let Some(who) = context.inside() else { return Ok(()) };
    // Whether it can be journaled or not, it is not done.
    let _ = journal(context, who);
    Err(CliError::new(Exit::NeedsPerson, format!("this needs a person, and {who} asks")).hint(instead))
}

/// What to do instead, if it is only for people.
fn persons(command: &Command) -> Option<&'static str> {
    match command {
        Command::Init(_)
        | Command::Up(_)
        | Command::Down
        | Command::Answer(_)
        | Command::Cancel(_)
        | Command::Take(_)
        | Command::Pause(_)
        | Command::Resume(_)
        | Command::Attach(_)
        | Command::Gc(_) => Some(ELSEWHERE),
        Command::Issue(args) => args.persons(),
        Command::Pr(args) => args.persons(),
        Command::MergeQueue(args) => args.persons(),
        Command::Rescue(args) => args.persons(),
        Command::Session(args) => args.persons(),
        Command::Hook(args) => args.persons(),
        Command::Config(args) => args.persons(),
        Command::Status(_)
        | Command::Doctor(_)
        | Command::Explain(_)
        | Command::Questions(_)
        | Command::Agents(_)
        | Command::Next(_)
        | Command::Events(_)
        | Command::Prompt(_)
        | Command::Ci(_)
        | Command::Verify(_)
        | Command::Marker(_)
        | Command::Escalate(_)
        | Command::Phase(_)
        | Command::Inbox(_)
        | Command::Statusline
        | Command::Deps(_)
        | Command::Completions(_)
        | Command::Man(_)
        | Command::DemoAgent(_) => None,
    }
}

/// The command's words, without options and without the values of those that every command has.
fn asked(args: impl Iterator<Item = String>) -> String {
    let mut is_value = false;
    let words = args.filter(|word| {
        let skipped = std::mem::replace(&mut is_value, word == "--project" || word == "--home");
        !skipped && !word.starts_with('-')
    });
    words.take(ASKED_WORDS).collect::<Vec<_>>().join(" ")
}

fn journal(context: &Context, who: &str) -> CliResult<()> {
    let project = match context.project() {
        Ok(project) => project,
        Err(e) => context.projects()?.into_iter().next().ok_or(e)?,
    };
    let asked = one_line(&asked(std::env::args().skip(1)), ASKED_CHARS_MAX);
    context.submit(&Event::PersonNeeded { project: project.name, by: who.to_owned(), asked })?;
    Ok(())
}
