//! Running git.
//!
//! Every git process of the factory is started here, with an environment built from scratch: no `GIT_*`
//! variable, editor, pager or prompt of whoever started the daemon reaches it. No shell is involved. Callers
//! pass what came from outside only where git cannot mistake it for an option: as a full ref name, after
//! `--`, or on standard input.
//!
//! Writes are durable when a call returns: objects and refs are synced (`core.fsync`). Hooks of the
//! repository at hand do not run; the hub's own hooks do, because a push starts another git there.

use super::call::{Call, Output};
use super::jailed::{Jails, Reach};
use super::lasting::Lasting;
use super::ours::{Found, Ours, Wanted};
use super::still::Stills;
use super::{foreign, locks, refs, repos, worktree};
use crate::host::command;
use crate::jail::Isolation;
use crate::layout::Layout;
use shopfloor_core::ids::{Sha, is_branch_name};
use shopfloor_core::text;
use shopfloor_engine::ports::{Final, PortError};
use std::ffi::{OsStr, OsString};
use std::hash::Hash;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// The oldest git this is written for and tested with (Debian 12's).
pub const GIT_MINIMUM: (u32, u32) = (2, 39);

/// Who the factory commits as.
pub const IDENTITY_NAME: &str = "Shopfloor";
pub const IDENTITY_EMAIL: &str = "shopfloor@localhost";

/// For every diff: whatever a committed `.gitmodules` says, a submodule at another commit is a change.
pub(crate) const WITH_SUBMODULES: &str = "--ignore-submodules=none";

/// The program at the other end, whatever the configuration says of a remote of that name.
pub(super) const RECEIVE: &str = "--receive-pack=git-receive-pack";
pub(super) const UPLOAD: &str = "--upload-pack=git-upload-pack";

/// What a git process may inherit.
const ENVIRONMENT_KEPT: [&str; 7] = ["PATH", "HOME", "XDG_CONFIG_HOME", "LANG", "TMPDIR", "USER", "LOGNAME"];

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("git could not be started as {program:?}: {source}")]
    Start { program: OsString, source: std::io::Error },
    #[error("`{command}` failed: {stderr}")]
    Failed { command: String, code: Option<i32>, stderr: String },
    #[error("`{command}` did not end within {} s and was stopped", limit.as_secs_f32())]
    TimedOut { command: String, limit: Duration },
    #[error("`{command}` answered what was not expected: {answer}")]
    Answer { command: String, answer: String },
    #[error("{what}: {source}")]
    Io { what: String, source: std::io::Error },
    #[error("{0}")]
    NotSigned(String),
    #[error(
        "the project's branches live in {0}, which a setting does not change: make a project of another name, or take `origin` back"
    )]
    Settled(String),
}

impl GitError {
    pub(crate) fn io(what: impl Into<String>, source: std::io::Error) -> Self {
        GitError::Io { what: what.into(), source }
    }

    /// Why the same call is known never to work. Anything else may pass: locks, a full disk, a server,
    /// another git in the middle of something (which says the oddest things).
    pub fn is_final(&self) -> Option<Final> {
        const KNOWN: [(&str, Final); 5] = [
            ("hook declined", Final::Refused),
            ("non-fast-forward", Final::Rejected),
            ("fetch first", Final::Rejected),
            ("stale info", Final::Rejected),
            ("shallow update not allowed", Final::Refused),
        ];
        KNOWN.iter().find(|(sign, _)| self.says(sign)).map(|(_, cause)| *cause)
    }

    /// Whether git itself said this.
    pub(crate) fn says(&self, words: &str) -> bool {
        matches!(self, GitError::Failed { stderr, .. } if stderr.contains(words))
    }
}

impl From<GitError> for PortError {
    fn from(error: GitError) -> Self {
        match error.is_final() {
            Some(cause) => PortError::permanent(cause, error),
            None => PortError::transient(error),
        }
    }
}

pub type GitResult<T> = Result<T, GitError>;

