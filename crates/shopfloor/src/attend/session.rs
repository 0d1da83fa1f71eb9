//! One session under watch: its evidence is weighed whenever there is news, its screen looked at when that
//! may help, and its state reported when it is new.

use super::clerk::Clerk;
use super::courier::{self, Courier, Way};
use super::people::seats;
use shopfloor_adapters::agent::settings::claude_hooks_off;
use shopfloor_adapters::terminal::tmux::Tmux;
use shopfloor_core::delivery::{DeliveryEvent, Pane};
use shopfloor_core::effect::ProcessId;
use shopfloor_core::event::Event;
use shopfloor_core::ids::{Epoch, MessageId, QuestionId};
use shopfloor_core::liveness::{
    Activity, Confidence, Source, State, Status, What, derive, is_in_doubt, observe,
};
use shopfloor_core::phase::Phase;
use shopfloor_core::runtime::screen::is_typed_into;
use shopfloor_core::runtime::{DialogKind, Meaning, Readiness, RuntimeSpec, Setup};
use shopfloor_core::state::{AnswerEnd, SessionStatus, WorkPhase};
use shopfloor_core::text::one_line;
use shopfloor_core::time::Time;
use shopfloor_desk::dossier::Dossier;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How often a waiting session is checked for whether it still waits.
const WEIGH_EVERY: Duration = Duration::from_secs(60);
/// tmux reports a write by its second, and does not report further writes in that second.
const TOLD_EVERY: Duration = Duration::from_secs(1);
/// How many times longer a screen that nothing was written to is left alone.
const LOOKS_SKIPPED: u32 = 6;
/// A session that makes progress is reported to the floor again after this long, even if nothing is new.
const CONFIRM_EVERY: Duration = Duration::from_secs(600);
/// Changes smaller than these are not worth a commit.
const CONTEXT_STEP: u8 = 5;
/// Of what was last reported, in tenths, but within these: a session that ends in mid-turn has said nearly all of it.
const COST_STEP_MICROS: (u64, u64) = (10_000, 100_000);
const TOKENS_STEP: (u64, u64) = (2_000, 50_000);

/// What the floor says about a live session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brief {
    pub epoch: Epoch,
    pub tmux: String,
    pub runtime: String,
    pub launched: Time,
    pub process: Option<ProcessId>,
    pub worktree: PathBuf,
    pub phase: Option<Phase>,
    pub phase_stamp: Option<String>,
    pub conversation: Option<String>,
    /// It took that over from an earlier session.
    pub resumed: bool,
    /// The message that is to be typed next.
    pub due: Option<Due>,
    /// Why nothing may be typed: a person has the session.
    pub held: Option<String>,
    /// How long a person who typed has the session, and when somebody last handed it back.
    pub handback: Duration,
    pub handed_back: Option<Time>,
    /// A person's answer to the dialog that is up.
    pub answer: Option<ToAnswer>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToAnswer {
    pub question: QuestionId,
    pub fingerprint: String,
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    pub message: MessageId,
    pub text: String,
    /// How many receipts the floor has for it.
    pub receipts: usize,
    pub held: Option<String>,
}

pub struct Attendant {
    pub brief: Brief,
    spec: Arc<RuntimeSpec>,
    dir: PathBuf,
    tmux: Tmux,
    clock: fn() -> Time,
    dossier: Dossier,
    courier: Option<Courier>,
    /// The message that is through or given up, until the floor says so.
    sent: Option<MessageId>,
    /// What was last reported about how far the work is.
    work: Option<WorkPhase>,
    reported: Option<(Time, SessionStatus)>,
    /// The beginning of the last turn that the floor knows about.
    turn: Option<Time>,
    worktree_seen: Option<Time>,
    /// When to look again, and when the courier wants to continue.
    next: Time,
    courier_next: Option<Time>,
    looked: Option<Time>,
    /// When something was reported to have been written to the pane, until a look has seen all of it.
    stirred: Option<Time>,
    /// The question whose answer was last typed, or refused.
    answered: Option<QuestionId>,
}

