//! The project's own setup of the worktrees that its agents work in.

use crate::floor::{DEMO, Floor};
use shopfloor_core::state::End;

const CONFIG: &str = r#"
[agents.dev]
runtime = "generic"
command = ["sh", "-c", '''
set -eu
test "$(cat .env)" = "KEY=local"
test "$(cat made.txt)" = "$SHOPFLOOR_PORT"
cp made.txt "$SHOPFLOOR_HOME/port-$ISSUE"
echo done > "$ISSUE.txt"
git add -A
git commit -qm "all there is"
shopfloor phase awaiting_ci
test "$(shopfloor inbox wait | head -n 1)" = "CI passed"
shopfloor phase awaiting_review
shopfloor inbox wait
shopfloor inbox wait
''']
[review]
required = false
[limits]
max_jobs = 2
respawn_backoff = "10ms"
[worktree]
setup = ["echo $SHOPFLOOR_PORT > made.txt"]
include = [".env"]
teardown = ["cat .env made.txt > $SHOPFLOOR_CHECKOUT/../torn-$ISSUE", "exit 7"]
"#;

#[test]
fn a_worktree_is_set_up_for_its_agent_and_torn_down_behind_it() {
    let floor = Floor::new(CONFIG);
    std::fs::write(floor.path("repo/.gitignore"), ".env\nmade.txt\n").expect("written");
    floor.git(&["add", ".gitignore"]);
    floor.git(&["commit", "--quiet", "-m", "ignore"]);
    floor.git(&["push", "--quiet", "shopfloor", "main"]);
    std::fs::write(floor.path("repo/.env"), "KEY=local\n").expect("written");
    let issues = [floor.issue("One", ""), floor.issue("Two", "")];
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    let mut ports = Vec::new();
    for issue in issues {
        assert_eq!(floor.landed(&format!("{issue}.txt")), "done");
        let port = std::fs::read_to_string(floor.home().join(format!("port-{issue}"))).expect("its port");
        let torn = std::fs::read_to_string(floor.path(&format!("torn-{issue}"))).expect("torn down");
        assert_eq!(torn, format!("KEY=local\n{port}"));
        assert!(!floor.home().join(format!("projects/sample/setup/issue-{issue}/port")).exists());
        ports.push(port);
        floor.assert_cleaned_up(issue);
    }
    assert_ne!(ports[0], ports[1]);
    // What is copied or made is ignored, so nobody commits it.
    assert_eq!(floor.hub(&["ls-tree", "--name-only", "main", ".env", "made.txt"]), "");
    let told = floor.ok(&["explain", &issues[0].to_string()]);
    assert!(told.contains("its teardown failed"), "{told}");
}

#[test]
fn a_setup_that_fails_twice_blocks_the_issue_with_its_output() {
    let setup = "[worktree]\nsetup = [\"echo x >> ../tries; echo no such thing; exit 9\"]\n";
    let floor = Floor::new(&format!("{DEMO}{setup}"));
    let issue = floor.issue("Never begun", "demo: write x.txt <<x");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 3, "{text}");
    assert_eq!(floor.job(issue).end(), Some(End::Blocked));
    let tries = floor.home().join("projects/sample/worktrees/tries");
    assert_eq!(std::fs::read_to_string(tries).expect("tried"), "x\nx\n");
    let seen = floor.forge().issue(&floor.project, issue).expect("the issue");
    let [comment] = &seen.comments[..] else { panic!("one comment: {:?}", seen.comments) };
    let body = &comment.body;
    assert!(body.contains("exit code 9") && body.contains("no such thing"), "{body}");
    assert!(seen.labels.iter().any(|l| l == "blocked"), "{:?}", seen.labels);
}
