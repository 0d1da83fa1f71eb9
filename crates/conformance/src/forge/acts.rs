//! What is done on a forge, and done again.

use super::{ForgeWorld, Reader, is_final, last_of, last_of_pull, words};
use shopfloor_core::effect::{StatusState, Verdict};
use shopfloor_core::event::Observation;
use shopfloor_core::forge::{IssueFilter, IssueState, PrState, Subject};
use shopfloor_core::ids::{IssueNumber, PrNumber, RunId, Sha};
use shopfloor_engine::ports::Final;
use shopfloor_engine::ports::forge::{By, NewComment, NewIssue, NewPr, NewReview};

fn issue(marker: Option<&str>) -> NewIssue<'_> {
    let labels = &[];
    NewIssue { by: By::Factory, marker, title: "Tidy up", body: "It is untidy.", labels, deps: &[] }
}

fn pull<'a>(branch: &'a str, head: &'a Sha, issue: Option<IssueNumber>) -> NewPr<'a> {
    NewPr { by: By::Factory, title: "Fix it", body: "As wished.", branch, head, issue }
}

fn review<'a>(head: &'a Sha, verdict: Verdict, marker: &'a str) -> NewReview<'a> {
    NewReview { by: By::Factory, marker: Some(marker), head, verdict, text: "As it is." }
}

pub fn what_is_posted_with_a_marker_is_posted_once(world: &mut dyn ForgeWorld) {
    let (first, head) = (world.open_issue("Fix it", ""), world.commit(1));
    let forge = world.forge();
    let pr = forge.open_pr(&pull("fix", &head, Some(first))).expect("opened");
    for _ in 0..3 {
        for on in [Subject::Issue(first), Subject::Pr(pr)] {
            for marker in ["one", "two"] {
                let new = NewComment { by: By::Factory, marker: Some(marker), body: marker };
                forge.comment(on, &new).expect("posted");
            }
        }
        forge.post_review(pr, &review(&head, Verdict::Approve, "e1")).expect("posted");
    }
    let said = |comments: Vec<shopfloor_core::forge::Comment>| {
        comments.into_iter().map(|comment| comment.body).collect::<Vec<_>>()
    };
    let posted =
        |bodies: Vec<String>| bodies.len() == 2 && bodies[0].contains("one") && bodies[1].contains("two");
    assert!(posted(said(forge.issue(first).expect("there").comments)));
    let shown = forge.pull(pr).expect("there");
    assert!(posted(said(shown.comments)));
    assert_eq!(shown.reviews.len(), 1);

    let made = forge.create_issue(&issue(Some("m"))).expect("made");
    assert_eq!(forge.create_issue(&issue(Some("m"))).expect("made"), made);
    assert_ne!(forge.create_issue(&issue(Some("n"))).expect("made"), made);
    assert_eq!(forge.issue(made).expect("there").title, "Tidy up");
}

pub fn labels_are_made_once_and_unknown_ones_are_refused(world: &mut dyn ForgeWorld) {
    let issue = world.open_issue("Fix it", "");
    let forge = world.forge();
    let before = forge.labels().expect("listed");
    for _ in 0..2 {
        forge.ensure_labels(&words(&["backlog", "for-2.x"])).expect("made");
    }
    let mut expected = before.clone();
    expected.push("for-2.x".to_owned());
    expected.sort();
    assert_eq!(forge.labels().expect("listed"), expected);
    forge.edit_labels(issue, &words(&["for-2.x", "backlog"]), &[]).expect("labelled");
    is_final(forge.edit_labels(issue, &words(&["blocked", "blokced"]), &words(&["backlog"])), Final::Refused);
    assert_eq!(forge.issue(issue).expect("there").labels, words(&["backlog", "for-2.x"]));
    // One that is in both is taken off.
    forge.edit_labels(issue, &words(&["backlog"]), &words(&["backlog", "for-2.x"])).expect("labelled");
    assert!(forge.issue(issue).expect("there").labels.is_empty());
    let labels = words(&["nobody's"]);
    is_final(forge.create_issue(&NewIssue { labels: &labels, ..self::issue(None) }), Final::Refused);
}

