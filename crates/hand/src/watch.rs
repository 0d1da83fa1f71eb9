//! The watch over one hand session: looks go in, a finding comes out, and with the verifier's answer a
//! final state.
//!
//! Hand sessions have no hooks of ours, so the facts are the process, the phase file, the terminal and the
//! worktree. The status is derived as everywhere ([`shopfloor_core::liveness`]); what that leaves to hooks is
//! decided here:
//! - A client that rests at its empty prompt in [`IDLE_OBSERVATIONS`] looks in a row is idle. Likewise, a
//!   claimed dialog or error is a finding only after that many: nobody is there to answer.
//! - A client is stuck if its clock stands still, or if it shows none and nothing about it has moved for
//!   long. A moving clock is the final authority against that. A program that is not a client we can read is
//!   never stuck: silence is all we know of it.
//! - *Crashed* takes proof: a process that is gone, and an exit status other than 0.
//!
//! Nothing is polled. A look follows from what the kernel reported (a death, a phase, a write to the
//! terminal: [`Watch::drew`]) or confirms what the last one showed: a claim that must hold for a while, a
//! clock that must move. A program that no rules describe is not looked at before its end.

use serde::{Deserialize, Serialize};
use shopfloor_core::liveness::{
    Evidence, Fact, Gate, IDLE_OBSERVATIONS, Process, Source, State, StatuslineFact, What, observe, time_gate,
};
use shopfloor_core::phase::Phase;
use shopfloor_core::runtime::{Claim, Composer, DialogKind, Meaning, Reading, RuntimeSpec};
use shopfloor_core::text::one_line;
use shopfloor_core::time::Time;
use std::fmt;
use std::time::Duration;

/// How often a terminal is looked at that draws without a pause, or that cannot be watched. The unit of
/// `--max-polls`.
pub const OBSERVE_EVERY: Duration = Duration::from_secs(10);
/// A screen is read when nothing more has been drawn for this long.
const QUIET: Duration = Duration::from_millis(1_500);
/// Within this many looks, a changing terminal must have been reported once, or the reports are not relied
/// on.
const TRIAL_LOOKS: u32 = 3;

/// How monitoring ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinalState {
    Completed,
    Crashed,
    Stuck,
    Timeout,
    Incomplete,
    NotFound,
}

impl FinalState {
    pub fn as_str(self) -> &'static str {
        match self {
            FinalState::Completed => "completed",
            FinalState::Crashed => "crashed",
            FinalState::Stuck => "stuck",
            FinalState::Timeout => "timeout",
            FinalState::Incomplete => "incomplete",
            FinalState::NotFound => "not_found",
        }
    }
}

impl fmt::Display for FinalState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One look at a session. What could not be obtained is `None`, and says nothing.
#[derive(Clone, Debug)]
pub struct Look {
    pub at: Time,
    pub process: Process,
    /// The session no longer exists; set only if tmux answered so.
    pub vanished: bool,
    pub phase: Option<Phase>,
    /// The screen as the runtime's rules read it, and a digest of everything on it.
    pub screen: Option<(Reading, u64)>,
    pub title: Option<(String, Option<Claim>)>,
    pub git: Option<String>,
}

/// What a watch concluded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The program ended with status 0.
    Ended,
    /// The program ended with another status: its exit status, or 128 + the signal.
    Failed {
        status: i32,
    },
    /// The program is gone, and how it ended is unknown.
    Gone,
    /// The session itself is gone, and with it the knowledge of how its program ended.
    Vanished,
    /// It rests, and says or shows that it has finished.
    Rests {
        why: String,
    },
    /// It waits for somebody, or cannot continue.
    Waits {
        why: String,
    },
    Stuck {
        why: String,
    },
    TimeUp {
        why: String,
    },
}

impl Finding {
    /// Whether the session's program still runs, as far as is known.
    pub fn is_alive(&self) -> bool {
        matches!(
            self,
            Finding::Rests { .. } | Finding::Waits { .. } | Finding::Stuck { .. } | Finding::TimeUp { .. }
        )
    }

    /// Whether a verifier's answer matters. A session that is stuck or out of time stays so, whatever it did.
    pub fn wants_verification(&self) -> bool {
        !matches!(self, Finding::Stuck { .. } | Finding::TimeUp { .. })
    }

