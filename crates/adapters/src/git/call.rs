//! One git process: its arguments, its end, its output.
//!
//! Each call says which exit codes are answers; any other end is an error. A process that takes too long is
//! stopped.

use super::jailed::{self, Reach};
use super::origin::Push;
use super::run::{GitError, GitResult, parse_sha};
use crate::host::command::{self, Keep};
use rustix::process::{Pid, Signal, kill_process_group};
use shopfloor_core::ids::Sha;
use shopfloor_core::text;
use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Not even the first push of a huge repository takes this long on one machine.
const TIME_LIMIT: Duration = Duration::from_secs(600);

/// In what others write, who may have put something there that git waits for.
const REACH_TIME_LIMIT: Duration = Duration::from_secs(180);

const STDERR_BYTES_MAX: usize = 2_000;

/// How much is kept of what git says besides its answer; a server may say any amount.
const SAID_BYTES_MAX: usize = 256 * 1024;

/// How much is read of a list of refs that were asked for by name.
const REFS_BYTES_MAX: usize = 1024 * 1024;

/// One git process to be started.
#[must_use]
pub(crate) struct Call {
    program: OsString,
    command: Command,
    shown: String,
    subcommand: String,
    begun: bool,
    stdin: Option<Vec<u8>>,
    /// The call's own time limit, if it has one; everything it started then ends with it.
    limit: Option<Duration>,
    /// Why it is not run at all.
    broken: Option<GitError>,
    /// Run in a jail, which shows it no more than that.
    reach: Option<Reach>,
}

/// What a git process left.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub code: i32,
    pub stdout: Vec<u8>,
}

impl Output {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).trim_end().to_owned()
    }
}

impl Call {
    /// `command` has git's global options; more may follow until the first argument.
    pub(crate) fn new(program: OsString, command: Command, subcommand: &str) -> Self {
        let shown = format!("git {subcommand}");
        let subcommand = subcommand.to_owned();
        Call {
            program,
            command,
            shown,
            subcommand,
            begun: false,
            stdin: None,
            limit: None,
            broken: None,
            reach: None,
        }
    }

    /// The same call, in a jail.
    pub(super) fn within_reach(self, reach: Reach) -> Self {
        Call { reach: Some(reach), ..self }
    }

    /// Through that index instead of the repository's own.
    pub(super) fn through_index(self, index: &Path) -> Self {
        let mut call = self.env("GIT_INDEX_FILE", index);
        if let (Some(reach), Some(folder)) = (&mut call.reach, index.parent()) {
            reach.write(folder);
        }
        call
    }

    /// The same call, which is not run.
    pub(crate) fn that_fails(self, why: GitError) -> Self {
        Call { broken: Some(why), ..self }
    }

