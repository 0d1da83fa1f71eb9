//! Deletions: only inside the worktree and the scratch folder, and never the worktree's `.git`.

use super::Rule;
use super::walk::{Run, Walk, is_below};

pub const PROGRAMS: [&str; 6] = ["rm", "rmdir", "unlink", "shred", "truncate", "trash"];

pub fn judge(walk: &Walk<'_>, run: &Run<'_>) -> Option<Rule> {
    let mut options = true;
    for arg in run.args {
        if options && arg == "--" {
            options = false;
        } else if (!options || !arg.starts_with('-'))
            && let Some(rule) = path(walk, arg)
        {
            return Some(rule);
        }
    }
    (run.from_pipe && !walk.pipe_is_inside()).then_some(Rule::DeleteOutside)
}

/// What forbids deleting this path.
pub fn path(walk: &Walk<'_>, word: &str) -> Option<Rule> {
    match walk.path(word) {
        Some(path) => absolute(walk, &path),
        None => Some(Rule::DeleteOutside),
    }
}

pub fn absolute(walk: &Walk<'_>, path: &str) -> Option<Rule> {
    if !walk.is_inside(path) {
        return Some(Rule::DeleteOutside);
    }
    let worktree = walk.ask.worktree.trim_end_matches('/');
    // A scratch folder may be in the worktree, but not the other way round.
    let inside = path.strip_prefix(worktree).filter(|_| is_below(path, worktree))?;
    let first = inside.trim_start_matches('/').split('/').next().unwrap_or_default();
    let is_git = first.is_empty() || first == ".git" || matches_git(first);
    is_git.then_some(Rule::DeleteGit)
}

/// Whether a pattern also matches `.git`. A `*` alone does not.
fn matches_git(pattern: &str) -> bool {
    let fixed = pattern.find(['*', '?', '[']).map(|at| &pattern[..at]);
    fixed.is_some_and(|fixed| fixed.starts_with('.') && ".git".starts_with(fixed))
}

/// `find … -delete`, `find … -exec rm …`, `fd … -x rm …`.
pub fn find(walk: &mut Walk<'_>, run: &Run<'_>) -> Option<Rule> {
    let starts = |arg: &String| arg.starts_with('-') || arg.starts_with(['(', '!', ')']);
    let is_find = run.name == "find";
    // Options like -L before the folders.
    let skipped = run.args.iter().take_while(|arg| matches!(arg.as_str(), "-H" | "-L" | "-P")).count();
    let args = &run.args[skipped..];
    let roots: Vec<String> =
        if is_find { args.iter().take_while(|arg| !starts(arg)).cloned().collect() } else { vec![] };
    let roots = if roots.is_empty() { vec![".".to_owned()] } else { roots };
    if is_find && args.iter().any(|arg| arg == "-delete") {
        for root in &roots {
            match path(walk, root) {
                // The whole worktree, but only some of its contents.
                Some(Rule::DeleteGit) if is_picky(args) => {}
                None => {}
                found => return found,
            }
        }
    }
    let run_marks: &[&str] = match is_find {
        true => &["-exec", "-execdir", "-ok", "-okdir"],
        false => &["-x", "-X", "--exec", "--exec-batch"],
    };
    for at in (0..args.len()).filter(|at| run_marks.contains(&args[*at].as_str())) {
        let words = args[at + 1..].iter().take_while(|arg| *arg != ";" && *arg != "+");
        let command: Vec<String> = words.cloned().collect();
        for root in &roots {
            // A file that is found lies below its root.
            let found = |word: &String| word.replace("{}", &format!("{root}/found"));
            let command: Vec<String> = command.iter().map(found).collect();
            if let Some(rule) = walk.program(&command, None, false) {
                return Some(rule);
            }
        }
    }
    None
}

/// Whether a search has conditions: `find . -delete` has none.
fn is_picky(args: &[String]) -> bool {
    let tests = [
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-wholename",
        "-regex",
        "-iregex",
        "-newer",
        "-empty",
        "-size",
    ];
    let times = ["-mtime", "-mmin", "-atime", "-amin", "-ctime", "-cmin", "-inum", "-samefile"];
    args.iter().any(|arg| tests.contains(&arg.as_str()) || times.contains(&arg.as_str()))
}
