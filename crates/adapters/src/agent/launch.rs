//! From a runtime's description to a command line: placeholders, what the client needs around it,
//! and whether it can be started at all.

use super::{AgentConfig, client, prompt_file, settings, trust};
use crate::host::atomic::write_atomic;
use crate::layout::Layout;
use shopfloor_core::effect::StartSession;
use shopfloor_core::ids::tmux_name;
use shopfloor_core::runtime::{Setup, Values};
use shopfloor_engine::ports::{Final, PortError, PortResult};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

pub struct Launcher<'a> {
    pub layout: &'a Layout,
    pub start: &'a StartSession,
    pub config: &'a AgentConfig,
    pub cwd: &'a Path,
}

impl Launcher<'_> {
    /// The command line; `env` gets what the runtime adds. An error is one that trying again would
    /// not mend.
    pub fn prepare(&self, env: &mut Vec<(OsString, OsString)>) -> PortResult<Vec<OsString>> {
        let spec = &self.config.spec;
        let mut values = self.values().map_err(PortError::transient)?;
        self.set_up(env, &mut values)?;
        let (launch, id) = match (&spec.resume, self.conversation()) {
            (Some(resume), Some(conversation)) => (resume, Some(conversation)),
            _ => (&spec.launch, None),
        };
        if let Some(id) = id {
            values.insert("session_id".into(), vec![id.to_owned()]);
        }
        let argv = launch.argv(&values).map_err(|e| self.refuse(e))?;
        for (name, value) in launch.env(&values).map_err(|e| self.refuse(e))? {
            env.retain(|(known, _)| *known != *name);
            env.push((name.into(), value.into()));
        }
        let program = &argv[0];
        let path = client::find(program, env, self.cwd).ok_or_else(|| {
            PortError::permanent(Final::Config, format!(
                "{program} is not installed, or not on the PATH of the agents: install it, or choose another `runtime` in shopfloor.toml"
            ))
        })?;
        if let Some(check) = &spec.version {
            client::check_version(&path, check, env)
                .map_err(|why| PortError::permanent(Final::Config, why))?;
        }
        if let Some(refusal) = &spec.root
            && rustix::process::geteuid().is_root()
            && values.get("permission_mode").is_some_and(|mode| refusal.permission_modes.contains(&mode[0]))
            && client::variable(env, &refusal.unless_env).is_none()
        {
            return Err(PortError::permanent(
                Final::Config,
                format!(
                    "{program} refuses to run as root with permission_mode = {:?}: run the floor as another user, or, in a sandbox, set {} and add it to pass_env",
                    values["permission_mode"][0], refusal.unless_env
                ),
            ));
        }
        Ok(argv.into_iter().map(OsString::from).collect())
    }

    /// The conversation to go on with, where the client can.
    fn conversation(&self) -> Option<&str> {
        self.start.resume.as_ref()?.conversation.as_deref()
    }

    /// Whatever the client needs to be told beforehand: to call our hooks, and to ask nobody at its
    /// start.
    fn set_up(&self, env: &[(OsString, OsString)], values: &mut Values) -> PortResult<()> {
        // On the agents' PATH, and there as long as the floor is.
        let program = self.layout.bin().join("shopfloor");
        match self.config.spec.setup {
            Setup::Nothing => {}
            Setup::Claude => {
                let file = self.layout.session(self.start.epoch).join("settings.json");
                let settings = settings::claude_settings(&program).to_string();
                write_atomic(&file, settings.as_bytes(), 0o600).map_err(PortError::transient)?;
                values.insert("settings_file".into(), vec![file.display().to_string()]);
                self.trust(env, values)?;
            }
            Setup::Codex => {
                let mut overrides = settings::codex_overrides(&program, self.cwd);
                // A worktree's commits go to its repository, and pushes to the hub: both are beside it.
                let project = self.layout.project(&self.start.project);
                let session = self.layout.session(self.start.epoch);
                overrides.extend(settings::codex_writable(&[&project, &session]));
                values.insert("overrides".into(), overrides);
            }
        }
        Ok(())
    }

    fn trust(&self, env: &[(OsString, OsString)], values: &Values) -> PortResult<()> {
        let Some(home) = client::variable(env, "HOME").map(Path::new) else { return Ok(()) };
        let config = client::variable(env, "CLAUDE_CONFIG_DIR").map(Path::new);
        let file = trust::claude_file(home, config);
        let skips = values.get("permission_mode").is_some_and(|mode| mode == &["bypassPermissions"]);
        // Each worktree is a repository of its own, and trusted as that.
        trust::seed_claude(&file, self.cwd, skips).map(|_| ()).map_err(|e| {
            PortError::transient(format!(
                "the worktrees cannot be marked as trusted in {}: {e}",
                file.display()
            ))
        })
    }

    fn refuse(&self, error: impl std::fmt::Display) -> PortError {
        PortError::permanent(
            Final::Config,
            format!("the runtime {} cannot be started: {error}", self.config.spec.name),
        )
    }

    fn values(&self) -> io::Result<Values> {
        let start = self.start;
        let folder = self.layout.session(start.epoch);
        let mut values = self.config.values.clone();
        let mut set = |name: &str, value: String| {
            values.insert(name.into(), vec![value]);
        };
        set("name", tmux_name(start.role, &start.project, start.issue, start.epoch));
        set("role", start.role.to_string());
        set("prompt_file", prompt_file(&folder).display().to_string());
        set("session_dir", folder.display().to_string());
        set("session_id", conversation(&folder)?);
        set("worktree", self.cwd.display().to_string());
        Ok(values)
    }
}

/// The id of a session's conversation, where we choose it: a UUID, on record before the client has it.
fn conversation(folder: &Path) -> io::Result<String> {
    let file = folder.join("conversation");
    match std::fs::read_to_string(&file) {
        Ok(id) => return Ok(id),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(e),
    }
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    let random = u128::from_be_bytes(bytes);
    let id = format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        random >> 96,
        (random >> 80) & 0xffff,
        (random >> 64) & 0xfff,
        0x8000 | ((random >> 48) & 0x3fff),
        random & 0xffff_ffff_ffff
    );
    write_atomic(&file, id.as_bytes(), 0o600)?;
    Ok(id)
}
