//! What the client shows, as rows: a transcript, a row that says whether it works, a framed composer
//! or a dialog in its place, our status line. Pure.

use crate::demo_agent::client::Dialog;
use shopfloor_core::text::neutralise;
use std::collections::VecDeque;

const TRANSCRIPT_ROWS_MAX: usize = 500;
const COMPOSER_ROWS_MAX: usize = 5;
/// Pastes beyond these are shown by a stand-in.
const PASTE_LINES_MAX: usize = 3;
const PASTE_CHARS_MAX: usize = 800;
const SPINNER: [char; 6] = ['·', '✢', '✳', '✶', '✻', '✽'];
const TITLE_BUSY: [char; 2] = ['◐', '◑'];

/// What somebody typed and did not send.
#[derive(Debug, Default)]
pub struct Composer {
    parts: Vec<Part>,
    pastes: u32,
}

#[derive(Debug)]
enum Part {
    Typed(String),
    Pasted { text: String, shown: String },
}

impl Composer {
    pub fn type_in(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(Part::Typed(typed)) => typed.push_str(text),
            _ => self.parts.push(Part::Typed(text.to_owned())),
        }
    }

    pub fn paste(&mut self, text: &str) {
        let lines = text.lines().count();
        if lines <= PASTE_LINES_MAX && text.chars().count() <= PASTE_CHARS_MAX {
            return self.type_in(text);
        }
        self.pastes += 1;
        let shown = format!("[Pasted text #{} +{} lines]", self.pastes, lines.saturating_sub(1));
        self.parts.push(Part::Pasted { text: text.to_owned(), shown });
    }

    pub fn backspace(&mut self) {
        match self.parts.last_mut() {
            Some(Part::Typed(typed)) if typed.chars().count() > 1 => {
                typed.pop();
            }
            _ => {
                self.parts.pop();
            }
        }
    }

    pub fn clear(&mut self) {
        self.parts.clear();
    }

    /// All of it, which leaves the composer empty.
    pub fn take(&mut self) -> String {
        let text = |part: Part| match part {
            Part::Typed(text) | Part::Pasted { text, .. } => text,
        };
        self.parts.drain(..).map(text).collect()
    }

    fn shown(&self) -> String {
        let shown = |part: &Part| match part {
            Part::Typed(text) => text.clone(),
            Part::Pasted { shown, .. } => shown.clone(),
        };
        self.parts.iter().map(shown).collect()
    }
}

#[derive(Debug, Default)]
pub struct Screen {
    /// For the title.
    pub name: String,
    transcript: VecDeque<String>,
    pub composer: Composer,
    pub statusline: String,
    /// A turn is under way, for so many seconds.
    pub busy: Option<u64>,
    /// A dialog is up, about that.
    pub dialog: Option<(Dialog, String)>,
    /// Prompts that wait for the turn to end.
    pub queued: usize,
    /// Counts what is drawn, so that something moves.
    pub beat: usize,
}

impl Screen {
    /// A line of the agent's.
    pub fn say(&mut self, text: &str) {
        self.add("● ", text);
    }

    /// A prompt that was taken.
    pub fn prompt(&mut self, text: &str) {
        self.add("❯ ", text);
    }

    /// The turn is over.
    pub fn done(&mut self, seconds: u64) {
        self.busy = None;
        self.add("✻ ", &format!("Worked for {seconds}s"));
    }

    fn add(&mut self, mark: &str, text: &str) {
        let text = neutralise(text);
        for (number, line) in text.trim_end().lines().enumerate() {
            let mark = if number == 0 { mark } else { "  " };
            self.transcript.push_back(format!("{mark}{line}"));
        }
        self.transcript.push_back(String::new());
        let beyond = self.transcript.len().saturating_sub(TRANSCRIPT_ROWS_MAX);
        self.transcript.drain(..beyond);
    }

    pub fn title(&self) -> String {
        match (self.busy, &self.dialog) {
            (Some(_), None) => format!("{} {}", TITLE_BUSY[self.beat % TITLE_BUSY.len()], self.name),
            _ => format!("✳ {}", self.name),
        }
    }

    /// Exactly `height` rows, none wider than `width`.
    pub fn rows(&self, width: usize, height: usize) -> Vec<String> {
        let below = match &self.dialog {
            Some((dialog, about)) => dialog_rows(*dialog, about, width),
            None => self.composer_rows(width),
        };
        let room = height.saturating_sub(below.len());
        let shown = self.transcript.iter().skip(self.transcript.len().saturating_sub(room)).cloned();
        let mut rows: Vec<String> = shown.chain(below).collect();
        rows.resize(height, String::new());
        rows.into_iter().map(|row| row.chars().take(width).collect()).collect()
    }

    /// Column and row, from 0, where the next character goes: behind what the composer holds.
    pub fn cursor(&self, width: usize, height: usize) -> Option<(usize, usize)> {
        let rows = self.rows(width, height);
        let first = rows.iter().rposition(|row| row.starts_with("❯\u{a0}"))?;
        let text = rows[first..].iter().take_while(|row| !row.starts_with("──"));
        let last = first + text.count() - 1;
        let empty = self.composer.shown().is_empty();
        Some(if empty { (2, first) } else { (rows[last].chars().count(), last) })
    }

