//! A model of git: commits with parents and content, refs, worktrees. Content is a set of (file, version);
//! each version is written once, so every piece of work can be told from every other and looked for later.

use shopfloor_core::ids::{EntryId, IssueNumber, Sha, Target};
use shopfloor_core::planner;
use shopfloor_engine::ports::Tree;
use std::collections::{BTreeMap, BTreeSet};

pub type File = u64;
pub type Version = u64;
pub type Content = BTreeMap<File, Version>;
/// The files that a change touches, with their versions before and after it.
pub type Patch = BTreeMap<File, (Option<Version>, Version)>;

pub const PRIMARY: &str = "main";

/// What is known about a version: who wrote it, and what is wrong with it.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// The issue it was written for; `None` for a person's own.
    pub issue: Option<IssueNumber>,
    /// Fails the checks wherever it is.
    pub bug: bool,
    /// Fails the checks together with another version of the same group.
    pub clash: u64,
    /// The attempt of an effect during which it was written.
    pub at_attempt: u64,
}

#[derive(Clone, Debug, Default)]
pub struct Commit {
    pub parents: Vec<u32>,
    pub content: Content,
    /// Made by an agent, and not thrown away by it.
    pub keep: bool,
    /// Made by the queue; and signed with its key.
    pub ours: bool,
    pub signed: bool,
}

#[derive(Clone, Debug)]
pub struct Worktree {
    /// The branch it is on; a review tree is detached.
    pub branch: Option<String>,
    pub detached: u32,
    pub dirty: Content,
}

/// A move of a branch that work lands on.
#[derive(Clone, Debug)]
pub struct Move {
    pub branch: String,
    /// `None`: the branch does not exist.
    pub old: Option<u32>,
    pub new: Option<u32>,
    /// What the queue landed. `None`: a person pushed.
    pub entries: Option<Vec<EntryId>>,
}

#[derive(Clone, Debug)]
pub struct Git {
    pub commits: Vec<Commit>,
    pub versions: Vec<Written>,
    /// Origin's branches, pull request pins, the queue's candidates.
    pub hub: BTreeMap<String, u32>,
    pub pins: BTreeMap<u64, u32>,
    /// The floor's clone: branches and rescue refs.
    pub local: BTreeMap<String, u32>,
    pub rescue: BTreeMap<String, u32>,
    pub trees: BTreeMap<Tree, Worktree>,
    pub moves: Vec<Move>,
    /// Commits that people pushed to a branch that work lands on, bypassing the queue.
    pub pushed: BTreeSet<u32>,
    /// Those of them that moved the branch past the hub's hook, so that no push is on record.
    pub unrecorded: BTreeSet<u32>,
    /// Contents that were asked for by name.
    named: Vec<Content>,
}

/// The file that says to agents what they may do.
pub const PROTECTED: File = 3;

pub fn path_of(file: File) -> String {
    if file == PROTECTED { "AGENTS.md".to_owned() } else { format!("file-{file}") }
}

pub fn sha(commit: u32) -> Sha {
    // People and markers see the first digits, so these have to differ.
    let front = commit.wrapping_mul(0x9e37_79b1) ^ 0x5bd1_e995;
    format!("{front:08x}{commit:032x}").try_into().expect("forty digits")
}

pub fn commit_of(sha: &Sha) -> u32 {
    u32::from_str_radix(&sha.as_str()[32..], 16).expect("made by sha()")
}

impl Default for Git {
    fn default() -> Self {
        let mut git = Git {
            commits: Vec::new(),
            versions: vec![Written::default()],
            hub: BTreeMap::new(),
            pins: BTreeMap::new(),
            local: BTreeMap::new(),
            rescue: BTreeMap::new(),
            trees: BTreeMap::new(),
            moves: Vec::new(),
            pushed: BTreeSet::new(),
            unrecorded: BTreeSet::new(),
            named: Vec::new(),
        };
        let content = (0..4).map(|file| (file, git.write(Written::default()))).collect();
        let root = git.commit(Vec::new(), content, false);
        git.hub.insert(PRIMARY.into(), root);
        git
    }
}

