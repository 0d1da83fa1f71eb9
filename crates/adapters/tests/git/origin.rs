//! What every origin has to do, told of the floor's hub and of a remote over HTTP; and what a server may do to a
//! push, which is the remote's alone to bear.

use crate::floor::{Floor, branch, gits};
use crate::http::{Fault, Server, decline};
use shopfloor_adapters::git::origin::{self, Elsewhere, Move, Origin, Push};
use shopfloor_adapters::git::repos::RegisterError;
use shopfloor_adapters::git::{GitError, GitProject, OriginState, Repo, repos};
use shopfloor_adapters::host::file_watch::FileWatcher;
use shopfloor_core::effect::Merged;
use shopfloor_core::ids::{PrNumber, Sha};
use shopfloor_core::policy::MergeMethod;
use shopfloor_engine::ports::{Final, Merger, PortError, Workspace};
use shopfloor_engine::proof::MergedProof;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::time::Duration;

/// An origin with `main` at the checkout's first commit.
struct Stage {
    floor: Floor,
    origin: Arc<dyn Origin>,
    /// The repository that the branches really are in.
    real: PathBuf,
    server: Option<Server>,
}

const MAIN: &str = "refs/heads/main";

fn hub(program: &Path) -> Stage {
    let floor = Floor::new(program);
    Stage { origin: floor.origin(), real: floor.hub(), floor, server: None }
}

fn remote(program: &Path) -> Stage {
    let (mut floor, server, real) = served(program);
    floor.project.origin = Some(format!("{}/it.git", server.url));
    floor.adapt(program);
    let state = repos::register(&floor.git, &floor.layout, &floor.project, false).expect("register");
    assert_eq!(state, OriginState::Pushed);
    Stage { origin: floor.origin(), real, floor, server: Some(server) }
}

/// A floor with no project yet, and an empty repository that a server has.
fn served(program: &Path) -> (Floor, Server, PathBuf) {
    let floor = Floor::unregistered(program);
    floor.begin("sha1");
    let root = floor.home.path().join("served");
    floor.git_in(floor.home.path(), &["init", "--quiet", "--bare", "served/it.git"]);
    let server = Server::start(program, &root);
    (floor, server, root.join("it.git"))
}

/// Tells the story of both kinds, with each git.
fn both(story: impl Fn(&Stage)) {
    for program in gits() {
        story(&hub(&program));
        story(&remote(&program));
    }
}

impl Stage {
    fn from(&self) -> Repo {
        self.floor.git.bare(&self.floor.project.checkout.join(".git"))
    }

    /// A commit on top of `on`, which only the checkout has.
    fn commit(&self, on: &Sha, message: &str) -> Sha {
        let tree = format!("{on}^{{tree}}");
        let made = self.floor.user(&["commit-tree", "-p", on.as_str(), "-m", message, &tree]);
        made.trim().parse().expect("a commit")
    }

    fn at(&self, name: &str) -> Option<Sha> {
        let found = self.floor.git_in(&self.real, &["for-each-ref", "--format=%(objectname)", name]);
        found.trim().parse().ok()
    }

    fn main(&self) -> Sha {
        self.at(MAIN).expect("main")
    }

    fn push(&self, moves: &[Move], standing: &[(String, Sha)]) -> Result<Result<(), Elsewhere>, PortError> {
        self.push_through(&self.origin, moves, standing)
    }

    fn push_through(
        &self,
        origin: &Arc<dyn Origin>,
        moves: &[Move],
        standing: &[(String, Sha)],
    ) -> Result<Result<(), Elsewhere>, PortError> {
        origin.push(&Push { from: &self.from(), moves, standing, forward: false, why: "a test" })
    }

    fn next(&self, fault: Fault) {
        self.server.as_ref().expect("a server").next(fault, "");
    }
}

fn to(name: &str, old: Option<&Sha>, new: Option<&Sha>) -> Move {
    Move { name: name.to_owned(), old: old.cloned(), new: new.cloned() }
}

fn is_weather<T: std::fmt::Debug>(result: Result<T, PortError>) -> String {
    match result {
        Err(PortError::Transient(why)) => why,
        other => panic!("not weather: {other:?}"),
    }
}

fn cause<T: std::fmt::Debug>(result: Result<T, PortError>) -> Final {
    match result {
        Err(PortError::Permanent { cause, .. }) => cause,
        other => panic!("not final: {other:?}"),
    }
}

