//! Agents that cannot work: the role is held, no issue is touched, and it goes on by itself.

use super::*;
use crate::effect::AgentTrouble;
use crate::effect::outcome;
use crate::ids::{Assignment, QuestionId, Role};
use crate::liveness::{Confidence, State};
use crate::runtime::{DialogKind, DialogView, ErrorKind};
use crate::state::{Found, SessionStatus};
use crate::step::{Standings, Waiting};

const MINUTE: Duration = Duration::from_secs(60);

fn trouble(role: Role, why: &str) -> Outcome {
    Outcome::AgentsChecked(outcome::AgentsChecked {
        troubles: vec![AgentTrouble { role, why: why.into() }],
        unset: vec![],
    })
}

fn fine() -> Outcome {
    Outcome::AgentsChecked(outcome::AgentsChecked { troubles: vec![], unset: vec![] })
}

/// A floor whose agents are not yet looked at.
fn unseen(policy: Policy) -> Scene {
    let mut scene = Scene::new(policy);
    scene.staffed = false;
    scene.event(Event::Resumed);
    scene
}

fn told(scene: &Scene) -> usize {
    scene.notes.iter().filter(|n| n.kind == NoteKind::NeedsHuman).count()
}

impl Scene {
    fn found(&self, role: Role) -> Option<Found> {
        self.floor.outage(&project(), role).map(|outage| outage.found)
    }
}

#[test]
fn no_issue_is_touched_before_the_agents_were_looked_at_and_found_fit() {
    let mut scene = unseen(Policy { max_jobs: 3, ..Policy::default() });
    for number in 1..=6 {
        scene.issue(number, &["backlog"], &[]);
    }
    assert_eq!(scene.names(), ["check_agents"], "nothing is begun while they are looked at");
    scene.answer("check_agents", trouble(Role::DEV, "claude is not installed: install it"));
    assert!(scene.pending.is_empty(), "{:?}", scene.names());
    assert_eq!((scene.floor.jobs.len(), told(&scene)), (0, 1));
    let outage = scene.floor.outage(&project(), Role::DEV).expect("held").clone();
    assert_eq!(
        (outage.why.as_str(), outage.question),
        ("claude is not installed: install it", QuestionId(1))
    );
    let issue = scene.floor.issues.get(&(project(), IssueNumber(1))).expect("seen");
    assert_eq!(Standings::of(&scene.floor).why(issue), Waiting::Outage(outage.why));

    // The same again is not told again; another look is taken after a pause, and when something changed.
    scene.wait(MINUTE).answer("check_agents", trouble(Role::DEV, "claude is not installed: install it"));
    scene.event(Event::StaffTouched { project: None });
    assert_eq!((told(&scene), scene.names().as_slice()), (1, ["check_agents"].as_slice()));
    scene.answer("check_agents", fine());
    assert_eq!((scene.floor.jobs.len(), scene.floor.outages().count()), (3, 0));
}

/// What a look finds of both roles.
fn of_both(dev: &str, review: &str) -> Outcome {
    let trouble = |(role, why): (Role, &str)| AgentTrouble { role, why: why.into() };
    let troubles = [(Role::DEV, dev), (Role::REVIEW, review)].map(trouble).to_vec();
    Outcome::AgentsChecked(outcome::AgentsChecked { troubles, unset: vec![] })
}

#[test]
fn one_cause_is_one_question_whichever_roles_it_keeps() {
    let policy = Policy::default();
    let first = policy.renotify_after;
    let mut scene = unseen(policy);
    let causes = |scene: &Scene| -> Vec<(QuestionId, Vec<Role>)> {
        let staff = scene.floor.staff.get(&project()).expect("looked at");
        staff.causes().into_iter().map(|(outage, roles)| (outage.question, roles)).collect()
    };
    scene.answer("check_agents", of_both("no tmux", "no tmux"));
    assert_eq!((told(&scene), causes(&scene)), (1, vec![(QuestionId(1), Role::STAFF.to_vec())]));
    assert!(scene.notes.iter().any(|n| n.text.starts_with("the dev and review agents cannot work: no tmux")));
    // People are reminded of it once, and one look is taken for both.
    scene.wait(first);
    assert_eq!((told(&scene), scene.names().as_slice()), (2, ["check_agents"].as_slice()));

    // One of them has another trouble now, which is another question; then it has the same again.
    scene.answer("check_agents", of_both("no tmux", "no key"));
    assert_eq!(
        (told(&scene), causes(&scene)),
        (3, vec![(QuestionId(1), vec![Role::DEV]), (QuestionId(2), vec![Role::REVIEW])])
    );
    scene.event(Event::StaffTouched { project: None });
    scene.answer("check_agents", of_both("no key", "no key"));
    assert_eq!((told(&scene), causes(&scene)), (3, vec![(QuestionId(2), Role::STAFF.to_vec())]));
    let back = scene.noted(NoteKind::AgentStatus);
    scene.event(Event::StaffTouched { project: None }).answer("check_agents", fine());
    assert_eq!((causes(&scene), scene.noted(NoteKind::AgentStatus)), (vec![], back + 1));
}

