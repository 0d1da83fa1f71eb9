//! Whether the demo's issues are merged, by git alone: a fresh clone of the hub, its trees and the
//! sample project's own check. Nothing here reads the floor's records.

use crate::demo::Scene;
use crate::sample::{BRANCH, Expect, TASKS, Task};
use crate::sh::{self, Res, say};
use std::path::Path;

/// What git shows of an issue.
pub struct Landed {
    pub issue: u64,
    pub title: &'static str,
    /// The first-parent commit that brought it.
    pub commit: Option<String>,
    pub problems: Vec<String>,
}

/// Looks at everything. Trouble that belongs to no issue is the first one's.
pub fn run(scene: &Scene, base: &str) -> Res<Vec<Landed>> {
    let hub = scene.hub();
    let mut general = Vec::new();
    let git = |dir: &Path, args: &[&str]| sh::output(scene.git(dir).args(args));

    if let Err(why) = git(&hub, &["fsck", "--full", "--strict", "--no-dangling"]) {
        general.push(format!("git fsck finds the hub damaged: {why}"));
    }
    let fresh = scene.dir.join("verify");
    let (from, to) = (hub.to_string_lossy(), fresh.to_string_lossy());
    git(&scene.dir, &["clone", "--quiet", "--no-local", "--branch", BRANCH, &from, &to])?;
    let head = git(&fresh, &["rev-parse", "HEAD"])?;

    if git(&fresh, &["merge-base", "--is-ancestor", base, "HEAD"]).is_err() {
        general.push(format!("{BRANCH} does not contain the commit it began with"));
    }
    let range = format!("{base}..HEAD");
    let commits = git(&fresh, &["rev-list", "--first-parent", "--reverse", &range])?;
    let commits: Vec<&str> = commits.lines().collect();
    for commit in &commits {
        if let Err(why) = passes(scene, &fresh, commit) {
            general.push(format!("commit {} on {BRANCH} does not pass check.sh: {why}", &commit[..12]));
        }
    }
    git(&fresh, &["checkout", "--quiet", "--force", &head])?;
    say(format!("{} commits on {BRANCH}, each checked in a fresh checkout", commits.len()));

    match git(&scene.checkout, &["rev-parse", "HEAD"])? {
        at if at == head => {}
        at => general.push(format!(
            "the user's checkout is at {}, not fast-forwarded to {}",
            &at[..12],
            &head[..12]
        )),
    }
    let changed = git(&scene.checkout, &["status", "--porcelain", "--untracked-files=no"])?;
    if !changed.is_empty() {
        general.push(format!("the user's checkout has changes: {changed}"));
    }

    let mut landed: Vec<Landed> =
        (1..).zip(&TASKS).map(|(issue, task)| look(scene, &fresh, base, issue, task)).collect();
    landed[0].problems.extend(general);
    Ok(landed)
}

/// The project's own check on one commit, in a folder that holds that commit and nothing else.
fn passes(scene: &Scene, fresh: &Path, commit: &str) -> Res<()> {
    sh::output(scene.git(fresh).args(["checkout", "--quiet", "--force", "--detach", commit]))?;
    sh::output(scene.git(fresh).args(["clean", "--quiet", "-ffdx"]))?;
    let mut check = scene.command("sh");
    sh::output(check.arg("check.sh").current_dir(fresh)).map(drop)
}

fn look(scene: &Scene, fresh: &Path, base: &str, issue: u64, task: &'static Task) -> Landed {
    let mut problems = Vec::new();
    let content = sh::output(scene.git(fresh).args(["show", &format!("HEAD:{}", task.path)]));
    let holds = content.as_ref().is_ok_and(|text| match task.expect {
        Expect::Content(expect) => text == expect,
        Expect::Line(expect) => text.lines().any(|line| line == expect),
    });
    if !holds {
        let found = content.unwrap_or_else(|_| "no such file".into());
        problems.push(format!("issue #{issue}: {} on {BRANCH} is not as asked: {found:?}", task.path));
    }
    let range = format!("{base}..HEAD");
    let args = ["log", "--first-parent", "-1", "--format=%H", &range, "--", task.path];
    let commit = sh::output(scene.git(fresh).args(args)).ok().filter(|c| !c.is_empty());
    if commit.is_none() {
        problems.push(format!("issue #{issue}: no commit on {BRANCH} brought {}", task.path));
    }
    Landed { issue, title: task.title, commit, problems }
}
