//! The demo agent as a predictor and as a planner: what the built-in formulas of these names ask for, with the commands that
//! every agent has, and without a thought.
//!
//! As a predictor it files one prediction, of the first notable trend that no issue is about. As a planner it has the first
//! unreviewed prediction worked on, dismisses the second and watches the others; it has the first item of VISION.md
//! (`- [ ] …`) done that was never asked for; and it writes its memory and a journal entry, as one commit.

use super::dev::Dev;
use super::repo::{commit_all, write};
use crate::cli::{CliError, CliResult, now, output};
use serde::Deserialize;
use shopfloor_core::ids::Role;
use shopfloor_core::label::{ACTIONED, Label, UNREVIEWED, WATCHED};
use std::process::{Command, Stdio};

const MEMORY: &str = ".shopfloor/planner/MEMORY.md";

/// What `shopfloor trends` answers.
#[derive(Deserialize)]
struct Trends {
    notable: Vec<Notable>,
}

#[derive(Deserialize)]
struct Notable {
    name: String,
    why: String,
    predicted: Option<u64>,
}

/// What `shopfloor predictions` answers.
#[derive(Deserialize)]
struct Predictions {
    unreviewed: Vec<Prediction>,
}

#[derive(Deserialize)]
struct Prediction {
    issue: u64,
}

/// What `shopfloor issue list` answers.
#[derive(Deserialize)]
struct Titled {
    title: String,
}

impl Dev<'_> {
    /// Does a step of a predictor or a planner. Returns what it says of it; `None`: it is a step like any other.
    pub(super) fn foresee(&self, step: &str) -> CliResult<Option<String>> {
        let said = match (self.role, step) {
            (Role::PREDICTOR, "predict") => self.predict()?,
            (Role::PLANNER, "triage") => self.triage()?,
            (Role::PLANNER, "plan") => self.plan()?,
            (Role::PLANNER, "notes") => self.notes()?,
            _ => return Ok(None),
        };
        Ok(Some(said))
    }

    fn predict(&self) -> CliResult<String> {
        let trends: Trends = self.ask(&["trends", "--json"])?;
        let Some(notable) = trends.notable.into_iter().find(|notable| notable.predicted.is_none()) else {
            return Ok("nothing is worth a prediction".into());
        };
        let Notable { name, why, .. } = notable;
        let title = format!("{name}: it will be in the way");
        let body = format!("Seen: {why}. If nobody does anything, it will be in the way.");
        match self.shopfloor(&["issue", "add", &title, "--body", &body])? {
            true => Ok(format!("predicted that of {name}")),
            false => Ok(format!("{name} is known")),
        }
    }

    fn triage(&self) -> CliResult<String> {
        let open: Predictions = self.ask(&["predictions", "--json"])?;
        let mut said = Vec::new();
        for (at, Prediction { issue }) in open.unreviewed.iter().enumerate() {
            let number = issue.to_string();
            let label = |add: &[&str]| {
                let mut words = vec!["issue", "label", &number, "--remove", UNREVIEWED];
                add.iter().for_each(|label| words.extend(["--add", label]));
                self.shopfloor(&words)
            };
            let (what, done) = match at {
                0 => ("is worked on", label(&[Label::Backlog.as_str(), ACTIONED])?),
                1 => {
                    let why = "Dismissed: it has been like that for long, and nobody minds.";
                    let told = self.shopfloor(&["issue", "comment", &number, why])?;
                    let labelled = told && label(&[ACTIONED])?;
                    ("is dismissed", labelled && self.shopfloor(&["issue", "close", &number])?)
                }
                _ => ("is watched", label(&[WATCHED])?),
            };
            said.push(format!("#{issue} {}", if done { what } else { "stays as it is" }));
        }
        Ok(if said.is_empty() { "no prediction waits".into() } else { said.join(", ") })
    }

    fn plan(&self) -> CliResult<String> {
        let vision = std::fs::read_to_string("VISION.md").unwrap_or_default();
        let known: Vec<Titled> = self.ask(&["issue", "list", "--state", "all", "--json"])?;
        let is_new = |item: &&str| !known.iter().any(|issue| issue.title == **item);
        let items = vision.lines().filter_map(|line| line.trim().strip_prefix("- [ ] "));
        for item in items.filter(is_new) {
            let words = ["issue", "add", item, "--body", "VISION.md asks for it.", "--label"];
            if self.shopfloor(&[&words[..], &[Label::Backlog.as_str()]].concat())? {
                return Ok(format!("{item}: it is to be done"));
            }
        }
        Ok("nothing is missing".into())
    }

    fn notes(&self) -> CliResult<String> {
        let moment = output::moment(now());
        let date = moment.get(..10).unwrap_or_default();
        let entry = format!(".shopfloor/planner/journal/{date}.md");
        let before = std::fs::read_to_string(MEMORY).unwrap_or_default();
        let line = format!("- {date}: looked at the predictions and at VISION.md.\n");
        if !before.contains(&line) {
            let title = if before.is_empty() { "# Memory\n\n" } else { "" };
            write(MEMORY, &format!("{title}{before}{line}"))?;
        }
        if !std::path::Path::new(&entry).exists() {
            write(&entry, &format!("# {date}\n\nThe predictions were looked at, and VISION.md was.\n"))?;
        }
        commit_all(self.client, &format!("Plan of {date}"))?;
        Ok(format!("the notes are in {MEMORY} and {entry}"))
    }

    /// Whether the command worked.
    fn shopfloor(&self, words: &[&str]) -> CliResult<bool> {
        let command = format!("shopfloor {}", words.join(" "));
        self.client.before(&command);
        let done = Command::new("shopfloor").args(words).stdin(Stdio::null()).status()?.success();
        self.client.after(&command, done);
        Ok(done)
    }

    fn ask<T: serde::de::DeserializeOwned>(&self, words: &[&str]) -> CliResult<T> {
        let mut command = Command::new("shopfloor");
        let output = command.args(words).stdin(Stdio::null()).stderr(Stdio::inherit()).output()?;
        serde_json::from_slice(&output.stdout)
            .map_err(|e| CliError::failed(format!("shopfloor {}: {e}", words.join(" "))))
    }
}