impl Git {
    pub fn write(&mut self, written: Written) -> Version {
        self.versions.push(written);
        (self.versions.len() - 1) as Version
    }

    pub fn commit(&mut self, parents: Vec<u32>, content: Content, keep: bool) -> u32 {
        self.commits.push(Commit { parents, content, keep, ours: false, signed: false });
        (self.commits.len() - 1) as u32
    }

    /// A commit made from others: made again, it is the same one.
    pub fn derive(&mut self, parents: Vec<u32>, content: Content) -> u32 {
        self.derive_signed(parents, content, false)
    }

    pub fn derive_signed(&mut self, parents: Vec<u32>, content: Content, signed: bool) -> u32 {
        let same = |c: &Commit| c.ours && c.signed == signed && c.parents == parents && c.content == content;
        match self.commits.iter().position(same) {
            Some(at) => at as u32,
            None => {
                self.commits.push(Commit { parents, content, keep: false, ours: true, signed });
                (self.commits.len() - 1) as u32
            }
        }
    }

    /// The name of a commit's content.
    pub fn tree(&mut self, commit: u32) -> planner::TreeId {
        let content = self.content(commit).clone();
        let at = self.named.iter().position(|t| *t == content).unwrap_or_else(|| {
            self.named.push(content);
            self.named.len() - 1
        });
        planner::TreeId(format!("{:08x}{at:032x}", 0x7ee).try_into().expect("forty digits"))
    }

    /// A content like this one, but which the checks would pass.
    pub fn mended(&mut self, commit: u32) -> Content {
        let mut content = self.content(commit).clone();
        let mut groups = BTreeSet::new();
        for version in content.values_mut() {
            let written = &self.versions[*version as usize];
            if written.bug || (written.clash > 0 && !groups.insert(written.clash)) {
                *version = self.write(Written::default());
            }
        }
        content
    }

    pub fn content(&self, commit: u32) -> &Content {
        &self.commits[commit as usize].content
    }

    pub fn primary(&self) -> u32 {
        self.hub[PRIMARY]
    }

    /// Where a branch that work lands on is; only the primary one always exists.
    pub fn tip(&self, target: Option<&Target>) -> Option<u32> {
        self.hub.get(branch_of(target)).copied()
    }

    /// What somebody who works for that branch begins on, or compares with.
    pub fn onto(&self, target: Option<&Target>) -> u32 {
        self.tip(target).unwrap_or_else(|| self.primary())
    }

    /// Everything reachable from `roots`, including these.
    pub fn reachable(&self, roots: impl IntoIterator<Item = u32>) -> BTreeSet<u32> {
        let mut seen = BTreeSet::new();
        let mut todo: Vec<u32> = roots.into_iter().collect();
        while let Some(at) = todo.pop() {
            if seen.insert(at) {
                todo.extend(&self.commits[at as usize].parents);
            }
        }
        seen
    }

    pub fn is_ancestor(&self, old: u32, new: u32) -> bool {
        self.reachable([new]).contains(&old)
    }

    /// Commits of `head` that `base` lacks.
    pub fn ahead(&self, base: u32, head: u32) -> u32 {
        let have = self.reachable([base]);
        self.reachable([head]).difference(&have).count() as u32
    }

    /// The newest common ancestor: numbers grow from parent to child.
    pub fn merge_base(&self, a: u32, b: u32) -> u32 {
        let of_a = self.reachable([a]);
        self.reachable([b]).intersection(&of_a).max().copied().unwrap_or(0)
    }

    /// What a head has changed since it left the branch that it is for.
    pub fn patch(&self, onto: u32, head: u32) -> Patch {
        let base = self.content(self.merge_base(onto, head));
        let changed = self.content(head).iter().filter(|(file, version)| base.get(file) != Some(version));
        changed.map(|(file, version)| (*file, (base.get(file).copied(), *version))).collect()
    }

