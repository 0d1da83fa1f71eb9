//! What is known of an agent's session, from what, and how old that is.

use crate::cli::session::sessions;
use crate::cli::{CliError, CliResult, Context, Exit, output};
use shopfloor_core::state::Floor;
use shopfloor_core::text::one_line;
use shopfloor_desk::now;
use shopfloor_desk::view::session::{Explanation, FactView, find, look};
use std::time::Duration;

pub fn run(context: &Context, floor: &Floor, name: &str) -> CliResult<Exit> {
    let session = find(floor, name)?;
    if context.named_project()?.is_some_and(|only| only != session.project) {
        return Err(CliError::no_such(format!("there is no agent {name} of that project")));
    }
    let catalogue = context.runtimes()?;
    let spec = catalogue
        .get(&session.client.runtime)
        .or_else(|| catalogue.get("generic"))
        .ok_or_else(|| CliError::failed(format!("the runtime {:?} is not known", session.client.runtime)))?;
    let now = now();
    let dossier = look(&context.layout, &sessions(context).tmux, session, &spec, now);
    let shown = Explanation::new(floor, session, &dossier, &spec, now);
    if context.json {
        output::json(&shown);
    } else {
        lines(&shown).into_iter().for_each(output::line);
    }
    Ok(Exit::Fine)
}

fn lines(shown: &Explanation) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = |text: String| lines.push(text);
    let state = format!("{:?}", shown.session_state).to_lowercase();
    let runtime = output::or_dash(Some(&shown.runtime).filter(|r| !r.is_empty()));
    line(format!("{} (session {}, {state}; runtime {runtime})", shown.agent, shown.session));
    let age = output::span(shown.age);
    let sure = format!("{:?}", shown.confidence).to_lowercase();
    line(match shown.chain.is_empty() {
        true => format!("  status: {}", shown.status),
        false => format!("  status: {} for {age}, confidence {sure}", shown.status),
    });
    if let Some(dialog) = &shown.dialog {
        dialog.text.lines().for_each(|row| line(format!("    | {row}")));
        for option in &dialog.options {
            let cursor = if option.selected { '>' } else { ' ' };
            line(format!("    | {cursor} {}. {}", option.number, option.label));
        }
    }
    if let Some(question) = &shown.question {
        question.lines().for_each(|row| output::line(format!("    | {row}")));
    }
    if let Some(percent) = shown.context_percent {
        line(format!("  context: {percent}% used"));
    }
    if let Some(cost) = shown.cost_usd {
        line(format!("  cost: ${cost:.2}"));
    }
    if let Some(predecessor) = &shown.predecessor {
        line(format!("  predecessor: {predecessor}"));
    }
    if !shown.chain.is_empty() {
        line("  because:".to_owned());
        shown.chain.iter().for_each(|known| line(fact(known)));
    }
    line("  all that is known:".to_owned());
    shown.facts.iter().for_each(|known| line(fact(known)));
    for message in &shown.messages {
        line(format!("  message {}: {}", message.message, message.first_line));
        for receipt in &message.receipts {
            let (at, stage) = (output::timestamp(receipt.at), format!("{:?}", receipt.to).to_lowercase());
            line(format!("    {at} {stage}: {}", one_line(&receipt.evidence, 200)));
        }
        if let Some(held) = &message.held {
            line(format!("    held: {}", one_line(held, 200)));
        }
    }
    lines
}

fn fact(fact: &FactView) -> String {
    let age = output::span(Duration::from_secs(fact.age_s));
    let says = fact.says.as_ref().map(|says| format!(": {says}")).unwrap_or_default();
    format!("    {}, {age} ago: {}{says}", fact.source, fact.what)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::runtimes::embedded;
    use serde_json::json;
    use shopfloor_adapters::agent::spool::{self, HookReport};
    use shopfloor_adapters::host::process::identify;
    use shopfloor_core::liveness::HookEvent;
    use shopfloor_core::state::{Floor, Session};
    use shopfloor_core::time::Time;
    use shopfloor_desk::dossier::Dossier;

    const STOPPED: Time = Time(1_000_000);
    const CONVERSATION: &str = "c";

    fn session(status: serde_json::Value) -> Session {
        serde_json::from_value(json!({
            "epoch": 1, "job": 1, "role": "dev", "project": "p", "issue": 1, "state": "live", "tmux": "t",
            "created_at": 0, "last_seen": 0, "runtime": "claude", "conversation": CONVERSATION, "status": status,
        }))
        .expect("a session")
    }

    /// What is said of a client whose turn ended at [`STOPPED`], by somebody who looks so much later.
    fn explained(session: &Session, later: Duration) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        let (dir, spec) = (folder.path(), embedded("claude").expect("it is embedded"));
        let prompt = HookEvent::UserPromptSubmit { prompt: "go on".into(), turn: None };
        let stop = HookEvent::Stop { turn: None, tasks: Vec::new(), asks: None };
        for (at, event) in [(Time(STOPPED.0 - 30_000), prompt), (STOPPED, stop)] {
            let (conversation, transcript) = (CONVERSATION.to_owned(), None);
            spool::append(dir, &HookReport { at, conversation, transcript, subagent: false, event })
                .expect("told");
        }
        let now = STOPPED + later;
        let mut dossier = Dossier::load(dir, session.created_at, session.client.conversation.clone());
        dossier.catch_up(dir, &spec, now).expect("read");
        // It lives.
        dossier.see_process(identify(std::process::id()), now);
        lines(&Explanation::new(&Floor::default(), session, &dossier, &spec, now))
    }

    #[test]
    fn ages_are_counted_from_what_was_told_and_not_from_the_look() {
        let said = explained(&session(json!(null)), Duration::from_secs(7 * 60 + 5));
        assert!(said[1].starts_with("  status: idle") && said[1].contains(" for 7m05s, "), "{said:?}");
        assert!(said.iter().any(|line| line.starts_with("    hook, 7m05s ago: ")), "{said:?}");
    }

    #[test]
    fn what_the_daemon_has_seen_for_longer_counts() {
        let later = Duration::from_secs(60);
        let known = json!({
            "state": { "state": "idle" }, "since": STOPPED.0 - 3 * 60_000, "confidence": "high",
            "context_percent": null, "cost_micros": null,
        });
        let said = explained(&session(known), later);
        assert!(said[1].contains(" for 4m00s, "), "{said:?}");
    }
}
