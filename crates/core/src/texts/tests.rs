//! All texts, page by page, in `snapshots/`: to read them, and to see what a change does to them.

use super::comments::{Ended, Next};
use super::*;
use crate::act::{Act, Refusal};
use crate::capability::Capability;
use crate::effect::{Action, CiReport, CiVerdict, EntryEnd, Outcome, Telling, Verdict};
use crate::event::{Accepter, BranchAsk, Word};
use crate::guard::{Ask, Rule};
use crate::ids::*;
use crate::label::Label;
use crate::liveness::State;
use crate::phase::Phase;
use crate::planner::TrialId;
use crate::recipe::{Context, Flaw, Recipe, Step};
use crate::runtime::{DialogKind, ErrorKind};
use crate::state::*;
use crate::step::{Hindrance, NotAStep, NotReviewed};
use crate::time::Time;
use crate::vault::Spec;
use serde_json::json;
use std::fmt::Write;

/// A page of texts, each under the name of its function.
macro_rules! page {
    ($module:ident: $($name:ident($($arg:expr),* $(,)?)),+ $(,)?) => {{
        let mut page = String::new();
        $(page.push_str(&entry(stringify!($name), &$module::$name($($arg),*).to_string()));)+
        is_complete(stringify!($module), &page);
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(stringify!($module), page);
        });
    }};
}

fn entry(name: &str, text: &str) -> String {
    let mut out = format!("[{name}]\n");
    text.lines().for_each(|line| writeln!(out, "{}", format!("    {line}").trim_end()).expect("a string"));
    out.push('\n');
    out
}

/// Every function of the module is on its page.
fn is_complete(module: &str, page: &str) {
    let source = match module {
        "agents" => include_str!("agents.rs"),
        "checks" => include_str!("checks.rs"),
        "comments" => include_str!("comments.rs"),
        "escalations" => include_str!("escalations.rs"),
        "health" => include_str!("health.rs"),
        "markers" => include_str!("markers.rs"),
        "notes" => include_str!("notes.rs"),
        "people" => include_str!("people.rs"),
        "queue" => include_str!("queue.rs"),
        "reasons" => include_str!("reasons.rs"),
        "records" => include_str!("records.rs"),
        "vault" => include_str!("vault.rs"),
        other => panic!("{other} is no module of texts"),
    };
    let names = source.lines().filter_map(|line| line.strip_prefix("pub fn ")?.split_once('('));
    let missing: Vec<&str> =
        names.map(|(name, _)| name).filter(|name| !page.contains(&format!("[{name}]\n"))).collect();
    assert!(missing.is_empty(), "add to the page of {module}: {missing:?}");
}

fn schedule() -> ScheduleName {
    "nightly".parse().expect("a name")
}

fn formula() -> FormulaName {
    "tidy".parse().expect("a name")
}

fn role(name: &str) -> Role {
    name.parse().expect("a name")
}

fn step(name: &str) -> StepId {
    name.parse().expect("an id")
}

/// Its agent has said what came of it.
fn noted(run: Run) -> Run {
    let note = "Rotated the keys.\n```\nForged".to_owned();
    let steps = run.steps.into_iter().map(|step| StepRecord { note: note.clone(), ..step }).collect();
    Run { steps, ..run }
}

/// A command has ended, and its agent's step is next.
fn a_run() -> Run {
    let part = |name: &str, run: Option<Vec<String>>| Step {
        id: step(name),
        title: String::new(),
        needs: vec![],
        description: String::new(),
        skipped: false,
        run,
        timeout: None,
        verify: None,
    };
    let (state, output) = (StepState::Done, "3 files".to_owned());
    Run {
        number: RunNumber(4),
        project: "app".parse().expect("a name"),
        recipe: Recipe {
            formula: formula(),
            version: String::new(),
            description: String::new(),
            role: Role::DEV,
            model: None,
            vars: Default::default(),
            lifetime: hour(),
            idle: None,
            context: Context::default(),
            steps: vec![part("look", Some(vec!["true".into()])), part("write", None)],
        },
        by: "ann".into(),
        schedule: None,
        issue: None,
        asked_at: Time(0),
        started_at: None,
        spared_until: None,
        landing: false,
        state: RunState::Waiting,
        steps: vec![
            StepRecord { state, output, note: "well".into(), ..StepRecord::default() },
            StepRecord::default(),
        ],
        spent: Cost::default(),
    }
}

fn sha(digit: char) -> Sha {
    digit.to_string().repeat(40).parse().expect("a name of a commit")
}

fn a() -> Sha {
    sha('a')
}

fn b() -> Sha {
    sha('b')
}

fn report(verdict: CiVerdict) -> CiReport {
    CiReport {
        verdict,
        step: Some("test".into()),
        excerpt: "assertion failed: 1 == 2".into(),
        log: "/floor/ci/7/log".into(),
        steps_run: 2,
        at: None,
        duration_ms: 1500,
        checks: String::new(),
    }
}

