//! What a project's rescue refs hold: listed, and compared with the HEAD that the worktree had.

use super::bounds::Left;
use super::commit::Commit;
use super::parts::Part;
use super::refs;
use super::rescue::{RESCUES, SUBJECT, content_of, left_by};
use super::run::{GitError, GitResult, IDENTITY_NAME, Repo, WITH_SUBMODULES, parse_sha};
use super::site::Site;
use super::workspace::GitWorkspace;
use shopfloor_core::ids::HandName;
use shopfloor_core::ids::{Assignment, IssueNumber, ProjectName, Role, Sha, branch_for};
use shopfloor_core::text;
use shopfloor_core::time::Time;
use shopfloor_engine::ports::{PortResult, Tree};
use std::collections::{BTreeMap, BTreeSet};

/// A rescue ref and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rescued {
    pub reference: String,
    /// The agent whose worktree it was.
    pub agent: String,
    /// Grows with each snapshot of that worktree.
    pub number: u64,
    pub commit: Sha,
    pub tree: Sha,
    /// The worktree's HEAD at that time; `None` on a branch without a commit.
    pub head: Option<Sha>,
    pub at: Time,
    /// Files that differ from that HEAD.
    pub files: usize,
    /// The branch that also has all of this, if there is one.
    pub also_in: Option<String>,
    /// What it keeps besides the files and HEAD: stashes, other branches, submodules' commits.
    pub parts: Vec<Part>,
    /// Files that it does not hold because they were too large, and ignored files of that size.
    pub left: Vec<Left>,
}

impl Rescued {
    /// One of its parts, as something rescued in its own right.
    pub fn part(&self, part: &Part, tree: Sha) -> Rescued {
        let (commit, head) = (part.commit.clone(), Some(part.commit.clone()));
        Rescued {
            commit,
            head,
            tree,
            files: 0,
            also_in: None,
            parts: Vec::new(),
            left: Vec::new(),
            ..self.clone()
        }
    }

    /// Which tree it belongs to, if this project made the ref.
    pub fn tree_of(&self, project: &ProjectName) -> Option<Tree> {
        if let Some(name) = HandName::parse(&self.agent) {
            return Some(Tree::of_hand(project, name));
        }
        let ((role, _), (_, number)) = (self.agent.split_once('-')?, self.agent.rsplit_once('-')?);
        let assignment = Assignment::Issue(number.parse().ok()?);
        let tree = Tree::of_job(project, role.parse().ok()?, assignment);
        (tree.agent() == self.agent).then_some(tree)
    }
}

/// How many commits are searched for the same content; beyond that, a snapshot counts as kept nowhere else.
const COMMITS_MAX: &str = "--max-count=20000";

impl GitWorkspace {
    /// Every rescue ref of a project; each agent's oldest first.
    pub fn rescues(&self, project: &ProjectName) -> PortResult<Vec<Rescued>> {
        let site = self.site(project)?;
        let mut all = listed(&site.keeper)?;
        count_files(&site.keeper, &mut all)?;
        self.say_where_else(&site, project, &mut all)?;
        Ok(all)
    }

    /// A part of a rescue ref, by its number in the list, as a snapshot of its own to be restored.
    pub fn rescued_part(
        &self,
        project: &ProjectName,
        rescued: &Rescued,
        number: usize,
    ) -> PortResult<Option<Rescued>> {
        let part = number.checked_sub(1).and_then(|at| rescued.parts.get(at));
        let Some(part) = part else { return Ok(None) };
        let tree = Commit::read(&self.site(project)?.keeper, &part.commit)?.tree;
        Ok(Some(rescued.part(part, tree)))
    }

    /// The snapshot compared with its HEAD: the list of files, or the whole diff. Neutralised, and at most
    /// about `bytes_max` long.
    pub fn rescued_changes(
        &self,
        project: &ProjectName,
        rescued: &Rescued,
        patch: bool,
        bytes_max: usize,
    ) -> PortResult<String> {
        let clone = self.site(project)?.keeper;
        let base = match &rescued.head {
            Some(head) => head.clone(),
            None => clone.call("mktree").stdin("").sha()?,
        };
        let how = if patch { "--patch" } else { "--stat=100" };
        let plain = ["--no-color", "--no-ext-diff", "--no-textconv", WITH_SUBMODULES, how];
        let call = clone.call("diff").args(plain).args([base.as_str(), rescued.tree.as_str(), "--"]);
        let shown = call.beginning(bytes_max.saturating_add(1))?;
        Ok(text::head(text::neutralise(&shown).trim_end(), bytes_max))
    }
}

