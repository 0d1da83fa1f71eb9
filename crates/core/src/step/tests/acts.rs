//! What agents have the factory do with commands: allowed by their role, counted by their job, done once.

use super::*;
use crate::act::{Act, ActOrder, Refusal};
use crate::capability::{Capability, Rights};
use crate::ids::{ActId, Role};
use crate::label::{ACTIONED, UNREVIEWED, WATCHED};
use crate::phase::Ask;
use crate::state::{Conduct, DeedEnd};
use crate::step::{may_act, may_ask};

fn issue(title: &str, labels: &[&str]) -> Act {
    let labels = labels.iter().map(|label| (*label).to_owned()).collect();
    Act::CreateIssue { title: title.into(), body: "As found.".into(), labels, deps: vec![] }
}

fn comment(issue: u64, text: &str) -> Act {
    Act::Comment { issue: IssueNumber(issue), text: text.into() }
}

fn label(add: &[&str], remove: &[&str]) -> Act {
    let list = |labels: &[&str]| labels.iter().map(|label| (*label).to_owned()).collect();
    Act::Label { issue: IssueNumber(1), add: list(add), remove: list(remove) }
}

fn rights(may: &[Capability], labels: &[&str]) -> Policy {
    let rights = Rights {
        may: may.iter().copied().collect(),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        max_issues: 2,
        max_changes: 3,
        ..Rights::of(Role::DEV)
    };
    Policy { roles: [(Role::DEV, rights)].into(), ..Policy::default() }
}

impl Scene {
    fn wants_done(&mut self, act: &Act) -> &mut Self {
        let epoch = self.epoch();
        self.event(Event::ActAsked { epoch, act: act.clone() })
    }

    /// The session that works for the job.
    fn epoch(&self) -> Epoch {
        self.job().session.expect("there is a session")
    }

    fn may(&self, act: &Act) -> Result<Option<ActId>, Refusal> {
        may_act(&self.floor, self.epoch(), act)
    }

    fn conduct(&self) -> &Conduct {
        self.floor.conduct(self.epoch()).expect("there is some")
    }

    fn orders(&self) -> Vec<&ActOrder> {
        fn order(action: &Action) -> Option<&ActOrder> {
            match action {
                Action::Act(order) => Some(order),
                _ => None,
            }
        }
        self.pending.iter().filter_map(order).collect()
    }

    /// Its session dies, and a successor takes over.
    fn replaced(&mut self) -> &mut Self {
        let epoch = self.epoch();
        self.exited(epoch, None).end_session().wait(Duration::from_secs(60)).start_session()
    }

    fn acted(&mut self, issue: u64) -> &mut Self {
        self.answer("act", Outcome::Acted(outcome::Acted { issue: IssueNumber(issue) }))
    }
}

#[test]
fn a_developer_proposes_issues_that_start_nothing() {
    let mut scene = Scene::working(Policy::default());
    scene.wants_done(&issue("Login times out", &[]));
    let [order] = scene.orders()[..] else { panic!("one is ordered: {:?}", scene.names()) };
    assert_eq!((order.role, order.id, order.job), (Role::DEV, ActId(1), scene.job().id));
    assert_eq!(scene.noted(NoteKind::AgentAct), 1);
    scene.acted(12);
    assert_eq!(scene.conduct().deeds[0].end, Some(DeedEnd::Done { issue: IssueNumber(12) }));
    assert_eq!(scene.noted(NoteKind::AgentAct), 2, "and that it is done");
    for (before, labels) in
        [&["backlog"][..], &["priority"], &["tech-debt"], &["Backlog"], &["back\u{200b}log"]]
            .iter()
            .enumerate()
    {
        let wanted = issue("Something else entirely", labels);
        assert_eq!(scene.may(&wanted), Err(Refusal::Label(Role::DEV, labels[0].to_owned())));
        scene.wants_done(&wanted);
        assert!(scene.orders().is_empty());
        assert_eq!(scene.noted(NoteKind::Refused), before + 1, "{labels:?}");
    }
}