    /// `verified` is the verifier's answer; `None` if there is none to ask.
    pub fn final_state(&self, verified: Option<bool>) -> FinalState {
        match (self, verified) {
            (Finding::Stuck { .. }, _) => FinalState::Stuck,
            (Finding::TimeUp { .. }, _) => FinalState::Timeout,
            (Finding::Failed { .. }, _) => FinalState::Crashed,
            (Finding::Waits { .. }, _) => FinalState::Incomplete,
            (Finding::Ended | Finding::Rests { .. }, None | Some(true)) => FinalState::Completed,
            (Finding::Ended | Finding::Rests { .. }, Some(false)) => FinalState::Incomplete,
            // Without an exit status, only evidence can say that it completed, and nothing that it crashed.
            (Finding::Gone | Finding::Vanished, Some(true)) => FinalState::Completed,
            (Finding::Gone, _) => FinalState::Incomplete,
            (Finding::Vanished, _) => FinalState::NotFound,
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Ended => f.write_str("its program ended with exit status 0"),
            Finding::Failed { status } if *status > 128 => {
                write!(f, "its program ended with exit status {status} (signal {})", status - 128)
            }
            Finding::Failed { status } => write!(f, "its program ended with exit status {status}"),
            Finding::Gone => f.write_str("its program ended, and how is not known"),
            Finding::Vanished => f.write_str("the session is gone, and how its program ended is not known"),
            Finding::Rests { why }
            | Finding::Waits { why }
            | Finding::Stuck { why }
            | Finding::TimeUp { why } => f.write_str(why),
        }
    }
}

/// When to give up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub timeout: Duration,
    /// This many times [`OBSERVE_EVERY`], the first at once. Not looks: their number follows from what the
    /// session draws.
    pub polls_max: Option<u32>,
}

impl Limits {
    fn whole(&self) -> Duration {
        let polls = self.polls_max.map(|polls| OBSERVE_EVERY.saturating_mul(polls.saturating_sub(1)));
        polls.map_or(self.timeout, |polls| polls.min(self.timeout))
    }
}

pub struct Watch {
    spec: RuntimeSpec,
    evidence: Evidence,
    began: Time,
    limits: Limits,
    looks: u32,
    last: Option<Time>,
    screen: Option<u64>,
    terminal: Terminal,
    /// When the terminal was first and last written to since the last look.
    drawn: Option<(Time, Time)>,
    /// The last look showed a clock.
    clock: bool,
    /// When anything about it was last seen to move.
    moved: Time,
    /// What the last looks claimed, how many in a row, and when the last was counted.
    streak: Option<(Claimed, u8, Time)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Claimed {
    Idle,
    Waits(String),
}

/// Whether the kernel reports that the session draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Terminal {
    /// It should, but has not yet.
    Silent,
    Tells,
    /// It cannot be watched, or it changed and nothing was reported.
    Deaf,
}

impl Watch {
    pub fn new(mut spec: RuntimeSpec, launched: Time, now: Time, limits: Limits) -> Watch {
        // Whatever the client could report, it reports to nobody here.
        spec.capabilities.hooks = false;
        let mut evidence = Evidence::new(launched.min(now));
        evidence.watch_from(now);
        Watch {
            spec,
            evidence,
            began: now,
            limits,
            looks: 0,
            last: None,
            screen: None,
            terminal: Terminal::Silent,
            drawn: None,
            clock: false,
            moved: now,
            streak: None,
        }
    }

    pub fn looks(&self) -> u32 {
        self.looks
    }

    /// Whether what the session shows is of any use.
    pub fn reads_screens(&self) -> bool {
        !self.spec.screen.rules.is_empty()
    }

    /// The terminal was written to.
    pub fn drew(&mut self, at: Time) {
        self.terminal = Terminal::Tells;
        let first = self.drawn.map_or(at, |(first, _)| first);
        self.drawn = Some((first, at));
    }

    /// Nobody will report when the terminal is written to.
    pub fn cannot_see_drawing(&mut self) {
        self.terminal = Terminal::Deaf;
    }

    /// Whether the terminal is looked at from time to time instead.
    pub fn is_deaf(&self) -> bool {
        self.terminal == Terminal::Deaf && self.reads_screens()
    }

