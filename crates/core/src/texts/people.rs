//! What people are asked, and how they can answer: questions of the factory, dialogs of clients, agents that cannot work.

use crate::event::Accepter;
use crate::ids::{IssueNumber, ProjectName, QuestionId, Role};
use crate::runtime::DialogKind;
use crate::state::{About, SessionAsk};
use crate::text::one_line;

// ---- questions of jobs ---------------------------------------------------------------------------

pub fn no_question() -> &'static str {
    "(no question was given)"
}

pub fn agent_cannot_work(why: &str) -> String {
    format!("The agent cannot work: {why}. Fix that; any answer lets it continue.")
}

pub fn taken_out_of_queue(issue: IssueNumber) -> String {
    format!(
        "The change was taken out of the merge queue. `shopfloor merge-queue add {issue}` puts it back, an answer goes to its agent."
    )
}

pub fn still_waits(question: &str) -> String {
    format!("still waits for an answer: {question}")
}

pub fn default_taken(default: &str) -> String {
    format!("nobody answered in time: the default is taken: {default}")
}

// ---- what of a configuration is in force ---------------------------------------------------------

pub fn config_accepted(by: &Accepter) -> String {
    match by {
        Accepter::Person(name) => format!("{} accepted its configuration", one_line(name, 80)),
        Accepter::First => {
            "its configuration is in force as it was found: from now on a change of what executes or grants has to be accepted".to_owned()
        }
        Accepter::Policy => "its configuration was taken over: floor.toml accepts every change".to_owned(),
    }
}

pub fn config_differs(question: QuestionId) -> String {
    format!(
        "its configuration was changed in what executes or grants, and is not in force (q{question}): `shopfloor config diff` shows the change, `shopfloor config accept` puts it in force"
    )
}

/// In a question to people.
pub fn config_differs_so(diff: &str) -> String {
    format!(
        "What executes or grants was changed in the project's configuration. What was accepted stays in force until `shopfloor config accept`.\n{diff}"
    )
}

pub fn not_granted(project: &ProjectName, names: &[String]) -> String {
    let words: Vec<String> = names.iter().map(|name| format!("{:?}", one_line(name, 80))).collect();
    format!(
        "`pass_env` names what floor.toml does not grant: `shopfloor config accept` adds it, as [grants.{project}] pass_env = [{}]",
        words.join(", ")
    )
}

pub fn config_agrees_again() -> &'static str {
    "its configuration is what was accepted again"
}

// ---- questions of sessions -----------------------------------------------------------------------

/// What a session's question says, whole.
pub fn ask(about: &About) -> String {
    match about {
        About::Dialog { view: Some(view), .. } => view.text.clone(),
        About::Dialog { kind, view: None } => format!("a dialog ({kind}); its text is not known yet"),
        About::Chat { text } => text.clone(),
        About::Held { first_line, why, .. } => format!("{first_line:?} cannot be typed: {why}"),
    }
}

/// What kind of thing asks.
pub fn ask_kind(about: &About) -> String {
    match about {
        About::Dialog { kind, .. } => format!("dialog ({kind})"),
        About::Chat { .. } => "question in its chat".to_owned(),
        About::Held { .. } => "held message".to_owned(),
    }
}

pub fn asks_in_chat(role: Role, ask: &SessionAsk, says: &str) -> String {
    format!(
        "the {role} agent asks in its chat: {says} (it is told that nobody reads there; `shopfloor answer q{}` answers)",
        ask.id
    )
}

pub fn waits_in_dialog(role: Role, kind: DialogKind, ask: &SessionAsk, tmux: &str) -> String {
    let says = match &ask.about {
        About::Dialog { view: Some(_), .. } => format!(": {}", ask.summary()),
        _ => String::new(),
    };
    let waits = match kind {
        DialogKind::Asks => format!("asks something{says}"),
        kind => format!("waits in a dialog ({kind}){says}"),
    };
    format!("the {role} agent {waits}: `shopfloor answer q{}`, or `shopfloor attach {tmux}`", ask.id)
}

pub fn cannot_be_told(role: Role, ask: &SessionAsk, tmux: &str) -> String {
    format!("the {role} agent is not told: {} (`shopfloor attach {tmux}`)", ask.text())
}

pub fn answered(question: QuestionId, said: &str) -> String {
    format!("q{question} was answered: {said}")
}

pub fn answer_not_typed(question: QuestionId, why: &str, again: QuestionId) -> String {
    format!("the answer to q{question} was not typed: {why}; it is q{again} now")
}

pub fn dialog_gone() -> &'static str {
    "the dialog was gone before it was typed"
}

// ---- agents that cannot work ---------------------------------------------------------------------

/// `roles` in words.
pub fn outage(roles: &str, why: &str, question: QuestionId) -> String {
    format!(
        "the {roles} agents cannot work: {why} (q{question}; they continue by themselves when that is fixed)"
    )
}

pub fn outage_over(roles: &str) -> String {
    format!("the {roles} agents can work again")
}

pub fn not_set(variables: &str) -> String {
    format!("not set in the environment: {variables}")
}