#[test]
fn it_says_where_its_refs_are() {
    both(|stage| {
        let (origin, main) = (&stage.origin, stage.main());
        let asked = origin.refs(&[MAIN, "refs/heads/none", "main"]).expect("refs");
        assert_eq!(asked, [Some(main.clone()), None, None]);
        let next = stage.commit(&main, "by somebody else");
        let spec = format!("{next}:refs/heads/theirs");
        stage.floor.user(&["push", "--quiet", "--", stage.origin.url().to_str().expect("url"), &spec]);
        origin.look().expect("look");
        assert_eq!(origin.branch("theirs"), Some(next.clone()));
        assert_eq!(origin.branches().into_keys().collect::<Vec<_>>(), [MAIN, "refs/heads/theirs"]);
        // Its commits are at hand.
        stage.floor.git_in(origin.near().path(), &["cat-file", "-e", next.as_str()]);
        stage.floor.git_in(&stage.real, &["update-ref", "-d", "refs/heads/theirs"]);
        origin.look().expect("look");
        assert_eq!(origin.branch("theirs"), None);
    });
}

#[test]
fn a_ref_moves_only_from_where_it_was_expected() {
    both(|stage| {
        let main = stage.main();
        let (one, two) = (stage.commit(&main, "one"), stage.commit(&main, "two"));
        let first = [to(MAIN, Some(&main), Some(&one))];
        assert_eq!(stage.push(&first, &[]).expect("push"), Ok(()));
        assert_eq!((stage.main(), stage.origin.branch("main")), (one.clone(), Some(one.clone())));
        // Once more, since its answer was lost.
        assert_eq!(stage.push(&first, &[]).expect("push"), Ok(()));
        let late = stage.push(&[to(MAIN, Some(&main), Some(&two))], &[]).expect("push");
        assert_eq!(late.expect_err("somebody was first").moves, [Some(one.clone())]);
        let absent = stage.push(&[to(MAIN, None, Some(&two))], &[]).expect("push");
        assert_eq!(absent.expect_err("it is there").moves, [Some(one.clone())]);
        let gone = stage.push(&[to("refs/heads/none", Some(&main), Some(&two))], &[]).expect("push");
        assert_eq!(gone.expect_err("it is not there").moves, [None]);
        assert_eq!(stage.main(), one);
    });
}

#[test]
fn forward_is_asked_for_and_kept_to() {
    both(|stage| {
        let main = stage.main();
        let (one, two) = (stage.commit(&main, "one"), stage.commit(&main, "two"));
        let put = |sha: &Sha, forward| stage.origin.put(&stage.from(), "refs/heads/a", sha, forward);
        assert_eq!(put(&one, true).expect("made"), Ok(()));
        assert_eq!(cause(put(&two, true)), Final::Rejected);
        assert_eq!(stage.at("refs/heads/a"), Some(one));
        assert_eq!(put(&two, false).expect("put"), Ok(()));
        assert_eq!(stage.at("refs/heads/a"), Some(two));
    });
}

#[test]
fn several_move_together_or_not_at_all() {
    both(|stage| {
        let main = stage.main();
        let (one, two) = (stage.commit(&main, "one"), stage.commit(&main, "two"));
        let a = to("refs/heads/a", None, Some(&one));
        let b = to("refs/heads/b", None, Some(&two));
        let stale = to(MAIN, Some(&one), Some(&two));
        let refused = stage.push(&[a.clone(), stale, b.clone()], &[]).expect("push");
        assert_eq!(refused.expect_err("one is elsewhere").moves, [None, Some(main.clone()), None]);
        assert_eq!((stage.at("refs/heads/a"), stage.at("refs/heads/b")), (None, None));
        assert_eq!(stage.push(&[a, b], &[]).expect("push"), Ok(()));
        assert_eq!(
            (stage.at("refs/heads/a"), stage.at("refs/heads/b")),
            (Some(one.clone()), Some(two.clone()))
        );
        // What has to stand still is not moved, and what moved keeps the others.
        let next = stage.commit(&main, "next");
        let stands = |at: &Sha| [("refs/heads/a".to_owned(), at.clone())];
        let forward = [to(MAIN, Some(&main), Some(&next))];
        let refused = stage.push(&forward, &stands(&two)).expect("push").expect_err("a is elsewhere");
        assert_eq!((refused.moves, refused.standing), (vec![Some(main.clone())], vec![Some(one.clone())]));
        assert_eq!(stage.main(), main);
        assert_eq!(stage.push(&forward, &stands(&one)).expect("push"), Ok(()));
        assert_eq!((stage.main(), stage.at("refs/heads/a")), (next, Some(one)));
    });
}

