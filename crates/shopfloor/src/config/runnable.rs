//! What of a command is run: its program, and the code that it gives an interpreter. Values that somebody else chooses,
//! a formula's variables or a payload, may become arguments, and nothing of that.
//!
//! It knows the usual shells, languages and programs that start others. It cannot know them all, and what a program makes
//! of its arguments is that program's business: so a person accepts the command.

/// What somebody else's value would become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Becomes {
    /// The program that is run.
    Program(usize),
    /// A part of what an interpreter runs.
    Code(usize),
}

/// How the command line of an interpreter is read.
struct Interpreter {
    names: &'static [&'static str],
    /// Options whose value is code.
    code: &'static str,
    /// Those that are words: `--eval`, also with one dash or none.
    words: &'static [&'static str],
    /// An option that makes the first word that is no option code, as `-c` does for a shell.
    flag: &'static str,
    /// Options with another value.
    values: &'static str,
    /// Those whose value is only data.
    data: &'static str,
    /// Whether the first word that is no option is run if no code is given.
    first: bool,
    after: After,
}

/// What comes after the first word that is no option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    Arguments,
    /// Arguments; so is all that follows code.
    ArgumentsAfterCode,
    /// Options still count.
    Options,
}

const PLAIN: Interpreter = Interpreter {
    names: &[],
    code: "",
    words: &[],
    flag: "",
    values: "",
    data: "",
    first: true,
    after: After::Arguments,
};

const INTERPRETERS: [Interpreter; 12] = [
    Interpreter {
        names: &["sh", "bash", "rbash", "dash", "ash", "zsh", "ksh", "mksh", "csh", "tcsh", "yash"],
        words: &["rcfile", "init-file"],
        flag: "c",
        values: "oO",
        ..PLAIN
    },
    Interpreter { names: &["fish", "nu"], code: "cC", words: &["command", "init-command"], ..PLAIN },
    Interpreter {
        names: &["python", "pypy"],
        code: "cm",
        values: "WXQ",
        after: After::ArgumentsAfterCode,
        ..PLAIN
    },
    Interpreter { names: &["perl"], code: "eE", values: "IMm", ..PLAIN },
    Interpreter { names: &["ruby"], code: "e", values: "rICE", ..PLAIN },
    Interpreter {
        names: &["node", "nodejs", "bun", "deno"],
        code: "ep",
        words: &["eval", "print", "require", "import", "loader"],
        values: "rC",
        ..PLAIN
    },
    Interpreter {
        names: &["php"],
        code: "rBRFEfz",
        words: &["run", "process-begin", "process-code", "process-file", "process-end", "file"],
        values: "dc",
        ..PLAIN
    },
    Interpreter {
        names: &[
            "lua",
            "luajit",
            "tclsh",
            "expect",
            "julia",
            "Rscript",
            "R",
            "osascript",
            "elixir",
            "erl",
            "groovy",
            "guile",
        ],
        code: "eEc",
        words: &["eval", "expr", "print", "file"],
        values: "lL",
        ..PLAIN
    },
    Interpreter {
        names: &["awk", "gawk", "mawk", "nawk"],
        code: "fei",
        words: &["file", "source", "include", "exec"],
        data: "vF",
        ..PLAIN
    },
    Interpreter {
        names: &["sed", "gsed", "ssed"],
        code: "ef",
        words: &["expression", "file"],
        values: "l",
        after: After::Options,
        ..PLAIN
    },
    Interpreter {
        names: &["su", "runuser", "script"],
        code: "c",
        words: &["command", "session-command"],
        first: false,
        after: After::Options,
        ..PLAIN
    },
    Interpreter { names: &["git"], code: "c", words: &["config-env", "exec-path"], data: "C", ..PLAIN },
];

/// Whatever these are given may become code: they hand it to a shell, or read it as a language of their own.
const ALL_IS_CODE: [&str; 9] =
    ["ssh", "rsh", "watch", "eval", "parallel", "pwsh", "powershell", "make", "gmake"];

/// A program that runs another, which its command line names.
struct Wrapper {
    names: &'static [&'static str],
    /// Options with a value.
    values: &'static str,
    /// Options whose value is a whole command line.
    line: &'static str,
    /// Words that come before the program.
    before: usize,
}

const SIMPLE: Wrapper = Wrapper { names: &[], values: "", line: "", before: 0 };

