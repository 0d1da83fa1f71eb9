//! What a clean merge costs, checks aside: a branch of one commit, put on top of a primary branch that has
//! moved on, and published. In a repository of 5,000 files, without a checkout, on disk when it returns.

use crate::Scale;
use crate::report::Report;
use crate::stats;
use anyhow::{Context, Result, bail};
use shopfloor_adapters::git::{Caps, Git, GitMerger, GitProject, GitWorkspace, Projects, repos};
use shopfloor_adapters::layout::Layout;
use shopfloor_core::effect::ChainEntry;
use shopfloor_core::ids::{EntryId, PrNumber, ProjectName, Sha};
use shopfloor_core::planner::TrialId;
use shopfloor_core::policy::MergeMethod;
use shopfloor_core::redact::Redactor;
use shopfloor_engine::ports::{BuildRequest, Built, Merger, PublishRequest, Workspace};
use shopfloor_engine::proof::QueueLock;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

const FILES: u32 = 5_000;
const FOLDERS: u32 = 50;

pub fn measure(dir: &Path, scale: &Scale, report: &mut Report) -> Result<()> {
    let project = make(dir, scale.merges)?;
    let layout = Layout::new(dir.join("floor"));
    let git = Git::new("git", std::env::vars_os());
    repos::register(&git, &layout, &project, false)?;
    let hub = layout.hub(&project.name);
    run(&project.checkout, &["push", "--quiet", "shopfloor", "refs/heads/change-*"])?;
    let heads = (0..scale.merges)
        .map(|n| Ok(run(&hub, &["rev-parse", &format!("refs/heads/change-{n}")])?.parse()?))
        .collect::<Result<Vec<Sha>>>()?;

    let (name, known) = (project.name.clone(), project.clone());
    let projects: Projects = Arc::new(move |wanted| (*wanted == known.name).then(|| known.clone()));
    let workspace = GitWorkspace::new(git.clone(), layout.clone(), projects.clone());
    let queue = layout.queue_repo(&name);
    let merger = GitMerger::new(git, layout, projects);
    let mut base = merger.primary(&name, None, None)?.context("there is no primary branch")?.head;
    let mut times = Vec::new();
    for (number, head) in (1..).zip(&heads) {
        let begin = Instant::now();
        base = merge(&merger, &name, &base, number, head)?;
        times.push(begin.elapsed());
        workspace.pin_pr(&name, PrNumber(number), head)?;
    }
    // The first is on top of the primary branch as it is: it is only published.
    times.remove(0);
    run(&hub, &["fsck", "--connectivity-only"])?;
    let note = format!("{} branches of 1 commit, {FILES} files, median; durable, no checkout", times.len());
    report.add("clean merge", stats::ms(stats::percentile(&times, 50)), "ms", note);
    let last = &times[times.len() - times.len().min(50)..];
    let note = format!(
        "the last {} of them: nothing is packed yet, and each began {} commits ago",
        last.len(),
        times.len()
    );
    report.add("clean merge, at the end", stats::ms(stats::percentile(last, 50)), "ms", note);
    let before = files(&hub)? + files(&queue)?;
    let begin = Instant::now();
    workspace.keep_up(&crate::fill::when_idle(&name))?;
    let note = format!("{before} files in hub and queue after {} landings before it", heads.len());
    report.add("upkeep", stats::ms(begin.elapsed()), "ms", note);
    let after = files(&hub)? + files(&queue)?;
    report.add("files after upkeep", after as f64, "files", "objects, refs and all, in hub and queue");
    run(&hub, &["fsck", "--connectivity-only"])?;
    std::fs::remove_dir_all(dir)?;
    Ok(())
}

fn merge(merger: &GitMerger, project: &ProjectName, base: &Sha, number: u64, head: &Sha) -> Result<Sha> {
    let entry = ChainEntry {
        entry: EntryId(number),
        pr: Some(PrNumber(number)),
        branch: format!("change-{}", number - 1),
        head: head.clone(),
        method: None,
        message: None,
        title: "a change".into(),
    };
    let lock = QueueLock::acquire(merger, project)?;
    let request = BuildRequest {
        landed: &[],
        target: None,
        project,
        trial: TrialId(number),
        base,
        method: MergeMethod::Rebase,
        list: std::slice::from_ref(&entry),
        removed: &[],
        each_commit: false,
    };
    let Built::Chain { links, .. } = merger.build(&lock, &request)? else {
        bail!("change {number} conflicts")
    };
    let new = links.last().context("a link")?.link.commit.clone();
    let request = PublishRequest {
        target: None,
        old: base,
        new: &new,
        tested: &new,
        entries: &[entry.entry],
        branches: &[],
    };
    merger.publish(&lock, &request)?.map_err(|at| anyhow::anyhow!("the primary branch is at {at:?}"))?;
    Ok(new)
}

/// A checkout with the files, and the branches beside its primary branch.
fn make(dir: &Path, branches: u32) -> Result<GitProject> {
    let checkout = dir.join("checkout");
    std::fs::create_dir_all(&checkout)?;
    run(&checkout, &["init", "--quiet", "--initial-branch=main"])?;
    for file in 0..FILES {
        let folder = checkout.join(format!("folder-{}", file % FOLDERS));
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(format!("file-{file}")), format!("file {file}\n").repeat(20))?;
    }
    run(&checkout, &["add", "-A"])?;
    run(&checkout, &["commit", "--quiet", "-m", "begin"])?;
    for n in 0..branches {
        run(&checkout, &["checkout", "--quiet", "-b", &format!("change-{n}"), "main"])?;
        let (folder, file) = (n % FOLDERS, n % FILES);
        std::fs::write(checkout.join(format!("folder-{folder}/file-{file}")), format!("changed by {n}\n"))?;
        run(&checkout, &["commit", "--quiet", "-a", "-m", &format!("change {n}")])?;
    }
    run(&checkout, &["checkout", "--quiet", "main"])?;
    Ok(GitProject {
        name: "bench".parse()?,
        primary_branch: "main".into(),
        checkout,
        push_rescues: false,
        caps: Caps::default(),
        secrets: Redactor::default(),
        signing: None,
        targets: Vec::new(),
        origin: None,
    })
}

fn files(dir: &Path) -> Result<usize> {
    let mut count = 0;
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        count += if entry.file_type()?.is_dir() { files(&entry.path())? } else { 1 };
    }
    Ok(count)
}

fn run(dir: &Path, args: &[&str]) -> Result<String> {
    let mut git = Command::new("git");
    git.current_dir(dir).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{role}_NAME"), "Bench").env(format!("GIT_{role}_EMAIL"), "bench@localhost");
    }
    let output = git.args(args).output().context("starting git")?;
    if !output.status.success() {
        bail!("git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
