//! A floor with one project in a temporary folder, and a hand to play the user and the agents.

use shopfloor_adapters::git::origin::{self, Origin};
use shopfloor_adapters::git::{Caps, Git, GitMerger, GitProject, GitWorkspace, OriginState, Projects, repos};
use shopfloor_adapters::jail::{Isolation, Level, Wanted};
use shopfloor_adapters::layout::Layout;
use shopfloor_core::effect::{ChainEntry, Tidy};
use shopfloor_core::ids::{Assignment, EntryId, IssueNumber, PrNumber, ProjectName, Role, Sha, branch_for};
use shopfloor_core::planner::TrialId;
use shopfloor_core::policy::MergeMethod;
use shopfloor_core::redact::Redactor;
use shopfloor_core::step::tidy_order;
use shopfloor_core::time::Time;
use shopfloor_engine::ports::{
    BuildRequest, Built, Merger, NotPublished, PortResult, PublishRequest, Tree, Workspace,
};
use shopfloor_engine::proof::QueueLock;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use tempfile::TempDir;

pub struct Floor {
    pub program: PathBuf,
    pub git: Git,
    pub home: TempDir,
    pub layout: Layout,
    pub project: GitProject,
    pub workspace: GitWorkspace,
    pub merger: GitMerger,
}

/// The git programs on PATH, one of each version.
pub fn gits() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").expect("PATH");
    let mut versions = BTreeSet::new();
    let all = std::env::split_paths(&path).map(|dir| dir.join("git")).filter(|program| program.is_file());
    let fresh = all.filter(|program| {
        let output = Command::new(program).arg("version").output().expect("git version");
        versions.insert(output.stdout)
    });
    let gits: Vec<PathBuf> = fresh.collect();
    assert!(!gits.is_empty(), "git is on PATH");
    gits
}

/// Tells the story once with each git.
pub fn each(story: impl Fn(&Floor)) {
    for program in gits() {
        story(&Floor::new(&program));
    }
}

/// The same, of a floor that is configured first.
pub fn each_mut(story: impl Fn(&mut Floor)) {
    for program in gits() {
        story(&mut Floor::new(&program));
    }
}

impl Floor {
    pub fn new(program: &Path) -> Floor {
        Floor::with_objects(program, "sha1")
    }

    pub fn with_objects(program: &Path, format: &str) -> Floor {
        let floor = Floor::unregistered(program);
        floor.begin(format);
        let state = repos::register(&floor.git, &floor.layout, &floor.project, false).expect("register");
        assert_eq!(state, OriginState::Pushed);
        floor
    }

    /// The checkout's first commit.
    pub fn begin(&self, format: &str) {
        let format = format!("--object-format={format}");
        self.user(&["init", "--quiet", "--initial-branch=main", &format, "."]);
        self.write(&self.project.checkout, "readme", "one\ntwo\nthree\n");
        self.user(&["add", "."]);
        self.user(&["commit", "--quiet", "-m", "first"]);
    }

    /// Puts a script before the git that the adapters run; `$real` in it is git itself.
    pub fn intercept(&mut self, script: &str) {
        let path = self.home.path().join("intercepting git");
        let real = self.program.display();
        std::fs::write(&path, format!("#!/bin/sh\nreal='{real}'\n{script}\nexec \"$real\" \"$@\"\n"))
            .expect("script");
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("mode");
        self.adapt(&path);
    }

    /// From now on snapshots go to origin as well.
    pub fn push_rescues(&mut self) {
        self.project.push_rescues = true;
        self.adapt(&self.program.clone());
    }

    /// From now on snapshots take in no more than that.
    pub fn cap(&mut self, caps: Caps) {
        self.project.caps = caps;
        self.adapt(&self.program.clone());
    }

    /// From now on gits that work in trees are jailed.
    pub fn jail(&mut self) {
        let git = jailed(self.git.clone(), self.home.path());
        self.adapt_to(git);
    }

    /// Makes the adapters anew, on that git program.
    pub fn adapt(&mut self, program: &Path) {
        self.adapt_to(git(program, self.home.path()));
    }

    fn adapt_to(&mut self, git: Git) {
        self.git = git;
        let known = self.project.clone();
        let projects: Projects = Arc::new(move |wanted| (*wanted == known.name).then(|| known.clone()));
        self.workspace = GitWorkspace::new(self.git.clone(), self.layout.clone(), projects.clone());
        self.merger = GitMerger::new(self.git.clone(), self.layout.clone(), projects);
    }

