//! What git must not be asked to do: push anything but one's own branch, work on the primary branch, merge.

use super::walk::{UNKNOWN, Walk};
use super::{Ask, Rule, delete};

/// The words of one git command, sorted by kind.
struct Words<'w> {
    /// As given; short options one by one.
    short: String,
    long: Vec<&'w str>,
    plain: Vec<&'w str>,
    /// What follows `--`.
    paths: Vec<&'w str>,
    /// There was a `--`.
    cut: bool,
}

impl<'w> Words<'w> {
    /// `valued`: short options that take a value; `long_valued`: long options whose value is a separate word.
    fn of(args: &'w [String], valued: &str, long_valued: &[&str]) -> Words<'w> {
        let mut words =
            Words { short: String::new(), long: vec![], plain: vec![], paths: vec![], cut: false };
        let mut args = args.iter().map(String::as_str);
        while let Some(arg) = args.next() {
            if arg == "--" {
                words.cut = true;
                words.paths.extend(&mut args);
            } else if arg.starts_with("--") {
                words.long.push(arg);
                if long_valued.contains(&arg) {
                    args.next();
                }
            } else if arg.len() > 1 && arg.starts_with('-') {
                for (at, letter) in arg.char_indices().skip(1) {
                    words.short.push(letter);
                    if valued.contains(letter) {
                        if at + letter.len_utf8() == arg.len() {
                            args.next();
                        }
                        break;
                    }
                }
            } else {
                words.plain.push(arg);
            }
        }
        words
    }

    fn short(&self, letters: &str) -> bool {
        self.short.contains(|c| letters.contains(c))
    }

    /// Git accepts any unambiguous abbreviation of a long option: `least` is the shortest for this one.
    fn long(&self, least: &str, full: &str) -> bool {
        self.long.iter().any(|word| {
            let name = word.split('=').next().unwrap_or(word);
            name.starts_with(least) && full.starts_with(name)
        })
    }
}

pub fn judge(walk: &mut Walk<'_>, args: &[String]) -> Option<Rule> {
    let mut dir = walk.cwd().map(str::to_owned);
    let mut at = 0;
    // Options of git itself.
    loop {
        let arg = args.get(at)?.as_str();
        let value = || args.get(at + 1).map(String::as_str);
        match arg {
            "-C" | "--work-tree" => {
                dir = value().and_then(|to| walk.path_from(dir.as_deref(), to));
                at += 2;
            }
            "-c" | "--git-dir" | "--namespace" | "--exec-path" | "--super-prefix" | "--config-env" => at += 2,
            _ if arg.starts_with('-') => at += 1,
            _ => break,
        }
    }
    let (command, args) = (args[at].as_str(), &args[at + 1..]);
    if command == "push" {
        return push(walk.ask, args);
    }
    if let Some(rule) = deletes(walk, dir.as_deref(), command, args) {
        return Some(rule);
    }
    // A repository the agent made for itself to try something: its branches are its own.
    if dir.as_deref().is_some_and(|dir| walk.in_scratch(dir)) {
        return None;
    }
    match command {
        "checkout" => checkout(walk.ask, args),
        "switch" => switch(walk.ask, args),
        "branch" => branch(walk.ask, args),
        "merge" => merge(walk.ask, args),
        "pull" => pull(walk.ask, args),
        "fetch" => fetch(walk.ask, args),
        "worktree" => worktree(walk.ask, args),
        "update-ref" => {
            let words = Words::of(args, "m", &[]);
            let target = words.plain.first()?;
            (short_name(target) == walk.ask.primary && target.starts_with("refs/heads/"))
                .then_some(Rule::MovePrimary)
        }
        "symbolic-ref" => {
            let words = Words::of(args, "m", &[]);
            let to_primary = words.plain.get(1).is_some_and(|to| short_name(to) == walk.ask.primary);
            to_primary.then_some(Rule::CheckoutPrimary)
        }
        _ => None,
    }
}

/// `refs/heads/x` and `heads/x` as `x`.
fn short_name(name: &str) -> &str {
    name.strip_prefix("refs/heads/").or_else(|| name.strip_prefix("heads/")).unwrap_or(name)
}

fn push(ask: &Ask<'_>, args: &[String]) -> Option<Rule> {
    let words = Words::of(args, "o", &["--push-option", "--repo", "--receive-pack", "--exec"]);
    if words.short("f") || words.long("--for", "--force-with-lease") || words.long("--m", "--mirror") {
        return Some(Rule::ForcePush);
    }
    if words.long("--al", "--all") || words.long("--br", "--branches") {
        return Some(Rule::PushPrimary);
    }
    if words.long("--ta", "--tags") || words.long("--pru", "--prune") {
        return Some(Rule::PushOther);
    }
    let deletes = words.short("d") || words.long("--de", "--delete");
    let all = words.plain.iter().chain(&words.paths);
    for refspec in all.skip(1) {
        if refspec.starts_with('+') {
            return Some(Rule::ForcePush);
        }
        let (from, to) = refspec.split_once(':').unwrap_or((refspec, refspec));
        let to = short_name(to);
        let current = !refspec.contains(':') && matches!(to, "HEAD" | "@");
        if to == ask.primary {
            return Some(Rule::PushPrimary);
        }
        if deletes || (from.is_empty() && !to.is_empty()) {
            return Some(Rule::DeleteBranch);
        }
        // The hub checks what cannot be seen from here.
        if to != ask.branch && !current && !to.contains(UNKNOWN) {
            return Some(Rule::PushOther);
        }
    }
    None
}

fn checkout(ask: &Ask<'_>, args: &[String]) -> Option<Rule> {
    let words = Words::of(args, "bB", &["--orphan", "--conflict", "--pathspec-from-file"]);
    let made = value_of(args, &["-b", "-B", "--orphan"]);
    if made.is_some_and(|name| short_name(name) == ask.primary) {
        return Some(Rule::MovePrimary);
    }
    let only_files = words.cut || words.plain.len() > 1 || words.short("p") || words.long("--pat", "--patch");
    let elsewhere = made.is_some() || words.short("d") || words.long("--d", "--detach");
    if only_files || elsewhere {
        return None;
    }
    onto_primary(ask, &words)
}

fn switch(ask: &Ask<'_>, args: &[String]) -> Option<Rule> {
    let words = Words::of(args, "cC", &["--create", "--force-create", "--orphan", "--conflict"]);
    let made = value_of(args, &["-c", "-C", "--create", "--force-create", "--orphan"]);
    if made.is_some_and(|name| short_name(name) == ask.primary) {
        return Some(Rule::MovePrimary);
    }
    if made.is_some() || words.short("d") || words.long("--d", "--detach") {
        return None;
    }
    onto_primary(ask, &words)
}

/// Whether the named branch is the primary one, or would become it (`--track origin/main`).
fn onto_primary(ask: &Ask<'_>, words: &Words<'_>) -> Option<Rule> {
    let target = words.plain.first()?;
    let tracks = words.short("t") || words.long("--t", "--track");
    let tracked = target.split_once('/').map(|(_, name)| name).filter(|_| tracks);
    (short_name(target) == ask.primary || tracked == Some(ask.primary)).then_some(Rule::CheckoutPrimary)
}

/// The word after one of these options.
fn value_of<'w>(args: &'w [String], names: &[&str]) -> Option<&'w str> {
    args.iter().enumerate().find_map(|(at, arg)| {
        let name = names.iter().find(|name| arg.starts_with(**name))?;
        match arg[name.len()..].strip_prefix('=').unwrap_or(&arg[name.len()..]) {
            "" => args.get(at + 1).map(String::as_str),
            value => (!name.starts_with("--") || arg.contains('=')).then_some(value),
        }
    })
}

