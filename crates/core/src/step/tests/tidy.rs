//! What is kept for a while and then goes.

use super::*;
use crate::effect::outcome;
use crate::ids::Role;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Issue 1's job has failed; its worktree is still there.
fn failed() -> Scene {
    let mut scene = Scene::working(Policy::default());
    scene.signal(DEV, Phase::Failed).settle();
    assert_eq!(scene.state(), "failed");
    scene
}

fn releases(scene: &Scene) -> usize {
    scene.names().iter().filter(|name| **name == "release_worktree").count()
}

#[test]
fn a_worktree_is_kept_for_a_while_and_then_rescued_and_removed() {
    let mut scene = failed();
    scene.wait(Policy::default().keep_worktrees - DAY);
    assert_eq!(releases(&scene), 0);
    scene.wait(DAY);
    assert_eq!(releases(&scene), 2, "the agent's and the reviewer's");
    // Somebody asks again meanwhile: not before the worktree is gone.
    scene.done("tidy").issue(1, &["backlog"], &[]);
    assert_eq!(scene.floor.jobs.len(), 1);
    let rescue = Some("refs/rescue/x/1".to_owned());
    scene.answer("release_worktree", Outcome::Released(outcome::Released { rescue: None, note: None }));
    scene.answer("release_worktree", Outcome::Released(outcome::Released { rescue, note: None }));
    let job = scene.job();
    assert_eq!((job.worktree.as_deref(), job.rescue.as_deref()), (None, Some("refs/rescue/x/1")));
    assert!(scene.notes.iter().any(|n| n.kind == NoteKind::Worktree && n.text.contains("refs/rescue/x/1")));
    assert_eq!(scene.floor.jobs.len(), 2, "now it is claimed");
}

#[test]
fn the_worktree_of_a_later_job_is_not_an_earlier_ones_to_remove() {
    let mut scene = failed();
    scene.issue(1, &["backlog"], &[]);
    assert_eq!(scene.floor.jobs.len(), 2);
    scene.wait(Policy::default().keep_worktrees);
    assert_eq!((releases(&scene), scene.job().kept().release_at), (0, None));
}

#[test]
fn what_cannot_be_removed_is_told_and_left() {
    let mut scene = failed();
    scene.wait(Policy::default().keep_worktrees);
    let told = scene.noted(NoteKind::Escalation);
    scene.impossible("release_worktree").impossible("release_worktree");
    assert_eq!((scene.noted(NoteKind::Escalation) - told, scene.job().kept().releasing), (2, 0));
    assert!(scene.job().worktree.is_some());
}

#[test]
fn pruning_is_ordered_at_a_jobs_end_and_daily_and_names_what_stays() {
    let mut scene = Scene::working(Policy::default());
    scene.signal(DEV, Phase::Failed);
    let (rescue, last_output) = (Some("refs/rescue/dev-p-1/4".to_owned()), String::new());
    scene.answer(
        "end_session",
        Outcome::SessionEnded(outcome::SessionEnded { rescue, last_output, note: None }),
    );
    scene.done("comment").done("edit_labels").done("escalate");
    let tidy = |scene: &mut Scene| match scene.take("tidy") {
        Action::Tidy(tidy) => tidy,
        other => panic!("{other:?}"),
    };
    let first = tidy(&mut scene);
    assert_eq!(first.rescues_named, ["refs/rescue/dev-p-1/4"]);
    assert_eq!((first.sessions, first.sessions_below), (vec![], DEV), "too young");
    scene.wait(DAY);
    tidy(&mut scene);
    scene.wait(Policy::default().keep_logs);
    assert_eq!(tidy(&mut scene).sessions, [DEV]);
    let review = |a: &Action| matches!(a, Action::ReleaseWorktree { role: Role::REVIEW, .. });
    assert!(scene.pending.iter().any(review));
}
