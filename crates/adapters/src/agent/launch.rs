//! From a runtime's description to a command line: placeholders, what else the client needs, and whether it
//! can be started at all.

use super::codex::Configuration;
use super::settings::ClaudeRules;
use super::{
    AgentConfig, client, codex, mcp, prompt_file, result_file, rules, scratch, settings, through, trust,
};
use crate::git::writable::git_folders;
use crate::host::atomic::write_atomic;
use crate::layout::Layout;
use shopfloor_core::effect::StartSession;
use shopfloor_core::ids::tmux_name;
use shopfloor_core::protected::in_the_repository;
use shopfloor_core::runtime::{Setup, Values};
use shopfloor_engine::ports::{Final, PortError, PortResult};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

pub(super) type Environment = Vec<(OsString, OsString)>;

pub struct Launcher<'a> {
    pub layout: &'a Layout,
    pub start: &'a StartSession,
    pub config: &'a AgentConfig,
    pub cwd: &'a Path,
    pub phase_file: &'a Path,
}

impl Launcher<'_> {
    /// The command line; `env` gets what the runtime adds. An error is one that trying again would not fix.
    pub fn prepare(&self, env: &mut Environment) -> PortResult<Vec<OsString>> {
        let spec = &self.config.spec;
        let mut values = self.values().map_err(PortError::transient)?;
        if self.start.role.reviews() {
            self.as_accepted(&mut values)?;
        }
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
        Ok(argv.into_iter().map(OsString::from).collect())
    }

    /// A reviewer's command runs the project's files as they were accepted, from a folder of the session's own: those in
    /// the worktree are the change's.
    fn as_accepted(&self, values: &mut Values) -> PortResult<()> {
        let Some(command) = values.get_mut("command") else { return Ok(()) };
        for (at, word) in command.iter_mut().enumerate() {
            let path = in_the_repository(word).filter(|path| self.config.files.contains_key(path));
            match path {
                Some(path) => {
                    let file = self.accepted(&path, 0o700).map_err(PortError::transient)?;
                    *word = file.display().to_string();
                }
                None if at == 0 && word.contains('/') && !word.starts_with('/') => {
                    return Err(self.refuse(format!(
                        "{word} was not accepted: commit it to the primary branch and run `shopfloor config accept`, or name a program outside of the repository"
                    )));
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Puts one of the accepted files into the session's folder: where it is there.
    fn accepted(&self, path: &str, mode: u32) -> io::Result<PathBuf> {
        let folder = self.layout.session(self.start.epoch).join("accepted");
        let file = folder.join(path);
        let text = self.config.files.get(path).map_or("", String::as_str);
        std::fs::create_dir_all(file.parent().unwrap_or(&folder))?;
        write_atomic(&file, text.as_bytes(), mode)?;
        Ok(file)
    }

    /// The conversation to continue, if the client can.
    fn conversation(&self) -> Option<&str> {
        self.start.resume.as_ref()?.conversation.as_deref()
    }

    /// Tells the client beforehand whatever it needs: to call our hooks, and to ask nobody at its start.
    fn set_up(&self, env: &mut Environment, values: &mut Values) -> PortResult<()> {
        match self.config.spec.setup {
            Setup::Nothing => Ok(()),
            Setup::Claude => self.set_up_claude(env, values),
            Setup::Codex => self.set_up_codex(env, values),
        }
    }

    /// On the agents' PATH, and there for as long as the floor is.
    fn program(&self) -> PathBuf {
        self.layout.bin().join("shopfloor")
    }

    fn set_up_claude(&self, env: &mut Environment, values: &mut Values) -> PortResult<()> {
        let (epoch, role) = (self.start.epoch, self.start.role);
        let folder = self.layout.session(epoch);
        let home = client::variable(env, "HOME").map(PathBuf::from);
        let config = client::variable(env, "CLAUDE_CONFIG_DIR").map(PathBuf::from);
        let (words, no_mcp) = match role.reviews() {
            false => {
                let accepted = self.accepted_servers().map_err(PortError::transient)?;
                mcp::claude(self.config.mcp, &accepted, self.cwd)
            }
            true => {
                let users = home.as_ref().map(|home| trust::claude_file(home, config.as_deref()));
                (self.alone(users.as_deref()).map_err(PortError::transient)?, vec![])
            }
        };
        let result = result_file(self.layout, epoch);
        let files = rules::Files {
            phase: self.phase_file,
            prompt: &prompt_file(&folder),
            scratch: &scratch(self.layout, epoch),
            result: role.reviews().then_some(&result),
        };
        let rules = ClaudeRules { allow: rules::claude(role, &self.config.allow, &files), no_mcp };
        let settings = settings::claude_settings(&self.program(), &rules).to_string();
        let file = folder.join("settings.json");
        write_atomic(&file, settings.as_bytes(), 0o600).map_err(PortError::transient)?;
        values.insert("settings_file".into(), vec![file.display().to_string()]);
        if !words.is_empty() {
            values.insert("overrides".into(), words);
        }
        let Some(home) = home else { return Ok(()) };
        let own = settings::Client::Claude.user_file(&home, config.as_deref());
        let skip = values.get("permission_mode").is_some_and(|mode| mode == &["bypassPermissions"]);
        if !self.config.isolation.is_on() {
            trust::settle(env, self.cwd, skip).map_err(PortError::transient)?;
        }
        env.extend(through::own_line(&own).map(|own| (through::STATUS_LINE.into(), own.into())));
        Ok(())
    }

    /// What keeps Claude Code from what the change that it reviews says to its settings, hooks and servers.
    fn alone(&self, users: Option<&Path>) -> io::Result<Vec<String>> {
        let copy = self.layout.session(self.start.epoch).join("mcp.json");
        let servers = mcp::claude_reviewer(self.config.mcp, &self.accepted_servers()?, users, &copy)?;
        Ok(["--setting-sources".to_owned(), "user".to_owned()].into_iter().chain(servers).collect())
    }

    /// A folder with the project's files about servers as they were accepted, in their places.
    fn accepted_servers(&self) -> io::Result<PathBuf> {
        let folder = self.layout.session(self.start.epoch).join("accepted");
        for name in [mcp::CLAUDE_FILE, mcp::CODEX_FILE] {
            if self.config.files.contains_key(name) {
                self.accepted(name, 0o600)?;
            }
        }
        Ok(folder)
    }

    fn set_up_codex(&self, env: &mut Environment, values: &mut Values) -> PortResult<()> {
        let session = self.layout.session(self.start.epoch);
        let file = codex::home(env).map(|home| home.join("config.toml"));
        // An unreadable configuration was noticed before, and then nothing is started.
        let own = file.map(|file| Configuration::read(&file)).and_then(Result::ok).unwrap_or_default();
        let mut overrides = settings::codex_overrides(&self.program(), self.cwd);
        let accepted = self.accepted_servers().map_err(PortError::transient)?;
        overrides.extend(mcp::codex(self.config.mcp, &own, &accepted, self.cwd));
        let mut folders = own.writable();
        folders
            .extend(git_folders(self.layout, &self.start.project, self.cwd).map_err(PortError::transient)?);
        folders.extend(self.phase_file.parent().map(Path::to_owned));
        folders.push(session.clone());
        match self.config.isolation.is_on() {
            // A sandbox in a jail would only be in the way of its own folders.
            true => overrides.extend(settings::codex_unconfined()),
            false => overrides.extend(settings::codex_writable(&folders)),
        }
        values.insert("overrides".into(), overrides);
        let allowed: Vec<String> = self.config.allow.commands().collect();
        for (name, words) in [(through::NOTIFY, own.notify()), (through::ALLOW, Some(allowed))] {
            env.extend(words.map(|words| (name.into(), serde_json::json!(words).to_string().into())));
        }
        Ok(())
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
        set("name", tmux_name(start.role, &start.project, start.assignment, start.epoch));
        set("role", start.role.to_string());
        set("prompt_file", prompt_file(&folder).display().to_string());
        set("session_dir", folder.display().to_string());
        set("session_id", conversation(&folder)?);
        set("worktree", self.cwd.display().to_string());
        Ok(values)
    }
}

/// The id of a session's conversation, where we choose it: a UUID, recorded before the client gets it.
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
