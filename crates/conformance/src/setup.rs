//! What every [`Setup`] does.

use shopfloor_core::ids::{Assignment, IssueNumber, ProjectName, Role};
use shopfloor_engine::ports::{Outfit, Setup, Tree};

/// A project that wants something done to its worktrees.
pub trait SetupWorld {
    fn setup(&self) -> &dyn Setup;
    fn project(&self) -> ProjectName;
    /// Makes the worktree.
    fn make(&self, tree: &Tree);
    /// How often the setup's command was run in it.
    fn times(&self, tree: &Tree) -> u32;
    /// From now on the command fails, and says this.
    fn fails(&self, saying: &str);
}

fn made(world: &impl SetupWorld, issue: u64) -> Tree {
    let tree = Tree::of_job(&world.project(), Role::DEV, Assignment::Issue(IssueNumber(issue)));
    world.make(&tree);
    tree
}

fn done(world: &impl SetupWorld, tree: &Tree) -> Outfit {
    world.setup().set_up(tree).expect("tried").expect("it works")
}

pub fn a_worktree_has_a_port_of_its_own(world: &impl SetupWorld) {
    let (one, two) = (made(world, 1), made(world, 2));
    let first = done(world, &one).port.expect("a port");
    assert_ne!(done(world, &two).port, Some(first));
    assert_eq!(done(world, &one).port, Some(first), "it keeps it");
}

pub fn what_was_done_in_a_worktree_is_not_done_again(world: &impl SetupWorld) {
    let tree = made(world, 1);
    done(world, &tree);
    done(world, &tree);
    assert_eq!(world.times(&tree), 1);
}

pub fn a_setup_that_fails_is_told_with_its_output(world: &impl SetupWorld) {
    let tree = made(world, 1);
    world.fails("no such compiler");
    let failure = world.setup().set_up(&tree).expect("tried").expect_err("it fails");
    assert!(!failure.why.is_empty() && failure.excerpt.contains("no such compiler"), "{failure:?}");
}

pub fn a_teardown_can_be_made_again(world: &impl SetupWorld) {
    let tree = made(world, 1);
    done(world, &tree);
    for _ in 0..2 {
        assert_eq!(world.setup().tear_down(&tree, &|| Ok(())).expect("done"), None);
    }
}
