//! Gardeners: an answer is taken as a whole or not at all, dust becomes one issue, people decide by number and letter, and
//! what was changed can be put back.

use super::*;
use crate::act::{Act, ActOrder, Before, Part};
use crate::effect::ReadAnswer;
use crate::event::RunAsk;
use crate::groom::answer::{Answer, Mistake, parse};
use crate::ids::{ActId, Role, RunNumber};
use crate::recipe::{AnswerKind, Context, Recipe, Step as Task};
use crate::state::{Garden, ReversalState, RunResult, StepState};
use crate::step::{NotUndone, may_undo};

const RUN: RunNumber = RunNumber(1);
const DAY: Duration = Duration::from_secs(24 * 3600);

fn steps() -> Vec<Task> {
    let step = |name: &str, needs: &[&str], run: Option<&[&str]>, answer| Task {
        id: name.parse().expect("an id"),
        title: String::new(),
        needs: needs.iter().map(|id| id.parse().expect("an id")).collect(),
        description: "do it".into(),
        skipped: false,
        run: run.map(|words| words.iter().map(|word| (*word).to_owned()).collect()),
        timeout: None,
        verify: None,
        answer,
    };
    vec![
        step("look", &[], Some(&["shopfloor", "groom", "--check"]), None),
        step("groom", &["look"], None, Some(AnswerKind::Groom)),
        step("again", &["groom"], None, Some(AnswerKind::Groom)),
    ]
}

fn run_asked() -> Event {
    let recipe = Recipe {
        formula: "gardener".parse().expect("a name"),
        version: "1".into(),
        description: "Look after the backlog".into(),
        role: Role::GARDENER,
        model: None,
        vars: Default::default(),
        lifetime: Duration::from_secs(4 * 3600),
        idle: None,
        context: Context::default(),
        steps: steps(),
    };
    Event::RunAsked { project: project(), ask: RunAsk { recipe, by: "ann".into(), schedule: None } }
}

impl Scene {
    /// A floor with ten issues and a gardener at work, who was shown a finding.
    fn gardener() -> Scene {
        let mut scene = Scene::new(Policy::default());
        for number in 1..=10 {
            scene.issue(number, &[], &[]);
        }
        scene.gardener_begins();
        scene
    }

    fn gardener_begins(&mut self) -> &mut Self {
        self.event(run_asked());
        let ready = outcome::WorktreeReady { path: "w".into(), head: sha(0), notes: vec![] };
        self.answer("prepare_worktree", Outcome::WorktreeReady(ready));
        let output = "Short:\n- #1 x\nFindings: 00000000000000aa 00000000000000bb".to_owned();
        self.answer(
            "run_step",
            Outcome::StepRan(outcome::StepRan { code: Some(0), how: String::new(), output }),
        );
        self.start_session()
    }

    fn gardeners(&self) -> Epoch {
        let of_run = |s: &&crate::state::Session| s.role == Role::GARDENER;
        self.floor.sessions.iter().rfind(of_run).expect("there is one").epoch
    }

    /// Its agent leaves that answer to a step, and says that the step is done.
    fn answers_in(&mut self, step: &str, text: &str) -> &mut Self {
        let (epoch, step) = (self.gardeners(), step.parse().expect("an id"));
        let said = crate::event::StepSaid { step, skip: false, note: String::new() };
        self.event(Event::StepSaid { epoch, said });
        let read = match parse(text) {
            Ok(answer) => outcome::AnswerRead::Groom {
                answer,
                digest: crate::digest::Digest::new().field(text.as_bytes()).finish(),
            },
            Err(mistake) => outcome::AnswerRead::Wrong { mistake },
        };
        self.answer("read_answer", Outcome::AnswerRead(read))
    }

    /// Its agent has nothing more to do, and left nothing that could land.
    fn gardener_is_through(&mut self) -> &mut Self {
        let epoch = self.gardeners();
        self.signal(epoch, Phase::Done).branch(0)
    }

    fn answers(&mut self, text: &str) -> &mut Self {
        self.answers_in("groom", text)
    }

    fn is_step(&self, name: &str) -> &StepState {
        let run = self.floor.runs.iter().next_back().expect("there is a run");
        &run.step(&name.parse().expect("an id")).expect("there is such a step").2.state
    }

