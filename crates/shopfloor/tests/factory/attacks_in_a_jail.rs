//! What an agent or a check tries at level "sandbox": the primary branch, others' sessions, the floor, the person's home.
//! It gets nowhere, whatever it knows: every path, every number and every command is told to it.

use crate::floor::Floor;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};

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
can eval sh -c 'eval "git pu""sh origin HEAD:main"'
can decoded sh -c 'echo Z2l0IHB1c2ggb3JpZ2luIEhFQUQ6bWFpbgo= | base64 -d | sh'
can xargs sh -c 'echo origin HEAD:main | xargs git push'
can renamed sh -c 'cp "$(command -v git)" g; ./g push origin HEAD:main'; rm -f g
can git-dir git --git-dir "$(git rev-parse --git-dir)" push "$HUB" HEAD:main
can mirror git push --mirror "$HUB"
can worktree git --git-dir "$HUB" worktree add wt main
can symbolic-ref git -C "$HUB" symbolic-ref HEAD refs/heads/fix/issue-1
can fast-import env HUB="$HUB" sh -c 'echo "reset refs/heads/main
from $(git rev-parse HEAD)
" | git -C "$HUB" fast-import --force'
can update-ref git -C "$HUB" update-ref refs/heads/main HEAD
can ref-file put "$HUB/refs/heads/main" "$(git rev-parse HEAD)"
can hook-off chmod -x "$HUB/hooks/update"
can hub-config git -C "$HUB" config receive.denyCurrentBranch ignore
can hub-hook put "$HUB/hooks/post-receive" '#!/bin/sh'
can queue ls "$FLOOR/projects/sample/queue.git"
can keeper ls "$FLOOR/projects/sample/clone.git"
can remount mount -o remount,rw "$HUB"
can unshare unshare -m true
can rights grep -q 'Cap\(Eff\|Bnd\|Prm\|Inh\|Amb\):.*[1-9a-f]' /proc/self/status
has password cat "$PERSON/.config/git/credentials"
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
can sysctl sh -c 'cat /proc/sys/vm/swappiness > /proc/sys/vm/swappiness'
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
can raw-with-token /usr/bin/python3 -c '
import os, socket, json, sys
home, session = os.environ["SHOPFLOOR_HOME"], os.environ["SHOPFLOOR_SESSION"]
token = json.load(open(f"{home}/sessions/e{session}/grant.json"))["token"]
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["SHOPFLOOR_DOOR"])
args = ["issue", "comment", "1", "--body-file", sys.argv[1]]
socket.send_fds(s, [json.dumps({"token": token, "args": args}).encode() + b"\n"], [0, 1, 2])
raise SystemExit(json.loads(s.makefile().readline())["exit"])' "$PERSON/.ssh/id"
mkdir -p out; ln -sf "$PERSON/.profile" out/shopfloor.1; ln -sf "$HUB/refs/heads/main" out/shopfloor-down.1
for args in '["man", "--out", "out"]' '["hook", "show", "--file", "/etc/hostname"]' '["completions", "sh"]' \
    '["demo-agent", "dev"]' '["statusline"]' '["session", "list"]' '["verify", "x"]' '["confine", "{}", "--", "sh"]'; do
    can "raw $args" env ARGS="$args" /usr/bin/python3 -c '
import os, socket, json
home, session = os.environ["SHOPFLOOR_HOME"], os.environ["SHOPFLOOR_SESSION"]
token = json.load(open(f"{home}/sessions/e{session}/grant.json"))["token"]
args = [os.getcwd() + "/out" if arg == "out" else arg for arg in json.loads(os.environ["ARGS"])]
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["SHOPFLOOR_DOOR"])
socket.send_fds(s, [json.dumps({"token": token, "args": args}).encode() + b"\n"], [0, 1, 2])
raise SystemExit(json.loads(s.makefile().readline())["exit"])'
done
rm -r out
raw() { /usr/bin/python3 -c '
import os, socket, json, sys
home, session = os.environ["SHOPFLOOR_HOME"], os.environ["SHOPFLOOR_SESSION"]
token = json.load(open(f"{home}/sessions/e{session}/grant.json"))["token"]
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["SHOPFLOOR_DOOR"])
socket.send_fds(s, [json.dumps({"token": token, "args": sys.argv[1:]}).encode() + b"\n"], [0, 1, 2])
raise SystemExit(json.loads(s.makefile().readline())["exit"])' "$@" 2>&1; }
for mark in hand-sample-dev-1-1-h1 dev-sample-2-e2 dev-sample-1-e999 tmux; do
    export SHOPFLOOR_PANE="$FLOOR/tmux.sock:$mark"
    can "raw-as-$mark" raw issue list; can "as-$mark" shopfloor issue list
