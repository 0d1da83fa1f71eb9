//! Who is at the daemon's door: whether a process, or one of its ancestors, belongs to an agent's session.
//! Everything a session starts carries a variable that names the session. A process that removes the variable
//! and gets itself adopted is not detected: this guards against mistakes, not against an agent that wants to
//! get through.

use shopfloor_adapters::terminal::tmux::MARKER;
use std::io;

/// A person has no longer chain of parents.
const PARENTS_MAX: usize = 64;

pub fn is_in_a_session(mut pid: u32) -> io::Result<bool> {
    let marker = format!("{MARKER}=");
    for _ in 0..PARENTS_MAX {
        let environment = match std::fs::read(format!("/proc/{pid}/environ")) {
            Ok(environment) => environment,
            // Somebody else's process, such as the system's first: not one of our sessions.
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => return Ok(false),
            Err(e) => return Err(e),
        };
        if environment.split(|b| *b == 0).any(|entry| entry.starts_with(marker.as_bytes())) {
            return Ok(true);
        }
        // `pid (name) state ppid …`; the name may hold anything.
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let parent = stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        match parent {
            Some(parent) if parent > 1 => pid = parent,
            _ => return Ok(false),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::process::{Command, Stdio};

    #[test]
    fn what_a_session_started_is_known_by_its_mark() {
        let started = |marked: bool| {
            let mut cat = Command::new("sh");
            cat.args(["-c", "echo up; env -i cat; true"]).stdin(Stdio::piped()).stdout(Stdio::piped());
            if marked {
                cat.env(MARKER, "x");
            }
            let mut child = cat.spawn().expect("it runs");
            // In the middle of an exec a process has no environment.
            let mut up = [0; 3];
            child.stdout.take().expect("piped").read_exact(&mut up).expect("it says so");
            let found = is_in_a_session(child.id()).expect("known");
            drop(child.stdin.take());
            child.wait().expect("it ends");
            found
        };
        assert!(started(true));
        if std::env::var_os(MARKER).is_none() {
            assert!(!started(false));
        }
    }
}
