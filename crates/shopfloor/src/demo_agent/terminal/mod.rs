//! The demo agent as a client in a terminal, as far as our rules read one: a composer that is typed
//! and pasted into, a spinner, a status line, dialogs; hooks tell what happens. It stands in for
//! Claude Code in tests, and misbehaves on request.
//!
//! Three threads share one screen: the agent's own, one that reads keys, one that draws the status line.
//! Whoever changes the screen draws it, under its lock; a client that freezes keeps that lock.

mod hooks;
mod keys;
mod screen;

use super::client::{Client, Dialog};
use super::script::Script;
use super::variable;
use crate::cli::{CliError, CliResult};
use hooks::Hooks;
use keys::{Key, Keys};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, tcgetattr, tcgetwinsize, tcsetattr};
use screen::Screen;
use serde_json::json;
use shopfloor_adapters::layout::own_part;
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What a terminal that sends a lone escape needs to say so.
const ESCAPE_WAIT: Duration = Duration::from_millis(50);
const BEAT: Duration = Duration::from_secs(1);
/// Bracketed paste on; rows are cut at the edge, not wrapped.
const SET_UP: &str = "\x1b[?2004h\x1b[?7l\x1b[2J";
const TAKE_DOWN: &str = "\x1b[?2004l\x1b[?7h\r\n";

pub struct Terminal {
    shared: Arc<Shared>,
    prompts: Receiver<String>,
}

struct Shared {
    hooks: Hooks,
    state: Mutex<State>,
    /// A dialog was answered.
    answered: Condvar,
    /// Where keys that came into a dialog are written.
    record: PathBuf,
}

#[derive(Default)]
struct State {
    screen: Screen,
    /// Since when a turn is under way.
    turn: Option<Instant>,
    turns: u32,
    swallow_enter: u32,
    lose_paste: bool,
}

impl Terminal {
    /// Takes the terminal. `habits` is what it is to do wrong.
    pub fn start(session_id: &str, name: &str, habits: Option<&Script>) -> CliResult<Terminal> {
        let prompt_file = variable("SHOPFLOOR_PROMPT_FILE")?;
        let folder = Path::new(&prompt_file).parent().unwrap_or(Path::new("/"));
        let hooks =
            Hooks { session_id: session_id.to_owned(), cwd: std::env::current_dir()?.display().to_string() };
        let mut state = State::default();
        state.screen.name = name.to_owned();
        if let Some(habits) = habits {
            state.swallow_enter = habits.swallow_enter;
            state.lose_paste = habits.has("lose-paste-once");
            state.screen.composer.type_in(habits.draft.as_deref().unwrap_or_default());
        }
        let mut raw = tcgetattr(std::io::stdin())
            .map_err(|e| CliError::usage(format!("--terminal needs a terminal on standard input: {e}")))?;
        raw.make_raw();
        tcsetattr(std::io::stdin(), OptionalActions::Now, &raw).map_err(std::io::Error::from)?;
        let record = own_part(folder).join("typed-into-dialog");
        let shared = Arc::new(Shared { hooks, state: Mutex::new(state), answered: Condvar::new(), record });
        put(SET_UP.as_bytes());
        shared.draw(&mut shared.lock());
        let (sender, prompts) = channel();
        let (reader, beater) = (shared.clone(), shared.clone());
        std::thread::Builder::new().name("keys".into()).spawn(move || reader.read(&sender))?;
        std::thread::Builder::new().name("beat".into()).spawn(move || beater.beat())?;
        if !habits.is_some_and(|habits| habits.has("ignore-sigterm")) {
            end_on_signals(&shared)?;
        }
        shared.hooks.tell("SessionStart", json!({"source": "startup"}));
        Ok(Terminal { shared, prompts })
    }

    /// The next prompt: a turn begins with it.
    fn take(&self) -> CliResult<String> {
        let prompt = self.prompts.recv().map_err(|_| CliError::failed("the terminal is gone"))?;
        let mut state = self.shared.lock();
        state.screen.queued = state.screen.queued.saturating_sub(1);
        state.screen.prompt(&prompt);
        state.turn = Some(Instant::now());
        state.turns += 1;
        self.shared.draw(&mut state);
        Ok(prompt)
    }
}

impl Client for Terminal {
    fn say(&self, line: &str) {
        let mut state = self.shared.lock();
        state.screen.say(line);
        self.shared.draw(&mut state);
    }

    fn first_prompt(&self) -> CliResult<String> {
        self.take()
    }

    fn next_message(&self) -> CliResult<String> {
        // Prompts that were sent meanwhile go on with the turn: one Stop tells of all.
        if self.shared.lock().screen.queued == 0 {
            self.shared.hooks.tell("Stop", json!({"stop_hook_active": false}));
        }
        let mut state = self.shared.lock();
        let seconds = state.turn.take().map_or(0, |since| since.elapsed().as_secs());
        state.screen.done(seconds);
        self.shared.draw(&mut state);
        drop(state);
        self.take()
    }

    fn before(&self, command: &str) {
        self.shared.hooks.tool("PreToolUse", "Bash", command);
        self.say(&format!("Bash({})", command.lines().next().unwrap_or_default()));
    }

    fn after(&self, command: &str, worked: bool) {
        let event = if worked { "PostToolUse" } else { "PostToolUseFailure" };
        self.shared.hooks.tool(event, "Bash", command);
    }