#[test]
fn what_a_role_lacks_is_refused() {
    let mut scene = Scene::working(rights(&[], &["backlog"]));
    for (act, capability) in [
        (issue("One", &[]), Capability::CreateIssue),
        (comment(2, "Hello"), Capability::CommentIssue),
        (label(&["backlog"], &[]), Capability::LabelIssue),
        (Act::Close { issue: IssueNumber(1) }, Capability::CloseIssue),
    ] {
        assert_eq!(scene.may(&act), Err(Refusal::Lacks(Role::DEV, capability)));
        assert!(scene.may(&act).is_err_and(|refusal| refusal.needs_person()));
        scene.wants_done(&act);
        assert!(scene.orders().is_empty(), "{act:?}");
    }
    assert_eq!(scene.conduct().refused, 4);
    scene.wants_done(&comment(1, "It goes well."));
    assert_eq!(scene.orders().len(), 1, "its own issue it may comment on");
}

#[test]
fn only_the_labels_of_the_role_are_put_on_and_taken_off() {
    let mut scene = Scene::working(rights(&[Capability::LabelIssue], &["a", "b"]));
    scene.wants_done(&label(&["a"], &["b"]));
    assert_eq!(scene.orders().len(), 1);
    for (add, remove) in [(&["a", "backlog"][..], &[][..]), (&[], &["in-progress"]), (&["A"], &[])] {
        assert!(matches!(scene.may(&label(add, remove)), Err(Refusal::Label(..))), "{add:?} {remove:?}");
    }
    // What changes labels may be wanted again, after something else.
    scene.acted(1).wants_done(&label(&["b"], &["a"])).acted(1).wants_done(&label(&["a"], &["b"]));
    assert_eq!((scene.orders().len(), scene.conduct().changes), (1, 3));
}

#[test]
fn nobody_gets_more_than_the_quota_by_asking_again_or_being_replaced() {
    let mut scene = Scene::working(rights(&[Capability::CreateIssue], &[]));
    let first = issue("Login times out", &[]);
    scene.wants_done(&first).wants_done(&first);
    assert_eq!((scene.orders().len(), scene.conduct().issues), (1, 1), "it was asked for once");
    scene.acted(12);
    assert_eq!(scene.may(&first), Ok(Some(ActId(1))), "it is done");
    let before = scene.epoch();
    scene.replaced();
    assert!(scene.epoch() > before, "a successor is at work");
    assert_eq!(scene.may(&first), Ok(Some(ActId(1))), "whoever died in between");
    assert_eq!(may_act(&scene.floor, before, &first), Err(Refusal::Over));
    scene.event(Event::ActAsked { epoch: before, act: issue("From the grave", &[]) });
    assert!(scene.orders().is_empty());
    scene.wants_done(&issue("Daemon memory grows", &[])).acted(13);
    assert_eq!(scene.may(&issue("Something quite different", &[])), Err(Refusal::Issues(2)));
    for number in 0..50 {
        scene.wants_done(&issue(&format!("Flood number {number} of {number}"), &[]));
    }
    assert!(scene.orders().is_empty());
    assert_eq!(scene.conduct().refused, 20, "and no more than that is put on record");
    for text in ["One", "Two", "Three"] {
        scene.wants_done(&comment(1, text)).acted(1);
    }
    assert_eq!(scene.may(&comment(1, "Four")), Err(Refusal::Changes(3)));
    assert_eq!(scene.may(&comment(1, "Two")), Ok(Some(ActId(4))));
}

