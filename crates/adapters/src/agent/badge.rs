//! What a session may ask for, and the token that says that it is this session. Made at its start, in its folder, which
//! nobody else in a jail sees; gone with its end.
//!
//! Invariant: a token that was valid for one session is never valid for another, even if numbers repeat.

use crate::host::atomic::write_atomic;
use crate::layout::Layout;
use rustix::fs::{Mode, OFlags, open};
use serde::{Deserialize, Serialize};
use shopfloor_core::ids::{Assignment, Epoch, ProjectName, Role};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The name is from when a badge was called a grant; sessions outlive upgrades.
const FILE: &str = "grant.json";
const SECRET_BYTES: usize = 32;
const FILE_BYTES_MAX: u64 = 4096;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Badge {
    token: String,
    pub project: ProjectName,
    pub role: Role,
    #[serde(flatten)]
    pub assignment: Assignment,
}

impl Badge {
    /// Written before the session begins; the same again for the same session.
    pub(super) fn give(
        layout: &Layout,
        epoch: Epoch,
        project: &ProjectName,
        role: Role,
        assignment: Assignment,
    ) -> io::Result<()> {
        let token = format!("{epoch}.{}", random()?);
        let badge = Badge { token, project: project.clone(), role, assignment };
        write_atomic(&file(layout, epoch), &serde_json::to_vec(&badge)?, 0o600)
    }

    /// The session may ask for nothing more.
    pub(super) fn take_back(layout: &Layout, epoch: Epoch) -> io::Result<()> {
        match std::fs::remove_file(file(layout, epoch)) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }

    /// What the session has; `None`: it has ended, or a build started it that gave none.
    pub fn of(layout: &Layout, epoch: Epoch) -> Option<Badge> {
        let fd =
            open(file(layout, epoch), OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
                .ok()?;
        let mut text = String::new();
        File::from(fd).take(FILE_BYTES_MAX).read_to_string(&mut text).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// The session that shows this token.
    pub fn shown(layout: &Layout, token: &str) -> Option<(Epoch, Badge)> {
        let epoch: Epoch = token.split_once('.')?.0.parse().ok()?;
        let badge = Badge::of(layout, epoch)?;
        is_same(&badge.token, token).then_some((epoch, badge))
    }

    /// For whoever is the session.
    pub fn token(&self) -> &str {
        &self.token
    }
}

fn file(layout: &Layout, epoch: Epoch) -> PathBuf {
    layout.session(epoch).join(FILE)
}

/// It takes as long wherever they differ.
fn is_same(one: &str, other: &str) -> bool {
    let differ = one.bytes().zip(other.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b));
    one.len() == other.len() && differ == 0
}

/// A word that nobody guesses.
pub(crate) fn random() -> io::Result<String> {
    let mut bytes = [0; SECRET_BYTES];
    File::open(Path::new("/dev/urandom"))?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use shopfloor_core::ids::IssueNumber;

    #[test]
    fn a_token_is_one_sessions_and_ends_with_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let layout = Layout::new(folder.path());
        let project: ProjectName = "p".parse().expect("a name");
        let give = |epoch, issue| {
            std::fs::create_dir_all(layout.session(Epoch(epoch))).expect("a folder");
            let assignment = Assignment::Issue(IssueNumber(issue));
            Badge::give(&layout, Epoch(epoch), &project, Role::DEV, assignment).expect("written");
            Badge::of(&layout, Epoch(epoch)).expect("there")
        };
        let (one, two) = (give(1, 7), give(2, 8));
        assert_eq!(Badge::shown(&layout, one.token()), Some((Epoch(1), one.clone())));
        let stolen = two.token().replacen("2.", "1.", 1);
        for wrong in [stolen.as_str(), "1.", "1", "", "x.y", &one.token()[..one.token().len() - 1]] {
            assert_eq!(Badge::shown(&layout, wrong), None, "{wrong}");
        }
        let again = give(1, 7);
        assert_eq!(Badge::shown(&layout, one.token()), None, "numbers repeat, tokens do not");
        Badge::take_back(&layout, Epoch(1)).expect("gone");
        Badge::take_back(&layout, Epoch(1)).expect("gone already");
        assert_eq!(Badge::shown(&layout, again.token()), None);
    }
}
