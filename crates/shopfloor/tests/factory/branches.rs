//! People's branches: pushed to the hub by hand, queued with `merge-queue add`, landed like any other; and
//! people's pushes to the primary branch itself.

use crate::floor::{Floor, wait_for};
use serde_json::{Value, json};
use shopfloor_core::ids::{PrNumber, Sha};
use shopfloor_store::forge::{IssueState, NewIssue, NewPr, PrState};
use std::fs::File;
use std::io::Write;

/// No agent is needed for any of this.
pub const PEOPLE: &str = r#"
[agents.dev]
runtime = "demo"
"#;

/// The checks, and a gate in front of them: a run says that it began, and waits until it is let through.
pub struct Gate {
    fifo: File,
    began: std::path::PathBuf,
}

impl Gate {
    /// Changes the project's checks, on the primary branch.
    pub fn new(floor: &Floor) -> Gate {
        let (fifo, began) = (floor.path("gate"), floor.path("began"));
        let made = std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs");
        assert!(made.success());
        std::fs::write(&began, "").expect("written");
        let script = format!(
            "#!/bin/sh\necho began >> '{}'\nread _ < '{}'\n! grep -rn BROKEN --include='*.txt' .\n",
            began.display(),
            fifo.display()
        );
        std::fs::write(floor.path("repo/check.sh"), script).expect("written");
        floor.git(&["commit", "--quiet", "-am", "a gate"]);
        floor.git(&["push", "--quiet", "shopfloor", "main"]);
        // Open both ways: it does not block, and what is written stays for those who come later.
        let fifo = File::options().read(true).write(true).open(fifo).expect("the gate opens");
        Gate { fifo, began }
    }

    pub fn began(&self) -> usize {
        std::fs::read_to_string(&self.began).expect("readable").lines().count()
    }

    pub fn let_through(&mut self, runs: usize) {
        self.fifo.write_all("\n".repeat(runs).as_bytes()).expect("written");
    }
}

/// Pushes a branch with one commit on top of the primary branch as it is in the checkout.
pub fn push(floor: &Floor, branch: &str, file: &str, content: &str) -> Sha {
    push_onto(floor, "main", branch, file, content)
}

pub fn push_onto(floor: &Floor, base: &str, branch: &str, file: &str, content: &str) -> Sha {
    floor.git_insists(&["checkout", "--quiet", "-B", "work", base]);
    std::fs::write(floor.path("repo").join(file), format!("{content}\n")).expect("written");
    floor.git_insists(&["add", file]);
    floor.git_insists(&["commit", "--quiet", "-m", &format!("{branch}: {content}")]);
    floor.git(&["push", "--quiet", "--force", "shopfloor", &format!("HEAD:refs/heads/{branch}")]);
    let head = floor.git(&["rev-parse", "HEAD"]);
    floor.git_insists(&["checkout", "--quiet", "main"]);
    head.parse().expect("a commit")
}

/// A person changes the primary branch.
pub fn push_primary(floor: &Floor, file: &str) -> String {
    floor.git_insists(&["pull", "--quiet", "--ff-only", "shopfloor", "main"]);
    std::fs::write(floor.path("repo").join(file), "by hand\n").expect("written");
    floor.git_insists(&["add", file]);
    floor.git_insists(&["commit", "--quiet", "-m", &format!("by hand: {file}")]);
    floor.git_insists(&["push", "--quiet", "shopfloor", "main"]);
    floor.git(&["rev-parse", "HEAD"])
}

/// A floor whose configuration the store knows.
pub fn floor(config: &str) -> Floor {
    let floor = Floor::new(config);
    assert_eq!(floor.until_idle().0, 0);
    floor
}

fn newest(floor: &Floor) -> Value {
    floor.json(&["merge-queue", "list", "--all"]).1[0].clone()
}

fn history(floor: &Floor, branch: &str) -> Value {
    let (_, all) = floor.json(&["merge-queue", "history"]);
    let all = all.as_array().expect("a list").clone();
    all.into_iter().find(|e| e["branch"] == branch).unwrap_or_default()
}

