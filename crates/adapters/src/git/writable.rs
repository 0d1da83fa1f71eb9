//! What an agent's sandbox has to let it write besides its worktree, so that it can commit: no more than
//! that, and computed from what is there.
//!
//! A worktree's `.git` and its git directory's `commondir` say where things are. An agent can write to both, so neither
//! is read: the worktree's name says it.

use crate::layout::Layout;
use shopfloor_core::ids::ProjectName;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The folders that git writes to for the worktree. A worktree that keeps its objects and refs in a shared
/// repository needs that repository's folders too; one with a repository of its own needs only this.
pub fn git_folders(layout: &Layout, project: &ProjectName, worktree: &Path) -> io::Result<Vec<PathBuf>> {
    let refuse = |why: &str| {
        let what = format!("{} {why}", worktree.display());
        Err(io::Error::new(io::ErrorKind::InvalidData, what))
    };
    let home = fs::canonicalize(layout.project(project))?;
    let worktree = fs::canonicalize(worktree)?;
    let Some(name) = worktree.file_name().filter(|_| worktree.starts_with(&home)) else {
        return refuse("is not a worktree of the project");
    };
    let own = layout.own_repository(project, name);
    if is_folder(&own) {
        return Ok(vec![fs::canonicalize(own)?]);
    }
    // As earlier builds made them.
    let shared = layout.clone_repo(project);
    let linked = shared.join("worktrees").join(name);
    if !is_folder(&linked) {
        return refuse("has no git directory");
    }
    let mut folders = vec![fs::canonicalize(linked)?];
    for part in ["objects", "refs", "logs"] {
        let folder = shared.join(part);
        // A sandbox skips what does not exist.
        fs::create_dir_all(&folder)?;
        folders.push(fs::canonicalize(folder)?);
    }
    Ok(folders)
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_worktree_needs_follows_from_its_name_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let layout = Layout::new(folder.path().canonicalize().expect("real").join("floor"));
        let project: ProjectName = "p".parse().expect("a name");
        let tree = layout.project(&project).join("worktrees/issue-1");
        fs::create_dir_all(&tree).expect("a folder");
        let folders = || git_folders(&layout, &project, &tree);
        assert!(folders().is_err(), "there is none");
        let clone = layout.clone_repo(&project);
        let linked = clone.join("worktrees/issue-1");
        fs::create_dir_all(&linked).expect("a folder");
        let all = [linked.clone(), clone.join("objects"), clone.join("refs"), clone.join("logs")];
        assert_eq!(folders().expect("an old one"), all);
        assert!(all.iter().all(|folder| folder.is_dir()), "a sandbox drops what is not there");
        // Whatever its files say, and that of the worktree.
        let own = layout.own_repository(&project, "issue-1".as_ref());
        fs::create_dir_all(&own).expect("a folder");
        for file in [own.join("commondir"), linked.join("commondir"), tree.join(".git")] {
            fs::write(file, "gitdir: ../../hub.git\n").expect("written");
        }
        assert_eq!(folders().expect("its own"), [own]);
        for elsewhere in [folder.path(), &layout.hub(&project), Path::new("/")] {
            fs::create_dir_all(elsewhere).expect("a folder");
            assert!(git_folders(&layout, &project, elsewhere).is_err(), "{}", elsewhere.display());
        }
    }
}