pub fn a_branch_has_one_open_pull_request(world: &mut dyn ForgeWorld) {
    let mut reader = Reader::default();
    let first = world.open_issue("Fix it", "");
    let [one, two] = [1, 2].map(|n| world.commit(n));
    let pr = world.forge().open_pr(&pull("fix", &one, Some(first))).expect("opened");
    assert_eq!(world.forge().open_pr(&pull("fix", &one, Some(first))).expect("found"), pr);
    let seen = reader.read(world);
    let Observation::Pr { ours, head, fixes, .. } = last_of_pull(&seen, pr) else { unreachable!() };
    assert_eq!((*ours, head.as_ref(), fixes.as_slice()), (true, Some(&one), &[first][..]));
    assert_eq!(world.forge().open_pr(&pull("fix", &two, Some(first))).expect("found"), pr);
    let seen = reader.read(world);
    assert!(matches!(last_of_pull(&seen, pr), Observation::Pr { head: Some(head), .. } if *head == two));
    world.forge().close_pr(pr, None).expect("closed");
    let next = world.forge().open_pr(&pull("fix", &two, Some(first))).expect("opened");
    assert_ne!(next, pr, "what is closed is not taken up again");
    // It follows its branch while it is open.
    world.forge().move_pr(next, &one).expect("moved");
    world.forge().move_pr(pr, &one).expect("nothing to do");
    let heads = [pr, next].map(|pr| world.forge().pull(pr).expect("there").head);
    assert_eq!(heads, [two, one]);
}

pub fn a_merge_is_the_stronger_word(world: &mut dyn ForgeWorld) {
    let [head, landed, other] = [1, 2, 3].map(|n| world.commit(n));
    let pr = world.open_pull("theirs", &head, None);
    let forge = world.forge();
    for merged in [None, Some(&landed), Some(&landed), None] {
        forge.close_pr(pr, merged).expect("closed");
    }
    let shown = forge.pull(pr).expect("there");
    assert_eq!((shown.state, shown.merged_commit.as_ref()), (PrState::Merged, Some(&landed)));
    is_final(forge.close_pr(pr, Some(&other)), Final::Rejected);
}

pub fn nobody_approves_their_own_and_an_approval_takes_a_request_back(world: &mut dyn ForgeWorld) {
    let mut reader = Reader::default();
    let first = world.open_issue("Fix it", "");
    let [old, new] = [1, 2].map(|n| world.commit(n));
    let pr = world.forge().open_pr(&pull("fix", &old, Some(first))).expect("opened");
    world.forge().post_review(pr, &review(&old, Verdict::RequestChanges, "e1-a")).expect("posted");
    world.review(pr, &old, Verdict::RequestChanges, "No");
    reader.read(world);
    world.forge().post_review(pr, &review(&new, Verdict::Approve, "e1-b")).expect("posted");
    let stands = world.forge().pull(pr).expect("there").reviews;
    let stands: Vec<_> = stands.iter().map(|r| (r.verdict, r.dismissed_at.is_some())).collect();
    let (asks, approves) = (Verdict::RequestChanges, Verdict::Approve);
    assert_eq!(stands, [(asks, true), (asks, false), (approves, false)], "only its own");
    // Whoever follows sees both, and that they are an agent's.
    let seen = reader.read(world);
    let said = |o: &Observation| match o {
        Observation::Review { verdict, dismissed, agent: true, .. } => Some((*verdict, *dismissed)),
        _ => None,
    };
    let said: Vec<_> = seen.iter().filter_map(said).collect();
    assert!(said.contains(&(asks, true)) && said.contains(&(approves, false)), "{said:?}");
    let theirs = NewPr { by: By::Person("ann"), ..pull("hers", &new, None) };
    let hers = world.forge().open_pr(&theirs).expect("opened");
    let own = NewReview { by: By::Person("ann"), marker: None, ..review(&new, Verdict::Approve, "") };
    is_final(world.forge().post_review(hers, &own), Final::Refused);
    let other = NewReview { by: By::Person("bob"), ..own };
    world.forge().post_review(hers, &other).expect("posted");
}

pub fn every_call_may_be_repeated(world: &mut dyn ForgeWorld) {
    let mut reader = Reader::default();
    let issue = world.open_issue("Fix it", "");
    for _ in 0..2 {
        world.forge().edit_issue(issue, Some("Mend it"), None).expect("edited");
        world.forge().edit_labels(issue, &words(&["blocked"]), &words(&["backlog"])).expect("labelled");
        world.forge().close_issue(issue).expect("closed");
    }
    let seen = reader.read(world);
    let Observation::Issue { title, labels, open, .. } = last_of(&seen, issue) else { unreachable!() };
    assert_eq!((title.as_str(), labels, *open), ("Mend it", &words(&["blocked"]), false));
    let shown = world.forge().issue(issue).expect("there");
    assert_eq!((shown.state, shown.body.as_str()), (IssueState::Closed, ""));
    for _ in 0..2 {
        world.forge().reopen_issue(issue).expect("open");
    }
    assert!(matches!(last_of(&reader.read(world), issue), Observation::Issue { open: true, .. }));
}

