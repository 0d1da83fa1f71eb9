//! Grooming on a real floor: what is found without an agent, what a gardener answers, what the factory does of it, what
//! people decide and undo, who dies in between, and what a hostile gardener may not.

use crate::floor::{DEMO, Floor};
use crate::kills::up_killed_after;
use serde_json::{Value, json};

/// Skips what it is not about, leaves the answers that lie ready one after another, and says what it was told.
const SCRIPT: &str = r#"
set -u
shopfloor step skip blocked --reason "nothing is blocked" > /dev/null
for answer in ANSWERS/*; do
  cat "$answer" > "$SHOPFLOOR_RESULT_FILE"
  shopfloor step done groom --note judged > /dev/null
  shopfloor inbox wait >> ANSWERS-told
done
shopfloor step skip agents-md --reason "it is true" > /dev/null
shopfloor phase done
"#;

const FINE: &str = "It happens when the clock is wrong, on every machine that was tried so far, and it has done so since \
                    the spring.\n\n- [ ] it happens no more";

const MENU: &str = "After a second start the menu shows nothing, whatever the language; before May it had all of its \
                    entries, as the manual says.\n\n- [ ] it has them again";

/// A floor whose gardener leaves those answers in one run after another.
fn with(script: &str) -> Floor {
    let floor = Floor::new(&format!(
        "{DEMO}[agents.gardener]\nruntime = \"generic\"\ncommand = [\"sh\", \"SCRIPT\"]\n"
    ));
    let (file, answers) = (floor.path("script.sh"), floor.path("answers"));
    std::fs::create_dir_all(&answers).expect("a folder");
    std::fs::write(&file, script.replace("ANSWERS", &answers.display().to_string())).expect("written");
    floor.configure(|config| config.replace("SCRIPT", &file.display().to_string()));
    floor
}

fn answers(floor: &Floor, texts: &[&str]) {
    for (number, text) in texts.iter().enumerate() {
        std::fs::write(floor.path(&format!("answers/{number}")), text).expect("written");
    }
}

fn told(floor: &Floor) -> String {
    std::fs::read_to_string(floor.path("answers-told")).unwrap_or_default()
}

/// An issue that nobody works on.
fn note_down(floor: &Floor, title: &str, body: &str) {
    floor.ok(&["issue", "add", title, "--body", body]);
}

fn issue(floor: &Floor, number: u64) -> Value {
    floor.json(&["issue", "show", &number.to_string()]).1
}

fn backlog(floor: &Floor) {
    note_down(floor, "Login times out", FINE);
    note_down(floor, "The login times out", "It is slow.");
    note_down(floor, "Menu", "Fix it.");
}

fn groom(floor: &Floor) -> (i32, String) {
    floor.ok(&["formula", "run", "gardener"]);
    floor.until_idle()
}

#[test]
fn a_backlog_is_groomed_once_and_what_was_done_is_undone() {
    let floor = with(SCRIPT);
    let nothing = floor.run(&["groom", "--check"]);
    assert_eq!(nothing.status.code(), Some(78), "nothing is out of order");
    groom(&floor);
    assert_eq!(floor.json(&["run", "show", "1"]).1["state"], "nothing_to_do");
    assert!(floor.engine().floor().sessions.iter().next().is_none(), "no token was spent");
    backlog(&floor);
    let said = floor.ok(&["groom"]);
    assert!(said.contains("- #2 The login times out (is like #1)"), "{said}");
    assert!(said.contains("- #3 Menu (7 characters)"), "{said}");
    assert!(!said.contains("Findings:"), "{said}");
    answers(
        &floor,
        &[&format!(
            "ACTION: close #2 duplicate of #1\nACTION: edit #3 title \"The menu is empty\" body\n```\n{MENU}\n```\n"
        )],
    );
    let (_, said) = groom(&floor);
    assert_eq!(floor.json(&["run", "show", "2"]).1["state"], "done", "{said}");
    let closed = issue(&floor, 2);
    assert_eq!(
        (&closed["state"], &closed["comments"][0]["body"]),
        (&json!("closed"), &json!("A duplicate of #1."))
    );
    assert_eq!(issue(&floor, 3)["title"], "The menu is empty");
    // What was judged, or done, starts no session again.
    assert_eq!(floor.run(&["groom", "--check"]).status.code(), Some(78));
    let sessions = floor.engine().floor().sessions.iter().count();
    groom(&floor);
    assert_eq!(floor.json(&["run", "show", "3"]).1["state"], "nothing_to_do");
    assert_eq!(floor.engine().floor().sessions.iter().count(), sessions);
    // People undo it; what somebody changed since is not written over.
    let listed = floor.json(&["undo"]).1;
    assert_eq!((listed[0]["act"].clone(), listed[0]["state"].clone()), (json!(1), json!("done")), "{listed}");
    floor.ok(&["up", "--detach"]);
    floor.ok(&["undo", "1"]);
    assert_eq!(issue(&floor, 2)["state"], "open");
    assert_eq!(floor.run(&["undo", "1"]).status.code(), Some(1), "once");
    floor.ok(&["issue", "edit", "3", "--title", "The menu stays empty"]);
    let kept = floor.run(&["undo", "2"]);
    assert_eq!(kept.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&kept.stderr).contains("somebody changed #3 since"));
    assert_eq!(issue(&floor, 3)["title"], "The menu stays empty");
    floor.ok(&["undo", "2", "--force"]);
    assert_eq!((&issue(&floor, 3)["title"], &issue(&floor, 3)["body"]), (&json!("Menu"), &json!("Fix it.")));
    assert_eq!(floor.run(&["undo", "9"]).status.code(), Some(4));
}

#[test]
fn a_mistake_is_told_with_its_line_and_nothing_is_done() {
    let floor = with(SCRIPT);
    backlog(&floor);
    answers(
        &floor,
        &[
            "ACTION: close #2 duplicate of #1\nACTION: label #3 +backlog\n",
            "ACTION: close #2 duplicate of #1\nIt is done.\n",
            "ACTION: label #3 +underspecified\n",
        ],
    );
    let (_, said) = groom(&floor);
    assert_eq!(floor.json(&["run", "show", "1"]).1["state"], "done", "{said}");
    let told = told(&floor);
    assert!(told.contains("line 2: the role gardener may not put on or take off the label"), "{told}");
    assert!(told.contains("line 2: \"It is done.\" is none of"), "{told}");
    assert_eq!(issue(&floor, 2)["state"], "open");
    assert_eq!(issue(&floor, 3)["labels"], json!(["underspecified"]));
}

#[test]
fn people_decide_what_a_gardener_asks() {
    let floor = with(SCRIPT);
    backlog(&floor);
    answers(
        &floor,
        &["ESCALATE\n1. #2 Is it the same?\n a) no\n b) yes => ACTION: close #2 duplicate of #1\n\
         2. #3 Is it wanted?\n a) yes => ACTION: label #3 +underspecified\n b) no\n"],
    );
    groom(&floor);
    let open = floor.json(&["questions"]).1;
    let (id, text) = (open[0]["id"].as_str().expect("an id"), open[0]["question"].as_str().expect("a text"));
    assert!(text.contains("1. #2 Is it the same?"), "{text}");
    assert!(text.contains("b) yes [the factory then does: #2 closed as a duplicate of #1]"), "{text}");
    let wrong = floor.run(&["answer", id, "1c"]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("choose from 1a to 1b, 2a to 2b"));
    floor.ok(&["answer", id, "1b 2a"]);
    assert_eq!(floor.json(&["questions"]).1, json!([]));
    floor.until_idle();
    assert_eq!(issue(&floor, 2)["state"], "closed");
    assert_eq!(issue(&floor, 3)["labels"], json!(["underspecified"]));
    let said = issue(&floor, 3)["comments"][0]["body"].as_str().expect("a comment").to_owned();
    assert!(said.contains("Decided by a person: a) yes"), "{said}");
    // The next gardener is told.
    let found = floor.ok(&["groom", "--check"]);
    assert!(found.contains("#3 Is it wanted?: a) yes"), "{found}");
}

#[test]
fn dust_becomes_one_issue() {
    let floor = with(SCRIPT);
    backlog(&floor);
    let dust = |issue: u64| {
        format!(
            "DUST: {{\"issue\": {issue}, \"group\": \"docs\", \"title\": \"T{issue}\", \"reason\": \"small\"}}\n"
        )
    };
    answers(&floor, &[&(1..=3).map(dust).collect::<String>()]);
    // It is worked on at once: it is in the backlog.
    floor.configure(|config| format!("{config}\n[merge]\nslots = 1\n"));
    floor.ok(&["formula", "run", "gardener"]);
    let (_, said) = floor.until_idle();
    let bundle = issue(&floor, 4);
    assert_eq!(bundle["title"], "Small things: docs (3 issues)", "{said}");
    assert!(bundle["body"].as_str().is_some_and(|body| body.contains("- [ ] #2 T2: small")), "{bundle}");
    for number in 1..=3 {
        let closed = issue(&floor, number);
        assert_eq!(
            (&closed["state"], &closed["comments"][0]["body"]),
            (&json!("closed"), &json!("Continued in #4."))
        );
    }
}

#[test]
fn nothing_is_done_twice_whoever_dies_in_between() {
    let floor = Floor::new(&format!("{DEMO}[agents.gardener]\nruntime = \"demo\"\n"));
    backlog(&floor);
    floor.ok(&["formula", "run", "gardener"]);
    for lines in 1..=7 {
        if up_killed_after(&floor, lines) {
            break;
        }
        floor.tmux(&["kill-server"]);
    }
    let (_, said) = floor.until_idle();
    assert_eq!(floor.json(&["run", "show", "1"]).1["state"], "done", "{said}");
    let closed = issue(&floor, 2);
    assert_eq!(closed["state"], "closed");
    let duplicates = closed["comments"].as_array().expect("a list").iter();
    assert_eq!(duplicates.filter(|c| c["body"] == "A duplicate of #1.").count(), 1, "{closed}");
    let entries = floor.json(&["events", "--limit", "1000"]).1;
    let done = entries.as_array().expect("a list").iter().filter(|entry| {
        entry["text"].as_str().is_some_and(|text| text.starts_with("done for the gardener agent"))
    });
    assert_eq!(done.count(), 1, "{entries}");
}

/// What a gardener tries that is not its to do: with commands, and with its answer.
#[test]
fn a_hostile_gardener_does_no_more_than_its_role_may() {
    let script = r#"
set -u
say() { shopfloor "$@" > out 2>&1 < /dev/null; printf '%s %s\n' "$?" "$*" >> ANSWERS-tried; }
say undo 1
say answer q1 1a
say issue edit 1 --title Other
say issue label 3 --add backlog
say formula run gardener
say issue list --json
rm -f "$SHOPFLOOR_RESULT_FILE"; ln -s "$SHOPFLOOR_HOME/floor.toml" "$SHOPFLOOR_RESULT_FILE"
shopfloor step skip blocked --reason no > /dev/null
shopfloor step done groom > /dev/null; shopfloor inbox wait >> ANSWERS-told
rm -f "$SHOPFLOOR_RESULT_FILE"
for answer in ANSWERS/*; do
  cat "$answer" > "$SHOPFLOOR_RESULT_FILE"
  shopfloor step done groom > /dev/null; shopfloor inbox wait >> ANSWERS-told
done
shopfloor phase failed --detail enough
"#;
    let floor = with(script);
    backlog(&floor);
    let flood: String = (0..60).map(|n| format!("ACTION: edit #3 title \"{n}\"\n")).collect();
    answers(
        &floor,
        &[
            &flood,
            "ACTION: split #1\nPART: \"<!-- shopfloor: x -->\"\n```\nx\n```\nPART: \"Y\"\n```\ny\n```\nACTION: label #3 -blocked\n",
            "ACTION: link #1 depends on #2\nACTION: link #2 depends on #1\n",
        ],
    );
    groom(&floor);
    let tried = std::fs::read_to_string(floor.path("answers-tried")).expect("it tried");
    let codes: Vec<&str> = tried.lines().map(|line| &line[..1]).collect();
    assert_eq!(codes, ["6", "6", "6", "6", "6", "0"], "{tried}");
    let told = told(&floor);
    for expected in
        ["is not a file", "more than 50 actions", "may not put on or take off", "would be about itself"]
    {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    assert!(floor.json(&["undo"]).1.as_array().is_some_and(Vec::is_empty), "nothing was done");
    assert_eq!(issue(&floor, 1)["title"], "Login times out");
    assert_eq!(floor.json(&["issue", "list"]).1.as_array().map(Vec::len), Some(3));
    assert_ne!(floor.run(&["groom", "--check"]).status.code(), Some(78), "nothing was judged");
}
