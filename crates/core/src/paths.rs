//! Patterns for files below a folder: `/` between names, `*`, `?` and `[a-z]` within one, `**` for any number of
//! folders. A name that begins with a dot is matched only by a pattern that does.

use crate::runtime::Glob;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// `**`: this folder and all below it.
    Deep,
    /// `*`: any name.
    Any,
    Name(Glob),
}

impl Segment {
    pub fn matches(&self, name: &str) -> bool {
        let hidden = name.starts_with('.');
        match self {
            Segment::Deep => false,
            Segment::Any => !hidden,
            Segment::Name(glob) => (!hidden || glob.as_str().starts_with('.')) && glob.matches(name),
        }
    }
}

/// A pattern that cannot leave the folder it is used in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathGlob(Vec<Segment>);

impl PathGlob {
    pub fn new(text: &str) -> Result<PathGlob, String> {
        if text.starts_with('/') {
            return Err("it must be relative: it is looked for in the worktree".to_owned());
        }
        let mut segments = Vec::new();
        for part in text.split('/') {
            segments.push(match part {
                "" => return Err("a name in it is empty".to_owned()),
                "." | ".." => return Err(format!("`{part}` is no name")),
                "**" => Segment::Deep,
                "*" => Segment::Any,
                part if part.contains("**") => return Err("`**` stands alone between slashes".to_owned()),
                part => Segment::Name(Glob::new(part).map_err(|e| e.why.to_owned())?),
            });
        }
        if segments.last() == Some(&Segment::Deep) {
            segments.push(Segment::Any);
        }
        Ok(PathGlob(segments))
    }

    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// Whether a relative path, with `/` between its names, matches.
    pub fn matches(&self, path: &str) -> bool {
        let names: Vec<&str> = path.split('/').collect();
        matches_from(&self.0, &names, Segment::matches)
    }

    /// The same, and a hidden name is a name like any other.
    pub fn matches_all(&self, path: &str) -> bool {
        let names: Vec<&str> = path.split('/').collect();
        matches_from(&self.0, &names, |segment, name| match segment {
            Segment::Deep => false,
            Segment::Any => true,
            Segment::Name(glob) => glob.matches(name),
        })
    }
}

fn matches_from(segments: &[Segment], names: &[&str], is: fn(&Segment, &str) -> bool) -> bool {
    match segments.split_first() {
        None => names.is_empty(),
        Some((Segment::Deep, rest)) => {
            // Only into folders that are not hidden, as when files are looked for.
            matches_from(rest, names, is)
                || names.split_first().is_some_and(|(first, below)| {
                    is(&Segment::Any, first) && matches_from(segments, below, is)
                })
        }
        Some((segment, rest)) => names
            .split_first()
            .is_some_and(|(first, below)| is(segment, first) && matches_from(rest, below, is)),
    }
}

/// A value, escaped so that a pattern matches exactly that value.
pub fn escape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for c in value.chars() {
        if matches!(c, '*' | '?' | '[' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stay_below_their_folder() {
        for bad in ["", "/etc/*", "../x", "a/../b", "a//b", "./a", "a/", "a**/b", "[x", "a/\u{1b}"] {
            assert!(PathGlob::new(bad).is_err(), "{bad:?}");
        }
        assert_eq!(PathGlob::new("docs/**/*.md").unwrap().segments().len(), 3);
        assert_eq!(PathGlob::new("docs/**").unwrap().segments()[2], Segment::Any);
    }

    #[test]
    fn a_value_matches_itself_only() {
        let name = |pattern: &str| PathGlob::new(pattern).unwrap().segments()[0].clone();
        for value in ["5.3", "*", "a[b]c", "x\\y", "?"] {
            let segment = name(&format!("{}-*.md", escape(value)));
            assert!(segment.matches(&format!("{value}-login.md")), "{value}");
            assert!(!segment.matches("other-login.md"), "{value}");
        }
        assert!(!name("*.md").matches(".hidden.md") && name(".h*").matches(".hidden.md"));
    }
}