    /// Workspace of a floor that another process has made, in its home.
    pub fn workspace_in(program: &Path, home: &Path) -> GitWorkspace {
        let name: ProjectName = "demo".parse().expect("name");
        let checkout = home.join("-my checkout");
        let known = GitProject {
            name: name.clone(),
            primary_branch: "main".into(),
            checkout,
            push_rescues: false,
            caps: Caps::default(),
            secrets: Redactor::default(),
            signing: None,
            targets: Vec::new(),
            origin: None,
        };
        let projects: Projects = Arc::new(move |wanted| (*wanted == name).then(|| known.clone()));
        GitWorkspace::new(git(program, home), Layout::new(home.join("a floor")), projects)
    }

    /// The checkout is an empty folder.
    pub fn unregistered(program: &Path) -> Floor {
        let home = tempfile::tempdir().expect("tempdir");
        let git = git(program, home.path());
        // Reached through a link, as a home folder may be.
        std::fs::create_dir(home.path().join("real floor")).expect("floor");
        std::os::unix::fs::symlink("real floor", home.path().join("a floor")).expect("link");
        let layout = Layout::new(home.path().join("a floor"));
        let name: ProjectName = "demo".parse().expect("name");
        let checkout = home.path().join("-my checkout");
        std::fs::create_dir(&checkout).expect("checkout");
        let project = GitProject {
            name: name.clone(),
            primary_branch: "main".into(),
            checkout,
            push_rescues: false,
            caps: Caps::default(),
            secrets: Redactor::default(),
            signing: None,
            targets: Vec::new(),
            origin: None,
        };
        let known = project.clone();
        let projects: Projects = Arc::new(move |wanted| (*wanted == name).then(|| known.clone()));
        let workspace = GitWorkspace::new(git.clone(), layout.clone(), projects.clone());
        let merger = GitMerger::new(git.clone(), layout.clone(), projects);
        Floor { program: program.to_owned(), git, home, layout, project, workspace, merger }
    }

    pub fn origin(&self) -> Arc<dyn Origin> {
        origin::of(&self.git, &self.layout, &self.project.name)
    }

    fn command(&self, dir: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().env("PATH", std::env::var_os("PATH").expect("PATH"));
        command.env("HOME", self.home.path()).env("GIT_CONFIG_NOSYSTEM", "1");
        command.args(args).current_dir(dir);
        command
    }

    /// Runs git as nobody in particular; it must work.
    pub fn git_in(&self, dir: &Path, args: &[&str]) -> String {
        text(self.command(dir, args).output().expect("git"), args)
    }

    /// Runs git as an author.
    pub fn git_as(&self, who: &str, dir: &Path, args: &[&str]) -> String {
        let mut command = self.command(dir, args);
        for role in ["AUTHOR", "COMMITTER"] {
            command
                .env(format!("GIT_{role}_NAME"), who)
                .env(format!("GIT_{role}_EMAIL"), format!("{who}@example.org"));
        }
        text(command.output().expect("git"), args)
    }

    /// Runs git as a session's agent would.
    pub fn git_in_session(&self, dir: &Path, branch: &str, args: &[&str]) -> Output {
        let mut command = self.command(dir, args);
        command.env("SHOPFLOOR_SESSION", "7").env("SHOPFLOOR_BRANCH", branch);
        command.output().expect("git")
    }

    pub fn user(&self, args: &[&str]) -> String {
        self.git_as("Uma", &self.project.checkout, args)
    }

    pub fn write(&self, dir: &Path, name: impl AsRef<OsStr>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = dir.join(name.as_ref());
        std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
        std::fs::write(&path, content).expect("write");
        path
    }

    pub fn tree(&self, issue: u64) -> Tree {
        Tree::of_job(&self.project.name, Role::DEV, Assignment::Issue(IssueNumber(issue)))
    }

    pub fn review_tree(&self, issue: u64) -> Tree {
        Tree::of_job(&self.project.name, Role::REVIEW, Assignment::Issue(IssueNumber(issue)))
    }

    pub fn prepare(&self, issue: u64) -> PathBuf {
        let tree = self.tree(issue);
        PathBuf::from(self.workspace.prepare(&tree, &branch(issue), None).expect("prepare").path)
    }

    pub fn push(&self, issue: u64) -> Sha {
        self.workspace.push(&self.tree(issue), &branch(issue)).expect("push")
    }

    /// An agent's commit of one file in the issue's worktree.
    pub fn commit(&self, who: &str, issue: u64, name: &str, content: &str, message: &str) -> Sha {
        let dir = self.prepare(issue);
        self.write(&dir, name, content);
        self.git_as(who, &dir, &["add", "-A"]);
        self.git_as(who, &dir, &["commit", "--quiet", "-m", message]);
        self.head(&dir, "HEAD")
    }

    /// A human's commit, straight to the hub's primary branch.
    pub fn human_push(&self, name: &str, content: &str) -> Sha {
        self.write(&self.project.checkout, name, content);
        self.user(&["add", "-A"]);
        self.user(&["commit", "--quiet", "-m", &format!("change {name}")]);
        self.user(&["push", "--quiet", "shopfloor", "main"]);
        self.head(&self.project.checkout, "HEAD")
    }

