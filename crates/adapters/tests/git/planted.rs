//! What an agent plants in its tree's repository, or in one nested in its tree, so that somebody else's git runs it.
//! No git of the factory's does.

use crate::floor::{Floor, branch, each};
use crate::rescue::snapshot;
use shopfloor_core::policy::MergeMethod;
use shopfloor_engine::ports::Workspace;
use shopfloor_engine::proof::RescueProof;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const MARK: &str = "planted was run";

/// A program that says, beside the floor, who ran it; in all other respects it is `cat`.
fn plant(floor: &Floor) -> PathBuf {
    let (program, mark) = (floor.home.path().join("planted"), floor.home.path().join(MARK));
    let script =
        format!("#!/bin/sh\ntr '\\\\0' ' ' < /proc/$PPID/cmdline >> '{}'\nexec cat\n", mark.display());
    std::fs::write(&program, script).expect("written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("mode");
    program
}

fn was_run(floor: &Floor) -> Option<String> {
    std::fs::read_to_string(floor.home.path().join(MARK)).ok()
}

fn config(program: &Path, hub: &Path, worktree: &Path) -> String {
    let (p, hub, worktree) = (program.display(), hub.display(), worktree.display());
    format!(
        "[filter \"x\"]\n\tclean = \"{p}\"\n\tsmudge = \"{p}\"\n\trequired = true\n\
         [filter \"y=z.w\"]\n\tprocess = \"{p}\"\n\
         [merge \"x\"]\n\tdriver = \"{p}\"\n[merge]\n\tverifySignatures = true\n\
         [diff]\n\texternal = \"{p}\"\n[diff \"x\"]\n\tcommand = \"{p}\"\n\ttextconv = \"{p}\"\n\
         [core]\n\tfsmonitor = \"{p}\"\n\tsshCommand = \"{p}\"\n\tpager = \"{p}\"\n\teditor = \"{p}\"\n\
         \taskPass = \"{p}\"\n\tgitProxy = \"{p}\"\n\talternateRefsCommand = \"{p}\"\n\thooksPath = \"{worktree}/hooks\"\n\
         \tattributesFile = \"{worktree}/attributes\"\n\tworktree = \"{worktree}/elsewhere\"\n\
         [gpg]\n\tprogram = \"{p}\"\n[commit]\n\tgpgSign = true\n[log]\n\tshowSignature = true\n\
         [credential]\n\thelper = \"{p}\"\n[status]\n\tsubmoduleSummary = true\n[submodule]\n\trecurse = true\n\
         [fetch]\n\trecurseSubmodules = true\n\
         [remote \"{hub}\"]\n\turl = \"{hub}\"\n\tuploadpack = \"{p}\"\n\treceivepack = \"{p}\"\n\tpromisor = true\n\
         [remote \"origin\"]\n\tuploadpack = \"{p}\"\n\treceivepack = \"{p}\"\n\
         [url \"ext::{p} \"]\n\tinsteadOf = \"{hub}\"\n[protocol]\n\tallow = always\n\
         [alias]\n\tstatus = \"!{p}\"\n"
    )
}

const ATTRIBUTES: &str = "*.md filter=x merge=x diff=x\n*.rst filter=y=z.w\n* filter=x merge=x diff=x\n";

/// Everything that an agent can write: the repository of its tree, its tree, and a repository inside it.
fn plant_all(floor: &Floor, dir: &Path, included: bool) {
    let program = plant(floor);
    let own = floor.repository(1);
    let text = config(&program, &floor.hub(), dir);
    let file = own.join("config");
    let before = std::fs::read_to_string(&file).expect("there is one");
    if included {
        std::fs::write(own.join("config.worktree"), &text).expect("written");
        std::fs::write(own.join("more"), &text).expect("written");
        let with = "[extensions]\n\tworktreeConfig = true\n[include]\n\tpath = more\n";
        std::fs::write(
            &file,
            before.replace("repositoryformatversion = 0", "repositoryformatversion = 1") + with,
        )
        .expect("written");
    } else {
        std::fs::write(&file, before + &text).expect("written");
    }
    std::fs::create_dir_all(own.join("info")).expect("made");
    std::fs::write(own.join("info/attributes"), ATTRIBUTES).expect("written");
    for folder in [own.join("hooks"), dir.join("hooks")] {
        std::fs::create_dir_all(&folder).expect("made");
        for hook in [
            "post-checkout",
            "post-merge",
            "pre-push",
            "reference-transaction",
            "post-index-change",
            "update",
        ] {
            std::fs::copy(&program, folder.join(hook)).expect("copied");
        }
    }
    floor.write(dir, ".gitattributes", ATTRIBUTES);
    floor.write(dir, "attributes", ATTRIBUTES);
    floor.write(dir, "notes.md", "planted\n");
    floor.write(dir, "notes.rst", "planted\n");
    let nested = dir.join("nested");
    floor.write(&nested, "inner.md", "planted\n");
    floor.git_in(&nested, &["init", "--quiet", "."]);
    floor.git_as("Ada", &nested, &["add", "."]);
    floor.git_as("Ada", &nested, &["commit", "--quiet", "-m", "nested"]);
    floor.git_as(
        "Ada",
        dir,
        &[
            "-c",
            "core.worktree=",
            "-c",
            "advice.addEmbeddedRepo=false",
            "update-index",
            "--add",
            "--cacheinfo",
            &format!("160000,{},nested", floor.head(&nested, "HEAD")),
        ],
    );
    floor.write(&nested, ".gitattributes", ATTRIBUTES);
    floor.write(&nested, "inner.md", "changed since\n");
    std::fs::write(
        nested.join(".git/config"),
        format!("[core]\n\trepositoryformatversion = 0\n{}", config(&program, &floor.hub(), &nested)),
    )
    .expect("written");
    std::fs::write(nested.join(".git/info/attributes"), ATTRIBUTES).expect("written");
}

#[test]
fn nothing_that_an_agent_plants_in_its_repository_is_run() {
    for included in [false, true] {
        each(|floor| {
            let head = floor.commit("Ada", 1, "work.md", "mine\n", "work");
            let dir = floor.prepare(1);
            // The primary branch goes on, so that there is something to take over.
            floor.human_push("other.md", "others'\n");
            plant_all(floor, &dir, included);
            let is_still = |when: &str| assert_eq!(was_run(floor), None, "{when}, included: {included}");
            // What the test itself ran may have.
            std::fs::remove_file(floor.home.path().join(MARK)).unwrap_or_default();

            let taken = snapshot(floor, 1);
            is_still("a snapshot");
            assert!(floor.workspace.snapshot_holds(&floor.tree(1), &taken).expect("known"));
            is_still("its check");
            floor.workspace.prepare(&floor.tree(1), &branch(1), None).expect("prepared");
            is_still("a successor's start");
            floor.workspace.branch_state(&floor.tree(1), &branch(1)).expect("state");
            is_still("a look at the branch");
            floor.workspace.work_done(&floor.tree(1), 10_000).expect("told");
            is_still("what a successor is told");
            floor.workspace.push(&floor.tree(1), &branch(1)).expect("published");
            is_still("a publication");
            floor.workspace.review_diff(&floor.tree(1), None, &head, 10_000).expect("shown");
            floor.workspace.change_of(&floor.tree(1), &head, 10_000).expect("shown");
            is_still("a review's diff");
            let rescued = floor.workspace.rescues(&floor.project.name).expect("listed").pop().expect("one");
            floor.workspace.rescued_changes(&floor.project.name, &rescued, true, 10_000).expect("shown");
            is_still("what was rescued");
            let to = floor.home.path().join("restored");
            floor.workspace.restore_to(&floor.project.name, &rescued, &to).expect("restored");
            std::fs::remove_dir_all(&to).expect("removed");
            floor.workspace.restore_in_place(&floor.tree(1), &branch(1), &rescued).expect("restored");
            is_still("a restoration");
            let (candidate, _) = floor.candidate(1, &head, MergeMethod::Merge);
            floor.publish(&floor.head(&floor.hub(), "main"), &candidate).expect("asked").expect("published");
            is_still("a merge");
            std::fs::remove_dir_all(&dir).expect("removed");
            floor.workspace.prepare(&floor.tree(1), &branch(1), None).expect("made again");
            is_still("a tree that is filled again");
            let proof = RescueProof::obtain(&floor.workspace, &floor.tree(1)).expect("kept");
            floor.workspace.remove(proof).expect("removed");
            is_still("a removal");
            assert!(!dir.exists());
        });
    }
}
