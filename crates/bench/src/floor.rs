//! A floor of the bench's own: a folder, a home, a project, and the release binary to run on it.

use anyhow::{Context, Result, bail};
use shopfloor_adapters::git::{Caps, Git, GitProject, GitWorkspace};
use shopfloor_adapters::layout::Layout;
use shopfloor_core::ids::{IssueNumber, ProjectName};
use shopfloor_core::label::Label;
use shopfloor_core::redact::Redactor;
use shopfloor_core::state::Floor;
use shopfloor_engine::Engine;
use shopfloor_store::forge::{ForgeDb, NewIssue};
use shopfloor_store::sqlite::SqliteStore;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub const PROJECT: &str = "bench";

/// An agent that does nothing by itself.
pub const IDLE_AGENT: &str = r#"["sh", "-c", "sleep 100000"]"#;

/// An agent that makes a small change of its own, and has it checked and merged. There are only so many files: what
/// thousands of issues cost is not to be what a project of thousands of files costs.
pub const WORKER: &str = r#"["sh", "-euc", '''
echo "made for $ISSUE" > "change-$((ISSUE % 50))"
git add --all
git commit --quiet --message "Change $ISSUE"
shopfloor phase awaiting_ci
shopfloor inbox wait > inbox.log
shopfloor phase awaiting_review
exec sleep 100000
''']"#;

pub struct BenchFloor {
    pub dir: PathBuf,
    binary: PathBuf,
    pub layout: Layout,
}

impl BenchFloor {
    pub fn make(dir: PathBuf, binary: &Path, agent: &str) -> Result<Self> {
        let layout = Layout::new(dir.join("floor"));
        let floor = BenchFloor { dir, binary: binary.to_owned(), layout };
        let (checkout, home, phases) = (floor.checkout(), floor.dir.join("home"), floor.dir.join("phases"));
        for folder in [&checkout, &home, &phases] {
            std::fs::create_dir(folder)?;
        }
        std::fs::write(home.join(".gitconfig"), "[user]\n\tname = Bench\n\temail = bench@example.org\n")?;
        std::fs::write(checkout.join("README.md"), "A project to measure with.\n")?;
        floor.must(floor.command("git").args(["init", "--quiet"]))?;
        floor.must(floor.command("git").args(["symbolic-ref", "HEAD", "refs/heads/main"]))?;
        floor.must(floor.command("git").args(["add", "--all"]))?;
        floor.must(floor.command("git").args(["commit", "--quiet", "--message", "Begin"]))?;
        floor.must(floor.shopfloor().args(["init", "--name", PROJECT]))?;
        let phases = phases.to_str().context("the bench's folder has an odd name")?;
        // What jails cost is measured by itself.
        let level = std::env::var("SHOPFLOOR_BENCH_ISOLATION").unwrap_or_else(|_| "none".to_owned());
        std::fs::write(
            floor.layout.config(),
            format!("[sessions]\nphase_dir = {phases:?}\n[isolation]\nlevel = {level:?}\n"),
        )?;
        floor.write_config(&project_config(agent))?;
        Ok(floor)
    }

    /// So many jobs at a time.
    pub fn limit_jobs(&self, max: u64) -> Result<()> {
        let file = self.checkout().join("shopfloor.toml");
        let text = std::fs::read_to_string(&file)?;
        Ok(std::fs::write(file, format!("{text}\n[limits]\nmax_jobs = {max}\n"))?)
    }

    /// An issue that asks for work.
    pub fn ask_for(&self, title: &str, body: &str) -> Result<IssueNumber> {
        let new = NewIssue {
            title: title.into(),
            body: body.into(),
            author: "bench".into(),
            labels: vec![Label::Backlog.as_str().into()],
            deps: Vec::new(),
        };
        Ok(ForgeDb::open(&self.layout.database())?.create_issue(&self.project(), &new)?)
    }

    /// Another configuration of the project, as its person accepts it.
    pub fn write_config(&self, text: &str) -> Result<()> {
        std::fs::write(self.checkout().join("shopfloor.toml"), text)?;
        self.must(self.shopfloor().args(["config", "accept"]))
    }

    pub fn checkout(&self) -> PathBuf {
        self.dir.join("project")
    }

    /// Commits that many files and gives them to the floor.
    pub fn fill_checkout(&self, files: usize) -> Result<()> {
        for n in 0..files {
            let folder = self.checkout().join(format!("d{}", n % 50));
            std::fs::create_dir_all(&folder)?;
            std::fs::write(folder.join(format!("f{n}")), format!("{n}\n").repeat(40))?;
        }
        self.must(self.command("git").args(["add", "--all"]))?;
        self.must(self.command("git").args(["commit", "--quiet", "--message", "Many files"]))?;
        self.must(self.command("git").args(["push", "--quiet", "shopfloor", "main"]))
    }

    /// The floor's git, as the daemon uses it.
    pub fn workspace(&self) -> GitWorkspace {
        let project = GitProject {
            name: self.project(),
            primary_branch: "main".into(),
            checkout: self.checkout(),
            push_rescues: false,
            caps: Caps::default(),
            secrets: Redactor::default(),
            signing: None,
            targets: Vec::new(),
            origin: None,
        };
        let lookup = Arc::new(move |name: &_| (*name == project.name).then(|| project.clone()));
        GitWorkspace::new(Git::new("git", self.environment()), self.layout.clone(), lookup)
    }

    /// What git gets of this process's environment.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        vec![("PATH".into(), path), ("HOME".into(), self.dir.join("home").into())]
    }

    pub fn project(&self) -> ProjectName {
        PROJECT.parse().expect("a valid name")
    }

    /// A command in the project, with nothing of the user's own configuration.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.checkout()).env_clear().stdin(Stdio::null());
        for name in ["PATH", "LANG", "LC_ALL", "TMPDIR"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.env("HOME", self.dir.join("home")).env("SHOPFLOOR_HOME", self.layout.root());
        command.env("TERM", "dumb").env("GIT_CONFIG_NOSYSTEM", "1");
        command
    }

    pub fn shopfloor(&self) -> Command {
        self.command(&self.binary)
    }

    /// Runs it to a good end, quietly.
    pub fn must(&self, command: &mut Command) -> Result<()> {
        self.output(command).map(drop)
    }

    /// What it prints, on its way to a good end.
    pub fn output(&self, command: &mut Command) -> Result<String> {
        let out = command.output().with_context(|| shown(command))?;
        if !out.status.success() {
            bail!("{} ended with {}: {}", shown(command), out.status, String::from_utf8_lossy(&out.stderr));
        }
        Ok(String::from_utf8_lossy(&out.stdout).trim().to_owned())
    }

    pub fn store(&self) -> Result<SqliteStore> {
        Ok(SqliteStore::open(&self.layout.database())?)
    }

    /// Starts the daemon and waits until it answers.
    pub fn up(&self) -> Result<Daemon> {
        let log = std::fs::File::create(self.dir.join("up.log"))?;
        let child = self.shopfloor().arg("up").stdout(log.try_clone()?).stderr(log).spawn()?;
        let mut daemon = Daemon { child };
        let socket = self.layout.daemon_socket();
        wait_until("the daemon answers", || {
            if let Some(status) = daemon.child.try_wait()? {
                let log = std::fs::read_to_string(self.dir.join("up.log")).unwrap_or_default();
                bail!("shopfloor up ended with {status}: {log}");
            }
            Ok(std::os::unix::net::UnixStream::connect(&socket).ok())
        })?;
        Ok(daemon)
    }

    /// The floor's state, once `ready` finds in it what it looks for.
    pub fn await_state<T>(&self, what: &str, ready: impl Fn(&Floor) -> Option<T>) -> Result<T> {
        let mut engine = Engine::open(self.store()?)?;
        wait_until(what, || {
            engine.refresh()?;
            Ok(ready(engine.floor()))
        })
    }
}

impl Drop for BenchFloor {
    fn drop(&mut self) {
        // Its own server, by its own socket; nobody else's.
        let socket = self.layout.tmux_socket();
        if socket.exists() {
            let _ = self.command("tmux").arg("-S").arg(socket).arg("kill-server").output();
        }
        if let Err(e) = std::fs::remove_dir_all(&self.dir) {
            eprintln!("{} could not be removed: {e}", self.dir.display());
        }
    }
}

/// A daemon we started; it is asked to end when dropped.
pub struct Daemon {
    child: Child,
}

impl Daemon {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let ended = wait_until("the daemon ends", || Ok(self.child.try_wait()?));
        if ended.is_err() {
            eprintln!("the daemon did not end when asked to");
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// The command as one would type it.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|w| w.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// Looks every few milliseconds, for five minutes at most.
pub fn wait_until<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(300) {
        if let Some(found) = look()? {
            return Ok(found);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    bail!("waited five minutes in vain: {what}")
}

fn project_config(agent: &str) -> String {
    format!(
        r#"[project]
name = "{PROJECT}"
primary_branch = "main"

[ci]
steps = [{{ name = "true", run = "true" }}]

[agents.dev]
runtime = "generic"
command = {agent}

[review]
required = false
"#
    )
}
