//! What an agent need not ask permission for, as people write it in `allow`: the first words of commands.
//!
//! A command is covered only if every part of it plainly is one of those. Anything that would take a shell to
//! understand (variables, substitutions, files written, background work) is not covered: then the client asks, as
//! it would without us. So a mistake here costs a question, never a permission.

use crate::ids::Role;

/// What git does in a session's own worktree: all that work needs, and nothing that configures git itself
/// (`config`, `remote`) or runs other programs (`-c`, `bisect`, `submodule`). These commands only look.
const GIT_READ: [&str; 12] = [
    "blame",
    "describe",
    "diff",
    "fetch",
    "grep",
    "log",
    "ls-files",
    "merge-base",
    "rev-list",
    "rev-parse",
    "show",
    "status",
];
/// And these change something.
const GIT_WRITE: [&str; 19] = [
    "add",
    "apply",
    "branch",
    "checkout",
    "cherry-pick",
    "commit",
    "merge",
    "mv",
    "pull",
    "push",
    "rebase",
    "reset",
    "restore",
    "revert",
    "rm",
    "stash",
    "switch",
    "tag",
    "worktree list",
];

/// The git commands that a role's agents need not ask about: a reviewer only looks at others' work.
pub fn git(role: Role) -> impl Iterator<Item = &'static str> {
    let writes: &[&str] = if role.reviews() { &[] } else { &GIT_WRITE };
    GIT_READ.iter().chain(writes).copied()
}

/// What agents tell the factory, and ask of it.
pub const OURS: [&str; 5] = ["phase", "inbox", "escalate", "issue show", "pr show"];

/// Limits: how many commands, how long each, how many words.
const COMMANDS_MAX: usize = 100;
const BYTES_MAX: usize = 200;
const WORDS_MAX: usize = 12;

/// Why a text in `allow` names no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotACommand {
    #[error("it is empty")]
    Empty,
    #[error("it is too long")]
    Long,
    #[error("only letters, digits and - _ . / : = + @ , may stand in it")]
    Character,
    #[error("it begins with what can run any other program")]
    Any,
    #[error("there are too many of them")]
    Many,
}

/// Programs whose first argument can be another program, or a script: allowing one allows everything.
const ANY: [&str; 20] = [
    "sh", "bash", "zsh", "dash", "ksh", "fish", "env", "sudo", "doas", "su", "xargs", "eval", "exec",
    "command", "nohup", "timeout", "ssh", "find", "awk", "busybox",
];

/// The first words of commands that need no asking.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed(Vec<Vec<String>>);

impl Allowed {
    /// `Err`: which text is wrong, and how.
    pub fn new(list: &[String]) -> Result<Allowed, (usize, NotACommand)> {
        if list.len() > COMMANDS_MAX {
            return Err((COMMANDS_MAX, NotACommand::Many));
        }
        let all = list.iter().enumerate().map(|(at, text)| command(text).map_err(|why| (at, why)));
        Ok(Allowed(all.collect::<Result<_, _>>()?))
    }

    /// Each as one text, with single spaces.
    pub fn commands(&self) -> impl Iterator<Item = String> + '_ {
        self.0.iter().map(|words| words.join(" "))
    }

    /// Whether nothing in the command needs permission.
    pub fn covers(&self, command: &str) -> bool {
        parts(command).is_some_and(|parts| {
            parts.iter().all(|words| self.0.iter().any(|allowed| words.starts_with(allowed)))
        })
    }
}

fn command(text: &str) -> Result<Vec<String>, NotACommand> {
    let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    let Some(program) = words.first() else { return Err(NotACommand::Empty) };
    if text.len() > BYTES_MAX || words.len() > WORDS_MAX {
        return Err(NotACommand::Long);
    }
    if !words.iter().all(|word| word.bytes().all(is_plain)) || text.contains(['\n', '\r']) {
        return Err(NotACommand::Character);
    }
    let name = program.rsplit('/').next().unwrap_or(program);
    // A program that runs scripts is as good as any program, unless the script is named too.
    let script = ["python", "python3", "node", "perl", "ruby"].contains(&name);
    if ANY.contains(&name) || (script && words.get(1).is_none_or(|word| word.starts_with('-'))) {
        return Err(NotACommand::Any);
    }
    Ok(words)
}

fn is_plain(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"-_./:=+@,".contains(&b)
}

