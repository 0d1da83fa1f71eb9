//! Running programs, and saying so.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What went wrong, in words for whoever ran the command.
pub type Res<T> = Result<T, String>;

/// The repository's root.
pub fn root() -> PathBuf {
    // As cargo runs it, not as it was built: clones may share a target folder.
    let here = std::env::var_os("CARGO_MANIFEST_DIR");
    let here = here.map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().expect("xtask is in the workspace").to_owned()
}

/// The cargo that runs us, else the one on the PATH.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    // Set by the cargo that runs us for this package only; the builds we start are others.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&*name);
        }
    }
    command
}

/// Says something on a line of its own.
pub fn say(text: impl AsRef<str>) {
    println!("==> {}", text.as_ref());
}

/// How long each step took.
#[derive(Default)]
pub struct Steps {
    done: Vec<(String, Duration)>,
}

impl Steps {
    /// Runs a step under its name.
    pub fn step<T>(&mut self, name: &str, work: impl FnOnce() -> Res<T>) -> Res<T> {
        say(name);
        let begin = Instant::now();
        let result = work();
        self.done.push((name.to_owned(), begin.elapsed()));
        result.map_err(|why| format!("{name}: {why}"))
    }

    pub fn print(&self) {
        let width = self.done.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        for (name, took) in &self.done {
            println!("{name:width$}  {}", seconds(*took));
        }
        let total = self.done.iter().map(|(_, took)| *took).sum();
        println!("{:width$}  {}", "total", seconds(total));
    }
}

/// `0.4s`, `12s`, `3m05s`.
pub fn seconds(d: Duration) -> String {
    match d.as_secs() {
        0..10 => format!("{:.1}s", d.as_secs_f64()),
        s @ 10..60 => format!("{s}s"),
        s => format!("{}m{:02}s", s / 60, s % 60),
    }
}

/// `0.41s`, `12.3s`.
pub fn seconds_short(d: Duration) -> String {
    let s = d.as_secs_f64();
    if s < 10.0 { format!("{s:.2}s") } else { format!("{s:.1}s") }
}

/// The command as one would type it.
pub fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|w| w.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// Runs it with our own output; any end but exit 0 is an error.
pub fn run(command: &mut Command) -> Res<()> {
    let status = command.status().map_err(|e| format!("{} cannot be run: {e}", shown(command)))?;
    if status.success() { Ok(()) } else { Err(format!("`{}` ended with {status}", shown(command))) }
}

/// Runs it quietly and gives what it printed, without the last line's end.
pub fn output(command: &mut Command) -> Res<String> {
    let out = command
        .stdin(Stdio::null())
        .output()
        .map_err(|e| format!("{} cannot be run: {e}", shown(command)))?;
    if out.status.success() {
        let text = String::from_utf8_lossy(&out.stdout);
        return Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned());
    }
    let (stdout, stderr) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    Err(format!("`{}` ended with {}\n{}{}", shown(command), out.status, stdout, stderr).trim_end().to_owned())
}

/// Whether it runs and exits 0, quietly.
pub fn works(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Whether a program of that name is on the PATH.
pub fn on_path(name: &str) -> bool {
    let Some(path) = std::env::var_os("PATH") else { return false };
    std::env::split_paths(&path).any(|dir| is_program(&dir.join(name)))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Where cargo puts what it builds.
pub fn target_dir() -> Res<PathBuf> {
    let metadata = output(cargo().args(["metadata", "--format-version=1", "--no-deps", "--offline"]))
        .or_else(|_| output(cargo().args(["metadata", "--format-version=1", "--no-deps"])))?;
    let metadata: serde_json::Value =
        serde_json::from_str(&metadata).map_err(|e| format!("cargo metadata is not JSON: {e}"))?;
    let dir = metadata["target_directory"].as_str().ok_or("cargo metadata names no target directory")?;
    Ok(dir.into())
}

/// A fresh folder for this process, closed to others. The name is short: sockets go in it.
pub fn scratch(prefix: &str) -> Res<PathBuf> {
    scratch_in(&std::env::temp_dir(), prefix)
}

/// The same in a folder of one's choice.
pub fn scratch_in(base: &Path, prefix: &str) -> Res<PathBuf> {
    use std::os::unix::fs::DirBuilderExt;
    for n in 0..100 {
        let dir = base.join(format!("{prefix}-{}-{n}", std::process::id()));
        match std::fs::DirBuilder::new().mode(0o700).create(&dir) {
            Ok(()) => return dir.canonicalize().map_err(|e| format!("{}: {e}", dir.display())),
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(format!("{} cannot be made: {e}", dir.display())),
        }
    }
    Err(format!("{} is full of our folders", base.display()))
}

/// Writes a file and the folders above it.
pub fn write(path: &Path, text: &str) -> Res<()> {
    let parent = path.parent().expect("a file is in a folder");
    std::fs::create_dir_all(parent).map_err(|e| format!("{} cannot be made: {e}", parent.display()))?;
    std::fs::write(path, text).map_err(|e| format!("{} cannot be written: {e}", path.display()))
}

/// Prints columns padded to their widest cell.
pub fn table(header: &[&str], rows: &[Vec<String>]) {
    let mut widths: Vec<usize> = header.iter().map(|h| h.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: Vec<&str>| {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        println!("{}", padded.collect::<Vec<_>>().join("  ").trim_end());
    };
    line(header.to_vec());
    for row in rows {
        line(row.iter().map(String::as_str).collect());
    }
}
