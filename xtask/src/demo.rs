//! `cargo xtask demo`: the whole factory on a sample project, and a look at the result with git.

use crate::sample::{self, ANSWER, BRANCH, PROJECT, QUESTION, TASKS};
use crate::sh::{self, Res, Steps, cargo, say};
use crate::verify;
use crate::{install, jobs, leak, week};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

pub struct Options {
    pub keep: bool,
    /// A week of the project in `examples/week` instead.
    pub week: bool,
    pub jobs: u32,
    /// What is missing is installed, also by `sudo`.
    pub yes: bool,
}

/// Where the demo happens. Nothing outside `dir` is written.
pub struct Scene {
    pub dir: PathBuf,
    /// The "user's" checkout.
    pub checkout: PathBuf,
    pub floor: PathBuf,
    pub home: PathBuf,
    binary: PathBuf,
}

impl Scene {
    /// A command with an environment of the demo's own: nothing of the user's configuration.
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.checkout).env_clear();
        for name in ["PATH", "TERM", "LANG", "LC_ALL", "NO_COLOR", "COLUMNS", "TMPDIR"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
            .env("HOME", &self.home)
            .env("SHOPFLOOR_HOME", &self.floor)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_TERMINAL_PROMPT", "0");
        command
    }

    pub fn git(&self, dir: &Path) -> Command {
        let mut command = self.command("git");
        command.current_dir(dir);
        command
    }

    pub fn shopfloor(&self) -> Command {
        self.command(&self.binary)
    }

    pub fn hub(&self) -> PathBuf {
        self.floor.join("projects").join(PROJECT).join("hub.git")
    }
}

pub fn run(options: &Options) -> Res<()> {
    let mut steps = Steps::default();
    steps.step("checking for git, tmux and bubblewrap", || install::ensure_tools(options.yes))?;
    steps.step("cargo build --release -p shopfloor", || {
        sh::run(cargo().args(["build", "--release", "-p", "shopfloor"]))
    })?;
    let binary = sh::target_dir()?.join("release").join("shopfloor");
    let dir = sh::scratch("sf-demo")?;
    let at = |name: &str| dir.join(name);
    let scene =
        Scene { checkout: at("greeter"), floor: at("floor"), home: at("home"), binary, dir: dir.clone() };

    let result = match options.week {
        true => week::play(&scene, &mut steps),
        false => play(&scene, options, &mut steps),
    };
    if options.keep {
        say(format!("kept: {}", dir.display()));
        println!("    the project:  {}", scene.checkout.display());
        println!("    look around:  SHOPFLOOR_HOME={} shopfloor status", scene.floor.display());
    }
    let cleaned = clean_up(&scene, options.keep);
    println!();
    steps.print();
    result.and(cleaned)
}

fn play(scene: &Scene, options: &Options, steps: &mut Steps) -> Res<()> {
    let base =
        steps.step(&format!("a sample project in {}", scene.checkout.display()), || make_project(scene))?;
    steps.step("shopfloor init --name sample", || {
        sh::run(scene.shopfloor().args(["init", "--name", PROJECT]))?;
        sh::write(&scene.checkout.join("shopfloor.toml"), &sample::project_config(options.jobs))?;
        let phases = scene.dir.join("phases");
        std::fs::create_dir(&phases).map_err(|e| format!("{}: {e}", phases.display()))?;
        sh::write(&scene.floor.join("floor.toml"), &sample::floor_config(&phases)?)?;
        sh::run(scene.shopfloor().args(["config", "check"]))?;
        sh::run(scene.shopfloor().args(["config", "accept"]))
    })?;
    steps.step(&format!("{} issues with shopfloor issue add", TASKS.len()), || add_issues(scene))?;
    let night = steps.step("shopfloor up --until-idle", || up(scene))?;
    match night.code() {
        Some(3) => say("3: one waits for a person; its agent stays where it is"),
        _ => say(format!("shopfloor up ended with {night}")),
    }
    steps.step("shopfloor questions, and an answer", || answer(scene))?;
    let up = steps.step("shopfloor up --until-idle, which finds the agent alive", || up(scene))?;
    match up.code() {
        Some(0) => {}
        Some(3) => say("shopfloor up ended with 3: a job ended blocked or failed"),
        _ => say(format!("shopfloor up ended with {up}")),
    }
    let landed = steps.step("verifying with git, not with our own records", || verify::run(scene, &base))?;
    let events = sh::output(scene.shopfloor().args(["events", "--since", "0", "--json"]));
    let events: Value = events.and_then(|text| serde_json::from_str(&text).map_err(|e| e.to_string()))?;
    println!();
    jobs::print(&events, &landed);
    println!();
    let mut problems: Vec<String> = landed.iter().flat_map(|l| l.problems.clone()).collect();
    if !up.success() {
        problems.push(format!("shopfloor up ended with {up}"));
    }
    if problems.is_empty() {
        say(format!("all {} issues are merged, verified with git", TASKS.len()));
        return Ok(());
    }
    Err(format!("the demo failed:\n  {}", problems.join("\n  ")))
}

