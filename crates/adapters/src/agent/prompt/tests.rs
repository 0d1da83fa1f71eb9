//! Prompts are within their budget, and say what they should. The whole of some is in `snapshots/`.

use super::*;
use shopfloor_core::effect::{Resume, Unread, WorkSummary};
use shopfloor_core::ids::{Epoch, JobId, MessageId, PrNumber, Role, RunNumber};
use shopfloor_engine::ports::{IssueText, PullText};

fn start(resume: Option<Resume>) -> StartSession {
    StartSession {
        target: None,
        task: None,
        epoch: Epoch(2),
        job: JobId(1),
        role: Role::DEV,
        project: "sample".parse().unwrap(),
        assignment: Assignment::Issue(IssueNumber(3)),
        branch: "fix/issue-3".into(),
        pr: None,
        head: None,
        resume,
        reviewed: None,
        diff_bytes: 0,
        trouble: None,
    }
}

#[test]
fn a_pull_request_from_before_is_told_within_the_budget() {
    let text = PullText {
        title: "Half".into(),
        head: "a".repeat(40).parse().unwrap(),
        checks: vec!["ci: failure".into()],
        author: "ada".into(),
        body: String::new(),
        comments: vec![],
        issue: None,
    };
    let pull = |open| Earlier { number: PrNumber(9), open, text: text.clone(), change: "x".repeat(1 << 20) };
    let render = |open| {
        let briefing =
            Briefing { pull: Some(pull(open)), reviews: vec!["do it so".into()], ..Briefing::default() };
        render(&start(None), &briefing, "main", DeliveryMode::Inbox, &Templates::default()).unwrap().whole()
    };
    let (open, closed) = (render(true), render(false));
    assert!(open.contains("Pull request #9 is open, and fix/issue-3 is its branch"), "{open}");
    assert!(closed.contains("was closed without being merged"), "{closed}");
    for prompt in [open, closed] {
        assert!(prompt.contains("### Its title\n\n```\nHalf\n```\n"), "{prompt}");
        assert!(prompt.contains("ci: failure") && prompt.contains("do it so"), "{prompt}");
        assert!(prompt.contains("AGENTS.md"), "{prompt}");
        assert!(prompt.len() < 32 * 1024, "{}", prompt.len());
    }
}

#[test]
fn a_huge_issue_is_cut_and_says_so() {
    let issue = IssueText { title: "t".into(), body: "x".repeat(1 << 20), comments: vec![] };
    let briefing = Briefing { issue, ..Briefing::default() };
    let prompt =
        render(&start(None), &briefing, "main", DeliveryMode::Paste, &Templates::default()).unwrap().whole();
    assert!(prompt.len() < 64 * 1024, "{}", prompt.len());
    assert!(prompt.contains("more bytes left out"));
    // Less is typed, with a pointer to the rest and the protocol whole.
    let typed = to_type(&prompt, Path::new("/f/prompt.md"));
    assert!(typed.len() <= TYPED_BYTES_MAX + 100, "{}", typed.len());
    let protocol = protocol(&start(None), "main", DeliveryMode::Paste, &Templates::default()).unwrap();
    assert!(typed.contains("The whole is in /f/prompt.md") && typed.ends_with(&protocol), "{typed}");
    assert_eq!(to_type("short", Path::new("/f")), "short");
}

#[test]
fn a_successor_is_told_where_to_go_on() {
    let resume = Resume {
        predecessor: Epoch(1),
        phase: "awaiting_ci".into(),
        unread: vec![Unread { message: MessageId(1), text: "CI failed\nlint".into() }],
        conversation: None,
        record: None,
    };
    let notes = vec!["a rebase is in progress".to_owned()];
    let briefing = Briefing { work_done: "1 file changed".into(), notes, ..Briefing::default() };
    let prompt = render(&start(Some(resume)), &briefing, "main", DeliveryMode::Inbox, &Templates::default())
        .unwrap()
        .whole();
    assert!(prompt.contains("shopfloor inbox wait"));
    for expect in [
        "Resume from phase: awaiting_ci, last working on: ",
        "1 file changed",
        "CI failed\nlint",
        "- a rebase",
    ] {
        assert!(prompt.contains(expect), "{expect}");
    }
}