fn files() -> Vec<String> {
    vec!["src/lib.rs".into(), "README.md".into()]
}

fn hour() -> Duration {
    Duration::from_secs(7200)
}

fn ten_minutes() -> Duration {
    Duration::from_secs(600)
}

fn guarded() -> Ask<'static> {
    Ask {
        command: "",
        cwd: "/srv/app-3",
        worktree: "/srv/app-3",
        scratch: Some("/tmp/e4"),
        branch: "fix/issue-3",
        primary: "main",
    }
}

fn asked(options: &[&str], default: Option<&str>) -> Asked {
    let options = options.iter().map(|option| (*option).to_owned()).collect();
    Asked { id: QuestionId(5), options, default: default.map(str::to_owned), due: None }
}

fn stood_on() -> StoodOn {
    StoodOn {
        base: Some(a()),
        behind: vec!["ada/base".into()],
        run: Some(RunId(7)),
        log: "/floor/ci/7/log".into(),
    }
}

fn telling(end: EntryEnd, reason: &str) -> Telling {
    Telling {
        project: "app".parse().expect("a name"),
        entry: EntryId(6),
        end,
        target: "main".into(),
        branch: "ada/greet".into(),
        head: a(),
        title: "Greet".into(),
        issue: None,
        pr: Some(PrNumber(9)),
        by: "ada".into(),
        author: Some("Bob <bob@example.org>".into()),
        base: Some(b()),
        behind: vec![],
        commit: (end == EntryEnd::Landed).then(b),
        run: Some(RunId(7)),
        log: "/floor/ci/7/log".into(),
        reason: reason.into(),
    }
}

fn ended<'a>(session: Option<Epoch>, next: Next) -> Ended<'a> {
    Ended {
        job: JobId(2),
        issue: IssueNumber(3),
        end: "blocked",
        reason: "CI failed 4 times: step \"test\" failed",
        rescue: Some("refs/shopfloor/rescue/app-3/1"),
        worktree: Some(("/srv/app-3", "fix/issue-3")),
        output: "$ cargo test\nerror: 1 test failed",
        session,
        asked_by: Label::Backlog,
        next,
    }
}

fn seen(verdict: Verdict) -> SeenReview {
    SeenReview {
        id: 4,
        head: a(),
        verdict,
        text: "Name it better.".into(),
        author: "ada".into(),
        agent: false,
    }
}

fn record(phase: WorkPhase, rework: Option<Rework>) -> WorkRecord {
    serde_json::from_value(json!({
        "identity_name": "dev-app-3", "current_bead": 3, "current_node": "app", "session": 4,
        "work_phase": phase, "work_summary": "issue #3: Greet", "last_checkpoint_at": null,
        "files_modified": [], "tests_status": "passed on aaaaaaaa", "resumption_instructions": "",
        "rework": rework, "rescue": null, "head": null, "sessions": [4], "updated_at": 0,
    }))
    .expect("a record")
}

fn dialog(shown: bool) -> SessionAsk {
    let view = shown.then(|| crate::runtime::DialogView {
        title: "Run it?".into(),
        text: "Run it?\nrm -r build".into(),
        ..Default::default()
    });
    SessionAsk {
        id: QuestionId(5),
        since: Time(0),
        about: About::Dialog { kind: DialogKind::Permission, view },
        answer: None,
    }
}

fn held() -> SessionAsk {
    let about = About::Held {
        message: MessageId(1),
        first_line: "CI failed".into(),
        why: "the composer holds a draft".into(),
    };
    SessionAsk { about, ..dialog(false) }
}

fn chat() -> SessionAsk {
    SessionAsk { about: About::Chat { text: "Shall I?".into() }, ..dialog(false) }
}

fn branch_ask() -> BranchAsk {
    serde_json::from_value(json!({
        "branch": "ada/greet", "head": a(), "tree": b(), "title": "Greet", "pr": null,
        "by": "ada", "approved_by": "bob", "urgent": false,
    }))
    .expect("an ask")
}

fn lost(known: Option<Sha>, found: Option<Sha>) -> LostPrimary {
    LostPrimary { known, found, by_nobody: false }
}

fn release() -> Target {
    Target::try_from("release/1".to_owned()).expect("a branch")
}

#[test]
fn first_lines_are_read_as_they_are_written() {
    let lines = FirstLine::to_developers(true);
    for line in lines.split(", `").map(|line| line.trim_matches('`')) {
        let read = FirstLine::of(&format!("{line}\nmore")).expect(line);
        assert_eq!(read.to_string(), line);
    }
    let answer = FirstLine::Answer("yes, 2".into());
    assert_eq!(answer.to_string().parse::<FirstLine>().ok(), Some(answer));
    for other in ["", "ci passed", "CI passed ", "Review: MAYBE", "Answer:"] {
        assert_eq!(FirstLine::of(other), None, "{other:?}");
    }
}