fn branch(ask: &Ask<'_>, args: &[String]) -> Option<Rule> {
    let words = Words::of(args, "u", &["--set-upstream-to", "--contains", "--merged", "--sort", "--format"]);
    let is_primary = |name: Option<&&str>| name.is_some_and(|name| short_name(name) == ask.primary);
    let names = &words.plain;
    let any = names.iter().any(|name| short_name(name) == ask.primary);
    let deletes = words.short("dD") || words.long("--del", "--delete");
    let renames = words.short("mM") || words.long("--mov", "--move");
    let copies = words.short("cC") || words.long("--cop", "--copy");
    let forces = words.short("f") || words.long("--forc", "--force");
    let hit = (deletes && !words.short("r") && any)
        || (renames && any)
        || (copies && is_primary(names.last()))
        || (forces && !deletes && is_primary(names.first()));
    hit.then_some(Rule::MovePrimary)
}

fn merge(ask: &Ask<'_>, args: &[String]) -> Option<Rule> {
    let words =
        Words::of(args, "mFsX", &["--strategy", "--strategy-option", "--file", "--into-name", "--cleanup"]);
    let all_fine = words.plain.iter().chain(&words.paths).all(|name| may_be_merged(ask, name));
    (!all_fine).then_some(Rule::Merge)
}

