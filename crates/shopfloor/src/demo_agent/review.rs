//! The demo agent as a reviewer: it objects to an added FIXME and approves the rest.

use super::client::Client;
use super::repo::{git, once};
use super::script::Script;
use super::{hold, variable};
use crate::cli::{CliResult, phase};
use shopfloor_core::effect::Verdict;
use shopfloor_core::phase::Phase;
use shopfloor_core::texts::FirstLine;

pub fn run(script: &Script, client: &dyn Client) -> CliResult<()> {
    client.first_prompt()?;
    hold::at(script, "review")?;
    let result_file = variable("SHOPFLOOR_RESULT_FILE")?;
    if script.has("reviewer-dies-once") && once(client, "reviewer-death")? {
        std::process::abort();
    }
    if script.has("bad-review-once") && once(client, "bad-review")? {
        std::fs::write(&result_file, "LGTM!")?;
        return phase::signal(Phase::Done, None);
    }
    judge(script, client)
}

/// What came after its first review: another head, or word that its result is of no use.
pub fn answer(script: &Script, client: &dyn Client, message: &str) -> CliResult<()> {
    match FirstLine::of(message) {
        Some(FirstLine::ReviewAgain | FirstLine::ResultUnusable | FirstLine::ResultMissing) => {
            judge(script, client)
        }
        _ => {
            client.say(&format!("nothing to do for {:?}", message.lines().next().unwrap_or("")));
            Ok(())
        }
    }
}

fn judge(script: &Script, client: &dyn Client) -> CliResult<()> {
    let result_file = variable("SHOPFLOOR_RESULT_FILE")?;
    let primary = variable("SHOPFLOOR_PRIMARY_BRANCH")?;
    let commit = git(client, &["rev-parse", "HEAD"])?;
    let diff = git(client, &["diff", &format!("origin/{primary}...HEAD")])?;
    let rough = diff.lines().filter(|l| l.starts_with('+') && l.contains("FIXME")).count();
    let (verdict, reason) = match rough {
        0 => (Verdict::Approve, "it does what the issue asks".to_owned()),
        n => (Verdict::RequestChanges, format!("{n} added line(s) say FIXME")),
    };
    let files = diff.lines().filter(|l| l.starts_with("diff --git ")).count();
    let result = serde_json::json!({
        "verdict": verdict.as_str(),
        "commit": commit.trim(),
        "verdict_reason": reason,
        "review_markdown": format!("Looked at {files} changed file(s): {reason}."),
        "follow_ups": script.follow_ups.iter().map(|title| serde_json::json!({"title": title})).collect::<Vec<_>>(),
    });
    std::fs::write(&result_file, result.to_string())?;
    client.say(verdict.as_str());
    phase::signal(Phase::Done, None)
}
