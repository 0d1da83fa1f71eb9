//! Who is told how an entry of the merge queue ended.

use super::queue::{entry, landing, queued};
use super::*;
use crate::effect::outcome;
use crate::effect::{CommandEnd, Conflict, EntryEnd, Telling};
use crate::event::BranchAsk;
use crate::ids::{EntryId, RunId};

fn telling_policy() -> Policy {
    Policy { tells_landed: true, tells_not_landed: true, ..Policy::default() }
}

fn ask(branch: &str, head: u32, pr: Option<PrNumber>) -> BranchAsk {
    BranchAsk {
        alone: false,
        branch: branch.into(),
        head: sha(head),
        tree: TreeId(sha(2_020 + head)),
        title: "A fix".into(),
        message: None,
        pr: pr.map(|pr| (pr, None)),
        by: "alice".into(),
        author: Some("Ann <ann@x>".into()),
        approved_by: Some("bob".into()),
        urgent: false,
        target: None,
        after: Vec::new(),
        unapproved: Vec::new(),
    }
}

fn asked(policy: Policy, asks: &[BranchAsk]) -> Scene {
    let mut scene = Scene::new(policy);
    for ask in asks {
        scene.event(Event::BranchAsked { project: project(), ask: ask.clone() });
    }
    scene
}

fn telling(scene: &mut Scene) -> Telling {
    match scene.take("tell") {
        Action::Tell(telling) => telling,
        other => panic!("{other:?}"),
    }
}

fn comment(scene: &mut Scene) -> (String, String) {
    match scene.take("comment_pr") {
        Action::CommentPr { pr: PR, marker, body, .. } => (marker, body),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_landed_is_told_to_its_author_with_what_it_stood_on() {
    let mut scene = asked(telling_policy(), &[ask("alice/fix", 1, Some(PR))]);
    scene.ci(CiVerdict::Green).primary(10).chain(&[30]).ci(CiVerdict::Green);
    assert!(!scene.has("tell") && !scene.has("comment_pr"));
    scene.answer("publish", Outcome::Published);
    let (marker, body) = comment(&mut scene);
    assert_eq!(marker, "merge-queue-entry-1-landed");
    for part in
        ["Landed on main as", &sha(30).to_string(), &format!("on top of {}", sha(10).short()), "CI run 2"]
    {
        assert!(body.contains(part), "{part:?} in {body}");
    }
    assert!(body.contains("Queued by alice; its newest commit is by Ann <ann@x>."), "{body}");
    let told = telling(&mut scene);
    assert_eq!((told.end, told.entry, told.pr, told.issue), (EntryEnd::Landed, EntryId(1), Some(PR), None));
    assert_eq!((told.commit, told.base, told.run), (Some(sha(30)), Some(sha(10)), Some(RunId(2))));
    assert_eq!((told.by.as_str(), told.author.as_deref()), ("alice", Some("Ann <ann@x>")));
    // Nobody is told who did not want to be, and a branch without a pull request has nowhere to say it.
    let mut scene = asked(Policy::default(), &[ask("alice/fix", 1, None)]);
    scene.ci(CiVerdict::Green).primary(10).chain(&[30]).ci(CiVerdict::Green);
    scene.answer("publish", Outcome::Published);
    assert!(!scene.has("tell") && !scene.has("comment_pr"));
}

#[test]
fn those_that_land_at_once_stand_on_those_before_them() {
    let mut scene = queued(Policy { merge_slots: 1, ..telling_policy() }, 2);
    scene.chain(&[21, 22]).ci(CiVerdict::Green);
    landing(&mut scene, &[(30, 22)]);
    scene.answer("publish", Outcome::Published);
    let (first, second) = (telling(&mut scene), telling(&mut scene));
    assert_eq!((first.base, first.behind.len(), &first.commit), (Some(sha(10)), 0, &Some(sha(21))));
    assert_eq!(
        (second.base, second.behind, second.commit),
        (Some(sha(21)), vec![first.branch], Some(sha(30)))
    );
    assert!(first.run.is_some() && first.run == second.run);
}

#[test]
fn what_failed_or_conflicts_is_told_with_its_log() {
    let green = || {
        let mut scene = asked(telling_policy(), &[ask("alice/fix", 1, Some(PR))]);
        scene.ci(CiVerdict::Green).primary(10);
        scene
    };
    let mut scene = green();
    scene.chain(&[30]).ci(CiVerdict::Red).chain(&[30]).ci(CiVerdict::Red);
    // The base is asked first; it passes.
    scene.ci(CiVerdict::Green);
    let told = telling(&mut scene);
    assert_eq!((told.end, told.log.as_str(), told.base.clone()), (EntryEnd::Failed, "l", Some(sha(10))));
    assert!(told.reason.contains("step \"test\" failed") && told.run.is_some(), "{told:?}");
    let (marker, body) = comment(&mut scene);
    assert_eq!(marker, "merge-queue-entry-1-failed");
    assert!(body.contains("the log: l") && body.contains("merge-queue retry alice/fix"), "{body}");

    let mut scene = green();
    let conflict = Conflict { files: vec!["a.txt".into()], hunks: String::new() };
    let (entry, primary) = (EntryId(1), sha(10));
    let outcome = Outcome::ChainConflict(outcome::ChainConflict {
        primary,
        moved: vec![],
        entry,
        with_base: true,
        conflict,
    });
    scene.answer("build_chain", outcome);
    let told = telling(&mut scene);
    assert_eq!((told.end, told.base), (EntryEnd::Conflicted, Some(sha(10))));
    assert_eq!(told.reason, "conflicts in a.txt");
    assert_eq!(comment(&mut scene).0, "merge-queue-entry-1-conflicted");
    // Whoever takes it out knows.
    let mut scene = green();
    scene.event(Event::BranchRefused { project: project(), branch: "alice/fix".into() });
    assert!(!scene.has("tell") && !scene.has("comment_pr"));
}

#[test]
fn an_agents_change_is_told_by_the_command_alone() {
    let mut scene = Scene::publishing(telling_policy(), 1);
    scene.answer("publish", Outcome::Published);
    let told = telling(&mut scene);
    assert_eq!((told.by.as_str(), told.issue, told.pr), ("dev-p-1", Some(IssueNumber(1)), Some(PR)));
    assert!(!scene.has("comment_pr"));
}

#[test]
fn a_command_that_fails_is_shown_and_holds_nothing_up() {
    let mut scene = asked(telling_policy(), &[ask("alice/fix", 1, None)]);
    scene.ci(CiVerdict::Green).primary(10).chain(&[30]).ci(CiVerdict::Green);
    scene.answer("publish", Outcome::Published);
    let how = CommandEnd { trouble: Some("exit code 3".into()), log: "there".into() };
    scene.answer("tell", Outcome::Told(how.clone()));
    assert_eq!(entry(&scene, 1).command, Some(how));
    let said = scene.notes.iter().rfind(|n| n.kind == NoteKind::Escalation).expect("noted");
    assert!(said.text.contains("on_landed") && said.text.contains("exit code 3"), "{}", said.text);
    // One that worked is no news.
    let mut scene = asked(telling_policy(), &[ask("alice/fix", 1, None)]);
    scene.ci(CiVerdict::Green).primary(10).chain(&[30]).ci(CiVerdict::Green);
    scene.answer("publish", Outcome::Published);
    scene.answer("tell", Outcome::Told(CommandEnd { trouble: None, log: "there".into() }));
    assert_eq!(scene.noted(NoteKind::Escalation), 0);
}
