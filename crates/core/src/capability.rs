//! What a session may ask of the factory with commands. What it signals, writes and commits needs none of these: that is
//! its own. Everything that no capability covers is a person's to do.

use crate::ids::Role;
use crate::label::{ACTIONED, Label, UNREVIEWED, VISION, WATCHED};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Bound to the session's assignment: its project, its issue. Those with a word are granted to a role by the project's
/// configuration; every session has the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Capability {
    /// Take the messages that wait for it.
    #[serde(skip)]
    Inbox,
    /// Say how far its run is.
    #[serde(skip)]
    Step,
    /// Read its project's issues, pull requests and checks, and where everything stands.
    #[serde(skip)]
    Look,
    /// Comment on its own issue.
    #[serde(skip)]
    Comment,
    /// Add an issue, with the labels that its role may put on.
    #[serde(rename = "issue.create")]
    CreateIssue,
    /// Comment on any issue of its project.
    #[serde(rename = "issue.comment")]
    CommentIssue,
    /// Put those labels on any issue, or take them off.
    #[serde(rename = "issue.label")]
    LabelIssue,
    #[serde(rename = "issue.close")]
    CloseIssue,
    /// Ask for something dangerous, which is held until it is approved.
    #[serde(rename = "vault.request")]
    RequestVault,
    /// Ask people a question and work on meanwhile.
    #[serde(rename = "question.ask")]
    AskQuestion,
}

impl Capability {
    /// What every session may, whatever its role.
    pub const OF_ALL: [Capability; 4] =
        [Capability::Inbox, Capability::Step, Capability::Look, Capability::Comment];
    /// What a configuration may grant.
    pub const GRANTED: [Capability; 6] = [
        Capability::CreateIssue,
        Capability::CommentIssue,
        Capability::LabelIssue,
        Capability::CloseIssue,
        Capability::RequestVault,
        Capability::AskQuestion,
    ];

    /// How a configuration names it; `None`: it is not for granting.
    pub fn word(self) -> Option<&'static str> {
        match self {
            Capability::Inbox | Capability::Step | Capability::Look | Capability::Comment => None,
            Capability::CreateIssue => Some("issue.create"),
            Capability::CommentIssue => Some("issue.comment"),
            Capability::LabelIssue => Some("issue.label"),
            Capability::CloseIssue => Some("issue.close"),
            Capability::RequestVault => Some("vault.request"),
            Capability::AskQuestion => Some("question.ask"),
        }
    }

    /// For whoever was refused.
    pub fn means(self) -> &'static str {
        match self {
            Capability::Inbox => "take messages",
            Capability::Step => "say how far its run is",
            Capability::Look => "look at its project",
            Capability::Comment => "comment on its own issue",
            Capability::CreateIssue => "add issues",
            Capability::CommentIssue => "comment on issues other than its own",
            Capability::LabelIssue => "change labels",
            Capability::CloseIssue => "close issues",
            Capability::RequestVault => "ask the vault for anything",
            Capability::AskQuestion => "ask people questions",
        }
    }
}

/// What the agents of one role may do in a project, and how often in one job: a job's sessions of that role share it, so
/// that nothing is gained by being replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rights {
    /// Besides what all may.
    pub may: BTreeSet<Capability>,
    /// The labels that it may put on issues, and take off.
    pub labels: BTreeSet<String>,
    /// Labels that every issue it adds has, whatever it asks for: the factory puts them on.
    #[serde(default)]
    pub always: BTreeSet<String>,
    /// It may close only issues with one of these labels; none: any, if it may close issues at all.
    #[serde(default)]
    pub closes: BTreeSet<String>,
    /// Whether what its runs change in the repository goes the way of any change; if not, it is kept and goes no further.
    #[serde(default = "yes")]
    pub lands: bool,
    /// How many issues it may add, or have begun that are there.
    pub max_issues: u32,
    /// How many comments, changes of labels, and issues closed, all together.
    pub max_changes: u32,
}

fn yes() -> bool {
    true
}

/// Enough for whoever means well, and no flood.
const MAX_ISSUES: u32 = 10;
/// Of what nobody asked for, people read so much.
const FILED_MAX: u32 = 5;
const MAX_CHANGES: u32 = 50;
/// The labels of a planner, and of a gardener.
const PLANS: [&str; 6] =
    [UNREVIEWED, WATCHED, ACTIONED, VISION, Label::Backlog.as_str(), Label::Action.as_str()];
