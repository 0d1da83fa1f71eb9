//! Delivery with receipts: one message on its way into one session.
//!
//! Queued, typed, submitted, turn-started: only the last is success, and it takes the client's own word for it (a
//! hook with a prompt equal to the text). Anything else ends in *undelivered* by a deadline, and somebody is told.
//!
//! The machine never acts on what it has not just seen: before anything is typed, and again before Enter, it asks
//! for a look at the pane. Enter on a permission dialog approves; a paste into a question answers it; a paste into
//! a draft is sent with it. So it types only into a composer that is seen to be empty, and never clears a draft:
//! it may be somebody's.

mod answer;
mod pane;

pub use answer::{Press, is_same_dialog, plan, submits};
pub use pane::{Pane, is_ours, same_prompt};

use crate::runtime::{Composer, Submit};
use crate::text::{inert, neutralise, one_line};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How a message is delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recipe {
    pub mode: Mode,
    /// The time from being queued to being given up.
    pub deadline: Duration,
    /// A person who typed within this time is typing.
    pub human_quiet: Duration,
    /// A look older than this does not count.
    pub look_fresh: Duration,
    /// The time between two looks while something is in the way.
    pub look_again: Duration,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mode", rename_all = "snake_case")]
pub enum Mode {
    /// The agent takes it itself; there is nothing to type.
    Inbox,
    Paste {
        pause: Duration,
        confirm: Duration,
        resend_max: u32,
        command_prefixes: Vec<String>,
    },
}

impl Recipe {
    /// From a runtime's submit recipe; without one, the agent takes its messages from the inbox.
    pub fn new(submit: Option<&Submit>, deadline: Duration) -> Recipe {
        let mode = match submit {
            None => Mode::Inbox,
            Some(submit) => Mode::Paste {
                pause: Duration::from_millis(submit.pause_ms),
                confirm: Duration::from_millis(submit.confirm_ms),
                resend_max: submit.resend_max,
                command_prefixes: submit.command_prefixes.clone(),
            },
        };
        Recipe {
            mode,
            deadline,
            human_quiet: Duration::from_secs(10),
            look_fresh: Duration::from_secs(1),
            look_again: Duration::from_secs(2),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    Queued,
    /// It was pasted.
    Typed,
    /// Enter was pressed on it.
    Submitted,
    /// The client took it. The only success.
    TurnStarted,
    Undelivered,
}

impl Stage {
    pub fn is_final(self) -> bool {
        matches!(self, Stage::TurnStarted | Stage::Undelivered)
    }
}

/// A change of stage, with the evidence for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transition {
    pub to: Stage,
    pub at: Time,
    pub evidence: String,
}

/// What the machine is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryEvent {
    /// A look at the pane, taken now.
    Pane(Pane),
    /// The requested paste was done.
    Pasted,
    /// The requested key was sent.
    EnterSent,
    /// The request could not be carried out; nothing was typed.
    ActFailed { why: String },
    /// The client took a prompt (UserPromptSubmit).
    Prompt { prompt: String },
    /// The agent took the message from its inbox.
    Taken,
    /// The session is over.
    Ended { why: String },
    /// Time has passed.
    Tick,
}

/// What to do next. Everything but the last two is followed by another input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing; call again at that time, or earlier with an input.
    Wait {
        until: Time,
    },
    /// Look at the pane now.
    Look,
    /// Paste the text (bracketed).
    Paste,
    PressEnter,
    /// Done: the turn has started.
    Delivered,
    /// Tell somebody: it was not delivered.
    GiveUp {
        why: String,
    },
}

/// Why a text cannot be delivered at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("the message is empty")]
    Empty,
    #[error("the message begins with {0:?}: the client would take it for a command, and confirm nothing")]
    Command(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Act {
    Paste,
    Enter,
}

/// What holds a message back while a person has the session.
pub const PERSON_HAS_IT: &str = "a person has the session";

/// A request that nobody has reported on is taken for done after this long: the pane then shows whether it
/// happened.
const ACT_MAX: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    text: String,
    recipe: Recipe,
    stage: Stage,
    queued_at: Time,
    log: Vec<Transition>,
    resends: u32,
    /// What was requested and has not been reported yet.
    pending: Option<(Act, Time)>,
    /// When we last typed anything.
    acted_at: Option<Time>,
    /// When the present stage began.
    staged_at: Time,
    look: Option<(Time, Pane)>,
    blocked: Option<String>,
    /// The terminal accepted nothing: it is not asked again before this.
    #[serde(default)]
    refused_until: Option<Time>,
}

