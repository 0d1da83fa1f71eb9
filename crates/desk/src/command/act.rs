//! What an agent has the factory do on its project's forge, and asks people: committed, and for an act waited for.

use crate::{Desk, Error, Exit, Result, answer, now};
use shopfloor_core::act::{Act, Refusal};
use shopfloor_core::event::Event;
use shopfloor_core::ids::{ActId, Epoch, IssueNumber, QuestionId};
use shopfloor_core::phase::Ask;
use shopfloor_core::state::{Conduct, DeedEnd, Floor};
use shopfloor_core::step::{dressed, may_act, may_ask};
use shopfloor_core::text::one_line;
use std::time::{Duration, Instant};

/// How long a forge may take before the command ends without knowing.
const DONE_WITHIN: Duration = Duration::from_secs(30);
/// How often to check whether there is a daemon that could do it.
const DAEMON_LOOKED_FOR: Duration = Duration::from_secs(1);

impl Desk {
    /// Has it done for the agent of that session, once: whoever asks for the same again gets the same answer. Returns the
    /// issue that it was done to, or that it made.
    pub fn act(&self, epoch: Epoch, act: Act) -> Result<IssueNumber> {
        let act = act.clean();
        // Watched before it is asked for: nothing is missed in between.
        let mut changes = self.subscribe(None)?;
        let mut engine = self.engine()?;
        let act = dressed(engine.floor(), epoch, act);
        let before = may_act(engine.floor(), epoch, &act);
        let is_new = !matches!(before, Ok(Some(_)));
        if is_new && is_to_be_known(engine.floor(), epoch, before.as_ref().err()) {
            self.submit_to(&mut engine, &Event::ActAsked { epoch, act: act.clone() })?;
        }
        let Some(id) = ordered(engine.floor(), epoch, &act) else {
            return Err(refused(may_act(engine.floor(), epoch, &act).err().or(before.err())));
        };
        let deadline = Instant::now() + DONE_WITHIN;
        loop {
            match end(engine.floor(), epoch, id) {
                Some(DeedEnd::Done { issue }) => return Ok(issue),
                Some(DeedEnd::Impossible { why }) => {
                    return Err(self.impossible(engine.floor(), epoch, &act, why));
                }
                None if Instant::now() >= deadline || self.ask_daemon("ping")?.is_none() => {
                    let text = "it is on record, and the factory has not done it yet";
                    return Err(Error::new(Exit::Busy, text)
                        .hint("it will be done, once: to see how it went, run the same command again"));
                }
                // A daemon that dies does not say so.
                None => drop(changes.next(DAEMON_LOOKED_FOR)?),
            }
            engine.refresh()?;
        }
    }

    /// Why an act cannot be done; what is not there is told apart.
    fn impossible(&self, floor: &Floor, epoch: Epoch, act: &Act, why: String) -> Error {
        let project = floor.sessions.get(&epoch).map(|session| &session.project);
        let missing = project.zip(act.issue()).is_some_and(|(project, issue)| {
            let read = self.forge(project).and_then(|forge| answer(forge.issue(issue)));
            read.is_err_and(|e| e.exit == Exit::NoSuchThing)
        });
        if missing { Error::no_such(why) } else { Error::failed(why) }
    }

    /// Puts a question to people for the agent of that session, which works on. Returns the question's number.
    pub fn ask_people(&self, epoch: Epoch, question: String, ask: Ask) -> Result<QuestionId> {
        let mut engine = self.engine()?;
        let before = may_ask(engine.floor(), epoch);
        if is_to_be_known(engine.floor(), epoch, before.as_ref().err()) {
            self.submit_to(&mut engine, &Event::QuestionAsked { epoch, question, ask })?;
        }
        let query = engine.floor().conduct(epoch).and_then(|conduct| conduct.query.as_ref());
        match (before, query) {
            (Ok(()), Some(query)) => Ok(query.asked.id),
            (before, _) => Err(refused(before.err())),
        }
    }

    /// Commits an event on what was read already, and tells the daemon.
    fn submit_to(
        &self,
        engine: &mut shopfloor_engine::Engine<Box<dyn shopfloor_store::Store>>,
        event: &Event,
    ) -> Result<()> {
        let applied = engine.submit(now(), event)?;
        self.poke();
        match applied.set_aside {
            Some(why) => Err(Error::failed(format!("a bug in shopfloor: {why}"))),
            None => Ok(()),
        }
    }
}

/// What is over is nobody's. The rest is committed, whatever comes of it, unless that is refused all the time.
pub(super) fn is_to_be_known(floor: &Floor, epoch: Epoch, refusal: Option<&Refusal>) -> bool {
    match refusal {
        None => true,
        Some(Refusal::Over) => false,
        Some(_) => floor.conduct(epoch).is_none_or(Conduct::is_worth_refusing_on_record),
    }
}

fn ordered(floor: &Floor, epoch: Epoch, act: &Act) -> Option<ActId> {
    Some(floor.conduct(epoch)?.deed(act)?.id)
}

fn end(floor: &Floor, epoch: Epoch, id: ActId) -> Option<DeedEnd> {
    floor.conduct(epoch)?.deeds.iter().find(|deed| deed.id == id)?.end.clone()
}

/// What a role may not, and how a person allows it.
pub fn allowing(why: &Refusal) -> Option<String> {
    way_to_allow(why).map(|way| format!("{why}; {way}"))
}

fn way_to_allow(why: &Refusal) -> Option<String> {
    let (role, line) = match why {
        Refusal::Lacks(role, capability) => (role, format!("may = [\"{}\"]", capability.word()?)),
        Refusal::Label(role, label) => (role, format!("labels = [{:?}]", one_line(label, 80))),
        _ => return None,
    };
    Some(format!("a person can do it, or allow it with {line} in [roles.{role}] of shopfloor.toml"))
}

pub(super) fn refused(why: Option<Refusal>) -> Error {
    let why = why.unwrap_or(Refusal::Over);
    let exit = if why.needs_person() { Exit::NeedsPerson } else { Exit::Failed };
    let hint = match &why {
        Refusal::Lacks(..) | Refusal::Label(..) => way_to_allow(&why),
        Refusal::Closes(..) => Some("say on it why it might be closed; people do it".to_owned()),
        Refusal::Like(Some(issue), _) => {
            Some(format!("nothing was made; `shopfloor issue show {issue}` shows what it says"))
        }
        Refusal::Issues(_) | Refusal::Changes(_) | Refusal::Questions(_) | Refusal::Requests(_) => {
            Some("say in your own issue, or at the end of your work, what is left to be said".to_owned())
        }
        Refusal::NoReason(issue) => Some(format!("`shopfloor issue comment {issue} \"…\"` says it")),
        Refusal::Asks(_) => Some("its answer comes as a message; work on meanwhile".to_owned()),
        _ => None,
    };
    let error = Error::new(exit, why.to_string());
    match hint {
        Some(hint) => error.hint(hint),
        None => error,
    }
}
