//! `docs/cli.md` is the help of every command, as the program prints it. After a change:
//! `UPDATE=1 cargo test -p shopfloor --test cli reference`.

use crate::floor::TestFloor;
use clap::{Command, CommandFactory};
use shopfloor::cli::Cli;
use std::path::PathBuf;

fn reference() -> String {
    let mut out = String::from(
        "# The command line\n\nThe help of every command. This file is made from the program: \
         `UPDATE=1 cargo test -p shopfloor --test cli reference`.\n",
    );
    // The width is fixed, or the terminal of whoever runs this would show.
    let mut root = Cli::command().term_width(100);
    root.build();
    add(&mut out, &mut root, "shopfloor");
    out
}

fn add(out: &mut String, command: &mut Command, path: &str) {
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    out.push_str(&format!("\n## `{path}`\n\n```text\n{}\n```\n", lines.join("\n").trim_end()));
    for sub in command.get_subcommands_mut() {
        if !sub.is_hide_set() {
            let path = format!("{path} {}", sub.get_name());
            add(out, sub, &path);
        }
    }
}

#[test]
fn the_reference_is_up_to_date() {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let expect = reference();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, &expect).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(found == expect, "docs/cli.md is out of date: run this test with UPDATE=1");
}

#[test]
fn the_description_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn completions_and_manual_pages_are_made() {
    let floor = TestFloor::none();
    for shell in ["bash", "zsh", "fish"] {
        floor.run(&["completions", shell]).fine().shows("merge-queue");
    }
    let out = floor.root().join("man");
    floor.run(&["man", "--out", out.to_str().unwrap()]).fine();
    assert!(out.join("shopfloor.1").exists());
    assert!(out.join("shopfloor-issue-add.1").exists());
    assert!(!floor.home().exists());
}