#[test]
fn of_many_at_once_one_wins() {
    both(|stage| {
        let main = stage.main();
        let commits: Vec<Sha> = (0..6).map(|n| stage.commit(&main, &format!("by {n}"))).collect();
        let start = Barrier::new(commits.len());
        let won: Vec<&Sha> = std::thread::scope(|scope| {
            let (start, main) = (&start, &main);
            let runners = commits.iter().map(|new| {
                scope.spawn(move || {
                    start.wait();
                    // Who meets the other's lock is told that it may pass.
                    loop {
                        match stage.push(&[to(MAIN, Some(main), Some(new))], &[]) {
                            Ok(result) => return result.is_ok().then_some(new),
                            Err(PortError::Transient(_)) => {}
                            Err(e) => panic!("{e}"),
                        }
                    }
                })
            });
            let runners: Vec<_> = runners.collect();
            runners.into_iter().filter_map(|runner| runner.join().expect("runner")).collect()
        });
        assert_eq!(won, [&stage.main()]);
    });
}

#[test]
fn what_is_deleted_was_where_it_was_expected() {
    both(|stage| {
        let main = stage.main();
        let one = stage.commit(&main, "one");
        assert_eq!(stage.origin.create(&stage.from(), "refs/heads/a", &one).expect("made"), Ok(()));
        assert!(stage.origin.create(&stage.from(), "refs/heads/a", &main).expect("asked").is_err());
        let kept = stage.origin.delete("refs/heads/a", &main).expect("asked");
        assert_eq!(kept.expect_err("it is elsewhere").moves, [Some(one.clone())]);
        assert_eq!(stage.origin.delete("refs/heads/a", &one).expect("asked"), Ok(()));
        assert_eq!((stage.at("refs/heads/a"), stage.origin.branch("a")), (None, None));
        // Once more, since its answer was lost.
        assert_eq!(stage.origin.delete("refs/heads/a", &one).expect("asked"), Ok(()));
    });
}

#[test]
fn what_is_pinned_stays() {
    both(|stage| {
        let (origin, main) = (&stage.origin, stage.main());
        let (one, two) = (stage.commit(&main, "one"), stage.commit(&main, "two"));
        assert_eq!(cause(origin.pin("refs/pull/1/head", &one)), Final::Missing);
        assert_eq!(origin.put(&stage.from(), "refs/heads/a", &one, true).expect("put"), Ok(()));
        assert_eq!(origin.put(&stage.from(), "refs/heads/b", &two, true).expect("put"), Ok(()));
        origin.pin("refs/pull/1/head", &one).expect("pin");
        origin.pin("refs/pull/1/head", &one).expect("again");
        origin.pin(&format!("refs/shopfloor/merged/{one}"), &one).expect("pin");
        assert_eq!(stage.at("refs/pull/1/head"), Some(one.clone()));
        assert_eq!(origin.delete("refs/heads/a", &one).expect("delete"), Ok(()));
        origin.look().expect("look");
        assert_eq!(origin.seen("refs/pull/1/head"), Some(one));
        origin.pin("refs/pull/1/head", &two).expect("moved");
        assert_eq!(
            (stage.at("refs/pull/1/head"), origin.seen("refs/pull/1/head")),
            (Some(two.clone()), Some(two))
        );
    });
}

#[test]
fn what_a_hook_declines_is_final_and_nothing_moved() {
    both(|stage| {
        let main = stage.main();
        let one = stage.commit(&main, "one");
        decline(&stage.real);
        assert_eq!(cause(stage.push(&[to(MAIN, Some(&main), Some(&one))], &[])), Final::Refused);
        assert_eq!(stage.main(), main);
    });
}

