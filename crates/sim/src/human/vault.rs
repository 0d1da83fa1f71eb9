//! People, agents and the vault: they ask, and people answer, or do not.

use crate::world::World;
use shopfloor_core::event::{Event, VaultAsk, Word};
use shopfloor_core::ids::{Epoch, ProjectName, RequestType};
use shopfloor_core::state::{Decision, Doubt, Floor, Request, RequestEnd, RequestState, SessionState};
use shopfloor_core::vault::{Risk, Spec};
use std::time::Duration;

const TYPES: [&str; 4] = ["note", "deploy", "wipe", "restart"];

fn declared(of: &str) -> Spec {
    let (risk, reversible, idempotent) = match of {
        "note" => (Risk::Low, false, false),
        "deploy" => (Risk::Medium, true, false),
        "wipe" => (Risk::High, false, false),
        _ => (Risk::Medium, false, true),
    };
    Spec {
        run: vec![of.to_owned(), "{payload.what}".to_owned()],
        risk,
        reversible,
        requires_human: false,
        idempotent,
        secrets: Vec::new(),
        timeout: Duration::from_secs(60),
        cwd: None,
        schema: None,
    }
}

impl World {
    pub(super) fn ask_vault(&mut self, project: &ProjectName, floor: &Floor) -> Event {
        if self.shots.declared.is_empty() {
            let all = TYPES.map(|name| (name.parse().expect("a name"), declared(name)));
            self.shots.declared = all.into_iter().collect();
        }
        let unknown = self.wishes.permille(60);
        let name = if unknown { "launch" } else { TYPES[self.wishes.below(4) as usize] };
        let kind: RequestType = name.parse().expect("a name");
        let bad = self.wishes.permille(60);
        let live = floor.sessions.iter().filter(|s| s.state == SessionState::Live).map(|s| s.epoch);
        let live: Vec<Epoch> = live.collect();
        let session = self.wishes.pick(&live).copied();
        self.saw(match (unknown || bad, session) {
            (true, _) => "vault asked for nonsense",
            (false, Some(_)) => "vault asked by an agent",
            (false, None) => "vault asked by a person",
        });
        self.say(format!("the vault is asked for {kind}"));
        let by = session.map_or_else(|| "person".to_owned(), |epoch| format!("agent {epoch}"));
        let ask = VaultAsk {
            spec: self.shots.declared.get(&kind).cloned(),
            r#type: kind,
            payload: if bad { "{}" } else { "{\"what\": 1}" }.to_owned(),
            reason: "it is time".to_owned(),
            by,
            from: "somewhere".to_owned(),
            session,
        };
        Event::VaultAsked { project: project.clone(), ask }
    }

    /// A person declares a type otherwise, or not at all; or their environment changes.
    pub(super) fn edit_vault(&mut self) {
        if self.wishes.permille(400) {
            self.shots.unset = !self.shots.unset;
            return self.say("person sets a variable, or takes it away");
        }
        let kind: RequestType = TYPES[self.wishes.below(4) as usize].parse().expect("a name");
        let gone = self.wishes.permille(200);
        if gone {
            self.shots.declared.remove(&kind);
        } else if let Some(spec) = self.shots.declared.get_mut(&kind) {
            spec.timeout += Duration::from_secs(1);
        }
        self.say(format!("person changes what {kind} means, gone: {gone}"));
    }

    pub(super) fn decide_in_vault(&mut self, project: &ProjectName, floor: &Floor) -> Option<Event> {
        let may_be = |r: &&Request| r.is_live() || r.end() == Some(RequestEnd::Failed);
        let open: Vec<&Request> = floor.requests.iter().filter(may_be).collect();
        let request = *self.wishes.pick(&open)?;
        let yes = self.wishes.permille(750);
        let (decision, question) = match &request.state {
            RequestState::Waiting { question, doubt: Doubt::Approval { .. }, .. } => {
                (if yes { Decision::Approve } else { Decision::Reject }, Some(*question))
            }
            RequestState::Waiting { question, .. } => {
                (if yes { Decision::Retry } else { Decision::Reject }, Some(*question))
            }
            _ => (if yes { Decision::Retry } else { Decision::Reject }, None),
        };
        self.saw(match decision {
            Decision::Approve => "vault approved",
            Decision::Reject => "vault rejected",
            Decision::Retry => "vault retried",
        });
        self.say(format!("person: {} request {}", decision.name(), request.number));
        if decision != Decision::Reject {
            *self.shots.words.entry(request.number).or_default() += 1;
        }
        let project = project.clone();
        if let Some(question) = question.filter(|_| self.wishes.permille(300)) {
            self.saw("vault answered as a question");
            let text = decision.name().to_owned();
            return Some(Event::Answered { project, issue: None, text, question: Some(question) });
        }
        let why = String::new();
        let word = Word { decision, by: "person".to_owned(), from: "somewhere".to_owned(), question, why };
        Some(Event::VaultDecided { project, request: request.number, word })
    }
}
