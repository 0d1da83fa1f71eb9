//! What only the factory and one session know: a word that the session's prompt names, and with which every message of
//! the factory to it ends. Text from outside that imitates a message cannot know it.
//!
//! It is new whenever a session is launched, and nothing but the session's own folder and prompt has it. It keeps other
//! people's text apart from the factory's; it is no password, since whatever runs as the same user can read it.

use crate::host::atomic::write_atomic;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

const BYTES_MAX: usize = 64;

fn file(dir: &Path) -> PathBuf {
    dir.join("seal")
}

/// A new word for the session of that folder.
pub fn renew(dir: &Path) -> io::Result<String> {
    // The standard library's hashers begin with the system's random numbers.
    let word = format!("{:016x}", RandomState::new().build_hasher().finish());
    write_atomic(&file(dir), word.as_bytes(), 0o600)?;
    Ok(word)
}

/// A message as the session gets it. Its first line stays its first.
pub fn sealed(dir: &Path, text: &str) -> String {
    match std::fs::read_to_string(file(dir)) {
        Ok(word) if word.len() <= BYTES_MAX => format!("{}\n\n{}", text.trim_end(), line(word.trim())),
        // A session that an earlier build started.
        _ => text.to_owned(),
    }
}

/// The last line of a message.
pub fn line(word: &str) -> String {
    format!("[shopfloor {word}]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_launch_has_a_word_of_its_own_and_messages_end_with_it() {
        let dir = tempfile::tempdir().expect("a folder");
        assert_eq!(sealed(dir.path(), "CI passed\n"), "CI passed\n", "of an earlier build");
        let (one, two) = (renew(dir.path()).expect("made"), renew(dir.path()).expect("made"));
        assert_ne!(one, two);
        assert_eq!(
            sealed(dir.path(), "CI passed\ngo on\n"),
            format!("CI passed\ngo on\n\n[shopfloor {two}]")
        );
    }
}
