//! `cargo xtask bench`: builds the release binary and the measuring program, and runs that.

use crate::install;
use crate::sh::{self, Res, Steps, cargo};
use std::process::Command;

/// `parts`: only those, as options of the measuring program.
pub fn run(quick: bool, yes: bool, parts: &[String]) -> Res<()> {
    let mut steps = Steps::default();
    steps.step("checking for git, tmux and bubblewrap", || install::ensure_tools(yes))?;
    steps.step("cargo build --release -p shopfloor -p shopfloor-bench", || {
        sh::run(cargo().args(["build", "--release", "-p", "shopfloor", "-p", "shopfloor-bench"]))
    })?;
    let release = sh::target_dir()?.join("release");
    let mut bench = Command::new(release.join("shopfloor-bench"));
    bench.arg("--binary").arg(release.join("shopfloor"));
    bench.arg("--out").arg(sh::root().join("bench.json"));
    if quick {
        bench.arg("--quick");
    }
    bench.args(parts);
    steps.step("measuring", || sh::run(&mut bench))?;
    steps.print();
    Ok(())
}