impl Attendant {
    pub fn new(
        brief: Brief,
        spec: Arc<RuntimeSpec>,
        dir: PathBuf,
        tmux: Tmux,
        clock: fn() -> Time,
    ) -> Attendant {
        let mut dossier = Dossier::load(&dir, brief.launched, brief.conversation.clone());
        let now = clock();
        // Standing still while nobody watched does not count as standing still.
        dossier.evidence.watch_from(now);
        dossier.evidence.resumed = brief.resumed;
        let turn = dossier.evidence.hooks.turn_started;
        Attendant {
            brief,
            spec,
            dir,
            tmux,
            clock,
            dossier,
            courier: None,
            sent: None,
            work: None,
            reported: None,
            turn,
            worktree_seen: None,
            next: now,
            courier_next: None,
            looked: None,
            stirred: Some(now),
            answered: None,
        }
    }

    pub fn due(&self) -> Time {
        self.courier_next.map_or(self.next, |at| at.min(self.next))
    }

    /// The floor has changed.
    pub fn brief(&mut self, brief: Brief) {
        let message = brief.due.as_ref().map(|due| due.message);
        if self.brief.due.as_ref().map(|due| due.message) != message {
            self.courier = None;
            courier::forget(&self.dir);
            self.courier_next = message.map(|_| (self.clock)());
        }
        if self.brief.held != brief.held {
            self.courier_next = self.courier_next.map(|_| (self.clock)());
        }
        self.brief = brief;
        self.next = self.next.min((self.clock)());
    }

    /// Returns whether the new title means something other than the old one; most are a spinner's next step.
    pub fn title(&mut self, title: &str) -> bool {
        let before = self.dossier.title_meaning();
        self.dossier.see_title(&self.spec, title, (self.clock)());
        let other = before != self.dossier.title_meaning();
        if other {
            self.stirred = Some((self.clock)());
        }
        other
    }

    /// Something was written to the pane. It is looked at soon, unless its title says that the client is
    /// working.
    pub fn output(&mut self) {
        let now = (self.clock)();
        self.stirred = Some(now);
        let status = derive(&self.dossier.evidence, now, &self.spec);
        if let Some(every) = self.look_every(&status) {
            self.next = self.next.min(self.looked.map_or(now, |at| at + every).max(now));
        }
    }

    /// How often the screen is worth a look at the moment; `None` if it is not.
    fn look_every(&self, status: &Status) -> Option<Duration> {
        let (timing, evidence) = (&self.spec.timing, &self.dossier.evidence);
        let doubt = is_in_doubt(evidence, &status.state);
        if !is_open(&status.state) && !doubt {
            return None;
        }
        let shown = evidence.newest(Source::Screen).and_then(|fact| match &fact.what {
            What::Screen(reading) => reading.meaning(),
            _ => None,
        });
        let dialog = matches!(status.state, State::Dialog { .. });
        // May be a dialog, if it stands still.
        let drawn_soon = self.is_drawn_soon(status);
        let works = self.dossier.title_meaning().is_some_and(Meaning::is_busy);
        let maybe = !dialog && !works && shown == Some(Meaning::Dialog(DialogKind::Asks));
        Some(match (drawn_soon || maybe, self.stirred.is_some() && !works) {
            (true, _) => timing.still(),
            (false, true) => timing.glance(),
            (false, false) if doubt => Duration::from_millis(timing.idle_gap_ms).min(timing.look()),
            // Tmux tells when something is written; this is in case it did not.
            // Not for so long that what was seen is no longer believed.
            (false, false) if self.stirred.is_none() => {
                (timing.look() * LOOKS_SKIPPED).min(timing.fresh() / 2).max(timing.look())
            }
            (false, false) => timing.look(),
        })
    }

    /// Whether a dialog was reported that is not drawn yet.
    fn is_drawn_soon(&self, status: &Status) -> bool {
        let timing = &self.spec.timing;
        matches!(status.state, State::Dialog { .. })
            && status.dialog.is_none()
            && (self.clock)().since(status.since) < timing.settle() + timing.settle()
    }

    /// When the screen counts against the last hook: before that, it may not have been redrawn yet.
    fn settled(&self) -> Option<Time> {
        self.dossier.evidence.moved(Source::Hook).map(|at| at + self.spec.timing.settle())
    }

