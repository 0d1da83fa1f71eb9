//! The leak guard: whatever a test run starts must be gone when it is over.
//!
//! The run gets a temporary folder of its own. A process that has the folder's path in its
//! arguments or its environment belongs to the run, whoever its parent is by then.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// How long what was told to end may take to do so.
const GRACE_ROUNDS: u32 = 30;
const GRACE_PAUSE: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub struct Leak {
    pub pid: u32,
    pub command: String,
}

/// Processes that name `dir`, ours aside.
pub fn find(dir: &Path) -> Vec<Leak> {
    let needle = dir.as_os_str().as_bytes();
    let own = std::process::id();
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != own).filter_map(|pid| look(pid, needle)).collect()
}

/// Those that are still there after a while. A process that was told to end takes a moment, and
/// nobody can wait for a stranger's child.
pub fn settle(dir: &Path) -> Vec<Leak> {
    let mut leaks = find(dir);
    for _ in 0..GRACE_ROUNDS {
        if leaks.is_empty() {
            break;
        }
        std::thread::sleep(GRACE_PAUSE);
        leaks = find(dir);
    }
    leaks
}

fn look(pid: u32, needle: &[u8]) -> Option<Leak> {
    // Both are empty for a zombie and unreadable for other users' processes: neither is ours.
    let read = |what: &str| std::fs::read(format!("/proc/{pid}/{what}")).unwrap_or_default();
    let cmdline = read("cmdline");
    if !contains(&cmdline, needle) && !contains(&read("environ"), needle) {
        return None;
    }
    let words = cmdline.split(|b| *b == 0).map(String::from_utf8_lossy).collect::<Vec<_>>().join(" ");
    Some(Leak { pid, command: words.trim_end().chars().take(200).collect() })
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

/// Ends the processes, each by its pid if it is still the one that was found.
pub fn end(dir: &Path, leaks: &[Leak]) {
    let needle = dir.as_os_str().as_bytes();
    for leak in leaks {
        if look(leak.pid, needle).is_some() {
            let _ = std::process::Command::new("kill").args(["-KILL", &leak.pid.to_string()]).status();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_is_found_by_its_environment_and_ended() {
        let dir = crate::sh::scratch("sf-leak").unwrap();
        let mut child = Command::new("cat")
            .env("TMPDIR", &dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // Once it echoes, it is `cat`: before that it may still be on its way there.
        child.stdin.as_mut().unwrap().write_all(b"x").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let found = find(&dir);
        assert_eq!(found.iter().map(|leak| leak.pid).collect::<Vec<_>>(), [child.id()], "{found:?}");
        assert_eq!(found[0].command, "cat");
        end(&dir, &found);
        assert!(!child.wait().unwrap().success());
        assert!(find(&dir).is_empty());
        std::fs::remove_dir(&dir).unwrap();
    }
}
