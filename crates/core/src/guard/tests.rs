use super::*;

const WORKTREE: &str = "/floor/projects/demo/worktrees/issue-7";
const SCRATCH: &str = "/floor/sessions/e3/tmp";

fn ask(command: &str) -> Ask<'_> {
    Ask {
        command,
        cwd: WORKTREE,
        worktree: WORKTREE,
        scratch: Some(SCRATCH),
        branch: "fix/issue-7",
        primary: "main",
    }
}

fn rule(command: &str) -> Option<Rule> {
    check(&ask(command)).map(|refusal| refusal.rule)
}

#[track_caller]
fn refused(rule_expected: Rule, commands: &[&str]) {
    for command in commands {
        assert_eq!(rule(command), Some(rule_expected), "{command}");
    }
}

#[track_caller]
fn fine(commands: &[&str]) {
    for command in commands {
        assert_eq!(rule(command), None, "{command}");
    }
}

#[test]
fn force_pushes() {
    refused(
        Rule::ForcePush,
        &[
            "git push -f",
            "git push --force",
            "git push --forc origin fix/issue-7",
            "git push --force-with-lease",
            "git push --force-with-lease=fix/issue-7:abc origin fix/issue-7",
            "git push -uf origin fix/issue-7",
            "git push origin +fix/issue-7",
            "git push origin +HEAD:fix/issue-7",
            "git push --mirror",
            "git push origin HEAD --force",
        ],
    );
}

#[test]
fn pushes_to_the_primary_branch() {
    refused(
        Rule::PushPrimary,
        &[
            "git push origin main",
            "git push origin HEAD:main",
            "git push origin :main",
            "git push origin HEAD:refs/heads/main",
            "git push origin --delete main",
            "git push -d origin main",
            "git push --all",
            "git push origin --all",
            "git push --branches origin",
            "git push -u origin fix/issue-7 main",
            "git push . HEAD:main",
            "git push origin fix/issue-7:heads/main",
            "git push origin \"HEAD:$SHOPFLOOR_PRIMARY_BRANCH\"",
            "B=main; git push origin HEAD:$B",
            "git push https://example.org/x.git HEAD:main",
            "git push -o ci.skip origin main",
        ],
    );
}

#[test]
fn pushes_of_others() {
    refused(
        Rule::PushOther,
        &[
            "git push origin other",
            "git push origin HEAD:other",
            "git push origin fix/issue-7 other",
            "git push origin 'refs/heads/*:refs/heads/*'",
            "git push origin :",
            "git push --tags",
            "git push origin v1.0",
        ],
    );
    refused(Rule::DeleteBranch, &["git push origin :fix/issue-7", "git push --delete origin other"]);
    fine(&[
        "git push",
        "git push origin",
        "git push -u origin HEAD",
        "git push origin fix/issue-7",
        "git push --set-upstream origin fix/issue-7",
        "git push origin HEAD:fix/issue-7",
        "git push origin HEAD:refs/heads/fix/issue-7",
        "git push origin \"$SHOPFLOOR_BRANCH\"",
        "git push origin \"$(git branch --show-current)\"",
        "git push -u origin $(git rev-parse --abbrev-ref HEAD) 2>&1 | tail -3",
        "git push --follow-tags origin fix/issue-7",
        "git push origin HEAD --no-verify",
    ]);
}

#[test]
fn checkouts_and_moves_of_the_primary_branch() {
    refused(
        Rule::CheckoutPrimary,
        &[
            "git checkout main",
            "git checkout -f main",
            "git checkout -q main && git pull",
            "git switch main",
            "git switch -f main",
            "git checkout --track origin/main",
            "git switch -t origin/main",
            "git symbolic-ref HEAD refs/heads/main",
            "git worktree add ../x main",
        ],
    );
    refused(
        Rule::MovePrimary,
        &[
            "git branch -f main HEAD",
            "git branch --force main",
            "git branch -D main",
            "git branch -d main",
            "git branch --delete main",
            "git branch -m main old",
            "git branch -M main",
            "git branch -C x main",
            "git update-ref refs/heads/main HEAD",
            "git update-ref -d refs/heads/main",
            "git checkout -B main",
            "git checkout -Bmain",
            "git switch -C main",
            "git fetch origin fix/issue-7:main",
            "git fetch origin +main:main",
        ],
    );
    fine(&[
        "git checkout main -- src/lib.rs",
        "git checkout main src/lib.rs",
        "git checkout -b x main",
        "git checkout --detach main",
        "git checkout origin/main",
        "git checkout -- .",
        "git checkout fix/issue-7",
        "git checkout -",
        "git switch -c x main",
        "git switch --detach main",
        "git branch -f fix/issue-7 main",
        "git branch --set-upstream-to=origin/main",
        "git branch -D other",
        "git branch -r -d origin/main",
        "git branch --contains main",
        "git fetch origin main",
        "git fetch https://example.org/x.git main",
        "git show main:README.md",
        "git diff main...HEAD",
        "git log main",
        "git rebase main",
        "git rebase -i origin/main",
        "git worktree add --detach ../x main",
        "git update-ref refs/heads/other HEAD",
        "git reset --hard HEAD~1",
        "git config init.defaultBranch main",
    ]);
}

