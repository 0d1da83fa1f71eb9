//! A model of git: commits with parents and content, refs, worktrees. Content is a set of
//! (file, version); a version is written once, so every piece of work can be told from every other
//! and looked for later.

use shopfloor_core::ids::{EntryId, IssueNumber, Sha};
use shopfloor_core::planner;
use shopfloor_engine::ports::Tree;
use std::collections::{BTreeMap, BTreeSet};

pub type File = u64;
pub type Version = u64;
pub type Content = BTreeMap<File, Version>;
/// The files that a change touches, before and after it.
pub type Patch = BTreeMap<File, (Option<Version>, Version)>;

pub const PRIMARY: &str = "main";

/// What is known of a version: who wrote it, and what is wrong with it.
#[derive(Clone, Debug, Default)]
pub struct Written {
    /// The issue it was written for; none for a person's own.
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
    /// Made by an agent, and not thrown away by one.
    pub keep: bool,
}

#[derive(Clone, Debug)]
pub struct Worktree {
    /// The branch it is on; a review tree is detached.
    pub branch: Option<String>,
    pub detached: u32,
    pub dirty: Content,
}

/// A move of the primary branch.
#[derive(Clone, Debug)]
pub struct Move {
    pub old: u32,
    pub new: u32,
    /// What the queue landed. None: a person pushed.
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
    /// Contents that were asked for by name.
    named: Vec<Content>,
}

pub fn sha(commit: u32) -> Sha {
    // People and markers see the first digits, so those differ.
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
        self.commits.push(Commit { parents, content, keep });
        (self.commits.len() - 1) as u32
    }

    /// A commit that is made from others: made again, it is the same.
    pub fn derive(&mut self, parents: Vec<u32>, content: Content) -> u32 {
        let same = |c: &Commit| !c.keep && c.parents == parents && c.content == content;
        match self.commits.iter().position(same) {
            Some(at) => at as u32,
            None => self.commit(parents, content, false),
        }
    }

    /// The name of a commit's content.
    pub fn tree(&mut self, commit: u32) -> planner::Tree {
        let content = self.content(commit).clone();
        let at = self.named.iter().position(|t| *t == content).unwrap_or_else(|| {
            self.named.push(content);
            self.named.len() - 1
        });
        planner::Tree(format!("{:08x}{at:032x}", 0x7ee).try_into().expect("forty digits"))
    }

    /// A content like this one that the checks would pass.
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

    /// Everything reachable from `roots`, them included.
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

    /// What a head changes since it left the primary branch.
    pub fn patch(&self, head: u32) -> Patch {
        let base = self.content(self.merge_base(self.primary(), head));
        let changed = self.content(head).iter().filter(|(file, version)| base.get(file) != Some(version));
        changed.map(|(file, version)| (*file, (base.get(file).copied(), *version))).collect()
    }

    /// `head`'s changes put on top of `onto`: the content, or the files that conflict.
    pub fn three_way(&self, onto: u32, head: u32) -> Result<Content, Vec<File>> {
        let base = self.content(self.merge_base(onto, head));
        let (ours, theirs) = (self.content(onto), self.content(head));
        let mut merged = ours.clone();
        let mut conflicts = Vec::new();
        for (file, version) in theirs {
            if base.get(file) == Some(version) || ours.get(file) == Some(version) {
                continue;
            }
            if base.get(file) == ours.get(file) {
                merged.insert(*file, *version);
            } else {
                conflicts.push(*file);
            }
        }
        if conflicts.is_empty() { Ok(merged) } else { Err(conflicts) }
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

    /// A number that no rescue ref has, greater than any.
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

    /// Every version that refs (not worktrees) keep.
    pub fn kept_versions(&self) -> BTreeSet<Version> {
        let refs = [&self.hub, &self.local, &self.rescue].into_iter().flat_map(|m| m.values().copied());
        let all = self.reachable(refs.chain(self.pins.values().copied()));
        all.iter().flat_map(|c| self.content(*c).values().copied()).collect()
    }

    /// Whether the checks would fail on it.
    pub fn is_red(&self, commit: u32) -> bool {
        let mut groups = BTreeSet::new();
        self.content(commit).values().any(|version| {
            let written = &self.versions[*version as usize];
            written.bug || (written.clash > 0 && !groups.insert(written.clash))
        })
    }

    pub fn move_primary(&mut self, new: u32, entries: Option<Vec<EntryId>>) {
        let old = self.primary();
        self.moves.push(Move { old, new, entries });
        self.hub.insert(PRIMARY.into(), new);
    }
}
