//! Secrets in what is about to be published: looked for in every line that a branch's own commits add, and in what their
//! messages say. Whoever reads the answer learns which commit and which file, never the value.
//!
//! A later commit that takes the line out again does not help: whoever has the branch has the earlier one.

use super::run::{GitResult, Repo, WITH_SUBMODULES};
use shopfloor_core::ids::Sha;
use shopfloor_core::redact::{Leak, Redactor};
use shopfloor_core::text::one_line;

/// How much of a change is looked through. Beyond that it is generated, and no person reads it either.
const BYTES_MAX: usize = 64 * 1024 * 1024;

const PATH_CHARS_MAX: usize = 200;

/// What begins a commit in the listing. No line of a message or of a difference begins so.
const COMMIT: &str = "\0";

/// The first secret in the commits that `head` has and `published` lacks; for whoever wrote them. The same commits are
/// looked through once: a branch is asked about when it is pushed, and each time that its agent says it is done.
pub(super) fn find(
    look: &Repo,
    published: &[&Sha],
    head: &Sha,
    secrets: &Redactor,
) -> GitResult<Option<String>> {
    if published.contains(&head) {
        return Ok(None);
    }
    let without: String = published.iter().map(|known| format!(" ^{known}")).collect();
    let asked = format!("leaks {head}{without}");
    let found = look.lasting_finding(&asked, secrets, || {
        Ok(look_through(look, published, head, secrets)?.unwrap_or_default())
    })?;
    Ok(Some(found).filter(|why| !why.is_empty()))
}

fn look_through(
    look: &Repo,
    published: &[&Sha],
    head: &Sha,
    secrets: &Redactor,
) -> GitResult<Option<String>> {
    let listing = |as_text: Option<&str>| {
        let call = look.call("log").set("core.quotePath=false").args(WHAT).args(as_text);
        let without = published.iter().map(|known| format!("^{known}"));
        call.arg(head.as_str()).args(without).arg("--").beginning(BYTES_MAX)
    };
    let mut shown = listing(Some("--text"))?;
    if shown.len() >= BYTES_MAX {
        // Files that are no text are too much: what is text comes before them.
        shown = listing(None)?;
    }
    Ok(first(&shown, secrets))
}

/// Who wrote each commit, its message, and what it adds.
const WHAT: [&str; 10] = [
    "--format=%x00%H%n%an <%ae>%n%cn <%ce>%n%B",
    "--patch",
    "--unified=0",
    "--no-color",
    "--no-ext-diff",
    "--no-textconv",
    "--no-renames",
    "--diff-merges=combined",
    "--reverse",
    WITH_SUBMODULES,
];

fn first(shown: &str, secrets: &Redactor) -> Option<String> {
    let (mut commit, mut file) = ("", None);
    let mut in_hunk = false;
    for line in shown.lines() {
        if let Some(id) = line.strip_prefix(COMMIT) {
            (commit, file, in_hunk) = (id, None, false);
        } else if line.starts_with("diff --") {
            (file, in_hunk) = (Some(""), false);
            if let Some(leak) = secrets.leak(line) {
                return Some(told(commit, Some("the name of a file"), leak));
            }
        } else if line.starts_with("@@") {
            in_hunk = true;
        } else if !in_hunk && file.is_some() && line.starts_with("+++ ") {
            file = line.strip_prefix("+++ ").map(|name| name.strip_prefix("b/").unwrap_or(name));
        } else if (file.is_none() || (in_hunk && line.starts_with('+')))
            && let Some(leak) = leak(line, secrets)
        {
            return Some(told(commit, file, leak));
        }
    }
    None
}

fn leak(line: &str, secrets: &Redactor) -> Option<Leak> {
    if !line.contains('\0') {
        return secrets.leak(line);
    }
    // No text, or text in which each character has a zero beside it. In a program, something that looks like a token is
    // most likely none.
    let plain = [line.to_owned(), line.replace('\0', "")];
    plain.iter().find_map(|line| secrets.leak(line).filter(|leak| matches!(leak, Leak::Configured)))
}

fn told(commit: &str, file: Option<&str>, leak: Leak) -> String {
    let id: String = commit.chars().take(12).collect();
    let place = match file {
        Some(name) => format!("in {}", one_line(name, PATH_CHARS_MAX)),
        None => "in its message or its author's name".to_owned(),
    };
    format!(
        "commit {id} has {} {place}, so nothing of the branch is published. Take it out of that very commit (`git rebase \
         -i`, or `git commit --amend` if it is the newest): a later commit that removes it does not help. Do not repeat \
         the value anywhere. If it is in a branch that was pushed already, tell a person: the secret has to be replaced",
        leak.as_str()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(shown: &str) -> Option<String> {
        first(shown, &Redactor::new(["hunter2-and-more".to_owned()]))
    }

    #[test]
    fn only_what_is_added_counts_and_it_is_named_without_its_value() {
        let shown = "\0aaaaaaaaaaaaaaaaaaaa\nsubject\n\ndiff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-hunter2-and-more\n+fine\n\
                     \0bbbbbbbbbbbbbbbbbbbb\nnext\n\ndiff --git a/deep/y b/deep/y\n--- /dev/null\n+++ b/deep/y\n@@ -0,0 +1 @@\n+pass=hunter2-and-more\n";
        let told = found(shown).expect("it is there");
        assert!(told.starts_with("commit bbbbbbbbbbbb has a secret of this project in deep/y,"), "{told}");
        assert!(!told.contains("hunter2"));
        let said = found("\0cc\nuse hunter2-and-more\n\n").expect("it is there");
        assert!(said.contains("in its message"), "{said}");
        let named = found("\0cc\nfine\n\ndiff --git a/x b/hunter2-and-more\n").expect("it is there");
        assert!(named.contains("in the name of a file") && !named.contains("hunter2"), "{named}");
        let wide: String = "hunter2-and-more".chars().flat_map(|c| [c, '\0']).collect();
        assert!(
            found(&format!("\0dd\nm\n\ndiff --git a/x b/x\n+++ b/x\n@@ -0,0 +1 @@\n+{wide}\n")).is_some()
        );
        assert_eq!(
            found("\0cc\nfine\n\ndiff --git a/x b/x\n+++ b/x\n@@ -1 +0,0 @@\n-hunter2-and-more\n"),
            None
        );
        // In a merge, what neither side has.
        let merged =
            "\0dd\nmerge\n\ndiff --cc x\n--- a/x\n+++ b/x\n@@@ -1,1 -1,1 +1,1 @@@\n++hunter2-and-more\n";
        assert!(found(merged).is_some());
        // A line that looks like a header.
        assert!(
            found("\0dd\nm\n\ndiff --git a/x b/x\n+++ b/x\n@@ -0,0 +1 @@\n+++ hunter2-and-more\n").is_some()
        );
    }
}
