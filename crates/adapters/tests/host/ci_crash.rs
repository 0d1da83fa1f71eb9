//! CI runs that are asked for again: after they finished, and after the daemon died in them.

use super::ci::Floor;
use super::support::Script;
use shopfloor_adapters::host::process::{Liveness, is_same};
use shopfloor_core::effect::{CiAbout, CiPurpose, CiVerdict, CommitSource, ProcessId};
use shopfloor_core::ids::{PrNumber, RunId, Sha};
use shopfloor_core::planner::TrialId;
use shopfloor_engine::ports::{Ci, CiRequest};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const COUNT: &str = "echo x >> $OUT/count";

fn runs(floor: &Floor) -> usize {
    fs::read_to_string(floor.folder.path().join("count")).expect("counted").lines().count()
}

#[test]
fn a_finished_run_is_answered_and_other_steps_are_run() {
    let floor = Floor::new();
    let first = floor.check(&[("count", COUNT, MINUTE)]);
    assert_eq!(first, floor.check(&[("count", COUNT, MINUTE)]));
    assert_eq!(runs(&floor), 1);
    let failed = floor.check(&[("count", &format!("{COUNT}; exit 4"), MINUTE)]);
    assert_eq!((failed.verdict, runs(&floor)), (CiVerdict::Red, 2));
    // A report that was torn by something else than us is no report.
    fs::write(floor.run_folder().join("report.json"), "{").expect("written");
    assert_eq!(floor.check(&[("count", COUNT, MINUTE)]).verdict, CiVerdict::Green);
    assert_eq!(runs(&floor), 3);
}

#[test]
fn what_a_cut_short_run_left_is_ended_and_wiped_before_it_is_made_anew() {
    let floor = Floor::new();
    let folder = floor.run_folder();
    fs::create_dir_all(folder.join("tree")).expect("made");
    fs::write(folder.join("tree/junk"), "").expect("written");
    let mut recorded = Script::start("echo $$; sleep 300", &[]);
    let recorded = (recorded.process(), recorded);
    let run = folder.to_str().expect("text");
    let mut unrecorded = Script::start("echo $$; sleep 300", &[("SHOPFLOOR_CI_RUN", run)]);
    let unrecorded = (unrecorded.process(), unrecorded);
    let record = serde_json::to_vec(&recorded.0).expect("json");
    fs::write(folder.join("process.json"), record).expect("written");

    let report = floor.check(&[("clean", "test ! -e junk", MINUTE)]);
    assert_eq!(report.verdict, CiVerdict::Green, "{}", report.excerpt);
    assert_eq!(is_same(recorded.0), Liveness::Gone);
    assert_eq!(is_same(unrecorded.0), Liveness::Gone);
}

#[test]
fn a_recorded_pid_that_is_another_process_now_is_left_alone() {
    let floor = Floor::new();
    fs::create_dir_all(floor.run_folder()).expect("made");
    let mut bystander = Script::start("echo $$; sleep 300", &[]);
    let id = bystander.process();
    let record = serde_json::to_vec(&ProcessId { start: id.start - 1, ..id }).expect("json");
    fs::write(floor.run_folder().join("process.json"), record).expect("written");
    assert_eq!(floor.check(&[("ok", "true", MINUTE)]).verdict, CiVerdict::Green);
    assert_eq!(is_same(id), Liveness::Alive);
}

/// A candidate is found where no ref names it; and what the checks see beside it is what they see beside a head.
#[test]
fn a_candidate_of_the_queue_has_the_refs_of_the_hub_and_the_checks_know_what_they_are_for() {
    let mut floor = Floor::new();
    let (hub, queue) = (floor.layout.hub(&floor.project), floor.layout.queue_repo(&floor.project));
    let git = |folder: &Path, args: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        let output =
            Command::new("git").arg("-C").arg(folder).args(identity).args(args).output().expect("git");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    };
    git(&hub, &["tag", "-a", "-m", "one", "v1", "main"]);
    git(&hub, &["branch", "other", "main"]);
    let (from, to) = (hub.display().to_string(), queue.display().to_string());
    git(Path::new("/"), &["clone", "--quiet", "--bare", "--shared", &from, &to]);
    git(&queue, &["tag", "-d", "v1"]);
    let tree = git(&queue, &["rev-parse", "main^{tree}"]);
    let candidate: Sha =
        git(&queue, &["commit-tree", "-p", "main", "-m", "candidate", &tree]).parse().expect("a commit");
    let base: Sha = git(&hub, &["rev-parse", "main"]).parse().expect("a commit");
    floor.about = CiAbout {
        base: Some(base.clone()),
        branch: Some("ada/fix".into()),
        pr: Some(PrNumber(7)),
        target: None,
        each: Vec::new(),
    };
    let script = "test $(git rev-parse HEAD) = $SHOPFLOOR_HEAD
git describe --tags
git diff --quiet origin/main...HEAD
git rev-parse --quiet --verify origin/other
test -z \"$(git remote)\"
echo \"$SHOPFLOOR_PURPOSE $SHOPFLOOR_BASE $SHOPFLOOR_BRANCH $SHOPFLOOR_PR $SHOPFLOOR_TARGET\" > $OUT/told";
    let trial = CiPurpose::Trial(TrialId(1));
    let runs = [
        (RunId(1), &candidate, CommitSource::Queue, trial, "trial"),
        (RunId(2), &base, CommitSource::Hub, CiPurpose::Head, "head"),
        // In the tree that was used before.
        (RunId(3), &candidate, CommitSource::Queue, trial, "trial"),
    ];
    for (run, commit, source, purpose, named) in runs {
        let request = CiRequest { run, commit, source, purpose, ..floor.request() };
        let report = floor.ci(&[("refs", script, MINUTE)]).run(&request).expect("a report");
        assert_eq!(report.verdict, CiVerdict::Green, "{}", report.excerpt);
        let told = fs::read_to_string(floor.folder.path().join("told")).expect("written");
        assert_eq!(told.trim(), format!("{named} {base} ada/fix 7 main"));
    }
}
