//! A floor in a folder of its own, and the program run on it.

use serde_json::Value;
use shopfloor_adapters::layout::Layout;
use shopfloor_core::effect::outcome;
use shopfloor_core::effect::{Outcome, ProcessId};
use shopfloor_core::event::{Event, Observation, Page};
use shopfloor_core::forge::Cursor;
use shopfloor_core::ids::{Assignment, IssueNumber, ProjectName};
use shopfloor_core::policy::Policy;
use shopfloor_core::time::Time;
use shopfloor_engine::Engine;
use shopfloor_store::forge::ForgeDb;
use shopfloor_store::sqlite::SqliteStore;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// Who runs the tests, by the name that the system knows and the one that they give themselves.
pub fn ada() -> String {
    format!("{} (ada)", shopfloor_adapters::host::user::name())
}

pub const BINARY: &str = env!("CARGO_BIN_EXE_shopfloor");
pub const HEAD: &str = "0123456789abcdef0123456789abcdef01234567";

pub struct TestFloor {
    dir: TempDir,
}

pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

pub fn name(name: &str) -> ProjectName {
    name.parse().unwrap()
}

pub fn now() -> Time {
    Time(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64)
}

impl TestFloor {
    /// A machine without a floor.
    pub fn none() -> Self {
        TestFloor { dir: tempfile::tempdir().unwrap() }
    }

    /// A floor with one project, `demo`.
    pub fn new() -> Self {
        let floor = Self::none();
        floor.add_project("demo");
        floor
    }

    pub fn add_project(&self, project: &str) {
        std::fs::create_dir_all(self.home()).unwrap();
        let checkout = self.dir.path().join("code").join(project);
        std::fs::create_dir_all(&checkout).unwrap();
        let config = format!("[project]\nname = \"{project}\"\n[ci]\nno_checks = true\n");
        std::fs::write(checkout.join("shopfloor.toml"), config).unwrap();
        let project = name(project);
        let checkout = checkout.to_str().unwrap().to_owned();
        let policy = Policy { review_agent: false, ..Policy::default() };
        self.submit(&Event::ProjectSet { project: project.clone(), checkout, policy });
        self.perform(
            "check_agents",
            Outcome::AgentsChecked(outcome::AgentsChecked { troubles: vec![], unset: vec![] }),
        );
        self.forge().init_project(&project).unwrap();
    }

    pub fn root(&self) -> &Path {
        self.dir.path()
    }

    pub fn home(&self) -> PathBuf {
        self.dir.path().join("floor")
    }

    pub fn layout(&self) -> Layout {
        Layout::new(self.home())
    }

    pub fn database(&self) -> PathBuf {
        self.layout().database()
    }

    pub fn forge(&self) -> ForgeDb {
        ForgeDb::open(&self.database()).unwrap()
    }

    pub fn engine(&self) -> Engine<SqliteStore> {
        Engine::open(SqliteStore::open(&self.database()).unwrap()).unwrap()
    }

    pub fn submit(&self, event: &Event) {
        self.engine().submit(now(), event).unwrap();
    }

    /// The daemon's part: takes in what the forge shows of an issue that asks for work.
    pub fn observe_ready(&self, issue: u64, title: &str) {
        let seen = Observation::Issue {
            number: IssueNumber(issue),
            title: title.into(),
            labels: vec!["backlog".into()],
            open: true,
            deps: vec![],
            created_at: Time(1),
            by: None,
            revision: 0,
            version: Default::default(),
            hints: Default::default(),
        };
        // As far as the forge was read: what it holds now.
        let page = Page { cursor: Cursor::new("1000"), ..Page::of(seen) };
        self.submit(&Event::Observed { project: name("demo"), page });
    }

    /// The daemon's part: performs the first pending effect of that name with this outcome.
    pub fn perform(&self, action: &str, outcome: Outcome) {
        let mut engine = self.engine();
        let outbox = engine.outbox().unwrap();
        let queued = outbox.iter().find(|q| q.action.name() == action).unwrap_or_else(|| {
            panic!("no {action} in {:?}", outbox.iter().map(|q| q.action.name()).collect::<Vec<_>>())
        });
        engine.complete(now(), queued, outcome).unwrap();
    }

    /// Which checks the project has, as reports name them.
    pub fn checks(&self) -> String {
        self.engine().floor().policy(&name("demo")).checks
    }

    /// Issue 1 with an agent at work: this test's own process.
    pub fn at_work(&self) -> ProcessId {
        let process = shopfloor_adapters::host::process::identify(std::process::id()).unwrap();
        self.run(&["issue", "add", "Say hello", "--label", "backlog"]).fine();
        self.observe_ready(1, "Say hello");
        let issue = Assignment::Issue(IssueNumber(1));
        let path = self.layout().worktree(&name("demo"), shopfloor_core::ids::Role::DEV, issue);
        std::fs::create_dir_all(&path).unwrap();
        let path = path.to_str().unwrap().to_owned();
        self.perform(
            "prepare_worktree",
            Outcome::WorktreeReady(outcome::WorktreeReady {
                path,
                head: HEAD.parse().unwrap(),
                notes: vec![],
            }),
        );
        self.perform(
            "start_session",
            Outcome::SessionStarted(outcome::SessionStarted {
                tmux: "dev-demo-1-e1".into(),
                process,
                phase_file: "/nowhere/phase".into(),
                runtime: "generic".into(),
                prompt: None,
                notes: vec![],
            }),
        );
        process
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(BINARY);
        command
            .args(args)
            .current_dir(self.dir.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.dir.path())
            .env("SHOPFLOOR_HOME", self.home())
            .env("USER", "ada")
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        ran(&mut self.command(args))
    }

    pub fn json(&self, args: &[&str]) -> Value {
        let mut all = args.to_vec();
        all.push("--json");
        let ran = self.run(&all).fine();
        serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}\n{}", ran.stdout))
    }
}

pub fn ran(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ran { code: output.status.code().unwrap_or(-1), stdout: text(output.stdout), stderr: text(output.stderr) }
}

impl Ran {
    #[track_caller]
    pub fn fine(self) -> Self {
        assert_eq!(self.code, 0, "stdout: {}\nstderr: {}", self.stdout, self.stderr);
        self
    }

    #[track_caller]
    pub fn shows(&self, text: &str) -> &Self {
        assert!(self.stdout.contains(text), "{text:?} is not in:\n{}", self.stdout);
        self
    }
}
