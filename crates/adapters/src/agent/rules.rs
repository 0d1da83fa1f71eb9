//! What a Claude Code session need not ask about, as its permission rules: git in the worktree, what agents
//! say to the factory, the session's own files, and what the project's `allow` names. It never asks about
//! reading in the worktree. So nobody has to sit beside it even in a mode that asks for everything else.
//!
//! Measured on 2.1.325: `Bash(git add *)` covers `git add` with and without arguments; a command of several
//! parts needs a rule for each; `Edit(//PATH)` covers that file however it is written.

use shopfloor_core::allow::{Allowed, OURS, git};
use shopfloor_core::ids::Role;
use std::path::Path;

pub struct Files<'a> {
    pub phase: &'a Path,
    pub prompt: &'a Path,
    pub scratch: &'a Path,
    /// A reviewer's.
    pub result: Option<&'a Path>,
}

pub fn claude(role: Role, allowed: &Allowed, files: &Files<'_>) -> Vec<String> {
    let bash = |command: String| format!("Bash({command} *)");
    let mut rules: Vec<String> = git(role).map(|sub| bash(format!("git {sub}"))).collect();
    rules.extend(OURS.iter().map(|sub| bash(format!("shopfloor {sub}"))));
    rules.extend(allowed.commands().map(bash));
    // An absolute path begins with two slashes there.
    let file = |tool: &str, path: &Path, below: &str| format!("{tool}(/{}{below})", path.display());
    rules.push(file("Read", files.prompt, ""));
    rules.push(file("Read", files.scratch, "/**"));
    rules.push(file("Edit", files.scratch, "/**"));
    rules.push(file("Edit", files.phase, ""));
    if let Some(result) = files.result {
        rules.push(file("Read", result, ""));
        rules.push(file("Edit", result, ""));
    }
    rules
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_for_what_the_role_does() {
        let allowed = Allowed::new(&["cargo test".to_owned()]).expect("a command");
        let path = |text| Path::new(text);
        let files = Files {
            phase: path("/tmp/phase"),
            prompt: path("/s/prompt.md"),
            scratch: path("/s/tmp"),
            result: Some(path("/s/result.json")),
        };
        let dev = claude(Role::DEV, &allowed, &Files { result: None, ..files });
        for rule in
            ["Bash(git commit *)", "Bash(shopfloor phase *)", "Bash(cargo test *)", "Edit(//tmp/phase)"]
        {
            assert!(dev.iter().any(|r| r == rule), "{rule}: {dev:?}");
        }
        assert!(!dev.iter().any(|r| r.contains("result.json") || r.contains("git config")));
        let files = Files { result: Some(path("/s/result.json")), ..files };
        let review = claude(Role::REVIEW, &allowed, &files);
        assert!(review.iter().any(|r| r == "Edit(//s/result.json)"));
        assert!(!review.iter().any(|r| r.contains("git commit") || r.contains("git push")));
    }
}
