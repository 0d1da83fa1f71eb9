//! Typing into a session's pane, and seeing who else types there.
//!
//! Invariants:
//! - Text arrives byte for byte, in paste brackets if the program asked for them; a line end stays a line
//!   feed, which no program takes for the Enter key. Neutralising control characters is the caller's duty.
//! - Nothing is typed into a pane whose program ended, or that shows something other than its program
//!   (somebody scrolls): both would swallow it silently. For a paste tmux itself looks, in the same breath:
//!   tmux (3.3a) crashes, with every agent in it, if it is to paste into a pane whose program has just ended.
//! - After an error it is unknown how much was typed, unless the error is a refusal. Nothing is ever typed
//!   twice.
//! - Text passes only through tmux's memory, never a file, and for no longer than the paste takes.

use super::tmux::{Tmux, TmuxError, TmuxResult, check_name, failed, pane_target};
use super::transport::{Words, is_absent, words};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicU64, Ordering};

pub const PASTE_BYTES_MAX: usize = 1024 * 1024;
const CHUNK_BYTES: usize = 4 * 1024;

/// Whether what is typed into a pane would not reach its program.
const IS_DEAF: &str = "#{||:#{pane_dead},#{pane_in_mode}}";
/// What tmux answers then; whether the program has ended follows.
const DEAF: &str = "shopfloor-deaf-";
const ENDED: &str = "the program in the pane has ended";
const SCROLLED: &str = "somebody scrolls in the pane, which takes the keys";

static BUFFERS: AtomicU64 = AtomicU64::new(0);

/// A client attached to a session: usually a person's terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientActivity {
    pub tty: String,
    /// When it last did something (such as typing), in seconds since 1970.
    pub activity_time: u64,
    /// When it was attached, also in seconds since 1970.
    pub created: u64,
    /// A program's client, in control mode.
    pub is_control: bool,
    /// As tmux prints them, such as `attached,focused,UTF-8` and `read-only`.
    pub flags: String,
    /// Its keys do not reach the program in the pane: it scrolls, or talks to tmux itself.
    pub is_aside: bool,
}

impl Tmux {
    /// Pastes text into the session's pane, without an Enter after it.
    pub fn paste(&self, name: &str, text: &str) -> TmuxResult<()> {
        check_name(name)?;
        if text.contains('\0') {
            return Err(TmuxError::Refused("a text with a NUL byte can not be pasted".to_owned()));
        }
        if text.len() > PASTE_BYTES_MAX {
            return Err(TmuxError::Refused(format!(
                "a text of {} bytes can not be pasted: at most {PASTE_BYTES_MAX}",
                text.len()
            )));
        }
        if text.is_empty() {
            return Ok(());
        }
        let number = BUFFERS.fetch_add(1, Ordering::Relaxed);
        let buffer = format!("shopfloor-{}-{number}", std::process::id());
        let target = pane_target(name);
        let mut commands: Vec<Words<'_>> = Vec::new();
        for chunk in text.as_bytes().chunks(CHUNK_BYTES) {
            let append = if commands.is_empty() { &[][..] } else { &["-a"] };
            let mut command = words(&["set-buffer"]);
            command.extend(words(append));
            command.extend(words(&["-b", &buffer, "--"]));
            command.push(OsStr::from_bytes(chunk));
            commands.push(command);
        }
        // Names of sessions and buffers need no quotes.
        let refuse = format!("display-message -p -t {target} '{DEAF}#{{pane_dead}}'");
        let paste = format!("paste-buffer -d -p -r -b {buffer} -t {target}");
        commands.push(words(&["if-shell", "-F", "-t", &target, IS_DEAF, &refuse, &paste]));
        let typed = self.typed("paste-buffer", &commands);
        if typed.is_err() {
            // The paste, if there was one, has deleted it.
            let _ = self.transport().query(&[words(&["delete-buffer", "-b", &buffer])]);
        }
        typed
    }

    /// The Enter key. Programs want it separate from a paste, and a moment later.
    pub fn send_enter(&self, name: &str) -> TmuxResult<()> {
        self.send_key(name, "Enter")
    }

    /// A key by tmux's name for it, such as `Escape`, `C-u`, `Up` or `y`.
    pub fn send_key(&self, name: &str, key: &str) -> TmuxResult<()> {
        check_name(name)?;
        if !is_key(key) {
            return Err(TmuxError::Refused(format!("{key:?} is not the name of a key")));
        }
        self.check_listens(name)?;
        let target = pane_target(name);
        self.typed("send-keys", &[words(&["send-keys", "-t", &target, "--", key])])
    }