    /// When to look next, if nothing is reported before. Later than the last look, unless time is up.
    pub fn next_look(&self) -> Time {
        let end = self.began + self.limits.whole();
        let Some(last) = self.last.filter(|_| self.reads_screens()) else { return end };
        let regular = match self.terminal {
            Terminal::Deaf => true,
            Terminal::Silent => self.looks < TRIAL_LOOKS,
            Terminal::Tells => false,
        };
        let claimed = Duration::from_millis(self.spec.timing.idle_gap_ms);
        let due = [
            regular.then_some(last + OBSERVE_EVERY),
            self.drawn.map(|(first, latest)| (latest + QUIET).min(first + OBSERVE_EVERY)),
            self.streak.as_ref().map(|(_, _, counted)| *counted + claimed),
            self.clock.then_some(last + self.spec.timing.frozen()),
            Some(self.moved + self.spec.timing.stuck()),
        ];
        due.into_iter().flatten().filter(|at| *at > last).fold(end, Time::min)
    }

    /// What is claimed and not yet certain, for people.
    pub fn claimed(&self) -> Option<String> {
        let (claimed, times, _) = self.streak.as_ref()?;
        let what = match claimed {
            Claimed::Idle => "idle at its prompt",
            Claimed::Waits(why) => why,
        };
        Some(format!("{what} ({times} of {IDLE_OBSERVATIONS})"))
    }

    /// Takes in a look; returns the state it shows, for people, and what is concluded, if anything.
    pub fn take(&mut self, look: &Look) -> (State, Option<Finding>) {
        self.looks = self.looks.saturating_add(1);
        self.facts(look);
        let status = observe(&mut self.evidence, look.at, &self.spec);
        let finding =
            self.ended(look).or_else(|| self.alive(look, &status.state)).or_else(|| self.late(look));
        (status.state, finding)
    }

    fn facts(&mut self, look: &Look) {
        let digest = look.screen.as_ref().map(|(_, digest)| *digest);
        if digest.is_some() && digest != self.screen {
            if self.screen.is_some() && self.terminal == Terminal::Silent {
                self.terminal = Terminal::Deaf;
            }
            self.screen = digest;
            self.moved = look.at;
        }
        self.moved = self.drawn.take().map_or(self.moved, |(_, latest)| self.moved.max(latest));
        self.last = Some(look.at);
        self.clock = look.screen.as_ref().is_some_and(|(reading, _)| reading.statusline.is_some());
        let mut facts = vec![What::Process(look.process.clone()), What::PhaseFile(look.phase)];
        if let Some((reading, _)) = &look.screen {
            let line = reading.statusline.map_or_else(StatuslineFact::default, |line| StatuslineFact {
                clock: Some(line.clock),
                context_percent: line.context_percent,
                ..StatuslineFact::default()
            });
            facts.extend([What::Statusline(line), What::Screen(reading.clone())]);
        }
        if let Some((text, claim)) = &look.title {
            facts.push(What::Title { text: text.clone(), claim: claim.clone() });
        }
        facts.extend(look.git.iter().map(|digest| What::Git { digest: digest.clone() }));
        for what in facts {
            self.evidence.add(Fact::new(look.at, what));
        }
        let seen = [Source::Title, Source::Git, Source::PhaseFile];
        let moved = seen.into_iter().filter_map(|source| self.evidence.moved(source)).max();
        self.moved = self.moved.max(moved.unwrap_or(self.moved));
    }

    fn ended(&self, look: &Look) -> Option<Finding> {
        match look.process {
            Process::Gone { status: Some(0), .. } => Some(Finding::Ended),
            Process::Gone { status: Some(status), .. } => Some(Finding::Failed { status }),
            Process::Gone { .. } if look.vanished => Some(Finding::Vanished),
            Process::Gone { .. } => Some(Finding::Gone),
            Process::Alive | Process::Unknown { .. } => None,
        }
    }

    fn alive(&mut self, look: &Look, state: &State) -> Option<Finding> {
        match look.phase {
            Some(phase @ (Phase::Failed | Phase::NeedsHuman)) => {
                return Some(Finding::Waits { why: format!("it signalled {phase}") });
            }
            Some(phase) => return Some(Finding::Rests { why: format!("it signalled {phase}") }),
            None => {}
        }
        if *state == State::Stuck {
            return Some(Finding::Stuck { why: "its clock stands still and nothing of it moves".into() });
        }
        let claimed = match state {
            State::Dialog { kind } => Some(Claimed::Waits(dialog(*kind, look))),
            // A screen that no rule knows must stand still to count as a dialog: so must every claim here.
            _ if asks(look) => Some(Claimed::Waits(dialog(DialogKind::Asks, look))),
            State::Failed { error } => Some(Claimed::Waits(format!("its turn ended in an error ({error})"))),
            State::LimitedUntil { .. } => None,
            _ if rests(look) => Some(Claimed::Idle),
            _ => None,
        };
        // A client that waits for a limit, or for what it runs in the background, need not draw.
        let waits = claimed.is_some() || matches!(state, State::LimitedUntil { .. }) || runs_on(look);
        match self.count(claimed, look.at) {
            Some(Claimed::Idle) => {
                let why = format!("it was idle at its prompt {IDLE_OBSERVATIONS} times in a row");
                Some(Finding::Rests { why })
            }
            Some(Claimed::Waits(why)) => Some(Finding::Waits { why }),
            None if waits => None,
            None => self.still(look),
        }
    }