#[test]
fn to_agents() {
    page!(agents:
        step_ran(&step("look"), &a_run()),
        steps_are_open(&a_run()),
        steps_are_over(&step("look")),
        not_committed("run/tidy-4", 1),
        not_committed("run/tidy-4", 2),
        step_not_verified(&step("write"), "files docs/*.md: 0 files match"),
        ci_passed(&a()),
        ci_left_to_the_merge(&a()),
        ci_left_to_the_merge_on(&a(), "the primary branch", &b()),
        ci_failed(&report(CiVerdict::Red), &a(), 1),
        ci_failed(&report(CiVerdict::TimedOut), &a(), 2),
        ci_failed(&CiReport { at: Some("1 of 3".into()), ..report(CiVerdict::Red) }, &a(), 3),
        branch_not_pushed("fix/issue-3", "somebody else pushed to it"),
        nothing_to_check("fix/issue-3", 0),
        nothing_to_check("fix/issue-3", 2),
        ci_waits(&a(), "step \"test\" failed", "the primary branch", Some(&b())),
        merge_failed("the primary branch", &b(), "step \"test\" failed", Some(&report(CiVerdict::Red))),
        merge_failed(
            "release/1",
            &b(),
            "step \"test\" failed",
            Some(&CiReport { at: Some("1 of 3".into()), ..report(CiVerdict::Red) }),
        ),
        base_unknown("no disk"),
        merge_conflict("the primary branch", &b(), &files(), "<<<<<<<\nours\n=======\ntheirs\n>>>>>>>\n"),
        in_merge_queue(),
        not_merged(),
        review_is_on(PrNumber(9)),
        no_review_needed(),
        approved("ada", &a(), &a(), "Good."),
        approved("ada", &a(), &b(), "Good."),
        refused(Verdict::RequestChanges, "ada", &a(), "Name it better."),
        refused(Verdict::Discuss, "ada", &a(), "Is this needed?"),
        refused_already(Verdict::RequestChanges, "ada", &a(), "Name it better."),
        no_review(&a(), hour()),
        review_again(a().as_str(), &b(), "+new\n"),
        result_unusable("it is no JSON"),
        result_missing(),
        phase_not_understood("PHASE:ready"),
        phase_missing(),
        nobody_reads_the_chat(),
        carry_on(),
        answer("Take B"),
        default_answer("A"),
        issue_edited(IssueNumber(3)),
        branch_moved(&a()),
        command_too_large(),
        command_unreadable(),
        command_refused(Rule::ForcePush, &guarded()),
        command_refused(Rule::PushPrimary, &guarded()),
        command_refused(Rule::PushOther, &guarded()),
        command_refused(Rule::DeleteBranch, &guarded()),
        command_refused(Rule::CheckoutPrimary, &guarded()),
        command_refused(Rule::MovePrimary, &guarded()),
        command_refused(Rule::Merge, &guarded()),
        command_refused(Rule::DeleteOutside, &guarded()),
        command_refused(Rule::DeleteGit, &guarded()),
    );
}

#[test]
fn on_issues_and_pull_requests() {
    page!(comments:
        persons_word(PrNumber(7), &a(), &files()),
        question("A or B?", &asked(&["A", "B"], Some("A")), Some(ten_minutes())),
        question("Which name?", &asked(&[], None), Some(ten_minutes())),
        question("Which name?", &asked(&[], None), None),
        answered(QuestionId(5), "B"),
        default_taken("A"),
        job_ended(&ended(Some(Epoch(4)), Next::Waits(Label::Blocked))),
        job_ended(&ended(None, Next::TriedAgain)),
        action_done(&noted(a_run()), "step look says that there is nothing to do"),
        not_started("it waits for #9, and there is no such issue"),
        no_review(PrNumber(9), &a(), hour()),
        no_usable_review(PrNumber(9), "the reviewer gave up: too large"),
        no_usable_pull_review(PrNumber(9), Some(&a()), "the reviewer gave up: too large"),
        objection_stands(PrNumber(9), &b(), "ada", &a()),
        entry_ended(&telling(EntryEnd::Landed, "")),
        entry_ended(&telling(EntryEnd::Failed, "step \"test\" failed")),
        entry_ended(&telling(EntryEnd::Conflicted, "conflicts in src/lib.rs")),
        tried_on(&stood_on()),
        follow_up("The parser panics on an empty line.", PrNumber(9)),
        by_agent("It panics.", role("predictor"), Assignment::Run(RunNumber(4)), ActId(12)),
        by_agent(" \n", Role::DEV, Assignment::Issue(IssueNumber(7)), ActId(13)),
    );
    page!(markers:
        persons_word(JobId(3), &a()),
        follow_up("the parser panics on an empty line"),
        question(QuestionId(5)),
        answer(QuestionId(5)),
        default_answer(QuestionId(5)),
        act(ActId(12)),
        job_end(JobId(2)),
        no_review(JobId(2), &a()),
        review_failed(JobId(2), Epoch(4)),
        pull_review_failed(JobId(2)),
        objection(JobId(2), 4, &a()),
        entry_end(EntryId(6), EntryEnd::Conflicted),
        dependencies("cycle-#1-#2"),
    );
}