#[test]
fn whoever_waits_for_a_branch_is_woken() {
    both(|stage| {
        let (tell, told) = channel();
        let watcher = FileWatcher::spawn(move |key| tell.send(key).expect("told")).expect("watcher");
        for (key, file) in (0..).zip(stage.origin.signs("main")) {
            watcher.watch(key, file).expect("watched");
        }
        // Arming tells once of each.
        let mut armed = [told.recv().expect("armed"), told.recv().expect("armed")];
        armed.sort_unstable();
        assert_eq!(armed, [0, 1]);
        let next = stage.commit(&stage.main(), "by somebody else");
        let spec = format!("{next}:{MAIN}");
        stage.floor.user(&["push", "--quiet", "--", stage.origin.url().to_str().expect("url"), &spec]);
        if !stage.origin.tells() {
            stage.origin.look().expect("look");
        }
        while stage.origin.branch("main") != Some(next.clone()) {
            told.recv().expect("told");
        }
    });
}

/// Tells the story of the remote, with each git.
fn remotes(story: impl Fn(&Stage)) {
    for program in gits() {
        story(&remote(&program));
    }
}

#[test]
fn a_server_that_dies_in_mid_push_is_weather_and_asked_again() {
    remotes(|stage| {
        let main = stage.main();
        let one = stage.commit(&main, "one");
        let moves = [to(MAIN, Some(&main), Some(&one))];
        stage.next(Fault::Dies);
        is_weather(stage.push(&moves, &[]));
        assert_eq!(stage.main(), main);
        assert_eq!(stage.push(&moves, &[]).expect("push"), Ok(()));
        assert_eq!(stage.main(), one);
    });
}

#[test]
fn a_lost_answer_is_found_out() {
    remotes(|stage| {
        let main = stage.main();
        let one = stage.commit(&main, "one");
        stage.next(Fault::DiesAfter);
        assert_eq!(stage.push(&[to(MAIN, Some(&main), Some(&one))], &[]).expect("push"), Ok(()));
        assert_eq!((stage.main(), stage.origin.branch("main")), (one.clone(), Some(one.clone())));
        let two = stage.commit(&one, "two");
        stage.next(Fault::LiesThatItDidNot);
        assert_eq!(stage.push(&[to(MAIN, Some(&one), Some(&two))], &[]).expect("push"), Ok(()));
        assert_eq!(stage.main(), two);
    });
}

#[test]
fn a_server_that_says_it_did_is_not_believed() {
    remotes(|stage| {
        let main = stage.main();
        let one = stage.commit(&main, "one");
        let moves = [to(MAIN, Some(&main), Some(&one)), to("refs/heads/a", None, Some(&one))];
        stage.next(Fault::LiesThatItDid);
        let why = is_weather(stage.push(&moves, &[]));
        assert!(why.contains("said that it took"), "{why}");
        assert_eq!((stage.main(), stage.origin.branch("main")), (main.clone(), Some(main)));
        assert_eq!(stage.push(&moves, &[]).expect("push"), Ok(()));
    });
}

/// What the server thinks of who asks is no fault of what is pushed. And nobody is asked for a password.
#[test]
fn a_server_that_does_not_let_us_in_is_weather() {
    remotes(|stage| {
        let main = stage.main();
        let one = stage.commit(&main, "one");
        let moves = [to(MAIN, Some(&main), Some(&one))];
        for (fault, sign) in [(Fault::Forbidden, "403"), (Fault::Asks, "terminal prompts disabled")] {
            stage.next(fault);
            let why = is_weather(stage.push(&moves, &[]));
            assert!(why.contains(sign), "{why}");
            assert_eq!(stage.main(), main);
        }
    });
}

#[test]
fn a_late_answer_is_not_waited_for_and_what_it_did_is_found() {
    remotes(|stage| {
        let main = stage.main();
        let one = stage.commit(&main, "one");
        let moves = [to(MAIN, Some(&main), Some(&one))];
        let url = stage.origin.url().to_str().expect("url");
        let hurried =
            origin::remote(&stage.floor.git, stage.origin.near().path(), url, Duration::from_secs(1));
        let ((came, _), (speak, word), (done, finished)) = (channel(), channel(), channel());
        stage.next(Fault::Late { came, word, done });
        is_weather(stage.push_through(&hurried, &moves, &[]));
        assert_eq!(stage.main(), main);
        speak.send(()).expect("a server that waits");
        finished.recv().expect("done in the end");
        assert_eq!(stage.push(&moves, &[]).expect("push"), Ok(()));
        assert_eq!(stage.main(), one);
    });
}

