//! The session a client's call belongs to, from the environment the factory gave the agent.

use shopfloor_adapters::agent::{spool, through};
use shopfloor_adapters::layout::Layout;
use shopfloor_core::allow::Allowed;
use shopfloor_core::guard::{Ask, Refusal, check};
use shopfloor_core::ids::Epoch;
use shopfloor_core::time::Time;
use shopfloor_desk::now;
use std::path::PathBuf;

pub struct OwnSession {
    /// The session's folder.
    pub dir: PathBuf,
    /// When this call began.
    pub at: Time,
}

impl OwnSession {
    /// `None`: this is not a session of ours, or its folder is gone.
    pub fn from_environment() -> Option<OwnSession> {
        let epoch: Epoch = std::env::var("SHOPFLOOR_SESSION").ok()?.parse().ok()?;
        let home = std::env::var_os("SHOPFLOOR_HOME").map(PathBuf::from).filter(|p| p.is_absolute())?;
        let dir = Layout::new(home).session(epoch);
        dir.is_dir().then(|| OwnSession { dir, at: now() })
    }

    /// What speaks against running a command in `cwd`.
    pub fn refusal(&self, command: &str, cwd: Option<&str>) -> Option<Refusal> {
        let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        // Clients say where they are without links: so that all three can be compared.
        let real = |path: String| match std::fs::canonicalize(&path) {
            Ok(real) => real.to_string_lossy().into_owned(),
            Err(_) => path,
        };
        let cwd = cwd.map(|cwd| real(cwd.to_owned()));
        let worktree = text("SHOPFLOOR_WORKTREE").map(real).or_else(|| cwd.clone())?;
        let scratch = text("TMPDIR").filter(|path| path.starts_with('/')).map(real);
        check(&Ask {
            command,
            cwd: cwd.as_deref().unwrap_or(&worktree),
            worktree: &worktree,
            scratch: scratch.as_deref(),
            branch: &text("SHOPFLOOR_BRANCH").unwrap_or_default(),
            primary: &text("SHOPFLOOR_PRIMARY_BRANCH").unwrap_or_else(|| "main".into()),
        })
    }

    /// Whether the project's configuration says that the command need not be asked about.
    pub fn allows(&self, command: &str) -> bool {
        let list = std::env::var(through::ALLOW).ok();
        let list: Vec<String> = list.and_then(|list| serde_json::from_str(&list).ok()).unwrap_or_default();
        Allowed::new(&list).is_ok_and(|allowed| allowed.covers(command))
    }

    pub fn complain(&self, what: &str) {
        spool::complain(&self.dir, self.at, what);
    }
}
