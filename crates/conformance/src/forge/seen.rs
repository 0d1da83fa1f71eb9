//! What is learned of a forge.

use super::{ForgeWorld, Reader, last_of, last_of_pull, words};
use shopfloor_core::effect::Verdict;
use shopfloor_core::event::Observation;
use shopfloor_core::forge::{Cursor, Subject, Version};
use shopfloor_core::ids::IssueNumber;
use shopfloor_engine::ports::forge::{By, NewComment};
use std::collections::BTreeSet;

pub fn what_people_do_to_an_issue_is_seen(world: &mut dyn ForgeWorld) {
    let mut reader = Reader::default();
    let first = world.open_issue("First", "");
    let issue = world.open_issue("Fix it", &format!("Depends on #{first}"));
    let seen = reader.read(world);
    let Observation::Issue { title, labels, open, deps, revision, .. } = last_of(&seen, issue) else {
        unreachable!()
    };
    assert_eq!((title.as_str(), *open, deps.as_slice()), ("Fix it", true, &[first][..]));
    assert!(labels.is_empty());
    let before = *revision;

    world.label(issue, &["backlog", "priority"], &[]);
    world.label(issue, &[], &["priority"]);
    let seen = reader.read(world);
    let Observation::Issue { labels, revision, .. } = last_of(&seen, issue) else { unreachable!() };
    assert_eq!((labels, *revision), (&words(&["backlog"]), before), "labels are no text");

    world.edit_issue(issue, "Mend it", "Now");
    let seen = reader.read(world);
    let Observation::Issue { title, deps, revision, .. } = last_of(&seen, issue) else { unreachable!() };
    assert_eq!((title.as_str(), deps.len()), ("Mend it", 0));
    assert_ne!(*revision, before);

    for open in [false, true] {
        if open {
            world.reopen_issue(issue);
        } else {
            world.close_issue(issue);
        }
        let seen = reader.read(world);
        assert!(matches!(last_of(&seen, issue), Observation::Issue { open: is, .. } if *is == open));
    }
}

pub fn what_people_do_to_a_pull_request_is_seen(world: &mut dyn ForgeWorld) {
    let mut reader = Reader::default();
    let (issue, head) = (world.open_issue("Fix it", ""), world.commit(1));
    let pr = world.open_pull("theirs", &head, Some(issue));
    let seen = reader.read(world);
    let Observation::Pr { open, branch, head: at, fixes, ours, author, merged, .. } = last_of_pull(&seen, pr)
    else {
        unreachable!()
    };
    assert_eq!((*open, branch.as_str(), at.as_ref(), *ours), (true, "theirs", Some(&head), false));
    assert_eq!((fixes.as_slice(), merged), (&[issue][..], &None));
    assert!(!author.is_empty());

    world.review(pr, &head, Verdict::RequestChanges, "Not like that");
    let said = |o: &Observation| match o {
        Observation::Review { pr: of, head: at, verdict, text, agent, .. } if *of == pr => {
            Some((at.clone(), *verdict, text.contains("Not like that"), *agent))
        }
        _ => None,
    };
    let seen: Vec<_> = reader.read(world).iter().filter_map(said).collect();
    assert_eq!(seen.last(), Some(&(head.clone(), Verdict::RequestChanges, true, false)));

    world.close_pull(pr);
    let seen = reader.read(world);
    assert!(matches!(last_of_pull(&seen, pr), Observation::Pr { open: false, merged: None, .. }));

    let (other, landed) = (world.commit(2), world.commit(3));
    let pr = world.open_pull("others", &other, None);
    world.merge_pull(pr, &landed);
    let seen = reader.read(world);
    let Observation::Pr { open, merged, .. } = last_of_pull(&seen, pr) else { unreachable!() };
    assert_eq!((*open, merged.as_ref()), (false, Some(&landed)));
}