    fn put_up(&self, dialog: Dialog) {
        let (tool, about) = asks(dialog);
        self.shared.hooks.tool("PreToolUse", tool, about);
        // Told before it is drawn, as the recorded client does.
        self.shared.hooks.tool("PermissionRequest", tool, about);
        let mut state = self.shared.lock();
        state.screen.dialog = Some((dialog, about.to_owned()));
        self.shared.draw(&mut state);
        drop(state);
        self.shared.hooks.tell("Notification", json!({"notification_type": "permission_prompt"}));
    }

    fn wait_for_answer(&self) {
        let mut state = self.shared.lock();
        let Some((dialog, _)) = state.screen.dialog.clone() else { return };
        while state.screen.dialog.is_some() {
            state = self.shared.answered.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        drop(state);
        let (tool, about) = asks(dialog);
        self.shared.hooks.tool("PostToolUse", tool, about);
    }

    fn print(&self, bytes: &[u8]) {
        let _kept = self.shared.lock();
        put(bytes);
    }

    fn freeze(&self) -> ! {
        let _kept = self.shared.lock();
        loop {
            std::thread::park();
        }
    }

    fn leave(&self) {
        self.shared.hooks.tell("SessionEnd", json!({"reason": "prompt_input_exit"}));
        let _kept = self.shared.lock();
        put(TAKE_DOWN.as_bytes());
    }
}

fn asks(dialog: Dialog) -> (&'static str, &'static str) {
    match dialog {
        Dialog::Permission => ("Bash", "make coffee"),
        Dialog::Question => ("AskUserQuestion", "Which way?"),
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draw(&self, state: &mut State) {
        let size = tcgetwinsize(std::io::stdout()).ok();
        let (width, height) = size.map_or((80, 24), |size| (size.ws_col.into(), size.ws_row.into()));
        state.screen.busy = state.turn.map(|since| since.elapsed().as_secs());
        let mut out = format!("\x1b]2;{}\x07\x1b[H", state.screen.title());
        for (number, row) in state.screen.rows(width, height).iter().enumerate() {
            let _ = write!(out, "\x1b[{};1H{row}\x1b[K", number + 1);
        }
        if let Some((column, row)) = state.screen.cursor(width, height) {
            let _ = write!(out, "\x1b[{};{}H", row + 1, column + 1);
        }
        put(out.as_bytes());
    }

    /// On a thread of its own: what is typed.
    fn read(&self, prompts: &Sender<String>) {
        let (mut keys, mut buffer) = (Keys::default(), vec![0; 64 * 1024]);
        let mut stdin = std::io::stdin().lock();
        loop {
            let wait = Timespec { tv_sec: 0, tv_nsec: ESCAPE_WAIT.subsec_nanos().into() };
            let fd = std::io::stdin();
            let ready = poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&wait));
            let read = match ready {
                Ok(0) => keys.pause().into_iter().collect(),
                _ => match stdin.read(&mut buffer) {
                    Ok(0) | Err(_) => return,
                    Ok(n) => keys.read(&buffer[..n]),
                },
            };
            for key in read {
                if let Some(prompt) = self.key(key) {
                    self.hooks.tell("UserPromptSubmit", json!({"prompt": prompt}));
                    if prompts.send(prompt).is_err() {
                        return;
                    }
                }
            }
        }
    }

    /// A prompt that was sent.
    fn key(&self, key: Key) -> Option<String> {
        let mut state = self.lock();
        let mut sent = None;
        if state.screen.dialog.is_some() {
            self.answer(&mut state, &key);
        } else {
            match key {
                Key::Paste(_) if state.lose_paste => state.lose_paste = false,
                Key::Paste(text) => state.screen.composer.paste(&text),
                Key::Text(text) => state.screen.composer.type_in(&text),
                Key::Backspace => state.screen.composer.backspace(),
                Key::Clear => state.screen.composer.clear(),
                Key::Escape => {}
                Key::Enter if state.swallow_enter > 0 => state.swallow_enter -= 1,
                Key::Enter => {
                    let text = state.screen.composer.take();
                    if !text.trim().is_empty() {
                        state.screen.queued += 1;
                        state.turn.get_or_insert_with(Instant::now);
                        sent = Some(text);
                    }
                }
            }
        }
        self.draw(&mut state);
        sent
    }

    /// Every key is an answer, or a part of one; that it came is on record.
    fn answer(&self, state: &mut State, key: &Key) {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(&self.record);
        let _ = file.and_then(|mut file| writeln!(file, "{key:?}"));
        let answers = match key {
            Key::Enter | Key::Escape => true,
            Key::Text(text) => text.contains(['1', '2']),
            _ => false,
        };
        if answers {
            state.screen.dialog = None;
            self.answered.notify_all();
        }
    }

    /// On a thread of its own: the status line, for as long as the client is not frozen.
    fn beat(&self) {
        loop {
            let turns = self.lock().turns;
            let line = self.hooks.statusline(turns.min(50), f64::from(turns) * 0.01);
            let mut state = self.lock();
            state.screen.statusline = line;
            state.screen.beat += 1;
            self.draw(&mut state);
            drop(state);
            std::thread::sleep(BEAT);
        }
    }
}

/// A terminal that is gone is nothing to report, and nobody is there to report it to.
fn put(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

/// Ends as a client does that is asked to.
fn end_on_signals(shared: &Arc<Shared>) -> CliResult<()> {
    use signal_hook::consts::{SIGHUP, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGTERM, SIGHUP])?;
    let hooks = shared.hooks.clone();
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            hooks.tell("SessionEnd", json!({"reason": "other"}));
            std::process::exit(143);
        }
    });
    Ok(())
}