#[test]
fn reasons_why_something_ended() {
    page!(reasons:
        run_took_too_long(hour()),
        run_ended_meanwhile(RunResult::TimedOut),
        run_ended_meanwhile(RunResult::Cancelled),
        run_ended_meanwhile(RunResult::Failed),
        run_is_stuck(),
        nothing_unexplained(),
        nothing_to_do(),
        missed(),
        run_under_way(RunNumber(4)),
        by_schedule(&schedule()),
        by_issue(IssueNumber(3)),
        step_found_nothing(&step("look")),
        step_failed(&step("look"), "exit code 3"),
        step_never_verified(&step("write"), 5, "no docs"),
        steps_are_open(),
        not_committed(2),
        not_a_step(&NotAStep::NoRun),
        not_a_step(&NotAStep::Unknown(step("what"))),
        not_a_step(&NotAStep::Ours(step("look"))),
        not_a_step(&NotAStep::Over(step("write"), "done")),
        not_a_step(&NotAStep::Needs(step("tell"), vec![step("look"), step("write")])),
        not_a_step(&NotAStep::BeingVerified(step("write"))),
        cancelled(),
        issue_closed(),
        pull_closed(),
        label_set(Label::Blocked),
        label_removed(Label::InProgress),
        changes_requested(),
        taken_out(),
        newer_head_queued(),
        queued_for_another(),
        branch_moved(None),
        branch_moved(Some(&a())),
        continued_by(IssueNumber(3)),
        none_given(),
        none_known(),
        needs_a_person("agent 7", "pr review 2"),
        act_refused(&Refusal::Over),
        act_refused(&Refusal::Lacks(Role::REVIEW, Capability::CloseIssue)),
        act_refused(&Refusal::Label(Role::DEV, "backlog".into())),
        act_refused(&Refusal::Issues(1)),
        act_refused(&Refusal::Changes(50)),
        act_refused(&Refusal::Like(Some(IssueNumber(7)), "Login times out".into())),
        act_refused(&Refusal::Like(None, "Login times out".into())),
        act_refused(&Refusal::Closes(Role::PLANNER, IssueNumber(7))),
        act_refused(&Refusal::NoReason(IssueNumber(7))),
        act_refused(&Refusal::Asks(QuestionId(3))),
        act_refused(&Refusal::Questions(10)),
        act_refused(&Refusal::Requests(20)),
        act_refused(&Refusal::Empty),
        act_refused(&Refusal::TooLong(1000)),
        gave_up("no compiler"),
        reviewer_gave_up("no compiler"),
        cannot_do_it("too_large: three features in one"),
        waits_for_what_is_closed("blocked_by #2"),
        waits_for(&[IssueNumber(1), IssueNumber(2)], "blocked_by #1, #2"),
        done_already(Some("by #7")),
        done_already_to_close(None),
        done_already_but_changed(Some("by #7"), 1, 2),
        asks_too_much(10, "A or B?"),
        after_reminders(reasons::no_phase(), 3),
        branch_not_pushed(),
        branch_empty(),
        asks_for_needless_checks(),
        asks_for_needless_review(),
        done_but_not_merged(),
        no_such_phase(),
        no_phase(),
        ended_without_phase("exit 1"),
        silent(ten_minutes()),
        frozen(),
        message_not_taken("CI failed", "a dialog is up"),
        time_is_over(),
        after_successors(reasons::no_phase(), 3),
        context_full(10),
        setup_failed(3, "npm ci: exit 1"),
        reviewer_cannot_work("its account has no credit"),
        after_attempts("the model cannot be reached", 5),
        ends_at_once(true, "exit 127", "no such file"),
        killed(),
        exit(1),
        client_error(ErrorKind::Auth),
        client_error(ErrorKind::Billing),
        client_error(ErrorKind::ModelNotFound),
        client_error(ErrorKind::InvalidRequest),
        client_error(ErrorKind::Root),
        client_error(ErrorKind::NoConversation),
        client_error(ErrorKind::RateLimit),
        client_error(ErrorKind::Overloaded),
        client_error(ErrorKind::Server),
        client_error(ErrorKind::ContextFull),
        client_error(ErrorKind::Connection),
        client_error(ErrorKind::Compaction),
        client_error(ErrorKind::Unknown),
        wrong_outcome(&Outcome::Done),
        wrong_links(2, 3),
        impossible(&Action::CloseIssue { project: "app".parse().unwrap(), issue: IssueNumber(3) }, "it is gone"),
        checks_cannot_run("no disk"),
        only_its_checks_cannot_run("no disk"),
        no_checks(),
        checked_too_often(40),
        failed_too_often(4, "step \"test\" failed"),
        head_fails("step \"test\" failed", &report(CiVerdict::Red)),
        trial_failed(Some(&report(CiVerdict::Red)), Some(&stood_on())),
        reviewed_too_often(5),
        reviewer_left_nothing(ten_minutes()),
        reviewer_stopped("exit 1", "nothing"),
        reviewer_idle(3),
        review_unusable("it is no JSON"),
        after_rounds(reasons::keeps_failing(), 3),
        keeps_moving(),
        keeps_conflicting(),
        keeps_failing(),
        conflicts(&files()),
    );
}

