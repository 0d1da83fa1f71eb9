//! A person has it: nothing is typed, judged or ended meanwhile, and it goes on afterwards.

use super::*;
use crate::liveness::{Confidence, State};
use crate::state::{Held, SessionStatus};

const HOUR: Duration = Duration::from_secs(3600);
const MINUTE: Duration = Duration::from_secs(60);

impl Scene {
    fn person_types(&mut self) -> &mut Self {
        self.event(Event::PersonTyped { epoch: DEV, at: self.now })
    }

    fn shows(&mut self, state: State) -> &mut Self {
        let status = SessionStatus {
            state,
            since: self.now,
            confidence: Confidence::High,
            context_percent: None,
            cost_micros: None,
            tokens: None,
            dialog: None,
            question: None,
        };
        self.event(Event::StatusSeen { epoch: DEV, status, conversation: None })
    }

    fn taken(&mut self) -> &mut Self {
        self.event(Event::Taken { project: project(), issue: IssueNumber(1) })
    }

    fn handed_back(&mut self) -> &mut Self {
        self.event(Event::HandedBack { project: project(), issue: IssueNumber(1) })
    }

    fn held(&self) -> Option<Held<'_>> {
        self.floor.agent_held(self.job())
    }
}

#[test]
fn who_types_is_left_alone_until_they_leave() {
    let mut scene = Scene::working(Policy::default());
    scene.person_types().shows(State::IdlePrompt);
    for _ in 0..40 {
        scene.wait(10 * MINUTE).person_types();
    }
    assert_eq!((scene.state(), scene.unread().len(), scene.job().rounds.reminders), ("working", 0, 0));
    assert!(matches!(scene.held(), Some(Held::Person(_))));
    scene.event(Event::PersonLeft { epoch: DEV });
    assert_eq!(scene.held(), None);
    assert_eq!(scene.unread(), ["PHASE missing"], "it goes on");
    assert_eq!(scene.noted(NoteKind::Held), 2);
}

#[test]
fn quiet_for_long_hands_it_back_and_what_was_typed_before_counts_no_more() {
    let mut scene = Scene::working(Policy::default());
    scene.person_types().shows(State::IdlePrompt).wait(14 * MINUTE);
    assert!(scene.unread().is_empty());
    let typed = scene.now - 14 * MINUTE;
    scene.wait(MINUTE);
    assert_eq!((scene.held(), scene.unread()), (None, vec!["PHASE missing"]));
    scene.event(Event::PersonTyped { epoch: DEV, at: typed });
    assert_eq!(scene.held(), None);
}

#[test]
fn deadlines_that_would_kill_wait_for_the_person() {
    let mut scene = Scene::working(Policy::default());
    scene.checking(Phase::AwaitingCi, 1).red().taken();
    scene.wait(3 * HOUR).wait(100 * HOUR);
    assert_eq!(scene.state(), "working");
    assert_eq!(scene.noted(NoteKind::MessageUndelivered), 0);
    for _ in 0..5 {
        scene.shows(State::Stuck).wait(MINUTE);
    }
    assert!(!scene.has("end_session"));
    scene.handed_back();
    assert_eq!((scene.held(), scene.unread()), (None, vec!["CI failed"]));
    scene.wait(HOUR);
    assert_eq!(scene.noted(NoteKind::MessageUndelivered), 1, "its time began anew");
}

#[test]
fn what_the_agent_does_meanwhile_counts_and_its_end_follows_later() {
    let mut scene = Scene::working(Policy { review_required: false, ..Policy::default() });
    scene.person_types();
    scene.signal(DEV, Phase::Failed);
    assert_eq!(scene.state(), "finishing");
    assert!(!scene.has("end_session"), "somebody types there");
    scene.wait(10 * MINUTE).person_types().wait(10 * MINUTE);
    assert!(!scene.has("end_session"));
    scene.event(Event::PersonLeft { epoch: DEV });
    assert!(scene.has("end_session"));
}

#[test]
fn a_person_who_ends_it_ends_it_at_once() {
    let mut scene = Scene::working(Policy::default());
    scene.person_types().taken();
    scene.event(Event::Cancelled { project: project(), issue: IssueNumber(1) });
    assert!(scene.has("end_session"));
    let mut scene = Scene::working(Policy::default());
    scene.taken().issue_is(1, &["in-progress"], &[], false);
    assert!(scene.has("end_session"));
}

#[test]
fn no_successor_starts_in_what_a_person_took() {
    let mut scene = Scene::working(Policy::default());
    scene.taken().exited(DEV, None).end_session().wait(2 * HOUR).wait(2 * HOUR);
    assert_eq!(scene.state(), "respawning");
    assert!(!scene.has("start_session"));
    scene.handed_back();
    assert!(scene.has("start_session"));
}

#[test]
fn a_paused_project_starts_reminds_and_kills_nothing() {
    let mut scene = Scene::working(Policy { max_jobs: 2, ..Policy::default() });
    scene.event(Event::WorkPaused { project: None, why: "lunch".into() });
    scene.issue(2, &["backlog"], &[]).shows(State::IdlePrompt).wait(5 * HOUR);
    assert_eq!((scene.state(), scene.unread().len()), ("working", 0));
    assert_eq!(scene.floor.jobs.iter().count(), 1);
    // A project that comes while the floor is paused is paused as well.
    let other: ProjectName = "other".parse().unwrap();
    scene.event(Event::ProjectSet {
        project: other.clone(),
        checkout: "c".into(),
        policy: Policy::default(),
    });
    assert!(scene.floor.projects.get(&other).unwrap().pause.is_some());
    // Its policy changes: that says nothing of the pause.
    scene.event(Event::ProjectSet { project: project(), checkout: "co".into(), policy: Policy::default() });
    assert!(matches!(scene.held(), Some(Held::Paused(_))));
    scene.event(Event::WorkResumed { project: Some(project()) });
    assert_eq!((scene.held(), scene.unread()), (None, vec!["PHASE missing"]));
    assert!(scene.floor.projects.get(&other).unwrap().pause.is_some());
    scene.event(Event::WorkResumed { project: None });
    assert!(scene.floor.projects.get(&other).unwrap().pause.is_none());
}

/// It was put off while the floor was paused, and then a person had it and the first head was settled by a person: what
/// was put off is of no use once another reviewer is there.
#[test]
fn a_reviewer_that_was_put_off_is_not_started_beside_a_later_one() {
    let mut scene = Scene::working(Policy::default());
    scene.event(Event::WorkPaused { project: None, why: "lunch".into() });
    scene.checking(Phase::AwaitingReview, 1).ci(CiVerdict::Green).taken();
    scene.event(Event::WorkResumed { project: None });
    assert!(!scene.has("start_session"), "a person has it");
    scene.review(1, 1, Verdict::RequestChanges);
    scene.checking(Phase::AwaitingReview, 2).ci(CiVerdict::Green);
    assert_eq!((scene.state(), scene.has("start_session")), ("reviewing", true));
    scene.start_session();
    scene.handed_back();
    assert!(!scene.has("start_session"), "there is one already");
}