/// The git program and the environment it runs in.
#[derive(Clone, Debug)]
pub struct Git {
    program: OsString,
    environment: Vec<(OsString, OsString)>,
    lasting: Arc<Lasting>,
    pub(super) stills: Arc<Stills>,
    ours: Arc<Ours>,
    jails: Option<Arc<Jails>>,
}

impl Git {
    /// `environment` is the caller's; only the little that git needs is kept.
    pub fn new(
        program: impl Into<OsString>,
        environment: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        let environment = environment
            .into_iter()
            .filter(|(name, _)| ENVIRONMENT_KEPT.iter().any(|kept| name.as_os_str() == OsStr::new(kept)))
            .collect();
        Git {
            program: program.into(),
            environment,
            lasting: Arc::default(),
            stills: Arc::default(),
            ours: Arc::default(),
            jails: None,
        }
    }

    /// From now on, a git that works in what an agent writes is jailed.
    pub fn in_jails(self, isolation: Arc<Isolation>, layout: Layout) -> Self {
        Git { jails: Jails::new(isolation, layout), ..self }
    }

    /// The program's version, for `doctor`.
    pub fn version(&self) -> GitResult<(u32, u32)> {
        let call = self.call("version");
        let command = call.shown();
        let text = call.text()?;
        let number = text.trim_start_matches("git version ");
        let mut parts = number.split('.').map_while(|part| part.parse().ok());
        match (parts.next(), parts.next()) {
            (Some(major), Some(minor)) => Ok((major, minor)),
            _ => Err(GitError::Answer { command, answer: text }),
        }
    }

    /// A bare repository of the factory's own. The user's global configuration does not apply:
    /// what the queue computes must not depend on it.
    pub fn bare(&self, dir: &Path) -> Repo {
        self.at(Place::Bare(dir.to_owned()))
    }

    fn at(&self, place: Place) -> Repo {
        Repo { git: self.clone(), place, lent: None, instead: Vec::new(), reach: None, odd: None }
    }

    /// A bare repository whose objects are needed only until they are handed on, or can be made again. They
    /// are written without waiting for the disk: whoever hands them on syncs afterwards, and what a
    /// journalling file system shows of them after a power failure is intact.
    pub(crate) fn scratch(&self, dir: &Path) -> Repo {
        self.at(Place::Scratch(dir.to_owned()))
    }

    /// The keeper of what agents' trees held: bare too, but used with the user's configuration (filters,
    /// credential helpers).
    pub(crate) fn shared(&self, dir: &Path) -> Repo {
        self.at(Place::Shared(dir.to_owned()))
    }

    /// A working tree, found from its folder and never from a folder above it.
    pub(crate) fn tree(&self, dir: &Path) -> Repo {
        self.at(Place::Tree(dir.to_owned()))
    }

    /// A folder treated as the working tree of a git directory that does not know it as such.
    pub(crate) fn folder(&self, git_dir: &Path, folder: &Path) -> Repo {
        let reach = self.jails.as_ref().map(|jails| Reach::of(jails, git_dir, folder));
        let place = Place::Folder { git_dir: git_dir.to_owned(), folder: folder.to_owned() };
        Repo { reach, ..self.at(place) }
    }

    /// The same, of a git directory that others write. `common`: where its refs and settings are.
    pub(super) fn others_folder(&self, git_dir: &Path, folder: &Path, common: &Path) -> Repo {
        let reach = self.jails.as_ref().map(|jails| {
            let mut reach = Reach::of(jails, git_dir, folder);
            reach.write(common);
            reach
        });
        let repo = self.others(git_dir, folder, reach);
        // One of its own has no other, whatever its files say.
        let leads_away = Some(git_dir.join("commondir"))
            .filter(|file| git_dir == common && file.symlink_metadata().is_ok());
        Repo { odd: repo.odd.clone().or(leads_away), ..repo }
    }

