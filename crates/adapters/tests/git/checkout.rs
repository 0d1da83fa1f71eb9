//! The user's checkout, with the user at work in it at the worst moment.

use crate::floor::{Floor, each, gits};
use shopfloor_core::effect::Taken;
use shopfloor_core::ids::Sha;
use shopfloor_engine::ports::{PortError, Workspace};

/// What a user does in the middle, and what it must not lead to.
const DEEDS: [&str; 5] = [
    "checkout --quiet -b mywork",
    "checkout --quiet other",
    "switch --quiet --detach",
    "commit --quiet --allow-empty -m meanwhile",
    "pull --quiet --ff-only shopfloor main",
];

/// A checkout at `ours`, a hub at `theirs`, which changes, adds and removes a file, and a branch that has
/// something else.
pub(crate) fn behind(floor: &Floor) -> (Sha, Sha) {
    let checkout = &floor.project.checkout;
    floor.write(checkout, "goes", "away\n");
    let ours = floor.human_push("stays", "as it is\n");
    floor.user(&["checkout", "--quiet", "-b", "other"]);
    floor.write(checkout, "elsewhere", "x\n");
    floor.user(&["add", "-A"]);
    floor.user(&["commit", "--quiet", "-m", "other"]);
    floor.user(&["checkout", "--quiet", "main"]);
    floor.user(&["rm", "--quiet", "goes"]);
    floor.write(checkout, "readme", "one\n2\nthree\n");
    let theirs = floor.human_push("landed", "x\n");
    floor.user(&["reset", "--quiet", "--hard", ours.as_str()]);
    (ours, theirs)
}

/// Has the user do it once, when the adapter's git is at `subcommand`.
fn meanwhile(floor: &mut Floor, subcommand: &str, after: bool, deed: &str) {
    let home = floor.home.path().display().to_string();
    let checkout = floor.project.checkout.display().to_string();
    let call = if after { "\"$real\" \"$@\"; code=$?" } else { "code=go" };
    let script = format!(
        r#"case " $* " in *" {subcommand} "*)
    if mkdir '{home}/done' 2>/dev/null; then
        {call}
        env -i HOME='{home}' PATH="$PATH" GIT_AUTHOR_NAME=Uma GIT_AUTHOR_EMAIL=u@x GIT_COMMITTER_NAME=Uma GIT_COMMITTER_EMAIL=u@x \
            "$real" -C '{checkout}' {deed} >/dev/null 2>&1
        "$real" -C '{checkout}' rev-parse HEAD > '{home}/head' 2>/dev/null
        [ "$code" = go ] || exit "$code"
    fi ;;
esac"#
    );
    floor.intercept(&script);
}

#[test]
fn whatever_the_user_does_meanwhile_only_the_primary_branch_moves_and_the_files_fit() {
    for program in gits() {
        for deed in DEEDS {
            for subcommand in ["status", "fetch", "diff-tree", "read-tree", "update-ref"] {
                for after in [false, true] {
                    let told = format!("{deed} around {subcommand}, after: {after}");
                    let mut floor = Floor::new(&program);
                    let (ours, theirs) = behind(&floor);
                    let checkout = floor.project.checkout.clone();
                    let other = floor.head(&checkout, "other");
                    meanwhile(&mut floor, subcommand, after, deed);
                    // It may have to be tried again, also before anything was done: that somebody has the index passes,
                    // and so does that another test's child still has the script open that is to be run.
                    let sync = || floor.workspace.sync_checkout(&floor.project.name);
                    let done = floor.home.path().join("done");
                    let mut answer = sync();
                    while !done.exists() && matches!(answer, Err(PortError::Transient(_))) {
                        answer = sync();
                    }
                    assert!(done.exists(), "{told}: it was done: {answer:?}");
                    let then = std::fs::read_to_string(floor.home.path().join("head")).expect("noted");
                    assert_eq!(floor.head(&checkout, "other"), other, "{told}");
                    let status = floor.user(&["status", "--porcelain"]);
                    assert_eq!(status, "", "{told}: nothing is changed that the user has not");
                    let main = floor.head(&checkout, "main");
                    if deed.contains("mywork") {
                        assert_eq!(floor.head(&checkout, "mywork").as_str(), then.trim(), "{told}");
                    } else if deed.contains("commit") {
                        assert_eq!(main.as_str(), then.trim(), "{told}: their commit stays where it is");
                    }
                    assert!(deed.contains("commit") || main == ours || main == theirs, "{told}");
                    // And once nobody interferes it is brought there, if it may be.
                    let (updated, note) = floor.workspace.sync_checkout(&floor.project.name).expect("sync");
                    assert!(
                        updated || note.contains("left as it is") || note.contains("has everything"),
                        "{told}: {note}"
                    );
                    assert_eq!(floor.user(&["status", "--porcelain"]), "", "{told}");
                }
            }
        }
    }
}

