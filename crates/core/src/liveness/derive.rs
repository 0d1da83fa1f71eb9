//! From evidence to a status. The order is the order of trust: the process, then what the client reports, then
//! what moves, and the screen only to take a claim away.

use super::background::summary;
use super::evidence::Evidence;
use super::fact::{Fact, Process, Source, TurnEnd, What};
use super::gate::{Gate, time_gate};
use super::hook::Stand;
use super::status::{Activity, Confidence, Reason, State, Status};
use crate::runtime::{Composer, DialogKind, DialogView, ErrorKind, Meaning, Readiness, RuntimeSpec};
use crate::time::Time;
use std::time::Duration;

/// How many observations in a row make idleness without a phase a finding.
pub const IDLE_OBSERVATIONS: u8 = 3;

/// Derives the status and counts the observation: the third in a row that finds the session idle
/// without a phase says so. Observations closer together than `idle_gap_ms` count as one.
pub fn observe(evidence: &mut Evidence, now: Time, spec: &RuntimeSpec) -> Status {
    // There was a turn since then, however short: what was counted before it was another idleness.
    if evidence.hooks.turn_started > evidence.idle_counted {
        evidence.idle_streak = 0;
        evidence.idle_counted = None;
    }
    let status = derive(evidence, now, spec);
    let idle = matches!(status.state, State::Idle | State::IdlePrompt | State::ContextLow { .. });
    if !idle || has_phase(evidence) {
        evidence.idle_streak = 0;
        evidence.idle_counted = None;
        return status;
    }
    let gap = Duration::from_millis(spec.timing.idle_gap_ms);
    if evidence.idle_counted.is_none_or(|last| now.since(last) >= gap) {
        evidence.idle_streak = evidence.idle_streak.saturating_add(1);
        evidence.idle_counted = Some(now);
    }
    derive(evidence, now, spec)
}

/// Whether the session is at rest and has not signalled a phase, and that is not settled yet: a look helps.
pub fn is_in_doubt(evidence: &Evidence, state: &State) -> bool {
    matches!(state, State::Idle | State::ContextLow { .. }) && !has_phase(evidence)
}

/// Whether the session has signalled a phase since it was last prompted.
fn has_phase(evidence: &Evidence) -> bool {
    let said =
        matches!(evidence.newest(Source::PhaseFile), Some(Fact { what: What::PhaseFile(Some(_)), .. }));
    said && evidence.moved(Source::PhaseFile) >= evidence.hooks.turn_started
}

/// The status now. Pure: the same evidence at the same time gives the same answer.
pub fn derive(evidence: &Evidence, now: Time, spec: &RuntimeSpec) -> Status {
    let mut judge = Judge { evidence, now, spec, chain: Vec::new() };
    let mut found = match judge.gone() {
        Some(found) => found,
        None => {
            let base = judge.base();
            let base = judge.transcript(base);
            let base = judge.title(base);
            let base = judge.screen(base);
            let base = judge.movement(base);
            let base = judge.rest(base);
            judge.seen(base)
        }
    };
    found.since = found.since.min(now);
    let context_percent = judge.context_percent();
    let dialog = judge.dialog_view(&found.state);
    let question = judge.question(&found.state);
    if dialog.is_some() {
        found.since = found.since.max(evidence.answered_before_look().unwrap_or(found.since));
    }
    Status {
        state: found.state,
        since: found.since,
        confidence: found.confidence,
        context_percent,
        dialog,
        question,
        chain: judge.chain,
    }
}

#[derive(Clone, Debug)]
pub(super) struct Found {
    pub state: State,
    pub since: Time,
    pub confidence: Confidence,
}

pub(super) struct Judge<'e> {
    pub evidence: &'e Evidence,
    pub now: Time,
    pub spec: &'e RuntimeSpec,
    chain: Vec<Reason>,
}

