//! What a person accepts is in force whole, and nothing of it comes from anywhere else.

use super::*;
use crate::config::pinned::{Files, in_force, in_todays_words, reviewers_programs, text};
use shopfloor_core::ids::Role;

fn unfilled(text: &str) -> ProjectConfig {
    load::unfilled_from(Path::new("shopfloor.toml"), text).unwrap()
}

#[test]
fn a_text_says_all_that_was_accepted_and_reads_as_the_same() {
    let config = unfilled(FULL);
    let files = Files::from([
        (".worktreeinclude".to_owned(), ".env\n# \"quoted\" '''\n".to_owned()),
        (".shopfloor/prompts/dev.md".to_owned(), "Do {issue}.\n\tThen \\ stop.\n".to_owned()),
    ]);
    let accepted = text(&config, &files);
    assert_eq!(in_todays_words(&accepted).unwrap(), accepted);
    let floor = FloorConfig::default();
    let (found, kept) = in_force(&accepted, &config, &floor).unwrap();
    assert_eq!(kept, files);
    assert_eq!(found, load_text(FULL).unwrap());
}

#[test]
fn only_how_much_and_how_long_comes_from_the_file_itself() {
    let accepted = text(&unfilled(MINIMAL), &Files::new());
    let other = "[project]\nname = \"a\"\n[ci]\nsteps = [{ name = \"x\", run = \"evil\" }]\npass_env = [\"KEY\"]\n\
                 [agents.dev]\nruntime = \"generic\"\ncommand = [\"evil\"]\n\
                 [review]\nrequired = false\nprotected = []\n[worktree]\nsetup = [\"evil\"]\n\
                 [merge]\nslots = 7\non_landed = [\"evil\"]\n[limits]\nmax_jobs = 9\n[rescue]\nkeep = 3\npush = true\n";
    let own = load::project_from(Path::new("shopfloor.toml"), other, &FloorConfig::default()).unwrap();
    let (found, _) = in_force(&accepted, &own, &FloorConfig::default()).unwrap();
    let expect = load_text(MINIMAL).unwrap();
    assert_eq!((found.merge.slots, found.limits.max_jobs, found.rescue.keep), (7, 9, 3));
    assert!(!found.rescue.push);
    assert_eq!((found.ci, found.agents, found.review), (expect.ci, expect.agents, expect.review));
    assert_eq!((found.worktree, found.merge.on_landed), (expect.worktree, None));
}

/// The floor's own defaults are a person's, and need no acceptance.
#[test]
fn the_floors_defaults_are_the_floors() {
    let accepted = text(&unfilled(MINIMAL), &Files::new());
    let floor =
        "[defaults.agents.dev]\nruntime = \"claude\"\n[defaults.agents.review]\nruntime = \"codex\"\n";
    let floor = load::floor_from(Path::new("floor.toml"), floor).unwrap();
    let (found, _) = in_force(&accepted, &load_text(MINIMAL).unwrap(), &floor).unwrap();
    assert_eq!(found.agent(Role::DEV).unwrap().runtime, Runtime::Claude);
}

#[test]
fn what_cannot_be_read_says_what_to_do() {
    let own = load_text(MINIMAL).unwrap();
    for bad in ["nonsense = [", "[project]\nname = \"a\"\n[ci]\nfrom_the_future = 1\n", "files = 3\n"] {
        let error = in_force(bad, &own, &FloorConfig::default()).unwrap_err().to_string();
        assert!(error.contains("the accepted configuration"), "{error}");
    }
}

#[test]
fn a_reviewers_command_names_the_files_that_it_runs() {
    let programs = |command: &str| {
        let text = format!(
            "{MINIMAL}\n[agents.dev]\nruntime = \"generic\"\ncommand = [\"./dev.sh\"]\n[agents.review]\nruntime = \"generic\"\ncommand = {command}\n"
        );
        reviewers_programs(&unfilled(&text).agents)
    };
    assert_eq!(programs("[\"./review.sh\"]"), ["review.sh"]);
    assert_eq!(programs("[\"python3\", \"tools/review.py\", \"--fast\"]"), ["tools/review.py"]);
    assert_eq!(programs("[\"sh\", \"-c\", \"./review.sh && true\"]"), [""; 0]);
    assert_eq!(programs("[\"/opt/review.sh\"]"), [""; 0]);
}
