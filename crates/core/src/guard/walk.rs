//! Follows a command through folders, variables and programs that only run others, and asks the rules about each
//! program it reaches.

use super::shell::{Item, Piece, Simple, Word, items};
use super::{Ask, Rule, delete, forge, git};
use std::collections::BTreeMap;

/// Stands for the unknown in a word.
pub const UNKNOWN: char = '\0';

/// `bash -c` in `bash -c` in …
const DEPTH_MAX: usize = 8;
/// How many words a variable may stand for, and one program may have.
const VALUES_MAX: usize = 64;
const WORDS_MAX: usize = 4096;
const VALUE_BYTES_MAX: usize = 4096;
/// How many programs a script may have; a longer script is a program of its own.
const STEPS_MAX: usize = 20_000;

#[derive(Clone)]
struct Scope {
    /// The current folder, if known.
    cwd: Option<String>,
    vars: BTreeMap<String, Vec<String>>,
}

pub struct Walk<'a> {
    pub ask: &'a Ask<'a>,
    scope: Scope,
    outer: Vec<Scope>,
    /// The programs before this one in its pipe, and what they read.
    pipe: Vec<(Vec<String>, Option<String>)>,
    depth: usize,
    steps: usize,
}

/// One program, ready to be judged.
pub struct Run<'w> {
    pub name: &'w str,
    pub args: &'w [String],
    /// More arguments come from the pipe before it (`xargs`).
    pub from_pipe: bool,
}