#[test]
fn an_issue_like_an_open_one_of_its_kind_is_not_made_again() {
    let policy = rights(&[Capability::CreateIssue], &["prediction/unreviewed"]);
    let mut scene = Scene::working(policy);
    let see = |scene: &mut Scene, number: u64, title: &str, by: Option<Role>, labels: &[&str], open: bool| {
        scene.observe(Observation::Issue {
            number: IssueNumber(number),
            title: title.into(),
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            open,
            deps: vec![],
            created_at: Time(0),
            revision: 0,
            version: Default::default(),
            hints: Default::default(),
            by,
        });
    };
    see(&mut scene, 20, "The login times out", Some(Role::DEV), &[], true);
    see(&mut scene, 21, "Disk is full by Friday", None, &["prediction/unreviewed"], true);
    see(&mut scene, 22, "Queue stands still", None, &[], true);
    see(&mut scene, 23, "Colours are wrong", Some(Role::DEV), &[], false);
    let like = |number: u64, title: &str| Err(Refusal::Like(Some(IssueNumber(number)), title.to_owned()));
    assert_eq!(scene.may(&issue("Login times out", &[])), like(20, "The login times out"));
    assert_eq!(scene.may(&issue("Disk full by Friday", &[])), Ok(None), "it shares no label with it");
    let predicted = issue("Disk full by Friday", &["prediction/unreviewed"]);
    assert_eq!(scene.may(&predicted), like(21, "Disk is full by Friday"));
    assert_eq!(scene.may(&issue("Queue stands still", &[])), Ok(None), "a person's is another matter");
    assert_eq!(scene.may(&issue("Colours are wrong", &[])), Ok(None), "it is closed");
    // What is being made, or not seen yet, counts as well.
    scene.wants_done(&issue("Menu is empty", &[]));
    let again = issue("The menu is empty", &[]);
    assert_eq!(scene.may(&again), Err(Refusal::Like(None, "Menu is empty".into())));
    scene.acted(30);
    assert_eq!(scene.may(&again), like(30, "Menu is empty"));
    see(&mut scene, 30, "Menu is empty", Some(Role::DEV), &[], false);
    assert_eq!(scene.may(&again), Ok(None), "it was closed in the meantime");
}

#[test]
fn what_cannot_be_done_is_told_and_may_be_tried_again() {
    let mut scene = Scene::working(Policy::default());
    let act = issue("Login times out", &[]);
    scene.wants_done(&act);
    let why = "there is no issue 99".to_owned();
    scene.answer("act", Outcome::Impossible(outcome::Impossible { why: why.clone() }));
    assert_eq!(scene.conduct().deeds[0].end, Some(DeedEnd::Impossible { why }));
    assert_eq!(scene.may(&act), Ok(None));
    assert_eq!(scene.state(), "working");
}

#[test]
fn conduct_goes_with_its_job_and_what_is_under_way_is_done() {
    let mut scene = Scene::working(Policy::default());
    scene.wants_done(&issue("Login times out", &[]));
    let (project, number) = (project(), IssueNumber(1));
    scene.event(Event::Cancelled { project, issue: number });
    let order = scene.take("act");
    scene.settle();
    assert!(scene.job().end().is_some());
    assert_eq!(scene.floor.conducts.len(), 1, "it is still on its way");
    scene.pending.push(order);
    scene.acted(12);
    assert!(scene.floor.conducts.is_empty());
}

#[test]
fn an_agent_asks_and_works_on_until_somebody_answers() {
    let mut scene = Scene::working(Policy::default());
    let epoch = scene.epoch();
    let ask = Ask { options: vec!["red".into(), "blue".into()], ..Ask::default() };
    let event = Event::QuestionAsked { epoch, question: "Which\x1b[2J colour?".into(), ask };
    scene.event(event.clone());
    assert_eq!((scene.state(), scene.noted(NoteKind::NeedsHuman)), ("working", 1));
    let id = scene.conduct().query.as_ref().expect("it is open").asked.id;
    assert_eq!(may_ask(&scene.floor, epoch), Err(Refusal::Asks(id)));
    scene.event(event);
    assert_eq!(scene.noted(NoteKind::NeedsHuman), 1, "one at a time");
    // Its successor gets the answer.
    scene.replaced();
    let answer = |text: &str| Event::Answered {
        project: project(),
        issue: Some(IssueNumber(1)),
        text: text.into(),
        question: Some(id),
    };
    scene.event(answer("2"));
    let told = |scene: &Scene| -> Vec<String> {
        scene.floor.messages.iter().map(|message| message.text.clone()).collect()
    };
    assert_eq!(told(&scene), ["Answer: blue"]);
    assert!(scene.conduct().query.is_none());
    scene.event(answer("1"));
    assert_eq!(told(&scene), ["Answer: blue"], "the first answer wins");
}

