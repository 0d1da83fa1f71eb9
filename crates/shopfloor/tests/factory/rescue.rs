//! Work that nobody committed, when everything dies and the worktree is deleted: every byte comes back.

use crate::floor::{Floor, wait_for};
use shopfloor_core::state::{End, JobState};
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Edits files and asks; its successor finds them as they were and gives up.
const DEV: &str = r#"
if [ -f kept/first ]; then
    cp -a . "$SHOPFLOOR_HOME/found"
    cp "$SHOPFLOOR_PROMPT_FILE" "$SHOPFLOOR_HOME/prompt"
    shopfloor phase failed --detail enough
    exec sleep 600
fi
mkdir kept
echo first >kept/first
printf 'two\000\377' >"kept/odd name"
printf x >"$(printf 'caf\351')"
echo run >kept/run; chmod +x kept/run
ln -s kept/first link; ln -s nowhere dangling
echo staged >staged.txt
git add staged.txt
rm README
shopfloor phase needs_human --detail "which way?"
exec sleep 600
"#;

fn floor() -> Floor {
    Floor::new(&format!(
        "[agents.dev]\nruntime = \"generic\"\ncommand = [\"sh\", \"-c\", '''{DEV}''']\n[review]\nrequired = false\n[limits]\nrespawn_backoff = \"10ms\"\n"
    ))
}

/// Every file below a folder, `.git` aside: whether it is a link or may be run, and its bytes.
fn files(top: &Path) -> BTreeMap<PathBuf, (&'static str, Vec<u8>)> {
    let mut all = BTreeMap::new();
    let mut folders = vec![top.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            if entry.file_name() == ".git" {
                continue;
            }
            let meta = path.symlink_metadata().expect("it is there");
            if meta.is_dir() {
                folders.push(path);
                continue;
            }
            let found = match meta.is_symlink() {
                true => ("link", std::fs::read_link(&path).expect("a link").into_os_string().into_vec()),
                false if meta.mode() & 0o111 != 0 => ("program", std::fs::read(&path).expect("a file")),
                false => ("file", std::fs::read(&path).expect("a file")),
            };
            all.insert(path.strip_prefix(top).expect("below").to_owned(), found);
        }
    }
    all
}

#[test]
fn everything_is_killed_the_worktree_deleted_and_every_byte_comes_back() {
    let floor = floor();
    let issue = floor.issue("Edit", "");
    let (code, text) = floor.until_idle();
    assert_eq!(code, 3, "{text}");
    assert!(matches!(floor.job(issue).state, JobState::NeedsHuman { .. }));
    let worktree = floor.home().join(format!("projects/sample/worktrees/issue-{issue}"));
    let before = files(&worktree);
    assert_eq!(before.len(), 8, "{:?}", before.keys());

    floor.tmux(&["kill-server"]);
    std::fs::remove_dir_all(&worktree).expect("deleted by hand");

    // With no daemon at all.
    let listed = floor.json(&["rescue", "list", "--issue", &issue.to_string()]).1;
    let newest = listed.as_array().and_then(|all| all.last()).expect("a snapshot").clone();
    assert_eq!((&newest["agent"], &newest["files"]), (&"dev-sample-1".into(), &8.into()));
    assert_eq!(newest["also_in"], serde_json::Value::Null);
    let reference = newest["ref"].as_str().expect("a ref");
    assert!(floor.ok(&["rescue", "list"]).contains("only here"));
    assert!(floor.ok(&["rescue", "show", "1", "--patch"]).contains("+first"));
    assert!(floor.ok(&["rescue", "show", "dev-sample-1"]).contains("kept/first"));
    assert_eq!(floor.run(&["rescue", "show", "9"]).status.code(), Some(4));
    let to = floor.path("restored");
    floor.ok(&["rescue", "restore", reference, "--to", to.to_str().expect("utf-8")]);
    assert_eq!(files(&to), before);
    assert_eq!(floor.run(&["rescue", "restore", "1", "--to", to.to_str().unwrap()]).status.code(), Some(1));
    // The job is not over: its worktree is the factory's.
    assert_eq!(floor.run(&["rescue", "restore", "1"]).status.code(), Some(5));

    // The factory puts it back itself, for the successor that gets the answer.
    floor.ok(&["up", "--detach"]);
    floor.ok(&["answer", &issue.to_string(), "that way"]);
    wait_for("the job ends", || floor.job(issue).end() == Some(End::Failed));
    floor.ok(&["down"]);
    assert_eq!(files(&floor.home().join("found")), before);
    let prompt = std::fs::read_to_string(floor.home().join("prompt")).expect("a prompt");
    assert!(prompt.contains("the worktree's folder was gone"), "{prompt}");
    assert!(prompt.contains("\nAnswer: that way\n"), "{prompt}");
    assert!(floor.ok(&["events"]).contains("WORKTREE"), "people are told as well");

    // Now it is over, and the worktree is anybody's.
    std::fs::write(worktree.join("kept/first"), "spoilt").expect("written");
    let (code, restored) = floor.json(&["rescue", "restore", reference]);
    assert_eq!((code, files(&worktree)), (0, before));
    let spoilt = restored["before"].as_str().expect("kept");
    assert!(floor.ok(&["rescue", "show", spoilt, "--patch"]).contains("+spoilt"));
    floor.ok(&["rescue", "restore", reference, "--branch", "saved"]);
    assert_eq!(floor.hub(&["show", "saved:kept/first"]), "first");
}
