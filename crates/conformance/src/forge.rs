//! The forge port. [`crate::forge_suite!`] makes a test of each function here that takes a world.
//!
//! A forge may show a thing more often than it changed, and its numbers and ids are its own: nothing here counts on
//! more than the port promises.

mod acts;
mod seen;

pub use acts::*;
pub use seen::*;

use shopfloor_core::effect::Verdict;
use shopfloor_core::event::Observation;
use shopfloor_core::forge::{Cursor, Subject};
use shopfloor_core::ids::{IssueNumber, PrNumber, Sha};
use shopfloor_engine::ports::{Final, Forge, PortError, PortResult};

/// A forge of one project, empty but for the labels that the factory needs, and what a person does there.
pub trait ForgeWorld {
    /// What is tested.
    fn forge(&self) -> &dyn Forge;
    /// A commit that the forge knows; another for each number.
    fn commit(&mut self, number: u32) -> Sha;
    /// Returns when what was done so far can be seen.
    fn settle(&mut self);

    fn open_issue(&mut self, title: &str, body: &str) -> IssueNumber;
    fn edit_issue(&mut self, issue: IssueNumber, title: &str, body: &str);
    fn label(&mut self, issue: IssueNumber, add: &[&str], remove: &[&str]);
    fn close_issue(&mut self, issue: IssueNumber);
    fn reopen_issue(&mut self, issue: IssueNumber);
    /// The comment's id.
    fn comment(&mut self, on: Subject, text: &str) -> u64;
    fn edit_comment(&mut self, on: Subject, id: u64, text: &str);
    fn open_pull(&mut self, branch: &str, head: &Sha, issue: Option<IssueNumber>) -> PrNumber;
    fn review(&mut self, pr: PrNumber, head: &Sha, verdict: Verdict, text: &str);
    fn close_pull(&mut self, pr: PrNumber);
    fn merge_pull(&mut self, pr: PrNumber, commit: &Sha);
}

/// Pages that a reading may take before it is taken for endless.
const PAGES_MAX: usize = 1000;

/// Somebody who follows the forge.
#[derive(Default)]
struct Reader {
    cursor: Cursor,
}

impl Reader {
    /// Everything that is new.
    fn read(&mut self, world: &mut dyn ForgeWorld) -> Vec<Observation> {
        world.settle();
        let mut all = Vec::new();
        for _ in 0..PAGES_MAX {
            let page = world.forge().changes(&self.cursor).expect("it can be read");
            self.cursor = page.cursor;
            all.extend(page.observations);
            if !page.more {
                return all;
            }
        }
        panic!("reading does not end");
    }
}

/// The newest that was seen of an issue.
#[track_caller]
fn last_of(seen: &[Observation], issue: IssueNumber) -> &Observation {
    let of = |o: &&Observation| matches!(o, Observation::Issue { number, .. } if *number == issue);
    seen.iter().rfind(of).unwrap_or_else(|| panic!("#{issue} is not among {seen:?}"))
}

/// The newest that was seen of a pull request.
#[track_caller]
fn last_of_pull(seen: &[Observation], pr: PrNumber) -> &Observation {
    let of = |o: &&Observation| matches!(o, Observation::Pr { number, .. } if *number == pr);
    seen.iter().rfind(of).unwrap_or_else(|| panic!("pull request #{pr} is not among {seen:?}"))
}

#[track_caller]
fn is_final<T: std::fmt::Debug>(answer: PortResult<T>, expected: Final) {
    match answer {
        Err(PortError::Permanent { cause, .. }) => assert_eq!(cause, expected),
        other => panic!("{other:?} is not final"),
    }
}

fn words(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The whole suite, a test each, on what the expression makes.
#[macro_export]
macro_rules! forge_suite {
    ($world:expr) => {
        $crate::forge_suite!(@ $world;
            what_people_do_to_an_issue_is_seen
            what_people_do_to_a_pull_request_is_seen
            what_people_say_is_seen_and_again_when_they_edit_it
            the_factorys_own_words_are_not_shown_as_peoples
            a_reader_misses_nothing_wherever_it_goes_on
            what_was_read_before_a_change_of_ours_is_older_than_it
            what_is_posted_with_a_marker_is_posted_once
            labels_are_made_once_and_unknown_ones_are_refused
            a_branch_has_one_open_pull_request
            a_merge_is_the_stronger_word
            nobody_approves_their_own_and_an_approval_takes_a_request_back
            every_call_may_be_repeated
            what_is_not_there_is_missing_for_good
            texts_for_agents_are_safe_and_bounded
            the_latest_status_of_a_commit_stands
            lists_are_by_number_and_show_what_was_asked_for
            words_are_looked_for_in_titles_and_texts
            a_pull_request_that_was_given_up_is_found_again
        );
    };
    (@ $world:expr; $($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                $crate::forge::$name(&mut $world);
            }
        )*
    };
}