    /// The claim, once it was made in enough looks that are far enough apart.
    fn count(&mut self, claimed: Option<Claimed>, at: Time) -> Option<Claimed> {
        let Some(claimed) = claimed else {
            self.streak = None;
            return None;
        };
        let gap = Duration::from_millis(self.spec.timing.idle_gap_ms);
        let streak = match self.streak.take() {
            Some((before, count, last)) if before == claimed => {
                if at.since(last) >= gap {
                    (claimed, count.saturating_add(1), at)
                } else {
                    (claimed, count, last)
                }
            }
            _ => (claimed, 1, at),
        };
        let reached = (streak.1 >= IDLE_OBSERVATIONS).then(|| streak.0.clone());
        self.streak = Some(streak);
        reached
    }

    /// A client that should be drawing, and has not for a long time.
    fn still(&self, look: &Look) -> Option<Finding> {
        let (reading, _) = look.screen.as_ref().filter(|_| !self.spec.screen.rules.is_empty())?;
        // A clock that stands still was judged with the other facts; any other clock means alive.
        let clock = reading.statusline.map(|line| line.clock);
        let others = look.at.since(self.moved) >= self.spec.timing.stuck();
        match time_gate(None, clock, others) {
            Gate::Stuck => {
                let minutes = self.spec.timing.stuck().as_secs() / 60;
                Some(Finding::Stuck { why: format!("nothing of it moved for {minutes} minutes") })
            }
            Gate::JustStarted | Gate::NotStuck => None,
        }
    }

    fn late(&self, look: &Look) -> Option<Finding> {
        let (past, limits) = (look.at.since(self.began), &self.limits);
        let why = match limits.polls_max {
            _ if past < limits.whole() => return None,
            Some(polls) if past < limits.timeout => {
                format!("it was not finished after {polls} polls, {} s apart", OBSERVE_EVERY.as_secs())
            }
            _ => format!("it was not finished after {} minutes", limits.timeout.as_secs() / 60),
        };
        Some(Finding::TimeUp { why })
    }
}

/// Its turn is over, but its background work continues.
pub(crate) fn runs_on(look: &Look) -> bool {
    let meaning = look.screen.as_ref().and_then(|(reading, _)| reading.meaning());
    meaning == Some(Meaning::Background)
}

/// It looks like a question that no rule knows, and its title does not say that it works.
pub(crate) fn asks(look: &Look) -> bool {
    let meaning = look.screen.as_ref().and_then(|(reading, _)| reading.meaning());
    let works = matches!(&look.title, Some((_, Some(claim))) if claim.meaning.is_busy());
    meaning == Some(Meaning::Dialog(DialogKind::Asks)) && !works
}

/// A dialog in words, with its text if that is visible.
pub(crate) fn dialog(kind: DialogKind, look: &Look) -> String {
    let text = look.screen.as_ref().and_then(|(reading, _)| reading.dialog.as_ref());
    let text = text.map(|dialog| format!(": {}", one_line(&dialog.summary(), 200))).unwrap_or_default();
    match kind {
        DialogKind::Asks => format!("it asks something{text}"),
        kind => format!("it shows a dialog ({kind}){text}"),
    }
}

/// An empty prompt, and neither the screen nor the title shows work.
pub(crate) fn rests(look: &Look) -> bool {
    let Some((reading, _)) = &look.screen else { return false };
    let title_works =
        matches!(&look.title, Some((_, Some(claim))) if claim.meaning.is_busy() || claim.meaning.is_dialog());
    let over = matches!(reading.meaning(), Some(Meaning::Ready | Meaning::Done | Meaning::Interrupted));
    over && reading.composer == Composer::Empty && !title_works
}

#[cfg(test)]
pub(crate) mod tests;