    /// The title that the session's program gave its terminal. `None` if there is no such session.
    pub fn pane_title(&self, name: &str) -> TmuxResult<Option<String>> {
        check_name(name)?;
        let target = pane_target(name);
        let answer =
            self.transport().query(&[words(&["list-panes", "-s", "-t", &target, "-F", "#{pane_title}"])])?;
        match answer.ok {
            true => Ok(answer.stdout.lines().next().map(str::to_owned)),
            false if is_absent(&answer.stderr) => Ok(None),
            false => Err(failed("list-panes", &answer.stderr)),
        }
    }

    /// Where the cursor of the session's pane is: column and row, from 0. `None` if there is no such session.
    pub fn cursor(&self, name: &str) -> TmuxResult<Option<(usize, usize)>> {
        check_name(name)?;
        let target = pane_target(name);
        let format = "#{cursor_x} #{cursor_y}";
        let answer = self.transport().query(&[words(&["list-panes", "-s", "-t", &target, "-F", format])])?;
        let numbers = |line: &str| {
            let (x, y) = line.split_once(' ')?;
            Some((x.parse().ok()?, y.parse().ok()?))
        };
        match answer.ok {
            true => Ok(answer.stdout.lines().next().and_then(numbers)),
            false if is_absent(&answer.stderr) => Ok(None),
            false => Err(failed("list-panes", &answer.stderr)),
        }
    }

    /// The clients that are attached to the session.
    pub fn clients(&self, name: &str) -> TmuxResult<Vec<ClientActivity>> {
        check_name(name)?;
        let target = format!("={name}");
        let format = "#{client_activity}|#{client_created}|#{client_control_mode}|#{client_flags}|#{?pane_in_mode,1,#{client_prefix}}|#{client_tty}";
        let answer = self.transport().query(&[words(&["list-clients", "-t", &target, "-F", format])])?;
        if !answer.ok {
            return match is_absent(&answer.stderr) {
                true => Ok(Vec::new()),
                false => Err(failed("list-clients", &answer.stderr)),
            };
        }
        let parse = |line| client(line).ok_or_else(|| failed("list-clients", line));
        answer.stdout.lines().map(parse).collect()
    }

    fn typed(&self, what: &str, commands: &[Words<'_>]) -> TmuxResult<()> {
        let answer = self.transport().act(commands)?;
        match answer.stdout.trim_end().strip_prefix(DEAF) {
            Some("1") => Err(failed(what, ENDED)),
            Some(_) => Err(failed(what, SCROLLED)),
            None if answer.ok => Ok(()),
            None => Err(failed(what, &answer.stderr)),
        }
    }

    fn check_listens(&self, name: &str) -> TmuxResult<()> {
        let target = pane_target(name);
        let format = "#{pane_dead}|#{pane_in_mode}";
        let answer = self.transport().query(&[words(&["list-panes", "-s", "-t", &target, "-F", format])])?;
        if !answer.ok {
            return Err(failed("list-panes", &answer.stderr));
        }
        match answer.stdout.lines().next() {
            Some("0|0") => Ok(()),
            Some(line) if line.starts_with("0|") => Err(failed("send-keys", SCROLLED)),
            _ => Err(failed("send-keys", ENDED)),
        }
    }
}

fn client(line: &str) -> Option<ClientActivity> {
    let mut fields = line.splitn(6, '|');
    Some(ClientActivity {
        activity_time: fields.next()?.parse().ok()?,
        created: fields.next()?.parse().ok()?,
        is_control: fields.next()? == "1",
        flags: fields.next()?.to_owned(),
        is_aside: fields.next()? == "1",
        tty: fields.next()?.to_owned(),
    })
}

/// One character, or a name of letters, digits and `-`. tmux types out what it does not know as a key, so a
/// word that only looks like a key name arrives as that word.
fn is_key(key: &str) -> bool {
    let mut characters = key.chars();
    match (characters.next(), characters.next()) {
        (Some(only), None) => !only.is_control(),
        (Some(first), Some(_)) => {
            key.len() <= 16
                && first.is_ascii_alphabetic()
                && key.bytes().all(|b| b.is_ascii_graphic() && b != b';')
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_from_text() {
        for key in ["Enter", "Escape", "C-u", "M-\\", "y", "é", ";", "F12", "S-Up"] {
            assert!(is_key(key), "{key:?}");
        }
        for text in ["", "\n", "\x1b", "-X", "two words", "a;", "an-absurdly-long-name"] {
            assert!(!is_key(text), "{text:?}");
        }
    }

    #[test]
    fn clients_are_read() {
        let read = client("1794738459|1794738450|0|attached,UTF-8|0|/dev/pts/3").expect("a client");
        assert_eq!((read.activity_time, read.created, read.is_control), (1794738459, 1794738450, false));
        assert_eq!((read.flags.as_str(), read.tty.as_str()), ("attached,UTF-8", "/dev/pts/3"));
        assert!(!read.is_aside && client("1|1|0||1|/dev/pts/3").is_some_and(|read| read.is_aside));
        assert!(client("x|1|0||0|").is_none());
        assert!(client("1|1|0||0").is_none());
    }
}
