//! What an agent's sandbox has to let it write besides its worktree, so that it can commit: no more than
//! that, and computed from what is there.
//!
//! A worktree's `.git` is a file that says where its git directory is. An agent can write to that file, so it
//! is believed only if it names a git directory of this very worktree, in its project's folder: never the
//! hub's, the merge queue's or another tree's.

use crate::layout::Layout;
use shopfloor_core::ids::ProjectName;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

const POINTER_BYTES_MAX: u64 = 4096;

/// The folders that git writes to for the worktree. A worktree that keeps its objects and refs in a shared
/// repository needs that repository's folders too; one with a repository of its own needs only this.
pub fn git_folders(layout: &Layout, project: &ProjectName, worktree: &Path) -> io::Result<Vec<PathBuf>> {
    let refuse = |why: &str| {
        let what = format!("{} {why}", worktree.join(".git").display());
        Err(io::Error::new(io::ErrorKind::InvalidData, what))
    };
    let real = fs::canonicalize(worktree)?;
    let home = fs::canonicalize(layout.project(project))?;
    let text = read(&real.join(".git"))?;
    let Some(named) = text.strip_prefix("gitdir:").map(str::trim).filter(|path| !path.is_empty()) else {
        return refuse("does not say where the git directory is");
    };
    let git = fs::canonicalize(real.join(named))?;
    let name = real.file_name().unwrap_or_default();
    let own = git.file_name() == Some(name) || git.file_stem() == Some(name);
    if !git.starts_with(&home) || !own {
        return refuse("names a git directory that is not this worktree's");
    }
    let shared = match read(&git.join("commondir")) {
        Ok(path) => fs::canonicalize(git.join(path.trim()))?,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let others = layout.repositories(project);
            if others.iter().any(|other| fs::canonicalize(other).is_ok_and(|other| git.starts_with(other))) {
                return refuse("names a git directory that is not this worktree's");
            }
            return Ok(vec![git]);
        }
        Err(e) => return Err(e),
    };
    if fs::canonicalize(layout.clone_repo(project)).ok().as_ref() != Some(&shared) {
        return refuse("belongs to a repository that is not the project's clone");
    }
    let mut folders = vec![git];
    for part in ["objects", "refs", "logs"] {
        let folder = shared.join(part);
        // A sandbox skips what does not exist.
        fs::create_dir_all(&folder)?;
        folders.push(folder);
    }
    Ok(folders)
}

fn read(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    fs::File::open(file)?.take(POINTER_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        _folder: tempfile::TempDir,
        layout: Layout,
        project: ProjectName,
        tree: PathBuf,
    }

    fn place() -> Place {
        let folder = tempfile::tempdir().expect("a folder");
        let layout = Layout::new(folder.path().canonicalize().expect("real").join("floor"));
        let project: ProjectName = "p".parse().expect("a name");
        let tree = layout.project(&project).join("worktrees/issue-1");
        fs::create_dir_all(&tree).expect("a folder");
        for repo in layout.repositories(&project) {
            fs::create_dir_all(repo.join("worktrees/issue-1")).expect("a folder");
        }
        Place { _folder: folder, layout, project, tree }
    }

    impl Place {
        fn says(&self, gitdir: &Path) -> io::Result<Vec<PathBuf>> {
            fs::write(self.tree.join(".git"), format!("gitdir: {}\n", gitdir.display())).expect("written");
            git_folders(&self.layout, &self.project, &self.tree)
        }
    }

    #[test]
    fn a_linked_worktree_needs_parts_of_the_clone() {
        let place = place();
        let clone = place.layout.clone_repo(&place.project);
        let git = clone.join("worktrees/issue-1");
        fs::write(git.join("commondir"), "../..\n").expect("written");
        let folders = place.says(&git).expect("its own");
        assert_eq!(folders, [git, clone.join("objects"), clone.join("refs"), clone.join("logs")]);
        assert!(folders.iter().all(|folder| folder.is_dir()), "a sandbox drops what is not there");
    }

    #[test]
    fn a_repository_of_its_own_is_all_that_is_needed() {
        let place = place();
        let git = place.layout.project(&place.project).join("repos/issue-1.git");
        fs::create_dir_all(&git).expect("a folder");
        assert_eq!(place.says(&git).expect("its own"), [git]);
    }

    #[test]
    fn what_is_not_its_own_is_never_writable() {
        let place = place();
        let folder = place.layout.project(&place.project);
        let outside = folder.join("../../../issue-1");
        for made in [&outside, &folder.join("repos/issue-2.git"), &folder.join("issue-1")] {
            fs::create_dir_all(made).expect("a folder");
        }
        let hub = place.layout.hub(&place.project);
        for wrong in [
            &folder,
            &hub,
            &hub.join("worktrees/issue-1"),
            &place.layout.queue_repo(&place.project).join("worktrees/issue-1"),
            &folder.join("repos/issue-2.git"),
            &outside,
            Path::new("/"),
            &folder.join("nowhere/issue-1"),
        ] {
            assert!(place.says(wrong).is_err(), "{}", wrong.display());
        }
        // A linked one whose repository is another's.
        let git = folder.join("issue-1");
        fs::write(git.join("commondir"), "../hub.git\n").expect("written");
        assert!(place.says(&git).is_err());
        fs::write(place.tree.join(".git"), "something else").expect("written");
        assert!(git_folders(&place.layout, &place.project, &place.tree).is_err());
    }
}