    fn ordered(&self) -> Vec<ActOrder> {
        let order = |action: &Action| match action {
            Action::Act(order) => Some(order.clone()),
            _ => None,
        };
        self.pending.iter().filter_map(order).collect()
    }

    fn garden(&self) -> &Garden {
        self.floor.gardens.get(&project()).expect("there is one")
    }

    /// The oldest act is looked at, and then done.
    fn acts(&mut self, before: Before, made: &[u64]) -> ActId {
        self.answer("act", Outcome::ActSeen(before));
        let at = self.pending.iter().position(|a| matches!(a, Action::Act(o) if o.before.is_some()));
        let action = self.pending.remove(at.expect("it is ordered again"));
        let Action::Act(order) = &action else { unreachable!() };
        let (id, issue) = (order.id, order.what.issue().unwrap_or(IssueNumber(made[0])));
        let made = made.iter().map(|n| IssueNumber(*n)).collect();
        let outcome = Outcome::Acted(outcome::Acted { issue, made });
        self.event(Event::Performed { action, outcome });
        id
    }

    /// What its agent was told last.
    fn last_told(&self) -> String {
        self.floor.messages.iter().next_back().map(|message| message.text.clone()).unwrap_or_default()
    }
}

fn dust(issue: u64, group: &str) -> String {
    format!(
        "DUST: {{\"issue\": {issue}, \"group\": \"{group}\", \"title\": \"Typo\", \"reason\": \"small\"}}\n"
    )
}

const ASKS: &str = "ESCALATE\n1. #5 Keep it?\n a) yes\n b) no => ACTION: label #5 +backlog -blocked\n\
                    2. #6 And this?\n a) yes\n b) no\n c) perhaps\n";

#[test]
fn what_an_answer_says_is_done() {
    let mut scene = Scene::gardener();
    scene.answers(
        "ACTION: edit #1 title \"Better\"\nACTION: close #2 duplicate of #1\nACTION: label #3 +tech-debt\n",
    );
    assert_eq!(scene.is_step("groom"), &StepState::Done);
    let ordered = scene.ordered();
    assert_eq!(ordered.len(), 3);
    assert!(ordered.iter().all(|order| order.role == Role::GARDENER && order.before.is_none()));
    assert_eq!(ordered[1].what, Act::CloseAs { issue: IssueNumber(2), of: IssueNumber(1) });
    assert_eq!(scene.garden().judged, [0xaa, 0xbb]);
    // The same answer once more is nobody's: nothing of it is done twice.
    scene.answers_in(
        "again",
        "ACTION: edit #1 title \"Better\"\nACTION: close #2 duplicate of #1\nACTION: label #3 +tech-debt\n",
    );
    assert!(scene.last_told().contains("what you answered for step `groom`"), "{}", scene.last_told());
    assert_eq!(scene.ordered().len(), 3);
    scene.answers_in("again", "CLEAN");
    assert_eq!(scene.is_step("again"), &StepState::Done);
}

#[test]
fn an_answer_with_a_mistake_is_not_half_taken() {
    let fine = "ACTION: edit #1 title \"Better\"\n";
    for (wrong, why) in [
        ("ACTION: label #3 +backlog\n", "line 2: the role gardener may not put on or take off the label"),
        ("ACTION: close #2 duplicate of #99\n", "line 2: there is no open issue #99"),
        ("ACTION: edit #99 title \"x\"\n", "line 2: there is no open issue #99"),
        ("ACTION: link #3 depends on #3\n", "line 2: #3 would be about itself"),
        (
            "ACTION: link #3 depends on #4\nACTION: link #4 depends on #3\n",
            "line 3: #4 would be about itself",
        ),
        (
            "DUST: {\"issue\": 99, \"group\": \"g\", \"title\": \"t\", \"reason\": \"r\"}\n",
            "line 2: there is no",
        ),
        ("ESCALATE\n1. #99 Well?\n a) x\n b) y\n", "line 3: there is no open issue #99"),
        ("ESCALATE\n1. #5 Well?\n a) x\n b) y => ACTION: label #5 +in-progress\n", "line 3: the role"),
        ("Sorry\n", "line 2: \"Sorry\" is none of"),
    ] {
        let mut scene = Scene::gardener();
        scene.answers(&format!("{fine}{wrong}"));
        assert!(scene.last_told().contains(why), "{wrong:?}: {}", scene.last_told());
        assert_eq!(scene.is_step("groom"), &StepState::Open);
        assert!(scene.ordered().is_empty() && scene.floor.gardens.is_empty(), "{wrong:?}");
        // It is put right.
        scene.answers(fine);
        assert_eq!((scene.is_step("groom"), scene.ordered().len()), (&StepState::Done, 1));
    }
}