#[test]
fn merges() {
    refused(
        Rule::Merge,
        &[
            "gh pr merge",
            "gh pr merge 7 --squash --admin",
            "gh -R owner/repo pr merge 7",
            "GH_TOKEN=x gh pr merge --auto",
            "tea pr merge 3",
            "tea prs merge 3",
            "tea pulls merge --style squash 3",
            "glab mr merge 4",
            "glab mr accept 4",
            "gh api -X PUT repos/o/r/pulls/3/merge",
            "gh api --method=PUT /repos/o/r/pulls/3/merge -f merge_method=squash",
            "gh api graphql -f query='mutation { mergePullRequest(input: {}) { id } }'",
            "curl -X POST https://forge/api/v1/repos/o/r/pulls/3/merge -d '{}'",
            "curl -sXPUT https://forge/repos/o/r/pulls/3/merge",
            "curl --json '{}' \"$URL/repos/o/r/pulls/$N/merge\"",
            "curl --request PUT https://forge/api/v4/projects/1/merge_requests/2/merge",
            "http POST forge/api/v1/repos/o/r/pulls/3/merge",
            "git merge other",
            "git merge --no-ff -m 'x' origin/fix/issue-8",
            "git merge 0123abcd",
            "git pull origin other",
        ],
    );
    refused(Rule::MovePrimary, &["gh api -X PATCH repos/o/r/git/refs/heads/main -f sha=abc"]);
    fine(&[
        "git merge main",
        "git merge origin/main",
        "git merge --no-edit origin/main",
        "git merge upstream/main -m 'Take other work in'",
        "git merge FETCH_HEAD",
        "git merge --abort",
        "git merge --continue",
        "git merge origin/fix/issue-7",
        "git merge-base main HEAD",
        "git merge-tree main HEAD",
        "git pull",
        "git pull origin main",
        "git pull --rebase origin other",
        "gh pr view 7",
        "gh pr checks",
        "gh pr create --title 'pr merge' --body 'gh pr merge'",
        "gh api repos/o/r/pulls/3/merge",
        "curl -fsS https://forge/api/v1/repos/o/r/pulls/3/merge",
        "curl -X GET https://forge/repos/o/r/pulls/3/merge",
        "curl -d '{}' https://forge/api/v1/repos/o/r/pulls/3/reviews",
    ]);
}