const WRAPPERS: [Wrapper; 12] = [
    Wrapper { names: &["env"], values: "uC", line: "S", ..SIMPLE },
    Wrapper { names: &["nice"], values: "n", ..SIMPLE },
    Wrapper { names: &["ionice"], values: "cnpPu", ..SIMPLE },
    Wrapper { names: &["timeout"], values: "ks", before: 1, ..SIMPLE },
    Wrapper { names: &["sudo", "doas"], values: "ugpChrtTUDR", ..SIMPLE },
    Wrapper { names: &["xargs"], values: "IndPLsEa", ..SIMPLE },
    Wrapper { names: &["stdbuf"], values: "ioe", ..SIMPLE },
    Wrapper { names: &["time", "exec"], values: "foa", ..SIMPLE },
    Wrapper { names: &["strace", "ltrace"], values: "eoOpsSuPXan", ..SIMPLE },
    Wrapper { names: &["chroot", "chrt", "taskset"], before: 1, ..SIMPLE },
    Wrapper { names: &["flock"], values: "wE", line: "c", before: 1 },
    Wrapper { names: &["nohup", "setsid", "command", "busybox", "toybox", "unshare", "chronic"], ..SIMPLE },
];

/// The first argument that would be run. `filled`: whether a word is, or holds, a value of somebody else's.
pub fn becomes(argv: &[&str], filled: impl Fn(&str) -> bool) -> Option<Becomes> {
    let filled = &filled as &dyn Fn(&str) -> bool;
    program(argv, 0, filled).or_else(|| {
        // An interpreter may also be started in ways that nobody here knows.
        let named = |at: &usize| !filled(argv[*at]);
        (1..argv.len()).filter(named).find_map(|at| match argv[at] {
            "-exec" | "-execdir" | "-ok" | "-okdir" => program(argv, at + 1, filled),
            word => interpreter(word)?.code_in(argv, at + 1, false, filled).map(Becomes::Code),
        })
    })
}

/// Looks at what is run by the word at `at`.
fn program(argv: &[&str], at: usize, filled: &dyn Fn(&str) -> bool) -> Option<Becomes> {
    let word = argv.get(at)?;
    if filled(word) {
        return Some(Becomes::Program(at));
    }
    if ALL_IS_CODE.contains(&name(word)) {
        return (at + 1..argv.len()).find(|at| filled(argv[*at])).map(Becomes::Code);
    }
    if let Some(interpreter) = interpreter(word) {
        return interpreter.code_in(argv, at + 1, true, filled).map(Becomes::Code);
    }
    WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name(word)))?.runs(argv, at + 1, filled)
}

/// Without its folder, and without its version: `/usr/bin/python3.11` is python.
fn name(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word);
    name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.')
}

fn interpreter(word: &str) -> Option<&'static Interpreter> {
    INTERPRETERS.iter().find(|interpreter| interpreter.names.contains(&name(word)))
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with(['-', '+']) && word != "--"
}

/// What an option takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    /// Code, which is in the same word.
    CodeInIt,
    Code,
    Value,
    Data,
}

impl Interpreter {
    /// The word from `at` on that would be run. `sure`: it is known that the interpreter is run here; else the word may
    /// only look like one, and nothing but code counts.
    fn code_in(
        &self,
        argv: &[&str],
        mut at: usize,
        sure: bool,
        filled: &dyn Fn(&str) -> bool,
    ) -> Option<usize> {
        let (mut given, mut flagged, mut first, mut options) = (false, false, true, true);
        while let Some(word) = argv.get(at) {
            let here = at;
            at += 1;
            let is_shell = !self.flag.is_empty();
            if options && (*word == "--" || (is_shell && *word == "-")) {
                options = false;
            } else if options && (is_option(word) || (*word == "eval" && self.words.contains(word))) {
                if filled(word) {
                    return Some(here);
                }
                flagged |= !word.starts_with("--") && word.contains(|c| self.flag.contains(c));
                let takes = self.takes(word);
                let value = argv.get(at).is_some_and(|word| filled(word));
                match takes {
                    Takes::Code if value => return Some(at),
                    Takes::Value if value && sure => return Some(at),
                    _ => {}
                }
                given |= matches!(takes, Takes::Code | Takes::CodeInIt);
                if given && self.after == After::ArgumentsAfterCode {
                    return None;
                }
                // A value that looks like an option is read as one, too.
                let passed = argv.get(at).is_some_and(|next| !is_option(next));
                at += usize::from(passed && matches!(takes, Takes::Code | Takes::Value | Takes::Data));
            } else {
                let runs = self.first && first && !given;
                if runs && filled(word) && (sure || flagged) {
                    return Some(here);
                }
                if self.after != After::Options {
                    return None;
                }
                first = false;
            }
        }
        None
    }

