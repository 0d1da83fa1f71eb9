//! What executes or grants is in force as a person accepted it: neither a merge nor an edit changes that, and a daemon
//! that is killed finds the same in force.

use crate::floor::{DEMO, Floor, wait_for};

/// Commits all of the checkout and sends it to the primary branch, as a person may.
fn commit(floor: &Floor, what: &str) {
    floor.git_insists(&["add", "--all"]);
    floor.git_insists(&["commit", "--quiet", "-m", what]);
    floor.git(&["push", "--quiet", "shopfloor", "main"]);
}

fn differs(floor: &Floor) -> serde_json::Value {
    let (_, status) = floor.json(&["status"]);
    status["floor"]["projects"][0]["config"].clone()
}

#[test]
fn what_was_merged_or_edited_is_not_in_force_until_a_person_accepts_it() {
    let mut floor = Floor::new(DEMO);
    floor.env.push(("A_TOKEN".into(), "swordfish-in-a-pond".into()));
    commit(&floor, "the configuration");
    floor.ok(&["up", "--detach"]);
    assert_eq!(differs(&floor), serde_json::Value::Null);

    // On the primary branch, as if it had been merged; and half of it again in the checkout alone.
    let ran = floor.path("ran");
    floor.edit(|text| {
        let text = text.replace("[ci]\n", "[ci]\npass_env = [\"A_TOKEN\"]\n");
        format!(
            "{text}[review]\nrequired = false\n[worktree]\nsetup = [\"printenv A_TOKEN >> {}; true\"]\n",
            ran.display()
        )
    });
    commit(&floor, "what grants and executes");
    floor.edit(|text| text.replace("setup = [", "teardown = [\"true\"]\nsetup = ["));
    wait_for("it is seen", || differs(&floor)["diff"].as_str().is_some_and(|diff| diff.contains("teardown")));
    let config = differs(&floor);
    let diff = config["diff"].as_str().expect("a text");
    assert!(diff.contains("-required = true") && diff.contains("+required = false"), "{diff}");
    let shown = floor.ok(&["questions"]);
    assert!(shown.contains("shopfloor config accept") && shown.contains("+required = false"), "{shown}");
    let question = config["question"].as_str().expect("a number");
    let answered = floor.run(&["answer", question, "yes"]);
    assert_eq!(answered.status.code(), Some(1));
    let (_, open) = floor.json(&["questions"]);
    assert_eq!(open.as_array().map(Vec::len), Some(1), "one for the difference as it is now: {open}");

    // Neither a daemon that is killed nor the next forgets what is in force.
    floor.kill_daemon();
    let issue = floor.issue("One", "demo: write src/one.txt <<one");
    floor.up();
    floor.wait_until_merged(issue);
    assert!(!ran.exists(), "a setup ran that nobody accepted");
    let (_, shown) = floor.json(&["explain", &issue.to_string()]);
    assert!(shown.to_string().contains("APPROVE"), "it was reviewed: {shown}");

    // An agent may do nothing about it.
    let agent = |args: &[&str]| {
        let mut command = floor.command(args);
        command.env("SHOPFLOOR_SESSION", "7").env("PROJECT_NAME", "sample");
        command.output().expect("it runs").status.code()
    };
    assert_eq!(
        (agent(&["config", "diff"]), agent(&["config", "accept"])),
        (Some(6), Some(6)),
        "it has no badge"
    );
    assert!(!differs(&floor).is_null());

    // Accepted, it is in force at once; what it passes on is granted in the floor's own file.
    let said = floor.ok(&["config", "accept"]);
    assert!(said.contains("+required = false") && said.contains("granted in"), "{said}");
    let granted = std::fs::read_to_string(floor.home().join("floor.toml")).expect("read");
    assert!(granted.starts_with("[sessions]") && granted.contains("pass_env = [\"A_TOKEN\"]"), "{granted}");
    wait_for("it is in force", || differs(&floor).is_null());
    let policy = || floor.engine().floor().policy(&floor.project);
    wait_for("the core knows", || !policy().review_required);
    let body = "demo: write src/two.txt <<two";
    let second = floor.ok(&["issue", "add", "Two", "--body", body, "--label", "backlog"]);
    let second = second.trim().trim_start_matches('#').parse().expect("a number");
    floor.wait_until_merged(second);
    assert_eq!(std::fs::read_to_string(&ran).expect("the setup ran"), "swordfish-in-a-pond\n");

    // What is undone is no question any more.
    floor.edit(|text| format!("{text}\n[rescue]\npush = true\n"));
    wait_for("it is asked about", || !differs(&floor).is_null());
    floor.edit(|text| text.replace("push = true", "push = false"));
    wait_for("it is not asked about any more", || differs(&floor).is_null());
    assert_eq!(floor.json(&["questions"]).1, serde_json::json!([]));
}

/// What only says how much, how long and how often counts as soon as it is said.
#[test]
fn a_limit_needs_no_acceptance() {
    let floor = Floor::new(DEMO);
    floor.ok(&["up", "--detach"]);
    floor.edit(|text| text.replace("max_jobs = 2", "max_jobs = 3"));
    wait_for("it counts", || floor.engine().floor().policy(&floor.project).max_jobs == 3);
    assert!(differs(&floor).is_null());
}

/// A floor of an earlier build has no word of anybody: what is there is taken once, and told of.
#[test]
fn a_floor_without_a_word_takes_what_it_finds_once() {
    let floor = Floor::new(DEMO);
    let db = rusqlite::Connection::open(floor.home().join("floor.db")).expect("the store");
    let gone = db.execute("DELETE FROM state WHERE kind = 'pin'", []).expect("deleted");
    assert_eq!(gone, 1);
    drop(db);
    floor.edit(|text| text.replace("timeout = \"1m\"", "timeout = \"2m\""));
    floor.until_idle();
    let accepted = |floor: &Floor| floor.engine().floor().accepted(&floor.project).expect("accepted").clone();
    let first = accepted(&floor);
    assert!(first.text.contains("\"2m\""), "{}", first.text);
    let events = floor.ok(&["events"]);
    assert!(events.contains("in force as it was found"), "{events}");
    floor.edit(|text| text.replace("timeout = \"2m\"", "timeout = \"3m\""));
    floor.until_idle();
    assert_eq!(accepted(&floor).text, first.text);
    assert!(!differs(&floor).is_null());
}

/// The floor's own file may say that everything counts at once; `doctor` does not pass over that.
#[test]
fn a_floor_may_accept_everything() {
    let floor = Floor::new(DEMO);
    let file = floor.home().join("floor.toml");
    let text = std::fs::read_to_string(&file).expect("read");
    std::fs::write(&file, format!("{text}[config]\naccept = \"always\"\n")).expect("written");
    floor.ok(&["up", "--detach"]);
    floor.edit(|text| format!("{text}[review]\nrequired = false\n"));
    wait_for("it counts", || !floor.engine().floor().policy(&floor.project).review_required);
    assert!(differs(&floor).is_null());
    let output = floor.run(&["doctor"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("in force at once, whoever wrote it"), "{said}");
}