impl Judge<'_> {
    pub(super) fn found(&self, state: State, since: Time, confidence: Confidence) -> Found {
        Found { state, since, confidence }
    }

    pub(super) fn because(&mut self, source: Source, says: impl Into<String>) {
        if let Some(fact) = self.evidence.newest(source) {
            let age_ms = self.now.since(fact.at).as_millis() as u64;
            self.chain.push(Reason { fact: fact.clone(), age_ms, says: says.into() });
        }
    }

    pub(super) fn last_hook(&self) -> Time {
        self.evidence.moved(Source::Hook).unwrap_or(self.evidence.launched)
    }

    /// A process that is proven gone settles the matter.
    fn gone(&mut self) -> Option<Found> {
        let fact = self.evidence.newest(Source::Process)?;
        let What::Process(Process::Gone { status, signal }) = fact.what else { return None };
        let said_so = matches!(self.evidence.hooks.stand, Stand::Ended { .. });
        let (state, confidence, says) = match (status, signal) {
            (_, Some(_)) => (State::Crashed { status, signal }, Confidence::High, "it was killed"),
            (Some(0), None) => (State::Exited, Confidence::High, "it ended well"),
            (Some(_), None) if said_so => (State::Exited, Confidence::High, "it ended, and had said so"),
            (Some(_), None) => (State::Crashed { status, signal }, Confidence::High, "it ended in an error"),
            (None, None) if said_so => (State::Exited, Confidence::Medium, "it ended, and had said so"),
            (None, None) => {
                (State::Crashed { status, signal }, Confidence::Medium, "it ended without saying so")
            }
        };
        let since = fact.at;
        self.because(Source::Process, says);
        if said_so {
            self.because(Source::Hook, "the client said that it ends");
        }
        if let Some(Meaning::Error(kind)) = self.screen_meaning() {
            self.because(Source::Screen, format!("the last it showed was an error ({kind})"));
        }
        Some(self.found(state, since, confidence))
    }

    fn screen_meaning(&self) -> Option<Meaning> {
        match &self.evidence.newest(Source::Screen)?.what {
            What::Screen(reading) => reading.meaning(),
            _ => None,
        }
    }

    /// What the client reports; if it reports nothing, what its process and its work show.
    fn base(&mut self) -> Found {
        if !self.spec.capabilities.hooks {
            return self.base_without_hooks();
        }
        let hooks = &self.evidence.hooks;
        let (state, says) = match &hooks.stand {
            Stand::Silent => return self.base_starting(),
            Stand::Ready => (State::Ready, "it has started and waits for a prompt".to_owned()),
            Stand::Model => (working(Activity::Thinking), "a turn is under way".to_owned()),
            Stand::Tool { tool } => {
                (working(Activity::Tool { tool: tool.clone() }), format!("the tool {tool} runs"))
            }
            Stand::Permission { .. } => (dialog(DialogKind::Permission), "it asks for a permission".into()),
            Stand::Question => (dialog(DialogKind::Question), "it asks its user a question".into()),
            Stand::Compacting => (working(Activity::Compacting), "it compacts its context".into()),
            Stand::Queued => {
                (working(Activity::Thinking), "its turn has ended, and what was queued in it is next".into())
            }
            Stand::Idle if !hooks.tasks.is_empty() => {
                let what = summary(&hooks.tasks);
                (State::Background { what }, "its turn has ended, and work goes on in the background".into())
            }
            Stand::Idle => (State::Idle, "its turn has ended".into()),
            Stand::Interrupted => (State::Idle, "its turn was broken off".into()),
            Stand::Failed { error, .. } => {
                let error = self.spec.error_kind(error);
                (State::Failed { error }, format!("its turn ended in an error ({error})"))
            }
            Stand::Ended { reason } => {
                (State::Unknown, format!("it said that it ends ({reason}); its process is not proven gone"))
            }
        };
        let since = hooks.since;
        self.because(Source::Hook, says);
        self.found(state, since, Confidence::High)
    }

    /// Launched, and not a word from it yet.
    fn base_starting(&mut self) -> Found {
        let launched = self.evidence.launched;
        if self.spec.readiness == Readiness::Screen
            && let Some(Fact { at, what: What::Screen(reading) }) = self.evidence.newest(Source::Screen)
            && self.now.since(*at) <= self.spec.timing.fresh()
            && reading.composer == Composer::Empty
            && !reading.meaning().is_some_and(Meaning::is_busy)
        {
            let since = *at;
            self.because(Source::Screen, "an empty composer is this runtime's sign of readiness");
            return self.found(State::Ready, since, Confidence::Medium);
        }
        self.because(Source::Process, "it was launched and has told nothing yet");
        self.found(State::Starting, launched, Confidence::Medium)
    }

    fn base_without_hooks(&mut self) -> Found {
        let launched = self.evidence.launched;
        match self.evidence.progress() {
            Some((Source::PhaseFile, at)) if has_phase(self.evidence) => {
                self.because(Source::PhaseFile, "it signalled a phase, and nothing moved since");
                self.found(State::Idle, at, Confidence::Medium)
            }
            Some((source, at)) => {
                self.because(source, "the last sign of its work");
                self.found(working(Activity::Something), at, Confidence::Medium)
            }
            None => {
                self.because(Source::Process, "it runs; nothing tells what it does");
                self.found(working(Activity::Something), launched, Confidence::Low)
            }
        }
    }

    /// A log that says how the turn ended, later than any hook: Codex calls no hook for a failure.
    fn transcript(&mut self, base: Found) -> Found {
        let Some(Fact { what: What::Transcript(transcript), .. }) = self.evidence.newest(Source::Transcript)
        else {
            return base;
        };
        let rests = matches!(base.state, State::Idle | State::Background { .. });
        if let Some(began) = transcript.began.filter(|began| rests && *began > self.last_hook()) {
            self.because(Source::Transcript, "the log shows a turn that began since");
            return self.found(working(Activity::Thinking), began, Confidence::High);
        }
        if rests && transcript.queued > 0 {
            self.because(Source::Transcript, "the log shows that a prompt is in the queue: it is next");
            return self.found(working(Activity::Thinking), base.since, Confidence::High);
        }
        let ends = |(at, _): &(Time, TurnEnd)| base.state.in_turn() && *at > self.last_hook();
        let Some((since, end)) = transcript.turn.filter(ends).filter(|_| transcript.queued == 0) else {
            return base;
        };
        let (state, says) = match end {
            TurnEnd::Done if !self.evidence.hooks.tasks.is_empty() => {
                let what = summary(&self.evidence.hooks.tasks);
                (State::Background { what }, "the log shows the turn's end".to_owned())
            }
            TurnEnd::Done => (State::Idle, "the log shows the turn's end".to_owned()),
            TurnEnd::Aborted => (State::Idle, "the log shows that the turn was broken off".to_owned()),
            TurnEnd::Failed { error } => {
                (State::Failed { error }, format!("the log shows that the turn failed ({error})"))
            }
        };
        self.because(Source::Transcript, says);
        self.found(state, since, Confidence::High)
    }

    fn title(&mut self, base: Found) -> Found {
        let Some(Fact { at, what: What::Title { claim: Some(claim), .. } }) =
            self.evidence.newest(Source::Title)
        else {
            return base;
        };
        match claim.meaning {
            Meaning::Dialog(kind)
                if *at >= self.last_hook() && !matches!(base.state, State::Dialog { .. }) =>
            {
                let since = *at;
                self.because(Source::Title, format!("the title shows a dialog ({kind})"));
                self.found(dialog(kind), since, Confidence::Medium)
            }
            _ => base,
        }
    }

    /// What moves, and what does not. A clock that moves means alive, whatever else is silent.
    fn movement(&mut self, base: Found) -> Found {
        let (evidence, timing) = (self.evidence, &self.spec.timing);
        let waits = match base.state {
            State::Working { .. } | State::Starting => false,
            State::Ready | State::Idle | State::Background { .. } | State::LimitedUntil { .. } => true,
            // A dialog hides the status line, and may keep it from being drawn: no clock can be expected while a
            // person is awaited.
            _ => return base,
        };
        let progress = evidence.progress().map(|(_, at)| at);
        let quiet = self.now.since(evidence.quiet_since(progress.max(Some(base.since))));
        let clock_moved = evidence.moved(Source::Statusline);
        let clock_still = self.now.since(evidence.quiet_since(clock_moved));
        let has_clock = self.spec.capabilities.statusline && clock_moved.is_some();
        let too_late = base.state == State::Starting && quiet.as_millis() as u64 >= timing.start_ms;
        if has_clock && clock_still >= timing.frozen() {
            // The same clock for that long, or none where there was one.
            let clock = self.clock();
            if time_gate(clock, clock, quiet >= timing.frozen()) == Gate::Stuck {
                self.because(Source::Statusline, "its clock stands still: the client is frozen");
                let since = clock_moved.unwrap_or(base.since);
                return self.found(State::Stuck, since, Confidence::High);
            }
            return base;
        }
        if waits {
            return base;
        }
        let title_moves =
            evidence.moved(Source::Title).is_some_and(|at| self.now.since(at) < timing.frozen());
        let alive = has_clock || title_moves;
        let provable = self.spec.capabilities.hooks;
        let others = too_late || quiet >= timing.stuck();
        let since = self.now - quiet;
        if !alive && provable && time_gate(None, None, others) == Gate::Stuck {
            self.because(Source::Process, "nothing moves, and no clock shows that it lives");
            return self.found(State::Stuck, since, Confidence::Medium);
        }
        if quiet >= timing.no_progress() {
            let (source, sure) = match (has_clock, title_moves) {
                (true, _) => (Source::Statusline, Confidence::High),
                (_, true) => (Source::Title, Confidence::Medium),
                _ => (Source::Process, Confidence::Low),
            };
            self.because(source, "it lives, but nothing has moved for long");
            return self.found(State::NoProgress, since, sure);
        }
        if has_clock && others {
            self.because(Source::Statusline, "its clock moves: alive, however silent");
        }
        base
    }

    fn clock(&self) -> Option<crate::runtime::statusline::Clock> {
        match &self.evidence.newest(Source::Statusline)?.what {
            What::Statusline(line) => line.clock,
            _ => None,
        }
    }

    /// What the dialog says, if a screen that is still current shows it.
    fn dialog_view(&self, state: &State) -> Option<DialogView> {
        match (state, self.evidence.newest(Source::Screen)) {
            (State::Dialog { .. }, Some(Fact { what: What::Screen(reading), .. })) => reading.dialog.clone(),
            _ => None,
        }
    }

    /// What the agent asks in its chat. A phase that it signalled at the last moment is seen before this counts,
    /// and so is a screen without its turn: one that is drawn late would take the question back.
    fn question(&self, state: &State) -> Option<String> {
        let rests = matches!(state, State::Idle | State::IdlePrompt | State::ContextLow { .. });
        let settled = self.now >= self.last_hook() + self.spec.timing.still();
        let drawn = matches!(self.evidence.newest(Source::Screen),
            Some(Fact { at, what: What::Screen(reading) })
                if *at >= self.evidence.hooks.since && !reading.meaning().is_some_and(Meaning::is_busy));
        let asks = self.evidence.hooks.asks.clone();
        asks.filter(|_| rests && settled && drawn && !has_phase(self.evidence))
    }

    fn context_percent(&self) -> Option<u8> {
        match &self.evidence.newest(Source::Statusline)?.what {
            What::Statusline(line) => line.context_percent,
            _ => None,
        }
    }

    /// What a session between turns has to say besides being idle, and limits reported as numbers.
    fn rest(&mut self, base: Found) -> Found {
        let limit = match self.evidence.newest(Source::Statusline).map(|fact| &fact.what) {
            Some(What::Statusline(line)) => line.limited_until,
            _ => None,
        };
        if base.state == (State::Failed { error: ErrorKind::RateLimit })
            && let Some(until) = limit.filter(|until| *until > self.now)
        {
            self.because(Source::Statusline, "a limit is used up, with the time of its reset");
            return Found { state: State::LimitedUntil { until }, ..base };
        }
        if !matches!(base.state, State::Idle | State::Ready) {
            return base;
        }
        // This comes first: little context is no reason to wait forever.
        if base.state == State::Idle
            && self.evidence.idle_streak >= IDLE_OBSERVATIONS
            && !has_phase(self.evidence)
        {
            if self.rest_is_proven() {
                self.because(Source::PhaseFile, "idle three times in a row, with no phase signalled");
                return Found { state: State::IdlePrompt, ..base };
            }
            self.because(Source::Hook, "only one kind of evidence says that it rests");
        }
        let percent = self.context_percent();
        let by_screen = matches!(self.evidence.newest(Source::Screen),
            Some(Fact { at, what: What::Screen(reading) }) if reading.context_low && *at >= self.last_hook());
        if by_screen || percent.is_some_and(|percent| percent >= self.spec.timing.context_low_percent) {
            let source = if by_screen { Source::Screen } else { Source::Statusline };
            self.because(source, "little context is left");
            return Found { state: State::ContextLow { percent }, ..base };
        }
        base
    }

    /// Whether two kinds of evidence agree that nothing is going on: the client's word, its log, a screen with a
    /// composer and no work on it. No hook reports Esc: there the title stands in for it.
    fn rest_is_proven(&self) -> bool {
        let told = matches!(self.evidence.hooks.stand, Stand::Idle | Stand::Interrupted);
        let logged = matches!(self.evidence.newest(Source::Transcript),
            Some(Fact { what: What::Transcript(log), .. }) if log.rests());
        let quiet = matches!(self.evidence.newest(Source::Screen),
            Some(Fact { at, what: What::Screen(reading) })
                if *at >= self.last_hook()
                    && reading.composer != Composer::None
                    && matches!(reading.meaning(),
                        Some(Meaning::Ready | Meaning::Done | Meaning::Interrupted | Meaning::Error(_))));
        let broken_off = quiet
            && self.screen_meaning() == Some(Meaning::Interrupted)
            && self.title_meaning() == Some(Meaning::Ready);
        let kinds = [told || broken_off, logged, quiet];
        !self.title_works() && kinds.into_iter().filter(|kind| *kind).count() >= 2
    }

    /// A process that cannot be seen makes everything less certain, and silence unknown.
    fn seen(&mut self, base: Found) -> Found {
        match self.evidence.newest(Source::Process).map(|fact| &fact.what) {
            Some(What::Process(Process::Alive)) => {
                self.because(Source::Process, "its process runs");
                base
            }
            unseen => {
                if unseen.is_some() {
                    self.because(Source::Process, "whether its process runs is not known");
                }
                let fresh = self.spec.timing.fresh();
                let sign = [Source::Hook, Source::Statusline, Source::Transcript, Source::Title]
                    .into_iter()
                    .filter_map(|source| self.evidence.moved(source))
                    .max();
                if sign.is_some_and(|at| self.now.since(at) <= fresh) {
                    Found { confidence: base.confidence.min(Confidence::Medium), ..base }
                } else {
                    let since = sign.unwrap_or(self.evidence.launched);
                    self.found(State::Unknown, since, Confidence::Low)
                }
            }
        }
    }
}

pub(super) fn working(activity: Activity) -> State {
    State::Working { activity }
}

pub(super) fn dialog(kind: DialogKind) -> State {
    State::Dialog { kind }
}
