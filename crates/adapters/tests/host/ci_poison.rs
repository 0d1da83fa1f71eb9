//! Whatever a check does to its checkout, the next run in it sees exactly its own commit.

use super::ci::{Floor, git};
use shopfloor_core::effect::CiVerdict;
use shopfloor_core::ids::{RunId, Sha};
use shopfloor_engine::ports::{Ci, CiRequest};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

/// What is in a folder but `.git` in its root: types, modes, other names, contents.
const LIST: &str = r#"list() { find . -path ./.git -prune -o \( -type f -printf '%p f %m %n ' -exec sh -c 'cksum < "$1"' - {} \; \
    -o -type l -printf '%p l %l\n' -o -printf '%p %y %m\n' \) | sort; find . -path ./.git -prune -o -newermt tomorrow -print; \
    /usr/bin/python3 -c 'import os
for d, _, files in os.walk("."):
    for p in [d] + [os.path.join(d, f) for f in files]:
        if not os.path.islink(p) and not p.startswith("./.git"):
            print(*(p + " " + a for a in os.listxattr(p) if a.startswith("user.")), sep="", end="")
'; }; "#;

/// Each after the first run's own checks passed.
const POISONS: [(&str, &str); 19] = [
    ("nothing", "true"),
    (
        "a file of the same size and time",
        "touch -r test.sh $OUT/ref; printf '#!/bin/sh\\nexit 9\\n' > test.sh; touch -r $OUT/ref test.sh",
    ),
    (
        "the same, and an index that says so",
        "touch -r test.sh $OUT/ref; printf '#!/bin/sh\\nexit 9\\n' > test.sh; touch -r $OUT/ref test.sh; git update-index --assume-unchanged test.sh; \
         git update-index --refresh; cp -p .git/index ../tree-0.index",
    ),
    ("a program that is none", "chmod -x test.sh; git config core.fileMode false"),
    ("odd modes", "chmod 4755 test.sh; chmod 0666 src/deep/a; chmod 2777 src; chmod 1700 ."),
    ("a link instead of a folder", "mv src $OUT/src-$SHOPFLOOR_HEAD; ln -s $OUT/elsewhere src"),
    ("a link instead of a file", "ln -sf $OUT/elsewhere/deep/a src/deep/a"),
    ("another name of a file", "rm -f $OUT/alias; ln test.sh $OUT/alias"),
    ("another link", "ln -sfn $OUT/elsewhere link"),
    (
        "a nested repository",
        "git init --quiet src/deep; git init --quiet src; git init --quiet new/repo; rm -r src/deep/a",
    ),
    ("ignored files", "echo '*' > .git/info/exclude; echo '*' > src/.gitignore; touch src/x.o y.o"),
    (
        "read-only folders",
        "mkdir -p a/b; touch a/b/c; chmod 0 a/b; chmod 500 a; chmod 500 src/deep; chmod 500 .",
    ),
    (
        "attributes and filters",
        "echo '* filter=x text eol=crlf' > .git/info/attributes; git config filter.x.smudge 'touch $OUT/filtered; cat'; \
        git config filter.x.clean 'touch $OUT/filtered; cat'; echo '* filter=x -text' > .gitattributes",
    ),
    (
        "hooks and configuration",
        "mkdir -p .git/hooks; for h in post-checkout post-index-change reference-transaction; do \
        printf '#!/bin/sh\\ntouch $OUT/hooked\\n' > .git/hooks/$h; chmod +x .git/hooks/$h; done; git config core.worktree $OUT/elsewhere; \
        git config core.fsmonitor 'touch hooked'; echo /nowhere > .git/objects/info/alternates",
    ),
    (
        "what git converts",
        "printf 'auto\\r\\n' > auto.txt; printf 'crlf\\n' > dos.txt; printf '$Id: exit 9 $\\n' > ident.txt",
    ),
    ("no git directory", "rm -rf .git; echo gitdir: $OUT/elsewhere > .git"),
    ("times to come", "touch -d 2100-01-01 test.sh src/deep/a src; touch -h -d 2100-01-01 link"),
    (
        "notes beside files",
        "/usr/bin/python3 -c 'import os\nfor p in [\".\", \"src\", \"test.sh\"]: os.setxattr(p, \"user.note\", b\"1\")' || true",
    ),
    ("pipes and nothing else", "rm -rf src test.sh link; mkfifo test.sh; mkdir link; mkfifo link/p"),
];

