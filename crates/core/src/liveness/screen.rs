//! The screen's part in a status: it takes claims away.

use super::derive::{Found, Judge, dialog, working};
use super::fact::{Fact, Source, What};
use super::status::{Activity, Confidence, State};
use crate::runtime::{DialogKind, ErrorKind, Meaning, Where};
use crate::time::Time;

impl Judge<'_> {
    /// The screen takes away but never adds: a dialog is up, a limit is reached, the turn is over.
    pub(super) fn screen(&mut self, base: Found) -> Found {
        let timing = &self.spec.timing;
        let Some(Fact { at, what: What::Screen(reading) }) = self.evidence.newest(Source::Screen) else {
            return base;
        };
        let at = *at;
        // Since when it has shown that, not when it was last looked at.
        let began = self.evidence.screen_since().unwrap_or(at).max(self.last_hook());
        let Some(claim) = &reading.claim else {
            self.because(Source::Screen, "the screen is not understood, and says nothing");
            return base;
        };
        if self.now.since(at) > timing.fresh() || at < self.last_hook() {
            return base;
        }
        let settled = at >= self.last_hook() + timing.settle();
        let over = matches!(claim.meaning, Meaning::Error(_) | Meaning::Limited);
        if over && self.evidence.resumed && matches!(base.state, State::Starting | State::Ready) {
            self.because(Source::Screen, "what an earlier session met with is on the screen");
            return base;
        }
        match claim.meaning {
            Meaning::Dialog(DialogKind::Asks) if !self.still_asks(&base, at, settled) => {
                self.because(Source::Screen, "it looks like a question, if it stands still");
                base
            }
            Meaning::Dialog(kind) => {
                let known = matches!(base.state, State::Dialog { .. });
                let kind = match base.state {
                    State::Dialog { kind: told } if matches!(kind, DialogKind::Other | DialogKind::Asks) => {
                        told
                    }
                    _ => kind,
                };
                self.because(Source::Screen, format!("a dialog is up ({kind})"));
                let (since, sure) =
                    if known { (base.since, Confidence::High) } else { (began, Confidence::Medium) };
                self.found(dialog(kind), since, sure)
            }
            Meaning::Limited => match claim.until {
                Some(until) if until > self.now => {
                    self.because(
                        Source::Screen,
                        "the account's limit is reached, with the time of its reset",
                    );
                    self.found(State::LimitedUntil { until }, base.since, Confidence::High)
                }
                Some(_) => {
                    self.because(Source::Screen, "a limit was reached, and is over");
                    base
                }
                None => {
                    self.because(Source::Screen, "the account's limit is reached; until when is not said");
                    self.found(State::Failed { error: ErrorKind::RateLimit }, base.since, Confidence::Medium)
                }
            },
            Meaning::Error(kind) => self.screen_error(base, kind, began, settled),
            Meaning::Interrupted | Meaning::Done | Meaning::Ready => {
                let meaning = claim.meaning;
                self.screen_over(base, meaning, began, settled)
            }
            Meaning::Retrying | Meaning::Compacting if matches!(base.state, State::Working { .. }) => {
                let activity = if claim.meaning == Meaning::Retrying {
                    Activity::Retrying
                } else {
                    Activity::Compacting
                };
                self.because(Source::Screen, format!("of the turn it shows: {}", claim.meaning));
                Found { state: working(activity), ..base }
            }
            Meaning::Working | Meaning::Retrying | Meaning::Compacting => {
                self.screen_busy(base, began, settled)
            }
            Meaning::Background if base.state == State::Idle => {
                self.because(Source::Screen, "work goes on in the background");
                let what = claim.row.clone();
                Found { state: State::Background { what }, ..base }
            }
            Meaning::Background => base,
            Meaning::Dead => {
                self.because(Source::Screen, "the terminal says that it ended; only its process proves it");
                Found { confidence: base.confidence.min(Confidence::Low), ..base }
            }
            Meaning::ContextLow => base,
        }
    }

    /// A screen that no rule knows is a dialog only if it stays as it is, and nothing says that a turn is still
    /// running.
    fn still_asks(&self, base: &Found, at: Time, settled: bool) -> bool {
        let since = self.evidence.screen_since().unwrap_or(at);
        let still = at.since(since) >= self.spec.timing.still();
        let works = matches!(base.state, State::Working { .. });
        matches!(base.state, State::Dialog { .. }) || (still && !self.title_works() && (settled || !works))
    }

    /// A busy screen makes nothing busy. But it takes rest away: a queued prompt begins without a hook. And no
    /// hook reports that a permission was given: while a turn is open, a screen that shows work where a dialog was
    /// takes the dialog away.
    fn screen_busy(&mut self, base: Found, at: Time, settled: bool) -> Found {
        match base.state {
            State::Working { .. } => base,
            State::Dialog { .. } if settled && self.evidence.hooks.turn_open && !self.title_rests() => {
                self.because(Source::Screen, "the dialog is gone and the turn goes on");
                self.found(working(Activity::Something), at, Confidence::Medium)
            }
            State::Idle | State::Background { .. } if settled && !self.title_rests() => {
                self.because(Source::Screen, "a turn is on the screen: it does not rest");
                self.found(working(Activity::Something), at, Confidence::Medium)
            }
            _ => {
                self.because(Source::Screen, "it looks busy, but a screen alone makes nothing busy");
                base
            }
        }
    }

    pub(super) fn title_meaning(&self) -> Option<Meaning> {
        match self.evidence.newest(Source::Title) {
            Some(Fact { what: What::Title { claim: Some(claim), .. }, .. }) => Some(claim.meaning),
            _ => None,
        }
    }

    pub(super) fn title_works(&self) -> bool {
        self.title_meaning().is_some_and(Meaning::is_busy)
    }

    /// Whether the title shows something other than work.
    fn title_rests(&self) -> bool {
        self.title_meaning().is_some_and(|meaning| !meaning.is_busy())
    }

    fn screen_error(&mut self, base: Found, kind: ErrorKind, at: Time, settled: bool) -> Found {
        match base.state {
            State::Failed { error } => {
                let error = if error == ErrorKind::Unknown { kind } else { error };
                self.because(Source::Screen, format!("the error is on the screen ({kind})"));
                Found { state: State::Failed { error }, ..base }
            }
            // An agent may print the very same words: a title that shows work says that the turn continues.
            State::Working { .. } | State::Starting | State::Ready if settled && !self.title_works() => {
                self.because(Source::Screen, format!("it shows an error ({kind}), which no hook told"));
                self.found(State::Failed { error: kind }, at, Confidence::Medium)
            }
            _ => base,
        }
    }

    /// A turn that ended without a hook: Esc. The screen and the title have to agree, for longer than a redraw
    /// takes; if no title can say so, the screen must show the end.
    fn screen_over(&mut self, base: Found, meaning: Meaning, at: Time, settled: bool) -> Found {
        if !base.state.in_turn() || !settled || !self.spec.capabilities.hooks {
            return base;
        }
        let title = self.title_meaning();
        let title_can_say =
            self.spec.screen.rules.iter().any(|r| r.place == Where::Title && r.meaning == Meaning::Ready);
        let shows_end = meaning != Meaning::Ready;
        let confidence = match title {
            Some(title) if title.is_busy() || title.is_dialog() => return base,
            Some(Meaning::Ready) if shows_end => Confidence::High,
            Some(Meaning::Ready) => Confidence::Medium,
            _ if shows_end && !title_can_say => Confidence::Medium,
            _ if shows_end => Confidence::Low,
            _ => return base,
        };
        self.because(
            Source::Screen,
            format!("no turn is on the screen ({meaning}), and no hook told of its end"),
        );
        self.because(Source::Title, "the title shows no work either");
        self.found(State::Idle, at, confidence)
    }
}