#[test]
fn an_agents_question_ends_with_its_default_or_people_are_reminded() {
    let mut scene = Scene::working(Policy::default());
    let epoch = scene.epoch();
    let hour = Duration::from_secs(3600);
    let asks = |scene: &mut Scene, default: Option<&str>| {
        let ask = Ask { options: vec![], default: default.map(str::to_owned), within: Some(hour) };
        scene.event(Event::QuestionAsked { epoch, question: "Which one?".into(), ask });
    };
    asks(&mut scene, Some("the first"));
    scene.wait(hour);
    assert!(scene.conduct().query.is_none());
    let text = scene.floor.messages.iter().next().map(|message| message.text.clone());
    assert!(text.is_some_and(|text| text.starts_with("Answer: the first\n")));
    asks(&mut scene, None);
    scene.wait(hour);
    let said = scene.notes.iter().filter(|note| note.text.contains("still waits for an answer")).count();
    assert_eq!(said, 1, "it needed the answer by now");
    assert!(scene.conduct().query.is_some(), "and somebody may still give it");
    assert!(scene.floor.next_deadline().is_some_and(|at| at > scene.now));
}

#[test]
fn who_may_not_ask_is_refused_and_nobody_asks_for_ever() {
    let mut scene = Scene::working(rights(&[], &[]));
    let epoch = scene.epoch();
    let ask = || Event::QuestionAsked { epoch, question: "Well?".into(), ask: Ask::default() };
    assert_eq!(may_ask(&scene.floor, epoch), Err(Refusal::Lacks(Role::DEV, Capability::AskQuestion)));
    scene.event(ask());
    assert!(scene.conduct().query.is_none());

    let mut scene = Scene::working(Policy::default());
    for _ in 0..10 {
        scene.event(ask());
        let question = scene.conduct().query.as_ref().map(|query| query.asked.id);
        assert!(question.is_some());
        let (project, text) = (project(), "yes".to_owned());
        scene.event(Event::Answered { project, issue: None, text, question });
    }
    assert_eq!(may_ask(&scene.floor, epoch), Err(Refusal::Questions(10)));
}

/// What the role gets whatever it asks for.
#[test]
fn what_a_predictor_makes_is_a_prediction_whatever_it_asks_for() {
    let rights = Rights { max_issues: 1, ..Rights::of(Role::PREDICTOR) };
    let policy = Policy { roles: [(Role::DEV, rights)].into(), ..Policy::default() };
    let mut scene = Scene::working(policy);
    let bare = issue("Disk is full by Friday", &[]);
    scene.wants_done(&bare);
    let [order] = scene.orders()[..] else { panic!("one is ordered") };
    assert_eq!(order.what, issue("Disk is full by Friday", &[UNREVIEWED]));
    scene.acted(12);
    let labelled = issue("Disk is full by Friday", &[UNREVIEWED]);
    assert_eq!((scene.may(&bare), scene.may(&labelled)), (Ok(Some(ActId(1))), Ok(Some(ActId(1)))));
    for wanted in ["backlog", "action", ACTIONED, WATCHED, "Prediction/unreviewed"] {
        let act = issue("Memory runs out", &[wanted]);
        assert_eq!(scene.may(&act), Err(Refusal::Label(Role::DEV, wanted.to_owned())));
    }
    assert_eq!(scene.may(&issue("Memory runs out", &[])), Err(Refusal::Issues(1)));
    for act in [label(&[UNREVIEWED], &[]), comment(2, "x"), Act::Close { issue: IssueNumber(2) }] {
        assert!(matches!(scene.may(&act), Err(Refusal::Lacks(..))), "{act:?}");
    }
}

