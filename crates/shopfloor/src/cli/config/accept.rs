//! `shopfloor config diff` and `shopfloor config accept`: what executes or grants is in force once a person says so.
//!
//! What is accepted is exactly what was shown: it is read once. Grants are written first; if this ends in between, the
//! next `accept` does the rest.

use super::super::{CliError, CliResult, Context, Exit, output};
use crate::config::pinned::{self, Proposal};
use crate::config::{FILE_NAME, FloorConfig, grants, load};
use crate::projects::pins::{self, difference};
use crate::projects::primary_file;
use clap::Args;
use shopfloor_adapters::host::atomic::write_atomic;
use shopfloor_core::event::{Accepter, Event};
use shopfloor_core::redact::Redactor;
use shopfloor_core::state::{Pin, Project};
use shopfloor_core::texts::people;
use std::io::{self, BufRead, IsTerminal, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

#[derive(Args)]
pub struct AcceptArgs {
    /// Do not ask at a terminal
    #[arg(long, short)]
    yes: bool,
}

/// What a project's files say now, beside what is in force.
pub struct Change {
    proposal: Proposal,
    pub diff: String,
    /// What would be in force later, when the primary branch has what the checkout has.
    ahead: Option<String>,
    /// Names in `pass_env` that the floor does not grant.
    pub withheld: Vec<String>,
    branch: String,
}

impl Change {
    pub fn of(context: &Context, project: &Project) -> CliResult<Change> {
        let (engine, floor_config) = (context.engine()?, context.floor_config()?);
        let pin = engine.floor().pins.get(&project.name);
        let checkout = Path::new(&project.checkout);
        let primary = primary_file(&context.git()?, &context.layout);
        let proposal = pins::proposal(checkout, &floor_config, &primary, pin)?;
        let own = load::project(&checkout.join(FILE_NAME), &floor_config)?;
        // Before anybody accepts it, it is known that it can be used.
        let (mut config, _) = pinned::in_force(&proposal.text, &own, &floor_config)?;
        pinned::in_force(&proposal.ahead, &own, &floor_config)?;
        // Shown to whoever asks: what is secret is not.
        let redactor = context.redactor().unwrap_or_else(|_| Redactor::blind());
        let (diff, ahead) = differences(&proposal, pin, &redactor)?;
        let withheld = floor_config.withhold(&mut config);
        Ok(Change { proposal, diff, ahead, withheld, branch: config.project.primary_branch })
    }

    /// Whether there is anything that a person could accept.
    pub fn is_nothing(&self) -> bool {
        self.diff.is_empty() && self.ahead.is_none() && self.withheld.is_empty()
    }

    fn show(&self, project: &Project) {
        if !self.diff.is_empty() {
            output::line("what executes or grants, as it is in force and as the files say it now:");
            output::quoted(&self.diff);
        }
        if let Some(ahead) = &self.ahead {
            output::line(format!("and as soon as {} has what your checkout says of [ci]:", self.branch));
            output::quoted(ahead);
        }
        if !self.withheld.is_empty() {
            output::line(people::not_granted(&project.name, &self.withheld));
        }
    }
}

/// What is shown of a proposal: what would be in force, and what would be later; empty for what is accepted.
fn differences(
    proposal: &Proposal,
    pin: Option<&Pin>,
    redactor: &Redactor,
) -> CliResult<(String, Option<String>)> {
    let words = |text: &str| pinned::in_todays_words(text);
    let in_force = pin.map(|pin| words(&pin.accepted.text)).transpose()?.unwrap_or_default();
    let later = pin.and_then(|pin| pin.ahead.as_ref()).map(|ahead| words(&ahead.text)).transpose()?;
    let is_new = proposal.ahead != proposal.text && later.is_none_or(|later| later != proposal.ahead);
    let ahead = is_new.then(|| difference(&proposal.text, &proposal.ahead, redactor));
    Ok((difference(&in_force, &proposal.text, redactor), ahead))
}

pub fn diff(context: &Context) -> CliResult<Exit> {
    let project = context.project()?;
    let change = Change::of(context, &project)?;
    if context.json {
        output::json(&serde_json::json!({
            "project": project.name.as_str(),
            "differs": !change.diff.is_empty(),
            "diff": change.diff,
            "later": change.ahead,
            "not_granted": change.withheld,
        }));
    } else if change.is_nothing() {
        output::line(format!("{}: what the files say is in force", project.name));
    } else {
        change.show(&project);
        output::line("`shopfloor config accept` puts it in force");
    }
    Ok(Exit::Fine)
}

pub fn accept(context: &Context, args: &AcceptArgs) -> CliResult<Exit> {
    let project = context.project()?;
    let change = Change::of(context, &project)?;
    if !context.json {
        change.show(&project);
    }
    if !change.is_nothing() && !args.yes && !context.json && io::stdin().is_terminal() && !is_meant()? {
        return Err(CliError::failed("nothing was accepted"));
    }
    if !change.withheld.is_empty() {
        grant(context, &project, &change.withheld)?;
    }
    accept_all(context, &project, change.proposal)?;
    if context.json {
        output::json(&serde_json::json!({
            "project": project.name.as_str(),
            "accepted": true,
            "diff": change.diff,
            "later": change.ahead,
            "granted": change.withheld,
        }));
        return Ok(Exit::Fine);
    }
    if !change.withheld.is_empty() {
        let (file, names) = (context.layout.config(), change.withheld.join(", "));
        output::line(format!("granted in {}: {names}", file.display()));
    }
    output::line(match &change.ahead {
        None => format!("{}: accepted", project.name),
        Some(_) => format!("{}: accepted; [ci] counts once it is on {}", project.name, change.branch),
    });
    Ok(Exit::Fine)
}

/// Puts a proposal in force, in the name of the person who asks.
pub fn accept_all(context: &Context, project: &Project, proposal: Proposal) -> CliResult<()> {
    let Proposal { text, ahead } = proposal;
    let by = Accepter::Person(context.author());
    context.submit(&Event::ConfigAccepted { project: project.name.clone(), text, ahead: Some(ahead), by })?;
    Ok(())
}

/// What a project's files say now, for whoever accepts all of it unseen: it is the person's own.
pub fn proposal(context: &Context, project: &Project) -> CliResult<Proposal> {
    let primary = primary_file(&context.git()?, &context.layout);
    pins::proposal(Path::new(&project.checkout), &context.floor_config()?, &primary, None)
}

fn is_meant() -> CliResult<bool> {
    write!(io::stdout(), "put this in force? [y/N] ")?;
    io::stdout().flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Adds them to the floor's own file.
fn grant(context: &Context, project: &Project, names: &[String]) -> CliResult<()> {
    let file = context.layout.config();
    let (text, mode) = match std::fs::read_to_string(&file) {
        Ok(text) => (text, std::fs::metadata(&file)?.permissions().mode() & 0o777),
        Err(e) if e.kind() == io::ErrorKind::NotFound => (String::new(), 0o600),
        Err(e) => return Err(CliError::failed(format!("{} cannot be read: {e}", file.display()))),
    };
    let text = grants::added(&file, &text, &project.name, names)?;
    let _: FloorConfig = load::floor_from(&file, &text)?;
    // A link to a file that is kept elsewhere stays one.
    let file = std::fs::canonicalize(&file).unwrap_or(file);
    write_atomic(&file, text.as_bytes(), mode)?;
    Ok(())
}
