//! What a type cannot say about a runtime: constraints between keys, and values that no later part could use.

use super::template::{self, Launch, PLACEHOLDERS, TemplateError};
use super::{DeliveryMode, Meaning, Readiness, RuntimeSpec, Where};

/// What is wrong, where, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SpecError {
    /// The keys that lead there. A rule is given by its name.
    pub path: Vec<String>,
    pub message: String,
    pub hint: Option<String>,
}

type Checked = Result<(), SpecError>;

fn wrong(path: &[&str], message: impl Into<String>, hint: impl Into<String>) -> SpecError {
    let path = path.iter().map(|key| (*key).to_owned()).collect();
    let hint = hint.into();
    SpecError { path, message: message.into(), hint: (!hint.is_empty()).then_some(hint) }
}

const RULES_MAX: usize = 200;

impl RuntimeSpec {
    /// Whether every part of it can be relied upon.
    pub fn validate(&self) -> Checked {
        self.check_commands()?;
        self.check_capabilities()?;
        self.check_submit()?;
        self.check_timing()?;
        self.check_screen()
    }

    fn check_commands(&self) -> Checked {
        launch(&["launch"], &self.launch)?;
        if let Some(fork) = &self.fork {
            launch(&["fork"], fork)?;
        }
        if let Some(resume) = &self.resume {
            launch(&["resume"], resume)?;
        }
        if let Some(version) = &self.version
            && version.argv.first().is_none_or(|program| program.trim().is_empty())
        {
            return Err(wrong(&["version", "argv"], "`argv` in [version] names no program", ""));
        }
        Ok(())
    }

    fn check_capabilities(&self) -> Checked {
        let can = &self.capabilities;
        if can.resume != self.resume.is_some() {
            return Err(wrong(
                &["capabilities", "resume"],
                "`resume` in [capabilities] and the table [resume] go together",
                "write both or neither",
            ));
        }
        if self.readiness == Readiness::Hook && !can.hooks {
            return Err(wrong(
                &["readiness"],
                "readiness = \"hook\" needs hooks, which [capabilities] says it has not",
                "write readiness = \"screen\" or \"process\"",
            ));
        }
        if self.readiness == Readiness::Screen && self.screen.prompt.is_none() {
            return Err(wrong(
                &["readiness"],
                "readiness = \"screen\" needs `prompt` in [screen]: the composer's mark",
                "",
            ));
        }
        if (can.delivery == DeliveryMode::Paste) != self.submit.is_some() {
            return Err(wrong(
                &["capabilities", "delivery"],
                "delivery = \"paste\" and the table [submit] go together",
                "add [submit], or write delivery = \"inbox\"",
            ));
        }
        if can.delivery == DeliveryMode::Paste && self.screen.prompt.is_none() {
            return Err(wrong(
                &["capabilities", "delivery"],
                "delivery = \"paste\" needs `prompt` in [screen]: nothing is typed where no empty composer is seen",
                "",
            ));
        }
        Ok(())
    }

    fn check_submit(&self) -> Checked {
        let Some(submit) = &self.submit else { return Ok(()) };
        if !self.capabilities.hooks {
            return Err(wrong(
                &["submit", "confirm"],
                "a confirmation by hook needs hooks, which [capabilities] says it has not",
                "a runtime without hooks takes its messages by delivery = \"inbox\"",
            ));
        }
        if submit.key.trim().is_empty() || submit.key.chars().any(char::is_control) {
            return Err(wrong(
                &["submit", "key"],
                "`key` in [submit] is not the name of a key",
                "for example \"Enter\"",
            ));
        }
        if submit.resend_max > 10 {
            return Err(wrong(
                &["submit", "resend_max"],
                "`resend_max` in [submit] must be from 0 to 10",
                "",
            ));
        }
        for (key, value, min, max) in
            [("pause_ms", submit.pause_ms, 1, 10_000), ("confirm_ms", submit.confirm_ms, 100, 600_000)]
        {
            if !(min..=max).contains(&value) {
                let message = format!("`{key}` in [submit] is {value}: it must be from {min} to {max}");
                return Err(wrong(&["submit", key], message, ""));
            }
        }
        Ok(())
    }