impl<'a> Walk<'a> {
    pub fn new(ask: &'a Ask<'a>) -> Walk<'a> {
        let known = [
            ("PWD", Some(ask.cwd)),
            ("SHOPFLOOR_WORKTREE", Some(ask.worktree)),
            ("TMPDIR", ask.scratch),
            ("SHOPFLOOR_BRANCH", Some(ask.branch)),
            ("SHOPFLOOR_PRIMARY_BRANCH", Some(ask.primary)),
        ];
        let vars = known
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), vec![value?.to_owned()])))
            .collect();
        let cwd = Some(ask.cwd.to_owned());
        Walk { ask, scope: Scope { cwd, vars }, outer: vec![], pipe: vec![], depth: 0, steps: 0 }
    }

    /// What forbids running this text.
    pub fn script(&mut self, text: &str) -> Option<Rule> {
        if self.depth >= DEPTH_MAX {
            return None;
        }
        self.depth += 1;
        let outer = std::mem::take(&mut self.outer);
        let mut found = None;
        for item in items(text) {
            self.steps += 1;
            if self.steps > STEPS_MAX {
                break;
            }
            found = self.item(item);
            if found.is_some() {
                break;
            }
        }
        self.outer = outer;
        self.depth -= 1;
        found
    }

    fn item(&mut self, item: Item) -> Option<Rule> {
        match item {
            Item::Enter => self.outer.push(self.scope.clone()),
            Item::Leave => {
                if let Some(scope) = self.outer.pop() {
                    self.scope = scope;
                }
            }
            Item::Each(name, words) => {
                let values: Vec<String> = words.iter().flat_map(|word| self.values(word)).collect();
                self.set(name, values);
            }
            Item::Run(simple) => return self.simple(&simple),
        }
        None
    }

    fn simple(&mut self, simple: &Simple) -> Option<Rule> {
        if !simple.piped {
            self.pipe.clear();
        }
        for (name, word) in &simple.assignments {
            let values = self.values(word);
            self.set(name.clone(), values);
        }
        let words: Vec<String> =
            simple.words.iter().flat_map(|word| self.values(word)).take(WORDS_MAX).collect();
        let input = simple.input.as_ref().and_then(|word| self.values(word).into_iter().next());
        let found = self.program(&words, input.as_deref(), false);
        if self.pipe.len() < VALUES_MAX {
            self.pipe.push((words, input));
        }
        found
    }

    fn set(&mut self, name: String, mut values: Vec<String>) {
        values.truncate(VALUES_MAX);
        // A variable that keeps including itself would grow without end.
        for value in values.iter_mut().filter(|value| value.len() > VALUE_BYTES_MAX) {
            *value = UNKNOWN.to_string();
        }
        self.scope.vars.insert(name, values);
    }

    /// A program, reached through those that only run another.
    pub fn program(&mut self, words: &[String], input: Option<&str>, from_pipe: bool) -> Option<Rule> {
        let (first, args) = words.split_first()?;
        let name = first.rsplit('/').next().unwrap_or(first);
        match name {
            "sudo" | "doas" => self.program(after_options(args, "ugpChTrtRD"), input, from_pipe),
            "nohup" | "command" | "builtin" | "exec" | "setsid" | "time" | "stdbuf" | "busybox" => {
                // `command -v` only looks.
                if name == "command" && args.iter().any(|arg| arg == "-v" || arg == "-V") {
                    return None;
                }
                self.program(after_options(args, "afo"), input, from_pipe)
            }
            "nice" | "ionice" | "chrt" => self.program(after_options(args, "ncp"), input, from_pipe),
            "timeout" => self.program(after_options(args, "sk").get(1..)?, input, from_pipe),
            "env" => {
                let rest = after_options(args, "uCS");
                let assigned = rest.iter().take_while(|word| is_assignment(word)).count();
                self.program(&rest[assigned..], input, from_pipe)
            }
            "xargs" => self.program(after_options(args, "nPLIdEsa"), input, true),
            "eval" => self.script(&args.join(" ")),
            "trap" => self.script(args.iter().find(|arg| *arg != "--")?),
            "bash" | "sh" | "dash" | "zsh" | "ksh" | "ash" => self.shell(args, input),
            "cd" | "pushd" => {
                let to = args.iter().find(|arg| !arg.starts_with('-') || arg.len() == 1);
                // `cd -` leads back to a folder that nobody here knows.
                self.scope.cwd = to.filter(|to| *to != "-").and_then(|to| self.path(to));
                self.remember_cwd();
                None
            }
            "popd" => {
                self.scope.cwd = None;
                self.remember_cwd();
                None
            }
            "export" | "local" | "declare" | "readonly" | "typeset" => {
                for (name, value) in args.iter().filter_map(|arg| arg.split_once('=')) {
                    self.set(name.to_owned(), vec![value.to_owned()]);
                }
                None
            }
            "read" | "mapfile" | "readarray" => {
                let value = self.listed(&self.pipe);
                for name in args.iter().filter(|arg| !arg.starts_with('-')) {
                    self.scope.vars.insert(name.clone(), vec![value.clone()]);
                }
                None
            }
            _ => self.judge(&Run { name, args, from_pipe }),
        }
    }

    fn remember_cwd(&mut self) {
        let cwd = self.scope.cwd.clone().unwrap_or_else(|| UNKNOWN.to_string());
        self.set("PWD".into(), vec![cwd]);
    }

    fn judge(&mut self, run: &Run<'_>) -> Option<Rule> {
        match run.name {
            "git" => git::judge(self, run.args),
            "find" | "fd" | "fdfind" => delete::find(self, run),
            name if delete::PROGRAMS.contains(&name) => delete::judge(self, run),
            _ => forge::judge(self.ask, run),
        }
    }

    /// A shell that is given a script: after `-c`, or as its input.
    fn shell(&mut self, args: &[String], input: Option<&str>) -> Option<Rule> {
        let is_flags = |arg: &String| arg.len() > 1 && arg.starts_with('-') && !arg.starts_with("--");
        if let Some(at) = args.iter().position(|arg| is_flags(arg) && arg.contains('c')) {
            let script = args[at + 1..].iter().find(|arg| !arg.starts_with('-'))?.clone();
            return self.nested(&script);
        }
        if args.iter().any(|arg| !arg.starts_with('-')) {
            return None;
        }
        if let Some(input) = input {
            return self.nested(input);
        }
        // `echo … | sh`, `cat <<END | sh`.
        let (words, input) = self.pipe.last()?;
        let script = match (words.first()?.as_str(), input) {
            ("echo" | "printf", _) => words[1..].join(" "),
            ("cat", Some(input)) => input.clone(),
            _ => return None,
        };
        self.nested(&script)
    }

    /// A script in a shell of its own.
    fn nested(&mut self, script: &str) -> Option<Rule> {
        let (scope, pipe) = (self.scope.clone(), std::mem::take(&mut self.pipe));
        let found = self.script(script);
        self.scope = scope;
        self.pipe = pipe;
        found
    }

    /// What a word stands for: several words, if a variable has several values.
    fn values(&self, word: &Word) -> Vec<String> {
        let mut done = vec![String::new()];
        for piece in word {
            match piece {
                Piece::Char { c, .. } => done.iter_mut().for_each(|text| text.push(*c)),
                Piece::Unknown => done.iter_mut().for_each(|text| text.push(UNKNOWN)),
                Piece::Output(command) => {
                    let output = self.output(command);
                    done.iter_mut().for_each(|text| text.push_str(&output));
                }
                Piece::Var { name, quoted } => {
                    let unknown = [UNKNOWN.to_string()];
                    let values = self.scope.vars.get(name).map_or(&unknown[..], Vec::as_slice);
                    // Unquoted, a value with spaces becomes several words.
                    let whole = word.len() == 1 && !quoted;
                    let values: Vec<&str> = values
                        .iter()
                        .flat_map(|value| match whole {
                            true => value.split_whitespace().collect(),
                            false => vec![value.as_str()],
                        })
                        .collect();
                    done = values
                        .iter()
                        .flat_map(|value| done.iter().map(move |text| format!("{text}{value}")))
                        .take(VALUES_MAX)
                        .collect();
                }
            }
        }
        done
    }

    /// What a command prints, if that can be determined.
    fn output(&self, command: &str) -> String {
        let words: Vec<&str> = command.split_whitespace().collect();
        let inside = |path: &str| path.to_owned();
        match words.as_slice() {
            ["pwd", ..] => self.scope.cwd.clone().unwrap_or_else(|| UNKNOWN.to_string()),
            // A new path of its own.
            ["mktemp", ..] => inside(self.ask.scratch.unwrap_or(self.ask.worktree)) + "/mktemp",
            ["git", "rev-parse", "--show-toplevel"] => self.top_level(),
            ["git", "branch", "--show-current"]
            | ["git", "rev-parse", "--abbrev-ref", "HEAD"]
            | ["git", "symbolic-ref", "--short", "HEAD"] => self.ask.branch.to_owned(),
            _ => {
                let runs = items(command).into_iter().filter_map(|item| match item {
                    Item::Run(simple) => {
                        Some((simple.words.iter().flat_map(|word| self.flat(word)).collect(), None))
                    }
                    _ => None,
                });
                self.listed(&runs.take(VALUES_MAX).collect::<Vec<_>>())
            }
        }
    }

    /// Like [`Walk::values`], but without looking into `$(…)` again.
    fn flat(&self, word: &Word) -> Vec<String> {
        let known =
            |piece: &Piece| if matches!(piece, Piece::Output(_)) { Piece::Unknown } else { piece.clone() };
        self.values(&word.iter().map(known).collect())
    }

    /// A path for whatever a pipe of file-listing programs prints: inside, if they name nothing outside.
    fn listed(&self, pipe: &[(Vec<String>, Option<String>)]) -> String {
        let unknown = || UNKNOWN.to_string();
        if pipe.is_empty() || !pipe.iter().all(|(words, _)| self.names_inside(words)) {
            return unknown();
        }
        self.scope.cwd.as_ref().map_or_else(unknown, |cwd| format!("{cwd}/listed/file"))
    }

    /// Whether a pipe of file-listing programs lists nothing outside.
    pub fn pipe_is_inside(&self) -> bool {
        !self.pipe.is_empty() && self.pipe.iter().all(|(words, _)| self.names_inside(words))
    }

    fn names_inside(&self, words: &[String]) -> bool {
        const LISTERS: [&str; 21] = [
            "find", "fd", "fdfind", "ls", "git", "grep", "rg", "sort", "uniq", "head", "tail", "cut", "tr",
            "cat", "echo", "printf", "awk", "sed", "xargs", "basename", "tee",
        ];
        let Some((name, args)) = words.split_first() else { return false };
        let looks_like_path =
            |arg: &&String| arg.starts_with(['/', '~', UNKNOWN]) || arg.split('/').any(|part| part == "..");
        LISTERS.contains(&name.rsplit('/').next().unwrap_or(name))
            && self.scope.cwd.as_deref().is_some_and(|cwd| self.is_inside(cwd))
            && args
                .iter()
                .filter(looks_like_path)
                .all(|arg| self.path(arg).is_some_and(|path| self.is_inside(&path)))
    }

    fn top_level(&self) -> String {
        match &self.scope.cwd {
            Some(cwd) if is_below(cwd, self.ask.worktree) => self.ask.worktree.to_owned(),
            _ => UNKNOWN.to_string(),
        }
    }

    pub fn cwd(&self) -> Option<&str> {
        self.scope.cwd.as_deref()
    }

    /// Where a word leads, from here. `None`: unknown.
    pub fn path(&self, word: &str) -> Option<String> {
        self.path_from(self.scope.cwd.as_deref(), word)
    }

    pub fn path_from(&self, cwd: Option<&str>, word: &str) -> Option<String> {
        if word.is_empty() || word.starts_with('~') {
            return None;
        }
        let absolute = if word.starts_with('/') { word.to_owned() } else { format!("{}/{word}", cwd?) };
        let mut parts: Vec<&str> = vec![];
        for part in absolute.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                // Whatever it is, it must be somewhere below a folder that is inside, not at its top.
                part if part.contains(UNKNOWN) => {
                    let known = format!("/{}", parts.join("/"));
                    let strictly = self.is_inside(&known) && !self.is_top(&known);
                    return strictly.then(|| format!("{known}/unknown"));
                }
                part => parts.push(part),
            }
        }
        Some(format!("/{}", parts.join("/")))
    }

    fn is_top(&self, path: &str) -> bool {
        is_below(self.ask.worktree, path)
    }

    pub fn is_inside(&self, path: &str) -> bool {
        is_below(path, self.ask.worktree) || self.in_scratch(path)
    }

    pub fn in_scratch(&self, path: &str) -> bool {
        self.ask.scratch.is_some_and(|scratch| is_below(path, scratch))
    }
}

/// Whether `path` is `folder` or inside it.
pub fn is_below(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    !folder.is_empty()
        && path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// What follows a program's options. `valued`: the short options whose value is the next word.
fn after_options<'w>(args: &'w [String], valued: &str) -> &'w [String] {
    let mut at = 0;
    while let Some(arg) = args.get(at) {
        if arg == "--" {
            return &args[at + 1..];
        }
        if !arg.starts_with('-') || arg.len() == 1 {
            break;
        }
        let mut letters = arg.chars().skip(1);
        let takes_next = match (letters.next(), letters.next()) {
            (Some(letter), None) => valued.contains(letter),
            _ => false,
        };
        at += if takes_next { 2 } else { 1 };
    }
    args.get(at..).unwrap_or_default()
}