    /// The same, on top of what the hub has now.
    pub fn human_push_from_hub(&self, name: &str, content: &str) -> Sha {
        self.user(&["pull", "--quiet", "--ff-only", "shopfloor", "main"]);
        self.human_push(name, content)
    }

    /// An order to tidy this project, which allows nothing to go.
    pub fn tidy(&self, idle: bool) -> Tidy {
        Tidy { idle, ..tidy_order(&Default::default(), &self.project.name, Time(0)) }
    }

    pub fn head(&self, dir: &Path, name: &str) -> Sha {
        self.git_in(dir, &["rev-parse", "--verify", name]).trim().parse().expect("sha")
    }

    pub fn hub(&self) -> PathBuf {
        self.layout.hub(&self.project.name)
    }

    pub fn queue(&self) -> PathBuf {
        self.layout.queue_repo(&self.project.name)
    }

    /// The repository of an issue's own tree.
    pub fn repository(&self, issue: u64) -> PathBuf {
        self.layout.repository(&self.tree(issue))
    }

    /// Keeps what trees held.
    pub fn clone_repo(&self) -> PathBuf {
        self.layout.clone_repo(&self.project.name)
    }

    pub fn lock(&self) -> QueueLock {
        QueueLock::acquire(&self.merger, &self.project.name).expect("queue lock")
    }

    pub fn entry(&self, issue: u64, head: &Sha) -> ChainEntry {
        ChainEntry {
            entry: EntryId(issue),
            pr: Some(PrNumber(issue)),
            branch: branch(issue),
            head: head.clone(),
            method: None,
            message: None,
            title: "-m Add it\n\x1b[31mnow".into(),
        }
    }

    /// Puts the entries on top of that commit.
    pub fn chain(&self, base: &Sha, list: &[ChainEntry], method: MergeMethod) -> PortResult<Built> {
        self.chain_without(base, list, method, &[])
    }

    /// The same after those commits were taken off the primary branch.
    pub fn chain_without(
        &self,
        base: &Sha,
        list: &[ChainEntry],
        method: MergeMethod,
        removed: &[Sha],
    ) -> PortResult<Built> {
        let request = BuildRequest {
            landed: &[],
            target: None,
            project: &self.project.name,
            trial: TrialId(list[0].entry.0),
            base,
            method,
            list,
            removed,
            each_commit: true,
        };
        self.merger.build(&self.lock(), &request)
    }

    /// Puts one entry on top of the primary branch.
    pub fn build(&self, issue: u64, head: &Sha, method: MergeMethod) -> PortResult<Built> {
        let base = self.merger.primary(&self.project.name, None, None)?.expect("a primary branch").head;
        self.chain(&base, &[self.entry(issue, head)], method)
    }

    /// The primary branch, and the commit on top of it; the same if there is nothing to merge.
    pub fn candidate(&self, issue: u64, head: &Sha, method: MergeMethod) -> (Sha, Sha) {
        commit_of(self.build(issue, head, method).expect("build"))
    }

    pub fn publish(&self, old: &Sha, new: &Sha) -> PortResult<Result<(), NotPublished>> {
        let request =
            PublishRequest { target: None, old, new, tested: new, entries: &[EntryId(1)], branches: &[] };
        self.merger.publish(&self.lock(), &request)
    }
}

pub fn commit_of(built: Built) -> (Sha, Sha) {
    match built {
        Built::Chain { primary, moved, mut links } if moved.is_empty() => {
            (primary, links.pop().expect("a link").link.commit)
        }
        other => panic!("not a chain: {other:?}"),
    }
}

fn git(program: &Path, home: &Path) -> Git {
    let environment = [
        ("PATH", std::env::var_os("PATH").expect("PATH")),
        ("HOME", home.as_os_str().to_owned()),
        // Must not get through to git.
        ("GIT_DIR", OsString::from("/nonexistent")),
    ];
    let git = Git::new(program, environment.map(|(name, value)| (OsString::from(name), value)));
    if std::env::var_os("SHOPFLOOR_TEST_ISOLATION").is_some() { jailed(git, home) } else { git }
}

fn jailed(git: Git, home: &Path) -> Git {
    let wanted = Wanted {
        level: Level::Sandbox,
        home: home.to_owned(),
        path: std::env::var_os("PATH").expect("PATH"),
        ..Wanted::default()
    };
    let isolation = Isolation::find(wanted).expect("a jail can be built");
    git.in_jails(Arc::new(isolation), Layout::new(home.join("a floor")))
}

pub fn branch(issue: u64) -> String {
    branch_for(IssueNumber(issue))
}

fn text(output: Output, args: &[&str]) -> String {
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "git {args:?}: {stdout}{stderr}");
    stdout.into_owned()
}
