//! Configuration files, right and wrong.

use super::*;
use std::path::Path;

mod pinned;
mod right;
mod wrong;

const MINIMAL: &str = "[project]\nname = \"harb\"\n[ci]\nno_checks = true\n";

const FULL: &str = r#"
[project]
name = "harb"
primary_branch = "trunk"
[forge]
kind = "local"
[ci]
steps = [{ name = "build", run = "make" }, { name = "test", run = "make test", timeout = "1h30m" }]
timeout = "2h"
pass_env = ["HOME"]
log_max = 2048
skip_paths = ["docs/**", "*.md"]
infra = ["the lab is closed"]
heads = "never"
min_time = "3s"
infra_retries = 4
infra_cooldown = "2m"
[health]
review = "7m"
[agents.dev]
runtime = "generic"
command = ["bot", "--fast"]
model = "big"
pass_env = ["TOKEN"]
[agents.review]
runtime = "demo"
[roles.predictor]
may = ["issue.create", "vault.request"]
labels = ["prediction/unreviewed"]
max_issues = 5
[roles.dev]
max_changes = 0
[review]
required = false
timeout = "1h"
rounds = 2
agent_timeout = "10m"
diff_kb = 8
people = "always"
[merge]
method = "rebase"
people = "squash"
batch = "tip"
check_commits = "each"
rounds = 4
slots = 3
alarm = "30m"
on_landed = ["notify-send", "merged"]
on_not_landed = ["/usr/local/bin/tell", "--loud"]
command_timeout = "1m"
[sessions]
handback = "20m"

[limits]
max_jobs = 7
ci_fixes = 0
respawns = 1
reminders = 5
on_failed = "backlog"
on_already_done = "close"
idle = "1m"
background = "1h"
delivery = "2m"
respawn_backoff = "500ms"
renotify = "3m"
escalate = "4m"
[worktree]
setup = ["make deps"]
teardown = ["make clean"]
timeout = "5m"
include = [".env", "config/*.local"]
ports = "5000-5009"
[rescue]
every = "6m"
keep = 3
keep_for = "7m"
push = true
keep_worktrees = "8m"
keep_logs = "9m"
[steps.create]
runtime = "claude"
command = ["claude", "--model", "big", "{prompt}"]
prompt = "Create story {story}. {extra}"
[verify.create]
checks = [
    { files = "stories/{key}-*.md", min = 1, max = 1 },
    { run = ["make", "story", "{key}"], timeout = "1m" },
    { git = "clean" },
    { git = "commits_ahead", of = "trunk", min = 2 },
    { git = "pushed" },
    { git = "branch_exists", branch = "story/{key}" },
    { json = "status.json", pointer = "/{key}", equals = "done" },
]
[secrets]
TOKEN = { env = "GH_TOKEN" }
KEY = { file = "keys/deploy" }
"#;

fn load_text(text: &str) -> Result<ProjectConfig, ConfigError> {
    load::project_from(Path::new("shopfloor.toml"), text, &FloorConfig::default())
}