fn up(scene: &Scene) -> Res<std::process::ExitStatus> {
    let status = scene.shopfloor().args(["up", "--until-idle"]).status();
    status.map_err(|e| format!("shopfloor cannot be run: {e}"))
}

/// Says what the person of the sample project says, to the one question there is.
fn answer(scene: &Scene) -> Res<()> {
    let open = sh::output(scene.shopfloor().args(["questions", "--json"]))?;
    let open: Value = serde_json::from_str(&open).map_err(|e| e.to_string())?;
    let one = open.as_array().filter(|all| all.len() == 1).and_then(|all| all.first());
    let asked = one.filter(|one| one["question"] == QUESTION).and_then(|one| one["id"].as_str());
    let id = asked.ok_or_else(|| format!("one question was expected, {QUESTION:?}, not {open}"))?;
    sh::run(scene.shopfloor().arg("questions"))?;
    sh::run(scene.shopfloor().args(["answer", id, ANSWER]))
}

/// The repository as a user would have made it. Gives its first commit.
fn make_project(scene: &Scene) -> Res<String> {
    sh::write(
        &scene.home.join(".gitconfig"),
        "[user]\n\tname = Demo User\n\temail = demo@example.org\n[init]\n\tdefaultBranch = main\n",
    )?;
    sample::write_project(&scene.checkout)?;
    let git = |args: &[&str]| sh::output(scene.git(&scene.checkout).args(args));
    git(&["init", "--quiet"])?;
    git(&["symbolic-ref", "HEAD", &format!("refs/heads/{BRANCH}")])?;
    git(&["add", "--all"])?;
    git(&["commit", "--quiet", "--message", "A greeter that speaks English"])?;
    git(&["rev-parse", "HEAD"])
}

fn add_issues(scene: &Scene) -> Res<()> {
    for (n, task) in (1..).zip(&TASKS) {
        let file = scene.dir.join("issues").join(format!("{n}.md"));
        sh::write(&file, task.body)?;
        let mut add = scene.shopfloor();
        add.args(["issue", "add", task.title, "--label", "backlog", "--body-file"]).arg(&file);
        sh::run(&mut add)?;
    }
    Ok(())
}

/// Ends what is the demo's, and only that: its own tmux server and processes that name its folder.
fn clean_up(scene: &Scene, keep: bool) -> Res<()> {
    let socket = scene.floor.join("tmux.sock");
    if socket.exists() {
        sh::works(scene.command("tmux").arg("-S").arg(&socket).arg("kill-server"));
    }
    let left = leak::settle(&scene.dir);
    leak::end(&scene.dir, &left);
    if !keep {
        std::fs::remove_dir_all(&scene.dir)
            .map_err(|e| format!("{} cannot be removed: {e}", scene.dir.display()))?;
    }
    if left.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = left.iter().map(|leak| format!("  {} {}", leak.pid, leak.command)).collect();
    Err(format!("the demo left processes behind (and ended them now):\n{}", list.join("\n")))
}
