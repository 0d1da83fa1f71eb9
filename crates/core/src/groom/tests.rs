//! What is found in a backlog, and what answers and decisions say.

use super::answer::{Answer, parse};
use super::*;
use crate::act::Act;
use crate::groom::decision;

const DAY: u64 = 24 * 3600 * 1000;
const NOW: Time = Time(100 * DAY);

fn look<'a>(number: u64, title: &'a str, body: &'a str) -> Look<'a> {
    Look {
        number: IssueNumber(number),
        title,
        body,
        labels: BTreeSet::new(),
        deps: crate::deps::parse(body),
        updated_at: NOW,
        at_work: false,
    }
}

fn labelled<'a>(look: Look<'a>, labels: &[&'a str]) -> Look<'a> {
    Look { labels: labels.iter().copied().collect(), ..look }
}

fn found(issues: &[Look<'_>]) -> Vec<(&'static str, u64, Vec<u64>)> {
    let found = findings(issues, &Limits::default(), NOW);
    found.iter().map(|f| (f.kind.name(), f.issue.0, f.others.iter().map(|n| n.0).collect())).collect()
}

/// A text that is long enough, says when it is done, and has words of its own.
fn sound(about: &str) -> String {
    let words: Vec<String> = (0..30).map(|n| format!("{about}{n}")).collect();
    format!("{}\n\n- [ ] {about} works", words.join(" "))
}

#[test]
fn what_is_in_order_is_not_found() {
    let (one, other) = (sound("login"), sound("menu"));
    assert_eq!(found(&[look(1, "Login times out", &one), look(2, "Menu is empty", &other)]), []);
}

#[test]
fn each_kind_is_found() {
    let fine = sound("fine");
    let short = "Fix it.";
    let vague = "x ".repeat(120);
    let large: String = (0..13).map(|n| format!("- [ ] part {n} of this\n")).collect();
    let files: String = (0..11).map(|n| format!("src/file{n}.rs ")).collect::<String>() + "\n- [ ] done";
    let waits = format!("{fine}\nDepends on #9");
    let gone = format!("{fine}\nDepends on #99");
    let old = Look { updated_at: Time(NOW.0 - 14 * DAY), ..look(7, "Seven", &fine) };
    let issues = [
        look(1, "One", short),
        look(2, "Two", &vague),
        look(3, "Three", &large),
        look(4, "Four", &files),
        labelled(look(5, "Five", &waits), &["backlog"]),
        labelled(look(6, "Six", &gone), &["blocked"]),
        old,
        labelled(look(8, "Eight", "Nobody knows why this is so."), &["blocked", "underspecified"]),
        look(9, "Nine", "- [ ] it is there, whatever it is"),
    ];
    let expected: &[(&str, u64, Vec<u64>)] = &[
        ("reason_gone", 6, vec![99]),
        ("blocked", 8, vec![]),
        ("waits_for_nobody", 5, vec![9]),
        ("duplicate", 6, vec![5]),
        ("duplicate", 7, vec![5, 6]),
        ("too_large", 3, vec![]),
        ("too_large", 4, vec![]),
        ("too_short", 1, vec![]),
        ("no_criteria", 2, vec![]),
        ("stale", 7, vec![]),
    ];
    assert_eq!(found(&issues), expected);
    // Whoever works on it knows best.
    assert_eq!(found(&[Look { at_work: true, ..look(1, "One", short) }]), []);
    assert_eq!(found(&[labelled(look(1, "One", short), &["vision"])]), []);
}

#[test]
fn a_circle_is_found_once() {
    let text = |on: u64| format!("{}\nDepends on #{on}", sound(&format!("word{on}x")));
    let (one, two, three) = (text(2), text(3), text(1));
    let issues = [look(1, "Apples", &one), look(2, "Pears", &two), look(3, "Plums", &three)];
    assert_eq!(found(&issues), [("circle", 1, vec![2, 3])]);
}

#[test]
fn issues_are_alike_by_title_or_by_text() {
    let (one, other, third) = (sound("a"), sound("b"), sound("c"));
    let moved = format!("Please note:\n\n{one}");
    let issues = [
        look(1, "Login times out", &one),
        look(2, "The login times out!", &other),
        look(3, "Something is slow", &moved),
        look(4, "Logout times out", &third),
    ];
    assert_eq!(found(&issues), [("duplicate", 2, vec![1]), ("duplicate", 3, vec![1])]);
}

#[test]
fn what_was_judged_stays_judged_until_it_changes() {
    let key = |title: &str, body: &str| findings(&[look(1, title, body)], &Limits::default(), NOW)[0].key;
    assert_eq!(key("One", "Fix it."), key("One", "Fix it."));
    assert_ne!(key("One", "Fix it."), key("One", "Fix this."));
    let later = Look { updated_at: Time(NOW.0 - 20 * DAY), ..look(1, "One", "Fix it.") };
    let keys: BTreeSet<u64> =
        findings(&[later], &Limits::default(), NOW).iter().map(|finding| finding.key).collect();
    assert!(keys.contains(&key("One", "Fix it.")), "being older makes it no shorter");
    let found = findings(&[look(1, "One\nFindings: 0123", "Fix it.")], &Limits::default(), NOW);
    let report = Report { fresh: found.iter().collect(), decided: vec!["#3 Keep it?: a) yes".into()] };
    assert_eq!(judged_in(&report.text()), [found[0].key], "no title is taken for it");
}

/// A square of this would take minutes.
#[test]
fn ten_thousand_issues_are_looked_at() {
    let texts: Vec<(String, String)> = (0..10_000)
        .map(|n| {
            let body: Vec<String> = (0..60).map(|w| format!("w{}", (n * 31 + w * w * 7) % 5000)).collect();
            (format!("Thing {n} of module{} breaks", n % 700), format!("{}\n- [ ] ok", body.join(" ")))
        })
        .collect();
    let mut issues: Vec<Look<'_>> =
        (1..).zip(&texts).map(|(n, (title, body))| look(n, title, body)).collect();
    issues[9_999] = look(10_000, &texts[17].0, &texts[17].1);
    let found = findings(&issues, &Limits::default(), NOW);
    let twin = found.iter().find(|f| f.kind == Kind::Duplicate && f.issue.0 == 10_000);
    assert!(twin.is_some_and(|twin| twin.others.contains(&IssueNumber(18))));
}

fn wrong(text: &str) -> String {
    parse(text).expect_err("it is wrong").to_string()
}

fn issue(number: u64) -> IssueNumber {
    IssueNumber(number)
}

#[test]
fn an_answer_says_what_is_to_be_done() {
    let text = "ACTION: edit #5 title \"A \"quoted\" title\" body\n```\nThe text.\n\nMore.\n```\n\n\
                ACTION: label #5 +underspecified -tech-debt\n\
                ACTION: split #6\nPART: \"One\"\n````\n```\ncode\n```\n````\nPART: \"Two\"\n```\nRest\n```\n\
                ACTION: close #7 duplicate of #5\n\
                ACTION: link #5 depends on #8\n\
                DUST: {\"issue\": 9, \"group\": \"Docs\", \"title\": \"Typo\", \"reason\": \"small\"}\n\
                ESCALATE\n1. #10: Keep <!-- it?\n   a) yes\n   b) no => ACTION: label #10 -blocked\n";
    let answer = parse(text).expect("it is right");
    let acts: Vec<&Act> = answer.acts.iter().map(|planned| &planned.act).collect();
    assert_eq!(
        acts[0],
        &Act::Edit {
            issue: issue(5),
            title: Some("A \"quoted\" title".into()),
            body: Some("The text.\n\nMore.".into())
        }
    );
    let Act::Split { parts, .. } = acts[2] else { panic!("it is another: {:?}", acts[2]) };
    assert_eq!((parts[0].body.as_str(), parts[1].title.as_str()), ("```\ncode\n```", "Two"));
    assert_eq!(acts[3], &Act::CloseAs { issue: issue(7), of: issue(5) });
    assert_eq!(acts[4], &Act::Link { issue: issue(5), on: issue(8) });
    assert_eq!((answer.acts[1].line, answer.acts[4].line), (8, 21));
    assert_eq!(answer.dust[0].group, "docs");
    let asked = &answer.questions[0];
    assert_eq!((asked.issue, asked.text.as_str()), (issue(10), "Keep &lt;!-- it?"), "it hides nothing");
    let does = Act::Label { issue: issue(10), add: vec![], remove: vec!["blocked".into()] };
    assert_eq!(asked.options[1].act, Some(does));
    assert_eq!(parse("\n CLEAN \n"), Ok(Answer::default()));
    let stored = serde_json::to_string(&answer).expect("it is data");
    assert_eq!(serde_json::from_str::<Answer>(&stored).expect("read"), answer);
}

#[test]
fn a_mistake_is_told_with_its_line() {
    for (text, expected) in [
        ("", "it says nothing"),
        ("CLEAN\nACTION: close #1 duplicate of #2", "leave it out"),
        ("CLEAN\n\nI think so.", "line 3: \"I think so.\" is none of"),
        ("ACTION: delete #5", "line 1: \"delete\" is no action"),
        ("ACTION: edit 5 title \"x\"", "as #N, and not \"5"),
        ("ACTION: edit #5", "title"),
        ("ACTION: edit #5 title x", "in quotes"),
        ("ACTION: edit #5 body\ntext", "a fenced block is expected"),
        ("ACTION: edit #5 body\n```\ntext", "not closed"),
        ("ACTION: edit #5 body\n```\n```", "the block is empty"),
        ("ACTION: label #5", "say which labels"),
        ("ACTION: label #5 backlog", "neither `+label` nor `-label`"),
        ("ACTION: close #5", "`close #N duplicate of #M` is expected"),
        ("ACTION: close #5 duplicate of #3 and #4", "not understood"),
        ("ACTION: split #5\nPART: \"One\"\n```\nx\n```", "two parts or more"),
        ("DUST: nothing", "line 1: a JSON object"),
        ("DUST: {\"issue\":1,\"group\":\"\",\"title\":\"t\",\"reason\":\"r\"}", "`group` has"),
        ("DUST: {\"issue\":1,\"group\":\"g\",\"title\":\"t\",\"reason\":\"r\",\"more\":1}", "unknown field"),
        ("ESCALATE\n2. #5 Which?\n a) x\n b) y", "after ESCALATE comes"),
        ("ESCALATE\n1. Which?\n a) x\n b) y", "an issue is expected"),
        ("ESCALATE\n1. #5 Which?\n a) x", "two options or more"),
        ("ESCALATE\n1. #5 Which?\n a) x => ACTION: split #5\n b) y", "no action"),
        ("ESCALATE\n1. #5 Which?\n a) x => ACTION: label #5 +a +b +c +d\n b) y", "more than 3 labels"),
        (
            "ACTION: close #5 duplicate of #3\nACTION: close #3 duplicate of #5",
            "line 1: #3 is closed or split by line 2",
        ),
        ("ACTION: close #5 duplicate of #3\nACTION: link #5 depends on #4", "line 2: #5 is closed"),
    ] {
        let mistake = wrong(text);
        assert!(mistake.contains(expected), "{text:?}: {mistake}");
    }
    assert!(wrong(&"ACTION: label #1 +a\n".repeat(60)).contains("more than 50 actions"));
    assert!(wrong(&"x".repeat(300 * 1024)).contains("bytes"));
    // Whatever it is, it is read.
    for text in
        ["ESCALATE\n1.", "ACTION:", "DUST:", "ACTION: edit #99999999999999999999 title \"x\"", "\u{0}ÄÖ```"]
    {
        wrong(text);
    }
}

#[test]
fn a_person_decides_by_number_and_letter() {
    let parts = [Some(2), None, Some(3)];
    let chosen =
        |text: &str| decision::parse(&parts, text).map(|chosen| chosen.into_iter().collect::<Vec<_>>());
    assert_eq!(chosen("1a 3c"), Ok(vec![(0, 0), (2, 2)]));
    assert_eq!(chosen(" 3B, 1b "), Ok(vec![(0, 1), (2, 1)]));
    assert_eq!(chosen("1a 1a"), Ok(vec![(0, 0)]));
    for text in ["", "1", "a", "1c", "2a", "4a", "0a", "1ab", "1a 1b", "yes", "1a 9z", "１a"] {
        let wrong = chosen(text).expect_err(text);
        assert!(wrong.to_string().contains("choose from 1a to 1b, 3a to 3c"), "{text:?}: {wrong}");
    }
}
