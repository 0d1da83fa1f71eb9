//! What this machine can isolate with: tried, not guessed.

use super::confine;
use crate::host::command;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

const ANSWER_WITHIN: Duration = Duration::from_secs(10);

/// How a jail is built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Means {
    /// Not at all: nobody wants one, or the reason why none works.
    Nothing {
        why: Option<String>,
    },
    Bubblewrap(PathBuf),
    /// Only the kernel's rules about files, and why nothing better works.
    Rules {
        why: String,
    },
}

impl Means {
    pub(super) fn probe(path: &OsStr) -> Means {
        match bubblewrap(path) {
            Ok(program) => Means::Bubblewrap(program),
            Err(why) => match confine::works() {
                Ok(()) => Means::Rules { why },
                Err(rules) => Means::Nothing { why: Some(format!("{why}; and {rules}")) },
            },
        }
    }
}

/// The program, if it can do what a jail needs.
fn bubblewrap(path: &OsStr) -> Result<PathBuf, String> {
    let program = command::on_path("bwrap", path).ok_or(
        "bubblewrap is not installed: install it with your package manager, such as `apt install bubblewrap`",
    )?;
    let mut bwrap = std::process::Command::new(&program);
    bwrap.args(["--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent"]);
    bwrap.args(["--cap-drop", "ALL"]);
    bwrap.args(["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--", "true"]);
    let ran = command::run(bwrap.env_clear().env("PATH", path), ANSWER_WITHIN)
        .map_err(|e| format!("{} cannot be run: {e}", program.display()))?;
    if ran.status.success() {
        return Ok(program);
    }
    let said = ran.stderr.lines().next().unwrap_or("it said nothing").trim();
    Err(format!(
        "the system does not let bubblewrap make a user namespace ({said}): allow it \
         (`sysctl kernel.unprivileged_userns_clone=1`, or an AppArmor profile for bwrap), or ask whoever runs this machine"
    ))
}
