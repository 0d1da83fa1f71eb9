//! What an agent or a check tries that only a person may do. Whatever variables it removes or sets, it is refused with
//! exit code 6, and the journal says who asked for what.

use crate::attacks_by_role::declare_purge;
use crate::floor::{Floor, wait_for};
use crate::ordinary_user::as_ordinary_user;
use shopfloor_core::ids::Seq;
use shopfloor_store::Store as _;

/// Each as a process that has nothing of its session's environment, on the floor by another name.
const TRIES: &str = r#"
OUT="$SHOPFLOOR_HOME/out"; mkdir "$OUT" || exit 1
ln -sfn "$SHOPFLOOR_HOME" "$OUT/alias"
person() { env -i HOME="$HOME" PATH="$PATH" USER=boss SHOPFLOOR_HOME="$OUT/alias" shopfloor --project sample "$@" < /dev/null; echo "$? $*" >> "$OUT/codes"; }
person pr review 2 --approve
person pr close 2
person pr create fix/issue-1
person answer q1 yes
person merge-queue add fix/issue-1 --approve
person merge-queue pause
person merge-queue accept
person merge-queue remove 1
person cancel 1
person vault approve 1
person vault list
person take 1
person pause
person issue close 1
person issue label 1 --add priority
person issue add More --label backlog
person issue edit 1 --title Other
person session spawn dev 1 1.1 --command true
person rescue restore 1
person up
person gc
person down
tmux -S "$SHOPFLOOR_HOME/tmux.sock" run-shell "SHOPFLOOR_HOME='$OUT/alias' PATH='$PATH' shopfloor --project sample issue close 1; echo \$? from-tmux >> '$OUT/codes'" || true
"#;
const ATTEMPTS: usize = 23;

/// `attempts`: also those whose exit code nobody saw.
fn all_refused(floor: &Floor, who: &str, attempts: usize) {
    let codes = std::fs::read_to_string(floor.home().join("out/codes")).expect("it tried");
    let tried: Vec<&str> = codes.lines().collect();
    assert_eq!(tried.len(), ATTEMPTS, "{codes}");
    for line in tried {
        assert!(line.starts_with("6 "), "{line}: {codes}");
    }
    let events = floor.ok(&["events"]);
    let refused = events.lines().filter(|line| line.contains("REFUSED"));
    assert_eq!(refused.clone().count(), attempts, "{events}");
    assert!(
        refused.clone().any(|line| line.contains(&format!("{who} asked")) && line.contains("pr review 2"))
    );
    let issue = floor.json(&["issue", "show", "1"]).1;
    assert_eq!((&issue["title"], &issue["state"]), (&"Attack".into(), &"open".into()), "{issue}");
    assert_eq!(floor.run(&["issue", "show", "3"]).status.code(), Some(4), "no issue was added");
}

#[test]
fn an_agent_is_no_person_whatever_it_does_to_its_environment() {
    let floor = Floor::new(&format!(
        "[review]\nrequired = false\n[agents.dev]\nruntime = \"generic\"\ncommand = [\"sh\", \"-c\", '''{TRIES}\nshopfloor phase failed --detail enough''']\n"
    ));
    let before = floor.hub(&["rev-parse", "main"]);
    floor.issue("Attack", "");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 3, "{text}");
    all_refused(&floor, "agent 1", ATTEMPTS);
    assert_eq!(floor.hub(&["rev-parse", "main"]), before);
}

#[test]
fn a_check_is_no_person() {
    let floor = Floor::new(crate::floor::DEMO);
    let script = floor.path("tries.sh");
    let home = floor.home();
    // At last it becomes such a process itself: then nothing between it and the daemon has a mark.
    let becomes = "exec env -i HOME=\"$HOME\" PATH=\"$PATH\" SHOPFLOOR_HOME=\"$OUT/alias\" shopfloor --project sample issue close 1";
    std::fs::write(&script, format!("SHOPFLOOR_HOME={}\n{TRIES}{becomes}\n", home.display()))
        .expect("written");
    let run = format!("export PATH='{}/bin':$PATH; exec sh '{}'", home.display(), script.display());
    floor.configure(|config| config.replace("./check.sh", &run));
    let before = floor.hub(&["rev-parse", "main"]);
    floor.issue("Attack", "demo: write a.txt <<a");
    floor.ok(&["up", "--detach"]);
    wait_for("the check has tried", || floor.ok(&["events"]).contains("what the daemon started asked"));
    all_refused(&floor, "a check", ATTEMPTS + 1);
    assert_eq!(floor.hub(&["rev-parse", "main"]), before);
    floor.ok(&["down"]);
}