#[test]
fn whoever_never_finds_the_words_ends_the_run() {
    let mut scene = Scene::gardener();
    for _ in 0..5 {
        scene.answers("I think all is well.");
    }
    scene.settle();
    assert_eq!(scene.floor.runs.get(&RUN).and_then(|run| run.result()), Some(RunResult::Failed));
    assert!(scene.floor.gardens.is_empty(), "nothing was judged");
}

#[test]
fn what_is_being_worked_on_is_left_alone() {
    let mut scene = Scene::new(Policy::default());
    scene.issue(2, &[], &[]).gardener_begins();
    scene.issue(1, &["backlog"], &[]);
    assert!(scene.floor.job_of(&project(), IssueNumber(1)).is_some_and(Job::is_live));
    for line in
        ["edit #1 title \"x\"", "close #1 duplicate of #2", "label #1 +tech-debt", "link #1 depends on #2"]
    {
        scene.answers(&format!("ACTION: {line}\n"));
        assert!(scene.last_told().contains("line 1: #1 is being worked on"), "{}", scene.last_told());
        if scene.is_step("groom") != &StepState::Open {
            break;
        }
    }
    assert!(scene.ordered().is_empty());
}

#[test]
fn a_role_with_fewer_rights_does_less() {
    let none = crate::capability::Rights { max_changes: 1, ..crate::capability::Rights::of(Role::GARDENER) };
    let policy = Policy { roles: [(Role::GARDENER, none)].into(), ..Policy::default() };
    let mut scene = Scene::new(policy);
    scene.issue(1, &[], &[]).issue(2, &[], &[]);
    scene.gardener_begins();
    scene.answers("ACTION: edit #1 title \"x\"\nACTION: edit #2 title \"y\"\n");
    assert!(scene.last_told().contains("line 2: no more than 1 change"), "{}", scene.last_told());
    scene.answers("ACTION: edit #1 title \"x\"\n");
    assert_eq!(scene.ordered().len(), 1);
    scene.answers_in("again", "ACTION: edit #2 title \"y\"\n");
    assert!(scene.last_told().contains("line 1: no more than 1 change"), "the whole run counts");
}

#[test]
fn dust_of_three_issues_becomes_one_issue_once() {
    let mut scene = Scene::gardener();
    scene.answers(&format!("{}{}{}", dust(1, "docs"), dust(2, "Docs"), dust(3, "tests")));
    assert!(scene.ordered().is_empty());
    assert_eq!(scene.garden().dust.len(), 3);
    // The same issue again is no third one.
    scene.answers_in("again", &dust(2, "docs"));
    assert!(scene.ordered().is_empty());
    scene.gardener_is_through().settle();
    scene.wait(DAY * 29).gardener_begins();
    scene.answers(&dust(4, "docs"));
    let ordered = scene.ordered();
    let Act::Bundle { issues, body, .. } = &ordered[0].what else { panic!("{ordered:?}") };
    assert_eq!(issues, &[IssueNumber(1), IssueNumber(2), IssueNumber(4)]);
    assert!(body.contains("- [ ] #4 Typo: small"), "{body}");
    assert_eq!(scene.garden().dust.len(), 1, "the rest waits for more of its group");
    let bundle = scene.acts(Before { open: issues.clone(), ..Before::default() }, &[11]);
    assert_eq!(may_undo(&scene.floor, &project(), bundle), Ok(()));
}

#[test]
fn old_dust_is_forgotten_and_what_is_closed_is_no_dust() {
    let mut scene = Scene::gardener();
    scene.answers(&format!("{}{}", dust(1, "docs"), dust(2, "docs")));
    scene.answers_in("again", "CLEAN").gardener_is_through().settle();
    scene.wait(DAY * 30);
    assert!(scene.garden().dust.is_empty());
    scene.gardener_begins();
    scene.answers(&format!("{}{}", dust(3, "docs"), dust(4, "docs")));
    scene.issue_is(4, &[], &[], false);
    scene.answers_in("again", &dust(5, "docs"));
    assert!(scene.ordered().is_empty(), "only two are open");
}

