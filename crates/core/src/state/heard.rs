//! What has to be remembered of people's comments on an issue or a pull request: which comment, and which revision
//! of it. A forge may show a comment again; nobody is to act on it twice.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How many of a subject's comments are remembered: the newest. An older one that is edited counts as new.
const HEARD_MAX: usize = 50;

/// The revision of each comment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Heard(BTreeMap<u64, u64>);

impl Heard {
    /// Whether this revision of the comment has not been heard before. From now on it has.
    pub fn hear(&mut self, id: u64, revision: u64) -> bool {
        if self.0.get(&id) == Some(&revision) {
            return false;
        }
        self.0.insert(id, revision);
        while self.0.len() > HEARD_MAX {
            self.0.pop_first();
        }
        true
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_heard_once_and_again_when_it_is_edited() {
        let mut heard = Heard::default();
        assert!(heard.hear(1, 10));
        assert!(!heard.hear(1, 10));
        assert!(heard.hear(1, 11));
        assert!(!heard.hear(1, 11));
    }

    #[test]
    fn so_many_are_remembered_the_newest() {
        let mut heard = Heard::default();
        assert!((0..1000).all(|id| heard.hear(id, 1)));
        assert_eq!(heard.0.len(), HEARD_MAX);
        assert!((990..1000).all(|id| !heard.hear(id, 1)));
    }
}
