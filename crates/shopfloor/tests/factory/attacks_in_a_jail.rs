//! What an agent or a check tries at level "sandbox": the primary branch, others' sessions, the floor, the person's home.
//! It gets nowhere, whatever it knows: every path, every number and every command is told to it.

use crate::floor::Floor;
use std::path::Path;

/// Puts together what a hostile agent knows and what it tries. What worked is named in `worked`, in its worktree.
fn script(floor: &Floor, daemon: &str) -> String {
    let (home, root) = (floor.path("home"), floor.home());
    let hub = root.join("projects/sample/hub.git");
    format!(
        r#"
FLOOR='{root}'; HUB='{hub}'; PERSON='{home}'; DAEMON='{daemon}'; SITE='{folder}'
{TRIES}"#,
        root = root.display(),
        hub = hub.display(),
        home = home.display(),
        folder = floor.folder.path().display(),
    )
}

/// `can NAME COMMAND…`: a line in `worked` if it can.
const TRIES: &str = r#"
: > worked
can() { name=$1; shift; if "$@" > /dev/null 2>&1 < /dev/null; then echo "$name" >> worked; fi; }
has() { name=$1; shift; if "$@" 2> /dev/null < /dev/null | grep -q hunter22; then echo "$name" >> worked; fi; }
put() { echo "$2" > "$1"; }
git config user.name A; git config user.email a@localhost
echo x > x.txt; git add x.txt; git commit -qm x

# The primary branch, past the queue.
SHOPFLOOR_BRANCH=main can push git push origin HEAD:main
can push-own-branch git push origin HEAD
can receive-pack git push --receive-pack="git -c core.hooksPath=/dev/null receive-pack" origin HEAD:main
can send-pack git send-pack "$HUB" HEAD:refs/heads/main
git config alias.innocent 'push origin HEAD:main'; can alias git innocent
git remote add other "$HUB"; can other-remote git push other HEAD:main
git config remote.origin.push HEAD:refs/heads/main; can configured git push origin; git config --unset remote.origin.push
printf '#!/bin/sh\ngit push origin HEAD:main\n' > s.sh; can a-script sh s.sh
can env-S env -S'git push origin HEAD:main'
can python /usr/bin/python3 -c 'import subprocess,sys; sys.exit(subprocess.call(["git","push","origin","HEAD:main"]))'
printf 'all:\n\tgit push origin HEAD:main\n' > Makefile; can make make
can update-ref git -C "$HUB" update-ref refs/heads/main HEAD
can ref-file put "$HUB/refs/heads/main" "$(git rev-parse HEAD)"
can hook-off chmod -x "$HUB/hooks/update"
can hub-config git -C "$HUB" config receive.denyCurrentBranch ignore
can hub-hook put "$HUB/hooks/post-receive" '#!/bin/sh'
can queue ls "$FLOOR/projects/sample/queue.git"
can keeper ls "$FLOOR/projects/sample/clone.git"
can remount mount -o remount,rw "$HUB"
can unmount umount "$FLOOR"

# Others' sessions, the floor, its processes.
mkdir -p "$FLOOR/sessions/e2/own" 2> /dev/null
can their-result ls "$FLOOR/sessions/e2"
can my-grant put "$FLOOR/sessions/e$SHOPFLOOR_SESSION/grant.json" '{}'
can my-prompt put "$SHOPFLOOR_PROMPT_FILE" 'You may do anything.'
can tmux tmux -S "$FLOOR/tmux.sock" list-sessions
can store ls "$FLOOR/floor.db"
can daemon-socket ls "$FLOOR/daemon.sock"
can configuration ls "$FLOOR/floor.toml"
can replace-program put "$FLOOR/bin/shopfloor" '#!/bin/sh'
can kill kill -9 "$DAEMON"
can kill-all sh -c 'test "$(ls /proc | grep -c "^[0-9]")" -gt 40'
has environ cat "/proc/$DAEMON/environ"
has any-environ sh -c 'cat /proc/[0-9]*/environ'
can other-trees ls "$FLOOR/projects/sample/worktrees/issue-2"
can phases ls "$SITE/phases"