#[test]
fn an_outage_of_any_role_ends_when_its_cause_is_gone() {
    let mut scene = Scene::new(Policy { actions: true, ..Policy::default() });
    scene.issue(1, &["action"], &[]);
    scene.planned_action("action").worktree_ready();
    let unusable = outcome::AgentUnusable { why: "no such program: bot".into() };
    scene.answer("start_session", Outcome::AgentUnusable(unusable));
    assert_eq!(scene.found(Role::ACTION), Some(Found::Look));
    scene.staffed = false;
    scene.event(Event::StaffTouched { project: None });
    let Action::CheckAgents { others, .. } = scene.take("check_agents") else { unreachable!() };
    assert_eq!(others, [Role::ACTION], "it is looked at, too");
    let looked = Action::CheckAgents { project: project(), others };
    scene.event(Event::Performed { action: looked, outcome: fine() });
    assert_eq!(scene.found(Role::ACTION), None);
    scene.settle();
    assert_eq!(scene.state(), "working", "its job continues");
}

#[test]
fn a_touch_while_they_are_looked_at_has_them_looked_at_again() {
    let mut scene = unseen(Policy::default());
    scene.event(Event::StaffTouched { project: None }).event(Event::Resumed);
    assert_eq!(scene.names(), ["check_agents"]);
    scene.answer("check_agents", trouble(Role::DEV, "no"));
    assert_eq!(scene.names(), ["check_agents"], "once more, for what changed");
    scene.answer("check_agents", fine());
    assert!(scene.floor.outages().next().is_none() && scene.pending.is_empty());
}

#[test]
fn people_are_told_again_of_an_outage_that_stays() {
    let policy = Policy::default();
    let (first, then) = (policy.renotify_after, policy.escalate_after);
    let mut scene = unseen(policy);
    scene.answer("check_agents", trouble(Role::DEV, "no"));
    scene.wait(first);
    assert_eq!(told(&scene), 2);
    scene.wait(then);
    assert!(scene.notes.iter().any(|n| n.kind == NoteKind::Escalation && n.text.contains("cannot work: no")));
    assert!(scene.floor.next_deadline().is_some_and(|at| at > scene.now));
}

#[test]
fn a_session_that_cannot_be_started_waits_and_is_started_when_it_can() {
    let mut scene = Scene::new(Policy { max_jobs: 2, ..Policy::default() });
    scene.staffed = false;
    scene.issue(1, &["backlog"], &[]).issue(2, &["backlog"], &[]).issue(3, &["backlog"], &[]);
    scene.answer(
        "prepare_worktree",
        Outcome::WorktreeReady(outcome::WorktreeReady { path: "w".into(), head: sha(1), notes: vec![] }),
    );
    scene.answer(
        "start_session",
        Outcome::AgentUnusable(outcome::AgentUnusable { why: "claude is gone".into() }),
    );
    let job = scene.floor.jobs.get(&JOB).expect("claimed").clone();
    assert_eq!((job.state.name(), job.is_unstaffed(), job.rounds.respawns), ("respawning", true, 0));
    assert_eq!(job.last_session, None, "nobody has worked yet");
    scene.answer(
        "end_session",
        Outcome::SessionEnded(outcome::SessionEnded { rescue: None, last_output: String::new(), note: None }),
    );
    // The other was claimed already: it waits as well, before a session is tried.
    scene.answer(
        "prepare_worktree",
        Outcome::WorktreeReady(outcome::WorktreeReady { path: "w".into(), head: sha(1), notes: vec![] }),
    );
    assert!(!scene.has("start_session") && scene.floor.jobs.len() == 2);
    scene.wait(Duration::from_secs(48 * 3600));
    assert!(scene.floor.jobs.iter().all(|j| j.is_unstaffed() && j.is_live()), "however long it takes");
    scene.answer("check_agents", fine());
    assert_eq!(scene.names().iter().filter(|n| **n == "start_session").count(), 2);
    assert_eq!(scene.floor.jobs.iter().map(|j| j.rounds.respawns).sum::<u32>(), 0);
}

