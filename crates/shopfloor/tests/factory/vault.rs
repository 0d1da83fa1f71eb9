//! The vault on a real floor: an agent asks, a person decides, and what is carried out is exactly that, once, with
//! secrets that nobody else has.

use crate::floor::{Floor, wait_for};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Stdio;

const SECRET: &str = "swordfish-in-a-pond";

/// Asks for a deployment, tries to approve it, and waits for its end.
const AGENT: &str = r#"
OUT="$SHOPFLOOR_HOME/out"
shopfloor vault request deploy --payload '{"version": "1.2"}' --reason 'it is ready' --json > "$OUT/asked"
for what in "approve 1" "reject 1" "retry 1" "show 1" "list" "history"; do
  shopfloor vault $what > /dev/null 2>&1; echo "$? $what" >> "$OUT/codes"
done
env -i HOME="$HOME" PATH="$PATH" SHOPFLOOR_HOME="$SHOPFLOOR_HOME" shopfloor --project sample vault approve 1 > /dev/null 2>&1
echo "$? undressed" >> "$OUT/codes"
shopfloor vault request launch --reason x > /dev/null 2>&1; echo "$? launch" >> "$OUT/codes"
shopfloor vault request deploy --payload '{}' --reason x > /dev/null 2>&1; echo "$? misfit" >> "$OUT/codes"
env > "$OUT/env"
shopfloor inbox wait > "$OUT/told"
shopfloor phase failed --detail enough
"#;

/// `script`: what a deployment does.
fn floor(agent: &str, script: &str) -> Floor {
    let mut floor = Floor::new(&format!(
        "[review]\nrequired = false\n[roles.dev]\nmay = [\"vault.request\"]\n[agents.dev]\nruntime = \"generic\"\ncommand = [\"sh\", \"-c\", '''{agent}''']\n"
    ));
    floor.env.push(("DEPLOY_TOKEN".into(), SECRET.into()));
    std::fs::create_dir_all(floor.home().join("out")).expect("made");
    declare(&floor, script);
    floor
}

fn declare(floor: &Floor, script: &str) {
    let file = floor.home().join("floor.toml");
    let text = std::fs::read_to_string(&file).expect("the floor's file");
    let own = text.split("[vault").next().unwrap_or_default().to_owned();
    let declared = format!(
        "{own}[vault.types.deploy]\nrun = [\"sh\", \"-c\", '''{script}''', \"sh\", \"{{payload.version}}\"]\nrisk = \"high\"\nreversible = false\nsecrets = [\"DEPLOY_TOKEN\"]\nschema = {{ type = \"object\", required = [\"version\"], properties = {{ version = {{ type = \"string\" }} }} }}\n"
    );
    std::fs::write(file, declared).expect("written");
}

/// Appends its argument and its input, and prints its secret.
fn deploys(floor_path: &Path) -> String {
    format!("{{ echo \"$1\"; cat; }} >> \"{}\"; echo \"token $DEPLOY_TOKEN\"", floor_path.display())
}

fn request(floor: &Floor, number: u64) -> Value {
    floor.json(&["vault", "show", &number.to_string()]).1
}

fn is(floor: &Floor, number: u64, state: &str) -> bool {
    floor.json(&["vault", "list"]).1.as_array().is_some_and(|all| {
        all.iter().any(|request| request["request"] == number && request["state"] == state)
    })
}

fn out(floor: &Floor, name: &str) -> String {
    std::fs::read_to_string(floor.home().join("out").join(name)).unwrap_or_default()
}

/// Whether any file below holds that text.
fn holds(folder: &Path, text: &str) -> Option<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).find_map(|path| match path.symlink_metadata() {
        Ok(meta) if meta.is_dir() => holds(&path, text),
        Ok(meta) if meta.is_file() => {
            let bytes = std::fs::read(&path).unwrap_or_default();
            bytes.windows(text.len()).any(|part| part == text.as_bytes()).then_some(path)
        }
        _ => None,
    })
}

