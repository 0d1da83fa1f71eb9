//! The answers of a world in which nothing happens.

use super::Floor;
use crate::effect::outcome::{
    Acted, AgentsChecked, Checkout, CheckoutTaken, Checkpoint, FoundMerged, HealthChecked, Labelled, Landed,
    Primary, Released, SessionEnded, Taken, Tidied,
};
use crate::effect::{Action, CommandEnd, Fired, Outcome};
use crate::ids::IssueNumber;

impl Floor {
    /// The outcome of an action when nothing is found and nothing is out of order, for whoever plays the world:
    /// tests and benchmarks. Only they can say what becomes of a worktree, a session or a check.
    pub fn uneventful(&self, action: &Action) -> Outcome {
        match action {
            Action::CheckAgents { .. } => Outcome::AgentsChecked(AgentsChecked::default()),
            Action::EditLabels { project, issue, .. } => {
                let issue = self.issues.get(&(project.clone(), *issue));
                Outcome::Labelled(Labelled { version: issue.map(|i| i.version.clone()).unwrap_or_default() })
            }
            Action::ReleaseWorktree { .. } => Outcome::Released(Released { rescue: None, note: None }),
            Action::FindPrimary { known: Some(known), .. } => {
                Outcome::Primary(Primary { head: known.clone(), continues: true, recorded: false })
            }
            Action::FindPrimary { known: None, .. } => Outcome::NoPrimary,
            Action::CheckHealth(_) => Outcome::HealthChecked(HealthChecked { measured: Box::default() }),
            Action::EndSession { .. } | Action::EndStray(_) => {
                let last_output = "bye".into();
                Outcome::SessionEnded(SessionEnded { rescue: None, last_output, note: None })
            }
            Action::Checkpoint { .. } => Outcome::Checkpoint(Checkpoint::default()),
            Action::FindMerged { .. } => Outcome::FoundMerged(FoundMerged { heads: Vec::new() }),
            Action::VerifyLanded { .. } => Outcome::Landed(Landed { incomplete: Vec::new() }),
            Action::SyncCheckout { .. } => {
                Outcome::Checkout(Checkout { updated: false, note: String::new() })
            }
            Action::TakeCheckout { .. } => Outcome::CheckoutTaken(CheckoutTaken { taken: Taken::Nothing }),
            Action::Publish { .. } => Outcome::Published,
            Action::Act(order) => {
                Outcome::Acted(Acted { issue: order.what.issue().unwrap_or(IssueNumber(order.id.0)) })
            }
            Action::Tell(_) => Outcome::Told(CommandEnd::default()),
            Action::Fire(_) => {
                Outcome::Fired(Fired::Ended { code: Some(0), how: String::new(), output: String::new() })
            }
            Action::Tidy(_) => Outcome::Tidied(Tidied::default()),
            _ => Outcome::Done,
        }
    }
}
