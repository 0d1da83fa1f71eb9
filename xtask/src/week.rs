//! `cargo xtask demo --week`: a week of a project with the other agents switched on, in a minute.
//!
//! The floor lives ahead of the machine's clock: what is due next is looked up, the clock is put there, and the floor
//! works until it is idle. All the rest is real: git, tmux, the agents' processes, the checks. In the end git and the
//! forge say what has become of it.

use crate::demo::Scene;
use crate::sh::{self, Res, Steps, say};
use serde_json::Value;

const DAY: i64 = 24 * 3600 * 1000;
/// A change that fails its checks first, each day: what a predictor has to see.
const GREETINGS: [(&str, &str); 7] = [
    ("de", "Hallo"),
    ("fr", "Bonjour"),
    ("es", "Hola"),
    ("it", "Ciao"),
    ("sv", "Hej"),
    ("fi", "Terve"),
    ("cs", "Ahoj"),
];

pub fn play(scene: &Scene, steps: &mut Steps) -> Res<()> {
    steps.step("the project in examples/week", || make_project(scene))?;
    steps.step("shopfloor init", || {
        sh::run(scene.shopfloor().args(["init", "--name", "sample"]))?;
        let phases = scene.dir.join("phases");
        std::fs::create_dir(&phases).map_err(|e| format!("{}: {e}", phases.display()))?;
        sh::write(&scene.floor.join("floor.toml"), &crate::sample::floor_config(&phases)?)?;
        sh::run(scene.shopfloor().args(["config", "accept"]))
    })?;
    steps.step("a week, from one thing that is due to the next", || week(scene))?;
    let found = steps.step("verifying with git and the forge", || verify(scene))?;
    found.iter().for_each(say);
    sh::run(scene.shopfloor().args(["schedule", "list"]))?;
    sh::run(scene.shopfloor().arg("runs"))
}

fn make_project(scene: &Scene) -> Res<()> {
    sh::write(
        &scene.home.join(".gitconfig"),
        "[user]\n\tname = Demo User\n\temail = demo@example.org\n[init]\n\tdefaultBranch = main\n",
    )?;
    let from = sh::root().join("examples/week");
    sh::output(scene.command("cp").current_dir(&scene.dir).arg("-R").arg(&from).arg(&scene.checkout))?;
    let file = scene.checkout.join("shopfloor.toml");
    let config = std::fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    sh::write(&file, &config.replace("* * fri", &format!("* * {}", sixth_day()?)))?;
    let git = |args: &[&str]| sh::output(scene.git(&scene.checkout).args(args));
    git(&["init", "--quiet"])?;
    git(&["symbolic-ref", "HEAD", "refs/heads/main"])?;
    git(&["add", "--all"])?;
    git(&["commit", "--quiet", "--message", "A greeter that looks after itself"]).map(drop)
}

/// As cron has it: by then something has been predicted, and afterwards there is time to work on it.
fn sixth_day() -> Res<String> {
    let then = jiff::Timestamp::from_millisecond(now() + 5 * DAY).map_err(|e| e.to_string())?;
    Ok(then.strftime("%a").to_string().to_lowercase())
}

fn week(scene: &Scene) -> Res<()> {
    let begin = now();
    let mut at = begin;
    let mut days = GREETINGS.iter();
    let mut next_day = begin;
    while at < begin + 7 * DAY {
        if at >= next_day {
            next_day += DAY;
            if let Some((language, word)) = days.next() {
                add_issue(scene, language, word)?;
            }
        }
        live_at(scene, at)?;
        up(scene)?;
        at = next_due(scene)?.filter(|due| *due > at).unwrap_or(next_day).min(next_day.max(at + 1));
    }
    Ok(())
}

fn add_issue(scene: &Scene, language: &str, word: &str) -> Res<()> {
    let title = format!("Greet in {language}");
    let body = format!(
        "The greeter should know {language}.\n\n- [ ] `./greet.sh {language} Ada` greets Ada\n\ndemo: fail-ci-once greetings/{language}.txt <<{word}, %s!\n"
    );
    let mut add = scene.shopfloor();
    sh::output(add.args(["issue", "add", &title, "--label", "backlog", "--body", &body])).map(drop)
}

/// The machine's clock, in milliseconds.
fn now() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

fn live_at(scene: &Scene, at: i64) -> Res<()> {
    sh::write(&scene.floor.join("clock"), &(at - now()).max(0).to_string())
}

/// When the next schedule is due.
fn next_due(scene: &Scene) -> Res<Option<i64>> {
    let all: Value = json(scene, &["schedule", "list"])?;
    let next = |schedule: &Value| {
        let next: jiff::Timestamp = schedule["next"].as_str()?.parse().ok()?;
        Some(next.as_millisecond() + 1)
    };
    Ok(all.as_array().into_iter().flatten().filter_map(next).min())
}

fn up(scene: &Scene) -> Res<()> {
    let done = scene.shopfloor().args(["up", "--until-idle"]).output().map_err(|e| e.to_string())?;
    match done.status.code() {
        Some(0) => Ok(()),
        _ => {
            Err(format!("shopfloor up ended with {}: {}", done.status, String::from_utf8_lossy(&done.stdout)))
        }
    }
}

fn json(scene: &Scene, words: &[&str]) -> Res<Value> {
    let text = sh::output(scene.shopfloor().args(words).arg("--json"))?;
    serde_json::from_str(&text).map_err(|e| format!("shopfloor {}: {e}", words.join(" ")))
}

/// What is true at the end of the week, or why the demo failed.
fn verify(scene: &Scene) -> Res<Vec<String>> {
    let hub = scene.hub();
    let git = |args: &[&str]| sh::output(scene.git(&hub).args(args));
    git(&["fsck", "--full", "--strict", "--no-dangling"])?;
    let files = git(&["ls-tree", "-r", "--name-only", "main"])?;
    let has = |path: &str| files.lines().any(|file| file == path);
    for (language, _) in GREETINGS {
        if !has(&format!("greetings/{language}.txt")) {
            return Err(format!("{language} is not greeted on main"));
        }
    }
    let memory = ".shopfloor/planner/MEMORY.md";
    if !has(memory) {
        return Err(format!("the planner's notes did not land: there is no {memory}"));
    }
    let issues = json(scene, &["issue", "list", "--state", "all"])?;
    let labelled = |label: &str| -> Vec<String> {
        let all = issues.as_array().into_iter().flatten();
        let with = all.filter(|issue| {
            issue["labels"].as_array().is_some_and(|labels| labels.iter().any(|own| own == label))
        });
        with.map(|issue| format!("#{} {}", issue["number"], issue["title"].as_str().unwrap_or_default()))
            .collect()
    };
    let acted_on = labelled("prediction/actioned");
    let implemented = issues.as_array().into_iter().flatten().find(|issue| {
        issue["job_state"] == "merged"
            && issue["labels"]
                .as_array()
                .is_some_and(|labels| labels.iter().any(|l| l == "prediction/actioned"))
    });
    let Some(implemented) = implemented else {
        return Err(format!("no prediction was worked on and merged; acted on: {acted_on:?}"));
    };
    let commits = git(&["rev-list", "--count", "--first-parent", "main"])?;
    Ok(vec![
        format!("predicted, planned and merged: #{} {}", implemented["number"], implemented["title"]),
        format!("predictions that were acted on: {}", acted_on.len()),
        format!("commits on main: {commits}, the planner's notes among them"),
    ])
}