fn status(floor: &Floor) -> Value {
    floor.json(&["merge-queue", "status"]).1[0].clone()
}

/// It is refused, with that exit code and in these words.
fn refused(floor: &Floor, args: &[&str], code: i32, words: &[&str]) {
    let output = floor.run(args);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {said}");
    for words in words {
        assert!(said.contains(words), "{args:?}: {said}");
    }
}

fn exists(floor: &Floor, branch: &str) -> bool {
    !floor.hub(&["for-each-ref", &format!("refs/heads/{branch}")]).is_empty()
}

#[test]
fn a_persons_branch_is_approved_checked_landed_and_deleted() {
    let floor = floor(PEOPLE);
    let head = push(&floor, "alice/fix", "a.txt", "one");
    // What is missing is said, and what to do about it.
    let words = ["head", "is not approved", "merge-queue add alice/fix --approve"];
    refused(&floor, &["merge-queue", "add", "alice/fix"], 1, &words);
    let said = floor.ok(&["merge-queue", "add", "alice/fix", "--approve"]);
    assert!(said.contains("alice/fix: testing, position 1: its head is checked first"), "{said}");
    let entry = newest(&floor);
    assert_eq!((&entry["head"], &entry["bead_id"]), (&json!(head), &Value::Null));
    assert!(entry["waits_for"].as_str().is_some_and(|w| w.contains("of its own head")), "{entry}");
    // Without a daemon, in the foreground; all of it is done when that returns.
    let said = floor.ok(&["merge-queue", "process"]);
    assert!(said.contains("alice/fix: merged: landed as"), "{said}");
    assert_eq!(floor.landed("a.txt"), "one");
    assert!(!exists(&floor, "alice/fix"));
    assert_eq!(floor.hub(&["rev-parse", &format!("refs/shopfloor/merged/{head}")]), head.to_string());
    assert_eq!(history(&floor, "alice/fix")["status"], "merged");
    assert!(floor.ok(&["events"]).contains("MERGE_COMPLETE"));
    let runs = floor.json(&["ci", "list"]).1;
    assert_eq!(
        (runs[0]["issue"].clone(), runs[0]["verdict"].clone()),
        (Value::Null, json!("green")),
        "{runs}"
    );
    floor.assert_history_green();
}

#[test]
fn with_a_daemon_it_lands_by_itself() {
    let floor = floor(PEOPLE);
    floor.ok(&["up", "--detach"]);
    push(&floor, "alice/fix", "a.txt", "one");
    floor.ok(&["merge-queue", "add", "alice/fix", "--approve", "--priority"]);
    wait_for("it landed and is gone", || {
        history(&floor, "alice/fix")["status"] == "merged" && !exists(&floor, "alice/fix")
    });
    assert_eq!(floor.landed("a.txt"), "one");
    floor.ok(&["down"]);
    floor.assert_history_green();
}

