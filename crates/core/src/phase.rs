//! The phase protocol's file format.
//!
//! An agent writes one sentinel line, `PHASE:<name>`, to its phase file. Only the first line names the phase;
//! later lines may add `Reason: …`, `Question: …` and `Session: N`. A session line that names another epoch marks
//! the file as a predecessor's. A question may have `Option: …` lines, one for each option, a `Deadline: 2h` and
//! the `Default: …` that is taken then.

use crate::ids::Epoch;
use crate::redact::Redactor;
use crate::text::one_line;
use crate::time::parse_span;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

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
    /// The session that wrote it, if it says so.
    pub session: Option<Epoch>,
    /// How a question may be answered.
    #[serde(default)]
    pub ask: Ask,
}

impl PhaseReport {
    /// With the secrets in what it says hidden. The phase itself holds none.
    pub fn redacted(mut self, redactor: &Redactor) -> PhaseReport {
        let texts = self.detail.iter_mut().chain(&mut self.ask.options).chain(&mut self.ask.default);
        texts.for_each(|text| *text = redactor.redact(text));
        self
    }
}

/// What a question comes with, besides its text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// What a person may choose from; any other answer is accepted too.
    pub options: Vec<String>,
    /// Taken when nobody answers in time.
    pub default: Option<String>,
    /// How long the agent can wait.
    pub within: Option<Duration>,
}

const OPTIONS_MAX: usize = 10;
const OPTION_CHARS_MAX: usize = 200;

impl Ask {
    /// Takes in a line of a phase file, if it is about the question.
    fn take(&mut self, line: &str) -> bool {
        let value = |label: &str| line.strip_prefix(label).map(|rest| one_line(rest, OPTION_CHARS_MAX));
        if let Some(option) = value("Option:") {
            if !option.is_empty() && self.options.len() < OPTIONS_MAX && !self.options.contains(&option) {
                self.options.push(option);
            }
            return true;
        }
        if let Some(default) = value("Default:") {
            self.default = Some(default).filter(|d| !d.is_empty());
            return true;
        }
        match line.strip_prefix("Deadline:").map(|rest| parse_span(rest.trim())) {
            Some(Ok(within)) => {
                self.within = Some(within);
                true
            }
            // What cannot be read stays in the text, where a person sees it.
            Some(Err(_)) | None => false,
        }
    }
}

/// How long to wait for a reason or a question, and for more lines of it.
const DETAIL_WITHIN: Duration = Duration::from_secs(2);
const MORE_WITHIN: Duration = Duration::from_millis(500);

/// How much of a phase file is read.
pub const PHASE_FILE_BYTES_MAX: usize = 16 * 1024;

impl PhaseReport {
    pub fn new(phase: Phase) -> Self {
        PhaseReport { phase, detail: None, session: None, ask: Ask::default() }
    }

    /// Reads a phase file's content. `Ok(None)` if its first line is blank: nothing has been signalled yet.
    pub fn parse(content: &str) -> Result<Option<PhaseReport>, UnknownPhase> {
        let mut lines = content.lines();
        let first: String = lines.next().unwrap_or("").chars().filter(|c| !c.is_whitespace()).collect();
        if first.is_empty() {
            return Ok(None);
        }
        let name =
            first.strip_prefix("PHASE:").ok_or_else(|| UnknownPhase(first.chars().take(80).collect()))?;
        let phase = name.parse()?;
        let mut ask = Ask::default();
        let mut session = None;
        let mut detail = Vec::new();
        for line in lines {
            if let Some(rest) = line.strip_prefix("Session:") {
                session = rest.trim().parse().ok();
                continue;
            }
            if line.starts_with("Id:") || (phase == Phase::NeedsHuman && ask.take(line)) {
                continue;
            }
            let text =
                ["Reason:", "Question:"].iter().find_map(|label| line.strip_prefix(label)).unwrap_or(line);
            detail.push(text.trim());
        }
        let detail = detail.join("\n").trim().to_owned();
        Ok(Some(PhaseReport { phase, detail: (!detail.is_empty()).then_some(detail), session, ask }))
    }

