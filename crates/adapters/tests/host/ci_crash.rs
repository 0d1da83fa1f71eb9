//! CI runs that are asked for again: after they finished, and after the daemon died in them.

use super::ci::Floor;
use super::support::Script;
use shopfloor_adapters::host::process::{Liveness, is_same};
use shopfloor_core::effect::{CiVerdict, CommitSource, ProcessId};
use shopfloor_engine::ports::{Ci, CiRequest};
use std::fs;
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

#[test]
fn a_candidate_that_no_ref_names_is_found_in_the_queue_s_repository() {
    let floor = Floor::new();
    let queue = floor.layout.queue_repo(&floor.project);
    let git = |args: &[&str]| {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        let output =
            Command::new("git").arg("-C").arg(&queue).args(identity).args(args).output().expect("git");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text").trim().to_owned()
    };
    fs::rename(floor.layout.hub(&floor.project), &queue).expect("moved");
    let tree = git(&["rev-parse", "main^{tree}"]);
    let candidate = git(&["commit-tree", "-p", "main", "-m", "candidate", &tree]).parse().expect("a commit");
    let request = CiRequest { commit: &candidate, source: CommitSource::Queue, ..floor.request() };
    let script = format!("test $(git rev-parse HEAD) = {candidate}");
    let report = floor.ci(&[("head", &script, MINUTE)]).run(&request).expect("a report");
    assert_eq!(report.verdict, CiVerdict::Green, "{}", report.excerpt);
}