/// The job's session is told by its model's servers that its key is no good.
fn refused(scene: &mut Scene, epoch: Epoch) {
    scene.status(epoch, State::Failed { error: ErrorKind::Auth });
    scene.end_session();
    scene.pending.retain(|action| action.name() != "checkpoint");
}

#[test]
fn a_key_that_is_refused_holds_the_role_until_a_session_gets_on() {
    let mut scene = Scene::working(Policy { max_jobs: 1, ..Policy::default() });
    refused(&mut scene, DEV);
    assert_eq!(scene.found(Role::DEV), Some(Found::Session));
    assert_eq!((scene.state(), scene.job().is_unstaffed(), told(&scene)), ("respawning", true, 1));
    assert!(!scene.has("start_session"));
    // Looking finds nothing wrong, and proves nothing: one goes and tries, where it was.
    scene.event(Event::Resumed);
    let start = scene.pending.iter().find_map(|action| match action {
        Action::StartSession(start) => start.resume.clone(),
        _ => None,
    });
    assert_eq!(start.and_then(|resume| resume.conversation).as_deref(), Some("c"));
    assert!(scene.found(Role::DEV).is_some());
    scene.start_session();

    // Refused again: not told again, and tried again after a longer pause.
    refused(&mut scene, Epoch(2));
    assert_eq!((told(&scene), scene.has("start_session")), (1, false));
    scene.wait(Duration::from_secs(3600)).start_session();
    scene.status(Epoch(3), State::Idle);
    assert_eq!(scene.found(Role::DEV), None, "the model answers");
    assert_eq!((scene.job().rounds.respawns, scene.state()), (0, "working"));
    assert_eq!(scene.job().session, Some(Epoch(3)));
}

#[test]
fn nothing_new_is_begun_while_one_tries() {
    let mut scene = Scene::working(Policy { max_jobs: 2, ..Policy::default() });
    refused(&mut scene, DEV);
    scene.issue(2, &["backlog"], &[]).event(Event::StaffTouched { project: None }).start_session();
    assert_eq!(scene.floor.jobs.len(), 1);
    scene.signal(Epoch(2), Phase::AwaitingCi);
    assert_eq!((scene.floor.jobs.len(), scene.found(Role::DEV)), (2, None));
}

#[test]
fn an_outage_whose_job_is_gone_is_over() {
    let mut scene = Scene::working(Policy::default());
    refused(&mut scene, DEV);
    scene.event(Event::Cancelled { project: project(), issue: IssueNumber(1) });
    scene.event(Event::StaffTouched { project: Some(project()) });
    assert_eq!(scene.found(Role::DEV), None);
}

fn start_typed(scene: &mut Scene) {
    scene.answer(
        "start_session",
        Outcome::SessionStarted(outcome::SessionStarted {
            tmux: "t".into(),
            process: ProcessId { pid: 1, start: 1 },
            phase_file: "f".into(),
            runtime: "codex".into(),
            prompt: Some("You review".into()),
            notes: vec![],
        }),
    );
}

