//! Projects whose agents cannot be started, or whose secrets are not there: told of everywhere, nothing is
//! touched, others go on, and so do they when it is mended.

use crate::client::{FAST, wait_for};
use crate::floor::{DEMO, Floor};
use shopfloor_core::ids::{IssueNumber, Role};
use shopfloor_core::state::End;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What people are asked.
fn questions(floor: &Floor) -> Vec<String> {
    let (_, asked) = floor.json(&["questions"]);
    let text = |q: &serde_json::Value| q["question"].as_str().unwrap_or_default().to_owned();
    asked.as_array().expect("a list").iter().map(text).collect()
}

/// The lines of `status` that say that agents cannot work.
fn outages(floor: &Floor) -> Vec<String> {
    let status = floor.ok(&["status"]);
    status.lines().filter(|line| line.contains("agents cannot work")).map(str::to_owned).collect()
}

/// It is as it was made, and nobody works on it.
fn untouched(floor: &Floor, issue: IssueNumber) {
    let labels = floor.forge().issue(&floor.project, issue).expect("the issue").labels;
    assert_eq!(labels, ["backlog"]);
    assert!(floor.engine().floor().job_of(&floor.project, issue).is_none());
}

/// A program as it is installed: whole at once.
fn write_program(file: &Path, text: &str) {
    let new = file.with_extension("new");
    std::fs::write(&new, text).expect("written");
    std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o755)).expect("set");
    std::fs::rename(new, file).expect("put in place");
}

/// A folder of its own that is first on the PATH.
fn own_bin(floor: &mut Floor) -> PathBuf {
    let bin = floor.path("bin");
    std::fs::create_dir(&bin).expect("a folder");
    let path = std::env::var("PATH").expect("a PATH");
    floor.env.push(("PATH".into(), format!("{}:{path}", bin.display()).into()));
    bin
}

#[test]
fn a_secret_that_is_not_set_keeps_its_project_back_until_it_is() {
    let mut floor = Floor::new(&format!("{DEMO}[secrets]\nTOK = {{ env = \"SOME_TOKEN\" }}\n"));
    let issue = floor.issue("Say hello", "Say it.");
    for command in [&["config", "check"][..], &["doctor"], &["up", "--detach"]] {
        let told = floor.run(command);
        let said = [told.stdout, told.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(
            said.contains("secret `TOK`: the environment variable SOME_TOKEN is not set"),
            "{command:?}: {said}"
        );
    }
    let status = floor.ok(&["status"]);
    assert!(status.contains("nothing new is started: secret `TOK`"), "{status}");
    assert!(floor.engine().floor().jobs.iter().next().is_none());
    floor.env.push(("SOME_TOKEN".into(), "hunter22".into()));
    floor.ok(&["up", "--until-idle"]);
    assert!(!floor.ok(&["status"]).contains("nothing new is started"));
    assert_eq!(floor.job(issue).state.name(), "merged");
}

#[test]
fn a_project_without_its_secret_holds_up_no_other() {
    let floor = Floor::new(&format!("{DEMO}[secrets]\nTOK = {{ env = \"SOME_TOKEN\" }}\n"));
    let waits = floor.issue("Say hello", "demo: write hello.txt <<hello");
    let other = floor.beside("other", DEMO);
    let unaffected = floor.issue_of(&other, "Say hello", "demo: write hello.txt <<hello", &[]);
    floor.up();
    let end = wait_for("the other's job ends", || {
        floor.engine().floor().job_of(&other, unaffected).and_then(|job| job.end())
    });
    assert_eq!(end, End::Merged);
    untouched(&floor, waits);
    let status = floor.ok(&["status"]);
    let lines: Vec<&str> = status.lines().filter(|line| line.contains("secret `TOK`")).collect();
    assert!(!lines.is_empty() && lines[0].contains("SOME_TOKEN is not set"), "{status}");
}

#[test]
fn without_tmux_nothing_is_touched_and_one_question_is_asked() {
    let mut floor = Floor::new(DEMO);
    let issue = floor.issue("Say hello", "Say it.");
    let all = std::env::var("PATH").expect("a PATH");
    // Every program but that.
    let bin = floor.path("bin");
    std::fs::create_dir(&bin).expect("a folder");
    for program in
        std::env::split_paths(&all).filter_map(|dir| std::fs::read_dir(dir).ok()).flatten().flatten()
    {
        let name = program.file_name();
        if name != "tmux" {
            let _ = std::os::unix::fs::symlink(program.path(), bin.join(name));
        }
    }
    floor.env.push(("PATH".into(), bin.into()));
    let told = floor.run(&["up", "--until-idle"]);
    assert_eq!(told.status.code(), Some(3), "{}", String::from_utf8_lossy(&told.stderr));
    untouched(&floor, issue);
    // Both roles are kept by it: it is one line and one question, and is told once.
    let (lines, asked, told) = (outages(&floor), questions(&floor), floor.notes("NEEDS_HUMAN"));
    assert_eq!((lines.len(), asked.len(), told.len()), (1, 1, 1), "{lines:?} {asked:?} {told:?}");
    assert!(lines[0].contains("dev and review agents cannot work: tmux is not installed"), "{lines:?}");
    assert!(asked[0].contains("The dev and review agents cannot work: tmux"), "{asked:?}");
    floor.env.pop();
    floor.ok(&["up", "--until-idle"]);
    assert_eq!(floor.job(issue).state.name(), "merged");
    assert_eq!((outages(&floor).len(), questions(&floor).len()), (0, 0));
}

#[test]
fn a_client_that_says_nothing_of_itself_is_told_of_soon() {
    let mut floor = Floor::new("[agents.dev]\nruntime = \"claude\"\n[agents.review]\nruntime = \"demo\"\n");
    floor.issue("Say hello", "Say it.");
    let bin = own_bin(&mut floor);
    write_program(&bin.join("claude"), "#!/bin/sh\nexec sleep 1000\n");
    assert_eq!(floor.run(&["up", "--until-idle"]).status.code(), Some(3));
    let status = floor.ok(&["status"]);
    let why = "claude does not work: it gave no answer to `claude --version` in 5 s";
    assert!(status.contains(why), "{status}");
}

/// A floor both of whose agents are a client of its own, at least version 2.0.0; and where that is to be installed.
fn with_standin() -> (Floor, PathBuf) {
    let mut floor = Floor::with_clients(FAST);
    let bin = own_bin(&mut floor);
    let runtime = floor.home().join("runtimes/claude.toml");
    let text = std::fs::read_to_string(&runtime).expect("it is there");
    let text = text
        .replace("\"shopfloor\", \"demo-agent\"", "\"standin\"")
        .replace("[\"shopfloor\", \"--version\"]", "[\"standin\", \"--version\"]")
        .replace("minimum = \"0.0.1\"", "minimum = \"2.0.0\"");
    std::fs::write(runtime, text).expect("written");
    (floor, bin.join("standin"))
}

/// The client of that version.
fn standin(version: &str) -> String {
    format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && {{ echo 'standin {version}'; exit; }}\nexec shopfloor demo-agent \"$@\"\n"
    )
}

