//! A project whose branches live at a remote: a bare repository behind `git http-backend`.

use crate::floor::{DEMO, Floor, git_in};
use crate::http::{Fault, Server};
use shopfloor_core::ids::ProjectName;
use shopfloor_core::state::End;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::mpsc::channel;

/// A floor with the project `far`, whose primary branch is at the server by now.
fn far() -> (Floor, Server, ProjectName, PathBuf) {
    let floor = Floor::new(DEMO);
    let (root, repo) = (floor.path("served"), floor.path("far"));
    let real = root.join("far.git");
    std::fs::create_dir_all(&repo).expect("a folder");
    let git = |args: &[&str]| git_in(&repo, &floor.path("home"), args);
    git(&["init", "--quiet", "--bare", "-b", "main", real.to_str().expect("UTF-8")]);
    let path = std::env::var_os("PATH").expect("a path");
    let program = std::env::split_paths(&path).map(|p| p.join("git")).find(|p| p.is_file()).expect("git");
    let server = Server::start(&program, &root);
    git(&["init", "--quiet", "-b", "main"]);
    let config = format!(
        "[project]\nname = \"far\"\norigin = \"{}/far.git\"\n[ci]\nsteps = [{{ name = \"check\", run = \"true\", timeout = \"1m\" }}]\n{DEMO}",
        server.url
    );
    std::fs::write(repo.join("shopfloor.toml"), config).expect("written");
    git(&["add", "."]);
    git(&[
        "-c",
        "user.name=Somebody",
        "-c",
        "user.email=somebody@localhost",
        "commit",
        "--quiet",
        "-m",
        "begin",
    ]);
    let init = floor.command(&["init"]).current_dir(&repo).output().expect("it runs");
    assert!(init.status.success(), "{}", String::from_utf8_lossy(&init.stderr));
    (floor, server, "far".parse().expect("a name"), real)
}

/// Whoever is killed in mid-push does not know whether it was done. The next one finds out.
#[test]
fn issues_land_at_a_remote_also_when_the_daemon_is_killed_in_mid_push() {
    let (floor, server, project, real) = far();
    let git = |args: &[&str]| git_in(&real, &floor.path("home"), args);
    let begun = git(&["rev-parse", "main"]);
    for (name, done_at_last) in [("one", true), ("two", false)] {
        let issue = floor.issue_of(&project, name, &format!("demo: write {name}.txt <<{name}"), &[]);
        let ((came, told), (speak, word), (done, finished)) = (channel(), channel(), channel());
        server.next(Fault::Late { came, word, done }, "refs/heads/main");
        let mut up = floor
            .command(&["up", "--until-idle"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary runs");
        told.recv().expect("the push of what lands");
        up.kill().expect("killed");
        up.wait().expect("waited");
        if done_at_last {
            speak.send(()).expect("a server that waits");
            finished.recv().expect("done");
        } else {
            drop(speak);
        }
        let (code, text) = floor.until_idle();
        assert_eq!(code, 0, "{text}");
        assert_eq!(git(&["show", &format!("main:{name}.txt")]), name);
        assert_eq!(floor.engine().floor().job_of(&project, issue).expect("a job").end(), Some(End::Merged));
        assert_eq!(git(&["for-each-ref", "refs/heads/fix/"]), "");
    }
    // Each landed once, on top of what was there, and the checkout has it.
    assert_eq!(git(&["rev-list", "--count", "--first-parent", &format!("{begun}..main")]), "2");
    assert_eq!(
        git_in(&floor.path("far"), &floor.path("home"), &["rev-parse", "main"]),
        git(&["rev-parse", "main"])
    );
    git(&["fsck", "--strict", "--no-progress"]);
    assert!(!floor.home().join("projects/far/hub.git").exists(), "nothing of it lives on the floor");
    let doctor = floor.run(&["doctor"]);
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(said.contains("main is at"), "{said}");
}
