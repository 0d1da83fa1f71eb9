//! `shopfloor session send`: type a text into a session, and say how far it came.
//!
//! A client we can read is typed into as the factory does it ([`Delivery`]): never into a dialog, a draft
//! or a pane that somebody types in, and Enter only on our own text. Its hooks are not ours here, so that
//! the turn has started is not confirmed: the last receipt is `submitted`.

use super::list::is_of;
use crate::cli::{CliError, CliResult, Context, Exit, body, now, output, utc_offset};
use clap::Args;
use serde::Serialize;
use shopfloor_adapters::hand::{Hand, HandError, HandSessions};
use shopfloor_adapters::terminal::tmux::{Probe, Tmux, TmuxError};
use shopfloor_core::delivery::{Delivery, Input, Next, Pane, Recipe, Stage, is_ours};
use shopfloor_core::runtime::screen::{is_typed_into, read, read_title};
use shopfloor_core::runtime::{Meaning, RuntimeSpec, Submit};
use shopfloor_core::text::neutralise;
use shopfloor_core::time::Time;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Type a text into a session and press Enter
///
/// It is pasted as a whole, without control characters. If the session's client shows a dialog or a
/// draft, or somebody is typing there, nothing is typed. The answer says how far the text came:
/// `submitted` means that Enter was pressed on it; that the client took it is not confirmed.
///
/// With --all or --role it goes to several hand sessions, one after the other, and there is a line for each. Jobs'
/// sessions are not among them.
#[derive(Args)]
pub struct SendArgs {
    /// The session; with --all or --role the text stands here
    #[arg(value_name = "NAME", allow_hyphen_values = true)]
    first: String,
    /// The text; `-` is standard input
    #[arg(value_name = "TEXT", allow_hyphen_values = true, required_unless_present_any = ["all", "role"])]
    second: Option<String>,
    /// To every hand session whose program runs; of one project with --project
    #[arg(long, conflicts_with_all = ["role", "second"])]
    all: bool,
    /// To every one of these that was started for this step, such as dev or review
    #[arg(long, value_name = "STEP", conflicts_with = "second")]
    role: Option<String>,
    /// Give up after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    timeout: u64,
}

#[derive(Serialize)]
struct Sent {
    name: String,
    stage: Stage,
    confirmed: bool,
    receipts: Vec<Receipt>,
    /// Of several: why nothing, or nobody knows how much, was typed there.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

#[derive(Serialize)]
struct Receipt {
    stage: Stage,
    at: String,
    evidence: String,
}

/// Between the paste and Enter, for a program that no runtime describes.
const PAUSE: Duration = Duration::from_millis(300);
/// Somebody who did something in the terminal this recently may be typing.
const HUMAN_QUIET: Duration = Duration::from_secs(10);
const LOOK_LINES: u32 = 60;
/// Between two looks at whether the composer let go of a text.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

pub fn run(context: &Context, args: SendArgs) -> CliResult<Exit> {
    let hands = super::sessions(context);
    let timeout = Duration::from_secs(args.timeout);
    let (name, text) = match args.second {
        Some(text) => (Some(args.first), text),
        None => (None, args.first),
    };
    let text = if text == "-" { body::read_file(Path::new("-"))? } else { text };
    let Some(name) = name else { return several(context, &hands, args.role.as_deref(), &text, timeout) };
    let hand = super::find_live(context, &hands, &name)?;
    let sent = send(context, &hands, &hand, &text, timeout)?;
    if context.json {
        output::json(&sent);
    } else {
        sent.receipts.iter().for_each(|receipt| output::line(format!("{} {}", receipt.at, receipt.evidence)));
        output::line("submitted; that it was taken is not confirmed (`session capture` shows the screen)");
    }
    Ok(Exit::Fine)
}

/// To all of them, whatever becomes of each.
fn several(
    context: &Context,
    hands: &HandSessions,
    role: Option<&str>,
    text: &str,
    timeout: Duration,
) -> CliResult<Exit> {
    let project = context.named_project()?;
    let all = hands.all(false)?;
    let step = |hand: &Hand| hand.record.as_ref().map(|record| record.step.as_str()) == role;
    let meant = all.iter().filter(|hand| matches!(hand.probe, Ok(Probe::Alive(_))));
    let meant = meant.filter(|hand| is_of(hand, project.as_ref()) && (role.is_none() || step(hand)));
    let mut sent: Vec<Sent> = Vec::new();
    for hand in meant {
        sent.push(send(context, hands, hand, text, timeout).unwrap_or_else(|e| Sent {
            name: hand.name.to_string(),
            stage: Stage::Queued,
            confirmed: false,
            receipts: Vec::new(),
            error: Some(e.message),
        }));
    }
    if sent.is_empty() {
        let of = role.map(|role| format!(" for the step {role:?}")).unwrap_or_default();
        return Err(CliError::no_such(format!("no hand session{of} runs")).hint(
            "jobs' agents are told through their issue: `shopfloor issue comment`, `shopfloor answer`",
        ));
    }
    if context.json {
        output::json(&sent);
    } else {
        for one in &sent {
            let how = one.error.clone().unwrap_or_else(|| "submitted".to_owned());
            output::line(format!("{}: {how}", one.name));
        }
    }
    Ok(if sent.iter().any(|one| one.error.is_some()) { Exit::Failed } else { Exit::Fine })
}

fn send(
    context: &Context,
    hands: &HandSessions,
    hand: &Hand,
    text: &str,
    timeout: Duration,
) -> CliResult<Sent> {
    match &hand.probe {
        Ok(Probe::Alive(_)) => {}
        Ok(_) => return Err(CliError::failed(format!("the program in {} has ended", hand.name))),
        Err(why) => return Err(CliError::failed(format!("nothing was typed: {why}"))),
    }
    let spec = super::runtime_of(context, hand)?;
    let pane = Terminal { tmux: &hands.tmux, name: hand.name.to_string(), spec };
    let receipts = match pane.spec.submit.clone() {
        Some(submit) => pane.deliver(text, &submit, timeout)?,
        None => pane.type_in(text)?,
    };
    let stage = receipts.last().map_or(Stage::Queued, |last| last.stage);
    Ok(Sent { name: pane.name, stage, confirmed: stage == Stage::TurnStarted, receipts, error: None })
}

struct Terminal<'a> {
    tmux: &'a Tmux,
    name: String,
    spec: Arc<RuntimeSpec>,
}

