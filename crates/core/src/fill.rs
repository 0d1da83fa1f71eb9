//! Templates of the project's own: a step's command and prompt, a verifier's paths and arguments.
//!
//! Invariants: an unknown name is an error and never an empty text; a value is never read as a template again; a
//! value that begins with `-` cannot become an option of the program.

use crate::runtime::TemplateError;
use crate::runtime::template::{Part, parts};

/// Names and values.
pub type Values<'a> = [(&'a str, &'a str)];

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FillError {
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error("{{{0}}} begins an argument and its value begins with `-`: it would be taken for an option")]
    Option(String),
    #[error("a value holds a NUL character")]
    Nul,
}

/// Fills a text in.
pub fn text(template: &str, values: &Values<'_>) -> Result<String, FillError> {
    with(template, values, str::to_owned)
}

/// Fills a text in, each value changed by `escape` first.
pub fn with(
    template: &str,
    values: &Values<'_>,
    escape: impl Fn(&str) -> String,
) -> Result<String, FillError> {
    let known: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
    let mut out = String::new();
    for part in parts(template, &known)? {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Name(name) => out.push_str(&escape(value(name, values))),
        }
    }
    if out.contains('\0') { Err(FillError::Nul) } else { Ok(out) }
}

/// Fills in the words of a command. Each stays one word, whatever its values hold.
pub fn argv(template: &[String], values: &Values<'_>) -> Result<Vec<String>, FillError> {
    let known: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
    let mut words = Vec::new();
    for word in template {
        let first = parts(word, &known)?.into_iter().find(|part| !matches!(part, Part::Text("")));
        if let Some(Part::Name(name)) = first
            && value(name, values).starts_with('-')
        {
            return Err(FillError::Option(name.to_owned()));
        }
        words.push(text(word, values)?);
    }
    Ok(words)
}

/// Whether a template uses a placeholder; `known` are those it may use.
pub fn uses(template: &str, name: &str, known: &[&str]) -> Result<bool, TemplateError> {
    Ok(parts(template, known)?.iter().any(|part| matches!(part, Part::Name(used) if *used == name)))
}

fn value<'v>(name: &str, values: &Values<'v>) -> &'v str {
    values.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: [(&str, &str); 3] = [("story", "5.3; {step}"), ("step", "create"), ("extra", "-rf")];

    #[test]
    fn placeholders_are_filled_once_or_it_is_an_error() {
        assert_eq!(text("{step} {{x}} {story}", &VALUES).unwrap(), "create {x} 5.3; {step}");
        let unknown = FillError::Template(TemplateError::Unknown("stroy".into()));
        assert_eq!(text("{stroy}", &VALUES), Err(unknown));
        assert!(matches!(text("{", &VALUES), Err(FillError::Template(TemplateError::Brace(_)))));
        assert_eq!(text("{a}", &[("a", "\0")]), Err(FillError::Nul));
    }

    #[test]
    fn a_value_stays_one_word_and_no_option() {
        let words = |words: &[&str]| argv(&words.iter().map(|w| w.to_string()).collect::<Vec<_>>(), &VALUES);
        assert_eq!(words(&["bot", "--story={story}"]).unwrap(), ["bot", "--story=5.3; {step}"]);
        assert_eq!(words(&["bot", "{extra}"]), Err(FillError::Option("extra".into())));
        assert_eq!(words(&["bot", "Also: {extra}"]).unwrap(), ["bot", "Also: -rf"]);
    }
}
