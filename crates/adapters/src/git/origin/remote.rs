//! Any git remote as origin, by its URL: with git's own transports, and nothing that not every server has.
//!
//! Near it is a bare repository that belongs to the floor: its branches and tags are where the remote's were
//! last seen, and it has the objects of everything that was seen there or sent there. Everything that is sent
//! goes through it.
//!
//! Git asks nobody anything here: there is no terminal, no askpass program, nothing on standard input. The
//! user's own configuration applies, for its proxies, keys and helpers. Every call has a deadline, and ends
//! together with everything it started.

use super::{Move, Origin, Push, answered};
use crate::git::call::Call;
use crate::git::refs;
use crate::git::run::{Git, GitError, GitResult, Repo};
use rustix::fs::{FlockOperation, flock};
use shopfloor_core::ids::Sha;
use shopfloor_engine::ports::PortResult;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::Path;
use std::time::Duration;

pub(super) struct Remote {
    near: Repo,
    /// The same repository, with the user's configuration.
    speaker: Repo,
    url: OsString,
    patience: Duration,
}

/// How long to wait for one answer of the remote. The first fetch of a huge repository may take a while.
pub(super) const PATIENCE: Duration = Duration::from_secs(600);

/// How a remote may be reached; git's own helpers can run anything.
const PROTOCOLS: [&str; 4] = ["https", "http", "ssh", "git"];

/// Why a text is not accepted as the URL of a remote.
#[derive(Debug, thiserror::Error)]
#[error(
    "{0:?} is not the URL of a git remote: it begins with https://, http://, ssh:// or git:// and has no spaces"
)]
pub struct BadUrl(String);

/// A URL that is safe to give to git: it is not an option, names no helper that runs programs, and is one
/// line.
pub fn checked_url(url: &str) -> Result<&str, BadUrl> {
    let known = PROTOCOLS.iter().any(|name| {
        let rest = url.strip_prefix(name).and_then(|rest| rest.strip_prefix("://"));
        rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '['))
    });
    if known && url.len() <= 2_000 && url.bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(url);
    }
    Err(BadUrl(shopfloor_core::text::one_line(url, 200)))
}

impl Remote {
    pub(super) fn new(git: &Git, near: &Path, url: &str, patience: Duration) -> Self {
        Remote { near: git.bare(near), speaker: git.shared(near), url: url.into(), patience }
    }

    /// One at a time, across all processes: two that look at once would get in each other's way. Whoever
    /// holds the lock is bound by a deadline, too.
    fn alone(&self) -> GitResult<File> {
        let path = self.near.path().join("shopfloor-look.lock");
        let io = |e| GitError::io(format!("locking {}", path.display()), e);
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(io)?;
        flock(&file, FlockOperation::LockExclusive).map_err(|e| io(e.into()))?;
        Ok(file)
    }

    /// Notes in the near repository what the remote was seen to have, as far as the commits are there. Only
    /// branches and tags: what is pinned stays pinned.
    fn note(&self, names: &[&str], now: &[Option<Sha>]) -> GitResult<()> {
        let mut lines = String::new();
        for (name, now) in names.iter().zip(now) {
            let known = refs::read(self.near.path(), name);
            if known == *now || !(name.starts_with("refs/heads/") || name.starts_with("refs/tags/")) {
                continue;
            }
            match now {
                Some(now) if self.near.resolve(&format!("{now}^{{object}}"))?.is_some() => {
                    lines.push_str(&format!("update {name}\0{now}\0\0"));
                }
                Some(_) => {}
                None => lines.push_str(&format!("delete {name}\0\0")),
            }
        }
        if lines.is_empty() { Ok(()) } else { self.near.update_refs("seen at origin", lines) }
    }
}

impl Origin for Remote {
    fn url(&self) -> &OsStr {
        &self.url
    }

    fn near(&self) -> &Repo {
        &self.near
    }

    fn look(&self) -> PortResult<()> {
        let _alone = self.alone()?;
        let call = speaking(self.speaker.call("fetch"), self.patience);
        let call = call.args(["--quiet", "--prune", "--no-tags", "--no-write-fetch-head", "--"]);
        let call = call.arg(&self.url).args(["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"]);
        Ok(call.run().map(drop)?)
    }

    fn refs(&self, names: &[&str]) -> PortResult<Vec<Option<Sha>>> {
        let _alone = self.alone()?;
        let call = speaking(self.speaker.call("ls-remote"), self.patience);
        let found = call.listing(&self.url, names)?;
        self.note(names, &found)?;
        Ok(found)
    }

    fn send(&self, push: &Push<'_>) -> PortResult<()> {
        if push.from.path() != self.near.path() {
            for new in push.moves.iter().filter_map(|wanted: &Move| wanted.new.as_ref()) {
                self.near.take_from(push.from, new)?;
            }
        }
        push.check_forward(&self.near)?;
        let call = speaking(self.speaker.call("push"), self.patience);
        call.pushing(&self.url, push, None).run().map(drop).map_err(answered)
    }

    /// Only the remote knows, and it does not say.
    fn has_made(&self, _: &Push<'_>) -> PortResult<bool> {
        Ok(false)
    }

    fn tells(&self) -> bool {
        false
    }

    /// Its server knows, and does not say.
    fn records(&self) -> bool {
        false
    }
}

/// A call that talks to the remote: it asks nobody, and it ends.
fn speaking(call: Call, patience: Duration) -> Call {
    call.set("credential.interactive=false")
        .set("http.lowSpeedLimit=1")
        .set("http.lowSpeedTime=300")
        .env("GIT_ASKPASS", "")
        .env("SSH_ASKPASS_REQUIRE", "never")
        .env("GIT_SSH_COMMAND", "ssh -o BatchMode=yes")
        .env("GIT_ALLOW_PROTOCOL", PROTOCOLS.join(":"))
        .within(patience)
}
