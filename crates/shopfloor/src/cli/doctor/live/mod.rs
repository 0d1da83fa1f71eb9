//! The installed client, tried: started, prompted, refused, resumed, each time read by the rules that the
//! factory reads it by. One verdict a behaviour. What is not tried says so.
//!
//! It costs nothing and touches nothing of the user's: see [`trial`].

mod model;
mod trial;

use super::Check;
use model::{COMMAND, RUN};
use shopfloor_adapters::agent::transcript::TurnLine;
use shopfloor_core::delivery::{is_ours, same_prompt};
use shopfloor_core::liveness::{HookEvent, StartSource, TurnEnd};
use shopfloor_core::runtime::screen::Composer;
use shopfloor_core::runtime::{DialogKind, ErrorKind, Launch, Meaning, Readiness, RuntimeSpec};
use shopfloor_core::text::one_line;
use std::time::Duration;
use trial::{Pane, Place, Trial};

/// What takes more than a trial: it is in the recordings only.
pub const NOT_TRIED: &str = "whether it is logged in, limits, compaction, permission dialogs, questions, Esc";

/// A conversation that nobody had.
const NOBODYS: &str = "00000000-0000-4000-8000-000000000000";
const OWN: &str = "5f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f9";
/// Rows of a screen that a failure shows.
const ROWS_SHOWN: usize = 8;

type Finding = Result<String, String>;

/// Tries everything, in an order in which each step stands on those before.
pub fn run(client: &str, spec: &RuntimeSpec) -> Vec<Check> {
    let mut checks = Vec::new();
    let mut judge = |behaviour: &str, verdict: Finding| {
        let good = verdict.is_ok();
        let name = format!("{client} tried: {behaviour}");
        checks.push(match verdict {
            Ok(detail) => Check::ok(name, detail),
            Err(detail) => Check::fail(name, detail)
                .hint("this version behaves otherwise than its runtime says; see --runtime and --screens"),
        });
        good
    };
    match Trial::new(spec) {
        Ok(trial) => {
            Suite { trial: &trial, spec }.run(&mut judge);
        }
        Err(why) => {
            judge("trial", Err(why));
        }
    }
    checks
}

struct Suite<'t> {
    trial: &'t Trial<'t>,
    spec: &'t RuntimeSpec,
}

impl<'t> Suite<'t> {
    /// Nothing if a step failed that the rest stands on.
    fn run(&self, judge: &mut impl FnMut(&str, Finding) -> bool) -> Option<()> {
        let started = self.trial.start("first", &self.spec.launch, OWN, Place::Trusted);
        let pane = match started.and_then(|pane| self.starts(pane)) {
            Ok(pane) => pane,
            Err(why) => {
                judge("starts", Err(why));
                return None;
            }
        };
        judge("starts", Ok("asks nothing, and its composer is seen empty".into()));
        if self.spec.capabilities.statusline {
            judge("status line", self.clock(&pane));
        }
        let first = "Say yes.\nThis is a trial; nothing else is to be done.";
        judge("prompt", self.submit(&pane, first)).then_some(())?;
        judge("at work", self.works(&pane));
        self.trial.model.speak();
        judge("turn's end", self.turn_ends(&pane, 1)).then_some(())?;
        judge("guard", self.guard(&pane));
        self.trial.model.refuse(true);
        judge("failed turn", self.fails(&pane));
        self.trial.model.refuse(false);
        if let Some(resume) = &self.spec.resume {
            judge("resume", self.resumes(pane, resume, first));
            judge("resume of nothing", self.resumes_nothing(resume));
        }
        judge("dialog", self.dialog());
        Some(())
    }

