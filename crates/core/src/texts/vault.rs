//! What is said of requests to the vault: to people, who decide about them, and to whoever asked.

use super::{FirstLine, span};
use crate::event::Word;
use crate::ids::{QuestionId, RequestNumber, RequestType};
use crate::state::{Decision, Doubt, Request, RequestEnd, RequestEventKind, RequestState};
use crate::text::{fence, one_line};
use crate::vault::Spec;

/// Who asks: as which role, and at work on what, if that is an agent.
pub fn who(request: &Request) -> String {
    match (&request.role, &request.on) {
        (Some(role), Some(on)) => format!("{} ({role}, on {})", request.by, on.mention()),
        _ => request.by.clone(),
    }
}

// ---- notes on what happens -----------------------------------------------------------------------

pub fn asked(request: &Request) -> String {
    let (Request { number, r#type, reason, .. }, by) = (request, who(request));
    format!("vault request {number} for {type}, by {by}: {}", one_line(reason, 200))
}

/// What an agent wants, of which it has had so much.
pub fn wanted(of: &RequestType) -> String {
    format!("{of} of the vault")
}

pub fn refused(number: RequestNumber, why: &str) -> String {
    format!("vault request {number} is rejected: {why}")
}

pub fn too_many(open: usize) -> String {
    format!("{open} requests to the vault are open: no more are taken until one of them is over")
}

pub fn is_fired(request: &Request) -> String {
    let Request { number, r#type, fires, .. } = request;
    let again = if *fires > 1 { format!(", attempt {fires}") } else { String::new() };
    format!("vault request {number} for {type} is being carried out{again}")
}

pub fn fired_unasked(request: &Request) -> String {
    let (Request { number, r#type, reason, .. }, by) = (request, who(request));
    format!(
        "vault request {number} for {type}, by {by}, is carried out without asking, since it can be undone: {}; `shopfloor vault show {number}` shows it",
        one_line(reason, 200)
    )
}

pub fn waits(request: &Request) -> String {
    let (Request { number, r#type, .. }, by) = (request, who(request));
    let Some((question, doubt)) = request.question() else { return ended(request) };
    let what = match doubt {
        Doubt::Approval { changed: false } => "needs a person".to_owned(),
        Doubt::Approval { changed: true } => {
            "was approved, but the declaration of its type has changed since: it needs a person again"
                .to_owned()
        }
        Doubt::CutShort => "was cut short: it may have happened, so look".to_owned(),
        Doubt::NotBegun { why } => format!("could not be begun: {}", one_line(why, 200)),
    };
    let [yes, no] = doubt.options().map(Decision::name);
    format!(
        "vault request {number} for {type}, by {by}, {what} (q{question}): `shopfloor vault show {number}`, then `shopfloor vault {yes}` or `shopfloor vault {no}`"
    )
}

pub fn decided(number: RequestNumber, what: RequestEventKind, word: &Word) -> String {
    let from =
        if word.from.is_empty() { String::new() } else { format!(", from {}", one_line(&word.from, 80)) };
    let why = if word.why.is_empty() { String::new() } else { format!(": {}", one_line(&word.why, 200)) };
    format!("vault request {number} is {} by {}{from}{why}", what.name(), one_line(&word.by, 80))
}

pub fn ended(request: &Request) -> String {
    let Request { number, r#type, .. } = request;
    let (end, reason) = end_of(request);
    let reason = if reason.is_empty() { String::new() } else { format!(": {}", one_line(&reason, 300)) };
    format!("vault request {number} for {type}: {}{reason}", end.name())
}

pub fn nobody_answered_on(number: RequestNumber) -> String {
    format!("vault request {number} has waited for 48 h and is rejected; it can be made again")
}

pub fn not_heard_of(number: RequestNumber) -> String {
    format!(
        "nothing has been heard of vault request {number}, which is being carried out; `shopfloor vault reject {number}` gives up waiting, and stops nothing"
    )
}

pub fn fired_all_the_same(number: RequestNumber) -> String {
    format!(
        "vault request {number}, which nobody waited for any more, was carried out anyway, or at least begun"
    )
}

// ---- reasons -------------------------------------------------------------------------------------

pub fn unknown_type(of: &RequestType) -> String {
    format!("the vault has no type `{of}`: a person declares types in floor.toml, as [vault.types.{of}]")
}

pub fn no_longer_declared() -> &'static str {
    "its type is no longer declared"
}

pub fn nobody_answered() -> &'static str {
    "nobody answered within 48 h"
}

pub fn rejected_by(word: &Word) -> String {
    match word.why.is_empty() {
        true => format!("{} rejected it", one_line(&word.by, 80)),
        false => format!("{} rejected it: {}", one_line(&word.by, 80), one_line(&word.why, 300)),
    }
}

pub fn no_request(number: RequestNumber) -> String {
    format!("there is no vault request {number}")
}

pub fn another_question(number: RequestNumber, asked: QuestionId) -> String {
    format!("the question about vault request {number} is now q{asked}")
}

pub fn is_another_by_now(number: RequestNumber, asked: QuestionId) -> String {
    format!(
        "the declaration of its type has changed since vault request {number} was made: look at it again, and approve q{asked}"
    )
}

pub fn cannot_be(request: &Request, decision: Decision) -> String {
    let number = request.number;
    let state = match &request.state {
        RequestState::Waiting { doubt: Doubt::Approval { .. }, .. } => "waits for a person's approval",
        RequestState::Waiting { doubt: Doubt::CutShort, .. } => "was cut short, and may have happened",
        RequestState::Waiting { doubt: Doubt::NotBegun { .. }, .. } => "could not be begun",
        RequestState::Firing { .. } => "is being carried out",
        RequestState::Ended { end: RequestEnd::Done, .. } => "was carried out",
        RequestState::Ended { end: RequestEnd::Failed, .. } => "was carried out, and failed",
        RequestState::Ended { end: RequestEnd::Rejected, .. } => "is rejected",
    };
    let what = match decision {
        Decision::Approve => "approved",
        Decision::Reject => "rejected",
        Decision::Retry => "retried",
    };
    format!("vault request {number} {state}: it cannot be {what}")
}

pub fn no_answer(number: RequestNumber) -> String {
    format!("an answer about vault request {number} was not one of its options")
}

/// Where nobody said who.
pub fn somebody() -> &'static str {
    "a person"
}

// ---- to people, who decide -----------------------------------------------------------------------

/// A question, with everything that an answer is about.
pub fn question(request: &Request) -> String {
    let (Request { number, r#type, .. }, by) = (request, who(request));
    let begin = match request.question().map(|(_, doubt)| doubt) {
        Some(Doubt::CutShort) => format!(
            "Vault request {number} for {type} was begun and cut short: it may have happened. Look, then say whether to try again."
        ),
        Some(Doubt::NotBegun { why }) => {
            format!("Vault request {number} for {type} could not be begun: {why}. Try again?")
        }
        Some(Doubt::Approval { changed: true }) => format!(
            "{by} asks for {type} (vault request {number}). The declaration of its type has changed since this was approved, so it was not begun. This is what it would be now."
        ),
        _ => format!("{by} asks for {type} (vault request {number})."),
    };
    format!("{begin}\n{}", details(request))
}

/// What is asked for, whole.
pub fn details(request: &Request) -> String {
    let reason = format!("reason given:\n{}", fenced(&request.reason));
    let payload = format!("payload:\n{}", fenced(&request.payload));
    let Some(spec) = &request.spec else { return format!("{reason}\n{payload}") };
    let words: Vec<String> = request.command.iter().map(|word| format!("{word:?}")).collect();
    format!(
        "risk: {}\ncommand: [{}]\nin: {}\nvariables of yours that it gets: {}\ntime: {}\n{reason}\n{payload}",
        risk(spec),
        words.join(", "),
        spec.cwd.as_deref().unwrap_or("the project's checkout"),
        if spec.secrets.is_empty() { "none".to_owned() } else { spec.secrets.join(", ") },
        span(spec.timeout),
    )
}

pub fn risk(spec: &Spec) -> String {
    let undone = if spec.reversible { "can be undone" } else { "cannot be undone" };
    let twice = if spec.idempotent { ", may be done twice" } else { "" };
    let person = if spec.requires_human { ", always needs a person" } else { "" };
    format!("{}, {undone}{twice}{person}", spec.risk)
}

/// Nothing in it can end it.
fn fenced(text: &str) -> String {
    let fence = fence(text);
    format!("{fence}\n{text}\n{fence}")
}

// ---- to whoever asked ----------------------------------------------------------------------------

pub fn to_whoever_asked(request: &Request) -> String {
    let Request { number, r#type, output, .. } = request;
    let (end, reason) = end_of(request);
    let said = match (&end, output.is_empty()) {
        (RequestEnd::Rejected, _) | (_, true) => String::new(),
        (_, false) => format!("\nIt printed:\n{}", fenced(output)),
    };
    let what = match end {
        RequestEnd::Done => "was carried out.".to_owned(),
        RequestEnd::Failed => format!("was carried out and failed: {reason}."),
        RequestEnd::Rejected => format!("was rejected: {reason}. Continue without it."),
    };
    format!("{}\n\nYour vault request {number} for {type} {what}{said}", FirstLine::Vault(end))
}

fn end_of(request: &Request) -> (RequestEnd, String) {
    match &request.state {
        RequestState::Ended { end, reason, .. } => (*end, reason.clone()),
        // Asked too early: nothing is known to have worked.
        _ => (RequestEnd::Failed, String::new()),
    }
}