    fn check_timing(&self) -> Checked {
        let t = &self.timing;
        for (key, value) in [
            ("start_ms", t.start_ms),
            ("settle_ms", t.settle_ms),
            ("fresh_ms", t.fresh_ms),
            ("frozen_ms", t.frozen_ms),
            ("stuck_ms", t.stuck_ms),
            ("no_progress_ms", t.no_progress_ms),
            ("idle_gap_ms", t.idle_gap_ms),
            ("look_ms", t.look_ms),
            ("strike_ms", t.strike_ms),
        ] {
            if !(1..=7 * 86_400_000).contains(&value) {
                let message = format!("`{key}` in [timing] is {value}: it must be from 1 ms to 7 days");
                return Err(wrong(&["timing", key], message, ""));
            }
        }
        if !(1..=100).contains(&t.context_low_percent) {
            return Err(wrong(
                &["timing", "context_low_percent"],
                "`context_low_percent` in [timing] must be from 1 to 100",
                "",
            ));
        }
        Ok(())
    }

    fn check_screen(&self) -> Checked {
        let rules = &self.screen.rules;
        if rules.len() > RULES_MAX {
            return Err(wrong(&["screen", "rules"], format!("there are more than {RULES_MAX} rules"), ""));
        }
        if self.screen.prompt.as_ref().is_some_and(|mark| mark.trim().is_empty()) {
            return Err(wrong(
                &["screen", "prompt"],
                "`prompt` in [screen] is blank",
                "leave the line out instead",
            ));
        }
        for rule in rules {
            let at = |key, message: String, hint: &str| {
                Err(wrong(&["screen", "rules", &rule.name, key], message, hint))
            };
            let name = &rule.name;
            if name.is_empty() || name.len() > 60 || name.chars().any(char::is_control) {
                return at("name", "a rule's name is one line of 1 to 60 characters".into(), "");
            }
            if rules.iter().filter(|other| other.name == *name).count() > 1 {
                return at("name", format!("two rules are named {name:?}"), "");
            }
            if rule.any.is_empty() && rule.all.is_empty() {
                return at("any", format!("the rule {name:?} has no pattern"), "add any = [\"…\"]");
            }
            if rule.place == Where::LastTurn && self.screen.prompt.is_none() {
                return at(
                    "where",
                    format!("the rule {name:?} looks at the last turn, but nothing says how a turn begins"),
                    "set `prompt` in [screen]",
                );
            }
            if rule.meaning != Meaning::Limited && !rule.reset.is_empty() {
                return at(
                    "reset",
                    format!("the rule {name:?} has a `reset` but does not mean \"limited\""),
                    "",
                );
            }
            if rule.reset.iter().any(|reset| reset.after.is_empty()) {
                return at("reset", format!("a `reset` of the rule {name:?} has an empty `after`"), "");
            }
        }
        Ok(())
    }
}

fn launch(path: &[&str], launch: &Launch) -> Checked {
    let table = path.join(".");
    let explain = |key: &str, error: TemplateError| {
        let hint = match error {
            TemplateError::Unknown(_) => {
                let known: Vec<&str> = PLACEHOLDERS.iter().map(|(name, _)| *name).collect();
                format!("placeholders: {}", known.join(", "))
            }
            _ => String::new(),
        };
        wrong(&[path, &[key]].concat(), format!("`{key}` in [{table}]: {error}"), hint)
    };
    let words = |key: &str, words: &[String]| {
        for word in words {
            let parts = template::parts(word, &template::known()).map_err(|e| explain(key, e))?;
            if parts.iter().any(template::is_several) && template::several(word).is_none() {
                return Err(explain(key, TemplateError::Splat(word.clone())));
            }
        }
        Ok(())
    };
    if launch.argv.first().is_none_or(|program| program.trim().is_empty()) {
        return Err(explain("argv", TemplateError::Empty));
    }
    words("argv", &launch.argv)?;
    for (name, option) in &launch.options {
        if !PLACEHOLDERS.iter().any(|(known, _)| known == name) {
            return Err(explain("options", TemplateError::Unknown(name.clone())));
        }
        words("options", option)?;
    }
    for value in launch.env.values() {
        words("env", std::slice::from_ref(value))?;
        if template::several(value).is_some() {
            return Err(explain("env", TemplateError::Splat(value.clone())));
        }
    }
    Ok(())
}
