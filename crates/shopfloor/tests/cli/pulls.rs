//! Pull requests and CI runs, from the outside.

use crate::floor::{HEAD, TestFloor, ada, name, ran};
use serde_json::json;
use shopfloor_core::effect::{CiVerdict, CommitSource, StatusState};
use shopfloor_core::ids::{IssueNumber, RunId};
use shopfloor_core::time::Time;
use shopfloor_store::ci::{CiDb, CiRuns, CiStep, NewRun};
use shopfloor_store::forge::{NewPr, NewStatus};

fn with_pr() -> TestFloor {
    let floor = TestFloor::new();
    floor.run(&["issue", "add", "Say hello"]).fine();
    let new = NewPr {
        title: "Say hello".into(),
        body: "Fixes #1\u{1b}[2J".into(),
        branch: "fix/issue-1".into(),
        head: HEAD.parse().unwrap(),
        issue: Some(IssueNumber(1)),
        author: "shopfloor-dev".into(),
    };
    floor.forge().open_pr(&name("demo"), &new).unwrap();
    let status = NewStatus {
        commit: HEAD.parse().unwrap(),
        context: "shopfloor/ci".into(),
        state: StatusState::Success,
        description: "CI passed".into(),
        run: Some(RunId(1)),
    };
    floor.forge().set_status(&name("demo"), &status).unwrap();
    floor
}

#[test]
fn a_person_reviews_the_current_head() {
    let floor = with_pr();
    let prs = floor.json(&["pr", "list"]);
    assert_eq!(
        (&prs[0]["number"], &prs[0]["state"], &prs[0]["issue"]),
        (&json!(2), &json!("open"), &json!(1))
    );
    let got = floor.run(&["pr", "review", "2", "--request-changes"]);
    assert_eq!(got.code, 2, "{}", got.stderr);
    floor.run(&["pr", "review", "2", "--request-changes", "--body", "Say it\u{1b}[2J louder"]).fine();
    floor.run(&["pr", "review", "2", "--comment", "--body", "Hm"]).fine();
    assert_eq!(
        floor.run(&["pr", "review", "#2", "--approve"]).fine().stdout,
        format!("#2 at {}: APPROVE\n", &HEAD[..12])
    );
    let pr = floor.json(&["pr", "show", "2"]);
    let verdicts: Vec<&str> =
        pr["reviews"].as_array().unwrap().iter().map(|r| r["verdict"].as_str().unwrap()).collect();
    assert_eq!(verdicts, ["REQUEST_CHANGES", "DISCUSS", "APPROVE"]);
    assert_eq!(pr["reviews"][2]["author"], ada());
    assert_eq!(pr["reviews"][2]["head"], HEAD);
    assert!(pr["reviews"][0]["dismissed_at"].is_string() && pr["reviews"][2]["dismissed_at"].is_null());
    assert_eq!(pr["statuses"][0]["state"], "success");
    let human = floor.run(&["pr", "show", "2"]).fine();
    human
        .shows("open, by shopfloor-dev")
        .shows(", dismissed")
        .shows(&format!("REQUEST_CHANGES by {}", ada()))
        .shows("Say it louder")
        .shows("shopfloor/ci: success");
    human.shows("git fetch shopfloor refs/pull/2/head");
    assert!(!human.stdout.contains('\u{1b}'));
    // An issue number that is a pull request's is explained.
    let got = floor.run(&["issue", "show", "2"]);
    assert_eq!(got.code, 4);
    assert!(got.stderr.contains("#2 is a pull request"), "{}", got.stderr);
}

#[test]
fn an_agent_cannot_approve_its_own_work_this_way() {
    let floor = with_pr();
    let mut command = floor.command(&["pr", "review", "2", "--approve"]);
    let got = ran(command.env("SHOPFLOOR_SESSION", "7").env("PROJECT_NAME", "demo"));
    assert_eq!(got.code, 6);
    assert!(got.stderr.contains("SHOPFLOOR_RESULT_FILE"), "{}", got.stderr);
    assert_eq!(floor.json(&["pr", "show", "2"])["reviews"], json!([]));
    // A person who gives themselves its name is a person all the same.
    let got = ran(floor.command(&["pr", "review", "2", "--approve"]).env("USER", "shopfloor-dev"));
    assert_eq!(got.code, 0, "{}", got.stderr);
    let author = ada().replace("ada", "shopfloor-dev");
    assert_eq!(floor.json(&["pr", "show", "2"])["reviews"][0]["author"], author);
}

#[test]
fn what_is_closed_is_not_reviewed_and_what_is_merged_is_not_closed() {
    let floor = with_pr();
    assert_eq!(floor.run(&["pr", "close", "2"]).fine().stdout, "#2 closed\n");
    assert_eq!(floor.run(&["pr", "review", "2", "--approve"]).code, 1);
    assert_eq!(floor.json(&["pr", "list"]), json!([]));
    floor
        .forge()
        .close_pr(&name("demo"), shopfloor_core::ids::PrNumber(2), Some(&HEAD.parse().unwrap()))
        .unwrap();
    assert_eq!(floor.run(&["pr", "close", "2"]).code, 1);
    assert_eq!(floor.json(&["pr", "list", "--state", "merged"])[0]["merged_commit"], HEAD);
}

