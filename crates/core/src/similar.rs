//! Whether two titles say the same thing: what keeps agents from making an issue that is there already.
//!
//! A title is taken as the set of its words, without endings and without those that say nothing, so that order and
//! inflection make no difference. If each of two titles has words that the other lacks, those words are usually what the
//! titles are about (`… on Debian 12`, `… on Debian 13`): then hardly anything may differ. If only one has, it mostly says
//! the same in more words. Pure, and without history: the same two titles are always as alike.

use std::cmp::Ordering;
use std::collections::HashSet;

/// How much of both has to be the same, in per cent: if one title only says more, and if each says something else. Chosen
/// on the table in the tests.
const MORE_PERCENT: u32 = 60;
const ELSE_PERCENT: u32 = 85;
/// Of longer titles the rest is not compared.
const CHARS_MAX: usize = 300;
/// So many words are told apart: few titles have more than twenty.
const SLOTS: usize = 1 << 16;

/// What is left of a word without its ending.
const STEM_BYTES_MIN: usize = 3;

/// Words that say nothing of what a title is about, and the length of the longest.
const STOP_BYTES_MAX: usize = 4;
const STOP: [&str; 16] =
    ["a", "an", "the", "is", "are", "be", "to", "of", "in", "on", "for", "and", "or", "it", "its", "that"];

/// One title, to be compared with many.
pub struct Title {
    words: u32,
    mine: Vec<bool>,
    /// For each word, the last title that had it: cleared by counting on.
    seen: Vec<u32>,
    round: u32,
}

impl Title {
    pub fn new(title: &str) -> Title {
        let mut words = HashSet::new();
        each_word(title, |word| {
            words.insert(word);
        });
        let mut mine = vec![false; SLOTS];
        words.iter().for_each(|word| mine[*word] = true);
        Title { words: words.len() as u32, mine, seen: vec![0; SLOTS], round: 0 }
    }

    pub fn is_like(&mut self, other: &str) -> bool {
        self.round += 1;
        let (round, mut theirs, mut shared) = (self.round, 0, 0);
        let (seen, mine) = (&mut self.seen, &self.mine);
        each_word(other, |word| {
            if seen[word] != round {
                seen[word] = round;
                theirs += 1;
                shared += u32::from(mine[word]);
            }
        });
        is_enough(shared, self.words, theirs)
    }
}

fn is_enough(shared: u32, mine: u32, theirs: u32) -> bool {
    let (all, differ) = (mine + theirs - shared, mine > shared && theirs > shared);
    let least = if differ { ELSE_PERCENT } else { MORE_PERCENT };
    shared > 0 && shared * 100 >= all * least
}

/// The words of a title as numbers, in order, each once: to compare many with one another.
pub(crate) fn words(title: &str) -> Vec<u32> {
    let mut words = Vec::new();
    each_word(title, |word| words.push(word as u32));
    words.sort_unstable();
    words.dedup();
    words
}

/// The same as [`Title::is_like`], of titles given by their words.
pub(crate) fn are_alike(one: &[u32], other: &[u32]) -> bool {
    is_enough(shared(one, other) as u32, one.len() as u32, other.len() as u32)
}

/// How many numbers are in both lists, which are in order.
pub(crate) fn shared<T: Ord>(one: &[T], other: &[T]) -> usize {
    let (mut one, mut other, mut count) = (one.iter().peekable(), other.iter().peekable(), 0);
    while let (Some(a), Some(b)) = (one.peek(), other.peek()) {
        match a.cmp(b) {
            Ordering::Less => drop(one.next()),
            Ordering::Greater => drop(other.next()),
            Ordering::Equal => {
                count += 1;
                one.next();
                other.next();
            }
        }
    }
    count
}

/// The words of a title, each as a number.
fn each_word(title: &str, mut with: impl FnMut(usize)) {
    let mut word: Vec<u8> = Vec::with_capacity(64);
    let mut end = |word: &mut Vec<u8>| {
        if !word.is_empty() && !says_nothing(word) {
            with(slot(stem(word)));
        }
        word.clear();
    };
    for c in title.chars().take(CHARS_MAX) {
        if c.is_ascii() {
            match c.is_ascii_alphanumeric() {
                true => word.push(c.to_ascii_lowercase() as u8),
                false => end(&mut word),
            }
        } else if c.is_alphanumeric() {
            c.to_lowercase().for_each(|c| word.extend(c.encode_utf8(&mut [0; 4]).bytes()));
        } else {
            end(&mut word);
        }
    }
    end(&mut word);
}