#[test]
fn deletions() {
    refused(
        Rule::DeleteOutside,
        &[
            "rm -rf /",
            "rm -rf /*",
            "rm -rf ~",
            "rm -rf ~/x",
            "rm -rf $HOME/x",
            "rm -rf \"${HOME}\"",
            "rm -rf $UNSET/x",
            "rm -rf \"$UNSET\"",
            "rm -rf ./$UNSET",
            "rm -rf ..",
            "rm -rf ../issue-8",
            "rm -rf src/../../issue-8",
            "rm -- /etc/passwd",
            "rm -rf /floor/projects/demo/worktrees/issue-77",
            "cd .. && rm -rf issue-8",
            "cd /tmp; rm x",
            "cd; rm x",
            "cd \"$UNSET\" && rm x",
            "cd - && rm x",
            "(cd src) && rm ../x",
            "rmdir ../x",
            "unlink /tmp/x",
            "shred -u /tmp/x",
            "truncate -s 0 /var/log/x",
            "find / -name x -delete",
            "find .. -name x -exec rm {} \\;",
            "find /tmp -type f -exec rm -f {} +",
            "find ~ -delete",
            "find / -name x | xargs rm -f",
            "echo /etc | xargs -n1 rm -rf",
            "ls .. | xargs -I{} rm -rf ../{}",
            "sudo rm -rf /usr",
            "rm -rf {src,../x}",
            "for f in a /b; do rm $f; done",
            "for f in $UNSET; do rm \"$f\"; done",
            "find .. -name x | while read -r f; do rm \"$f\"; done",
            "git clean -fdx ..",
            "git -C .. clean -fdx",
            "git worktree remove ../issue-8",
            "git worktree remove --force /elsewhere",
            "d=/tmp/x; rm -rf \"$d\"",
        ],
    );
    refused(
        Rule::DeleteGit,
        &[
            "rm -rf .git",
            "rm .git/index.lock",
            "rm -rf ./.git/",
            "rm -rf .*",
            "rm -rf .g*",
            "rm -rf .",
            "cd .. && rm -rf issue-7",
            "rm -rf \"$SHOPFLOOR_WORKTREE\"",
            "find . -delete",
            "find . -type f -delete",
            "git worktree remove .",
        ],
    );
    fine(&[
        "rm -rf target",
        "rm -rf *",
        "rm -rf ./*",
        "rm -f src/a.rs src/b.rs",
        "rm -rf .gitignore .github",
        "rm -rf .cache*",
        "rm -rf {dist,build}",
        "rm -rf \"$TMPDIR/x\"",
        "rm -rf ${TMPDIR:?}/x",
        "rm -rf \"$PWD/target\"",
        "rm -rf /floor/sessions/e3/tmp/a",
        "rm -rf /floor/projects/demo/worktrees/issue-7/target",
        "cd src && rm -rf ../target",
        "(cd /tmp && ls); rm x",
        "cd \"$(git rev-parse --show-toplevel)\" && rm -rf target",
        "d=$(mktemp -d); cp x \"$d\"; rm -rf \"$d\"",
        "d=$(mktemp -d); trap 'rm -rf \"$d\"' EXIT",
        "for f in a b; do rm $f; done",
        "for f in *.orig; do rm -f \"$f\"; done",
        "rm -f build/$UNSET",
        "rm $(git ls-files -o '*.tmp')",
        "find . -name '*.pyc' -delete",
        "find . -name '*.pyc' -exec rm {} +",
        "find src -type f -delete",
        "find . -name '*.orig' -print0 | xargs -0 rm -f",
        "git ls-files -o | xargs rm",
        "find . -name x | while read -r f; do rm \"$f\"; done",
        "git clean -fdx",
        "git clean -nfd ..",
        "git rm -r src",
        "git worktree remove \"$TMPDIR/wt\"",
        "docker run --rm x /bin/true",
        "truncate -s 0 log.txt",
        "ls /etc | grep x",
    ]);
}

#[test]
fn it_sees_through() {
    refused(
        Rule::ForcePush,
        &[
            "cd src && git push -f",
            "true; git push -f",
            "true\ngit push -f",
            "false || git push -f",
            "git status & git push -f",
            "echo y | git push -f",
            "(git push -f)",
            "{ git push -f; }",
            "if true; then git push -f; fi",
            "while true; do git push -f; done",
            "for x in 1 2; do git push -f; done",
            "case x in y) true;; *) git push -f;; esac",
            "f() { git push -f; }; f",
            "function f { git push -f; }",
            "echo $(git push -f)",
            "echo \"$(git push -f)\"",
            "echo `git push -f`",
            "echo \"`git push -f`\"",
            "x=$(git push -f)",
            "echo ${x:-$(git push -f)}",
            "diff <(git push -f) x",
            "cat <<END\n$(git push -f)\nEND",
            "bash -c 'git push -f'",
            "bash -lc \"git push -f\"",
            "sh -c 'bash -c \"git push -f\"'",
            "eval 'git push -f'",
            "eval git push -f",
            "bash <<'END'\ngit push -f\nEND",
            "bash <<< 'git push -f'",
            "echo 'git push -f' | sh",
            "cat <<'END' | bash\ngit push -f\nEND",
            "sudo -u x git push -f",
            "env -i A=b git push -f",
            "A=b B=c git push -f",
            "nohup git push -f &",
            "time git push -f",
            "timeout 5 git push -f",
            "command git push -f",
            "echo origin | xargs git push -f",
            "/usr/bin/git push -f",
            "\\git push -f",
            "'git' \"push\" -f",
            "g''it pu\"sh\" -f",
            "git -C /elsewhere push -f",
            "git --git-dir=/x/.git push -f",
            "git -c a.b=c --no-pager push -f",
            "git push \\\n  -f",
            "C='push -f'; git $C",
            "! git push -f",
            "[[ -n x ]] && git push -f",
            "((1 + 2)); git push -f",
            "x=$((1 + 2)); git push -f",
            "git commit -m \"$(cat <<'EOF'\nIt's done (\nEOF\n)\" && git push -f",
            "ls # it's\ngit push -f",
            "find . -name x -exec git push -f \\;",
            "git push -f > /dev/null 2>&1",
            "git push&&git push -f",
        ],
    );
}

