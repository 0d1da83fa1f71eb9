//! Clients whose messages are typed: a terminal with a composer, and a program behind it that takes a prompt
//! when Enter is pressed and reports so in a spool.
//!
//! What the factory types goes through [`World::paste`] and [`World::press_enter`], which hold it to
//! invariant 5: it types nothing into a dialog, into anything but an empty composer, or beside a person who
//! types, and nothing that was confirmed. Every piece of text in a composer records who wrote it, which no
//! screen shows. What else happens at a terminal is in [`crate::trouble`].

mod turns;
mod typing;

use crate::rng::Rng;
use crate::world::World;
use shopfloor_core::delivery::{Delivery, Pane};
use shopfloor_core::effect::StartSession;
use shopfloor_core::ids::{Epoch, MessageId, QuestionId};
use shopfloor_core::liveness::{Activity, HookEvent, HookState, Stand as HookStand, State};
use shopfloor_core::runtime::{Composer, DialogKind, DialogOption, DialogView, ErrorKind};
use shopfloor_core::time::Time;
use std::collections::BTreeSet;
use std::time::Duration;

pub const DELIVERY: &str = "5 delivery is acknowledged";

/// A person whose last key is younger than this is typing.
const TYPING: Duration = Duration::from_secs(10);
/// How long until a client that does not move is found stuck, and how often it is looked at then.
const FROZEN: Duration = Duration::from_secs(60);
pub const STUCK_EVERY: Duration = Duration::from_secs(60);
const NO_PROGRESS: Duration = Duration::from_secs(1800);
/// Three observations of idleness.
const IDLE_FOR: Duration = Duration::from_secs(30);

/// Text in a composer.
#[derive(Clone, Debug)]
pub struct Piece {
    pub text: String,
    /// `None`: a person's.
    pub message: Option<MessageId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stand {
    Starting,
    Ready,
    Turn,
    Idle,
    /// Its turn is over, but work that it began is not.
    Background,
    Limited {
        until: Time,
    },
    Failed {
        error: ErrorKind,
    },
    Frozen,
}

#[derive(Clone, Debug)]
pub struct Client {
    /// What it is to be told first, and the messages its predecessor left unread.
    pub prompt: String,
    unread: Vec<String>,
    pub stand: Stand,
    pub since: Time,
    /// It shows no composer yet.
    pub shut: bool,
    /// What its hooks have reported so far, by the numbers of its turns; and whether one was lost.
    hooks: HookState,
    turn: u64,
    deaf: bool,
    /// How often a phase had been written when its turn began.
    writes: u64,
    pub dialog: Option<(DialogKind, Time)>,
    /// Since when nothing has moved in its turn, although it lives.
    pub stalled: Option<Time>,
    pub composer: Vec<Piece>,
    /// Submitted during a turn, to be taken when it is over.
    waiting: Vec<Vec<Piece>>,
    /// Set if somebody's terminal is attached: when it last sent a key.
    pub person: Option<Time>,
    /// How many dialogs it has shown, and the question whose answer was typed or about to be; the latter is
    /// in the session's folder.
    pub dialogs: u32,
    pub begun: Option<QuestionId>,
    /// Whether it shows a long paste as a stand-in.
    stands_in: bool,
    /// Whether little context is left.
    low: bool,
    /// How many troubles it will still have, and how many turns in a row will fail at once.
    pub troubles: u32,
    pub outage: Option<(u32, ErrorKind)>,
    /// In the session's folder, so it outlives the daemon: the prompts it reported taking, how much of that
    /// was read, and the delivery under way.
    pub spool: Vec<String>,
    pub spool_read: usize,
    pub record: Option<(MessageId, Delivery)>,
    pub received: BTreeSet<MessageId>,
    confirmed: BTreeSet<MessageId>,
    /// Received, but the report of it was lost.
    unconfirmed: BTreeSet<MessageId>,
}

/// What an attendant of a session finds.
pub struct Glance {
    /// When an attached person last typed.
    pub person: Option<Time>,
    pub dialog: Option<DialogView>,
    /// What it asks in its chat.
    pub question: Option<String>,
    pub prompts: Vec<String>,
    pub read: usize,
    pub state: State,
    pub since: Time,
    /// When it will show something else even if nothing happens.
    pub again: Option<Time>,
}

impl Client {
    pub fn new(start: &StartSession, rng: &mut Rng, now: Time) -> Client {
        let unread: Vec<String> =
            start.resume.iter().flat_map(|r| &r.unread).map(|u| u.text.clone()).collect();
        let prompt =
            format!("Session {} of {}\n{}", start.epoch, start.assignment.mention(), unread.join("\n"));
        Client {
            prompt: prompt.trim().to_owned(),
            unread,
            stand: Stand::Starting,
            since: now,
            shut: true,
            hooks: HookState::new(now),
            turn: 0,
            deaf: false,
            writes: 0,
            dialog: None,
            stalled: None,
            composer: Vec::new(),
            waiting: Vec::new(),
            person: None,
            dialogs: 0,
            begun: None,
            stands_in: rng.permille(500),
            low: rng.permille(30),
            troubles: rng.below(4).saturating_sub(1) as u32,
            outage: None,
            spool: Vec::new(),
            spool_read: 0,
            record: None,
            received: BTreeSet::new(),
            confirmed: BTreeSet::new(),
            unconfirmed: BTreeSet::new(),
        }
    }

