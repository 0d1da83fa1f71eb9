//! The `shopfloor.toml` that `init` writes: every line can be understood by somebody who reads it
//! for the first time.

use shopfloor_core::ids::{ProjectName, Role};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// A check found in a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub name: String,
    pub run: String,
    /// The file that told.
    pub because: &'static str,
}

impl Check {
    fn new(name: &str, run: &str, because: &'static str) -> Self {
        Check { name: name.into(), run: run.into(), because }
    }
}

/// The checks that the files in a repository's root suggest. A Makefile counts only where nothing
/// more specific is found: its `test` target usually runs the same tests.
pub fn detect(root: &Path) -> Vec<Check> {
    let has = |name: &str| root.join(name).is_file();
    let mut checks = Vec::new();
    if has("Cargo.toml") {
        checks.push(Check::new("cargo-test", "cargo test", "Cargo.toml"));
    }
    if has_npm_test(root) {
        // A clean checkout has no node_modules; with a lock file they can be had reliably.
        let run = if has("package-lock.json") { "npm ci && npm test" } else { "npm test" };
        checks.push(Check::new("npm-test", run, "package.json"));
    }
    if has("go.mod") {
        checks.push(Check::new("go-test", "go test ./...", "go.mod"));
    }
    if let Some(because) = ["pyproject.toml", "pytest.ini", "conftest.py"].into_iter().find(|name| has(name))
    {
        checks.push(Check::new("pytest", "python3 -m pytest", because));
    }
    if checks.is_empty() && has_make_test(root) {
        checks.push(Check::new("make-test", "make test", "Makefile"));
    }
    checks
}

fn has_npm_test(root: &Path) -> bool {
    let package = read(&root.join("package.json"));
    let package: serde_json::Value = serde_json::from_str(&package).unwrap_or_default();
    // `npm init` writes a test script that only fails.
    package["scripts"]["test"]
        .as_str()
        .is_some_and(|script| !script.trim().is_empty() && !script.contains("no test specified"))
}

fn has_make_test(root: &Path) -> bool {
    // `test := x` is a variable.
    read(&root.join("Makefile"))
        .lines()
        .filter_map(|line| line.split_once(':'))
        .any(|(targets, rest)| !rest.starts_with('=') && targets.split(' ').any(|target| target == "test"))
}

