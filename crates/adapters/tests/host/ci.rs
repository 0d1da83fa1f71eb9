use super::support::{Fifo, path_variable};
use shopfloor_adapters::ci::local::{CiConfig, CiProgress, CiStep, LocalCi};
use shopfloor_adapters::ci::own::OwnSteps;
use shopfloor_adapters::host::process::{Liveness, identify, is_same};
use shopfloor_adapters::layout::Layout;
use shopfloor_core::ci::SkipPaths;
use shopfloor_core::effect::{CiAbout, CiPurpose, CiReport, CiVerdict, CommitSource};
use shopfloor_core::ids::{IssueNumber, ProjectName, RunId, Sha};
use shopfloor_core::redact::Redactor;
use shopfloor_engine::ports::{Ci, CiRequest, PortError};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A commit's own steps are the lines of its file `steps`.
fn own() -> OwnSteps {
    let read = |text: &str| match text.contains("nonsense") {
        true => Err("it is nonsense".to_owned()),
        false => Ok(text
            .lines()
            .map(|run| CiStep { name: run.into(), run: run.into(), timeout: MINUTE })
            .collect()),
    };
    OwnSteps { file: "steps".into(), read: Arc::new(read) }
}

const MINUTE: Duration = Duration::from_secs(60);

/// A floor with one project of one commit, in its hub.
pub struct Floor {
    pub folder: tempfile::TempDir,
    pub layout: Layout,
    pub project: ProjectName,
    pub commit: Sha,
    pub progress: Arc<Mutex<Vec<String>>>,
    pub about: CiAbout,
}

pub fn git(folder: &Path, args: &[&str]) -> String {
    let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"];
    let output =
        Command::new("git").arg("-C").arg(folder).args(identity).args(args).output().expect("git runs");
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

impl Floor {
    pub fn new() -> Floor {
        let folder = tempfile::tempdir().expect("a folder");
        let layout = Layout::new(folder.path().join("floor"));
        let project: ProjectName = "app".parse().expect("a name");
        let source = folder.path().join("source");
        fs::create_dir_all(&source).expect("made");
        git(&source, &["init", "--quiet"]);
        fs::write(source.join("file"), "content\n").expect("written");
        git(&source, &["add", "."]);
        git(&source, &["commit", "--quiet", "-m", "first"]);
        let commit = git(&source, &["rev-parse", "HEAD"]).parse().expect("a commit");
        let hub = layout.hub(&project);
        fs::create_dir_all(hub.parent().expect("a parent")).expect("made");
        git(&source, &["clone", "--quiet", "--bare", ".", hub.to_str().expect("text")]);
        Floor { folder, layout, project, commit, progress: Arc::default(), about: CiAbout::default() }
    }

    pub fn ci(&self, steps: &[(&str, &str, Duration)]) -> LocalCi {
        let step = |&(name, run, timeout): &(&str, &str, Duration)| CiStep {
            name: name.to_owned(),
            run: run.to_owned(),
            timeout,
        };
        let config = CiConfig {
            steps: steps.iter().map(step).collect(),
            env: vec![("PATH".into(), path_variable()), ("OUT".into(), self.folder.path().into())],
            timeout: Duration::from_secs(600),
            log_bytes_max: 64 * 1024,
            redactor: Redactor::new(["hunter22".to_owned()]),
            infra: vec!["the lab is closed".to_owned()],
            skip: SkipPaths::new(&["docs/**".to_owned(), "*.md".to_owned()]).expect("patterns"),
            primary_branch: "main".to_owned(),
            own: Some(own()),
            isolation: Arc::default(),
            network: shopfloor_adapters::jail::Network::All,
        };
        let progress = Arc::clone(&self.progress);
        let observer = move |event: &CiProgress| {
            progress.lock().expect("no panic").push(match event {
                CiProgress::Started { .. } => "started".to_owned(),
                CiProgress::StepEnded { step, exit, .. } => format!("{step} {exit:?}"),
                CiProgress::Finished { report, .. } => format!("{:?}", report.verdict),
            });
        };
        let project = self.project.clone();
        let configs = move |name: &ProjectName| (*name == project).then(|| config.clone());
        LocalCi::new(self.layout.clone(), Arc::new(configs), Some(Arc::new(observer)))
    }

    pub fn request(&self) -> CiRequest<'_> {
        CiRequest {
            project: &self.project,
            issue: Some(IssueNumber(1)),
            run: RunId(1),
            commit: &self.commit,
            source: CommitSource::Hub,
            purpose: CiPurpose::Head,
            about: &self.about,
        }
    }

    pub fn check(&self, steps: &[(&str, &str, Duration)]) -> CiReport {
        self.ci(steps).run(&self.request()).expect("a report")
    }

    pub fn run_folder(&self) -> PathBuf {
        self.layout.ci_run(&self.project, RunId(1))
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.run_folder().join("log")).expect("a log")
    }

    fn left(&self) -> Vec<String> {
        let entries = fs::read_dir(self.run_folder()).expect("listed");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text")).collect();
        names.sort();
        names
    }
}

