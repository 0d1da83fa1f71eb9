//! That a watch over a hand session costs nothing while nothing happens, and what is a sign of life of one.

use crate::floor::{DEMO, Floor, wait_for};
use crate::hand_monitor::{answer, monitor};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::time::Duration;

#[test]
fn a_session_in_which_nothing_happens_is_not_looked_at() {
    let floor = Floor::new(DEMO);
    let (path, runs) = floor.counting("tmux");
    let runs = || runs().len();
    // A client at work that draws when it is told to, and a program of which nothing can be read.
    let draws =
        "printf '\\342\\234\\273 Working\\342\\200\\246\\n'; while read -r line; do echo \"$line\"; done";
    let client = ["session", "spawn", "dev", "1", "1", "--runtime", "claude", "--command", draws];
    let client = floor.ok(&client).trim().to_owned();
    let program = floor.ok(&["session", "spawn", "dev", "1", "2", "--", "sleep", "1000"]).trim().to_owned();
    let (said, lines) = channel();
    let mut watched = Vec::new();
    for name in [&client, &program] {
        let mut command = floor.command(&["session", "monitor", name, "--verbose", "--json"]);
        let command = command.env("PATH", &path).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let (said, name) = (said.clone(), name.clone());
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let _ = said.send((name.clone(), line));
            }
        });
        watched.push(child);
    }
    let wait_look = |name: &str, look: &str| {
        while !lines.recv().is_ok_and(|(whose, line)| whose == name && line.contains(look)) {}
    };
    wait_look(&program, "look 1: ");
    // It draws, so it is looked at: the terminal tells.
    let before = runs();
    floor.tmux(&["send-keys", "-t", &format!("={client}:"), "more", "Enter"]);
    wait_look(&client, "look 2: ");
    assert!(runs() > before, "a look asks tmux");
    // What is typed is drawn twice, by the terminal and by the program: a busy machine looks at each. Then
    // there is quiet, longer than any that a look every 10 seconds would leave.
    let quiet = || {
        let before = runs();
        std::thread::sleep(Duration::from_secs(12));
        runs() == before
    };
    assert!((0..3).any(|_| quiet()), "nothing happened, and tmux was asked again and again");
    floor.ok(&["session", "kill-all"]);
    for child in watched {
        let (_, result) = answer(child);
        assert!(result["polls"].as_u64().expect("a number") <= 5, "{result}");
    }
}

#[test]
fn what_a_user_puts_over_a_runtime_counts_for_hand_sessions_too() {
    let floor = Floor::new(DEMO);
    let folder = floor.home().join("runtimes");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("claude.toml"), "[timing]\nfrozen_ms = 700\n").expect("written");
    let stands = "echo 'sample | ctx(7%) | 10:00:00'; sleep 1000";
    let name = floor.ok(&["session", "spawn", "dev", "1", "1", "--runtime", "claude", "--command", stands]);
    let (code, result) = monitor(&floor, name.trim(), &[]);
    assert_eq!((code, &result["final_state"]), (1, &"stuck".into()), "{result}");
    assert!(result["exit_reason"].as_str().expect("text").contains("its clock stands still"), "{result}");
    std::fs::write(folder.join("claude.toml"), "[timing]\nfrozen = 1\n").expect("written");
    let wrong = floor.run(&["session", "monitor", name.trim()]);
    assert_eq!(wrong.status.code(), Some(2), "a wrong override is said");
    std::fs::remove_file(folder.join("claude.toml")).expect("removed");
    floor.ok(&["session", "kill-all"]);
}

#[test]
fn what_others_commit_is_no_sign_of_life() {
    let floor = Floor::new(DEMO);
    let folder = floor.home().join("runtimes");
    std::fs::create_dir_all(&folder).expect("a folder");
    let quick = "[timing]\nstuck_ms = 3000\n";
    std::fs::write(folder.join("claude.toml"), quick).expect("written");
    let still = "printf '\\342\\234\\273 Working\\342\\200\\246\\n'; sleep 1000";
    let name = floor.ok(&["session", "spawn", "dev", "1", "1", "--runtime", "claude", "--command", still]);
    let args = ["session", "monitor", name.trim(), "--json"];
    let mut child = floor.command(&args).stdout(Stdio::piped()).spawn().expect("it runs");
    // A person works in the checkout that the session was started in.
    wait_for("it is called stuck all the same", || {
        floor.git(&["commit", "--quiet", "--allow-empty", "-m", "a person's"]);
        child.try_wait().expect("it can be asked").is_some()
    });
    let (code, result) = answer(child);
    assert_eq!((code, &result["final_state"]), (1, &"stuck".into()), "{result}");
    floor.ok(&["session", "kill-all"]);
}