#[test]
fn a_move_that_was_cut_short_is_finished_or_taken_back() {
    each(|floor| {
        let (ours, theirs) = behind(floor);
        let (checkout, name) = (&floor.project.checkout, &floor.project.name);
        floor.user(&["fetch", "--quiet", "shopfloor"]);
        let noted = floor.layout.checkout_move(name);
        let cut = |after_files: bool| {
            std::fs::write(&noted, format!("{ours} {theirs}\n")).expect("noted");
            if after_files {
                floor.user(&["read-tree", "-m", "-u", ours.as_str(), theirs.as_str()]);
            }
        };
        for after_files in [false, true] {
            cut(after_files);
            assert!(floor.workspace.sync_checkout(name).expect("sync").0);
            assert_eq!((floor.head(checkout, "main"), noted.exists()), (theirs.clone(), false));
            assert_eq!(floor.user(&["status", "--porcelain"]), "");
            floor.user(&["reset", "--quiet", "--hard", ours.as_str()]);
        }
        // The user went elsewhere since.
        cut(true);
        floor.user(&["checkout", "--quiet", "-b", "mywork"]);
        assert!(!floor.workspace.sync_checkout(name).expect("sync").0);
        assert_eq!(floor.user(&["status", "--porcelain"]), "");
        assert_eq!((floor.head(checkout, "mywork"), floor.head(checkout, "main")), (ours.clone(), ours));
    });
}

#[test]
fn the_users_own_commits_are_taken_in() {
    each(|floor| {
        let (checkout, name) = (&floor.project.checkout, &floor.project.name);
        let take = || floor.workspace.take_checkout(name).expect("taken");
        assert_eq!(take(), Taken::Nothing);
        // Forward, also from another branch and with work that is not committed.
        let base = floor.head(checkout, "main");
        floor.write(checkout, "own", "1\n");
        floor.user(&["add", "-A"]);
        floor.user(&["commit", "--quiet", "-m", "own"]);
        let own = floor.head(checkout, "main");
        floor.user(&["checkout", "--quiet", "-b", "topic"]);
        floor.write(checkout, "own", "2\n");
        assert_eq!(take(), Taken::Forwarded { head: own.clone() });
        assert_eq!(floor.head(&floor.hub(), "main"), own);
        assert_eq!(take(), Taken::Nothing);
        floor.user(&["checkout", "--quiet", "--force", "main"]);

        // What somebody took away in the hub is not put back.
        floor.git_in(&floor.hub(), &["update-ref", "refs/heads/main", base.as_str()]);
        assert_eq!(take(), Taken::Nothing);
        floor.git_in(&floor.hub(), &["update-ref", "-d", "refs/heads/main"]);
        floor.git_in(&floor.hub(), &["update-ref", "refs/heads/main", base.as_str()]);
        assert_eq!(take(), Taken::Nothing);
        floor.git_in(&floor.hub(), &["update-ref", "refs/heads/main", own.as_str()]);

        // Behind is nothing to take in.
        floor.user(&["reset", "--quiet", "--hard", base.as_str()]);
        assert_eq!(take(), Taken::Nothing);
        // Parted: a branch for the merge queue.
        floor.write(checkout, "other", "x\n");
        floor.user(&["add", "-A"]);
        floor.user(&["commit", "--quiet", "-m", "Other\n\nbody"]);
        let head = floor.head(checkout, "main");
        let Taken::Parted { branch, head: parted, title, by, .. } = take() else {
            panic!("they have parted")
        };
        assert_eq!(
            (branch.as_str(), parted, title.as_str(), by.as_str()),
            ("checkout/main", head.clone(), "Other", "Uma")
        );
        assert_eq!(floor.head(&floor.hub(), "checkout/main"), head);
        assert_eq!(floor.head(&floor.hub(), "main"), own, "the primary branch is left to the queue");
        let (updated, note) = floor.workspace.sync_checkout(name).expect("sync");
        assert!(!updated && note.contains("`git pull --rebase shopfloor main`"), "{note}");

        // It landed as another commit: the checkout is brought there, and nothing of it is lost.
        floor.workspace.pin_merged(name, &head).expect("pinned");
        assert_eq!(take(), Taken::Landed { head: head.clone() });
        assert!(floor.workspace.sync_checkout(name).expect("sync").0);
        assert_eq!(
            (floor.head(checkout, "main"), floor.user(&["status", "--porcelain"])),
            (own, String::new())
        );

        // And what a person is told to type works with this git, as it comes, and is taken in.
        floor.user(&["reset", "--quiet", "--hard", base.as_str()]);
        floor.write(checkout, "third", "x\n");
        floor.user(&["add", "-A"]);
        floor.user(&["commit", "--quiet", "-m", "third"]);
        floor.user(&["pull", "--quiet", "--rebase", "shopfloor", "main"]);
        assert!(matches!(take(), Taken::Forwarded { .. }));
    });
}