/// Another process of the same user looks for the daemon's secrets. It finds its parent's, so that looking works.
const LOOKS: &str = r#"
set -eu
export HOME="$PWD" PATH="$PWD:$PATH" GIT_CONFIG_NOSYSTEM=1
git init --quiet --initial-branch=main sample && cd sample
printf '[project]\nname = "sample"\n[ci]\nno_checks = true\n[agents.dev]\nruntime = "demo"\n[agents.review]\nruntime = "demo"\n' > shopfloor.toml
git add . && git -c user.name=a -c user.email=a@b commit --quiet -m one
shopfloor init > /dev/null
DEPLOY_TOKEN=hush-hush-hush shopfloor up --detach > /dev/null
read -r pid rest < "$SHOPFLOOR_HOME/daemon.lock"
DEPLOY_TOKEN=mine sh -c 'tr "\0" "\n" < /proc/$$/environ' | grep -c '^DEPLOY_TOKEN=' || true
tr '\0' '\n' < "/proc/$pid/environ" 2> /dev/null | grep -c '^DEPLOY_TOKEN=' || true
shopfloor down > /dev/null
"#;

#[test]
fn what_the_daemon_was_started_with_is_read_by_nobody() {
    // Where tests' files are is closed to other users.
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
    let at = folder.path();
    std::fs::copy(crate::floor::binary(), at.join("shopfloor")).expect("copied");
    let Some(mut looks) = as_ordinary_user(at, "sh", &["-c", LOOKS]) else {
        println!("skipped: there is no setpriv, and root reads everything");
        return;
    };
    let ran = looks.current_dir(at).env("SHOPFLOOR_HOME", at.join("floor")).output().expect("it runs");
    let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success(), "{said}");
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "1\n0\n", "{said}");
}

/// What moves the primary branch of the hub past the merge queue, from an agent's session. `$hub` is the hub.
const MOVES: [(&str, &str); 6] = [
    ("update-ref", "git -C \"$hub\" update-ref refs/heads/main $(git rev-parse HEAD)"),
    ("a file", "git rev-parse HEAD > \"$hub/refs/heads/main\""),
    (
        "receive-pack",
        "git push -q --receive-pack='git -c core.hooksPath=/dev/null receive-pack' origin HEAD:main",
    ),
    ("send-pack", "env -u SHOPFLOOR_SESSION SHOPFLOOR_FACTORY=1 git send-pack \"$hub\" HEAD:refs/heads/main"),
    // The daemon may put it right in between.
    ("no hook", "until chmod -x \"$hub/hooks/update\"; git push -q origin HEAD:main; do :; done"),
    ("its variable", "SHOPFLOOR_BRANCH=main git push -q origin HEAD:main"),
];

/// At no level of isolation at all these move the branch. Nothing lands on top of it before a person has looked.
#[test]
fn what_moves_the_primary_branch_past_the_queue_holds_the_queue() {
    std::thread::scope(|scope| {
        for (name, way) in MOVES {
            scope.spawn(move || held(name, way));
        }
    });
}

