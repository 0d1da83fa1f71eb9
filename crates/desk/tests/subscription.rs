//! Subscriptions: every change once, in order, for each of several subscribers, whoever commits.

use shopfloor_adapters::layout::Layout;
use shopfloor_core::event::Event;
use shopfloor_core::ids::{ProjectName, Seq};
use shopfloor_core::policy::Policy;
use shopfloor_desk::{Desk, Subscription};
use std::time::Duration;

/// No test gets there.
const LONG: Duration = Duration::from_secs(600);

fn project() -> ProjectName {
    "sample".parse().expect("a name")
}

/// A floor with one project, and its desk.
fn desk(home: &tempfile::TempDir) -> Desk {
    set_up(Desk::new(Layout::new(home.path())))
}

fn set_up(desk: Desk) -> Desk {
    let set =
        Event::ProjectSet { project: project(), checkout: "/nowhere".into(), policy: Policy::default() };
    desk.new_engine().expect("a floor").submit(shopfloor_desk::now(), &set).expect("committed");
    desk
}

fn reasons(subscription: &mut Subscription, at_least: usize) -> Vec<String> {
    let mut told = Vec::new();
    while told.len() < at_least {
        let before = subscription.position();
        let changes = subscription.next(LONG).expect("followed").expect("in time");
        assert!(changes.position > before && changes.notes.iter().all(|note| note.seq > before));
        told.extend(changes.notes.into_iter().map(|note| note.text));
    }
    told
}

#[test]
fn each_subscriber_gets_every_change_once_and_in_order() {
    let home = tempfile::tempdir().expect("a folder");
    followed_by_three(desk(&home));
}

/// The same desk on another kind of store: nothing above it knows which it is.
#[test]
fn a_floor_may_be_kept_in_another_kind_of_store() {
    let home = tempfile::tempdir().expect("a folder");
    let memory = shopfloor_store::backend::at(&format!("memory:{}", home.path().display())).expect("a store");
    let desk = set_up(Desk::kept_in(Layout::new(home.path()), memory));
    desk.forges().expect("its forges").init(&project()).expect("a forge");
    let labels = desk.forge(&project()).expect("its forge").labels().expect("its labels");
    assert!(labels.iter().any(|label| label == "backlog"), "{labels:?}");
    assert!(desk.ci().expect("its runs").list(&project(), 10).expect("readable").is_empty());
    followed_by_three(desk);
    assert!(!home.path().join("floor.db").exists(), "it is nowhere else");
}

fn followed_by_three(desk: Desk) {
    let followers: Vec<_> = (0..3)
        .map(|_| {
            let mut subscription = desk.subscribe(None).expect("subscribed");
            std::thread::spawn(move || reasons(&mut subscription, 40))
        })
        .collect();
    for n in 0..20 {
        desk.pause_work(Some(&project()), &format!("pause {n}")).expect("paused");
        desk.resume_work(Some(&project())).expect("resumed");
    }
    let told: Vec<Vec<String>> = followers.into_iter().map(|f| f.join().expect("followed")).collect();
    let pauses: Vec<&String> = told[0].iter().filter(|text| text.contains("pause ")).collect();
    assert_eq!(pauses.len(), 20, "{told:?}");
    assert!((0..20).zip(&pauses).all(|(n, text)| text.contains(&format!("pause {n}"))), "{pauses:?}");
    assert!(told.iter().all(|one| *one == told[0]), "{told:?}");
}

#[test]
fn a_subscriber_goes_on_from_where_another_was() {
    let home = tempfile::tempdir().expect("a folder");
    let desk = desk(&home);
    let mut first = desk.subscribe(Some(Seq(0))).expect("subscribed");
    let begin = first.next(LONG).expect("followed").expect("what there is");
    assert!(first.next(Duration::ZERO).expect("followed").is_none(), "nothing more has happened");
    desk.pause_work(None, "a fire drill").expect("paused");
    drop(first);
    let mut second = desk.subscribe(Some(begin.position)).expect("subscribed");
    assert!(reasons(&mut second, 1).iter().any(|text| text.contains("a fire drill")));
    let floor = second.floor().expect("a floor");
    assert!(floor.projects.get(&project()).is_some_and(|project| project.pause.is_some()));
    desk.resume_work(None).expect("resumed");
    assert!(second.floor().expect("a floor").projects.get(&project()).is_some_and(|p| p.pause.is_none()));
}

/// Whoever offers a floor over a page or a chat has threads.
#[test]
fn a_desk_and_its_subscriptions_can_be_sent() {
    fn sent<T: Send>() {}
    sent::<Desk>();
    sent::<Subscription>();
}
