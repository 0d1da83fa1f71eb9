//! What a person decides of a gardener's questions: `1a 2c`.

use super::answer::letter;
use std::collections::BTreeMap;
use std::fmt;

/// The options of one part of a question; `None`: it is decided already.
pub type Open = Option<usize>;

/// Why an answer is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    pub word: String,
    pub right: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.word.is_empty() {
            true => write!(f, "it decides nothing; {}", self.right),
            false => write!(f, "{:?} is no option; {}", self.word, self.right),
        }
    }
}

/// The options that are chosen, by part: each part and option counted from 0. Parts may be left for later.
pub fn parse(parts: &[Open], text: &str) -> Result<BTreeMap<usize, usize>, Wrong> {
    let mut chosen = BTreeMap::new();
    let wrong = |word: &str| Wrong { word: crate::text::one_line(word, 40), right: right(parts) };
    for word in text.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty()) {
        let (part, option) = pick(parts, &word.to_lowercase()).ok_or_else(|| wrong(word))?;
        if chosen.insert(part, option).is_some_and(|before| before != option) {
            return Err(wrong(word));
        }
    }
    if chosen.is_empty() { Err(wrong("")) } else { Ok(chosen) }
}

fn pick(parts: &[Open], word: &str) -> Option<(usize, usize)> {
    let end = word.find(|c: char| !c.is_ascii_digit())?;
    let (number, rest) = word.split_at(end);
    let part = number.parse::<usize>().ok()?.checked_sub(1)?;
    let options = (*parts.get(part)?)?;
    let mut letters = rest.chars();
    let found = letters.next()?;
    let option = (0..options).find(|at| letter(*at) == found)?;
    letters.next().is_none().then_some((part, option))
}

/// What can be said.
pub fn right(parts: &[Open]) -> String {
    let open = (1..).zip(parts).filter_map(|(number, options)| {
        let last = letter((*options)?.checked_sub(1)?);
        Some(format!("{number}a to {number}{last}"))
    });
    format!("choose from {}", open.collect::<Vec<_>>().join(", "))
}
