//! What is a person's to do, and what an agent may by its role. Each command names its own cases; here they are
//! enforced, in one place, whatever way a command came.
//!
//! Invariant: what no capability covers, and no agent's own word is, needs a person.

use super::{CliError, CliResult, Command, Context, Exit};
use crate::asker::{Inside, Who};
use crate::daemon::ASKER;
use shopfloor_adapters::agent::Grant;
use shopfloor_adapters::git::origin::hub;
use shopfloor_adapters::host::lock;
use shopfloor_core::capability::Capability;
use shopfloor_core::event::Event;
use shopfloor_core::ids::{Epoch, ProjectName};
use shopfloor_core::step::may_do;
use shopfloor_core::text::one_line;
use shopfloor_desk::command::allowing;
use std::path::Path;

/// What to do instead, where no command has more to say.
pub(super) const ELSEWHERE: &str = "run it outside of what the factory started";
/// For the journal: the command and what it is about, not the texts that follow.
const ASKED_WORDS: usize = 3;
const ASKED_CHARS_MAX: usize = 80;

/// What a command that is not only for people takes.
pub(super) enum Needed {
    /// It is the session's own word, or tells nothing of the floor.
    Nothing,
    Capability(Capability),
    /// To run sessions by hand: for people, and the programs they do it with.
    Orchestrating,
}

impl Needed {
    /// Whether the floor is asked, and nothing is done but to answer.
    fn is_of_the_floor(&self) -> bool {
        matches!(self, Needed::Capability(_))
    }
}

/// Refuses what only a person may do to anybody else, and an agent what its role may not; and journals who asked. Returns
/// who asks, if it is not a person.
pub(super) fn check(context: &Context, command: &Command) -> CliResult<Option<String>> {
    let Some(inside) = context.inside() else { return Ok(None) };
    let at_the_door = std::env::var_os(ASKER).is_some();
    if at_the_door && command.file().is_some_and(|file| file != Path::new("-")) {
        // It would be read here, where more can be read than where it was asked.
        return Err(CliError::usage("a file is not read at the door")
            .hint("pass `-`, and the text as standard input"));
    }
    let instead = match persons(command) {
        Some(_) if in_its_persons_name(context, inside, command) => return Ok(None),
        Some(instead) => instead.to_owned(),
        // It needs nothing of the floor, and would do it here, where more can be done than where it was asked.
        None if at_the_door && !needed(command).is_of_the_floor() => "run it where you are".to_owned(),
        None => match may(context, inside, &needed(command)) {
            Ok(()) => return Ok(Some(inside.who.to_string())),
            Err(instead) => instead,
        },
    };
    // Whether it can be journaled or not, it is not done.
    let _ = journal(context, inside);
    Err(CliError::new(Exit::NeedsPerson, format!("this needs a person, and {} asks", inside.who))
        .hint(instead))
}

/// Whether the daemon itself pushes, as it does what its person committed.
fn in_its_persons_name(context: &Context, inside: &Inside, command: &Command) -> bool {
    let word = std::env::var(hub::PERMIT).unwrap_or_default();
    let Command::Hook(args) = command else { return false };
    let Some((moved, daemon)) = args.pushed().zip(lock::holder(&context.layout.daemon_lock())) else {
        return false;
    };
    let permits = |hub: &Path| hub::permits(hub, &word, daemon, moved);
    inside.who == Who::Daemon
        && context.project().is_ok_and(|project| permits(&context.layout.hub(&project.name)))
}

/// If not: what to do instead.
fn may(context: &Context, inside: &Inside, needed: &Needed) -> Result<(), String> {
    let is_allowed = match (needed, &inside.who) {
        (Needed::Nothing, _) => true,
        (_, Who::Hand(_)) => true,
        (Needed::Orchestrating, _) => false,
        (Needed::Capability(capability), Who::Agent(epoch)) => {
            return agent_may(context, inside, *epoch, *capability);
        }
        (Needed::Capability(capability), Who::Notice | Who::Step | Who::Fire) => {
            *capability == Capability::Look
        }
        (Needed::Capability(_), Who::Check | Who::Setup | Who::Daemon | Who::Other(_)) => false,
    };
    if is_allowed { Ok(()) } else { Err(ELSEWHERE.to_owned()) }
}

