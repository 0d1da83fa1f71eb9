//! One suite a port: what its contract in `engine/src/ports.rs` says, told as stories that the real adapter and the
//! simulator's fake both have to pass. A fake that is kinder than the real thing would let the simulator prove
//! nothing.
//!
//! A story takes a small handle on a world ([`git::GitWorld`] and the like): the port, and a hand to play those who
//! are not behind it. Whoever has an implementation gives a function that makes such a world and tells it the story:
//!
//! ```ignore
//! shopfloor_conformance::workspace_suite!(each);
//! ```

pub mod agents;
pub mod ci;
pub mod escalations;
pub mod forge;
pub mod git;
pub mod notices;
pub mod setup;
pub mod vault;

pub use git::{merger, workspace};

/// A test for each story of a module, told by `$tell`.
#[macro_export]
macro_rules! stories {
    ($tell:path; $module:ident; $($story:ident)*) => {
        $(
            #[test]
            fn $story() {
                $tell(|world| $crate::$module::$story(world));
            }
        )*
    };
}

#[macro_export]
macro_rules! workspace_suite {
    ($tell:path) => {
        $crate::stories! {
            $tell; workspace;
            what_exists_already_is_kept_as_it_is
            a_new_branch_starts_at_origins_branch_of_that_name
            a_new_branch_else_starts_at_origins_primary_branch
            a_review_tree_has_that_commit_checked_out
            a_branch_is_described_by_what_the_primary_branch_lacks
            a_push_goes_forward_only
            a_snapshot_keeps_head_and_the_dirty_tree_without_touching_them
            what_is_not_there_has_no_snapshot
            a_worktree_is_removed_with_a_proof_and_its_work_is_kept
            a_head_stands_on_the_newest_commit_of_the_primary_branch_in_it
            a_change_names_every_path_that_it_touches
            what_landed_is_merged_and_nothing_else
            a_merged_branch_is_deleted_only_where_it_was_merged
            the_same_change_on_another_base_is_the_same
            every_call_can_be_made_again
        }
    };
}

#[macro_export]
macro_rules! merger_suite {
    ($tell:path) => {
        $crate::stories! {
            $tell; merger;
            the_primary_branch_is_where_origin_has_it
            the_same_request_gives_the_same_commits
            one_that_brings_nothing_new_has_the_commit_of_the_one_before
            a_conflict_says_whether_it_is_with_the_base_alone
            a_branch_that_moved_is_told
            a_publication_is_a_compare_and_swap
            nothing_is_published_if_a_branch_is_not_where_it_was_queued
            what_landed_has_every_change_of_its_branch
        }
    };
}

#[macro_export]
macro_rules! agents_suite {
    ($tell:path) => {
        $crate::stories! {
            $tell; agents;
            a_session_that_was_started_is_adopted
            only_the_session_that_is_meant_is_ended
            a_bell_can_be_rung_for_anybody
            a_verdict_is_of_the_commit_that_it_names
        }
    };
}

#[macro_export]
macro_rules! ci_suite {
    ($tell:path) => {
        $crate::stories! {
            $tell; ci;
            a_failing_check_is_a_report
            of_each_of_several_commits_one_that_fails_is_enough
            a_run_that_was_cancelled_does_not_begin
            a_run_that_has_finished_stays_as_it_is
        }
    };
}

#[macro_export]
macro_rules! setup_suite {
    ($tell:path) => {
        $crate::stories! {
            $tell; setup;
            a_worktree_has_a_port_of_its_own
            what_was_done_in_a_worktree_is_not_done_again
            a_setup_that_fails_is_told_with_its_output
            a_teardown_can_be_made_again
        }
    };
}

#[macro_export]
macro_rules! escalations_suite {
    ($tell:path) => {
        $crate::stories! {
            $tell; escalations;
            each_is_recorded_once_for_its_job_trigger_and_what_it_is_about
        }
    };
}

#[macro_export]
macro_rules! notices_suite {
    ($tell:path) => {
        $crate::stories! {
            $tell; notices;
            a_command_is_begun_once_for_an_end
            what_is_known_of_it_is_said_again
        }
    };
}

#[macro_export]
macro_rules! vault_suite {
    ($tell:path) => {
        $crate::stories! {
            $tell; vault;
            an_order_is_carried_out_once
            what_is_declared_otherwise_is_not_begun
        }
    };
}