fn held(name: &str, way: &str) {
    let floor = Floor::new(
        "[review]\nrequired = false\n[agents.dev]\nruntime = \"generic\"\ncommand = [\"sh\", \"ATTACK\"]\n",
    );
    let attack = floor.path("attack.sh");
    let script = format!(
        "set -e; hub=$(git remote get-url origin); echo x > attack.txt; git add .; git -c user.name=a -c user.email=a@b commit -qm attack\ngit push -q origin HEAD\n{way}\nshopfloor phase failed --detail enough\n"
    );
    std::fs::write(&attack, script).expect("written");
    floor.configure(|config| config.replace("ATTACK", &attack.display().to_string()));
    let before = floor.hub(&["rev-parse", "main"]);
    // The queue knows where its branch is.
    floor.ok(&["up", "--detach"]);
    wait_for("it is on record", || {
        let engine = floor.engine();
        let mut queues = engine.floor().queues.iter();
        queues.any(|queue| queue.plan.base().is_some())
    });
    floor.ok(&["issue", "add", "Attack", "--label", "backlog"]);
    let frozen = || floor.json(&["merge-queue", "status"]).1[0]["frozen"].clone();
    wait_for("the queue stands still", || frozen().is_string());
    assert_ne!(floor.hub(&["rev-parse", "main"]), before, "{name}");
    let told = frozen().to_string();
    assert!(told.contains("not by the merge queue"), "{name}: {told}");
    assert!(floor.ok(&["events"]).contains("not by the merge queue"), "{name}");
    // An agent does not accept it, a person does.
    floor.ok(&["merge-queue", "accept"]);
    wait_for("it goes on", || frozen().is_null());
    floor.ok(&["down"]);
}

#[test]
fn what_a_person_pushes_is_on_record_and_holds_nothing() {
    let floor = Floor::new(crate::floor::DEMO);
    floor.ok(&["up", "--detach"]);
    wait_for("it is on record", || {
        let engine = floor.engine();
        let mut queues = engine.floor().queues.iter();
        queues.any(|queue| queue.plan.base().is_some())
    });
    floor.git(&["checkout", "--quiet", "-b", "other"]);
    std::fs::write(floor.path("repo/by-hand.txt"), "mine\n").expect("written");
    floor.git(&["add", "by-hand.txt"]);
    floor.git(&["commit", "--quiet", "-m", "by hand"]);
    floor.git(&["push", "--quiet", "shopfloor", "HEAD:main"]);
    wait_for("it is seen", || floor.ok(&["events"]).contains(" moved "));
    assert!(floor.json(&["merge-queue", "status"]).1[0]["frozen"].is_null());
    assert!(floor.run(&["merge-queue", "accept"]).status.code() == Some(4));
    floor.ok(&["down"]);
}

/// What an agent plants in its own repository, its tree and a repository in it, before it goes on as if nothing were.
const PLANTS: &str = r#"
set -eu
own=$(git rev-parse --absolute-git-dir); hub=$(git remote get-url origin); top=$PWD
p="$SHOPFLOOR_HOME/planted"
printf '#!/bin/sh\ntr "\\\\0" " " < /proc/$PPID/cmdline >> "%s"; exec cat\n' "$SHOPFLOOR_HOME/was-run" > "$p"
chmod +x "$p"
echo "$ISSUE" > number.txt
printf '* filter=x merge=x diff=x\n' > .gitattributes
git add number.txt .gitattributes; git commit -qm number
mkdir nested; echo inner > nested/inner.txt; git -C nested init -q
git -C nested add .; git -C nested -c user.name=a -c user.email=a@b commit -qm nested
git -c advice.addEmbeddedRepo=false add nested
for where in "$own" "$top/nested/.git"; do
    cat >> "$where/config" <<END
[filter "x"]
	clean = "$p"
	smudge = "$p"
	required = true
[merge "x"]
	driver = "$p"
[diff]
	external = "$p"
[diff "x"]
	textconv = "$p"
	command = "$p"
[core]
	fsmonitor = "$p"
	sshCommand = "$p"
	alternateRefsCommand = "$p"
	hooksPath = "$top/nested/.git/hooks"
[gpg]
	program = "$p"
[commit]
	gpgSign = true
[credential]
	helper = "$p"
[remote "$hub"]
	uploadpack = "$p"
	receivepack = "$p"
END
    mkdir -p "$where/info" "$where/hooks"; printf '* filter=x merge=x diff=x\n' > "$where/info/attributes"
    for hook in post-checkout pre-push reference-transaction post-index-change; do cp "$p" "$where/hooks/$hook"; done
