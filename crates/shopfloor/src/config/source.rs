//! A parsed file that still knows where everything stands, so that every error can point at it.

use super::error::{ConfigError, Place};
use shopfloor_core::redact::Redactor;
use shopfloor_core::text::{neutralise, one_line};
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Characters of a line that are shown.
const EXCERPT_MAX: usize = 120;
/// Characters of a message: it may quote a key, and a key may be as long as the file.
const MESSAGE_MAX: usize = 400;

pub(super) struct Source<'a> {
    file: &'a Path,
    text: &'a str,
    tree: Spanned<DeTable<'a>>,
}

/// What stands at a position: a key or a value, and the path to it.
pub(super) struct Found<'s> {
    pub path: Vec<String>,
    pub value: &'s DeValue<'s>,
}

impl<'a> Source<'a> {
    pub fn parse(file: &'a Path, text: &'a str) -> Result<Self, ConfigError> {
        let tree =
            DeTable::parse(text).map_err(|e| error_at(file, text, e.span().unwrap_or(0..0), e.message()))?;
        Ok(Source { file, text, tree })
    }

    pub fn tree(&self) -> &Spanned<DeTable<'a>> {
        &self.tree
    }

    /// An error at a range of the text.
    pub fn at(&self, range: Range<usize>, message: impl AsRef<str>) -> ConfigError {
        error_at(self.file, self.text, range, message.as_ref())
    }

    /// An error at the key of that path (at the value, for an element of an array). What is not in
    /// the file is shown at the nearest thing around it that is.
    pub fn at_key(&self, path: &[&str], message: impl AsRef<str>) -> ConfigError {
        match self.nearest(path) {
            Some((range, ..)) => self.at(range, message),
            None => self.whole(message),
        }
    }

    /// Where a part of the string at that path stands, if the file has the string letter for letter.
    pub fn within(&self, path: &[&str], string: &str, part: Range<usize>) -> Option<Range<usize>> {
        let (_, value, whole) = self.nearest(path)?;
        let span = value.span();
        let at = span.start + self.text.get(span)?.find(string).filter(|_| whole && !part.is_empty())?;
        Some(at + part.start..at + part.end)
    }

    /// The place and the value of that path, or of the nearest thing around it that there is; and which of the two.
    fn nearest<'s>(&'s self, path: &[&str]) -> Option<(Range<usize>, &'s Spanned<DeValue<'a>>, bool)> {
        let [first, rest @ ..] = path else { return None };
        let (mut range, mut value) = child_of_table(self.tree.get_ref(), first)?;
        for name in rest {
            let next = match value.get_ref() {
                DeValue::Table(table) => child_of_table(table, name),
                DeValue::Array(items) => {
                    let item = name.parse::<usize>().ok().and_then(|index| items.get(index));
                    item.map(|item| (item.span(), item))
                }
                _ => None,
            };
            match next {
                Some(next) => (range, value) = next,
                None => return Some((range, value, false)),
            }
        }
        Some((range, value, true))
    }

    /// Where the value at that path stands, if there is one.
    pub fn value_at(&self, path: &[&str]) -> Option<Range<usize>> {
        self.nearest(path).filter(|(.., whole)| *whole).map(|(_, value, _)| value.span())
    }

    pub fn whole(&self, message: impl AsRef<str>) -> ConfigError {
        ConfigError::whole_file(self.file, one_line(&clean(message.as_ref()), MESSAGE_MAX))
    }

    /// The key or value that stands at exactly that range. Tables made by a header span the header,
    /// not their content, so containment would not do.
    pub fn find(&self, range: &Range<usize>) -> Option<Found<'_>> {
        find_in_table(self.tree.get_ref(), range, &mut Vec::new())
    }
}

/// Where a key stands, in the words of the file.
pub(super) fn title(path: &[String]) -> String {
    match path {
        [] => "at the top level".into(),
        [names @ .., last] if last.parse::<usize>().is_ok() => format!("in [[{}]]", names.join(".")),
        names => format!("in [{}]", names.join(".")),
    }
}

fn child_of_table<'s, 'a>(
    table: &'s DeTable<'a>,
    name: &str,
) -> Option<(Range<usize>, &'s Spanned<DeValue<'a>>)> {
    let (key, value) = table.iter().find(|(key, _)| key.get_ref() == name)?;
    Some((key.span(), value))
}

