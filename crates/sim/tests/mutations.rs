//! The checks can fail: with a fake that is wrong on purpose, the invariant that is about it breaks.

use shopfloor_sim::run;
use shopfloor_sim::world::Mutation;

/// Seeds tried until the invariant is seen to break.
const SEEDS: u64 = 1500;

fn check(mutation: Mutation, invariant: &str) {
    check_from(1, mutation, invariant);
}

/// `first`: where one was found before, for those that few seeds show. Any other does as well.
fn check_from(first: u64, mutation: Mutation, invariant: &str) {
    let caught = (first..=SEEDS).chain(1..first).find(|seed| {
        let report = run(*seed, Some(mutation));
        report.violations.iter().any(|v| v.starts_with(invariant))
    });
    println!("{mutation:?}: seed {caught:?}");
    assert!(caught.is_some(), "{mutation:?} breaks {invariant:?} in none of {SEEDS} seeds");
}

#[test]
fn publishing_without_compare_and_swap_is_caught() {
    check(Mutation::PublishWithoutCas, "1 the tree that lands passed");
}

#[test]
fn checks_that_always_pass_are_caught() {
    check(Mutation::LyingChecks, "1 the tree that lands passed");
}

#[test]
fn a_verdict_that_goes_over_to_another_tree_is_caught() {
    check_from(720, Mutation::OneNameForAllTrees, "1 the tree that lands passed");
}

#[test]
fn removing_without_a_rescue_is_caught() {
    check(Mutation::RemoveWithoutRescue, "2 no work is lost");
}

#[test]
fn a_forgotten_commit_is_caught() {
    check(Mutation::ForgetACommit, "2 no work is lost");
}

#[test]
fn pruning_the_only_copy_is_caught() {
    check(Mutation::PruneTheOnlyCopy, "2 no work is lost");
}

#[test]
fn a_second_process_of_a_session_is_caught() {
    check(Mutation::StartWithoutAdopting, "3 one owner");
}

#[test]
fn comments_without_markers_are_caught() {
    check(Mutation::CommentWithoutMarker, "4 effects are idempotent");
}

#[test]
fn issues_without_markers_are_caught() {
    check(Mutation::IssueWithoutMarker, "11 an agent does what its role may");
}

#[test]
fn a_command_that_is_begun_again_is_caught() {
    check(Mutation::ForgetsTheCommand, "4 effects are idempotent");
}

#[test]
fn a_fire_that_is_begun_again_is_caught() {
    check(Mutation::ForgetsTheFire, "4 effects are idempotent");
}

#[test]
fn an_entry_of_the_supervisors_journal_that_is_there_twice_is_caught() {
    check(Mutation::WritesEntriesTwice, "4 effects are idempotent");
}

#[test]
fn a_second_pull_request_is_caught() {
    check(Mutation::SecondPr, "4 effects are idempotent");
}

#[test]
fn ending_a_session_nobody_ordered_to_end_is_caught() {
    check(Mutation::EndsAnything, "8 unknown is not dead");
}

#[test]
fn typing_without_looking_is_caught() {
    check(Mutation::TypesWithoutLooking, "5 delivery is acknowledged");
    check(Mutation::AnswersWithoutLooking, "5 delivery is acknowledged");
}

#[test]
fn typing_again_after_a_confirmation_is_caught() {
    check(Mutation::IgnoresConfirmations, "5 delivery is acknowledged");
}

#[test]
fn forgetting_the_record_before_the_act_is_caught() {
    check(Mutation::ForgetsTheRecord, "5 delivery is acknowledged");
}

#[test]
fn forgetting_a_confirmation_that_was_read_is_caught() {
    check(Mutation::KeepsTheSpoolTooSoon, "5 delivery is acknowledged");
}

#[test]
fn a_result_of_one_head_taken_for_the_next_is_caught() {
    check(Mutation::TakesAnyResult, "6 completion is evidence");
}

#[test]
fn bringing_back_what_people_took_off_is_caught() {
    check(Mutation::BringsBackWhatWasRemoved, "1 what people took off stays off");
}

#[test]
fn publishing_again_what_people_took_off_is_caught() {
    check(Mutation::ForgetsWhatItPublished, "1 what people took off stays off");
}

#[test]
fn hiding_what_is_protected_is_caught() {
    check(Mutation::HidesWhatIsProtected, "11 an agent is not a person");
}

#[test]
fn an_agent_that_is_taken_for_a_person_is_caught() {
    check(Mutation::AsksNobodyWhoTheyAre, "11 an agent is not a person");
}

#[test]
fn an_approval_that_goes_over_to_another_change_is_caught() {
    check(Mutation::EveryChangeIsTheSame, "6 completion is evidence");
}
