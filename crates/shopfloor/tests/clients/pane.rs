//! A client in its pane: typing, and looking with the same eyes as the factory.

use super::lab::Lab;
use shopfloor_adapters::agent::hooks::{parse_hook, parse_statusline};
use shopfloor_adapters::agent::transcript::{TurnLine, parse_rollout_line};
use shopfloor_core::liveness::{HookEvent, StatuslineFact, TurnEnd};
use shopfloor_core::runtime::screen::{Composer, Reading, read, read_title};
use shopfloor_core::runtime::{Meaning, RuntimeSpec};
use shopfloor_core::time::Time;
use shopfloor_model_server::{Asked, Kind};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Clients are big programs, and machines may be slow. Nothing takes that long unless it never comes.
const BOUND: Duration = Duration::from_secs(120);
/// Between two looks, so that looking does not take the processor from the client.
const PAUSE: Duration = Duration::from_millis(30);
/// An Enter right after a paste is lost. If it was, another one helps.
const ENTER_AGAIN: Duration = Duration::from_secs(2);

pub struct Pane<'a> {
    pub lab: &'a Lab,
    pub name: &'static str,
    pub spec: RuntimeSpec,
}

impl Pane<'_> {
    pub fn wait(&self, what: &str, happened: impl Fn() -> bool) {
        let deadline = Instant::now() + BOUND;
        while !happened() {
            assert!(Instant::now() < deadline, "{}: {what}", self.name);
            std::thread::sleep(PAUSE);
        }
    }

    pub fn screen(&self) -> String {
        self.lab.tmux.capture(self.name, 60).expect("captured")
    }

    pub fn reading(&self) -> Reading {
        self.reading_at(Time(0))
    }

    /// For screens that show a time of day: it is one after `now`.
    pub fn reading_at(&self, now: Time) -> Reading {
        read(&self.spec, &self.screen(), now, 0)
    }

    pub fn title(&self) -> Option<Meaning> {
        let title = self.lab.tmux.pane_title(self.name).expect("asked")?;
        read_title(&self.spec, &title).map(|claim| claim.meaning)
    }

    /// Waits until the screen means that.
    pub fn wait_meaning(&self, meaning: Meaning) {
        self.wait(&format!("the screen means {meaning}"), || self.reading().meaning() == Some(meaning));
    }

    /// Types a prompt, and waits until the model was asked.
    pub fn submit(&self, text: &str) {
        let asked = |requests: &[Asked]| {
            requests.iter().filter(|asked| asked.kind == Kind::Prompt && asked.prompt == text).count()
        };
        let before = asked(&self.lab.server.requests());
        self.wait("the composer is empty", || self.reading().composer == Composer::Empty);
        self.lab.tmux.paste(self.name, text).expect("pasted");
        self.wait("the paste is there", || {
            matches!(self.reading().composer, Composer::Draft(_) | Composer::Pasted(_))
        });
        self.wait("the prompt is sent", || {
            self.lab.tmux.send_enter(self.name).expect("typed");
            self.lab.server.wait_for(ENTER_AGAIN, |requests| asked(requests) > before).is_ok()
        });
    }

    /// What its hooks said, of one kind.
    pub fn hooks(&self, event: &str) -> Vec<HookEvent> {
        let lines = self.lab.lines(&self.lab.path("hooks.jsonl"));
        let of_kind = lines.iter().filter(|line| line.contains(&format!("\"hook_event_name\":\"{event}\"")));
        of_kind.map(|line| parse_hook(line.as_bytes()).expect("a hook").event).collect()
    }

    /// The prompts that its hooks told of.
    pub fn prompts(&self) -> Vec<String> {
        let prompt = |event| match event {
            HookEvent::UserPromptSubmit { prompt, .. } => Some(prompt),
            _ => None,
        };
        self.hooks("UserPromptSubmit").into_iter().filter_map(prompt).collect()
    }

    /// What its status line was told last.
    pub fn statusline(&self) -> Option<StatuslineFact> {
        let lines = self.lab.lines(&self.lab.path("statusline.jsonl"));
        lines.last().map(|line| parse_statusline(line.as_bytes()).expect("a status line's input").fact)
    }

    /// How the turns in Codex's rollout files ended.
    pub fn rollout(&self) -> Vec<TurnEnd> {
        let files = rollouts(self.lab.path("home/.codex/sessions"));
        let lines = files.iter().flat_map(|file| self.lab.lines(file));
        let turns = lines.filter_map(|line| parse_rollout_line(&line, |name| self.spec.error_kind(name)));
        let ends = turns.filter_map(|line| match line {
            TurnLine::Ends(end) => Some(end),
            _ => None,
        });
        ends.collect()
    }
}

fn rollouts(folder: PathBuf) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let found = entries.flat_map(|entry| match entry.path() {
        path if path.is_dir() => rollouts(path),
        path => vec![path],
    });
    found.collect()
}