#[test]
fn notes_on_jobs_and_sessions() {
    let tried = serde_json::from_value::<Try>(json!({
        "id": 1, "project": "app", "branch": "ada/greet", "head": a(), "title": "Greet", "on": null,
        "base": b(), "method": "squash", "issue": null, "pr": null, "by": "ada", "asked_at": 0, "ended_at": 0,
        "state": { "state": "conflicted", "files": ["src/lib.rs"], "hunks": "" },
    }))
    .expect("a try");
    let issue = |labels: &[&str]| Act::CreateIssue {
        title: "Login times out".into(),
        body: "It does.".into(),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        deps: vec![],
    };
    let relabelled = Act::Label {
        issue: IssueNumber(7),
        add: vec!["prediction/actioned".into()],
        remove: vec!["prediction/unreviewed".into(), "old".into()],
    };
    page!(notes:
        act(&issue(&[])),
        act(&issue(&["backlog", "vision"])),
        act(&Act::Comment { issue: IssueNumber(7), text: "Well.".into() }),
        act(&relabelled),
        act(&Act::Close { issue: IssueNumber(7) }),
        question(),
        act_wanted(Role::DEV, Epoch(3), "#7 closed"),
        act_refused(Role::DEV, Epoch(3), "#7 closed", &Refusal::Lacks(Role::DEV, Capability::CloseIssue)),
        act_done(Role::DEV, "#7 closed", IssueNumber(7)),
        act_failed(Role::DEV, "#7 closed", "there is no issue #7"),
        claimed(JobId(2), Some(PrNumber(9)), Some(&release())),
        ended("merged", "it landed"),
        merged_by_person(&a()),
        found_changed("hub.git", "config was not as shopfloor wrote it"),
        issue_edited(),
        branch_changed(Some(&a())),
        branch_changed(None),
        worktree_removed(Role::DEV, "refs/shopfloor/rescue/app-3/1"),
        setup_failed("npm ci: exit 1"),
        registered("dev-app-3", Epoch(4)),
        session(Epoch(4), "it is no JSON"),
        session_state(Epoch(4), &State::Stuck),
        session_stopped(Role::REVIEW, Epoch(4), "exit 1"),
        session_ended(Epoch(4)),
        successor(Epoch(5), Epoch(4)),
        context_full(Epoch(4)),
        stale_phase(Phase::Done),
        reviewer_signalled(Phase::AwaitingCi),
        stale_answer(),
        message_of_another(Epoch(4), MessageId(1)),
        review_of_another(Epoch(4)),
        review_too_late(Epoch(4)),
        cannot_merge("it has no commits yet"),
        cannot_merge_branch("main", &Hindrance::Primary.to_string()),
        cannot_try("ada/greet", queue::no_checks()),
        run_asked(RunNumber(4), &formula(), "ann"),
        run_put_off(&schedule(), "900 MB of memory are available, and [limits] min_memory is 2000"),
        run_passed_over(&schedule(), &reasons::run_under_way(RunNumber(4))),
        schedule_failed(&schedule(), "there is no formula tydy"),
        schedule_paused(&schedule(), "ann"),
        schedule_resumed(&schedule(), "ann"),
        run_begun(RunNumber(4), &formula(), JobId(2)),
        run_asked_again(&formula(), RunNumber(4)),
        no_recipe(&formula(), &Flaw::NoSteps),
        run_ended(RunNumber(4), &formula(), RunResult::Done, ""),
        run_ended(RunNumber(4), &formula(), RunResult::Failed, "step look failed: exit code 3"),
        step_is(RunNumber(4), &step("look"), &a_run().steps[0]),
        action_not_waited_for(),
        step_not_waited_for(&step("look")),
        cannot_review(PrNumber(9), &NotReviewed::NoReviewer.to_string()),
        first_prompt(),
        undelivered("CI failed", "a dialog is up"),
        queued(),
        taken_without_phase(Epoch(4)),
        person_types(Epoch(4)),
        session_continues(Epoch(4), notes::person_left()),
        person_left(),
        person_typed_nothing(),
        was_handed_back(),
        taken(),
        handed_back(),
        paused("lunch"),
        resumed(),
        review(&seen(Verdict::RequestChanges)),
        review_of_pull(PrNumber(9), &notes::review(&seen(Verdict::Approve))),
        approval_holds(&seen(Verdict::Approve), &b()),
        pull_review_started(JobId(2), PrNumber(9), "ada/greet", &a()),
        reviewed(None, &a()),
        reviewed(Some(Verdict::Approve), &a()),
        tried(&tried),
        tried_branch_gone(),
        tried_base_gone(),
        try_not_wanted(),
        trouble("publish branch", "no disk"),
        trouble_over("publish branch", hour()),
    );
    page!(checks:
        describe(&report(CiVerdict::Green)),
        describe(&report(CiVerdict::Red)),
        describe(&CiReport { at: Some("1 of 3".into()), ..report(CiVerdict::TimedOut) }),
        describe(&report(CiVerdict::Infra)),
        describe(&report(CiVerdict::NoChecks)),
        describe(&report(CiVerdict::Cancelled)),
        describe(&report(CiVerdict::Skipped)),
        on_record(&report(CiVerdict::Red), &a()),
        running(),
        passed(),
        passed_on_candidate(),
        could_not_run(),
        failed(),
        outdated(),
        runs_once_more(&report(CiVerdict::Red)),
        run(RunId(7), a().short(), "checks passed"),
        run_of_branch(RunId(7), "the primary branch", &a(), &report(CiVerdict::Red)),
        run_of_candidate(RunId(7), &a(), &report(CiVerdict::Green)),
        run_not_waited_for(RunId(7)),
        flaky(&a(), 2),
        not_checked(&a()),
        timed_out(&a(), "step \"test\" took too long"),
    );
    let rework =
        Rework { after: "MERGE_FAILED".into(), next: records::fix_on_primary("step \"test\" failed") };
    page!(records:
        begun(Assignment::Issue(IssueNumber(3)), "Greet"),
        signalled(Assignment::Issue(IssueNumber(3)), Phase::NeedsHuman, "A or B?"),
        tests_not_run(),
        tests_failed_in_queue("step \"test\" failed"),
        instructions(&record(WorkPhase::Investigation, None)),
        instructions(&record(WorkPhase::Planning, None)),
        instructions(&record(WorkPhase::Implementation, None)),
        instructions(&record(WorkPhase::Testing, None)),
        instructions(&record(WorkPhase::Completion, None)),
        instructions(&record(WorkPhase::Merged, None)),
        instructions(&record(WorkPhase::Implementation, Some(rework))),
        resume("implementation", "issue #3: Greet"),
        resolve_conflict(&b(), &files()),
        fix_on_primary("step \"test\" failed"),
        address_review(&seen(Verdict::RequestChanges)),
        changed(&record(WorkPhase::Testing, None)),
    );
}