    /// The same, nested in what others write. It is only looked at.
    pub(super) fn others_nested(&self, git_dir: &Path, folder: &Path, within: &Path) -> Repo {
        let reach = self.jails.as_ref().map(|jails| Reach::of(jails, git_dir, folder).reading(within));
        self.others(git_dir, folder, reach)
    }

    /// A working tree that others work in, with its git directory as the folder itself names it: what a git reaches
    /// there is not the floor's to say, so it is never jailed.
    pub(super) fn others_tree(&self, folder: &Path) -> Repo {
        match worktree::git_dir_of(folder) {
            Some(git_dir) => self.others(&git_dir, folder, None),
            None => self.tree(folder),
        }
    }

    fn others(&self, git_dir: &Path, folder: &Path, reach: Option<Reach>) -> Repo {
        let place = Place::Folder { git_dir: git_dir.to_owned(), folder: folder.to_owned() };
        Repo { place, ..self.others_bare(git_dir, reach) }
    }

    /// A repository that others write, whose folder is gone.
    pub(super) fn others_folderless(&self, git_dir: &Path) -> Repo {
        self.others_bare(git_dir, self.jails.as_ref().map(|jails| Reach::of(jails, git_dir, git_dir)))
    }

    fn others_bare(&self, git_dir: &Path, reach: Option<Reach>) -> Repo {
        let look = Repo { reach, odd: foreign::odd(git_dir), ..self.bare(git_dir) };
        Repo { instead: foreign::harmless(&look), ..look }
    }

    /// What is found and put right in the floor's own repositories is told there.
    pub fn tell_of_tampering(&self, tell: impl Fn(&Found) + Send + Sync + 'static) {
        self.ours.tell(Box::new(tell));
    }

    /// From now on that repository of the floor's is as it was written.
    pub(super) fn keep(&self, dir: &Path, wanted: Vec<Wanted>) {
        self.ours.keep(dir, wanted);
    }

    /// Stands for these bytes where they would be too long to keep.
    pub(super) fn mark(&self, of: &impl Hash) -> u64 {
        self.lasting.mark(of)
    }

    /// Where programs are looked for.
    fn path(&self) -> &OsStr {
        self.environment.iter().find(|(name, _)| name == "PATH").map_or(OsStr::new(""), |(_, path)| path)
    }

    /// A call that needs no repository.
    pub(crate) fn call(&self, subcommand: &str) -> Call {
        let mut command = command::named(&self.program, self.path());
        command.env_clear().envs(self.environment.iter().map(|(k, v)| (k, v)));
        command.envs([
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_ATTR_NOSYSTEM", "1"),
            ("GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh"),
            ("GIT_DEFAULT_REF_FORMAT", "files"),
            // What is missing is missing: nothing is fetched from wherever a repository says.
            ("GIT_NO_LAZY_FETCH", "1"),
            ("GIT_OPTIONAL_LOCKS", "0"),
            ("GIT_EDITOR", "false"),
            ("GIT_PAGER", "cat"),
            ("LC_ALL", "C"),
        ]);
        for setting in [
            "core.hooksPath=/dev/null",
            "core.fsmonitor=false",
            "core.attributesFile=/dev/null",
            "submodule.recurse=false",
            "fetch.recurseSubmodules=false",
            "status.submoduleSummary=false",
            "commit.gpgSign=false",
            "merge.verifySignatures=false",
            "log.showSignature=false",
            "core.fsync=committed,reference",
            "gc.auto=0",
            "maintenance.auto=false",
        ] {
            command.args(["-c", setting]);
        }
        Call::new(self.program.clone(), command, subcommand)
    }
}

#[derive(Clone, Debug)]
enum Place {
    Bare(PathBuf),
    Scratch(PathBuf),
    Shared(PathBuf),
    Tree(PathBuf),
    Folder {
        git_dir: PathBuf,
        folder: PathBuf,
    },
    /// Like a scratch repository, with the attributes of a folder.
    Beside {
        git_dir: PathBuf,
        folder: PathBuf,
    },
}

