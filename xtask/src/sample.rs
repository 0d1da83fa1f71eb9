//! The demo's sample project: a small greeter in shell, its check, and the issues to work off.

use crate::sh::{Res, write};
use std::path::Path;

pub const PROJECT: &str = "sample";
pub const BRANCH: &str = "main";

/// An issue of the sample project, and what must be in the primary branch when it is done.
pub struct Task {
    pub title: &'static str,
    /// `demo:` lines are what the scripted agent follows; the rest is for people.
    pub body: &'static str,
    pub path: &'static str,
    pub expect: Expect,
}

pub enum Expect {
    /// The file is exactly this line.
    Content(&'static str),
    /// The file has this line.
    Line(&'static str),
}

pub const TASKS: [Task; 6] = [
    Task {
        title: "Greet in German",
        body: "The greeter should know German.\n\n\
               demo: write greetings/de.txt <<Hallo, %s!\n",
        path: "greetings/de.txt",
        expect: Expect::Content("Hallo, %s!"),
    },
    Task {
        title: "Greet in French",
        body: "The greeter should know French. The first try gets it wrong, and CI says so.\n\n\
               demo: fail-ci-once greetings/fr.txt <<Bonjour, %s!\n",
        path: "greetings/fr.txt",
        expect: Expect::Content("Bonjour, %s!"),
    },
    Task {
        title: "Thank the translators",
        body: "A file that thanks them. The first draft is rough, and the review says so.\n\n\
               demo: fail-review-once THANKS.md <<Thanks to everybody who sent a greeting.\n",
        path: "THANKS.md",
        expect: Expect::Content("Thanks to everybody who sent a greeting."),
    },
    Task {
        title: "Offer German",
        body: "List German among the languages on offer. The check refuses a language that has no \
               greeting, so this depends on #1.\n\n\
               demo: append languages.txt <<de\n",
        path: "languages.txt",
        expect: Expect::Line("de"),
    },
    Task {
        title: "Greet in Spanish",
        body: "The greeter should know Spanish. The agent dies over it, and its successor goes on.\n\n\
               demo: crash-once\n\
               demo: write greetings/es.txt <<Hola, %s!\n",
        path: "greetings/es.txt",
        expect: Expect::Content("Hola, %s!"),
    },
    Task {
        title: "Greet in Italian",
        body: "The greeter should know Italian. How, only a person knows, and the agent asks.\n\n\
               demo: ask <<Ciao or Salve?\n\
               demo: write greetings/it.txt <<{answer}, %s!\n",
        path: "greetings/it.txt",
        expect: Expect::Content("Ciao, %s!"),
    },
];

/// The question of the agent that asks, and what a person says.
pub const QUESTION: &str = "Ciao or Salve?";
pub const ANSWER: &str = "Ciao";

const README: &str = "# greeter

Says hello. `./greet.sh de Ada` greets Ada in German.

A greeting is one line in `greetings/LANGUAGE.txt`, with `%s` where the name goes.
`languages.txt` lists the languages on offer. `./check.sh` is the test.
";

const GREET: &str = r#"#!/bin/sh
# greet.sh LANGUAGE NAME
set -eu
cd "$(dirname "$0")"
# shellcheck disable=SC2059 # the greeting is the format
printf "$(cat "greetings/${1:-en}.txt")\n" "${2:-world}"
"#;

const CHECK: &str = r#"#!/bin/sh
# The project's test: every greeting is well-formed, and every language on offer greets.
set -eu
cd "$(dirname "$0")"
failed=0
bad() { echo "FAIL $1"; failed=1; }

for file in greetings/*.txt; do
    [ "$(wc -l <"$file")" -eq 1 ] || bad "$file: not exactly one line"
    grep -Eq '^[A-Z][a-z]+, %s!$' "$file" || bad "$file: not of the form 'Word, %s!'"
done
while read -r language; do
    if [ ! -f "greetings/$language.txt" ]; then
        bad "languages.txt: $language has no greeting"
    elif ! ./greet.sh "$language" Ada | grep -q Ada; then
        bad "greet.sh: $language does not greet Ada"
    else
        echo "ok $language: $(./greet.sh "$language" Ada)"
    fi
done <languages.txt
exit "$failed"
"#;

/// Writes the project's files.
pub fn write_project(dir: &Path) -> Res<()> {
    let files = [
        ("README.md", README),
        ("greet.sh", GREET),
        ("check.sh", CHECK),
        ("greetings/en.txt", "Hello, %s!\n"),
        ("languages.txt", "en\n"),
    ];
    for (name, text) in files {
        write(&dir.join(name), text)?;
    }
    use std::os::unix::fs::PermissionsExt;
    for program in ["greet.sh", "check.sh"] {
        let path = dir.join(program);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755))
            .map_err(|e| format!("{}: {e}", path.display()))?;
    }
    Ok(())
}

/// The project's configuration. A squash makes one commit of each issue, so that every commit on
/// the primary branch is one that was checked as it stands.
pub fn project_config(jobs: u32) -> String {
    format!(
        r#"[project]
name = "{PROJECT}"
primary_branch = "{BRANCH}"

[ci]
steps = [{{ name = "check", run = "./check.sh", timeout = "1m" }}]

[agents.dev]
runtime = "demo"

[agents.review]
runtime = "demo"

[review]
required = true

[merge]
method = "squash"

[limits]
max_jobs = {jobs}
"#
    )
}

/// The floor's configuration: phase files in the scratch folder instead of `/tmp`.
pub fn floor_config(phase_dir: &Path) -> Res<String> {
    let dir = phase_dir.to_str().filter(|d| !d.contains(['"', '\\', '\n']));
    let dir = dir.ok_or("the temporary folder's path has characters the demo cannot quote")?;
    Ok(format!("[sessions]\nphase_dir = \"{dir}\"\n"))
}