/// The simple commands of a command line, if it is nothing but those, one after another.
fn parts(command: &str) -> Option<Vec<Vec<String>>> {
    let command = without_quiet(command);
    let (mut parts, mut words, mut word) = (vec![], vec![], None::<String>);
    let mut chars = command.trim().chars().peekable();
    let end = |words: &mut Vec<String>, parts: &mut Vec<Vec<String>>| {
        let words = std::mem::take(words);
        (!words.is_empty()).then(|| parts.push(words))
    };
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => {
                let text = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        c => text.push(c),
                    }
                }
            }
            '"' => {
                let text = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '$' | '`' | '\\' | '!' => return None,
                        c => text.push(c),
                    }
                }
            }
            ';' | '|' => {
                chars.next_if_eq(&c).filter(|_| c == ';').map_or(Some(()), |_| None)?;
                words.extend(word.take());
                end(&mut words, &mut parts)?;
            }
            '&' => {
                chars.next_if_eq(&'&')?;
                words.extend(word.take());
                end(&mut words, &mut parts)?;
            }
            c if c.is_ascii() && is_plain(c as u8) => word.get_or_insert_default().push(c),
            _ => return None,
        }
    }
    words.extend(word.take());
    if words.is_empty() && parts.is_empty() {
        return None;
    }
    if !words.is_empty() {
        parts.push(words);
    }
    // What precedes a program changes what it does.
    let assigns = |words: &Vec<String>| words[0].contains('=');
    (!parts.iter().any(assigns)).then_some(parts)
}

/// Drops redirections that only discard output, or merge both kinds of it.
fn without_quiet(command: &str) -> String {
    let mut rest = command;
    let mut text = String::new();
    while let Some(at) = rest.find(" 2>").into_iter().chain(rest.find(" >")).min() {
        let (before, from) = rest.split_at(at);
        let quiet = [" 2>&1", " 2>/dev/null", " >/dev/null"].iter().find_map(|r| from.strip_prefix(r));
        let ends = |after: &&str| after.chars().next().is_none_or(|c| " ;|&".contains(c));
        text.push_str(before);
        // What is left is a redirection, which is not covered.
        rest = quiet.filter(ends).unwrap_or_else(|| {
            text.push_str(&from[..2]);
            &from[2..]
        });
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(list: &[&str]) -> Result<Allowed, (usize, NotACommand)> {
        Allowed::new(&list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_command_is_covered_if_all_of_it_is() {
        let allowed = allowed(&["cargo  test", "make check", "tail"]).expect("commands");
        for yes in [
            "cargo test",
            "cargo test --workspace -- 'a name; of a test'",
            "cargo test 2>&1 | tail -5",
            "make check && cargo test;",
            "cargo test \"it is\" >/dev/null",
        ] {
            assert!(allowed.covers(yes), "{yes}");
        }
        for no in [
            "",
            "cargo",
            "cargo build",
            "cargo tester",
            "cargo test; rm -rf x",
            "cargo test | sh",
            "cargo test $(rm x)",
            "cargo test \"$(rm x)\"",
            "cargo test `rm x`",
            "cargo test > file",
            "cargo test >/dev/nullx",
            "cargo test 2>file",
            "cargo test &",
            "cargo test & rm x",
            "cargo test\nrm x",
            "X=1 cargo test",
            "RUSTC_WRAPPER=./x cargo test",
            "cargo test 'open",
            "cargo test ;; rm",
            "cargo test {a,b}",
            "(cargo test)",
            "cargo test # | x",
            "echo cargo test",
        ] {
            assert!(!allowed.covers(no), "{no}");
        }
    }

    #[test]
    fn only_commands_can_be_allowed() {
        for (text, why) in [
            ("", NotACommand::Empty),
            ("cargo test; rm", NotACommand::Character),
            ("cargo *", NotACommand::Character),
            ("make $X", NotACommand::Character),
            ("make\ncheck", NotACommand::Character),
            ("sh -c x", NotACommand::Any),
            ("/usr/bin/env", NotACommand::Any),
            ("python3", NotACommand::Any),
            ("python3 -c", NotACommand::Any),
        ] {
            assert_eq!(allowed(&["make", text]), Err((1, why)), "{text:?}");
        }
        assert!(allowed(&["python3 tools/check.py", "npm run test:unit", "./gradlew check"]).is_ok());
        assert_eq!(allowed(&[&"x".repeat(201)]), Err((0, NotACommand::Long)));
    }
}
