//! Where a client is tried: a home, a project, a tmux server and a model of the trial's own. Nothing of
//! the user's is read or written: its environment is made here, and its key is a dummy.

use super::super::scratch::Scratch;
use super::model::Model;
use crate::cli::now;
use serde_json::json;
use shopfloor_adapters::agent::settings::ClaudeRules;
use shopfloor_adapters::agent::spool::{self, HookReport};
use shopfloor_adapters::agent::transcript::{TurnLine, parse_rollout_line};
use shopfloor_adapters::agent::{settings, trust};
use shopfloor_adapters::host::command;
use shopfloor_adapters::layout::Layout;
use shopfloor_adapters::terminal::tmux::{Probe, SpawnSpec, Tmux};
use shopfloor_core::ids::Epoch;
use shopfloor_core::liveness::HookEvent;
use shopfloor_core::runtime::screen::{self, Composer, Reading};
use shopfloor_core::runtime::{Launch, Meaning, RuntimeSpec, Setup, TranscriptKind, Values};
use shopfloor_desk::time::utc_offset;
use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const KEY: &str = "dummy-key";
/// The only session of the trial's floor.
const EPOCH: Epoch = Epoch(1);
/// The longest wait for anything a client does.
const WITHIN: Duration = Duration::from_secs(45);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(50);
const OUTPUT_LINES: u32 = 60;
const GIT_TIMEOUT: Duration = Duration::from_secs(20);

pub struct Trial<'a> {
    /// Goes away last.
    folder: Scratch,
    layout: Layout,
    spec: &'a RuntimeSpec,
    pub model: Model,
    tmux: Tmux,
    /// `shopfloor`, which the client calls.
    program: PathBuf,
    path: OsString,
}

/// Where a client is started.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Trusted,
    Untrusted,
}

impl Place {
    fn folder(self) -> &'static str {
        match self {
            Place::Trusted => "work",
            Place::Untrusted => "strange",
        }
    }
}

