//! Paths that a change may touch only with a person's approval: what they hold runs, or says what may run.
//!
//! Invariant: when in doubt, a path is protected. Hidden names match like any other, and a pattern for all that is in a
//! folder also matches what stands in the folder's place.

use crate::paths::PathGlob;

/// What a project protects unless it says otherwise.
pub const DEFAULT: [&str; 8] = [
    ".claude/**",
    ".codex/**",
    ".mcp.json",
    "AGENTS.md",
    "CLAUDE.md",
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

/// The files of the repository that a command line seems to run: words with a slash that stay in it, or that end as
/// scripts do. Too many do no harm: they are patterns for files that may not exist.
pub fn scripts(command: &str) -> Vec<String> {
    const ENDINGS: [&str; 8] = [".sh", ".bash", ".py", ".rb", ".pl", ".js", ".mjs", ".ts"];
    let is_end = |c: char| c.is_whitespace() || "&|;()<>\"'`=,".contains(c);
    let mut found = Vec::new();
    for word in command.split(is_end) {
        let path = word.trim_start_matches("./");
        let in_it =
            !word.starts_with(['/', '~', '-']) && !word.contains(['$', '*', '?', '[', '\\', ':', '{']);
        let is_script = path.contains('/') || path != word || ENDINGS.iter().any(|end| path.ends_with(end));
        if in_it
            && is_script
            && path.split('/').all(|name| name.chars().any(|c| c != '.'))
            && Protected::new(&[path.to_owned()]).is_ok()
            && !found.contains(&path.to_owned())
        {
            found.push(path.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(patterns: &[&str], path: &str) -> bool {
        let owned: Vec<String> = patterns.iter().map(|p| (*p).to_owned()).collect();
        Protected::new(&owned).unwrap().covers(path)
    }

    #[test]
    fn what_runs_or_grants_is_protected_wherever_it_hides() {
        for path in [
            ".claude/settings.json",
            ".claude/.hidden/x",
            ".claude",
            ".codex/hooks.json",
            "AGENTS.md",
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
        check("python3 tools/lint.py --all; bash ci/run", &["tools/lint.py", "ci/run"]);
        check("A=1 sh run.sh | tee ../out/x", &["run.sh"]);
        check("cargo test --all && npm ci", &[]);
        check("go test ./...", &[]);
        check("curl https://example.org/x.sh", &[]);
        check("./gradlew test", &["gradlew"]);
    }
}
