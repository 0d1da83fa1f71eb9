//! `init --with-agents`: what the other agents read of a project, as skeletons for its people to fill in.

use crate::cli::CliResult;
use shopfloor_adapters::host::atomic::write_atomic;
use std::path::Path;

const VISION: &str = "\
# Vision

<!-- The planner reads this once a week, and looks for what is missing on the way there. Write what is true. -->

## What this is for

Whom does it serve, and what can they do with it that they could not do before?

## Where it is going

- What is to be true in three months that is not true today?

## What it will not be

- What do you want nobody to spend time on?
";

const RESOURCES: &str = "\
# Resources

<!-- The planner reads this once a week: what there is to work with, and what must not be used up. -->

## People

- Who decides, and about what?

## Machines and services

- What runs where? What does it cost, and what is its limit?

## Accounts and quotas

- Name them. Never write a key or a password here: everybody who reads the repository reads this file.
";

pub const FILES: [(&str, &str); 2] = [("VISION.md", VISION), ("RESOURCES.md", RESOURCES)];

/// Writes those that are not there. Returns their names.
pub fn write(checkout: &Path) -> CliResult<Vec<&'static str>> {
    let mut written = Vec::new();
    for (name, text) in FILES {
        let file = checkout.join(name);
        // A link that leads nowhere is somebody's, too.
        if std::fs::symlink_metadata(&file).is_err() {
            write_atomic(&file, text.as_bytes(), 0o644)?;
            written.push(name);
        }
    }
    Ok(written)
}