/// An issue's way through the ports, with all branches at a remote.
#[test]
fn work_is_published_and_lands_at_a_remote() {
    remotes(|stage| {
        let floor = &stage.floor;
        let head = floor.commit("Ada", 1, "new", "1\n", "A change");
        stage.next(Fault::DiesAfter);
        assert_eq!(floor.push(1), head);
        assert_eq!(stage.at("refs/heads/fix/issue-1"), Some(head.clone()));
        floor.workspace.pin_pr(&floor.project.name, PrNumber(7), &head).expect("pin");
        let (old, new) = floor.candidate(1, &head, MergeMethod::Squash);
        assert_eq!(old, stage.main());
        stage.next(Fault::Dies);
        is_weather(floor.publish(&old, &new));
        stage.next(Fault::LiesThatItDid);
        is_weather(floor.publish(&old, &new));
        stage.next(Fault::LiesThatItDidNot);
        floor.publish(&old, &new).expect("published").expect("in time");
        assert_eq!(stage.main(), new);
        assert!(floor.workspace.is_merged(&floor.project.name, None, &new).expect("asked"));
        assert_eq!(
            floor.merger.primary(&floor.project.name, None, Some(&old)).expect("asked").expect("there").head,
            new
        );
        let (moved, told) = floor.workspace.sync_checkout(&floor.project.name).expect("synced");
        assert!(moved, "{told}");
        let merged = Merged { head, commit: new, pr: Some(PrNumber(7)), target: None };
        let proof = MergedProof::obtain(&floor.workspace, &floor.project.name, &merged).expect("merged");
        floor.workspace.delete_branch(&branch(1), proof).expect("deleted");
        assert_eq!(stage.at("refs/heads/fix/issue-1"), None);
        floor.user(&["commit", "--quiet", "--allow-empty", "-m", "by hand"]);
        floor.workspace.take_checkout(&floor.project.name).expect("taken");
        assert_eq!(stage.main(), floor.head(&floor.project.checkout, "main"));
    });
}

#[test]
fn where_a_project_lives_is_settled_once() {
    remotes(|stage| {
        let elsewhere =
            GitProject { origin: Some("https://example.org/x.git".into()), ..stage.floor.project.clone() };
        let refused = repos::register(&stage.floor.git, &stage.floor.layout, &elsewhere, false);
        assert!(refused.expect_err("it lives there").to_string().contains("live in http://127.0.0.1"));
        for bad in ["ext::sh -c id", "-x", "/tmp/x", "https://-x/y", "https://a b", "file:///x", "a@b:c"] {
            assert!(origin::checked_url(bad).is_err(), "{bad}");
        }
        for good in ["https://example.org/a.git", "ssh://git@example.org:2222/a", "http://127.0.0.1:80/a"] {
            assert!(origin::checked_url(good).is_ok(), "{good}");
        }
    });
}

#[test]
fn an_origin_that_nobody_ever_reached_is_not_settled_on() {
    for program in gits() {
        let (floor, server, _real) = served(&program);
        let at = |path: &str| GitProject {
            origin: (!path.is_empty()).then(|| format!("{}/{path}", server.url)),
            ..floor.project.clone()
        };
        let register = |path| repos::register(&floor.git, &floor.layout, &at(path), false);
        for _ in 0..2 {
            let failed = register("mistyped.git").expect_err("there is no such repository").to_string();
            assert!(!failed.contains("a setting does not change"), "{failed}");
        }
        assert_eq!(origin::settled(&floor.layout, &floor.project.name), None);
        assert_eq!(floor.user(&["remote"]).trim(), "", "the checkout knows nothing of it");
        assert_eq!(register("it.git").expect("corrected"), OriginState::Pushed);
        assert_eq!(register("it.git").expect("again"), OriginState::Same);
        assert!(matches!(register("mistyped.git"), Err(RegisterError::Git(GitError::Settled(_)))));
    }
}

#[test]
fn after_an_origin_that_nobody_reached_the_floor_may_keep_the_branches() {
    for program in gits() {
        let (floor, server, _real) = served(&program);
        let far =
            GitProject { origin: Some(format!("{}/mistyped.git", server.url)), ..floor.project.clone() };
        repos::register(&floor.git, &floor.layout, &far, false).expect_err("there is no such repository");
        let state = repos::register(&floor.git, &floor.layout, &floor.project, false).expect("at home");
        assert_eq!(state, OriginState::Pushed);
        assert_eq!(floor.head(&floor.hub(), "main"), floor.head(&floor.project.checkout, "main"));
    }
}