impl Place {
    /// The git directory, where it is not the folder that says which.
    fn git_dir(&self) -> Option<&Path> {
        match self {
            Place::Bare(dir) | Place::Scratch(dir) | Place::Shared(dir) => Some(dir),
            Place::Folder { git_dir, .. } | Place::Beside { git_dir, .. } => Some(git_dir),
            Place::Tree(_) => None,
        }
    }
}

/// A repository or working tree to run git in.
#[derive(Clone, Debug)]
pub struct Repo {
    git: Git,
    place: Place,
    /// Other object stores to look into besides its own, in the format of git's variable.
    lent: Option<OsString>,
    /// Settings that count instead of those of the repository: see [`super::foreign`].
    instead: Vec<foreign::Instead>,
    /// Of a repository that others write: all that its git can get at.
    reach: Option<Reach>,
    /// What is no file there, and would keep git waiting.
    odd: Option<PathBuf>,
}

impl Repo {
    pub fn path(&self) -> &Path {
        match &self.place {
            Place::Bare(dir) | Place::Scratch(dir) | Place::Shared(dir) | Place::Tree(dir) => dir,
            Place::Folder { folder, .. } => folder,
            Place::Beside { git_dir, .. } => git_dir,
        }
    }

    /// A bare repository whose working tree is a folder with nothing but attributes.
    pub(crate) fn seen_from(&self, folder: &Path) -> Repo {
        let place = Place::Beside { git_dir: self.path().to_owned(), folder: folder.to_owned() };
        Repo { place, ..self.clone() }
    }