fn commit(source: &Path, subject: &str) -> Sha {
    git(source, &["add", "--all"]);
    git(source, &["commit", "--quiet", "-m", subject]);
    git(source, &["rev-parse", "HEAD"]).parse().expect("a commit")
}

/// Two commits, the second in the hub.
fn commits(floor: &Floor) -> (Sha, Sha) {
    let source = floor.folder.path().join("source");
    let write = |path: &str, text: &str| {
        let path = source.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    };
    write("test.sh", "#!/bin/sh\nexit 0\n");
    fs::set_permissions(source.join("test.sh"), fs::Permissions::from_mode(0o755)).expect("set");
    write("src/deep/a", "a\n");
    write("src/b", "b\n");
    write("auto.txt", "auto\n");
    write("dos.txt", "crlf\n");
    write("ident.txt", "$Id$\n");
    write(".gitattributes", "*.txt text=auto\ndos.txt eol=crlf\nident.txt ident\n");
    symlink("src/b", source.join("link")).expect("linked");
    let first = commit(&source, "one");
    write("src/c", "c\n");
    fs::remove_file(source.join("file")).expect("removed");
    let second = commit(&source, "two");
    git(&source, &["push", "--quiet", floor.layout.hub(&floor.project).to_str().expect("text"), "main"]);
    (first, second)
}

#[test]
fn whatever_a_check_leaves_behind_the_next_one_sees_its_own_commit() {
    let floor = Floor::new();
    let (first, second) = commits(&floor);
    let elsewhere = floor.folder.path().join("elsewhere");
    fs::create_dir_all(elsewhere.join("deep")).expect("made");
    fs::write(elsewhere.join("deep/a"), "a\n").expect("written");
    let out = |name: &str| fs::read_to_string(floor.folder.path().join(name)).expect("listed");
    let mut number = 0;
    let mut run = |commit: &Sha, script: &str| {
        number += 1;
        let request = CiRequest { run: RunId(number), commit, ..floor.request() };
        let report = floor.ci(&[("step", script, MINUTE)]).run(&request).expect("a report");
        assert_eq!(report.verdict, CiVerdict::Green, "{script}: {}", report.excerpt);
    };
    // As a checkout is that nobody had before.
    for (commit, name) in [(&first, "first"), (&second, "second")] {
        run(
            commit,
            &format!(
                "{LIST} list > $OUT/{name}; ls .git | grep -v ORIG_HEAD > $OUT/{name}.git; rm -rf ../tree-0"
            ),
        );
    }
    for (what, poison) in POISONS {
        for (commit, name) in [(&first, "first"), (&second, "second")] {
            let see = "list > $OUT/now; ls .git | grep -v ORIG_HEAD > $OUT/now.git; ./test.sh; test -z \"$(git status --porcelain --ignored)\"";
            run(commit, &format!("{LIST} {see}; {poison}"));
            assert_eq!(out("now"), out(name), "before {what:?}, at {name}");
            assert_eq!(out("now.git"), out(&format!("{name}.git")), "before {what:?}, at {name}");
        }
    }
    run(&first, &format!("{LIST} list > $OUT/now"));
    assert_eq!(out("now"), out("first"));
    assert_eq!(
        fs::read_to_string(elsewhere.join("deep/a")).expect("it is there"),
        "a\n",
        "no link is followed"
    );
    for trace in ["filtered", "hooked"] {
        assert!(!floor.folder.path().join(trace).exists(), "{trace}");
    }
    assert!(!floor.layout.test_trees(&floor.project).join("tree-0.index").exists());
}