pub(super) fn listed(clone: &Repo) -> GitResult<Vec<Rescued>> {
    const FIELDS: [&str; 8] = [
        "%(refname)",
        "%(objectname)",
        "%(tree)",
        "%(committerdate:unix)",
        "%(parent)",
        "%(authorname)",
        // Not what it says, which has many lines.
        "%(if)%(contents:body)%(then)more%(end)",
        "%(subject)",
    ];
    let call = clone.call("for-each-ref").arg(format!("--format={}", FIELDS.join("%09"))).arg(RESCUES);
    let command = call.shown();
    let (mut all, mut with_parts) = (Vec::new(), BTreeSet::new());
    for line in call.text()?.lines() {
        let fields: Vec<&str> = line.splitn(FIELDS.len(), '\t').collect();
        let [reference, commit, tree, at, parents, author, body, subject] = fields[..] else {
            return Err(GitError::Answer { command, answer: text::one_line(line, 200) });
        };
        let name = reference.strip_prefix(RESCUES).and_then(|name| name.split_once('/'));
        // Somebody else's ref does not concern us.
        let Some((agent, number)) = name.and_then(|(agent, n)| Some((agent, n.parse().ok()?))) else {
            continue;
        };
        let commit = parse_sha(&command, commit)?;
        let snapshot = author == IDENTITY_NAME && subject.starts_with(SUBJECT.trim_end());
        if snapshot && (!body.is_empty() || parents.contains(' ') || parents.is_empty()) {
            with_parts.insert(commit.clone());
        }
        let head = match (snapshot, parents.split(' ').next()) {
            (true, Some("") | None) => None,
            (true, Some(parent)) => Some(parse_sha(&command, parent)?),
            (false, _) => Some(commit.clone()),
        };
        all.push(Rescued {
            reference: reference.to_owned(),
            agent: agent.to_owned(),
            number,
            tree: parse_sha(&command, tree)?,
            commit,
            head,
            at: Time(at.parse::<u64>().unwrap_or(0).saturating_mul(1000)),
            files: 0,
            also_in: None,
            parts: Vec::new(),
            left: Vec::new(),
        });
    }
    all.sort_by(|a, b| (&a.agent, a.number).cmp(&(&b.agent, b.number)));
    read_parts(clone, &mut all, &with_parts)?;
    Ok(all)
}

/// One process for all of them; none if there are none.
fn read_parts(clone: &Repo, all: &mut [Rescued], of: &BTreeSet<Sha>) -> GitResult<()> {
    let ids: Vec<&Sha> = of.iter().collect();
    if ids.is_empty() {
        return Ok(());
    }
    for (id, commit) in ids.iter().zip(Commit::read_all(clone, &ids)?) {
        let left: Vec<Left> = left_by(&String::from_utf8_lossy(&commit.message)).collect();
        let content = content_of(id, commit);
        for rescued in all.iter_mut().filter(|rescued| rescued.commit == **id) {
            rescued.head = content.head.clone();
            rescued.parts = content.parts.clone();
            rescued.left = left.clone();
        }
    }
    Ok(())
}

/// One process for all of them.
fn count_files(clone: &Repo, all: &mut [Rescued]) -> GitResult<()> {
    let asked: String = all
        .iter()
        .filter(|r| r.head.as_ref() != Some(&r.commit))
        // Against HEAD, whatever else the snapshot keeps.
        .map(|r| format!("{} {}\n", r.commit, r.head.as_ref().map_or("", |head| head.as_str())))
        .collect();
    if asked.is_empty() {
        return Ok(());
    }
    let call =
        clone.call("diff-tree").args(["--stdin", "-r", "--root", "--raw", "--no-renames", WITH_SUBMODULES]);
    let listing = call.stdin(asked).run()?;
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut current = String::new();
    for line in listing.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        if line[0] == b':' {
            *counts.entry(current.clone()).or_default() += 1;
        } else {
            current = String::from_utf8_lossy(line).trim().to_owned();
        }
    }
    for rescued in all {
        rescued.files = counts.get(rescued.commit.as_str()).copied().unwrap_or(0);
    }
    Ok(())
}

impl GitWorkspace {
    /// Looks in the primary branch first, then in the issue's own.
    fn say_where_else(&self, site: &Site, project: &ProjectName, all: &mut [Rescued]) -> GitResult<()> {
        if let Some(primary) = site.on_origin(&site.primary) {
            say_if_in(&site.keeper, &site.project.primary_branch, &primary, all, |_| true)?;
        }
        let issues: BTreeSet<IssueNumber> = all.iter().filter_map(|r| r.tree_of(project)?.number()).collect();
        for issue in issues {
            let branch = branch_for(issue);
            let full = format!("refs/heads/{branch}");
            let own = self.layout.repository(&Tree::of_job(project, Role::DEV, Assignment::Issue(issue)));
            // First where work continues, then where it is published, then where it was left.
            let head = refs::read(&own, &full).or_else(|| site.on_origin(&full));
            let Some(head) = head.or_else(|| refs::read(site.keeper.path(), &full)) else { continue };
            let repo = site.keeper.lending(own.exists().then(|| own.join("objects")).as_deref());
            let of = |r: &Rescued| r.tree_of(project).and_then(|tree| tree.number()) == Some(issue);
            say_if_in(&repo, &branch, &head, all, of)?;
        }
        Ok(())
    }
}

/// Notes the branch for those snapshots whose files and HEAD it has, if they keep nothing else.
fn say_if_in(
    repo: &Repo,
    branch: &str,
    root: &Sha,
    all: &mut [Rescued],
    of: impl Fn(&Rescued) -> bool,
) -> GitResult<()> {
    let asked = |r: &Rescued| r.also_in.is_none() && r.parts.is_empty() && of(r);
    let heads: String =
        all.iter().filter(|r| asked(r)).filter_map(|r| r.head.as_ref()).map(|h| format!("{h}\n")).collect();
    if heads.is_empty() {
        return Ok(());
    }
    let trees = repo.call("rev-list").args(["--no-commit-header", "--format=%T", COMMITS_MAX]);
    let trees = trees.args([root.as_str(), "--"]).text()?;
    let trees: BTreeSet<&str> = trees.lines().collect();
    let lacking = repo.call("rev-list").arg("--stdin").stdin(format!("{heads}^{root}\n")).text()?;
    let lacking: BTreeSet<&str> = lacking.lines().collect();
    for rescued in all.iter_mut().filter(|r| asked(r)) {
        let has_head = rescued.head.as_ref().is_none_or(|head| !lacking.contains(head.as_str()));
        if has_head && trees.contains(rescued.tree.as_str()) {
            rescued.also_in = Some(branch.to_owned());
        }
    }
    Ok(())
}