done
unset SHOPFLOOR_PANE; export SHOPFLOOR_STEP="$FLOOR/projects/sample/setup/issue-1/steps/x-1"; can raw-as-step raw issue list
unset SHOPFLOOR_STEP
has formula shopfloor formula check "$PERSON/.ssh/id"
has raw-formula raw formula check "$PERSON/.ssh/id"
ln -s "$PERSON/.ssh/id" way.toml; has link shopfloor formula check way.toml; has raw-link raw formula check "$PWD/way.toml"; rm way.toml
can raw-device timeout 20 /usr/bin/env sh -c 'shopfloor formula check /dev/zero'
can raw-next raw next --read-only
# Another project of the floor has that name.
for look in status 'status --all' 'status --json' 'status --timers' health questions events 'agents --all' 'issue list' \
    runs 'schedule list' 'merge-queue status' 'merge-queue list' 'ci list' 'formula list'; do
    has "their-$look" shopfloor $look; has "raw-their-$look" raw $look
done
can raw-other-floor /usr/bin/python3 -c '
import os, socket, json
home, session = os.environ["SHOPFLOOR_HOME"], os.environ["SHOPFLOOR_SESSION"]
token = json.load(open(f"{home}/sessions/e{session}/grant.json"))["token"]
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["SHOPFLOOR_DOOR"])
socket.send_fds(s, [json.dumps({"token": token, "args": ["--home=/tmp", "issue", "list"]}).encode() + b"\n"], [0, 1, 2])
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
    std::fs::create_dir_all(floor.path("home/.config/git")).expect("a folder");
    std::fs::write(floor.path("home/.config/git/credentials"), "hunter22\n").expect("written");
}