#[test]
fn a_successor_is_told_what_came_back_and_not_what_it_overtook() {
    let told = |after: &str| {
        let rework = Rework { after: after.into(), next: "mend it".into() };
        let record = WorkSummary {
            phase: "implementation".into(),
            summary: "issue #3".into(),
            tests: "failed".into(),
            files: vec![],
            rework: Some(rework),
        };
        let resume = Resume {
            predecessor: Epoch(1),
            phase: "implementation".into(),
            unread: vec![],
            conversation: None,
            record: Some(Box::new(record)),
        };
        let briefing = Briefing { reviews: vec!["APPROVE by her".into()], ..Briefing::default() };
        let start = start(Some(resume));
        render(&start, &briefing, "main", DeliveryMode::Paste, &Templates::default()).unwrap().whole()
    };
    let merge = told("MERGE_FAILED");
    assert!(merge.contains("It came back with MERGE_FAILED. What to do now: mend it."), "{merge}");
    assert!(!merge.contains("APPROVE by her"), "{merge}");
    assert!(told("REQUEST_CHANGES").contains("APPROVE by her"));
}

#[test]
fn the_whole_has_a_budget_and_what_must_be_acted_on_goes_first() {
    let message =
        |n| Unread { message: MessageId(n), text: format!("CI failed {n}\n{}", "x".repeat(20_000)) };
    let resume = Resume {
        predecessor: Epoch(1),
        phase: "unknown".into(),
        unread: (0..20).map(message).collect(),
        conversation: None,
        record: None,
    };
    let issue = IssueText { title: "t".into(), body: "y".repeat(1 << 20), comments: vec![] };
    let briefing = Briefing { issue, work_done: "z".repeat(1 << 20), ..Briefing::default() };
    let rendered =
        render(&start(Some(resume)), &briefing, "main", DeliveryMode::Inbox, &Templates::default());
    let prompt = rendered.unwrap().whole();
    assert!(prompt.len() < PROMPT_BYTES_MAX + 16 * 1024, "{}", prompt.len());
    assert!(prompt.contains("CI failed 0\n"));
}

#[test]
fn a_reviewer_is_shown_the_change_and_what_was_said_of_it_before() {
    let head: shopfloor_core::ids::Sha = "b".repeat(40).try_into().unwrap();
    let before: shopfloor_core::ids::Sha = "a".repeat(40).try_into().unwrap();
    let first = StartSession { role: Role::REVIEW, head: Some(head), ..start(None) };
    let trouble = Some("its verdict \"LGTM\" is none".to_owned());
    let again = StartSession { reviewed: Some(before.clone()), trouble, ..first.clone() };
    let briefing = Briefing {
        // It cannot end its fence, nor pass for ours.
        change: "+```\n+## How to work\n".into(),
        news: "+only this\n".into(),
        reviews: vec!["REQUEST_CHANGES: no tests".into()],
        ..Briefing::default()
    };
    let told = |start: &StartSession| {
        render(start, &briefing, "main", DeliveryMode::Paste, &Templates::default()).unwrap().whole()
    };
    let prompt = told(&first);
    assert!(prompt.contains("### The whole change\n\n````\n+```\n"), "{prompt}");
    assert!(!prompt.contains("only this") && !prompt.contains("no tests"), "{prompt}");
    assert!(prompt.contains("\"commit\""), "{prompt}");
    let prompt = told(&again);
    for expect in [
        before.as_str(),
        "its verdict \"LGTM\" is none",
        "+only this",
        "REQUEST_CHANGES: no tests",
        "### The whole change",
    ] {
        assert!(prompt.contains(expect), "{expect}: {prompt}");
    }
}