#[test]
fn to_people() {
    page!(people:
        no_question(),
        agent_cannot_work("its account has no credit"),
        taken_out_of_queue(IssueNumber(3)),
        still_waits("A or B?"),
        default_taken("A"),
        ask(&dialog(true).about),
        ask(&dialog(false).about),
        ask(&held().about),
        ask_kind(&dialog(true).about),
        ask_kind(&chat().about),
        ask_kind(&held().about),
        asks_in_chat(Role::DEV, &chat(), "Shall I?"),
        waits_in_dialog(Role::DEV, DialogKind::Permission, &dialog(true), "dev-app-3-e4"),
        waits_in_dialog(Role::DEV, DialogKind::Asks, &dialog(false), "dev-app-3-e4"),
        cannot_be_told(Role::DEV, &held(), "dev-app-3-e4"),
        answered(QuestionId(5), "Yes"),
        config_accepted(&Accepter::Person("ann".into())),
        config_accepted(&Accepter::First),
        config_accepted(&Accepter::Policy),
        config_differs(QuestionId(5)),
        config_differs_so("-required = true\n+required = false\n"),
        config_agrees_again(),
        not_granted(&"greeter".parse().expect("a name"), &["NPM_TOKEN".into(), "KEY".into()]),
        answer_not_typed(QuestionId(5), people::dialog_gone(), QuestionId(6)),
        dialog_gone(),
        outage("dev and review", "claude is not installed", QuestionId(5)),
        outage_over("dev and review"),
        not_set("NPM_TOKEN"),
    );
    page!(escalations:
        persons_word(&a(), &files()),
        agent_waits(),
        takes_long("merging"),
        background_work(hour(), "cargo test"),
        nothing_moves(),
        ends_later("cancelled by a person"),
        no_review(&a(), hour()),
        person_has_to_review("the reviewer gave up: too large"),
        no_pull_review(PrNumber(9), "the reviewer gave up: too large"),
        refused_while_published(),
        objection_stands(&b(), "ada"),
        waits_for_unknown(&[IssueNumber(8), IssueNumber(9)]),
        waits_for_itself(&[IssueNumber(1), IssueNumber(2), IssueNumber(1)]),
        nothing_is_started("shopfloor.toml cannot be read"),
        bug_in_scheduling("index out of bounds"),
        bug_with_event("tick", "index out of bounds"),
        fails_for_hours("publish branch", hour(), "no disk"),
    );
}

