//! Projects whose agents cannot be started, or whose secrets are not there: told of everywhere, nothing is
//! touched, and others go on.

use super::floor::{DEMO, Floor};
use shopfloor_core::ids::Role;
use std::path::Path;

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
    assert!(status.contains("nothing new is begun: secret `TOK`"), "{status}");
    assert!(floor.engine().floor().jobs.iter().next().is_none());
    floor.env.push(("SOME_TOKEN".into(), "hunter22".into()));
    floor.ok(&["up", "--until-idle"]);
    assert!(!floor.ok(&["status"]).contains("nothing new is begun"));
    assert_eq!(floor.job(issue).state.name(), "merged");
}

#[test]
fn without_tmux_nothing_is_touched() {
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
    let engine = floor.engine();
    assert!(engine.floor().hold(&floor.project, Role::Dev).is_some_and(|hold| hold.why.contains("tmux")));
    let labels = &engine.floor().issues.get(&(floor.project.clone(), issue)).expect("known").labels;
    assert!(labels.contains("backlog") && labels.len() == 1, "{labels:?}");
    drop(engine);
    floor.env.pop();
    floor.ok(&["up", "--until-idle"]);
    assert_eq!(floor.job(issue).state.name(), "merged");
}

#[test]
fn a_client_that_says_nothing_of_itself_is_told_of_soon() {
    let mut floor = Floor::new("[agents.dev]\nruntime = \"claude\"\n[agents.review]\nruntime = \"demo\"\n");
    floor.issue("Say hello", "Say it.");
    let bin = floor.path("bin");
    std::fs::create_dir(&bin).expect("a folder");
    write_program(&bin.join("claude"), "#!/bin/sh\nexec sleep 1000\n");
    let path = std::env::var("PATH").expect("a PATH");
    floor.env.push(("PATH".into(), format!("{}:{path}", bin.display()).into()));
    assert_eq!(floor.run(&["up", "--until-idle"]).status.code(), Some(3));
    let status = floor.ok(&["status"]);
    assert!(status.contains("claude cannot be run: no answer in time"), "{status}");
}

fn write_program(file: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(file, text).expect("written");
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).expect("set");
}
