//! What is kept for a while and then goes.

use super::*;
use crate::effect::outcome;

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
    scene.issue(1, &["backlog"], &[]);
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

fn tidy(scene: &mut Scene) -> crate::effect::Tidy {
    match scene.take("tidy") {
        Action::Tidy(tidy) => tidy,
        other => panic!("{other:?}"),
    }
}

/// Tidying that was ordered is over.
fn tidied(scene: &mut Scene, order: crate::effect::Tidy) {
    let outcome = Outcome::Tidied(outcome::Tidied { rescues: 3, ..outcome::Tidied::default() });
    scene.event(Event::Performed { action: Action::Tidy(order), outcome });
}

fn orders(scene: &Scene) -> usize {
    scene.names().iter().filter(|name| **name == "tidy").count()
}

fn upkeep(scene: &Scene) -> &crate::state::Upkeep {
    &scene.floor.projects.get(&project()).expect("a project").upkeep
}

#[test]
fn a_project_is_tidied_a_day_after_something_ended_and_daily_from_then_on() {
    let mut scene = Scene::working(Policy::default());
    scene.signal(DEV, Phase::Failed);
    let (rescue, last_output) = (Some("refs/rescue/dev-p-1/4".to_owned()), String::new());
    scene.answer(
        "end_session",
        Outcome::SessionEnded(outcome::SessionEnded { rescue, last_output, note: None }),
    );
    scene.done("comment").done("edit_labels").done("escalate");
    assert_eq!((scene.state(), orders(&scene)), ("failed", 0), "not at the job's end");
    scene.wait(DAY);
    let first = tidy(&mut scene);
    assert_eq!((first.sessions_upto, first.sessions_kept.clone()), (DEV, vec![]));
    assert_eq!(first.sessions_before, scene.now - Policy::default().keep_logs);
    assert_eq!(first.journal_before, scene.now - 90 * DAY);
    assert_eq!((first.tombstones_before, first.idle), (scene.now - DAY, true));
    // Never two at a time.
    scene.wait(DAY).event(Event::TidyAsked { project: None });
    assert_eq!(orders(&scene), 0);
    tidied(&mut scene, first);
    assert_eq!(upkeep(&scene).last.as_ref().map(|(at, what)| (*at, what.rescues)), Some((scene.now, 3)));
    scene.wait(DAY);
    assert_eq!(orders(&scene), 1);
    // What became of one was lost: it does not stand in the way for ever.
    tidy(&mut scene);
    scene.wait(6 * DAY);
    assert_eq!(orders(&scene), 0);
    scene.wait(DAY);
    assert_eq!(orders(&scene), 1);
    scene.impossible("tidy");
    assert_eq!(upkeep(&scene).ordered_at, None);
}

#[test]
fn an_order_names_only_what_is_in_use() {
    let mut scene = Scene::working(Policy::default());
    scene.event(Event::TidyAsked { project: Some("other".parse().expect("a name")) });
    assert_eq!(orders(&scene), 0);
    scene.event(Event::TidyAsked { project: Some(project()) });
    let order = tidy(&mut scene);
    assert_eq!(order.sessions_kept, [DEV]);
    assert_eq!(order.notes_kept, [(project(), IssueNumber(1))]);
    assert!(order.idle, "somebody asked, so it need not wait until nobody works");
    tidied(&mut scene, order);
    let mut scene = failed();
    scene.event(Event::TidyAsked { project: None });
    let order = tidy(&mut scene);
    // The refs of ended jobs are kept by being their agents' newest.
    assert_eq!((order.rescues_named, order.sessions_kept, order.notes_kept), (vec![], vec![], vec![]));
}

#[test]
fn many_ends_are_tidied_up_after_at_once() {
    let mut scene = failed();
    let end = |scene: &mut Scene| {
        let before = upkeep(scene).ended;
        scene.issue(1, &["backlog"], &[]);
        scene.event(Event::Cancelled { project: project(), issue: IssueNumber(1) }).settle();
        assert!(upkeep(scene).ended != before, "it ended");
    };
    while upkeep(&scene).ended < 199 {
        end(&mut scene);
    }
    assert_eq!(upkeep(&scene).last, None);
    end(&mut scene);
    assert_eq!(upkeep(&scene).ended, 0);
    assert!(upkeep(&scene).last.is_some());
}

#[test]
fn orders_and_answers_of_older_builds_are_read_and_remove_no_more_than_they_said() {
    let order = r#"{"action":"tidy","project":"p","rescues_kept":20,"rescues_before":5,"rescues_named":["x"],
        "sessions":[1,2],"sessions_below":9,"runs_kept":[],"folders_before":7}"#;
    let Action::Tidy(order) = serde_json::from_str(order).expect("readable") else { panic!("not tidy") };
    assert_eq!((order.sessions_upto, order.journal_before), (Epoch(0), Time(0)));
    let answer: outcome::Tidied = serde_json::from_str(r#"{"rescues":2,"folders":4}"#).expect("readable");
    assert_eq!(answer, outcome::Tidied { rescues: 2, ..outcome::Tidied::default() });
}