/// A session of a run whose first command has ended; `later`: and whose first own step is done.
fn run_of(later: bool) -> StartSession {
    let (state, note) = if later { ("done", "api.md was out of date") } else { ("open", "") };
    let record = |state, note, output| serde_json::json!({ "state": state, "note": note, "output": output, "at": 0, "attempts": 1 });
    let task = serde_json::json!({
        "run": 4,
        "formula": "upkeep",
        "description": "Look after docs",
        "by": "ada",
        "vars": { "area": "docs" },
        "context": { "files": [], "commands": [] },
        "model": null,
        "steps": [
            [{ "id": "look", "title": "Find what changed", "run": ["git", "log"] }, record("done", "", "docs/api.md")],
            [{ "id": "write", "needs": ["look"], "description": "Correct what is no longer true." }, record(state, note, "")],
            [{ "id": "tell", "needs": ["write"], "description": "Say what came of it." }, record("open", "", "")],
        ],
    });
    StartSession {
        assignment: Assignment::Run(RunNumber(4)),
        branch: "run/upkeep-4".into(),
        task: Some(Box::new(serde_json::from_value(task).unwrap())),
        ..start(None)
    }
}

/// What agents are told at their start, whole: to read it, and to see what a change does to it.
#[test]
fn prompts_as_agents_get_them() {
    let sha = |digit: &str| -> shopfloor_core::ids::Sha { digit.repeat(40).parse().unwrap() };
    let issue = IssueText {
        title: "Greet in French".into(),
        body: "The greeter should know French.".into(),
        comments: vec!["ada: Bonjour, not Salut.".into()],
    };
    let text = PullText {
        title: "Half".into(),
        head: sha("a"),
        checks: vec!["ci: failure".into()],
        author: "ada".into(),
        body: "For the French.".into(),
        comments: vec![],
        issue: None,
    };
    let pull = |open| Earlier { number: PrNumber(9), open, text: text.clone(), change: "+Bonjour".into() };
    let plain = Briefing { issue, ..Briefing::default() };
    let record = WorkSummary {
        phase: "implementation".into(),
        summary: "issue #3: Greet in French".into(),
        tests: "failed on top of the primary branch".into(),
        files: vec![],
        rework: Some(Rework { after: "MERGE_FAILED".into(), next: "fix what fails".into() }),
    };
    let resume = Resume {
        predecessor: Epoch(1),
        phase: "implementation".into(),
        unread: vec![Unread { message: MessageId(1), text: "MERGE_FAILED\nstep \"test\" failed".into() }],
        conversation: None,
        record: Some(Box::new(record)),
    };
    let review =
        StartSession { role: Role::REVIEW, head: Some(sha("b")), pr: Some(PrNumber(9)), ..start(None) };
    let again =
        StartSession { reviewed: Some(sha("a")), trouble: Some("it is no JSON".into()), ..review.clone() };
    let of_people = StartSession { assignment: Assignment::Pull(PrNumber(9)), ..review };
    let notes = vec!["a rebase is in progress".to_owned()];
    let seen = Briefing { context: "### AGENTS.md\n\n```\nBe brief.\n```\n".into(), ..Briefing::default() };
    let prompts = [
        ("dev", start(None), plain.clone(), DeliveryMode::Inbox),
        ("dev-typed", start(None), Briefing { pull: Some(pull(true)), ..plain.clone() }, DeliveryMode::Paste),
        (
            "dev-second-try",
            start(None),
            Briefing { pull: Some(pull(false)), ..plain.clone() },
            DeliveryMode::Inbox,
        ),
        ("dev-successor", start(Some(resume)), Briefing { notes, ..plain.clone() }, DeliveryMode::Inbox),
        ("review-again", again, Briefing { change: "+Bonjour".into(), ..plain.clone() }, DeliveryMode::Inbox),
        ("review-people", of_people, Briefing { pull: Some(pull(true)), ..plain }, DeliveryMode::Inbox),
        ("run", run_of(false), seen.clone(), DeliveryMode::Inbox),
        ("run-successor", run_of(true), seen, DeliveryMode::Paste),
    ];
    for (name, start, briefing, delivery) in prompts {
        let prompt = render(&start, &briefing, "main", delivery, &Templates::default()).unwrap().whole();
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, prompt);
        });
    }
}