#[test]
fn a_reviewer_that_dies_as_it_starts_says_why_and_another_comes_when_that_is_mended() {
    let mut scene = Scene::reviewing(Policy::default(), 1);
    for epoch in [REVIEWER, Epoch(3)] {
        start_typed(&mut scene);
        scene.exited(epoch, Some(1));
        scene.answer(
            "end_session",
            Outcome::SessionEnded(outcome::SessionEnded {
                rescue: None,
                last_output: "Error: unknown variant `bogus`".into(),
                note: None,
            }),
        );
    }
    let outage = scene.floor.outage(&project(), Role::REVIEW).expect("held").clone();
    assert!(
        outage.why.contains("(exit 1)") && outage.why.contains("unknown variant `bogus`"),
        "{}",
        outage.why
    );
    assert_eq!(scene.floor.outage_of(scene.job()), Some(&outage));
    assert_eq!((scene.state(), told(&scene), scene.has("start_session")), ("reviewing", 1, false));
    // `up` tries again; what gets on ends it.
    scene.event(Event::Resumed);
    start_typed(&mut scene);
    scene.status(Epoch(4), State::Idle);
    assert_eq!(scene.found(Role::REVIEW), None);
}

/// The reviewer's command ends in an error at once, with those words.
fn dies(scene: &mut Scene, words: &str) {
    scene.start_session();
    let at = scene.floor.sessions.iter().map(|s| s.epoch).max().expect("a session");
    scene.exited(at, Some(127)).answer(
        "end_session",
        Outcome::SessionEnded(outcome::SessionEnded { rescue: None, last_output: words.into(), note: None }),
    );
}

#[test]
fn a_command_that_ends_in_an_error_at_once_is_the_projects_trouble_and_says_why() {
    let mut scene = Scene::reviewing(Policy::default(), 1);
    dies(&mut scene, "\u{1b}[31mreviewer: not found\u{1b}[0m\n");
    let said = |n: &&Note| n.kind == NoteKind::ReviewUnusable;
    let note = scene.notes.iter().find(said).expect("told").text.clone();
    assert!(note.ends_with("stopped (exit 127) without a review; it says: reviewer: not found"), "{note}");
    dies(&mut scene, "reviewer: not found\n");
    let outage = scene.floor.outage(&project(), Role::REVIEW).expect("out").clone();
    assert_eq!(
        outage.why,
        "the command ends as soon as it is started (exit 127); it says: reviewer: not found"
    );
    assert_eq!((scene.state(), told(&scene), scene.noted(NoteKind::Escalation)), ("reviewing", 1, 0));
    assert!(!scene.has("start_session") && !scene.has("comment"));
    // `up` tries again. What leaves in good order ends it.
    scene.event(Event::Resumed).start_session();
    scene.exited(Epoch(4), Some(0)).answer("collect_review", reviewed(Verdict::Approve));
    assert_eq!(scene.found(Role::REVIEW), None);
}

#[test]
fn one_change_that_kills_its_reviewer_keeps_no_other_waiting() {
    let mut scene = Scene::reviewing(Policy { max_jobs: 2, ..Policy::default() }, 1);
    dies(&mut scene, "boom");
    dies(&mut scene, "boom");
    assert_eq!(scene.floor.outage(&project(), Role::REVIEW).and_then(|o| o.shown_by), Some(JOB));
    // Another change waits as well. Those that wait try in turn.
    let other = JobId(2);
    scene.issue(2, &["backlog"], &[]);
    let mut twin = scene.job().clone();
    (twin.id, twin.assignment, twin.head) = (other, Assignment::Issue(IssueNumber(2)), Some(sha(2)));
    twin.state = crate::state::JobState::Reviewing { head: sha(2) };
    scene.floor.jobs.load(twin);
    scene.event(Event::Resumed);
    dies(&mut scene, "boom");
    dies(&mut scene, "boom");
    scene.event(Event::Resumed).start_session();
    let tries = scene.floor.jobs.get(&other).expect("there").reviewer.session.expect("its turn");
    scene.event(Event::ResultWritten { epoch: tries });
    assert_eq!(scene.found(Role::REVIEW), None, "it gets on");
    // The first begins again, and now it is its own trouble: people are asked to review that one.
    dies(&mut scene, "boom");
    dies(&mut scene, "boom");
    assert_eq!(scene.found(Role::REVIEW), None);
    let asked = |n: &&Note| n.kind == NoteKind::Escalation && n.text.contains("it says: boom");
    assert_eq!(scene.notes.iter().filter(asked).count(), 1);
}