    /// Something was written for us, or time has passed.
    /// The session is over. What it has cost since it was last reported still counts.
    pub fn last_word(&mut self, tell: &mut dyn FnMut(Event)) {
        let Some((_, last)) = self.reported.take() else { return };
        if let Err(e) = self.dossier.catch_up(&self.dir, &self.spec, (self.clock)()) {
            tracing::warn!("what session {} told last cannot be read: {e}", self.brief.epoch);
        }
        let (cost_micros, tokens) = (self.dossier.cost_micros(), self.dossier.tokens());
        if (cost_micros, tokens) != (last.cost_micros, last.tokens) {
            let status = SessionStatus { cost_micros, tokens, ..last };
            tell(Event::StatusSeen { epoch: self.brief.epoch, status, conversation: None });
        }
    }

    pub fn attend(&mut self, tell: &mut dyn FnMut(Event)) {
        let now = (self.clock)();
        let caught = match self.dossier.catch_up(&self.dir, &self.spec, now) {
            Ok(caught) => caught,
            Err(e) => {
                tracing::warn!("what session {} tells cannot be read: {e}", self.brief.epoch);
                Default::default()
            }
        };
        self.dossier.see_process(self.brief.process, now);
        self.dossier.see_phase(self.brief.phase, self.brief.phase_stamp.as_deref(), now);
        if self.worktree_seen.is_none_or(|at| now.since(at) >= self.spec.timing.look()) {
            self.worktree_seen = Some(now);
            self.dossier.see_worktree(&self.brief.worktree, now);
        }
        let mut status = observe(&mut self.dossier.evidence, now, &self.spec);
        let unsettled = self.settled().is_some_and(|at| now >= at && self.looked < Some(at));
        let due = |every| unsettled || self.looked.is_none_or(|at| now.since(at) >= every);
        if self.look_every(&status).is_some_and(due) && self.look().is_ok() {
            status = observe(&mut self.dossier.evidence, now, &self.spec);
        }
        self.report(&status, now, tell);
        if let Some(phase) = caught.work.filter(|phase| self.work != Some(*phase)) {
            self.work = Some(phase);
            tell(Event::WorkSeen { epoch: self.brief.epoch, phase });
        }
        if self.answer(tell) {
            // What is there now is looked at immediately, and reported whatever it is.
            self.reported = None;
            let _ = self.look();
            status = observe(&mut self.dossier.evidence, (self.clock)(), &self.spec);
            self.report(&status, now, tell);
        }
        self.deliver(&status, caught.prompts, tell);
        self.next = now + self.look_every(&status).unwrap_or(WEIGH_EVERY);
        // A question at the end of its turn counts only a moment after that end.
        let hook = self.dossier.evidence.moved(Source::Hook);
        let still = hook.filter(|_| self.dossier.evidence.hooks.asks.is_some());
        let still = still.map(|at| at + self.spec.timing.still());
        for at in [self.settled(), still].into_iter().flatten().filter(|at| *at > now) {
            self.next = self.next.min(at);
        }
        if caught.anything {
            self.keep();
        }
    }

    /// Types a person's answer into the dialog it is for. Returns whether there was one to type.
    fn answer(&mut self, tell: &mut dyn FnMut(Event)) -> bool {
        let Some(answer) = self.brief.answer.take().filter(|a| self.answered != Some(a.question)) else {
            return false;
        };
        self.answered = Some(answer.question);
        let (tmux, name) = (&self.tmux, self.brief.tmux.as_str());
        let end = Clerk { tmux, name, spec: &self.spec, dir: &self.dir, clock: self.clock }.type_in(&answer);
        if end == AnswerEnd::Typed {
            self.dossier.evidence.dialog_answered((self.clock)());
            // Before the floor knows: else a successor of ours might take the next dialog for this one.
            self.keep();
        }
        tell(Event::DialogAnswered { epoch: self.brief.epoch, question: answer.question, end });
        true
    }

    fn keep(&mut self) {
        let kept = self.dossier.save(&self.dir).and_then(|()| self.dossier.trim(&self.dir));
        if let Err(e) = kept {
            tracing::warn!("what is known of session {} cannot be kept: {e}", self.brief.epoch);
        }
    }