#[test]
fn to_have_an_issue_worked_on_counts_as_making_one() {
    let may = [Capability::CreateIssue, Capability::LabelIssue, Capability::CommentIssue];
    let mut policy = rights(&may, &["backlog", "action", UNREVIEWED, ACTIONED, WATCHED]);
    policy.roles.get_mut(&Role::DEV).expect("its rights").max_changes = 10;
    let mut scene = Scene::working(policy);
    let on = |issue: u64, add: &[&str]| {
        let add = add.iter().map(|label| (*label).to_owned()).collect();
        Act::Label { issue: IssueNumber(issue), add, remove: vec![UNREVIEWED.into()] }
    };
    scene.wants_done(&issue("Login times out", &["backlog"])).acted(30);
    scene.wants_done(&on(20, &["backlog", ACTIONED])).acted(20);
    assert_eq!((scene.conduct().issues, &scene.conduct().begun[..]), (2, &[IssueNumber(20)][..]));
    assert_eq!(scene.may(&on(21, &["action", ACTIONED])), Err(Refusal::Issues(2)));
    assert_eq!(scene.may(&issue("Queue stands still", &[])), Err(Refusal::Issues(2)));
    assert_eq!(scene.may(&on(20, &["action"])), Ok(None), "the same issue counts once");
    assert_eq!(scene.may(&on(21, &[WATCHED])), Ok(None), "to watch one begins nothing");
    scene.replaced();
    assert_eq!(scene.may(&on(21, &["backlog"])), Err(Refusal::Issues(2)), "nor does a successor");
}

#[test]
fn a_prediction_is_dismissed_with_a_reason() {
    let may = [Capability::LabelIssue, Capability::CommentIssue, Capability::CloseIssue];
    let mut policy = rights(&may, &["backlog", UNREVIEWED, ACTIONED, WATCHED]);
    policy.roles.get_mut(&Role::DEV).expect("its rights").max_changes = 10;
    let mut scene = Scene::working(policy);
    scene.observe(Observation::Issue {
        number: IssueNumber(20),
        title: "Disk is full by Friday".into(),
        labels: [UNREVIEWED.to_owned()].into(),
        open: true,
        deps: vec![],
        created_at: Time(0),
        revision: 0,
        version: Default::default(),
        hints: Default::default(),
        by: Some(Role::PREDICTOR),
    });
    let on = |add: &[&str], remove: &[&str]| {
        let list = |labels: &[&str]| labels.iter().map(|label| (*label).to_owned()).collect();
        Act::Label { issue: IssueNumber(20), add: list(add), remove: list(remove) }
    };
    let close = Act::Close { issue: IssueNumber(20) };
    let dismissals = [on(&[ACTIONED], &[UNREVIEWED]), on(&[], &[UNREVIEWED]), on(&[], &[WATCHED]), close];
    for act in &dismissals {
        assert_eq!(scene.may(act), Err(Refusal::NoReason(IssueNumber(20))), "{act:?}");
    }
    for act in [on(&[WATCHED], &[UNREVIEWED]), on(&["backlog", ACTIONED], &[UNREVIEWED])] {
        assert_eq!(scene.may(&act), Ok(None), "{act:?}");
    }
    // Another's comment is no reason for this one, and one that is on its way cannot be read.
    scene.wants_done(&comment(21, "No."));
    scene.acted(21).wants_done(&comment(20, "The disk was replaced."));
    assert!(scene.may(&dismissals[0]).is_err());
    scene.acted(20);
    for act in &dismissals {
        assert_eq!(scene.may(act), Ok(None), "{act:?}");
    }
}

#[test]
fn a_role_may_be_bound_to_close_issues_with_some_labels_only() {
    let rights = Rights { may: [Capability::CloseIssue].into(), ..Rights::of(Role::PLANNER) };
    let mut scene = Scene::working(Policy { roles: [(Role::DEV, rights)].into(), ..Policy::default() });
    for issue in [1, 99] {
        let close = Act::Close { issue: IssueNumber(issue) };
        assert_eq!(scene.may(&close), Err(Refusal::Closes(Role::DEV, IssueNumber(issue))));
        assert!(scene.may(&close).is_err_and(|refusal| refusal.needs_person()));
        scene.wants_done(&close);
        assert!(scene.orders().is_empty());
    }
}
