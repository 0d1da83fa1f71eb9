//! What somebody writes into the floor's own repositories is put right before git obeys it, and told.

use crate::floor::{Floor, branch, each};
use crate::rescue::snapshot;
use shopfloor_adapters::git::repos;
use shopfloor_core::policy::MergeMethod;
use shopfloor_engine::ports::Workspace;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// What is found, by the repository's name.
fn listen(floor: &Floor) -> Arc<Mutex<Vec<(String, String)>>> {
    let all = Arc::new(Mutex::new(Vec::new()));
    let heard = all.clone();
    floor.git.tell_of_tampering(move |found| {
        let name = found.repository.file_name().expect("a name").to_string_lossy().into_owned();
        heard.lock().expect("held").push((name, found.what.clone()));
    });
    all
}

fn program(floor: &Floor, mark: &Path) -> PathBuf {
    let path = floor.home.path().join("planted");
    std::fs::write(&path, format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\nexec cat\n", mark.display()))
        .expect("written");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("mode");
    path
}

#[test]
fn a_repository_of_the_floor_obeys_only_what_the_floor_wrote() {
    each(|floor| {
        let heard = listen(floor);
        let mark = floor.home.path().join("planted was run");
        let program = program(floor, &mark);
        let p = program.display();
        let head = floor.commit("Ada", 1, "work.md", "mine\n", "work");
        let dir = floor.prepare(1);
        floor.write(&dir, "notes.md", "not committed\n");
        for repository in [floor.hub(), floor.queue(), floor.clone_repo()] {
            let config = repository.join("config");
            let before = std::fs::read_to_string(&config).expect("there is one");
            let planted = format!(
                "[core]\n\talternateRefsCommand = {p}\n[filter \"x\"]\n\tclean = {p}\n\tsmudge = {p}\n\
                 [merge \"x\"]\n\tdriver = {p}\n[diff]\n\texternal = {p}\n[receive]\n\tdenyNonFastForwards = true\n\
                 [uploadpack]\n\tpackObjectsHook = {p}\n"
            );
            std::fs::write(&config, before + &planted).expect("written");
            std::fs::create_dir_all(repository.join("info")).expect("made");
            std::fs::write(repository.join("info/attributes"), "* filter=x merge=x\n").expect("written");
            std::fs::create_dir_all(repository.join("hooks")).expect("made");
            for hook in ["pre-receive", "post-receive", "reference-transaction", "post-update"] {
                std::fs::copy(&program, repository.join("hooks").join(hook)).expect("copied");
            }
        }
        let hook = floor.hub().join("hooks/update");
        std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o644)).expect("mode");

        snapshot(floor, 1);
        floor.workspace.push(&floor.tree(1), &branch(1)).expect("published");
        let (candidate, _) = floor.candidate(1, &head, MergeMethod::Merge);
        floor.publish(&floor.head(&floor.hub(), "main"), &candidate).expect("asked").expect("published");
        assert!(!mark.exists(), "{}", std::fs::read_to_string(&mark).unwrap_or_default());

        let all = heard.lock().expect("held").clone();
        for name in ["hub.git", "queue.git", "clone.git"] {
            for what in ["config was not as shopfloor wrote it", "info/attributes does not belong there"] {
                assert!(all.contains(&(name.into(), what.into())), "{name}: {what}: {all:?}");
            }
        }
        assert!(all.contains(&("hub.git".into(), "hooks/update had another mode (644)".into())), "{all:?}");
        assert!(
            all.contains(&("hub.git".into(), "hooks/pre-receive does not belong there".into())),
            "{all:?}"
        );
        assert_eq!(std::fs::metadata(&hook).expect("there").mode() & 0o111, 0o111);
        assert!(floor.hub().join("not-ours/info-attributes.0").exists(), "it is kept, to be looked at");

        // What is right is right, and nothing more is said.
        heard.lock().expect("held").clear();
        snapshot(floor, 1);
        floor.commit("Ada", 1, "more.md", "more\n", "more");
        floor.push(1);
        assert_eq!(*heard.lock().expect("held"), []);
    });
}

#[test]
fn what_leads_a_repository_elsewhere_is_set_aside() {
    each(|floor| {
        let heard = listen(floor);
        std::fs::write(floor.queue().join("commondir"), "/nowhere\n").expect("written");
        std::fs::write(floor.queue().join("config.worktree"), "[core]\n").expect("written");
        std::fs::remove_file(floor.queue().join("objects/info/alternates")).expect("removed");
        let head = floor.commit("Ada", 1, "work.md", "mine\n", "work");
        floor.push(1);
        floor.candidate(1, &head, MergeMethod::Merge);
        let all: Vec<String> = heard.lock().expect("held").iter().map(|(_, what)| what.clone()).collect();
        for what in [
            "commondir does not belong there",
            "config.worktree does not belong there",
            "objects/info/alternates was gone",
        ] {
            assert!(all.iter().any(|heard| heard == what), "{what}: {all:?}");
        }
    });
}

#[test]
fn what_was_changed_while_nobody_looked_is_put_right_at_the_start() {
    each(|floor| {
        let config = floor.hub().join("config");
        let right = std::fs::read_to_string(&config).expect("there is one");
        assert!(!floor.hub().join("not-ours").exists(), "a new repository is as it was made");
        std::fs::write(&config, format!("{right}[http]\n\tproxy = mine\n")).expect("written");
        repos::ensure(&floor.git, &floor.layout, &floor.project).expect("repositories");
        assert_eq!(std::fs::read_to_string(&config).expect("there is one"), right);
        let kept = std::fs::read_to_string(floor.hub().join("not-ours/config.0")).expect("kept");
        assert!(kept.contains("proxy = mine"), "{kept}");
        std::fs::remove_file(&config).expect("removed");
        repos::ensure(&floor.git, &floor.layout, &floor.project).expect("repositories");
        assert_eq!(std::fs::read_to_string(&config).expect("there is one"), right);
    });
}