#[test]
fn about_the_merge_queue() {
    let parked = Parked {
        who: Who::Job(JobId(2)),
        reason: "step \"test\" failed".into(),
        message: String::new(),
        on: Some(b()),
        red: true,
    };
    page!(queue:
        persons_word_missing(&a(), &files()),
        queued(EntryId(6), &a()),
        queued_by_person(EntryId(6), &branch_ask()),
        moved_after_approval(EntryId(6), Some(&b())),
        moved_by_person(EntryId(6), None, "shopfloor merge-queue add ada/greet"),
        conflicts("the primary branch", &b(), &files(), "shopfloor merge-queue add ada/greet"),
        left_out(EntryId(6), 2),
        lands_after("ada/base"),
        flaky(TrialId(8)),
        hindrance(&Hindrance::Primary),
        hindrance(&Hindrance::Job(Assignment::Issue(IssueNumber(3)))),
        hindrance(&Hindrance::Landing),
        no_checks(),
        not_approved(&a()),
        not_reviewed(&NotReviewed::Never),
        not_reviewed(&NotReviewed::NoReviewer),
        not_reviewed(&NotReviewed::Job(Assignment::Issue(IssueNumber(3)))),
        no_commits(),
        no_pull(),
        not_passed(&a()),
        objected("ada"),
        is_merged(),
        issue_closed(),
        is_in("checking"),
        too_many_tries(20),
        pause(None, Some("a release")),
        pause(Some(&release()), None),
        primary_accepted("the primary branch"),
        primary_moved("the primary branch", &a(), Some("alice")),
        primary_in_order("the primary branch", &a()),
        primary_lost(&lost(Some(a()), Some(b())), None, "the primary branch"),
        primary_lost(&lost(Some(a()), None), None, "the primary branch"),
        primary_lost(&lost(None, None), None, "the primary branch"),
        primary_lost(&lost(None, None), Some(&release()), "release/1"),
        waits_for_base(&a(), "the primary branch", &parked),
        base_fixed("the primary branch", &b(), &a()),
        checkout_taken(&a()),
        checkout_queued("main", &branch_ask()),
        checkout_not_queued("main", &Hindrance::NoChecks),
        checkout_not_merged("main", "ada/greet"),
        too_late_to_take_out(None),
        too_late_to_take_out(Some(reasons::changes_requested())),
        not_queued(&a()),
        waits_long(hour()),
        waits_long_for(hour(), "ada/base", Some(Assignment::Issue(IssueNumber(3)))),
        waits_long_for(hour(), "ada/base", None),
        nobody_works_on("ada/base, which nobody has queued", true, "shopfloor merge-queue add ada/greet"),
        nobody_works_on("ada/base, which nobody has queued", false, "shopfloor merge-queue add 3 --now"),
        checks_cannot_run(3, Duration::from_secs(60)),
        stands_still("the primary branch was deleted; it was at aaaaaaaa"),
        base_fails("the primary branch", &b(), &report(CiVerdict::Red)),
        still_waits_for_base("the primary branch"),
        no_verdict(&[a().short(), b().short()]),
        landed_incomplete(&a(), &b()),
        command_failed("on_landed", EntryId(6), "exit 1", "/floor/told/6/log"),
    );
}

fn vault_request(state: RequestState) -> Request {
    let spec: Spec = serde_json::from_value(json!({
        "run": ["deploy", "{payload.version}"], "risk": "medium", "reversible": false, "secrets": ["DEPLOY_TOKEN"],
        "timeout": { "secs": 600, "nanos": 0 },
    }))
    .expect("a type");
    Request {
        number: RequestNumber(3),
        project: "web".parse().expect("a name"),
        r#type: "deploy".parse().expect("a name"),
        spec: Some(spec),
        payload: "{\n  \"version\": \"1.2\"\n}".into(),
        command: vec!["deploy".into(), "1.2".into()],
        reason: "it is ready\n```\nand checked".into(),
        by: "agent 7".into(),
        job: None,
        role: Some(Role::GARDENER),
        on: Some(Assignment::Run(RunNumber(4))),
        asked_at: Time(0),
        state,
        fires: 2,
        output: "half of it".into(),
        history: Vec::new(),
    }
}

