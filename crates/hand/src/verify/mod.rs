//! Verifiers: whether a step's work is there, by looking at it.
//!
//! Invariants:
//! - What could not be looked at is not verified: an error counts as "no", with its reason.
//! - A key is one word: it never becomes a pattern, another path, an option or a command.
//! - Everything is bounded: files looked at, bytes read, time, and how much of an output is quoted.

mod command;
mod files;

use crate::key::StoryKey;
use serde::Serialize;
use serde_json::Value;
use shopfloor_adapters::git::{Git, facts};
use shopfloor_core::fill::{self, FillError};
use shopfloor_core::paths::{self, PathGlob};
use shopfloor_core::redact::Redactor;
use shopfloor_core::text::{one_line, shell_word};
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const JSON_BYTES_MAX: u64 = 4 * 1024 * 1024;
const WHY_CHARS_MAX: usize = 400;

/// The placeholder that every check may use.
pub const KEY: &str = "key";
/// The placeholder that a program may also use: [`Verifier::state_file`].
pub const STATE_FILE: &str = "state_file";

/// One condition that must hold. Texts may contain `{key}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    Files {
        glob: String,
        min: u32,
        max: Option<u32>,
        /// None of them is longer.
        max_bytes: Option<u64>,
    },
    /// A program that ends with status 0.
    Run {
        argv: Vec<String>,
        timeout: Duration,
    },
    Git(GitCheck),
    /// A field of a JSON file; without `equals`, it must exist and not be null.
    Json {
        file: String,
        pointer: String,
        equals: Option<Value>,
    },
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitCheck {
    Clean,
    CommitsAhead {
        of: String,
        min: u32,
        max: Option<u32>,
    },
    /// No other files than these are changed.
    ChangesOnly {
        of: String,
        paths: Vec<String>,
    },
    Pushed {
        remote: String,
        branch: Option<String>,
    },
    BranchExists {
        branch: String,
    },
}

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Reason {
    /// The check, in words.
    pub check: String,
    pub ok: bool,
    pub why: String,
}

/// What the checks said.
#[derive(Serialize)]
pub struct Answer {
    pub verified: bool,
    pub step: String,
    pub key: String,
    pub reasons: Vec<Reason>,
}

impl Answer {
    /// The first check that did not hold.
    pub fn missing(&self) -> Option<String> {
        self.reasons
            .iter()
            .find(|reason| !reason.ok)
            .map(|reason| format!("{}: {}", reason.check, reason.why))
    }
}

/// A step's checks, ready to be run.
pub struct Verification {
    pub verifier: Verifier,
    pub checks: Vec<Check>,
    pub step: String,
    pub key: StoryKey,
}

impl Verification {
    pub fn answer(&self) -> Answer {
        let reasons = self.verifier.reasons(&self.checks, &self.key);
        let verified = reasons.iter().all(|reason| reason.ok);
        Answer { verified, step: self.step.clone(), key: self.key.to_string(), reasons }
    }
}

/// Where and how checks are run.
pub struct Verifier {
    /// The top of the working tree.
    pub root: PathBuf,
    pub git: Git,
    /// The whole environment of the programs that are run.
    pub env: Vec<(OsString, OsString)>,
    pub redactor: Redactor,
    /// The orchestrating program's state file, if there is one.
    pub state_file: Option<String>,
}

impl Verifier {
    /// Runs every check, so that everything missing is reported at once.
    pub fn reasons(&self, checks: &[Check], key: &StoryKey) -> Vec<Reason> {
        checks.iter().map(|check| self.reason(check, key)).collect()
    }

    fn reason(&self, check: &Check, key: &StoryKey) -> Reason {
        let (ok, why) = self.check(check, key).unwrap_or_else(|why| (false, why));
        let clean = |text: &str| one_line(&self.redactor.redact(text), WHY_CHARS_MAX);
        Reason { check: clean(&describe(check, key)), ok, why: clean(&why) }
    }