    fn takes(&self, word: &str) -> Takes {
        let long = word.trim_start_matches('-');
        let (long, attached) = long.split_once('=').map_or((long, false), |(long, _)| (long, true));
        if self.words.contains(&long) {
            return if attached { Takes::CodeInIt } else { Takes::Code };
        }
        if word.starts_with("--") {
            return Takes::Nothing;
        }
        let letters = &word[1..];
        // A shell's `-oc` takes the next word, too.
        if !self.flag.is_empty() {
            return if letters.contains(|c| self.values.contains(c)) { Takes::Value } else { Takes::Nothing };
        }
        let known = |c: char| [self.code, self.values, self.data].iter().any(|those| those.contains(c));
        let Some((at, letter)) = letters.char_indices().find(|(_, c)| known(*c)) else {
            return Takes::Nothing;
        };
        let last = at + letter.len_utf8() == letters.len();
        match (self.code.contains(letter), self.values.contains(letter)) {
            (true, _) if last => Takes::Code,
            (true, _) => Takes::CodeInIt,
            (false, true) if last => Takes::Value,
            (false, false) if last => Takes::Data,
            _ => Takes::Nothing,
        }
    }
}

impl Wrapper {
    fn runs(&self, argv: &[&str], mut at: usize, filled: &dyn Fn(&str) -> bool) -> Option<Becomes> {
        let mut before = self.before;
        while let Some(word) = argv.get(at) {
            let letters = || word.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
            let line = |c: char| self.line.contains(c);
            if is_option(word) {
                if word.starts_with("--split-string") || letters().contains(line) {
                    return (at..argv.len()).find(|at| filled(argv[*at])).map(Becomes::Code);
                }
                let takes = letters().find(|c| self.values.contains(c));
                at += usize::from(takes.is_some_and(|first| first + 1 == letters().len()));
            } else if before > 0 {
                before -= 1;
            } else if *word != "--" && !is_assignment(word) {
                return program(argv, at, filled);
            }
            at += 1;
        }
        None
    }
}

/// `NAME=VALUE`, as `env` takes it.
fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<Becomes> {
        becomes(&line.split(' ').collect::<Vec<_>>(), |word| word.contains('X'))
    }

    #[test]
    fn code_is_found_wherever_an_interpreter_takes_it() {
        for line in [
            "sh -c X",
            "sh -cX",
            "sh X",
            "bash -c -- echoX",
            "sh -c -u X",
            "bash -co pipefail X",
            "bash -oc pipefail X",
            "bash -o pipefail -c X",
            "sh -c - X",
            "/bin/bash --norc -lc X",
            "bash --rcfile X",
            "python3.11 -W ignore -c X",
            "python -m X",
            "nodejs -e X",
            "node --eval=X",
            "deno eval X",
            "perl -lane X",
            "perl -e one -e X",
            "perl -Mre -e X",
            "php -r X",
            "awk {printX}",
            "gawk -v a=1 -F : X",
            "sed s/a/X/e",
            "sed s/a/b/ file -e X",
            "env -S X",
            "env -iS X",
            "env --split-string=X",
            "env A=1 sh -c X",
            "su -c X",
            "su person -c X",
            "script -qc X",
            "flock lock -c X",
            "ssh host X",
            "watch -n 5 X",
            "make A=X",
            "xargs -I {} sh -c X",
            "busybox sh -c X",
            "sudo -u person nice -n 5 sh -ec X",
            "timeout -k 5 10 awk X",
            "find . -exec sed X {} ;",
            "docker run image sh -c X",
            "git -c X log",
        ] {
            assert!(matches!(of(line), Some(Becomes::Code(_))), "{line}: {:?}", of(line));
        }
        assert_eq!(of("bash -co pipefail X"), Some(Becomes::Code(3)));
    }

    #[test]
    fn the_program_is_found_behind_those_that_start_it() {
        for line in ["X", "env X", "env -u A B=1 X", "nice -n 5 X", "timeout 5 X", "xargs -0 X", "sudo -- X"]
        {
            assert!(matches!(of(line), Some(Becomes::Program(_))), "{line}: {:?}", of(line));
        }
    }

    #[test]
    fn arguments_stay_arguments() {
        for line in [
            "sh -c code sh X",
            "sh -euc code sh -e X",
            "sh script.sh X",
            "python3 -u tool.py -c X",
            "python3 -m pytest -k X",
            "python3 -c code X",
            "perl -pe code X",
            "node tool.js --eval X",
            "awk -v a=X code X",
            "awk -F X code",
            "sed -n s/a/b/p X",
            "sed -e s/a/b/ X",
            "grep -e X",
            "git log --since=X -- X",
            "git -C X log",
            "git grep -e X -- python",
            "env A=X tool",
            "timeout X tool",
            "tool python X",
            "xargs -I X tool",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