#[test]
fn what_makes_no_sense_is_refused_in_plain_words() {
    let floor = floor(PEOPLE);
    let add = |branch: &'static str| ["merge-queue", "add", branch, "--approve"];
    refused(&floor, &add("nowhere"), 4, &["the hub has no branch nowhere", "git push shopfloor nowhere"]);
    refused(&floor, &add("main"), 2, &["main is the primary branch"]);
    refused(&floor, &add("a..b"), 2, &["is not a valid branch name"]);
    refused(&floor, &add("weird\u{1b}[31m"), 2, &["is not a valid branch name"]);
    floor.git(&["push", "--quiet", "shopfloor", "HEAD:refs/heads/same"]);
    refused(&floor, &add("same"), 1, &["same has no commit that main lacks"]);
    floor.git(&["checkout", "--quiet", "-b", "hollow"]);
    floor.git(&["commit", "--quiet", "--allow-empty", "-m", "nothing"]);
    floor.git(&["push", "--quiet", "shopfloor", "hollow"]);
    refused(&floor, &add("hollow"), 1, &["hollow changes nothing"]);
    floor.git(&["checkout", "--quiet", "--orphan", "stranger"]);
    floor.git(&["commit", "--quiet", "-m", "from elsewhere"]);
    floor.git(&["push", "--quiet", "shopfloor", "stranger"]);
    refused(&floor, &add("stranger"), 1, &["shares no history with main"]);
    floor.git(&["checkout", "--quiet", "main"]);
    push(&floor, "alice/fix", "a.txt", "one");
    refused(&floor, &["merge-queue", "add", "alice/fix", "--pr", "7"], 4, &["7"]);
    refused(&floor, &["merge-queue", "remove", "alice/fix"], 4, &["no job of project sample carries"]);
    // A name that looks like an issue's number can be said in full.
    push(&floor, "12", "b.txt", "two");
    refused(&floor, &["merge-queue", "add", "12"], 4, &["issue #12"]);
    floor.ok(&["merge-queue", "add", "refs/heads/12", "--approve"]);
    let agent = floor
        .command(&add("alice/fix"))
        .env("SHOPFLOOR_SESSION", "e1")
        .env("PROJECT_NAME", "sample")
        .output();
    let agent = agent.expect("it runs");
    assert_eq!(agent.status.code(), Some(6), "an agent approves nothing");
}

#[test]
fn a_project_without_checks_has_to_say_so() {
    let floor = Floor::new(PEOPLE);
    let file = floor.path("repo/shopfloor.toml");
    let config = |ci: &str| {
        let rest = "[review]\nrequired = false\n";
        let text = format!("[project]\nname = \"sample\"\n[ci]\n{ci}\n{rest}{PEOPLE}");
        std::fs::write(&file, text).expect("written");
        // What cannot be used is not accepted either.
        floor.run(&["config", "accept"]);
        floor.until_idle()
    };
    assert_eq!(config("steps = []\nno_checks = true").0, 0);
    push(&floor, "alice/fix", "a.txt", "one");
    floor.ok(&["merge-queue", "add", "alice/fix"]);
    floor.ok(&["merge-queue", "process"]);
    assert_eq!(floor.landed("a.txt"), "one");
    let (code, said) = config("steps = []");
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("no_checks = true"), "{said}");
}

#[test]
fn trouble_is_told_and_what_was_mended_lands() {
    let floor = floor(PEOPLE);
    push(&floor, "alice/red", "a.txt", "BROKEN");
    floor.ok(&["merge-queue", "add", "alice/red", "--approve"]);
    let output = floor.run(&["merge-queue", "process"]);
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("alice/red: failed: its head does not pass the checks"), "{said}");
    let said = floor.ok(&["explain", "alice/red"]);
    assert!(said.contains("failed") && said.contains("the log: ") && said.contains("MERGE_FAILED"), "{said}");
    // The approval was of that head: the next is approved anew.
    push(&floor, "alice/red", "a.txt", "mended");
    refused(&floor, &["merge-queue", "retry", "alice/red"], 1, &["is not approved"]);
    floor.ok(&["merge-queue", "add", "alice/red", "--approve"]);
    floor.ok(&["merge-queue", "process"]);
    push(&floor, "alice/rival", "a.txt", "other");
    floor.ok(&["merge-queue", "add", "alice/rival", "--approve"]);
    assert_eq!(floor.run(&["merge-queue", "process"]).status.code(), Some(3));
    let entry = history(&floor, "alice/rival");
    let what = entry["waits_for"].as_str().expect("text");
    assert!(entry["status"] == "conflicted" && what.starts_with("conflicts in a.txt (on top of "), "{entry}");
    assert!(floor.ok(&["events"]).contains("alice/rival: conflicts with the primary branch"));
    assert!(exists(&floor, "alice/rival"));
    // It may be queued again as it is, with the approval on record; it conflicts again.
    floor.ok(&["merge-queue", "retry", "alice/rival"]);
    assert_eq!(floor.run(&["merge-queue", "process"]).status.code(), Some(3));
    // Taken out, and put back.
    push(&floor, "alice/last", "c.txt", "three");
    floor.ok(&["merge-queue", "add", "alice/last", "--approve"]);
    assert!(floor.ok(&["merge-queue", "remove", "alice/last"]).contains("alice/last: cancelled"));
    floor.ok(&["merge-queue", "add", "alice/last"]);
    // Its branch moves on after that: what was approved is not what is there.
    push(&floor, "alice/last", "c.txt", "four");
    assert_eq!(floor.run(&["merge-queue", "process"]).status.code(), Some(3));
    assert!(history(&floor, "alice/last")["waits_for"].as_str().is_some_and(|w| w.contains("moved to")));
    floor.hub(&["update-ref", "-d", "refs/heads/alice/last"]);
    refused(&floor, &["merge-queue", "retry", "alice/last"], 4, &["the hub has no branch"]);
    floor.assert_history_green();
}