impl<'a> Trial<'a> {
    pub fn new(spec: &'a RuntimeSpec) -> Result<Trial<'a>, String> {
        let said = |what: &str, e: &dyn std::fmt::Display| format!("{what}: {e}");
        let program = std::env::current_exe().map_err(|e| said("shopfloor's own program", &e))?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folder = Scratch::new(&spec.name).map_err(|e| e.to_string())?;
        let shown = folder.path().display().to_string();
        let cannot = |e: std::io::Error| format!("{shown}: {e}");
        let layout = Layout::new(folder.join("floor"));
        let model = Model::start().map_err(|e| said("a port on loopback", &e))?;
        let tmux = Tmux::new(folder.join("tmux.sock"), path.clone());
        let trial = Trial { layout, spec, model, tmux, program, path, folder };
        let session = trial.session();
        for part in [trial.folder.join("home/.codex"), trial.folder.join("tmp"), session.clone()] {
            DirBuilder::new().recursive(true).mode(0o700).create(&part).map_err(cannot)?;
        }
        for place in [Place::Trusted, Place::Untrusted] {
            let work = trial.folder.join(place.folder());
            let mut git = Command::new("git");
            git.args(["init", "--quiet", "-b", "main"]).arg(&work).env_clear();
            git.env("PATH", &trial.path).env("HOME", trial.folder.join("home"));
            command::run(&mut git, GIT_TIMEOUT).map_err(|e| said("git", &e))?;
        }
        trial.seed(&session).map_err(cannot)?;
        Ok(trial)
    }

    fn session(&self) -> PathBuf {
        self.layout.session(EPOCH)
    }

    /// What the client is told beforehand, so that it asks nobody and reports to the trial.
    fn seed(&self, session: &Path) -> std::io::Result<()> {
        let home = self.folder.join("home");
        let state = json!({ "theme": "dark", "autoUpdates": false });
        std::fs::write(home.join(".claude.json"), state.to_string())?;
        let answers = trust::Answers {
            worktree: &self.folder.join(Place::Trusted.folder()),
            worktrees: None,
            skip_permissions: true,
            key: Some(KEY),
        };
        trust::seed_claude(&trust::claude_file(&home, None), &answers)?;
        let settings = settings::claude_settings(&self.program, &ClaudeRules::default());
        std::fs::write(session.join("settings.json"), settings.to_string())?;
        let config = format!(
            "model = \"trial\"\nmodel_provider = \"trial\"\ncheck_for_update_on_startup = false\n\
             sandbox_mode = \"danger-full-access\"\n[analytics]\nenabled = false\n\
             [model_providers.trial]\nname = \"trial\"\nbase_url = \"http://127.0.0.1:{}/v1\"\n\
             wire_api = \"responses\"\nenv_key = \"OPENAI_API_KEY\"\nrequest_max_retries = 1\nstream_max_retries = 1\n",
            self.model.port()
        );
        std::fs::write(home.join(".codex/config.toml"), config)
    }

    fn values(&self, conversation: &str) -> Values {
        let word = |text: &str| vec![text.to_owned()];
        let path = |path: PathBuf| vec![path.display().to_string()];
        let trusted = self.folder.join(Place::Trusted.folder());
        let mode = match self.spec.setup {
            Setup::Codex => "never",
            _ => "bypassPermissions",
        };
        let mut values = Values::from([
            ("session_id".to_owned(), word(conversation)),
            ("settings_file".to_owned(), path(self.session().join("settings.json"))),
            ("permission_mode".to_owned(), word(mode)),
            ("name".to_owned(), word("trial")),
            ("role".to_owned(), word("dev")),
        ]);
        if self.spec.setup == Setup::Codex {
            values.insert("overrides".to_owned(), settings::codex_overrides(&self.program, &trusted));
        }
        values
    }

    fn environment(&self, place: Place) -> Vec<(OsString, OsString)> {
        let url = format!("http://127.0.0.1:{}", self.model.port());
        let set: [(&str, OsString); 19] = [
            ("PATH", self.path.clone()),
            ("HOME", self.folder.join("home").into()),
            ("TMPDIR", self.folder.join("tmp").into()),
            ("CLAUDE_CODE_TMPDIR", self.folder.join("tmp").into()),
            ("LANG", "C.UTF-8".into()),
            ("SHELL", "/bin/sh".into()),
            ("ANTHROPIC_BASE_URL", url.into()),
            ("ANTHROPIC_API_KEY", KEY.into()),
            ("OPENAI_API_KEY", KEY.into()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()),
            ("CLAUDE_CODE_MAX_RETRIES", "1".into()),
            ("DISABLE_AUTOUPDATER", "1".into()),
            // Root may skip permissions in a sandbox only; here nothing can be reached or broken.
            ("IS_SANDBOX", "1".into()),
            ("SHOPFLOOR_HOME", self.layout.root().into()),
            ("SHOPFLOOR_SESSION", EPOCH.to_string().into()),
            ("SHOPFLOOR_ROLE", "dev".into()),
            ("SHOPFLOOR_BRANCH", "fix/issue-1".into()),
            ("SHOPFLOOR_PRIMARY_BRANCH", "main".into()),
            ("SHOPFLOOR_WORKTREE", self.folder.join(place.folder()).into()),
        ];
        set.into_iter().map(|(name, value)| (name.into(), value)).collect()
    }

    /// Starts the client in a session of that name.
    pub fn start<'t>(
        &'t self,
        name: &'static str,
        launch: &Launch,
        conversation: &str,
        place: Place,
    ) -> Result<Pane<'t>, String> {
        let argv = launch.argv(&self.values(conversation)).map_err(|e| e.to_string())?;
        let argv = argv.into_iter().map(OsString::from).collect();
        let cwd = self.folder.join(place.folder());
        let spec = SpawnSpec { name: name.to_owned(), cwd, argv, env: self.environment(place) };
        self.tmux.spawn(&spec).map_err(|e| e.to_string())?;
        Ok(Pane { trial: self, name })
    }

    /// What the client told so far.
    pub fn told(&self) -> Vec<HookReport> {
        spool::read_new(&self.session(), 0).map(|batch| batch.told).unwrap_or_default()
    }

    pub fn count(&self, is: impl Fn(&HookEvent) -> bool) -> usize {
        self.told().iter().filter(|told| is(&told.event)).count()
    }

    /// Turns whose end the client's own log tells.
    pub fn logged(&self) -> Vec<TurnLine> {
        if self.spec.transcript != TranscriptKind::Rollout {
            return Vec::new();
        }
        let Some(file) = self.told().into_iter().rev().find_map(|told| told.transcript) else {
            return Vec::new();
        };
        let text = std::fs::read_to_string(file).unwrap_or_default();
        text.lines().filter_map(|line| parse_rollout_line(line, |name| self.spec.error_kind(name))).collect()
    }

    /// The clock of the status line.
    pub fn clock(&self) -> Option<shopfloor_core::runtime::statusline::Clock> {
        spool::read_line(&self.session()).ok()??.fact.clock
    }

    pub fn wait(&self, happened: impl Fn() -> bool) -> bool {
        let deadline = Instant::now() + WITHIN;
        while !happened() {
            if Instant::now() >= deadline {
                return false;
            }
            // Screens cannot be waited for.
            std::thread::sleep(PAUSE);
        }
        true
    }
}

impl Drop for Trial<'_> {
    fn drop(&mut self) {
        for (name, _) in self.tmux.list().unwrap_or_default() {
            drop(self.tmux.end(&name));
        }
    }
}

pub struct Pane<'t> {
    trial: &'t Trial<'t>,
    name: &'static str,
}

impl Pane<'_> {
    /// The end of what it printed, also when it has ended.
    pub fn output(&self) -> String {
        self.trial.tmux.capture(self.name, OUTPUT_LINES).unwrap_or_default()
    }

    pub fn reading(&self) -> Reading {
        let screen = self.trial.tmux.screen(self.name).ok().flatten().unwrap_or_default();
        screen::read(self.trial.spec, &screen, now(), utc_offset())
    }

    pub fn title(&self) -> Option<Meaning> {
        let title = self.trial.tmux.pane_title(self.name).ok()??;
        screen::read_title(self.trial.spec, &title).map(|claim| claim.meaning)
    }

    pub fn wait_meaning(&self, is: impl Fn(Meaning) -> bool) -> bool {
        self.trial.wait(|| self.reading().meaning().is_some_and(&is))
    }

    pub fn wait_composer(&self, is: impl Fn(&Composer) -> bool) -> bool {
        self.trial.wait(|| is(&self.reading().composer))
    }

    pub fn has_ended(&self) -> bool {
        !matches!(self.trial.tmux.probe(self.name), Ok(Probe::Alive(_)))
    }

    pub fn paste(&self, text: &str) -> Result<(), String> {
        self.trial.tmux.paste(self.name, text).map_err(|e| e.to_string())
    }

    pub fn press(&self, key: &str) -> Result<(), String> {
        self.trial.tmux.send_key(self.name, key).map_err(|e| e.to_string())
    }

    pub fn end(self) -> Result<(), String> {
        self.trial.tmux.end(self.name).map_err(|e| e.to_string())
    }
}
