//! A floor of a test's own, in a folder that goes away with it, and its tmux server as well.

use shopfloor_adapters::host::command;
use shopfloor_core::ids::{IssueNumber, ProjectName, Seq};
use shopfloor_core::state::Job;
use shopfloor_engine::Engine;
use shopfloor_store::Store;
use shopfloor_store::forge::{ForgeDb, NewIssue};
use shopfloor_store::sqlite::SqliteStore;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub struct Floor {
    pub folder: TempDir,
    pub project: ProjectName,
    /// What `shopfloor` finds in its environment beside the minimum; it counts over that.
    pub env: Vec<(OsString, OsString)>,
}

/// The checks of the sample project.
const CHECK: &str = "#!/bin/sh\n! grep -rn BROKEN --include='*.txt' .\n";

const CONFIG: &str = r#"
[project]
name = "sample"
primary_branch = "main"
[ci]
steps = [{ name = "check", run = "./check.sh", timeout = "1m" }]
"#;

pub const DEMO: &str = r#"
[agents.dev]
runtime = "demo"
[agents.review]
runtime = "demo"
[limits]
max_jobs = 2
respawn_backoff = "10ms"
"#;

/// In the environment of tests that are run as somebody else: a folder of theirs with the program in it.
pub const THEIRS: &str = "SHOPFLOOR_TEST_THEIRS";

/// Somebody who gives themselves that name, as the factory knows them.
pub fn person(own: &str) -> String {
    format!("{} ({own})", shopfloor_adapters::host::user::name())
}

/// The level of isolation for tests that are about something else. Many of them have agents and checks that look at
/// what a test left outside, so it is "none" unless somebody wants to know.
const LEVEL: &str = "SHOPFLOOR_TEST_ISOLATION";

impl Floor {
    /// A registered project whose configuration ends with `config`.
    pub fn new(config: &str) -> Floor {
        Floor::within(&std::env::temp_dir(), config)
    }

    /// The same in a folder of that folder.
    pub fn within(place: &Path, config: &str) -> Floor {
        let folder = tempfile::Builder::new().prefix("floor").tempdir_in(place).expect("a folder");
        let floor = Floor { folder, project: "sample".parse().expect("a good name"), env: Vec::new() };
        for part in ["home", "repo", "phases"] {
            std::fs::create_dir(floor.path(part)).expect("a folder");
        }
        copy_all(sample().path(), &floor.path("repo"));
        floor.ok(&["init", "--name", "sample"]);
        std::fs::write(floor.path("repo/shopfloor.toml"), format!("{CONFIG}{config}")).expect("written");
        let sessions = format!("[sessions]\nphase_dir = \"{}\"\n", floor.path("phases").display());
        std::fs::write(floor.home().join("floor.toml"), sessions).expect("written");
        floor.isolate(&std::env::var(LEVEL).unwrap_or_else(|_| "none".into()));
        floor.accept();
        floor
    }

    /// From now on, that is the level of isolation.
    pub fn isolate(&self, level: &str) {
        let file = self.home().join("floor.toml");
        let text = std::fs::read_to_string(&file).expect("it is there");
        let named = |level: &str| format!("[isolation]\nlevel = \"{level}\"\n");
        let known = ["none", "sandbox", "network", "auto"].map(named);
        let text = match known.iter().find(|known| text.contains(known.as_str())) {
            Some(known) => text.replace(known, &named(level)),
            None => text + &named(level),
        };
        std::fs::write(file, text).expect("written");
    }

    /// Changes the project's configuration, and accepts that.
    pub fn configure(&self, change: impl FnOnce(&str) -> String) {
        self.edit(change);
        self.accept();
    }

    /// Changes what the project's file says, and nothing more.
    pub fn edit(&self, change: impl FnOnce(&str) -> String) {
        let file = self.path("repo/shopfloor.toml");
        let text = std::fs::read_to_string(&file).expect("it is there");
        std::fs::write(file, change(&text)).expect("written");
    }

    /// A person accepts what the project's files say now.
    pub fn accept(&self) {
        self.ok(&["config", "accept"]);
    }

    /// Another project of the same floor, with checks that pass.
    pub fn beside(&self, name: &str, config: &str) -> ProjectName {
        let repo = self.path(name);
        std::fs::create_dir(&repo).expect("a folder");
        let git = |args: &[&str]| git_in(&repo, &self.path("home"), args);
        git(&["init", "--quiet", "-b", "main"]);
        let me = ["-c", "user.name=Somebody", "-c", "user.email=somebody@localhost"];
        git(&[&me[..], &["commit", "--quiet", "--allow-empty", "-m", "begin"]].concat());
        let init = self.command(&["init", "--name", name]).current_dir(&repo).output().expect("it runs");
        assert!(init.status.success(), "{}", String::from_utf8_lossy(&init.stderr));
        let own = CONFIG.replace("sample", name).replace("./check.sh", "true");
        std::fs::write(repo.join("shopfloor.toml"), format!("{own}{config}")).expect("written");
        self.ok(&["config", "accept", "--project", name]);
        name.parse().expect("a good name")
    }