    /// The same, but with other object stores to look into, which others write. What is written goes to its own store.
    pub(crate) fn lending<'a>(&self, stores: impl IntoIterator<Item = &'a Path>) -> Repo {
        let (mut all, mut reach) = (Vec::new(), self.reach.clone());
        for store in stores {
            if reach.is_none() {
                let own = self.path();
                reach = self.git.jails.as_ref().map(|jails| Reach::of(jails, own, own));
            }
            if !all.is_empty() {
                all.push(b':');
            }
            all.extend_from_slice(&quoted(store.as_os_str()));
            if let Some(reach) = &mut reach {
                reach.read(store);
            }
        }
        Repo { lent: (!all.is_empty()).then(|| OsString::from_vec(all)), reach, ..self.clone() }
    }

    /// The same, without the user's configuration: what is computed depends on the commits alone, and is of
    /// use only for the moment.
    pub(crate) fn by_no_ones_rules(&self) -> Repo {
        Repo { place: Place::Scratch(self.path().to_owned()), ..self.clone() }
    }

    pub(crate) fn call(&self, subcommand: &str) -> Call {
        let mut call = self.git.call(subcommand);
        if let Some(dir) = self.place.git_dir()
            && let Err(why) = self.git.ours.check(dir)
        {
            call = call.that_fails(why);
        }
        if let Some(odd) = &self.odd {
            call = call.that_fails(GitError::io(
                format!("{} is not as git made it", odd.display()),
                ErrorKind::InvalidData.into(),
            ));
        }
        if let Some(reach) = &self.reach {
            call = call.within_reach(reach.clone());
        }
        if !self.instead.is_empty() {
            call.command().env("GIT_CONFIG_COUNT", self.instead.len().to_string());
        }
        for (at, (key, value)) in self.instead.iter().enumerate() {
            call.command().env(format!("GIT_CONFIG_KEY_{at}"), key.as_ref());
            call.command().env(format!("GIT_CONFIG_VALUE_{at}"), value);
        }
        if let Some(lent) = &self.lent {
            call.command().env("GIT_ALTERNATE_OBJECT_DIRECTORIES", lent);
        }
        match &self.place {
            Place::Bare(dir) => {
                call.command().env("GIT_CONFIG_GLOBAL", "/dev/null");
                call.command().arg("--git-dir").arg(dir);
            }
            Place::Scratch(dir) => {
                call.command().env("GIT_CONFIG_GLOBAL", "/dev/null");
                call.command().args(["-c", "core.fsyncMethod=writeout-only"]).arg("--git-dir").arg(dir);
            }
            Place::Shared(dir) => {
                call.command().arg("--git-dir").arg(dir);
            }
            Place::Tree(dir) => {
                if let Some(above) = dir.parent() {
                    call.command().env("GIT_CEILING_DIRECTORIES", above);
                }
                call.command().arg("-C").arg(dir);
            }
            Place::Beside { git_dir, folder } => {
                call.command().env("GIT_CONFIG_GLOBAL", "/dev/null");
                call.command().args(["-c", "core.fsyncMethod=writeout-only"]).arg("-C").arg(folder);
                call.command().arg("--git-dir").arg(git_dir).arg("--work-tree").arg(folder);
            }
            Place::Folder { git_dir, folder } => {
                call.command().arg("-C").arg(folder);
                call.command().arg("--git-dir").arg(git_dir).arg("--work-tree").arg(folder);
            }
        }
        call
    }

    /// The object a name stands for, if it exists.
    pub(crate) fn resolve(&self, name: &str) -> GitResult<Option<Sha>> {
        let call = self.call("rev-parse").args(["--verify", "--quiet", "--end-of-options", name]);
        let command = call.shown();
        let output = call.ending(&[0, 1])?;
        if output.code == 0 { parse_sha(&command, &output.text()).map(Some) } else { Ok(None) }
    }

    /// The commit a name stands for, if it exists.
    pub(crate) fn commit(&self, name: &str) -> GitResult<Option<Sha>> {
        self.resolve(&format!("{name}^{{commit}}"))
    }

    /// Whether the commit of that name is there. A file for it says so; otherwise git is asked.
    pub(crate) fn has(&self, commit: &Sha) -> GitResult<bool> {
        let loose = || match &self.place {
            Place::Bare(dir) | Place::Scratch(dir) | Place::Shared(dir) => {
                let (folder, file) = commit.as_str().split_at(2);
                let file = dir.join("objects").join(folder).join(file);
                // An empty one is what a power failure left.
                file.metadata().is_ok_and(|meta| meta.is_file() && meta.len() > 0)
            }
            Place::Tree(_) | Place::Folder { .. } | Place::Beside { .. } => false,
        };
        Ok(loose() || self.commit(commit.as_str())?.is_some())
    }

    pub(crate) fn is_ancestor(&self, old: &Sha, new: &Sha) -> GitResult<bool> {
        Ok(self.lasting(self.is_ancestor_call(old, new), &[0, 1])?.code == 0)
    }

    fn is_ancestor_call(&self, old: &Sha, new: &Sha) -> Call {
        self.call("merge-base").args(["--is-ancestor", old.as_str(), new.as_str()])
    }

    /// The best common ancestor of two commits; `None` if they share no history.
    pub(crate) fn merge_base(&self, a: &Sha, b: &Sha) -> GitResult<Option<Sha>> {
        let call = self.merge_base_call(a, b);
        let command = call.shown();
        let found = self.lasting(call, &[0, 1])?;
        if found.code == 0 { parse_sha(&command, &found.text()).map(Some) } else { Ok(None) }
    }

    fn merge_base_call(&self, a: &Sha, b: &Sha) -> Call {
        self.call("merge-base").args([a.as_str(), b.as_str()])
    }

    /// That answer, found out otherwise.
    pub(super) fn know_merge_base(&self, a: &Sha, b: &Sha, base: &Sha) {
        let says = Output { code: 0, stdout: base.as_str().as_bytes().to_vec() };
        self.git.lasting.put(self.question(&self.merge_base_call(a, b).shown()), &says);
    }

    /// The same of [`Repo::is_ancestor`].
    pub(super) fn know_ancestor(&self, old: &Sha, new: &Sha) {
        let yes = Output { code: 0, stdout: Vec::new() };
        self.git.lasting.put(self.question(&self.is_ancestor_call(old, new).shown()), &yes);
    }

    /// Whether that is known without asking.
    pub(super) fn is_known_ancestor(&self, old: &Sha, new: &Sha) -> bool {
        self.git
            .lasting
            .get(&self.question(&self.is_ancestor_call(old, new).shown()))
            .is_some_and(|known| known.code == 0)
    }

    /// The answer to a question that names every object by its content, and so is asked only once: see
    /// [`Lasting`]. Somebody's working tree may be shallow, or have objects replaced; there, git is asked.
    pub(super) fn lasting(&self, call: Call, codes: &[i32]) -> GitResult<Output> {
        match self.place {
            Place::Bare(_) | Place::Scratch(_) | Place::Shared(_) => {
                self.git.lasting.ask(self.question(&call.shown()), call, codes)
            }
            Place::Tree(_) | Place::Folder { .. } | Place::Beside { .. } => call.ending(codes),
        }
    }

    /// The beginning of such an answer, which may be long.
    pub(super) fn lasting_beginning(&self, call: impl Fn() -> Call, bytes_max: usize) -> GitResult<String> {
        let question = self.question(&call().shown());
        if let Some(known) = self.git.lasting.get(&question) {
            return Ok(known.text());
        }
        let text = call().beginning(bytes_max)?;
        self.git.lasting.put(question, &Output { code: 0, stdout: text.clone().into_bytes() });
        Ok(text)
    }

    /// What follows from objects that are named by their content, and from `more`, whatever that holds: a short text,
    /// found out once.
    pub(super) fn lasting_finding(
        &self,
        asked: &str,
        more: &impl Hash,
        find: impl FnOnce() -> GitResult<String>,
    ) -> GitResult<String> {
        let question = self.question(&format!("{asked} {:x}", self.git.mark(more)));
        if let Some(known) = self.git.lasting.get(&question) {
            return Ok(known.text());
        }
        let found = find()?;
        self.git.lasting.put(question, &Output { code: 0, stdout: found.clone().into_bytes() });
        Ok(found)
    }

    /// What a commit is known to say, as bytes.
    pub(super) fn known_commit(&self, id: &Sha) -> Option<Vec<u8>> {
        self.git.lasting.get(&self.question(id.as_str())).map(|known| known.stdout)
    }

    pub(super) fn know_commit(&self, id: &Sha, bytes: &[u8]) {
        let says = Output { code: 0, stdout: bytes.to_vec() };
        self.git.lasting.put(self.question(id.as_str()), &says);
    }

    fn question(&self, asked: &str) -> String {
        format!("{}\0{asked}", self.path().display())
    }

    /// Which of these full ref names exist in this bare repository, and where they point. Its files answer
    /// without a process, unless they are not as git writes them.
    pub(crate) fn refs(&self, names: &[&str]) -> GitResult<Vec<Option<Sha>>> {
        if let Some(all) = refs::find(self.path(), names) {
            return Ok(all);
        }
        let call = self.call("for-each-ref").arg("--format=%(objectname) %(refname)").args(names);
        let command = call.shown();
        let text = call.text()?;
        let mut found = vec![None; names.len()];
        // Git also treats a name as the beginning of a path.
        for (sha, name) in text.lines().filter_map(|line| line.split_once(' ')) {
            for at in (0..names.len()).filter(|at| names[*at] == name) {
                found[at] = Some(parse_sha(&command, sha)?);
            }
        }
        Ok(found)
    }

    /// Which of these full ref names exist at `remote`, and where they point.
    pub(crate) fn remote_refs(&self, remote: &OsStr, names: &[&str]) -> GitResult<Vec<Option<Sha>>> {
        self.call("ls-remote").listing(remote, names)
    }

    /// Whether it is one of the floor's own that looks into the objects of that repository, and so has in sight whatever
    /// is reachable there.
    pub(crate) fn borrows_from(&self, near: &Path) -> bool {
        matches!(self.place, Place::Shared(_)) && self.lent.is_none() && repos::borrows(self.path(), near)
    }

    /// Whether it is a working tree that a person has, and not the factory's.
    pub(crate) fn is_somebodys(&self) -> bool {
        matches!(self.place, Place::Tree(_))
    }

    /// Whether its objects are files that may be handed on.
    pub(crate) fn is_scratch(&self) -> bool {
        matches!(self.place, Place::Scratch(_))
    }

    /// Moves refs, all or none, in the format of `update-ref -z --stdin`; `why` is for their log.
    pub(crate) fn update_refs(&self, why: &str, lines: String) -> GitResult<()> {
        let call = self.call("update-ref");
        let call = if why.is_empty() { call } else { call.args(["-m", why]) };
        let done = call.args(["-z", "--stdin"]).stdin(lines).run();
        if done.is_err() {
            // Clears away what a killed git left locked, for the next attempt.
            locks::sweep_repository(self.path());
        }
        done.map(drop)
    }

    /// Takes a commit and its history from another repository on this machine. The ref that this needs for a
    /// moment is gone afterwards.
    pub(crate) fn take_from(&self, from: &Repo, commit: &Sha) -> GitResult<()> {
        let taken = format!("refs/shopfloor/taken/{commit}");
        let call = from.call("push").args(["--quiet", "--force", RECEIVE, "--"]).arg(self.path());
        call.arg(format!("{commit}:{taken}")).run()?;
        self.call("update-ref").args(["-d", &taken]).run().map(drop)
    }
}

