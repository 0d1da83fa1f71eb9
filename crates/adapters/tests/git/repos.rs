use crate::floor::{Floor, branch, each, gits};
use shopfloor_adapters::git::{CheckoutProblem, GIT_MINIMUM, GitProject, OriginState, RegisterError, repos};
use shopfloor_engine::ports::Workspace;

#[test]
fn the_git_programs_are_new_enough() {
    each(|floor| assert!(floor.git.version().expect("version") >= GIT_MINIMUM));
}

#[test]
fn registering_again_changes_nothing_and_follows_the_user() {
    each(|floor| {
        let register =
            || repos::register(&floor.git, &floor.layout, &floor.project, false).expect("register");
        assert_eq!(register(), OriginState::Same);
        let url = floor.user(&["config", "--get-all", "remote.shopfloor.url"]);
        assert_eq!(url.trim_end(), floor.hub().to_str().expect("utf-8"));

        floor.write(&floor.project.checkout, "more", "x");
        floor.user(&["add", "-A"]);
        floor.user(&["commit", "--quiet", "-m", "more"]);
        assert_eq!(register(), OriginState::Pushed);
        let pushed = floor.head(&floor.project.checkout, "main");
        assert_eq!(floor.head(&floor.hub(), "main"), pushed);

        floor.user(&["reset", "--quiet", "--hard", "HEAD~1"]);
        assert_eq!(register(), OriginState::Ahead);

        floor.user(&["commit", "--quiet", "--allow-empty", "-m", "other"]);
        let checkout = floor.head(&floor.project.checkout, "main");
        assert_eq!(register(), OriginState::Diverged { origin: pushed.clone(), checkout });
        assert_eq!(floor.head(&floor.hub(), "main"), pushed);
    });
}

#[test]
fn heads_point_where_they_should() {
    each(|floor| {
        let head = |dir: &std::path::Path| floor.git_in(dir, &["symbolic-ref", "HEAD"]);
        assert_eq!(head(&floor.hub()).trim(), "refs/heads/main");
        assert_ne!(head(&floor.queue()).trim(), "refs/heads/main");
    });
}

#[test]
fn an_unusable_checkout_is_named_for_what_it_is() {
    for program in gits() {
        let floor = Floor::unregistered(&program);
        let problem = |project: &GitProject| match repos::validate(&floor.git, project) {
            Err(RegisterError::Checkout(problem)) => problem,
            other => panic!("not a checkout problem: {other:?}"),
        };
        let project = &floor.project;
        let at = project.checkout.clone();
        assert_eq!(problem(project), CheckoutProblem::NotARepository(at.clone()));
        let gone = GitProject { checkout: at.join("gone"), ..project.clone() };
        assert_eq!(problem(&gone), CheckoutProblem::NotARepository(at.join("gone")));

        floor.user(&["init", "--quiet", "--initial-branch=trunk", "."]);
        assert_eq!(problem(project), CheckoutProblem::NoCommits);
        let file = floor.write(&at, "file", "1");
        floor.user(&["add", "."]);
        floor.user(&["commit", "--quiet", "-m", "first"]);
        let available = vec!["trunk".to_owned()];
        assert_eq!(problem(project), CheckoutProblem::NoPrimaryBranch { wanted: "main".into(), available });
        assert_eq!(repos::guess_primary(&floor.git, &at).expect("guess"), "trunk");

        let project = GitProject { primary_branch: "trunk".into(), ..project.clone() };
        floor.write(&at, "untracked", "fine");
        repos::validate(&floor.git, &project).expect("untracked files are fine");
        std::fs::write(&file, "2").expect("write");
        assert_eq!(problem(&project), CheckoutProblem::Dirty { files: vec!["file".into()] });
        floor.user(&["checkout", "--quiet", "file"]);

        floor.user(&["clone", "--quiet", "--bare", ".", "../bare.git"]);
        let bare = floor.home.path().join("bare.git");
        let in_bare = GitProject { checkout: bare.clone(), ..project.clone() };
        assert_eq!(problem(&in_bare), CheckoutProblem::Bare(bare));

        let below = at.join("sub");
        std::fs::create_dir(&below).expect("folder");
        let top = repos::find_checkout(&floor.git, &below).expect("toplevel");
        assert_eq!(top, at.canonicalize().expect("real path"));
    }
}