    pub fn path(&self, part: &str) -> PathBuf {
        self.folder.path().join(part)
    }

    pub fn home(&self) -> PathBuf {
        self.path("floor")
    }

    /// `shopfloor`, with an environment of its own.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command
            .args(args)
            .current_dir(self.path("repo"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path("home"))
            .env("SHOPFLOOR_HOME", self.home())
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }

    /// A PATH on which a script comes before the program of that name.
    pub fn stand_in(&self, program: &str, script: &str) -> String {
        let folder = self.path("fake");
        std::fs::create_dir_all(&folder).expect("a folder");
        let file = folder.join(program);
        std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).expect("written");
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).expect("executable");
        format!("{}:{}", folder.display(), std::env::var("PATH").expect("a PATH"))
    }

    /// A PATH with the real program behind one that keeps its arguments, and what it was run with so far.
    pub fn counting(&self, program: &str) -> (String, impl Fn() -> Vec<String> + use<>) {
        self.counting_with(program, ":")
    }

    /// The same; a command of the shell is run first.
    pub fn counting_with(&self, program: &str, first: &str) -> (String, impl Fn() -> Vec<String> + use<>) {
        let log = self.path(&format!("{program}.log"));
        let real = on_path(program);
        let script = format!("{first}\necho \"$*\" >> {}\nexec {} \"$@\"", log.display(), real.display());
        let path = self.stand_in(program, &script);
        let runs = move || {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            text.lines().map(str::to_owned).collect()
        };
        (path, runs)
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("the binary runs")
    }

    /// Runs it and expects success: what it printed.
    pub fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let text =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{args:?}: {}\n{text}", output.status);
        text
    }

    /// Runs it with `--json`: its exit code, and what it answered.
    pub fn json(&self, args: &[&str]) -> (i32, serde_json::Value) {
        // Before any `--`, after which words are a command's.
        let (own, rest) = args.split_at(args.iter().position(|word| *word == "--").unwrap_or(args.len()));
        let output = self.run(&[own, &["--json"], rest].concat());
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let answer = serde_json::from_str(&text)
            .unwrap_or_else(|e| panic!("{args:?}: {e}\n{text}{}", String::from_utf8_lossy(&output.stderr)));
        (output.status.code().unwrap_or(-1), answer)
    }

    /// The exit code of `up --until-idle`, and what it printed.
    pub fn until_idle(&self) -> (i32, String) {
        let output = self.run(&["up", "--until-idle"]);
        let text =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.code().unwrap_or(-1), text)
    }

    pub fn issue(&self, title: &str, body: &str) -> IssueNumber {
        self.issue_after(title, body, &[])
    }

    pub fn issue_after(&self, title: &str, body: &str, deps: &[IssueNumber]) -> IssueNumber {
        self.issue_of(&self.project, title, body, deps)
    }

    pub fn issue_of(
        &self,
        project: &ProjectName,
        title: &str,
        body: &str,
        deps: &[IssueNumber],
    ) -> IssueNumber {
        let mut forge = self.forge();
        let labels = vec!["backlog".to_owned()];
        let new = NewIssue {
            title: title.to_owned(),
            body: body.to_owned(),
            author: "somebody".to_owned(),
            labels,
            deps: deps.to_vec(),
        };
        forge.create_issue(project, &new).expect("an issue")
    }

    pub fn forge(&self) -> ForgeDb {
        ForgeDb::open(&self.home().join("floor.db")).expect("the forge")
    }

    pub fn engine(&self) -> Engine<SqliteStore> {
        Engine::open(SqliteStore::open(&self.home().join("floor.db")).expect("the store")).expect("the floor")
    }

    pub fn job(&self, issue: IssueNumber) -> Job {
        self.engine().floor().job_of(&self.project, issue).expect("a job").clone()
    }

    /// git in the user's checkout.
    pub fn git(&self, args: &[&str]) -> String {
        git_in(&self.path("repo"), &self.path("home"), args)
    }

    /// git in the user's checkout, until it works: the factory may be bringing that up to date just then.
    pub fn git_insists(&self, args: &[&str]) {
        wait_for(&format!("git {args:?}"), || {
            run_git(&self.path("repo"), &self.path("home"), args).status.success()
        });
    }

    /// git in the hub.
    pub fn hub(&self, args: &[&str]) -> String {
        git_in(&self.home().join("projects/sample/hub.git"), &self.path("home"), args)
    }

    /// A file of the primary branch, as it landed.
    pub fn landed(&self, path: &str) -> String {
        self.hub(&["show", &format!("main:{path}")])
    }

    /// Every first-parent commit of the primary branch passes the checks, and every one it ever pointed at.
    pub fn assert_history_green(&self) {
        let pointed_at = self.hub(&["reflog", "show", "--format=%H", "main"]);
        let line = self.hub(&["rev-list", "--first-parent", "main"]);
        for commit in pointed_at.lines().chain(line.lines()) {
            let broken = Command::new("git")
                .args(["grep", "-q", "BROKEN", commit, "--", "*.txt"])
                .current_dir(self.home().join("projects/sample/hub.git"))
                .status()
                .expect("git runs");
            assert_eq!(broken.code(), Some(1), "commit {commit} holds something broken");
        }
        self.hub(&["fsck", "--strict", "--no-progress"]);
    }

    /// No pane, no agent, no worktree is left of a job that landed.
    pub fn assert_cleaned_up(&self, issue: IssueNumber) {
        assert!(!self.home().join(format!("projects/sample/worktrees/issue-{issue}")).exists());
        assert_eq!(self.hub(&["for-each-ref", &format!("refs/heads/fix/issue-{issue}")]), "");
        let sessions = self.tmux(&["list-sessions", "-F", "#S"]);
        assert!(!sessions.contains(&format!("-{issue}-e")), "{sessions}");
        let seen = self.forge().issue(&self.project, issue).expect("the issue");
        assert_eq!(format!("{:?}", seen.state), "Closed");
        assert!(!seen.labels.iter().any(|l| l == "in-progress" || l == "backlog"), "{:?}", seen.labels);
    }

    pub fn tmux(&self, args: &[&str]) -> String {
        let output = Command::new("tmux")
            .arg("-S")
            .arg(self.home().join("tmux.sock"))
            .args(args)
            .stdin(Stdio::null())
            .output()
            .expect("tmux runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Floor {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let entries = self.engine().store().journal(Seq(0), 10_000).unwrap_or_default();
            for entry in entries {
                let body: String = entry.body.chars().take(2_000).collect();
                eprintln!("{} {} {:?} {} {body}", entry.seq, entry.kind, entry.issue, entry.text);
            }
        }
        self.run(&["down", "--now"]);
        self.tmux(&["kill-server"]);
    }
}