#[test]
fn data_is_not_a_command() {
    fine(&[
        "echo \"git push -f\"",
        "echo 'rm -rf /'",
        "echo git push -f",
        "git commit -m 'never git push -f; rm -rf /'",
        "git commit -m \"$(cat <<'EOF'\ngit push -f\n\nrm -rf / && don't\nEOF\n)\"",
        "cat > notes.md <<EOF\ngit push -f\nrm -rf /\nEOF",
        "cat <<-'EOF' > x\n\tgit push -f\n\tEOF\ntrue",
        "cat <<'A' <<'B'\ngit push -f\nA\nrm -rf /\nB",
        "grep -rn 'git push --force' .",
        "true # git push -f",
        "echo \"\\$(git push -f)\"",
        "printf '%s\\n' '`git push -f`'",
        "python3 - <<'EOF'\nimport os; os.system('git push -f')\nEOF",
        "command -v git push -f",
        "[[ $x == *git* && -f y ]]",
        "echo ${x#git push -f}",
        "git log --grep='push -f'",
        "",
        "   ",
        "# nothing",
    ]);
}

#[test]
fn a_repository_of_its_own_is_its_own() {
    fine(&[
        "cd $TMPDIR/repo && git checkout main && git merge feature",
        "git -C \"$TMPDIR/repo\" branch -D main",
        "d=$(mktemp -d) && cd \"$d\" && git init -b main && git checkout -b x && git switch main",
    ]);
    refused(Rule::ForcePush, &["git -C $TMPDIR/clone push -f"]);
}

#[test]
fn a_folder_around_the_worktree_is_no_scratch_folder() {
    for command in ["git checkout main", "rm -rf /floor/other", "rm -rf $TMPDIR/other"] {
        let ask = Ask { scratch: Some("/floor"), ..ask(command) };
        assert!(check(&ask).is_some(), "{command}");
    }
}

#[test]
fn a_refusal_says_what_to_do() {
    let refusal = check(&ask("git push origin main")).unwrap();
    assert!(refusal.why.contains("fix/issue-7") && refusal.why.contains("awaiting_ci"), "{}", refusal.why);
    assert!(refusal.why.ends_with("(shopfloor: push-primary)"), "{}", refusal.why);
    let refusal = check(&ask("rm -rf /tmp/x")).unwrap();
    assert!(refusal.why.contains(WORKTREE) && refusal.why.contains(SCRATCH), "{}", refusal.why);
}

/// Splices pieces of commands and marks at random: whatever comes out, it answers.
#[test]
fn no_text_makes_it_panic() {
    const PIECES: [&str; 51] = [
        "git push ",
        "rm -rf ",
        "\ngit merge x\n",
        "; git checkout main;",
        "git",
        "push",
        "-f",
        "main",
        "rm",
        "-rf",
        "/",
        "..",
        " ",
        " ",
        " ",
        "\n",
        ";",
        "&&",
        "|",
        "(",
        ")",
        "{",
        "}",
        "$(",
        "`",
        "${",
        "$((",
        "))",
        "'",
        "\"",
        "\\",
        "<<EOF\n",
        "EOF\n",
        "<<<",
        "<(",
        ">",
        "&",
        "#",
        "$x",
        "x=",
        "case x in",
        "esac",
        ";;",
        "for x in",
        "do",
        "[[",
        "]]",
        "bash -c '",
        "ä",
        "\0",
        "{a,b}",
    ];
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    let mut refusals = 0;
    for _ in 0..60_000 {
        let length = next(24);
        let command: String = (0..length).map(|_| PIECES[next(PIECES.len())]).collect();
        refusals += u32::from(check(&ask(&command)).is_some());
    }
    assert!(refusals > 100, "only {refusals}: the pieces make no commands");
}

#[test]
fn deep_and_long_texts_end() {
    for piece in [
        "$(",
        "\"${",
        "`",
        "(",
        "{",
        "bash -c '",
        "case x in (",
        "((",
        "\"$(",
        "{a,",
        "<<E ",
        "$x",
        "for x in ",
    ] {
        let _ = check(&ask(&piece.repeat(50_000)));
    }
    let nested = "x=$x$x;".repeat(64);
    let _ = check(&ask(&format!("x=ab;{nested}rm $x")));
}
