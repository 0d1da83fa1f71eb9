//! Command lines with placeholders. Strict: an unknown placeholder, or one without a value, is an error and never
//! an empty argument.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The placeholders a runtime may use, and what they stand for.
pub const PLACEHOLDERS: [(&str, &str); 11] = [
    ("command", "the project's `command`, word by word; only as an argument of its own"),
    ("model", "the role's `model`"),
    ("name", "the session's name"),
    ("overrides", "the settings of the session, word by word; only as an argument of its own"),
    ("permission_mode", "the project's permission mode"),
    ("prompt_file", "the file with the first prompt"),
    ("role", "dev or review"),
    ("session_dir", "the session's own folder"),
    ("session_id", "the client's id of the conversation"),
    ("settings_file", "the settings we wrote for the session"),
    ("worktree", "the session's worktree"),
];

/// The placeholders that stand for several arguments.
const SEVERAL: [&str; 2] = ["command", "overrides"];

/// Which of those a word is, if it is one and nothing else.
pub(super) fn several(word: &str) -> Option<&str> {
    let name = word.strip_prefix('{')?.strip_suffix('}')?;
    SEVERAL.contains(&name).then_some(name)
}

pub(super) fn is_several(part: &Part<'_>) -> bool {
    matches!(part, Part::Name(name) if SEVERAL.contains(name))
}

/// What is run. `options` are appended, by name, for each placeholder that has a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Launch {
    pub argv: Vec<String>,
    #[serde(default)]
    pub options: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
}

/// Values of placeholders. All are one word, except for `command` and `overrides`.
pub type Values = BTreeMap<String, Vec<String>>;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    #[error("{{{0}}} is not a placeholder")]
    Unknown(String),
    #[error("the placeholder {{{0}}} has no value here")]
    NoValue(String),
    #[error("{0:?} has a brace without its pair; write {{{{ or }}}} for the character")]
    Brace(String),
    #[error("a placeholder that stands for several arguments cannot be a part of {0:?}")]
    Splat(String),
    #[error("it names no program")]
    Empty,
    #[error("an argument holds a NUL character")]
    Nul,
}

impl Launch {
    /// The arguments, with every placeholder filled in.
    pub fn argv(&self, values: &Values) -> Result<Vec<String>, TemplateError> {
        let mut argv = Vec::new();
        for word in &self.argv {
            fill_word(word, values, &mut argv)?;
        }
        for (name, words) in &self.options {
            if values.get(name).is_some_and(|value| !value.is_empty()) {
                for word in words {
                    fill_word(word, values, &mut argv)?;
                }
            }
        }
        match argv.first() {
            None => Err(TemplateError::Empty),
            Some(program) if program.is_empty() => Err(TemplateError::Empty),
            Some(_) if argv.iter().any(|word| word.contains('\0')) => Err(TemplateError::Nul),
            Some(_) => Ok(argv),
        }
    }

    pub fn env(&self, values: &Values) -> Result<Vec<(String, String)>, TemplateError> {
        self.env.iter().map(|(name, text)| Ok((name.clone(), fill(text, values)?))).collect()
    }
}

/// The names of [`PLACEHOLDERS`].
pub(super) fn known() -> Vec<&'static str> {
    PLACEHOLDERS.iter().map(|(name, _)| *name).collect()
}

fn fill_word(word: &str, values: &Values, argv: &mut Vec<String>) -> Result<(), TemplateError> {
    if let Some(name) = several(word) {
        let words = values.get(name).ok_or_else(|| TemplateError::NoValue(name.to_owned()))?;
        argv.extend(words.iter().cloned());
    } else {
        argv.push(fill(word, values)?);
    }
    Ok(())
}

fn fill(text: &str, values: &Values) -> Result<String, TemplateError> {
    let mut out = String::new();
    for part in parts(text, &known())? {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Name(name) if SEVERAL.contains(&name) => return Err(TemplateError::Splat(text.to_owned())),
            Part::Name(name) => match values.get(name).map(Vec::as_slice) {
                Some([value]) => out.push_str(value),
                _ => return Err(TemplateError::NoValue(name.to_owned())),
            },
        }
    }
    Ok(out)
}

pub(crate) enum Part<'t> {
    Text(&'t str),
    Name(&'t str),
}

/// A template's parts; every name is one of `known`.
pub(crate) fn parts<'t>(text: &'t str, known: &[&str]) -> Result<Vec<Part<'t>>, TemplateError> {
    let brace = || TemplateError::Brace(text.to_owned());
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        parts.push(Part::Text(before));
        if from.starts_with("{{") || from.starts_with("}}") {
            parts.push(Part::Text(&from[..1]));
            rest = &from[2..];
            continue;
        }
        let (name, after) = from.strip_prefix('{').and_then(|from| from.split_once('}')).ok_or_else(brace)?;
        if !known.contains(&name) {
            return Err(TemplateError::Unknown(name.chars().take(40).collect()));
        }
        parts.push(Part::Name(name));
        rest = after;
    }
    parts.push(Part::Text(rest));
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(argv: &[&str]) -> Launch {
        Launch { argv: argv.iter().map(|w| w.to_string()).collect(), ..Launch::default() }
    }

    fn values(pairs: &[(&str, &[&str])]) -> Values {
        pairs.iter().map(|(k, v)| (k.to_string(), v.iter().map(|w| w.to_string()).collect())).collect()
    }

    #[test]
    fn placeholders_are_filled_or_it_is_an_error() {
        let values = values(&[("session_id", &["abc"]), ("command", &["sh", "-c", "{model}"])]);
        let argv = |words: &[&str]| launch(words).argv(&values);
        assert_eq!(argv(&["x", "--id={session_id}"]).unwrap(), ["x", "--id=abc"]);
        // A value is never read as a template again.
        assert_eq!(argv(&["{command}"]).unwrap(), ["sh", "-c", "{model}"]);
        assert_eq!(argv(&["x", "{{a}}"]).unwrap(), ["x", "{a}"]);
        assert_eq!(argv(&["x", "{model}"]), Err(TemplateError::NoValue("model".into())));
        assert_eq!(argv(&["x", "{sesion_id}"]), Err(TemplateError::Unknown("sesion_id".into())));
        assert_eq!(argv(&["x", "{"]), Err(TemplateError::Brace("{".into())));
        assert_eq!(argv(&["x", "a}"]), Err(TemplateError::Brace("a}".into())));
        assert_eq!(argv(&["a{command}"]), Err(TemplateError::Splat("a{command}".into())));
        assert_eq!(argv(&[]), Err(TemplateError::Empty));
    }

    #[test]
    fn options_appear_with_their_value() {
        let mut launch = launch(&["x"]);
        launch.options.insert("model".into(), vec!["--model".into(), "{model}".into()]);
        assert_eq!(launch.argv(&Values::new()).unwrap(), ["x"]);
        assert_eq!(launch.argv(&values(&[("model", &["m"])])).unwrap(), ["x", "--model", "m"]);
        launch.options.insert("overrides".into(), vec!["{overrides}".into()]);
        let values = values(&[("overrides", &["-c", "a={}"])]);
        assert_eq!(launch.argv(&values).unwrap(), ["x", "-c", "a={}"]);
    }
}