/// The primary branch and the session's own, wherever they were fetched from.
fn may_be_merged(ask: &Ask<'_>, name: &str) -> bool {
    let name = name.strip_prefix("refs/remotes/").unwrap_or(short_name(name));
    let of_remote = name.split_once('/').map(|(_, name)| name);
    let is = |branch: &str| name == branch || of_remote == Some(branch);
    name.contains(UNKNOWN)
        || is(ask.primary)
        || is(ask.branch)
        || matches!(name, "FETCH_HEAD" | "HEAD" | "@" | "@{u}" | "@{upstream}" | "ORIG_HEAD")
}

fn pull(ask: &Ask<'_>, args: &[String]) -> Option<Rule> {
    let words = Words::of(args, "sXoj", &["--strategy", "--strategy-option", "--depth", "--jobs"]);
    let mut refspecs = words.plain.iter().chain(&words.paths).skip(1);
    if let Some(rule) = fetch(ask, args) {
        return Some(rule);
    }
    if words.short("r") || words.long("--reb", "--rebase") {
        return None;
    }
    let fine = refspecs.all(|refspec| {
        may_be_merged(ask, refspec.split_once(':').map_or(refspec.trim_start_matches('+'), |(from, _)| from))
    });
    (!fine).then_some(Rule::Merge)
}

/// `fetch origin x:main` moves the local branch.
fn fetch(ask: &Ask<'_>, args: &[String]) -> Option<Rule> {
    let to_primary = |arg: &String| {
        !arg.contains("://") && arg.split_once(':').is_some_and(|(_, to)| short_name(to) == ask.primary)
    };
    args.iter().any(to_primary).then_some(Rule::MovePrimary)
}

fn worktree(ask: &Ask<'_>, args: &[String]) -> Option<Rule> {
    let (verb, args) = args.split_first()?;
    let words = Words::of(args, "bB", &["--reason"]);
    let elsewhere = words.short("bBd") || words.long("--d", "--detach") || words.long("--or", "--orphan");
    let on_primary = words.plain.get(1).is_some_and(|name| short_name(name) == ask.primary);
    (verb == "add" && on_primary && !elsewhere).then_some(Rule::CheckoutPrimary)
}

/// What git deletes from the working tree: `clean` and `worktree remove`.
fn deletes(walk: &Walk<'_>, dir: Option<&str>, command: &str, args: &[String]) -> Option<Rule> {
    let path = |word: &str| match walk.path_from(dir, word) {
        Some(path) => delete::absolute(walk, &path),
        None => Some(Rule::DeleteOutside),
    };
    match command {
        "clean" => {
            let words = Words::of(args, "e", &["--exclude"]);
            if words.short("n") || words.long("--dr", "--dry-run") {
                return None;
            }
            let named: Vec<&&str> = words.plain.iter().chain(&words.paths).collect();
            // It leaves `.git` alone.
            let rule = if named.is_empty() { path(".") } else { named.iter().find_map(|word| path(word)) };
            rule.filter(|rule| *rule != Rule::DeleteGit)
        }
        "worktree" if args.first().is_some_and(|verb| verb == "remove") => {
            let words = Words::of(args.get(1..)?, "", &[]);
            words.plain.iter().chain(&words.paths).find_map(|word| path(word))
        }
        _ => None,
    }
}
