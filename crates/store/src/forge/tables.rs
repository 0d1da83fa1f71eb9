//! What the embedded forge asks of a store, of whatever kind.

use super::*;
use shopfloor_core::forge::{Subject, Version};
use shopfloor_core::ids::{IssueNumber, PrNumber};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Declares the trait and implements it for a connection and for a shared connection.
macro_rules! forge_tables {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $of:ty),*) -> $result:ty;)*) => {
        /// The embedded forge's tables. Each call is a transaction.
        pub trait ForgeTables: Send {
            $($(#[$doc])* fn $name(&mut self, project: &ProjectName $(, $arg: $of)*) -> ForgeResult<$result>;)*
        }

        impl ForgeTables for ForgeDb {
            $(fn $name(&mut self, project: &ProjectName $(, $arg: $of)*) -> ForgeResult<$result> {
                ForgeDb::$name(self, project $(, $arg)*)
            })*
        }

        impl ForgeTables for SharedForge {
            $(fn $name(&mut self, project: &ProjectName $(, $arg: $of)*) -> ForgeResult<$result> {
                self.0.lock().unwrap_or_else(PoisonError::into_inner).$name(project $(, $arg)*)
            })*
        }
    };
}

forge_tables! {
    /// Gives the project a forge with the default labels. Whatever it already has stays.
    fn init_project() -> ();
    /// The objects that changed after `cursor`, each once, at most `limit`, in order of their latest change.
    fn changes(cursor: u64, limit: usize) -> Vec<Change>;
    fn issue(number: IssueNumber) -> Issue;
    /// Several at once; those that are no issues are missing.
    fn issues_without_comments(numbers: &[IssueNumber]) -> BTreeMap<IssueNumber, Issue>;
    fn issues(filter: &IssueFilter) -> Vec<IssueSummary>;
    /// Once for each marker.
    fn create_issue_once(new: &NewIssue, marker: Option<&str>) -> IssueNumber;
    fn edit_issue(number: IssueNumber, title: Option<&str>, body: Option<&str>) -> ();
    fn edit_labels(number: IssueNumber, add: &[String], remove: &[String]) -> Version;
    fn close_issue(number: IssueNumber) -> ();
    fn reopen_issue(number: IssueNumber) -> ();
    /// Once for each marker; returns its id.
    fn comment(number: IssueNumber, author: &str, text: &str, marker: Option<&str>) -> u64;
    fn comment_by_id(on: Subject, id: u64) -> Comment;
    fn edit_comment(on: Subject, id: u64, text: &str) -> ();
    /// Whether it is new.
    fn create_label(name: &str) -> bool;
    fn labels() -> Vec<String>;
    fn open_pr(new: &NewPr) -> PrNumber;
    fn pr(number: PrNumber) -> Pr;
    fn prs(state: Option<PrState>) -> Vec<PrSummary>;
    /// The newest of the issue's that was closed without a merge.
    fn abandoned_pr(issue: IssueNumber) -> Option<PrNumber>;
    fn move_pr(number: PrNumber, head: &Sha) -> ();
    fn comment_pr(number: PrNumber, author: &str, text: &str, marker: Option<&str>) -> u64;
    fn close_pr(number: PrNumber, merged: Option<&Sha>) -> ();
    fn review(number: PrNumber, new: &NewReview) -> u64;
    fn review_by_id(number: PrNumber, id: u64) -> Review;
    fn set_status(new: &NewStatus) -> ();
}

/// A connection that several users share: the forge of a store in memory, whose tables live as long as the
/// connection.
#[derive(Clone, Debug)]
pub(crate) struct SharedForge(Arc<Mutex<ForgeDb>>);

impl SharedForge {
    pub(crate) fn in_memory() -> StoreResult<Self> {
        let db = ForgeDb { conn: crate::sqlite::in_memory()?, clock: system_time };
        Ok(SharedForge(Arc::new(Mutex::new(db))))
    }
}