#[test]
fn green_is_every_step_on_a_clean_checkout_in_a_clean_environment() {
    let floor = Floor::new();
    let report = floor.check(&[
        ("tree", "git status --porcelain; git rev-parse HEAD; cat file; mkdir -p ro/x; chmod 500 ro", MINUTE),
        ("env", "env | cut -d= -f1 | sort; test $CI = true; test $SHOPFLOOR_CI = 1; test ! -t 0", MINUTE),
    ]);
    assert_eq!((report.verdict, report.steps_run, report.step), (CiVerdict::Green, 2, None));
    assert_eq!(report.excerpt, "");
    let log = floor.log();
    assert!(log.contains(&format!("== step tree ==\n{}\ncontent\n== step env ==\n", floor.commit)), "{log}");
    let names: Vec<&str> = log.lines().skip_while(|line| *line != "== step env ==").skip(1).collect();
    assert_eq!(
        names,
        [
            "CI",
            "OUT",
            "PATH",
            "PWD",
            "SHOPFLOOR_CI",
            "SHOPFLOOR_CI_RUN",
            "SHOPFLOOR_HEAD",
            "SHOPFLOOR_PURPOSE",
            "SHOPFLOOR_TARGET"
        ]
    );
    assert_eq!(floor.left(), ["log", "report.json"], "the checkout is gone");
    assert_eq!(
        *floor.progress.lock().expect("no panic"),
        ["started", "tree Some(0)", "env Some(0)", "Green"]
    );
}

#[test]
fn red_names_the_step_and_shows_its_end_redacted_and_without_escapes() {
    let floor = Floor::new();
    let script =
        r"printf '\033[31mred\033[0m hun\033[1mter22\n'; echo https://u:p@host; false; echo unreached";
    let report = floor.check(&[
        ("ok", "echo fine", MINUTE),
        ("test\x1b[2J", script, MINUTE),
        ("no", "exit 0", MINUTE),
    ]);
    assert_eq!((report.verdict, report.steps_run, report.step.as_deref()), (CiVerdict::Red, 2, Some("test")));
    assert_eq!(report.excerpt, "red [redacted]\nhttps://[redacted]@host\n\n[exit code 1]");
    let log = floor.log();
    assert!(log.contains("fine") && log.contains("red [redacted]"), "{log}");
    assert!(!log.contains('\u{1b}') && !log.contains("hunter22") && !log.contains("unreached"), "{log}");
}

#[test]
fn a_timeout_ends_the_whole_group_and_daemons_too() {
    let floor = Floor::new();
    let fifos = [Fifo::make(floor.folder.path(), "one"), Fifo::make(floor.folder.path(), "two")];
    let script = r#"
        (sh -c 'trap "" TERM; echo $$ > $OUT/one; sleep 300; sleep 300' &)
        (setsid sh -c 'trap "" TERM; echo $$ > $OUT/two; exec sleep 300' &)
        echo waiting; sleep 300"#;
    // Long enough for both to have spoken, whatever else the machine does.
    let (report, processes) = std::thread::scope(|scope| {
        let run = scope.spawn(|| floor.check(&[("slow", script, Duration::from_secs(5))]));
        let processes = fifos.map(|fifo| fifo.process());
        (run.join().expect("no panic"), processes)
    });
    assert_eq!((report.verdict, report.step.as_deref()), (CiVerdict::TimedOut, Some("slow")));
    assert!(report.excerpt.starts_with("waiting"), "{}", report.excerpt);
    for process in processes {
        assert_eq!(is_same(process), Liveness::Gone);
    }
    assert_eq!(floor.left(), ["log", "report.json"]);
}

#[test]
fn a_process_left_in_the_background_does_not_hold_the_step_and_is_ended() {
    let floor = Floor::new();
    Fifo::make(floor.folder.path(), "fifo");
    let script = "(sh -c 'echo $$ > $OUT/fifo; exec sleep 300' &); echo done; cat $OUT/fifo > $OUT/pid";
    let report = floor.check(&[("step", script, MINUTE)]);
    assert_eq!(report.verdict, CiVerdict::Green);
    let pid: u32 =
        fs::read_to_string(floor.folder.path().join("pid")).expect("said").trim().parse().expect("a pid");
    assert_eq!(identify(pid), None);
}