impl Delivery {
    /// A message in the queue. Its text is made safe to type.
    pub fn new(text: &str, recipe: Recipe, now: Time) -> Result<Delivery, Refused> {
        Delivery::safe(&neutralise(text), recipe, now)
    }

    /// A message made of other people's words (issues, reviews, logs): nothing in it is a command to the client.
    pub fn of_others(
        text: &str,
        submit: Option<&Submit>,
        deadline: Duration,
        now: Time,
    ) -> Result<Delivery, Refused> {
        let text = neutralise(text);
        let text = match submit {
            // The last thing done to it: what breaks a mention up is itself a character that shows nothing.
            Some(submit) => inert(&text, &submit.command_prefixes, &submit.mentions),
            None => text,
        };
        Delivery::safe(&text, Recipe::new(submit, deadline), now)
    }

    fn safe(text: &str, recipe: Recipe, now: Time) -> Result<Delivery, Refused> {
        let text = text.trim().to_owned();
        if text.is_empty() {
            return Err(Refused::Empty);
        }
        if let Mode::Paste { command_prefixes, .. } = &recipe.mode
            && let Some(prefix) = command_prefixes.iter().find(|prefix| text.starts_with(prefix.as_str()))
        {
            return Err(Refused::Command(prefix.clone()));
        }
        let log = vec![Transition { to: Stage::Queued, at: now, evidence: "it was queued".into() }];
        Ok(Delivery {
            text,
            recipe,
            stage: Stage::Queued,
            queued_at: now,
            log,
            resends: 0,
            pending: None,
            acted_at: None,
            staged_at: now,
            look: None,
            blocked: None,
            refused_until: None,
        })
    }