/// Waits for something that no event tells of; the bound is for a test that would never end.
pub fn wait_for(what: &str, mut happened: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !happened() {
        assert!(Instant::now() < deadline, "{what}");
        // Looking again at once would take the core from what is waited for.
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Git as a person runs it, with nothing of whoever runs the tests.
pub fn run_git(folder: &Path, home: &Path, args: &[&str]) -> Output {
    let path = std::env::var_os("PATH").unwrap_or_default();
    command::named("git", &path)
        .args(args)
        .current_dir(folder)
        .env_clear()
        .env("PATH", &path)
        .env("HOME", home)
        .stdin(Stdio::null())
        .output()
        .expect("git runs")
}

pub fn git_in(folder: &Path, home: &Path, args: &[&str]) -> String {
    let output = run_git(folder, home, args);
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
}

/// The repository that every sample project begins as, made once.
/// The folder of the ordinary user that these tests are run as.
fn theirs() -> Option<PathBuf> {
    std::env::var_os(THEIRS).map(PathBuf::from)
}

/// The program that is tested.
pub fn binary() -> PathBuf {
    theirs().map_or_else(|| env!("CARGO_BIN_EXE_shopfloor").into(), |theirs| theirs.join("shopfloor"))
}

fn sample() -> &'static TempDir {
    static SAMPLE: OnceLock<TempDir> = OnceLock::new();
    SAMPLE.get_or_init(|| {
        let place = theirs().unwrap_or_else(|| env!("CARGO_TARGET_TMPDIR").into());
        let folder = tempfile::tempdir_in(place).expect("a folder");
        let git = |args: &[&str]| git_in(folder.path(), folder.path(), args);
        git(&["init", "--quiet", "--template=", "-b", "main"]);
        git(&["config", "user.name", "Somebody"]);
        git(&["config", "user.email", "somebody@localhost"]);
        let check = folder.path().join("check.sh");
        std::fs::write(&check, CHECK).expect("written");
        std::fs::set_permissions(check, PermissionsExt::from_mode(0o755)).expect("executable");
        std::fs::write(folder.path().join("README"), "sample\n").expect("written");
        git(&["add", "-A"]);
        git(&["commit", "--quiet", "-m", "begin"]);
        folder
    })
}

fn copy_all(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry")) {
        let to = to.join(entry.file_name());
        if entry.file_type().expect("its kind").is_dir() {
            std::fs::create_dir(&to).expect("a folder");
            copy_all(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).expect("copied");
        }
    }
}

/// Where a program that is installed is.
pub fn on_path(program: &str) -> PathBuf {
    let folders = std::env::var_os("PATH").expect("a PATH");
    let mut found = std::env::split_paths(&folders).map(|folder| folder.join(program));
    found.find(|file| file.exists()).unwrap_or_else(|| panic!("{program} is not installed"))
}