    /// `head`'s changes put on top of `onto`: the content, or the conflicting files.
    pub fn three_way(&self, onto: u32, head: u32) -> Result<Content, Vec<File>> {
        let base = self.merge_base(onto, head);
        merged(self.content(base), self.content(onto), self.content(head))
    }

    /// What keeps commits: every ref anywhere, and every worktree's HEAD.
    pub fn roots(&self) -> Vec<u32> {
        let refs = [&self.hub, &self.local, &self.rescue].into_iter().flat_map(|m| m.values().copied());
        let heads = self.trees.values().map(|t| self.head_of(t));
        refs.chain(self.pins.values().copied()).chain(heads).collect()
    }

    pub fn head_of(&self, tree: &Worktree) -> u32 {
        match &tree.branch {
            Some(branch) => self.local[branch],
            None => tree.detached,
        }
    }

    /// A number greater than that of any rescue ref.
    pub fn next_rescue(&self) -> u64 {
        let number = |name: &String| name.rsplit_once('/').and_then(|(_, n)| n.parse::<u64>().ok());
        self.rescue.keys().filter_map(number).max().unwrap_or(0) + 1
    }

    /// HEAD's content with the uncommitted changes on top.
    pub fn tree_content(&self, tree: &Worktree) -> Content {
        let mut content = self.content(self.head_of(tree)).clone();
        content.extend(tree.dirty.iter().map(|(f, v)| (*f, *v)));
        content
    }

    /// The versions that a commit has and none of its parents has.
    pub fn introduced(&self, commit: u32) -> BTreeSet<Version> {
        let parents = &self.commits[commit as usize].parents;
        let there = |v: &Version| parents.iter().any(|p| self.content(*p).values().any(|known| known == v));
        self.content(commit).values().filter(|v| !there(v)).copied().collect()
    }

    /// Every version that refs (not worktrees) keep.
    pub fn kept_versions(&self) -> BTreeSet<Version> {
        let refs = [&self.hub, &self.local, &self.rescue].into_iter().flat_map(|m| m.values().copied());
        let all = self.reachable(refs.chain(self.pins.values().copied()));
        all.iter().flat_map(|c| self.content(*c).values().copied()).collect()
    }

    /// Whether the checks would fail on the commit.
    pub fn is_red(&self, commit: u32) -> bool {
        let mut groups = BTreeSet::new();
        self.content(commit).values().any(|version| {
            let written = &self.versions[*version as usize];
            written.bug || (written.clash > 0 && !groups.insert(written.clash))
        })
    }

    /// A person's push to a branch that work lands on, forced or not; `None` deletes it.
    pub fn push(&mut self, branch: &str, new: Option<u32>) {
        self.pushed.extend(new);
        self.go(branch, new, None);
    }

    pub fn go(&mut self, branch: &str, new: Option<u32>, entries: Option<Vec<EntryId>>) {
        let old = match new {
            Some(new) => self.hub.insert(branch.to_owned(), new),
            None => self.hub.remove(branch),
        };
        self.moves.push(Move { branch: branch.to_owned(), old, new, entries });
    }
}

/// The name of a branch that work lands on.
pub fn branch_of(target: Option<&Target>) -> &str {
    target.map_or(PRIMARY, Target::branch)
}

/// What `theirs` changed since `base`, applied to `ours`; or the conflicting files.
pub fn merged(base: &Content, ours: &Content, theirs: &Content) -> Result<Content, Vec<File>> {
    let mut merged = ours.clone();
    let mut conflicts = Vec::new();
    let files: BTreeSet<File> = base.keys().chain(theirs.keys()).copied().collect();
    for file in files {
        let (before, there, here) = (base.get(&file), theirs.get(&file), ours.get(&file));
        if there == before || there == here {
            continue;
        }
        match there {
            _ if before != here => conflicts.push(file),
            Some(version) => drop(merged.insert(file, *version)),
            None => drop(merged.remove(&file)),
        }
    }
    if conflicts.is_empty() { Ok(merged) } else { Err(conflicts) }
}
