//! The environment that agents and checks get: an allowlist, so that nothing of the daemon's own
//! surroundings (secrets, an outer CI, an outer agent) leaks into them by accident.

use std::ffi::{OsStr, OsString};

const NAMES: [&str; 24] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOCACHE",
    "JAVA_HOME",
    "NVM_DIR",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
];

const PREFIXES: [&str; 2] = ["LC_", "XDG_"];

/// Names that say "you run inside this": true of the daemon, a lie to what it starts. Not passed on even when
/// asked for.
const NEVER: [&str; 12] = [
    "CI",
    "TMUX",
    "TMUX_PANE",
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SSE_PORT",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "PHASE_FILE",
    "PROJECT_NAME",
    "ISSUE",
];

const NEVER_PREFIXES: [&str; 2] = ["SHOPFLOOR_", "CODEX_SANDBOX"];

/// Which part of `environment` is passed on: the allowlist, and the names in `pass`.
pub fn clean_env(
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    pass: &[String],
) -> Vec<(OsString, OsString)> {
    environment.into_iter().filter(|(name, _)| is_passed(name, pass)).collect()
}

fn is_passed(name: &OsStr, pass: &[String]) -> bool {
    let Some(name) = name.to_str() else { return false };
    let never = NEVER.contains(&name) || NEVER_PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let listed = NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    !never && (listed || pass.iter().any(|passed| passed == name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_listed_and_the_asked_for_are_passed() {
        let check = |name: &str, expect: bool| {
            let pass = ["MY_TOKEN".to_owned(), "CI".to_owned(), "SHOPFLOOR_SESSION".to_owned()];
            let got = clean_env([(name.into(), "v".into())], &pass);
            assert_eq!(!got.is_empty(), expect, "{name}");
        };
        for passed in ["PATH", "LC_ALL", "XDG_RUNTIME_DIR", "https_proxy", "NO_PROXY", "MY_TOKEN"] {
            check(passed, true);
        }
        for kept in ["CI", "SHOPFLOOR_SESSION", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "TMUX", "LD_PRELOAD"]
        {
            check(kept, false);
        }
    }
}