impl Scene {
    fn decides(&mut self, text: &str) -> &mut Self {
        let question = self.garden().inquiry.as_ref().map(|inquiry| inquiry.id);
        let (project, text) = (project(), text.to_owned());
        self.event(Event::Answered { project, issue: None, text, question })
    }
}

#[test]
fn people_decide_by_number_and_letter_and_the_gardener_is_told() {
    let mut scene = Scene::gardener();
    scene.answers(ASKS);
    assert_eq!(scene.noted(NoteKind::NeedsHuman), 1);
    // The same again is the same question; something new is one part more.
    scene.answers_in("again", &format!("{ASKS}3. #7 Third?\n a) x\n b) y\n"));
    let inquiry = scene.garden().inquiry.clone().expect("it is open");
    assert_eq!((inquiry.parts.len(), inquiry.open()), (3, vec![Some(2), Some(3), Some(2)]));
    scene.decides("2z").decides("nonsense");
    assert_eq!(scene.garden().inquiry.as_ref(), Some(&inquiry), "what is no option decides nothing");
    scene.decides("1b 3a");
    let told: Vec<String> = scene.floor.messages.iter().map(|message| message.text.clone()).collect();
    assert!(told.iter().any(|text| text.contains("#5 Keep it?: b) no")), "it is at work: {told:?}");
    assert!(scene.garden().decided.is_empty());
    let [order] = &scene.ordered()[..] else { panic!("one is chosen: {:?}", scene.names()) };
    let what =
        Act::Label { issue: IssueNumber(5), add: vec!["backlog".into()], remove: vec!["blocked".into()] };
    assert_eq!(order.what, what, "a person may have what the role may not");
    assert!(scene.has("comment"));
    // The rest stays open.
    assert_eq!(scene.garden().inquiry.as_ref().map(|i| i.open()), Some(vec![None, Some(3), None]));
    scene.gardener_is_through().settle();
    scene.decides("2c").decides("2a");
    assert_eq!(scene.floor.inquiries().count(), 0);
    assert_eq!(scene.garden().decided.len(), 1, "the next one is told, of what was said first");
    assert!(scene.garden().decided[0].text.contains("c) perhaps"));
    scene.settle().wait(Duration::from_secs(60)).gardener_begins();
    scene.answers("CLEAN");
    assert!(scene.garden().decided.is_empty(), "it was told");
}

#[test]
fn people_are_reminded_of_what_they_are_asked() {
    let mut scene = Scene::gardener();
    scene.answers(ASKS).answers_in("again", "CLEAN").settle();
    let said = |scene: &Scene| scene.notes.iter().filter(|n| n.text.contains("still waits")).count();
    let (first, later) = (Policy::default().renotify_after, Policy::default().escalate_after);
    scene.wait(first);
    assert_eq!(said(&scene), 1);
    scene.wait(later);
    assert_eq!(said(&scene), 2);
    let last = scene.notes.iter().rfind(|note| note.text.contains("still waits"));
    assert_eq!(last.map(|note| note.kind), Some(NoteKind::Escalation), "louder each time");
    scene.decides("1a 2a").wait(later);
    assert_eq!(said(&scene), 2);
}

#[test]
fn what_a_person_chose_is_not_done_to_what_is_gone() {
    let mut scene = Scene::gardener();
    scene.answers(ASKS).answers_in("again", "CLEAN").settle();
    scene.issue_is(5, &[], &[], false).decides("1b");
    assert!(scene.ordered().is_empty());
    assert!(scene.notes.iter().any(|note| note.text.contains("there is no open issue #5")));
}