pub fn what_people_say_is_seen_and_again_when_they_edit_it(world: &mut dyn ForgeWorld) {
    let mut reader = Reader::default();
    let (issue, head) = (world.open_issue("Fix it", ""), world.commit(1));
    let pr = world.open_pull("theirs", &head, Some(issue));
    for on in [Subject::Issue(issue), Subject::Pr(pr)] {
        let heard = |seen: Vec<Observation>| -> BTreeSet<(u64, u64, String)> {
            let said = |o: Observation| match o {
                Observation::Comment { on: of, id, revision, text, author, .. } if of == on => {
                    assert!(!author.is_empty());
                    Some((id, revision, text))
                }
                _ => None,
            };
            seen.into_iter().filter_map(said).collect()
        };
        reader.read(world);
        let id = world.comment(on, "/shopfloor \u{1b}[1mretry");
        let other = world.comment(on, "Me too");
        let first = heard(reader.read(world));
        let texts: BTreeSet<(u64, &str)> = first.iter().map(|(id, _, text)| (*id, text.as_str())).collect();
        assert_eq!(texts, BTreeSet::from([(id, "/shopfloor retry"), (other, "Me too")]), "of {on}");

        world.edit_comment(on, id, "/shopfloor stop");
        let again = heard(reader.read(world));
        let edited: Vec<_> = again.difference(&first).collect();
        assert!(
            matches!(&edited[..], [(of, _, text)] if *of == id && text == "/shopfloor stop"),
            "{edited:?}"
        );
        let before = first.iter().find(|(of, ..)| *of == id).map(|(_, revision, _)| *revision);
        assert_ne!(Some(edited[0].1), before, "another writing is another revision");

        // The same through the port.
        world.forge().edit_comment(on, other, "Me neither").expect("edited");
        world.forge().edit_comment(on, other, "Me neither").expect("nothing to do");
        let again = heard(reader.read(world));
        assert!(again.iter().any(|(of, _, text)| *of == other && text == "Me neither"));

        world.comment(on, &"y".repeat(100_000));
        let long = heard(reader.read(world));
        assert!(long.iter().all(|(_, _, text)| text.len() < 20_000), "what is journaled is bounded");
    }
}

pub fn the_factorys_own_words_are_not_shown_as_peoples(world: &mut dyn ForgeWorld) {
    let mut reader = Reader::default();
    let (issue, head) = (world.open_issue("Fix it", ""), world.commit(1));
    let pr = world.open_pull("theirs", &head, None);
    for on in [Subject::Issue(issue), Subject::Pr(pr)] {
        let new = NewComment { by: By::Factory, marker: Some("question-1"), body: "Which one?" };
        world.forge().comment(on, &new).expect("posted");
        let new = NewComment { by: By::Person("ann"), marker: None, body: "The first." };
        world.forge().comment(on, &new).expect("posted");
    }
    let seen = reader.read(world);
    let said: BTreeSet<&str> = seen
        .iter()
        .filter_map(|o| match o {
            Observation::Comment { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(said, BTreeSet::from(["The first."]));
}

pub fn a_reader_misses_nothing_wherever_it_goes_on(world: &mut dyn ForgeWorld) {
    let issues: BTreeSet<IssueNumber> = (1..=12).map(|n| world.open_issue(&format!("No. {n}"), "")).collect();
    world.settle();
    let numbers = |seen: &[Observation]| -> BTreeSet<IssueNumber> {
        let number = |o: &Observation| match o {
            Observation::Issue { number, .. } => Some(*number),
            _ => None,
        };
        seen.iter().filter_map(number).collect()
    };
    // Whoever dies after any page goes on with the next: the two together have seen all.
    let (mut cursor, mut before) = (Cursor::default(), BTreeSet::new());
    loop {
        let mut all = numbers(&Reader { cursor: cursor.clone() }.read(world));
        all.extend(&before);
        assert_eq!(all, issues);
        let page = world.forge().changes(&cursor).expect("it can be read");
        before.extend(numbers(&page.observations));
        cursor = page.cursor;
        if !page.more {
            break;
        }
    }
    // What changes while somebody reads is seen, too.
    let first = *issues.first().expect("there are twelve");
    let page = world.forge().changes(&Default::default()).expect("it can be read");
    world.close_issue(first);
    let seen = Reader { cursor: page.cursor }.read(world);
    assert!(matches!(last_of(&seen, first), Observation::Issue { open: false, .. }));
}

pub fn what_was_read_before_a_change_of_ours_is_older_than_it(world: &mut dyn ForgeWorld) {
    let mut reader = Reader::default();
    let issue = world.open_issue("Fix it", "");
    let version = |seen: &[Observation]| -> Version {
        let Observation::Issue { version, .. } = last_of(seen, issue) else { unreachable!() };
        version.clone()
    };
    let before = version(&reader.read(world));
    let ours = world.forge().edit_labels(issue, &words(&["in-progress"]), &[]).expect("labelled");
    assert!(before < ours, "{before:?} {ours:?}");
    assert!(version(&reader.read(world)) >= ours, "it shows what we did");
    world.label(issue, &["blocked"], &[]);
    let theirs = version(&reader.read(world));
    assert!(theirs > ours, "{theirs:?} {ours:?}");
    let again = world.forge().edit_labels(issue, &words(&["in-progress"]), &[]).expect("labelled");
    assert!(again >= theirs, "whatever our call finds is no older than what was seen");
}
