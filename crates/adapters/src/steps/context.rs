//! What a run's agent is shown besides its steps: files of its worktree, and what commands print there.

use super::{Ran, StepEnd, TreeSteps};
use crate::host::theirs;
use shopfloor_core::ids::RunNumber;
use shopfloor_core::recipe::Context;
use shopfloor_core::text::{fence, head, neutralise, one_line};
use shopfloor_engine::ports::{PortResult, Tree};
use std::collections::BTreeSet;
use std::time::Duration;

const COMMAND_WITHIN: Duration = Duration::from_secs(120);
const FILE_BYTES_MAX: usize = 16 * 1024;
/// What is larger is not even opened to be cut.
const READ_BYTES_MAX: u64 = 4 * 1024 * 1024;
const FILES_MAX: usize = 40;
const ALL_BYTES_MAX: usize = 48 * 1024;

/// All of it as one text, each part between fences that it cannot close, as far as there is room.
pub(super) fn gather(
    steps: &TreeSteps,
    (tree, run): (&Tree, RunNumber),
    context: &Context,
) -> PortResult<String> {
    let mut out = String::new();
    for path in files(steps, (tree, run), context)? {
        let text = match theirs::read_to_string_in(&steps.layout.tree(tree), &path, READ_BYTES_MAX) {
            Ok(text) => text,
            Err(e) => format!("It cannot be shown: {e}"),
        };
        part(&mut out, &format!("The file {}", one_line(&path, 200)), &text);
    }
    for (at, argv) in context.commands.iter().enumerate() {
        let folder = steps.folders(tree).join(format!("context-{at}"));
        let Ran { end, output } = steps.run_in((tree, run), &folder, argv, COMMAND_WITHIN)?;
        let how = if end == StepEnd::Passed { "" } else { ", which failed" };
        let said = if output.trim().is_empty() { "(nothing)" } else { &output };
        part(&mut out, &format!("What `{}` prints{how}", one_line(&argv.join(" "), 200)), said);
    }
    Ok(out)
}

/// The files that the patterns name, by the worktree's index and what is beside it.
fn files(
    steps: &TreeSteps,
    (tree, run): (&Tree, RunNumber),
    context: &Context,
) -> PortResult<BTreeSet<String>> {
    if context.files.is_empty() {
        return Ok(BTreeSet::new());
    }
    let mut argv: Vec<String> =
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--"].map(str::to_owned).to_vec();
    argv.extend(context.files.iter().map(|pattern| format!(":(glob,top){pattern}")));
    let folder = steps.folders(tree).join("context-files");
    let Ran { output, .. } = steps.run_in((tree, run), &folder, &argv, COMMAND_WITHIN)?;
    // A name that git quotes is one that nobody wants in a prompt.
    let names = output.lines().filter(|line| !line.is_empty() && !line.starts_with('"'));
    Ok(names.take(FILES_MAX).map(str::to_owned).collect())
}

fn part(out: &mut String, title: &str, text: &str) {
    let room = ALL_BYTES_MAX.saturating_sub(out.len()).min(FILE_BYTES_MAX);
    let text = head(neutralise(text).trim_end(), room);
    if !text.is_empty() {
        let fence = fence(&text);
        out.push_str(&format!("### {title}\n\n{fence}\n{text}\n{fence}\n\n"));
    }
}