#[test]
fn a_session_may_push_only_its_own_branch_and_only_forward() {
    each(|floor| {
        // A hooksPath in the user's global configuration must not switch the hook off.
        floor.user(&["config", "--global", "core.hooksPath", "/dev/null"]);
        floor.commit("Ada", 3, "a", "1", "one");
        let dir = floor.prepare(3);
        let own = branch(3);
        let push = |args: &[&str]| {
            let output = floor.git_in_session(&dir, &own, &[&["push", "--quiet"], args].concat());
            (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        assert_eq!(push(&["origin", "HEAD"]), (true, String::new()));
        let (pushed, said) = push(&["origin", "HEAD:main"]);
        assert!(!pushed && said.contains("only its own branch"), "{said}");
        let (pushed, said) = push(&["origin", "HEAD:fix/issue-4"]);
        assert!(!pushed && said.contains("only its own branch"), "{said}");
        floor.git_as("Ada", &dir, &["commit", "--quiet", "--amend", "-m", "changed"]);
        let (pushed, said) = push(&["--force", "origin", "HEAD"]);
        assert!(!pushed && said.contains("drop commits"), "{said}");
        let (pushed, said) = push(&["origin", ":fix/issue-3"]);
        assert!(!pushed && said.contains("may not delete"), "{said}");
        // A plain `git push` finds its way.
        let remote = format!("origin/{own}");
        floor.git_in(&dir, &["reset", "--quiet", "--hard", &remote]);
        floor.git_as("Ada", &dir, &["commit", "--quiet", "--allow-empty", "-m", "two"]);
        assert_eq!(push(&[]), (true, String::new()));
        let state = floor.workspace.branch_state(&floor.tree(3), &own).expect("state");
        assert_eq!((state.pushed.as_ref(), state.ahead), (Some(&state.head), 2));
    });
}

#[test]
fn the_checkout_is_fast_forwarded_only_when_nothing_is_in_the_way() {
    each(|floor| {
        let checkout = &floor.project.checkout;
        let sync = || floor.workspace.sync_checkout(&floor.project.name).expect("sync");
        let back = || floor.user(&["reset", "--quiet", "--hard", "HEAD~1"]);
        let new = floor.human_push("landed", "x");
        back();
        floor.write(checkout, "untracked", "mine");
        assert!(sync().0);
        assert_eq!(floor.head(checkout, "main"), new);
        assert!(sync().0, "once more is the same");

        back();
        floor.write(checkout, "readme", "edited");
        let (updated, note) = sync();
        assert!(!updated && note.contains("git pull --rebase shopfloor main"), "{note}");
        assert_eq!(std::fs::read(checkout.join("readme")).expect("read"), b"edited");
        floor.user(&["checkout", "--quiet", "readme"]);

        // An untracked and an ignored file where a merged one would go.
        let obstacle = floor.write(checkout, "landed", "precious");
        for ignore in ["", "landed\n"] {
            floor.write(checkout, ".git/info/exclude", ignore);
            assert!(!sync().0);
            assert_eq!(std::fs::read(&obstacle).expect("read"), b"precious");
        }
        std::fs::remove_file(&obstacle).expect("remove");

        floor.user(&["checkout", "--quiet", "-b", "topic"]);
        assert!(!sync().0);
        floor.user(&["checkout", "--quiet", "--detach"]);
        assert!(!sync().0);
        floor.user(&["checkout", "--quiet", "main"]);
        floor.user(&["commit", "--quiet", "--allow-empty", "-m", "own"]);
        let own = floor.head(checkout, "main");
        assert!(!sync().0);
        assert_eq!(floor.head(checkout, "main"), own);
        std::fs::rename(checkout, floor.home.path().join("moved")).expect("move");
        assert!(!sync().0);
    });
}