#[test]
fn a_reviewers_refused_key_leaves_the_pull_request_waiting() {
    let mut scene = Scene::reviewing(Policy { max_jobs: 2, ..Policy::default() }, 1);
    start_typed(&mut scene);
    scene.status(REVIEWER, State::Failed { error: ErrorKind::Billing });
    scene.end_session();
    assert_eq!(scene.found(Role::REVIEW), Some(Found::Session));
    assert_eq!((scene.state(), scene.job().reviewer.attempts), ("reviewing", 0));
    // Developers go on meanwhile.
    scene.issue(2, &["backlog"], &[]);
    assert_eq!(scene.floor.jobs.len(), 2);
    scene.event(Event::StaffTouched { project: None });
    assert!(scene.has("start_session"));
}

#[test]
fn rows_of_earlier_builds_are_read() {
    let row = r#"{"project":"p","holds":[{"role":"dev","why":"no key","found":"look","since":1,"question":7,"remind_at":2,"reminded":0,"retry_at":3,"tries":0}]}"#;
    let staff: crate::state::Staff = serde_json::from_str(row).expect("it is read");
    let outage = staff.outage(Role::DEV).expect("out");
    assert_eq!((outage.why.as_str(), outage.question, outage.tried), ("no key", QuestionId(7), None));
    assert_eq!(serde_json::to_value(&staff).expect("JSON")["holds"][0]["why"], "no key");
}

fn asks_to_log_in(scene: &mut Scene, epoch: Epoch) {
    let status = SessionStatus {
        state: State::Dialog { kind: DialogKind::Login },
        since: scene.now,
        confidence: Confidence::High,
        context_percent: None,
        cost_micros: None,
        tokens: None,
        dialog: Some(DialogView { text: "Select login method:".into(), ..DialogView::default() }),
        question: None,
    };
    scene.event(Event::StatusSeen { epoch, status, conversation: Some("c".into()) });
}

#[test]
fn a_login_dialog_is_one_outage_and_one_question() {
    let mut scene = Scene::working(Policy { max_jobs: 2, ..Policy::default() });
    asks_to_log_in(&mut scene, DEV);
    asks_to_log_in(&mut scene, DEV);
    let outage = scene.floor.outage(&project(), Role::DEV).expect("out").clone();
    let ask = scene.floor.sessions.get(&DEV).and_then(|s| s.asks.open.clone()).expect("it asks");
    assert_eq!((outage.question, scene.floor.question_of(&outage)), (ask.id, ask.id));
    assert_eq!((told(&scene), scene.state(), scene.has("end_session")), (1, "working", false));
    assert_eq!(scene.floor.outage_of(scene.job()), Some(&outage));
    // Nothing new is begun, also not by a daemon that begins; and the dialog stays.
    scene.issue(2, &["backlog"], &[]).event(Event::Resumed);
    assert_eq!((scene.floor.jobs.len(), scene.has("end_session")), (1, false));
    // Somebody logs in there: it gets on, and so does everything.
    scene.status(DEV, State::Idle);
    assert_eq!((scene.floor.jobs.len(), scene.found(Role::DEV)), (2, None));
    assert_eq!(scene.job().session, Some(DEV));
}

#[test]
fn a_login_that_is_mended_elsewhere_replaces_the_session_in_the_dialog() {
    let mut scene = Scene::working(Policy::default());
    asks_to_log_in(&mut scene, DEV);
    let question = scene.floor.outage(&project(), Role::DEV).expect("out").question;
    scene.event(Event::StaffTouched { project: Some(project()) });
    assert!(scene.has("end_session"));
    let outage = scene.floor.outage(&project(), Role::DEV).expect("out").clone();
    assert_eq!((scene.floor.question_of(&outage), told(&scene)), (question, 1));
    scene.end_session();
    assert!(scene.has("start_session"));
    scene.start_session();
    scene.status(Epoch(2), State::Idle);
    assert_eq!((scene.found(Role::DEV), scene.job().rounds.respawns), (None, 0));
}

#[test]
fn a_login_dialog_that_a_person_is_at_is_left_to_them() {
    let mut scene = Scene::working(Policy::default());
    asks_to_log_in(&mut scene, DEV);
    let at = scene.now;
    scene.event(Event::PersonTyped { epoch: DEV, at });
    scene.event(Event::StaffTouched { project: Some(project()) });
    assert!(!scene.has("end_session"));
    assert!(scene.floor.outage_of(scene.job()).is_some());
}
