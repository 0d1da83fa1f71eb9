//! The demo agent as a reviewer: it objects to an added FIXME and approves the rest.

use super::client::Client;
use super::repo::{git, once};
use super::script::Script;
use super::{hold, variable};
use crate::cli::{CliResult, phase};
use shopfloor_core::phase::Phase;

pub fn run(script: &Script, client: &dyn Client) -> CliResult<()> {
    client.first_prompt()?;
    hold::at(script, "review")?;
    let result_file = variable("SHOPFLOOR_RESULT_FILE")?;
    let primary = variable("SHOPFLOOR_PRIMARY_BRANCH")?;
    if script.has("reviewer-dies-once") && once(client, "reviewer-death")? {
        std::process::abort();
    }
    if script.has("bad-review-once") && once(client, "bad-review")? {
        std::fs::write(&result_file, "LGTM!")?;
        return phase::signal(Phase::Done, None);
    }
    let diff = git(client, &["diff", &format!("origin/{primary}...HEAD")])?;
    let rough = diff.lines().filter(|l| l.starts_with('+') && l.contains("FIXME")).count();
    let (verdict, reason) = match rough {
        0 => ("APPROVE", "it does what the issue asks".to_owned()),
        n => ("REQUEST_CHANGES", format!("{n} added line(s) say FIXME")),
    };
    let files = diff.lines().filter(|l| l.starts_with("diff --git ")).count();
    let result = serde_json::json!({
        "verdict": verdict,
        "verdict_reason": reason,
        "review_markdown": format!("Looked at {files} changed file(s): {reason}."),
    });
    std::fs::write(&result_file, result.to_string())?;
    client.say(verdict);
    phase::signal(Phase::Done, None)
}