    /// Gives it a deadline, at which everything it started is ended: a helper that talks to a server must not
    /// continue by itself.
    pub(crate) fn within(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Runs `ls-remote` for these full names.
    pub(crate) fn listing(self, remote: &OsStr, names: &[&str]) -> GitResult<Vec<Option<Sha>>> {
        let call = self.args(["--quiet", "--refs", "--"]).arg(remote).args(names);
        let command = call.shown();
        let text = call.beginning(REFS_BYTES_MAX)?;
        let mut found = vec![None; names.len()];
        // git matches the end of a name; only the whole name counts here.
        for (sha, name) in text.lines().filter_map(|line| line.split_once('\t')) {
            if let Some(at) = names.iter().position(|wanted| *wanted == name) {
                found[at] = Some(parse_sha(&command, sha)?);
            }
        }
        Ok(found)
    }

    /// The arguments of `push` for these moves, including where each ref is expected to be.
    /// `program`: what is run at the other end, if it is on this machine.
    pub(crate) fn pushing(mut self, url: &OsStr, push: &Push<'_>, program: Option<&str>) -> Self {
        self = self.args([
            "--quiet",
            "--atomic",
            "--no-verify",
            "--no-signed",
            "--no-follow-tags",
            "--recurse-submodules=no",
        ]);
        self = self.args(program);
        let standing = push.standing.iter().map(|(name, at)| (name, Some(at), Some(at)));
        let moves = push.moves.iter().map(|m| (&m.name, m.old.as_ref(), m.new.as_ref()));
        let all: Vec<_> = moves.chain(standing).collect();
        let said = |sha: &Option<&Sha>| sha.map_or_else(String::new, Sha::to_string);
        self = self.args(all.iter().map(|(name, old, _)| format!("--force-with-lease={name}:{}", said(old))));
        self.arg("--").arg(url).args(all.iter().map(|(name, _, new)| format!("{}:{name}", said(new))))
    }

    /// For global options. Only before the first argument.
    pub(crate) fn command(&mut self) -> &mut Command {
        debug_assert!(!self.begun, "global options go before the subcommand");
        &mut self.command
    }

    /// The subcommand comes after all global options, so it is added with the first of its arguments.
    fn begin(&mut self) {
        if !self.begun {
            self.begun = true;
            self.command.arg(&self.subcommand);
        }
    }

    /// Runs it in that folder. Only before the first argument.
    pub(crate) fn at(mut self, dir: &Path) -> Self {
        self.command().arg("-C").arg(dir);
        self
    }

    /// A setting for this call alone. Only before the first argument.
    pub(crate) fn set(mut self, setting: &str) -> Self {
        self.command().args(["-c", setting]);
        self
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.begin();
        self.shown.push(' ');
        self.shown.push_str(&text::one_line(&arg.as_ref().to_string_lossy(), 200));
        self.command.arg(arg);
        self
    }

    pub(crate) fn args<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(self, args: I) -> Self {
        args.into_iter().fold(self, Call::arg)
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = Some(bytes.into());
        self
    }

    pub(crate) fn shown(&self) -> String {
        self.shown.clone()
    }

    /// Runs it. Any other exit code is an error, and so is death by a signal: a git that was killed has said
    /// nothing about the repository.
    pub(crate) fn ending(self, codes: &[i32]) -> GitResult<Output> {
        let shown = self.shown();
        let ended = self.end(usize::MAX)?;
        match ended.code {
            Some(code) if codes.contains(&code) => Ok(Output { code, stdout: ended.stdout }),
            _ => Err(ended.into_error(shown)),
        }
    }

    /// Runs it and keeps at most the first `bytes_max` bytes of its output.
    fn end(mut self, bytes_max: usize) -> GitResult<Ended> {
        self.begin();
        let mut child = self.start()?;
        let input = self.stdin.take().unwrap_or_default();
        let usual = if self.reach.is_some() { REACH_TIME_LIMIT } else { TIME_LIMIT };
        let limit = self.limit.unwrap_or(usual);
        let keep = Keep { stdout: bytes_max, stderr: SAID_BYTES_MAX, all_is_read: false };
        let (stdout, stderr) = match command::talk(&mut child, &input, &keep, Instant::now() + limit) {
            Ok(said) => said,
            Err(e) => {
                self.stop(&mut child);
                return Err(match e.kind() {
                    ErrorKind::TimedOut => GitError::TimedOut { command: self.shown, limit },
                    _ => GitError::io(self.shown, e),
                });
            }
        };
        let status = child.wait().map_err(|e| GitError::io(self.shown, e))?;
        // The code of a jail that could not be built answers nothing.
        let code = status.code().filter(|_| self.reach.is_none() || !jailed::is_the_jails(&stderr));
        Ok(Ended { code, stdout, stderr })
    }

    /// Runs it and pipes its output into another call, chosen by the first bytes; `None`: into none.
    pub(crate) fn into(mut self, first: usize, next: impl FnOnce(&[u8]) -> Option<Call>) -> GitResult<()> {
        self.begin();
        let mut child = self.start()?;
        write_all(child.stdin.take(), self.stdin.take().unwrap_or_default());
        let stderr = read_beginning(child.stderr.take());
        let mut pipe = child.stdout.take().expect("piped");
        let (done, begun) = channel();
        std::thread::spawn(move || {
            let mut header = vec![0; first];
            // If it ends before that, its exit says why.
            let whole = pipe.read_exact(&mut header).is_ok();
            let _ = done.send(whole.then_some((header, pipe)));
        });
        let fed = match begun.recv_timeout(TIME_LIMIT).ok().flatten() {
            Some((header, mut pipe)) => match next(&header) {
                Some(next) => next.feed(header, pipe),
                None => {
                    // Let it run to its end: a closed pipe would kill it.
                    std::thread::spawn(move || drop(std::io::copy(&mut pipe, &mut std::io::sink())));
                    Ok(())
                }
            },
            None => Ok(()),
        };
        let Ok(stderr) = stderr.recv_timeout(TIME_LIMIT) else {
            self.stop(&mut child);
            return Err(GitError::TimedOut { command: self.shown, limit: TIME_LIMIT });
        };
        let status = child.wait().map_err(|e| GitError::io(self.shown.clone(), e))?;
        match status.code() {
            Some(0) => fed,
            // If the reader stops reading, that ends this process; then it is the reader that failed.
            _ if fed.is_err() => fed,
            code => Err(Ended { code, stdout: Vec::new(), stderr }.into_error(self.shown)),
        }
    }

    /// Runs it on these bytes, followed by the content of a pipe.
    fn feed(mut self, begin: Vec<u8>, mut pipe: impl Read + Send + 'static) -> GitResult<()> {
        let shown = self.shown();
        self.begin();
        self.stdin = Some(Vec::new());
        let mut child = self.start()?;
        let stderr = read_beginning(child.stderr.take());
        if let Some(mut input) = child.stdin.take() {
            std::thread::spawn(move || {
                // A git that stops reading says so by its exit code, not by a broken pipe.
                let _ = input.write_all(&begin).and_then(|()| std::io::copy(&mut pipe, &mut input));
            });
        }
        let stdout = read_beginning(child.stdout.take());
        let (Ok(stdout), Ok(stderr)) = (stdout.recv_timeout(TIME_LIMIT), stderr.recv_timeout(TIME_LIMIT))
        else {
            self.stop(&mut child);
            return Err(GitError::TimedOut { command: shown, limit: TIME_LIMIT });
        };
        let status = child.wait().map_err(|e| GitError::io(shown.clone(), e))?;
        match status.code() {
            Some(0) => Ok(()),
            code => Err(Ended { code, stdout, stderr }.into_error(shown)),
        }
    }

    /// Starts it; what is said to it and by it is the caller's.
    fn start(&mut self) -> GitResult<Child> {
        if let Some(why) = self.broken.take() {
            return Err(why);
        }
        if let Some(reach) = &self.reach {
            self.command = reach
                .confine(&self.command)
                .map_err(|source| GitError::Start { program: self.program.clone(), source })?;
        }
        if self.limit.is_some() {
            self.command.process_group(0);
        }
        self.command.stdin(if self.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let spawned = self.command.spawn();
        spawned.map_err(|source| GitError::Start { program: self.program.clone(), source })
    }

    fn stop(&self, child: &mut Child) {
        if self.limit.is_some()
            && let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw)
        {
            let _ = kill_process_group(group, Signal::KILL);
        }
        // It may have ended on its own in this instant; either way it is reaped.
        let _ = child.kill();
        let _ = child.wait();
    }

    /// Its standard output; an exit code other than 0 is an error.
    pub(crate) fn run(self) -> GitResult<Vec<u8>> {
        Ok(self.ending(&[0])?.stdout)
    }

    pub(crate) fn text(self) -> GitResult<String> {
        Ok(self.ending(&[0])?.text())
    }

    /// The beginning of its output, for texts that may be huge.
    pub(crate) fn beginning(self, bytes_max: usize) -> GitResult<String> {
        Ok(String::from_utf8_lossy(&self.first_bytes(bytes_max)?).into_owned())
    }

    /// The beginning of its output, as raw bytes.
    pub(crate) fn first_bytes(self, bytes_max: usize) -> GitResult<Vec<u8>> {
        let shown = self.shown();
        let ended = self.end(bytes_max)?;
        // A process that wrote more was stopped because of that.
        if ended.code != Some(0) && ended.stdout.len() < bytes_max {
            return Err(ended.into_error(shown));
        }
        Ok(ended.stdout)
    }

    pub(crate) fn sha(self) -> GitResult<Sha> {
        let shown = self.shown();
        parse_sha(&shown, &self.text()?)
    }
}

/// A process's end, whatever it was.
struct Ended {
    /// `None`: ended by a signal.
    code: Option<i32>,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Ended {
    fn into_error(self, command: String) -> GitError {
        let mut said = String::from_utf8_lossy(&self.stderr).into_owned();
        if said.trim().is_empty() {
            said = String::from_utf8_lossy(&self.stdout).into_owned();
        }
        let stderr = text::tail(text::neutralise(&said).trim(), STDERR_BYTES_MAX);
        GitError::Failed { command, code: self.code, stderr }
    }
}

/// Writes on a thread of its own, so that a full pipe never blocks us.
fn write_all(pipe: Option<impl Write + Send + 'static>, bytes: Vec<u8>) {
    if let Some(mut pipe) = pipe {
        // A git that stops reading says so by its exit code, not by a broken pipe.
        std::thread::spawn(move || drop(pipe.write_all(&bytes)));
    }
}

/// Reads a pipe to its end on a thread of its own, so that a full pipe never blocks git and a git that hangs never
/// blocks us. What was read before an error is still what git said; only the beginning of it is kept.
fn read_beginning(pipe: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (done, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = (&mut pipe).take(SAID_BYTES_MAX as u64).read_to_end(&mut bytes);
            let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        }
        let _ = done.send(bytes);
    });
    receiver
}