    fn composer_rows(&self, width: usize) -> Vec<String> {
        let mut rows = Vec::new();
        if let Some(seconds) = self.busy {
            rows.push(format!("{} Working… ({seconds}s)", SPINNER[self.beat % SPINNER.len()]));
            rows.push(String::new());
        }
        rows.push("─".repeat(width));
        let text = match self.composer.shown() {
            empty if empty.is_empty() && self.queued > 0 => "Press up to edit queued messages".to_owned(),
            text => neutralise(&text),
        };
        let wrapped: Vec<String> =
            text.split('\n').flat_map(|line| wrap(line, width.saturating_sub(2))).collect();
        // The end is what is being typed.
        for (number, line) in wrapped[wrapped.len().saturating_sub(COMPOSER_ROWS_MAX)..].iter().enumerate() {
            rows.push(format!("{}{line}", if number == 0 { "❯\u{a0}" } else { "  " }));
        }
        rows.push("─".repeat(width));
        rows.push(format!("  {}", self.statusline));
        rows.push("  ⏸ manual mode on".to_owned());
        rows
    }
}

fn wrap(line: &str, width: usize) -> Vec<String> {
    let characters: Vec<char> = line.chars().collect();
    if characters.is_empty() {
        return vec![String::new()];
    }
    characters.chunks(width.max(1)).map(|chunk| chunk.iter().collect()).collect()
}

fn dialog_rows(dialog: Dialog, about: &str, width: usize) -> Vec<String> {
    let frame = "─".repeat(width);
    let rows = match dialog {
        Dialog::Permission => [
            " Bash command",
            "",
            &format!("   {about}"),
            "",
            " Do you want to proceed?",
            " ❯ 1. Yes",
            "   2. No",
            "",
            " Esc to cancel · Tab to amend",
        ]
        .map(str::to_owned),
        Dialog::Question => [
            " ☐ Way",
            "",
            about,
            "",
            "❯ 1. This one",
            "  2. The other",
            &frame,
            "",
            "Enter to select · ↑/↓ to navigate · Esc to cancel",
        ]
        .map(str::to_owned),
    };
    std::iter::once(frame.clone()).chain(rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::runtimes::embedded;
    use shopfloor_core::runtime::{Composer as Seen, DialogKind, Meaning, Reading, screen};
    use shopfloor_core::time::Time;

    fn read(screen: &Screen) -> Reading {
        let spec = embedded("claude").expect("it is embedded");
        let shown = screen.rows(80, 30).join("\n");
        let reading = screen::read(&spec, &shown, Time(0), 0);
        if reading.composer != Seen::None {
            let cursor = screen.cursor(80, 30).expect("it has a composer");
            assert!(screen::is_typed_into(&spec, &shown, cursor), "{cursor:?}\n{shown}");
            assert!(!screen::is_typed_into(&spec, &shown, (18, 29)), "{shown}");
        }
        reading
    }

    fn title(screen: &Screen) -> Option<Meaning> {
        let spec = embedded("claude").expect("it is embedded");
        screen::read_title(&spec, &screen.title()).map(|claim| claim.meaning)
    }

    /// The rules for Claude Code read this client as they read that one.
    #[test]
    fn its_screens_are_read_as_the_recorded_ones_are() {
        let mut screen = Screen { statusline: "tree | ctx(3%) | 07:36:45".into(), ..Screen::default() };
        let reading = read(&screen);
        assert_eq!((reading.meaning(), reading.composer), (Some(Meaning::Ready), Seen::Empty));
        assert_eq!(reading.statusline.and_then(|line| line.context_percent), Some(3));
        screen.composer.paste("one\ntwo");
        assert_eq!(read(&screen).composer, Seen::Draft("one\ntwo".into()));
        screen.composer.clear();
        screen.composer.paste(&"line\n".repeat(300));
        assert_eq!(read(&screen).composer, Seen::Pasted("[Pasted text #1 +299 lines]".into()));
        assert_eq!(screen.composer.take(), "line\n".repeat(300));

        screen.prompt("do it\nall of it");
        screen.busy = Some(2);
        let reading = read(&screen);
        assert_eq!((reading.meaning(), reading.composer), (Some(Meaning::Working), Seen::Empty));
        assert_eq!(title(&screen), Some(Meaning::Working));
        screen.queued = 1;
        assert_eq!(read(&screen).composer, Seen::Empty);
        screen.queued = 0;

        for (dialog, kind) in
            [(Dialog::Permission, DialogKind::Permission), (Dialog::Question, DialogKind::Question)]
        {
            screen.dialog = Some((dialog, "Which way?".into()));
            let reading = read(&screen);
            assert_eq!((reading.meaning(), reading.composer), (Some(Meaning::Dialog(kind)), Seen::None));
            assert_eq!(title(&screen), Some(Meaning::Ready));
        }
        screen.dialog = None;
        screen.say("I did \x1b[31mit");
        screen.done(3);
        assert_eq!(read(&screen).meaning(), Some(Meaning::Done));
        assert!(screen.rows(80, 30).iter().any(|row| row == "● I did it"), "{:?}", screen.rows(80, 30));
    }
}