#[test]
fn runs_are_listed_shown_and_their_logs_printed() {
    let floor = TestFloor::new();
    assert_eq!(floor.run(&["ci", "status"]).fine().stdout, "no run yet\n");
    let mut ci = CiDb::open(&floor.database()).unwrap();
    let other = "f".repeat(40);
    for (run, commit) in [(1, HEAD), (2, other.as_str())] {
        let new = NewRun {
            run: RunId(run),
            project: name("demo"),
            issue: Some(IssueNumber(1)),
            commit: commit.parse().unwrap(),
            source: CommitSource::Hub,
        };
        ci.started(&new, Time(1_000)).unwrap();
    }
    let folder = floor.layout().ci_run(&name("demo"), RunId(1));
    std::fs::create_dir_all(&folder).unwrap();
    let log = folder.join("log");
    std::fs::write(&log, b"fine\n\x1b]0;title\nnot \x1b[31mfine\xff\n").unwrap();
    ci.step(RunId(1), &CiStep { name: "test".into(), exit: Some(1), duration_ms: 1_500 }).unwrap();
    ci.finished(RunId(1), CiVerdict::Red, Some("test"), log.to_str().unwrap(), Time(3_000)).unwrap();

    let runs = floor.json(&["ci", "list"]);
    assert_eq!((&runs[0]["run"], &runs[0]["verdict"]), (&json!(2), &json!(null)));
    assert_eq!(
        (&runs[1]["run"], &runs[1]["verdict"], &runs[1]["step"]),
        (&json!(1), &json!("red"), &json!("test"))
    );
    assert_eq!(runs[1]["finished_at"], "1970-01-01T00:00:03.000Z");
    assert_eq!(floor.json(&["ci", "list", "--limit", "1"]).as_array().unwrap().len(), 1);
    assert_eq!(floor.json(&["ci", "failures"])[0]["run"], 1);
    assert_eq!(floor.json(&["ci", "status", "1"])[0]["verdict"], "red");
    assert_eq!(floor.json(&["ci", "status", &HEAD[..8]])[0]["run"], 1);
    assert_eq!(floor.json(&["ci", "status", "FFFF"])[0]["run"], 2);
    assert_eq!(floor.json(&["ci", "status"])[0]["run"], 2);
    floor.run(&["ci", "status", "1"]).fine().shows("run 1: red").shows("test: exit 1, 1s");
    assert_eq!(floor.run(&["ci", "logs", "1"]).fine().stdout, "fine\n\nnot fine\u{fffd}\n");
    // A run under way whose log is not there yet.
    assert_eq!(floor.run(&["ci", "logs", "2"]).code, 4);
}

#[test]
fn failures_come_with_what_the_step_printed() {
    let floor = with_pr();
    let mut ci = CiDb::open(&floor.database()).unwrap();
    let other = "f".repeat(40);
    for (run, commit, issue) in [(1, HEAD, None), (2, other.as_str(), Some(9)), (3, other.as_str(), Some(1))]
    {
        let (run, issue) = (RunId(run), issue.map(IssueNumber));
        let (project, commit, source) = (name("demo"), commit.parse().unwrap(), CommitSource::Hub);
        ci.started(&NewRun { run, project, issue, commit, source }, Time(1_000)).unwrap();
        let log = floor.root().join(format!("log-{run}"));
        let printed = format!("== step build ==\nbuilt\n== step test ==\nrun {run}\x1b[2J fails\n");
        std::fs::write(&log, printed).unwrap();
        ci.finished(run, CiVerdict::Red, Some("test"), log.to_str().unwrap(), Time(3_000)).unwrap();
    }
    let runs = |which: &[&str]| -> Vec<(u64, String)> {
        let found = floor.json(&[&["ci", "failures"], which].concat());
        let run = |run: &serde_json::Value| {
            (run["run"].as_u64().unwrap(), run["excerpt"].as_str().unwrap().to_owned())
        };
        found.as_array().unwrap().iter().map(run).collect()
    };
    let [one, two, three] = [1, 2, 3].map(|run| (run, format!("run {run} fails")));
    assert_eq!(runs(&[]), [three.clone(), two, one.clone()]);
    assert_eq!(runs(&["2"]), [three.clone(), one.clone()], "of its head, and of its issue");
    assert_eq!(runs(&["fix/issue-1", "--limit", "1"]), [three]);
    assert_eq!(floor.run(&["ci", "failures", "nowhere"]).code, 4);
    std::fs::remove_file(floor.root().join("log-1")).unwrap();
    let human = floor.run(&["ci", "failures"]).fine();
    human.shows("run 3: step test failed").shows("run 3 fails").shows("its log is gone");
}