impl Terminal<'_> {
    /// Into any program: what its screen means is not known.
    fn type_in(&self, text: &str) -> CliResult<Vec<Receipt>> {
        let text = neutralise(text).trim().to_owned();
        if text.is_empty() {
            return Err(CliError::usage("the message is empty"));
        }
        if self.human_typed()?.is_some_and(|at| now().since(at) < HUMAN_QUIET) {
            return Err(refused("somebody is typing there"));
        }
        self.tmux.paste(&self.name, &text).map_err(unsure)?;
        let typed = receipt(Stage::Typed, now(), "it was pasted");
        std::thread::sleep(PAUSE);
        self.tmux.send_enter(&self.name).map_err(unsure)?;
        Ok(vec![typed, receipt(Stage::Submitted, now(), "Enter was sent")])
    }

    /// Into a client whose screen can be read.
    fn deliver(&self, text: &str, submit: &Submit, deadline: Duration) -> CliResult<Vec<Receipt>> {
        let mut delivery = Delivery::new(text, Recipe::new(Some(submit), deadline), now())
            .map_err(|e| CliError::usage(e.to_string()))?;
        let mut next = delivery.step(now(), Input::Tick);
        loop {
            next = match next {
                Next::Look => {
                    let pane = self.look()?;
                    delivery.step(now(), Input::Pane(pane))
                }
                Next::Paste => {
                    self.tmux.paste(&self.name, delivery.text()).map_err(unsure)?;
                    delivery.step(now(), Input::Pasted)
                }
                Next::PressEnter => {
                    self.tmux.send_enter(&self.name).map_err(unsure)?;
                    delivery.step(now(), Input::EnterSent)
                }
                // Whoever asked can ask again; a dialog may stay for hours.
                Next::Wait { .. } if delivery.stage() == Stage::Queued => {
                    return Err(refused(delivery.blocked().unwrap_or("the client is not ready")));
                }
                Next::Wait { until } if delivery.stage() == Stage::Submitted => {
                    match self.held_until(until, delivery.text())? {
                        None => break,
                        // Enter was swallowed: it is pressed again, a bounded number of times.
                        Some(pane) => delivery.step(now(), Input::Pane(pane)),
                    }
                }
                Next::Wait { until } => {
                    std::thread::sleep(until.since(now()));
                    delivery.step(now(), Input::Tick)
                }
                Next::Delivered => break,
                Next::GiveUp { why } => return Err(CliError::failed(format!("it was not delivered: {why}"))),
            };
        }
        let transitions = delivery.transitions().iter();
        Ok(transitions.map(|t| receipt(t.to, t.at, &t.evidence)).collect())
    }

    /// The pane, if its composer still holds our text at that time.
    fn held_until(&self, until: Time, text: &str) -> CliResult<Option<Pane>> {
        loop {
            let pane = self.look()?;
            if !is_ours(&pane.composer, text) {
                return Ok(None);
            }
            if now() >= until {
                return Ok(Some(pane));
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    fn look(&self) -> CliResult<Pane> {
        let screen = self.tmux.capture(&self.name, LOOK_LINES).map_err(HandError::from)?;
        let title = self.tmux.pane_title(&self.name).map_err(HandError::from)?.unwrap_or_default();
        let reading = read(&self.spec, &screen, now(), utc_offset());
        let dialog = match read_title(&self.spec, &title).map(|claim| claim.meaning) {
            Some(Meaning::Dialog(kind)) => Some(kind),
            _ => None,
        };
        let shown = self.tmux.screen(&self.name).map_err(HandError::from)?.unwrap_or_default();
        let cursor = self.tmux.cursor(&self.name).map_err(HandError::from)?;
        let elsewhere = !cursor.is_some_and(|cursor| is_typed_into(&self.spec, &shown, cursor));
        Ok(Pane { elsewhere, ..Pane::new(&reading, dialog, self.human_typed()?) })
    }

    /// When a person's terminal that is attached last did something.
    fn human_typed(&self) -> CliResult<Option<Time>> {
        let clients = self.tmux.clients(&self.name).map_err(HandError::from)?;
        let people =
            clients.iter().filter(|client| !client.is_control && !client.flags.contains("read-only"));
        Ok(people.map(|client| Time(client.activity_time.saturating_mul(1000))).max())
    }
}

fn receipt(stage: Stage, at: Time, evidence: &str) -> Receipt {
    Receipt { stage, at: output::moment(at), evidence: evidence.to_owned() }
}

fn refused(why: &str) -> CliError {
    CliError::failed(format!("nothing was typed: {why}"))
        .hint("look with `shopfloor session attach`, then try again")
}

/// After an error it is not known how much was typed, unless it is a refusal.
fn unsure(e: TmuxError) -> CliError {
    match e {
        TmuxError::Refused(why) => CliError::usage(why),
        e => CliError::failed(format!("{e}; how much was typed is not known"))
            .hint("`shopfloor session capture` shows the screen"),
    }
}