/// The daemon, with a secret in its environment.
fn daemon(floor: &Floor) -> String {
    let output =
        floor.command(&["--json", "up", "--detach"]).env("A_SECRET", "hunter22").output().expect("it runs");
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

/// A floor whose agent runs the script that is in the floor's `bin`, which it can read.
fn site(level: &str) -> Floor {
    let site = Floor::new("");
    prepare(&site);
    site.isolate(level);
    let known = std::fs::read_to_string(site.path("repo/shopfloor.toml")).expect("read");
    let config = format!("{known}{}", config(&program(&site).display().to_string()));
    std::fs::write(site.path("repo/shopfloor.toml"), config).expect("written");
    site.accept();
    site
}

fn program(site: &Floor) -> PathBuf {
    site.home().join("bin/attack")
}

/// Has the agent do that, and give up: what it wrote to `worked`.
fn attack(site: &Floor, script: &str) -> String {
    let script = format!("{script}\nshopfloor phase failed --detail enough\nsleep 1000\n");
    std::fs::write(program(site), script).expect("written");
    site.ok(&["issue", "add", "Attack", "--label", "backlog"]);
    crate::floor::wait_for("the agent has tried", || {
        site.ok(&["events"]).contains("the agent gave up: enough")
    });
    text(&site.home().join("projects/sample/worktrees/issue-1/worked"))
}

#[test]
fn an_agent_in_a_jail_gets_nowhere_and_does_its_work() {
    let site = site("sandbox");
    site.beside("hunter22", "[agents.dev]\nruntime = \"demo\"\n[agents.review]\nruntime = \"demo\"\n");
    let before = site.hub(&["rev-parse", "main"]);
    let daemon = daemon(&site);
    let worked = attack(&site, &format!("{}{ALLOWED}", script(&site, &daemon)));
    assert_eq!(worked, "", "what an agent can");
    nothing_happened(&site, &before);
    let events = site.ok(&["events"]);
    for asked in [
        "pr review 2",
        "answer q1 yes",
        "merge-queue add",
        "wanted an issue \"More\" with backlog",
        "issue close 1",
        "down",
        "session spawn dev",
        "formula check",
        "next",
    ] {
        let named = events.lines().any(|line| line.contains("REFUSED") && line.contains(asked));
        assert!(named, "{asked}: {events}");
    }
    let comments = site.json(&["issue", "show", "1"]).1["comments"].to_string();
    assert!(comments.contains("I was here.") && comments.contains("From a file."), "{comments}");
}

/// Both are found by two names, and hidden by both.
#[test]
fn a_floor_and_a_home_behind_a_link_are_hidden_too() {
    let mut site = site("sandbox");
    let way = site.path("way");
    std::os::unix::fs::symlink(site.folder.path(), &way).expect("linked");
    site.env.push(("SHOPFLOOR_HOME".into(), way.join("floor").into()));
    site.env.push(("HOME".into(), way.join("home").into()));
    let before = site.hub(&["rev-parse", "main"]);
    let daemon = daemon(&site);
    let really = script(&site, &daemon);
    let folder = site.folder.path().display().to_string();
    let by_link = really.replace(&format!("='{folder}/"), &format!("='{}/", way.display()));
    assert_ne!(by_link, really);
    let worked =
        attack(&site, &format!("{really}cp worked at-first\n{by_link}{ALLOWED}cat at-first >> worked\n"));
    assert_eq!(worked, "", "what an agent can");
    nothing_happened(&site, &before);
}

/// Where no jail can be built, the kernel's rules about files hold what they can. What they cannot is what `status`,
/// `doctor` and the documents say: names and modes of files, sockets of the same user, and what the system shows of
/// processes.
#[test]
fn an_agent_under_rules_about_files_gets_no_further_than_is_said() {
    let mut site = site("sandbox");
    let path = site.stand_in("bwrap", "echo 'no namespaces here' >&2; exit 1");
    site.env.push(("PATH".into(), path.into()));
    // Whoever asks for a jail gets one, or is told why not.
    let refused = site.run(&["up", "--detach"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(
        said.contains("level `sandbox` does not work here") && said.contains("no namespaces here"),
        "{said}"
    );
    assert!(!site.ok(&["status"]).contains("daemon  runs"));
    site.isolate("auto");
    let before = site.hub(&["rev-parse", "main"]);
    let daemon = daemon(&site);
    // Another's temporary folders and home are not there to be written to.
    let allowed = ALLOWED.replace("touch /tmp/mine /var/tmp/mine", "touch");
    let worked = attack(&site, &format!("{}{allowed}", script(&site, &daemon)));
    let seen = ["store", "daemon-socket", "configuration", "environ", "any-environ", "kill-all"];
    let reached = ["hook-off", "tmux", "rights"];
    let known = [&seen[..], &reached[..]].concat();
    let further: Vec<&str> = worked.lines().filter(|line| !known.contains(line)).collect();
    assert_eq!(further, [""; 0], "what an agent can");
    let status = site.ok(&["status"]);
    assert!(status.contains("Landlock") && status.contains("no namespaces here"), "{status}");
    // Its mode can be changed, which keeps nobody from anything: nobody in a jail can push.
    nothing_happened(&site, &before);
}

const CALLS: &str = r#"
: > worked
/usr/bin/python3 - >> worked <<'P'
import json, os, socket, subprocess, sys, urllib.request
def through(url):
    proxies = urllib.request.ProxyHandler({"http": os.environ["HTTP_PROXY"], "https": os.environ["HTTPS_PROXY"]})
    os.environ["no_proxy"] = os.environ["NO_PROXY"] = ""
    try:
        print("proxy", urllib.request.build_opener(proxies).open(url, timeout=20).status)
    except Exception as e:
        print("proxy", getattr(e, "code", e))
def raw(first, mark):
    ask = """
import os, socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["SHOPFLOOR_HOME"] + "/door/net")
try:
    s.sendall(sys.argv[1].encode() + b"GET http://127.0.0.1:PORT/ HTTP/1.1\\r\\nConnection: close\\r\\n\\r\\n")
    print("raw", len(s.recv(100)), flush=True)
except OSError:
    print("raw", 0, flush=True)
"""
    subprocess.run([sys.executable, "-c", ask, first], env={**os.environ, **mark})
home, session = os.environ["SHOPFLOOR_HOME"], os.environ["SHOPFLOOR_SESSION"]
token = json.load(open(f"{home}/sessions/e{session}/grant.json"))["token"] + "\n"
raw("", {})
raw("2.00\n", {})
raw(token, {"SHOPFLOOR_PANE": home + "/tmux.sock:dev-sample-1-e999"})
sys.stdout.flush()
through("http://127.0.0.1:PORT/")
through("http://127.0.0.1:1/")
through("https://evil.example/")
try:
    socket.create_connection(("127.0.0.1", PORT), 5)
    print("direct")
except OSError:
    print("not direct")
P
"#;

#[test]
fn an_agent_without_a_network_reaches_what_is_on_the_list() {
    let site = site("network");
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = server.local_addr().expect("bound").port();
    let file = site.home().join("floor.toml");
    let config = format!("{}hosts = [\"127.0.0.1:{port}\"]\n", text(&file));
    std::fs::write(&file, config).expect("written");
    let serves = std::thread::spawn(move || {
        let (mut stream, _) = server.accept().expect("somebody calls");
        let mut head = [0; 1024];
        let read = stream.read(&mut head).expect("its request");
        assert!(head[..read].starts_with(b"GET / HTTP/1.1\r\n"));
        stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n").expect("told");
    });
    daemon(&site);
    let worked = attack(&site, &CALLS.replace("PORT", &port.to_string()));
    assert_eq!(
        worked,
        "raw 0\nraw 0\nraw 0\nproxy 200\nproxy 403\nproxy <urlopen error Tunnel connection failed: 403 Forbidden>\nnot direct\n"
    );
    serves.join().expect("it was called");
    // They are put on record beside the answers.
    crate::floor::wait_for("all of it is on record", || {
        let events = site.ok(&["events"]);
        let told = ["without its token", "it is not an agent's", "127.0.0.1:1", "evil.example:443"];
        told.iter().all(|what| events.contains(&format!("the network: {what}")))
    });
}

/// Whoever a check says it is, the proxy is not for it.
#[test]
fn a_check_reaches_no_host_whoever_it_says_it_is() {
    let floor = Floor::new(crate::floor::DEMO);
    floor.isolate("network");
    let server = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = server.local_addr().expect("bound").port();
    let (file, attack) = (floor.home().join("floor.toml"), program(&floor));
    let config = format!("{}hosts = [\"127.0.0.1:{port}\"]\n", text(&file));
    std::fs::write(&file, config).expect("written");
    let home = floor.home().display().to_string();
    let script = CHECK_CALLS.replace("@FLOOR@", &home).replace("PORT", &port.to_string());
    std::fs::create_dir_all(floor.home().join("bin")).expect("a folder");
    std::fs::write(&attack, script).expect("written");
    floor.configure(|config| {
        config.replace("./check.sh", &format!("/usr/bin/python3 {}; false", attack.display()))
    });
    floor.issue("Attack", "demo: write a.txt <<a");
    floor.ok(&["up", "--detach"]);
    crate::floor::wait_for("the checks have failed", || {
        floor.ok(&["events"]).contains("step \"check\" failed")
    });
    let log = floor.ok(&["ci", "logs", "1"]);
    assert_eq!(log.matches("reached b''").count(), 3, "{log}");
    server.set_nonblocking(true).expect("set");
    assert!(server.accept().is_err(), "nobody was connected");
    assert!(floor.ok(&["events"]).contains("the network: it is not an agent's"));
    floor.ok(&["down"]);
}

const CHECK_CALLS: &str = r#"
import os, socket, sys
def go():
    s = socket.socket(socket.AF_UNIX); s.connect("@FLOOR@/door/net")
    try:
        s.sendall(b"GET http://127.0.0.1:PORT/ HTTP/1.1\r\nConnection: close\r\n\r\n")
        print("reached", s.recv(100), flush=True)
    except OSError:
        print("reached", b"", flush=True)
go()
if len(sys.argv) == 1:
    os.execve("/usr/bin/python3", ["python3", sys.argv[0], "e1"], {"SHOPFLOOR_PANE": "@FLOOR@/tmux.sock:dev-sample-1-e1"})
if sys.argv[1] == "e1":
    os.execve("/usr/bin/python3", ["python3", sys.argv[0], "e999"], {"SHOPFLOOR_PANE": "@FLOOR@/tmux.sock:dev-sample-1-e999"})
"#;

/// What a run has `shopfloor` do is done where the floor is, and in a folder where its agent has put what it likes.
#[test]
fn a_runs_command_is_led_nowhere() {
    for (command, link) in [
        (r#"["shopfloor", "formula", "check", "way.toml"]"#, ".ssh/id"),
        (r#"["shopfloor", "hook", "show", "--file", "way.toml"]"#, ".ssh/id"),
        (r#"["shopfloor", "man", "--out", "way.toml"]"#, ""),
    ] {
        let site = site("sandbox");
        let to = site.path("home").join(link);
        let formulas = site.path("repo/.shopfloor/formulas");
        std::fs::create_dir_all(&formulas).expect("a folder");
        let steps = format!(
            "[[steps]]\nid = \"plant\"\ndescription = \"Plant.\"\n[[steps]]\nid = \"look\"\nneeds = [\"plant\"]\nrun = {command}\n"
        );
        std::fs::write(formulas.join("tidy.toml"), steps).expect("written");
        site.accept();
        let plants =
            format!("ln -s '{}' way.toml\nshopfloor step done plant\nshopfloor inbox wait\n", to.display());
        std::fs::create_dir_all(site.home().join("bin")).expect("a folder");
        std::fs::write(program(&site), plants).expect("written");
        daemon(&site);
        site.ok(&["formula", "run", "tidy"]);
        let shown = || site.json(&["run", "show", "1"]).1["steps"][1].to_string();
        crate::floor::wait_for("it was run", || shown().contains("needs a person"));
        assert!(!shown().contains("hunter22"), "{}", shown());
        assert!(!site.path("home/shopfloor.1").exists());
        let events = site.ok(&["events"]);
        assert!(events.contains("a run's command asked for what needs a person"), "{events}");
        site.ok(&["down"]);
    }
}

/// One holds as many connections at the door as it gets, for as long as it is let.
const FLOODS: &str = r#"
import os, socket, sys
home, held = os.environ["SHOPFLOOR_HOME"], []
while not os.path.exists(home + "/bin/enough"):
    try:
        s = socket.socket(socket.AF_UNIX); s.settimeout(1); s.connect(os.environ["SHOPFLOOR_DOOR"]); held.append(s)
    except OSError:
        pass
    if len(held) == 600:
        open("flooding", "w").close()
    if len(held) > 700:
        held.pop(0).close()
"#;

/// Whoever waits for messages meanwhile has them, from the same daemon.
#[test]
fn one_who_floods_the_door_keeps_nobody_from_it() {
    let site = site("sandbox");
    site.configure(|config| config.replace("respawn_backoff", "max_jobs = 2\nrespawn_backoff"));
    let script = format!(
        r#"
if [ "$ISSUE" = 1 ]; then
    echo x > x.txt; git add x.txt; git -c user.name=a -c user.email=a@localhost commit -qm x
    shopfloor phase awaiting_ci
    until [ -e "$SHOPFLOOR_HOME/bin/go" ]; do :; done
    shopfloor inbox wait > got
else
    /usr/bin/python3 -c '{FLOODS}'
fi
sleep 1000
"#
    );
    std::fs::create_dir_all(site.home().join("bin")).expect("a folder");
    std::fs::write(program(&site), script).expect("written");
    daemon(&site);
    for title in ["Victim", "Attack"] {
        site.ok(&["issue", "add", title, "--label", "backlog"]);
    }
    let trees = site.home().join("projects/sample/worktrees");
    let made = |name: &str| std::fs::write(site.home().join("bin").join(name), "").expect("written");
    crate::floor::wait_for("there is a flood", || trees.join("issue-2/flooding").exists());
    made("go");
    let got = || std::fs::read_to_string(trees.join("issue-1/got")).unwrap_or_default();
    crate::floor::wait_for("the message is there", || got().starts_with("CI passed"));
    made("enough");
}

fn text(file: &Path) -> String {
    std::fs::read_to_string(file).expect("it tried")
}

#[test]
fn a_check_in_a_jail_gets_nowhere() {
    let floor = Floor::new(crate::floor::DEMO);
    prepare(&floor);
    let before = floor.hub(&["rev-parse", "main"]);
    let attack = program(&floor);
    floor.configure(|config| {
        config.replace("./check.sh", &format!("sh {}; cat worked; false", attack.display()))
    });
    // In the foreground of a terminal, as a person starts it.
    let own = format!("'{}' up", crate::floor::binary().display());
    let mut terminal = floor.command(&[]);
    let mut program = std::process::Command::new("script");
    program.args(["--quiet", "--command", &own, "/dev/null"]).stdin(std::process::Stdio::null());
    for (name, value) in terminal.env("A_SECRET", "hunter22").get_envs() {
        program.env(name, value.expect("set"));
    }
    let mut shown =
        program.current_dir(floor.path("repo")).stdout(std::process::Stdio::null()).spawn().expect("it runs");
    crate::floor::wait_for("the daemon runs", || floor.ok(&["status"]).contains("daemon  runs"));
    let lock = text(&floor.home().join("daemon.lock"));
    let daemon = lock.split(' ').next().expect("its number");
    let tries = script(&floor, daemon) + "can tty sh -c ': < /dev/tty'\n";
    std::fs::write(&attack, tries).expect("written");
    floor.ok(&["issue", "add", "Attack", "--body", "demo: write a.txt <<a", "--label", "backlog"]);
    crate::floor::wait_for("the checks have failed", || {
        floor.ok(&["events"]).contains("step \"check\" failed")
    });
    let log = floor.ok(&["ci", "logs", "1"]);
    let (_, worked) = log.split_once("== check ==").unwrap_or(("", &log));
    assert!(
        !worked.lines().any(|line| ["tty"].contains(&line)
            || TRIES.contains(&format!("can {line} "))
            || TRIES.contains(&format!("has {line} "))),
        "{log}"
    );
    nothing_happened(&floor, &before);
    floor.ok(&["down"]);
    shown.wait().expect("it ends");
    let events = floor.ok(&["events"]);
    assert!(
        events.lines().any(|line| line.contains("REFUSED") && line.contains("a check asked")),
        "{events}"
    );
}

/// What an agent leaves in its repository and its home for its successor's start, and for whoever watches it.
const LEAVES: &str = r#"
G=$(git rev-parse --absolute-git-dir)
git config user.name A; git config user.email a@localhost; git commit -q --allow-empty -m x
ln -s . "$G/git"; ln -s ../../clone.git "$G/shopfloor"; ln -s /proc/self/comm "$G/commondir"
rm "$G/refs/heads/fix/issue-1"; mkfifo "$G/refs/heads/fix/issue-1"
mkfifo "$G/shopfloor-setup"; ln -sf "$PERSON/.ssh/id" "$G/index"
touch "$G/shopfloor-removing"
ln -s "/oldroot$PERSON" "$HOME/.cargo"
"#;

/// Nothing waits for it, writes through it or believes it: the floor goes on, and the person's files are as they were.
#[test]
fn what_an_agent_leaves_for_others_stops_and_leads_nobody() {
    let site = site("sandbox");
    std::fs::create_dir_all(site.path("home/.cargo/bin")).expect("a folder");
    let before = site.hub(&["rev-parse", "main"]);
    let daemon = daemon(&site);
    let script = format!(
        "{}\n[ $ISSUE = 1 ] || exec shopfloor phase failed --detail other\n[ -e left ] && exec shopfloor phase failed --detail enough\n: > left\n{LEAVES}\nexit 1\n",
        script(&site, &daemon).lines().take(2).collect::<Vec<_>>().join("\n")
    );
    std::fs::write(program(&site), script).expect("written");
    site.ok(&["issue", "add", "Attack", "--label", "backlog"]);
    crate::floor::wait_for("its job ends, or waits for a person", || {
        let events = site.ok(&["events"]);
        events.contains("the agent gave up: enough")
            || events.contains("JOB_ENDED")
            || events.contains("TROUBLE")
    });
    // Others go on.
    site.ok(&["issue", "add", "Other", "--label", "backlog"]);
    site.run(&["cancel", "1"]);
    crate::floor::wait_for("another works", || site.ok(&["events"]).contains("the agent gave up: other"));
    assert_eq!(site.hub(&["rev-parse", "main"]), before);
    let home: Vec<_> =
        std::fs::read_dir(site.path("home")).expect("read").flatten().map(|e| e.file_name()).collect();
    assert!(
        home.iter().all(|name| [".ssh", ".config", ".cargo"].iter().any(|known| name == known)),
        "{home:?}"
    );
    assert_eq!(text(&site.path("home/.ssh/id")), "hunter22\n");
    site.ok(&["down"]);
}