/// The text of an ordinary file, empty if there is none; bounded, as a repository may hold anything.
fn read(path: &Path) -> String {
    let mut bytes = Vec::new();
    if fs::metadata(path).is_ok_and(|meta| meta.is_file())
        && let Ok(file) = File::open(path)
        && file.take(1024 * 1024).read_to_end(&mut bytes).is_err()
    {
        bytes.clear();
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The commented configuration of a new project.
pub fn render(name: &ProjectName, primary_branch: &str, checks: &[Check]) -> String {
    TEMPLATE
        .replace("@NAME@", &quote(name.as_str()))
        .replace("@BRANCH@", &quote(primary_branch))
        .replace("@CHECKS@", &render_checks(checks))
        .replace("@OTHERS@", &Role::OTHERS.map(schedule_of).join("\n"))
}

/// When one of the other agents works, switched off. Issues ask for an action, whenever they do.
pub fn schedule_of(role: Role) -> &'static str {
    match role {
        Role::GARDENER => GARDENER,
        Role::SUPERVISOR => SUPERVISOR,
        Role::PREDICTOR => PREDICTOR,
        Role::PLANNER => PLANNER,
        _ => "",
    }
}

fn render_checks(checks: &[Check]) -> String {
    if checks.is_empty() {
        return NO_CHECKS.into();
    }
    let steps = checks.iter().map(|check| {
        let (name, run) = (quote(&check.name), quote(&check.run));
        format!(
            "    # Found because there is a {}.\n    {{ name = {name}, run = {run}, timeout = \"10m\" }},\n",
            check.because
        )
    });
    format!("steps = [\n{}]", steps.collect::<String>())
}

fn quote(text: &str) -> String {
    toml::Value::from(text).to_string()
}

const NO_CHECKS: &str = r##"# No checks were found in this repository, so changes land without any.
# To have them checked, remove the next line and list your own, for example:
#   steps = [{ name = "test", run = "make test", timeout = "10m" }]
no_checks = true"##;

const GARDENER: &str = r##"# Tidies the backlog twice a day: duplicates, issues that are vague, too large, stale or blocked for no reason.
[schedules.gardener]
formula = "gardener"
cron = "0 6,18 * * *"
enabled = false
"##;

const SUPERVISOR: &str = r##"# Looks at the machine and the floor every 20 minutes, and into what the factory cannot explain by itself.
[schedules.supervisor]
formula = "supervisor"
cron = "*/20 * * * *"
on_missed = "skip"
enabled = false
"##;

const PREDICTOR: &str = r##"# Reads trends from the journal every morning, and files at most 5 predictions.
[schedules.predictor]
formula = "predictor"
cron = "0 6 * * *"
tz = "UTC"
enabled = false
"##;

const PLANNER: &str = r##"# Plans once a week from VISION.md, RESOURCES.md and the predictions: at most 5 issues, and its notes as a change.
[schedules.planner]
formula = "planner"
cron = "0 7 * * mon"
tz = "UTC"
enabled = false
"##;

const TEMPLATE: &str = r##"# Shopfloor's configuration of this repository.
# A setting after a `#` shows its default: remove the `#` to change it.
# `shopfloor config show` prints everything that is in force.
# Durations are written "30s", "10m", "3h" or "1h30m".

[project]
# What this project is called on the floor: in commands, paths and session names.
name = @NAME@
# The branch that finished work lands on. Agents never write to it themselves.
primary_branch = @BRANCH@

[forge]
# Where issues and pull requests live. "local" is built in: no server, no account.
kind = "local"

[ci]
# The checks. Each runs with `sh -c` in a clean checkout of exactly the commit in question, so it
# must also install what it needs. Exit code 0 means passed. They run before a review, and again on
# what is about to land. Variables tell them what they check: SHOPFLOOR_PURPOSE (head, trial, base, try),
# SHOPFLOOR_HEAD, SHOPFLOOR_BASE, SHOPFLOOR_BRANCH and SHOPFLOOR_PR, as far as there is one.
@CHECKS@
# Time limit for a whole run, all steps together.
# timeout = "30m"
# Names of environment variables that the checks may see, besides a minimal set.
# pass_env = []
# Changes to these paths alone land without checks; such as "docs/**" or "*.md".
# skip_paths = []
# Words in a failing step's output that say that the machine or the network failed, not the change.
# infra = []
# Whether a head is checked by itself, an agent's before its review and a person's before it is tried as it would
# land: "always", "when-idle" (only while the merge queue needs no run) or "never": then the checks run once, as part
# of the merge. Whatever this says, nothing lands that did not pass as it lands.
# heads = "always"
# The least time the checks can take. A pass that comes sooner is not believed: the runner is broken.
# min_time = "0s"

[agents.dev]
# Who implements issues. "demo" is a scripted agent inside Shopfloor: it uses no AI, needs no
# account and costs nothing; it is there to show you an issue's whole path to the main branch.
# For real work, run any program you like in the issue's worktree:
#   runtime = "generic"
#   command = ["my-agent", "--its-option"]
# It finds its task in the file named by $SHOPFLOOR_PROMPT_FILE, and says that it has committed
# its work with `shopfloor phase awaiting_ci`.
runtime = "demo"

[agents.review]
# Who reviews, likewise. A generic reviewer writes its verdict to $SHOPFLOOR_RESULT_FILE.
runtime = "demo"

[review]
# Whether a change needs an approving review before it lands.
required = true
# timeout = "3h"
# rounds = 5
# How long an agent may have stopped without a review before it is replaced.
# agent_timeout = "30m"
# Kilobytes of the diff that a reviewer is shown; it can look at the rest itself.
# diff_kb = 25
# Whether an agent also reviews people's pull requests, as advice to them: "never", "ask" (when somebody asks, with
# `shopfloor pr review N --ask`) or "always" (every new head).
# people = "ask"
# Files that a change may touch only with a person's approval, whoever else approves it. The scripts that checks,
# setup, teardown and agents' commands name are protected as well.
# protected = ["**/.claude/**", "**/.codex/**", "**/.agents/**", ".mcp.json", "AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", "shopfloor.toml", ".shopfloor/**", ".worktreeinclude"]

[merge]
# How an agent's branch joins the primary branch: "squash" (one commit, named after the issue), "merge" (a merge
# commit; the agent's own commits stay off the first-parent line) or "rebase" (its commits one after another: only
# the last of them is checked).
method = "squash"
# The same, for branches that people queue.
# people = "merge"
# Changes that are checked together land as one merge commit, so that every first-parent commit of the primary branch
# has passed ("strict"). "each": every change has a run and a commit of its own. "tip": they land one after another,
# and only the last commit has passed.
# batch = "strict"
# Of a branch that lands by "rebase", only the last commit is checked ("last"); its inner commits land unchecked.
# "each" checks every one of them in the same run, and a red one fails the branch.
# check_commits = "last"
# Merge candidates that are checked at the same time; several changes land with one run of the checks.
# slots = 1
# How long a change may wait in the merge queue before somebody is told.
# alarm = "2h"
# Other branches that work lands on, each with a queue of its own. Issues with its label (by default the target's
# name) land there, and so do branches queued with `merge-queue add BRANCH --to release-1`.
# targets.release-1 = { branch = "release/1.x" }
# A program that is run once for each change that landed, or that failed or conflicted. Its environment says what
# happened (SHOPFLOOR_OUTCOME, SHOPFLOOR_BRANCH, SHOPFLOOR_COMMIT and others).
# on_landed = ["/usr/local/bin/tell-the-team"]
# on_not_landed = ["/usr/local/bin/tell-the-team"]
# command_timeout = "5m"
# Signs the queue's commits when they land: with an ssh key's file, or an openpgp key's fingerprint.
# signing = { format = "ssh", key = "/home/me/.ssh/id_ed25519" }

[limits]
# Issues worked on at the same time.
max_jobs = 1
# Times an agent is asked to repair failing checks, and times a dead session is replaced.
# ci_fixes = 3
# respawns = 3
# Times an agent is told to continue after an error of its model's servers before you are asked, and the first pause.
# retries = 8
# retry_backoff = "1m"
# How long an agent may show no sign of life before somebody is told.
# idle = "2h"
# How long it may wait for its own background work, such as tests in a shell.
# background = "4h"
# What fails through no fault of a change (a disk, a server, a tool) is retried until it works; after this
# long you are asked to look.
# trouble = "4h"

[sessions]
# Whoever attaches to an agent's terminal and types has it until they detach, or have typed nothing for this long.
# handback = "15m"

[worktree]
# Each issue is worked on in a folder of its own. These commands run in it before the agent begins, and
# before it is removed. They may run twice, so a second run must do no harm.
# setup = []
# teardown = []
# Files of your checkout that git ignores and the agent needs, such as ".env" or "config/*.local".
# include = []
# Each worktree gets a port of its own, as $SHOPFLOOR_PORT.
# ports = "21000-21999"

[rescue]
# What agents have not committed is snapshotted at each phase, and this often while they work;
# `shopfloor rescue list` shows the snapshots.
# every = "5m"
# How long the worktree of an issue that did not land is kept.
# keep_worktrees = "14d"

# The other agents, switched off: `shopfloor agents enable NAME` switches one on. Each starts only if there is something
# for it to do, may only do what it is for ([roles.NAME] says otherwise), and is a formula that `.shopfloor/formulas`
# can replace.

@OTHERS@# Does what issues labelled `action` ask for. `shopfloor agents enable action` adds [agents.action].

# Secrets are never written here, only where to find them. Their values are hidden in logs.
# [secrets]
# MY_TOKEN = { env = "MY_TOKEN" }
# MY_KEY = { file = "/home/me/.config/my-key" }
"##;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{FloorConfig, load};

    fn loads(text: &str) -> crate::config::ProjectConfig {
        load::project_from(Path::new("shopfloor.toml"), text, &FloorConfig::default())
            .unwrap_or_else(|e| panic!("{e}\n{text}"))
    }

    #[test]
    fn the_template_loads_with_and_without_checks() {
        let name: ProjectName = "harb".parse().unwrap();
        let config = loads(&render(&name, "main", &[]));
        assert!(config.ci.no_checks);
        assert_eq!(config.project.name, name);

        let checks =
            [Check::new("cargo-test", "cargo test", "Cargo.toml"), Check::new("odd", r#"say "hi\" #"#, "x")];
        let config = loads(&render(&name, "work/näxt", &checks));
        assert_eq!(config.project.primary_branch, "work/näxt");
        assert_eq!(config.ci.steps.len(), 2);
        assert_eq!(config.ci.steps[1].run, r#"say "hi\" #"#);
    }

    /// What the comments show as defaults are the defaults, and would load.
    #[test]
    fn the_commented_lines_are_true() {
        let text = render(&"harb".parse().unwrap(), "main", &[Check::new("t", "true", "x")]);
        let is_setting = |line: &str| {
            line.strip_prefix("# ").is_some_and(|rest| {
                rest.starts_with('[')
                    || rest.split_once(" = ").is_some_and(|(key, _)| !key.contains(' ') && !key.contains('`'))
            })
        };
        let active: String = text
            .lines()
            .map(|line| if is_setting(line) { &line[2..] } else { line })
            .map(|line| format!("{line}\n"))
            .collect();
        assert_ne!(active, text);
        let mut config = loads(&active);
        assert_eq!(config.secrets.len(), 2);
        config.secrets.clear();
        // These have no default: they show how it is written.
        let merge = &mut config.merge;
        assert_eq!((merge.targets.len(), merge.signing.take().is_some()), (1, true));
        merge.targets.clear();
        let plain = loads(&text);
        merge.on_landed.clone_from(&plain.merge.on_landed);
        merge.on_not_landed.clone_from(&plain.merge.on_not_landed);
        assert_eq!(config, plain);
    }

    #[test]
    fn checks_are_found_by_the_files_in_the_root() {
        let check = |files: &[(&str, &str)], expect: &[&str]| {
            let root = tempfile::tempdir().unwrap();
            for (name, content) in files {
                fs::write(root.path().join(name), content).unwrap();
            }
            let found: Vec<String> = detect(root.path()).into_iter().map(|check| check.run).collect();
            assert_eq!(found, expect, "{files:?}");
        };
        let npm = r#"{"scripts": {"test": "node --test"}}"#;
        check(&[], &[]);
        check(&[("README.md", "")], &[]);
        check(&[("Cargo.toml", "")], &["cargo test"]);
        check(&[("package.json", npm)], &["npm test"]);
        check(&[("package.json", npm), ("package-lock.json", "{}")], &["npm ci && npm test"]);
        check(&[("package.json", "{}")], &[]);
        check(&[("package.json", "not json")], &[]);
        check(
            &[("package.json", r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#)],
            &[],
        );
        check(&[("go.mod", "")], &["go test ./..."]);
        check(&[("pyproject.toml", "")], &["python3 -m pytest"]);
        check(&[("pytest.ini", "")], &["python3 -m pytest"]);
        check(&[("Makefile", "all:\n\tcc\ntest: all\n\t./t\n")], &["make test"]);
        check(&[("Makefile", "all test::\n\t./t\n")], &["make test"]);
        check(&[("Makefile", "tests:\n\ttest: x\ntest := 1\n")], &[]);
        check(
            &[("Makefile", "test:\n"), ("Cargo.toml", ""), ("go.mod", "")],
            &["cargo test", "go test ./..."],
        );
        check(&[("Makefile", "\u{fffd}test:\n")], &[]);
    }
}