/// Its project is held by that, with nothing touched, until the client is installed; nobody has to say so.
fn held_until_installed(floor: &Floor, program: &Path, why: &str) {
    let issue = floor.issue("Say hello", "demo: write hello.txt <<hello");
    floor.up();
    let lines = wait_for("it is out", || Some(outages(floor)).filter(|lines| !lines.is_empty()));
    assert!(lines.len() == 1 && lines[0].contains("dev and review agents cannot work"), "{lines:?}");
    assert!(lines[0].contains(why), "{lines:?}");
    let asked = questions(floor);
    assert!(asked.len() == 1 && asked[0].contains(why), "{asked:?}");
    untouched(floor, issue);
    write_program(program, &standin("2.0.1"));
    floor.wait_until_merged(issue);
    assert_eq!((outages(floor).len(), questions(floor).len()), (0, 0));
    assert_eq!(floor.notes("NEEDS_HUMAN").len(), 1);
}

#[test]
fn a_client_that_is_too_old_holds_the_project_until_it_is_replaced() {
    let (floor, program) = with_standin();
    write_program(&program, &standin("1.9.9"));
    held_until_installed(&floor, &program, "standin is version 1.9.9; at least 2.0.0 is needed: update it");
}

#[test]
fn a_missing_client_of_two_roles_is_one_question() {
    let (floor, program) = with_standin();
    held_until_installed(&floor, &program, "standin is not installed, or not on the PATH of the agents");
}

/// A reviewer that fails at its start, with colours, until it is mended.
const DIES: &str = r#"
[ -e "$SHOPFLOOR_HOME/mended" ] || { printf "\033[31mno such model: fish\033[0m\n" >&2; exit 3; }
printf "{\"verdict\":\"APPROVE\",\"review_markdown\":\"right\"}" > "$SHOPFLOOR_RESULT_FILE"
"#;

#[test]
fn a_reviewer_that_dies_at_its_start_says_why_and_is_tried_again_by_up() {
    let review = format!("runtime = \"generic\"\ncommand = [\"sh\", \"-c\", '''{DIES}''']\n");
    let floor = Floor::new(&format!("[agents.dev]\nruntime = \"demo\"\n[agents.review]\n{review}"));
    let issue = floor.issue("Say hello", "demo: write hello.txt <<hello");
    let (code, text) = floor.until_idle();
    assert_eq!((code, floor.job(issue).state.name()), (3, "reviewing"), "{text}");
    let why = "ends as soon as it is started (exit 3); it says: no such model: fish";
    let (lines, asked) = (outages(&floor), questions(&floor));
    assert_eq!((lines.len(), asked.len()), (1, 1), "{lines:?} {asked:?}");
    let explained = floor.ok(&["explain", &issue.to_string()]);
    let told = floor.notes("NEEDS_HUMAN").join("\n");
    for said in [&lines[0], &asked[0], &explained, &told] {
        assert!(said.contains(why) && !said.contains('\u{1b}'), "{said:?}");
    }
    let first = floor.notes("REVIEW_UNUSABLE");
    let stopped = "stopped (exit 3) without a review; it says: no such model: fish";
    assert!(first.len() == 1 && first[0].contains(stopped), "{first:?}");
    std::fs::write(floor.home().join("mended"), "").expect("mended");
    let (code, text) = floor.until_idle();
    assert_eq!((code, floor.job(issue).state.name()), (0, "merged"), "{text}");
    assert!(floor.engine().floor().outage(&floor.project, Role::REVIEW).is_none());
    assert_eq!((outages(&floor).len(), questions(&floor).len()), (0, 0));
}