done
echo changed > nested/inner.txt
shopfloor phase awaiting_ci
test "$(shopfloor inbox wait | head -n 1)" = "CI passed"
shopfloor phase awaiting_review
test "$(shopfloor inbox wait | head -n 1)" = "Review: APPROVE"
shopfloor phase done
shopfloor inbox wait
"#;

/// From its first snapshot to the removal of its worktree, checks, review and merge between.
#[test]
fn what_an_agent_plants_in_its_repository_is_run_by_nobody_else() {
    let review = r#"printf '{"verdict":"APPROVE","verdict_reason":"right","review_markdown":"right"}' > "$SHOPFLOOR_RESULT_FILE""#;
    let floor = Floor::new(&format!(
        "[agents.dev]\nruntime = \"generic\"\ncommand = [\"sh\", \"PLANTS\"]\n[agents.review]\nruntime = \"generic\"\ncommand = [\"sh\", \"-c\", '''{review}''']\n"
    ));
    let plants = floor.path("plants.sh");
    std::fs::write(&plants, PLANTS).expect("written");
    floor.configure(|config| config.replace("PLANTS", &plants.display().to_string()));
    let issue = floor.issue("Plant", "");
    let (code, text) = floor.until_idle();
    assert!(floor.home().join("planted").exists(), "it did not plant anything: {text}");
    let ran = std::fs::read_to_string(floor.home().join("was-run")).unwrap_or_default();
    assert_eq!(ran, "", "{text}");
    assert_eq!(code, 0, "{text}");
    assert_eq!(floor.landed("number.txt"), issue.to_string());
    floor.assert_cleaned_up(issue);
}

/// Has a command of its own run at the door, and looks into it.
const LOOKS_AT_THE_DOOR: &str = r#"
ask() { /usr/bin/python3 -c '
import os, socket, json, sys
home, session = os.environ["SHOPFLOOR_HOME"], os.environ["SHOPFLOOR_SESSION"]
token = json.load(open(f"{home}/sessions/e{session}/grant.json"))["token"]
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["SHOPFLOOR_DOOR"])
socket.send_fds(s, [json.dumps({"token": token, "args": sys.argv[1:]}).encode() + b"\n"], [0, 1, 2])
s.makefile().readline()' "$@"; }
ask issue comment 1 "It is hush-hush-hush."
ask inbox wait &
found=
until [ -n "$found" ]; do
    for p in /proc/[0-9]*; do
        case "$(tr '\0' ' ' < "$p/cmdline" 2> /dev/null)" in *"--project sample inbox wait "*) found=$p;; esac
    done
done
tr '\0' '\n' < "$found/environ" > seen 2>&1 || true
/usr/bin/python3 -c '
import os, socket
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["SHOPFLOOR_DOOR"])
s.send(b"{\"surroundings\": true, \"args\": []}\n"); print(s.makefile().readline())' >> seen
"#;

#[test]
fn a_command_that_is_run_at_the_door_shows_no_secret_and_knows_them() {
    let mut floor = Floor::new(
        "[review]\nrequired = false\n[secrets]\nDEPLOY_TOKEN = { env = \"DEPLOY_TOKEN\" }\n[agents.dev]\nruntime = \"generic\"\ncommand = [\"sh\", \"LOOK\"]\n",
    );
    let script = floor.path("look.sh");
    std::fs::write(&script, format!("{LOOKS_AT_THE_DOOR}\nshopfloor phase failed --detail enough\n"))
        .expect("written");
    floor.configure(|config| config.replace("LOOK", &script.display().to_string()));
    floor.env.push(("DEPLOY_TOKEN".into(), "hush-hush-hush".into()));
    let issue = floor.issue("Look", "");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 3, "{text}");
    let seen = floor.home().join(format!("projects/sample/worktrees/issue-{issue}/seen"));
    let seen = std::fs::read_to_string(seen).expect("it looked");
    assert!(seen.contains("needs a person") || seen.contains("daemon's own commands"), "{seen}");
    assert!(!seen.contains("hush"), "{seen}");
    let comments = floor.json(&["issue", "show", &issue.to_string()]).1["comments"].to_string();
    assert!(comments.contains("It is ") && !comments.contains("hush"), "{comments}");
}

