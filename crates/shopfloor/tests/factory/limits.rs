//! What happens when a wait has lasted too long: it is on record, and the agent is told where it is the one who
//! waits. The limits are short here; that they are the configured ones is seen by what is on record of them.

use crate::client::wait_for;
use crate::floor::Floor;
use shopfloor_core::ids::{IssueNumber, Seq};
use shopfloor_core::state::{Job, JobState};
use shopfloor_core::time::Time;
use shopfloor_store::Store;
use std::time::Duration;

/// Commits something, says so, and writes down what it is told.
fn dev(phase: &str) -> String {
    format!(
        r#"
set -eu
echo "$ISSUE" > number.txt; git add -A; git commit -qm number
shopfloor phase {phase}
while first=$(shopfloor inbox wait | head -n 1); do echo "$first" >> "$SHOPFLOOR_HOME/told.txt"; done
"#
    )
}

fn config(dev: &str, rest: &str) -> String {
    format!("[agents.dev]\nruntime = \"generic\"\ncommand = [\"sh\", \"-c\", '''{dev}''']\n{rest}")
}

/// What is on record of an issue: the trigger, and what was said.
fn escalated(floor: &Floor, issue: IssueNumber) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(floor.home().join("escalations-sample.jsonl")).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let field = |line: &serde_json::Value, name: &str| line[name].as_str().unwrap_or_default().to_owned();
    lines
        .filter(|line| line["issue"] == issue.0)
        .map(|line| (field(&line, "trigger"), field(&line, "context")))
        .collect()
}

/// Waits until that is on record: what was said.
fn escalation(floor: &Floor, issue: IssueNumber, trigger: &str) -> String {
    wait_for(trigger, || escalated(floor, issue).into_iter().find(|(t, _)| t == trigger)).1
}

fn told(floor: &Floor) -> String {
    std::fs::read_to_string(floor.home().join("told.txt")).unwrap_or_default()
}

/// When people were told of an issue, by the journal.
fn times(floor: &Floor, issue: IssueNumber) -> Vec<Time> {
    let journal = floor.engine().store().journal(Seq(0), 10_000).expect("the journal");
    let mine = journal.iter().filter(|entry| entry.issue == Some(issue.0));
    mine.filter(|entry| ["NEEDS_HUMAN", "ESCALATION"].contains(&entry.kind.as_str())).map(|e| e.at).collect()
}

/// A job, and when people were told of it so far: both of one moment.
fn at_one_time(floor: &Floor, issue: IssueNumber) -> (Job, Vec<Time>) {
    wait_for("a moment of rest", || {
        let before = times(floor, issue);
        let job = floor.job(issue);
        (times(floor, issue) == before).then_some((job, before))
    })
}

#[test]
fn checks_that_take_too_long_are_on_record_and_told_to_the_agent() {
    let floor = Floor::new(&config(&dev("awaiting_ci"), "[review]\nrequired = false\n"));
    let (step, whole) = ("timeout = \"1m\" }]", "timeout = \"1m\" }]\ntimeout = \"2s\"");
    floor.configure(|text| {
        text.replace("./check.sh", "test ! -e number.txt || sleep 1000").replace(step, whole)
    });
    let issue = floor.issue("Slow", "");
    floor.up();
    let said = escalation(&floor, issue, "ci_timeout");
    wait_for("the agent is told", || told(&floor).starts_with("CI timeout").then_some(()));
    assert_eq!(floor.job(issue).state.name(), "working", "{said}");
    let noted = floor.notes("ESCALATION");
    assert_eq!(noted.len(), 1, "{noted:?}");
}

#[test]
fn a_review_that_does_not_come_is_on_record_and_told_to_the_agent() {
    let reviewer = "[agents.review]\nruntime = \"generic\"\ncommand = [\"sleep\", \"1000\"]\n";
    let rest = format!("{reviewer}[review]\ntimeout = \"12s\"\n");
    let floor = Floor::new(&config(&dev("awaiting_review"), &rest));
    let issue = floor.issue("Reviewed by nobody", "");
    floor.up();
    // As long as is configured, and no longer.
    let (since, due) = wait_for("it waits for a review", || {
        let engine = floor.engine();
        let job = engine.floor().job_of(&floor.project, issue)?;
        let waits = matches!(job.state, JobState::Reviewing { .. });
        Some((job.history.last()?.at, job.deadline?)).filter(|_| waits)
    });
    assert_eq!(due.since(since), Duration::from_secs(12));
    let said = escalation(&floor, issue, "review_timeout");
    assert!(said.contains("no review of") && said.contains("in 12 s"), "{said}");
    wait_for("the agent is told", || {
        told(&floor).lines().any(|line| line == "no review, escalating").then_some(())
    });
    // Once for each head, however often people are told.
    wait_for("people are told again", || (times(&floor, issue).len() > 1).then_some(()));
    let recorded = escalated(&floor, issue);
    assert_eq!(recorded.iter().filter(|(trigger, _)| trigger == "review_timeout").count(), 1, "{recorded:?}");
    let messages = floor.notes("MESSAGE_QUEUED");
    assert_eq!(messages.iter().filter(|text| *text == "no review, escalating").count(), 1, "{messages:?}");
}

#[test]
fn a_question_that_nobody_answers_is_repeated_and_then_on_record() {
    let asks = r#"shopfloor phase needs_human --detail "A or B?"; while shopfloor inbox wait; do :; done"#;
    let limits = "[review]\nrequired = false\n[limits]\nrenotify = \"4s\"\nescalate = \"12s\"\n";
    let floor = Floor::new(&config(asks, limits));
    let issue = floor.issue("Which?", "");
    floor.up();
    let said = escalation(&floor, issue, "no_answer");
    assert!(said.contains("still waits for an answer: A or B?"), "{said}");
    let (job, times) = at_one_time(&floor, issue);
    assert_eq!(job.state.name(), "needs_human");
    // It was repeated first. What is due next is due when the configuration says, not a minute later.
    assert!(times.len() >= 3, "{times:?}");
    assert!(times[1].since(times[0]) >= Duration::from_secs(4), "{times:?}");
    assert!(times[2].since(times[0]) >= Duration::from_secs(12), "{times:?}");
    let last = *times.last().expect("told");
    assert_eq!(job.deadline.expect("it has one").since(last), Duration::from_secs(12));
    floor.ok(&["answer", &issue.to_string(), "A"]);
    wait_for("it goes on", || (floor.job(issue).state.name() == "working").then_some(()));
}
