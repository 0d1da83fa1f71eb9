//! What every [`Notices`] does.

use shopfloor_core::effect::{EntryEnd, Telling};
use shopfloor_core::ids::{EntryId, ProjectName, Sha};
use shopfloor_engine::ports::Notices;

/// A project with a command for each end, which works.
pub trait NoticesWorld {
    fn notices(&self) -> &dyn Notices;
    fn project(&self) -> ProjectName;
    /// How often a command was begun.
    fn begun(&self) -> usize;
}

fn telling(world: &impl NoticesWorld, entry: u64, end: EntryEnd) -> Telling {
    let head: Sha = "0123456789".repeat(4).parse().expect("forty digits");
    Telling {
        project: world.project(),
        entry: EntryId(entry),
        end,
        target: "main".into(),
        branch: "feature".into(),
        commit: (end == EntryEnd::Landed).then(|| head.clone()),
        head,
        title: "a change".into(),
        issue: None,
        pr: None,
        by: "ann".into(),
        author: None,
        base: None,
        behind: Vec::new(),
        run: None,
        log: String::new(),
        reason: String::new(),
    }
}

pub fn a_command_is_begun_once_for_an_end(world: &impl NoticesWorld) {
    let run = |entry, end| {
        world.notices().run(&telling(world, entry, end)).expect("answered");
        world.begun()
    };
    assert_eq!(run(1, EntryEnd::Landed), 1);
    assert_eq!(run(1, EntryEnd::Landed), 1, "performed again");
    assert_eq!(run(2, EntryEnd::Failed), 2);
    assert_eq!(run(1, EntryEnd::Landed), 2);
}

pub fn what_is_known_of_it_is_said_again(world: &impl NoticesWorld) {
    let run = || world.notices().run(&telling(world, 1, EntryEnd::Landed)).expect("answered");
    let first = run();
    assert_eq!(first.trouble, None);
    assert_eq!(run(), first);
}