/// What all may, a session may for as long as it has its grant. The rest is up to its role, as the floor knows both: not
/// to what lies in the session's folder.
fn agent_may(context: &Context, inside: &Inside, epoch: Epoch, capability: Capability) -> Result<(), String> {
    let elsewhere =
        context.named().is_some_and(|name| inside.project.as_ref().is_some_and(|own| own.as_str() != name));
    if elsewhere || Grant::of(&context.layout, epoch).is_none() {
        return Err(ELSEWHERE.to_owned());
    }
    if Capability::OF_ALL.contains(&capability) {
        return Ok(());
    }
    let engine = context.engine().map_err(|e| e.message)?;
    may_do(engine.floor(), epoch, capability)
        .map_err(|refusal| allowing(&refusal).unwrap_or(refusal.to_string()))
}

pub(super) fn needed(command: &Command) -> Needed {
    match command {
        Command::Phase(_)
        | Command::Hook(_)
        | Command::Statusline
        | Command::Completions(_)
        | Command::Man(_)
        | Command::DemoAgent(_) => Needed::Nothing,
        Command::Inbox(_) => Needed::Capability(Capability::Inbox),
        Command::Step(_) => Needed::Capability(Capability::Step),
        Command::Vault(_) => Needed::Capability(Capability::RequestVault),
        Command::Issue(args) => args.needed(),
        Command::Config(args) if args.only_shows_the_difference() => Needed::Capability(Capability::Look),
        Command::Question(_) => Needed::Capability(Capability::AskQuestion),
        Command::Pr(_)
        | Command::Groom(_)
        | Command::Health(_)
        | Command::Status(_)
        | Command::Explain(_)
        | Command::Questions(_)
        | Command::Agents(_)
        | Command::Next(_)
        | Command::Events(_)
        | Command::Prompt(_)
        | Command::Ci(_)
        | Command::Formula(_)
        | Command::Run(_)
        | Command::Runs(_)
        | Command::Schedule(_)
        | Command::MergeQueue(_) => Needed::Capability(Capability::Look),
        // The others are for people, or for the programs that people run sessions with.
        _ => Needed::Orchestrating,
    }
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
        | Command::Undo(_)
        | Command::Gc(_) => Some(ELSEWHERE),
        Command::Issue(args) => args.persons(),
        Command::Pr(args) => args.persons(),
        Command::MergeQueue(args) => args.persons(),
        Command::Rescue(args) => args.persons(),
        Command::Formula(args) => args.persons(),
        Command::Run(args) => args.persons(),
        Command::Schedule(args) => args.persons(),
        Command::Session(args) => args.persons(),
        Command::Hook(args) => args.persons(),
        Command::Config(args) => args.persons(),
        Command::Vault(args) => args.persons(),
        Command::Status(_)
        | Command::Doctor(_)
        | Command::Explain(_)
        | Command::Groom(_)
        | Command::Health(_)
        | Command::Question(_)
        | Command::Questions(_)
        | Command::Agents(_)
        | Command::Next(_)
        | Command::Events(_)
        | Command::Prompt(_)
        | Command::Ci(_)
        | Command::Runs(_)
        | Command::Step(_)
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

fn journal(context: &Context, inside: &Inside) -> CliResult<()> {
    let project = match (&inside.project, context.project()) {
        (Some(project), _) => project.clone(),
        (None, Ok(project)) => project.name,
        (None, Err(e)) => context.projects()?.into_iter().next().ok_or(e)?.name,
    };
    context.submit(&refused(project, &inside.who, std::env::args().skip(1)))?;
    Ok(())
}

/// What is put on record of it.
pub(crate) fn refused(project: ProjectName, who: &Who, args: impl Iterator<Item = String>) -> Event {
    Event::PersonNeeded { project, by: who.to_string(), asked: one_line(&asked(args), ASKED_CHARS_MAX) }
}
