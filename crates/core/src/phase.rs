//! The phase protocol's file format.
//!
//! An agent writes one sentinel line, `PHASE:<name>`, to its phase file. Only the first line names
//! the phase; later lines may add `Reason: …`, `Question: …` and `Session: N`. A session line that
//! names another epoch marks the file as a predecessor's.

use crate::ids::Epoch;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a session last signalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    AwaitingCi,
    AwaitingReview,
    NeedsHuman,
    Done,
    Failed,
}

impl Phase {
    pub const ALL: [Phase; 5] =
        [Phase::AwaitingCi, Phase::AwaitingReview, Phase::NeedsHuman, Phase::Done, Phase::Failed];

    pub fn as_str(self) -> &'static str {
        match self {
            Phase::AwaitingCi => "awaiting_ci",
            Phase::AwaitingReview => "awaiting_review",
            Phase::NeedsHuman => "needs_human",
            Phase::Done => "done",
            Phase::Failed => "failed",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Phase {
    type Err = UnknownPhase;
    fn from_str(s: &str) -> Result<Self, UnknownPhase> {
        Phase::ALL
            .into_iter()
            .find(|p| p.as_str() == s)
            .ok_or_else(|| UnknownPhase(s.chars().take(80).collect()))
    }
}

/// A first line that is not one of the sentinels.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a phase: use awaiting_ci, awaiting_review, needs_human, done or failed")]
pub struct UnknownPhase(pub String);

/// What a phase file says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseReport {
    pub phase: Phase,
    /// The rest of the file, without its labels: why it failed, or what is asked.
    pub detail: Option<String>,
    /// The session that wrote it, when it says.
    pub session: Option<Epoch>,
}

/// How much of a phase file is looked at.
pub const PHASE_FILE_BYTES_MAX: usize = 16 * 1024;

impl PhaseReport {
    /// Reads a phase file's content. `Ok(None)` when its first line is blank: nothing signalled yet.
    pub fn parse(content: &str) -> Result<Option<PhaseReport>, UnknownPhase> {
        let mut lines = content.lines();
        let first: String = lines.next().unwrap_or("").chars().filter(|c| !c.is_whitespace()).collect();
        if first.is_empty() {
            return Ok(None);
        }
        let name =
            first.strip_prefix("PHASE:").ok_or_else(|| UnknownPhase(first.chars().take(80).collect()))?;
        let phase = name.parse()?;
        let mut session = None;
        let mut detail = Vec::new();
        for line in lines {
            if let Some(rest) = line.strip_prefix("Session:") {
                session = rest.trim().parse().ok();
                continue;
            }
            if line.starts_with("Id:") {
                continue;
            }
            let text =
                ["Reason:", "Question:"].iter().find_map(|label| line.strip_prefix(label)).unwrap_or(line);
            detail.push(text.trim());
        }
        let detail = detail.join("\n").trim().to_owned();
        Ok(Some(PhaseReport { phase, detail: (!detail.is_empty()).then_some(detail), session }))
    }

    /// The file's content. `id` makes two signals of the same phase two different contents.
    pub fn render(&self, id: &str) -> String {
        let mut out = format!("PHASE:{}\n", self.phase);
        if let Some(detail) = &self.detail {
            let label = match self.phase {
                Phase::NeedsHuman => "Question",
                _ => "Reason",
            };
            out.push_str(&format!("{label}: {detail}\n"));
        }
        if let Some(session) = self.session {
            out.push_str(&format!("Session: {session}\n"));
        }
        out.push_str(&format!("Id: {id}\n"));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(phase: Phase, detail: Option<&str>, session: Option<u64>) -> PhaseReport {
        PhaseReport { phase, detail: detail.map(str::to_owned), session: session.map(Epoch) }
    }

    #[test]
    fn the_first_line_alone_names_the_phase() {
        let check = |content: &str, expect: PhaseReport| {
            assert_eq!(PhaseReport::parse(content), Ok(Some(expect)), "{content:?}");
        };
        check("PHASE:done\n", report(Phase::Done, None, None));
        check("  PHASE: awaiting_ci \r\n", report(Phase::AwaitingCi, None, None));
        check("PHASE:failed\nReason: no disk\n", report(Phase::Failed, Some("no disk"), None));
        check(
            "PHASE:needs_human\nQuestion: A or B?\nSession: 7\nId: x",
            report(Phase::NeedsHuman, Some("A or B?"), Some(7)),
        );
    }

    #[test]
    fn blank_is_silence_and_nonsense_is_an_error() {
        assert_eq!(PhaseReport::parse(""), Ok(None));
        assert_eq!(PhaseReport::parse("\nPHASE:done"), Ok(None));
        for bad in ["done", "PHASE:", "PHASE:DONE", "PHASE:failedReason:x"] {
            assert!(PhaseReport::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn what_we_render_we_read_back() {
        for phase in Phase::ALL {
            let r = report(phase, Some("because"), Some(3));
            assert_eq!(PhaseReport::parse(&r.render("i")), Ok(Some(r)));
        }
    }
}