    /// What is to be pasted.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn stage(&self) -> Stage {
        self.stage
    }

    /// Every change of stage, oldest first.
    pub fn transitions(&self) -> &[Transition] {
        &self.log
    }

    /// What is in the way, if something is.
    pub fn blocked(&self) -> Option<&str> {
        self.blocked.as_deref()
    }

    /// Takes the client's word for a prompt, at a time when nothing may be typed whatever follows.
    pub fn confirm(&mut self, now: Time, prompt: &str) {
        if !self.stage.is_final() {
            self.prompt(now, prompt);
        }
    }

    /// Whoever was to report on the request is gone. It is taken for done: the pane shows whether it happened.
    pub fn take_over(&mut self, now: Time) {
        if let Some((act, asked)) = self.pending {
            self.unreported(act, asked, now);
        }
    }

    pub fn step(&mut self, now: Time, input: DeliveryEvent) -> Next {
        if !self.stage.is_final() {
            self.take(now, input);
        }
        self.decide(now)
    }

    fn take(&mut self, now: Time, input: DeliveryEvent) {
        match input {
            DeliveryEvent::Pane(pane) => self.look = Some((now, pane)),
            DeliveryEvent::Pasted if self.pending.is_some_and(|(act, _)| act == Act::Paste) => {
                self.acted(now);
                self.go(Stage::Typed, now, "it was pasted");
            }
            DeliveryEvent::EnterSent if self.pending.is_some_and(|(act, _)| act == Act::Enter) => {
                self.acted(now);
                self.go(Stage::Submitted, now, "Enter was sent");
            }
            DeliveryEvent::Pasted | DeliveryEvent::EnterSent | DeliveryEvent::Tick => {}
            DeliveryEvent::ActFailed { why } => {
                // Somebody may be scrolling: that ends by itself, or at the deadline.
                if self.pending.take().is_some() {
                    self.look = None;
                    self.blocked = Some(format!("the terminal refused: {}", one_line(&why, 200)));
                    self.refused_until = Some(now + self.recipe.look_again);
                }
            }
            DeliveryEvent::Prompt { prompt } => self.prompt(now, &prompt),
            DeliveryEvent::Taken => self.go(Stage::TurnStarted, now, "the agent took it from its inbox"),
            DeliveryEvent::Ended { why } => {
                let why = format!("the session is over: {}", one_line(&why, 200));
                self.give_up(now, &why);
            }
        }
    }

    fn prompt(&mut self, now: Time, prompt: &str) {
        // Before we typed anything it cannot be ours, whatever it says.
        if self.acted_at.is_none() && self.pending.is_none() {
            return;
        }
        if same_prompt(prompt, &self.text) {
            self.go(Stage::TurnStarted, now, "the client took a prompt equal to it");
        } else if pane::squeeze(prompt).contains(&pane::squeeze(&self.text)) {
            // Somebody besides us sent it: the model has it all the same.
            self.go(Stage::TurnStarted, now, "the client took it, together with another text");
        }
    }

    fn acted(&mut self, now: Time) {
        self.pending = None;
        self.acted_at = Some(now);
        // What was seen before is no longer what is there.
        self.look = None;
    }

    /// If it was done, it was done when it was requested: what a person has typed since is not ours.
    fn unreported(&mut self, act: Act, asked: Time, now: Time) {
        self.acted(asked);
        let stage = if act == Act::Paste { Stage::Typed } else { Stage::Submitted };
        self.go(stage, now, "it was asked for, and nobody reported; taken for done");
    }

    fn go(&mut self, to: Stage, at: Time, evidence: &str) {
        if to.is_final() {
            // Whether the last act was reported no longer matters.
            self.pending = None;
        }
        self.stage = to;
        self.staged_at = at;
        self.blocked = None;
        self.log.push(Transition { to, at, evidence: evidence.to_owned() });
    }

    fn give_up(&mut self, now: Time, why: &str) {
        self.go(Stage::Undelivered, now, why);
    }

    /// Uses up one of the resends, if any is left.
    fn may_resend(&mut self) -> bool {
        let max = match self.recipe.mode {
            Mode::Paste { resend_max, .. } => resend_max,
            Mode::Inbox => 0,
        };
        self.resends += 1;
        self.resends <= max
    }

    fn decide(&mut self, now: Time) -> Next {
        if !self.stage.is_final() && now.since(self.queued_at) >= self.recipe.deadline {
            let state = match self.stage {
                Stage::Typed => "its text stands in the composer, not submitted",
                Stage::Submitted => "it was submitted, and the client did not confirm it",
                _ => "it was not typed",
            };
            let why = match &self.blocked {
                Some(blocked) => format!("time is up; {state}: {blocked}"),
                None => format!("time is up; {state}"),
            };
            self.give_up(now, &why);
        }
        if let Some((act, asked)) = self.pending {
            if now.since(asked) < ACT_MAX {
                return self.wait(asked + ACT_MAX);
            }
            self.unreported(act, asked, now);
        }
        if let Some(until) = self.refused_until.filter(|until| now < *until && !self.stage.is_final()) {
            return self.wait(until);
        }
        match (self.stage, &self.recipe.mode) {
            (Stage::TurnStarted, _) => Next::Delivered,
            (Stage::Undelivered, _) => {
                let why = self.log.last().map(|last| last.evidence.clone()).unwrap_or_default();
                Next::GiveUp { why }
            }
            (_, Mode::Inbox) => self.wait(self.queued_at + self.recipe.deadline),
            (Stage::Queued, _) => self.queued(now),
            (Stage::Typed, Mode::Paste { pause, .. }) => {
                let due = self.staged_at + *pause;
                if now < due { self.wait(due) } else { self.typed(now) }
            }
            (Stage::Submitted, Mode::Paste { confirm, .. }) => {
                let due = self.staged_at + *confirm;
                if now < due { self.wait(due) } else { self.submitted(now) }
            }
        }
    }

    fn queued(&mut self, now: Time) -> Next {
        let Some(pane) = self.fresh_look(now) else { return Next::Look };
        let blocked = self.in_the_way(&pane, now).or(match &pane.composer {
            Composer::Empty => None,
            Composer::None => Some("no composer is to be seen".into()),
            Composer::Draft(_) | Composer::Pasted(_) => Some("the composer holds a draft".into()),
        });
        match blocked {
            Some(why) => self.hold(now, why),
            None => self.act(Act::Paste, now),
        }
    }

    fn typed(&mut self, now: Time) -> Next {
        let Some(pane) = self.fresh_look(now) else { return Next::Look };
        if let Some(why) = self.in_the_way(&pane, now) {
            return self.hold(now, why);
        }
        match &pane.composer {
            composer if self.is_ours(composer, &pane) => self.act(Act::Enter, now),
            Composer::Empty => self.vanished(now, &pane),
            Composer::None => self.hold(now, "no composer is to be seen".into()),
            _ => self.hold(now, "the composer holds another text beside it".into()),
        }
    }

    fn submitted(&mut self, now: Time) -> Next {
        let Some(pane) = self.fresh_look(now) else { return Next::Look };
        if let Some(why) = self.in_the_way(&pane, now) {
            return self.hold(now, why);
        }
        match &pane.composer {
            composer if self.is_ours(composer, &pane) => {
                if self.may_resend() {
                    return self.act(Act::Enter, now);
                }
                self.give_up(now, "Enter was swallowed each time; its text stands in the composer");
                self.decide(now)
            }
            Composer::Empty => self.vanished(now, &pane),
            Composer::None => self.hold(now, "no composer is to be seen".into()),
            _ => self.hold(now, "the composer holds another text".into()),
        }
    }

    /// Typed, no longer there, and not confirmed. A client that is working may have taken it: then it is not typed
    /// twice, but waited for.
    fn vanished(&mut self, now: Time, pane: &Pane) -> Next {
        let Mode::Paste { pause, confirm, .. } = self.recipe.mode else { return Next::Look };
        if pane.busy {
            return self
                .hold(now, "the composer is empty and the client works, but it confirmed nothing".into());
        }
        let due = self.staged_at + confirm;
        if now < due {
            // A client that has just started may not have drawn it yet.
            self.look = None;
            return self.wait(due.min(now + pause));
        }
        if !self.may_resend() {
            self.give_up(now, "what was typed vanished each time, and nothing confirmed it");
            return self.decide(now);
        }
        self.go(Stage::Queued, now, "what was typed vanished, and nothing confirmed it");
        self.queued(now)
    }

    /// What forbids any key, whatever the composer holds.
    fn in_the_way(&self, pane: &Pane, now: Time) -> Option<String> {
        if let Some(kind) = pane.dialog {
            return Some(format!("a dialog is up ({kind})"));
        }
        if pane.elsewhere {
            return Some("the client is in another mode than its plain composer".to_owned());
        }
        if pane.taken {
            return Some(PERSON_HAS_IT.to_owned());
        }
        let typing = |at: Time| now.since(at) < self.recipe.human_quiet;
        pane.human_typed.filter(|at| typing(*at)).map(|_| "somebody is typing".to_owned())
    }

    /// Nobody has typed since we did, so what looks like ours is ours.
    fn is_ours(&self, composer: &Composer, pane: &Pane) -> bool {
        let touched = pane.human_typed.is_some_and(|at| self.acted_at.is_some_and(|acted| at >= acted));
        !touched && is_ours(composer, &self.text)
    }

    /// The last look, if it was taken after we last typed and is not stale.
    fn fresh_look(&self, now: Time) -> Option<Pane> {
        let (at, pane) = self.look.as_ref()?;
        (now.since(*at) <= self.recipe.look_fresh && *at <= now).then(|| pane.clone())
    }

    fn act(&mut self, act: Act, now: Time) -> Next {
        self.blocked = None;
        self.pending = Some((act, now));
        // One look, one act.
        self.look = None;
        match act {
            Act::Paste => Next::Paste,
            Act::Enter => Next::PressEnter,
        }
    }

    /// What was in the way may go, and something else may come: a look that held typing up never leads to typing.
    fn hold(&mut self, now: Time, why: String) -> Next {
        self.blocked = Some(why);
        self.look = None;
        self.wait(now + self.recipe.look_again)
    }

    fn wait(&self, until: Time) -> Next {
        Next::Wait { until: until.min(self.queued_at + self.recipe.deadline) }
    }
}

#[cfg(test)]
mod tests;
