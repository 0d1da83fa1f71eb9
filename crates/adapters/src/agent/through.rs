//! A person's own programs that a session's settings replace: Codex's `notify` and Claude Code's status line.
//! Whatever is called instead calls them too, with the same input. They are bounded in time, and their
//! failures do no harm.
//!
//! The client's environment, which no agent can change, says which programs they are: what is called runs
//! outside every sandbox.

use super::json_file;
use crate::host::command;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The variables in a session's environment: words as JSON, a shell command, and as JSON the commands that
/// need no permission.
pub const NOTIFY: &str = "SHOPFLOOR_NOTIFY";
pub const STATUS_LINE: &str = "SHOPFLOOR_STATUS_LINE";
pub const ALLOW: &str = "SHOPFLOOR_ALLOW";

/// Nobody waits for a notification.
const NOTIFY_WITHIN: Duration = Duration::from_secs(10);
/// The client waits for its status line.
const LINE_WITHIN: Duration = Duration::from_secs(2);
const LINES_MAX: usize = 3;
const LINE_CHARS_MAX: usize = 500;

/// The status line in a person's own settings. Unreadable settings are reported elsewhere.
pub fn own_line(settings: &Path) -> Option<String> {
    let settings = json_file::read(settings).ok()?;
    let line =
        settings.get("statusLine").filter(|line| line.get("type").is_some_and(|kind| kind == "command"))?;
    let command = line.get("command")?.as_str()?;
    let ours = command.trim_end().ends_with(super::settings::MARKER) || command.contains('\0');
    (!ours).then(|| command.to_owned())
}

/// Calls a person's own `notify` as Codex would.
pub fn notify(words: &str, payload: &OsStr) -> io::Result<()> {
    let words: Vec<String> = serde_json::from_str(words)?;
    let Some((program, arguments)) = words.split_first() else { return Ok(()) };
    let ended = command::run(Command::new(program).args(arguments).arg(payload), NOTIFY_WITHIN)?;
    match ended.status.success() {
        true => Ok(()),
        false => Err(io::Error::other(format!("{program} ended with {}", ended.status))),
    }
}

/// What a person's own status line says: a few lines.
pub fn line(own: &str, input: &[u8]) -> io::Result<Vec<String>> {
    let ended = command::run_with(Command::new("sh").arg("-c").arg(own), input, LINE_WITHIN)?;
    let lines = ended.stdout.lines().filter(|line| !line.trim().is_empty()).take(LINES_MAX);
    Ok(lines.map(|line| line.chars().take(LINE_CHARS_MAX).collect()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_persons_own_programs_get_the_same_input() {
        let folder = tempfile::tempdir().expect("a folder");
        let told = folder.path().join("told");
        let script = format!("printf '%s|' \"$@\" > '{}'", told.display());
        let words = serde_json::to_string(&["sh", "-c", &script, "sh", "a b"]).expect("JSON");
        notify(&words, OsStr::new("{\"x\": 1}")).expect("called");
        assert_eq!(fs::read_to_string(&told).expect("told"), "a b|{\"x\": 1}|");
        assert!(notify("[\"false\"]", OsStr::new("{}")).is_err(), "and nothing else");
        assert!(notify("[\"/nowhere/at all\"]", OsStr::new("{}")).is_err());

        assert_eq!(
            line("cat; echo; echo; seq 9", b"{\"in\": 1}").expect("called"),
            ["{\"in\": 1}", "1", "2"]
        );
        // Larger than a pipe, and not read.
        assert_eq!(line("echo hi", &vec![b'x'; 200_000]).expect("called"), ["hi"]);
    }

    #[test]
    fn our_own_status_line_is_not_called_by_itself() {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = folder.path().join("settings.json");
        assert_eq!(own_line(&settings), None);
        for (command, own) in
            [("echo hi", Some("echo hi")), ("shopfloor statusline # managed by shopfloor", None)]
        {
            let text = serde_json::json!({"statusLine": {"type": "command", "command": command}});
            fs::write(&settings, text.to_string()).expect("written");
            assert_eq!(own_line(&settings).as_deref(), own);
        }
    }
}