const SORTS: [&str; 2] = [Label::Underspecified.as_str(), Label::TechDebt.as_str()];
/// What a planner may close: it decides about predictions, and people about the rest.
const PREDICTIONS: [&str; 3] = [UNREVIEWED, WATCHED, ACTIONED];

impl Rights {
    /// What a role may unless the configuration says otherwise. A developer reports what it finds, and may ask; each of
    /// the other agents may do what it is for. Nobody else does anything but look and do its own work.
    pub fn of(role: Role) -> Rights {
        use Capability::{AskQuestion, CloseIssue, CommentIssue, CreateIssue, LabelIssue, RequestVault};
        let (may, labels, max_issues): (&[Capability], &[&str], u32) = match role {
            Role::DEV | Role::ACTION => (&[CreateIssue, AskQuestion], &[], MAX_ISSUES),
            Role::GARDENER => {
                (&[CreateIssue, CommentIssue, LabelIssue, CloseIssue, AskQuestion], &SORTS, MAX_ISSUES)
            }
            Role::SUPERVISOR => (&[RequestVault, AskQuestion], &[], MAX_ISSUES),
            Role::PREDICTOR => (&[CreateIssue], &[UNREVIEWED], FILED_MAX),
            // It decides what is worked on: that is what it is switched on for.
            Role::PLANNER => (&[CreateIssue, CommentIssue, LabelIssue, CloseIssue], &PLANS, FILED_MAX),
            _ => (&[], &[], MAX_ISSUES),
        };
        // What it finds is a prediction until somebody has looked at it, and it does nothing else.
        let always: &[&str] = if role == Role::PREDICTOR { &[UNREVIEWED] } else { &[] };
        let closes: &[&str] = if role == Role::PLANNER { &PREDICTIONS } else { &[] };
        let words = |of: &[&str]| of.iter().map(|word| (*word).to_owned()).collect();
        Rights {
            may: may.iter().copied().collect(),
            labels: words(labels),
            always: words(always),
            closes: words(closes),
            lands: role != Role::PREDICTOR,
            max_issues,
            max_changes: MAX_CHANGES,
        }
    }

    pub fn allow(&self, capability: Capability) -> bool {
        Capability::OF_ALL.contains(&capability) || self.may.contains(&capability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_capability_is_either_everybodys_or_has_a_word() {
        for capability in Capability::OF_ALL {
            assert_eq!(capability.word(), None);
        }
        for capability in Capability::GRANTED {
            let word = capability.word().map(|word| format!("{word:?}")).expect("it has one");
            assert_eq!(serde_json::to_string(&capability).expect("it has a word"), word);
            assert_eq!(serde_json::from_str::<Capability>(&word).expect("known"), capability);
        }
    }

    #[test]
    fn whoever_is_not_known_only_looks_and_does_its_own() {
        let other: Role = "auditor".parse().expect("a name");
        for role in [Role::REVIEW, other] {
            let rights = Rights::of(role);
            assert!(Capability::OF_ALL.iter().all(|capability| rights.allow(*capability)), "{role}");
            assert!(!Capability::GRANTED.iter().any(|capability| rights.allow(*capability)), "{role}");
        }
        let predictor = Rights::of(Role::PREDICTOR);
        assert!(predictor.always.contains(UNREVIEWED) && !predictor.lands && predictor.may.len() == 1);
        let stored: Rights = serde_json::from_str(r#"{"may":[],"labels":[],"max_issues":1,"max_changes":1}"#)
            .expect("as it was stored before");
        assert!(stored.always.is_empty() && stored.closes.is_empty() && stored.lands);
        assert!(
            Rights::of(Role::PLANNER).closes.contains(ACTIONED)
                && Rights::of(Role::GARDENER).closes.is_empty()
        );
        let dev = Rights::of(Role::DEV);
        assert!(dev.allow(Capability::CreateIssue) && !dev.allow(Capability::LabelIssue));
        assert!(dev.labels.is_empty(), "it starts nothing");
        for role in Role::OTHERS.into_iter().filter(|role| *role != Role::PLANNER) {
            let starts = [Label::Backlog, Label::Action].map(Label::as_str);
            assert!(!Rights::of(role).labels.iter().any(|label| starts.contains(&label.as_str())), "{role}");
        }
    }
}
