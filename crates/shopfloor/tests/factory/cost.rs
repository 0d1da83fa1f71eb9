//! What an issue costs, in processes: counted, not timed.

use crate::floor::{DEMO, Floor};

/// A few more than there are, since an agent may signal between two looks.
const GIT_MAX: usize = 75;

#[test]
fn an_issue_starts_no_more_git_than_it_needs() {
    let mut floor = Floor::new(DEMO);
    // The first one finds everything new.
    floor.issue("First", "demo: write a.txt <<a");
    assert_eq!(floor.until_idle().0, 0);
    let (path, runs) = floor.counting("git");
    floor.env.push(("PATH".into(), path.into()));
    floor.issue("Second", "demo: write b.txt <<b");
    assert_eq!(floor.until_idle().0, 0);
    assert_eq!(floor.landed("b.txt"), "b");
    let runs = runs();
    assert!(runs.len() <= GIT_MAX, "git was started {} times:\n{}", runs.len(), runs.join("\n"));
}