#[test]
fn fifty_megabytes_of_output_are_bounded() {
    let floor = Floor::new();
    let script = "echo the beginning; head -c 52428800 /dev/zero | tr '\\0' x | fold -w 120; echo; echo the end; exit 9";
    let report = floor.check(&[("loud", script, MINUTE * 5)]);
    assert_eq!(report.verdict, CiVerdict::Red);
    assert!(report.excerpt.len() < 5000 && report.excerpt.contains("the end\n"));
    let log = floor.log();
    assert!(log.len() < 70 * 1024, "{}", log.len());
    assert!(
        log.contains("the beginning\n") && log.contains("the end\n") && log.contains("bytes left out …]")
    );
}

#[test]
fn what_is_not_the_changes_fault_is_infra() {
    let floor = Floor::new();
    let report = floor.check(&[("oom", "sh -c 'kill -9 $$'; exit 0", MINUTE)]);
    assert_eq!((report.verdict, report.step.as_deref()), (CiVerdict::Infra, Some("oom")));

    for (number, says) in
        (2..).zip(["fatal: unable to access: Could not resolve host: x", "sorry: The Lab is closed"])
    {
        let floor = Floor::new();
        let report = floor.check(&[("fetch", &format!("echo '{says}'; exit {number}"), MINUTE)]);
        assert_eq!(report.verdict, CiVerdict::Infra, "{says}");
        assert!(report.excerpt.contains("not the change's fault"), "{}", report.excerpt);
    }

    let mut floor = Floor::new();
    floor.commit = "1".repeat(40).parse().expect("a name");
    let report = floor.check(&[("never", "exit 0", MINUTE)]);
    assert_eq!((report.verdict, report.step.as_deref()), (CiVerdict::Infra, Some("checkout")));
    assert!(report.excerpt.contains("git checkout failed"), "{}", report.excerpt);
    assert_eq!(report.steps_run, 0);
}

/// A commit on top of the primary branch that changes these files, in the hub.
fn change(floor: &mut Floor, files: &[&str]) {
    let source = floor.folder.path().join("source");
    git(&source, &["checkout", "--quiet", "-B", "change", "main"]);
    for file in files {
        let path = source.join(file);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, "new\n").expect("written");
    }
    git(&source, &["add", "."]);
    git(&source, &["commit", "--quiet", "-m", "change"]);
    let hub = floor.layout.hub(&floor.project);
    git(&source, &["push", "--quiet", "--force", hub.to_str().expect("text"), "change"]);
    floor.commit = git(&source, &["rev-parse", "HEAD"]).parse().expect("a commit");
}

#[test]
fn what_needs_no_checks_is_not_checked_and_says_so() {
    let steps = [("never", "exit 3", MINUTE)];
    let mut floor = Floor::new();
    change(&mut floor, &["docs/guide/one.txt", "README.md"]);
    let report = floor.check(&steps);
    assert_eq!((report.verdict, report.steps_run), (CiVerdict::Skipped, 0));
    assert!(report.excerpt.contains("README.md") && floor.log().contains("no step is run"));
    // One file outside, or one that was moved out of there, and all are run.
    let mut floor = Floor::new();
    change(&mut floor, &["docs/guide/one.txt", "src/main.rs"]);
    assert_eq!(floor.check(&steps).verdict, CiVerdict::Red);
    let mut floor = Floor::new();
    let source = floor.folder.path().join("source");
    fs::create_dir_all(source.join("docs")).expect("made");
    git(&source, &["checkout", "--quiet", "-B", "moved", "main"]);
    git(&source, &["mv", "file", "docs/file"]);
    git(&source, &["commit", "--quiet", "-m", "move"]);
    let hub = floor.layout.hub(&floor.project);
    git(&source, &["push", "--quiet", hub.to_str().expect("text"), "moved"]);
    floor.commit = git(&source, &["rev-parse", "HEAD"]).parse().expect("a commit");
    assert_eq!(floor.check(&steps).verdict, CiVerdict::Red);
    // The primary branch itself changes nothing.
    assert_eq!(Floor::new().check(&steps).verdict, CiVerdict::Red);
}

