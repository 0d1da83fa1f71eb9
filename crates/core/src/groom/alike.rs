//! Which issues say the same as others, by their titles and by their texts. Each is compared only with those that share
//! something rare with it, so the cost grows with the number of issues and not with its square.

use super::Look;
use crate::digest::Digest;
use crate::ids::IssueNumber;
use crate::similar::{are_alike, shared, words};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// With how many others an issue is named.
const OTHERS_MAX: usize = 5;
/// So many issues are found by one word or phrase that they share; of what more have, only these are compared.
const FOUND_BY_ONE_MAX: usize = 24;
/// A phrase is so many words; of a text, so many words are read.
const PHRASE_WORDS: usize = 3;
const TEXT_WORDS_MAX: usize = 2_000;
/// A text is known by these many of its phrases, and found by the first of them. They are the ones with the smallest
/// digests: which those are depends on the text alone, so what is alike has most of them in common.
const SKETCH: usize = 128;
const FOUND_BY: usize = 16;
/// Shorter texts say too little to be told apart.
const PHRASES_MIN: usize = 16;

/// For each issue that is like older ones: those, the likest numbers first.
pub(super) fn of<'a>(issues: &[&Look<'a>], body_percent: usize) -> BTreeMap<IssueNumber, Vec<IssueNumber>> {
    let titles: Vec<Vec<u32>> = issues.iter().map(|issue| words(issue.title)).collect();
    let texts: Vec<Vec<u64>> = issues.iter().map(|issue| sketch(issue.body)).collect();
    let mut pairs: BTreeSet<(usize, usize)> = BTreeSet::new();
    for (one, other) in found_together(&by_rare_words(&titles)) {
        if are_alike(&titles[one], &titles[other]) {
            pairs.insert((one, other));
        }
    }
    let by_phrases: Vec<&[u64]> = texts.iter().map(|text| &text[..text.len().min(FOUND_BY)]).collect();
    for (one, other) in found_together(&by_phrases) {
        if texts_are_alike(&texts[one], &texts[other], body_percent) {
            pairs.insert((one, other));
        }
    }
    let mut found: BTreeMap<IssueNumber, Vec<IssueNumber>> = BTreeMap::new();
    for (one, other) in pairs {
        let (older, newer) = (issues[one].number, issues[other].number);
        let (older, newer) = (older.min(newer), older.max(newer));
        let others = found.entry(newer).or_default();
        if others.len() < OTHERS_MAX {
            others.push(older);
        }
    }
    found
}

/// Two titles that are alike share one of these: of each, the rarest words, as many as cannot all be missing in the
/// other.
fn by_rare_words(titles: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut count: HashMap<u32, u32> = HashMap::new();
    titles.iter().flatten().for_each(|word| *count.entry(*word).or_default() += 1);
    let rarest = |title: &Vec<u32>| {
        let mut rarest = title.clone();
        rarest.sort_unstable_by_key(|word| (count[word], *word));
        // At least 60 % of all words are shared, so no more than 40 % of these are not.
        rarest.truncate(title.len() * 2 / 5 + 1);
        rarest
    };
    titles.iter().map(rarest).collect()
}

/// The pairs that have one of their keys in common, each once, the smaller place first.
fn found_together<K: Copy + Eq + std::hash::Hash, L: AsRef<[K]>>(keys: &[L]) -> BTreeSet<(usize, usize)> {
    let mut with: HashMap<K, Vec<usize>> = HashMap::new();
    let mut pairs = BTreeSet::new();
    for (at, keys) in keys.iter().enumerate() {
        for key in keys.as_ref() {
            let others = with.entry(*key).or_default();
            pairs.extend(others.iter().map(|other| (*other, at)));
            if others.len() < FOUND_BY_ONE_MAX {
                others.push(at);
            }
        }
    }
    pairs
}

/// The smallest digests of a text's phrases, in order. What the factory hides in comments is no text.
fn sketch(body: &str) -> Vec<u64> {
    let words: Vec<u64> = body
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(TEXT_WORDS_MAX)
        .map(|word| Digest::new().field(word.to_lowercase().as_bytes()).finish())
        .collect();
    let mixed = |phrase: &[u64]| {
        let mut digest = 0_u64;
        for word in phrase {
            digest = (digest.rotate_left(21) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        digest ^ (digest >> 29)
    };
    let mut phrases: Vec<u64> = words.windows(PHRASE_WORDS).map(mixed).collect();
    phrases.sort_unstable();
    phrases.dedup();
    phrases.truncate(SKETCH);
    if phrases.len() < PHRASES_MIN { Vec::new() } else { phrases }
}

/// Of the smallest phrases of both together, how many are in each.
fn texts_are_alike(one: &[u64], other: &[u64], percent: usize) -> bool {
    if one.is_empty() || other.is_empty() {
        return false;
    }
    let mut both: Vec<u64> = one.iter().chain(other).copied().collect();
    both.sort_unstable();
    both.dedup();
    both.truncate(SKETCH);
    let last = both.last().copied().unwrap_or_default();
    let within = |text: &[u64]| text.partition_point(|phrase| *phrase <= last);
    let shared = shared(&one[..within(one)], &other[..within(other)]);
    shared * 100 >= both.len() * percent
}