#[test]
fn what_was_there_is_kept_before_anything_is_changed() {
    let mut scene = Scene::gardener();
    scene.answers("ACTION: edit #1 title \"Better\"\n");
    let id = scene.ordered()[0].id;
    assert_eq!(may_undo(&scene.floor, &project(), id), Err(NotUndone::Unknown(id)));
    let before = Before { title: Some("Worse".into()), ..Before::default() };
    scene.answer("act", Outcome::ActSeen(before.clone()));
    let kept = scene.floor.reversals.get(&id).expect("it is kept");
    assert_eq!((&kept.before, &kept.state), (&before, &ReversalState::Begun));
    assert_eq!(may_undo(&scene.floor, &project(), id), Err(NotUndone::UnderWay(id)));
    assert_eq!(scene.ordered()[0].before.as_deref(), Some(&before));
    let acted = outcome::Acted { issue: IssueNumber(1), made: vec![] };
    scene.answer("act", Outcome::Acted(acted));
    assert_eq!(may_undo(&scene.floor, &project(), id), Ok(()));
    let undo = |force| Event::UndoAsked { project: project(), act: id, force, by: "ann".into() };
    scene.event(undo(false)).event(undo(false));
    assert_eq!(scene.names().iter().filter(|name| **name == "undo_act").count(), 1, "once");
    let kept = Some("somebody changed #1 since".to_owned());
    scene.answer("undo_act", Outcome::ActUndone(outcome::ActUndone { kept }));
    assert!(matches!(&scene.floor.reversals.get(&id).expect("it is kept").state, ReversalState::Kept { .. }));
    scene.event(undo(true));
    let Action::UndoAct(order) = scene.take("undo_act") else { unreachable!() };
    assert!(order.force);
    let action = Action::UndoAct(order);
    let outcome = Outcome::ActUndone(outcome::ActUndone { kept: None });
    scene.event(Event::Performed { action, outcome });
    assert_eq!(may_undo(&scene.floor, &project(), id), Err(NotUndone::Undone(id, "ann".into())));
}

#[test]
fn what_cannot_be_done_leaves_nothing_to_undo() {
    let mut scene = Scene::gardener();
    scene.answers("ACTION: edit #1 title \"Better\"\n");
    let id = scene.ordered()[0].id;
    scene.answer("act", Outcome::ActSeen(Before::default()));
    let why = "somebody else changed #1 in the meantime".to_owned();
    scene.answer("act", Outcome::Impossible(outcome::Impossible { why }));
    assert_eq!(may_undo(&scene.floor, &project(), id), Err(NotUndone::Unknown(id)));
}

#[test]
fn only_so_much_is_kept() {
    let mut scene = Scene::gardener();
    let order = |id: u64| ActOrder {
        id: ActId(id),
        project: project(),
        job: JOB,
        role: Role::GARDENER,
        assignment: crate::ids::Assignment::Run(RUN),
        what: Act::Split { issue: IssueNumber(1), parts: vec![Part { title: "x".into(), body: "y".into() }] },
        before: None,
    };
    for id in 1..=150 {
        let acted = outcome::Acted { issue: IssueNumber(1), made: vec![IssueNumber(50)] };
        scene.event(Event::Performed { action: Action::Act(order(id)), outcome: Outcome::Acted(acted) });
    }
    assert_eq!(scene.floor.reversals.len(), 100);
    assert_eq!(may_undo(&scene.floor, &project(), ActId(150)), Ok(()));
    scene.wait(DAY * 31);
    let acted = outcome::Acted { issue: IssueNumber(1), made: vec![] };
    scene.event(Event::Performed { action: Action::Act(order(151)), outcome: Outcome::Acted(acted) });
    assert_eq!(scene.floor.reversals.len(), 1, "what is old goes");
}

/// Whoever asks again after a crash is answered once.
#[test]
fn an_answer_that_is_no_longer_waited_for_changes_nothing() {
    let mut scene = Scene::gardener();
    let epoch = scene.gardeners();
    let said =
        crate::event::StepSaid { step: "groom".parse().expect("an id"), skip: false, note: String::new() };
    scene.event(Event::StepSaid { epoch, said });
    let action = scene.take("read_answer");
    assert!(matches!(&action, Action::ReadAnswer(ReadAnswer { attempt: 1, .. })));
    let answer = parse("ACTION: edit #1 title \"Better\"\n").expect("it is right");
    let read = |answer: &Answer| {
        Outcome::AnswerRead(outcome::AnswerRead::Groom { answer: answer.clone(), digest: 1 })
    };
    for _ in 0..2 {
        scene.event(Event::Performed { action: action.clone(), outcome: read(&answer) });
    }
    assert_eq!(scene.ordered().len(), 1);
    let wrong = outcome::AnswerRead::Wrong { mistake: Mistake { line: 1, what: "no".into() } };
    scene.event(Event::Performed { action, outcome: Outcome::AnswerRead(wrong) });
    assert_eq!(scene.is_step("groom"), &StepState::Done);
}
