//! Paths that a change may touch only with a person's approval: what they hold runs, or says what may run.
//!
//! Invariant: when in doubt, a path is protected. Hidden names match like any other, and a pattern for all that is in a
//! folder also matches what stands in the folder's place.

use crate::paths::PathGlob;

/// What a project protects unless it says otherwise.
pub const DEFAULT: [&str; 11] = [
    "**/.claude/**",
    "**/.codex/**",
    "**/.agents/**",
    ".mcp.json",
    "AGENTS.md",
    "AGENTS.override.md",
    "CLAUDE.md",
    "CLAUDE.local.md",
    "shopfloor.toml",
    ".shopfloor/**",
    ".worktreeinclude",
];

/// How many of a change's files are named.
pub const NAMED_MAX: usize = 50;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protected(Vec<PathGlob>);

impl Protected {
    /// A pattern without a slash matches files of that name in any folder.
    pub fn new(patterns: &[String]) -> Result<Protected, String> {
        let mut globs = Vec::new();
        for pattern in patterns {
            let anywhere = if pattern.contains('/') { pattern.clone() } else { format!("**/{pattern}") };
            let folder = anywhere.strip_suffix("/**").filter(|folder| *folder != "**");
            for one in [Some(anywhere.as_str()), folder].into_iter().flatten() {
                globs.push(PathGlob::new(one).map_err(|why| format!("{pattern:?}: {why}"))?);
            }
        }
        Ok(Protected(globs))
    }

    pub fn covers(&self, path: &str) -> bool {
        self.0.iter().any(|glob| glob.matches_all(path))
    }

    /// Those of the files that are protected, as far as they are named.
    pub fn of<'a>(&self, files: impl IntoIterator<Item = &'a String>) -> Vec<String> {
        files.into_iter().filter(|file| self.covers(file)).take(NAMED_MAX).cloned().collect()
    }
}

/// The planner's own notes: they run nothing and grant nothing, and only the next planner reads them.
const NOTES: &str = ".shopfloor/planner/";

/// What of the protected files that a planner's run changes still needs a person. Its notes do not; whoever else changes
/// them would tell the planner what to have worked on, so for everybody else they stay protected. If files may have been
/// left out of the list, all of it stands.
pub fn of_a_planner(files: Vec<String>) -> Vec<String> {
    if files.len() >= NAMED_MAX {
        return files;
    }
    files.into_iter().filter(|file| !(file.starts_with(NOTES) && file.ends_with(".md"))).collect()
}

const INTERPRETERS: [&str; 12] =
    ["sh", "bash", "dash", "zsh", "python", "python3", "node", "deno", "bun", "ruby", "perl", "source"];
const ENDINGS: [&str; 8] = [".sh", ".bash", ".py", ".rb", ".pl", ".js", ".mjs", ".ts"];

/// The files of the repository that a command line seems to run: what is called by a path, what an interpreter is
/// given, and whatever is named as scripts are.
pub fn scripts(command: &str) -> Vec<String> {
    let mut found = Vec::new();
    for part in command.split(['&', '|', ';', '(', ')', '\n', '`']) {
        let mut before = None;
        for word in part.split([' ', '\t', '"', '\'', '<', '>', ',']).filter(|word| !word.is_empty()) {
            let is_assignment = before.is_none() && word.contains('=');
            let called = before.is_none() && !is_assignment;
            let given = before.is_some_and(|before| INTERPRETERS.contains(&before) || before == ".");
            let runs = (called && word.contains('/'))
                || given
                || word.starts_with("./")
                || ENDINGS.iter().any(|end| word.ends_with(end));
            if let Some(path) = in_the_repository(word).filter(|path| runs && !found.contains(path)) {
                found.push(path);
            }
            if !is_assignment {
                before = Some(word);
            }
        }
    }
    found
}

/// A word as a path below the repository's root, if it can be one.
pub fn in_the_repository(word: &str) -> Option<String> {
    let path = word.trim_start_matches("./");
    let odd = word.starts_with(['/', '~', '-']) || word.contains(['$', '*', '?', '[', '\\', ':', '{']);
    let named = path.split('/').all(|name| name.chars().any(|c| c != '.'));
    (!odd && named && Protected::new(&[path.to_owned()]).is_ok()).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(patterns: &[&str], path: &str) -> bool {
        let owned: Vec<String> = patterns.iter().map(|p| (*p).to_owned()).collect();
        Protected::new(&owned).unwrap().covers(path)
    }

    #[test]
    fn a_planner_writes_its_notes_without_a_person_and_nothing_else() {
        let left = |files: &[&str]| of_a_planner(files.iter().map(|file| (*file).to_owned()).collect());
        let notes = [".shopfloor/planner/MEMORY.md", ".shopfloor/planner/journal/2026-11-19.md"];
        assert_eq!(left(&notes), [""; 0]);
        for other in [
            ".shopfloor/formulas/planner.toml",
            ".shopfloor/planner",
            ".shopfloor/planner/run.sh",
            ".shopfloor/planner2/x.md",
            "AGENTS.md",
            "sub/.shopfloor/planner/x.md",
        ] {
            assert_eq!(left(&[notes[0], other]), [other]);
        }
        // Fifty notes hide what is not named any more.
        let many: Vec<String> = (0..NAMED_MAX).map(|n| format!("{NOTES}{n}.md")).collect();
        assert_eq!(of_a_planner(many.clone()), many);
    }

    #[test]
    fn what_runs_or_grants_is_protected_wherever_it_hides() {
        for path in [
            ".claude/settings.json",
            ".claude/.hidden/x",
            ".claude",
            ".codex/hooks.json",
            "sub/.claude/settings.json",
            ".agents/skills/x/SKILL.md",
            "AGENTS.md",
            "AGENTS.override.md",
            "deep/CLAUDE.local.md",
            "deep/er/AGENTS.md",
            ".hidden/CLAUDE.md",
            "shopfloor.toml",
            ".shopfloor/prompts/dev.md",
            ".shopfloor/formulas/a/b.toml",
            ".worktreeinclude",
            ".mcp.json",
        ] {
            assert!(covers(&DEFAULT, path), "{path}");
        }
        for path in ["src/main.rs", "docs/agents.md", "claude/x", "my-shopfloor.toml", "shopfloor.toml.md"] {
            assert!(!covers(&DEFAULT, path), "{path}");
        }
        assert!(covers(&["ci/*.sh"], "ci/run.sh") && !covers(&["ci/*.sh"], "ci/deep/run.sh"));
        assert!(Protected::new(&["/etc/**".into()]).is_err());
        let named = Protected::new(&DEFAULT.map(str::to_owned)).unwrap();
        assert_eq!(named.of(&["a".to_owned(), "AGENTS.md".to_owned()]), ["AGENTS.md"]);
    }

    #[test]
    fn the_scripts_that_a_command_line_names_are_found() {
        let check = |command: &str, expect: &[&str]| assert_eq!(scripts(command), expect, "{command}");
        check("./check.sh && sh /opt/gates.sh", &["check.sh"]);
        check("python3 tools/lint.py --all; bash ci/run; sh -c 'x'", &["tools/lint.py", "ci/run"]);
        check("A=1 sh run | tee ../out/x", &["run"]);
        check("cargo test --all && npm ci", &[]);
        check("go test ./...", &[]);
        check("curl https://example.org/x.sh", &[]);
        check("./gradlew test", &["gradlew"]);
        check("test -e src/lib.rs && grep -q x docs/a.md", &[]);
        check("(cd sub; ci/run --fast)", &["ci/run"]);
    }
}