/// What an agent says of its steps is kept, and read by people and by its successors.
#[test]
fn what_an_agent_says_of_its_steps_tells_no_secret() {
    let mut floor = Floor::new(
        "[review]\nrequired = false\n[secrets]\nDEPLOY_TOKEN = { env = \"DEPLOY_TOKEN\" }\n[agents.dev]\nruntime = \"generic\"\ncommand = [\"sh\", \"SAYS\"]\n",
    );
    let script = floor.home().join("bin/says");
    std::fs::create_dir_all(floor.home().join("bin")).expect("a folder");
    let says = "shopfloor step done write --note 'It is hush-hush-hush.'\nshopfloor step skip tell --reason 'It is hush-hush-hush.'\nshopfloor phase failed --detail enough\n";
    std::fs::write(&script, says).expect("written");
    floor.edit(|config| config.replace("SAYS", &script.display().to_string()));
    let formulas = floor.path("repo/.shopfloor/formulas");
    std::fs::create_dir_all(&formulas).expect("a folder");
    let steps = "[[steps]]\nid = \"write\"\ndescription = \"Write.\"\n[[steps]]\nid = \"tell\"\nneeds = [\"write\"]\ndescription = \"Tell.\"\n";
    std::fs::write(formulas.join("tidy.toml"), steps).expect("written");
    floor.isolate("sandbox");
    floor.accept();
    floor.env.push(("DEPLOY_TOKEN".into(), "hush-hush-hush".into()));
    floor.ok(&["formula", "run", "tidy"]);
    let (_, text) = floor.until_idle();
    let shown = floor.json(&["run", "show", "1"]).1.to_string();
    assert!(shown.matches("It is ").count() == 2, "{shown}: {text}");
    let journal: Vec<String> =
        floor.engine().store().journal(Seq(0), 10_000).expect("read").into_iter().map(|e| e.body).collect();
    for said in [shown, floor.ok(&["events"]), journal.concat()] {
        assert!(!said.contains("hush"), "{said}");
    }
}

/// Each with a mark of something else: of a hand session, of another session, of what may look, of what is run at the door.
const PRETENDS: &str = r#"
marks="SHOPFLOOR_PANE=$SHOPFLOOR_HOME/tmux.sock:hand-sample-dev-1-1-h1 SHOPFLOOR_PANE=$SHOPFLOOR_HOME/tmux.sock:dev-sample-1-e999
SHOPFLOOR_PANE=$SHOPFLOOR_HOME/tmux.sock:dev-sample-1-e1 SHOPFLOOR_PANE=$SHOPFLOOR_HOME/tmux.sock:tmux
SHOPFLOOR_STEP=$SHOPFLOOR_HOME/projects/sample/setup/issue-1/steps/x-1 SHOPFLOOR_TOLD=$SHOPFLOOR_HOME/projects/sample/told/entry-1
SHOPFLOOR_VAULT=$SHOPFLOOR_HOME/projects/sample/vault/request-1/1 SHOPFLOOR_ASKER=1 SHOPFLOOR_SESSION=1"
as() { mark=$1; shift; env -i HOME="$HOME" PATH="$PATH" SHOPFLOOR_HOME="$SHOPFLOOR_HOME" "$mark" shopfloor --project sample "$@" < /dev/null; echo "$? $mark $*" >> "$SHOPFLOOR_HOME/codes"; }
[ -z "$1" ] || marks=$1
for mark in $marks; do
    as "$mark" issue add More --label backlog
    as "$mark" issue close 1
    as "$mark" vault request purge --reason x
    as "$mark" session spawn dev 1 1.1 --command true
done
"#;
const MARKS: usize = 9;