#[test]
fn an_agent_asks_a_person_approves_and_it_is_carried_out_as_it_was_shown() {
    let floor = floor(AGENT, "true");
    let deployed = floor.path("deployed");
    declare(&floor, &deploys(&deployed));
    floor.issue("Deploy it", "");
    floor.ok(&["up", "--detach"]);
    wait_for("it asks, and is refused what it asks for besides", || {
        out(&floor, "codes").lines().count() == 9
    });
    let codes = out(&floor, "codes");
    let refused = codes.lines().filter(|line| line.starts_with("6 ")).count();
    assert_eq!((refused, codes.lines().filter(|line| line.starts_with("2 ")).count()), (7, 2), "{codes}");
    let asked: Value = serde_json::from_str(&out(&floor, "asked")).expect("an answer");
    assert_eq!((&asked["state"], &asked["by"]), (&"held".into(), &"agent 1".into()), "{asked}");
    let events = floor.ok(&["events"]);
    assert!(
        events.lines().any(|line| line.contains("REFUSED") && line.contains("vault approve 1")),
        "{events}"
    );

    // It is a question like any other, with everything that it is about.
    let shown = floor.ok(&["questions"]);
    for part in
        ["\"1.2\"", "it is ready", "high, cannot be undone", "DEPLOY_TOKEN", "1. approve", "2. reject"]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    assert!(floor.ok(&["status"]).contains("request 1 for deploy"));
    let (_, status) = floor.json(&["status"]);
    assert_eq!(status["vault"][0]["request"], 1, "{status}");
    assert!(!deployed.exists(), "nobody has approved it");
    let question = asked["question"].as_str().expect("a number");
    assert_eq!(floor.run(&["answer", question, "perhaps"]).status.code(), Some(2));
    floor.ok(&["answer", question, "approve"]);
    wait_for("it is carried out", || is(&floor, 1, "done"));
    assert_eq!(std::fs::read_to_string(&deployed).expect("it was"), "1.2\n{\n  \"version\": \"1.2\"\n}");
    assert_eq!(floor.run(&["vault", "reject", "1"]).status.code(), Some(1), "the first word counts");

    // Who said what is on record, the agent knows, and the secret is nowhere else.
    let done = request(&floor, 1);
    assert_eq!(done["output"], "token [redacted]", "{done}");
    let deeds: Vec<&str> =
        done["history"].as_array().expect("a list").iter().filter_map(|d| d["what"].as_str()).collect();
    assert_eq!(deeds, ["asked", "held", "approved", "fired", "ended"]);
    assert_eq!(done["history"][2]["from"], "the command line");
    assert!(floor.ok(&["vault", "history", "1"]).contains("approved"));
    wait_for("the agent is told", || out(&floor, "told").starts_with("Vault: done\n"));
    assert!(!out(&floor, "env").contains("DEPLOY_TOKEN"), "{}", out(&floor, "env"));
    let rejected = floor.json(&["vault", "list"]).1;
    assert_eq!(
        rejected.as_array().map(Vec::len),
        Some(3),
        "what was refused at once is on record: {rejected}"
    );
    floor.ok(&["down"]);
    assert_eq!(holds(&floor.home(), SECRET), None, "the secret is in a file of the floor's");
}