    /// Takes in the screen, and who else types there.
    fn look(&mut self) -> Result<Pane, String> {
        let now = (self.clock)();
        let name = &self.brief.tmux;
        let text = self.tmux.screen(name).map_err(|e| e.to_string())?.ok_or("there is no such session")?;
        let seats = seats(&self.tmux, name).map_err(|e| e.to_string())?;
        let has_it = |at: &Time| {
            now.since(*at) < self.brief.handback && self.brief.handed_back.is_none_or(|back| *at > back)
        };
        let taken = seats.typed.as_ref().is_some_and(has_it);
        let reading = self.dossier.see_screen(&self.spec, &text, now);
        self.looked = Some(now);
        self.stirred = self.stirred.filter(|told| now.since(*told) < TOLD_EVERY);
        let status = observe(&mut self.dossier.evidence, now, &self.spec);
        let dialog = match status.state {
            State::Dialog { kind } => Some(kind),
            _ => None,
        };
        let cursor = self.tmux.cursor(name).map_err(|e| e.to_string())?;
        let elsewhere = !cursor.is_some_and(|cursor| is_typed_into(&self.spec, &text, cursor));
        Ok(Pane { elsewhere, taken, ..Pane::new(&reading, dialog, seats.stirred) })
    }

    fn report(&mut self, status: &Status, now: Time, tell: &mut dyn FnMut(Event)) {
        let began = self.dossier.evidence.hooks.turn_started;
        let missed = began.filter(|began| Some(*began) > self.turn && !status.state.in_turn());
        self.turn = began;
        if let Some(since) = missed {
            // A turn that was over before anybody looked. Without it, the floor would take the next report
            // for what it already knows.
            let state = State::Working { activity: Activity::Thinking };
            let worked = Status { state, since, confidence: Confidence::High, ..status.clone() };
            self.report_new(&worked, now, tell);
        }
        // Nobody can answer what they cannot read: a dialog is reported with its text, which appears in a
        // moment.
        if !self.is_drawn_soon(status) {
            self.report_new(status, now, tell);
        }
    }

    /// Reports to the floor, if that is worth a commit.
    fn report_new(&mut self, status: &Status, now: Time, tell: &mut dyn FnMut(Event)) {
        let new = SessionStatus {
            state: status.state.clone(),
            since: status.since,
            confidence: status.confidence,
            context_percent: status.context_percent,
            cost_micros: self.dossier.cost_micros(),
            tokens: self.dossier.tokens(),
            dialog: status.dialog.clone(),
            question: status.question.clone(),
        };
        let mut new = new;
        if let Some((_, old)) = &self.reported
            && old.state == new.state
            && matches!(new.state, State::Failed { .. } | State::LimitedUntil { .. })
        {
            // It was looked at again; a turn in between would have been reported.
            new.since = old.since;
        }
        let worth = self.reported.as_ref().is_none_or(|(at, old)| self.is_worth(old, &new, now.since(*at)));
        if worth {
            self.reported = Some((now, new.clone()));
            let conversation = self.dossier.conversation().map(str::to_owned);
            tell(Event::StatusSeen { epoch: self.brief.epoch, status: new, conversation });
            self.keep();
        }
    }

    fn is_worth(&self, old: &SessionStatus, new: &SessionStatus, age: Duration) -> bool {
        let detail = |state: &State| match state {
            // One tool after another is all work.
            State::Working { .. } | State::ContextLow { .. } => state.as_str().to_owned(),
            other => format!("{other:?}"),
        };
        let asks = |status: &SessionStatus| status.dialog.as_ref().map(|d| d.fingerprint.clone());
        // The same failure in another turn is another failure, even if nobody saw the turn in between.
        let failed = matches!(new.state, State::Failed { .. } | State::LimitedUntil { .. });
        let context = old.context_percent.unwrap_or(0).abs_diff(new.context_percent.unwrap_or(0));
        let step = |old: u64, (least, most): (u64, u64)| (old / 10).clamp(least, most);
        let (paid, used) = (old.cost_micros.unwrap_or(0), old.tokens.unwrap_or_default());
        let cost = new.cost_micros.unwrap_or(0).saturating_sub(paid);
        let tokens = new.tokens.unwrap_or_default().since(used).all();
        let progress = self.dossier.evidence.progress().map(|(_, at)| at);
        detail(&old.state) != detail(&new.state)
            || (new.dialog.is_some() && asks(old) != asks(new))
            || old.question != new.question
            || (failed && old.since != new.since)
            || context >= CONTEXT_STEP
            || cost >= step(paid, COST_STEP_MICROS)
            || tokens >= step(used.all(), TOKENS_STEP)
            || (new.state == State::Stuck && age >= self.spec.timing.strike())
            || (age >= CONFIRM_EVERY && progress > Some((self.clock)() - age))
    }