    fn starts(&self, pane: Pane<'t>) -> Result<Pane<'t>, String> {
        let settled = self.trial.wait(|| {
            let reading = pane.reading();
            pane.has_ended()
                || reading.composer == Composer::Empty
                || reading.meaning().is_some_and(Meaning::is_dialog)
        });
        let reading = pane.reading();
        if pane.has_ended() {
            return Err(shown("it ended at once", &pane));
        }
        if !settled || reading.composer != Composer::Empty {
            return Err(shown("its composer is not seen empty", &pane));
        }
        let told = || self.trial.count(|event| matches!(event, HookEvent::SessionStart { .. })) > 0;
        if self.spec.readiness == Readiness::Hook && !self.trial.wait(told) {
            return Err("its SessionStart hook does not reach us".into());
        }
        Ok(pane)
    }

    fn clock(&self, pane: &Pane<'_>) -> Finding {
        if !self.trial.wait(|| self.trial.clock().is_some()) {
            return Err("it never calls our status line".into());
        }
        let first = self.trial.clock();
        if !self.trial.wait(|| self.trial.clock() != first) {
            return Err("the status line's clock stands still".into());
        }
        match self.trial.wait(|| pane.reading().statusline.is_some()) {
            true => Ok("its clock moves, and is seen on the screen".into()),
            false => Err(shown("the status line is not seen on the screen", pane)),
        }
    }

    /// By the runtime's own recipe: paste, see it, pause, key, hook.
    fn submit(&self, pane: &Pane<'_>, text: &str) -> Finding {
        let Some(recipe) = &self.spec.submit else { return Err("it has no recipe for typing".into()) };
        let taken = |event: &HookEvent| matches!(event, HookEvent::UserPromptSubmit { prompt, .. } if same_prompt(prompt, text));
        if !pane.wait_composer(|composer| *composer == Composer::Empty) {
            return Err(shown("its composer is not seen empty", pane));
        }
        pane.paste(text)?;
        if !pane.wait_composer(|composer| is_ours(composer, text)) {
            return Err(shown("what was pasted is not seen in the composer", pane));
        }
        std::thread::sleep(Duration::from_millis(recipe.pause_ms));
        pane.press(&recipe.key)?;
        match self.trial.wait(|| self.trial.count(taken) > 0) {
            true => Ok("pasted, seen, submitted, and confirmed by its hook word for word".into()),
            false => Err(shown("its UserPromptSubmit hook does not confirm what was typed", pane)),
        }
    }

    fn works(&self, pane: &Pane<'_>) -> Finding {
        let busy = || {
            pane.reading().meaning().is_some_and(Meaning::is_busy)
                || pane.title().is_some_and(Meaning::is_busy)
        };
        match self.trial.wait(busy) {
            true => Ok("seen while the model keeps silent".into()),
            false => Err(shown("a turn that runs is not seen", pane)),
        }
    }

    fn turn_ends(&self, pane: &Pane<'_>, turns: usize) -> Finding {
        if !self.trial.wait(|| self.trial.count(|event| matches!(event, HookEvent::Stop { .. })) >= turns) {
            return Err(shown("its Stop hook does not reach us", pane));
        }
        let rests = || {
            let reading = pane.reading();
            !reading.meaning().is_some_and(Meaning::is_busy) && reading.composer == Composer::Empty
        };
        match self.trial.wait(rests) {
            true => Ok("told by its hook, and seen".into()),
            false => Err(shown("a turn that ended is still seen to run", pane)),
        }
    }

    fn guard(&self, pane: &Pane<'_>) -> Finding {
        self.submit(pane, &format!("{RUN} that you know. This is a trial."))?;
        self.turn_ends(pane, 2)?;
        if self.trial.count(|event| matches!(event, HookEvent::PreToolUse { .. })) == 0 {
            return Err("its PreToolUse hook does not reach us: commands cannot be refused".into());
        }
        match self.trial.model.was_told("(shopfloor: force-push)") {
            true => Ok(format!("`{COMMAND}` was refused, and its model told why")),
            false => Err(shown("a command that was refused is not reported to its model as refused", pane)),
        }
    }

    fn fails(&self, pane: &Pane<'_>) -> Finding {
        self.submit(pane, "Say yes again. The key is not accepted now.")?;
        let told = || {
            let hook = self.trial.count(|event| {
                matches!(event, HookEvent::StopFailure { error, subagent: false, .. } if self.spec.error_kind(error) == ErrorKind::Auth)
            });
            let log = TurnLine::Ends(TurnEnd::Failed { error: ErrorKind::Auth });
            hook > 0 || self.trial.logged().contains(&log)
        };
        if !self.trial.wait(told) {
            return Err(shown("neither a hook nor its log tells that a turn failed, and why", pane));
        }
        match pane.wait_meaning(|meaning| meaning == Meaning::Error(ErrorKind::Auth)) {
            true => Ok("a key that is not accepted is told, and seen".into()),
            false => Err(shown("the error on the screen is not taken for one of the key", pane)),
        }
    }

    /// The client ends without a word, and its conversation is taken up again.
    fn resumes(&self, pane: Pane<'_>, resume: &Launch, first: &str) -> Finding {
        let told = self.trial.told();
        let Some(conversation) = told.first().map(|told| told.conversation.clone()) else {
            return Err("its conversation has no id".into());
        };
        pane.end()?;
        let pane = self.trial.start("second", resume, &conversation, Place::Trusted)?;
        let pane = self.starts(pane)?;
        let next = "Say yes once more. You were ended in between.";
        self.submit(&pane, next)?;
        let opening = first.lines().next().unwrap_or_default();
        if !self.trial.wait(|| self.trial.model.heard(opening, next)) {
            return Err("what was said before is not in what its model is asked".into());
        }
        let resumed = |event: &HookEvent| *event == HookEvent::SessionStart { source: StartSource::Resume };
        if !self.trial.wait(|| self.trial.count(resumed) > 0) {
            return Err("its SessionStart hook does not say that it resumed".into());
        }
        pane.end()?;
        Ok("it remembers what was said before it was ended".into())
    }

    fn resumes_nothing(&self, resume: &Launch) -> Finding {
        let pane = self.trial.start("third", resume, NOBODYS, Place::Trusted)?;
        let over = self.trial.wait(|| pane.has_ended());
        let verdict = match over {
            true => Ok(format!(
                "it ends, and says: {}",
                rows(&pane.output()).last().map_or("nothing", String::as_str)
            )),
            false => Err(shown("a conversation that nobody had does not make it end", &pane)),
        };
        pane.end().and(verdict)
    }

    fn dialog(&self) -> Finding {
        let pane = self.trial.start("fourth", &self.spec.launch, NOBODYS, Place::Untrusted)?;
        let seen = pane.wait_meaning(|meaning| meaning == Meaning::Dialog(DialogKind::Trust));
        let verdict = match (seen, pane.reading().composer) {
            (true, Composer::Empty) => Err(shown("a composer is seen where a dialog is", &pane)),
            (true, _) => Ok("its question whether a folder is trusted is taken for a dialog".into()),
            (false, _) => Err(shown("a folder that nobody trusts brings up no dialog that is seen", &pane)),
        };
        pane.end().and(verdict)
    }
}

fn rows(screen: &str) -> Vec<String> {
    let rows = screen.lines().map(str::trim_end).filter(|row| !row.is_empty());
    rows.map(|row| one_line(row, 120)).collect()
}

/// What is wrong, with the end of the screen.
fn shown(what: &str, pane: &Pane<'_>) -> String {
    let rows = rows(&pane.output());
    let end = rows[rows.len().saturating_sub(ROWS_SHOWN)..].join("\n  ");
    format!("{what}; it shows:\n  {end}")
}