#[test]
fn what_is_cut_short_is_a_question_and_what_changed_is_asked_about_again() {
    let floor = floor("exit 0", "true");
    let (fifo, began) = (floor.path("go-on"), floor.path("began"));
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
    let go_on = std::fs::File::options().read(true).write(true).open(&fifo).expect("it opens");
    declare(&floor, &format!("echo $1 >> {}; read _ < {}", began.display(), fifo.display()));
    floor.ok(&["up", "--detach"]);
    let ask =
        || floor.ok(&["vault", "request", "deploy", "--payload", r#"{"version": "3"}"#, "--reason", "now"]);
    ask();
    floor.ok(&["vault", "approve", "1", "--reason", "as planned"]);
    let shots = || std::fs::read_to_string(&began).unwrap_or_default().lines().count();
    wait_for("it begins", || shots() == 1);
    floor.kill_daemon();
    floor.ok(&["up", "--detach"]);
    wait_for("people are asked", || is(&floor, 1, "unknown"));
    assert_eq!(shots(), 1, "never a second shot by itself");
    assert!(floor.ok(&["questions"]).contains("it may have happened"));

    // A person looks, and wants it again; but by now it would be something else.
    declare(&floor, &format!("echo again $1 >> {}", began.display()));
    floor.ok(&["vault", "retry", "1"]);
    wait_for("it is asked about again", || is(&floor, 1, "held"));
    assert_eq!(floor.run(&["vault", "approve", "1"]).status.code(), Some(1), "which of the two is meant?");
    let question = request(&floor, 1)["question"].as_str().expect("a number").to_owned();
    floor.ok(&["vault", "approve", &question]);
    wait_for("it is carried out", || is(&floor, 1, "done"));
    assert_eq!(std::fs::read_to_string(&began).expect("it was"), "3\nagain 3\n");

    drop(go_on);
    ask();
    assert!(is(&floor, 2, "held"));
    floor.ok(&["vault", "reject", "2", "--reason", "not today"]);
    assert_eq!(
        request(&floor, 2)["why"].as_str().map(|why| why.ends_with("rejected it: not today")),
        Some(true)
    );
    let leaking = format!("{{\"version\": \"{SECRET}\"}}");
    let leaks = floor.run(&["vault", "request", "deploy", "--payload", &leaking, "--reason", "x"]);
    assert_eq!(leaks.status.code(), Some(2), "a secret is no payload");
    assert_eq!(floor.run(&["vault", "show", "3"]).status.code(), Some(4), "and is not on record");
}

#[test]
fn a_floor_that_goes_down_waits_for_what_the_vault_carries_out() {
    let floor = floor("exit 0", "true");
    let (fifo, began) = (floor.path("go-on"), floor.path("began"));
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
    let mut go_on = std::fs::File::options().read(true).write(true).open(&fifo).expect("it opens");
    declare(&floor, &format!("echo $1 >> {}; read _ < {}", began.display(), fifo.display()));
    let asked =
        floor.ok(&["vault", "request", "deploy", "--payload", r#"{"version": "3"}"#, "--reason", "now"]);
    assert!(asked.contains("waits for a person"), "{asked}");
    assert!(floor.ok(&["vault", "approve", "1"]).contains("when the daemon runs"));
    let wrong = floor.run(&["vault", "approve", "1"]);
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(said.contains("request 1 is being carried out: it cannot be approved"), "{said}");

    floor.ok(&["up", "--detach"]);
    let shots = || std::fs::read_to_string(&began).unwrap_or_default().lines().count();
    wait_for("it begins", || shots() == 1);
    let mut down = floor.command(&["down"]).stderr(Stdio::piped()).spawn().expect("it begins");
    let mut told = String::new();
    BufReader::new(down.stderr.take().expect("piped")).read_line(&mut told).expect("it says so");
    assert!(told.starts_with("waiting at most") && told.contains("request 1 for deploy"), "{told}");
    assert!(is(&floor, 1, "firing"), "nothing is cut short");
    go_on.write_all(b"\n").expect("written");
    assert!(down.wait().expect("it ends").success());
    assert_eq!((is(&floor, 1, "done"), shots()), (true, 1));

    // Who does not want to wait says so, and is asked.
    floor.ok(&["vault", "request", "deploy", "--payload", r#"{"version": "4"}"#, "--reason", "now"]);
    floor.ok(&["vault", "approve", "2"]);
    floor.ok(&["up", "--detach"]);
    wait_for("it begins", || shots() == 2);
    floor.ok(&["down", "--now"]);
    floor.ok(&["up", "--detach"]);
    wait_for("people are asked", || is(&floor, 2, "unknown"));
    assert_eq!(shots(), 2);
}