    /// Whether its agent is making progress.
    pub fn works(&self) -> bool {
        self.stand == Stand::Turn && self.dialog.is_none() && self.stalled.is_none()
    }

    fn tells(&mut self, event: &HookEvent, now: Time) {
        self.hooks = self.hooks.after(event, now);
    }

    fn prompt_hook(&self) -> HookEvent {
        HookEvent::UserPromptSubmit { prompt: String::new(), turn: Some(self.turn.to_string()) }
    }

    /// Whether everything it reported makes it look idle although it works.
    pub fn is_misjudged(&self) -> bool {
        let rests = self.hooks.stand == HookStand::Idle;
        match self.stand {
            Stand::Turn => rests && !self.deaf,
            Stand::Background => rests && self.hooks.tasks.is_empty(),
            _ => false,
        }
    }

    pub fn dialog_view(&self) -> Option<DialogView> {
        let (kind, _) = self.dialog?;
        let option = |number, label: &str| DialogOption {
            number,
            label: label.to_owned(),
            description: String::new(),
            selected: number == 1,
        };
        Some(DialogView {
            title: format!("dialog {}", self.dialogs),
            text: format!("dialog {}: {kind}?", self.dialogs),
            options: vec![option(1, "Yes"), option(2, "No")],
            numbered: true,
            fingerprint: format!("dialog-{}", self.dialogs),
        })
    }

    fn pane(&self) -> Pane {
        let text: Vec<&str> = self.composer.iter().map(|p| p.text.as_str()).collect();
        let composer = match text.as_slice() {
            _ if self.shut || self.dialog.is_some() => Composer::None,
            [] => Composer::Empty,
            [one] if self.stands_in && one.contains('\n') => Composer::Pasted("[Pasted text]".into()),
            all => Composer::Draft(all.concat()),
        };
        let busy = matches!(self.stand, Stand::Turn | Stand::Frozen);
        Pane {
            dialog: self.dialog.map(|(kind, _)| kind),
            composer,
            busy,
            human_typed: self.person,
            elsewhere: false,
            taken: false,
        }
    }

    fn state(&self, now: Time, watched_from: Time, writes: u64) -> (State, Time, Option<Time>) {
        let working = State::Working { activity: Activity::Thinking };
        let after = |since: Time, wait: Duration| since.max(watched_from) + wait;
        if let Some((kind, since)) = self.dialog {
            return (State::Dialog { kind }, since, None);
        }
        let (before, then, at) = match (self.stand, self.stalled) {
            (Stand::Starting, _) => return (State::Starting, self.since, None),
            (Stand::Ready, _) => return (State::Ready, self.since, None),
            (Stand::Failed { error }, _) => return (State::Failed { error }, self.since, None),
            (Stand::Idle, _) if self.low => {
                return (State::ContextLow { percent: Some(90) }, self.since, None);
            }
            (Stand::Idle, _) if writes > self.writes => return (State::Idle, self.since, None),
            (Stand::Background, _) => {
                let what = "1 task: shell \"tests\"".to_owned();
                return (State::Background { what }, self.since, None);
            }
            (Stand::Turn, None) => return (working, self.since, None),
            (Stand::Turn, Some(since)) => (working, State::NoProgress, after(since, NO_PROGRESS)),
            (Stand::Idle, _) => (State::Idle, State::IdlePrompt, after(self.since, IDLE_FOR)),
            (Stand::Frozen, _) => (working, State::Stuck, after(self.since, FROZEN)),
            // After that, what the client showed is only an error.
            (Stand::Limited { until }, _) => {
                (State::LimitedUntil { until }, State::Failed { error: ErrorKind::RateLimit }, until)
            }
        };
        if now < at {
            return (before, self.since, Some(at));
        }
        let again = (then == State::Stuck).then(|| now + STUCK_EVERY);
        (then, self.since, again)
    }
}

impl World {
    pub fn is_typed(&self, epoch: Epoch) -> bool {
        self.clients.contains_key(&epoch)
    }

    fn lives(&self, epoch: Epoch) -> bool {
        self.procs.get(&epoch).is_some_and(|p| p.alive)
    }

    /// The client of that session, if it runs.
    pub fn client(&mut self, epoch: Epoch) -> Option<&mut Client> {
        if !self.lives(epoch) {
            return None;
        }
        self.clients.get_mut(&epoch)
    }

    pub fn glance(&self, epoch: Epoch, watched_from: Time, read: usize) -> Option<Glance> {
        let proc = self.procs.get(&epoch).filter(|p| p.alive)?;
        let client = self.clients.get(&epoch)?;
        let (state, since, again) = client.state(self.now, watched_from, proc.writes);
        let prompts = client.spool[read..].to_vec();
        let (person, dialog) = (client.person, client.dialog_view());
        // Some turns that end without a phase end with a question.
        let asks = matches!(state, State::Idle | State::IdlePrompt) && proc.writes <= client.writes;
        let question = (asks && client.turn % 3 == 1).then(|| format!("Is it {}?", client.turn));
        let read = client.spool.len();
        Some(Glance { person, dialog, question, prompts, read, state, since, again })
    }
}