#[test]
fn no_steps_are_no_checks_and_no_project_is_an_error() {
    let mut floor = Floor::new();
    assert_eq!(floor.check(&[]).verdict, CiVerdict::NoChecks);
    let ci = floor.ci(&[]);
    floor.project = "other".parse().expect("a name");
    assert!(matches!(ci.run(&floor.request()), Err(PortError::Transient(_))));
}

#[test]
fn a_checkout_that_is_used_again_is_as_clean_as_a_new_one() {
    let floor = Floor::new();
    let mess = "pwd > $OUT/where; test ! -e left; test \"$(cat file)\" = content; test ! -e .git/hooks/mine; \
        touch left deep.o; mkdir -p ignored/deep; echo '*.o' > .git/info/exclude; echo ignored > .gitignore; \
        printf 'CONTENT\\n' > file; git update-index --assume-unchanged file; mkdir -p .git/hooks; touch .git/hooks/mine; \
        git config core.worktree /nowhere";
    let mut seen = Vec::new();
    for run in 1..=3 {
        let request = CiRequest { run: RunId(run), ..floor.request() };
        let report = floor.ci(&[("mess", mess, MINUTE)]).run(&request).expect("a report");
        assert_eq!(report.verdict, CiVerdict::Green, "run {run}: {}", report.excerpt);
        seen.push(fs::read_to_string(floor.folder.path().join("where")).expect("a path"));
    }
    assert!(seen.iter().all(|path| *path == seen[0]), "{seen:?}");
}

#[test]
fn a_cancelled_run_ends_and_is_neither_green_nor_red() {
    let floor = Floor::new();
    // Before it began.
    floor.ci(&[]).cancel(&floor.project, RunId(1)).expect("cancelled");
    let report = floor.check(&[("never", "touch $OUT/ran", MINUTE)]);
    assert_eq!((report.verdict, report.steps_run), (CiVerdict::Cancelled, 0));
    assert!(!floor.folder.path().join("ran").exists());
    // In the middle of it: the step itself asks for it, and would wait for ever.
    let fifo = Fifo::make(floor.folder.path(), "begun");
    let ci =
        floor.ci(&[("waits", "echo > $OUT/begun; sleep 1000", MINUTE), ("after", "touch $OUT/ran", MINUTE)]);
    std::thread::scope(|scope| {
        let request = CiRequest { run: RunId(2), ..floor.request() };
        let ci = &ci;
        let running = scope.spawn(move || ci.run(&request).expect("a report"));
        fifo.read();
        ci.cancel(&floor.project, RunId(2)).expect("cancelled");
        assert_eq!(running.join().expect("it ends").verdict, CiVerdict::Cancelled);
    });
    assert!(!floor.folder.path().join("ran").exists());
}

#[test]
fn a_commit_that_changes_the_checks_passes_the_old_ones_and_its_own() {
    let mut floor = Floor::new();
    let source = floor.folder.path().join("source");
    let commit_steps = |floor: &mut Floor, steps: &str| {
        fs::write(source.join("steps"), steps).expect("written");
        git(&source, &["add", "."]);
        git(&source, &["commit", "--quiet", "-m", "steps"]);
        let hub = floor.layout.hub(&floor.project);
        git(&source, &["push", "--quiet", hub.to_str().expect("text"), "HEAD:refs/heads/main"]);
        floor.commit = git(&source, &["rev-parse", "HEAD"]).parse().expect("a commit");
    };
    let accepted = [("true", "true", MINUTE)];
    let run = |floor: &Floor, number: u64, purpose: CiPurpose| {
        let request = CiRequest { run: RunId(number), purpose, ..floor.request() };
        floor.ci(&accepted).run(&request).expect("a report")
    };
    commit_steps(&mut floor, "true\ntest -e file");
    let report = run(&floor, 1, CiPurpose::Head);
    assert_eq!((report.verdict, report.steps_run), (CiVerdict::Green, 2), "{}", report.excerpt);
    commit_steps(&mut floor, "false");
    let report = run(&floor, 2, CiPurpose::Head);
    assert_eq!((report.verdict, report.step.as_deref()), (CiVerdict::Red, Some("false")));
    // What is there already is not held against itself.
    assert_eq!(run(&floor, 3, CiPurpose::Base).verdict, CiVerdict::Green);
    commit_steps(&mut floor, "nonsense");
    let report = run(&floor, 4, CiPurpose::Head);
    assert_eq!((report.verdict, report.step.as_deref()), (CiVerdict::Red, Some("steps")));
    assert!(report.excerpt.contains("it is nonsense"), "{}", report.excerpt);
}