    /// How long a file with this content has to be left alone before it is considered complete. If more than the
    /// first line matters, it may be written line by line.
    pub fn settles_in(content: &str) -> Duration {
        // It was written in one step.
        if content.lines().skip(1).any(|line| line.starts_with("Id:")) {
            return Duration::ZERO;
        }
        match PhaseReport::parse(content) {
            Ok(Some(PhaseReport { phase: Phase::NeedsHuman | Phase::Failed, detail, .. })) => match detail {
                Some(_) => MORE_WITHIN,
                None => DETAIL_WITHIN,
            },
            Ok(_) => Duration::ZERO,
            Err(_) => DETAIL_WITHIN,
        }
    }

    /// The file's content. `id` gives two signals of the same phase different contents.
    pub fn render(&self, id: &str) -> String {
        let mut out = format!("PHASE:{}\n", self.phase);
        if let Some(detail) = &self.detail {
            let label = match self.phase {
                Phase::NeedsHuman => "Question",
                _ => "Reason",
            };
            out.push_str(&format!("{label}: {detail}\n"));
        }
        for option in &self.ask.options {
            out.push_str(&format!("Option: {option}\n"));
        }
        if let Some(default) = &self.ask.default {
            out.push_str(&format!("Default: {default}\n"));
        }
        if let Some(within) = self.ask.within {
            out.push_str(&format!("Deadline: {}ms\n", within.as_millis()));
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
        let detail = detail.map(str::to_owned);
        PhaseReport { detail, session: session.map(Epoch), ..PhaseReport::new(phase) }
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
    fn what_may_be_half_of_it_is_waited_for() {
        for (content, expect) in [
            ("", Duration::ZERO),
            ("PHASE:awaiting_ci", Duration::ZERO),
            ("PHASE:done\n", Duration::ZERO),
            ("PHASE:awai", DETAIL_WITHIN),
            ("PHASE:failed", DETAIL_WITHIN),
            ("PHASE:failed\nReason:", DETAIL_WITHIN),
            ("PHASE:failed\nReason: no", MORE_WITHIN),
            ("PHASE:needs_human\nQuestion: A or B?\n", MORE_WITHIN),
            (&report(Phase::Failed, None, None).render("x"), Duration::ZERO),
        ] {
            assert_eq!(PhaseReport::settles_in(content), expect, "{content:?}");
        }
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
    fn a_question_has_options_a_default_and_a_deadline() {
        let content = "PHASE:needs_human\nQuestion: A or B?\nOption: A\nOption:  B\x1b[2J \nOption: A\nOption:\nDefault: A\nDeadline: 1h30m\nmore";
        let read = PhaseReport::parse(content).unwrap().unwrap();
        assert_eq!(read.detail.as_deref(), Some("A or B?\nmore"));
        let ask = Ask {
            options: vec!["A".into(), "B".into()],
            default: Some("A".into()),
            within: Some(Duration::from_secs(5400)),
        };
        assert_eq!(read.ask, ask);
        let written = PhaseReport { ask, ..report(Phase::NeedsHuman, Some("?"), Some(3)) };
        assert_eq!(PhaseReport::parse(&written.render("i")), Ok(Some(written)));
        let soon = PhaseReport::parse("PHASE:needs_human\nx\nDeadline: soon").unwrap().unwrap();
        assert_eq!((soon.detail.as_deref(), soon.ask), (Some("x\nDeadline: soon"), Ask::default()));
        let other = PhaseReport::parse("PHASE:failed\nOption: A").unwrap().unwrap();
        assert_eq!((other.detail.as_deref(), other.ask), (Some("Option: A"), Ask::default()));
        let many: String = (0..50).map(|n| format!("Option: {n}\n")).collect();
        let many = PhaseReport::parse(&format!("PHASE:needs_human\n{many}")).unwrap().unwrap();
        assert_eq!(many.ask.options.len(), OPTIONS_MAX);
    }

    #[test]
    fn what_we_render_we_read_back() {
        for phase in Phase::ALL {
            let r = report(phase, Some("because"), Some(3));
            assert_eq!(PhaseReport::parse(&r.render("i")), Ok(Some(r)));
        }
    }
}