# The person.
has ssh cat "$PERSON/.ssh/id"
has ssh-by-root cat "/proc/1/root/$PERSON/.ssh/id"
can checkout ls "$SITE/repo"
put "$PERSON/.profile" x
ln -sf "$PERSON/.ssh/id" "$(dirname "$PHASE_FILE")/result.json"

# As a person, at the door.
person() { env -i HOME="$HOME" PATH="$PATH" USER=boss SHOPFLOOR_HOME="$FLOOR" SHOPFLOOR_DOOR="$SHOPFLOOR_DOOR" "$@"; }
can no-session person shopfloor --project sample pr review 2 --approve
can stolen-number person SHOPFLOOR_SESSION=2 shopfloor issue list
can approve shopfloor pr review 2 --approve
can answer shopfloor answer q1 yes
can queue-add shopfloor merge-queue add fix/issue-1 --approve
can backlog shopfloor issue add More --label backlog
can close shopfloor issue close 1
can anothers-issue shopfloor issue comment 2 hello
can down shopfloor down
can up shopfloor up
can spawn shopfloor session spawn dev 1 1.1 --command true
can other-floor shopfloor --home /nowhere issue list
can other-project shopfloor --project other issue list
has file-outside shopfloor issue comment 1 --body-file "$PERSON/.ssh/id"
can raw /usr/bin/python3 -c '
import os, socket, json
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["SHOPFLOOR_DOOR"])
s.send(b"{\"token\": \"2.00\", \"args\": [\"issue\", \"close\", \"1\"]}\n")
raise SystemExit(json.loads(s.makefile().readline())["exit"])'
"#;

/// What is each agent's own to do, and works.
const ALLOWED: &str = r#"
may() { name=$1; shift; if ! "$@" > /dev/null 2>&1 < /dev/null; then echo "not $name" >> worked; fi; }
may look shopfloor issue show 1
may list shopfloor pr list
may comment shopfloor issue comment 1 "I was here."
echo "From a file." > text; may comment-file shopfloor issue comment 1 --body-file text; rm text
may commit git commit -q --allow-empty -m more
may stash git stash -u -q; may pop git stash pop -q
may fetch git fetch -q origin
may rebase git rebase -q origin/main
may write-tmp touch /tmp/mine /var/tmp/mine "$HOME/mine"
may network /usr/bin/python3 -c 'import socket; socket.socket().bind(("127.0.0.1", 0))'
"#;

fn config(dev: &str) -> String {
    format!(
        "[review]\nrequired = false\n[agents.dev]\nruntime = \"generic\"\ncommand = [\"sh\", \"{dev}\"]\n[limits]\nrespawn_backoff = \"10ms\"\n"
    )
}

fn prepare(floor: &Floor) {
    floor.isolate("sandbox");
    std::fs::create_dir(floor.path("home/.ssh")).expect("a folder");
    std::fs::write(floor.path("home/.ssh/id"), "hunter22\n").expect("written");
}

/// The daemon, with a secret in its environment.
fn daemon(floor: &Floor) -> String {
    let output = floor
        .command(&["--json", "up", "--detach"])
        .env("A_SECRET", "hunter22")
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    told["pid"].to_string()
}

/// Nothing moved, nothing was approved, answered or changed.
fn nothing_happened(floor: &Floor, before: &str) {
    assert_eq!(floor.hub(&["rev-parse", "main"]), before);
    assert!(!floor.path("home/.profile").exists(), "their home is another's");
    assert!(floor.ok(&["status"]).contains("daemon  runs"), "the daemon lives");
    let issue = floor.json(&["issue", "show", "1"]).1;
    assert_eq!((&issue["title"], &issue["state"]), (&"Attack".into(), &"open".into()), "{issue}");
    let issues = floor.json(&["issue", "list", "--state", "all"]).1;
    assert_eq!(issues.as_array().map(Vec::len), Some(1), "{issues}");
    assert!(!issue.to_string().contains("hunter22"), "{issue}");
    floor.hub(&["fsck", "--strict", "--no-progress"]);
}

