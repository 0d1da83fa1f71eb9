//! Merges that bypass the queue: the forges' own programs, and calls of their APIs.

use super::walk::Run;
use super::{Ask, Rule};

pub fn judge(ask: &Ask<'_>, run: &Run<'_>) -> Option<Rule> {
    // Subcommands come first, except for an option and its value.
    let plain: Vec<&str> =
        run.args.iter().map(String::as_str).filter(|arg| !arg.starts_with('-')).take(4).collect();
    let calls = |nouns: &[&str], verbs: &[&str]| {
        plain.windows(2).any(|pair| nouns.contains(&pair[0]) && verbs.contains(&pair[1]))
    };
    let merges = match run.name {
        "gh" => calls(&["pr"], &["merge"]),
        "glab" => calls(&["mr"], &["merge", "accept"]),
        "tea" => calls(&["pr", "prs", "pull", "pulls"], &["merge", "m"]),
        "fj" | "forgejo" => calls(&["pr"], &["merge"]),
        _ => false,
    };
    if merges {
        return Some(Rule::Merge);
    }
    match run.name {
        "gh" | "glab" | "tea" if plain.contains(&"api") => call(ask, run),
        "curl" | "wget" | "http" | "https" | "xh" | "xhs" | "httpie" => call(ask, run),
        _ => None,
    }
}

/// A call of a forge's API.
fn call(ask: &Ask<'_>, run: &Run<'_>) -> Option<Rule> {
    let args = run.args;
    // A call that only reads is fine: GET `…/merge` asks whether it was merged.
    if !writes(run.name, args) {
        return None;
    }
    let has = |text: &str| args.iter().any(|arg| arg.contains(text));
    if has("mergePullRequest") || has("enablePullRequestAutoMerge") || args.iter().any(|arg| is_merge(arg)) {
        return Some(Rule::Merge);
    }
    let refs = [format!("/git/refs/heads/{}", ask.primary), format!("/branches/{}", ask.primary)];
    let names_primary = |arg: &String| {
        let path = arg.split(['?', '#']).next().unwrap_or(arg);
        refs.iter().any(|name| path.ends_with(name.as_str()))
    };
    args.iter().any(names_primary).then_some(Rule::MovePrimary)
}

/// `…/pulls/N/merge`, `…/merge_requests/N/merge`, `…/merges`.
fn is_merge(arg: &str) -> bool {
    let path = arg.split(['?', '#']).next().unwrap_or(arg).trim_end_matches('/');
    let parts: Vec<&str> = path.rsplit('/').take(3).collect();
    match parts.as_slice() {
        ["merge", _, "pulls" | "merge_requests" | "pull"] => true,
        ["merges", ..] => path.contains("repos/"),
        _ => false,
    }
}

/// Whether the call asks for a change: by its method, or because it sends something.
fn writes(program: &str, args: &[String]) -> bool {
    const DATA: [&str; 9] = [
        "--data",
        "--json",
        "--form",
        "--upload-file",
        "--field",
        "--raw-field",
        "--input",
        "--post-",
        "--body-",
    ];
    let is_curl = program == "curl";
    let is_write =
        |method: &str| ["POST", "PUT", "PATCH", "DELETE"].contains(&method.to_uppercase().as_str());
    let (mut method, mut data) = (None, false);
    for (at, arg) in args.iter().enumerate() {
        let next = || args.get(at + 1).cloned().unwrap_or_default();
        if let Some(long) = arg.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(name, v)| (name, Some(v)));
            if name == "request" || name == "method" {
                method = Some(value.map_or_else(next, str::to_owned));
            }
            data = data || DATA.iter().any(|option| arg.starts_with(option));
        } else if let Some(cluster) = arg.strip_prefix('-') {
            // What follows one of these letters is its value.
            let valued = if is_curl { "HouAebcwmXdFT" } else { "HXqtpRfF" };
            let Some(found) = cluster.find(|c| valued.contains(c)) else { continue };
            let (letter, value) = cluster[found..].split_at(1);
            match letter {
                "X" => method = Some(if value.is_empty() { next() } else { value.to_owned() }),
                "d" | "F" | "T" => data = true,
                "f" => data = data || !is_curl,
                _ => {}
            }
        } else if at == 0 && is_write(arg) {
            // HTTPie's form: `http POST address`.
            method = Some(arg.clone());
        }
    }
    method.map_or(data, |method| is_write(&method))
}
