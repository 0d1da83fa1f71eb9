//! What the documents show is real: every configuration loads, and every command and option they name exists.
//! `tests/factory/book.rs` runs the examples.

use clap::{Command, CommandFactory};
use shopfloor::cli::Cli;
use shopfloor::config::formula::Formula;
use shopfloor::config::{FloorConfig, load};
use std::path::{Path, PathBuf};

/// The documents that people read, as name and text. What is made from the program is left out.
fn documents() -> Vec<(String, String)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files: Vec<PathBuf> =
        ["README.md", "GLOSSARY.md", "CONTRIBUTING.md", "ARCHITECTURE.md"].map(|f| root.join(f)).into();
    for folder in ["docs", "docs/adr"] {
        let entries = std::fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        files.extend(
            entries.filter(|path| path.extension().is_some_and(|e| e == "md") && !path.ends_with("cli.md")),
        );
    }
    let read = |path: PathBuf| (path.display().to_string(), std::fs::read_to_string(&path).unwrap());
    files.into_iter().map(read).collect()
}

/// The blocks of code, each with what its first line says of it.
fn blocks(text: &str) -> Vec<(&str, String)> {
    let mut found: Vec<(&str, String)> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        match line.strip_prefix("```") {
            Some(info) if !open => {
                open = true;
                found.push((info, String::new()));
            }
            Some(_) => open = false,
            None if open => found.last_mut().unwrap().1.push_str(&format!("{line}\n")),
            None => {}
        }
    }
    assert!(!open, "a block has no end");
    found
}

/// The command lines of a text: in blocks, after `$ ` or as they are, and between backticks.
fn command_lines(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (info, block) in blocks(text) {
        if info.starts_with("console") || info == "sh" {
            found.extend(block.lines().map(|line| line.strip_prefix("$ ").unwrap_or(line).to_owned()));
        }
    }
    let mut open = false;
    let prose = text.lines().filter(|line| {
        let fence = line.starts_with("```");
        open ^= fence;
        !open && !fence
    });
    let prose = prose.collect::<Vec<_>>().join(" ");
    found.extend(prose.split('`').skip(1).step_by(2).map(str::to_owned));
    found.retain(|line| line.starts_with("shopfloor "));
    found
}

/// The first word or option of a command line that is not the program's.
fn unknown(root: &Command, line: &str) -> Option<String> {
    let mut command = root;
    let mut path = Vec::new();
    for word in line.split_whitespace().skip(1) {
        let stop = |c: char| "`'\";|&()#".contains(c);
        if word == "--" || word.starts_with(stop) {
            break;
        }
        let word = word.trim_end_matches([';', ',', '.', ')', ']', '`']).trim_start_matches('[');
        if let Some(option) = word.strip_prefix("--") {
            let name = option.split('=').next().unwrap_or(option);
            let known =
                command.get_arguments().chain(root.get_arguments().filter(|a| a.is_global_set())).any(|a| {
                    a.get_long() == Some(name) || a.get_all_aliases().is_some_and(|all| all.contains(&name))
                });
            if !known && name != "help" && name != "version" {
                return Some(format!("{} --{name}", path.join(" ")));
            }
        } else if let Some(sub) = command.find_subcommand(word) {
            path.push(word.to_owned());
            command = sub;
        } else if command.has_subcommands() && word.starts_with(|c: char| c.is_ascii_lowercase()) {
            // One of several, as in `ci list|status`, or a word of a command that may go without.
            if !word.split('|').all(|part| command.find_subcommand(part).is_some())
                && command.is_subcommand_required_set()
            {
                return Some(format!("{} {word}", path.join(" ")));
            }
            break;
        }
    }
    None
}

#[test]
fn every_command_that_is_named_exists() {
    let mut root = Cli::command();
    root.build();
    let mut count = 0;
    for (file, text) in documents() {
        for line in command_lines(&text) {
            count += 1;
            let wrong = unknown(&root, &line);
            assert!(
                wrong.is_none(),
                "{file}: `{line}`: there is no `shopfloor {}`",
                wrong.unwrap_or_default()
            );
        }
    }
    assert!(count > 100, "only {count} commands were found");
    assert_eq!(unknown(&root, "shopfloor issue adds"), Some("issue adds".into()));
    assert_eq!(unknown(&root, "shopfloor issue add --lable x"), Some("issue add --lable".into()));
}

/// An example shows a part of a file; the rest is the least that a file needs.
fn whole(example: &str) -> String {
    let mut text = example.to_owned();
    for (table, rest) in [("[project]", "name = \"example\""), ("[ci]", "no_checks = true")] {
        if !example.contains(table) {
            text.push_str(&format!("\n{table}\n{rest}\n"));
        }
    }
    if example.contains("[agents.dev]") && !example.contains("[agents.review]") {
        text.push_str("\n[agents.review]\nruntime = \"demo\"\n");
    }
    text
}

#[test]
fn every_configuration_that_is_shown_loads() {
    let mut count = 0;
    for (file, text) in documents() {
        for (info, example) in blocks(&text) {
            let loaded = match info {
                "toml" => load::project_from(Path::new(&file), &whole(&example), &FloorConfig::default())
                    .map(|_| ()),
                "toml formula" => Formula::parse(Path::new("example.toml"), example.as_bytes()).map(|_| ()),
                "toml floor" => load::floor_from(Path::new(&file), &example).map(|_| ()),
                _ => continue,
            };
            count += 1;
            assert!(loaded.is_ok(), "{}\n{example}", loaded.unwrap_err());
        }
    }
    assert!(count > 5, "only {count} examples were found");
}