pub fn what_is_not_there_is_missing_for_good(world: &mut dyn ForgeWorld) {
    let (head, none, no_pr) = (world.commit(1), IssueNumber(77_777), PrNumber(77_777));
    let forge = world.forge();
    let new = NewComment { by: By::Factory, marker: Some("m"), body: "Hello" };
    is_final(forge.issue(none), Final::Missing);
    is_final(forge.pull(no_pr), Final::Missing);
    is_final(forge.issue_text(none), Final::Missing);
    is_final(forge.close_issue(none), Final::Missing);
    is_final(forge.reopen_issue(none), Final::Missing);
    is_final(forge.edit_issue(none, Some("x"), None), Final::Missing);
    is_final(forge.edit_labels(none, &words(&["blocked"]), &[]), Final::Missing);
    is_final(forge.comment(Subject::Issue(none), &new), Final::Missing);
    is_final(forge.comment(Subject::Pr(no_pr), &new), Final::Missing);
    is_final(forge.edit_comment(Subject::Issue(none), 1, "Hello"), Final::Missing);
    is_final(forge.close_pr(no_pr, None), Final::Missing);
    is_final(forge.move_pr(no_pr, &head), Final::Missing);
    is_final(forge.post_review(no_pr, &review(&head, Verdict::Approve, "m")), Final::Missing);
    is_final(forge.open_pr(&pull("fix", &head, Some(none))), Final::Missing);
    is_final(forge.create_issue(&NewIssue { deps: &[none], ..issue(None) }), Final::Missing);
}

pub fn texts_for_agents_are_safe_and_bounded(world: &mut dyn ForgeWorld) {
    let body = format!("\u{1b}]0;owned\u{7}Start\r\n{}", "x".repeat(200_000));
    let (issue, head) = (world.open_issue("T\u{1b}[2Jitle", &body), world.commit(1));
    for n in 1..=12 {
        world.comment(Subject::Issue(issue), &format!("\u{7}No. {n}"));
    }
    world.comment(Subject::Issue(issue), &"y".repeat(100_000));
    world.settle();
    let shown = world.forge().issue_text(issue).expect("there");
    assert_eq!(shown.title, "Title");
    assert!(shown.body.starts_with("Start\nxxx") && shown.body.len() < 70_000);
    assert_eq!(shown.comments.len(), 10);
    assert!(shown.comments[0].ends_with("\nNo. 4"), "{}", shown.comments[0]);
    assert!(shown.comments[9].len() < 20_000);
    let pr = world.open_pull("theirs", &head, None);
    for n in 1..=7 {
        world.review(pr, &head, Verdict::Discuss, &format!("\u{1b}[1m{n}{}", "z".repeat(100_000)));
    }
    world.settle();
    let reviews = world.forge().review_texts(pr).expect("there");
    assert_eq!(reviews.len(), 5);
    assert!(reviews[4].contains("\n7zzz") && reviews.iter().all(|r| r.len() < 20_000));
    assert!(reviews.iter().all(|review| !review.contains('\u{1b}')));
    let seen = Reader::default().read(world);
    let safe = |o: &Observation| match o {
        Observation::Review { text, .. } => text.len() < 20_000 && !text.contains('\u{1b}'),
        Observation::Issue { title, .. } => !title.contains('\u{1b}'),
        _ => true,
    };
    assert!(seen.iter().all(safe));
}

pub fn the_latest_status_of_a_commit_stands(world: &mut dyn ForgeWorld) {
    let head = world.commit(1);
    let pr = world.open_pull("theirs", &head, None);
    let forge = world.forge();
    forge.post_status(&head, RunId(1), StatusState::Pending, "it runs").expect("posted");
    for _ in 0..2 {
        forge.post_status(&head, RunId(1), StatusState::Failure, "step\ntest failed").expect("posted");
    }
    let shown = forge.pull(pr).expect("there").statuses;
    assert_eq!(shown.len(), 1);
    assert_eq!((shown[0].state, shown[0].description.as_str()), (StatusState::Failure, "step test failed"));
    let told = forge.pull_text(pr).expect("there").checks;
    assert!(told[0].contains(head.short()) && told[0].ends_with("failure, step test failed"), "{told:?}");
}

