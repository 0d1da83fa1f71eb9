//! What is a person's to do, and what an agent may by its role. Each command names its own cases; here they are
//! enforced, in one place, whatever way a command came.
//!
//! Invariant: what no capability covers, and no agent's own word is, needs a person.

use super::{CliError, CliResult, Command, Context, Exit, now};
use crate::asker::{Inside, Who, refused};
use shopfloor_adapters::agent::Badge;
use shopfloor_adapters::git::origin::hub;
use shopfloor_adapters::host::lock;
use shopfloor_core::capability::Capability;
use shopfloor_core::ids::Epoch;
use shopfloor_core::redact::Redactor;
use shopfloor_core::step::may_do;
use shopfloor_desk::command::allowing;
use std::path::Path;

/// What to do instead, where no command has more to say.
pub(super) const ELSEWHERE: &str = "run it outside of what the factory started";
/// What to do instead of having a file read.
const NO_FILE: &str = "no file is read for a session where the floor is: pass `-` and the text as standard input, or run it where you are";
/// What to do instead of having it done where the floor is.
const HERE: &str = "only what asks the floor is run for a session where the floor is: run it where you are";

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
    // A run's command is run where the floor is, too, in a folder where its agent has put anything.
    let sees_less = context.caller.is_some() || inside.who == Who::Step;
    let instead = match persons(context, command) {
        Some(_) if in_its_persons_name(context, inside, command) => return Ok(None),
        Some(instead) => instead.to_owned(),
        // It would be read here, where more can be read than where it was asked.
        None if sees_less && command.file().is_some_and(|file| file != Path::new("-")) => NO_FILE.to_owned(),
        // It needs nothing of the floor, and would do it here, where more can be done than where it was asked.
        None if sees_less && !needed(command).is_of_the_floor() => HERE.to_owned(),
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
        (Needed::Capability(_), Who::Step) if is_elsewhere(context, inside) => false,
        (Needed::Capability(capability), Who::Notice | Who::Step | Who::Fire) => {
            *capability == Capability::Look
        }
        (Needed::Capability(_), Who::Check | Who::Setup | Who::Daemon | Who::Other(_)) => false,
    };
    if is_allowed { Ok(()) } else { Err(ELSEWHERE.to_owned()) }
}

/// What all may, a session may for as long as it has its badge. The rest is up to its role, as the floor knows both: not
/// to what lies in the session's folder.
fn agent_may(context: &Context, inside: &Inside, epoch: Epoch, capability: Capability) -> Result<(), String> {
    if is_elsewhere(context, inside) || Badge::of(&context.layout, epoch).is_none() {
        return Err(ELSEWHERE.to_owned());
    }
    if Capability::OF_ALL.contains(&capability) {
        return Ok(());
    }
    let engine = context.engine().map_err(|e| e.message)?;
    may_do(engine.floor(), epoch, capability)
        .map_err(|refusal| allowing(&refusal).unwrap_or(refusal.to_string()))
}

/// Whether another project is asked about.
fn is_elsewhere(context: &Context, inside: &Inside) -> bool {
    context.named().is_some_and(|name| inside.project.as_ref().is_some_and(|own| own.as_str() != name))
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
        // It reads a file of whoever asks, who may see it where they are.
        Command::Formula(args) if args.file().is_some() => Needed::Nothing,
        Command::Pr(_)
        | Command::Health(_)
        | Command::Trends(_)
        | Command::Predictions(_)
        | Command::Supervisor(_)
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
fn persons(context: &Context, command: &Command) -> Option<&'static str> {
    match command {
        Command::Init(_)
        | Command::Up(_)
        | Command::Down(_)
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
        Command::Formula(args) => args.persons(),
        Command::Run(args) => args.persons(),
        Command::Schedule(args) => args.persons(),
        Command::Health(args) => args.persons(),
        Command::Supervisor(args) => args.persons(),
        Command::Session(args) => args.persons(),
        Command::Hook(args) => args.persons(),
        Command::Config(args) => args.persons(),
        Command::Vault(args) => args.persons(),
        Command::Next(args) => args.persons(context.json),
        Command::Agents(args) => args.persons(),
        Command::Status(_)
        | Command::Doctor(_)
        | Command::Explain(_)
        | Command::Trends(_)
        | Command::Predictions(_)
        | Command::Question(_)
        | Command::Questions(_)
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

fn journal(context: &Context, inside: &Inside) -> CliResult<()> {
    let project = match (&inside.project, context.project()) {
        (Some(project), _) => project.clone(),
        (None, Ok(project)) => project.name,
        (None, Err(e)) => context.projects()?.into_iter().next().ok_or(e)?.name,
    };
    let by = inside.who.to_string();
    let engine = context.engine()?;
    if engine.floor().projects.get(&project).is_some_and(|known| !known.refusals.have_room(&by, now())) {
        return Ok(());
    }
    let redactor = context.redactor().unwrap_or_else(|_| Redactor::blind());
    context.submit(&refused(project, &inside.who, std::env::args().skip(1), &redactor))?;
    Ok(())
}
