//! Agents that are clients in a terminal: typed to, read and judged. Each misbehaves in one way.

use crate::client::{stages, wait_for};
use crate::floor::Floor;
use shopfloor_core::delivery::Stage;
use shopfloor_core::state::{End, MessageState};

#[test]
fn an_issue_is_driven_to_merged_through_terminals() {
    let floor = Floor::with_clients("");
    let issue = floor.issue("Say hello", "demo: fail-ci-once hello.txt <<hello");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 0, "{text}");
    assert_eq!(floor.landed("hello.txt"), "hello");
    floor.assert_history_green();
    floor.assert_cleaned_up(issue);
}