pub fn lists_are_by_number_and_show_what_was_asked_for(world: &mut dyn ForgeWorld) {
    let issues = [1, 2, 3].map(|n| world.open_issue(&format!("No. {n}"), ""));
    world.label(issues[1], &["backlog"], &[]);
    world.close_issue(issues[2]);
    let head = world.commit(1);
    let prs = ["a", "b"].map(|branch| world.open_pull(branch, &head, None));
    world.close_pull(prs[0]);
    world.settle();
    let forge = world.forge();
    let listed = |state, label: Option<&str>| -> Vec<IssueNumber> {
        let filter = IssueFilter { state, label: label.map(str::to_owned), ..IssueFilter::default() };
        forge.issues(&filter).expect("listed").iter().map(|issue| issue.number).collect()
    };
    assert_eq!(listed(None, None), issues);
    assert_eq!(listed(Some(IssueState::Open), None), issues[..2]);
    assert_eq!(listed(Some(IssueState::Closed), None), issues[2..]);
    assert_eq!(listed(None, Some("backlog")), issues[1..2]);
    let open = forge.open_issues().expect("read");
    let read: Vec<_> = open.iter().map(|issue| (issue.number, issue.body.as_str())).collect();
    assert_eq!(read, [(issues[0], ""), (issues[1], "")]);
    assert_eq!((&open[1].labels[..], &open[1].title[..]), (&["backlog".to_owned()][..], "No. 2"));
    let unknown = IssueFilter { label: Some("backlgo".into()), ..IssueFilter::default() };
    is_final(forge.issues(&unknown), Final::Refused);
    let pulls =
        |state| -> Vec<PrNumber> { forge.pulls(state).expect("listed").iter().map(|pr| pr.number).collect() };
    assert_eq!(pulls(None), prs);
    assert_eq!(
        (pulls(Some(PrState::Open)), pulls(Some(PrState::Closed))),
        (prs[1..].into(), prs[..1].into())
    );
}

pub fn words_are_looked_for_in_titles_and_texts(world: &mut dyn ForgeWorld) {
    let issues = [1, 2, 3].map(|n| world.open_issue(&format!("No. {n}"), ""));
    world.close_issue(issues[2]);
    let said = world.open_issue("Half", "It is only 50% done, says _it_.");
    world.settle();
    let forge = world.forge();
    let said_of = |words: &[&str]| -> Vec<IssueNumber> {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let filter = IssueFilter { words, state: Some(IssueState::Open), ..IssueFilter::default() };
        forge.issues(&filter).expect("searched").iter().map(|issue| issue.number).collect()
    };
    assert_eq!(said_of(&["no."]), issues[..2], "a closed one is not looked for");
    assert_eq!(said_of(&["50%", "HALF"]), [said], "each word, wherever it is");
    assert_eq!(said_of(&["50%", "no."]), []);
    assert_eq!(said_of(&["%"]), [said], "a word is no pattern");
    assert_eq!(said_of(&["'; drop table forge_issues; --"]), []);
}

pub fn a_pull_request_that_was_given_up_is_found_again(world: &mut dyn ForgeWorld) {
    let (issue, head, landed) = (world.open_issue("Fix it", ""), world.commit(1), world.commit(2));
    let forge = world.forge();
    assert_eq!(forge.abandoned_pull(issue).expect("asked"), None);
    let mut last = None;
    for branch in ["first-try", "second-try"] {
        let pr = forge.open_pr(&pull(branch, &head, Some(issue))).expect("opened");
        forge.close_pr(pr, None).expect("closed");
        last = Some(pr);
    }
    assert_eq!(forge.abandoned_pull(issue).expect("asked"), last);
    // One that is open, or landed, was not given up.
    let merged = forge.open_pr(&pull("third-try", &head, Some(issue))).expect("opened");
    assert_eq!(forge.abandoned_pull(issue).expect("asked"), last);
    forge.close_pr(merged, Some(&landed)).expect("closed");
    assert_eq!(forge.abandoned_pull(issue).expect("asked"), last);
}