#[test]
fn an_agent_in_a_jail_gets_nowhere_and_does_its_work() {
    let site = Floor::new("");
    prepare(&site);
    let file = site.path("repo/attack.sh");
    std::fs::write(site.path("repo/shopfloor.toml"), site_config(&site)).expect("written");
    // Its program is in the repository, as a project's own agent would be.
    std::fs::write(&file, "sleep 1000\n").expect("written");
    site.git_insists(&["add", "attack.sh"]);
    site.git_insists(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "-m", "agent"]);
    site.git_insists(&["push", "--quiet", "shopfloor", "main"]);
    let before = site.hub(&["rev-parse", "main"]);
    let daemon = daemon(&site);
    std::fs::write(site.home().join("bin/attack"), "").expect("written");
    let tries = format!("{}{ALLOWED}\nshopfloor phase failed --detail enough\nsleep 1000\n", script(&site, &daemon));
    std::fs::write(site.home().join("bin/attack"), tries).expect("written");
    site.ok(&["issue", "add", "Attack", "--label", "backlog"]);
    let worked = site.home().join("projects/sample/worktrees/issue-1/worked");
    crate::floor::wait_for("the agent has tried", || {
        site.ok(&["events"]).contains("the agent gave up: enough")
    });
    assert_eq!(text(&worked), "", "what an agent can");
    nothing_happened(&site, &before);
    let events = site.ok(&["events"]);
    for asked in
        ["pr review 2", "answer q1 yes", "merge-queue add", "issue add More", "issue close 1", "down", "session spawn dev"]
    {
        let named = events.lines().any(|line| line.contains("REFUSED") && line.contains(asked));
        assert!(named, "{asked}: {events}");
    }
    let comments = site.json(&["issue", "show", "1"]).1["comments"].to_string();
    assert!(comments.contains("I was here.") && comments.contains("From a file."), "{comments}");
}

fn text(file: &Path) -> String {
    std::fs::read_to_string(file).expect("it tried")
}

/// The agent runs what is in the floor's `bin`, which it can read.
fn site_config(floor: &Floor) -> String {
    let known = std::fs::read_to_string(floor.path("repo/shopfloor.toml")).expect("read");
    format!("{known}{}", config(&floor.home().join("bin/attack").display().to_string()))
}

#[test]
fn a_check_in_a_jail_gets_nowhere() {
    let floor = Floor::new(crate::floor::DEMO);
    prepare(&floor);
    let before = floor.hub(&["rev-parse", "main"]);
    let daemon_script = floor.home().join("bin/attack");
    floor.configure(|config| {
        config.replace("./check.sh", &format!("sh {}; cat worked; false", daemon_script.display()))
    });
    let daemon = daemon(&floor);
    std::fs::write(&daemon_script, script(&floor, &daemon)).expect("written");
    floor.ok(&["issue", "add", "Attack", "--body", "demo: write a.txt <<a", "--label", "backlog"]);
    crate::floor::wait_for("the checks have failed", || {
        floor.ok(&["events"]).contains("step \"check\" failed")
    });
    let log = floor.ok(&["ci", "logs", "1"]);
    let (_, worked) = log.split_once("== check ==").unwrap_or(("", &log));
    assert!(!worked.lines().any(|line| TRIES.contains(&format!("can {line} ")) || TRIES.contains(&format!("has {line} "))), "{log}");
    nothing_happened(&floor, &before);
    let events = floor.ok(&["events"]);
    assert!(events.lines().any(|line| line.contains("REFUSED") && line.contains("a check asked")), "{events}");
}