/// Everything that a branch may hold beside plain text, and a history that is not a line.
#[test]
fn odd_branches_go_the_whole_way() {
    use std::os::unix::ffi::OsStrExt;
    let floor = floor(PEOPLE);
    let repo = floor.path("repo");
    std::fs::write(repo.join("old-name"), "one\ntwo\nthree\n").expect("written");
    std::fs::write(repo.join("was.txt"), "plain\n").expect("written");
    floor.git(&["add", "-A"]);
    floor.git(&["commit", "--quiet", "-m", "before"]);
    floor.git(&["push", "--quiet", "shopfloor", "main"]);
    floor.git(&["checkout", "--quiet", "-b", "side"]);
    std::fs::write(repo.join("side.txt"), "side\n").expect("written");
    floor.git(&["add", "-A"]);
    floor.git(&["commit", "--quiet", "-m", "side"]);
    floor.git(&["checkout", "--quiet", "-b", "odd", "main"]);
    floor.git(&["mv", "old-name", "new-name"]);
    std::fs::write(repo.join("crlf"), "one\r\ntwo\r\n").expect("written");
    std::fs::write(repo.join(std::ffi::OsStr::from_bytes(b"caf\xe9 \xff")), "bytes\n").expect("written");
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n";
    std::fs::write(repo.join("big.bin"), pointer).expect("written");
    std::fs::write(repo.join(".gitattributes"), "*.bin filter=lfs diff=lfs merge=lfs -text\n")
        .expect("written");
    std::os::unix::fs::symlink("../outside", repo.join("link")).expect("a link");
    floor.git(&["add", "-A"]);
    floor.git(&["update-index", "--chmod=+x", "was.txt"]);
    let submodule = format!("160000,{},vendored", floor.git(&["rev-parse", "HEAD"]));
    floor.git(&["update-index", "--add", "--cacheinfo", &submodule]);
    floor.git(&["commit", "--quiet", "-m", "odd"]);
    floor.git(&["merge", "--quiet", "--no-ff", "-m", "joined", "side"]);
    floor.git(&["push", "--quiet", "shopfloor", "odd"]);
    let wanted = floor.git(&["ls-tree", "-r", "odd"]);
    floor.git(&["checkout", "--quiet", "--force", "main"]);
    // Somebody changes the renamed file meanwhile.
    std::fs::write(repo.join("old-name"), "zero\none\ntwo\nthree\n").expect("written");
    floor.git(&["commit", "--quiet", "-am", "meanwhile"]);
    floor.git(&["push", "--quiet", "shopfloor", "main"]);
    floor.ok(&["merge-queue", "add", "odd", "--approve"]);
    floor.ok(&["merge-queue", "process"]);
    let landed = floor.hub(&["ls-tree", "-r", "main"]);
    let but = |list: &str| {
        list.lines().filter(|l| !l.ends_with("\tnew-name")).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(but(&landed), but(&wanted));
    assert_eq!(floor.landed("new-name"), "zero\none\ntwo\nthree");
    for kind in ["160000 commit", "120000 blob", "100755 blob"] {
        assert!(landed.contains(kind), "{kind}");
    }
    assert!(!floor.hub(&["rev-parse", "main^2"]).is_empty(), "its merge is one");
    floor.assert_history_green();
}

#[test]
fn its_pull_request_is_heeded_and_closed() {
    let floor = floor(PEOPLE);
    let head = push(&floor, "alice/fix", "a.txt", "one");
    let (title, author) = ("By hand".to_owned(), "alice".to_owned());
    let new = NewIssue { title, body: String::new(), author, labels: vec![], deps: vec![] };
    let issue = floor.forge().create_issue(&floor.project, &new).expect("an issue");
    let new = NewPr {
        title: "By hand".into(),
        body: String::new(),
        branch: "alice/fix".into(),
        head,
        issue: Some(issue),
        author: "alice".into(),
    };
    let pr: PrNumber = floor.forge().open_pr(&floor.project, &new).expect("a pull request");
    let number = pr.to_string();
    refused(
        &floor,
        &["merge-queue", "add", "alice/fix", "--pr", &number],
        1,
        &[&format!("pr review {number} --approve")],
    );
    floor.ok(&["pr", "review", &number, "--request-changes", "--body", "no"]);
    refused(&floor, &["merge-queue", "add", "alice/fix"], 1, &["asked for changes"]);
    floor.ok(&["pr", "review", &number, "--approve"]);
    floor.ok(&["merge-queue", "add", "alice/fix"]);
    floor.ok(&["merge-queue", "process"]);
    let pr = floor.forge().pr_summary(&floor.project, pr).expect("a pull request");
    assert_eq!(
        (pr.state, pr.merged_commit.map(|c| c.to_string())),
        (PrState::Merged, Some(floor.hub(&["rev-parse", "main"])))
    );
    assert_eq!(floor.forge().issue(&floor.project, issue).expect("an issue").state, IssueState::Closed);
    assert_eq!(floor.hub(&["rev-parse", &format!("refs/pull/{number}/head")]), pr.head.to_string());
}

#[test]
fn a_push_to_the_primary_branch_is_noticed_at_once() {
    let floor = Floor::new(PEOPLE);
    let mut gate = Gate::new(&floor);
    assert_eq!(floor.until_idle().0, 0);
    push(&floor, "alice/fix", "a.txt", "one");
    // On top of something else, so that its candidate has to be checked by itself.
    push_primary(&floor, "before.txt");
    floor.ok(&["up", "--detach"]);
    floor.ok(&["merge-queue", "add", "alice/fix", "--approve"]);
    gate.let_through(1);
    wait_for("its candidate is being checked", || gate.began() == 2);
    // Nothing else happens: no run ends, nothing is built. The push alone voids what is being tried.
    let head = push_primary(&floor, "after.txt");
    wait_for("the push is known", || status(&floor)["primary"] == json!(head));
    wait_for("a candidate on top of it is being checked", || gate.began() == 3);
    gate.let_through(1);
    wait_for("it landed", || history(&floor, "alice/fix")["status"] == "merged");
    assert_eq!(floor.hub(&["rev-parse", "main~1"]), head);
    // Packed away it is where it was.
    floor.hub(&["pack-refs", "--all"]);
    let head = push_primary(&floor, "later.txt");
    wait_for("that push is known, too", || status(&floor)["primary"] == json!(head));
    floor.ok(&["down"]);
    floor.assert_history_green();
}

/// Whatever happens to a branch while its candidate is checked: it is not what was approved any more.
#[test]
fn a_branch_that_is_pushed_to_forced_or_deleted_in_its_trial_does_not_land() {
    let floor = Floor::new(PEOPLE);
    let mut gate = Gate::new(&floor);
    assert_eq!(floor.until_idle().0, 0);
    let names = ["pushed", "forced", "deleted"];
    let heads = names.map(|name| push(&floor, name, &format!("{name}.txt"), "approved"));
    // On top of something else, so that their candidates have to be checked by themselves.
    push_primary(&floor, "before.txt");
    floor.ok(&["merge-queue", "pause"]);
    floor.ok(&["up", "--detach"]);
    for name in names {
        floor.ok(&["merge-queue", "add", name, "--approve"]);
    }
    gate.let_through(names.len());
    let stand = |state: &str| {
        let (_, all) = floor.json(&["merge-queue", "list", "--all"]);
        all.as_array().expect("a list").iter().filter(|e| e["status"] == state).count()
    };
    wait_for("their heads passed", || stand("queued") == names.len());
    floor.ok(&["merge-queue", "resume"]);
    wait_for("a candidate is being checked", || gate.began() > names.len());
    push_onto(&floor, heads[0].as_str(), "pushed", "more.txt", "unseen");
    push_onto(&floor, "main", "forced", "forced.txt", "unseen");
    floor.hub(&["update-ref", "-d", "refs/heads/deleted"]);
    wait_for("they are out of the queue", || stand("cancelled") == names.len());
    gate.let_through(9);
    floor.ok(&["down"]);
    let files = floor.hub(&["ls-tree", "--name-only", "main"]);
    for name in ["pushed", "forced", "deleted", "more"] {
        assert!(!files.contains(&format!("{name}.txt")), "{files}");
    }
    let events = floor.ok(&["events"]);
    assert!(events.contains("was moved to") && events.contains("was deleted"), "{events}");
}

#[test]
fn an_approval_is_of_a_commit() {
    let floor = floor(PEOPLE);
    let seen = push(&floor, "alice/fix", "a.txt", "one");
    let head = push_onto(&floor, seen.as_str(), "alice/fix", "b.txt", "unseen");
    let add = ["merge-queue", "add", "alice/fix", "--approve"];
    let seen = seen.to_string();
    let words = [&format!("not at {seen}")[..], "nothing is approved"];
    refused(&floor, &[&add[..], &[&seen]].concat(), 1, &words);
    refused(&floor, &["merge-queue", "add", "alice/fix"], 1, &["is not approved"]);
    let said = floor.ok(&[&add[..], &[&head.to_string()[..12]]].concat());
    assert!(said.contains(&format!("approved {head}, the head of alice/fix")), "{said}");
    floor.ok(&["merge-queue", "process"]);
    assert_eq!(floor.landed("b.txt"), "unseen");
}

#[test]
fn a_rewound_or_deleted_primary_branch_is_an_alarm() {
    let floor = floor(PEOPLE);
    let doctor = |floor: &Floor| {
        let (_, report) = floor.json(&["doctor"]);
        let checks = report["checks"].as_array().cloned().unwrap_or_default();
        checks.into_iter().find(|c| c["name"] == "merge queue of sample").expect("it is looked at")
    };
    push(&floor, "alice/one", "a.txt", "one");
    floor.ok(&["merge-queue", "add", "alice/one", "--approve"]);
    floor.ok(&["merge-queue", "process"]);
    let landed = floor.hub(&["rev-parse", "main"]);
    let before = floor.hub(&["rev-parse", "main~1"]);
    assert_eq!(doctor(&floor)["status"], "ok");
    floor.ok(&["up", "--detach"]);
    floor.git(&["push", "--quiet", "--force", "shopfloor", &format!("{before}:refs/heads/main")]);
    wait_for("the queue stands still", || status(&floor)["frozen"].is_string());
    assert!(status(&floor)["frozen"].as_str().is_some_and(|w| w.contains("rewound")));
    assert!(floor.ok(&["events"]).contains("the merge queue stands still until that is put right"));
    assert_eq!(doctor(&floor)["status"], "fail");
    assert!(doctor(&floor)["hint"].as_str().is_some_and(|h| h.contains(&landed)), "{}", doctor(&floor));
    // What comes now waits, and is not built on top of that.
    push(&floor, "alice/two", "b.txt", "two");
    floor.ok(&["merge-queue", "add", "alice/two", "--approve"]);
    wait_for("its own head passed", || newest(&floor)["status"] == "queued");
    assert!(newest(&floor)["waits_for"].as_str().is_some_and(|w| w.contains("rewound")));
    refused(&floor, &["merge-queue", "process"], 1, &["the merge queue stands still", "merge-queue resume"]);
    assert_eq!(floor.hub(&["rev-parse", "main"]), before);
    // Put back, it goes on by itself.
    floor.git_insists(&["fetch", "--quiet", "shopfloor"]);
    floor.hub(&["update-ref", "refs/heads/main", &landed]);
    wait_for("it landed", || history(&floor, "alice/two")["status"] == "merged");
    assert_eq!(floor.hub(&["rev-parse", "main~1"]), landed);
    assert_eq!(status(&floor)["frozen"], Value::Null);

    // Deleted, with nothing in the queue; a person accepts where it is made anew.
    let landed = floor.hub(&["rev-parse", "main"]);
    wait_for("the checkout has it", || floor.git(&["rev-parse", "main"]) == landed);
    floor.hub(&["update-ref", "-d", "refs/heads/main"]);
    wait_for("the queue stands still", || status(&floor)["frozen"].is_string());
    assert!(status(&floor)["frozen"].as_str().is_some_and(|w| w.contains("deleted")));
    refused(&floor, &["merge-queue", "resume"], 1, &["has no primary branch main", "put it back"]);
    assert_eq!(doctor(&floor)["status"], "fail");
    floor.hub(&["update-ref", "refs/heads/main", &format!("{landed}~1")]);
    wait_for("it is seen where it is", || {
        status(&floor)["frozen"].as_str().is_some_and(|w| w.contains("rewound"))
    });
    floor.ok(&["merge-queue", "resume"]);
    wait_for("it is accepted", || status(&floor)["frozen"] == Value::Null);
    push_onto(&floor, &format!("{landed}~1"), "alice/three", "c.txt", "three");
    floor.ok(&["merge-queue", "add", "alice/three", "--approve"]);
    wait_for("it landed", || history(&floor, "alice/three")["status"] == "merged");
    assert_eq!(floor.hub(&["rev-list", "--first-parent", "--count", &format!("{landed}~1..main")]), "1");
    floor.ok(&["down"]);

    // What is put right while nobody is there to see it is seen by whoever comes next.
    let landed = floor.hub(&["rev-parse", "main"]);
    // The daemon was stopped perhaps before it had brought the checkout up to date.
    floor.git(&["fetch", "--quiet", "shopfloor"]);
    push_onto(&floor, &landed, "alice/four", "d.txt", "four");
    floor.ok(&["merge-queue", "add", "alice/four", "--approve"]);
    floor.hub(&["update-ref", "refs/heads/main", &format!("{landed}~1")]);
    floor.run(&["merge-queue", "process"]);
    refused(&floor, &["merge-queue", "process"], 1, &["the merge queue stands still", "rewound"]);
    floor.hub(&["update-ref", "refs/heads/main", &landed]);
    floor.ok(&["merge-queue", "process"]);
    assert_eq!(history(&floor, "alice/four")["status"], "merged");
}

#[test]
fn what_says_that_it_is_not_done_is_not_queued_by_mistake() {
    let floor = floor(PEOPLE);
    floor.git_insists(&["checkout", "--quiet", "-B", "work", "main"]);
    std::fs::write(floor.path("repo/a"), "1\n").expect("written");
    floor.git_insists(&["add", "a"]);
    floor.git_insists(&["commit", "--quiet", "-m", "fixup! feature"]);
    floor.git(&["push", "--quiet", "shopfloor", "HEAD:refs/heads/wip"]);
    floor.git_insists(&["checkout", "--quiet", "main"]);
    let output = floor.run(&["merge-queue", "add", "wip", "--approve"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("is not finished, by its own account: \"fixup! feature\"")
            && said.contains("--unfinished"),
        "{said}"
    );
    floor.ok(&["merge-queue", "add", "wip", "--approve", "--unfinished"]);
    floor.until_idle();
    assert_eq!(floor.landed("a"), "1");
}
