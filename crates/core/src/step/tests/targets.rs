//! Queues of other branches than the primary one, and entries that land after others.

use super::persons_branch::{BRANCH, ask};
use super::*;
use crate::event::BranchAsk;
use crate::ids::{QueueId, Target};
use crate::policy::TargetPolicy;
use crate::state::EntryState;

fn target() -> Target {
    "release/1.x".to_owned().try_into().expect("a branch")
}

fn policy() -> Policy {
    let release = TargetPolicy { name: "one".into(), branch: target(), label: "for-one".into() };
    Policy { targets: vec![release], max_jobs: 2, ..Policy::default() }
}

fn queue_by_hand(scene: &mut Scene, branch: &str, head: u32, target: Option<Target>, after: &[&str]) {
    let after = after.iter().map(|name| (*name).to_owned()).collect();
    let ask = BranchAsk {
        branch: branch.into(),
        head: sha(head),
        tree: TreeId(sha(head + 2_000)),
        target,
        after,
        ..ask()
    };
    scene.event(Event::BranchAsked { project: project(), ask });
    scene.ci(CiVerdict::Green);
}

fn state<'s>(scene: &'s Scene, branch: &str) -> &'s EntryState {
    &scene.floor.entries.iter().rfind(|e| e.branch == branch).expect("queued").state
}

#[test]
fn an_issue_s_labels_say_once_where_its_change_lands() {
    let mut scene = Scene::new(policy());
    scene.issue(1, &["backlog", "for-one"], &[]);
    let started = scene.pending.iter().find_map(|action| match action {
        Action::PrepareWorktree { target, .. } => Some(target.clone()),
        _ => None,
    });
    assert_eq!(started, Some(Some(target())));
    // What is changed later is for the next time.
    scene.issue(1, &["in-progress"], &[]);
    assert_eq!(scene.job().target, Some(target()));
}

#[test]
fn queues_are_paused_and_frozen_one_by_one() {
    let mut scene = Scene::new(policy());
    queue_by_hand(&mut scene, BRANCH, 1, Some(target()), &[]);
    scene.answer("find_primary", Outcome::NoPrimary);
    let release = QueueId::new(&project(), Some(&target()));
    assert!(scene.floor.queues.get(&release).is_some_and(|q| q.lost.is_some()));
    let told = scene.notes.iter().rfind(|n| n.kind == NoteKind::Escalation).map(|n| n.text.as_str());
    assert!(told.is_some_and(|text| text.contains("origin has no branch release/1.x")), "{told:?}");
    queue_by_hand(&mut scene, "bob/fix", 3, None, &[]);
    scene.primary(10);
    assert!(scene.has("build_chain"), "the other goes on");
    assert!(scene.floor.queues.get(&QueueId::primary(&project())).is_some_and(|q| q.lost.is_none()));
}

#[test]
fn an_entry_is_not_tried_before_what_it_lands_after() {
    let mut scene = Scene::new(policy());
    queue_by_hand(&mut scene, "top", 1, None, &["below", "main", "top"]);
    scene.primary(10);
    assert_eq!((state(&scene, "top"), scene.has("build_chain")), (&EntryState::Queued, false));
    let entry = scene.floor.entries.iter().next().expect("queued");
    assert_eq!(scene.floor.waits_for_branch(entry), Some("below"), "not itself, and not the primary branch");
    assert_eq!(scene.floor.is_at_it(entry), (None, None));
    let told = |scene: &Scene| scene.notes.iter().filter(|n| n.kind == NoteKind::Escalation).count();
    assert_eq!(told(&scene), 1, "nobody has queued what it waits for");
    assert!(
        scene.notes.iter().any(|n| n.text.starts_with("top: it lands after below, which nobody has queued"))
    );
    // After a restart it waits still.
    scene.event(Event::Resumed);
    assert_eq!((scene.has("build_chain"), told(&scene)), (false, 1), "and that is told once");

    queue_by_hand(&mut scene, "below", 3, None, &[]);
    scene.chain(&[30]).ci(CiVerdict::Green).answer("publish", Outcome::Published);
    assert!(matches!(state(&scene, "below"), EntryState::Merged { .. }));
    let tried = scene.pending.iter().find_map(|action| match action {
        Action::BuildChain { list, landed, .. } => Some((list[0].branch.clone(), landed.clone())),
        _ => None,
    });
    assert_eq!(tried, Some(("top".into(), vec![sha(3)])), "and it is told what has landed");
}

#[test]
fn who_waits_in_vain_is_told_whenever_it_comes_to_that() {
    let mut scene = Scene::new(policy());
    let told = |scene: &Scene| {
        let about = scene
            .notes
            .iter()
            .filter(|n| n.kind == NoteKind::Escalation && n.text.contains("it lands after"));
        about.map(|n| n.text.split(": ").take(2).collect::<Vec<_>>().join(": ")).collect::<Vec<_>>()
    };
    queue_by_hand(&mut scene, "below", 3, None, &[]);
    queue_by_hand(&mut scene, "top", 1, None, &["below"]);
    scene.primary(10);
    assert!(told(&scene).is_empty(), "somebody is at it");
    scene.event(Event::BranchRefused { project: project(), branch: "below".into() });
    assert_eq!(told(&scene), ["top: it lands after below, which nobody has queued"]);
    // A circle, which is none of these two's fault alone.
    queue_by_hand(&mut scene, "below", 4, None, &["top"]);
    assert_eq!(told(&scene).len(), 3);
    assert!(told(&scene)[1..].contains(&"below: it lands after top, and that after below".to_owned()));
    // One of them waits no more, and both land.
    let ask = BranchAsk { branch: "below".into(), head: sha(4), tree: TreeId(sha(2_004)), ..ask() };
    scene.event(Event::BranchAsked { project: project(), ask });
    assert!(scene.has("build_chain"));
    assert_eq!(told(&scene).len(), 3);
}

/// It is in no plan that would tell, and somebody is at what it waits for.
#[test]
fn people_are_told_once_of_a_long_wait_for_another_branch() {
    let mut scene = Scene::new(policy());
    queue_by_hand(&mut scene, "below", 3, None, &[]);
    queue_by_hand(&mut scene, "top", 1, None, &["below"]);
    scene.primary(10);
    let told = |scene: &Scene| {
        let waits = |n: &&Note| n.kind == NoteKind::Escalation && n.text.contains("until below lands");
        scene.notes.iter().filter(waits).map(|n| n.text.clone()).collect::<Vec<_>>()
    };
    let alarm = Policy::default().merge_alarm;
    scene.wait(alarm - Duration::from_secs(1));
    assert_eq!(told(&scene), Vec::<String>::new());
    scene.wait(Duration::from_secs(2)).wait(alarm);
    let [text] = &told(&scene)[..] else { panic!("{:?}", scene.notes) };
    assert!(text.contains("which is queued"), "{text}");
}