pub(crate) fn parse_sha(command: &str, text: &str) -> GitResult<Sha> {
    text.trim()
        .parse()
        .map_err(|_| GitError::Answer { command: command.to_owned(), answer: text::one_line(text, 200) })
}

/// A value as git quotes it, in its configuration files and in lists of paths.
pub(super) fn quoted(value: &OsStr) -> Vec<u8> {
    let mut out = vec![b'"'];
    for byte in value.as_bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\t' => out.extend_from_slice(b"\\t"),
            byte => out.push(*byte),
        }
    }
    out.push(b'"');
    out
}

/// The full name of a branch, if git would accept it as one (see git-check-ref-format).
pub(crate) fn branch_ref(branch: &str) -> Result<String, PortError> {
    if !is_branch_name(branch) {
        let shown = text::one_line(branch, 80);
        return Err(PortError::permanent(Final::Refused, format!("{shown:?} is not a valid branch name")));
    }
    Ok(format!("refs/heads/{branch}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_names_git_would_refuse_or_misread_are_refused() {
        for bad in
            ["", "-x", "a b", "a..b", "a//b", "/a", "a/", ".a", "a/.b", "a.lock", "a@{1}", "@", "a:b", "a\n"]
        {
            assert!(branch_ref(bad).is_err(), "{bad:?}");
        }
        for good in ["main", "fix/issue-12", "a.b", "ä", "@a"] {
            assert!(branch_ref(good).is_ok(), "{good:?}");
        }
    }

    #[test]
    fn only_what_is_known_to_be_final_is() {
        let failed = |stderr: &str| GitError::Failed {
            command: "git x".into(),
            code: Some(128),
            stderr: stderr.into(),
        };
        for weather in [
            "fatal: Unable to create '/x/index.lock': File exists.",
            "error: No space left on device",
            "fatal: failed to read /x/clone.git/worktrees/issue-1/commondir: Success",
            "fatal: bad object worktrees/review-2/HEAD\nerror: /x/hub.git did not send all necessary objects",
            "fatal: unable to access 'https://example.org/': The requested URL returned error: 503",
            "something that no git has said before",
        ] {
            assert!(matches!(PortError::from(failed(weather)), PortError::Transient(_)), "{weather}");
        }
        for (says, cause) in [
            (" ! [remote rejected] a -> b (pre-receive hook declined)", Final::Refused),
            (" ! [rejected] a -> b (non-fast-forward)", Final::Rejected),
            (" ! [rejected] a -> b (stale info)", Final::Rejected),
        ] {
            assert_eq!(failed(says).is_final(), Some(cause), "{says}");
        }
    }
}
