//! The one error of configuration: where, what, and what to do about it.

use std::fmt;
use std::path::{Path, PathBuf};

/// A place in a file, with the line as it may be shown (secrets masked, no control characters).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    excerpt: String,
    /// The part of `excerpt` to underline, in characters.
    mark: (usize, usize),
}

impl Place {
    pub(super) fn new(line: usize, column: usize, excerpt: String, mark: (usize, usize)) -> Self {
        Place { line, column, excerpt, mark }
    }
}

/// Why a configuration file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    pub file: PathBuf,
    /// `None` when the error is about the file as a whole, or about something it lacks.
    pub place: Option<Box<Place>>,
    pub message: String,
    pub hint: Option<String>,
}

impl ConfigError {
    pub(super) fn whole_file(file: &Path, message: impl Into<String>) -> Self {
        ConfigError { file: file.to_owned(), place: None, message: message.into(), hint: None }
    }

    pub fn unreadable(file: &Path, why: &std::io::Error) -> Self {
        Self::whole_file(file, format!("cannot be read: {why}"))
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl std::error::Error for ConfigError {}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some(place) = &self.place {
            write!(f, ":{}:{}", place.line, place.column)?;
        }
        write!(f, ": {}", self.message)?;
        if let Some(place) = &self.place {
            let number = place.line.to_string();
            let (start, len) = place.mark;
            // A tab stays a tab under a tab, so the mark lines up however wide the terminal shows it.
            let pad: String =
                place.excerpt.chars().take(start).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
            write!(f, "\n  {number} | {}", place.excerpt)?;
            write!(f, "\n  {:width$} | {pad}{}", "", "^".repeat(len.max(1)), width = number.len())?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\n  hint: {hint}")?;
        }
        Ok(())
    }
}
