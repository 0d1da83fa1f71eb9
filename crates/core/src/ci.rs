//! What a run of the checks means beyond its exit code: whose fault a failure is, and whether a change
//! needs checks at all. Pure; whoever runs checks asks here.

use crate::paths::PathGlob;

/// What a failing step prints at its end when a network, a registry or the machine let it down. Only
/// phrases that no ordinary test failure contains.
const INFRA_PHRASES: [&str; 18] = [
    "could not resolve host",
    "temporary failure in name resolution",
    "network is unreachable",
    "failed to connect to",
    "connection timed out",
    "tls handshake timeout",
    "ssl_error_syscall",
    "the remote end hung up unexpectedly",
    "could not read from remote repository",
    "failed to pull image",
    "error pulling image",
    "errimagepull",
    "imagepullbackoff",
    "toomanyrequests",
    "pull access denied",
    "no space left on device",
    "cannot allocate memory",
    "cannot connect to the docker daemon",
];

/// Git could not do what it was told, for example because a repository cannot be reached.
const GIT_FAILED: i32 = 128;
/// Killed (128 + 9), usually by the kernel for lack of memory.
const KILLED: i32 = 137;

/// Why a step failed through no fault of the change; `None` if the change may be at fault. `output` is the end of
/// what it printed, `own` what the project adds to the known phrases.
pub fn infra_reason(step: &str, exit: i32, output: &str, own: &[String]) -> Option<String> {
    if exit == KILLED {
        return Some("killed from outside (exit code 137): most often out of memory".into());
    }
    let is_git = step.split(|c: char| !c.is_alphanumeric()).any(|word| {
        ["git", "clone", "checkout", "fetch"].iter().any(|known| word.eq_ignore_ascii_case(known))
    });
    if exit == GIT_FAILED && is_git {
        return Some("git failed (exit code 128)".into());
    }
    let output = output.to_lowercase();
    let known = INFRA_PHRASES.into_iter().find(|phrase| output.contains(phrase));
    let own = || own.iter().map(String::as_str).find(|phrase| output.contains(&phrase.to_lowercase()));
    known.or_else(own).map(|phrase| format!("its output says {phrase:?}"))
}

/// The paths that need no checks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkipPaths(Vec<PathGlob>);

impl SkipPaths {
    /// A pattern without a slash matches files of that name in any folder.
    pub fn new(patterns: &[String]) -> Result<SkipPaths, String> {
        let one = |pattern: &String| {
            let anywhere = if pattern.contains('/') { pattern.clone() } else { format!("**/{pattern}") };
            PathGlob::new(&anywhere).map_err(|why| format!("{pattern:?}: {why}"))
        };
        patterns.iter().map(one).collect::<Result<_, _>>().map(SkipPaths)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a change to these files needs no checks: none of them may lie outside. A change to nothing at all
    /// is no reason to skip anything.
    pub fn cover(&self, files: &[String]) -> bool {
        let covered = |file: &String| self.0.iter().any(|glob| glob.matches(file));
        !files.is_empty() && files.iter().all(covered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_the_changes_fault_is_infra() {
        let check = |step: &str, exit: i32, output: &str, infra: bool| {
            let own = ["Lab Database is down".to_owned()];
            assert_eq!(infra_reason(step, exit, output, &own).is_some(), infra, "{step} {exit} {output}");
        };
        check("test", 137, "", true);
        check("clone", 128, "", true);
        check("git-submodules", 128, "fatal: x", true);
        check("test", 128, "fatal: x", false);
        check("digit", 128, "", false);
        check("test", 1, "curl: (6) Could not resolve host: example.org", true);
        check("build", 1, "net/http: TLS handshake timeout", true);
        check("build", 1, "Failed to pull image \"x\"", true);
        check("test", 1, "sorry, lab database is DOWN today", true);
        check("test", 1, "assertion failed: connection refused was expected", false);
        check("test", 101, "", false);
    }

    #[test]
    fn checks_are_skipped_only_if_every_file_may_be() {
        let skip = |patterns: &[&str], files: &[&str]| {
            let owned = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
            SkipPaths::new(&owned(patterns)).unwrap().cover(&owned(files))
        };
        let docs = ["docs/**", "*.md"];
        assert!(skip(&docs, &["docs/a.txt", "docs/deep/er/b.png", "README.md", "src/notes.md"]));
        assert!(!skip(&docs, &["docs/a.txt", "src/main.rs"]));
        assert!(!skip(&docs, &["src/main.md.rs"]));
        assert!(!skip(&docs, &["docsx/a.txt"]) && !skip(&docs, &["docs"]));
        // A hidden file is matched only by a pattern that says so.
        assert!(!skip(&docs, &["docs/.ci/run.sh"]));
        assert!(skip(&["a/**/b.txt"], &["a/b.txt", "a/x/y/b.txt"]));
        assert!(!skip(&docs, &[]) && !skip(&[], &["README.md"]));
        for bad in ["/docs/**", "../x", "", "a**"] {
            assert!(SkipPaths::new(&[bad.to_owned()]).is_err(), "{bad:?}");
        }
    }
}
