//! The user's own checkout. It is theirs: it is only ever fast-forwarded, only when nothing in it
//! could be in the way, and otherwise left alone with a word on what to do.

use super::GitProject;
use super::repos::{is_nowhere, tracked_changes};
use super::run::Git;
use shopfloor_core::text;
use shopfloor_engine::ports::PortResult;
use std::path::Path;

/// Whether the checkout is now at the hub's primary branch, and what to tell the user.
pub(crate) fn sync(git: &Git, hub: &Path, project: &GitProject) -> PortResult<(bool, String)> {
    let branch = &project.primary_branch;
    let primary = format!("refs/heads/{branch}");
    let pull = format!("run `git pull shopfloor {branch}` there when it suits you");
    let at = project.checkout.display();
    let left = |why: String| Ok((false, format!("{at} {why}; {pull}")));

    let repo = git.tree(&project.checkout);
    let inside = match repo.call("rev-parse").arg("--is-inside-work-tree").text() {
        Ok(answer) => answer == "true",
        Err(e) if is_nowhere(&e) => false,
        Err(e) => return Err(e.into()),
    };
    if !inside {
        return Ok((false, format!("there is no checkout of {} at {at} any more", project.name)));
    }
    let on = repo.call("symbolic-ref").args(["--quiet", "HEAD"]).ending(&[0, 1])?.text();
    if on != primary {
        let on = on.strip_prefix("refs/heads/").map_or("no branch".into(), |name| text::one_line(name, 80));
        return left(format!("is on {on}, not {branch}, and was left as it is"));
    }
    let changed = tracked_changes(&repo)?;
    if !changed.is_empty() {
        return left(format!("has {} uncommitted change(s) and was left as it is", changed.len()));
    }
    let tracking = format!("refs/remotes/shopfloor/{branch}");
    let call = repo.call("fetch").args(["--quiet", "--no-tags", "--no-write-fetch-head", "--"]);
    call.arg(hub).arg(format!("+{primary}:{tracking}")).run()?;
    let (Some(ours), Some(theirs)) = (repo.commit("HEAD")?, repo.commit(&tracking)?) else {
        return left("has no commit".into());
    };
    if ours == theirs || repo.is_ancestor(&theirs, &ours)? {
        return Ok((ours == theirs, format!("{at} has everything that was merged")));
    }
    if !repo.is_ancestor(&ours, &theirs)? {
        return left(format!("has commits of its own on {branch} and was left as it is"));
    }
    // Refuses to touch untracked and ignored files that stand in the way.
    let call = repo.call("merge").set("merge.autoStash=false").set("submodule.recurse=false");
    let call = call.args(["--quiet", "--ff-only", "--no-overwrite-ignore", theirs.as_str()]);
    match call.run() {
        Ok(_) => Ok((true, format!("{at} was fast-forwarded to {}", theirs.short()))),
        Err(e) if !e.says("would be overwritten") => Err(e.into()),
        Err(e) => left(format!("could not be fast-forwarded ({})", text::one_line(&e.to_string(), 300))),
    }
}
