//! The documents: every link leads somewhere, every page is in the book, and the book can be built.
//!
//! Invariants:
//! - The check needs no tool and no network: it reads Markdown itself, as far as we write it. A link to another
//!   site is not followed.

use crate::named;
use crate::sh::{self, Res, say};
use crate::tool::Tool;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::process::Command;

const MDBOOK: Tool = Tool { program: "mdbook", version: "0.5.4", features: &["--no-default-features"] };
/// Beside those in `docs`.
const PAGES: [&str; 4] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "GLOSSARY.md"];

/// `cargo xtask book`: builds it, with an mdBook that is built first where there is none.
pub fn book() -> Res<()> {
    check()?;
    build(&MDBOOK.ensure()?)
}

fn build(mdbook: &Path) -> Res<()> {
    sh::output(Command::new(mdbook).arg("build").arg(sh::root().join("docs")))?;
    say(format!("the book is in {}", sh::root().join("target/book").display()));
    Ok(())
}

/// What is wrong with the documents, all of it.
pub fn check() -> Res<()> {
    let root = sh::root();
    let mut pages = BTreeMap::new();
    for name in PAGES {
        read(&root, Path::new(name), &mut pages)?;
    }
    walk(&root, Path::new("docs"), &mut pages)?;
    let mut wrong = Vec::new();
    for (page, text) in &pages {
        wrong.extend(broken_links(&root, page, text, &pages));
    }
    wrong.extend(unlisted(&pages));
    wrong.extend(named::missing(&root, "ARCHITECTURE.md")?);
    wrong.extend(named::unmapped(&root, "ARCHITECTURE.md", "crates/core/src")?);
    if wrong.is_empty() { Ok(()) } else { Err(format!("the documents are wrong\n  {}", wrong.join("\n  "))) }
}

type Pages = BTreeMap<PathBuf, String>;

fn read(root: &Path, page: &Path, pages: &mut Pages) -> Res<()> {
    let text = std::fs::read_to_string(root.join(page)).map_err(|e| format!("{}: {e}", page.display()))?;
    pages.insert(page.to_owned(), text);
    Ok(())
}

fn walk(root: &Path, folder: &Path, pages: &mut Pages) -> Res<()> {
    let entries = std::fs::read_dir(root.join(folder)).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries.flatten() {
        let path = folder.join(entry.file_name());
        if entry.path().is_dir() {
            walk(root, &path, pages)?;
        } else if path.extension().is_some_and(|e| e == "md") {
            read(root, &path, pages)?;
        }
    }
    Ok(())
}

fn broken_links(root: &Path, page: &Path, text: &str, pages: &Pages) -> Vec<String> {
    let here = page.parent().unwrap_or(Path::new(""));
    let broken = |(line, link): (usize, String)| {
        if link.contains("://") || link.starts_with("mailto:") {
            return None;
        }
        let (file, anchor) = link.split_once('#').map_or((link.as_str(), None), |(f, a)| (f, Some(a)));
        let target = if file.is_empty() { page.to_owned() } else { plain(&here.join(file)) };
        let why = if !root.join(&target).exists() {
            "there is no such file"
        } else if anchor.is_some_and(|a| !pages.get(&target).is_some_and(|text| anchors(text).contains(a))) {
            "there is no such heading"
        } else {
            return None;
        };
        Some(format!("{}:{line}: {link}: {why}", page.display()))
    };
    links(text).into_iter().filter_map(broken).collect()
}

/// Pages of the book that are not in its table of contents, and what is there twice.
fn unlisted(pages: &Pages) -> Vec<String> {
    let contents = Path::new("docs/SUMMARY.md");
    let listed: Vec<PathBuf> = links(pages.get(contents).map_or("", String::as_str))
        .into_iter()
        .map(|(_, link)| plain(&Path::new("docs").join(link)))
        .collect();
    let once: BTreeSet<&PathBuf> = listed.iter().collect();
    let mut wrong: Vec<String> = pages
        .iter()
        .filter(|(page, _)| page.starts_with("docs") && *page != contents && !once.contains(page))
        .map(|(page, text)| {
            let title = text.lines().next().unwrap_or_default().trim_start_matches('#').trim();
            let page = page.strip_prefix("docs").unwrap_or(page);
            format!("docs/SUMMARY.md: add `- [{title}]({})`", page.display())
        })
        .collect();
    if once.len() < listed.len() {
        wrong.push("docs/SUMMARY.md: a page is listed twice".into());
    }
    wrong
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

/// The lines that are not in a block of code, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut open = false;
    text.lines().enumerate().map(|(at, line)| (at + 1, line)).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        open ^= fence;
        !open && !fence
    })
}

/// Where `[…](…)` leads, by line. What is between backticks is no link.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        let visible: String = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
        for rest in visible.split("](").skip(1) {
            if let Some((link, _)) = rest.split_once(')') {
                found.push((number, link.trim().to_owned()));
            }
        }
    }
    found
}

/// The anchors of a page's headings, as forges and mdBook make them: lower case, words joined with `-`.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text).filter_map(|(_, line)| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len() && title.starts_with(' ')).then(|| title.trim())
    });
    let mut found = BTreeSet::new();
    for title in headings {
        let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase();
        let mut name = anchor.clone();
        let mut again = 0;
        while !found.insert(name) {
            again += 1;
            name = format!("{anchor}-{again}");
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_headings_are_found_outside_of_code() {
        let text = "# A `b` c\n[x](y.md#z), [`code`](w.md) `[no](n.md)`\n```sh\n# no\n[no](n.md)\n```\n## A b c\n#no\n";
        let found: Vec<String> =
            links(text).into_iter().map(|(line, link)| format!("{line} {link}")).collect();
        assert_eq!(found, ["2 y.md#z", "2 w.md"]);
        assert_eq!(anchors(text).into_iter().collect::<Vec<_>>(), ["a-b-c", "a-b-c-1"]);
    }

    #[test]
    fn what_leads_nowhere_and_what_is_in_no_list_is_named() {
        let dir = sh::scratch("sf-docs").unwrap();
        let page = |name: &str, text: &str| {
            sh::write(&dir.join(name), text).unwrap();
            (PathBuf::from(name), text.to_owned())
        };
        let pages = Pages::from([
            page("docs/SUMMARY.md", "[A](a.md)\n"),
            page(
                "docs/a.md",
                "# A\n[b](sub/b.md#here) [c](c.md) [d](#no) [e](../docs/./a.md#a) [f](https://x/y)\n",
            ),
            page("docs/sub/b.md", "# B\n## Here\n[a](../a.md)"),
        ]);
        let mut wrong: Vec<String> =
            pages.iter().flat_map(|(page, text)| broken_links(&dir, page, text, &pages)).collect();
        wrong.extend(unlisted(&pages));
        assert_eq!(
            wrong,
            [
                "docs/a.md:2: c.md: there is no such file",
                "docs/a.md:2: #no: there is no such heading",
                "docs/SUMMARY.md: add `- [B](sub/b.md)`"
            ]
        );
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