fn find_in_table<'s>(
    table: &'s DeTable<'s>,
    range: &Range<usize>,
    path: &mut Vec<String>,
) -> Option<Found<'s>> {
    for (key, value) in table {
        path.push(key.get_ref().to_string());
        if key.span() == *range {
            return Some(Found { path: path.clone(), value: value.get_ref() });
        }
        if let Some(found) = find_in_value(value, range, path) {
            return Some(found);
        }
        path.pop();
    }
    None
}

fn find_in_value<'s>(
    value: &'s Spanned<DeValue<'s>>,
    range: &Range<usize>,
    path: &mut Vec<String>,
) -> Option<Found<'s>> {
    if value.span() == *range {
        return Some(Found { path: path.clone(), value: value.get_ref() });
    }
    match value.get_ref() {
        DeValue::Table(table) => find_in_table(table, range, path),
        DeValue::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(index.to_string());
                if let Some(found) = find_in_value(item, range, path) {
                    return Some(found);
                }
                path.pop();
            }
            None
        }
        _ => None,
    }
}

/// An error at a range of a text that may not even parse.
pub(super) fn error_at(file: &Path, text: &str, range: Range<usize>, message: &str) -> ConfigError {
    ConfigError {
        file: file.to_owned(),
        place: Some(Box::new(place(text, range))),
        message: one_line(&clean(message), MESSAGE_MAX),
        hint: None,
    }
}

/// What is shown may quote the file, and the file may hold anything.
fn clean(message: &str) -> String {
    Redactor::default().redact(&neutralise(message))
}

fn place(text: &str, range: Range<usize>) -> Place {
    let start = floor_boundary(text, range.start);
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    let line = text[..line_start].matches('\n').count() + 1;
    let column = text[line_start..start].chars().count() + 1;
    let content = text[line_start..line_end].trim_end();
    let indent = content.len() - content.trim_start().len();
    let (shown_start, shown) = (line_start + indent, &content[indent..]);

    if let Some(masked) = mask_secret(text, line_start, shown) {
        let mark = masked.find(['=', '…']).unwrap_or(masked.len());
        let width = masked[..mark].trim_end().chars().count();
        return Place::new(line, column, masked, (0, width));
    }
    let end = floor_boundary(text, range.end.clamp(start, line_end));
    let before = text[shown_start.min(start)..start].chars().count();
    let marked = text[start..end].trim_end().chars().count();
    let (excerpt, before) = window(&clean(shown).replace('\n', " "), before);
    let marked = marked.min(excerpt.chars().count().saturating_sub(before));
    Place::new(line, column, excerpt, (before, marked))
}

/// The part of a long line around the mark.
fn window(line: &str, mark: usize) -> (String, usize) {
    let skip = if mark > EXCERPT_MAX * 2 / 3 { mark - EXCERPT_MAX / 3 } else { 0 };
    let mut shown: String = line.chars().skip(skip).take(EXCERPT_MAX).collect();
    if line.chars().count() > skip + EXCERPT_MAX {
        shown.push('…');
    }
    if skip > 0 {
        return (format!("…{shown}"), mark - skip + 1);
    }
    (shown, mark)
}

fn floor_boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// In `[secrets]` only the key of a line is shown: whoever wrote a secret there by mistake must not
/// find it in a log as well. Decided on the text alone, because it must also hold for a file that
/// does not parse.
fn mask_secret(text: &str, line_start: usize, shown: &str) -> Option<String> {
    let is_secrets = |name: &str| name.trim_start_matches(['[', ' ', '\t', '"', '\'']).starts_with("secrets");
    if shown.starts_with('[')
        && let Some((header, rest)) = shown.split_once(']')
    {
        let rest = rest.trim_start_matches(']');
        return (is_secrets(header) && !rest.is_empty()).then(|| format!("{header}] …"));
    }
    let mut lines = text[..line_start].lines().rev();
    let header = lines.find(|line| line.trim_start().starts_with('[') && line.contains(']'));
    if !header.is_some_and(is_secrets) && !is_secrets(shown) {
        return None;
    }
    let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '"' | '\'' | ' ');
    match shown.split_once('=') {
        Some((key, _)) if key.len() <= 64 && key.chars().all(is_key) => {
            Some(format!("{} = …", key.trim_end()))
        }
        _ => Some("…".into()),
    }
}