/// Nobody is more than it is, and nothing was done.
fn pretended_in_vain(floor: &Floor, attempts: usize) {
    let codes = std::fs::read_to_string(floor.home().join("codes")).expect("it tried");
    // A red check is run once more, and may have begun to be.
    assert!(codes.lines().count() >= attempts, "{codes}");
    assert!(codes.lines().all(|line| line.starts_with("6 ")), "{codes}");
    assert!(!floor.path("fired").exists(), "{codes}");
    assert_eq!(floor.json(&["issue", "show", "1"]).1["state"], "open");
    assert_eq!(floor.run(&["issue", "show", "2"]).status.code(), Some(4), "no issue was added");
    assert!(!floor.tmux(&["list-sessions", "-F", "#S"]).contains("hand-"));
}

#[test]
fn a_variable_makes_an_agent_nobody_else() {
    let floor = Floor::new(
        "[review]\nrequired = false\n[agents.dev]\nruntime = \"generic\"\ncommand = [\"sh\", \"PRETENDS\"]\n",
    );
    declare_purge(&floor, &floor.path("fired"));
    let script = floor.path("pretends.sh");
    // At last it is such a process from the outset, as far as its environment says.
    let becomes = "[ -n \"$BECAME\" ] || exec env -i BECAME=1 HOME=\"$HOME\" PATH=\"$PATH\" PHASE_FILE=\"$PHASE_FILE\" SHOPFLOOR_HOME=\"$SHOPFLOOR_HOME\" SHOPFLOOR_PANE=\"$SHOPFLOOR_HOME/tmux.sock:hand-sample-dev-1-1-h1\" sh \"$0\"\nshopfloor phase failed --detail enough\n";
    std::fs::write(&script, format!("{PRETENDS}{becomes}")).expect("written");
    floor.configure(|config| config.replace("PRETENDS", &script.display().to_string()));
    let before = floor.hub(&["rev-parse", "main"]);
    floor.issue("Attack", "");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 3, "{text}");
    pretended_in_vain(&floor, 2 * MARKS * 4);
    assert_eq!(floor.hub(&["rev-parse", "main"]), before);
    let events = floor.ok(&["events", "--limit", "1000"]);
    for who in ["a process that says it is another asked", "a process that says it is a session asked"] {
        assert!(events.contains(who), "{who}: {events}");
    }
}

#[test]
fn a_variable_makes_a_check_nobody_else() {
    let floor = Floor::new(crate::floor::DEMO);
    declare_purge(&floor, &floor.path("fired"));
    let (script, home) = (floor.path("pretends.sh"), floor.home().display().to_string());
    std::fs::write(&script, format!("SHOPFLOOR_HOME={home}\n{PRETENDS}")).expect("written");
    // The first process of each step is what its mark says, as far as its environment says.
    let step = |mark: &str| {
        format!(
            "exec env -i HOME=$HOME PATH={home}/bin:$PATH {mark} sh '{}' {}",
            script.display(),
            if mark == "A=B" { "" } else { "C=D" },
        )
    };
    let marks = [
        "A=B".to_owned(),
        format!("SHOPFLOOR_PANE={home}/tmux.sock:hand-sample-dev-1-1-h1"),
        format!("SHOPFLOOR_PANE={home}/tmux.sock:dev-sample-1-e1"),
        format!("SHOPFLOOR_STEP={home}/projects/sample/ci/run-1"),
        "SHOPFLOOR_ASKER=1".to_owned(),
    ];
    let steps = marks.each_ref().map(|mark| step(mark)).join("\" }, { name = \"NAME\", run = \"");
    let steps = (1..marks.len()).fold(steps, |steps, n| steps.replacen("NAME", &format!("step {n}"), 1));
    let last = format!("{steps}\" }}, {{ name = \"last\", run = \"false");
    floor.configure(|config| config.replace("./check.sh", &last));
    let before = floor.hub(&["rev-parse", "main"]);
    floor.issue("Attack", "demo: write a.txt <<a");
    floor.ok(&["up", "--detach"]);
    wait_for("the checks have failed", || floor.ok(&["events"]).contains("step \"last\" failed"));
    pretended_in_vain(&floor, (MARKS + marks.len() - 1) * 4);
    assert_eq!(floor.hub(&["rev-parse", "main"]), before);
    floor.ok(&["down"]);
}