    fn deliver(&mut self, status: &Status, mut prompts: Vec<String>, tell: &mut dyn FnMut(Event)) {
        let Some(due) = self.brief.due.clone().filter(|due| self.sent != Some(due.message)) else {
            self.courier_next = None;
            return;
        };
        let (tmux, spec, brief, dir) =
            (self.tmux.clone(), self.spec.clone(), self.brief.clone(), self.dir.clone());
        let way = Way { tmux: &tmux, spec: &spec, brief: &brief, dir: &dir, now: self.clock };
        let mut courier = match self.courier.take() {
            Some(courier) => courier,
            None => match Courier::new(&way, &due) {
                Ok(courier) => {
                    prompts = self.dossier.prompts_since(&dir, courier.began()).unwrap_or(prompts);
                    courier
                }
                Err(to) => {
                    tell(Event::MessageMoved { message: due.message, epoch: brief.epoch, to });
                    self.courier_next = None;
                    return;
                }
            },
        };
        let now = (self.clock)();
        if let Some(NotYet { why, again, for_good }) = self.not_yet(status) {
            if courier.confirm(&way, &prompts, tell) {
                self.courier_next = None;
                self.sent = Some(due.message);
                return;
            }
            courier.hold(brief.epoch, &why, for_good, tell);
            self.courier = Some(courier);
            self.courier_next = Some(again.max(now + Duration::from_secs(1)));
            return;
        }
        let mut next = None;
        let inputs =
            prompts.into_iter().map(|prompt| DeliveryEvent::Prompt { prompt }).chain([DeliveryEvent::Tick]);
        for input in inputs {
            next = courier.go(&way, input, || self.look(), tell);
            if next.is_none() {
                break;
            }
        }
        // Delivered or given up: the floor will say what comes next.
        self.courier_next = next;
        self.courier = next.map(|_| courier);
        if self.courier.is_none() {
            self.sent = Some(due.message);
        }
    }

    fn not_yet(&self, status: &Status) -> Option<NotYet> {
        let now = (self.clock)();
        let later = |why: String| NotYet { why, again: now + WEIGH_EVERY, for_good: false };
        if let Some(why) = &self.brief.held {
            return Some(later(why.clone()));
        }
        if let State::LimitedUntil { until } = status.state {
            return Some(NotYet { again: until, ..later("the account's limit is reached".into()) });
        }
        if self.spec.readiness == Readiness::Hook && self.dossier.evidence.newest(Source::Hook).is_none() {
            let off = (self.spec.setup == Setup::Claude).then(|| hooks_off(&self.brief.worktree)).flatten();
            return Some(match off {
                Some(file) => NotYet { for_good: true, ..later(no_hooks(&file)) },
                None => later("the client has not said yet that it is ready (no SessionStart hook)".into()),
            });
        }
        None
    }
}

/// Why nothing may be typed, whatever the pane shows; when to ask again; and whether it lasts until somebody
/// acts.
struct NotYet {
    why: String,
    again: Time,
    for_good: bool,
}

/// The settings file that keeps Claude Code's hooks from running in a worktree.
fn hooks_off(worktree: &Path) -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let (home, config) = (folder("HOME")?, folder("CLAUDE_CONFIG_DIR"));
    claude_hooks_off(worktree, &home, config.as_deref())
}

fn no_hooks(file: &Path) -> String {
    format!(
        "its hooks are turned off by disableAllHooks in {}: it cannot say that it is ready; take that out, then start it anew",
        one_line(&file.display().to_string(), 200)
    )
}

/// Whether a turn is open or the session is starting: then its screen is worth a look.
fn is_open(state: &State) -> bool {
    state.in_turn()
        || matches!(state, State::Starting | State::Failed { .. } | State::NoProgress | State::Stuck)
}
