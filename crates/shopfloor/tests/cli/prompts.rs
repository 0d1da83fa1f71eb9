//! What agents are told, as `shopfloor prompt` shows it.

use crate::floor::TestFloor;

#[test]
fn a_prompt_is_shown_and_a_template_of_the_projects_own_is_used() {
    let floor = TestFloor::new();
    let config = "[project]\nname = \"demo\"\n[ci]\nno_checks = true\n";
    std::fs::write(floor.root().join("code/demo/shopfloor.toml"), config).unwrap();
    floor.run(&["issue", "add", "Say hello", "--body", "Twice, ```please```."]).fine();
    let dev = floor.run(&["prompt", "show", "1"]).fine();
    dev.shows("You implement issue #1 of project demo").shows("Twice, ```please```.").shows("AGENTS.md");
    dev.shows("commit on fix/issue-1").shows("## How to work");
    let review = floor.json(&["prompt", "show", "1", "--role", "review"]);
    assert_eq!(review["role"], "review");
    assert!(review["prompt"].as_str().unwrap().contains("SHOPFLOOR_RESULT_FILE"), "{review}");
    assert_eq!(floor.run(&["prompt", "show", "9"]).code, 4);

    let own = floor.home().join("prompts");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("dev.md"), "Do #{issue}: {title}\n{issue_text}").unwrap();
    floor.run(&["prompt", "show", "1"]).fine().shows("Do #1: Say hello\n");
    std::fs::write(own.join("dev.md"), "Do {it}").unwrap();
    let wrong = floor.run(&["prompt", "show", "1"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("{it}") && wrong.stderr.contains("prompts/dev.md"), "{}", wrong.stderr);
}
