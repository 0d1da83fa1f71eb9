//! What is known about one session: the newest fact of each source and, for each source, what a single fact cannot
//! hold: when it last *moved*. Bounded, whatever a client sends.

use super::background;
use super::fact::{Fact, Source, What};
use super::hook::{HookEvent, HookState};
use crate::runtime::{Meaning, Reading};
use crate::text::one_line;
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many characters of anybody's text are kept.
const TEXT_CHARS_MAX: usize = 200;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// When the session was launched.
    pub launched: Time,
    /// It resumed a conversation: until its first turn, its screen shows how an earlier session fared.
    #[serde(default)]
    pub resumed: bool,
    /// Since when somebody has been watching. What did not move before that was not seen not moving.
    watched: Time,
    facts: BTreeMap<Source, Fact>,
    /// When a source last showed something new. A status line that shows the same clock again was
    /// seen, but did not move.
    moved: BTreeMap<Source, Time>,
    pub hooks: HookState,
    /// How many observations in a row found it idle without a phase, and when the last was counted.
    pub(super) idle_streak: u8,
    pub(super) idle_counted: Option<Time>,
    /// Since when the screen has said what it says now.
    #[serde(default)]
    screen_since: Option<Time>,
    /// When a dialog was last answered from outside, and seen to take that.
    #[serde(default)]
    answered: Option<Time>,
}

impl Evidence {
    pub fn new(launched: Time) -> Self {
        Evidence {
            launched,
            resumed: false,
            watched: launched,
            facts: BTreeMap::new(),
            moved: BTreeMap::new(),
            hooks: HookState::new(launched),
            idle_streak: 0,
            idle_counted: None,
            screen_since: None,
            answered: None,
        }
    }

    /// Its dialog was answered and is gone: one that is shown from here on is another, however alike they are.
    pub fn dialog_answered(&mut self, at: Time) {
        self.answered = Some(at);
    }

    /// The same, if the screen was looked at since then.
    pub(super) fn answered_before_look(&self) -> Option<Time> {
        self.answered.filter(|at| self.newest(Source::Screen).is_some_and(|look| look.at >= *at))
    }

    /// A new daemon has taken over the watch: silence counts from here.
    pub fn watch_from(&mut self, now: Time) {
        self.watched = self.watched.max(now);
    }

    /// Since when it has been quiet: since `at`, else since its launch, but not from before the watch began.
    pub fn quiet_since(&self, at: Option<Time>) -> Time {
        at.unwrap_or(self.launched).max(self.watched)
    }

    pub fn newest(&self, source: Source) -> Option<&Fact> {
        self.facts.get(&source)
    }

    pub fn facts(&self) -> impl Iterator<Item = &Fact> {
        self.facts.values()
    }

    pub fn moved(&self, source: Source) -> Option<Time> {
        self.moved.get(&source).copied()
    }

    /// Since when the screen, as last seen, has said the same.
    pub fn screen_since(&self) -> Option<Time> {
        self.screen_since
    }

    /// When anything that shows work last moved: hooks, the transcript, the phase file, the worktree. Not the
    /// clock, the title or the screen: those move while nothing is done.
    pub fn progress(&self) -> Option<(Source, Time)> {
        [Source::Hook, Source::Transcript, Source::PhaseFile, Source::Git]
            .into_iter()
            .filter_map(|source| Some((source, self.moved(source)?)))
            .max_by_key(|(_, at)| *at)
    }

    /// Takes in a fact. One older than what is known is dropped, except for hooks: replayed late, in order, they
    /// still make up the state.
    pub fn add(&mut self, mut fact: Fact) {
        bound(&mut fact);
        let source = fact.source();
        let before = self.facts.get(&source);
        if source != Source::Hook && before.is_some_and(|before| before.at > fact.at) {
            return;
        }
        let moved = match (&fact.what, before.map(|before| &before.what)) {
            (What::Hook(event), _) => {
                self.hooks = self.hooks.after(event, fact.at);
                true
            }
            // A look that found no clock is not a reading of one.
            (What::Statusline(new), Some(What::Statusline(old))) => {
                new.clock.is_some() && new.clock != old.clock
            }
            (What::Statusline(new), _) => new.clock.is_some(),
            // Every write counts, even of the same word.
            (What::PhaseFile(Some(_)), _) => true,
            (What::PhaseFile(None), None) => false,
            (new, Some(old)) => new != old,
            (_, None) => true,
        };
        if let (What::Screen(new), Some(What::Screen(old))) = (&mut fact.what, before.map(|b| &b.what))
            && let (Some(new), Some(old)) = (&mut new.claim, &old.claim)
            && (new.meaning, &new.row) == (Meaning::Limited, &old.row)
            && old.until.is_some()
        {
            // The same notice, seen later: a time of day would become tomorrow's.
            new.until = old.until;
        }
        if let What::Screen(new) = &fact.what {
            let same = matches!(before.map(|b| &b.what), Some(What::Screen(old)) if says_the_same(new, old));
            self.screen_since = self.screen_since.filter(|_| same).or(Some(fact.at));
        }
        if moved {
            let latest = self.moved.entry(source).or_insert(fact.at);
            *latest = (*latest).max(fact.at);
        }
        self.facts.insert(source, fact);
    }
}

/// Whether two readings mean the same, ignoring the clock and a spinner's step.
fn says_the_same(new: &Reading, old: &Reading) -> bool {
    let dialog = |reading: &Reading| reading.dialog.as_ref().map(|dialog| dialog.fingerprint.clone());
    new.meaning() == old.meaning() && dialog(new) == dialog(old)
}

fn bound(fact: &mut Fact) {
    let cut = |text: &mut String| {
        if text.len() > TEXT_CHARS_MAX {
            // Cut roughly first: a prompt may be a hundred times as long as what is kept.
            let part: String = text.chars().take(TEXT_CHARS_MAX * 4).collect();
            *text = one_line(&part, TEXT_CHARS_MAX);
        }
    };
    match &mut fact.what {
        What::Hook(event) => match event {
            HookEvent::UserPromptSubmit { prompt, turn } => {
                cut(prompt);
                turn.iter_mut().for_each(cut);
            }
            HookEvent::Stop { turn, tasks, asks } => {
                turn.iter_mut().for_each(cut);
                asks.iter_mut().for_each(cut);
                background::bounded(tasks);
            }
            HookEvent::PreToolUse { tool }
            | HookEvent::PostToolUse { tool }
            | HookEvent::PostToolUseFailure { tool }
            | HookEvent::PermissionRequest { tool } => cut(tool),
            HookEvent::StopFailure { error, message, .. } => {
                cut(error);
                cut(message);
            }
            HookEvent::SessionEnd { reason } => cut(reason),
            HookEvent::TurnComplete { thread, prompt } => {
                cut(thread);
                prompt.iter_mut().for_each(cut);
            }
            HookEvent::Other { name } => cut(name),
            _ => {}
        },
        What::Title { text, .. } => cut(text),
        What::Git { digest } => cut(digest),
        // Readings are bounded where they are made.
        _ => {}
    }
}