fn says_nothing(word: &[u8]) -> bool {
    word.len() <= STOP_BYTES_MAX && STOP.iter().any(|stop| stop.as_bytes() == word)
}

/// Without what English puts at the end of words. What it does to others makes no difference, since it does it always.
fn stem(word: &[u8]) -> &[u8] {
    let without = |word: &[u8], ending: &str| -> Option<usize> {
        let left = word.len().checked_sub(ending.len()).filter(|left| *left >= STEM_BYTES_MIN)?;
        word.ends_with(ending.as_bytes()).then_some(left)
    };
    let mut left = word;
    if !word.ends_with(b"ss") {
        left = &left[..without(left, "s").unwrap_or(left.len())];
    }
    let ending = ["ing", "ed"].iter().find_map(|ending| without(left, ending));
    left = &left[..ending.unwrap_or(left.len())];
    &left[..without(left, "e").unwrap_or(left.len())]
}

/// FNV-1a, folded.
fn slot(word: &[u8]) -> usize {
    let hash = word.iter().fold(0x811c_9dc5_u32, |hash, b| (hash ^ u32::from(*b)).wrapping_mul(0x0100_0193));
    (hash ^ (hash >> 16)) as usize & (SLOTS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alike(one: &str, other: &str) -> bool {
        Title::new(one).is_like(other)
    }

    #[test]
    fn what_says_the_same_is_alike() {
        for (one, other) in [
            ("Login times out", "login times out!"),
            ("Login times out", "The login times out"),
            ("Login times out", "Login times out on Firefox"),
            ("Fix the login timeout", "Login timeout: fix"),
            ("The parser crashes on empty input", "Parser crash on an empty input"),
            ("Memory of the daemon grows", "Daemon memory grows"),
            ("CI fails: flaky test in queue.rs", "Flaky test in queue.rs (CI failed)"),
            ("Document the retry settings", "Document retry setting"),
            ("Prediction: disk is full by Friday", "Prediction: disk will be full by friday"),
            ("Größe ändern", "ändern: GRößE"),
        ] {
            assert!(alike(one, other), "{one:?} {other:?}");
        }
    }

    #[test]
    fn what_is_about_something_else_is_not() {
        for (one, other) in [
            ("Login times out", "Logout times out"),
            (
                "Function parse in core/src/reader.rs is too long",
                "Function write in core/src/reader.rs is too long",
            ),
            ("Test a_branch_lands is flaky", "Test a_tree_is_kept is flaky"),
            ("Update rusqlite to 0.32", "Update serde to 1.0"),
            ("Update serde to 1.0.1", "Update serde to 2.3.4"),
            ("Support Debian 12", "Support Debian 13"),
            ("Add a health command", "Remove the health command"),
            ("Prediction: disk is full by Friday", "Prediction: memory runs out by Friday"),
            ("Login", "Login times out when the clock is wrong"),
            ("", ""),
            ("!", "?"),
            ("Fix it", ""),
            ("is the", "a of"),
        ] {
            assert!(!alike(one, other), "{one:?} {other:?}");
        }
    }

    #[test]
    fn it_is_the_same_both_ways_and_in_any_order() {
        let titles = ["Login times out", "Daemon memory grows", "times out: the login", "1 2 3", "x"];
        for one in titles {
            assert!(alike(one, one), "{one}");
            let mut many = Title::new(one);
            for other in titles {
                assert_eq!(alike(one, other), alike(other, one));
                assert_eq!(are_alike(&words(one), &words(other)), alike(one, other));
                assert_eq!(many.is_like(other), alike(one, other), "whatever was compared before");
            }
        }
    }

    #[test]
    fn any_length_is_compared_in_bounded_time() {
        let (long, longer) = ("word ".repeat(100_000), format!("{}x", "word ".repeat(100_000)));
        assert!(alike(&long, &longer));
        assert!(!alike(&"\u{1f4a9}".repeat(10_000), &long));
    }
}
