//! Weather: git, for a while, fails in ways that no list foresees. It is shown and waited for, and what
//! was begun lands when it is over.

use crate::floor::{DEMO, Floor, wait_for};
use shopfloor_core::ids::IssueNumber;
use shopfloor_core::state::End;
use std::os::unix::fs::PermissionsExt;

/// A floor whose daemon's git fails at everything while `storm` is there.
fn stormy() -> Floor {
    let mut floor = Floor::new(DEMO);
    let path = std::env::var("PATH").expect("a path");
    let real = std::env::split_paths(&path).map(|p| p.join("git")).find(|p| p.is_file()).expect("git");
    let (bin, storm) = (floor.path("bin"), floor.path("storm"));
    std::fs::create_dir(&bin).expect("a folder");
    // An agent's own git is left alone: it has a session.
    let script = format!(
        "#!/bin/sh\nif [ -e '{}' ] && [ -z \"$SHOPFLOOR_SESSION\" ]; then\n\
         \techo 'fatal: bad object worktrees/review-2/HEAD' >&2\n\texit 128\nfi\nexec '{}' \"$@\"\n",
        storm.display(),
        real.display()
    );
    let wrapper = bin.join("git");
    std::fs::write(&wrapper, script).expect("written");
    std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).expect("made executable");
    floor.env.push(("PATH".into(), format!("{}:{path}", bin.display()).into()));
    floor
}

#[test]
fn nobody_is_blocked_by_weather() {
    let floor = stormy();
    floor.ok(&["up", "--detach"]);
    std::fs::write(floor.path("storm"), "").expect("written");
    floor.ok(&["issue", "add", "One", "--body", "demo: write one.txt <<one", "--label", "backlog"]);
    let troubles = || floor.json(&["status"]).1["troubles"].clone();
    let of_the_issue = || troubles().as_array().and_then(|all| all.iter().find(|t| t["issue"] == 1).cloned());
    let told = |t: &serde_json::Value| t["since"].is_string() && t["attempts"].as_u64() >= Some(3);
    wait_for("the trouble is shown", || of_the_issue().is_some_and(|t| told(&t)));
    let shown = of_the_issue().expect("it lasts");
    assert_eq!(shown["what"], "prepare_worktree", "{shown}");
    assert!(shown["why"].as_str().is_some_and(|why| why.contains("bad object")), "{shown}");
    assert!(shown["next_try"].is_string() && shown["asked"] == false, "{shown}");
    for (args, says) in [
        (&["status"][..], "FAILS, AND IS TRIED AGAIN"),
        (&["explain", "1"], "which fails and is tried again"),
        (&["events"], "TROUBLE"),
    ] {
        let text = floor.ok(args);
        assert!(text.contains(says), "{args:?}: {text}");
    }
    std::fs::remove_file(floor.path("storm")).expect("removed");
    let issue = IssueNumber(1);
    wait_for("it lands", || {
        let end = floor.job(issue).end();
        assert!(matches!(end, None | Some(End::Merged)), "{end:?}: {:?}", floor.job(issue).reason);
        end.is_some()
    });
    assert_eq!(floor.landed("one.txt"), "one");
    assert_eq!(troubles(), serde_json::json!([]));
}