    fn check(&self, check: &Check, key: &StoryKey) -> Result<(bool, String), String> {
        let values = [(KEY, key.as_str())];
        match check {
            Check::Files { glob, min, max, max_bytes } => {
                let pattern = fill::with(glob, &values, paths::escape).map_err(words)?;
                let files = files::found(&self.root, &PathGlob::new(&pattern)?)?;
                let found = u32::try_from(files.len()).unwrap_or(u32::MAX);
                if let Some(too_long) = max_bytes.and_then(|max| files::longer(&files, max)) {
                    let name = too_long.strip_prefix(&self.root).unwrap_or(too_long).display();
                    let max = max_bytes.unwrap_or_default();
                    return Ok((false, format!("{name} is longer than {max} bytes")));
                }
                let bound = match max {
                    Some(max) => format!("from {min} to {max} are wanted"),
                    None => format!("at least {min} are wanted"),
                };
                let ok = found >= *min && max.is_none_or(|max| found <= max);
                Ok((ok, format!("{found} files match ({bound})")))
            }
            Check::Run { argv, timeout } => {
                let uses = |word: &String| fill::uses(word, STATE_FILE, &[KEY, STATE_FILE]) == Ok(true);
                if self.state_file.is_none() && argv.iter().any(uses) {
                    return Err("it uses {state_file}, and none was given".to_owned());
                }
                let file = self.state_file.as_deref().unwrap_or_default();
                let argv = fill::argv(argv, &[values[0], (STATE_FILE, file)]).map_err(words)?;
                command::run(&self.root, &argv, &self.env, *timeout)
            }
            Check::Git(check) => {
                let fill = |text: &str| fill::text(text, &values).map_err(words);
                let (git, root) = (&self.git, &self.root);
                match check {
                    GitCheck::Clean => facts::is_clean(git, root),
                    GitCheck::CommitsAhead { of, min, max } => {
                        facts::commits_ahead(git, root, &fill(of)?, *min, *max)
                    }
                    GitCheck::ChangesOnly { of, paths } => {
                        let of = fill(of)?;
                        let globs = paths.iter().map(|path| {
                            PathGlob::new(&fill::with(path, &values, paths::escape).map_err(words)?)
                        });
                        let globs = globs.collect::<Result<Vec<_>, String>>()?;
                        facts::changes_only(git, root, &of, |path| {
                            globs.iter().any(|glob| glob.matches_all(path))
                        })
                    }
                    GitCheck::Pushed { remote, branch } => {
                        let branch = branch.as_deref().map(fill).transpose()?;
                        facts::is_pushed(git, root, remote, branch.as_deref())
                    }
                    GitCheck::BranchExists { branch } => facts::branch_exists(git, root, &fill(branch)?),
                }
                .map_err(|e| e.to_string())
            }
            Check::Json { file, pointer, equals } => {
                let file = fill::text(file, &values).map_err(words)?;
                // In a pointer `~` begins an escape; a key holds no `/`.
                let pointer =
                    fill::with(pointer, &values, |value| value.replace('~', "~0")).map_err(words)?;
                self.json(&file, &pointer, equals.as_ref())
            }
        }
    }

    fn json(&self, file: &str, pointer: &str, equals: Option<&Value>) -> Result<(bool, String), String> {
        let text = read(&self.root.join(file)).map_err(|e| format!("{file} cannot be read: {e}"))?;
        let value: Value = serde_json::from_slice(&text).map_err(|e| format!("{file} is not JSON: {e}"))?;
        let Some(found) = value.pointer(pointer) else {
            return Ok((false, format!("{file} has no {pointer}")));
        };
        Ok(match equals {
            None if found.is_null() => (false, format!("{pointer} is null")),
            None => (true, format!("{pointer} is {found}")),
            Some(wanted) if found == wanted => (true, format!("{pointer} is {found}")),
            Some(wanted) => (false, format!("{pointer} is {found}, not {wanted}")),
        })
    }
}

fn words(e: FillError) -> String {
    e.to_string()
}

/// A regular file's bytes. A pipe is not waited for.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    let mut bytes = Vec::new();
    file.take(JSON_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > JSON_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "it is larger than 4 MiB"));
    }
    Ok(bytes)
}

fn describe(check: &Check, key: &StoryKey) -> String {
    let filled = |text: &str| fill::text(text, &[(KEY, key.as_str())]).unwrap_or_else(|_| text.to_owned());
    match check {
        Check::Files { glob, .. } => format!("files {}", filled(glob)),
        Check::Run { argv, .. } => {
            let words: Vec<String> = argv.iter().map(|word| shell_word(&filled(word))).collect();
            format!("run {}", words.join(" "))
        }
        Check::Git(GitCheck::Clean) => "git clean".to_owned(),
        Check::Git(GitCheck::CommitsAhead { of, .. }) => format!("git commits_ahead of {}", filled(of)),
        Check::Git(GitCheck::ChangesOnly { paths, .. }) => {
            format!("git changes_only {}", filled(&paths.join(" ")))
        }
        Check::Git(GitCheck::Pushed { remote, .. }) => format!("git pushed to {remote}"),
        Check::Git(GitCheck::BranchExists { branch }) => format!("git branch_exists {}", filled(branch)),
        Check::Json { file, pointer, .. } => format!("json {} {}", filled(file), filled(pointer)),
    }
}