#[test]
fn about_the_vault() {
    let (question, now) = (QuestionId(5), Time(0));
    let doubts =
        |doubt| vault_request(RequestState::Waiting { question, doubt, since: now, due: now, again_at: now });
    let over = |end, reason: &str| vault_request(RequestState::Ended { end, reason: reason.into(), at: now });
    let held = doubts(Doubt::Approval { changed: false });
    let changed = doubts(Doubt::Approval { changed: true });
    let not_begun = doubts(Doubt::NotBegun { why: "DEPLOY_TOKEN is not set".into() });
    let word = |why: &str| Word {
        decision: Decision::Reject,
        by: "ann".into(),
        from: "the command line".into(),
        question: None,
        why: why.into(),
    };
    let (number, deploy) = (held.number, held.r#type.clone());
    page!(vault:
        who(&held),
        who(&Request { role: None, on: None, ..held.clone() }),
        asked(&held),
        refused(number, "payload lacks `version`"),
        too_many(20),
        is_fired(&held),
        fired_unasked(&held),
        waits(&held),
        waits(&changed),
        waits(&doubts(Doubt::CutShort)),
        waits(&not_begun),
        decided(number, RequestEventKind::Approved, &word("")),
        decided(number, RequestEventKind::Rejected, &word("not today")),
        ended(&over(RequestEnd::Done, "")),
        ended(&over(RequestEnd::Failed, "exit code 1")),
        nobody_answered_on(number),
        not_heard_of(number),
        fired_all_the_same(number),
        unknown_type(&deploy),
        no_longer_declared(),
        nobody_answered(),
        rejected_by(&word("")),
        rejected_by(&word("not today")),
        no_request(number),
        another_question(number, question),
        is_another_by_now(number, question),
        cannot_be(&held, Decision::Retry),
        cannot_be(&doubts(Doubt::CutShort), Decision::Approve),
        cannot_be(&over(RequestEnd::Done, ""), Decision::Reject),
        no_answer(number),
        somebody(),
        question(&held),
        question(&changed),
        question(&doubts(Doubt::CutShort)),
        question(&not_begun),
        details(&held),
        risk(held.spec.as_ref().expect("it has one")),
        to_whoever_asked(&over(RequestEnd::Done, "")),
        to_whoever_asked(&over(RequestEnd::Failed, "exit code 1")),
        to_whoever_asked(&over(RequestEnd::Rejected, "ann rejected it: not today")),
    );
}

fn found(key: &str) -> Known {
    let finding = serde_json::from_value(json!({
        "key": key, "priority": "P1", "what": "85 % of the floor's disk are in use, 3 GB are free",
        "evidence": { "used_percent": 85, "disk_free": 3_000_000_000u64 },
        "remedy": { "remedy": "tidy" }, "concern": "agent",
    }));
    let finding = finding.expect("a finding");
    Known { finding, since: Time(1), told: None, tried: 3, tried_at: None, looked: None }
}

fn key(name: &str) -> crate::health::FindingKey {
    name.parse().expect("a key")
}

#[test]
fn health_page() {
    use crate::health::{Priority, Remedy};
    let (disk, runs) = (found("disk"), Remedy::CancelChecks { runs: vec![RunId(3), RunId(4)] });
    let letter = Letter {
        number: 3,
        text: "what is stuck?\n```\nsudo".into(),
        by: "ann".into(),
        at: Time(1),
        run: None,
        failed: 0,
        answer: None,
    };
    page!(health:
        urgent(&disk.finding),
        summary(&[disk.clone(), found("ci.pending")], &[key("load"), key("pr.7.review")], 1),
        remedy(&runs),
        remedied(&disk.finding, &Remedy::Tidy, 2),
        stray_ended(Epoch(7), Some("refs/rescue/dev-app-3/1")),
        cannot_look("the store is gone"),
        acked(&key("disk"), std::time::Duration::from_secs(7 * 24 * 3600), "ann"),
        unacked(&key("disk"), "ann"),
        ack_over(&key("disk")),
        letter(3, "ann", "what is stuck?"),
        too_many_letters(20),
        answers(&[3, 4], "Nothing is stuck: two changes wait for ben."),
        no_answer(),
        not_answered(&[3]),
        journal_entry(std::slice::from_ref(&disk), &["what may go is pruned".to_owned()]),
        run_entry(RunNumber(4), RunResult::Done, "The disk is full of logs."),
        briefing(&[&disk], &[&letter]),
        nothing_for_an_agent(),
        priority(Priority::P2),
    );
}
