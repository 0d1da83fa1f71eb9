//! What people do with several hand sessions at once: speak to them, go to who waits, go on from a conversation.

use crate::floor::{DEMO, Floor, wait_for};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Output;

fn says(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn several_are_spoken_to_with_a_line_for_each() {
    let floor = Floor::new(DEMO);
    let nobody = floor.run(&["session", "send", "--all", "hello"]);
    assert_eq!(nobody.status.code(), Some(4), "{}", says(&nobody));
    let reads = "read -r line; echo \"$line\" > \"got-$SHOPFLOOR_HAND\"; sleep 1000";
    let spawn =
        |step: &str| floor.ok(&["session", "spawn", step, "1", "1", "--command", reads]).trim().to_owned();
    let (dev, review, over) = (spawn("dev"), spawn("review"), spawn("dev"));
    floor.ok(&["session", "kill", &over]);
    let got = |name: &str| {
        std::fs::read_to_string(floor.path("repo").join(format!("got-{name}"))).unwrap_or_default()
    };
    let (code, sent) = floor.json(&["session", "send", "--role", "review", "look again"]);
    assert_eq!(
        (code, sent.as_array().map(Vec::len), &sent[0]["name"]),
        (0, Some(1), &review.clone().into()),
        "{sent}"
    );
    wait_for("it has read", || got(&review) == "look again\n");
    let said = floor.ok(&["session", "send", "--all", "stop now"]);
    assert_eq!(said.lines().count(), 2, "{said}");
    assert!(said.contains(&format!("{dev}: submitted")), "{said}");
    wait_for("it has read", || got(&dev) == "stop now\n");
    assert_eq!(floor.run(&["session", "send", "--role", "none", "x"]).status.code(), Some(4));
    for wrong in [&["--all", "--role", "dev", "x"][..], &["--all", &dev, "x"], &[&dev]] {
        assert_eq!(floor.run(&[&["session", "send"], wrong].concat()).status.code(), Some(2), "{wrong:?}");
    }
    // One that cannot be typed to does not keep the others.
    let screen = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../core/tests/fixtures/clients/claude-2.1.325/screens/51-permission-prompt-bash.txt");
    let show = format!("cat {}; touch shown; sleep 1000", screen.display());
    let asks = floor.ok(&["session", "spawn", "dev", "1", "2", "--runtime", "claude", "--command", &show]);
    wait_for("it is shown", || floor.path("repo/shown").exists());
    let (code, sent) = floor.json(&["session", "send", "--role", "dev", "go on"]);
    let of = |name: &str| sent.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap();
    assert_eq!((code, &of(&dev)["stage"]), (1, &"submitted".into()), "{sent}");
    assert!(of(asks.trim())["error"].as_str().expect("why").contains("a dialog is up"), "{sent}");
    floor.ok(&["session", "kill-all"]);
}

#[test]
fn next_is_who_has_waited_longest() {
    let floor = Floor::new(DEMO);
    let nobody = floor.run(&["next", "--print"]);
    assert_eq!(nobody.status.code(), Some(4));
    assert!(says(&nobody).contains("nobody waits"), "{}", says(&nobody));
    let screen = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../core/tests/fixtures/clients/claude-2.1.325/screens/51-permission-prompt-bash.txt");
    let show = format!("cat {}; touch shown; sleep 1000", screen.display());
    let asks = floor.ok(&["session", "spawn", "dev", "1", "1", "--runtime", "claude", "--command", &show]);
    floor.ok(&["session", "spawn", "dev", "1", "2", "--command", "sleep 1000"]);
    wait_for("it is shown", || floor.path("repo/shown").exists());
    let (code, first) = floor.json(&["next"]);
    assert_eq!((code, &first["session"], &first["others"]), (0, &asks.trim().into(), &0.into()), "{first}");
    assert!(first["why"].as_str().expect("text").contains("dialog (permission)"), "{first}");
    // One that has waited since long before.
    let signals =
        "printf 'PHASE:needs_human\\n' > \"$PHASE_FILE\"; touch -d '2020-01-01' \"$PHASE_FILE\"; sleep 1000";
    let old = floor.ok(&["session", "spawn", "dev", "1", "3", "--command", signals]);
    wait_for("it waits", || floor.json(&["next"]).1["others"] == 1);
    let said = floor.ok(&["next", "--print"]);
    assert!(said.starts_with(&format!("{} waits for ", old.trim())), "{said}");
    assert!(said.contains("it signalled needs_human (1 more wait)"), "{said}");
    // Without a terminal it says how, as `attach` does.
    let attach = floor.run(&["next"]);
    assert!(says(&attach).contains("there is no terminal"), "{}", says(&attach));
    floor.ok(&["session", "kill-all"]);
}

#[test]
fn a_fork_goes_on_from_the_conversation_of_another() {
    let mut floor = Floor::new(DEMO);
    // A client that writes down how it was called.
    let bin = floor.path("clients");
    std::fs::create_dir(&bin).expect("a folder");
    let client = "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"args-$SHOPFLOOR_HAND.new\"; mv \"args-$SHOPFLOOR_HAND.new\" \"args-$SHOPFLOOR_HAND\"; exec sleep 1000\n";
    std::fs::write(bin.join("claude"), client).expect("written");
    std::fs::set_permissions(bin.join("claude"), PermissionsExt::from_mode(0o755)).expect("executable");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("a PATH"));
    floor.env.push(("PATH".into(), path.into()));
    let spawn = ["session", "spawn", "dev", "1", "1", "--runtime", "claude", "--", "claude", "begin"];
    let name = floor.ok(&spawn).trim().to_owned();
    let none = floor.run(&["session", "fork", &name]);
    assert_eq!(none.status.code(), Some(1));
    assert!(says(&none).contains("has no conversation yet"), "{}", says(&none));
    // Where Claude Code keeps the conversations of a folder.
    let folder = std::fs::canonicalize(floor.path("repo")).expect("it is there").display().to_string();
    let folder: String = folder.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let transcripts = floor.path("home/.claude/projects").join(folder);
    std::fs::create_dir_all(&transcripts).expect("a folder");
    let id = "0193a2bc-1234-7abc-8def-0123456789ab";
    std::fs::write(transcripts.join(format!("{id}.jsonl")), "{}\n").expect("written");
    let forked = floor.ok(&["session", "fork", &name, "--", "--model", "small"]).trim().to_owned();
    let args = floor.path("repo").join(format!("args-{forked}"));
    wait_for("it runs", || args.exists());
    let text = std::fs::read_to_string(args).expect("written");
    assert_eq!(text.lines().collect::<Vec<_>>(), ["--resume", id, "--fork-session", "--model", "small"]);
    let (_, all) = floor.json(&["session", "list"]);
    assert_eq!((&all[1]["name"], &all[1]["forked_from"]), (&forked.into(), &name.clone().into()), "{all}");
    // Two that could be meant are not guessed at, unless one is named.
    let other = "0193a2bc-1234-7abc-8def-0123456789ff";
    std::fs::write(transcripts.join(format!("{other}.jsonl")), "{}\n").expect("written");
    let which = floor.run(&["session", "fork", &name]);
    assert!(says(&which).contains(id) && says(&which).contains(other), "{}", says(&which));
    floor.ok(&["session", "fork", &name, "--conversation", other]);
    assert_eq!(
        floor.run(&["session", "fork", &name, "--conversation", "--evil-option"]).status.code(),
        Some(2)
    );
    // What has no conversation cannot be forked.
    let plain = floor.ok(&["session", "spawn", "dev", "1", "2", "--command", "sleep 1000"]);
    let refused = floor.run(&["session", "fork", plain.trim()]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(says(&refused).contains("generic cannot continue"), "{}", says(&refused));
    floor.ok(&["session", "kill-all"]);
}
